/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges across nodes: all-to-all, dispatch and combine. On a rail-optimised fabric NCCL sends from the GPU of the source's
 * node that is on the target's rail, to which the data goes over NVLink first (PXN), so that no flow changes rails.
 */
#ifndef SS_PLAN_EXCHANGE_H
#define SS_PLAN_EXCHANGE_H

#include "plan/communicators.h"

struct ss_rails {
    int gpus;     /* of a node */
    int n;        /* rails, one a NIC of a node; 0: the fabric has none, or GPUs have no NVLink */
    int per_leaf; /* nodes whose NICs of one rail share a leaf */
};
struct ss_rails ss_rails(const struct ss_platform *p);
/* GPU from which what goes from one GPU to another leaves the node: the source itself, or that at the target's place. */
int ss_rails_via(const struct ss_rails *rails, int from, int to);

/* Fills `across` of the shapes of all groups that exchange: how long the most loaded link takes that any of a group's bytes
 * cross, over what an own share of the NICs takes. Loads are those of all groups of the communicator on a pipeline stage,
 * which exchange at the same time. `room` holds 2 * world_size. */
int ss_groups_price_across(const struct ss_plan *plan, const struct ss_net *net, struct ss_groups *groups,
                           int *room, struct ss_error *err);
/* Says by how much the fabric slows exchanges that the plan's level prices in closed form. */
void ss_groups_warn_across(struct ss_plan *plan, const struct ss_groups *groups);

#endif
