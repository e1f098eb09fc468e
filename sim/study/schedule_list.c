/* SPDX-License-Identifier: Apache-2.0 */
/* A list scheduler. The rank that can go on first runs the first of its actions that is ready. W fills the
 * gaps, and goes first where memory or the number of owed W is at its limit. An action changes what its own
 * rank, and the ranks of the stages beside it, can do next; a tree of ranks has the first one at its root. */
#include "base/base.h"
#include "schedule/builder.h"
#include "study/schedule_order.h"

struct choice {
    int phase, chunk; /* phase -1: nothing can be done yet */
    double start;
};

struct lister {
    const struct ss_search *q;
    const struct ss_steer *steer;
    struct ss_schedule *s;
    double *forward, *backward;               /* [virtual stage, microbatch] */
    int *stage_of, *next_f, *next_b, *next_w; /* [rank * chunks + chunk] */
    double *free_at, *start, *busy, *memory;  /* [rank] */
    int *owed;                                /* [rank] */
    struct choice *next;                      /* [rank]: what it can do next */
    int *first;                               /* tree of ranks: node i has the first of nodes 2i and 2i + 1 */
    int leaves;                               /* of the tree, a power of two */
    int over; /* 1: a cap was passed: gradients that are kept for W may need more memory than the forward */
};

static double *cell(const struct lister *x, double *table, int stage, int mb)
{
    return &table[(size_t)stage * (size_t)x->q->microbatches + (size_t)mb];
}

static int in_flight(const struct lister *x, int rank)
{
    int n = 0;
    for (int c = 0; c < x->q->chunks; c++)
        n += x->next_f[rank * x->q->chunks + c] - x->next_b[rank * x->q->chunks + c];
    return n;
}

/* Returns the memory that the oldest unfinished microbatch still needs on a rank. It is reserved, so
 * that the microbatch can always end. */
static double reserve(const struct lister *x, int rank, int mb)
{
    double sum = 0;
    int oldest = mb;
    for (int c = 0; c < x->q->chunks; c++)
        oldest = x->next_b[rank * x->q->chunks + c] < oldest ? x->next_b[rank * x->q->chunks + c] : oldest;
    for (int c = 0; c < x->q->chunks && oldest < mb; c++)
        if (x->next_f[rank * x->q->chunks + c] <= oldest)
            sum += x->q->activation[rank * x->q->chunks + c];
    return sum;
}

static int forward_allowed(const struct lister *x, int rank, int chunk)
{
    int at = rank * x->q->chunks + chunk, mb = x->next_f[at], fresh = 1;
    for (int c = 0; c < x->q->chunks; c++)
        fresh = fresh && x->next_f[rank * x->q->chunks + c] <= mb;
    /* Only new microbatches are held back: one that is on its way must come through. */
    if (fresh && in_flight(x, rank) >= x->steer[rank].ahead)
        return 0;
    return ss_search_fits(x->q, rank, x->memory[rank] + x->q->activation[at] + reserve(x, rank, mb));
}

/* Returns when the inputs of an action are there; < 0: not known yet. */
static double ready_forward(const struct lister *x, int rank, int chunk)
{
    int at = rank * x->q->chunks + chunk, stage = x->stage_of[at];
    if (x->next_f[at] == x->q->microbatches)
        return -1;
    return stage ? *cell(x, x->forward, stage - 1, x->next_f[at]) : 0;
}

static double ready_backward(const struct lister *x, int rank, int chunk)
{
    int at = rank * x->q->chunks + chunk, stage = x->stage_of[at], mb = x->next_b[at];
    if (mb >= x->next_f[at])
        return -1;
    double own = *cell(x, x->forward, stage, mb);
    if (stage == x->q->stages * x->q->chunks - 1)
        return own;
    double next = *cell(x, x->backward, stage + 1, mb);
    return next < 0 ? -1 : fmax(own, next);
}

static void consider(struct choice *best, int phase, int chunk, double start, int prefer)
{
    if (best->phase >= 0 && (start > best->start || (start == best->start && !prefer)))
        return;
    *best = (struct choice){phase, chunk, start};
}

/* Chooses between F and I. */
static struct choice choose_path(const struct lister *x, int rank, int *held)
{
    struct choice best = {-1, 0, 0};
    int chunks = x->q->chunks, deep = x->steer[rank].deep;
    *held = 0;
    for (int k = 0; k < chunks; k++) {
        int c = deep ? chunks - 1 - k : k;
        double ready = ready_forward(x, rank, c);
        if (ready < 0)
            continue;
        if (forward_allowed(x, rank, c))
            consider(&best, SS_PHASE_F, c, fmax(ready, x->free_at[rank]), 0);
        else
            *held = 1;
    }
    for (int c = chunks - 1; c >= 0; c--) {
        double ready = ready_backward(x, rank, c);
        if (ready >= 0)
            consider(&best, x->q->split ? SS_PHASE_I : SS_PHASE_B, c, fmax(ready, x->free_at[rank]),
                     best.phase == SS_PHASE_F && !x->steer[rank].forward);
    }
    return best;
}

static int oldest_owed(const struct lister *x, int rank)
{
    int best = -1;
    for (int c = x->q->chunks - 1; c >= 0; c--) {
        int at = rank * x->q->chunks + c;
        if (x->next_w[at] < x->next_b[at] &&
            (best < 0 || x->next_w[at] < x->next_w[rank * x->q->chunks + best]))
            best = c;
    }
    return best;
}

static struct choice choose(const struct lister *x, int rank)
{
    int held, w = x->q->split ? oldest_owed(x, rank) : -1;
    struct choice path = choose_path(x, rank, &held);
    struct choice weight = {SS_PHASE_W, w, x->free_at[rank]};
    if (w < 0)
        return path;
    double seconds = x->q->w[rank * x->q->chunks + w];
    if (path.phase < 0 || x->owed[rank] > x->steer[rank].owed || (held && path.start > x->free_at[rank]) ||
        path.start >= x->free_at[rank] + seconds)
        return weight;
    return path;
}

static void run(struct lister *x, int rank, struct choice k)
{
    const struct ss_search *q = x->q;
    int at = rank * q->chunks + k.chunk, stage = x->stage_of[at], mb;
    double seconds;
    if (k.phase == SS_PHASE_F) {
        mb = x->next_f[at]++;
        seconds = q->f[at];
        x->memory[rank] += q->activation[at];
        *cell(x, x->forward, stage, mb) = k.start + seconds;
    } else if (k.phase == SS_PHASE_W) {
        mb = x->next_w[at]++;
        seconds = q->w[at];
        x->memory[rank] -= q->weight[at];
        x->owed[rank]--;
    } else {
        mb = x->next_b[at]++;
        seconds = q->i[at] + (k.phase == SS_PHASE_B ? q->w[at] : 0);
        x->memory[rank] -= q->activation[at] - (k.phase == SS_PHASE_I ? q->weight[at] : 0);
        x->owed[rank] += k.phase == SS_PHASE_I;
        *cell(x, x->backward, stage, mb) = k.start + seconds;
    }
    x->over |= !ss_search_fits(q, rank, x->memory[rank]);
    if (!x->s->nslots[rank])
        x->start[rank] = k.start;
    x->s->slots[rank][x->s->nslots[rank]++] = (struct ss_slot){k.phase, k.chunk, mb, -1, -1};
    x->free_at[rank] = k.start + seconds;
    x->busy[rank] += seconds;
}

/* Returns the rank of two that can go on first, and of equal ones the one with the smaller number; -1: neither can. */
static int earlier(const struct lister *x, int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return x->next[b].start < x->next[a].start ? b : a;
}

/* Finds anew what a rank can do next. */
static void renew(struct lister *x, int rank)
{
    x->next[rank] = choose(x, rank);
    int at = x->leaves + rank;
    x->first[at] = x->next[rank].phase >= 0 ? rank : -1;
    while (at > 1) {
        at /= 2;
        x->first[at] = earlier(x, x->first[2 * at], x->first[2 * at + 1]);
    }
}

/* Finds it anew for a rank that has run an action, and for the ranks that wait for its output. */
static void renew_behind(struct lister *x, int rank, struct choice done)
{
    const struct ss_search *q = x->q;
    int stage = x->stage_of[rank * q->chunks + done.chunk], last = q->stages * q->chunks - 1;
    renew(x, rank);
    int next = done.phase == SS_PHASE_F && stage < last ? stage + 1 : stage - 1;
    if (done.phase == SS_PHASE_W || next < 0 || (done.phase == SS_PHASE_F && stage == last))
        return;
    int other = q->v_shape && next >= q->stages ? 2 * q->stages - 1 - next : next % q->stages;
    if (other != rank)
        renew(x, other);
}

static void list(struct lister *x, struct ss_measure *out)
{
    const struct ss_search *q = x->q;
    int p = q->stages, left = p * q->chunks * q->microbatches * (q->split ? 3 : 2);
    for (int i = 0; i < 2 * x->leaves; i++)
        x->first[i] = -1;
    for (int r = 0; r < p; r++)
        renew(x, r);
    for (; left && x->first[1] >= 0; left--) { /* some are left where the cap is too small */
        int rank = x->first[1];
        struct choice done = x->next[rank];
        run(x, rank, done);
        renew_behind(x, rank, done);
    }
    *out = (struct ss_measure){.feasible = !left && !x->over};
    for (int r = 0; r < p; r++) {
        out->makespan = fmax(out->makespan, x->free_at[r]);
        out->span = fmax(out->span, x->free_at[r] - x->start[r]);
        out->idle += x->free_at[r] - x->start[r] - x->busy[r];
    }
}

int ss_search_list(const struct ss_search *q, const struct ss_steer *steer, struct ss_schedule *s,
                   struct ss_measure *out)
{
    size_t p = (size_t)q->stages, n = p * (size_t)q->chunks, all = n * (size_t)q->microbatches, leaves = 1;
    while (leaves < p)
        leaves *= 2;
    double *reals = malloc((2 * all + 4 * p) * sizeof *reals);
    int *numbers = ss_calloc(4 * n + p + 2 * leaves, sizeof *numbers);
    struct choice *next = ss_calloc(p, sizeof *next);
    if (!reals || !numbers || !next) {
        SS_FREE(next, reals, numbers);
        return SS_ERR_NOMEM;
    }
    for (size_t i = 0; i < 2 * all; i++)
        reals[i] = -1;
    memset(reals + 2 * all, 0, 4 * p * sizeof *reals);
    struct lister x = {.q = q, .steer = steer, .s = s, .forward = reals, .backward = reals + all};
    x.free_at = reals + 2 * all;
    x.start = x.free_at + p;
    x.busy = x.start + p;
    x.memory = x.busy + p;
    x.stage_of = numbers;
    x.next_f = numbers + n;
    x.next_b = numbers + 2 * n;
    x.next_w = numbers + 3 * n;
    x.owed = numbers + 4 * n;
    x.first = x.owed + p;
    x.leaves = (int)leaves;
    x.next = next;
    for (int r = 0; r < q->stages; r++) {
        s->nslots[r] = 0;
        for (int c = 0; c < q->chunks; c++)
            x.stage_of[r * q->chunks + c] = ss_search_stage(q, r, c);
    }
    list(&x, out);
    ss_schedule_count_warmup(s);
    SS_FREE(next, reals, numbers);
    return SS_OK;
}
