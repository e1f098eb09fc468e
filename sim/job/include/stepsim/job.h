/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One training job in Megatron-LM's own words (core 0.8 and Megatron-LM 240718; docs/reference/flags.md): what it is, all of it, once
 * a scenario is built (stepsim/scenario.h), and const from there on.
 */
#ifndef STEPSIM_JOB_H
#define STEPSIM_JOB_H

#include <stddef.h>

#include "stepsim/job_kinds.h"
#include "stepsim/model.h"
#include "stepsim/notes.h"
#include "stepsim/precision.h"
#include "stepsim/request.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Layers of each virtual stage by --pipeline-model-parallel-layout; n 0: not given. */
#define SS_LAYOUT_MAX 512
struct ss_pipeline_layout {
    int n;
    short layers[SS_LAYOUT_MAX]; /* [virtual stage], transformer layers; MTP's are behind the last one */
};

struct ss_error;
struct ss_notes;
struct ss_packing;
struct ss_request;
struct ss_stack;

/* A node with a GPU that has failed, from 0; gpu -1: which one is not said. */
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

/* What stepsim/job_fields.def has rows of. */
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

/* Makes a job of defaults, which is the job of no flag but for what its model, stack and cluster say. It holds no memory and needs no
 * free. */
void ss_job_init(struct ss_job *job);
/* Reads the words of a request as flags of a job and drops the job: `notes`, which may be NULL, gets what was assumed or is not
 * modelled. Errors: those of the words. */
int ss_job_check_words(const struct ss_request *r, struct ss_notes *notes, struct ss_error *err);
/* Whether a flag without value, given behind all words of the request, would leave the job as it is; 0 where the words are
 * wrong. */
int ss_job_lacks_effect(const struct ss_request *r, const char *flag);
/* Returns the ranks of a job on a platform of so many nodes of so many GPUs, spare nodes among them. */
int ss_job_world_size(const struct ss_job *job, int nodes, int gpus_per_node);
/* Returns 1 when the job is on some of the nodes of a cluster. */
int ss_job_is_placed(const struct ss_job *job);
/* Returns how many nodes --on-nodes names, 0: it is not given; *last, which may be NULL, is the highest of them. */
int ss_job_named_nodes(const struct ss_job *job, int *last);
/* Returns the node of the cluster that is the i-th of a job that is placed. */
int ss_job_node(const struct ss_job *job, int i);
/* Writes the first `nodes` of them as --on-nodes names them, "0-3,8"; what does not fit into size bytes is cut. */
void ss_job_nodes_text(const struct ss_job *job, int nodes, char *out, size_t size);
/* Returns the data-parallel degree of a finished job: world size / (tp pp cp). */
int ss_job_dp(const struct ss_job *job, int world_size);
/* Returns the recipe of the job's precision (enum ss_recipe): of fp8 the one that it says. */
int ss_job_recipe(const struct ss_job *job);
/* Returns the bytes of an element of what linear layers multiply, with its share of the scales of its block: 1 in fp8, 1 + 1/32 in
 * mxfp8, 1/2 + 1/16 in nvfp4, and 1 where they multiply values of 16 bit or more. */
double ss_job_quantized_bytes(const struct ss_job *job);
/* Returns the microbatches of each pipeline in an iteration of a finished job: global batch / (micro batch x dp). */
int ss_job_microbatches(const struct ss_job *job, int world_size);
/* Returns the layers that are split over the stages: the model's, and embedding and loss where each counts as one. */
int ss_job_split_layers(const struct ss_job *job);
/* Whether the job says the layers of a stage itself: by a layout, or of the first or the last one. */
int ss_job_has_stage_layers(const struct ss_job *job);
/* Returns 1 when context parallelism passes K and V round a ring beside attention, 0 when a collective moves them that nothing
 * hides. */
int ss_job_cp_in_ring(const struct ss_job *job);
/* Returns the modules that selective recompute repeats (a set of SS_MODULE_BIT), 0 without it; core attention where the
 * job names none. */
unsigned ss_job_redone_modules(const struct ss_job *job);
/* Returns 1 when the last stage has a copy of the embedding: as its output layer where they are tied, for multi-token
 * prediction, or for both. Its gradients are added to those of the first stage. */
int ss_job_copies_embedding(const struct ss_job *job);
/* Returns 1 for the dispatchers that send a token to a node once, and hand it on there: DeepEP's and HybridEP's. */
int ss_dispatcher_has_stages(int dispatcher);
/* Returns 1 when parameters are sharded inside each node and every node holds a copy. */
int ss_job_is_hybrid(const struct ss_job *job);
/* Returns 1 when gradients and states of routed experts are divided over other ranks than those of all other parameters. */
int ss_job_experts_apart(const struct ss_job *job);
/* Returns 1 when PyTorch's linear layers work in bf16 by autocast on fp32 parameters that are not sharded (ss.default.fp32_params). */
int ss_job_autocasts(const struct ss_job *job, const struct ss_stack *stack);
/* Returns who reduces the largest values of fp8 tensors behind every slot: 1 tensor and context ranks, 2 those of all replicas, 0 nobody
 * (another precision or recipe, or a stack that does not). */
int ss_job_reduces_amax(const struct ss_job *job, const struct ss_stack *stack);
/* Returns 1 when pipeline transfers run beside compute where the schedule lets them: not under Megatron's non-interleaved
 * schedule, nor in old releases. */
int ss_job_overlaps_p2p(const struct ss_job *job, const struct ss_stack *stack);
/* Returns the word of a flag for one of its values: ss_job_word("--recompute", SS_RECOMPUTE_FULL) is "full"; "unknown" where the
 * flag has no such value. Never NULL. */
const char *ss_job_word(const char *flag, int value);
/* Returns the model chunks of a rank, 1 where stages are not interleaved. */
int ss_job_chunks(const struct ss_job *job);

#ifdef __cplusplus
}
#endif
#endif
