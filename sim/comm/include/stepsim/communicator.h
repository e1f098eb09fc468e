/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: which ranks talk to each other, about what, and on which stream. The rank grid, the routes,
 * the streams of a program and the labels of waiting time all read this one table, so a new communicator is
 * one row.
 */
#pragma once

#include "stepsim/types.h"

SS_C_BEGIN

/* Axes of the rank grid. X(symbol, name) */
#define SS_AXIS_LIST(X)                                                                                      \
    X(SS_AXIS_TP, "tp")                                                                                      \
    X(SS_AXIS_CP, "cp")                                                                                      \
    X(SS_AXIS_EP, "ep")                                                                                      \
    X(SS_AXIS_DP, "dp")                                                                                      \
    X(SS_AXIS_PP, "pp")
enum ss_axis {
#define X(sym, name) sym,
    SS_AXIS_LIST(X)
#undef X
        SS_AXIS_COUNT
};

/* Kinds of collectives. X(symbol, name). A ring step is driven by its caller: each member sends its buffer to
 * the next member, and n - 1 steps make an all-gather. Dispatch sends tokens to their experts in two stages,
 * over NICs to other nodes and over the fabric inside them; combine brings them back. SS_COLL_ALL_TO_ALL_BACK
 * returns what an all-to-all has moved. */
#define SS_COLL_LIST(X)                                                                                      \
    X(SS_COLL_ALL_GATHER, "all-gather")                                                                      \
    X(SS_COLL_REDUCE_SCATTER, "reduce-scatter")                                                              \
    X(SS_COLL_ALL_REDUCE, "all-reduce")                                                                      \
    X(SS_COLL_ALL_TO_ALL, "all-to-all")                                                                      \
    X(SS_COLL_RING_STEP, "all-gather")                                                                       \
    X(SS_COLL_DISPATCH, "dispatch")                                                                          \
    X(SS_COLL_COMBINE, "combine")                                                                            \
    X(SS_COLL_ALL_TO_ALL_BACK, "all-to-all")
enum ss_collective_kind {
#define X(sym, name) sym,
    SS_COLL_LIST(X)
#undef X
        SS_COLL_COUNT
};
/* Returns the name of a kind (enum ss_collective_kind). Never NULL. */
const char *ss_collective_kind_name(int kind);
/* Sets of kinds. */
#define SS_COLL_BIT(kind) (1u << (kind))
#define SS_COLLS_SHARDED (SS_COLL_BIT(SS_COLL_ALL_GATHER) | SS_COLL_BIT(SS_COLL_REDUCE_SCATTER))
#define SS_COLLS_REDUCED (SS_COLLS_SHARDED | SS_COLL_BIT(SS_COLL_ALL_REDUCE))
#define SS_COLLS_EXCHANGED                                                                                   \
    (SS_COLL_BIT(SS_COLL_ALL_GATHER) | SS_COLL_BIT(SS_COLL_ALL_TO_ALL) | SS_COLL_BIT(SS_COLL_RING_STEP))
#define SS_COLLS_TO_ALL (SS_COLL_BIT(SS_COLL_ALL_TO_ALL) | SS_COLL_BIT(SS_COLL_ALL_TO_ALL_BACK))
#define SS_COLLS_ROUTED (SS_COLLS_TO_ALL | SS_COLL_BIT(SS_COLL_DISPATCH) | SS_COLL_BIT(SS_COLL_COMBINE))

/* How the members of a communicator are found in a rank grid. */
enum ss_comm_members {
    SS_MEMBERS_DENSE,  /* dense rank grid: ranks that differ only along the communicator's axes */
    SS_MEMBERS_ENDS,   /* the first and the last of such dense ranks */
    SS_MEMBERS_SHARDS, /* the dense ranks that shard a layer's parameters: all, or those on one node */
    /* expert rank grid, whose axis tp is expert tensor parallelism and whose axis dp is the rest */
    SS_MEMBERS_EXPERT,
    /* the ranks of the expert grid that shard a layer's experts: all that hold the same ones */
    SS_MEMBERS_EXPERT_SHARDS,
    SS_MEMBERS_ALL, /* every rank */
    SS_MEMBERS_SELF /* the rank and its host */
};

/* When NCCL makes the communicator, with buffers on the device. */
enum ss_comm_buffers {
    SS_BUFFERS_NONE, /* never: its ranks use another communicator, or no NCCL */
    SS_BUFFERS_ANY,  /* when it has several ranks */
    /* when it has several ranks along each of its axes; otherwise it equals another communicator */
    SS_BUFFERS_ALL
};

/*
 * X(symbol, name, axes, members, buffers, kinds, stream, label, posted, flows)
 *   axes     along which its members differ in the rank grid
 *   buffers  when NCCL has buffers for it on the device: ss.memory.nccl_per_group
 *   kinds    set of kinds of collectives that it does along rings, trees, ...; 0: none of these
 *   stream   of its collectives, which run in order; -1: none. Program texts hold the number: it stays for ever
 *   label    enum ss_label of the time that a rank waits for it
 *   posted   the lowest level (enum ss_level) of a program that posts its collectives
 *   flows    the lowest level at which they are flows on links, priced in closed form below; SS_LEVEL_COUNT: never
 */
#define SS_COMM_LIST(X)                                                                                      \
    X(SS_COMM_TP, "tp", "tp", SS_MEMBERS_DENSE, SS_BUFFERS_ANY, SS_COLLS_REDUCED, 2, SS_LABEL_TP,            \
      SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                                        \
    X(SS_COMM_CP, "cp", "cp", SS_MEMBERS_DENSE, SS_BUFFERS_ANY, SS_COLLS_EXCHANGED, 3, SS_LABEL_CP,          \
      SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                                        \
    X(SS_COMM_DP, "dp", "dp", SS_MEMBERS_DENSE, SS_BUFFERS_NONE, 0, -1, SS_LABEL_DP, SS_LEVEL_COUNT,         \
      SS_LEVEL_COUNT)                                                                                        \
    X(SS_COMM_DP_CP, "dp-cp", "dp-cp", SS_MEMBERS_DENSE, SS_BUFFERS_ANY, SS_COLLS_REDUCED, 0, SS_LABEL_DP,   \
      SS_LEVEL_CHUNK, SS_LEVEL_CHUNK)                                                                        \
    X(SS_COMM_TP_CP, "tp-cp", "tp-cp", SS_MEMBERS_DENSE, SS_BUFFERS_ALL, 0, -1, SS_LABEL_TP, SS_LEVEL_COUNT, \
      SS_LEVEL_COUNT)                                                                                        \
    X(SS_COMM_PP, "pp", "pp", SS_MEMBERS_DENSE, SS_BUFFERS_ANY, 0, -1, SS_LABEL_PP, SS_LEVEL_COUNT,          \
      SS_LEVEL_COUNT)                                                                                        \
    X(SS_COMM_MP, "mp", "tp-pp", SS_MEMBERS_DENSE, SS_BUFFERS_ALL, 0, -1, SS_LABEL_OPTIMIZER,                \
      SS_LEVEL_COUNT, SS_LEVEL_COUNT)                                                                        \
    X(SS_COMM_EMBEDDING, "embedding", "pp", SS_MEMBERS_ENDS, SS_BUFFERS_NONE, 0, 0, SS_LABEL_DP,             \
      SS_LEVEL_CHUNK, SS_LEVEL_CHUNK)                                                                        \
    X(SS_COMM_FSDP, "fsdp", "dp-cp", SS_MEMBERS_SHARDS, SS_BUFFERS_NONE, SS_COLLS_SHARDED, 4, SS_LABEL_DP,   \
      SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                                        \
    X(SS_COMM_WORLD, "world", "tp-cp-ep-dp-pp", SS_MEMBERS_ALL, SS_BUFFERS_ANY, 0, 1, SS_LABEL_OPTIMIZER,    \
      SS_LEVEL_CHUNK, SS_LEVEL_COUNT)                                                                        \
    X(SS_COMM_HOST, "host", "", SS_MEMBERS_SELF, SS_BUFFERS_NONE, 0, 5, SS_LABEL_OFFLOAD, SS_LEVEL_LAYER,    \
      SS_LEVEL_COUNT)                                                                                        \
    X(SS_COMM_EP, "ep", "ep", SS_MEMBERS_EXPERT, SS_BUFFERS_ANY, SS_COLLS_ROUTED, 6, SS_LABEL_EP,            \
      SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                                        \
    X(SS_COMM_ETP, "etp", "tp", SS_MEMBERS_EXPERT, SS_BUFFERS_ANY, SS_COLLS_REDUCED, 7, SS_LABEL_EP,         \
      SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                                        \
    X(SS_COMM_ETP_EP, "etp-ep", "tp-ep", SS_MEMBERS_EXPERT, SS_BUFFERS_ALL, SS_COLLS_REDUCED, 6,             \
      SS_LABEL_EP, SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                           \
    X(SS_COMM_EDP, "expert-dp", "dp", SS_MEMBERS_EXPERT, SS_BUFFERS_ANY, SS_COLLS_REDUCED, 0, SS_LABEL_DP,   \
      SS_LEVEL_CHUNK, SS_LEVEL_CHUNK)                                                                        \
    X(SS_COMM_EXPERT_FSDP, "expert-fsdp", "dp", SS_MEMBERS_EXPERT_SHARDS, SS_BUFFERS_NONE, SS_COLLS_SHARDED, \
      4, SS_LABEL_DP, SS_LEVEL_LAYER, SS_LEVEL_LAYER)                                                        \
    X(SS_COMM_ISSUE, "issue", "", SS_MEMBERS_SELF, SS_BUFFERS_NONE, 0, 8, SS_LABEL_OTHER, SS_LEVEL_CHUNK,    \
      SS_LEVEL_COUNT)
enum ss_communicator {
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows) sym,
    SS_COMM_LIST(X)
#undef X
        SS_COMM_COUNT
};

struct ss_comm_facts {
    const char *name, *axes;
    int members; /* enum ss_comm_members */
    int buffers; /* enum ss_comm_buffers */
    unsigned kinds;
    int stream, label, posted, flows;
};
/* Returns the row of a communicator (enum ss_communicator), a constant; NULL for any other number. */
const struct ss_comm_facts *ss_comm_facts(int comm);
/* Returns the axes along which its members differ: bit a for axis a (enum ss_axis); 0 for a number that is no
 * communicator. */
unsigned ss_comm_axes(int comm);
/* Returns the name of an axis (enum ss_axis): "tp". */
const char *ss_axis_name(int axis);
/* Returns the axis whose name is the first `len` characters of `name`, or -1. */
int ss_axis_find(const char *name, size_t len);
/* Returns 1 when NCCL has buffers for the communicator in a rank grid of these sizes: the expert grid for
 * SS_MEMBERS_EXPERT, else the dense one. */
int ss_comm_has_buffers(int comm, const int size[SS_AXIS_COUNT]);
/* Returns 1 when a rank grid alone, dense or of experts, gives its members: it is a process group of
 * Megatron. */
int ss_comm_in_grid(int comm);

/* Streams of collectives as constants: SS_STREAM(SS_COMM_TP). */
enum ss_stream {
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows) sym##_STREAM = stream,
    SS_COMM_LIST(X)
#undef X
};
#define SS_STREAM(comm) comm##_STREAM
/* Returns the number of streams of a program at layer level, with or without experts; the host's launches, which
 * few programs have, are on one more. */
int ss_stream_count(int experts);
/* Returns 1 when collectives of the stream are posted inside layers, 0 when between slots. */
int ss_stream_in_layers(int stream);

SS_C_END
