/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of links of collectives that the plan's level prices in closed form. */
#pragma once

#include "plan/routes.h"

/*
 * Fills plan->shares and `stretch` in the shapes of groups whose collectives may be closed forms: groups that
 * cross nodes, or all groups where links may differ from what closed forms assume (`unlike`: slow links, or a
 * file that writes each link). All groups of a communicator on a pipeline stage are taken to be busy at the
 * same time. Each flow then has its part of a link, and a group takes as long as the most loaded link that
 * any of its flows crosses. Where ranks differ in pace (`apart`) groups need not be busy together; `taken` of
 * plan->shares says how much that can be. `room` holds 2 * plan->gpus.
 */
int ss_groups_share_links(struct ss_plan *plan, struct ss_routes *routes, const struct ss_net *net,
                          int unlike, int apart, struct ss_groups *groups, int *room, struct ss_error *err);
