/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/memory.h"
#include "workload/plan_internal.h"

const char *ss_level_name(int level)
{
    static const char *const names[] = {
#define X(sym, name) name,
        SS_LEVEL_LIST(X)
#undef X
    };
    return level >= 0 && level < SS_LEVEL_COUNT ? names[level] : "unknown";
}

/* Chunks that a rank has of one copy of the model. */
static int chunks_of_copy(const struct ss_schedule *s)
{
    return ss_schedule_depth(s) / s->stages > 0 ? ss_schedule_depth(s) / s->stages : 1;
}

/* Transformer layers of virtual stage s. Uneven first and last pipeline ranks take what the flags say, the
 * others share the rest; chunks of a rank are equal (ss_job_finish and ss_plan_check_schedule have checked the
 * divisions). */
static int layers_of_stage(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage)
{
    int p = s->stages, rank = s->virtual_rank[virtual_stage], layers = job->model.num_layers, others = p;
    if (job->first_stage_layers > 0) {
        if (rank == 0)
            return job->first_stage_layers / chunks_of_copy(s);
        layers -= job->first_stage_layers;
        others--;
    }
    if (job->last_stage_layers > 0) {
        if (rank == p - 1)
            return job->last_stage_layers / chunks_of_copy(s);
        layers -= job->last_stage_layers;
        others--;
    }
    return layers / (others * chunks_of_copy(s));
}

/* Where this chunk lies and what crosses its borders. */
static void chunk_place(const struct ss_plan *plan, const struct ss_cost_context *c, int stage, int k,
                        struct ss_chunk_cost *chunk)
{
    const struct ss_schedule *s = plan->schedule;
    for (int v = 0; v < s->stages * s->chunks; v++)
        if (s->virtual_rank[v] == stage && s->virtual_chunk[v] == k)
            chunk->virtual_stage = v;
    for (int v = ss_schedule_before(s, chunk->virtual_stage); v >= 0; v = ss_schedule_before(s, v))
        chunk->first_layer += layers_of_stage(plan->job, s, v);
    chunk->nlayers = layers_of_stage(plan->job, s, chunk->virtual_stage);
    chunk->has_embedding = ss_schedule_before(s, chunk->virtual_stage) < 0;
    chunk->has_loss = ss_schedule_after(s, chunk->virtual_stage) < 0;
    chunk->recv_bytes = chunk->has_embedding ? 0 : ss_shape_send_bytes(&c->shape);
    chunk->send_bytes = chunk->has_loss ? 0 : ss_shape_send_bytes(&c->shape);
}

/* The embedding and the output layer of one copy of the model are on different ranks. */
static int ends_apart(const struct ss_schedule *s)
{
    return s->virtual_rank[0] != s->virtual_rank[s->stages * s->chunks - 1];
}

static double chunk_params(const struct ss_plan *plan, const struct ss_cost_context *c,
                           const struct ss_layer_set *set, const struct ss_chunk_cost *chunk)
{
    double n = chunk->nlayers * ss_ops_params(&set->dense);
    if (chunk->has_embedding)
        n += ss_ops_params(&set->embedding);
    if (chunk->has_loss)
        n += ss_ops_params(&set->loss) +
             (c->shape.tied && ends_apart(plan->schedule) ? c->shape.vocab * c->shape.h : 0);
    return n;
}

static void context_init(const struct ss_plan_builder *b, const struct ss_cost_key *key,
                         struct ss_cost_context *c)
{
    const struct ss_plan *plan = b->plan;
    memset(c, 0, sizeof *c);
    c->card = ss_platform_card(plan->platform);
    c->stack = plan->stack;
    c->job = plan->job;
    c->net = b->net;
    ss_shape_init(&c->shape, plan->job, plan->stack, plan->padded_vocab);
    c->tp = key->tp;
    c->cp = key->cp;
    c->fsdp = key->fsdp;
    c->accumulated = c->fsdp.n > 1 ? 0 : 1 - 1.0 / plan->microbatches; /* FSDP adds up shards */
}

/* Ranks that divide the optimizer states. */
static double optimizer_shards(const struct ss_plan *plan, const struct ss_cost_context *c)
{
    if (c->fsdp.n > 1)
        return c->fsdp.n;
    double copies = plan->schedule->pipelines > 1 ? plan->schedule->pipelines : 1;
    return plan->job->distributed_optimizer ? (double)plan->dp * plan->job->cp * copies : 1;
}

/* Kernels of a slow GPU take longer; the others of its tensor and context group wait for it in every layer. */
static void slow_chunk(struct ss_chunk_cost *chunk, const struct ss_cost_key *key, int waiting)
{
    double *const all[] = {chunk->forward, chunk->backward, chunk->input_grad, chunk->weight_grad};
    for (size_t i = 0; i < SS_ARRAY_LEN(all); i++) {
        double kernels = all[i][SS_LABEL_COMPUTE] + all[i][SS_LABEL_RECOMPUTE];
        all[i][SS_LABEL_COMPUTE] *= key->own;
        all[i][SS_LABEL_RECOMPUTE] *= key->own;
        all[i][waiting] += kernels * (key->group - key->own);
    }
}

/* The first class with these costs. */
static int class_cost(struct ss_plan_builder *b, int cls, const struct ss_cost_key *key, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_plan_class *pc = &plan->classes[cls];
    size_t at = (size_t)(pc->stage * plan->schedule->chunks);
    struct ss_cost_context c;
    struct ss_layer_set *set = b->costs[b->cost_of[cls]].set;
    struct ss_param_count count = {0, 0, 0, 0};
    int status;
    context_init(b, key, &c);
    if ((status = ss_layer_set_build(set, &c, plan->level > SS_LEVEL_CHUNK, err)) != 0)
        return status;
    for (int k = 0; k < plan->schedule->chunks; k++) {
        struct ss_chunk_cost *chunk = &pc->chunks[k];
        chunk_place(plan, &c, pc->stage, k, chunk);
        ss_chunk_cost_fill(plan->job, set, chunk);
        slow_chunk(chunk, key, key->tp.n > 1 ? SS_LABEL_TP : SS_LABEL_CP);
        ss_memory_chunk(&c, &set->dense, &set->embedding, &set->loss, chunk);
        b->chunk_params[at + (size_t)k] = chunk_params(plan, &c, set, chunk);
        b->layer_params[at + (size_t)k] = ss_ops_params(&set->dense);
        count.all += b->chunk_params[at + (size_t)k];
        count.gemm += chunk->nlayers * ss_ops_gemm_params(&set->dense);
        if (chunk->has_embedding || chunk->has_loss)
            count.tensor = c.shape.vocab * c.shape.h;
    }
    count.layer = ss_ops_params(&set->dense);
    count.tensor = fmax(count.tensor, ss_ops_largest_params(&set->dense));
    pc->parameters = count.all;
    ss_memory_static(&c, &count, optimizer_shards(plan, &c), pc->memory);
    pc->host_bytes = ss_memory_host(&c, &count, optimizer_shards(plan, &c), &set->dense);
    pc->optimizer_s = key->own * ss_cost_optimizer(&c, count.all, optimizer_shards(plan, &c));
    pc->fixed_s = plan->stack->fixed_iteration;
    return SS_OK;
}

/* Factors of the slowest GPUs that a rank works with in every layer. */
static double group_slowness(const struct ss_plan_builder *b, int rank)
{
    double most = 1;
    int n;
    ss_ranks_group(&b->plan->ranks, SS_GROUP_TP_CP, rank, b->scratch, &n);
    for (int i = 0; i < n; i++)
        most = fmax(most, b->slowness[b->scratch[i]]);
    return most;
}

static int class_build(struct ss_plan_builder *b, int cls, struct ss_error *err)
{
    struct ss_plan_class *pc = &b->plan->classes[cls], *like;
    int rank = pc->representative, v = b->plan->schedule->chunks;
    struct ss_cost_key key;
    memset(&key, 0, sizeof key);
    key.stage = pc->stage;
    key.tp = ss_plan_shape(b, SS_WAY_TP, rank);
    key.cp = ss_plan_shape(b, SS_WAY_CP, rank);
    key.fsdp = ss_plan_shape(b, SS_WAY_FSDP, rank);
    key.own = b->slowness ? b->slowness[rank] : 1;
    key.group = b->slowness ? group_slowness(b, rank) : 1;
    pc->chunks = ss_calloc((size_t)v, sizeof *pc->chunks);
    if (!pc->chunks || ss_grow(&b->costs, &b->cap_costs, (size_t)b->ncosts + 1, sizeof *b->costs))
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d chunks", v);
    for (int i = b->ncosts - 1; i >= 0; i--) {
        if (memcmp(&b->costs[i].key, &key, sizeof key) != 0)
            continue;
        like = &b->plan->classes[b->costs[i].cls];
        memcpy(pc->chunks, like->chunks, (size_t)v * sizeof *pc->chunks);
        memcpy(pc->memory, like->memory, sizeof pc->memory);
        pc->parameters = like->parameters;
        pc->optimizer_s = like->optimizer_s;
        pc->fixed_s = like->fixed_s;
        b->cost_of[cls] = i;
        return SS_OK;
    }
    b->cost_of[cls] = b->ncosts;
    b->costs[b->ncosts] = (struct ss_cost_entry){key, cls, ss_calloc(1, sizeof(struct ss_layer_set))};
    if (!b->costs[b->ncosts++].set)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for layers");
    return class_cost(b, cls, &key, err);
}

/* Megatron-LM's num_floating_point_operations: full attention square, no recompute. */
static void count_flops(struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;
    const struct ss_model *m = &job->model;
    double h = m->hidden_size, l = m->num_layers, s = job->seq_length, v = plan->padded_vocab;
    double q = (double)m->kv_channels * m->num_attention_heads / h;
    double groups = (double)m->num_query_groups / m->num_attention_heads;
    double base = 12.0 * job->global_batch * s * l * h * h;
    double linear =
        base * (q * (1 + groups) + m->ffn_hidden_size / h * (m->gated_mlp ? 1.5 : 1) + v / (2 * l * h));
    double attention = base * q * s / h, again = 0;
    plan->model_flops = linear + attention;
    plan->model_flops_causal = linear + attention / 2;
    if (job->recompute == SS_RECOMPUTE_SELECTIVE)
        again = attention / 3;
    if (job->recompute == SS_RECOMPUTE_FULL) {
        double share = 0; /* of the layers, that run their forward twice */
        for (int vs = 0; vs < ss_schedule_depth(plan->schedule); vs++)
            share += ss_memory_recomputed_layers(job, layers_of_stage(job, plan->schedule, vs)) / l;
        again = share * (linear + attention - base * v / (2 * l * h)) / 3;
    }
    plan->hardware_flops = plan->model_flops + again;
}

static void note_guesses(struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;
    if (job->seq_length / job->cp < 1024 || job->seq_length > 65536)
        ss_notes_add(&plan->guessed,
                     "attention over %d tokens, %d a rank: rates are calibrated at 2048 to 8192 a rank",
                     job->seq_length, job->seq_length / job->cp);
    if (job->model.kv_channels != 64 && job->model.kv_channels != 128)
        ss_notes_add(&plan->guessed, "attention with head dimension %d: rates are calibrated at 128",
                     job->model.kv_channels);
    if (job->cp > 1 && job->cp_comm_type != SS_CP_P2P)
        ss_notes_add(&plan->guessed, "context parallelism other than p2p: never calibrated");
    if (job->fsdp)
        ss_notes_add(&plan->guessed, "FSDP: prefetch of one layer, never calibrated");
    if (job->cpu_offload_layers > 0 || job->optimizer_offload > 0)
        ss_notes_add(&plan->guessed, "offload over PCIe at its nominal rate: never calibrated");
}

/* What is offloaded must fit the node: a node's GPUs are mostly of one stage. */
static void warn_host(struct ss_plan *plan)
{
    const double gib = 1024.0 * 1024 * 1024;
    double most = 0, size = ss_platform_card(plan->platform)->host_memory;
    int gpus = ss_platform_gpus_per_node(plan->platform);
    for (int c = 0; c < plan->nclasses; c++)
        most = fmax(most, plan->classes[c].host_bytes);
    gpus = gpus < plan->world_size ? gpus : plan->world_size;
    if (most * gpus > size)
        ss_notes_add(&plan->warnings, "offload needs %.0f GiB of host memory on a node, which has %.0f GiB",
                     most * gpus / gib, size / gib);
}

/* Rank r on GPU r, or as told. */
static int place_ranks(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const int *placement = b->options->placement;
    plan->gpu_of = malloc((size_t)plan->world_size * sizeof *plan->gpu_of);
    if (!plan->gpu_of)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", plan->world_size);
    for (int r = 0; r < plan->world_size; r++) {
        plan->gpu_of[r] = placement ? placement[r] : r;
        if (plan->gpu_of[r] < 0 || plan->gpu_of[r] >= plan->world_size || b->scratch[plan->gpu_of[r]]++)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "rank %d is placed on GPU %d, which %s", r,
                           plan->gpu_of[r],
                           plan->gpu_of[r] < 0 || plan->gpu_of[r] >= plan->world_size ? "does not exist"
                                                                                      : "another rank has");
    }
    return SS_OK;
}

static int slow_ranks(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_plan_options *o = b->options;
    int world = b->plan->world_size;
    if (o->nstragglers == 0)
        return SS_OK;
    b->slowness = ss_calloc((size_t)world, sizeof *b->slowness);
    if (!b->slowness)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", world);
    for (int r = 0; r < world; r++)
        b->slowness[r] = 1;
    for (int i = 0; i < o->nstragglers; i++) {
        if (o->stragglers[i].rank < 0 || o->stragglers[i].rank >= world)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "straggler: there is no rank %d, only 0 to %d",
                           o->stragglers[i].rank, world - 1);
        b->slowness[o->stragglers[i].rank] *= o->stragglers[i].factor;
    }
    return SS_OK;
}

static int plan_init(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_job *job = plan->job;
    int status;
    plan->world_size = ss_platform_nodes(plan->platform) * ss_platform_gpus_per_node(plan->platform);
    plan->dp = ss_job_dp(job, plan->world_size);
    plan->microbatches = ss_job_microbatches(job, plan->world_size);
    plan->padded_vocab = ss_model_padded_vocab(&job->model, job->vocab_divisible_by, job->tp);
    plan->parameters = ss_model_parameters(&job->model, plan->padded_vocab);
    const int size[SS_AXIS_COUNT] = {job->tp, job->cp, 1, plan->dp, job->pp};
    if ((status = ss_ranks_init(&plan->ranks, job->rank_order, size, err)) != 0)
        return status;
    if (plan->ranks.world_size != plan->world_size)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "tensor %d x context %d x data %d x pipeline %d is not %d GPUs", job->tp, job->cp,
                       plan->dp, job->pp, plan->world_size);
    ss_net_init(&b->net, plan->platform);
    size_t costs = (size_t)(plan->schedule->stages * plan->schedule->chunks);
    b->scratch = ss_calloc(2 * (size_t)plan->world_size, sizeof *b->scratch);
    b->chunk_params = ss_calloc(costs, sizeof *b->chunk_params);
    b->layer_params = ss_calloc(costs, sizeof *b->layer_params);
    if (!b->scratch || !b->chunk_params || !b->layer_params)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d ranks", plan->world_size);
    if ((status = place_ranks(b, err)) != 0 || (status = slow_ranks(b, err)) != 0 ||
        (status = ss_ways_build(plan, &b->net, b->options, &b->ways, err)) != 0 ||
        (status = ss_plan_classes_build(b, err)) != 0)
        return status;
    b->done = ss_calloc((size_t)plan->nclasses, 1);
    b->cost_of = ss_calloc((size_t)plan->nclasses, sizeof *b->cost_of);
    return b->done && b->cost_of ? ss_plan_paths_init(b, err)
                                 : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for classes");
}

static int plan_fill(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    int status;
    if ((status = ss_plan_check_schedule(plan, err)) != 0 || (status = ss_plan_check_card(plan, err)) != 0 ||
        (status = plan_init(b, err)) != 0)
        return status;
    for (int c = 0; c < plan->nclasses; c++)
        if ((status = class_build(b, c, err)) != 0)
            return status;
    if ((status = ss_plan_steps_build(b, err)) != 0 || (status = ss_plan_dp_build(b, err)) != 0 || (status = ss_plan_p2p_build(b, err)) != 0)
        return status;
    if (plan->job->model.tied_embeddings && plan->schedule->stages > 1) {
        double element = plan->job->precision == SS_FP32 || plan->job->grad_reduce_fp32 ? 4 : 2;
        status = ss_plan_embedding_build(
            b, (double)plan->padded_vocab / plan->job->tp * plan->job->model.hidden_size * element, err);
        if (status)
            return status;
    }
    if ((status = ss_plan_barrier_build(b, err)) != 0 || (status = ss_plan_links_count(b, err)) != 0)
        return status;
    ss_plan_marks_place(b);
    count_flops(plan);
    note_guesses(plan);
    warn_host(plan);
    return SS_OK;
}

static void builder_free(struct ss_plan_builder *b)
{
    ss_ways_free(&b->ways);
    ss_key_map_free(&b->links);
    ss_key_map_free(&b->load);
    free(b->link_colour);
    ss_key_map_free(&b->path_of);
    free(b->flow_colour);
    free(b->slowness);
    for (int i = 0; i < b->ncosts; i++)
        ss_layer_set_free(b->costs[i].set);
    free(b->costs);
    free(b->cost_of);
    ss_key_map_free(&b->step_collectives);
    free(b->chunk_params);
    free(b->layer_params);
    free(b->scratch);
    free(b->done);
}

int ss_plan_build_with(const struct ss_job *job, const struct ss_stack *stack,
                       const struct ss_platform *platform, const struct ss_schedule *schedule,
                       const struct ss_plan_options *options, struct ss_plan **out, struct ss_error *err)
{
    static const struct ss_plan_options none;
    struct ss_plan_builder b;
    int status;
    memset(&b, 0, sizeof b);
    b.options = options ? options : &none;
    b.plan = ss_calloc(1, sizeof *b.plan);
    if (!b.plan)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the plan");
    b.plan->job = job;
    b.plan->stack = stack;
    b.plan->platform = platform;
    b.plan->schedule = schedule;
    b.plan->level = b.options->level;
    b.plan->unfolded = b.options->unfold;
    status = plan_fill(&b, err);
    builder_free(&b);
    if (status) {
        ss_plan_free(b.plan);
        return status;
    }
    *out = b.plan;
    return SS_OK;
}

int ss_plan_build(const struct ss_job *job, const struct ss_stack *stack, const struct ss_platform *platform,
                  const struct ss_schedule *schedule, struct ss_plan **out, struct ss_error *err)
{
    return ss_plan_build_with(job, stack, platform, schedule, NULL, out, err);
}

void ss_plan_free(struct ss_plan *plan)
{
    if (!plan)
        return;
    for (int c = 0; c < plan->nclasses; c++) {
        for (int k = 0; plan->classes[c].chunks && k < plan->schedule->chunks; k++) {
            free(plan->classes[c].chunks[k].reduce);
            free(plan->classes[c].chunks[k].gather);
            for (int phase = 0; phase < SS_PHASE_COUNT; phase++)
                free(plan->classes[c].chunks[k].steps[phase]);
        }
        free(plan->classes[c].chunks);
        free(plan->classes[c].post);
        free(plan->classes[c].after);
    }
    for (int i = 0; i < plan->ncollectives; i++) {
        for (int p = 0; p < plan->collectives[i].nphases; p++)
            free(plan->collectives[i].phases[p].flows);
        free(plan->collectives[i].phases);
        free(plan->collectives[i].members);
    }
    free(plan->classes);
    free(plan->class_of);
    free(plan->gpu_of);
    free(plan->link_count);
    free(plan->links);
    free(plan->paths);
    free(plan->collectives);
    free(plan->p2p);
    ss_notes_free(&plan->guessed);
    ss_notes_free(&plan->warnings);
    free(plan);
}

/* Bytes a parameter of gradients that lie scattered: not in the buffers of mixed precision or of ZeRO. */
static double flattened_bytes(const struct ss_job *job)
{
    if (job->distributed_optimizer || job->fsdp)
        return 0;
    return job->precision == SS_FP32 ? 4 : job->grad_reduce_fp32 ? 0 : 2;
}

double ss_plan_overhead_bytes(const struct ss_plan *plan, int cls)
{
    const struct ss_job *job = plan->job;
    /* Communicators of more than one rank: world, and tp, cp, tp-cp, pp, dp(-cp), mp as far as they exist. */
    int groups = (plan->world_size > 1) + (job->tp > 1) + (job->cp > 1) + (job->tp > 1 && job->cp > 1) +
                 (job->pp > 1) + (plan->dp * job->cp > 1) + (job->tp > 1 && job->pp > 1);
    return plan->stack->context_bytes + groups * plan->stack->nccl_bytes +
           plan->stack->flat_gradients * flattened_bytes(job) * plan->classes[cls].parameters;
}
