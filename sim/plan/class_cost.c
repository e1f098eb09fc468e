/* SPDX-License-Identifier: Apache-2.0 */
/* Times and memory of each class of ranks: its chunks, its optimizer step, its static bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cost/memory.h"
#include "plan/plan_internal.h"

/* Chunks that a rank has of one copy of the model. */
static int chunks_of_copy(const struct ss_schedule *s)
{
    return ss_schedule_depth(s) / s->stages > 0 ? ss_schedule_depth(s) / s->stages : 1;
}

/* Transformer layers of virtual stage s. Uneven first and last pipeline ranks take what the flags say, the
 * others share the rest; chunks of a rank are equal (ss_job_finish and ss_plan_check_schedule have checked the
 * divisions), but for embedding and loss where these count as a layer of the first and the last one. */
int ss_plan_stage_layers(const struct ss_job *job, const struct ss_schedule *s, int virtual_stage)
{
    int p = s->stages, rank = s->virtual_rank[virtual_stage], layers = ss_job_split_layers(job), others = p;
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
    return layers / (others * chunks_of_copy(s)) -
           (job->account_for_embedding && ss_schedule_before(s, virtual_stage) < 0) -
           (job->account_for_loss && ss_schedule_after(s, virtual_stage) < 0);
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
        chunk->first_layer += ss_plan_stage_layers(plan->job, s, v);
    chunk->nlayers = ss_plan_stage_layers(plan->job, s, chunk->virtual_stage);
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

/* FSDP flattens the parameters of a layer, and those of embedding and loss. */
static int chunk_tensors(const struct ss_plan *plan, const struct ss_cost_context *c,
                         const struct ss_layer_set *set, const struct ss_chunk_cost *chunk)
{
    if (c->fsdp.n > 1)
        return chunk->nlayers + (chunk->has_embedding || chunk->has_loss);
    return chunk->nlayers * ss_ops_tensors(&set->dense) +
           (chunk->has_embedding ? ss_ops_tensors(&set->embedding) : 0) +
           (chunk->has_loss ? ss_ops_tensors(&set->loss) + (c->shape.tied && ends_apart(plan->schedule)) : 0);
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
    /* Ranks side by side send to their next ones on the next node together; so many share a NIC. */
    c->cp_sharers = fmin(plan->ranks.stride[SS_AXIS_CP], (double)c->net.gpus_per_node / c->net.nics_per_node);
    c->slower = key->group - 1;
    c->p2p_overlapped = plan->schedule->p2p == SS_P2P_OVERLAPPED;
    c->once = 1.0 / plan->microbatches;
    c->accumulated = c->fsdp.n > 1 ? 0 : 1 - c->once; /* FSDP adds up shards */
}

/* Ranks that divide the optimizer states. */
static double optimizer_shards(const struct ss_plan *plan, const struct ss_cost_context *c)
{
    if (ss_job_is_hybrid(plan->job) && plan->job->outer_sharding == SS_SHARD_OPTIM)
        return (double)plan->dp * plan->job->cp; /* each of the replicas steps its part */
    if (c->fsdp.n > 1 || ss_job_is_hybrid(plan->job))
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

/* One chunk of a class, and its parameters in the count of the rank's. */
static void chunk_build(struct ss_plan_builder *b, const struct ss_cost_context *c, const struct ss_cost_key *key,
                        const struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk,
                        struct ss_param_count *count)
{
    size_t at = (size_t)(key->stage * b->plan->schedule->chunks + k);
    chunk_place(b->plan, c, key->stage, k, chunk);
    ss_chunk_cost_fill(b->plan->job, set, chunk);
    slow_chunk(chunk, key, key->tp.n > 1 ? SS_LABEL_TP : SS_LABEL_CP);
    ss_memory_chunk(c, &set->dense, &set->embedding, &set->loss, chunk);
    b->chunk_params[at] = chunk_params(b->plan, c, set, chunk);
    b->loss_params[at] = chunk->has_loss ? ss_ops_params(&set->loss) : 0;
    b->layer_params[at] = ss_ops_params(&set->dense);
    b->layer_gemm[at] = ss_ops_gemm_params(&set->dense);
    count->all += b->chunk_params[at];
    count->tensors += chunk_tensors(b->plan, c, set, chunk);
    count->gemm += chunk->nlayers * ss_ops_gemm_params(&set->dense);
    if (chunk->has_embedding || chunk->has_loss)
        count->tensor = c->shape.vocab * c->shape.h;
    double borders[2] = {chunk->has_embedding ? ss_ops_params(&set->embedding) : 0,
                         chunk->has_loss ? ss_ops_params(&set->loss) : 0};
    count->border = fmax(count->border, fmax(borders[0], borders[1]));
    count->borders += borders[0] + borders[1];
}

/* The first class with these costs. */
static int class_cost(struct ss_plan_builder *b, int cls, const struct ss_cost_key *key, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_plan_class *pc = &plan->classes[cls];
    struct ss_layer_set *set = b->costs[b->cost_of[cls]].set;
    struct ss_param_count count = {0};
    struct ss_cost_context c;
    int status;
    context_init(b, key, &c);
    if ((status = ss_layer_set_build(set, &c, plan->level > SS_LEVEL_CHUNK, err)) != 0)
        return status;
    for (int k = 0; k < plan->schedule->chunks; k++)
        chunk_build(b, &c, key, set, k, &pc->chunks[k], &count);
    count.layer = ss_ops_params(&set->dense);
    count.tensor = fmax(count.tensor, ss_ops_largest_params(&set->dense));
    double shards = optimizer_shards(plan, &c);
    pc->parameters = count.all;
    ss_memory_static(&c, &count, shards, pc->memory);
    pc->step_bytes = ss_memory_step(&c, &count, shards);
    pc->host_bytes = ss_memory_host(&c, &count, shards, &set->dense);
    pc->gradients_s = key->own * ss_cost_gradients(&c, count.all);
    pc->optimizer_s = key->own * ss_cost_optimizer(&c, count.all, count.tensors, shards);
    pc->fixed_s = plan->stack->fixed_iteration;
    return SS_OK;
}

/* The largest factor of the GPUs that a rank works with in every layer. */
static double group_slowness(const struct ss_plan_builder *b, int rank)
{
    double most = 1;
    int n;
    ss_ranks_group(&b->plan->ranks, SS_GROUP_TP_CP, rank, b->scratch, &n);
    for (int i = 0; i < n; i++)
        most = fmax(most, b->slowness[b->scratch[i]]);
    return most;
}

static struct ss_cost_key cost_key(const struct ss_plan_builder *b, const struct ss_plan_class *pc)
{
    int rank = pc->representative;
    struct ss_cost_key key;
    memset(&key, 0, sizeof key); /* keys are compared byte by byte */
    key.stage = pc->stage;
    key.tp = ss_plan_shape(b, SS_WAY_TP, rank);
    key.cp = ss_plan_shape(b, SS_WAY_CP, rank);
    key.fsdp = ss_plan_shape(b, SS_WAY_FSDP, rank);
    key.own = b->slowness ? b->slowness[rank] : 1;
    key.group = b->slowness ? group_slowness(b, rank) : 1;
    return key;
}

/* Takes over the times and bytes of another class, whose costs are the same. */
static void class_copy(struct ss_plan_class *pc, const struct ss_plan_class *like, int chunks)
{
    memcpy(pc->chunks, like->chunks, (size_t)chunks * sizeof *pc->chunks);
    memcpy(pc->memory, like->memory, sizeof pc->memory);
    pc->step_bytes = like->step_bytes;
    pc->host_bytes = like->host_bytes;
    pc->parameters = like->parameters;
    pc->gradients_s = like->gradients_s;
    pc->optimizer_s = like->optimizer_s;
    pc->fixed_s = like->fixed_s;
}

int ss_plan_class_cost_build(struct ss_plan_builder *b, int cls, struct ss_error *err)
{
    struct ss_plan_class *pc = &b->plan->classes[cls];
    int chunks = b->plan->schedule->chunks;
    const struct ss_cost_key key = cost_key(b, pc);
    pc->chunks = ss_calloc((size_t)chunks, sizeof *pc->chunks);
    if (!pc->chunks || ss_grow(&b->costs, &b->cap_costs, (size_t)b->ncosts + 1, sizeof *b->costs))
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %d chunks", chunks);
    for (int i = b->ncosts - 1; i >= 0; i--) {
        if (memcmp(&b->costs[i].key, &key, sizeof key) != 0)
            continue;
        class_copy(pc, &b->plan->classes[b->costs[i].cls], chunks);
        b->cost_of[cls] = i;
        return SS_OK;
    }
    b->cost_of[cls] = b->ncosts;
    b->costs[b->ncosts] = (struct ss_cost_entry){key, cls, ss_calloc(1, sizeof(struct ss_layer_set))};
    if (!b->costs[b->ncosts++].set)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for layers");
    return class_cost(b, cls, &key, err);
}
