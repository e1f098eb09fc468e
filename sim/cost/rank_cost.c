/* SPDX-License-Identifier: Apache-2.0 */
/* Times, bytes and parameters of one rank: its chunks, its optimizer step, its static memory. */
#include "cost/rank_cost.h"

#include "base/base.h"
#include "cost/experts.h"
#include "cost/issue.h"
#include "cost/muon.h"
#include "cost/offload.h"
#include "stepsim/job.h"
#include "stepsim/parameters.h"

static void set_place(const struct ss_cost_input *in, int stage, int k, struct ss_chunk_cost *chunk)
{
    const struct ss_stage_place *p = &in->places[stage * in->schedule->chunks + k];
    chunk->virtual_stage = p->virtual_stage;
    chunk->first_layer = p->first_layer;
    chunk->nlayers = p->nlayers;
    chunk->has_embedding = p->has_embedding;
    chunk->has_loss = p->has_loss;
}

/* Sets where this chunk lies and what crosses its borders. */
static void chunk_place(const struct ss_cost_input *in, const struct ss_cost_context *c, int stage, int k,
                        struct ss_chunk_cost *chunk)
{
    set_place(in, stage, k, chunk);
    chunk->recv_bytes = chunk->has_embedding ? 0 : ss_shape_send_bytes(&c->shape);
    chunk->send_bytes = chunk->has_loss ? 0 : ss_shape_send_bytes(&c->shape);
}

/* Returns whether embedding and output layer of one copy of the model are on different ranks. */
static int ends_apart(const struct ss_schedule *s)
{
    return s->virtual_rank[0] != s->virtual_rank[s->stages * s->chunks - 1];
}

/* Computes the loads of the layers of this stage, where a file has them by layer. */
static int stage_loads(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       struct ss_token_spread *out, struct ss_error *err)
{
    const struct ss_schedule *s = in->schedule;
    struct ss_token_spread sum = {0};
    int layers = 0;
    for (int v = 0; v < s->stages * s->chunks; v++) {
        if (s->virtual_rank[v] != site->stage)
            continue;
        int n = ss_experts_add_layers(in->job, &site->ep, ss_stage_first_layer(in->job, s, v),
                                      ss_stage_layers(in->job, s, v), &sum, err);
        if (n < 0)
            return n;
        layers += n;
    }
    if (layers > 0)
        *out = (struct ss_token_spread){.nodes = sum.nodes / layers,
                                        .copies = sum.copies / layers,
                                        .hottest = sum.hottest / layers,
                                        .expert_copies = sum.expert_copies / layers,
                                        .source = sum.source / layers,
                                        .uneven = out->uneven,
                                        .domains = out->domains};
    return SS_OK;
}

/* Sets where tokens go. The plan has computed the load once for all equal groups. */
static int experts_init(const struct ss_cost_input *in, const struct ss_rank_site *site,
                        struct ss_cost_context *c, struct ss_error *err)
{
    struct ss_token_spread spread = site->ep.spread;
    int status = SS_OK;
    if (c->job->model.num_experts == 0)
        return SS_OK;
    if (spread.expert_copies <= 0)
        status = ss_experts_spread(c->job, &site->ep, &spread, NULL, err);
    if (!status && ss_experts_loads_by_layer(c->job))
        status = stage_loads(in, site, &spread, err);
    if (!status)
        ss_shape_experts(&c->shape, c->job, &spread);
    return status;
}

static int context_init(const struct ss_cost_input *in, const struct ss_rank_site *site,
                        struct ss_cost_context *c, struct ss_tower towers[SS_ENCODERS], struct ss_error *err)
{
    memset(c, 0, sizeof *c);
    c->card = in->card;
    c->stack = in->stack;
    c->job = in->job;
    c->net = *in->net;
    ss_shape_init(&c->shape, in->job, in->stack, in->padded_vocab);
    c->shape.any_layout = in->card->gemm_fp8_any_layout > 0 && !c->shape.block_scaled && !c->shape.fp8_blocks;
    c->tp = site->tp;
    c->cp = site->cp;
    c->fsdp = site->fsdp;
    c->ep = site->ep;
    c->etp = site->etp;
    c->etp_ep = site->etp_ep;
    c->edp = site->edp;
    c->slower = site->group * site->pace - 1;
    c->p2p_overlapped = in->schedule->p2p == SS_P2P_OVERLAPPED;
    c->replicas = in->dp * in->job->cp;
    c->once = 1.0 / in->microbatches;
    if (in->job->offload.params == SS_OFFLOAD_NVME)
        c->on_nvme = fmax(0, 1 - in->job->offload.max_in_cpu * in->job->tp * c->fsdp.n /
                                     ss_model_parameters(&in->job->model, in->padded_vocab));
    c->accumulated = c->fsdp.n > 1 ? 0 : 1 - c->once; /* FSDP adds up shards */
    int status = experts_init(in, site, c, err);
    for (int e = 0; e < SS_ENCODERS; e++) {
        const struct ss_media media = ss_job_media(in->job, e);
        c->tower[e] = ss_tower_init(&towers[e], &c->shape, e, &media) ? &towers[e] : NULL;
    }
    return status;
}

/* Returns the number of ranks that share the states of dense parameters. */
static double dense_shards(const struct ss_cost_input *in, const struct ss_cost_context *c)
{
    if (ss_job_is_hybrid(in->job) && in->job->dp.outer_sharding == SS_SHARD_OPTIM)
        return (double)in->dp * in->job->cp; /* each of the replicas steps its part */
    if (c->fsdp.n > 1 || ss_job_is_hybrid(in->job))
        return c->fsdp.n;
    double copies = in->schedule->pipelines > 1 ? in->schedule->pipelines : 1;
    return in->job->dp.distributed_optimizer ? (double)in->dp * in->job->cp * copies : 1;
}

/* Returns the numbers of ranks that share the optimizer states. */
static struct ss_optimizer_shards optimizer_shards(const struct ss_cost_input *in,
                                                   const struct ss_cost_context *c)
{
    const struct ss_job *job = in->job;
    int sharded = job->dp.distributed_optimizer || c->fsdp.n > 1;
    /* the groups have the ranks of both copies of the model, where there are two */
    struct ss_optimizer_shards out = {dense_shards(in, c), sharded ? c->edp.n : 1};
    if (ss_job_is_hybrid(job) && job->dp.outer_sharding == SS_SHARD_OPTIM)
        out.expert = (double)in->dp * job->cp * job->tp / (job->ep * job->etp);
    return out;
}

/* Adds to a rank's tensors, and to its buckets, those of a chunk. Each bucket is divided among all ranks (_build_model_gbuf_range of Megatron core's
 * distrib_optimizer.py): n ranges of a bucket of t tensors have t + n - 1 parts. Buckets of a size are of the first stage and chunk, and of overlap.
 * FSDP's tensors are flat, and nanotron slices each. */
static void tensors_add(const struct ss_cost_input *in, const struct ss_cost_context *c, int first,
                        const struct ss_param_count *p, struct ss_param_count *sum, double *buckets)
{
    const struct ss_optimizer_shards n = optimizer_shards(in, c);
    int sized = in->job->dp.overlap_grad_reduce && first;
    double size = sized ? ss_ddp_bucket_size(in->job, in->stack, c->replicas) : 0;
    int dense = p->tensors - p->expert_tensors, all = c->fsdp.n > 1 || in->stack->zero_whole > 0;
    double of_dense = ss_ddp_buckets(dense, p->all - p->expert, size);
    double of_experts = ss_ddp_buckets(p->expert_tensors, p->expert, size);
    *buckets += of_dense + of_experts;
    sum->steps += all ? dense : of_dense + (dense - of_dense) / n.dense;
    sum->expert_steps += all ? p->expert_tensors : of_experts + (p->expert_tensors - of_experts) / n.expert;
}

/* Calls that the GPU waits for behind each look at a bucket's norm, which the host reads (check_grads of Megatron core's param_and_grad_buffer.py):
 * the reduction, and the backward's next kernel. */
enum { LOOK_CALLS = 2 };

/* Returns the seconds in which the host looks for NaN in gradients while the GPU has nothing to do. */
static double look_seconds(const struct ss_cost_context *c, double buckets)
{
    int looks = c->job->optimizer.check_for_nan && c->job->dp.overlap_grad_reduce && c->replicas > 1 &&
                c->fsdp.n <= 1 && c->stack->ddp_copies <= 0 && c->job->graphs.impl != SS_GRAPHS_ITERATION;
    return looks ? buckets * LOOK_CALLS * ss_host_call(c) : 0;
}

static void slow_chunk(struct ss_chunk_cost *chunk, const struct ss_rank_site *site)
{
    double *const all[] = {chunk->forward, chunk->backward, chunk->input_grad, chunk->weight_grad};
    for (size_t i = 0; i < SS_ARRAY_LEN(all); i++)
        ss_rank_slow_down(all[i], site);
}

/* Copies the chunk before: with equal layers a chunk costs and holds as much. */
static int chunk_repeat(const struct ss_cost_input *in, const struct ss_rank_site *site,
                        struct ss_rank_cost *out, int k, struct ss_error *err)
{
    out->chunks[k] = out->chunks[k - 1];
    set_place(in, site->stage, k, &out->chunks[k]);
    out->params[k] = out->params[k - 1];
    return ss_layer_set_repeat(out->set, k, err);
}

/* Builds one chunk of a rank. */
static int chunk_build(const struct ss_cost_input *in, const struct ss_cost_context *c,
                       const struct ss_rank_site *site, struct ss_rank_cost *out, int k, struct ss_error *err)
{
    struct ss_chunk_cost *chunk = &out->chunks[k];
    const struct ss_stage_place *place = &in->places[site->stage * in->schedule->chunks + k];
    if (k > 0 && ss_places_alike(in->job, place, place - 1))
        return chunk_repeat(in, site, out, k, err);
    memset(chunk, 0, sizeof *chunk);
    chunk_place(in, c, site->stage, k, chunk);
    SS_TRY(ss_layer_set_chunk(out->set, k, chunk, err));
    slow_chunk(chunk, site);
    ss_memory_chunk(c, out->set, k, chunk);
    out->params[k] = ss_layer_set_params(
        out->set, c, k, chunk->has_loss && ss_job_copies_embedding(in->job) && ends_apart(in->schedule));
    return SS_OK;
}

int ss_rank_runs_ahead(const struct ss_job *job, const struct ss_stack *stack, int stages, int p2p)
{
    if (stack->fixed_microbatch > 0 || p2p == SS_P2P_ASYNC)
        return 0;
    int waits = stack->p2p_waits > 1 ? job->tp > 1 : stack->p2p_waits > 0;
    return stages == 1 || p2p == SS_P2P_OVERLAPPED || !waits;
}

/* Returns whether the host reads the loss of each microbatch. */
static int reads_loss(const struct ss_cost_input *in)
{
    return in->stack->loss_waits > 0 && in->job->optimizer.check_for_nan;
}

/* Fills what the host takes beside a chunk, and adds what the chunk waits for it where both begin in step. */
static void chunk_issue(const struct ss_cost_input *in, const struct ss_layer_set *set, int k,
                        struct ss_chunk_cost *chunk)
{
    for (int phase = SS_PHASE_F; phase <= SS_PHASE_B; phase++) {
        const struct ss_issue_slot slot = ss_issue_slot_of(set, k, phase);
        struct ss_chunk_issue *issue = &chunk->issue[phase];
        int reads = phase == SS_PHASE_F && chunk->has_loss && reads_loss(in);
        *issue = (struct ss_chunk_issue){.tail = slot.tail, .in_step = slot.in_step || reads, .rest = -1};
        if (ss_issue_is_stream(set, k, phase))
            issue->host = slot.host;
        if (issue->host > 0 && set->ahead)
            continue;
        issue->waits = slot.waits;
        (phase == SS_PHASE_F ? chunk->forward : chunk->backward)[SS_LABEL_OTHER] += slot.waits;
        if (phase == SS_PHASE_B)
            chunk->input_grad[SS_LABEL_OTHER] += slot.waits;
    }
}

static void issue_build(const struct ss_cost_input *in, struct ss_rank_cost *out)
{
    ss_issue_find(out->set);
    for (int k = 0; k < in->schedule->chunks; k++)
        chunk_issue(in, out->set, k, &out->chunks[k]);
}

/* Builds a pair, unless it is there. */
static int pair_build(const struct ss_cost_context *c, const struct ss_rank_site *site,
                      struct ss_rank_cost *out, int chunks, int f, int b)
{
    double *seconds = out->pairs[f * chunks + b].seconds;
    struct ss_step_list list;
    if (ss_label_sum(seconds) > 0)
        return SS_OK;
    int status = ss_pair_steps(out->set, f, b, &list);
    SS_THEN(status, ss_steps_fold(&list, c->slower, seconds));
    free(list.step);
    ss_rank_slow_down(seconds, site);
    return status;
}

/* Returns the first chunk of a stage whose layers and borders are those of chunk k. */
static int first_alike(const struct ss_cost_input *in, int stage, int k)
{
    const struct ss_stage_place *place = &in->places[stage * in->schedule->chunks];
    int i = 0;
    while (i < k && !ss_places_alike(in->job, &place[i], &place[k]))
        i++;
    return i;
}

/* Builds the pairs of any two chunks that differ; others stay 0. */
static int all_pairs_build(const struct ss_cost_input *in, const struct ss_cost_context *c,
                           const struct ss_rank_site *site, struct ss_rank_cost *out)
{
    int chunks = in->schedule->chunks, n = 0, status = SS_OK;
    int *unlike = ss_calloc((size_t)chunks, sizeof *unlike);
    if (!unlike)
        return SS_ERR_NOMEM;
    for (int k = 0; k < chunks; k++)
        if (first_alike(in, site->stage, k) == k)
            unlike[n++] = k;
    for (int i = 0; i < n * n && !status; i++)
        status = pair_build(c, site, out, chunks, unlike[i / n], unlike[i % n]);
    free(unlike);
    return status;
}

/* Builds the pairs among the rank's slots. */
static int pairs_build(const struct ss_cost_input *in, const struct ss_cost_context *c,
                       const struct ss_rank_site *site, struct ss_rank_cost *out, struct ss_error *err)
{
    const struct ss_schedule *s = in->schedule;
    int status = SS_OK;
    if (!c->shape.paired || (in->any_order && !in->pairs))
        return SS_OK;
    out->pairs = ss_calloc((size_t)s->chunks * (size_t)s->chunks, sizeof *out->pairs);
    if (out->pairs && in->any_order)
        status = all_pairs_build(in, c, site, out);
    for (int i = 0; out->pairs && !in->any_order && !status && i < s->nslots[site->stage]; i++) {
        const struct ss_slot *slot = &s->slots[site->stage][i];
        if (slot->phase == SS_PHASE_FB)
            status = pair_build(c, site, out, s->chunks, slot->chunk, slot->chunk2);
    }
    return out->pairs && !status ? SS_OK : ss_nomem(err);
}

/* Returns the seconds of the all-reduce of largest values (amax) of a chunk's fp8 tensors, in fp32. They set
 * the scales of later microbatches, so each forward and each backward ends with the all-reduce, beside which
 * nothing runs. A message this small takes its latency alone. */
static double amax_seconds(const struct ss_cost_input *in, const struct ss_cost_context *c)
{
    int group = ss_job_reduces_amax(in->job, in->stack), near = c->net.gpus_per_node;
    int n = in->job->tp * in->job->cp * (group > 1 ? in->dp : 1);
    struct ss_group_shape g = {.n = n, .per_node = n < near ? n : near};
    if (!group || n < 2)
        return 0;
    g.nodes = (n + g.per_node - 1) / g.per_node;
    return ss_collective_seconds(&c->net, SS_COLL_ALL_REDUCE, 4, &g);
}

/* Begins the cost of a rank, whose layers are not there yet. */
static int begin(const struct ss_cost_input *in, const struct ss_rank_site *site,
                 const struct ss_rank_cost *like, struct ss_cost_context *c,
                 struct ss_tower towers[SS_ENCODERS], struct ss_rank_cost *out, struct ss_error *err)
{
    size_t chunks = (size_t)in->schedule->chunks;
    memset(out, 0, sizeof *out);
    out->set = ss_calloc(1, sizeof *out->set);
    out->chunks = malloc(chunks * sizeof *out->chunks); /* each is filled when it is built */
    out->params = malloc(chunks * sizeof *out->params);
    SS_NEED(out->set && out->chunks && out->params, err);
    SS_TRY(context_init(in, site, c, towers, err));
    SS_TRY(ss_layer_set_init(out->set, c, in->schedule->chunks, in->with_steps, err));
    out->set->fixed += amax_seconds(in, c);
    out->set->ahead = out->host_ahead =
        ss_rank_runs_ahead(in->job, in->stack, in->schedule->stages, in->schedule->p2p);
    out->set->apart = in->schedule->p2p != SS_P2P_ASYNC;
    out->set->keeper = ss_layer_keeper_of(in->keeper, c);
    if (like && !ss_experts_loads_by_layer(in->job)) /* otherwise each stage has its own loads */
        out->set->like = like->set;
    return SS_OK;
}

/* Fills what follows from the times of all chunks. The context, which the set borrows, ends behind that. */
static int end(const struct ss_cost_input *in, const struct ss_rank_site *site,
               const struct ss_cost_context *c, int status, struct ss_rank_cost *out, struct ss_error *err)
{
    SS_THEN(status, pairs_build(in, c, site, out, err));
    if (!status)
        issue_build(in, out);
    if (out->set) {
        out->set->c = NULL;
        out->set->like = NULL;
        out->set->keeper.cache = NULL;
    }
    return status;
}

int ss_rank_cost_build(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       const struct ss_rank_cost *like, struct ss_rank_cost *out, struct ss_error *err)
{
    struct ss_param_count count = {0};
    double buckets = 0;
    struct ss_cost_context c;
    struct ss_tower towers[SS_ENCODERS];
    int status = begin(in, site, like, &c, towers, out, err);
    for (int k = 0; k < in->schedule->chunks && !status; k++) {
        status = chunk_build(in, &c, site, out, k, err);
        if (status)
            break;
        ss_param_count_add(&count, &out->params[k]);
        tensors_add(in, &c, site->stage == 0 && k == 0, &out->params[k], &count, &buckets);
        out->idle_bytes = fmax(out->idle_bytes, ss_memory_idle(&c, &out->chunks[k]));
        out->waiting_bytes = fmax(out->waiting_bytes, ss_memory_waiting(&c, out->set, k));
    }
    SS_TRY(end(in, site, &c, status, out, err));
    const struct ss_optimizer_shards shards = optimizer_shards(in, &c);
    const struct ss_muon muon = ss_muon_of(&c, out->set);
    count.muon = muon.dense.params;
    count.expert_muon = muon.expert.params;
    out->parameters = count.all;
    ss_memory_static(&c, &count, shards, out->memory);
    out->step_bytes = ss_memory_step(&c, &count, shards);
    out->main_gradients = ss_memory_main_gradients(&c, &count, shards);
    out->pooled_bytes =
        ss_memory_pooled(&c, &count, out->memory[SS_MEM_GRADIENTS], in->schedule->microbatches);
    out->host_bytes = ss_memory_host(&c, &count, shards, out->set) +
                      ss_offload_host(out->set, in->job, in->schedule, site->stage);
    out->gradients_s = site->own * ss_cost_gradients(&c, count.all, count.expert) + look_seconds(&c, buckets);
    out->optimizer_s = site->own * ss_optimizer_seconds(&c, &count, &muon, shards);
    out->optimizer_calls_s = site->own * ss_optimizer_calls(&c, &count, &muon);
    return SS_OK;
}

int ss_rank_cost_paced(const struct ss_cost_input *in, const struct ss_rank_site *site,
                       const struct ss_rank_cost *from, const struct ss_rank_cost *like,
                       struct ss_rank_cost *out, struct ss_error *err)
{
    struct ss_cost_context c;
    struct ss_tower towers[SS_ENCODERS];
    size_t chunks = (size_t)in->schedule->chunks;
    int status = begin(in, site, like, &c, towers, out, err);
    SS_THEN(status, ss_layer_set_paced(out->set, from->set, err));
    if (!status) {
        memcpy(out->chunks, from->chunks, chunks * sizeof *out->chunks);
        memcpy(out->params, from->params, chunks * sizeof *out->params);
    }
    for (int k = 0; k < in->schedule->chunks && !status; k++) {
        status = ss_layer_set_times(out->set, k, &out->chunks[k], err);
        slow_chunk(&out->chunks[k], site);
    }
    return end(in, site, &c, status, out, err);
}

int ss_rank_cost_copy(const struct ss_cost_input *in, const struct ss_rank_cost *from, int stage,
                      struct ss_rank_cost *out, struct ss_error *err)
{
    size_t chunks = (size_t)in->schedule->chunks;
    *out = *from;
    out->set->sharers++;
    out->chunks = malloc(chunks * sizeof *out->chunks);
    out->params = malloc(chunks * sizeof *out->params);
    if (!out->chunks || !out->params)
        return ss_nomem(err);
    memcpy(out->chunks, from->chunks, chunks * sizeof *out->chunks);
    memcpy(out->params, from->params, chunks * sizeof *out->params);
    for (int k = 0; k < in->schedule->chunks; k++)
        set_place(in, stage, k, &out->chunks[k]);
    return SS_OK;
}

size_t ss_rank_cost_bytes(const struct ss_rank_cost *cost)
{
    return sizeof *cost + ss_layer_set_bytes(cost->set) + (size_t)cost->set->nchunks * sizeof *cost->chunks;
}

void ss_rank_cost_free(struct ss_rank_cost *cost)
{
    ss_layer_set_free(cost->set);
    SS_FREE(cost->chunks, cost->params, cost->pairs);
    memset(cost, 0, sizeof *cost);
}

const double *ss_chunk_labels(const struct ss_chunk_cost *chunk, int phase)
{
    return phase == SS_PHASE_F   ? chunk->forward
           : phase == SS_PHASE_B ? chunk->backward
           : phase == SS_PHASE_I ? chunk->input_grad
                                 : chunk->weight_grad;
}

double ss_chunk_seconds(const struct ss_chunk_cost *chunk, int phase)
{
    return ss_label_sum(ss_chunk_labels(chunk, phase));
}
