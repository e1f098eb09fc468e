/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symmetry: ranks that are known to be alike before classes are found. Where nodes are equal and rank r is on
 * GPU r, a shift along data parallelism by whole leaf switches maps ranks, groups, flows and links onto
 * others that do the same. One period of ranks therefore stands for all its shifts, and a plan under
 * construction (struct ss_routes) holds ranks and links of that period only.
 */
#pragma once

#include "plan/communicators.h"

/* Links by owner: nodes, leaf switches, GPUs (a GPU has two ports, which stand for all its fabric links). */
struct ss_link_row {
    int first, at; /* number of the first link: among all links, and among those that stand for all */
    int width;     /* links of one node, leaf switch or GPU */
    int count;     /* nodes, leaf switches or GPUs */
    struct ss_periodic owner;
};
enum { SS_LINK_ROWS = 3 };

struct ss_symmetry {
    struct ss_periodic rank;
    int shifts; /* number of shifts that map the job onto itself; 1: no symmetry */
    int nranks; /* ranks that stand for all ranks; nlinks: likewise links */
    int nlinks;
    struct ss_link_row row[SS_LINK_ROWS];
};

/* Returns whether rank r is on GPU r. */
int ss_plan_in_order(const struct ss_plan *plan, const struct ss_plan_options *options);
/* Returns whether nothing makes a rank unlike others: no placement, stragglers, slow links or drawn GPUs, and the plan
 * is folded. */
int ss_plan_is_alike(const struct ss_plan *plan, const struct ss_plan_options *options);
/* Finds the symmetry of a plan with these groups, whose ranks and gpu_of are set. `alike`: 1 without
 * placement, stragglers and slow links, folded. */
struct ss_symmetry ss_symmetry_of(const struct ss_plan *plan, const struct ss_groups *groups, int alike);
/* Finds the shortest shift of a plan that has no trees, with groups of this set of communicators. */
struct ss_periodic ss_symmetry_shift(const struct ss_plan *plan, unsigned comms);

/* ss_symmetry_at returns the number of the rank that stands for `rank`, 0 <= result < nranks.
 * ss_symmetry_rank returns the rank of such a number, the lowest that it stands for. */
static inline int ss_symmetry_at(const struct ss_symmetry *s, int rank)
{
    return ss_periodic_at(s->rank, rank);
}
int ss_symmetry_rank(const struct ss_symmetry *s, int at);
/* Do the same for links. */
int ss_symmetry_link_at(const struct ss_symmetry *s, int link);
int ss_symmetry_link(const struct ss_symmetry *s, int at);
/* Returns where `link` lies after the shift that moves `other` onto the link that stands for it. */
int ss_symmetry_link_beside(const struct ss_symmetry *s, int link, int other);
