/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the members of an expert group send each other where amounts are uneven: a matrix, of which every entry is a product of what
 * the source gives and what the target takes, for tokens of all sources choose alike. On the way to the experts
 *
 *     bytes from i to j = bytes of one member's buffer . give[i] . take[j]
 *
 * and on the way back as much from j to i. All-to-all: copies, of every pair. Two stages: between nodes, tokens from a member to the
 * one at its place on each other node; inside a node, copies from where tokens arrive, over the others of the node.
 */
#ifndef SS_PLAN_MATRIX_H
#define SS_PLAN_MATRIX_H

#include "plan/communicators.h"

/* Where the tokens of the expert groups go (spread of their shapes), and where that is uneven, give and take; of a plan with
 * experts whose groups are built; sets plan->uneven. `room` holds 2 * plan->gpus; `even` as in struct ss_plan_options. */
int ss_groups_spread_tokens(struct ss_plan *plan, struct ss_groups *g, int *room, int even,
                            struct ss_error *err);

/* Part of a member's buffer that one flow of a hop of an expert group carries, where amounts are uneven. */
static inline double ss_groups_amount(const struct ss_groups *g, int hop, int way, int from, int to)
{
    int far = hop != SS_HOP_NODE;

    return way == SS_WAY_THERE ? g->give[far][from] * g->take[far][to]
                               : g->take[far][from] * g->give[far][to];
}

#endif
