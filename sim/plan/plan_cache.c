/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups, routes and classes of a plan, kept for jobs that differ only in what these do not depend on: size
 * of a microbatch, recompute, speed of a card.
 */
#include "base/base.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"
#include "stepsim/params.h"

struct ss_plan_kept {
    struct ss_groups groups;
    struct ss_routes routes;
    uint64_t *link_colour, *flow_colour;
    struct ss_map load, alike;
    struct ss_share shares[SS_COMM_COUNT];
    int nclasses;
    struct ss_plan_class *classes;
    int *class_of;
};

/* Returns whether parts of a plan are kept. Plans without symmetry are rare. */
static int is_usual(const struct ss_plan_builder *b)
{
    const struct ss_plan_options *o = b->options;
    return o->cache && !o->placement && !o->draw_spread && !o->apart && !o->keep_links &&
           o->nstragglers == 0 && o->nslow_links == 0 && b->plan->job->nfailed == 0 &&
           !ss_job_is_placed(b->plan->job);
}

/* Returns whether a plan is kept. Uneven amounts of tokens, which depend on the microbatch, load links unlike. */
static int is_kept(const struct ss_plan_builder *b)
{
    return is_usual(b) && (!b->plan->experts || b->plan->job->moe.load == SS_LOAD_BALANCED);
}

/* Mixes in what is read of the machine: its props, but for those of kernels alone, and what collectives make of them. Groups ask of the
 * stack only whether its NCCL has PAT (mix_pat); a dispatcher's rates decide nothing before costs. A platform
 * with routes one by one is known by its address. */
static void mix_machine(struct ss_cache_key *key, const struct ss_plan_builder *b)
{
    const struct ss_platform *p = b->plan->platform;
    struct ss_net net = b->net;
    const struct ss_card *card = ss_platform_card(p);
    const char *rest = (const char *)(&card->gemm_small_tile + 1); /* behind what kernels alone read */
    ss_cache_mix(key, ss_bits_of(card->sm_count));
    ss_cache_mix_bytes(key, rest, (size_t)((const char *)(card + 1) - rest));
    for (int prop = SS_PROP_CARD_COUNT; prop < SS_PROP_PLATFORM_COUNT; prop++)
        ss_cache_mix(key, ss_bits_of(ss_platform_get(p, prop)));
    ss_cache_mix(key, ss_platform_is_template(p) ? 0 : (uint64_t)(uintptr_t)p);
    ss_cache_mix_bytes(key, net.library, sizeof *net.library);
    ss_cache_mix(key, net.card != NULL);
    net.card = NULL;
    net.library = NULL;
    net.dispatch_sms = net.dispatch_rate = net.dispatch_rate_beside = net.dispatch_kernels = 0;
    net.dispatch_rounds = net.combine_rounds = 0;
    net.pat = 0;
    ss_cache_mix_bytes(key, &net, sizeof net);
}

/* Makes the key over all that is read on the way to classes, or to groups: the whole job, without the parts
 * that neither reads. Groups do not depend on what layers a stage has either. */
static struct ss_cache_key key_of(const struct ss_plan_builder *b, int kind)
{
    struct ss_cache_key key = ss_cache_key((uint64_t)kind);
    const struct ss_plan *plan = b->plan;
    const struct ss_schedule *s = plan->schedule;
    const int groups = kind == SS_CACHE_STAGES, chunks = groups ? 0 : s->chunks;
    const int numbers[] = {plan->level, plan->unfolded, plan->world_size, s->stages, chunks, s->pipelines};
    struct ss_job job = *plan->job;
    job.micro_batch = job.global_batch = 0;
    memset(&job.recompute, 0, sizeof job.recompute);
    memset(&job.offload, 0, sizeof job.offload);
    memset(&job.graphs, 0, sizeof job.graphs);
    if (!plan->experts)
        memset(&job.moe, 0, sizeof job.moe);
    memset(job.stack, 0, sizeof job.stack);
    job.spread = 0;
    memset(&job.optimizer, 0, sizeof job.optimizer);
    job.dp.grad_reduce_fp32 = job.dp.overlap_grad_reduce = job.dp.overlap_param_gather = 0;
    if (job.cp == 1) { /* nobody sends keys and values */
        memset(&job.cp_comm_type, 0, sizeof job.cp_comm_type);
        memset(&job.attention, 0, sizeof job.attention);
    }
    if (groups) {
        memset(&job.layout, 0, sizeof job.layout);
        memset(job.schedule, 0, sizeof job.schedule);
        job.layers_per_virtual_stage = job.virtual_stages = job.microbatch_group_size = 0;
        job.first_stage_layers = job.last_stage_layers = 0;
        job.account_for_embedding = job.account_for_loss = 0;
    }
    mix_machine(&key, b);
    ss_cache_mix_ints(&key, numbers, SS_ARRAY_LEN(numbers));
    ss_cache_mix_ints(&key, s->virtual_rank, s->stages * chunks);
    ss_cache_mix_bytes(&key, &job, sizeof job);
    return key;
}

/* PAT takes groups each of whose members is on a node of its own, which few plans have: only their keys tell whether the stack has PAT. */
static struct ss_cache_key mix_pat(struct ss_cache_key key, const struct ss_plan_builder *b)
{
    ss_cache_mix(&key, 1 + (b->net.pat && ss_platform_nodes(b->plan->platform) > 2));
    return key;
}

static void destroy(void *thing)
{
    struct ss_plan_kept *kept = thing;
    ss_groups_free(&kept->groups);
    ss_routes_free(&kept->routes);
    SS_FREE(kept->link_colour, kept->flow_colour);
    ss_map_free(&kept->load);
    ss_map_free(&kept->alike);
    SS_FREE(kept->classes, kept->class_of, kept);
}

static size_t bytes_of(const struct ss_plan_kept *kept, size_t world)
{
    const size_t places = (size_t)kept->groups.n;
    const struct ss_routes *r = &kept->routes;
    size_t flows = (size_t)r->symmetry.nranks * (size_t)r->nkinds, ints = 0;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        ints += kept->groups.first[comm] ? 3 * places : 0;
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            ints += kept->groups.target[comm][hop] ? places * (size_t)kept->groups.width[comm][hop] : 0;
    }
    ints += 2 * flows + r->cap_pool + r->cap_link + world;
    return sizeof *kept + ints * sizeof(int) + flows * (sizeof(double) + sizeof(uint64_t)) +
           (size_t)r->nlinks * (sizeof(double) + sizeof(uint64_t) + 2) +
           (kept->load.size + kept->alike.size) * sizeof *kept->load.slot +
           (size_t)kept->nclasses * sizeof *kept->classes;
}

/* Copies the arrays that the plan changes, or that outlive the cache. */
static int copy_classes(const struct ss_plan_kept *kept, struct ss_plan *plan, struct ss_error *err)
{
    size_t n = (size_t)kept->nclasses, world = (size_t)plan->world_size;
    plan->classes = ss_calloc(n, sizeof *plan->classes);
    plan->class_of = malloc(world * sizeof *plan->class_of);
    SS_NEED(plan->classes && plan->class_of, err);
    memcpy(plan->classes, kept->classes, n * sizeof *plan->classes);
    memcpy(plan->class_of, kept->class_of, world * sizeof *plan->class_of);
    memcpy(plan->shares, kept->shares, sizeof plan->shares);
    plan->nclasses = kept->nclasses;
    return SS_OK;
}

/* Points the builder at what the cache owns; the builder only reads it. */
static void read_kept(struct ss_plan_builder *b, const struct ss_plan_kept *kept)
{
    b->kept = kept;
    b->groups = kept->groups;
    b->routes = kept->routes;
    b->link_colour = kept->link_colour;
    b->flow_colour = kept->flow_colour;
    b->load = kept->load;
    b->alike = kept->alike;
}

/* Gives the builder shapes of expert groups of its own, because where tokens go is not kept. */
static int own_shapes(struct ss_plan_builder *b, struct ss_error *err)
{
    size_t n = (size_t)b->groups.nshapes[SS_COMM_EP];
    if (!b->plan->experts)
        return SS_OK;
    b->own = malloc((n + 1) * sizeof *b->own);
    SS_NEED(b->own, err);
    memcpy(b->own, b->groups.shape[SS_COMM_EP], n * sizeof *b->own);
    b->groups.shape[SS_COMM_EP] = b->own;
    return SS_OK;
}

int ss_plan_cache_take(struct ss_plan_builder *b, struct ss_error *err)
{
    if (!is_kept(b))
        return SS_OK;
    b->key = key_of(b, SS_CACHE_LAYOUT);
    const struct ss_plan_kept *kept = ss_cache_take(b->options->cache, b->key);
    if (!kept) {
        b->key = mix_pat(b->key, b);
        kept = ss_cache_take(b->options->cache, b->key);
    }
    if (!kept)
        return SS_OK;
    read_kept(b, kept);
    int rc = copy_classes(kept, b->plan, err);
    return rc ? rc : own_shapes(b, err);
}

/* Copies the plan's arrays once the plan has classes. */
static int keep_classes(const struct ss_plan *plan, struct ss_plan_kept *kept)
{
    size_t n = (size_t)plan->nclasses, world = (size_t)plan->world_size;
    if (!plan->classes)
        return SS_OK;
    kept->classes = malloc(n * sizeof *kept->classes);
    kept->class_of = malloc(world * sizeof *kept->class_of);
    if (!kept->classes || !kept->class_of)
        return SS_ERR_NOMEM;
    memcpy(kept->classes, plan->classes, n * sizeof *kept->classes);
    memcpy(kept->class_of, plan->class_of, world * sizeof *kept->class_of);
    memcpy(kept->shares, plan->shares, sizeof kept->shares);
    kept->nclasses = plan->nclasses;
    return SS_OK;
}

#define COPY(block, n) block = ss_cache_copy(cache, block, (size_t)(n) * sizeof *(block))

static void copy_groups(struct ss_cache *cache, struct ss_groups *g)
{
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        COPY(g->first[comm], g->n);
        COPY(g->local[comm], g->n);
        COPY(g->number[comm], g->n);
        COPY(g->shape[comm], g->nshapes[comm]);
        for (int hop = 0; hop < SS_HOP_COUNT; hop++)
            COPY(g->target[comm][hop], g->n * g->width[comm][hop]);
    }
}

static void copy_routes(struct ss_cache *cache, int stages, struct ss_routes *r)
{
    const int flows = r->symmetry.nranks * r->nkinds;
    COPY(r->peer, stages * r->npeers);
    COPY(r->to, flows);
    COPY(r->first, flows + 1);
    COPY(r->pool, r->npool);
    COPY(r->link, r->npool);
    COPY(r->latency, flows);
    COPY(r->bandwidth, r->nlinks);
    COPY(r->inner, r->nlinks);
    COPY(r->kept, r->nlinks);
}

/* Copies what is kept for all processes that share the cache. */
static void share(struct ss_cache *cache, const struct ss_plan_builder *b, const struct ss_plan_kept *kept)
{
    const struct ss_groups *g = &kept->groups;
    if (g->give[0] || g->give[1] || g->take[0] || g->take[1])
        return; /* amounts of experts, which are rare */
    struct ss_plan_kept *copy = ss_cache_copy(cache, kept, sizeof *kept);
    if (!copy)
        return;
    copy_groups(cache, &copy->groups);
    copy_routes(cache, b->plan->schedule->stages, &copy->routes);
    COPY(copy->link_colour, copy->routes.nlinks);
    COPY(copy->flow_colour, copy->routes.symmetry.nranks * copy->routes.nkinds);
    COPY(copy->load.slot, copy->load.size);
    COPY(copy->alike.slot, copy->alike.size);
    COPY(copy->classes, copy->nclasses);
    COPY(copy->class_of, b->plan->world_size);
    ss_cache_tell(cache, b->key, copy);
}

/* Moves the builder's arrays into the cache. */
static int fill(struct ss_plan_builder *b, struct ss_plan_kept *kept)
{
    if (keep_classes(b->plan, kept))
        return SS_ERR_NOMEM;
    kept->groups = b->groups;
    kept->routes = b->routes;
    kept->link_colour = b->link_colour;
    kept->flow_colour = b->flow_colour;
    kept->load = b->load;
    kept->alike = b->alike;
    if (ss_cache_put(b->options->cache, b->key, kept, bytes_of(kept, (size_t)b->plan->world_size), destroy))
        return SS_ERR_NOMEM;
    share(b->options->cache, b, kept);
    return SS_OK;
}

static int put(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan_kept *kept = ss_calloc(1, sizeof *kept);
    if (kept && !fill(b, kept)) {
        b->kept = kept;
        return SS_OK;
    }
    if (kept) {
        SS_FREE(kept->classes, kept->class_of);
    }
    free(kept);
    return ss_nomem(err);
}

int ss_plan_cache_put(struct ss_plan_builder *b, struct ss_error *err)
{
    if (!is_kept(b))
        return SS_OK;
    if (!b->groups.apart)
        b->key = key_of(b, SS_CACHE_LAYOUT);
    return put(b, err);
}

int ss_plan_cache_stages(struct ss_plan_builder *b, ss_plan_step_function *build, int *out,
                         struct ss_error *err)
{
    *out = is_usual(b);
    if (!*out)
        return SS_OK;
    b->key = mix_pat(key_of(b, SS_CACHE_STAGES), b);
    const struct ss_plan_kept *kept = ss_cache_take(b->options->cache, b->key);
    int rc = kept ? SS_OK : build(b, err);
    if (kept)
        read_kept(b, kept);
    else
        SS_THEN(rc, put(b, err));
    return rc ? rc : own_shapes(b, err);
}

void ss_plan_cache_end(struct ss_plan_builder *b)
{
    ss_cache_give_back(b->options->cache, b->key);
    b->kept = NULL;
}
