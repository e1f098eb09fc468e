/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One training job in the words of Megatron-LM (core 0.8 and Megatron-LM 240718; docs/reference/flags.md).
 * Once a scenario is built (stepsim/scenario.h) the job is complete and const.
 */
#pragma once

#include "stepsim/job_kinds.h"
#include "stepsim/model.h"
#include "stepsim/precision.h"
#include "stepsim/request.h"
#include "stepsim/types.h"

SS_C_BEGIN

/* Layers of each virtual stage by --pipeline-model-parallel-layout; n 0: not given. */
#define SS_LAYOUT_MAX 512
struct ss_pipeline_layout {
    int n;
    /* [virtual stage], transformer layers; those of MTP lie behind the last one */
    short layers[SS_LAYOUT_MAX];
};

struct ss_error;
struct ss_notes;
struct ss_packing;
struct ss_request;
struct ss_stack;

/* A node with a failed GPU, from 0; gpu -1: the GPU is not named. */
#define SS_MAX_FAILED 64
struct ss_failed_gpu {
    int node, gpu;
};

/* Nodes of a cluster, from 0. */
#define SS_MAX_NODE_RANGES 64
struct ss_node_range {
    int first, last;
};

typedef char ss_job_text[256];

/* The fields of stepsim/job_fields.def. */
struct ss_job {
#define SS_FIELD(type, field, unset, key) type field;
#define SS_BEGIN(group) struct ss_job_##group {
#define SS_MEMBER(group, type, field, unset, key) type field;
#define SS_END(group)                                                                                        \
    }                                                                                                        \
    group;
#define SS_OTHER(declaration) declaration;
#include "stepsim/job_fields.def"
};

/* Fills a job with defaults: the job of no flags, without what model, stack and cluster say. It holds no
 * memory and needs no free. */
void ss_job_init(struct ss_job *job);
/* Reads the words of a request as flags of a job and drops the job. `notes`, which may be NULL, gets what was
 * assumed or is not modelled. Errors: those of the words. */
int ss_job_check_words(const struct ss_request *r, struct ss_notes *notes, struct ss_error *err);
/* Returns 1 when a flag without value, given behind all words of the request, would leave the job as it is; 0
 * also where the words are wrong. */
int ss_job_lacks_effect(const struct ss_request *r, const char *flag);
/* Returns the ranks of a job on a platform of `nodes` nodes with `gpus_per_node` GPUs, spare nodes
 * included. */
int ss_job_world_size(const struct ss_job *job, int nodes, int gpus_per_node);
/* Returns 1 when the job is on some of the nodes of a cluster. */
int ss_job_is_placed(const struct ss_job *job);
/* Returns how many nodes --on-nodes names, 0: it is not given; *last, which may be NULL, is the highest of them. */
int ss_job_named_nodes(const struct ss_job *job, int *last);
/* Returns the node of the cluster that is the i-th node of a placed job. */
int ss_job_node(const struct ss_job *job, int i);
/* Writes the first `nodes` of them as --on-nodes names them, "0-3,8", cut to size bytes. */
void ss_job_nodes_text(const struct ss_job *job, int nodes, char *out, size_t size);
/* Returns the data-parallel degree of a finished job: world size / (tp pp cp). */
int ss_job_dp(const struct ss_job *job, int world_size);
/* What an encoder has of one sequence: pictures or clips, and patches or tokens of each; 0 where the job has no such encoder. */
struct ss_media {
    int items;
    double tokens;
    int frozen, recompute; /* as in struct ss_job */
};
/* Returns what the i-th encoder (SS_VISION, SS_AUDIO) has of one sequence of a finished job. */
struct ss_media ss_job_media(const struct ss_job *job, int encoder);
/* Returns 1 when the job has any encoder. */
int ss_job_encodes(const struct ss_job *job);
/* Returns the recipe of the job's precision (enum ss_recipe); for fp8 it is the job's choice. */
int ss_job_recipe(const struct ss_job *job);
/* Returns the bytes of an element that linear layers multiply, with its share of the scale of its block: 1 in
 * fp8, 1 + 1/32 in mxfp8, 1/2 + 1/16 in nvfp4, and 1 where they multiply values of 16 bit or more. */
double ss_job_quantized_bytes(const struct ss_job *job);
/* Returns the microbatches of each pipeline in an iteration of a finished job: global batch / (micro batch x dp). */
int ss_job_microbatches(const struct ss_job *job, int world_size);
/* Returns the layers that are split over the stages: those of the model, and embedding and loss where each
 * counts as one. */
int ss_job_split_layers(const struct ss_job *job);
/* Returns 1 when the job itself gives the layers of a stage: by a layout, or for the first or the last
 * stage. */
int ss_job_has_stage_layers(const struct ss_job *job);
/* Returns 1 when context parallelism passes K and V round a ring beside attention, 0 when a collective moves
 * them without overlap. */
int ss_job_cp_in_ring(const struct ss_job *job);
/* Returns the modules that selective recompute repeats (a set of SS_MODULE_BIT): core attention where the job
 * names none, 0 without selective recompute. */
unsigned ss_job_redone_modules(const struct ss_job *job);
/* Returns 1 when the last stage has a copy of the embedding: as its tied output layer, for multi-token
 * prediction, or for both. The gradients of the copy are added to those of the first stage. */
int ss_job_copies_embedding(const struct ss_job *job);
/* Returns 1 for the dispatchers that send a token to a node once and pass it on there: DeepEP's and
 * HybridEP's. */
int ss_dispatcher_has_stages(int dispatcher);
/* Returns 1 when parameters are sharded inside each node and every node holds a copy. */
int ss_job_is_hybrid(const struct ss_job *job);
/* Returns whether FSDP gathers parameters and reduces gradients once an iteration (ss.fsdp.once). */
int ss_job_fsdp_once(const struct ss_job *job, const struct ss_stack *stack);
/* Returns 1 when gradients and states of routed experts are divided over other ranks than those of all other
 * parameters. */
int ss_job_experts_apart(const struct ss_job *job);
/* Returns 1 when PyTorch's linear layers work in bf16 by autocast on fp32 parameters that are not sharded (ss.default.fp32_params). */
int ss_job_autocasts(const struct ss_job *job, const struct ss_stack *stack);
/* Returns 1 when one kernel of Transformer Engine parts the joint tensor of queries, keys and values and turns
 * queries and keys (--fused-single-qkv-rope; Megatron core's SelfAttention.forward says where it can). */
int ss_job_fuses_qkv_rope(const struct ss_job *job, const struct ss_stack *stack);
/* Returns who reduces the largest values of fp8 tensors behind every slot: 1 the tensor and context ranks, 2
 * the ranks of all replicas, 0 nobody (another precision or recipe, or a stack that does not). */
int ss_job_reduces_amax(const struct ss_job *job, const struct ss_stack *stack);
/* Returns 1 when pipeline transfers run beside compute where the schedule lets them: not under Megatron's non-interleaved
 * schedule, nor in old releases. */
int ss_job_overlaps_p2p(const struct ss_job *job, const struct ss_stack *stack);
/* Returns the word of a flag for one of its values: ss_job_word("--recompute", SS_RECOMPUTE_FULL) is "full"; "unknown" where the
 * flag has no such value. Never NULL. */
const char *ss_job_word(const char *flag, int value);
/* Returns the model chunks of a rank, 1 without interleaving. */
int ss_job_chunks(const struct ss_job *job);

SS_C_END
