/* SPDX-License-Identifier: Apache-2.0 */
/* What hwloc tells of one node, in plain values: what the reading child hands to its parent. */
#ifndef SS_NODE_FACTS_H
#define SS_NODE_FACTS_H

#include "platform/platform_internal.h"

struct ss_nvlink_matrix {
    int given;          /* 0: the file has none */
    int mesh;           /* GPU to GPU, not by way of a switch */
    int whole;          /* equal for all GPUs */
    int may_be_double;  /* by an hwloc that gave NVLink 3 and 4 twice their bandwidth */
    double link, total; /* bytes/s per direction: of a pair (a mesh) or GPU; of a GPU */
};

struct ss_node_facts {
    int ngpus, nnics, nnumas;
    char model[128];
    double memory;      /* bytes of one GPU, 0 = not said */
    double host_memory; /* bytes of the node */
    struct ss_nvlink_matrix nvlink;
};

/* Reads an hwloc XML in a child process; one error for what cannot be read or has no GPU. */
int ss_node_facts_read(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                       struct ss_error *err);

#endif
