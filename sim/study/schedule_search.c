/* SPDX-License-Identifier: Apache-2.0 */
/* Local search over the integers that steer a list scheduler. */
#include "base/base.h"
#include "schedule/builder.h"
#include "study/progress.h"
#include "study/schedule_greedy.h"
#include "study/schedule_order.h"

#define SLOTS_OF_STEPS 20000000 /* over the ranks: slots that the usual tries may list */
#define SLOTS_OF_ALL 3e7 /* slots that all phases together may list or measure: some two seconds of them */
#define SLOTS_OF_CACHES 2e5
#define STARTS 32 /* that are listed first */
#define FEWEST_STARTS 8
#define FEWEST 50   /* tries behind them where there is time */
#define EQUAL 1e-12 /* relative: lengths that only rounding tells apart */
/* 200 bytes an action (64 ranks with 5,900 microbatches: 79 MB). */
#define MOST_ACTIONS 5000000

struct search {
    const struct ss_search *q;
    struct ss_steer *now, *next;              /* [stages] */
    struct ss_schedule *order, *best, *known; /* known: the shortest of the known schedules, NULL: none */
    struct ss_measure now_measure, best_measure;
    uint64_t random;
    int tried, starts;
};

struct ss_search *ss_search_new(int stages, int chunks, int microbatches)
{
    struct ss_search *q = ss_calloc(1, sizeof *q);
    size_t n = (size_t)stages * (size_t)chunks;
    if (!q)
        return NULL;
    q->stages = stages;
    q->chunks = chunks;
    q->microbatches = microbatches;
    q->split = q->barrier = 1;
    q->seed = 1;
    q->f = ss_calloc(n, sizeof *q->f);
    q->i = ss_calloc(n, sizeof *q->i);
    q->w = ss_calloc(n, sizeof *q->w);
    q->activation = ss_calloc(n, sizeof *q->activation);
    q->weight = ss_calloc(n, sizeof *q->weight);
    q->cap = ss_calloc((size_t)stages, sizeof *q->cap);
    q->fixed = ss_calloc((size_t)stages, sizeof *q->fixed);
    q->extra = ss_calloc((size_t)stages, sizeof *q->extra);
    if (!q->f || !q->i || !q->w || !q->activation || !q->weight || !q->cap || !q->fixed || !q->extra) {
        ss_search_free(q);
        return NULL;
    }
    for (int r = 0; r < stages; r++)
        q->cap[r] = INFINITY;
    return q;
}

void ss_search_free(struct ss_search *q)
{
    if (!q)
        return;
    SS_FREE(q->f, q->i, q->w, q->activation, q->weight, q->cap, q->fixed, q->extra, q);
}

/* Room for 3 slots a (chunk, microbatch). */
static struct ss_schedule *schedule_new(const struct ss_search *q)
{
    struct ss_schedule_params params = {
        .stages = q->stages, .chunks = q->chunks, .microbatches = q->microbatches};
    struct ss_schedule *s = ss_schedule_alloc("found", &params, 3 * q->chunks * q->microbatches);
    if (s && q->v_shape)
        ss_schedule_place_v(s);
    return s;
}

static uint64_t draw(struct search *x, uint64_t below)
{
    return ss_search_draw(&x->random, below);
}

static int better(const struct ss_search *q, const struct ss_measure *a, const struct ss_measure *b,
                  int equal_too)
{
    double la = ss_search_length(q, a), lb = ss_search_length(q, b);
    if (a->feasible != b->feasible)
        return a->feasible;
    if (la != lb)
        return la < lb;
    return equal_too ? a->idle <= b->idle : a->idle < b->idle;
}

/* Lists with `steer`; keeps the order when it is the best so far. */
static int try_steer(struct search *x, const struct ss_steer *steer, struct ss_measure *out)
{
    int rc = ss_search_list(x->q, steer, x->order, out);
    x->tried++;
    if (rc || !better(x->q, out, &x->best_measure, 0))
        return rc;
    struct ss_schedule *t = x->best;
    x->best = x->order;
    x->order = t;
    x->best_measure = *out;
    return SS_OK;
}

/* Starts that are 1F1B, ZB-H1, ZB-H2 and their kin in these integers. */
static void start_steer(const struct search *x, int n, struct ss_steer *steer)
{
    const struct ss_search *q = x->q;
    int p = q->stages, all = q->chunks * q->microbatches;
    for (int r = 0; r < p; r++) {
        int first = q->v_shape ? 2 * p : p - r + (q->chunks - 1) * p;
        int ahead[] = {first, q->chunks > 1 && !q->v_shape ? first + p - r - 1 : 2 * (p - r) - 1,
                       p * q->chunks, all};
        steer[r].ahead = ahead[n % 4];
        steer[r].owed = n / 4 % 2 ? all : n % 4 == 1 ? 2 * r : r;
        steer[r].forward = n / 8 % 2;
        steer[r].deep = n / 16 % 2;
    }
}

/* One or all ranks, one integer. */
static void change(struct search *x, struct ss_steer *steer)
{
    int p = x->q->stages, all = x->q->chunks * x->q->microbatches;
    int everywhere = draw(x, 4) == 0, rank = (int)draw(x, (uint64_t)p), what = (int)draw(x, 6);
    int by = (int)draw(x, 3) + 1, down = (int)draw(x, 2);
    for (int r = 0; r < p; r++) {
        if (!everywhere && r != rank)
            continue;
        int *value = what < 2 ? &steer[r].ahead : &steer[r].owed;
        if (what == 4)
            steer[r].forward = !steer[r].forward;
        else if (what == 5)
            steer[r].deep = !steer[r].deep;
        else
            *value += down ? -by : by;
        steer[r].ahead = steer[r].ahead < 1 ? 1 : steer[r].ahead > all ? all : steer[r].ahead;
        steer[r].owed = steer[r].owed < 0 ? 0 : steer[r].owed > all ? all : steer[r].owed;
    }
}

static int climb(struct search *x, int steps)
{
    size_t size = (size_t)x->q->stages * sizeof *x->now;
    struct ss_measure m;
    int rc = SS_OK;
    x->now_measure = (struct ss_measure){.makespan = INFINITY, .span = INFINITY, .idle = INFINITY};
    for (int n = 0; n < x->starts && !rc; n++) {
        ss_study_tell(&x->q->progress, 0.5 * n / (x->starts + steps));
        start_steer(x, n, x->next);
        rc = try_steer(x, x->next, &m);
        if (rc || !better(x->q, &m, &x->now_measure, 0))
            continue;
        x->now_measure = m;
        memcpy(x->now, x->next, size);
    }
    for (int n = 0; n < steps && !rc; n++) {
        ss_study_tell(&x->q->progress, 0.5 * (x->starts + n) / (x->starts + steps));
        memcpy(x->next, x->now, size);
        change(x, x->next);
        rc = try_steer(x, x->next, &m);
        if (rc || !better(x->q, &m, &x->now_measure, 1))
            continue;
        x->now_measure = m;
        memcpy(x->now, x->next, size);
    }
    return rc;
}

/* A known schedule of the same problem: same placement, and whole backwards where they may not be split. */
static int same_problem(const struct ss_search *q, const struct ss_schedule *s)
{
    if (s->chunks != q->chunks || s->pipelines > 1)
        return 0;
    for (int i = 0; i < s->nslots[0] && !q->split; i++)
        if (s->slots[0][i].phase == SS_PHASE_I)
            return 0;
    for (int v = 0; v < q->stages * q->chunks; v++)
        if (ss_search_stage(q, s->virtual_rank[v], s->virtual_chunk[v]) != v)
            return 0;
    return 1;
}

int ss_search_known(const struct ss_search *q, struct ss_schedule **best, double *length,
                    struct ss_measure *measure)
{
    const char *name;
    int rc = SS_OK;
    *best = NULL;
    for (int n = 0; ss_schedule_known(n, &name, NULL) && !rc; n++) {
        struct ss_schedule_params params = {
            .stages = q->stages, .chunks = q->chunks, .microbatches = q->microbatches, .overlap_p2p = 1};
        struct ss_schedule *s = NULL;
        struct ss_measure m = {0};
        if (ss_schedule_build(name, &params, &s, NULL))
            continue;
        if (same_problem(q, s))
            rc = ss_search_measure(q, s, &m, NULL);
        double own = ss_search_length(q, &m);
        if (!rc && m.feasible && (!*best || own < *length * (1 - EQUAL))) {
            struct ss_schedule *last = *best;
            *best = s;
            *length = own;
            *measure = m;
            s = last;
        }
        ss_schedule_free(s);
    }
    return rc;
}

/* The best known schedule is a start of its own. */
static int try_known(struct search *x, struct ss_search_result *out)
{
    struct ss_measure m;
    int rc = ss_search_known(x->q, &x->known, &out->known_length, &m);
    if (rc || !x->known)
        return rc;
    ss_copy(out->known, sizeof out->known, x->known->name);
    if (better(x->q, &m, &x->best_measure, 0)) {
        ss_schedule_free(x->best);
        x->best = NULL;
        rc = ss_schedule_copy(x->known, &x->best, NULL);
        x->best_measure = m;
    }
    return rc;
}

/* Keeps what a generator made when it is the best so far. */
static int take_greedy(void *user, struct ss_greedy *g)
{
    struct search *x = user;
    struct ss_measure m;
    int rc = ss_search_measure(x->q, x->order, &m, NULL);
    x->tried++;
    if (rc || !better(x->q, &m, &x->best_measure, 0))
        return rc;
    struct ss_schedule *t = x->best;
    x->best = x->order;
    x->order = g->s = t;
    x->best_measure = m;
    ss_schedule_count_warmup(x->best);
    return SS_OK;
}

static double slots_of(const struct ss_search *q)
{
    return 3.0 * q->stages * q->chunks * q->microbatches;
}

/* Returns how many orders all phases together may list or measure. A slot takes three times as long where an order does not stay in the
 * processor's caches. */
static double most_orders(const struct ss_search *q)
{
    return SLOTS_OF_ALL / slots_of(q) / (slots_of(q) > SLOTS_OF_CACHES ? 3 : 1);
}

/* A third of the orders may be starts, and a sixth are for the tries behind them; generators and known schedules take a few. */
static int usual_starts(const struct ss_search *q)
{
    double n = most_orders(q) / 3;
    return n > STARTS ? STARTS : n < FEWEST_STARTS ? FEWEST_STARTS : (int)n;
}

int ss_search_usual_steps(const struct ss_search *q)
{
    double n = fmax(FEWEST, (double)SLOTS_OF_STEPS / slots_of(q) / q->stages), most = most_orders(q) / 6;
    n = n > 20000 ? 20000 : n;
    return (int)(n < FEWEST || n > most ? fmin(n, most) : n);
}

/* An order is measured slot by slot, faster than it is listed. */
static int polish_steps(const struct ss_search *q)
{
    int64_t steps = (int64_t)(q->steps > 0 ? q->steps : ss_search_usual_steps(q)) * (q->stages + 1) / 2;
    int64_t most = q->steps > 0 ? 200000 : (int64_t)(most_orders(q) * 0.8);
    return (int)(steps > 200000 ? 200000 : steps > most ? most : steps);
}

/* Moving slots counts only if the order gets shorter: an equally long order needs more memory as often as
 * less. */
static int polish(struct search *x)
{
    const struct ss_search *q = x->q;
    struct ss_measure before, after;
    struct ss_schedule *s;
    int rc = ss_search_measure(q, x->best, &before, NULL);
    if (rc || ss_search_length(q, &before) <= ss_search_lower_bound(q) * (1 + 1e-12))
        return rc;
    SS_TRY(ss_schedule_copy(x->best, &s, NULL));
    after = before;
    rc = ss_search_polish(q, polish_steps(q), &x->random, s, &after);
    if (!rc && ss_search_length(q, &after) < ss_search_length(q, &before)) {
        ss_schedule_count_warmup(s);
        ss_schedule_free(x->best);
        x->best = s;
        s = NULL;
    }
    ss_schedule_free(s);
    return rc;
}

/* Before memory is taken. */
static int check_size(const struct ss_search *q, struct ss_error *err)
{
    const double actions = (double)q->stages * q->chunks * q->microbatches;
    if (actions <= MOST_ACTIONS)
        return SS_OK;
    return ss_fail(
        err, SS_ERR_UNSUPPORTED, NULL, 0,
        "search: %d stages x %d chunks x %d microbatches would take %.1f GB; %.0f GB are the most" SS_HINT
        "fewer microbatches show the same: what is steady repeats",
        q->stages, q->chunks, q->microbatches, 200e-9 * actions, 200e-9 * (double)MOST_ACTIONS);
}

static int check_input(const struct ss_search *q, struct ss_error *err)
{
    int n = q->stages * q->chunks, good = q->stages >= 1 && q->chunks >= 1 && q->microbatches >= 1;
    if (!good || (q->v_shape && q->chunks != 2))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "search: %d stages x %d chunks x %d microbatches%s",
                       q->stages, q->chunks, q->microbatches,
                       q->v_shape ? " on a V, which has two chunks" : "");
    for (int k = 0; k < n; k++)
        if (!(q->f[k] >= 0 && q->i[k] >= 0 && q->w[k] >= 0 && isfinite(q->f[k] + q->i[k] + q->w[k])))
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "search: times must be finite and not negative");
    return check_size(q, err);
}

/* A known order that is not beaten is the answer: an equally long order may keep twice as much. */
static int finish(struct search *x, struct ss_search_result *r, struct ss_error *err)
{
    const struct ss_search *q = x->q;
    struct ss_measure m;
    if (!x->best_measure.feasible)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "search: no order was found that stays under the memory cap" SS_HINT
                       "raise the cap: one microbatch of every chunk of a rank must fit");
    if (ss_search_measure(q, x->best, &m, r->peak))
        return SS_ERR_NOMEM;
    if (x->known && r->known_length <= ss_search_length(q, &m) * (1 + EQUAL)) {
        ss_schedule_free(x->best);
        x->best = x->known;
        x->known = NULL;
        if (ss_search_measure(q, x->best, &m, r->peak))
            return SS_ERR_NOMEM;
    } else {
        ss_copy(x->best->name, sizeof x->best->name, "found");
    }
    x->best->p2p = SS_P2P_ASYNC; /* Megatron's policies are for its own orders */
    r->length = ss_search_length(q, &m);
    r->lower_bound = ss_search_lower_bound(q);
    r->tried = x->tried;
    r->stages = q->stages;
    r->schedule = x->best;
    x->best = NULL;
    return ss_schedule_check(r->schedule, err);
}

int ss_search_run(const struct ss_search *q, struct ss_search_result **out, struct ss_error *err)
{
    struct search x = {.q = q, .random = q->seed * 2 + 1, .starts = usual_starts(q)};
    int rc = check_input(q, err);
    if (rc)
        return rc;
    struct ss_search_result *r = ss_calloc(1, sizeof *r);
    x.best_measure = (struct ss_measure){.makespan = INFINITY, .span = INFINITY, .idle = INFINITY};
    x.now = ss_calloc((size_t)q->stages, sizeof *x.now);
    x.next = ss_calloc((size_t)q->stages, sizeof *x.next);
    x.order = schedule_new(q);
    x.best = schedule_new(q);
    if (r)
        r->peak = ss_calloc((size_t)q->stages, sizeof *r->peak);
    if (!r || !r->peak || !x.now || !x.next || !x.order || !x.best)
        rc = SS_ERR_NOMEM;
    SS_THEN(rc, climb(&x, q->steps > 0 ? q->steps : ss_search_usual_steps(q)));
    SS_THEN(rc, ss_greedy_run(q, x.order, take_greedy, &x));
    SS_THEN(rc, try_known(&x, r));
    if (!rc && x.best_measure.feasible)
        rc = polish(&x);
    SS_THEN(rc, finish(&x, r, err));
    ss_study_tell(&q->progress, 1);
    if (rc == SS_ERR_NOMEM)
        ss_fail(err, rc, NULL, 0, "no memory to search schedules of %d stages", q->stages);
    SS_FREE(x.now, x.next);
    ss_schedule_free(x.order);
    ss_schedule_free(x.best);
    ss_schedule_free(x.known);
    SS_HAND(rc, r, out, ss_search_result_free);
}

void ss_search_result_free(struct ss_search_result *r)
{
    if (!r)
        return;
    ss_schedule_free(r->schedule);
    SS_FREE(r->peak, r);
}
