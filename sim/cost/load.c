/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/load.h"

#include "base/base.h"
#include "base/cache.h"
#include "cost/load_internal.h"

/* Working memory of one call. */
struct work {
    double *p;                           /* [SS_LOAD_TYPES][experts] */
    struct ss_load_count *expert, *rank; /* [experts], [ep] */
    struct ss_load_bell *bells;          /* [experts] */
    struct ss_load_law *law; /* [2][phases]: laws of the hottest rank, and of the hottest expert */
    double *weight;          /* [phases] */
    double *touch;           /* [ep] */
    struct ss_load_profile copies, tokens, node_tokens;
};

/* How many copies of one source an expert takes: the capacity cuts their number, and padding fills it up. */
struct cut {
    double capacity; /* INFINITY: dropless */
    int pad;
};

static int sources_of(const struct ss_load_input *in)
{
    return in->sources ? in->sources : in->ep;
}

static int check(const struct ss_load_input *in, struct ss_error *err)
{
    if (in->experts < 1 || in->top_k < 1 || in->top_k > in->experts || in->top_k > SS_LOAD_TOP_K_MAX)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "a token cannot choose %d of %d experts" SS_HINT "take a --moe-router-topk of 1 to %d",
                       in->top_k, in->experts, SS_LOAD_TOP_K_MAX);
    if (in->ep < 1 || in->experts % in->ep || in->nodes < 1 || in->ep % in->nodes)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "%d experts do not divide by %d expert-parallel ranks on %d nodes", in->experts,
                       in->ep, in->nodes);
    if (in->group_topk < 0 ||
        (in->group_topk > 0 && (in->groups < 1 || in->experts % in->groups || in->group_topk > in->groups ||
                                (long)in->group_topk * (in->experts / in->groups) < in->top_k)))
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "%d of %d experts cannot be of %d of %d router groups" SS_HINT
                       "take a larger --moe-router-group-topk, or fewer groups by --moe-router-num-groups",
                       in->top_k, in->experts, in->group_topk, in->groups);
    if (!(in->tokens > 0) || sources_of(in) < 1 || !(in->capacity_factor >= 0) || !(in->exponent >= 0) ||
        in->draws < 0 || in->draws > SS_LOAD_DRAWS_MAX)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "tokens, their sources, the capacity and the skew of a load are no negative numbers, "
                       "and draws at most %d",
                       SS_LOAD_DRAWS_MAX);
    return SS_OK;
}

/* Cuts a normal count of copies, with this mean and variance, to what an expert takes of one source. Returns
 * the mean number of dropped copies. */
static double cut(const struct cut *cut, struct ss_load_count *c)
{
    double mean = c->mean, sigma = sqrt(c->variance);
    if (isinf(cut->capacity))
        return 0;
    if (sigma > 0) {
        double z = (cut->capacity - mean) / sigma;
        double density = 0.3989422804014327 * exp(-z * z / 2), over = erfc(z * 0.7071067811865476) / 2;
        double first = z * over - density, second = 1 - over - z * density + z * z * over;
        c->mean = fmin(cut->capacity, mean + sigma * first);
        c->variance = fmax(0, c->variance * (second - first * first));
        c->third = 0;
    } else {
        c->mean = fmin(mean, cut->capacity);
    }
    double dropped = fmax(0, mean - c->mean);
    if (cut->pad)
        *c = (struct ss_load_count){.mean = cut->capacity};
    return dropped;
}

/* Returns the most copies of one source that an expert takes. */
static double capacity_of(const struct ss_load_input *in)
{
    double even = in->tokens * in->top_k / in->experts / sources_of(in);
    return in->capacity_factor > 0 ? ceil(in->capacity_factor * even) : INFINITY;
}

/* Computes the counts of all experts and ranks in a pass. Returns the share of copies that is dropped. */
static double count(const struct ss_load_input *in, const struct ss_load_phase *phase, const struct work *w)
{
    const double sources = sources_of(in), tokens = in->tokens / sources;
    const struct cut limit = {capacity_of(in), in->pad_to_capacity && in->capacity_factor > 0};
    const double together = phase->repeated ? sources : 1;
    double dropped = 0, draws[SS_LOAD_TYPES];
    for (int t = 0; t < phase->types; t++) {
        int open = 0; /* experts that a token may choose or leave out */
        for (int e = 0; e < in->experts; e++)
            open += phase->p[t][e] > 0 && phase->p[t][e] < 1;
        /* A token chooses a fixed number of experts; single choices vary more before their sum is fixed. */
        draws[t] = phase->even || open < 2 ? 0 : tokens * phase->share[t] * open / (open - 1);
    }
    for (int r = 0; r < in->ep; r++)
        w->rank[r] = (struct ss_load_count){.mean = 0};
    for (int e = 0; e < in->experts; e++) {
        struct ss_load_count c = {.mean = 0}, *rank = &w->rank[e / (in->experts / in->ep)];
        for (int t = 0; t < phase->types; t++) {
            const double p = phase->p[t][e], v = draws[t] * p * (1 - p);
            c.mean += tokens * phase->share[t] * p;
            c.variance += v;
            c.third += v * (1 - 2 * p);
        }
        dropped += cut(&limit, &c);
        c.mean *= sources;
        c.variance *= sources * together;
        c.third *= sources * together * together;
        w->expert[e] = c;
        rank->mean += c.mean;
        rank->variance += c.variance;
        rank->third += c.third;
    }
    return dropped / (tokens * in->top_k);
}

/* Counts the distinct tokens that come to each block of experts (rank, node). Adds a token's mean number of
 * blocks to *sum, and to *most the tokens of the largest block over those that a block routes. */
static int reach(const struct ss_load_input *in, const struct ss_load_phase *phase, int blocks,
                 struct work *w, struct ss_load_profile *profile, double *sum, double *most)
{
    const double together = phase->repeated ? sources_of(in) : 1;
    struct ss_load_law law;
    for (int b = 0; b < blocks; b++)
        w->touch[b] = phase->in_turn ? ss_load_reach_in_turn(in, blocks) / blocks : 0;
    for (int t = 0; t < phase->types && !phase->in_turn; t++) {
        SS_TRY(ss_load_reach(in, phase->p[t], blocks, phase->share[t], w->touch));
    }
    for (int b = 0; b < blocks; b++) {
        const double p = w->touch[b] = fmin(1, w->touch[b]),
                     v = phase->even ? 0 : in->tokens * together * p * (1 - p);
        w->rank[b] = (struct ss_load_count){in->tokens * p, v, v * together * (1 - 2 * p)};
        *sum += phase->weight * p;
    }
    ss_load_profile_add(profile, w->touch, phase->weight);
    ss_load_law_init(&law, w->rank, blocks, 0, in->tokens, 1, w->bells);
    *most += phase->weight * law.mean * blocks / in->tokens;
    return SS_OK;
}

static int add_phase(const struct ss_load_input *in, int i, int phases, struct work *w,
                     struct ss_load_figures *f, struct ss_error *err)
{
    struct ss_load_phase phase = {.p = {w->p, w->p + in->experts}};
    struct ss_load_law *rank = &w->law[i], *expert = &w->law[phases + i], coldest;
    const double copies = in->tokens * in->top_k, most = capacity_of(in) * sources_of(in);
    SS_TRY(ss_load_phase(in, i, &phase, err));
    double dropped = count(in, &phase, w), mean = 0, spread = 0;
    for (int r = 0; r < in->ep; r++) {
        mean += w->rank[r].mean / in->experts;
        spread += w->rank[r].variance;
        w->touch[r] = w->rank[r].mean;
    }
    ss_load_profile_add(&w->copies, w->touch, phase.weight);
    ss_load_law_init(rank, w->rank, in->ep, spread, most * in->experts / in->ep, 1, w->bells);
    ss_load_law_init(&coldest, w->rank, in->ep, spread, INFINITY, -1, w->bells);
    ss_load_law_init(expert, w->expert, in->experts, spread, most, 1, w->bells);
    w->weight[i] = phase.weight;
    f->rank.mean += phase.weight * rank->mean * in->ep / copies;
    f->expert.mean += phase.weight * expert->mean * in->experts / copies;
    f->coldest_rank += phase.weight * fmax(0, -coldest.mean) * in->ep / copies;
    f->dropped += phase.weight * dropped;
    f->expert_copies += phase.weight * mean;
    int status = reach(in, &phase, in->nodes, w, &w->node_tokens, &f->nodes, &f->hottest_node_tokens);
    if (status == SS_OK)
        status = reach(in, &phase, in->ep, w, &w->tokens, &f->ranks, &f->hottest_rank_tokens);
    return status == SS_OK ? status : ss_fail(err, status, NULL, 0, "out of memory");
}

/* Returns the value that a figure stays below with this probability in a pass of any phase. */
static double percentile(const struct ss_load_law *law, const double *weight, int phases, double p)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < phases; i++) {
        low = fmin(low, law[i].low);
        high = fmax(high, law[i].low + law[i].step * (SS_LOAD_POINTS - 1));
    }
    for (int n = 0; n < 50 && high > low; n++) {
        double middle = (low + high) / 2, below = 0;
        for (int i = 0; i < phases; i++)
            below += weight[i] * ss_load_law_at(&law[i], middle);
        if (below < p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void set_percentiles(struct ss_load_spread *s, const struct ss_load_law *law, const double *weight,
                            int phases, double share)
{
    s->p50 = percentile(law, weight, phases, 0.5) / share;
    s->p90 = percentile(law, weight, phases, 0.9) / share;
    s->p99 = percentile(law, weight, phases, 0.99) / share;
}

static int figures(const struct ss_load_input *in, int phases, struct work *w, struct ss_load_figures *f,
                   struct ss_error *err)
{
    const double copies = in->tokens * in->top_k;
    for (int i = 0; i < phases; i++) {
        SS_TRY(add_phase(in, i, phases, w, f, err));
    }
    set_percentiles(&f->rank, w->law, w->weight, phases, copies / in->ep);
    set_percentiles(&f->expert, w->law + phases, w->weight, phases, copies / in->experts);
    f->remote_nodes = f->nodes * (1 - 1.0 / in->nodes);
    f->remote_ranks = f->ranks * (1 - 1.0 / in->ep);
    f->source = ss_load_source(in);
    return SS_OK;
}

/* Ends the three profiles and fills what ranks route. */
static void end_profiles(const struct ss_load_input *in, struct work *w, const struct ss_load_figures *f,
                         struct ss_load_ranks *ranks)
{
    ss_load_profile_end(&w->copies, 1);
    ss_load_profile_end(&w->tokens, f->ranks / in->ep);
    ss_load_profile_end(&w->node_tokens, f->nodes / in->nodes);
    ss_load_sources(f->source, in->ep, ranks->sources);
}

int ss_load_figures(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_error *err)
{
    struct ss_load_ranks none = {NULL, NULL, NULL, NULL};
    return ss_load_by_rank(in, out, &none, err);
}

int ss_load_by_rank(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_load_ranks *ranks,
                    struct ss_error *err)
{
    struct ss_load_figures f = {.source = 0};
    int status = check(in, err), phases = status < 0 ? status : ss_load_phases(in, err);
    if (phases < 0)
        return phases;
    struct work w = {.copies = {.n = in->ep, .share = ranks->copies},
                     .tokens = {.n = in->ep, .share = ranks->tokens},
                     .node_tokens = {.n = in->nodes, .share = ranks->node_tokens},
                     .p = ss_calloc((size_t)in->experts * SS_LOAD_TYPES, sizeof *w.p),
                     .expert = ss_calloc((size_t)in->experts, sizeof *w.expert),
                     .rank = ss_calloc((size_t)in->ep, sizeof *w.rank),
                     .bells = ss_calloc((size_t)in->experts, sizeof *w.bells),
                     .law = ss_calloc((size_t)phases * 2, sizeof *w.law),
                     .touch = ss_calloc((size_t)in->ep, sizeof *w.touch),
                     .weight = ss_calloc((size_t)phases, sizeof *w.weight)};
    status = w.p && w.expert && w.rank && w.bells && w.law && w.touch && w.weight
                 ? figures(in, phases, &w, &f, err)
                 : ss_nomem(err);
    SS_FREE(w.p, w.expert, w.rank, w.bells, w.law, w.weight, w.touch);
    if (status == SS_OK && ranks->sources)
        end_profiles(in, &w, &f, ranks);
    if (status == SS_OK)
        *out = f;
    return status;
}

/* ---- kept loads ---- */

struct kept {
    struct ss_load_figures figures;
    double by_rank[]; /* what each rank and node sends and gets, where that was asked for */
};

/* Copies what each rank and node sends and gets to or from where it is kept. */
static void copy_ranks(const struct ss_load_input *in, const struct ss_load_ranks *ranks, double *kept,
                       int back)
{
    double *const list[] = {ranks->copies, ranks->tokens, ranks->sources, ranks->node_tokens};
    for (int i = 0; i < 4; i++) {
        size_t n = (size_t)(i < 3 ? in->ep : in->nodes) * sizeof **list;
        memcpy(back ? list[i] : kept + i * in->ep, back ? kept + i * in->ep : list[i], n);
    }
}

static struct ss_cache_key key_of(const struct ss_load_input *in, int by_rank)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_LOAD);
    struct ss_load_input numbers = *in;
    numbers.workload = NULL;
    ss_cache_mix_bytes(&key, &numbers, sizeof numbers);
    ss_cache_mix(&key, (uint64_t)by_rank);
    if (in->workload)
        ss_cache_mix_bytes(&key, in->workload, strlen(in->workload));
    return key;
}

int ss_load_by_rank_kept(struct ss_cache *cache, const struct ss_load_input *in, struct ss_load_figures *out,
                         struct ss_load_ranks *ranks, struct ss_error *err)
{
    if (!cache || in->loads)
        return ss_load_by_rank(in, out, ranks, err);
    const int by_rank = ranks->sources != NULL;
    const struct ss_cache_key key = key_of(in, by_rank);
    struct kept *kept = ss_cache_take(cache, key);
    if (kept) {
        *out = kept->figures;
        if (by_rank)
            copy_ranks(in, ranks, kept->by_rank, 1);
        ss_cache_give_back(cache, key);
        return SS_OK;
    }
    SS_TRY(ss_load_by_rank(in, out, ranks, err));
    const size_t bytes = sizeof *kept + by_rank * (3 * (size_t)in->ep + (size_t)in->nodes) * sizeof(double);
    kept = malloc(bytes);
    if (!kept)
        return SS_OK; /* the next call computes it again */
    kept->figures = *out;
    if (by_rank)
        copy_ranks(in, ranks, kept->by_rank, 0);
    if (ss_cache_put(cache, key, kept, bytes, free))
        free(kept);
    else
        ss_cache_give_back(cache, key);
    return SS_OK;
}
