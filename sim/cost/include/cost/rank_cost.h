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
    const struct ss_stage_place *places; /* ss_stage_places of job and schedule */
    const struct ss_net *net;
    int padded_vocab, dp, microbatches;
    int with_steps; /* 1: layer level */
};

/* What tells the costs of two ranks apart. */
struct ss_rank_site {
    int stage;                          /* pipeline rank */
    struct ss_group_shape tp, cp, fsdp; /* its groups; fsdp.n = 1 when parameters are not sharded */
    struct ss_group_shape ep, etp, etp_ep,
        edp; /* groups of the expert rank grid; all of one member without experts */
    /* factors >= 1 on kernel times: of the rank, and the largest of the ranks that it waits for in every layer */
    double own, group;
    /* further factors, which the lasting spread of GPUs makes: of the GPU, and of the slowest that it waits for */
    double own_pace, pace;
};
/* Returns 1 when ranks at both sites cost the same. They are of one stage, or of stages for which ss_stages_alike is 1. */
int ss_rank_site_equal(const struct ss_rank_site *a, const struct ss_rank_site *b);
/* Returns 1 when ranks of two stages cost the same but for where their layers are. */
int ss_stages_alike(const struct ss_cost_input *in, int stage, int other);

/* Parameters of one chunk, or of all chunks of a rank. */
struct ss_param_count {
    double all;  /* every parameter */
    double gemm; /* those of which fp8 keeps a copy and its transpose */
    /* parts of all, gemm and tensors that are routed experts', where ss_job_experts_apart: expert data parallelism reduces and shards
     * them; else 0 */
    double expert, expert_gemm;
    int expert_tensors;
    double muon,
        expert_muon; /* those that Muon steps: without experts that are apart, and of these; of a rank alone */
    double layer;    /* the largest transformer layer: what FSDP gathers at a time */
    double layer_gemm;      /* part of it in GEMMs */
    double loss;            /* output layer and multi-token prediction, behind the last numbered layer */
    double expert_loss;     /* part of expert that is there; not in loss */
    double border, borders; /* the larger of embedding and output layer, and both */
    double tensor;          /* the largest single tensor */
    double shapes; /* one weight of each shape that linear layers have; of a rank the most of a chunk */
    int tensors;   /* that hold all; FSDP's are flat, one a layer */
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
/* Prices a rank. `like`, which may be NULL, is a cost at an equal site of any stage, where a layer costs the same. On failure *out is safe
 * to free. */
int ss_rank_cost_build(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       const struct ss_rank_cost *like, struct ss_rank_cost *out, struct ss_error *err);
/* Copies the cost of a rank whose stage is alike and whose site is equal. SS_ERR_NOMEM; on failure *out is safe to free. */
int ss_rank_cost_copy(const struct ss_cost_input *in, const struct ss_rank_cost *from, int stage,
                      struct ss_rank_cost *out, struct ss_error *err);
void ss_rank_cost_free(struct ss_rank_cost *cost);

/* A place in a phase of the k-th chunk: behind its first `layers` transformer layers in the order of the phase. No layers: the start of the
 * forward, behind the loss in the backward. All layers: before the loss in the forward, the end of the backward. */
struct ss_chunk_place {
    double fraction; /* of the phase's time */
    int step;
};
struct ss_chunk_place ss_chunk_place_at(const struct ss_layer_set *set, int k, int phase, int layers);
/* Visits the steps of a phase in order, where the cost has steps. */
typedef int (*ss_step_visitor)(void *ctx, const struct ss_layer_step *step);
int ss_chunk_steps_visit(const struct ss_layer_set *set, int k, int phase, ss_step_visitor visit, void *ctx);

/* Visits the steps of a forward of chunk f (-1: none) beside a backward of chunk b. SS_ERR_NOMEM, or what `visit` returns. */
int ss_pair_steps_visit(const struct ss_layer_set *set, int f, int b, ss_step_visitor visit, void *ctx);

/* Parameters of the i-th numbered layer of the k-th chunk. */
struct ss_layer_params {
    double dense, dense_gemm;   /* all but experts, and the part in GEMMs */
    double expert, expert_gemm; /* as in struct ss_param_count */
};
struct ss_layer_params ss_chunk_layer_params(const struct ss_layer_set *set, int k, int i);

/* Returns 1 when all transformer layers of a job are of one kind. */
int ss_layers_alike(const struct ss_job *job);
/* Works out where the tokens of a member of an expert group go; members are alike on all nodes. `figures`, which may be NULL, gets all
 * that is known of the load. */
int ss_experts_spread(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_token_spread *out,
                      struct ss_load_figures *figures, struct ss_error *err);
/* Does so, and fills the arrays of *ranks, of job->ep ranks and as many nodes as ss_experts_nodes says. */
int ss_experts_matrix(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_token_spread *out,
                      struct ss_load_figures *figures, struct ss_load_ranks *ranks, struct ss_error *err);
/* Returns to how many nodes a load deals the ranks: those of the group, or more where it lies on them unevenly. */
int ss_experts_nodes(const struct ss_job *job, const struct ss_group_shape *ep);
/* Finds the loads of layers first .. first + n - 1 where each layer of experts has its own: *rows rows from *at on. */
void ss_experts_rows(const struct ss_job *job, int first, int n, int *at, int *rows);
/* Returns 1 when the job has loads of each of its layers of experts, in order. */
int ss_experts_loads_by_layer(const struct ss_job *job);
/* Bytes of one parameter, of its gradient and of its optimizer states: two moments and, in mixed precision, the fp32 master copy, of which
 * a bf16 parameter may be one half. */
struct ss_parameter_bytes {
    double weight, grad, states;
};
/* Returns 1 when Adam steps the 16-bit parameters themselves (ss.optimizer.model_type). */
int ss_optimizer_in_model_type(const struct ss_job *job, const struct ss_stack *stack);
struct ss_parameter_bytes ss_parameter_bytes(const struct ss_job *job, const struct ss_stack *stack);
/* Bytes on the device beside tensors: CUDA context, NCCL communicators, flattened gradients (ss.ddp.flat_gradients) of the
 * rank's `parameters`. */
double ss_memory_overhead(const struct ss_job *job, const struct ss_stack *stack, int world_size,
                          double parameters);

#endif
