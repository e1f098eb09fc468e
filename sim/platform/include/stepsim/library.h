/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of collectives: workloads/libraries/NAME.xml (docs/reference/formats-library.md). A card names the one that it is used
 * with by its prop ss.library; NVIDIA's NCCL where it names none.
 */
#pragma once

#include "stepsim/files.h"

SS_C_BEGIN

/* Algorithms that a library may have beside rings. X(symbol, word) */
#define SS_LIBRARY_ALGORITHM_LIST(X)                                                                         \
    X(TREE, "tree") /* two binary trees over the nodes */                                                    \
    X(NVLS, "nvls") /* the switch of a node reduces */                                                       \
    X(NVLS_TREE,                                                                                             \
      "nvls_tree")      /* the switches of nodes, joined by trees; where the stack's release takes it */     \
    X(PAT, "pat")       /* parallel aggregated trees; where the stack's release takes it */                  \
    X(DIRECT, "direct") /* each GPU of a full mesh to each other one */
enum ss_library_algorithm {
#define X(symbol, word) SS_LIBRARY_##symbol,
    SS_LIBRARY_ALGORITHM_LIST(X)
#undef X
        SS_LIBRARY_ALGORITHM_COUNT
};

/* Protocols: LL writes a flag beside every piece of data, LL128 one a line of 128 bytes; Simple has none and waits for fences. */
enum ss_protocol { SS_PROTOCOL_LL, SS_PROTOCOL_LL128, SS_PROTOCOL_SIMPLE, SS_PROTOCOL_COUNT };
/* Latencies in s: once, of a step inside a node and of one between nodes. */
enum ss_protocol_latency { SS_LATENCY_ONCE, SS_LATENCY_NEAR, SS_LATENCY_FAR, SS_LATENCY_COUNT };
struct ss_protocol_facts {
    double line, data;            /* bytes on a wire, and of data in them; 0: there is no such protocol */
    double two_nodes, more_nodes; /* bytes/s of busbw at most between two and among more nodes; 0: no bound */
    double ring[SS_LATENCY_COUNT], tree[SS_LATENCY_COUNT];
};

struct ss_library {
    char name[24];       /* "NCCL" */
    unsigned algorithms; /* set of 1 << enum ss_library_algorithm */
    /* numbers, from here to the end */
    double step;             /* s: the step inside a node that ss.fabric.step_latency is */
    double channels, pieces; /* of a communicator between nodes; of a channel's buffer */
    struct ss_protocol_facts protocol[SS_PROTOCOL_COUNT];
    /* PAT: share of a NIC's busbw; s once, a step and a member; steps of which the time of one shows */
    double pat_busbw, pat_once, pat_step, pat_member, pat_hidden;
    double direct_most; /* bytes of the largest buffer that direct takes */
};

/* Loads a library by name (workloads/libraries/NAME.xml of the data) or by path into *out; `files`, which may be NULL, gets the file.
 * Errors: SS_ERR_IO (no such file), SS_ERR_INPUT. */
int ss_library_load(const char *name_or_path, struct ss_files *files, struct ss_library *out,
                    struct ss_error *err);
/* The same from memory; `name` stands for the file in messages. Error: SS_ERR_INPUT. */
int ss_library_parse(const char *text, unsigned long len, const char *name, struct ss_library *out,
                     struct ss_error *err);
/* Returns 1 when the library has the algorithm (enum ss_library_algorithm). */
static inline int ss_library_has(const struct ss_library *library, int algorithm)
{
    return (int)(library->algorithms >> algorithm & 1);
}

SS_C_END
