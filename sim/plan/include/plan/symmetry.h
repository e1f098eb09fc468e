/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that are alike beforehand. Where nodes are equal and rank r is on GPU r, a shift along data parallelism by whole leaf
 * switches maps ranks, groups, flows and links onto others that do the same; a period of ranks stands for all that it can be
 * shifted to. What is told of ranks and links by number in a plan under construction (struct ss_routes) is told of these alone.
 */
#ifndef SS_PLAN_SYMMETRY_H
#define SS_PLAN_SYMMETRY_H

#include "plan/communicators.h"

/* Things in rows of `block`, of which each can be shifted by `period`: the first `period` of a row stand for it. */
struct ss_periodic {
    int block, period;
};

/* Links by what they belong to: nodes, leaf switches, GPUs (two ports that stand for all fabric links of one). */
struct ss_link_row {
    int first, at; /* number of the first link: of all, of those that stand for all */
    int width;     /* links of one node, leaf switch or GPU */
    int count;     /* nodes, leaf switches or GPUs */
    struct ss_periodic owner;
};
enum { SS_LINK_ROWS = 3 };

struct ss_symmetry {
    struct ss_periodic rank;
    int shifts; /* ranks that one stands for, and links; 1: nothing is alike beforehand */
    int nranks; /* that stand for all */
    int nlinks;
    struct ss_link_row row[SS_LINK_ROWS];
};

/* Of a plan with these groups whose ranks and gpu_of are set. `alike`: no placement, straggler or slow link, and folded. */
struct ss_symmetry ss_symmetry_of(const struct ss_plan *plan, const struct ss_groups *groups, int alike);

static inline int ss_periodic_at(struct ss_periodic p, int i)
{
    return p.block == p.period ? i : i / p.block * p.period + i % p.block % p.period;
}
/* Number of the rank that stands for `rank`, 0 <= result < nranks, and that rank, the lowest of those that it stands for. */
static inline int ss_symmetry_at(const struct ss_symmetry *s, int rank)
{
    return ss_periodic_at(s->rank, rank);
}
int ss_symmetry_rank(const struct ss_symmetry *s, int at);
/* The same of links. */
int ss_symmetry_link_at(const struct ss_symmetry *s, int link);
int ss_symmetry_link(const struct ss_symmetry *s, int at);
/* Where `link` is when `other` is shifted onto the one that stands for it. */
int ss_symmetry_link_beside(const struct ss_symmetry *s, int link, int other);

#endif
