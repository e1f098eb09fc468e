/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves over links: paths, flows, and collectives as phases of flows. Plans, programs and replays share these structs,
 * which know nothing of jobs and models. The plan or program that holds one owns what it points to.
 */
#pragma once

#include "stepsim/types.h"

SS_C_BEGIN

/* What a link is part of. X(symbol, name) */
#define SS_LINK_KIND_LIST(X)                                                                                 \
    X(SS_LINK_FABRIC, "nvlink")                                                                              \
    X(SS_LINK_NIC, "nic")                                                                                    \
    X(SS_LINK_UPLINK, "uplink")                                                                              \
    X(SS_LINK_OTHER, "other")
enum ss_link_kind {
#define X(sym, name) sym,
    SS_LINK_KIND_LIST(X)
#undef X
        SS_LINK_KIND_COUNT
};
/* Returns the name of a kind (enum ss_link_kind), "nic", or "unknown". Never NULL. */
const char *ss_link_kind_name(int kind);

/* One direction of one link. */
struct ss_link {
    char name[64];    /* "nic-3-0.up" */
    int kind;         /* enum ss_link_kind, from the prop ss.kind or the name's prefix */
    double bandwidth; /* bytes/s */
    double latency;   /* s */
};

/* Stands between a link's name, its bandwidth and its latency where a route is told as text (ss_route_asker). */
#define SS_ROUTE_VALUES '\037'

/* Most links of a route. */
#define SS_ROUTE_MAX 16
/* The links that a flow crosses. weight[i] says how many equal flows it stands for on link i. */
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
/* Flows that start together once `latency` has passed; the phase ends with the last of them. */
struct ss_flow_phase {
    double latency; /* s */
    int nflows;
    struct ss_flow *flows;
};
/* What a collective is for. */
enum ss_role {
    SS_ROLE_OTHER,     /* not known: program texts do not hold it */
    SS_ROLE_GRADS,     /* reduces gradients between slots */
    SS_ROLE_PARAMS,    /* gathers parameters between slots */
    SS_ROLE_EMBEDDING, /* reduces the gradients of tied embeddings between the first and the last stage */
    SS_ROLE_NORM,      /* the gradients' norm over all ranks */
    SS_ROLE_LAYER,     /* inside a layer */
    SS_ROLE_OFFLOAD,   /* copies to the host and back */
    SS_ROLE_LAUNCH     /* launches of the host */
};
/* A collective, or another transfer of a group of ranks, as phases of flows that run one after the other. */
struct ss_collective {
    char name[48];   /* "dp reduce-scatter bucket 3" */
    int role;        /* enum ss_role */
    int kind;        /* 1 + enum ss_collective_kind; 0: not known, as of program texts */
    int label;       /* enum ss_label: what the time is called that a rank waits for it */
    double bytes;    /* full buffer, as in NCCL */
    double part;     /* of a collective of `bytes` that this is, 0..1 */
    double sm_share; /* share of each member's SMs that it takes while its flows run, 0..1 */
    int nmembers;    /* classes that take part; it starts when all of them have posted it */
    int *members;
    int nphases;
    struct ss_flow_phase *phases;
};

SS_C_END
