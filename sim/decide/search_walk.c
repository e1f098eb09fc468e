/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over all layouts, and keeps those that the framework accepts by the rules of ss_scenario_build, with their bounds. The
 * outer axes are walked here: where they refuse a layout, all below are refused. What is below other values of them is one slice
 * for each micro batch, and slices are dealt to workers. Layouts of equal outer axes and micro batch share costs, so that a slice
 * has all of them.
 */
#include "base/base.h"
#include "base/map.h"
#include "decide/search_internal.h"
#include "workers/pool.h"

/* The most layouts of one slice. */
#define SLICE 16384
/* More slices are too much to deal: then one has all micro batches below the same outer values. */
#define MANY 4096

/* Layouts with the same values of the outer axes, and of the micro batch unless `micro` is -1: the index of its value. */
struct slice {
    int cluster, prefix; /* prefix: number of these values */
    int micro;
    unsigned char at[SS_FIND_MOST_AXES];
};

/* One layout that is kept, or layouts that are refused by one rule. */
struct record {
    unsigned char at[SS_FIND_NUMBERS]; /* of the first layout */
    unsigned char legal;
    union {
        struct ss_find_bounds bounds;
        struct {
            uint64_t rule; /* hash of what tells the rule from others */
            int64_t n;
        } refused;
    } is;
};
struct answer {
    int64_t asked, priced;               /* layouts that were asked for, and costs that were made */
    int64_t too_slow, too_large;         /* legal layouts that are so, whatever is recomputed */
    unsigned char held[SS_FIND_NUMBERS]; /* the first that is too large */
    int n;
    struct record record[];
};

/* Layouts of a cluster that are refused by one rule. */
struct refusal {
    int cluster;
    struct record first;
};

struct walk {
    struct ss_find_space *space;
    int cluster, outer; /* outer: the number of outer axes */
    int axis, micro;    /* axis of the micro batch, and the index of its only value; -1: all of them */
    struct ss_find_limit limit;
    unsigned char at[SS_FIND_NUMBERS];
    int64_t below[SS_FIND_MOST_AXES + 1]; /* [n]: layouts that share the values of the first n axes */
    int cut; /* number of axes that a refusal holds for; -1: nothing was refused */
    int64_t asked;
    struct ss_find_refusal why, split; /* split: a micro batch's that splits the batch */
    struct all *all;                   /* the walk over the outer axes */
    struct answer *answer;             /* or that over a slice */
};

struct all {
    struct ss_find_space *space;
    struct ss_find_costs *costs; /* NULL: no bounds */
    const double *below;         /* [cluster]: only layouts faster than this, s, are wanted; NULL: all */
    struct slice *slice;
    size_t nslices, cap_slices;
    int nprefixes;
    struct refusal *refusal;
    size_t nrefusals, cap_refusals;
    struct ss_map known; /* by cluster and rule: the index of its refusal */
    size_t cap_bounds;
};

/* ---- what a walk finds ---- */

static int note_refusal(struct all *all, int cluster, const struct record *r, struct ss_error *err)
{
    uint64_t key = ss_mix64(r->is.refused.rule + (uint64_t)cluster);
    int i = ss_map_get(&all->known, key);
    if (i < 0) {
        SS_NEED(!ss_grow(&all->refusal, &all->cap_refusals, all->nrefusals + 1, sizeof *all->refusal) &&
                    ss_map_put(&all->known, key, (int)all->nrefusals) >= 0,
                err);
        all->refusal[all->nrefusals++] = (struct refusal){cluster, *r};
        return SS_OK;
    }
    struct record *first = &all->refusal[i].first;
    int64_t n = first->is.refused.n + r->is.refused.n;
    if (memcmp(r->at, first->at, sizeof r->at) < 0)
        *first = *r;
    first->is.refused.n = n;
    return SS_OK;
}

/* Counts n layouts, of which w->at is the first, as refused by w->why. */
static int refuse(struct walk *w, int64_t n, struct ss_error *err)
{
    uint64_t rule = ss_hash(SS_HASH_INIT, w->why.flags, strlen(w->why.flags)) + (uint64_t)w->why.code;
    if (!n)
        return SS_OK;
    for (int i = 0; w->answer && i < w->answer->n; i++) {
        struct record *r = &w->answer->record[i];
        if (!r->legal && r->is.refused.rule == rule) {
            r->is.refused.n += n;
            return SS_OK;
        }
    }
    struct record r = {.is.refused = {rule, n}};
    memcpy(r.at, w->at, sizeof r.at);
    if (w->all)
        return note_refusal(w->all, w->cluster, &r, err);
    w->answer->record[w->answer->n++] = r;
    return SS_OK;
}

static int keep(struct walk *w, const struct ss_asked *asked, struct ss_job *job, struct ss_find_costs *costs)
{
    struct record *r = &w->answer->record[w->answer->n++];
    struct ss_find_leaf leaf = {.cluster = w->cluster};
    memset(r, 0, sizeof *r);
    memcpy(r->at, w->at, sizeof r->at);
    r->legal = 1;
    memcpy(leaf.at, w->at, sizeof leaf.at);
    return costs ? ss_find_bound_job(costs, &leaf, asked, job, INFINITY, 0, &r->is.bounds) : SS_OK;
}

/* ---- the walk ---- */

/* Asks for the layout of `asked`. Where it is refused sets w->cut and w->why. */
static int ask(struct walk *w, const struct ss_asked *asked, struct ss_job *job, struct ss_error *err)
{
    const struct ss_find_cluster *c = &w->space->clusters[w->cluster];
    w->asked++;
    int rc = ss_find_ask(w->space, c, asked, job, &w->why, err);
    w->cut = w->why.code ? ss_find_reach(c, w->why.flags) + 1 : -1;
    return rc;
}

/* Asks for the first layout below an axis, which *asked and *job become, and counts all that are refused with it by the axes above. */
static int probe(struct walk *w, int depth, struct ss_asked *asked, struct ss_job *job, struct ss_error *err)
{
    const struct ss_find_cluster *c = &w->space->clusters[w->cluster];
    memset(w->at + depth, 0, (size_t)(c->naxes - depth));
    int rc = ss_find_set(c, w->at, depth, c->naxes, asked, err);
    SS_THEN(rc, ask(w, asked, job, err));
    if (rc || w->cut < 0)
        return rc;
    if (w->cut <= depth)
        return refuse(w, w->below[depth], err);
    w->cut = -1;
    return SS_OK;
}

/* Adds the slices below the outer axes. */
static int add_slices(struct walk *w, struct ss_error *err)
{
    struct all *all = w->all;
    int n = w->axis >= w->outer ? w->space->clusters[w->cluster].axes[w->axis].n : 1;
    SS_NEED(!ss_grow(&all->slice, &all->cap_slices, all->nslices + (size_t)n, sizeof *all->slice), err);
    for (int i = 0; i < n; i++) {
        struct slice *s = &all->slice[all->nslices++];
        *s = (struct slice){w->cluster, all->nprefixes, w->axis >= w->outer ? i : -1, {0}};
        memcpy(s->at, w->at, sizeof s->at);
    }
    all->nprefixes++;
    return SS_OK;
}

static int end_walk(struct walk *w, const struct ss_asked *asked, struct ss_find_costs *costs,
                    struct ss_error *err)
{
    struct ss_job job;
    SS_TRY(ask(w, asked, &job, err));
    return w->cut < 0 ? keep(w, asked, &job, costs) : refuse(w, 1, err);
}

/* Finds whether all layouts below the axis of recompute are left out, and counts them then. */
static int leave_out(struct walk *w, int depth, const struct ss_asked *asked, const struct ss_job *first,
                     struct ss_find_costs *costs, int *out, struct ss_error *err)
{
    const int64_t values = w->space->clusters[w->cluster].axes[depth].n, all = w->below[depth + 1];
    struct ss_find_leaf leaf = {.cluster = w->cluster};
    struct ss_find_least least;
    memcpy(leaf.at, w->at, sizeof leaf.at);
    SS_TRY(ss_find_leave_out(w->space, &w->limit, &leaf, depth, asked, first, costs, &least, err));
    if (!(*out = least.left_out))
        return SS_OK;
    int64_t *counted = least.left_out == SS_FIND_TOO_SLOW ? &w->answer->too_slow : &w->answer->too_large;
    if (!w->answer->too_large)
        memcpy(w->answer->held, least.held, sizeof least.held);
    *counted += least.legal * values;
    if (least.legal == all)
        return SS_OK;
    w->why = least.why;
    memcpy(w->at, least.refused, sizeof w->at);
    return refuse(w, (all - least.legal) * values, err);
}

/* Visits all values of the axis `depth` and of the axes below it; of *asked nothing may be read behind it. Once a micro batch is refused because it
 * splits the batch, which is asked before anything that reads micro batches, others that split it are refused without being asked. */
static int visit(struct walk *w, int depth, struct ss_asked *asked, struct ss_find_costs *costs,
                 struct ss_error *err)
{
    struct ss_find_cluster *c = &w->space->clusters[w->cluster];
    int one = depth == w->axis && w->micro >= 0, from = one ? w->micro : 0, out = 0, rc = SS_OK;
    int to = one ? from + 1 : depth < c->naxes ? c->axes[depth].n : 0;
    struct ss_job job;
    if (w->all && depth == w->outer) {
        rc = probe(w, depth, asked, &job, err);
        return rc || w->cut >= 0 ? rc : add_slices(w, err);
    }
    if (depth == c->naxes)
        return end_walk(w, asked, costs, err);
    int above = w->limit.most_s > 0 && c->axes[depth].kind == SS_FIND_RECOMPUTE && depth + 2 >= c->naxes;
    if (above || (one && from > 0)) { /* as if the axis began with its first value */
        struct ss_asked first = *asked;
        rc = probe(w, depth, &first, &job, err);
        if (above && !rc && w->cut < 0)
            rc = leave_out(w, depth, asked, &job, costs, &out, err);
        if (rc || w->cut >= 0 || out)
            return rc;
    }
    for (int i = from, known = 0; i < to && !rc; i++) {
        struct ss_asked copy, *next = i + 1 < to ? memcpy(&copy, asked, sizeof copy) : asked;
        w->at[depth] = (unsigned char)i;
        int splits = depth == w->axis && ss_find_splits_batch(c, w->axis, i, asked);
        if (splits && known) {
            memset(w->at + depth + 1, 0, (size_t)(c->naxes - depth - 1));
            w->why = w->split;
            rc = refuse(w, w->below[depth + 1], err);
            continue;
        }
        w->limit.slow = depth < w->axis ? -1 : w->limit.slow;
        rc = ss_find_set(c, w->at, depth, depth + 1, next, err);
        SS_THEN(rc, visit(w, depth + 1, next, costs, err));
        if (rc || w->cut < 0)
            continue;
        if (w->cut <= depth) /* axes above decide the refusal: other values of this axis are refused, too */
            return refuse(w, w->below[depth + 1] * (to - i - 1), err);
        if (splits && w->cut == depth + 1) {
            w->split = w->why;
            known = 1;
        }
        w->cut = -1;
    }
    return rc;
}

/* Begins a walk: over the outer axes of a cluster, or below them with one micro batch. */
static struct walk begin(struct ss_find_space *s, int cluster, int micro)
{
    const struct ss_find_cluster *c = &s->clusters[cluster];
    struct walk w = {.space = s,
                     .cluster = cluster,
                     .axis = -1,
                     .limit = {.slow = -1},
                     .micro = micro,
                     .cut = -1,
                     .at = {[SS_FIND_BLOCK_LAYERS] = 1}};
    int64_t inner = 1;
    for (int a = 0; a < c->naxes; a++) {
        w.outer += c->axes[a].kind <= SS_FIND_EP;
        w.axis = c->axes[a].kind == SS_FIND_MBS ? a : w.axis;
    }
    for (int a = w.outer; a < c->naxes; a++)
        inner *= a == w.axis ? 1 : c->axes[a].n;
    for (; inner > SLICE; w.outer++)
        inner /= w.outer == w.axis ? 1 : c->axes[w.outer].n;
    w.below[c->naxes] = 1;
    for (int a = c->naxes - 1; a >= 0; a--)
        w.below[a] = w.below[a + 1] * (a == w.axis && micro >= 0 ? 1 : c->axes[a].n);
    return w;
}

/* ---- slices ---- */

static int walk_slice(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct all *all = ctx;
    const struct slice *slice = &all->slice[item];
    const struct ss_find_cluster *c = &all->space->clusters[slice->cluster];
    struct walk w = begin(all->space, slice->cluster, slice->micro);
    struct ss_asked asked = c->asked;
    int64_t made = all->costs ? ss_find_costs_made(all->costs) : 0;
    w.limit.most_s = all->below ? all->below[slice->cluster] : 0;
    w.answer = answer;
    w.answer->n = 0;
    w.answer->too_slow = w.answer->too_large = 0;
    memset(w.answer->held, 0, sizeof w.answer->held);
    memcpy(w.at, slice->at, (size_t)w.outer);
    int rc = ss_find_set(c, w.at, 0, w.outer, &asked, err);
    SS_THEN(rc, visit(&w, w.outer, &asked, all->costs, err));
    w.answer->asked = w.asked;
    w.answer->priced = all->costs ? ss_find_costs_made(all->costs) - made : 0;
    return rc;
}

static size_t used(const void *answer)
{
    const struct answer *a = answer;
    return sizeof *a + (size_t)a->n * sizeof *a->record;
}

static uint64_t home_of(void *ctx, int item)
{
    const struct all *all = ctx;
    return (uint64_t)all->slice[item].prefix;
}

/* ---- what becomes of them ---- */

static void keep_leaf(struct all *all, int cluster, const struct record *r)
{
    struct ss_find_space *s = all->space;
    struct ss_find_leaf *leaf = &s->leaves[s->nleaves];
    *leaf = (struct ss_find_leaf){.cluster = cluster, .walk = (int)s->nleaves};
    memcpy(leaf->at, r->at, sizeof leaf->at);
    if (all->costs)
        s->bounds[s->nleaves] = r->is.bounds;
    s->nleaves++;
}

/* What is left of the answer of a slice. */
struct rest {
    const struct record *next, *end;
};

/* Takes the refusals that r begins with, and puts it among n others in the order of the walk: mostly behind them. */
static int put(struct all *all, int cluster, struct rest r, struct rest *others, int *n, struct ss_error *err)
{
    int i = *n;
    for (; r.next < r.end && !r.next->legal; r.next++)
        SS_TRY(note_refusal(all, cluster, r.next, err));
    if (r.next == r.end)
        return SS_OK;
    for (; i > 0 && memcmp(r.next->at, others[i - 1].next->at, SS_FIND_MOST_AXES) < 0; i--)
        others[i] = others[i - 1];
    others[i] = r;
    *n += 1;
    return SS_OK;
}

/* Takes the refusals of slices of one prefix, and their layouts in the order of the walk: in that of `axes` axes, and of one slice
 * as long as these are the same. */
static int take_slices(struct all *all, int cluster, struct answer *const *answers, int n, int axes,
                       struct ss_error *err)
{
    struct rest rest[SS_SWEEP_VALUES];
    int left = 0, rc = SS_OK;
    for (int i = 0; i < n && !rc; i++)
        rc = put(all, cluster, (struct rest){answers[i]->record, answers[i]->record + answers[i]->n}, rest,
                 &left, err);
    while (!rc && left) {
        struct rest r = rest[0];
        const struct record *first = r.next;
        for (; r.next < r.end && r.next->legal && !memcmp(r.next->at, first->at, (size_t)axes); r.next++)
            keep_leaf(all, cluster, r.next);
        memmove(rest, rest + 1, (size_t)--left * sizeof *rest);
        rc = put(all, cluster, r, rest, &left, err);
    }
    return rc;
}

/* Counts what a slice has done and left out; the first too large layout of a cluster stands for those that it holds. */
static void count(struct ss_find_space *s, int cluster, const struct answer *a)
{
    struct ss_find_group *g = &s->found->groups[cluster];
    struct ss_find_leaf leaf = {.cluster = cluster};
    s->counts.slices++;
    s->counts.asked += a->asked;
    s->counts.priced += a->priced;
    s->counts.most = a->priced > s->counts.most ? a->priced : s->counts.most;
    s->clusters[cluster].too_slow += a->too_slow;
    s->clusters[cluster].too_large += a->too_large;
    memcpy(leaf.at, a->held, sizeof a->held);
    if (a->too_large && !g->held[0])
        (void)ss_find_leaf_words(s, &leaf, g->held, sizeof g->held, NULL);
}

static int take_answers(struct all *all, struct answer *const *answers, struct ss_error *err)
{
    struct ss_find_space *s = all->space;
    struct walk w = {.cluster = -1};
    size_t kept = s->nleaves;
    int rc = SS_OK;
    for (size_t i = 0; i < all->nslices; i++)
        kept += (size_t)answers[i]->n;
    if (ss_grow(&s->leaves, &s->cap_leaves, kept, sizeof *s->leaves) ||
        (all->costs && ss_grow(&s->bounds, &all->cap_bounds, kept, sizeof *s->bounds)))
        return ss_nomem(err);
    for (size_t i = 0, n; i < all->nslices && !rc; i += n) {
        const struct slice *slice = &all->slice[i];
        if (w.cluster != slice->cluster)
            w = begin(s, slice->cluster, slice->micro);
        for (n = 0; i + n < all->nslices && all->slice[i + n].prefix == slice->prefix; n++)
            count(s, slice->cluster, answers[i + n]);
        rc = take_slices(all, slice->cluster, answers + i, (int)n, n > 1 ? w.axis + 1 : w.outer, err);
    }
    return rc;
}

static int by_first(const void *left, const void *right)
{
    const struct refusal *a = left, *b = right;
    return a->cluster != b->cluster ? a->cluster - b->cluster
                                    : memcmp(a->first.at, b->first.at, sizeof a->first.at);
}

/* Counts the refusals by their rules, which the first layout of each tells. */
static int count_refusals(struct all *all, struct ss_error *err)
{
    int rc = SS_OK;
    if (all->nrefusals)
        qsort(all->refusal, all->nrefusals, sizeof *all->refusal, by_first);
    for (size_t i = 0; i < all->nrefusals && !rc; i++) {
        const struct refusal *r = &all->refusal[i];
        const struct ss_find_cluster *c = &all->space->clusters[r->cluster];
        struct ss_asked asked = c->asked;
        struct ss_error why;
        struct ss_job job;
        rc = ss_find_set(c, r->first.at, 0, c->naxes, &asked, err);
        if (!rc && ss_input_cache_finish(all->space->loaded, &asked, c->stack, c->world_size,
                                         c->gpus_per_node, NULL, &job, &why))
            rc = ss_find_refuse(all->space, r->cluster, &why, r->first.is.refused.n, err);
    }
    return rc;
}

/* Puts the slices of each prefix together. */
static void join_slices(struct all *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->nslices; i++)
        if (!i || all->slice[i].prefix != all->slice[i - 1].prefix) {
            all->slice[kept] = all->slice[i];
            all->slice[kept++].micro = -1;
        }
    all->nslices = kept;
}

static int walk_all(struct all *all, const struct ss_find_options *o, struct ss_error *err)
{
    struct ss_find_space *s = all->space;
    struct ss_pool pool = {
        .workers = o->workers, .work = walk_slice, .used = used, .home = home_of, .ctx = all};
    struct answer **answers = NULL;
    int rc = SS_OK;
    pool.workers.journal = NULL;
    for (int i = 0; i < s->nclusters && !rc; i++) {
        struct walk w = begin(s, i, -1);
        struct ss_asked asked = s->clusters[i].asked;
        w.all = all;
        rc = visit(&w, 0, &asked, NULL, err);
        s->counts.here += w.asked;
        s->counts.asked += w.asked;
    }
    if (all->nslices > MANY)
        join_slices(all);
    for (size_t i = 0; i < all->nslices; i++) {
        const struct slice *slice = &all->slice[i];
        if (i && slice->cluster == slice[-1].cluster && (slice->micro < 0) == (slice[-1].micro < 0))
            continue; /* it is as large */
        const struct walk w = begin(s, slice->cluster, slice->micro);
        size_t size = sizeof(struct answer) + (size_t)w.below[w.outer] * sizeof(struct record);
        pool.size = size > pool.size ? size : pool.size;
    }
    pool.nitems = (int)all->nslices;
    answers = ss_calloc(all->nslices + 1, sizeof *answers);
    SS_THEN(rc, answers ? SS_OK : ss_nomem(err));
    SS_THEN(rc, all->nslices ? ss_pool_run(&pool, answers, err) : SS_OK);
    SS_THEN(rc, take_answers(all, answers, err));
    SS_THEN(rc, count_refusals(all, err));
    for (size_t i = 0; answers && i < all->nslices; i++)
        free(answers[i]);
    free(answers);
    return rc;
}

int ss_find_walk(struct ss_find_space *s, const struct ss_find_options *o, int bounded, struct ss_error *err)
{
    struct all all = {.space = s, .below = bounded && o->best_only ? o->below : NULL};
    int rc = bounded ? ss_find_costs_open(s, o, NULL, &all.costs, err) : SS_OK;
    SS_THEN(rc, walk_all(&all, o, err));
    for (int c = 0; c < s->nclusters && bounded; c++)
        s->clusters[c].bounded = s->clusters[c].switches;
    ss_find_costs_close(all.costs);
    SS_FREE(all.slice, all.refusal);
    ss_map_free(&all.known);
    return rc;
}
