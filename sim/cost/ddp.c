/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of data parallelism: tensors in the order in which the backward makes their gradients. A bucket is closed by the tensor that fills
 * it, by _ParamAndGradBuffer of Megatron core's distributed/param_and_grad_buffer.py and compute_bucket_assignment_by_size of PyTorch's
 * torch/csrc/distributed/c10d/reducer.cpp. What the parameters of one operator are is taken for one tensor.
 */
#include <math.h>

#include "cost/layer_set.h"
#include "stepsim/job.h"

double ss_ddp_bucket_size(const struct ss_job *job, const struct ss_stack *stack, double ranks)
{
    if (job->dp.bucket_size > 0)
        return job->dp.bucket_size;
    return fmax(stack->ddp_bucket, stack->ddp_bucket_rank * ranks);
}

double ss_ddp_buckets(int tensors, double params, double size)
{
    return fmin(tensors, size > 0 ? floor(params / size) + 1 : 1);
}

static struct ss_layer_params op_params(const struct ss_layer_set *set, const struct ss_op *op)
{
    const int apart = set->experts_apart && op->expert;
    return apart ? (struct ss_layer_params){.expert = op->params, .expert_gemm = op->gemm_params}
                 : (struct ss_layer_params){.dense = op->params, .dense_gemm = op->gemm_params};
}

static struct ss_ddp_bucket closed(struct ss_ddp_walk *w)
{
    struct ss_ddp_bucket bucket = w->bucket;
    w->bucket = (struct ss_ddp_bucket){0};
    w->full = w->size;
    return bucket;
}

int ss_ddp_next(struct ss_ddp_walk *w, int experts, struct ss_ddp_bucket *bucket)
{
    while (w->bucket.all < w->full || (w->whole && w->ops > 0)) {
        const struct ss_ops *layer = w->left > 0 ? ss_chunk_layer_ops(w->set, w->chunk, w->left - 1) : NULL;
        if (!layer) {
            *bucket = closed(w);
            return 0;
        }
        w->ops = w->ops > 0 ? w->ops : layer->n;
        const struct ss_layer_params p = op_params(w->set, &layer->op[--w->ops]);
        double all = experts ? p.expert : p.dense, gemm = experts ? p.expert_gemm : p.dense_gemm;
        w->bucket.all += w->gemms ? gemm : all;
        w->bucket.gemm += gemm;
        w->left -= w->ops == 0;
        if (all > 0)
            w->bucket.done = w->layers - w->left + (w->ops > 0);
    }
    *bucket = closed(w);
    return 1;
}
