/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share. A new schedule is one file with one builder and one row of
 * the table in registry.c; nothing else of the program knows it by name.
 */
#ifndef SS_SCHEDULE_BUILDER_H
#define SS_SCHEDULE_BUILDER_H

#include <stdint.h>

#include "stepsim/schedule.h"

/* Fills a schedule made by ss_schedule_alloc; refuses numbers that it cannot serve. */
typedef int (*ss_schedule_builder)(const struct ss_schedule_params *params, struct ss_schedule **out,
                                   struct ss_error *err);

int ss_schedule_build_1f1b(const struct ss_schedule_params *params, struct ss_schedule **out,
                           struct ss_error *err);
int ss_schedule_build_interleaved(const struct ss_schedule_params *params, struct ss_schedule **out,
                                  struct ss_error *err);

/* Placement of Megatron (virtual stage s = chunk * stages + rank) and room for `nslots` slots on every
 * rank; nslots[] is set to it. NULL when out of memory. */
struct ss_schedule *ss_schedule_alloc(const char *name, const struct ss_schedule_params *params, int nslots);

/* Warm-up forwards, then one forward and one backward in turn, then the rest of the backwards: what
 * 1F1B and interleaved 1F1B have in common. forward[i] and backward[i] are the i-th of each. */
void ss_schedule_fill(struct ss_slot *slots, const struct ss_slot *forward, const struct ss_slot *backward,
                      int total, int warmup);

/* Virtual stage of (rank, chunk): map[rank * chunks + chunk], -1 where nothing is placed. NULL when out
 * of memory. */
int *ss_schedule_stage_map(const struct ss_schedule *s);

/* Index of (virtual stage or chunk, microbatch) in arrays of one entry each. */
static inline int64_t ss_schedule_index(const struct ss_schedule *s, int stage, int microbatch)
{
    return (int64_t)stage * s->microbatches + microbatch;
}

/* Runs the slots of a sound schedule (indices in range) as early as their order and their inputs allow.
 * duration[] as in ss_schedule_makespan; NULL: no slot takes time. at[rank] is the first slot that
 * cannot run (nslots when all ran), end[rank] the time of the last that did. Both have one entry a
 * rank; end may be NULL. */
int ss_schedule_relax(const struct ss_schedule *s, const double *const *duration, int *at, double *end,
                      struct ss_error *err);

#endif
