/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search against the optimum: all orders of one chunk a rank on small pipelines, by branch and bound.
 * unit_study schedule_exact [first seed] [number of seeds]: prints how far the search is from it.
 *
 * Microbatches are alike, so an order of a rank is a word of m F, I and W. What a rank keeps follows from its word alone, and an
 * action that can end first may go first where nothing else on its rank starts before that end: taken earlier it delays
 * nothing, and the cap still holds, because I and W free memory and the next F is this one (Giffler and Thompson's active schedules).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/schedule_order.h"
#include "suite.h"

enum { MAX_P = 3, MAX_M = 4 };
enum { F, I, W, PHASES };

static uint64_t first_seed = 1, nseeds = 20;

/* How far each rank is, and when what others wait for has ended. */
struct state {
    int done[MAX_P][PHASES];
    double end[2][MAX_P][MAX_M]; /* of F and I */
    double free_at[MAX_P];
};
struct exact {
    const struct ss_search *q;
    double best;
    long nodes;
    int blind; /* 1: looks at all, no bound ends a branch */
};

static double length_of(const struct ss_search *q, int rank, int phase)
{
    return phase == F ? q->f[rank] : phase == I ? q->i[rank] : q->w[rank];
}

/* Earliest start of the rank's next action of a phase; infinite: it has to wait for one that is not planned, or for memory. */
static double start_of(const struct exact *x, const struct state *s, int r, int phase)
{
    const struct ss_search *q = x->q;
    int k = s->done[r][phase], last = q->stages - 1;
    double at = s->free_at[r];
    if (k == q->microbatches)
        return INFINITY;
    if (phase == W)
        return k < s->done[r][I] ? at : INFINITY;
    if (phase == I) {
        if (k >= s->done[r][F] || (r < last && k >= s->done[r + 1][I]))
            return INFINITY;
        return fmax(at, r < last ? s->end[I][r + 1][k] : s->end[F][r][k]);
    }
    double kept = q->activation[r] * (k + 1 - s->done[r][I]) + q->weight[r] * (s->done[r][I] - s->done[r][W]);
    if (!ss_search_fits(q, r, kept) || (r > 0 && k >= s->done[r - 1][F]))
        return INFINITY;
    return fmax(at, r > 0 ? s->end[F][r - 1][k] : 0);
}

/* No order that begins like this ends before: what is left on a rank, and of its last I what stages before it do after it. */
static double bound(const struct ss_search *q, const struct state *s)
{
    double most = 0;
    for (int r = 0; r < q->stages; r++) {
        double left[PHASES], after = 0;
        for (int phase = 0; phase < PHASES; phase++)
            left[phase] = (q->microbatches - s->done[r][phase]) * length_of(q, r, phase);
        for (int before = 0; before < r; before++)
            after += q->i[before];
        most = fmax(most, s->free_at[r] + left[F] + left[I] + left[W]);
        if (left[I] > 0)
            most = fmax(most, s->free_at[r] + left[F] + left[I] + after + q->w[0]);
    }
    return most;
}

static void walk(struct exact *x, const struct state *s)
{
    const struct ss_search *q = x->q;
    double first = INFINITY, lower = bound(q, s);
    int rank = -1;
    x->nodes++;
    if (!x->blind && lower >= x->best - 1e-9)
        return;
    for (int r = 0; r < q->stages; r++)
        for (int phase = 0; phase < PHASES; phase++) {
            double end = start_of(x, s, r, phase) + length_of(q, r, phase);
            if (end < first) {
                first = end;
                rank = r;
            }
        }
    if (rank < 0) {
        x->best = fmin(x->best, lower); /* all is done: the bound is the end */
        return;
    }
    for (int phase = 0; phase < PHASES; phase++) {
        double start = start_of(x, s, rank, phase);
        if (!(start < first))
            continue;
        struct state next = *s;
        int k = next.done[rank][phase]++;
        next.free_at[rank] = start + length_of(q, rank, phase);
        if (phase != W)
            next.end[phase][rank][k] = next.free_at[rank];
        walk(x, &next);
    }
}

/* The least makespan; nothing above `known` is looked at. */
static double optimum(const struct ss_search *q, double known, int blind, long *nodes)
{
    struct exact x = {.q = q, .best = known + 1e-6, .blind = blind};
    const struct state start = {0};
    walk(&x, &start);
    *nodes += x.nodes;
    return x.best;
}

static struct ss_search *problem(int p, int m)
{
    struct ss_search *q = ss_search_new(p, 1, m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    q->split = q->barrier = 1;
    for (int r = 0; r < p; r++) {
        q->f[r] = q->i[r] = q->w[r] = 1;
        q->activation[r] = 1;
        q->weight[r] = 0;
        q->cap[r] = m;
    }
    return q;
}

/* The three lengths are known: ZB-H1's 3 m + p - 1 with p in flight, and one microbatch at a time under a cap of one. */
TEST(by_hand)
{
    long nodes = 0;
    for (int p = 2; p <= MAX_P; p++) {
        struct ss_search *q = problem(p, 4);
        for (int r = 0; r < p; r++)
            q->cap[r] = p;
        CU_ASSERT_DOUBLE_EQUAL(optimum(q, 100, 0, &nodes), 12 + p - 1, 1e-9);
        for (int r = 0; r < p; r++)
            q->cap[r] = 1;
        CU_ASSERT_DOUBLE_EQUAL(optimum(q, 100, 0, &nodes), 4 * 2 * p + 1,
                               1e-9); /* the last W of rank 0 behind its I */
        ss_search_free(q);
    }
}

static struct ss_search *random_problem(uint64_t seed)
{
    uint64_t state = 0x9e3779b97f4a7c15ULL * seed;
    int p = 2 + (int)ss_search_draw(&state, 2), m = 2 + (int)ss_search_draw(&state, 3);
    struct ss_search *q = problem(p, m);
    int cap = 1 + (int)ss_search_draw(&state, (uint64_t)m);
    double keep = 0.5 * (double)ss_search_draw(&state, 3);
    q->seed = seed;
    uint64_t spread = 1 + ss_search_draw(&state, 6);
    for (int r = 0; r < p; r++) {
        q->f[r] = 2 + (double)ss_search_draw(&state, spread);
        q->i[r] = 2 + (double)ss_search_draw(&state, spread);
        q->w[r] = 2 + (double)ss_search_draw(&state, spread);
        q->weight[r] = keep;
        q->cap[r] = cap;
    }
    return q;
}

/* The bound cuts off nothing that is shorter. */
TEST(blind)
{
    long blind = 0, nodes = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct ss_search *q = random_problem(seed);
        q->microbatches = 2; /* there is room for more */
        CU_ASSERT_DOUBLE_EQUAL(optimum(q, 1e9, 0, &nodes), optimum(q, 1e9, 1, &blind), 1e-9);
        ss_search_free(q);
    }
    CU_ASSERT(blind > nodes);
}

TEST(random)
{
    double worst = 0, sum = 0;
    long nodes = 0;
    int found = 0;
    for (uint64_t seed = first_seed; seed < first_seed + nseeds; seed++) {
        struct ss_search *q = random_problem(seed);
        struct ss_search_result *r = NULL;
        CU_ASSERT_EQUAL_FATAL(ss_search_run(q, &r, NULL), SS_OK);
        double best = optimum(q, r->length, 0, &nodes), above = fmax(0, r->length / best - 1);
        CU_ASSERT(best >= r->lower_bound - 1e-5);
        worst = fmax(worst, above);
        sum += above;
        found += above < 1e-6;
        ss_search_result_free(r);
        ss_search_free(q);
    }
    printf("%d of %d at the optimum, others up to %.2f %% above, mean of all %.3f %%; %ld nodes ", found,
           (int)nseeds, 100 * worst, 100 * sum / (double)nseeds, nodes);
    CU_ASSERT(worst <= 0.01);
}

SUITE(schedule_exact)
{
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        nseeds = strtoull(argv[2], NULL, 10);
    return suite_file(argv[0], NULL, NULL);
}
