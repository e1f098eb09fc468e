/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of links that collectives have which the plan's level prices in closed form. */
#ifndef SS_PLAN_SHARES_H
#define SS_PLAN_SHARES_H

#include "plan/routes.h"

/*
 * Fills `stretch` of the shapes of all groups whose collectives may be closed forms and that cross nodes, or of all where links
 * may be `unlike` those that closed forms take them for (slow, or of a file that writes each of them); and plan->shares. All groups of a communicator on a pipeline stage are taken to be busy at the same time: of a link
 * each flow then has its part, and a group takes as long as the most loaded link that any of its flows crosses. Where ranks
 * differ in pace (`apart`) groups need not be: how much that can be is plan->shares' `taken`. `room` holds 2 * plan->gpus.
 */
int ss_groups_share_links(struct ss_plan *plan, struct ss_routes *routes, const struct ss_net *net,
                          int unlike, int apart, struct ss_groups *groups, int *room, struct ss_error *err);

#endif
