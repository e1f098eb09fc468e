/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of PyTorch's DistributedDataParallel, by compute_bucket_assignment_by_size of torch/csrc/distributed/c10d/reducer.cpp: tensors in
 * the order in which the backward makes their gradients; a bucket is closed by the tensor that fills it, and the first bucket is full at
 * 1 MiB. What the parameters of one operator are is taken for one tensor.
 */
#include <math.h>

#include "cost/layer_set.h"

#define FIRST_BUCKET 524288 /* 1 MiB of 16-bit gradients: kDefaultFirstBucketBytes */

static struct ss_layer_params op_params(const struct ss_layer_set *set, const struct ss_op *op)
{
    const int apart = set->experts_apart && op->expert;
    return apart ? (struct ss_layer_params){.expert = op->params, .expert_gemm = op->gemm_params}
                 : (struct ss_layer_params){.dense = op->params, .dense_gemm = op->gemm_params};
}

struct ss_ddp_walk ss_ddp_begin(const struct ss_layer_set *set, int chunk, int layers, double size,
                                double output)
{
    return (struct ss_ddp_walk){.set = set,
                                .chunk = chunk,
                                .layers = layers,
                                .left = layers,
                                .size = size,
                                .full = fmin(size, FIRST_BUCKET),
                                .bucket.all = output};
}

static struct ss_ddp_bucket closed(struct ss_ddp_walk *w)
{
    struct ss_ddp_bucket bucket = w->bucket;
    bucket.done = w->layers - w->left + (w->ops > 0);
    w->bucket = (struct ss_ddp_bucket){0};
    w->full = w->size;
    return bucket;
}

int ss_ddp_next(struct ss_ddp_walk *w, int experts, struct ss_ddp_bucket *bucket)
{
    while (w->bucket.all < w->full) {
        const struct ss_ops *layer = w->left > 0 ? ss_chunk_layer_ops(w->set, w->chunk, w->left - 1) : NULL;
        if (!layer) {
            *bucket = closed(w);
            return 0;
        }
        w->ops = w->ops > 0 ? w->ops : layer->n;
        const struct ss_layer_params p = op_params(w->set, &layer->op[--w->ops]);
        w->bucket.all += experts ? p.expert : p.dense;
        w->bucket.gemm += experts ? p.expert_gemm : p.dense_gemm;
        w->left -= w->ops == 0;
    }
    *bucket = closed(w);
    return 1;
}
