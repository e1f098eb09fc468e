/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank costs: times, bytes, parameters and steps of its chunks. This is all that the plan sees of layers; the
 * operators behind it stay in this room (tests/layering.sh).
 */
#ifndef SS_COST_RANK_COST_H
#define SS_COST_RANK_COST_H

#include "comm/collective.h"
#include "cost/steps.h"
#include "layers/stages.h"
#include "stepsim/chunk.h"
#include "stepsim/load.h"
#include "stepsim/schedule.h"

struct ss_job;
struct ss_stack;

struct ss_layer_set;

/* What all ranks of a job share. */
struct ss_cost_input {
    const struct ss_job *job;
    const struct ss_stack *stack;
    const struct ss_card *card;
    const struct ss_schedule *schedule;
    const struct ss_stage_place *places; /* ss_stage_places of the two */
    const struct ss_net *net;
    int padded_vocab, dp, microbatches;
    int with_steps; /* 1: layer level */
};

/* What tells the costs of two ranks apart. */
struct ss_rank_site {
    int stage;                          /* pipeline rank */
    struct ss_group_shape tp, cp, fsdp; /* its groups; fsdp.n = 1 when parameters are not sharded */
    struct ss_group_shape ep, etp, etp_ep,
        edp; /* of the expert rank grid; all of one member without experts */
    /* factors >= 1 on kernel times: its own, and the largest among the ranks that it works with in every layer */
    double own, group;
    /* times that what the lasting spread of GPUs makes of it: of the GPU itself, and of those that it works with */
    double own_pace, pace;
};
/* Returns 1 when ranks at both sites, which are of one stage or of stages that ss_stages_alike, cost the same. */
int ss_rank_site_equal(const struct ss_rank_site *a, const struct ss_rank_site *b);
/* Returns 1 when ranks of two stages cost the same but for where their layers are. */
int ss_stages_alike(const struct ss_cost_input *in, int stage, int other);

/* Parameters of one rank: of one chunk, or summed over the rank's chunks. */
struct ss_param_count {
    double all;  /* every parameter */
    double gemm; /* those of which fp8 keeps a copy and its transpose */
    /* of all, of gemm and of tensors those of routed experts, where expert data parallelism reduces and shards them; else 0:
     * the ranks are those of all others (ss_job_experts_apart) */
    double expert, expert_gemm;
    int expert_tensors;
    double muon, expert_muon; /* of a rank: those that Muon steps, of all but these experts, and of them */
    double layer;             /* of the largest transformer layer: what FSDP gathers at a time */
    double layer_gemm;        /* of them those of its GEMMs */
    double loss;              /* behind the last numbered layer: output layer and multi-token prediction */
    double expert_loss;       /* of expert those behind it; not in loss */
    double border, borders;   /* of the larger of embedding and output layer, and of both */
    double tensor;            /* of the largest single tensor */
    double shapes; /* of one weight of each shape that linear layers have; of a rank: most of its chunks */
    int tensors;   /* that hold all of them; FSDP's are flat: one a layer */
};
struct ss_rank_cost {
    struct ss_layer_set *set;
    struct ss_chunk_cost *chunks;  /* [schedule->chunks], without buckets and steps */
    struct ss_param_count *params; /* [schedule->chunks] */
    struct ss_pair_cost *pairs;    /* [chunk of the forward * chunks + that of the backward], NULL: F + B */
    double parameters;             /* of all chunks */
    double memory[SS_MEM_COUNT];   /* static bytes by class */
    double step_bytes, main_gradients, host_bytes; /* as in struct ss_plan_class */
    double gradients_s, optimizer_s;
};
/* `like`, which may be NULL, is a cost at an equal site, of any stage: a layer costs the same there. On failure *out is safe to free. */
int ss_rank_cost_build(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       const struct ss_rank_cost *like, struct ss_rank_cost *out, struct ss_error *err);
/* The same of a rank whose stage is alike and whose site is equal. SS_ERR_NOMEM; on failure *out is safe to free. */
int ss_rank_cost_copy(const struct ss_cost_input *in, const struct ss_rank_cost *from, int stage,
                      struct ss_rank_cost *out, struct ss_error *err);
void ss_rank_cost_free(struct ss_rank_cost *cost);

/* A place in a phase of the k-th chunk: after its first `layers` transformer layers in the order of the phase. 0 means at the
 * start of the forward, behind the loss in the backward; all of them before the loss in the forward, behind everything in
 * the backward. */
struct ss_chunk_place {
    double fraction; /* of the phase's time */
    int step;
};
struct ss_chunk_place ss_chunk_place_at(const struct ss_layer_set *set, int k, int phase, int layers);
/* Visits the steps of a phase in order; with_steps only. */
typedef int (*ss_step_visitor)(void *ctx, const struct ss_layer_step *step);
int ss_chunk_steps_visit(const struct ss_layer_set *set, int k, int phase, ss_step_visitor visit, void *ctx);

/* Likewise of a pair of the chunks f (-1: none) and b. SS_ERR_NOMEM, or what `visit` returns. */
int ss_pair_steps_visit(const struct ss_layer_set *set, int f, int b, ss_step_visitor visit, void *ctx);

/* Parameters of the i-th transformer layer of the k-th chunk, in the order of the forward, without multi-token prediction's. */
struct ss_layer_params {
    double dense, dense_gemm;   /* all but those below, and of them those of GEMMs */
    double expert, expert_gemm; /* routed experts, as in struct ss_param_count */
};
struct ss_layer_params ss_chunk_layer_params(const struct ss_layer_set *set, int k, int i);

/* Returns 1 when all transformer layers of a job are of one kind. */
int ss_layers_alike(const struct ss_job *job);
/* Where the tokens of a member of an expert group of this shape go; members are alike on all nodes. `figures`, which may be
 * NULL, gets all that is known of the load. */
int ss_experts_spread(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_token_spread *out,
                      struct ss_load_figures *figures, struct ss_error *err);
/* The same, and fills the arrays of *ranks, of job->ep ranks and as many nodes as ss_experts_nodes says. */
int ss_experts_matrix(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_token_spread *out,
                      struct ss_load_figures *figures, struct ss_load_ranks *ranks, struct ss_error *err);
/* Nodes to which a load deals the ranks: those of the group, but for one that lies on them unevenly. */
int ss_experts_nodes(const struct ss_job *job, const struct ss_group_shape *ep);
/* Loads of layers first .. first + n - 1 of a job of which each layer of experts has its own: *rows behind the *at-th. */
void ss_experts_rows(const struct ss_job *job, int first, int n, int *at, int *rows);
/* Returns 1 when the job has loads of each of its layers of experts, in order. */
int ss_experts_loads_by_layer(const struct ss_job *job);
/* Bytes of one parameter: itself, its gradient, its optimizer states (two moments and, in mixed precision, the fp32
 * master copy, of which a bf16 parameter may be one half). */
struct ss_parameter_bytes {
    double weight, grad, states;
};
/* Whether Adam steps the 16-bit parameters themselves (ss.optimizer.model_type). */
int ss_optimizer_in_model_type(const struct ss_job *job, const struct ss_stack *stack);
struct ss_parameter_bytes ss_parameter_bytes(const struct ss_job *job, const struct ss_stack *stack);
/* Bytes on the device beside tensors: CUDA context, NCCL communicators, flattened gradients (ss.ddp.flat_gradients) of the
 * rank's `parameters`. */
double ss_memory_overhead(const struct ss_job *job, const struct ss_stack *stack, int world_size,
                          double parameters);

#endif
