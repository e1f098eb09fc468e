/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves over links: paths, flows, collectives as phases of flows, and the streams that order them. The words that
 * plan, program and replay share; nothing here knows of jobs or models.
 */
#ifndef STEPSIM_NETWORK_H
#define STEPSIM_NETWORK_H

#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ss_link_kind { SS_LINK_NVLINK, SS_LINK_NIC, SS_LINK_UPLINK, SS_LINK_OTHER, SS_LINK_KIND_COUNT };

/* One direction of one link. */
struct ss_link {
    char name[64];    /* "nic-3-0.up" */
    int kind;         /* enum ss_link_kind, from the prop ss.kind or the name's prefix */
    double bandwidth; /* bytes/s */
    double latency;   /* s */
};

#define SS_ROUTE_MAX 16
/* A path: links that one flow crosses. weight: how many equal flows it stands for on that link. */
struct ss_path {
    int nlinks;
    int link[SS_ROUTE_MAX]; /* index into the program's links */
    double weight[SS_ROUTE_MAX];
};
/* One transfer of a collective's phase. */
struct ss_flow {
    int path;     /* index into paths */
    double bytes; /* >= 0 */
};
/* Flows that start together; the phase ends with the last of them. Latency is paid before. */
struct ss_flow_phase {
    double latency; /* s */
    int nflows;
    struct ss_flow *flows;
};
/* A collective (or any transfer of a group), lowered once to phases of flows. */
struct ss_collective {
    char name[48];   /* "dp reduce-scatter bucket 3" */
    int label;       /* enum ss_label that waiting for it gets */
    double bytes;    /* full buffer, as in NCCL */
    double sm_share; /* share of the SM resource of every member that it holds while its flows run */
    int nmembers;    /* classes that take part; it starts when all have posted it */
    int *members;
    int nphases;
    struct ss_flow_phase *phases;
};

/* Streams of a class's collectives. X(symbol, name) */
#define SS_STREAM_LIST(X)                                                                         \
    X(SS_STREAM_DP, "dp")                                                                         \
    X(SS_STREAM_NORM, "norm")                                                                     \
    X(SS_STREAM_TP, "tp") /* this and the next: at layer level only */                            \
    X(SS_STREAM_CP, "cp")                                                                         \
    X(SS_STREAM_FSDP, "fsdp")                                                                     \
    X(SS_STREAM_OFFLOAD, "offload")
enum ss_stream {
#define X(sym, name) sym,
    SS_STREAM_LIST(X)
#undef X
    SS_STREAM_COUNT
};

#ifdef __cplusplus
}
#endif
#endif
