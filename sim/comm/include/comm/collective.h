/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives: how long one takes with nothing in its way, and which flows it is. Each algorithm is one file
 * in sim/comm that says both, and one word in SS_ALGORITHM_LIST. The fastest algorithm that can do a
 * collective does it.
 */
#pragma once

#include "stepsim/communicator.h"
#include "stepsim/platform.h"
#include "stepsim/stack.h"

/* Where a member of an expert group sends its tokens, on average (from load.h), if all members and nodes were
 * as busy as the busiest. A node is what the fabric joins. */
struct ss_token_spread {
    double nodes; /* other nodes that a token is sent to, each counted once, 0 .. nodes of the group - 1 */
    /* GPUs that a token is copied to on all its nodes, each counted once. A token that stays or arrives on a
     * GPU goes through the same buffers at the fabric's rate, as in DeepEP's own rates. */
    double copies;
    /* Copies that the hottest rank computes over the even share; copies that an expert computes; most tokens
     * that a rank sends over the mean. 0: not known. */
    double hottest, expert_copies, source;
    /* Averages over passes: copies that the hottest rank gets over those that a rank sends; distinct tokens
     * that the hottest rank (node) gets over those that a rank (node) routes. `busiest`: the larger of
     * hot_copies and the most that a rank sends, at least 1. */
    double hot_copies, hot_tokens, hot_nodes, busiest;
    int uneven;  /* 1: ranks send or get different amounts, given by a matrix (struct ss_exchange_rate) */
    int domains; /* nodes on which the group lies */
};

/* The way of tokens in an exchange: to their experts, or back. */
enum ss_way { SS_WAY_THERE, SS_WAY_BACK, SS_WAYS };
/* Seconds a byte of one member's buffer, without latencies, in an exchange of uneven amounts: on the hottest
 * fabric links, and on the hottest NICs with the links behind them. */
struct ss_exchange_rate {
    double near, far;
};

/* A hop says where a member of a group sends to. X(symbol). If a collective has several hops, all flow at the
 * same time. */
#define SS_HOP_LIST(X)                                                                                       \
    X(SS_HOP_INTRA_NODE) /* the next member on its node, over the fabric */                                  \
    X(SS_HOP_INTER_NODE) /* a member on the next node of the group, over NICs */                             \
    X(SS_HOP_NEXT)       /* the next member, wherever it is */                                               \
    X(SS_HOP_NODE) /* every other member on its node, one flow each, over the fabric; in a mesh all flows */ \
    X(SS_HOP_APART) /* every member on another node, one flow each, over NICs */                             \
    X(SS_HOP_RAIL)  /* the member at the same place of every other node, one flow each, over NICs */         \
    X(SS_HOP_TREE)  /* the node's neighbours in both trees of NCCL, one flow each, over NICs */              \
    X(SS_HOP_PAT)   /* the members 1, 2, 4, ... places on, one flow each, over NICs */
enum ss_hop {
#define X(sym) sym,
    SS_HOP_LIST(X)
#undef X
        SS_HOP_COUNT
};
#define SS_HOP_BIT(hop) (1u << (hop))
/* Hops whose flows are all pairs of members, or of nodes. */
#define SS_HOPS_OF_PAIRS (SS_HOP_BIT(SS_HOP_NODE) | SS_HOP_BIT(SS_HOP_APART) | SS_HOP_BIT(SS_HOP_RAIL))

/* What a collective needs to know of its group; the first three fields are required, the others may be 0. */
struct ss_group_shape {
    int n, nodes, per_node; /* members, nodes they lie on, most members on one node */
    int few;                /* in a mesh: fewest members on a node that has several; 0: per_node */
    /* Factor >= 1 on the time of a hop's flows, over a rank's own share of the fabric or NICs: links carry the
     * flows of all groups that do the same at the same time, or are slow. 0 counts as 1. */
    double stretch[SS_HOP_COUNT];
    /* 1: each neighbour in a tree has its own route; 0: all that trees send goes to the next node */
    int trees;
    struct ss_token_spread spread; /* for exchanges of experts only */
    /* for uneven amounts (spread.uneven): the rate of the average matrix; the rate with the hottest rank of a
     * pass on its own links. Both are 0 until the loads of the links are known */
    struct ss_exchange_rate sent[SS_WAYS], priced[SS_WAYS];
};

/* The links of one GPU as collectives see them: busbw per direction, and latency of a ring step. */
struct ss_net {
    double fabric_busbw, fabric_step; /* bytes/s, s */
    double exchange_busbw;            /* bytes/s of a dispatcher's copies over the fabric; 0: fabric_busbw */
    double fabric_half;               /* bytes at the start of a buffer that move at half the busbw */
    /* Whose curves NCCL has inside a node (NULL: it has none), and bytes/s of a GPU's links there, one direction */
    const struct ss_card *card;
    double fabric;
    /* bytes/s in and out of the switch (0: it cannot reduce); latency in s, paid once */
    double nvls_busbw, nvls_latency;
    double nic_busbw, nic_step; /* of one NIC */
    double nic_half; /* bytes at the start of an all-to-all's buffer that move at half the busbw over NICs */
    int gpus_per_node, nics_per_node;
    int host_gpus; /* GPUs of a host: fewer than those of a node where a switch joins several hosts */
    /* 1: each pair of GPUs of a node has its own link; fabric_busbw is the sum over the links of a GPU */
    int mesh;
    int rails;          /* 1: one NIC a GPU; traffic to another rail crosses the fabric first (PXN) */
    int pat, nvls_tree; /* 1: the stack's release of the library uses these algorithms */
    /* NULL: a library with trees and NVLS, without PAT and protocols (nccl 0) */
    const struct ss_library *library;
    int rings; /* 1: the library uses rings only (NCCL_ALGO=Ring) */
    /* 1: NCCL's protocols carry rings and trees; 0: plain steps at the full rate, as with user buffers */
    int nccl;
    double ll_busbw; /* bytes/s of protocol LL over the fabric at most; 0: half the rate of Simple */
    double nccl_far; /* s that a step between nodes takes beyond NCCL's own table in LL128 and Simple */
    /* s that it takes beyond the table in any protocol, where the network is slower than InfiniBand */
    double nccl_fabric;
    double tree_share; /* part of the NICs' busbw that trees reach; 0: all of it */
    double nccl_piece; /* bytes that the ranks of a tree hand on at once in Simple, over all channels */
    int net_simple, net_trees;   /* 1: only Simple runs between nodes; 1: all-reduces use trees there */
    double launch;               /* s to start the kernel of a collective */
    double dispatch_sms;         /* SMs of a dispatcher with its own kernels, DeepEP or HybridEP */
    double dispatch_rate;        /* bytes/s of copies that a dispatcher's SMs move; 0: the links' rate */
    double dispatch_rate_beside; /* the same rate while other kernels run; 0: equal */
    /* Rounds in which HybridEP's SMs take a member's tokens chunk by chunk, in dispatch and in combine; 0:
     * chunks too small to matter */
    double dispatch_rounds, combine_rounds;
    double dispatch_kernels; /* s to start one kernel of a dispatcher whose call launches several; else 0 */
};
void ss_net_init(struct ss_net *net, const struct ss_platform *p);
struct ss_job;
/* Returns the SMs of the job's dispatcher: those that the job says, else the default of its library. */
double ss_dispatch_sms(const struct ss_job *job);
/* Sets a dispatcher with `sms` SMs; 0: DeepEP's default. */
void ss_net_dispatcher(struct ss_net *net, double sms, const struct ss_stack *stack);
/* Sets HybridEP's rounds; its thread blocks take `tokens` of a member in chunks of the stack's sizes. */
void ss_net_chunks(struct ss_net *net, double tokens, const struct ss_stack *stack);
/* Changes the links to what user buffers see: `busbw` times NCCL's busbw over the fabric and no slow start. busbw
 * 0 changes nothing. */
void ss_net_user_buffers(struct ss_net *net, double busbw);

/* What one member of a group sends in a collective. */
struct ss_collective_flows {
    double latency;             /* s: of all steps, and the extra time of a slow start */
    double bytes[SS_HOP_COUNT]; /* of each flow of a hop, counted at the busbw of its link */
};

/*
 * An algorithm. Bytes are those of the full buffer, as in NCCL. All-to-all: the bytes that one member sends,
 * all copies of its tokens; each member gets 1/n of them. Ring step: the bytes of one member. Dispatch and
 * combine: the tokens of one member, each counted once however many experts it has; combine brings the tokens
 * back the same way.
 */
struct ss_collective_algorithm {
    const char *name;
    unsigned kinds; /* set of SS_COLL_BIT of the collectives that it can do */
    unsigned hops;  /* set of SS_HOP_BIT of the hops that it uses */
    /* Returns 1 when it can run on such a group; NULL: it runs on any. */
    int (*applies)(const struct ss_net *net, const struct ss_group_shape *g);
    /* Returns the time with nothing else on the links. */
    double (*seconds)(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g);
    /* Returns the time that the choice among algorithms assumes, as NCCL's own tuning does; NULL:
     * `seconds`. */
    double (*judged)(const struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g);
    /* Returns the flows of a member whose node has `local` members of the group. */
    struct ss_collective_flows (*flows)(const struct ss_net *net, int kind, double bytes,
                                        const struct ss_group_shape *g, int local);
    /* Returns the share of bytes[hop] that the j-th flow of a hop carries; NULL: each flow carries all. For
     * uneven amounts bytes[hop] is one member's buffer, and a flow carries its part of the matrix. */
    double (*part)(const struct ss_group_shape *g, int j);
};
/* X(name): the file's row is ss_collective_name. The first of equally fast algorithms is chosen. */
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

/* Returns the algorithm that applies and is judged fastest, as if each rank had its share of the links to
 * itself: NCCL measures no fabric. */
const struct ss_collective_algorithm *ss_collective_choose(const struct ss_net *net, int kind, double bytes,
                                                           const struct ss_group_shape *g);
/* Returns the time of the chosen algorithm with the link load that the group's shape says. 0 for one
 * member. */
double ss_collective_seconds(const struct ss_net *net, int kind, double bytes,
                             const struct ss_group_shape *g);
/* Changes the links to what an exchange sees with kernels beside `part` (0..1) of what it moves. That part of
 * its seconds is counted with kernels beside all of it, the rest with the links as they are. */
void ss_net_beside(struct ss_net *net, int kind, double bytes, const struct ss_group_shape *g, double part);
/* Returns the hops that the algorithms for `kinds` use. */
unsigned ss_collective_hops(unsigned kinds, int mesh);
/* Returns the hops of an algorithm. In a mesh the traffic of a ring or tree inside a node is spread over the
 * links to all members there, because rings take turns. */
unsigned ss_algorithm_hops(const struct ss_collective_algorithm *a, int mesh);
/* ss_hop_has_parts returns 1 when the flows of a hop carry different parts; ss_hop_part returns the j-th
 * part. One algorithm alone uses such a hop and says its parts. */
int ss_hop_has_parts(int hop);
double ss_hop_part(int hop, const struct ss_group_shape *g, int j);
/* Returns the share of the card's SMs that the channels of a collective hold, at most half. */
double ss_collective_sm_share(const struct ss_stack *stack, const struct ss_card *card,
                              const struct ss_group_shape *g);
/* Returns the share of kernel time that a collective takes by holding `share` of the SMs: that share, at most
 * half. GEMMs, `gemms` of the seconds (0..1), keep only the card's ss.gemm.beside of their rate where they
 * lose more that way. */
double ss_sm_share_taken(const struct ss_card *card, double share, double gemms);
/* Returns the share when the computation has `kernels` s of kernels and `others` s between them that no SM
 * slows. */
double ss_sm_share_diluted(double taken, double kernels, double others);

/* Returns 1 when the library has an algorithm (enum ss_library_algorithm). */
int ss_net_has(const struct ss_net *net, int algorithm);

/* Traffic of an algorithm: what it asks of the fabric and of NICs, which work at the same time. */
struct ss_traffic {
    double latency; /* s: of all steps, and the extra time of the slow start over the fabric */
    double intra;   /* bytes at busbw that a member sends over the fabric */
    double inter;   /* bytes that the members of one node together send over NICs */
    int near, far;  /* enum ss_hop used over the fabric, and over NICs */
};
/* Returns the traffic of an algorithm that moves `factor` times the buffer to the next member and to the next
 * node; `steps` seconds are paid once. */
struct ss_traffic ss_traffic(const struct ss_net *net, double factor, double steps, double bytes,
                             const struct ss_group_shape *g);
/* Returns the traffic of an algorithm that NCCL runs in its fastest protocol for these bytes, with `near`
 * steps over the fabric and `far` steps between nodes; ring: 1 for a ring, 0 for a tree; NICs send `sent` times
 * what the fabric links do. The load of the fabric does not change the choice of protocol, as with algorithms. */
struct ss_traffic ss_traffic_nccl(const struct ss_net *net, int ring, double sent, double factor, double near,
                                  double far, double bytes, const struct ss_group_shape *g);
/* Returns the bytes/s of busbw of a member inside its node. In a mesh only the links to other members count:
 * nothing is relayed through a GPU where a direct link exists. */
double ss_mesh_busbw(const struct ss_net *net, const struct ss_group_shape *g);
static inline double ss_near_busbw(const struct ss_net *net, const struct ss_group_shape *g)
{
    return net->mesh ? ss_mesh_busbw(net, g) : net->fabric_busbw;
}
/* Returns the bytes/s of busbw for messages to one other GPU. */
double ss_pair_busbw(const struct ss_net *net);
/* Returns the s of a step of a small message between nodes. */
double ss_nccl_hop(const struct ss_net *net);
/* Returns how many NICs the group's members on one node drive: their share, because the node's other GPUs
 * belong to groups that do the same at the same time. */
double ss_nics_driven(const struct ss_net *net, const struct ss_group_shape *g);
/* Returns the latency plus the slower of the fabric and NICs, at the group's shares of both. */
double ss_traffic_seconds(const struct ss_net *net, struct ss_traffic t, const struct ss_group_shape *g);
/* Time and flows of uneven amounts; the fabric runs at `fed` of its rate (0..1), because SMs feed it. Each flow,
 * inside nodes and on the hop `far`, counts as if it carried a member's whole buffer; the matrix says its
 * part (plan/matrix.h). The hottest rank's time beyond the average counts as latency. */
double ss_uneven_seconds(int kind, double latency, double bytes, double fed, const struct ss_group_shape *g);
struct ss_collective_flows ss_uneven_flows(int kind, double latency, double bytes, double fed,
                                           const struct ss_group_shape *g, int far);
/* Returns the traffic as flows on the hops inside and between nodes, which know their links. */
struct ss_collective_flows ss_traffic_flows(struct ss_traffic t, int local);
/* ss_way_of returns the way that a collective goes. ss_is_uneven returns 1 when the group's amounts are
 * uneven and known. */
static inline int ss_way_of(int kind)
{
    return kind == SS_COLL_COMBINE || kind == SS_COLL_ALL_TO_ALL_BACK ? SS_WAY_BACK : SS_WAY_THERE;
}
static inline int ss_is_uneven(const struct ss_group_shape *g)
{
    return g->priced[SS_WAY_THERE].near > 0 || g->priced[SS_WAY_THERE].far > 0;
}
/* Returns the group's factor for a hop, >= 1. */
static inline double ss_stretch(const struct ss_group_shape *g, int hop)
{
    return g->stretch[hop] > 1 ? g->stretch[hop] : 1;
}
/* Fills the neighbours of a node in NCCL's two binary trees over the nodes of a group; each tree carries half
 * the buffer. A node stands there as often as it is a neighbour, -1 for none. Each neighbour is sent half the
 * buffer, up or down. */
enum { SS_TREE_NEIGHBOURS = 6 };
void ss_tree_neighbours(int nodes, int node, int to[SS_TREE_NEIGHBOURS]);
/* Returns the most neighbours that a node has. */
int ss_tree_flows(int nodes);
/* ss_tree_hop returns where the group's trees send to, ss_tree_lower their traffic as flows. */
int ss_tree_hop(const struct ss_group_shape *g);
struct ss_collective_flows ss_tree_lower(struct ss_traffic t, const struct ss_group_shape *g, int local);
/* ---- inside.c: NCCL inside a node, by curves that NVIDIA's tables were fitted to (docs/design/curves.md) ---- */
/* Returns the seconds of NCCL's all-gather, reduce-scatter (passes 1) or all-reduce (2) of `bytes` on GPUs of one node by a ring: the
 * fastest of small, middle and large messages. fabric: bytes/s of a GPU's links, one direction. */
double ss_inside_ring(const struct ss_card *card, double fabric, int passes, double gpus, double bytes);
/* Returns those of its all-to-all, of which a GPU has `bytes`; *latency is the part that no byte takes. */
double ss_inside_alltoall(const struct ss_card *card, double fabric, double gpus, double bytes,
                          double *latency);
/* Returns 1 if the group's collectives follow these curves: NCCL's, with all members on one node. */
int ss_net_is_inside(const struct ss_net *net, const struct ss_group_shape *g);
/* Returns what a GPU's links to the group carry, as those functions need it. */
double ss_inside_fabric(const struct ss_net *net, const struct ss_group_shape *g);
/* Returns traffic of factor x bytes that takes `seconds` where nothing is in its way, and at least what the links need. */
struct ss_traffic ss_traffic_inside(const struct ss_net *net, double factor, double seconds, double bytes,
                                    const struct ss_group_shape *g);
/* Returns the steps of a ring that leave a node. */
double ss_ring_far(const struct ss_group_shape *g);
/* Returns the latency of a ring's steps round all members, with plain messages. */
double ss_ring_latency(const struct ss_net *net, const struct ss_group_shape *g);
