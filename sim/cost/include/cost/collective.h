/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: uncontended time in closed form, and the same lowered to phases of flows. */
#ifndef SS_COST_COLLECTIVE_H
#define SS_COST_COLLECTIVE_H

#include "stepsim/chunk.h"
#include "stepsim/platform.h"
#include "stepsim/stack.h"

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

/* How it is done; an all-reduce takes the fastest, the others are rings. */
enum ss_collective_algorithm {
    SS_ALGORITHM_RING,
    SS_ALGORITHM_TREE, /* a tree over the nodes, a chain inside */
    SS_ALGORITHM_NVLS  /* NVLink SHARP: the switch of one node reduces and multicasts */
};

/* Links of one GPU as collectives see them: busbw per direction and latency of a ring step. */
struct ss_net {
    double nvlink_busbw, nvlink_step; /* bytes/s, s */
    double nvlink_half;               /* bytes: the first of a buffer, which move at half the busbw */
    double nvls_busbw, nvls_latency;  /* bytes/s in and out of the switch (0: it cannot reduce), s once */
    double nic_busbw, nic_step;       /* of one NIC */
    int gpus_per_node, nics_per_node;
};

/* What a collective asks: bytes that a member sends over NVLink and, where the group leaves its node, those that the
 * members of one node together send over NICs. */
struct ss_collective_way {
    int algorithm;
    double latency; /* s: of all steps, and what the slow start over NVLink adds */
    double near, far; /* bytes at busbw */
};

void ss_net_init(struct ss_net *net, const struct ss_platform *p);
/* The fastest way. Traffic over a full buffer of `bytes`: 2(n-1)/n for a ring's all-reduce, (n-1)/n for the others
 * (nccl-tests, PERFORMANCE.md), 2 for a tree, 1 + 1/n through the switch; of an all-to-all with q members a node
 * (q-1)/n of each member's buffer stays there and (n-q)/n leaves it. */
struct ss_collective_way ss_collective_way(const struct ss_net *net, int kind, double bytes,
                                           const struct ss_group_shape *g);
/* Share of the card's SMs that its channels hold, at most half. */
double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g);
/* Uncontended time: latency + the slower of NVLink and NICs. 0 for one member. */
double ss_collective_seconds(const struct ss_net *net, int kind, double bytes,
                             const struct ss_group_shape *g);

#endif
