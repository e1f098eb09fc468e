/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank costs: times, bytes, parameters and steps of its chunks. The plan sees nothing else of
 * layers; the operators stay below (tests/layering.sh).
 */
#ifndef SS_COST_RANK_COST_H
#define SS_COST_RANK_COST_H

#include "base/cache.h"
#include "comm/collective.h"
#include "cost/steps.h"
#include "layers/stages.h"
#include "stepsim/chunk.h"
#include "stepsim/load.h"
#include "stepsim/schedule.h"

struct ss_job;
struct ss_stack;

struct ss_layer_set;

/* What costs of layers are kept by. cache NULL: none are. */
struct ss_layer_keeper {
    struct ss_cache *cache;
    struct ss_cache_key key, times; /* of costs of layers; of the times of their GEMMs alone */
};
/* Makes the keeper of a job, of which ranks have their own (ss_layer_keeper_of). It borrows the cache, which may be NULL. */
struct ss_layer_keeper ss_layer_keeper(struct ss_cache *cache, const struct ss_job *job,
                                       const struct ss_stack *stack, const struct ss_card *card,
                                       const struct ss_net *net);

/* Inputs that all ranks of a job share. */
struct ss_cost_input {
    const struct ss_job *job;
    const struct ss_stack *stack;
    const struct ss_card *card;
    const struct ss_schedule *schedule;
    const struct ss_stage_place *places; /* ss_stage_places of job and schedule */
    const struct ss_net *net;
    int padded_vocab, dp, microbatches;
    int with_steps; /* 1: layer level */
    /* 1: for whatever order of slots, so these make no stages differ; with `pairs` those of any two chunks are built */
    int any_order, pairs;
    const struct ss_layer_keeper *keeper; /* of the costs of layers; NULL: none are kept */
};

/* Inputs by which the costs of two ranks differ. */
struct ss_rank_site {
    int stage;                          /* pipeline rank */
    struct ss_group_shape tp, cp, fsdp; /* its groups; fsdp.n = 1 when parameters are not sharded */
    struct ss_group_shape ep, etp, etp_ep,
        edp; /* groups of the expert rank grid; each has one member in a job without experts */
    /* factors >= 1 on kernel times: of this rank, and the largest among the ranks that it waits for in every
     * layer */
    double own, group;
    /* further factors from the lasting spread of GPUs: of this GPU, and of the slowest GPU that it waits
     * for */
    double own_pace, pace;
};
/* Returns 1 when ranks at both sites cost the same. Both sites must be of one stage, or of stages for which
 * ss_stages_alike is 1. */
int ss_rank_site_equal(const struct ss_rank_site *a, const struct ss_rank_site *b);
/* Returns 1 when two places have layers of equal kinds between equal borders. */
int ss_places_alike(const struct ss_job *job, const struct ss_stage_place *a, const struct ss_stage_place *b);
/* Returns 1 when ranks of two stages cost the same although their layers have other numbers. */
int ss_stages_alike(const struct ss_cost_input *in, int stage, int other);

/* Parameters of one chunk, or of all chunks of a rank. */
struct ss_param_count {
    double all;    /* every parameter that is trained */
    double frozen; /* further ones, of an encoder: weights alone */
    double gemm;   /* parameters of which fp8 keeps a copy and a transposed copy */
    /* the part of all, gemm and tensors that belongs to routed experts, where expert data parallelism reduces
     * and shards them (ss_job_experts_apart); else 0 */
    double expert, expert_gemm;
    int expert_tensors;
    double muon,
        /* parameters that Muon steps: without the experts counted apart, and of those experts; filled for a
         * whole rank only */
        expert_muon;
    double layer;      /* the largest transformer layer, which FSDP gathers at a time */
    double layer_gemm; /* the part of `layer` in GEMMs */
    double loss;       /* output layer and multi-token prediction, which lie behind the last numbered layer */
    double expert_loss;     /* the part of `expert` behind the last numbered layer; not in `loss` */
    double border, borders; /* the larger of embedding and output layer, and the sum of both */
    double tensor;          /* the largest single tensor */
    /* elements of one weight of each shape among the linear layers; for a rank the largest of its chunks */
    double shapes;
    int tensors; /* tensors that hold all parameters; FSDP has one flat tensor a layer */
    /* tensors that the rank steps, whole or in part: of experts counted apart, and of all others; filled for a whole rank only */
    double expert_steps, steps;
};
struct ss_rank_cost {
    struct ss_layer_set *set;
    struct ss_chunk_cost *chunks;  /* [schedule->chunks]; buckets and steps are empty */
    struct ss_param_count *params; /* [schedule->chunks] */
    /* [chunk of the forward * chunks + chunk of the backward]; NULL: F and B follow each other */
    struct ss_pair_cost *pairs;
    double parameters;           /* of all chunks */
    double memory[SS_MEM_COUNT]; /* static bytes by class */
    double step_bytes, main_gradients, pooled_bytes, idle_bytes, waiting_bytes,
        host_bytes; /* as in struct ss_plan_class */
    double gradients_s, optimizer_s, optimizer_calls_s;
    int host_ahead; /* as in struct ss_plan_class */
};
/* Returns 1 when the host goes on to the next slot before the GPU has ended this one. p2p: enum ss_p2p of the schedule. */
int ss_rank_runs_ahead(const struct ss_job *job, const struct ss_stack *stack, int stages, int p2p);
/* Prices a rank. `like`, which may be NULL, is the cost of a rank at an equal site of any stage; its layers
 * are taken over. On failure *out is safe to free. */
int ss_rank_cost_build(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       const struct ss_rank_cost *like, struct ss_rank_cost *out, struct ss_error *err);
/* Fills chunks and pairs of a rank, with their parameters, by the cost of the same rank at other paces, whose operators it shares; bytes
 * and seconds of the step stay 0. `like` as above. On failure *out is safe to free. */
int ss_rank_cost_paced(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       const struct ss_rank_cost *from, const struct ss_rank_cost *like,
                       struct ss_rank_cost *out, struct ss_error *err);
/* Copies the cost of a rank whose stage is alike and whose site is equal. Error: SS_ERR_NOMEM; on failure
 * *out is safe to free. */
int ss_rank_cost_copy(const struct ss_cost_input *in, const struct ss_rank_cost *from, int stage,
                      struct ss_rank_cost *out, struct ss_error *err);
/* Bytes of a cost with its operators, but for steps and pairs. */
size_t ss_rank_cost_bytes(const struct ss_rank_cost *cost);
void ss_rank_cost_free(struct ss_rank_cost *cost);

/* slowed.c. Slows a rank's seconds down. Kernels of a slow GPU take longer, and the others of its tensor, context and expert
 * groups wait for it in every layer. Time from the lasting spread has a label of its own; a group whose GPUs
 * are all faster than the mean GPU computes less. */
void ss_rank_slow_down(double seconds[SS_LABEL_COUNT], const struct ss_rank_site *site);
/* Fills the seconds of a backward of the k-th chunk, whose layers are sharded, beside reductions that hold the share `held` of the SMs for
 * the first `part` of each layer's time, as buckets are ready where layers end: slower kernels hide more of the layers' own collectives.
 * The loss comes before all reductions. *share is what these take of the time beside them. Error: SS_ERR_NOMEM. */
int ss_rank_backward_beside(const struct ss_rank_cost *cost, const struct ss_rank_site *site, int k,
                            double held, double part, double out[SS_LABEL_COUNT], double *share);

/* What the host takes beside F or B of the k-th chunk, for bounds of any order of slots, s. */
struct ss_chunk_host {
    int in_step; /* 1: the host waits for the GPU on the way, and the phase has what the GPU waits; then all below is 0 */
    double waits[2];    /* that the GPU waits where both begin in step; [1]: of a host that may be ahead */
    double host;        /* to issue all */
    double layers_host; /* the part of it for numbered layers */
};
struct ss_chunk_host ss_chunk_host_of(const struct ss_rank_cost *cost, int k, int phase);
/* Returns the seconds of a phase that numbered layers take, with what the GPU waits in those that are in step. */
double ss_chunk_layers_seconds(const struct ss_rank_cost *cost, int k, int phase);
/* What a layer of one kind takes, s of F and B, without what the GPU waits for the host. */
struct ss_layer_seconds {
    int kind; /* layers/kinds.h */
    double all, kernels;
};
/* Lists the kinds of a rank's layers behind the n that are there, `most` in all at most, and returns how many there are. beside 1: its
 * exchanges count nothing, for others' groups may lie better. */
int ss_rank_layers(const struct ss_rank_cost *cost, int beside, struct ss_layer_seconds *out, int n,
                   int most);
/* Returns the s of F and B of a chunk's layers, embedding, multi-token prediction and loss by those of n kinds; others count nothing.
 * aligned 0: the chunk's groups may lie better on nodes than theirs, so that exchanges count nothing. */
double ss_layers_seconds(const struct ss_layer_seconds *layers, int n, const struct ss_job *job,
                         const struct ss_stage_place *place, int aligned);
/* Returns 1 where programs have the host as a stream of its own, if slots are apart. */
int ss_rank_issues(const struct ss_rank_cost *cost);

/* A place in a phase of the k-th chunk: behind the first `layers` transformer layers that the phase passes.
 * layers = 0 is the start of a forward, but in a backward the place behind the loss. All layers: before the
 * loss in a forward, the end of a backward. */
struct ss_chunk_place {
    double fraction; /* of the phase's time; of its work where the host is a stream beside it */
    int step;
    double host; /* s of the host until there, from its begin of the phase */
    double tail; /* as in struct ss_issue_slot, of the work until there */
};
struct ss_chunk_place ss_chunk_place_at(const struct ss_layer_set *set, int k, int phase, int layers);
/* Visits the steps of a phase in order; the cost must have steps. */
typedef int (*ss_step_visitor)(void *ctx, const struct ss_layer_step *step);
int ss_chunk_steps_visit(const struct ss_layer_set *set, int k, int phase, ss_step_visitor visit, void *ctx);
/* Visits the steps of one of each run of equal layers, of which there are *count; no waits, and nothing that a microbatch takes whatever its
 * layers do. */
int ss_chunk_kernels_visit(const struct ss_layer_set *set, int k, int phase, int *count,
                           ss_step_visitor visit, void *ctx);

/* Visits the host's seconds between two waits of the GPU in a phase, in order; where the host runs ahead, also
 * those behind the last wait. */
typedef int (*ss_issue_visitor)(void *ctx, double seconds);
int ss_chunk_issues_visit(const struct ss_layer_set *set, int k, int phase, ss_issue_visitor visit,
                          void *ctx);

/* Visits the steps of a forward of chunk f (-1: none) beside a backward of chunk b. Returns SS_ERR_NOMEM, or
 * what `visit` returns. */
int ss_pair_steps_visit(const struct ss_layer_set *set, int f, int b, ss_step_visitor visit, void *ctx);

/* Parameters of the i-th numbered layer of the k-th chunk. */
struct ss_layer_params {
    double dense, dense_gemm;   /* all but routed experts, and the part of them in GEMMs */
    double expert, expert_gemm; /* as in struct ss_param_count */
};
struct ss_layer_params ss_chunk_layer_params(const struct ss_layer_set *set, int k, int i);

/* Buckets of tensors, in the order of the backward. */
struct ss_ddp_bucket {
    double all, gemm; /* its parameters, and those of them in GEMMs */
    int done;         /* layers of the backward behind which its last gradient is there */
};
/* A walk over a chunk, before which `left` is `layers` and `bucket` has the output layer. */
struct ss_ddp_walk {
    const struct ss_layer_set *set;
    int chunk, layers, left, ops; /* layers, and operators of the next one, that the backward has before it */
    int gemms;                    /* 1: of parameters in GEMMs alone */
    int whole;                    /* 1: of whole layers, which are the units of Megatron-FSDP */
    double size, full;            /* parameters that fill a bucket, and this one */
    struct ss_ddp_bucket bucket;
};
/* Gives the next bucket, of the experts' parameters or of all others; returns 0 with what is left behind all
 * layers, which may be nothing. */
int ss_ddp_next(struct ss_ddp_walk *w, int experts, struct ss_ddp_bucket *bucket);

/* Returns the parameters of a bucket. Megatron-LM has one size for experts and others, from the `ranks` that reduce the others; frameworks
 * that set a size know no ranks. */
double ss_ddp_bucket_size(const struct ss_job *job, const struct ss_stack *stack, double ranks);
/* Returns about how many buckets of `size` parameters (0: of all) a chunk's tensors make. */
double ss_ddp_buckets(int tensors, double params, double size);

/* Returns 1 when all transformer layers of a job are of one kind. */
int ss_layers_alike(const struct ss_job *job);
/* Computes where the tokens of a member of an expert group go; the members are alike on all nodes. `figures`,
 * which may be NULL, gets every figure of the load. */
int ss_experts_spread(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_token_spread *out,
                      struct ss_load_figures *figures, struct ss_error *err);
/* Does what ss_experts_spread does, and fills the arrays of *ranks: for job->ep ranks and ss_experts_nodes
 * nodes. The load is kept in `cache`, which may be NULL. */
int ss_experts_matrix(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_cache *cache,
                      struct ss_token_spread *out, struct ss_load_figures *figures,
                      struct ss_load_ranks *ranks, struct ss_error *err);
/* Returns the number of nodes that a load deals the ranks to: the group's nodes, or more where the group lies
 * on them unevenly. */
int ss_experts_nodes(const struct ss_job *job, const struct ss_group_shape *ep);
/* Finds the rows of loads for layers first .. first + n - 1, where each layer of experts has its own row:
 * *rows rows from *at on. */
void ss_experts_rows(const struct ss_job *job, int first, int n, int *at, int *rows);
/* Returns 1 when the job has loads of each of its layers of experts, in order. */
int ss_experts_loads_by_layer(const struct ss_job *job);
/* Bytes of one parameter, of its gradient, and of its optimizer states. The states are two moments and, in
 * mixed precision, the fp32 master copy; a bf16 parameter may be one half of that copy. */
struct ss_parameter_bytes {
    double weight, grad, states;
};
/* Returns 1 when Adam steps the 16-bit parameters themselves (ss.optimizer.model_type). */
int ss_optimizer_in_model_type(const struct ss_job *job, const struct ss_stack *stack);
struct ss_parameter_bytes ss_parameter_bytes(const struct ss_job *job, const struct ss_stack *stack);
/* Returns the device bytes beside tensors: CUDA context, NCCL communicators, and the flattened gradients
 * (ss.ddp.flat_gradients) of the rank's `parameters`. */
double ss_memory_overhead(const struct ss_job *job, const struct ss_stack *stack, int world_size,
                          double parameters);

#endif
