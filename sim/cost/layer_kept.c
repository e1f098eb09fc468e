/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/layer_kept.h"

#include "base/base.h"
#include "cost/memory.h"
#include "stepsim/job.h"
#include "stepsim/stack.h"

/* Leaves out of a job what no layer reads: where it runs, which layers a stage has and in which order, the batch. */
static void leave_layout(struct ss_job *job)
{
    job->nodes = job->gpus = job->pp = job->global_batch = 0;
    job->layers_per_virtual_stage = job->virtual_stages = job->microbatch_group_size = 0;
    job->first_stage_layers = job->last_stage_layers = 0;
    job->account_for_embedding = job->account_for_loss = 0;
    memset(&job->layout, 0, sizeof job->layout);
    memset(job->schedule, 0, sizeof job->schedule);
}

struct ss_layer_keeper ss_layer_keeper(struct ss_cache *cache, const struct ss_job *job,
                                       const struct ss_stack *stack, const struct ss_card *card,
                                       const struct ss_net *net)
{
    struct ss_layer_keeper keeper = {.key = ss_cache_key(SS_CACHE_LAYER)};
    struct ss_job read = *job;
    if (!cache || job->packed.rows || job->moe.loads)
        return keeper;
    keeper.cache = cache;
    leave_layout(&read);
    /* The layer is told what is recomputed; distributed recompute alone makes the inputs of several layers one. */
    if (!read.recompute.distributed) {
        read.recompute.method = 0;
        read.recompute.num_layers = 0;
        if (read.recompute.granularity == SS_RECOMPUTE_FULL)
            read.recompute.granularity = SS_RECOMPUTE_NONE;
    }
    ss_cache_mix_bytes(&keeper.key, &read, sizeof read);
    ss_cache_mix_bytes(&keeper.key, stack, sizeof *stack);
    ss_cache_mix_bytes(&keeper.key, card, sizeof *card);
    if (net->library)
        ss_cache_mix_bytes(&keeper.key, net->library, sizeof *net->library);
    return keeper;
}

struct ss_layer_keeper ss_layer_keeper_of(const struct ss_layer_keeper *job, const struct ss_cost_context *c)
{
    struct ss_layer_keeper keeper = {0};
    struct ss_cost_context read = *c;
    for (int e = 0; e < SS_ENCODERS; e++)
        if (c->tower[e])
            return keeper;
    if (!job || !job->cache)
        return keeper;
    keeper = *job;
    read.card = NULL;
    read.stack = read.shape.stack = NULL;
    read.job = NULL;
    read.shape.model = NULL;
    read.net.card = NULL;
    read.net.library = NULL;
    read.record = NULL;
    read.linear = NULL;
    /* what the optimizer and memory alone read, or layers that are fetched */
    memset(&read.edp, 0, sizeof read.edp);
    if (read.fsdp.n <= 1 ||
        ss_cost_fetches_layers(c)) /* the latter's layers are recorded, and GEMMs alone kept */
        memset(&read.fsdp, 0, sizeof read.fsdp);
    read.once = read.on_nvme = 0;
    read.replicas = read.p2p_overlapped = 0;
    /* GEMMs and collectives alone depend neither on the pace nor on the batch */
    read.slower = read.accumulated = 0;
    ss_cache_mix_bytes(&keeper.key, &read, sizeof read);
    ss_cache_mix(&keeper.key, (uint64_t)(c->net.card != NULL) * 2 + (c->net.library != NULL));
    keeper.times = keeper.key;
    const double others[] = {c->slower, ss_accumulate_bytes(c) > 0 ? c->accumulated : 0};
    ss_cache_mix_bytes(&keeper.key, others, sizeof others);
    return keeper;
}

/* Keeps an allocated block; without memory others make it again. */
static void keep(struct ss_cache *cache, struct ss_cache_key key, void *kept, size_t bytes)
{
    ss_cache_tell(cache, key, ss_cache_copy(cache, kept, bytes));
    if (ss_cache_put(cache, key, kept, bytes, free))
        free(kept);
    else
        ss_cache_give_back(cache, key);
}

/* Does what ss_cost_layer does, with the times of GEMMs that are kept; others are kept then. */
static void cost_layer(const struct ss_layer_keeper *rank, int kind, const struct ss_cost_context *c,
                       const struct ss_ops *ops, int recompute, struct ss_layer_cost *out)
{
    struct ss_cache_key key = rank->times;
    int of[SS_OPS_MAX], n = 0;
    for (int i = 0; i < ops->n && c->linear && rank->cache; i++)
        if (ops->op[i].kind == SS_OP_GEMM || ops->op[i].kind == SS_OP_GROUPED_GEMM)
            of[n++] = i;
    if (!n || c->linear[of[0]].f > 0) {
        ss_cost_layer(c, ops, recompute, out);
        return;
    }
    ss_cache_mix_ints(&key, (const int[]){kind, c->without_grad}, 2);
    const struct ss_linear_times *kept = ss_cache_take(rank->cache, key);
    for (int i = 0; kept && i < n; i++)
        c->linear[of[i]] = kept[i];
    if (kept)
        ss_cache_give_back(rank->cache, key);
    ss_cost_layer(c, ops, recompute, out);
    if (kept)
        return;
    struct ss_linear_times *times = malloc((size_t)n * sizeof *times);
    if (!times)
        return;
    for (int i = 0; i < n; i++)
        times[i] = c->linear[of[i]];
    keep(rank->cache, key, times, (size_t)n * sizeof *times);
}

void ss_cost_layer_kept(const struct ss_layer_keeper *rank, int kind, const struct ss_cost_context *c,
                        const struct ss_ops *ops, int recompute, struct ss_layer_cost *out)
{
    struct ss_cache_key key = rank->key;
    ss_cache_mix_ints(&key, (const int[]){kind, recompute, c->without_grad}, 3);
    /* layouts of a search have paces of their own, which would fill what its workers share */
    const int keeps = rank->cache && !c->record && (c->slower == 0 || !ss_cache_is_shared(rank->cache));
    const struct ss_layer_cost *kept = keeps ? ss_cache_take(rank->cache, key) : NULL;
    if (kept) {
        *out = *kept;
        ss_cache_give_back(rank->cache, key);
        return;
    }
    cost_layer(rank, kind, c, ops, recompute, out);
    struct ss_layer_cost *copy = keeps ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return;
    *copy = *out;
    keep(rank->cache, key, copy, sizeof *copy);
}
