/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules: integers only, no times. Each schedule is one file of sim/schedule. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "stepsim/cache.h"
#include "stepsim/types.h"

SS_C_BEGIN

/* One slot of a rank's order. `chunk` and `microbatch` count from 0. A paired slot (FB) runs `chunk`,
 * `microbatch` forward beside `chunk2`, `microbatch2` backward; otherwise chunk2 and microbatch2 are -1. */
struct ss_slot {
    int phase; /* enum ss_phase */
    int chunk, microbatch;
    int chunk2, microbatch2;
};

/* How a rank sends and receives. */
enum ss_p2p {
    /* Megatron without interleaving: the rank waits for a send before the next slot; the send of a steady
     * slot and the receive of the next are one batch */
    SS_P2P_BLOCKING,
    SS_P2P_OVERLAPPED, /* Megatron interleaved with overlap_p2p_comm: receives posted one slot
                         ahead, sends in the background */
    SS_P2P_BATCHED,    /* Megatron interleaved without overlap_p2p_comm: all sends and receives of a
                         steady forward and backward are one batch after the backward */
    /* buffers exist before they are needed: a send begins when its slot ends and runs in the background; only
     * the slot that needs the input waits */
    SS_P2P_ASYNC,
    /* as SS_P2P_BLOCKING, but one message after the other: between two stages the forward's goes first */
    SS_P2P_ORDERED
};

struct ss_schedule {
    char name[32];
    int stages; /* p: pipeline ranks */
    int chunks; /* v: model chunks a rank */
    /* m: microbatches of each pipeline, 0 .. m - 1; every chunk runs all microbatches of its pipeline */
    int microbatches;
    /* copies of the model, 1 (or 0) except in DualPipe. Copy i has its own microbatches and the virtual
     * stages [i n, (i + 1) n), n = stages * chunks / pipelines, of the arrays below */
    int pipelines;
    int p2p;                /* enum ss_p2p */
    int *virtual_rank;      /* [stages * chunks]: pipeline rank that holds virtual stage s */
    int *virtual_chunk;     /* [stages * chunks]: its chunk index there */
    int *nslots;            /* [stages] */
    struct ss_slot **slots; /* [stages][nslots], order of execution */
    int *warmup;            /* [stages]: forward slots before the steady part */
    /* A loop (ss_schedule_build_loop): `loop_length` slots of rank r from loop_first[r] on run loop_more
     * times more, each time with microbatches higher by loop_step. slots, nslots and microbatches count the
     * loop once. 0 and NULL: no loop. */
    int loop_more, loop_length, loop_step;
    int *loop_first; /* [stages] */
    int sound;       /* 1: it is known to pass ss_schedule_check, which the functions below then leave out */
    struct ss_schedule_source *source; /* where slots stand in the file they were read from, or NULL */
    int sharers;                       /* owners beside the first; each owner frees the schedule */
    /* hash that tells the slots of a schedule of ss_schedule_build_kept from those of others; 0: unknown */
    uint64_t kept[2];
};

struct ss_schedule_params {
    int stages, chunks, microbatches;
    /* Interleaved: microbatches in a row on one chunk (--microbatch-group-size-per-vp-stage). 0: the rules of
     * Megatron core 0.8 (July 2024): groups of `stages`, which must divide the microbatches, and only warm-up
     * when one group is all. Else the rules of core 0.10 and later, which have the flag: a last group that is
     * not full may run if it has `stages` microbatches. */
    int microbatch_group_size;
    int overlap_p2p; /* 0: interleaved with blocking p2p */
    int ordered_p2p; /* 1: 1f1b sends one message after the other */
    /* 1: 1f1b and interleaved pair a forward with a backward in their steady part, with one more forward
     * before it, as Megatron does with --overlap-moe-expert-parallel-comm */
    int paired;
};

/* Builds a known schedule by its name; the caller frees *out with ss_schedule_free. params->microbatches are
 * those of one iteration over all pipelines. Virtual stage s is chunk * stages + rank; in the V of ZB-V,
 * DualPipe and DualPipeV (2 chunks) the first chunk is on rank s, the second on rank 2 * stages - 1 - s.
 * Errors: SS_ERR_USAGE (name or params NULL), SS_ERR_INPUT (no such schedule, a number below 1, or more than
 * 268,435,456 slots), SS_ERR_CONFIG (Megatron refuses the numbers, or the schedule's own conditions do not
 * hold), SS_ERR_NOMEM. */
int ss_schedule_build(const char *name, const struct ss_schedule_params *params, struct ss_schedule **out,
                      struct ss_error *err);
/* Copies a schedule, with a loop written out as slots and without its source; the caller frees *out with
 * ss_schedule_free. Error: SS_ERR_NOMEM. */
int ss_schedule_copy(const struct ss_schedule *s, struct ss_schedule **out, struct ss_error *err);
/* Builds the same schedule as a loop where it repeats and has many microbatches, else as ss_schedule_build
 * does. With a million microbatches it has as many slots as with some dozens. Arguments, owner and errors are
 * those of ss_schedule_build. */
int ss_schedule_build_loop(const char *name, const struct ss_schedule_params *params,
                           struct ss_schedule **out, struct ss_error *err);
/* Builds the same schedule as ss_schedule_build_loop, or takes it from a cache (stepsim/cache.h), which keeps
 * it; `cache` may be NULL. Nobody may change the schedule. Owner and errors are the same. */
int ss_schedule_build_kept(const char *name, const struct ss_schedule_params *params, struct ss_cache *cache,
                           struct ss_schedule **out, struct ss_error *err);
/* Makes a schedule without a loop that runs the loop of `s` `more` times more; s->loop_more makes the whole
 * schedule. The caller frees *out with ss_schedule_free. Error: SS_ERR_NOMEM. */
int ss_schedule_turns(const struct ss_schedule *s, int more, struct ss_schedule **out, struct ss_error *err);
/* Frees a schedule. NULL is allowed. */
void ss_schedule_free(struct ss_schedule *s);
/* Sets the name and a line of description, both constants, of the n-th known schedule, n from 0. Returns 1; 0 past the last. */
int ss_schedule_known(int n, const char **name, const char **description);
/* Returns the chunks of a rank under the n-th known schedule when `wanted` were asked for (0: no number). A
 * schedule that needs one number of chunks has that number. Returns -1 where there is no such schedule. */
int ss_schedule_known_chunks(int n, int wanted);
/* Returns the chunks that a rank has under the schedule of this name, as ss_schedule_known_chunks; `wanted` for another name. */
int ss_schedule_chunks(const char *name, int wanted);
/* Parameters beyond the shape that only some schedules use. */
enum ss_schedule_heed { SS_SCHEDULE_HEEDS_GROUP = 1, SS_SCHEDULE_HEEDS_PAIRED = 2 };
/* Returns which of microbatch_group_size and paired (bits of enum ss_schedule_heed) change the order of the schedule of this name; 0
 * for another name. */
int ss_schedule_heeds(const char *name);
/* Returns the name of the schedule that Megatron takes for this number of chunks a rank when none is
 * named. */
const char *ss_schedule_default(int chunks);
/* Returns the name of a schedule with this placement that needs at most 2 microbatches a stage, for callers
 * that want only the stages. */
const char *ss_schedule_undemanding(int chunks, int v_shape);
/* Facts of a known schedule as texts: its source, its conditions, its bubble and its activations in flight,
 * with equal stages and free communication (docs/guide/schedules.md). */
struct ss_schedule_facts {
    const char *source, *conditions, *bubble, *in_flight;
};
/* Returns the facts of the n-th known schedule, constants, or NULL. */
const struct ss_schedule_facts *ss_schedule_known_facts(int n);
/* Returns the virtual stages of one pipeline, that is, of one copy of the model. */
int ss_schedule_depth(const struct ss_schedule *s);
/* Returns the virtual stage whose output the forward of a virtual stage needs; -1 for the first stage. */
int ss_schedule_before(const struct ss_schedule *s, int virtual_stage);
/* Returns the virtual stage whose gradient the backward of a virtual stage needs; -1 for the last stage. */
int ss_schedule_after(const struct ss_schedule *s, int virtual_stage);
/* Returns the microbatches of one iteration over all pipelines and all turns of a loop. */
int ss_schedule_microbatches(const struct ss_schedule *s);
/* Returns the slots of warm-up that a rank has before its first backward, as Megatron counts them. */
int ss_schedule_warmup(const struct ss_schedule *s, int rank);
/* Returns the most (chunk, microbatch) pairs of a rank whose F has begun and whose B (or W) has not ended. */
int ss_schedule_in_flight(const struct ss_schedule *s, int rank);
/* Checks a schedule. Every action must be there once, F before B, I before W; otherwise SS_ERR_INPUT names
 * rank and slot. The order must be able to run; otherwise SS_ERR_DEADLOCK names two slots that wait for each
 * other. */
int ss_schedule_check(const struct ss_schedule *s, struct ss_error *err);
/* Writes when each slot starts and ends, in s, with free communication, to the caller's arrays
 * start[rank][slot] and end[rank][slot]; either may be NULL. Durations are as for ss_schedule_makespan.
 * Errors: those of ss_schedule_check. */
int ss_schedule_times(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                      double *const *start, double *const *end, struct ss_error *err);
/* Writes to bubble[stages] how long each rank idles, in s, between its first start and its last end, with
 * free communication. That time is the bubble where no global barrier makes ranks wait for one another.
 * Errors: those of ss_schedule_check. */
int ss_schedule_bubble(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                       double *bubble, struct ss_error *err);
/* Sets *makespan to the time from the first start to the last end, in s, with free communication and all
 * turns of a loop. duration[phase][chunk] is in s and the same on every rank. A phase that the schedule does
 * not use may be NULL; where FB is NULL a paired slot takes F + B. idle[rank], which may be NULL, gets the
 * makespan less the rank's work. Errors: those of ss_schedule_check. */
int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err);
/* Returns the duration of a slot of a pipeline rank, in s. */
typedef double (*ss_slot_timer)(void *ctx, int rank, const struct ss_slot *slot);
/* Does what ss_schedule_makespan does where slots of one phase and chunk differ: `timer` gives the duration
 * of a slot, equal in every turn of a loop. Errors: those of ss_schedule_check. */
int ss_schedule_makespan_timed(const struct ss_schedule *s, ss_slot_timer timer, void *ctx, double *makespan,
                               double *idle, struct ss_error *err);
/* Does so for two timings in one walk, makespan[i] and idle[i * stages + rank] with ctx[i], where slots of one rank, phase and chunk are
 * alike, and pairs of one rank and two chunks. */
int ss_schedule_makespans(const struct ss_schedule *s, ss_slot_timer timer, void *const ctx[2],
                          double makespan[2], double *idle, struct ss_error *err);

/* ---- schedules as data (docs/reference/formats-schedule.md) ---- */

enum ss_schedule_format {
    SS_SCHEDULE_CSV, /* form of PyTorch pipelining: a row a rank, cells STAGE OP MICROBATCH */
    SS_SCHEDULE_TEXT /* our form: the same words with comments, placement, several pipelines */
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
/* Writes a schedule in a form (enum ss_schedule_format). Errors: SS_ERR_IO, SS_ERR_UNSUPPORTED (the CSV
 * cannot express two pipelines). */
int ss_schedule_write(const struct ss_schedule *s, int format, FILE *out, struct ss_error *err);
/* Returns the name of a way to send and receive (enum ss_p2p). Never NULL. */
const char *ss_p2p_name(int p2p);

SS_C_END
