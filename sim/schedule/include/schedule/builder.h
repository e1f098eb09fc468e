/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this folder share. A new schedule is one file with its builder and its row, and one word of
 * SS_SCHEDULE_LIST; nothing else of the program knows it by name.
 */
#pragma once

#include "stepsim/schedule.h"

/* Fills a schedule made by ss_schedule_alloc; refuses numbers that it cannot serve. */
typedef int (*ss_schedule_builder)(const struct ss_schedule_params *params, struct ss_schedule **out,
                                   struct ss_error *err);

struct ss_schedule_row {
    const char *name, *description;
    ss_schedule_builder build;
    int chunks; /* that a rank must have; 0: as asked for, 2 where nothing is asked for */
    int heeds;  /* bits SS_SCHEDULE_HEEDS_: params beside the shape that change the order */
    struct ss_schedule_facts facts;
};
/* X(name): ss_schedule_name of its file. In this order they are listed. */
#define SS_SCHEDULE_LIST(X)                                                                                  \
    X(1f1b)                                                                                                  \
    X(interleaved)                                                                                           \
    X(gpipe)                                                                                                 \
    X(eager_1f1b)                                                                                            \
    X(looped_bfs)                                                                                            \
    X(zb_h1)                                                                                                 \
    X(zb_h2)                                                                                                 \
    X(zb_v)                                                                                                  \
    X(zb_interleaved)                                                                                        \
    X(group_interleaved)                                                                                     \
    X(v_half)                                                                                                \
    X(v_min)                                                                                                 \
    X(1f1b_v)                                                                                                \
    X(dualpipe)                                                                                              \
    X(dualpipev)
#define X(name) extern const struct ss_schedule_row ss_schedule_##name;
SS_SCHEDULE_LIST(X)
#undef X

/* Placement of Megatron (virtual stage s = chunk * stages + rank) and room for `nslots` slots on every
 * rank; nslots[] is set to it. NULL when out of memory. */
struct ss_schedule *ss_schedule_alloc(const char *name, const struct ss_schedule_params *params, int nslots);

/* Warm-up forwards, then one forward and one backward in turn, then the rest of the backwards: what
 * 1F1B and interleaved 1F1B have in common. forward[i] and backward[i] are the i-th of each. */
void ss_schedule_fill(struct ss_slot *slots, const struct ss_slot *forward, const struct ss_slot *backward,
                      int total, int warmup);
/* Does so with a forward and a backward of the steady part in one slot. Returns the number of slots. */
int ss_schedule_fill_pairs(struct ss_slot *slots, const struct ss_slot *forward,
                           const struct ss_slot *backward, int total, int warmup);

/* Placement of a V over two chunks: down the ranks with chunk 0, up again with chunk 1. */
void ss_schedule_place_v(struct ss_schedule *s);

/* An order in the making: slots of one rank are appended. `next` counts what a chunk has run, so that a
 * builder names only phases and chunks; W takes the oldest gradient still owed, of any chunk. */
struct ss_order {
    struct ss_schedule *s;
    int rank, n;
    int *next; /* [SS_PHASE_COUNT * chunks] */
    int *owed; /* slots of this rank whose W is due, oldest first */
    int nowed, paid;
};
/* Makes o->s as ss_schedule_alloc does, without slots yet, and opens rank 0. */
int ss_order_begin(struct ss_order *o, const char *name, const struct ss_schedule_params *params, int nslots,
                   struct ss_error *err);
void ss_order_rank(struct ss_order *o, int rank);
void ss_order_add(struct ss_order *o, int phase, int chunk); /* F, B or I */
void ss_order_pair(struct ss_order *o, int forward, int backward);
void ss_order_weight(struct ss_order *o);               /* nothing is owed: nothing is added */
void ss_order_weight_of(struct ss_order *o, int chunk); /* of this chunk the oldest */
int ss_order_owed(const struct ss_order *o);
void ss_order_end(struct ss_order *o); /* o->s stays */

/* Sets the warm-up of each rank to the forwards before its first backward or pair. */
void ss_schedule_count_warmup(struct ss_schedule *s);

/* Drops the slots of microbatches from `microbatches` on, so that an order that needs more microbatches
 * serves fewer. */
void ss_schedule_truncate(struct ss_schedule *s, int microbatches);

/* The eight steps that DualPipe and DualPipeV share, for rank i of n ranks between the end where the
 * microbatches of chunk `near` come in (i = 0) and the one where they turn or meet (i = n - 1). */
void ss_order_dualpipe(struct ss_order *o, int i, int n, int near, int far);

/* 1F1B whose backward is split, over any number of chunks: zb-h1 and zb-interleaved. group: microbatches in a row on one chunk. */
int ss_split_build(const char *name, const struct ss_schedule_params *params, int group,
                   struct ss_schedule **out, struct ss_error *err);

/* SS_ERR_INPUT where a number is no number of anything, or slots are too many. */
int ss_schedule_check_params(const char *name, const struct ss_schedule_params *p, struct ss_error *err);
/* Tells orders of many microbatches by what is left of a period: those that leave as much are one loop, if any. -1: there are too few
 * microbatches for that. */
int ss_schedule_loop_rest(const struct ss_schedule_params *params);
/* SS_ERR_CONFIG when the schedule is asked to have another number of chunks or too few microbatches. */
int ss_schedule_need_chunks(const char *name, const struct ss_schedule_params *params, int chunks,
                            struct ss_error *err);
int ss_schedule_need_microbatches(const char *name, const struct ss_schedule_params *params, int least,
                                  const char *why, struct ss_error *err);

/* Line and column of the slots of a file, [rank][slot]; freed with the schedule. */
struct ss_schedule_source {
    char file[256];
    int stages;
    int **line, **column;
};
void ss_schedule_source_free(struct ss_schedule_source *source);

/* Virtual stage of (rank, chunk): map[rank * chunks + chunk], -1 where nothing is placed. NULL when out
 * of memory. */
int *ss_schedule_stage_map(const struct ss_schedule *s);

/* Makes it the same slot for microbatches that come so many later. */
static inline void ss_slot_shift(struct ss_slot *slot, int microbatches)
{
    slot->microbatch += microbatches;
    if (slot->phase == SS_PHASE_FB)
        slot->microbatch2 += microbatches;
}

/* Index of (virtual stage or chunk, microbatch) in arrays of one entry each. */
static inline int64_t ss_schedule_index(const struct ss_schedule *s, int stage, int microbatch)
{
    return (int64_t)stage * s->microbatches + microbatch;
}

/* Returns the duration of a slot: duration[phase][chunk] in s, F + B for a pair without an FB; 0 where
 * duration is NULL. */
static inline double ss_schedule_slot_seconds(const double *const *duration, const struct ss_slot *slot)
{
    if (!duration)
        return 0;
    const double *d = duration[slot->phase];
    if (slot->phase != SS_PHASE_FB || d)
        return d ? d[slot->chunk] : 0;
    const double *f = duration[SS_PHASE_F], *b = duration[SS_PHASE_B];
    return (f ? f[slot->chunk] : 0) + (b ? b[slot->chunk2] : 0);
}

/* What the slots of a schedule take, once with each of ctx, which are 1 or SS_SLOT_LANES. */
#define SS_SLOT_LANES 2
struct ss_slot_times {
    ss_slot_timer timer; /* NULL: nothing */
    void *const *ctx;
    int n;
    /* [((rank * SS_PHASE_FB + phase) * chunks + chunk) * n + i]: what `timer` says of slots that are no pairs; NULL: it is asked */
    double *table;
};
/* Runs the slots of a sound schedule (indices in range) as early as their order and their inputs allow. `times` NULL: no slot takes
 * time. at[rank] is the first slot that cannot run (nslots when all ran); what its slots take is added to work[rank * n + i], with
 * ctx[i]. Start and end of slot k of rank r go to starts[r][k * n + i] and ends[r][k * n + i]; all three may be NULL. */
int ss_schedule_relax(const struct ss_schedule *s, const struct ss_slot_times *times, int *at, double *work,
                      double *const *starts, double *const *ends, struct ss_error *err);
