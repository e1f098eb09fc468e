/* SPDX-License-Identifier: Apache-2.0 */
/* Times and memory of each class of ranks; classes at equal sites share one cost. */
#include "base/base.h"
#include "layers/flops.h"
#include "plan/plan_internal.h"
#include "stepsim/parameters.h"

static double usual(const double *factor, int rank)
{
    return factor ? factor[rank] : 1;
}

/* Returns the largest factor among the GPUs that a rank works with in every layer: stragglers, and drawn
 * paces. */
static double group_slowness(const struct ss_plan_builder *b, int rank, const double *drawn)
{
    static const int comms[] = {SS_COMM_TP_CP, SS_COMM_ETP_EP};
    double most = usual(b->slowness, rank) * usual(drawn, rank);
    for (size_t k = 0; k < SS_ARRAY_LEN(comms); k++) {
        const struct ss_ranks *grid = ss_plan_grid(b->plan, comms[k]);
        int n = 0;
        if (grid)
            ss_ranks_group(grid, comms[k], rank, b->members, &n);
        for (int i = 0; i < n; i++)
            most = fmax(most, usual(b->slowness, b->members[i]) * usual(drawn, b->members[i]));
    }
    return most;
}

static void set_pace(const struct ss_plan_builder *b, int rank, struct ss_rank_site *site)
{
    site->own = site->group = site->pace = site->own_pace = 1;
    if (b->slowness) {
        site->own = b->slowness[rank];
        site->group = group_slowness(b, rank, NULL);
    }
    if (b->drawn) {
        site->own_pace = b->drawn[rank];
        site->pace = group_slowness(b, rank, b->drawn) / site->group;
    }
}

struct ss_rank_site ss_plan_site(const struct ss_plan_builder *b, int rank, int stage)
{
    struct ss_rank_site site = {0};
    site.stage = stage;
    site.tp = ss_groups_shape(&b->groups, SS_COMM_TP, rank);
    site.cp = ss_groups_shape(&b->groups, SS_COMM_CP, rank);
    site.fsdp = ss_groups_shape(&b->groups, SS_COMM_FSDP, rank);
    site.ep = ss_groups_shape(&b->groups, SS_COMM_EP, rank);
    site.etp = ss_groups_shape(&b->groups, SS_COMM_ETP, rank);
    site.etp_ep = ss_groups_shape(&b->groups, SS_COMM_ETP_EP, rank);
    /* Ranks that shard experts reduce them across nodes, by collectives that are always flows. */
    site.edp = ss_groups_shape(&b->groups, SS_COMM_EDP, rank);
    memcpy(site.edp.stretch, ss_groups_shape(&b->groups, SS_COMM_EXPERT_FSDP, rank).stretch,
           sizeof site.edp.stretch);
    if (ss_job_is_hybrid(b->plan->job)) /* the shards on one node */
        site.edp = ss_groups_shape(&b->groups, SS_COMM_EXPERT_FSDP, rank);
    set_pace(b, rank, &site);
    return site;
}

struct ss_cost_input ss_plan_cost_input(const struct ss_plan *plan, const struct ss_net *net)
{
    return (struct ss_cost_input){.job = plan->job,
                                  .stack = plan->stack,
                                  .card = ss_platform_card(plan->platform),
                                  .schedule = plan->schedule,
                                  .places = plan->places,
                                  .net = net,
                                  .padded_vocab = plan->padded_vocab,
                                  .dp = plan->dp,
                                  .microbatches = plan->microbatches,
                                  .with_steps = plan->level > SS_LEVEL_CHUNK};
}

void ss_plan_keep_layers(struct ss_plan_builder *b)
{
    const struct ss_plan *plan = b->plan;
    b->keeper =
        ss_layer_keeper(b->options->cache, plan->job, plan->stack, ss_platform_card(plan->platform), &b->net);
}

/* Returns an earlier cost at an equal site on a stage that is alike; -1: there is none. */
static int find_like(const struct ss_plan_builder *b, const struct ss_cost_input *in,
                     const struct ss_rank_site *site)
{
    int i = b->ncosts - 1;
    while (i >= 0 && !(ss_stages_alike(in, b->costs[i].site.stage, site->stage) &&
                       ss_rank_site_equal(&b->costs[i].site, site)))
        i--;
    return i;
}

/* Finds or makes the cost of a site whose GPUs are equally fast. */
static int find_cost(struct ss_plan_builder *b, const struct ss_rank_site *site, int *index,
                     struct ss_error *err)
{
    struct ss_cost_input in = ss_plan_cost_input(b->plan, &b->net);
    struct ss_rank_site even = *site;
    in.keeper = &b->keeper;
    even.pace = even.own_pace = 1;
    for (int i = b->ncosts - 1; i >= 0; i--)
        if (b->costs[i].site.stage == site->stage && ss_rank_site_equal(&b->costs[i].site, site)) {
            *index = i;
            return SS_OK;
        }
    SS_NEED(!ss_grow(&b->costs, &b->cap_costs, (size_t)b->ncosts + 1, sizeof *b->costs), err);
    int like = find_like(b, &in, site), equal = b->ncosts - 1;
    while (equal >= 0 && !ss_rank_site_equal(&b->costs[equal].site, site))
        equal--;
    *index = b->ncosts++;
    struct ss_cost_entry *entry = &b->costs[*index];
    *entry = (struct ss_cost_entry){.site = *site, .like = like < 0 ? *index : b->costs[like].like};
    if (like >= 0)
        return ss_rank_cost_copy(&in, &b->costs[like].cost, site->stage, &entry->cost, err);
    return ss_rank_cost_build(&in, &even, equal < 0 ? NULL : &b->costs[equal].cost, &entry->cost, err);
}

/* Fills what a class takes; found: its cost is there. */
static int class_cost(struct ss_plan_builder *b, int cls, int found, struct ss_error *err)
{
    struct ss_plan_class *pc = &b->plan->classes[cls];
    size_t chunks = (size_t)b->plan->schedule->chunks;
    if (!found) {
        const struct ss_rank_site site = ss_plan_site(b, pc->representative, pc->stage);
        SS_TRY(find_cost(b, &site, &b->cost_of[cls], err));
    }
    const struct ss_rank_cost *cost = ss_plan_cost_of(b, cls);
    pc->chunks = malloc(chunks * sizeof *pc->chunks);
    SS_NEED(pc->chunks, err);
    memcpy(pc->chunks, cost->chunks, chunks * sizeof *pc->chunks);
    if (cost->pairs) {
        pc->pairs = ss_calloc(chunks * chunks, sizeof *pc->pairs);
        SS_NEED(pc->pairs, err);
        memcpy(pc->pairs, cost->pairs, chunks * chunks * sizeof *pc->pairs);
    }
    memcpy(pc->memory, cost->memory, sizeof pc->memory);
    pc->step_bytes = cost->step_bytes;
    pc->pooled_bytes = cost->pooled_bytes;
    pc->main_gradients = cost->main_gradients;
    pc->idle_bytes = cost->idle_bytes;
    pc->waiting_bytes = cost->waiting_bytes;
    pc->host_bytes = cost->host_bytes;
    pc->parameters = cost->parameters;
    pc->pace = 1;
    pc->gradients_s = cost->gradients_s;
    pc->optimizer_s = cost->optimizer_s;
    pc->optimizer_calls_s = cost->optimizer_calls_s;
    pc->fixed_s = b->plan->stack->fixed_iteration;
    pc->host_ahead = cost->host_ahead;
    return SS_OK;
}

/* ---- costs of the last plan, for plans that differ in the spread of GPUs alone ---- */

/* Costs of ranks whose GPUs are equally fast. A cache has one of these, for operators of layers have a hundred kilobytes a rank. */
struct kept {
    struct ss_cache_key key;
    struct ss_cost_entry *entry;
    int n, nclasses, *cost_of;
    double parameters;
    struct ss_model_flops flops;
};

/* Sets the plan's sums over the model, for which layers are looked at one by one. */
static void set_sums(struct ss_plan *plan, double parameters, const struct ss_model_flops *flops)
{
    plan->parameters = parameters;
    plan->model_flops = flops->model;
    plan->model_flops_causal = flops->causal;
    plan->hardware_flops = flops->hardware;
    plan->model_flops_seen = flops->seen;
    plan->bounded_flops = flops->bounded;
    plan->bounded_hardware_flops = flops->bounded_hardware;
}

/* Returns whether costs are kept: those of plans whose layout is, without what `slots` or a file of the job decides. Pairs, which experts
 * have, read the card of their own platform. */
static int is_kept(const struct ss_plan_builder *b)
{
    const struct ss_job *job = b->plan->job;
    return b->kept && b->plan->level == SS_LEVEL_CHUNK && !job->packed.rows && !job->offload.modules &&
           !b->plan->experts;
}

/* Makes the key over all that costs depend on: the layout, and job, stack and card whole. */
static struct ss_cache_key kept_key(const struct ss_plan_builder *b)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_schedule *s = plan->schedule;
    struct ss_cache_key key = b->key;
    struct ss_job job;
    memcpy(&job, plan->job, sizeof job);
    job.spread = 0;
    ss_cache_mix_bytes(&key, &job, sizeof job);
    ss_cache_mix_bytes(&key, plan->stack, sizeof *plan->stack);
    ss_cache_mix_bytes(&key, ss_platform_card(plan->platform), sizeof(struct ss_card));
    ss_cache_mix_ints(&key, (const int[]){s->p2p, s->microbatches, plan->microbatches}, 3);
    return key;
}

static void drop_kept(struct kept *kept)
{
    for (int i = 0; i < kept->n; i++)
        ss_rank_cost_free(&kept->entry[i].cost);
    SS_FREE(kept->entry, kept->cost_of);
    *kept = (struct kept){0};
}

static void destroy_kept(void *thing)
{
    drop_kept(thing);
    free(thing);
}

/* Copies costs, whose layers both then hold. */
static int copy_costs(const struct ss_plan_builder *b, const struct ss_cost_entry *from, int n,
                      struct ss_cost_entry **to, int *done)
{
    const struct ss_cost_input in = ss_plan_cost_input(b->plan, &b->net);
    struct ss_cost_entry *copy = *to = malloc(((size_t)n + 1) * sizeof *copy);
    int rc = copy ? SS_OK : SS_ERR_NOMEM;
    for (*done = 0; *done < n && !rc; ++*done) {
        copy[*done] = (struct ss_cost_entry){.site = from[*done].site, .like = from[*done].like};
        rc = ss_rank_cost_copy(&in, &from[*done].cost, from[*done].site.stage, &copy[*done].cost, NULL);
    }
    return rc;
}

/* Takes the costs of the plan before; *found is 0 where they are others. */
static int take_costs(struct ss_plan_builder *b, const struct ss_cache_key *key, int *found,
                      struct ss_error *err)
{
    const struct ss_cache_key slot = ss_cache_key(SS_CACHE_COSTS);
    const struct kept *kept = ss_cache_take(b->options->cache, slot);
    *found = 0;
    if (!kept)
        return SS_OK;
    if (kept->key.a == key->a && kept->key.b == key->b && kept->nclasses == b->plan->nclasses) {
        *found = 1;
        memcpy(b->cost_of, kept->cost_of, (size_t)kept->nclasses * sizeof *kept->cost_of);
        set_sums(b->plan, kept->parameters, &kept->flops);
    }
    int rc = *found ? copy_costs(b, kept->entry, kept->n, &b->costs, &b->ncosts) : SS_OK;
    ss_cache_give_back(b->options->cache, slot);
    return rc ? ss_nomem(err) : SS_OK;
}

/* Keeps the plan's costs in the place of those that are kept; without memory none are. */
static void put_costs(const struct ss_plan_builder *b, const struct ss_cache_key *key,
                      const struct ss_model_flops *flops)
{
    const struct ss_cache_key slot = ss_cache_key(SS_CACHE_COSTS);
    const size_t n = (size_t)b->plan->nclasses * sizeof *b->cost_of;
    struct kept *kept = ss_cache_take(b->options->cache, slot);
    if (!kept) {
        kept = ss_calloc(1, sizeof *kept);
        if (!kept || ss_cache_put(b->options->cache, slot, kept, sizeof *kept, destroy_kept)) {
            free(kept);
            return;
        }
    }
    drop_kept(kept);
    kept->cost_of = malloc(n);
    if (!kept->cost_of || copy_costs(b, b->costs, b->ncosts, &kept->entry, &kept->n)) {
        drop_kept(kept);
    } else {
        memcpy(kept->cost_of, b->cost_of, n);
        kept->nclasses = b->plan->nclasses;
        kept->key = *key;
        kept->parameters = b->plan->parameters;
        kept->flops = *flops;
    }
    size_t bytes = sizeof *kept + n;
    for (int i = 0; i < kept->n; i++)
        bytes += sizeof *kept->entry + ss_rank_cost_bytes(&kept->entry[i].cost);
    ss_cache_weigh(b->options->cache, slot, bytes);
    ss_cache_give_back(b->options->cache, slot);
}

int ss_plan_costs_build(struct ss_plan_builder *b, struct ss_error *err)
{
    const int keep = is_kept(b);
    struct ss_cache_key key = {0, 0};
    int found = 0, rc = SS_OK;
    b->cost_of = ss_calloc((size_t)b->plan->nclasses, sizeof *b->cost_of);
    SS_NEED(b->cost_of, err);
    if (keep) {
        key = kept_key(b);
        SS_TRY(take_costs(b, &key, &found, err));
    }
    if (!found)
        ss_plan_keep_layers(b);
    for (int c = 0; c < b->plan->nclasses && !rc; c++)
        rc = class_cost(b, c, found, err);
    if (rc || found)
        return rc;
    const struct ss_model_flops flops =
        ss_model_flops_of(b->plan->job, b->plan->stack, b->plan->schedule, b->plan->padded_vocab);
    set_sums(b->plan, ss_model_parameters(&b->plan->job->model, b->plan->padded_vocab), &flops);
    if (keep)
        put_costs(b, &key, &flops);
    return SS_OK;
}
