/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lower bounds of what a layout takes (docs/design/design.md, section 9, proves them), from what its ranks cost. Layouts that differ
 * in what no rank's cost depends on share these costs.
 */

#include "base/base.h"
#include "base/map.h"
#include "decide/search_internal.h"
#include "layers/kinds.h"
#include "plan/bounds.h"
#include "result/bands.h"
#include "stepsim/schedule.h"
#include "stepsim/stack.h"
#include "workers/pool.h"

/* share of a sum, more than its rounding in another order */
#define ROUNDING 2e-9

/* number of leaves in an item of the pool; they share costs */
#define RUN 128

/* Axes on which layers do not depend, and those on which weights, gradients and optimizer states do not: a bit each. */
#define BESIDE_LAYERS (1u << SS_FIND_PP | 1u << SS_FIND_VP | 1u << SS_FIND_SCHEDULE)
#define BESIDE_STATES (1u << SS_FIND_MBS | 1u << SS_FIND_RECOMPUTE)

/* What is shared, told apart in keys. */
enum { OF_LAYERS = 2, OF_STATES, OF_SEQUENCES };

/* ---- bounds that layouts share ---- */

struct ss_find_costs {
    const struct ss_find_space *space;
    const struct ss_bands *bands;
    const struct ss_find_known *known; /* NULL: whatever was decided before, all bounds are wanted */
    struct ss_cache *cache;
    struct ss_map at;
    struct ss_map large; /* layouts whose weights, gradients and optimizer states alone do not fit */
    /* [cluster]: what its model says, which is that of all its leaves; known 0: nothing yet */
    struct traits {
        signed char known, alike, hybrid;
    } * traits;
    int64_t made; /* by ss_plan_bounds_find */
    int n;
    size_t cap;
    struct entry {
        struct ss_plan_bounds least;
        int known; /* 0: nothing is known about them yet */
        struct ss_find_flight flight;
    } * entry;
};

static uint64_t mix(uint64_t h, int64_t value)
{
    return ss_mix64(h * 0x9e3779b97f4a7c15ULL + (uint64_t)value + 1);
}

/* Returns what the model of a cluster's jobs says, which is asked once. */
static const struct traits *traits_of(const struct ss_find_cluster *c, const struct ss_job *job,
                                      struct ss_find_costs *shared)
{
    struct traits *t = &shared->traits[c - shared->space->clusters];
    if (!t->known)
        *t = (struct traits){1, (signed char)ss_layers_alike(job),
                             (signed char)ss_layer_any_other(&job->model)};
    return t;
}

/* Returns a key of what layouts share that differ in axes of these kinds, a bit each. `of` tells one thing that is shared from others. */
static uint64_t key_without(unsigned kinds, int of, const struct ss_find_cluster *c,
                            const struct ss_find_leaf *leaf)
{
    uint64_t h = mix(mix((uint64_t)leaf->cluster, of), ss_find_switches_of(leaf->at));
    for (int a = 0; a < c->naxes; a++)
        h = mix(h, kinds >> c->axes[a].kind & 1 ? -1 : leaf->at[a]);
    return h;
}

/* Returns a key that layouts share if their ranks have equal costs: the schedule does not matter, nor do
 * the chunks where all layers are alike. */
static uint64_t key_of(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                       const struct ss_job *job, int alike)
{
    int even = ss_plan_bounds_is_even(job, alike);
    uint64_t h = key_without(1u << SS_FIND_SCHEDULE | (unsigned)even << SS_FIND_VP, even, c, leaf);
    return mix(mix(h, job->last_stage_layers), job->account_for_embedding);
}

/* Finds the entry of a key, or makes one and sets *is_new. Error: SS_ERR_NOMEM. */
static int entry_at(struct ss_find_costs *shared, uint64_t key, int *is_new, int *out)
{
    *out = ss_map_get(&shared->at, key);
    *is_new = *out < 0;
    if (!*is_new)
        return SS_OK;
    if (ss_grow(&shared->entry, &shared->cap, (size_t)shared->n + 1, sizeof *shared->entry) ||
        ss_map_put(&shared->at, key, shared->n) < 0)
        return SS_ERR_NOMEM;
    *out = shared->n++;
    return SS_OK;
}

/* Keeps what layers take for layouts with other stages: of the fewest microbatches, and of as many kinds as one first stage has. */
static int keep_layers(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                       const struct ss_layer_bounds layers, struct ss_find_costs *shared)
{
    int is_new, i;
    if (!layers.kinds)
        return SS_OK;
    SS_TRY(entry_at(shared, key_without(BESIDE_LAYERS, OF_LAYERS, c, leaf), &is_new, &i));
    struct ss_layer_bounds *kept = &shared->entry[i].least.layers;
    if (is_new || layers.kinds > kept->kinds ||
        (layers.kinds == kept->kinds && layers.microbatches < kept->microbatches))
        *kept = layers;
    SS_TRY(
        entry_at(shared, key_without(BESIDE_LAYERS | 1u << SS_FIND_MBS, OF_SEQUENCES, c, leaf), &is_new, &i));
    kept = &shared->entry[i].least.layers;
    if (is_new || layers.micro_batch > kept->micro_batch)
        *kept = layers;
    return SS_OK;
}

/* Returns what the layers of a leaf take at least, s, by those of a larger micro batch, whose kernels are better; 0: not known. */
static double scale_layers(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                           const struct ss_job *job, int microbatches, const struct ss_find_costs *shared)
{
    double work;
    int i = ss_map_get(&shared->at, key_without(BESIDE_LAYERS | 1u << SS_FIND_MBS, OF_SEQUENCES, c, leaf));
    if (i < 0)
        return 0;
    struct ss_layer_bounds layers = shared->entry[i].least.layers;
    if (layers.micro_batch < job->micro_batch)
        return 0;
    layers.microbatches = 0; /* the margin has what they differ in */
    return ss_plan_bounds_by_layers(&layers, job, c->stack, c->platform, microbatches, &work) *
           (1 - SS_FIND_TILES) * job->micro_batch / layers.micro_batch;
}

/* Finds what the layers of a leaf take alone, s, and of the mean rank, by those of leaves with other stages or its own, or of another micro
 * batch where that is more than `most`; 0: not known. Error: SS_ERR_NOMEM. */
static int find_by_layers(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                          const struct ss_job *job, int microbatches, double most,
                          struct ss_find_costs *shared, double *out, double *work)
{
    struct ss_plan_bounds first;
    *out = *work = 0;
    if (!ss_plan_bounds_is_megatrons(job) || !ss_plan_bounds_has_layers(job, c->stack, c->platform))
        return SS_OK;
    int i = ss_map_get(&shared->at, key_without(BESIDE_LAYERS, OF_LAYERS, c, leaf)), rc = SS_OK;
    if (i < 0 && most > 0 && (*out = scale_layers(c, leaf, job, microbatches, shared)) > most)
        return SS_OK;
    if (i < 0) {
        rc = ss_plan_bounds_find(job, c->stack, c->platform, -1, shared->cache, &first, NULL);
        rc = rc ? rc : keep_layers(c, leaf, first.layers, shared);
        i = ss_map_get(&shared->at, key_without(BESIDE_LAYERS, OF_LAYERS, c, leaf));
    }
    if (i >= 0)
        *out = ss_plan_bounds_by_layers(&shared->entry[i].least.layers, job, c->stack, c->platform,
                                        microbatches, work) *
               (1 - ROUNDING);
    *work *= 1 - ROUNDING;
    return rc == SS_ERR_NOMEM ? rc : SS_OK;
}

/* Finds the costs that a leaf shares. *out is -1 where they cannot be known. Error: SS_ERR_NOMEM. */
static int find_shared(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                       const struct ss_job *job, struct ss_find_costs *shared, int *out)
{
    int is_new, i, rc = entry_at(shared, key_of(c, leaf, job, traits_of(c, job, shared)->alike), &is_new, &i);
    if (!rc && is_new) {
        int found =
            ss_plan_bounds_find(job, c->stack, c->platform, 0, shared->cache, &shared->entry[i].least, NULL);
        shared->entry[i].known = !found;
        shared->made++;
        rc = found == SS_ERR_NOMEM ? found
             : found               ? SS_OK
                                   : keep_layers(c, leaf, shared->entry[i].least.layers, shared);
        if (!found && shared->entry[i].least.states > ss_platform_card(c->platform)->device_memory &&
            ss_map_put(&shared->large, key_without(BESIDE_STATES, OF_STATES, c, leaf), 1) < 0)
            rc = SS_ERR_NOMEM;
    }
    *out = !rc && shared->entry[i].known ? i : -1;
    return rc;
}

/* Finds what the order of a schedule says, once for all layouts with the same stages, chunks and
 * microbatches. */
static int find_flight(const struct ss_job *job, int microbatches, struct ss_find_costs *shared,
                       struct ss_find_flight *out)
{
    uint64_t key = mix(mix(mix(1, job->pp), ss_job_chunks(job)), microbatches);
    int is_new, i, rc;
    for (const char *c = job->schedule; *c; c++)
        key = mix(key, *c);
    rc = entry_at(shared, mix(key, job->microbatch_group_size), &is_new, &i);
    if (!rc && is_new)
        rc = ss_find_flight(job, microbatches, &shared->entry[i].flight);
    if (!rc)
        *out = shared->entry[i].flight;
    return rc;
}

/* ---- all leaves ---- */

/* Sets the bounds of a leaf with block recompute: the time with the fewest layers with which it may surely
 * fit, and the memory with the most. */
static int bound_block(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                       const struct ss_job *job, const struct ss_find_flight *flight,
                       struct ss_find_costs *shared, struct ss_find_bounds *out)
{
    const double room = c->room;
    int e[2], microbatches = ss_job_microbatches(job, c->world_size), rc = SS_OK;
    int most = ss_find_block_most(c, leaf, job), alike = traits_of(c, job, shared)->alike;
    struct ss_find_leaf at[2];
    struct ss_job jobs[2];
    struct ss_find_bounds last = {0};
    ss_find_block_ends(c, leaf, job, at, jobs);
    for (int end = 0; end < 2 && !rc; end++)
        rc = find_shared(c, &at[end], &jobs[end], shared, &e[end]);
    out->layers = most > 0;
    if (!rc && most < 1 && e[1] >= 0) {
        ss_find_bounds_set(&shared->entry[e[1]].least, flight, job, c->stack, microbatches, &last);
        out->least_bytes = last.least_bytes;
    }
    if (rc || most < 1 || e[0] < 0 || e[1] < 0)
        return rc;
    const struct ss_plan_bounds ends[2] = {shared->entry[e[0]].least, shared->entry[e[1]].least};
    struct ss_plan_bounds least;
    ss_find_block_between(ends, job, alike, most, &least);
    ss_find_bounds_set(&least, flight, job, c->stack, microbatches, &last);
    for (int n = 1; n <= most; n++) {
        ss_find_block_between(ends, job, alike, n, &least);
        ss_find_bounds_set(&least, flight, job, c->stack, microbatches, out);
        out->layers = n;
        out->floor = n == 1 ? out->seconds : out->floor;
        if (out->bytes <= room)
            break;
    }
    if (out->bytes > room)
        out->least_bytes = INFINITY;
    out->bytes = fmin(out->bytes, last.bytes);
    return SS_OK;
}

int ss_find_bound_job(struct ss_find_costs *shared, struct ss_find_leaf *leaf, const struct ss_asked *asked,
                      struct ss_job *job, double most, int fits, struct ss_find_bounds *out)
{
    const struct ss_find_space *s = shared->space;
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    struct ss_find_flight flight = {0};
    int e, rc = SS_OK;
    memset(out, 0, sizeof *out);
    out->set = ss_find_switches_legal(s, c, asked, job, c->switches);
    ss_find_switches_set(leaf->at, out->set);
    out->decided = shared->known && ss_find_known_decided(shared->known, leaf->walk, out->set);
    if (out->decided)
        return SS_OK;
    if (fits && ss_map_get(&shared->large, key_without(BESIDE_STATES, OF_STATES, c, leaf)) >= 0) {
        out->seconds = out->work = out->bytes = out->least_bytes = INFINITY;
        return SS_OK;
    }
    int microbatches = ss_job_microbatches(job, c->world_size);
    if (!ss_plan_bounds_is_megatrons(job))
        rc = find_flight(job, microbatches, shared, &flight);
    if (!rc && ss_find_block_axis(c, leaf->at) >= 0)
        return bound_block(c, leaf, job, &flight, shared, out);
    double least = 0, work = 0;
    if (!rc && !isinf(most))
        rc = find_by_layers(c, leaf, job, microbatches, most, shared, &least, &work);
    if (least > most) {
        out->seconds = least;
        out->work = work;
        return SS_OK;
    }
    SS_THEN(rc, find_shared(c, leaf, job, shared, &e));
    if (!rc && e >= 0) {
        ss_find_bounds_set(&shared->entry[e].least, &flight, job, c->stack, microbatches, out);
        out->floor = out->seconds;
        out->work = microbatches * shared->entry[e].least.all / job->pp;
        out->loose = shared->entry[e].least.loose;
        out->unsure = ss_find_is_unsure(c, job, traits_of(c, job, shared)->hybrid, shared->bands,
                                        shared->cache, out->bytes);
    }
    return rc;
}

static int bound_leaf(const struct ss_find_space *s, const struct ss_find_leaf *plain,
                      struct ss_find_costs *shared, struct ss_find_bounds *out)
{
    struct ss_find_leaf leaf = *plain;
    struct ss_asked asked;
    struct ss_job job;
    memset(out, 0, sizeof *out);
    int rc = ss_find_plain_job(s, &leaf, &asked, &job, NULL);
    if (rc)
        return rc == SS_ERR_NOMEM ? rc : SS_OK;
    return ss_find_bound_job(shared, &leaf, &asked, &job, INFINITY, 0, out);
}

static int bound_run(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct ss_find_costs *shared = ctx; /* each worker has its own copy */
    const struct ss_find_space *s = shared->space;
    struct ss_find_bounds *out = answer;
    size_t first = (size_t)item * RUN;
    int rc = SS_OK;
    for (size_t i = 0; !rc && i < RUN && first + i < s->nleaves; i++)
        rc = bound_leaf(s, &s->leaves[first + i], shared, &out[i]);
    return rc ? ss_fail(err, rc, NULL, 0, "out of memory for the bounds of %zu layouts", s->nleaves) : rc;
}

int ss_find_costs_open(const struct ss_find_space *s, const struct ss_find_options *o,
                       const struct ss_find_known *known, struct ss_find_costs **out, struct ss_error *err)
{
    struct ss_find_costs *costs = ss_calloc(1, sizeof *costs);
    struct traits *traits = ss_calloc((size_t)s->nclusters + 1, sizeof *traits);
    int rc = costs && traits ? ss_cache_open(&costs->cache, err) : ss_nomem(err);
    if (rc) {
        SS_FREE(costs, traits);
        return rc;
    }
    costs->traits = traits;
    costs->space = s;
    costs->bands = o->run->bands;
    costs->known = known;
    if (ss_pool_forks(&o->workers, INT_MAX))
        ss_cache_share(costs->cache);
    *out = costs;
    return SS_OK;
}

void ss_find_costs_close(struct ss_find_costs *costs)
{
    if (!costs)
        return;
    ss_cache_close(costs->cache);
    ss_map_free(&costs->at);
    ss_map_free(&costs->large);
    SS_FREE(costs->entry, costs->traits, costs);
}

int64_t ss_find_costs_made(const struct ss_find_costs *costs)
{
    return costs->made;
}

/* Fills in the bounds of the present leaves, in their order. */
static int bound_all(struct ss_find_space *s, const struct ss_find_options *o,
                     const struct ss_find_known *known, struct ss_find_bounds **out, struct ss_error *err)
{
    struct ss_find_costs *costs = NULL;
    int rc = ss_find_costs_open(s, o, known, &costs, err);
    const struct ss_pool pool = {.workers = o->workers,
                                 .nitems = (int)((s->nleaves + RUN - 1) / RUN),
                                 .size = RUN * sizeof(struct ss_find_bounds),
                                 .work = bound_run,
                                 .ctx = costs};
    *out = ss_calloc((size_t)pool.nitems * RUN, sizeof **out);
    SS_THEN(rc, *out ? ss_pool_run(&pool, *out, err) : ss_nomem(err));
    ss_find_costs_close(costs);
    return rc;
}

/* Returns whether the space has the bounds of all its layouts with their switches. */
static int has_bounds(const struct ss_find_space *s)
{
    int has = s->bounds != NULL;
    for (int c = 0; c < s->nclusters; c++)
        has &= s->clusters[c].bounded == s->clusters[c].switches;
    return has;
}

/* Sets the switches and bounds of a leaf. Returns whether it stays, after it has counted it where it does not. */
static int take_bounds(struct ss_find_space *s, const struct ss_find_options *o,
                       const struct ss_find_bounds *b, struct ss_find_leaf *leaf)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    struct ss_find_group *g = &s->found->groups[leaf->cluster];
    int block = ss_find_block_axis(c, leaf->at) >= 0;
    ss_find_switches_set(leaf->at, b->set);
    if (!o->exhaustive && b->least_bytes > ss_platform_card(c->platform)->device_memory) {
        g->too_large++;
        if (!g->held[0])
            (void)ss_find_leaf_words(s, leaf, g->held, sizeof g->held, NULL);
        return 0;
    }
    if (block && !b->layers) { /* all layers are one: full recompute */
        g->bounded++;
        return 0;
    }
    if (block && !o->exhaustive)
        leaf->at[SS_FIND_BLOCK_LAYERS] = (unsigned char)b->layers;
    leaf->seconds = leaf->quick = b->seconds;
    leaf->loose = b->loose || (block && !o->exhaustive); /* else it is any number of layers */
    leaf->bytes = b->bytes;
    leaf->unsure = b->unsure;
    return 1;
}

int ss_find_bound(struct ss_find_space *s, const struct ss_find_options *o, struct ss_find_round *round,
                  struct ss_error *err)
{
    int all = !round || round->exact, rc = SS_OK;
    struct ss_find_bounds *bounds = all && has_bounds(s) ? s->bounds : NULL;
    size_t kept = 0;
    if (!s->nleaves)
        return SS_OK;
    if (!bounds)
        rc = bound_all(s, o, all ? NULL : round->known, &bounds, err);
    for (size_t i = 0; i < s->nleaves && !rc; i++) {
        struct ss_find_leaf *leaf = &s->leaves[i];
        int stays = !bounds[i].decided && take_bounds(s, o, &bounds[i], leaf);
        if (round && !bounds[i].decided) {
            ss_find_known_bound(round->known, leaf->walk, bounds[i].floor);
            stays = ss_find_known_wants(round, &s->clusters[leaf->cluster], leaf, stays, &rc, err);
        }
        if (stays && kept++ < i)
            s->leaves[kept - 1] = *leaf;
    }
    if (!rc)
        s->nleaves = kept;
    const int keeps = all && round && !rc;
    if (bounds != s->bounds)
        free(keeps ? s->bounds : bounds);
    if (keeps)
        s->bounds = bounds;
    for (int c = 0; keeps && c < s->nclusters; c++)
        s->clusters[c].bounded = s->clusters[c].switches;
    return rc;
}
