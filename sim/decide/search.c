/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/search.h"

#include "base/base.h"
#include "decide/search_state.h"

/* Layouts that are predicted in the first batch of a cluster, when nothing is known; later batches are twice as large, up to SS_FIND_BATCH.
 * Their results decide the next batch. The number does not depend on the workers, so the choice is the same for any number of them. */
#define FIRST 8

/* ---- what is known ---- */

/* A doubted point has no time of its own yet, but its memory. */
static int note_fits(struct ss_find_state *x, int point, struct ss_error *err)
{
    const struct ss_find_point *p = &x->space->found->points[point];
    const struct ss_find_leaf *leaf = &x->space->leaves[p->number];
    if (p->summary.outcome == SS_OUTCOME_NEAR_LIMIT && !p->summary.doubted)
        x->near[p->group] = fmin(x->near[p->group], p->summary.iteration_s);
    if (p->summary.outcome != SS_OUTCOME_FITS)
        return SS_OK;
    if (p->recompute == SS_RECOMPUTE_NONE &&
        ss_map_put(&x->roomy, ss_find_block_key(&x->space->clusters[leaf->cluster], leaf), 1) < 0)
        return ss_nomem(err);
    if (p->summary.doubted)
        return SS_OK;
    int alike = !x->options->best_only || x->options->also_alike;
    double band = alike && p->summary.apart_pct > 0 ? p->summary.apart_pct / 100 : 0;
    if (p->summary.iteration_s < x->fastest[p->group] && x->options->better)
        x->options->better(x->options->ctx, &x->space->found->groups[p->group], p);
    x->fastest[p->group] = fmin(x->fastest[p->group], p->summary.iteration_s);
    x->within[p->group] = fmin(x->within[p->group], p->summary.iteration_s * (1 + band));
    const struct ss_find_leaf as = {
        .cluster = p->group, .seconds = p->summary.iteration_s, .bytes = p->summary.peak_device};
    if (ss_find_is_beaten(x, &as))
        return SS_OK;
    if (ss_grow(&x->fit, &x->cap_fit, (size_t)x->nfit + 1, sizeof *x->fit))
        return ss_nomem(err);
    int i = x->nfit++;
    for (; i > 0 && x->space->found->points[x->fit[i - 1]].summary.peak_device > as.bytes; i--)
        x->fit[i] = x->fit[i - 1];
    x->fit[i] = point;
    return SS_OK;
}

/* ---- in the order of their bounds ---- */

/* Puts the number of a leaf into the batch, or among those that wait, or counts it as one that cannot win. */
static void take_leaf(struct ss_find_state *x, int number, int *batch, int *n)
{
    const struct ss_find_leaf *leaf = &x->space->leaves[number];
    if (x->options->exhaustive)
        batch[(*n)++] = number;
    else if (ss_find_cannot_win(x, leaf))
        x->space->found->groups[leaf->cluster].bounded++;
    else if (ss_find_waits(x, leaf, batch, *n))
        x->waiting[x->nwaiting++] = number;
    else
        batch[(*n)++] = number;
}

/* Puts the numbers of up to `most` leaves that may win into the batch; not fewer than one, if there are any. */
static int take(struct ss_find_state *x, int *batch, int most)
{
    int n = 0, before = x->nwaiting, i = 0;
    x->nwaiting = 0;
    for (; i < before && n < most; i++)
        take_leaf(x, x->waiting[i], batch, &n);
    for (; i < before; i++)
        x->waiting[x->nwaiting++] = x->waiting[i];
    for (; n < most && x->nwaiting < SS_FIND_WAITING && x->next < x->space->nleaves; x->next++)
        take_leaf(x, (int)x->next, batch, &n);
    return n;
}

/* Tightens the bounds of the leaves of a batch that need not be as loose, drops those that then cannot win, and lets others wait. Tight
 * bounds cost more than the first ones, and less than predictions. */
static int tighten(struct ss_find_state *x, int *batch, int *n, struct ss_error *err)
{
    int loose = 0, all = x->options->exhaustive == 1 ? 0 : *n;
    int *items = ss_calloc((size_t)all + 1, sizeof *items);
    SS_NEED(items, err);
    for (int i = 0; i < all; i++)
        if (x->space->leaves[batch[i]].loose)
            items[loose++] = SS_FIND_TIGHTEN * (int)x->space->nleaves + batch[i];
    struct ss_find_point *answers = ss_calloc((size_t)loose + 1, sizeof *answers);
    int rc = !loose ? SS_OK : answers ? ss_find_predict(x->crew, items, loose, answers, err) : ss_nomem(err);
    for (int i = 0; i < loose && !rc; i++) {
        struct ss_find_leaf *leaf = &x->space->leaves[answers[i].number];
        leaf->seconds = answers[i].least_s;
        leaf->bytes = answers[i].least_bytes;
        leaf->unsure |= answers[i].summary.outcome != SS_OUTCOME_FITS;
        leaf->loose = 0;
        if (answers[i].recompute_layers) /* with which its prediction begins */
            leaf->at[SS_FIND_BLOCK_LAYERS] = (unsigned char)answers[i].recompute_layers;
    }
    SS_FREE(answers, items);
    *n = loose ? 0 : *n;
    for (int i = 0; i < all && loose && !rc; i++)
        take_leaf(x, batch[i], batch, n);
    return rc;
}

static int by_seconds(const void *left, const void *right)
{
    const struct ss_find_point *a = left, *b = right;
    double x = a->summary.iteration_s, y = b->summary.iteration_s;
    return x < y ? -1 : x > y ? 1 : a->number - b->number;
}

/* Counts the new points, and sorts them: the fastest first. A plan may refuse a layout for what only the plan sees: a schedule's own
 * conditions. */
static int count_points(struct ss_find_state *x, int first, struct ss_error *err)
{
    struct ss_find_result *f = x->space->found;
    int kept = first, rc = SS_OK;
    for (int i = first; i < f->npoints && !rc; i++) {
        struct ss_find_point *p = &f->points[i];
        p->least_s = x->space->leaves[p->number].seconds; /* workers know the first bounds alone */
        p->least_bytes = x->space->leaves[p->number].bytes;
        if (p->summary.outcome == SS_OUTCOME_REFUSED) {
            struct ss_error why = {.code = p->summary.code};
            ss_copy(why.message, sizeof why.message, p->summary.reason);
            ss_copy(why.flags, sizeof why.flags, "--schedule");
            rc = x->round ? SS_OK : ss_find_refuse(x->space, p->group, &why, 1, err);
            continue;
        }
        f->groups[p->group].predicted++;
        f->points[kept++] = *p;
    }
    f->npoints = kept;
    if (first < kept && !x->options->exhaustive) /* here, because what fits is known by its place */
        qsort(f->points + first, (size_t)(kept - first), sizeof *f->points, by_seconds);
    for (int i = first; i < kept && !rc; i++) {
        const struct ss_find_point *p = &f->points[i];
        if (x->round)
            ss_find_known_point(x->round->known, &x->space->leaves[p->number], p);
        rc = note_fits(x, i, err);
    }
    return rc;
}

/* ---- flows where closed forms are doubted ---- */

/* Points whose flows are asked for at once, the fastest first; of an exhaustive search, which asks for all. */
#define FLOWS 16
#define MOST_FLOWS 4096

/* Puts up to `most` of the points from *next on that ask for flows into `at`. */
static int take_doubted(const struct ss_find_state *x, int *next, int *at, int most)
{
    int n = 0;
    for (; n < most && *next < x->space->found->npoints; ++*next)
        if (ss_find_asks_flows(x, &x->space->found->points[*next]))
            at[n++] = *next;
    return n;
}

/* Replaces doubted points from `next` on, which are sorted, by what flows say. */
static int ask_flows(struct ss_find_state *x, int next, struct ss_error *err)
{
    struct ss_find_result *f = x->space->found;
    const int most = x->options->exhaustive ? MOST_FLOWS : FLOWS;
    struct ss_find_point *answers = malloc((size_t)most * sizeof *answers);
    int *at = malloc((size_t)most * sizeof *at), *items = malloc((size_t)most * sizeof *items);
    int rc = answers && at && items ? SS_OK : ss_nomem(err);

    for (int n; !rc && (n = take_doubted(x, &next, at, most)) > 0;) {
        for (int i = 0; i < n; i++)
            items[i] = SS_FIND_FLOWS * (int)x->space->nleaves + f->points[at[i]].number;
        rc = ss_find_predict(x->crew, items, n, answers, err);
        for (int i = 0; i < n && !rc; i++) {
            answers[i].least_s = f->points[at[i]].least_s;
            answers[i].least_bytes = f->points[at[i]].least_bytes;
            f->points[at[i]] = answers[i];
            rc = note_fits(x, at[i], err);
        }
    }
    SS_FREE(answers, at, items);
    return rc;
}

/* Returns whether a point's figures are not those of an exhaustive search: of closed forms that are doubted, which no flows
 * replaced because by its bound it cannot win; or with block recompute where its layout fits without, or is slower than
 * the best by more than its error: of these others were not predicted. */
static int is_half_known(const struct ss_find_state *x, const struct ss_find_point *p)
{
    const struct ss_find_leaf *leaf = &x->space->leaves[p->number];
    if (p->summary.doubted || !p->recompute_layers)
        return p->summary.doubted;
    return p->summary.outcome == SS_OUTCOME_TOO_LARGE || p->summary.iteration_s > x->within[p->group] ||
           ss_map_get(&x->roomy, ss_find_block_key(&x->space->clusters[leaf->cluster], leaf)) >= 0;
}

static int by_time(const void *left, const void *right)
{
    return by_seconds(*(const struct ss_find_point *const *)left,
                      *(const struct ss_find_point *const *)right);
}

/* Leaves out what the caller no longer wants, after what surely fits so far. */
static int leave_unwanted(struct ss_find_state *x, struct ss_error *err)
{
    const struct ss_find_result *f = x->space->found;
    const struct ss_find_point **points = ss_calloc((size_t)f->npoints + 1, sizeof *points);
    SS_NEED(points, err);
    for (int g = 0; g < f->ngroups; g++) {
        int n = 0;
        for (int i = 0; i < f->npoints; i++)
            if (f->points[i].group == g && f->points[i].summary.outcome == SS_OUTCOME_FITS &&
                !is_half_known(x, &f->points[i]))
                points[n++] = &f->points[i];
        if (n) {
            qsort(points, (size_t)n, sizeof *points, by_time);
            x->within[g] = fmin(x->within[g], x->options->wanted(x->options->ctx, points, n));
        }
    }
    free(points);
    return SS_OK;
}

static int predict_all(struct ss_find_state *x, struct ss_error *err)
{
    struct ss_find_result *f = x->space->found;
    const int exhaustive = x->options->exhaustive, most = exhaustive ? SS_FIND_ALL_AT_ONCE : SS_FIND_BATCH;
    int *batch = malloc((size_t)most * sizeof *batch), rc = batch ? SS_OK : ss_nomem(err);
    x->ahead.on = 1;
    for (int size = FIRST * x->space->nclusters; !rc; size *= 2) {
        size = exhaustive || size > most ? most : size;
        int n = take(x, batch, size), first = f->npoints;
        if (!n)
            break;
        ss_find_ahead_begin(x, batch, n);
        rc = tighten(x, batch, &n, err);
        if (!n)
            continue;
        if (!rc && ss_grow(&f->points, &x->cap, (size_t)(first + n), sizeof *f->points))
            rc = ss_nomem(err);
        x->ahead.nbatch = n;
        SS_THEN(rc, ss_find_longest_first(x->space, batch, n, err));
        x->listed = exhaustive ? n : 0;
        SS_THEN(rc, ss_find_predict(x->crew, batch, n, f->points + first, err));
        x->listed = 0;
        f->npoints += rc ? 0 : n;
        f->replays += n;
        SS_THEN(rc, count_points(x, first, err));
        SS_THEN(rc, ask_flows(x, first, err));
        SS_THEN(rc, x->options->wanted && !x->round ? leave_unwanted(x, err) : SS_OK);
        ss_find_tell(x, 0);
    }
    x->ahead.on = 0;
    free(batch);
    return rc;
}

/* Drops points that are half known, and counts them among those that cannot win. */
static void drop_half_known(struct ss_find_state *x)
{
    struct ss_find_result *f = x->space->found;
    int kept = 0;
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        if (is_half_known(x, p)) {
            f->groups[p->group].predicted--;
            f->groups[p->group].bounded++;
        } else {
            f->points[kept++] = *p;
        }
    }
    f->npoints = kept;
}

/* Predicts the winners once more, by SimGrid. */
static int confirm_all(struct ss_find_state *x, struct ss_error *err)
{
    struct ss_find_result *f = x->space->found;
    int *items = ss_calloc((size_t)f->ngroups, sizeof *items), n = 0;
    struct ss_find_point *points = ss_calloc((size_t)f->ngroups, sizeof *points);
    int rc = items && points ? SS_OK : ss_nomem(err);
    for (int g = 0; g < f->ngroups && !rc; g++)
        if (f->groups[g].best >= 0)
            items[n++] = SS_FIND_CONFIRM * (int)x->space->nleaves + f->points[f->groups[g].best].number;
    SS_THEN(rc, ss_find_predict(x->crew, items, n, points, err));
    for (int g = f->ngroups - 1; g >= 0 && !rc; g--)
        if (f->groups[g].best >= 0 && points[--n].summary.outcome != SS_OUTCOME_REFUSED)
            f->groups[g].confirmed_s = points[n].summary.iteration_s;
    SS_FREE(items, points);
    return rc;
}

/* Gives points the bands of their words: those whose bands are told, which is the best of each cluster, or all. */
static int widen_all(struct ss_find_state *x, const struct ss_request *base, struct ss_error *err)
{
    struct ss_notes assumed = {0};
    ss_request_list_assumed(base, "", &assumed);
    struct ss_find_result *f = x->space->found;
    int *items = ss_calloc((size_t)f->npoints + 1, sizeof *items), n = 0;
    struct ss_find_point *wide = ss_calloc((size_t)f->npoints + 1, sizeof *wide);
    int rc = items && wide ? SS_OK : ss_nomem(err);
    for (int i = 0; i < f->npoints && !rc;
         i++) /* where nothing is assumed exchanges of experts alone widen a band */
        if ((assumed.n || f->points[i].ep > 1) &&
            (!x->options->brief || i == f->groups[f->points[i].group].best))
            items[n++] = SS_FIND_WIDEN * (int)x->space->nleaves + f->points[i].number;
    SS_THEN(rc, ss_find_predict(x->crew, items, n, wide, err));
    for (int i = f->npoints - 1; i >= 0 && n && !rc; i--) {
        struct ss_summary *u = &f->points[i].summary;
        const struct ss_summary *w = &wide[n - 1].summary;
        if (SS_FIND_WIDEN * (int)x->space->nleaves + f->points[i].number != items[n - 1])
            continue;
        n--;
        u->weighed = w->weighed;
        u->time_low_pct = w->time_low_pct;
        u->time_high_pct = w->time_high_pct;
        u->memory_low_pct = w->memory_low_pct;
        u->memory_high_pct = w->memory_high_pct;
    }
    SS_FREE(items, wide);
    ss_notes_free(&assumed);
    return rc;
}

static int by_count(const void *left, const void *right)
{
    const struct ss_find_rule *a = left, *b = right;
    return a->n < b->n ? 1 : a->n > b->n ? -1 : strcmp(a->flags, b->flags);
}

/* Returns the rule that says what to change. It blames the most flags that the user asked for and the fewest
 * that the search chose, which are not the job's fault; among equals, the rule that refused most. */
static const struct ss_find_rule *to_blame(const struct ss_find_state *x, const struct ss_request *base)
{
    const struct ss_find_result *f = x->space->found;
    int which = 0, most = INT_MIN;
    for (int r = 0; r < f->nrules; r++) {
        int n = ss_find_blames(base, x->options->vary, f->rules[r].flags);
        if (n > most) {
            which = r;
            most = n;
        }
    }
    return &f->rules[which];
}

static int check_any(const struct ss_find_state *x, const struct ss_request *base, struct ss_error *err)
{
    const struct ss_find_result *f = x->space->found;
    int64_t refused = 0, layouts = 0;
    for (int g = 0; g < f->ngroups; g++) {
        refused += f->groups[g].refused;
        layouts += f->groups[g].layouts;
    }
    if (refused < layouts || f->nrules == 0)
        return SS_OK;
    const struct ss_find_rule *r = to_blame(x, base);
    char some[48] = "";
    if (r->n < layouts)
        snprintf(some, sizeof some, ", %lld of them because", (long long)r->n);
    if (layouts == 1)
        ss_fail(err, r->code, NULL, 0, "the only layout is refused: %s", r->example);
    else
        ss_fail(err, r->code, NULL, 0, "all %lld layouts are refused%s: %s", (long long)layouts, some,
                r->example);
    if (r->flags[0])
        return ss_hint(err, r->code, "change %s", r->flags);
    return ss_hint(err, r->code, "%s", r->hint[0] ? r->hint : "vary other flags");
}

/* Prepares what workers start from: the layouts with their switches, and their bounds. */
static int prepare(struct ss_find_state *x, struct ss_error *err)
{
    int rc = ss_find_space_begin(x->space, x->round, err);
    SS_THEN(rc, ss_find_bound(x->space, x->options, x->round, err));
    SS_THEN(rc, ss_find_order(x->space, err));
    if (rc)
        return rc;
    x->within = malloc((size_t)x->space->nclusters * sizeof *x->within);
    x->fastest = malloc((size_t)x->space->nclusters * sizeof *x->fastest);
    x->near = malloc((size_t)x->space->nclusters * sizeof *x->near);
    if (!x->within || !x->fastest || !x->near)
        return ss_nomem(err);
    for (int c = 0; c < x->space->nclusters; c++) {
        x->within[c] = x->options->below ? x->options->below[c] : INFINITY;
        x->fastest[c] = x->near[c] = x->within[c];
    }
    return SS_OK;
}

static int run(struct ss_find_state *x, const struct ss_request *base, struct ss_error *err)
{
    int rc = prepare(x, err);
    SS_THEN(rc, ss_find_crew_open(x, base, &x->crew, err));
    SS_THEN(rc, predict_all(x, err));
    if (rc)
        return rc;
    struct ss_find_result *f = x->space->found;
    if (f->nrules)
        qsort(f->rules, (size_t)f->nrules, sizeof *f->rules, by_count);
    SS_TRY(check_any(x, base, err));
    drop_half_known(x);
    ss_find_rank(f);
    if (x->round)
        return x->round->turn(x->round, x->space, x->crew, err);
    rc = x->options->best_only ? SS_OK : widen_all(x, base, err);
    ss_find_crew_rest(x->crew);
    SS_THEN(rc, ss_find_tell_best(x, err));
    return rc || !x->options->confirm ? rc : confirm_all(x, err);
}

int ss_find_search(const struct ss_request *base, const struct ss_find_options *options,
                   struct ss_find_space *space, struct ss_find_round *round, struct ss_error *err)
{
    struct ss_find_state x = {.options = options, .base = base, .space = space, .round = round};
    int rc = run(&x, base, err);
    ss_find_best_close(x.best);
    ss_find_crew_close(x.crew);
    SS_FREE(x.fit, x.within, x.fastest, x.near);
    ss_map_free(&x.roomy);
    return rc;
}
