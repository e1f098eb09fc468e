/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline schedule: pure integers, no times. One file a schedule in sim/workload/schedule. */
#ifndef STEPSIM_SCHEDULE_H
#define STEPSIM_SCHEDULE_H

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
    SS_P2P_BATCHED    /* Megatron interleaved without overlap_p2p_comm: all sends and receives of a
                         steady forward and backward are one batch after the backward */
};

struct ss_schedule {
    char name[32];
    int stages;       /* p: pipeline ranks */
    int chunks;       /* v: model chunks a rank */
    int microbatches; /* m */
    int p2p;          /* enum ss_p2p */
    int *virtual_rank;  /* [stages * chunks]: pipeline rank that holds virtual stage s */
    int *virtual_chunk; /* [stages * chunks]: its chunk index there */
    int *nslots;        /* [stages] */
    struct ss_slot **slots; /* [stages][nslots], order of execution */
    int *warmup;        /* [stages]: forward slots before the steady part */
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

/* "1f1b" or "interleaved"; the caller owns *out. Virtual stage s = chunk * stages + rank.
 * SS_ERR_CONFIG where Megatron refuses the numbers. */
int ss_schedule_build(const char *name, const struct ss_schedule_params *params,
                      struct ss_schedule **out, struct ss_error *err);
void ss_schedule_free(struct ss_schedule *s);
/* n-th known schedule: name and one line of description; 0 past the end. */
int ss_schedule_known(int n, const char **name, const char **description);
/* Slots of warm-up before the first backward of a rank, as in Megatron. */
int ss_schedule_warmup(const struct ss_schedule *s, int rank);
/* Largest number of (chunk, microbatch) pairs of a rank between their F and the end of their B (or W). */
int ss_schedule_in_flight(const struct ss_schedule *s, int rank);
/* Every action once, F before B (or I before W): SS_ERR_INPUT naming rank and slot. An order that can
 * run: SS_ERR_DEADLOCK naming two slots of the cycle. */
int ss_schedule_check(const struct ss_schedule *s, struct ss_error *err);
/* Makespan with free communication; duration[phase][chunk] in s, the same on every rank. A phase
 * that the schedule does not use may be NULL; without FB a paired slot lasts F + B.
 * idle[rank] (may be NULL) = makespan - work. */
int ss_schedule_makespan(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                         double *makespan, double *idle, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
