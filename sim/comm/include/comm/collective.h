/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives: what they take with nothing in their way, and which flows they are. Each algorithm is one file in
 * sim/comm that says both, and one word in SS_ALGORITHM_LIST; the fastest that can do a collective does it.
 */
#ifndef SS_COMM_COLLECTIVE_H
#define SS_COMM_COLLECTIVE_H

#include "stepsim/communicator.h"
#include "stepsim/library.h"
#include "stepsim/platform.h"
#include "stepsim/stack.h"

/* Where the tokens of a member of an expert group go, on average over its tokens (of load.h), were all members and nodes as busy
 * as the busiest one. A node is what the fabric joins. */
struct ss_token_spread {
    double nodes; /* other nodes that a token is sent to, each once, 0 .. nodes of the group - 1 */
    /* GPUs that it is copied to, on all its nodes together, each once. One that stays where it lies or arrives goes through
     * the same buffers at the fabric's rate, as DeepEP's own rates count it. */
    double copies;
    /* Copies that the hottest rank works on over the even share, copies that an expert works on, most tokens that a rank
     * sends over their mean; 0: not worked out. */
    double hottest, expert_copies, source;
    /* What the rank, or node, to which most comes gets on the average of the passes: copies over those that a rank sends, tokens over
     * those that a rank (node) routes; and `busiest`, the first of these and what most is sent by a rank, at least 1. */
    double hot_copies, hot_tokens, hot_nodes, busiest;
    int uneven;  /* 1: ranks send, or get, different amounts: a matrix (struct ss_exchange_rate) */
    int domains; /* nodes on which the group lies */
};

/* Where tokens go in an exchange: to their experts, or back. */
enum ss_way { SS_WAY_THERE, SS_WAY_BACK, SS_WAYS };
/* Seconds that an exchange of uneven amounts takes a byte of one member's buffer, latencies apart: on the hottest of the fabric's links,
 * and of the NICs and the links behind them. */
struct ss_exchange_rate {
    double near, far;
};

/* Where a member of a group sends to. X(symbol). Where a group has several hops, all flow at the same time. */
#define SS_HOP_LIST(X)                                                                                       \
    X(SS_HOP_INTRA_NODE) /* the next member on its node, over the fabric */                                  \
    X(SS_HOP_INTER_NODE) /* a member on the next node of the group, over NICs */                             \
    X(SS_HOP_NEXT)       /* the next member, wherever it is */                                               \
    X(SS_HOP_NODE)       /* every other member on its node, a flow each, over the fabric; all in a mesh */   \
    X(SS_HOP_APART)      /* every member on another node, a flow each, over NICs */                          \
    X(SS_HOP_RAIL)       /* on every other node the member at the same place, a flow each, over NICs */      \
    X(SS_HOP_TREE)       /* on the node's neighbours in both trees of NCCL, a flow each, over NICs */        \
    X(SS_HOP_PAT)        /* the members 1, 2, 4, ... places on, a flow each, over NICs */
enum ss_hop {
#define X(sym) sym,
    SS_HOP_LIST(X)
#undef X
        SS_HOP_COUNT
};
#define SS_HOP_BIT(hop) (1u << (hop))
/* Those whose flows are all pairs of members, or of nodes. */
#define SS_HOPS_OF_PAIRS (SS_HOP_BIT(SS_HOP_NODE) | SS_HOP_BIT(SS_HOP_APART) | SS_HOP_BIT(SS_HOP_RAIL))

/* What a collective needs to know of a group; all but the first three may be zero. */
struct ss_group_shape {
    int n, nodes, per_node; /* members, nodes they lie on, most members on one node */
    int few; /* of a mesh: fewest members on one node that has several; 0: as many as per_node */
    /* By what factor >= 1 flows of a hop take longer than over a rank's own share of the fabric or of the NICs, because links
     * carry those of all groups that do the same at the same time, or are slow; 0 counts as 1. */
    double stretch[SS_HOP_COUNT];
    int trees; /* 1: what trees send goes to each neighbour by its own route; 0: to the next node, as much of it */
    struct ss_token_spread spread; /* exchanges of experts alone */
    /* of uneven amounts (spread.uneven): of what is sent on average, and with the hottest rank of a pass at its own links; all
     * zero until it is known what groups put on links */
    struct ss_exchange_rate sent[SS_WAYS], priced[SS_WAYS];
};

/* Links of one GPU as collectives see them: busbw per direction and latency of a ring step. */
struct ss_net {
    double fabric_busbw, fabric_step; /* bytes/s, s */
    double exchange_busbw;            /* bytes/s of a dispatcher's copies over the fabric; 0: fabric_busbw */
    double fabric_half;               /* bytes: the first of a buffer, which move at half the busbw */
    double nvls_busbw, nvls_latency;  /* bytes/s in and out of the switch (0: it cannot reduce), s once */
    double nic_busbw, nic_step;       /* of one NIC */
    double nic_half;                  /* bytes: the first of an all-to-all's buffer, likewise over NICs */
    int gpus_per_node, nics_per_node;
    int host_gpus; /* GPUs of a host: fewer than of a node where a switch joins several */
    int mesh;  /* 1: each pair of a node has a link of its own; fabric_busbw is that of all links of a GPU */
    int rails; /* 1: a NIC a GPU, and what goes to another rail crosses the fabric first (PXN) */
    int pat, nvls_tree;               /* 1: the stack's release takes these algorithms of the library */
    const struct ss_library *library; /* NULL: one with trees and NVLS, without PAT and protocols (nccl 0) */
    int rings;                        /* 1: it takes no other than rings (NCCL_ALGO=Ring) */
    int nccl; /* 1: NCCL's protocols carry rings and trees; 0: plain steps at the full rate, as user buffers */
    double
        ll_busbw; /* bytes/s that its protocol LL makes over the fabric at most; 0: half of what Simple makes */
    double nccl_far;    /* s that its steps between nodes take over its own table in LL128 and Simple */
    double nccl_fabric; /* and in any protocol, where the network is slower than InfiniBand */
    double nccl_piece;  /* bytes that a tree's ranks hand on at once in Simple, on all channels */
    int net_simple, net_trees;   /* 1: between nodes there is Simple alone; all-reduces take trees */
    double launch;               /* s that its kernel takes to start, as any other does */
    double dispatch_sms;         /* of a dispatcher that has its own kernels, DeepEP or HybridEP */
    double dispatch_rate;        /* bytes/s of copies that a dispatcher's SMs move; 0: as the links can */
    double dispatch_rate_beside; /* the same while kernels run beside it; 0: no other */
    /* Rounds in which the SMs of HybridEP take the chunks of a member's tokens, dispatch and combine; 0: chunks too small to matter */
    double dispatch_rounds, combine_rounds;
    double
        dispatch_kernels; /* s that one kernel of a dispatcher takes to start, where a call launches several; else 0 */
};
void ss_net_init(struct ss_net *net, const struct ss_platform *p);
struct ss_job;
/* SMs that a job's dispatcher takes: as many as it says, or as its library takes where nobody says. */
double ss_dispatch_sms(const struct ss_job *job);
/* A dispatcher that has so many SMs, 0: as many as DeepEP takes where nobody says. */
void ss_net_dispatcher(struct ss_net *net, double sms, const struct ss_stack *stack);
/* HybridEP, whose thread blocks take `tokens` of a member in chunks of the stack's sizes. */
void ss_net_chunks(struct ss_net *net, double tokens, const struct ss_stack *stack);
/* Links as user buffers see them: `busbw` times NCCL's over the fabric and no slow start. 0 leaves them as NCCL sees them. */
void ss_net_user_buffers(struct ss_net *net, double busbw);

/* What one member of a group sends in a collective. */
struct ss_collective_flows {
    double latency;             /* s: of all steps, and what a slow start adds */
    double bytes[SS_HOP_COUNT]; /* of each flow of a hop, at the busbw of its link */
};

/*
 * An algorithm. Bytes are those of the full buffer, as in NCCL: of an all-to-all what one member sends, all its copies
 * of tokens, of which each member gets 1/n. Of a ring step those of one member. Of dispatch and combine one member's
 * tokens, each counted once however many experts it goes to; combine brings them back the same way.
 */
struct ss_collective_algorithm {
    const char *name;
    unsigned kinds; /* set of SS_COLL_BIT that it can do */
    unsigned hops;  /* set of SS_HOP_BIT: where its flows go */
    /* Whether it can run on such a group; NULL: on any. */
    int (*applies)(const struct ss_net *net, const struct ss_group_shape *g);
    /* Time with nothing else on the links. */
    double (*seconds)(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g);
    /* What the choice among algorithms takes for it, as NCCL's own tuning does; NULL: the same. */
    double (*judged)(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g);
    /* Flows of a member on whose node there are `local` members of the group. */
    struct ss_collective_flows (*flows)(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local);
    /* Part of bytes[hop] that the j-th flow of a hop carries; NULL: each carries all. Of uneven amounts bytes[hop] are one
     * member's buffer, of which flows carry their parts of the matrix. */
    double (*part)(const struct ss_group_shape *g, int j);
};
/* X(name): ss_collective_name of that file. Where two take equal times, the earlier one is taken. */
#define SS_ALGORITHM_LIST(X)                                                                                 \
    X(ring)                                                                                                  \
    X(tree)                                                                                                  \
    X(nvls)                                                                                                  \
    X(nvls_tree)                                                                                             \
    X(pat)                                                                                                   \
    X(direct)                                                                                                \
    X(alltoall)                                                                                              \
    X(dispatch)                                                                                              \
    X(ring_step)
#define X(name) extern const struct ss_collective_algorithm ss_collective_##name;
SS_ALGORITHM_LIST(X)
#undef X

/* The algorithm that applies and is judged the fastest, were each rank's share of the links its own: NCCL measures no fabric. */
const struct ss_collective_algorithm *ss_collective_choose(const struct ss_net *net, int kind, double bytes,
                                                           const struct ss_group_shape *g);
/* Time of that one with nothing on the links but what the group's shape says. 0 for one member. */
double ss_collective_seconds(const struct ss_net *net, int kind, double bytes,
                             const struct ss_group_shape *g);
/* Links as an exchange sees them that has kernels beside it for `part` of what it moves, 0..1: it takes that part of the seconds that it
 * would take with kernels beside all of it, and else those of the links as they are. */
void ss_net_beside(struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g, double part);
/* Hops that any algorithm for one of `kinds` takes. */
unsigned ss_collective_hops(unsigned kinds, int mesh);
/* Hops that an algorithm takes. In a mesh what a ring or a tree hands on inside a node goes over the links to all members there, a
 * part each, for their rings take turns. */
unsigned ss_algorithm_hops(const struct ss_collective_algorithm *a, int mesh);
/* Whether flows of a hop carry different parts, and the part of the j-th: what the one algorithm says that takes the hop so. */
int ss_hop_has_parts(int hop);
double ss_hop_part(int hop, const struct ss_group_shape *g, int j);
/* Share of the card's SMs that its channels hold, at most half. */
double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g);
/* Part of the time of kernels that a collective takes which holds a share of the SMs beside them: that share, at most half. GEMMs,
 * which are `gemms` of the seconds (0..1), lose all but the card's ss.gemm.beside where that is more. */
double ss_sm_share_taken(const struct ss_card *card, double share, double gemms);
/* `taken` of a computation whose kernels take so many seconds, with so many others between them that no SM slows. */
double ss_sm_share_diluted(double taken, double kernels, double others);

/* Whether the library has an algorithm (enum ss_library_algorithm). */
int ss_net_has(const struct ss_net *net, int algorithm);

/* For algorithms: what one asks of the fabric and NICs, which carry it at the same time. */
struct ss_traffic {
    double latency; /* s: of all steps, and what the slow start over the fabric adds */
    double intra;   /* bytes at busbw that a member sends over the fabric */
    double inter;   /* and those that the members of one node together send over NICs */
    int near, far;  /* enum ss_hop: of either */
};
/* `factor` times the buffer moves on both, to the next member and the next node; `steps` seconds are paid once. */
struct ss_traffic ss_traffic(const struct ss_net *net, double factor, double steps, double bytes,
                             const struct ss_group_shape *g);
/* The same of an algorithm that NCCL runs in its fastest protocol for so many bytes: `near` steps over the fabric and `far` between
 * nodes; ring: 1 of a ring, 0 of a tree; NICs send `sent` times what links of the fabric do. As with algorithms, what the fabric takes does not
 * change the choice. */
struct ss_traffic ss_traffic_nccl(const struct ss_net *net, int ring, double sent, double factor, double near,
                                  double far, double bytes, const struct ss_group_shape *g);
/* bytes/s of busbw that a member of the group has inside its node: of a mesh over the links to the other members alone, for nothing is
 * relayed through another GPU where a link goes straight. */
double ss_mesh_busbw(const struct ss_net *net, const struct ss_group_shape *g);
static inline double ss_near_busbw(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->mesh ? ss_mesh_busbw(net, g) : net->fabric_busbw;
}
/* The same for messages to one other GPU. */
double ss_pair_busbw(const struct ss_net *net);
/* s of a step of a small message between nodes. */
double ss_nccl_hop(const struct ss_net *net);
/* NICs that a group's members on one node drive: their share, for the node's other GPUs are members of groups that do the
 * same at the same time. */
double ss_nics_driven(const struct ss_net *net, const struct ss_group_shape *g);
/* Latency + the slower of the fabric and NICs, with the group's shares of them. */
double ss_traffic_seconds(const struct ss_net *net, struct ss_traffic t, const struct ss_group_shape *g);
/* Time of uneven amounts, of which SMs feed the fabric a share of what it takes; and their flows, inside nodes and on the hop `far`, each
 * as if it carried a member's whole buffer: the matrix says which part it does (plan/matrix.h). What the hottest rank of a pass takes
 * beyond the average is latency. */
double ss_uneven_seconds(int kind, double latency, double bytes, double fed, const struct ss_group_shape *g);
struct ss_collective_flows ss_uneven_flows(int kind, double latency, double bytes, double fed,
                                           const struct ss_group_shape *g, int far);
/* The same as flows on the hops inside and between nodes, which know their links. */
struct ss_collective_flows ss_traffic_flows(struct ss_traffic t, int local);
/* Which way a collective of a kind goes, and whether its amounts in this group are uneven and known. */
static inline int ss_way_of(int kind)
{
    return kind == SS_COLL_COMBINE || kind == SS_COLL_ALL_TO_ALL_BACK ? SS_WAY_BACK : SS_WAY_THERE;
}
static inline int ss_is_uneven(const struct ss_group_shape *g)
{
    return g->priced[SS_WAY_THERE].near > 0 || g->priced[SS_WAY_THERE].far > 0;
}
/* Factor of a hop in the group, >= 1. */
static inline double ss_stretch(const struct ss_group_shape *g, int hop)
{
    return g->stretch[hop] > 1 ? g->stretch[hop] : 1;
}
/* NCCL's two binary trees over the nodes of a group, each of half the buffer: the neighbours of a node, a node as often as it is
 * one, -1 where there is none. Each is sent half the buffer, up or down. */
enum { SS_TREE_NEIGHBOURS = 6 };
void ss_tree_neighbours(int nodes, int node, int to[SS_TREE_NEIGHBOURS]);
/* Most of them that a node has. */
int ss_tree_flows(int nodes);
/* Where trees of the group send to, and their traffic as flows. */
int ss_tree_hop(const struct ss_group_shape *g);
struct ss_collective_flows ss_tree_lower(struct ss_traffic t, const struct ss_group_shape *g, int local);
/* Steps round a ring that leave a node. */
double ss_ring_far(const struct ss_group_shape *g);
/* Latency of a ring's steps round all members, of plain messages. */
double ss_ring_latency(const struct ss_net *net, const struct ss_group_shape *g);

#endif
