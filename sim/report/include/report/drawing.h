/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture of a platform shows: GPUs, switches and links, found in the routes that messages take. */
#ifndef SS_REPORT_DRAWING_H
#define SS_REPORT_DRAWING_H

#include <stdint.h>

#include "stepsim/platform.h"

struct ss_drawn_vertex {
    int level;      /* links to the nearest GPU; 0: a GPU */
    int node;       /* that it stands in; -1: between nodes */
    int shows;      /* vertex that is drawn for it, itself or an equal one; -1: none */
    int64_t equal;  /* vertices of the platform that are equal to it */
    uint64_t color; /* equal vertices have the same */
    const char *role;
    double x, y; /* of its box's middle, once it is laid out */
};

struct ss_drawn_edge {
    int a, b;         /* vertices, a of the lower level */
    int kind;         /* enum ss_link_kind */
    int sharers;      /* GPUs that share the link */
    double bandwidth; /* bytes/s, one direction */
};

struct ss_drawn_node {
    int node;
    int64_t equal; /* nodes of the platform that are equal to it */
    int drawn;     /* 0: an equal one stands for it */
};

struct ss_drawing {
    const struct ss_platform *p;
    char fabric_switch[40];           /* role of a switch inside a node, "NVLink switch" */
    struct ss_drawn_vertex *vertices; /* GPUs first, those of nodes[i] from i * gpus_per_node on */
    int nvertices, ngpus;
    struct ss_drawn_edge *edges;
    size_t nedges, edges_cap;
    struct ss_drawn_node *nodes;
    int nnodes, levels; /* levels: the highest one */
};

#define SS_DRAWN_NODES 4  /* as many nodes are drawn one by one; of more, one of each kind */
#define SS_DRAWN_KINDS 8  /* kinds of nodes that are drawn at most */
#define SS_DRAWN_LAYER 16 /* more boxes in a row: one of each kind */

/* Finds what to draw. 0 or SS_ERR_NOMEM; free it in any case. */
int ss_drawing_make(struct ss_drawing *d, const struct ss_platform *p);
void ss_drawing_free(struct ss_drawing *d);

/* Says for each vertex by which one it is shown: drawing_fold.c. */
int ss_drawing_fold(struct ss_drawing *d);

#endif
