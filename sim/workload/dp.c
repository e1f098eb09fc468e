/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel collectives as Megatron core 0.8 issues them: with overlap, gradients of the first chunk of
 * pipeline rank 0 go in buckets as they become ready, all other chunks in one bucket each
 * (DistributedDataParallel turns bucketing off there); without overlap one collective a rank.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/plan_internal.h"

static int collective_add(struct ss_plan_builder *b, const char *name, int label, double bytes, int nmembers,
                          int nflows, int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_collective *c;
    if (ss_grow(&plan->collectives, &b->cap_collectives, (size_t)plan->ncollectives + 1, sizeof *c) != 0)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for collectives");
    c = &plan->collectives[plan->ncollectives];
    memset(c, 0, sizeof *c);
    *index = plan->ncollectives++; /* from here ss_plan_free releases it */
    ss_copy(c->name, sizeof c->name, name);
    c->label = label;
    c->bytes = bytes;
    c->members = ss_calloc((size_t)nmembers, sizeof *c->members);
    c->phases = ss_calloc(1, sizeof *c->phases);
    if (!c->members || !c->phases)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for a collective");
    c->nmembers = nmembers;
    c->nphases = 1;
    c->phases[0].flows = nflows ? ss_calloc((size_t)nflows, sizeof *c->phases[0].flows) : NULL;
    if (nflows && !c->phases[0].flows)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for flows");
    return SS_OK;
}

static int flow_add(struct ss_plan_builder *b, int collective, int path, double bytes)
{
    struct ss_flow_phase *phase = &b->plan->collectives[collective].phases[0];
    phase->flows[phase->nflows].path = path;
    phase->flows[phase->nflows++].bytes = bytes;
    return SS_OK;
}

/* Class of the ranks that hold the same layers in the other copy of the model; `cls` where there is one copy. */
static int twin_of(const struct ss_plan *plan, int cls)
{
    const struct ss_plan_class *c = &plan->classes[cls];
    if (plan->schedule->pipelines < 2)
        return cls;
    return plan->class_of[ss_plan_stage_peer(plan, c->representative, plan->schedule->stages - 1 - c->stage)];
}

/* The data-parallel group of a class; with two copies of the model the group of both. */
static struct ss_group_shape gradient_group(struct ss_plan_builder *b, int cls)
{
    const struct ss_plan *plan = b->plan;
    struct ss_group_shape g = ss_plan_group_shape(plan, SS_GROUP_DP_CP, plan->classes[cls].representative, b->scratch);
    int twin = twin_of(plan, cls), gpus = ss_platform_gpus_per_node(plan->platform), n = g.n, more;
    if (twin == cls)
        return g;
    ss_ranks_group(&plan->ranks, SS_GROUP_DP_CP, plan->classes[twin].representative, b->scratch + n, &more);
    g = (struct ss_group_shape){n + more, 0, 0};
    for (int i = 0; i < g.n; i++) {
        int on_node = 0, first = 1;
        for (int k = 0; k < g.n; k++) {
            on_node += b->scratch[k] / gpus == b->scratch[i] / gpus;
            first = first && (k >= i || b->scratch[k] / gpus != b->scratch[i] / gpus);
        }
        g.nodes += first;
        g.per_node = on_node > g.per_node ? on_node : g.per_node;
    }
    return g;
}

/* A collective of this name that the twin has made. */
static int find_collective(const struct ss_plan *plan, const char *name)
{
    for (int i = 0; i < plan->ncollectives; i++)
        if (!strcmp(plan->collectives[i].name, name))
            return i;
    return -1;
}

/* The NVLink and NIC legs of one class, side by side. */
static int ring_flows(struct ss_plan_builder *b, int cls, int index, double traffic, const struct ss_group_shape *g,
                      struct ss_error *err)
{
    int path, status;
    if (g->per_node > 1) {
        if ((status = ss_plan_path_ring(b, cls, SS_LINK_NVLINK, &path, err)) != 0)
            return status;
        flow_add(b, index, path, traffic);
    }
    if (g->nodes > 1) {
        if ((status = ss_plan_path_ring(b, cls, SS_LINK_NIC, &path, err)) != 0)
            return status;
        flow_add(b, index, path, traffic / ss_net_nics(&b->net, g));
    }
    return SS_OK;
}

/* A ring collective of the class's ranks, and of its twin's. The two share one collective, named after the lower
 * class. */
static int ring_add(struct ss_plan_builder *b, int cls, const char *name, int kind, double bytes,
                    const struct ss_group_shape *g, int *index, struct ss_error *err)
{
    const struct ss_stack *stack = b->plan->stack;
    double traffic = ss_collective_traffic(kind, bytes, g->n);
    int twin = twin_of(b->plan, cls), both = twin != cls, status;
    if (both && twin < cls) {
        *index = find_collective(b->plan, name);
        return *index >= 0 && b->plan->collectives[*index].members[1] == cls
                   ? SS_OK
                   : ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                             "schedule %s: the two copies of pipeline stage %d are not placed alike on the nodes",
                             b->plan->schedule->name, b->plan->classes[cls].stage);
    }
    status = collective_add(b, name, SS_LABEL_DP, bytes, 1 + both, 2 + 2 * both, index, err);
    if (status)
        return status;
    b->plan->collectives[*index].members[0] = cls;
    b->plan->collectives[*index].members[both] = twin;
    b->plan->collectives[*index].phases[0].latency = ss_collective_latency(&b->net, kind, g);
    b->plan->collectives[*index].sm_share = g->per_node > 1 ? stack->comm_sm_nvlink : stack->comm_sm_nic;
    status = ring_flows(b, cls, *index, traffic, g, err);
    return status || !both ? status : ring_flows(b, twin, *index, traffic, g, err);
}

/* Bytes of a parameter in the gradient's reduction and in the parameters' all-gather. */
static double grad_bytes(const struct ss_plan *plan, const struct ss_cost_context *cost)
{
    return cost->shape.e == 4 || plan->job->grad_reduce_fp32 ? 4 : 2;
}

static double param_bytes(const struct ss_plan *plan, const struct ss_cost_context *cost)
{
    return plan->job->precision == SS_FP8 && plan->job->fp8_param_gather ? 1 : cost->shape.e;
}

static int mark_add(struct ss_bucket_mark **marks, int *n, double fraction, int collective,
                    struct ss_error *err)
{
    struct ss_bucket_mark *grown = realloc(*marks, (size_t)(*n + 1) * sizeof **marks);
    if (!grown)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for buckets");
    *marks = grown;
    grown[*n].fraction = fraction;
    grown[(*n)++].collective = collective;
    return SS_OK;
}

/* Layers of a bucket: at least `bucket` parameters, whole layers. */
static int layers_per_bucket(double bucket, double layer, int nlayers)
{
    double n = layer > 0 ? ceil(bucket / layer) : nlayers;
    return n < 1 ? 1 : n > nlayers ? nlayers : (int)n;
}

static int bucket_add(struct ss_plan_builder *b, const struct ss_cost_context *cost, int cls, int chunk,
                      int bucket, double params, double ready, double needed, const struct ss_group_shape *g,
                      struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_job *job = plan->job;
    struct ss_chunk_cost *cc = &plan->classes[cls].chunks[chunk];
    char name[48];
    int index, status = SS_OK, twin = twin_of(plan, cls);
    int named = twin < cls ? twin : cls, named_chunk = twin < cls ? plan->schedule->chunks - 1 - chunk : chunk;
    if (job->overlap_grad_reduce) {
        int kind = job->distributed_optimizer ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE;
        snprintf(name, sizeof name, "grads class%d chunk%d bucket%d", named, named_chunk, bucket);
        status = ring_add(b, cls, name, kind, params * grad_bytes(plan, cost), g, &index, err);
        if (!status)
            status = mark_add(&cc->reduce, &cc->nreduce, ready, index, err);
    }
    if (!status && job->overlap_param_gather && job->distributed_optimizer) {
        snprintf(name, sizeof name, "params class%d chunk%d bucket%d", named, named_chunk, bucket);
        status = ring_add(b, cls, name, SS_COLL_ALL_GATHER, params * param_bytes(plan, cost), g, &index, err);
        if (!status)
            status = mark_add(&cc->gather, &cc->ngather, needed, index, err);
    }
    return status;
}

/* Gathers are made in backward order; the forward needs them the other way round. */
static void reverse_marks(struct ss_bucket_mark *marks, int n)
{
    for (int i = 0; i < n / 2; i++) {
        struct ss_bucket_mark t = marks[i];
        marks[i] = marks[n - 1 - i];
        marks[n - 1 - i] = t;
    }
}

static int chunk_buckets(struct ss_plan_builder *b, const struct ss_cost_context *cost, int cls, int chunk,
                         double params, double layer, const struct ss_group_shape *g, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_chunk_cost *cc = &plan->classes[cls].chunks[chunk];
    double size =
        plan->job->bucket_size > 0 ? plan->job->bucket_size : fmax(plan->stack->ddp_bucket, 1e6 * g->n);
    int n = cc->nlayers, per = layers_per_bucket(size, layer, n), bucket = 0, status = SS_OK;
    int twin = plan->schedule->pipelines > 1 && plan->classes[cls].stage == plan->schedule->stages - 1;
    int first_chunk = twin ? chunk == plan->schedule->chunks - 1 : plan->classes[cls].stage == 0 && chunk == 0;
    if (!first_chunk || n == 0)
        return bucket_add(b, cost, cls, chunk, 0, params, 1, 0, g, err);
    for (int last = n; last > 0 && !status; last -= per, bucket++) { /* backward order */
        int first = last - per > 0 ? last - per : 0;
        double own =
            layer * (last - first) + (first == 0 ? params - layer * n : 0); /* embedding with the first */
        status =
            bucket_add(b, cost, cls, chunk, bucket, own, (double)(n - first) / n, (double)first / n, g, err);
    }
    reverse_marks(cc->gather, cc->ngather);
    return status;
}

static int class_list_add(int **list, int *n, int value, struct ss_error *err)
{
    int *grown = realloc(*list, (size_t)(*n + 1) * sizeof **list);
    if (!grown)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for collectives");
    *list = grown;
    grown[(*n)++] = value;
    return SS_OK;
}

int ss_plan_dp_build(struct ss_plan_builder *b, const struct ss_cost_context *cost, int cls,
                     const double *chunk_params, const double *layer_params, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_job *job = plan->job;
    struct ss_plan_class *pc = &plan->classes[cls];
    struct ss_group_shape g = gradient_group(b, cls);
    double all = 0;
    int index, status = SS_OK, twin = twin_of(plan, cls);
    char grads[48] = "grads", params[48] = "params";
    if (twin != cls) {
        snprintf(grads, sizeof grads, "grads class%d", twin < cls ? twin : cls);
        snprintf(params, sizeof params, "params class%d", twin < cls ? twin : cls);
    }
    if (g.n <= 1 || cost->fsdp.n > 1) /* sharded parameters communicate inside the layers */
        return SS_OK;
    for (int k = 0; k < plan->schedule->chunks && !status; k++) {
        all += chunk_params[k];
        status = chunk_buckets(b, cost, cls, k, chunk_params[k], layer_params[k], &g, err);
    }
    if (!status && !job->overlap_grad_reduce) {
        status = ring_add(b, cls, grads,
                          job->distributed_optimizer ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE,
                          all * grad_bytes(plan, cost), &g, &index, err);
        if (!status)
            status = class_list_add(&pc->post, &pc->npost, index, err);
    }
    if (!status && !job->overlap_param_gather && job->distributed_optimizer) {
        status =
            ring_add(b, cls, params, SS_COLL_ALL_GATHER, all * param_bytes(plan, cost), &g, &index, err);
        if (!status)
            status = class_list_add(&pc->after, &pc->nafter, index, err);
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
    if (plan->stack->grad_norm_barrier <= 0)
        return SS_OK;
    status = collective_add(b, "gradient norm", SS_LABEL_OPTIMIZER, 4, plan->nclasses, 0, &index, err);
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

int ss_plan_embedding_build(struct ss_plan_builder *b, double bytes, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int last = plan->schedule->virtual_rank[plan->schedule->stages * plan->schedule->chunks - 1],
        status = SS_OK;
    for (int c = 0; c < plan->nclasses && !status; c++) {
        int rank = plan->classes[c].representative, peer, there, back, index;
        double latency;
        if (plan->classes[c].stage != plan->schedule->virtual_rank[0])
            continue;
        peer = ss_plan_stage_peer(plan, rank, last);
        if (peer == rank)
            continue;
        if ((status = collective_add(b, "embedding grads", SS_LABEL_DP, bytes, 2, 2, &index, err)) != 0 ||
            (status = ss_plan_path_between(b, rank, peer, &there, &latency, err)) != 0 ||
            (status = ss_plan_path_between(b, peer, rank, &back, &latency, err)) != 0)
            return status;
        plan->collectives[index].members[0] = c;
        plan->collectives[index].members[1] = plan->class_of[peer];
        plan->collectives[index].phases[0].latency = 2 * fmax(latency, b->net.nic_step);
        flow_add(b, index, there, bytes);
        flow_add(b, index, back, bytes);
        status = class_list_add(&plan->classes[c].post, &plan->classes[c].npost, index, err);
        if (!status)
            status = class_list_add(&plan->classes[plan->class_of[peer]].post,
                                    &plan->classes[plan->class_of[peer]].npost, index, err);
    }
    return status;
}
