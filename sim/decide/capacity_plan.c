/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order numbers of nodes are planned. First the rows of the table; where a search has many layouts, one row is searched, and the
 * others are searched with its best tensor and context sizes. Then, with a deadline or a budget, the numbers between the rows,
 * because days over nodes are not monotone: which layouts a number allows depends on its factors. Where all numbers together have few
 * layouts every number is searched, but for layouts whose bound is above what the best answer so far takes. Where they have many, those that
 * are best on the rows are predicted on the numbers about the answer; then the answer and the numbers nearest to it are searched.
 */
#include "base/base.h"
#include "decide/capacity_internal.h"
#include "job/input_cache.h"
#include "stepsim/params.h"
#include "study/study_internal.h"
#include "workers/pool.h"

#define MOST_SEARCHED 600000  /* legal layouts that are searched on all numbers together */
#define MOST_NEAR 32000       /* layouts that are searched about the answer where those are too many */
#define MOST_PREDICTIONS 2048 /* of layouts of the rows */
#define NEARS 4               /* numbers that are searched before their results decide about others */
#define WAVE                                                                                                 \
    32 /* numbers that are planned before their results decide about others; the workers do not change it */

enum kind { FULL, LIMITED, SHAPES, NEAR, ROW_NEAR, KINDS };

struct run {
    struct ss_capacity_planner *x;
    struct ss_capacity_numbers *numbers;
    struct ss_pool pool;
    struct ss_crew *crew;
    struct ss_error *first;
    int *offset;     /* [nclusters]: number of its first item */
    int done, known; /* numbers that were planned, and those that are to be */
    size_t cap;
    struct tally {
        int64_t layouts;                /* that searches had, */
        int searches;                   /* and how many searches */
    } * tally;                          /* [nclusters] */
    struct ss_capacity_answer *answers; /* [nclusters * WAVE] */
    int *items;                         /* [nclusters * WAVE] */
};

/* ---- workers ---- */

/* Plans a number, whose predictions share what like jobs have in common. */
static int plan_number(struct ss_capacity_planner *x, enum kind kind, struct ss_capacity_answer *a,
                       struct ss_error *err)
{
    struct ss_cache *callers = x->run.cache;

    x->inputs = ss_input_cache_new();
    x->run.cache = NULL;
    int rc = x->inputs ? ss_cache_open(&x->run.cache, err) : ss_nomem(err);
    SS_THEN(rc, kind == SHAPES ? ss_capacity_plan_shapes(x, a, err) : ss_capacity_plan_full(x, a, err));
    ss_cache_close(x->run.cache);
    ss_input_cache_drop(x->inputs);
    x->run.cache = callers;
    x->inputs = NULL;
    return rc;
}

static int work(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct run *r = ctx;
    struct ss_capacity_answer *a = answer;
    int kind = item % KINDS, at = item / KINDS, cluster = 0;

    while (cluster + 1 < r->x->plan->nclusters && at >= r->offset[cluster + 1])
        cluster++;
    a->point.cluster = cluster;
    a->point.nodes = r->numbers[cluster].nodes[at - r->offset[cluster]];
    r->x->limited = kind == LIMITED || kind == SHAPES || kind == NEAR;
    r->x->near = kind == NEAR || kind == ROW_NEAR;
    return plan_number(r->x, kind, a, err);
}

static void tell(void *ctx, int done)
{
    struct run *r = ctx;

    if (r->x->options->progress)
        r->x->options->progress(r->x->options->ctx, r->done + done,
                                r->known > r->done + done ? r->known : r->done + done);
}

/* ---- answers ---- */

/* Puts a point into the plan, in place of a worse one of the same number of nodes. */
static int put_point(struct run *r, const struct ss_capacity_point *p, struct ss_error *err)
{
    struct ss_capacity *c = r->x->plan;
    int i = 0;

    while (i < c->npoints && (c->points[i].cluster != p->cluster || c->points[i].nodes != p->nodes))
        i++;
    if (i == c->npoints && ss_grow(&c->points, &r->cap, (size_t)i + 1, sizeof *c->points))
        return ss_nomem(err);
    if (i == c->npoints || ss_capacity_is_better(c, p, &c->points[i]))
        c->points[i] = *p;
    c->npoints += i == c->npoints;
    return SS_OK;
}

/* Sets what a number has to beat: the dearer answer of the two, or the slower one within a budget alone. */
static void set_boards(struct run *r)
{
    struct ss_capacity *c = r->x->plan;

    ss_capacity_choose(c);
    for (int k = 0; k < c->nclusters; k++) {
        int i = c->clusters[k].sure;
        if (i >= 0 && !ss_capacity_is_near(c->points[i].batch, c->asked_batch))
            i = -1; /* dearer ones with a nearer batch are wanted */
        struct ss_capacity_board *b = &r->x->boards[k];
        b->gpu_hours = i >= 0 && c->deadline_s > 0 ? c->points[i].gpu_hours.value : 0;
        b->time_s = i >= 0 && !(c->deadline_s > 0) ? c->points[i].time_s.value : 0;
        b->missed = c->deadline_s > 0 && c->clusters[k].chosen < 0 && ss_capacity_fastest(c, k);
        if (b->missed) /* no number keeps the deadline: which is the fastest? */
            b->time_s = ss_capacity_fastest(c, k)->time_s.value;
    }
}

/* Plans the n items on r->items. */
static int deal(struct run *r, int n, struct ss_error *err)
{
    const struct ss_workers *w = &r->x->options->workers;
    int all = w->n ? w->n : w->team ? 1 : ss_pool_cores(), rc = SS_OK;

    for (int k = 0; k < r->x->plan->nclusters && n; k++)
        r->x->boards[k].helpers = all > n ? all / n : 1;
    SS_THEN(rc, n ? ss_pool_deal(r->crew, r->items, n, r->answers, err) : SS_OK);
    for (int i = 0; i < n && !rc; i++) {
        const struct ss_capacity_answer *a = &r->answers[i];
        int kind = r->items[i] % KINDS, k = a->point.cluster;
        r->x->plan->clusters[k].planned++;
        r->tally[k].layouts += a->layouts;
        r->tally[k].searches += a->layouts > 0;
        if (a->why.code && !r->first->code)
            *r->first = a->why;
        if (kind == FULL || kind == ROW_NEAR)
            ss_capacity_put_shapes(&r->x->boards[k], a);
        if (kind == FULL || kind == ROW_NEAR || ss_capacity_holds(&a->point))
            rc = put_point(r, &a->point, err);
    }
    r->done += n;
    return rc;
}

static int64_t mean_layouts(const struct run *r, int cluster)
{
    const struct tally *t = &r->tally[cluster];

    return t->searches ? t->layouts / t->searches : 0;
}

/* Returns 1 where the numbers between the rows of a platform may be the answer. */
static int is_refined(const struct run *r, int cluster)
{
    const struct ss_capacity *c = r->x->plan;

    return (c->deadline_s > 0 || c->budget_usd > 0) && r->numbers[cluster].is_range;
}

static int item_of(const struct run *r, int cluster, int number, enum kind kind)
{
    return (r->offset[cluster] + number) * KINDS + (int)kind;
}

/* ---- rows ---- */

/* Plans the n items on r->items so far where no more fit there, or it is the last ones' turn. */
static int deal_full(struct run *r, int *n, int last, struct ss_error *err)
{
    if (!last && *n < WAVE)
        return SS_OK;
    int rc = deal(r, *n, err);
    *n = 0;
    return rc;
}

/* Numbers are searched from now on about the sizes of the layouts that are on the boards. */
static void put_near(struct run *r)
{
    for (int k = 0; k < r->x->plan->nclusters; k++) {
        struct ss_capacity_board *b = &r->x->boards[k];
        b->nnear = b->nshapes;
        for (int i = 0; i < b->nshapes; i++) {
            b->near[i][0] = b->shape[i].tp;
            b->near[i][1] = b->shape[i].cp;
        }
    }
}

/* Plans the first row of each platform that has a limit and a range, all of them at once. */
static int plan_first(struct run *r, struct ss_error *err)
{
    int n = 0, rc = SS_OK;

    for (int k = 0; k < r->x->plan->nclusters && !rc; k++) {
        r->numbers[k].first = is_refined(r, k) ? ss_capacity_first_row(r->x->plan, k, &r->numbers[k]) : -1;
        r->x->boards[k].lent_gpu_s = INFINITY;
        if (r->numbers[k].first >= 0)
            r->items[n++] = item_of(r, k, r->numbers[k].first, FULL);
        rc = deal_full(r, &n, 0, err);
    }
    SS_THEN(rc, deal_full(r, &n, 1, err));
    put_near(r);
    return rc;
}

/* Returns whether a row of a platform is planned in a pass over its rows. The one behind the first row lends layouts that are likely to be the best
 * of all, so that others are searched for less. */
static int is_of_pass(const struct ss_capacity_numbers *x, int near, int pass, int i)
{
    int next = x->first + 1;

    while (near && next < x->n && x->state[next] != SS_CAPACITY_ROW)
        next++;
    return x->state[i] == SS_CAPACITY_ROW && i != x->first && (near && i == next) == !pass;
}

/* Plans the other rows of all platforms. Where all numbers of one are too many to be searched, the tensor and context sizes that are best on the
 * first row will do; else no row lends anything. */
static int plan_rows(struct run *r, struct ss_error *err)
{
    int n = 0, rc = SS_OK;

    for (int k = 0; k < r->x->plan->nclusters; k++) {
        struct ss_capacity_numbers *x = &r->numbers[k];
        int open = 0;
        for (int i = 0; i < x->n; i++)
            open += x->state[i] != SS_CAPACITY_HOPELESS;
        x->every = r->x->options->layout == SS_CAPACITY_GIVEN || mean_layouts(r, k) * open <= MOST_SEARCHED;
        r->x->boards[k].lent_gpu_s = x->every ? 0 : r->x->boards[k].lent_gpu_s;
    }
    for (int pass = 0; pass < 2 && !rc; pass++) {
        for (int k = 0; k < r->x->plan->nclusters; k++) {
            const struct ss_capacity_numbers *x = &r->numbers[k];
            int near = x->first >= 0 && !x->every && r->x->boards[k].nnear;
            for (int i = 0; i < x->n && !rc; i++) {
                if (!is_of_pass(x, near, pass, i))
                    continue;
                r->items[n++] = item_of(r, k, i, near ? ROW_NEAR : FULL);
                rc = deal_full(r, &n, 0, err);
            }
        }
        SS_THEN(rc, deal_full(r, &n, 1, err));
    }
    put_near(r);
    return rc;
}

/* ---- numbers between rows ---- */

/* Returns 1 if a number of nodes holds a whole number of replicas of a layout that is to be tried. */
static int divides(const struct run *r, int cluster, int nodes)
{
    const struct ss_capacity_board *b = &r->x->boards[cluster];
    int64_t gpus = (int64_t)nodes * r->x->plan->clusters[cluster].gpus_a_node;

    if (r->x->options->layout == SS_CAPACITY_GIVEN)
        return gpus % r->x->given_gpus == 0;
    for (int i = 0; i < b->nshapes; i++)
        if (gpus % (b->shape[i].tp * b->shape[i].cp * b->shape[i].pp) == 0)
            return 1;
    return 0;
}

/* Finds the numbers about the answer: from the last row before it that is not enough to twice the first row that surely is, or for a budget
 * from half of the last row that surely is to the first that is not. Where no row keeps a deadline they are about the fastest. */
static void find_bracket(const struct ss_capacity *c, int cluster, int *low, int *high)
{
    const struct ss_capacity_point *best = ss_capacity_fastest(c, cluster);
    int more = c->deadline_s > 0, missed = more && best && c->clusters[cluster].chosen < 0;

    *low = missed ? best->nodes / 2 : 0;
    *high = missed ? 2 * best->nodes : SS_MAX_GPUS;
    for (int i = 0; i < c->npoints && !missed; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        if (p->cluster != cluster || !ss_capacity_holds(p))
            continue;
        if (more && !ss_capacity_enough(c, p, 0) && p->nodes > *low && 2 * p->nodes <= *high)
            *low = p->nodes;
        if (more && ss_capacity_enough(c, p, 1) && 2 * p->nodes < *high)
            *high = 2 * p->nodes;
        if (!more && ss_capacity_enough(c, p, 1) && p->nodes / 2 > *low)
            *low = p->nodes / 2;
        if (!more && !ss_capacity_enough(c, p, 0) && p->nodes < *high && p->nodes > *low)
            *high = p->nodes;
    }
}

/* Numbers of a platform that are planned by one way. */
struct choice {
    int cluster, low, high;
    enum kind kind;
    int wave;             /* of so many at once; 0: no more */
    int64_t most, before; /* layouts that are looked at, and those that were before */
};

/* Returns 1 if a number is open to a way. */
static int is_open(const struct run *r, const struct choice *of, int i)
{
    const struct ss_capacity_numbers *x = &r->numbers[of->cluster];
    int state = x->state[i];

    if (x->nodes[i] < of->low || x->nodes[i] > of->high)
        return 0;
    if (of->kind == NEAR)
        return state == SS_CAPACITY_OPEN || x->by_shapes[i];
    int all = of->kind == LIMITED && r->x->options->layout != SS_CAPACITY_GIVEN;
    return state == SS_CAPACITY_OPEN && (all || divides(r, of->cluster, x->nodes[i]));
}

static int count_open(const struct run *r, const struct choice *of)
{
    int n = 0;

    for (int i = 0; i < r->numbers[of->cluster].n; i++)
        n += is_open(r, of, i);
    return n;
}

/* Puts the open numbers nearest to the answer on `items`, up to of->wave, and returns how many. */
static int take_nearest(struct run *r, const struct choice *of, int *items)
{
    const struct ss_capacity *c = r->x->plan;
    struct ss_capacity_numbers *x = &r->numbers[of->cluster];
    double far[WAVE], low = ss_capacity_middle(c, of->cluster, 0),
                      high = fmax(low, ss_capacity_middle(c, of->cluster, 1));
    int at[WAVE], m = 0, most = of->wave;

    for (int i = 0; i < x->n; i++) {
        double d = fmax(0, fmax(log(low / x->nodes[i]), log(x->nodes[i] / high)));
        if (!is_open(r, of, i) || (m == most && d >= far[m - 1]))
            continue;
        int k = m < most ? m++ : m - 1;
        for (; k > 0 && far[k - 1] > d; k--) {
            far[k] = far[k - 1];
            at[k] = at[k - 1];
        }
        far[k] = d;
        at[k] = i;
    }
    for (int k = 0; k < m; k++) {
        x->by_shapes[at[k]] = of->kind == SHAPES;
        if (x->state[at[k]] == SS_CAPACITY_OPEN)
            x->state[at[k]] = SS_CAPACITY_DONE;
        items[k] = item_of(r, of->cluster, at[k], of->kind);
    }
    return m;
}

/* Finds which numbers between the rows of a platform are planned first. */
static void begin_between(struct run *r, int cluster, struct choice *of)
{
    struct ss_capacity *c = r->x->plan;
    int given = r->x->options->layout == SS_CAPACITY_GIVEN, few = r->numbers[cluster].every;

    *of = (struct choice){cluster, 0, SS_MAX_GPUS, LIMITED, WAVE, INT64_MAX, r->tally[cluster].layouts};
    int n = count_open(r, of);
    if (!few) {
        of->kind = SHAPES;
        of->most = MOST_PREDICTIONS;
    }
    if (given ? n > MOST_PREDICTIONS / 4 : !few)
        find_bracket(c, cluster, &of->low, &of->high);
    c->clusters[cluster].look =
        few && of->low == 0 && of->high == SS_MAX_GPUS ? SS_CAPACITY_EVERY : SS_CAPACITY_LAYOUTS;
    r->known += count_open(r, of) + (few ? 0 : NEARS);
}

/* Takes the next open numbers of a platform, those nearest to the answer first, until `most` layouts were looked at; after those with layouts of
 * rows, those that are searched. Returns how many; 0: all is planned. */
static int take_next(struct run *r, struct choice *of, int *items)
{
    const int64_t layouts = r->tally[of->cluster].layouts;
    int m = of->wave && layouts - of->before < of->most ? take_nearest(r, of, items) : 0;

    if (!m && of->kind == SHAPES) {
        *of = (struct choice){of->cluster, of->low, of->high, NEAR, NEARS, MOST_NEAR, layouts};
        m = take_nearest(r, of, items);
    }
    r->x->plan->clusters[of->cluster].near += of->kind == NEAR ? m : 0;
    of->wave = m ? of->wave : 0;
    return m;
}

/* Plans the numbers of ranges between their rows. What a platform's numbers decide is of that platform alone. */
static int plan_between(struct run *r, struct ss_error *err)
{
    const int nclusters = r->x->plan->nclusters;
    struct choice *of = ss_calloc((size_t)nclusters, sizeof *of);
    int rc = SS_OK;

    SS_NEED(of, err);
    set_boards(r);
    for (int k = 0; k < nclusters; k++)
        if (is_refined(r, k))
            begin_between(r, k, &of[k]);
    for (int n = 1; n && !rc;) {
        n = 0;
        for (int k = 0; k < nclusters; k++)
            n += of[k].wave ? take_next(r, &of[k], r->items + n) : 0;
        rc = deal(r, n, err);
        set_boards(r);
    }
    free(of);
    return rc;
}

/* ---- all ---- */

static int open_crew(struct run *r, struct ss_error *err)
{
    const struct ss_capacity_options *o = r->x->options;
    const double amounts[] = {o->tokens, o->deadline_s, o->budget_usd, o->layout};
    int n = 0, rc = SS_OK;

    for (int k = 0; k < r->x->plan->nclusters; k++) {
        r->offset[k] = n;
        n += r->numbers[k].n;
        for (int i = 0; i < r->numbers[k].n; i++)
            r->known += r->numbers[k].state[i] == SS_CAPACITY_ROW;
    }
    r->pool = (struct ss_pool){.workers = o->workers,
                               .nitems = n * KINDS,
                               .size = sizeof(struct ss_capacity_answer),
                               .work = work,
                               .ctx = r,
                               .on_answer = tell,
                               .on_answer_ctx = r,
                               .what = "capacity"};
    if (o->workers.journal || o->workers.team)
        rc = ss_sweep_digest(r->x->vary, &r->x->bases[0], r->x->run.engine, o->how ? o->how->files : NULL,
                             &r->pool.digest, err);
    r->pool.digest = ss_hash(r->pool.digest ? r->pool.digest : SS_HASH_INIT, amounts, sizeof amounts);
    for (int k = 0; k < r->x->plan->nclusters; k++) {
        r->pool.digest = ss_hash(r->pool.digest, r->x->plan->clusters[k].platform,
                                 strlen(r->x->plan->clusters[k].platform) + 1);
        for (int i = 0; i < r->numbers[k].n; i++)
            r->pool.digest = ss_hash(r->pool.digest, &r->numbers[k].nodes[i], sizeof *r->numbers[k].nodes);
    }
    return rc ? rc : ss_pool_open(&r->pool, &r->crew, err);
}

int ss_capacity_plan_all(struct ss_capacity_planner *x, struct ss_capacity_numbers *numbers,
                         struct ss_error *first, struct ss_error *err)
{
    struct run r = {.x = x, .numbers = numbers, .first = first};

    r.offset = ss_calloc((size_t)x->plan->nclusters, sizeof *r.offset);
    r.tally = ss_calloc((size_t)x->plan->nclusters, sizeof *r.tally);
    r.answers = ss_calloc((size_t)x->plan->nclusters * WAVE, sizeof *r.answers);
    r.items = ss_calloc((size_t)x->plan->nclusters * WAVE, sizeof *r.items);
    int rc = r.offset && r.tally && r.answers && r.items ? open_crew(&r, err) : ss_nomem(err);
    if (!rc)
        tell(&r, 0);
    SS_THEN(rc, plan_first(&r, err));
    SS_THEN(rc, plan_rows(&r, err));
    SS_THEN(rc, plan_between(&r, err));
    SS_THEN(rc, ss_capacity_leave_table(x->plan, numbers, err));
    ss_pool_close(r.crew);
    SS_FREE(r.offset, r.tally, r.answers, r.items);
    return rc;
}
