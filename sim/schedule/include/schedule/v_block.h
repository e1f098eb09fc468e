/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders on a V that begin as a building block: the passes of one microbatch, begun anew every six steps (Qi et al., "Pipeline
 * parallelism with controllable memory", arXiv:2405.15362). Passes then move to earlier free steps, as far as what they wait
 * for and the memory allow. Step and rank make a cell; a cell holds one pass.
 */
#pragma once

#include "schedule/builder.h"

#define SS_BLOCK_PERIOD 6

/* The way of a microbatch over the V, and its W. Where W is of no chunk yet, SS_BLOCK_W1 stands for all. */
enum { SS_BLOCK_F0, SS_BLOCK_F1, SS_BLOCK_I1, SS_BLOCK_I0, SS_BLOCK_W1, SS_BLOCK_W0, SS_BLOCK_KINDS };

struct ss_block {
    int p, m;
    int steps;    /* of a rank */
    int whole;    /* a gradient is handed on behind its W: the backward is not split */
    int peak;     /* most chunks that any rank keeps; no move may pass it */
    char *here;   /* [rank * steps + step]: kind + 1, 0: free */
    int *at;      /* [(kind * p + rank) * m + microbatch]: step; not of a W without chunk */
    int *memory;  /* [rank * steps + step]: chunks kept behind the step */
    int *counted; /* [rank * SS_BLOCK_KINDS + kind]: passes met so far */
};

/* `lead` is more than any first step. SS_OK, or SS_ERR_NOMEM: nothing is to be freed. */
int ss_block_make(struct ss_block *b, int p, int m, int lead);
void ss_block_free(struct ss_block *b);
char *ss_block_cell(const struct ss_block *b, int rank, int step);
int *ss_block_step(const struct ss_block *b, int kind, int rank, int microbatch);
/* Puts the passes of a kind on a rank: the first at `first`, one each period. */
void ss_block_repeat(struct ss_block *b, int kind, int rank, int first);
/* Counts memory and its peak. */
void ss_block_weigh(struct ss_block *b);
/* Begins a walk over all cells by step, then rank; ss_block_meet gives the microbatch of the pass that it stands at. */
void ss_block_walk(struct ss_block *b);
int ss_block_meet(struct ss_block *b, int kind, int rank);
/* First step behind all that a pass waits for. */
int ss_block_ready(const struct ss_block *b, int kind, int rank, int microbatch);
/* Returns the first free step from `from` on where the pass at `step` may stand, with `cells` cells in a row;
 * `step`: it stays. */
int ss_block_earliest(const struct ss_block *b, int rank, int step, int from, int cells);
/* Moves the pass of a cell; `at` is the caller's. */
void ss_block_move(struct ss_block *b, int rank, int from, int to);
/* Appends a rank's passes to its order: a W that the grid has no cell for runs in the first free one, chunk 1's first. */
void ss_block_order(const struct ss_block *b, struct ss_order *o, int rank);

/* V-Min and V-Half: an order from the first steps of F0, F1, I1, I0 of every rank. */
typedef void (*ss_block_pattern)(int p, int rank, int first[4]);
int ss_block_build(const char *name, const struct ss_schedule_params *params, ss_block_pattern pattern,
                   struct ss_schedule **out, struct ss_error *err);
