/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of Megatron core's TransformerConfig and ModelParallelConfig, under their own names, in whatever file they stand. */
#ifndef SS_IMPORT_CORE_NAMES_H
#define SS_IMPORT_CORE_NAMES_H

#include "import/foreign.h"

/* Reads the fields below `from`, a map or NULL. What is off (fp8, experts, recompute, CUDA graphs, offloading) takes its further
 * fields with it, whatever they say. Fields that are Megatron-LM's arguments are their flags; others stay unread. */
int ss_core_names(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err);
/* Those of the pipeline's stages alone, virtual ones, their layers and their microbatches; others stay unread. */
int ss_core_stages(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err);
/* Those of precision alone: bf16, fp16, fp8, fp4 and what belongs to them, which then count as read. */
int ss_core_precision(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err);
/* Whether gradients are reduced in fp32 (`grad_reduce_in_fp32` below `from`). */
int ss_core_reduction(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err);
/* What overlaps: `overlap`, which may be NULL or null, beats `ddp` and `model`. Where it is there and leaves it open, gradients and
 * parameters overlap with a sharded optimizer, in buckets of 128 Mi parameters. */
int ss_core_overlaps(struct ss_foreign *f, const struct ss_tree_node *overlap, const struct ss_tree_node *ddp,
                     const struct ss_tree_node *model, bool sharded, struct ss_error *err);
/* What DistributedDataParallelConfig has beside overlap, buckets' size, precision and sharding. Names of Megatron's FSDP count as read where
 * `fsdp` is off; those that are not known stay unread. */
int ss_core_ddp(struct ss_foreign *f, const struct ss_tree_node *ddp, bool fsdp, struct ss_error *err);
/* Makes names below `from`, as of ss_core_skip, count as read, and tells the place among what has no effect. */
void ss_core_harmless(struct ss_foreign *f, const struct ss_tree_node *from, const char *names);
/* Kind, clipping, offloading and types of the states; other names stay unread. */
int ss_core_optimizer(struct ss_foreign *f, struct ss_tree_node *optimizer, struct ss_error *err);
/* Those of which a list is one value of an argument: window_size, window_attn_skip_freq, moe_layer_freq. */
int ss_core_lists(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err);
/* Makes names ("a b c"; "a_*" all that begin so) below `from` count as read. */
void ss_core_skip(const struct ss_tree_node *from, const char *names);
/* Whether a name is true. */
bool ss_core_true(const struct ss_tree_node *from, const char *name);

#endif
