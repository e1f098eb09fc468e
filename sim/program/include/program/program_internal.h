/* SPDX-License-Identifier: Apache-2.0 */
/* What the program_*.c files share. */
#pragma once

#include <stdbool.h>

#include "base/cache.h"
#include "stepsim/program.h"
#include "stepsim/schedule.h"

/* Lines of a program that was read from a text; 0 where there is none. */
struct ss_program_source {
    char file[256];
    int *path, *mix, *collective, *channel; /* one a thing */
    int *class_line;
    int *template_line;
    int **event; /* [template][event] */
    int **slot;  /* [class][slot] */
};

static inline const char *ss_program_file(const struct ss_program *p)
{
    return p->source ? p->source->file : NULL;
}

/* More collective streams than a class ever has. */
#define SS_STREAMS_MAX 64

/* program_order.c: runs all classes by counters alone, without times. The structure must be sound. */
int ss_program_check_order(const struct ss_program *p, struct ss_error *err);

/* Line of an event of a class, or 0. */
int ss_program_event_line(const struct ss_program *p, int cls, int slot, int event);

/* program_copy.c: tables of the plan, and classes with room for their slots. */
int ss_program_copy(const struct ss_plan *plan, struct ss_program *p, struct ss_error *err);
/* Returns 1 when a class of the plan waits for launches of its host. */
int ss_program_issues(const struct ss_plan *plan, int cls);
struct ss_plan;
/* As ss_program_build_kept with a plan at layer or flow level, but slots that no data-parallel transfer can be beside take the time of their
 * closed forms: those behind the last first forward of a chunk, before the first of the last backwards. *out is NULL where a class waits
 * for its host, whose launches have another order in closed forms. */
int ss_program_build_beside(const struct ss_plan *plan, struct ss_cache *cache, struct ss_program **out,
                            struct ss_error *err);

/* A copy of a collective, whose parts are freed with the program. */
int ss_program_collective_copy(struct ss_program *p, const struct ss_collective *in,
                               struct ss_collective *out);

/* ---- program_comm.c: who sends what to whom, slot by slot of one pipeline rank ---- */

/* One send, receive or wait; the channel follows from the class, `backward` and `peer`. */
struct ss_comm_op {
    int kind;     /* SS_EV_SEND, SS_EV_RECV, SS_EV_WAIT_SEND, SS_EV_WAIT_RECV */
    int backward; /* 1: gradients */
    int peer;     /* pipeline rank */
    int chunk;    /* SEND: of whose output; else -1 */
};

/* The slot before or behind another one, for which the host issues launches ahead. */
struct ss_comm_neighbour {
    int phase, chunk; /* -1: there is none */
    int marked;       /* it is the first forward or the last backward of the chunk */
};

/* A variant of a slot with all that surrounds its work. Equal slots of a rank share one. */
struct ss_comm_variant {
    struct ss_comm_neighbour before, behind; /* none unless asked for (SS_COMM_NEIGHBOURS) */
    int phase, chunk, chunk2;
    int first, last;       /* first forward, last weight gradient of the chunk */
    int aligned;           /* chunk that ss_comm_align puts behind this slot; -1: none */
    int nbefore, nafter;   /* operations before and after the work */
    struct ss_comm_op *op; /* before, then after */
    int nth;               /* of the same phase and chunk, from 0 */
    int next;              /* another one of these, -1 = none */
};

struct ss_comm_rank {
    int nvariants;
    struct ss_comm_variant *variants; /* in the order of their first slots */
    struct ss_program_slot *slots;    /* [nslots] with the number of the variant as template_index */
    int nend;                         /* sends that are still to be waited for after the last slot */
    struct ss_comm_op *end;
    int nlate; /* chunks that it puts behind the last slot */
    int *late;
};

struct ss_comm {
    int stages;
    struct ss_comm_rank *ranks;
    struct ss_cache_key key; /* of one that a cache has */
};

/* What is asked for beside sends and receives, a set. SS_COMM_ALIGN: gradients are reduced where ss_comm_align
 * says, no slot is `last`; SS_COMM_PASS beside it: a backward of chunk 0 begins nothing. SS_COMM_NEIGHBOURS: variants know the
 * slots around them. */
enum { SS_COMM_ALIGN = 1, SS_COMM_NEIGHBOURS = 2, SS_COMM_PASS = 4 };
int ss_comm_build(const struct ss_schedule *s, int asked, struct ss_comm *comm, struct ss_error *err);
void ss_comm_free(struct ss_comm *comm);

/* The part of a slot that makes the gradient of the input: whether it has one, and of what. */
static inline int ss_slot_backward(const struct ss_slot *slot, int *chunk, int *microbatch)
{
    int paired = slot->phase == SS_PHASE_FB;
    *chunk = paired ? slot->chunk2 : slot->chunk;
    *microbatch = paired ? slot->microbatch2 : slot->microbatch;
    return paired || slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I;
}
/* program_align.c. Where ranks begin at once to reduce the gradients of each chunk: aligned[backward] of the rank, and out->late. Error: SS_ERR_NOMEM. */
int ss_comm_align(const struct ss_schedule *s, int rank, int passes, int *aligned, struct ss_comm_rank *out);

/* program_cache.c: the same, of a schedule that the cache has or gets; without a cache, NULL, the table is the caller's. Either
 * way it ends with ss_cache_drop. */
int ss_cache_comm(struct ss_cache *cache, const struct ss_schedule *s, int asked, struct ss_comm *comm,
                  struct ss_error *err);
void ss_cache_drop(struct ss_cache *cache, struct ss_comm *comm);
