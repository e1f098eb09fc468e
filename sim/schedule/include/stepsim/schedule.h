/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline schedule: pure integers, no times. One file a schedule in sim/schedule. */
#ifndef STEPSIM_SCHEDULE_H
#define STEPSIM_SCHEDULE_H

#include <stdio.h>

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
    SS_P2P_BLOCKING,  /* Megatron without interleaving: a send is waited for before the next slot; a
                         steady slot's send and the next slot's receive are one batch */
    SS_P2P_OVERLAPPED, /* Megatron interleaved with overlap_p2p_comm: receives posted one slot
                         ahead, sends in the background */
    SS_P2P_BATCHED,   /* Megatron interleaved without overlap_p2p_comm: all sends and receives of a
                         steady forward and backward are one batch after the backward */
    SS_P2P_ASYNC      /* buffers are there before they are needed: a send begins when its slot ends and
                         runs in the background, and only the slot that needs the input waits */
};

struct ss_schedule {
    char name[32];
    int stages;       /* p: pipeline ranks */
    int chunks;       /* v: model chunks a rank */
    int microbatches; /* m: those of each pipeline, 0 .. m - 1; every chunk runs all of its pipeline */
    int pipelines;    /* copies of the model, each with its own microbatches and the virtual stages
                         [i n, (i + 1) n), n = stages * chunks / pipelines, of the arrays below; all
                         schedules but DualPipe have 1 (0 is read as 1) */
    int p2p;          /* enum ss_p2p */
    int *virtual_rank;  /* [stages * chunks]: pipeline rank that holds virtual stage s */
    int *virtual_chunk; /* [stages * chunks]: its chunk index there */
    int *nslots;        /* [stages] */
    struct ss_slot **slots; /* [stages][nslots], order of execution */
    int *warmup;        /* [stages]: forward slots before the steady part */
    int sound;           /* 1: known to pass ss_schedule_check, which functions below then spare themselves */
    struct ss_schedule_source *source; /* where slots stand in the file they were read from, or NULL */
};

struct ss_schedule_params {
    int stages, chunks, microbatches;
    /* Interleaved: microbatches in a row on one chunk (--microbatch-group-size-per-vp-stage).
     * 0: the rules of Megatron core 0.8 (July 2024): groups of `stages`, which must divide the
     * microbatches, and nothing but warm-up when one group is all. Else the rules of core 0.10 and
     * later, which have the flag: a last group that does not fill may run if it has `stages`. */
    int microbatch_group_size;
    int overlap_p2p;           /* 0: interleaved with blocking p2p */
};

/* By the name of a known schedule; the caller owns *out. params->microbatches are those of one iteration
 * (of all pipelines). Virtual stage s = chunk * stages + rank, or in the V of ZB-V, DualPipe and
 * DualPipeV (2 chunks) on rank s and then on rank 2 * stages - 1 - s. SS_ERR_CONFIG where the numbers
 * are refused: by Megatron, or because the schedule's own conditions do not hold. */
int ss_schedule_build(const char *name, const struct ss_schedule_params *params,
                      struct ss_schedule **out, struct ss_error *err);
void ss_schedule_free(struct ss_schedule *s);
/* n-th known schedule: name and one line of description; 0 past the end. */
int ss_schedule_known(int n, const char **name, const char **description);
/* Chunks that a rank has under the n-th known schedule when `wanted` were asked for (0: nothing was): schedules that are
 * made for one number have that number. -1: there is no such schedule. */
int ss_schedule_known_chunks(int n, int wanted);
/* The same by name; unknown names get `wanted`. */
int ss_schedule_chunks(const char *name, int wanted);
/* The schedule that Megatron takes for so many chunks a rank where none is named. */
const char *ss_schedule_default(int chunks);
/* A schedule of this placement that asks for no more than 2 microbatches a stage: for who wants the stages alone. */
const char *ss_schedule_undemanding(int chunks, int v_shape);
/* What a known schedule costs with equal stages and free communication, as text: where it comes from,
 * its conditions, bubble and activations in flight (docs/guide/schedules.md). NULL: no such schedule. */
struct ss_schedule_facts {
    const char *source, *conditions, *bubble, *in_flight;
};
const struct ss_schedule_facts *ss_schedule_known_facts(int n);
/* Virtual stages of one pipeline: those of one copy of the model. */
int ss_schedule_depth(const struct ss_schedule *s);
/* Virtual stage whose output (before) or gradient (after) a virtual stage needs; -1 at the ends. */
int ss_schedule_before(const struct ss_schedule *s, int virtual_stage);
int ss_schedule_after(const struct ss_schedule *s, int virtual_stage);
/* Microbatches of one iteration, of all pipelines. */
int ss_schedule_microbatches(const struct ss_schedule *s);
/* Slots of warm-up before the first backward of a rank, as in Megatron. */
int ss_schedule_warmup(const struct ss_schedule *s, int rank);
/* Largest number of (chunk, microbatch) pairs of a rank between their F and the end of their B (or W). */
int ss_schedule_in_flight(const struct ss_schedule *s, int rank);
/* Every action once, F before B (or I before W): SS_ERR_INPUT naming rank and slot. An order that can
 * run: SS_ERR_DEADLOCK naming two slots of the cycle. */
int ss_schedule_check(const struct ss_schedule *s, struct ss_error *err);
/* Start and end of every slot with free communication, durations as below: start[rank][slot] and
 * end[rank][slot] (either may be NULL), arrays of the caller. SS_ERR_DEADLOCK or SS_ERR_INPUT as check. */
int ss_schedule_times(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                      double *const *start, double *const *end, struct ss_error *err);
/* What a rank idles between its first start and its last end, with free communication: the bubble
 * when no global barrier makes it wait for the others. bubble[stages]. */
int ss_schedule_bubble(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                       double *bubble, struct ss_error *err);
/* Makespan with free communication; duration[phase][chunk] in s, the same on every rank. A phase
 * that the schedule does not use may be NULL; without FB a paired slot lasts F + B.
 * idle[rank] (may be NULL) = makespan - work. */
int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err);

/* ---- schedules as data (docs/reference/formats-schedule.md) ---- */

enum ss_schedule_format {
    SS_SCHEDULE_CSV, /* PyTorch pipelining's: a row a rank, cells STAGE OP MICROBATCH */
    SS_SCHEDULE_TEXT /* ours: the same words with comments, placement, several pipelines */
};
/* Whether a --schedule value is a file (it has a '/', or ends in .csv or .sched) and no name. */
int ss_schedule_is_file(const char *name);
/* Reads either form (the text form begins with the word "schedule") and checks it. "-" is stdin. Errors
 * carry the line; messages name row and column of the CSV. */
int ss_schedule_load(const char *path, struct ss_schedule **out, struct ss_error *err);
int ss_schedule_parse(const char *text, unsigned long len, const char *name, struct ss_schedule **out,
                      struct ss_error *err);
/* The CSV has no word for two pipelines: SS_ERR_UNSUPPORTED. */
int ss_schedule_write(const struct ss_schedule *s, int format, FILE *out, struct ss_error *err);
const char *ss_p2p_name(int p2p);

#ifdef __cplusplus
}
#endif
#endif
