/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs, switches and links that a picture of a platform shows. They are found in the routes that
 * messages take. */
#pragma once

#include "stepsim/platform.h"

struct ss_drawn_vertex {
    int level;      /* number of links to the nearest GPU; 0: the vertex is a GPU */
    int node;       /* the node that it stands in; -1: it stands between nodes */
    int shows;      /* the vertex that is drawn for it, itself or an equal one; -1: none */
    int64_t equal;  /* number of vertices of the platform that are equal to it */
    uint64_t color; /* equal vertices have the same color */
    const char *role;
    double x, y; /* the middle of its box, once it is laid out */
};

struct ss_drawn_edge {
    int a, b;         /* the vertices of its ends; a has the lower level */
    int kind;         /* enum ss_link_kind */
    int sharers;      /* GPUs that share the link */
    double bandwidth; /* bytes/s, one direction */
};

struct ss_drawn_node {
    int node;
    int64_t equal; /* number of nodes of the platform that are equal to it */
    int drawn;     /* 0: the node is not drawn, because an equal one is */
};

struct ss_drawing {
    const struct ss_platform *p;
    char fabric_switch[40];           /* what a switch inside a node is called, "NVLink switch" */
    struct ss_drawn_vertex *vertices; /* GPUs first: those of nodes[i] begin at i * gpus_per_node */
    int nvertices, ngpus;
    struct ss_drawn_edge *edges;
    size_t nedges, edges_cap;
    struct ss_drawn_node *nodes;
    int nnodes, levels; /* levels: the highest level of a vertex */
};

#define SS_DRAWN_NODES 4  /* up to so many nodes are all drawn; of more nodes, one of each kind */
#define SS_DRAWN_KINDS 8  /* the most kinds of nodes that are drawn */
#define SS_DRAWN_LAYER 16 /* up to so many boxes of a row are all drawn; of more boxes, one of each kind */

/* Finds what to draw. Returns 0 or SS_ERR_NOMEM; the caller frees the drawing in both cases. */
int ss_drawing_make(struct ss_drawing *d, const struct ss_platform *p);
void ss_drawing_free(struct ss_drawing *d);

/* Fills in `shows` of each vertex (drawing_fold.c). */
int ss_drawing_fold(struct ss_drawing *d);
