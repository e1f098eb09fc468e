/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves over links: paths, flows, collectives as phases of flows. The words that plan, program and replay share;
 * nothing here knows of jobs or models.
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
/* What a collective is for. */
enum ss_role {
    SS_ROLE_OTHER,     /* not known: program texts do not hold it */
    SS_ROLE_GRADS,     /* reduces gradients between slots */
    SS_ROLE_PARAMS,    /* gathers parameters between slots */
    SS_ROLE_EMBEDDING, /* reduces the gradients of tied embeddings between the first and the last stage */
    SS_ROLE_NORM,      /* the gradients' norm over all ranks */
    SS_ROLE_LAYER,     /* inside a layer */
    SS_ROLE_OFFLOAD    /* copies to the host and back */
};
/* A collective (or any transfer of a group), lowered once to phases of flows. */
struct ss_collective {
    char name[48];   /* "dp reduce-scatter bucket 3" */
    int role;        /* enum ss_role */
    int label;       /* enum ss_label that waiting for it gets */
    double bytes;    /* full buffer, as in NCCL */
    double sm_share; /* share of the SM resource of every member that it holds while its flows run */
    int nmembers;    /* classes that take part; it starts when all have posted it */
    int *members;
    int nphases;
    struct ss_flow_phase *phases;
};

#ifdef __cplusplus
}
#endif
#endif
