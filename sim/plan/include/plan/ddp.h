/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of PyTorch's DistributedDataParallel, in the order of the backward. */
#ifndef SS_PLAN_DDP_H
#define SS_PLAN_DDP_H

#include "cost/rank_cost.h"

struct ss_ddp_bucket {
    double all, gemm; /* its parameters, and those of them in GEMMs */
    int done;         /* layers of the backward behind which its last gradient is there */
};

struct ss_ddp_walk {
    const struct ss_layer_set *set;
    int chunk, layers, left, ops; /* layers, and operators of the next one, that the backward has before it */
    double size, full;            /* parameters that fill a bucket, and this one */
    struct ss_ddp_bucket bucket;
};

/* Begins a walk over a chunk of so many layers, whose output layer has `output` parameters. */
struct ss_ddp_walk ss_ddp_begin(const struct ss_layer_set *set, int chunk, int layers, double size,
                                double output);
/* Gives the next bucket, of the experts' parameters or of all others; returns 0 with what is left behind all layers, which may be nothing. */
int ss_ddp_next(struct ss_ddp_walk *w, int experts, struct ss_ddp_bucket *bucket);

#endif
