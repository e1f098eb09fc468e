/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline schedule: pure integers, no times. One file a schedule in sim/schedule. */
#ifndef STEPSIM_SCHEDULE_H
#define STEPSIM_SCHEDULE_H

#include <stdint.h>
#include <stdio.h>

#include "stepsim/cache.h"
#include "stepsim/error.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which slot, in a rank's order. `chunk` and `microbatch` count from 0. A paired slot (FB) runs
 * `chunk`, `microbatch` forward beside `chunk2`, `microbatch2` backward; else these are -1. */
struct ss_slot {
    int phase; /* enum ss_phase */
    int chunk, microbatch;
    int chunk2, microbatch2;
};

/* When a rank sends and receives. */
enum ss_p2p {
    SS_P2P_BLOCKING,   /* Megatron without interleaving: a send is waited for before the next slot; a
                         steady slot's send and the next slot's receive are one batch */
    SS_P2P_OVERLAPPED, /* Megatron interleaved with overlap_p2p_comm: receives posted one slot
                         ahead, sends in the background */
    SS_P2P_BATCHED,    /* Megatron interleaved without overlap_p2p_comm: all sends and receives of a
                         steady forward and backward are one batch after the backward */
    SS_P2P_ASYNC       /* buffers are there before they are needed: a send begins when its slot ends and
                         runs in the background, and only the slot that needs the input waits */
};

struct ss_schedule {
    char name[32];
    int stages;             /* p: pipeline ranks */
    int chunks;             /* v: model chunks a rank */
    int microbatches;       /* m: those of each pipeline, 0 .. m - 1; every chunk runs all of its pipeline */
    int pipelines;          /* copies of the model, each with its own microbatches and the virtual stages
                         [i n, (i + 1) n), n = stages * chunks / pipelines, of the arrays below; all
                         schedules but DualPipe have 1 (0 is read as 1) */
    int p2p;                /* enum ss_p2p */
    int *virtual_rank;      /* [stages * chunks]: pipeline rank that holds virtual stage s */
    int *virtual_chunk;     /* [stages * chunks]: its chunk index there */
    int *nslots;            /* [stages] */
    struct ss_slot **slots; /* [stages][nslots], order of execution */
    int *warmup;            /* [stages]: forward slots before the steady part */
    /* A loop (ss_schedule_build_loop): `loop_length` slots of rank r from loop_first[r] on run loop_more times more, each time for
     * microbatches higher by loop_step. slots, nslots and microbatches count them once. 0 and NULL: none. */
    int loop_more, loop_length, loop_step;
    int *loop_first; /* [stages] */
    int loop_short;  /* 1: so few turns that what follows from their times is found with all of them */
    int sound;       /* 1: known to pass ss_schedule_check, which functions below then spare themselves */
    struct ss_schedule_source *source; /* where slots stand in the file they were read from, or NULL */
    int sharers;                       /* owners beside the first one: each of them frees it */
    uint64_t kept
        [2]; /* of one that ss_schedule_build_kept made: what tells its slots from those of others; 0: unknown */
};

struct ss_schedule_params {
    int stages, chunks, microbatches;
    /* Interleaved: microbatches in a row on one chunk (--microbatch-group-size-per-vp-stage).
     * 0: the rules of Megatron core 0.8 (July 2024): groups of `stages`, which must divide the
     * microbatches, and nothing but warm-up when one group is all. Else the rules of core 0.10 and
     * later, which have the flag: a last group that does not fill may run if it has `stages`. */
    int microbatch_group_size;
    int overlap_p2p; /* 0: interleaved with blocking p2p */
    /* 1: 1f1b and interleaved pair a forward with a backward in their steady part, one more forward before it, as Megatron does
     * with --overlap-moe-expert-parallel-comm */
    int paired;
};

/* Builds a known schedule by its name; the caller frees *out with ss_schedule_free. params->microbatches are those of one
 * iteration, of all pipelines. Virtual stage s is chunk * stages + rank; in the V of ZB-V, DualPipe and DualPipeV (2 chunks)
 * it is on rank s and then on rank 2 * stages - 1 - s. Errors: SS_ERR_USAGE (name or params NULL), SS_ERR_INPUT (no such schedule, a number below 1, or more than
 * 268,435,456 slots), SS_ERR_CONFIG (Megatron refuses the numbers, or the schedule's own conditions do not hold), SS_ERR_NOMEM. */
int ss_schedule_build(const char *name, const struct ss_schedule_params *params, struct ss_schedule **out,
                      struct ss_error *err);
/* Copies a schedule, without where it was read, a loop as its slots; the caller frees *out with ss_schedule_free. Error: SS_ERR_NOMEM. */
int ss_schedule_copy(const struct ss_schedule *s, struct ss_schedule **out, struct ss_error *err);
/* Builds the same schedule as a loop where it repeats and microbatches are many, else as ss_schedule_build does: of a million
 * microbatches it then has as many slots as of some dozens. Arguments, owner and errors are those of ss_schedule_build. */
int ss_schedule_build_loop(const char *name, const struct ss_schedule_params *params,
                           struct ss_schedule **out, struct ss_error *err);
/* Builds the same schedule as ss_schedule_build_loop, or takes it in a cache (stepsim/cache.h), where it stays; `cache` NULL: without.
 * It must not be changed. Owner and errors are the same. */
int ss_schedule_build_kept(const char *name, const struct ss_schedule_params *params, struct ss_cache *cache,
                           struct ss_schedule **out, struct ss_error *err);
/* Makes the schedule without a loop that runs the loop of `s` `more` times more, which need not be s->loop_more: that is the whole
 * one. The caller frees *out with ss_schedule_free. Error: SS_ERR_NOMEM. */
int ss_schedule_turns(const struct ss_schedule *s, int more, struct ss_schedule **out, struct ss_error *err);
/* Frees a schedule. NULL is allowed. */
void ss_schedule_free(struct ss_schedule *s);
/* Sets the name and a line of description, both constants, of the n-th known schedule, n from 0. Returns 1; 0 past the last. */
int ss_schedule_known(int n, const char **name, const char **description);
/* Returns the chunks that a rank has under the n-th known schedule where `wanted` were asked for (0: no number was asked for).
 * A schedule that is made for one number has that number. Returns -1 where there is no such schedule. */
int ss_schedule_known_chunks(int n, int wanted);
/* Returns the chunks that a rank has under the schedule of this name, as ss_schedule_known_chunks; `wanted` for another name. */
int ss_schedule_chunks(const char *name, int wanted);
/* Params beside the shape that not every schedule has a use for. */
enum ss_schedule_heed { SS_SCHEDULE_HEEDS_GROUP = 1, SS_SCHEDULE_HEEDS_PAIRED = 2 };
/* Returns which of microbatch_group_size and paired (bits of enum ss_schedule_heed) change the order of the schedule of this name; 0
 * for another name. */
int ss_schedule_heeds(const char *name);
/* Returns the name of the schedule that Megatron takes for so many chunks a rank where none is named. */
const char *ss_schedule_default(int chunks);
/* Returns the name of a schedule of this placement that needs at most 2 microbatches a stage: for callers that want the stages
 * alone. */
const char *ss_schedule_undemanding(int chunks, int v_shape);
/* What a known schedule costs with equal stages and free communication, as texts: where it comes from, its conditions, its
 * bubble and its activations in flight (docs/guide/schedules.md). */
struct ss_schedule_facts {
    const char *source, *conditions, *bubble, *in_flight;
};
/* Returns the facts of the n-th known schedule, constants, or NULL: there is no such schedule. */
const struct ss_schedule_facts *ss_schedule_known_facts(int n);
/* Returns the virtual stages of one pipeline: those that one copy of the model has. */
int ss_schedule_depth(const struct ss_schedule *s);
/* Returns the virtual stage whose output a virtual stage needs for its forward; -1 for the first one. */
int ss_schedule_before(const struct ss_schedule *s, int virtual_stage);
/* Returns the virtual stage whose gradient a virtual stage needs for its backward; -1 for the last one. */
int ss_schedule_after(const struct ss_schedule *s, int virtual_stage);
/* Returns the microbatches of one iteration, of all pipelines and turns of a loop together. */
int ss_schedule_microbatches(const struct ss_schedule *s);
/* Returns the slots of warm-up that a rank has before its first backward, as Megatron counts them. */
int ss_schedule_warmup(const struct ss_schedule *s, int rank);
/* Returns the most (chunk, microbatch) pairs of a rank that have begun their F and not ended their B (or W). */
int ss_schedule_in_flight(const struct ss_schedule *s, int rank);
/* Checks a schedule. Every action is there once, F before B, I before W: else SS_ERR_INPUT names rank and slot. The order can
 * run: else SS_ERR_DEADLOCK names two slots that wait for each other. */
int ss_schedule_check(const struct ss_schedule *s, struct ss_error *err);
/* Writes when each slot starts and ends, in s, with free communication: start[rank][slot] and end[rank][slot], arrays of the
 * caller of which either may be NULL. Durations are as for ss_schedule_makespan. Errors: those of ss_schedule_check. */
int ss_schedule_times(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                      double *const *start, double *const *end, struct ss_error *err);
/* Writes how long each rank idles, in s, between its first start and its last end, with free communication, into bubble[stages].
 * That is the bubble where no global barrier makes ranks wait for one another. Errors: those of ss_schedule_check. */
int ss_schedule_bubble(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                       double *bubble, struct ss_error *err);
/* Sets *makespan to the time from the first start to the last end, in s, with free communication, of a loop with all its turns. duration[phase][chunk] is in
 * s and the same on every rank. A phase that the schedule does not use may be NULL; where FB is NULL a paired slot takes F + B.
 * idle[rank], which may be NULL, gets the makespan less the rank's work. Errors: those of ss_schedule_check. */
int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err);
/* Returns what a slot of a pipeline rank takes, in s. */
typedef double (*ss_slot_timer)(void *ctx, int rank, const struct ss_slot *slot);
/* Sets *makespan and idle[rank], which may be NULL, as ss_schedule_makespan does, where slots of a phase and chunk differ: a slot
 * takes what `timer` says, which in a loop is the same in every turn. Errors: those of ss_schedule_check. */
int ss_schedule_makespan_timed(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, double *makespan,
                               double *idle, struct ss_error *err);

/* ---- schedules as data (docs/reference/formats-schedule.md) ---- */

enum ss_schedule_format {
    SS_SCHEDULE_CSV, /* PyTorch pipelining's: a row a rank, cells STAGE OP MICROBATCH */
    SS_SCHEDULE_TEXT /* ours: the same words with comments, placement, several pipelines */
};
/* Returns 1 when a value of --schedule is a file (it has a '/', or ends in .csv or .sched), 0 when it is a name. */
int ss_schedule_is_file(const char *name);
/* Reads a schedule of either form (the text form begins with the word "schedule") and checks it. `path` "-" is stdin. The
 * caller frees *out with ss_schedule_free. Errors: SS_ERR_IO, SS_ERR_INPUT (with the line, of a CSV with row and column),
 * SS_ERR_DEADLOCK. */
int ss_schedule_load(const char *path, struct ss_schedule **out, struct ss_error *err);
/* Reads a schedule from `len` bytes of memory, as ss_schedule_load; messages call it `name`. */
int ss_schedule_parse(const char *text, unsigned long len, const char *name, struct ss_schedule **out,
                      struct ss_error *err);
/* Writes a schedule in a form (enum ss_schedule_format). Errors: SS_ERR_IO, SS_ERR_UNSUPPORTED (the CSV has no word for two
 * pipelines). */
int ss_schedule_write(const struct ss_schedule *s, int format, FILE *out, struct ss_error *err);
/* Returns the name of a way to send and receive (enum ss_p2p). Never NULL. */
const char *ss_p2p_name(int p2p);

#ifdef __cplusplus
}
#endif
#endif
