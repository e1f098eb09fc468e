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
    struct ss_layer_keeper keeper = {NULL, ss_cache_key(SS_CACHE_LAYER)};
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
    if (!job || !job->cache || ss_cost_fetches_layers(c))
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
    if (read.fsdp.n <= 1)
        memset(&read.fsdp, 0, sizeof read.fsdp);
    read.once = read.on_nvme = 0;
    read.replicas = read.p2p_overlapped = 0;
    if (!(ss_accumulate_bytes(c) > 0))
        read.accumulated = 0;
    ss_cache_mix_bytes(&keeper.key, &read, sizeof read);
    ss_cache_mix(&keeper.key, (uint64_t)(c->net.card != NULL) * 2 + (c->net.library != NULL));
    return keeper;
}

void ss_cost_layer_kept(const struct ss_layer_keeper *rank, int kind, const struct ss_cost_context *c,
                        const struct ss_ops *ops, int recompute, struct ss_layer_cost *out)
{
    struct ss_cache_key key = rank->key;
    ss_cache_mix_ints(&key, (const int[]){kind, recompute, c->without_grad}, 3);
    struct ss_layer_cost *kept = rank->cache ? ss_cache_take(rank->cache, key) : NULL;
    if (kept) {
        *out = *kept;
        ss_cache_give_back(rank->cache, key);
        return;
    }
    ss_cost_layer(c, ops, recompute, out);
    kept = rank->cache ? malloc(sizeof *kept) : NULL;
    if (!kept)
        return; /* the next one computes it again */
    *kept = *out;
    ss_cache_tell(rank->cache, key, ss_cache_copy(rank->cache, kept, sizeof *kept));
    if (ss_cache_put(rank->cache, key, kept, sizeof *kept, free))
        free(kept);
    else
        ss_cache_give_back(rank->cache, key);
}
