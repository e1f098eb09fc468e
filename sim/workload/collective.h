/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: uncontended time in closed form, and the same lowered to phases of flows. */
#ifndef SS_WORKLOAD_COLLECTIVE_H
#define SS_WORKLOAD_COLLECTIVE_H

#include "stepsim/plan.h"

enum ss_collective_kind {
    SS_COLL_ALL_GATHER,
    SS_COLL_REDUCE_SCATTER,
    SS_COLL_ALL_REDUCE,
    SS_COLL_ALL_TO_ALL
};

/* What a collective needs to know of a group: members, nodes they lie on, members on one node. */
struct ss_group_shape {
    int n, nodes, per_node;
};

/* Links of one GPU as collectives see them: busbw per direction and latency of a ring step. */
struct ss_net {
    double nvlink_busbw, nvlink_step; /* bytes/s, s */
    double nvlink_half;               /* bytes: the first of a buffer, which move at half the busbw */
    double nic_busbw, nic_step;       /* of one NIC */
    int gpus_per_node, nics_per_node;
};

void ss_net_init(struct ss_net *net, const struct ss_platform *p);
/* Traffic of one member over the buffer: 2(n-1)/n for all-reduce, (n-1)/n for the others (nccl-tests,
 * PERFORMANCE.md). `bytes` is the full buffer. */
double ss_collective_traffic(int kind, double bytes, int n);
/* Latency of all steps of a ring over the group, and what the slow start over NVLink adds. */
double ss_collective_latency(const struct ss_net *net, int kind, double bytes,
                             const struct ss_group_shape *g);
/* Share of the card's SMs that its channels hold, at most half. */
double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g);
/* Uncontended time: latency + the slower of NVLink and NICs. 0 for one member. */
double ss_collective_seconds(const struct ss_net *net, int kind, double bytes,
                             const struct ss_group_shape *g);

#endif
