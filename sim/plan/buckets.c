/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data-parallel collectives as Megatron core issues them. With overlap, the gradients of the first chunk
 * of pipeline rank 0 go in buckets as they become ready, and every other chunk goes in one bucket
 * (DistributedDataParallel turns bucketing off there). Without overlap a rank has one collective. Where a
 * schedule holds two copies of the model, the ranks of the other copy take part. Routed experts on other
 * ranks (ss_job_experts_apart) have buffers and buckets of their own, on the same stream.
 */
#include "plan/buckets.h"
#include "base/base.h"
#include "base/stats.h"
#include "cost/kernel.h"
#include "stepsim/job.h"

static int collective_add(const struct ss_dp_group *d, const char *name, int role, int kind, double bytes,
                          int *index)
{
    const struct ss_collective_spec spec = {.name = name,
                                            .comm = d->comm,
                                            .role = role,
                                            .kind = kind,
                                            .bytes = bytes,
                                            .sm_share = d->share,
                                            .part = 1,
                                            .seconds = -1};
    return ss_plan_bucket_add(d->b, d->cls, &spec, &d->classes, index, d->err);
}

static int mark_add(struct ss_bucket_mark **marks, int *n, struct ss_bucket_mark mark, struct ss_error *err)
{
    if (!(*n & (*n - 1))) { /* there is room for a power of two */
        struct ss_bucket_mark *grown = realloc(*marks, (*n ? 2 * (size_t)*n : 1) * sizeof **marks);
        SS_NEED(grown, err);
        *marks = grown;
    }
    (*marks)[(*n)++] = mark;
    return SS_OK;
}

/* Returns where chunk k of a class has done `layers` layers of the last backward, or of the first forward. */
static struct ss_bucket_mark mark_at(const struct ss_dp_group *d, int cls, int k, int gather, int layers)
{
    const struct ss_layer_set *set = ss_plan_cost_of(d->b, cls)->set;
    struct ss_chunk_place at = ss_chunk_place_at(set, k, gather ? SS_PHASE_F : SS_PHASE_B, layers);
    struct ss_bucket_mark mark = {
        .fraction = at.fraction, .step = at.step, .host = at.host, .tail = at.tail, .issue = -1};
    if (!gather && d->split) {
        struct ss_chunk_place weight = ss_chunk_place_at(set, k, SS_PHASE_W, layers);
        mark.weight_step = weight.step;
        mark.weight_fraction = weight.fraction;
    }
    return mark;
}

/* cast: bytes that kernels move between a gather and the use of what it brought. */
static int marks_add(const struct ss_dp_group *d, int chunk, int gather, int layers, int collective,
                     double cast)
{
    int rc = SS_OK;
    for (int i = 0; i < d->classes.n && !rc; i++) {
        int cls = d->classes.cls[i], k = ss_dp_same_chunk(d, cls, chunk);
        struct ss_chunk_cost *cc = &d->b->plan->classes[cls].chunks[k];
        struct ss_dp_mark *last = &d->last[gather];
        if (last->cls != cls || last->chunk != k || last->layers != layers)
            *last = (struct ss_dp_mark){cls, k, layers, mark_at(d, cls, k, gather, layers)};
        struct ss_bucket_mark mark = last->mark;
        mark.collective = collective;
        mark.cast = ss_kernel_elementwise(ss_platform_card(d->b->plan->platform), cast, 0);
        rc = gather ? mark_add(&cc->gather, &cc->ngather, mark, d->err)
                    : mark_add(&cc->reduce, &cc->nreduce, mark, d->err);
    }
    return rc;
}

/* Parameters that the group reduces, and the part in GEMMs that may be gathered in fp8. */
struct params {
    double all, gemm;
};

static struct params params_of_layer(const struct ss_dp_group *d, int chunk, int layer)
{
    const struct ss_layer_params p = ss_chunk_layer_params(ss_plan_cost_of(d->b, d->cls)->set, chunk, layer);
    return d->comm == SS_COMM_EDP ? (struct params){p.expert, p.expert_gemm}
                                  : (struct params){p.dense, p.dense_gemm};
}

static struct params params_of_layers(const struct ss_dp_group *d, int chunk)
{
    struct params sum = {0, 0};
    for (int i = 0; i < d->b->plan->classes[d->cls].chunks[chunk].nlayers; i++) {
        const struct params p = params_of_layer(d, chunk, i);
        sum.all += p.all;
        sum.gemm += p.gemm;
    }
    return sum;
}

/* Returns the gathered bytes of `params` parameters, `gemm` of them in GEMMs. */
static double gathered(const struct ss_dp_group *d, double params, double gemm)
{
    return params * d->how.param_bytes - gemm * d->how.fp8_saving;
}

/* Adds a bucket of `params` parameters. layers_ready: layers that the last backward has done when the bucket
 * is full; layers_needed: layers that the first forward has done when it is needed. */
static int bucket_add(const struct ss_dp_group *d, int chunk, int bucket, struct params params,
                      int layers_ready, int layers_needed)
{
    char name[80], place[64], *at = place;
    const char *of = d->comm == SS_COMM_EDP ? "expert " : "";
    int index, rc = SS_OK;
    at = ss_write_int(stpcpy(at, " class"), d->cls); /* by hand: a search has a million of them */
    at = ss_write_int(stpcpy(at, " chunk"), chunk);
    *ss_write_int(stpcpy(at, " bucket"), bucket) = '\0';
    if (d->how.reduce_early) {
        strcpy(stpcpy(stpcpy(name, of), "grads"), place);
        rc = collective_add(d, name, SS_ROLE_GRADS, d->how.reduce, params.all * d->how.grad_bytes, &index);
        SS_THEN(rc, marks_add(d, chunk, 0, layers_ready, index, 0));
    }
    if (!rc && d->how.gather_late && d->how.scatter) {
        strcpy(stpcpy(stpcpy(name, of), "params"), place);
        rc = collective_add(d, name, SS_ROLE_PARAMS, SS_COLL_ALL_GATHER, gathered(d, params.all, params.gemm),
                            &index);
        SS_THEN(rc, marks_add(d, chunk, 1, layers_needed, index, params.gemm * d->how.cast));
    }
    return rc;
}

/* Puts the gathers from number `first` on, made in backward order, into the order of the forward. */
static void order_gathers(const struct ss_dp_group *d, int chunk, int first)
{
    for (int k = 0; k < d->classes.n; k++) {
        int cls = d->classes.cls[k];
        struct ss_chunk_cost *cc = &d->b->plan->classes[cls].chunks[ss_dp_same_chunk(d, cls, chunk)];
        for (int i = first, j = cc->ngather - 1; i < j; i++, j--) {
            struct ss_bucket_mark t = cc->gather[i];
            cc->gather[i] = cc->gather[j];
            cc->gather[j] = t;
        }
        if (cc->ngather > first)
            cc->gather[first].first = 1;
    }
}

static double bucket_size(const struct ss_dp_group *d)
{
    const struct ss_plan *plan = d->b->plan;
    int rank = plan->classes[d->cls].representative;
    return ss_ddp_bucket_size(plan->job, plan->stack, ss_groups_shape(&d->b->groups, SS_COMM_DP_CP, rank).n);
}

/* Adds one bucket for all of a chunk; it is ready and needed with the chunk's lowest layer that has
 * parameters. */
static int only_bucket(const struct ss_dp_group *d, int chunk, double all, double gemm)
{
    int layers = d->b->plan->classes[d->cls].chunks[chunk].nlayers, first = 0;
    while (first < layers && params_of_layer(d, chunk, first).all <= 0)
        first++;
    first = first < layers ? first : 0;
    return bucket_add(d, chunk, 0, (struct params){all, gemm}, layers - first, first);
}

/* 1 MiB of 16-bit gradients, which fill the first bucket of PyTorch's: kDefaultFirstBucketBytes */
#define FIRST_BUCKET 524288

/* Adds the buckets of a chunk in the order of the backward: output layer, layers, and the rest, which the last bucket takes. Where
 * parameters are gathered in fp8, buckets count these alone, and all others go with the last one, the output layer too. */
static int tensor_buckets(const struct ss_dp_group *d, int chunk, double output, double rest)
{
    const int layers = d->b->plan->classes[d->cls].chunks[chunk].nlayers;
    double size = bucket_size(d);
    struct ss_ddp_walk w = {.set = ss_plan_cost_of(d->b, d->cls)->set,
                            .chunk = chunk,
                            .layers = layers,
                            .left = layers,
                            .gemms = d->how.fp8_apart,
                            .whole = ss_job_is_hybrid(d->b->plan->job),
                            .size = size,
                            .full = d->b->plan->stack->ddp_copies > 0 ? fmin(size, FIRST_BUCKET) : size,
                            .bucket.all = output};
    int rc = SS_OK, more = 1;
    for (int bucket = 0; more && !rc; bucket++) {
        struct ss_ddp_bucket b;
        more = ss_ddp_next(&w, d->comm == SS_COMM_EDP, &b);
        if (!more && rest > 0) { /* it lies behind all layers */
            b.all += rest;
            b.done = layers;
        }
        if (b.all > 0)
            rc = bucket_add(d, chunk, bucket, (struct params){b.all, b.gemm}, b.done, layers - b.done);
    }
    return rc;
}

static int chunk_buckets(const struct ss_dp_group *d, int chunk, double all, struct params layers)
{
    const struct ss_plan_class *pc = &d->b->plan->classes[d->cls];
    const struct ss_chunk_cost *cc = &pc->chunks[chunk];
    double output = d->comm == SS_COMM_EDP ? ss_dp_count(d, chunk)->expert_loss : ss_dp_count(d, chunk)->loss;
    double rest = all - output - layers.all;
    int gathers = cc->ngather, ddp = d->b->plan->stack->ddp_copies > 0, rc;
    if (d->how.fp8_apart) {
        rest = all - layers.gemm;
        output = 0;
    }
    if ((!ddp && (pc->stage > 0 || chunk > 0)) || cc->nlayers == 0)
        rc = only_bucket(d, chunk, all, layers.gemm);
    else
        rc = tensor_buckets(d, chunk, output, rest);
    order_gathers(d, chunk, gathers);
    return rc;
}

/* Adds a collective without overlap, of `bytes` bytes of the rank's gradients (or parameters). */
static int whole_add(const struct ss_dp_group *d, int gather, double bytes)
{
    struct ss_plan *plan = d->b->plan;
    int index, kind = gather ? SS_COLL_ALL_GATHER : d->how.reduce;
    const char *names[2][2] = {{"grads", "params"}, {"expert grads", "expert params"}};
    int rc = collective_add(d, names[d->comm == SS_COMM_EDP][gather], gather ? SS_ROLE_PARAMS : SS_ROLE_GRADS,
                            kind, bytes, &index);
    for (int i = 0; i < d->classes.n && !rc; i++) {
        struct ss_plan_class *pc = &plan->classes[d->classes.cls[i]];
        rc = gather ? ss_plan_list_add(&pc->after, &pc->nafter, index, d->err)
                    : ss_plan_list_add(&pc->post, &pc->npost, index, d->err);
    }
    return rc;
}

static int group_build(struct ss_dp_group *d)
{
    const struct ss_plan *plan = d->b->plan;
    const int early = d->how.reduce_early || (d->how.gather_late && d->how.scatter);
    double grads = 0, params = 0;
    int rc = SS_OK;
    d->share = ss_dp_group_share(d);
    if (d->share < 0)
        return ss_nomem(d->err);
    for (int k = 0; k < plan->schedule->chunks && !rc; k++) {
        struct params layers = {0, 0};
        if (early || d->how.fp8_saving > 0)
            layers = params_of_layers(d, k);
        double all = ss_dp_params(d, k);
        grads += all * d->how.grad_bytes;
        params += gathered(d, all, layers.gemm);
        if (all > 0 && early)
            rc = chunk_buckets(d, k, all, layers);
    }
    if (!rc && !d->how.reduce_early)
        rc = whole_add(d, 0, grads);
    if (!rc && !d->how.gather_late && d->how.scatter)
        rc = whole_add(d, 1, params);
    return rc;
}

/* With FSDP the replicas of a hybrid job are left, which reduce each rank's shard beside the layers. */
struct ss_replicas ss_plan_replicas(const struct ss_plan_builder *b, int comm, int rank)
{
    const struct ss_job *job = b->plan->job;
    const struct ss_parameter_bytes bytes = ss_parameter_bytes(job, b->plan->stack);
    struct ss_replicas how = {.grad_bytes = bytes.grad,
                              .param_bytes = bytes.weight,
                              .scatter = job->dp.distributed_optimizer,
                              .reduce_early = job->dp.overlap_grad_reduce,
                              .gather_late = job->dp.overlap_param_gather};
    /* In mxfp8 the buffer of the gradients gathers 16 bit, of which each rank casts both orientations before it sets the buffer to zero
     * (reuse_grad_buf_for_mxfp8_param_ag, which mxfp8 needs: _post_param_sync of megatron/core/distributed/param_and_grad_buffer.py). */
    int shared = job->fp8_param_gather && ss_job_recipe(job) == SS_FP8_MXFP8;
    how.fp8_saving = job->fp8_param_gather && !shared ? bytes.weight - ss_job_quantized_bytes(job) : 0;
    /* partition_buckets of megatron/core/distributed/param_and_grad_buffer.py, from core 0.9 on as the hooks. */
    how.fp8_apart = job->fp8_param_gather && b->plan->stack->ddp_hooks > 0 && !ss_job_is_hybrid(job);
    how.cast = shared ? 2 * (bytes.weight + ss_job_quantized_bytes(job)) : 0;
    if (ss_job_is_hybrid(job)) {
        int sharded = comm == SS_COMM_EDP ? SS_COMM_EXPERT_FSDP : SS_COMM_FSDP,
            shards = ss_groups_shape(&b->groups, sharded, rank).n;
        how.grad_bytes /= shards;
        how.param_bytes /= shards;
        how.fp8_saving /= shards;
        how.scatter = job->dp.outer_sharding == SS_SHARD_OPTIM;
        how.reduce_early = how.gather_late = 1;
    }
    int whole = how.scatter && b->plan->stack->zero_whole > 0;
    how.reduce_early = how.reduce_early && !whole;
    how.reduce = how.scatter && !whole ? SS_COLL_REDUCE_SCATTER : SS_COLL_ALL_REDUCE;
    if (b->plan->stack->ddp_wide > 0 && bytes.grad < 4) {
        how.reduce = SS_COLL_ALL_REDUCE;
        how.grad_bytes = 4;
    }
    return how;
}

/* Returns whether a class of the group has slots W. */
static int is_split(const struct ss_dp_group *d)
{
    const struct ss_schedule *s = d->b->plan->schedule;
    int found = 0;
    for (int i = 0, last = -1; i < d->classes.n && !found; i++) {
        const int stage = d->b->plan->classes[d->classes.cls[i]].stage;
        for (int slot = 0; stage != last && slot < s->nslots[stage] && !found; slot++)
            found = s->slots[stage][slot].phase == SS_PHASE_W;
        last = stage;
    }
    return found;
}

/* Fills the group. */
static int group_init(struct ss_dp_group *d, int cls)
{
    const int rank = d->b->plan->classes[cls].representative;
    d->cls = cls;
    d->shape = ss_groups_shape(&d->b->groups, d->comm, rank);
    d->how = ss_plan_replicas(d->b, d->comm, rank);
    SS_TRY(ss_plan_group_classes(d->b, cls, d->comm, &d->classes, d->err));
    d->split = d->how.reduce_early && is_split(d);
    return SS_OK;
}

/* Sorts in ascending order; marks at one place keep their order. */
static void marks_sort(struct ss_bucket_mark *marks, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && marks[j].fraction < marks[j - 1].fraction; j--) {
            struct ss_bucket_mark t = marks[j];
            marks[j] = marks[j - 1];
            marks[j - 1] = t;
        }
}

static int groups_build(struct ss_plan_builder *b, int comm, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    int rc = SS_OK;
    struct ss_dp_mark last[2] = {{.cls = -1}, {.cls = -1}};
    struct ss_dp_group d = {.b = b, .err = err, .comm = comm, .last = last};
    if (!ss_comm_has_flows(plan, comm)) /* sharded parameters communicate inside the layers */
        return SS_OK;
    char *done = ss_calloc((size_t)plan->nclasses, 1);
    SS_NEED(done, err);
    for (int c = 0; c < plan->nclasses && !rc; c++) {
        if (done[c] || (rc = group_init(&d, c)) != 0)
            continue;
        for (int i = 0; i < d.classes.n; i++)
            done[d.classes.cls[i]] = 1;
        if (d.shape.n > 1)
            rc = group_build(&d);
        free(d.classes.cls);
    }
    free(done);
    return rc;
}

/* Sets whether the schedule begins reductions on all stages at once, which Megatron's interleaved one does (pipeline_parallel/schedules.py)
 * because a collective slows what runs beside it, and likewise gathers. Else hooks before the modules of the first forward begin gathers,
 * behind what it receives, so that stages gather one after the other. A hook begins the next gather, too, unless it leaves that to the
 * schedule (skip_next_bucket_dispatch in core/distributed/distributed_data_parallel.py), which no other schedule does. */
static void set_begin(struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;
    const struct ss_schedule *s = plan->schedule;
    int hybrid = ss_job_is_hybrid(job), pipeline = s->stages > 1 && !hybrid;
    int hooks = (int)plan->stack->ddp_hooks, align = job->dp.align_param_gather;
    int begins = s->p2p == SS_P2P_OVERLAPPED || s->p2p == SS_P2P_BATCHED;
    int aligned =
        begins && plan->stack->ddp_aligned > 0 && job->dp.align_grad_reduce && job->dp.overlap_grad_reduce;
    int passes = job->moe.overlap && plan->stack->ddp_passes > 0;
    plan->aligned = pipeline && aligned ? 1 + passes : 0;
    int scheduled = begins && (align > 1 || (align && hooks < 2));
    int hooked = hooks > 0 && !hybrid && !scheduled;
    plan->hooked = hooked && align > 1 ? 2 : hooked;
}

int ss_plan_buckets_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int rc = groups_build(b, SS_COMM_DP_CP, err);
    set_begin(plan);
    if (rc || !ss_job_experts_apart(plan->job))
        return rc;
    rc = groups_build(b, SS_COMM_EDP, err);
    for (int c = 0; c < plan->nclasses && !rc; c++)
        for (int k = 0; k < plan->schedule->chunks; k++) {
            struct ss_chunk_cost *cc = &plan->classes[c].chunks[k];
            marks_sort(cc->reduce, cc->nreduce);
            marks_sort(cc->gather, cc->ngather);
        }
    return rc;
}

/* ---- all ranks ---- */

int ss_plan_asks_barrier(const struct ss_job *job, const struct ss_stack *stack)
{
    int scales = job->stored == SS_FP16; /* fp16 asks all ranks for inf */
    return stack->grad_norm_barrier > 0 && (job->optimizer.clip_grad || scales);
}

int ss_plan_barrier_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int index, rc;
    double step =
        plan->world_size > ss_platform_gpus_per_node(plan->platform) ? b->net.nic_step : b->net.fabric_step;
    for (int c = 0; c < plan->nclasses; c++)
        plan->classes[c].norm = -1;
    if (!ss_plan_asks_barrier(plan->job, plan->stack))
        return SS_OK;
    const struct ss_collective_spec spec = {
        .name = "gradient norm",
        .comm = SS_COMM_WORLD,
        .role = SS_ROLE_NORM,
        .kind = SS_COLL_ALL_REDUCE,
        .bytes = 4,
        /* One number over all ranks, by a tree up and down. */
        .seconds = 2 * ss_log2_up(plan->world_size) * step,
    };
    int *all = ss_calloc((size_t)plan->nclasses, sizeof *all);
    SS_NEED(all, err);
    for (int c = 0; c < plan->nclasses; c++)
        all[c] = c;
    rc = ss_plan_collective_add(b, &spec, all, plan->nclasses, 0, &index, err);
    free(all);
    for (int c = 0; c < plan->nclasses && !rc; c++)
        plan->classes[c].norm = index;
    return rc;
}
