/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel collectives as Megatron core 0.8 issues them: with overlap, gradients of the first chunk of
 * pipeline rank 0 go in buckets as they become ready, all other chunks in one bucket each
 * (DistributedDataParallel turns bucketing off there); without overlap one collective a rank. Where a
 * schedule holds two copies of the model, the ranks of the other copy take part.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan_internal.h"

/* The group at hand: classes of one pipeline stage, or of two where there are two copies of the model. */
struct dp_group {
    struct ss_plan_builder *b;
    struct ss_error *err;
    int cls; /* first of its classes, at the lower stage */
    int *classes, n;
    double grad_bytes,
        param_bytes; /* of a parameter in the reduction and in the gather; of a shard's, where sharded */
    double narrow;   /* bytes less of a GEMM's parameter in the gather: fp8 */
    int scatter, early,
        late; /* gradients are scattered and parameters gathered; reduce and gather beside compute */
    struct ss_group_shape shape;
};

/* The chunk of another class of the group that holds the same layers as `chunk` of the first one. */
static int same_chunk(const struct dp_group *d, int cls, int chunk)
{
    const struct ss_plan *plan = d->b->plan;
    return plan->classes[cls].stage == plan->classes[d->cls].stage ? chunk
                                                                   : plan->schedule->chunks - 1 - chunk;
}

static int ring(const struct dp_group *d, const char *name, int kind, double bytes, int *index)
{
    const struct ss_plan *plan = d->b->plan;
    const struct ss_card *card = ss_platform_card(plan->platform);
    const struct ss_ring r = {.name = name,
                              .group = SS_WAY_DP,
                              .kind = kind,
                              .label = SS_LABEL_DP,
                              .bytes = bytes,
                              .sm_share = ss_collective_sm_share(plan->stack, card, &d->shape),
                              .part = 1,
                              .speed = 1,
                              .seconds = -1};
    return ss_plan_ring_add(d->b, d->cls, &r, index, d->err);
}

static int mark_add(struct ss_bucket_mark **marks, int *n, struct ss_bucket_mark mark, struct ss_error *err)
{
    struct ss_bucket_mark *grown = realloc(*marks, (size_t)(*n + 1) * sizeof **marks);
    if (!grown)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for buckets");
    *marks = grown;
    grown[(*n)++] = mark;
    return SS_OK;
}

static int marks_add(const struct dp_group *d, int chunk, int gather, struct ss_bucket_mark mark)
{
    int status = SS_OK;
    for (int i = 0; i < d->n && !status; i++) {
        struct ss_chunk_cost *cc =
            &d->b->plan->classes[d->classes[i]].chunks[same_chunk(d, d->classes[i], chunk)];
        status = gather ? mark_add(&cc->gather, &cc->ngather, mark, d->err)
                        : mark_add(&cc->reduce, &cc->nreduce, mark, d->err);
    }
    return status;
}

static const struct ss_param_count *params_of(const struct dp_group *d, int chunk)
{
    return &ss_plan_cost_of(d->b, d->cls)->params[chunk];
}

/* Gathered of `params` parameters, those of so many layers of a chunk among them. */
static double gathered(const struct dp_group *d, int chunk, double params, int layers)
{
    return params * d->param_bytes - layers * params_of(d, chunk)->layer_gemm * d->narrow;
}

/* `layers` of a chunk and what else its bucket holds; ready, needed: layers done in the last backward and the first
 * forward */
static int bucket_add(const struct dp_group *d, int chunk, int bucket, double params, int layers,
                      int layers_ready, int layers_needed)
{
    struct ss_bucket_mark ready = {.step = layers_ready}, needed = {.step = layers_needed};
    char name[48];
    int status = SS_OK;
    if (d->early) {
        int kind = d->scatter ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE;
        snprintf(name, sizeof name, "grads class%d chunk%d bucket%d", d->cls, chunk, bucket);
        status = ring(d, name, kind, params * d->grad_bytes, &ready.collective);
        if (!status)
            status = marks_add(d, chunk, 0, ready);
    }
    if (!status && d->late && d->scatter) {
        snprintf(name, sizeof name, "params class%d chunk%d bucket%d", d->cls, chunk, bucket);
        status = ring(d, name, SS_COLL_ALL_GATHER, gathered(d, chunk, params, layers), &needed.collective);
        if (!status)
            status = marks_add(d, chunk, 1, needed);
    }
    return status;
}

/* Gathers are made in backward order; the forward needs them the other way round. */
static void reverse_gathers(const struct dp_group *d, int chunk)
{
    for (int k = 0; k < d->n; k++) {
        struct ss_chunk_cost *cc =
            &d->b->plan->classes[d->classes[k]].chunks[same_chunk(d, d->classes[k], chunk)];
        for (int i = 0; i < cc->ngather / 2; i++) {
            struct ss_bucket_mark t = cc->gather[i];
            cc->gather[i] = cc->gather[cc->ngather - 1 - i];
            cc->gather[cc->ngather - 1 - i] = t;
        }
    }
}

/* Buckets of the chunk's parameters in the order of the backward: output layer, layers, embedding. Each takes whole
 * ones until it has its size; the last takes what is left. */
static int chunk_buckets(const struct dp_group *d, int chunk, double params, double layer)
{
    const struct ss_plan *plan = d->b->plan;
    const struct ss_plan_class *pc = &plan->classes[d->cls];
    const struct ss_chunk_cost *cc = &pc->chunks[chunk];
    double size =
        plan->job->bucket_size > 0 ? plan->job->bucket_size : fmax(plan->stack->ddp_bucket, 1e6 * d->shape.n);
    double own = params_of(d, chunk)->loss, rest = params - own - layer * cc->nlayers;
    int left = cc->nlayers, bucket = 0, status = SS_OK;
    if (pc->stage > 0 || chunk > 0 || left == 0)
        return bucket_add(d, chunk, 0, params, left, left, 0);
    while (left > 0 && !status) {
        int layers = 0;
        for (; left > 0 && own < size; left--, layers++)
            own += layer;
        status =
            bucket_add(d, chunk, bucket++, own + (left > 0 ? 0 : rest), layers, cc->nlayers - left, left);
        own = 0;
    }
    reverse_gathers(d, chunk);
    return status;
}

/* Without overlap: all gradients (parameters) of the rank in one. */
static int whole_add(const struct dp_group *d, int gather, double bytes)
{
    struct ss_plan *plan = d->b->plan;
    int index, kind = gather ? SS_COLL_ALL_GATHER : d->scatter ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE;
    int status = ring(d, gather ? "params" : "grads", kind, bytes, &index);
    for (int i = 0; i < d->n && !status; i++) {
        struct ss_plan_class *pc = &plan->classes[d->classes[i]];
        status = gather ? ss_plan_list_add(&pc->after, &pc->nafter, index, d->err)
                        : ss_plan_list_add(&pc->post, &pc->npost, index, d->err);
    }
    return status;
}

static int group_build(struct dp_group *d)
{
    const struct ss_plan *plan = d->b->plan;
    double grads = 0, params = 0;
    int status = SS_OK;
    for (int k = 0; k < plan->schedule->chunks && !status; k++) {
        double all = params_of(d, k)->all;
        grads += all * d->grad_bytes;
        params += gathered(d, k, all, plan->classes[d->cls].chunks[k].nlayers);
        status = chunk_buckets(d, k, all, params_of(d, k)->layer);
    }
    if (!status && !d->early)
        status = whole_add(d, 0, grads);
    if (!status && !d->late && d->scatter)
        status = whole_add(d, 1, params);
    return status;
}

/* With FSDP only the replicas of a hybrid job are left: each rank's shard, beside the layers. */
static void group_init(struct dp_group *d)
{
    const struct ss_job *job = d->b->plan->job;
    const struct ss_parameter_bytes bytes = ss_parameter_bytes(job, d->b->plan->stack);
    d->grad_bytes = bytes.grad;
    d->param_bytes = bytes.weight;
    d->narrow = job->precision == SS_FP8 && job->fp8_param_gather ? bytes.weight - 1 : 0;
    d->scatter = job->distributed_optimizer;
    d->early = job->overlap_grad_reduce;
    d->late = job->overlap_param_gather;
    if (ss_job_is_hybrid(job)) {
        int shards = ss_plan_shape(d->b, SS_WAY_FSDP, d->b->plan->classes[d->cls].representative).n;
        d->grad_bytes /= shards;
        d->param_bytes /= shards;
        d->narrow /= shards;
        d->scatter = job->outer_sharding == SS_SHARD_OPTIM;
        d->early = d->late = 1;
    }
}

int ss_plan_dp_build(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    int status = SS_OK;
    struct dp_group d = {.b = b, .err = err};
    if (!ss_ways_in_use(plan, SS_WAY_DP)) /* sharded parameters communicate inside the layers */
        return SS_OK;
    for (int c = 0; c < plan->nclasses && !status; c++) {
        if (b->done[c])
            continue;
        d.cls = c;
        group_init(&d);
        d.shape = ss_plan_shape(b, SS_WAY_DP, plan->classes[c].representative);
        d.n = ss_plan_group_classes(b, c, SS_WAY_DP);
        d.classes = malloc((size_t)d.n * sizeof *d.classes);
        if (!d.classes)
            return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for a group of %d classes", d.n);
        memcpy(d.classes, b->scratch, (size_t)d.n * sizeof *d.classes);
        for (int i = 0; i < d.n; i++)
            b->done[d.classes[i]] = 1;
        if (d.shape.n > 1)
            status = group_build(&d);
        free(d.classes);
    }
    return status;
}

int ss_plan_barrier_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int nodes = ss_platform_nodes(plan->platform), index, status;
    double step = nodes > 1 ? b->net.nic_step : b->net.nvlink_step;
    for (int c = 0; c < plan->nclasses; c++)
        plan->classes[c].norm = -1;
    int scales = plan->job->precision == SS_FP16 || plan->job->fp8_base == SS_FP16; /* and asks all for inf */
    if (plan->stack->grad_norm_barrier <= 0 || !(plan->job->clip_grad || scales))
        return SS_OK;
    status =
        ss_plan_collective_add(b, "gradient norm", SS_LABEL_OPTIMIZER, 4, plan->nclasses, 0, &index, err);
    if (status)
        return status;
    /* One number over all ranks: a tree up and down. */
    plan->collectives[index].phases[0].latency = 2 * ceil(log2(fmax(1, plan->world_size))) * step;
    for (int c = 0; c < plan->nclasses; c++) {
        plan->collectives[index].members[c] = c;
        plan->classes[c].norm = index;
    }
    return SS_OK;
}

/* First and last stage of a class; each sends its gradient to the other. */
static int embedding_add(struct ss_plan_builder *b, int cls, int peer, double bytes, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int kind = b->ways.embedding, both[2] = {cls, peer}, index, status;
    size_t there = (size_t)plan->classes[cls].representative * (size_t)b->ways.nkinds + (size_t)kind;
    status = ss_plan_collective_add(b, "embedding grads", SS_LABEL_DP, bytes, 2, 2, &index, err);
    if (status)
        return status;
    plan->collectives[index].phases[0].latency = 2 * fmax(b->ways.latency[there], b->net.nic_step);
    for (int i = 0; i < 2 && !status; i++) {
        struct ss_plan_class *pc = &plan->classes[both[i]];
        int path;
        plan->collectives[index].members[i] = both[i];
        status = ss_plan_path(b, both[i], kind, &path, err);
        if (!status) {
            ss_plan_flow_add(b, index, path, bytes);
            status = ss_plan_list_add(&pc->post, &pc->npost, index, err);
        }
    }
    return status;
}

int ss_plan_embedding_build(struct ss_plan_builder *b, double bytes, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int status = SS_OK;
    for (int c = 0; c < plan->nclasses && !status; c++) {
        int rank = plan->classes[c].representative;
        if (plan->classes[c].stage != plan->schedule->virtual_rank[0] || b->ways.embedding < 0)
            continue;
        int peer = b->ways.to[(size_t)rank * (size_t)b->ways.nkinds + (size_t)b->ways.embedding];
        if (peer >= 0)
            status = embedding_add(b, c, plan->class_of[peer], bytes, err);
    }
    return status;
}
