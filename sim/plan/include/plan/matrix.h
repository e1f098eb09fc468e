/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix of uneven amounts between the members of an expert group. Each entry is a product of what the
 * source gives and what the target takes, because tokens of all sources choose alike. On the way to the
 * experts
 *
 *     bytes from i to j = bytes of one member's buffer . give[i] . take[j]
 *
 * and on the way back as many from j to i. All-to-all: copies of every pair. Two stages: between nodes,
 * tokens go from a member to the member at its place on each other node; inside a node, copies go from where
 * tokens arrive to the other members.
 */
#pragma once

#include "plan/communicators.h"

struct ss_cache;

/* Sets where the tokens of the expert groups go (`spread` of their shapes) and, where amounts are uneven,
 * `give`, `take` and plan->uneven. The plan has experts, and its groups are built. `room` holds 2 *
 * plan->gpus; `even` as in struct ss_plan_options. Loads are kept in `cache`, which
 * may be NULL. */
int ss_groups_spread_tokens(struct ss_plan *plan, struct ss_groups *g, int *room, int even,
                            struct ss_cache *cache, struct ss_error *err);

/* Returns the part of a member's buffer that one flow of a hop of an expert group carries, where amounts are
 * uneven. */
static inline double ss_groups_amount(const struct ss_groups *g, int hop, int way, int from, int to)
{
    int far = hop != SS_HOP_NODE;

    return way == SS_WAY_THERE ? g->give[far][from] * g->take[far][to]
                               : g->take[far][from] * g->give[far][to];
}
