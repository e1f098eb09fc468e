/* SPDX-License-Identifier: Apache-2.0 */
/* The search: sound orders under the cap, never worse than what is known, the same for a seed; and the comparison. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_helper.h"
#include "study/schedule_order.h"
#include "suite.h"

static struct ss_search *problem(int p, int v, int m, double f, double i, double w, double keep, double cap)
{
    struct ss_search *q = ss_search_new(p, v, m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    q->steps = 300;
    for (int k = 0; k < p * v; k++) {
        q->f[k] = f;
        q->i[k] = i;
        q->w[k] = w;
        q->activation[k] = 1;
        q->weight[k] = keep;
    }
    for (int r = 0; r < p; r++)
        q->cap[r] = cap;
    return q;
}

static struct ss_search_result *found(const struct ss_search *q)
{
    struct ss_search_result *r = NULL;
    struct ss_error err = {0};
    int rc = ss_search_run(q, &r, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
    CU_ASSERT_EQUAL(ss_schedule_check(r->schedule, NULL), SS_OK);
    CU_ASSERT(r->length >= r->lower_bound - 1e-9);
    CU_ASSERT(!r->known[0] || r->length <= r->known_length + 1e-9);
    for (int k = 0; k < r->stages; k++)
        CU_ASSERT(r->peak[k] <= q->cap[k] + 1e-9);
    return r;
}

/* What the search says of its order is what the schedule's own integers say. */
static double makespan(const struct ss_schedule *s, double f, double i, double w)
{
    double a[8], b[8], c[8], d[8], total = 0;
    const double *duration[SS_PHASE_COUNT] = {a, b, c, d, NULL};
    for (int k = 0; k < s->chunks; k++) {
        a[k] = f;
        b[k] = i + w;
        c[k] = i;
        d[k] = w;
    }
    CU_ASSERT_EQUAL(ss_schedule_makespan(s, duration, &total, NULL, NULL), SS_OK);
    return total;
}

TEST(reaches_the_bound)
{
    for (int p = 2; p <= 8; p += 2) {
        struct ss_search *q = problem(p, 1, 2 * p, 1, 1, 1, 0, p);
        struct ss_search_result *r = found(q);
        CU_ASSERT_DOUBLE_EQUAL(r->length, r->lower_bound, 1e-9); /* as ZB-H1 */
        CU_ASSERT_DOUBLE_EQUAL(r->length, makespan(r->schedule, 1, 1, 1), 1e-9);
        CU_ASSERT_STRING_EQUAL(r->known, "zb-h1");
        ss_search_result_free(r);
        ss_search_free(q);
    }
}

TEST(objectives)
{
    struct ss_search *q = problem(4, 1, 12, 1, 1, 1, 0, 7);
    q->barrier = 0;
    struct ss_search_result *r = found(q);
    CU_ASSERT_DOUBLE_EQUAL(r->length, 36, 1e-9); /* nothing idle inside a rank, as ZB-H2 */
    ss_search_result_free(r);
    q->split = 0;
    q->barrier = 1;
    r = found(q);
    CU_ASSERT_DOUBLE_EQUAL(r->length, 36 + 9, 1e-9); /* with whole backwards 1F1B is the best there is */
    CU_ASSERT_DOUBLE_EQUAL(r->lower_bound, 45, 1e-9);
    ss_search_result_free(r);
    ss_search_free(q);
}

TEST(v_under_a_cap)
{
    struct ss_search *q = problem(4, 2, 8, 1, 1, 1, 0.6, 8);
    q->v_shape = 1;
    struct ss_search_result *r = found(q);
    CU_ASSERT(r->length <= 6 * 8 + 6);
    CU_ASSERT_EQUAL(r->schedule->virtual_rank[7], 0);
    double wide = r->length;
    ss_search_result_free(r);
    for (int k = 0; k < 4; k++)
        q->cap[k] = 4;
    r = found(q);
    CU_ASSERT(r->length >= wide); /* memory has its price */
    ss_search_result_free(r);
    ss_search_free(q);
}

/* With hardly a step of local search: what the generators of zero-bubble make of these (run from sail-sg/zero-bubble 3fd87fd1).
 * Without its generators the search stays at 1072 and 944. */
TEST(generators)
{
    struct ss_search *q = problem(5, 2, 10, 8, 30, 6, 1, 12);
    q->steps = 1;
    q->v_shape = 1;
    q->barrier = 0;
    struct ss_search_result *r = found(q);
    CU_ASSERT(r->length <= 1054);
    ss_search_result_free(r);
    ss_search_free(q);
    q = problem(6, 1, 18, 14, 12, 25, 2. / 39, 9);
    q->steps = 1;
    q->barrier = 0;
    r = found(q);
    CU_ASSERT(r->length <= 936);
    ss_search_result_free(r);
    ss_search_free(q);
}

/* On paper: two ranks, three microbatches, F 2, I 3, W 1, room for all. Rank 1 begins at 2 at the earliest and has 3 F and 3 I, 15,
 * before its last I can go back to rank 0, which then has an I and a W, 4: 21, and there is an order of that length. With room
 * for one microbatch each takes 2 + 2 + 3 + 3 on rank 0 before the next may begin: 30, and the last W. Room for 1.9 is room for one. */
TEST(bound_by_hand)
{
    struct ss_search *q = problem(2, 1, 3, 2, 3, 1, 0, 9);
    for (int barrier = 0; barrier < 2; barrier++) {
        q->steps = 1;
        q->barrier = barrier;
        q->cap[0] = q->cap[1] = 9;
        struct ss_search_result *r = found(q);
        CU_ASSERT_DOUBLE_EQUAL(r->lower_bound, 21, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(r->length, 21, 1e-12);
        ss_search_result_free(r);
        q->cap[0] = q->cap[1] = 1.9;
        r = found(q);
        CU_ASSERT_DOUBLE_EQUAL(r->lower_bound, 30, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(r->length, 31, 1e-12);
        ss_search_result_free(r);
    }
    ss_search_free(q);
}

/* Two ranks, two microbatches, F = I = W = 1. With W between its backwards rank 1 hands its last gradient on at 6, and rank 0 ends at
 * 8; with W behind them it is 5, and 7, which the bound is too: 1 + 2 (1 + 1) + 1 + 1. */
TEST(polish_by_hand)
{
    static const char text[] = "schedule 1\nname slow\nrank 0: 0F0 0F1 0I0 0W0 0I1 0W1\n"
                               "rank 1: 1F0 1I0 1W0 1F1 1I1 1W1\n";
    struct ss_search *q = problem(2, 1, 2, 1, 1, 1, 0, 9);
    struct ss_schedule *s = NULL;
    struct ss_measure m;
    uint64_t random = 1;
    CU_ASSERT_EQUAL_FATAL(ss_schedule_parse(text, sizeof text - 1, "slow", &s, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_search_measure(q, s, &m, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(m.makespan, 8, 1e-12);
    CU_ASSERT_EQUAL(ss_search_polish(q, 500, &random, s, &m), 0);
    CU_ASSERT_DOUBLE_EQUAL(m.makespan, 7, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(makespan(s, 1, 1, 1), 7, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_search_lower_bound(q), 7, 1e-12);
    ss_schedule_free(s);
    ss_search_free(q);
}

/* Stages that differ: no known order is made for them. */
TEST(unequal_stages)
{
    struct ss_search *q = problem(4, 1, 12, 1, 1.3, 0.7, 0.5, 4);
    for (int r = 0; r < 4; r++) {
        q->f[r] = 1 + 0.3 * (r % 2);
        q->i[r] = 1.4 - 0.1 * r;
    }
    struct ss_search_result *a = found(q), *b = found(q);
    CU_ASSERT_EQUAL(a->length, b->length);
    for (int r = 0; r < 4; r++)
        CU_ASSERT_EQUAL(memcmp(a->schedule->slots[r], b->schedule->slots[r],
                               (size_t)a->schedule->nslots[r] * sizeof *a->schedule->slots[r]),
                        0);
    CU_ASSERT(a->length < a->known_length * (1 - 1e-9));
    CU_ASSERT_STRING_EQUAL(a->schedule->name, "found");
    ss_search_result_free(a);
    ss_search_result_free(b);
    ss_search_free(q);
}

/* Without a cap many orders are as long as ZB-H1, (m + 1) 3 = 27 with F = I = W = 1, and keep more: it is the answer, with at most p
 * microbatches a rank. All orders of one rank are 3 m long, and 1F1B's backward is whole. */
TEST(known_is_not_beaten)
{
    struct ss_search *q = problem(4, 1, 8, 1, 1, 1, 0, INFINITY),
                     *one = problem(1, 1, 8, 1, 1, 1, 0, INFINITY);
    struct ss_search_result *r = found(q), *alone = found(one);

    CU_ASSERT_DOUBLE_EQUAL(r->length, 27, 1e-12);
    CU_ASSERT_STRING_EQUAL(r->known, "zb-h1");
    CU_ASSERT_STRING_EQUAL(r->schedule->name, "zb-h1");
    for (int k = 0; k < 4; k++)
        CU_ASSERT_EQUAL(ss_schedule_in_flight(r->schedule, k), 4);
    CU_ASSERT_DOUBLE_EQUAL(alone->length, 24, 1e-12);
    CU_ASSERT_STRING_EQUAL(alone->schedule->name, "1f1b");
    CU_ASSERT_EQUAL(alone->schedule->slots[0][1].phase, SS_PHASE_B);
    ss_search_result_free(r);
    ss_search_result_free(alone);
    ss_search_free(q);
    ss_search_free(one);
}

/* An order that began as Megatron's interleaved one has not its policy of sends, which is for that order alone: it can be written and read. */
TEST(polished_can_be_read)
{
    static const double slow[] = {1.5, 1, 1.5, 1, 1, 1.5}, slow_w[] = {1, 1, 1.5, 1, 1, 1};
    struct ss_search *q = problem(6, 4, 12, 1, 1, 1, 0, 48);
    struct ss_schedule *s = NULL;
    char *text = NULL;
    size_t size;
    q->split = 0;
    q->steps = 200;
    for (int k = 0; k < 24; k++) {
        q->f[k] = slow[k / 4];
        q->w[k] = slow_w[k / 4];
    }
    struct ss_search_result *r = found(q);
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_STRING_EQUAL(r->known, "interleaved");
    CU_ASSERT(r->length < r->known_length);
    CU_ASSERT_STRING_EQUAL(r->schedule->name, "found");
    CU_ASSERT_EQUAL(ss_schedule_write(r->schedule, SS_SCHEDULE_TEXT, out, NULL), SS_OK);
    fclose(out);
    CU_ASSERT_EQUAL(ss_schedule_parse(text, size, "found", &s, NULL), SS_OK);
    free(text);
    ss_schedule_free(s);
    ss_search_result_free(r);
    ss_search_free(q);
}

TEST(refusals)
{
    struct ss_search *q = problem(4, 1, 8, 1, 1, 1, 0, 0.5);
    struct ss_search_result *r = NULL;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_search_run(q, &r, &err), SS_ERR_CONFIG);
    CU_ASSERT(strstr(err.message, "cap") != NULL);
    q->f[2] = NAN;
    CU_ASSERT_EQUAL(ss_search_run(q, &r, &err), SS_ERR_USAGE);
    q->f[2] = 1;
    q->v_shape = 1;
    CU_ASSERT_EQUAL(ss_search_run(q, &r, &err), SS_ERR_USAGE);
    CU_ASSERT_PTR_NULL(r);
    ss_search_free(q);
}

/* 200 bytes for each of five million and one actions. */
TEST(too_large)
{
    struct ss_search *q = problem(1, 1, 5000001, 1, 1, 1, 0, 1e9);
    struct ss_search_result *r = NULL;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_search_run(q, &r, &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "would take 1.0 GB; 1 GB are the most"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "fewer microbatches"));
    ss_search_free(q);
}

/* No order breaks its cap as `schedule check` counts it, from F to W: 50 shapes and caps, half of them with times of their own. */
TEST(caps)
{
    for (int n = 0; n < 50; n++) {
        int p = 2 + n % 7, m = p + n % 5, cap = 1 + n * 3 % p;
        struct ss_search *q = problem(p, 1, m, 1, n % 2 ? 1.2 : 1, n % 4 < 2 ? 0.8 : 1, 1, cap);
        q->steps = 40;
        struct ss_search_result *r = found(q);
        for (int rank = 0; rank < p; rank++) {
            CU_ASSERT(ss_schedule_in_flight(r->schedule, rank) <= cap);
            CU_ASSERT_DOUBLE_EQUAL(r->peak[rank], ss_schedule_in_flight(r->schedule, rank), 1e-9);
        }
        ss_search_result_free(r);
        ss_search_free(q);
    }
}

/* On 300 ranks all phases together list and measure 1e7 slots and a few orders more: 37 orders of 270,000 slots, of which 12 are starts, 6 tries
 * behind them and 8 of the generator. */
TEST(many_ranks)
{
    struct ss_search *q = problem(300, 1, 300, 1, 1, 1, 1, 300);
    q->steps = 0;
    struct ss_search_result *r = found(q);
    CU_ASSERT_EQUAL(ss_search_usual_steps(q), 6);
    CU_ASSERT(r->tried <= 12 + 6 + 8);
    CU_ASSERT(r->length <= 1.5 * r->lower_bound);
    ss_search_result_free(r);
    ss_search_free(q);
}

/* What a study has told. */
struct told {
    int n, back;
    double first, last;
};

static void hear(void *ctx, double share)
{
    struct told *t = ctx;
    t->first = t->n++ ? t->first : share;
    t->back += share < t->last;
    t->last = share;
}

static void expect_heard(struct told *t, int least)
{
    CU_ASSERT(t->n >= least);
    CU_ASSERT_EQUAL(t->first, 0);
    CU_ASSERT_EQUAL(t->back, 0);
    CU_ASSERT_EQUAL(t->last, 1);
    *t = (struct told){0};
}

/* Each of 32 starts and 10 tries is told, each placement of a layout, each schedule of a comparison; never back. */
/* The peaks of 100 ranks stand in lines of 80 columns. */
TEST(lines)
{
    struct ss_search *q = problem(100, 1, 4, 1, 1, 1, 1, 100);
    struct ss_search_result *r = found(q);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int lines = 0, peaks = 0;

    CU_ASSERT_EQUAL(ss_search_write(q, r, 0, out, NULL), SS_OK);
    fclose(out);
    for (char *at = strstr(text, "peak by rank"), *end; at && (end = strchr(at, '\n')) != NULL;
         at = end + 1) {
        if (lines && strncmp(at, "   ", 3) != 0)
            break;
        lines++;
        CU_ASSERT(end - at <= 80);
        for (const char *c = at; c < end; c++)
            peaks += *c == ' ' && c[1] >= '0' && c[1] <= '9';
    }
    CU_ASSERT_EQUAL(peaks, 100);
    CU_ASSERT_EQUAL(lines, 4); /* 22 numbers, and 38 in each further line */
    free(text);
    ss_search_result_free(r);
    ss_search_free(q);
}

TEST(progress)
{
    static const double times[] = {1, 1, 1};
    const struct ss_schedule_params shape = {.stages = 4, .microbatches = 8, .overlap_p2p = 1};
    struct told told = {0};
    const struct ss_study_progress progress = {hear, &told};
    struct ss_layout_options o = {
        .cap = INFINITY, .steps = 10, .seed = 1, .progress = progress, .workers.n = 1};
    struct ss_search *q = problem(4, 1, 8, 1, 1.2, 0.9, 0, 1e9);
    struct ss_search_result *r = NULL;
    struct ss_search_layouts *l = NULL;
    struct ss_comparison *c = NULL;
    q->steps = 10;
    q->progress = progress;
    CU_ASSERT_EQUAL_FATAL(ss_search_run(q, &r, NULL), SS_OK);
    expect_heard(&told, 42);
    CU_ASSERT_EQUAL_FATAL(ss_search_layouts_of_shape(q, &o, &l, NULL), SS_OK);
    expect_heard(&told, 3 * 42);
    CU_ASSERT_EQUAL_FATAL(ss_compare_integers(NULL, 0, &shape, times, 0, &progress, &c, NULL), SS_OK);
    expect_heard(&told, c->n);
    ss_comparison_free(c);
    ss_search_layouts_free(l);
    ss_search_result_free(r);
    ss_search_free(q);
}

/* Rows are the same by three processes as by one, and the best has its schedule. */
TEST(workers)
{
    struct ss_search *q = problem(4, 1, 8, 1, 1.2, 0.9, 0, 1e9);
    struct ss_search_layouts *l[2];
    for (int i = 0; i < 2; i++) {
        const struct ss_layout_options o = {.cap = INFINITY, .steps = 10, .seed = 1, .workers.n = i ? 3 : 1};
        CU_ASSERT_EQUAL_FATAL(ss_search_layouts_of_shape(q, &o, &l[i], NULL), SS_OK);
    }
    CU_ASSERT_EQUAL_FATAL(l[0]->n, 3);
    CU_ASSERT_EQUAL_FATAL(l[1]->n, 3);
    CU_ASSERT_EQUAL_FATAL(l[0]->best, l[1]->best);
    for (int i = 0; i < 3; i++) {
        const struct ss_search_layout *a = &l[0]->rows[i], *b = &l[1]->rows[i];
        CU_ASSERT(a->found && b->found && a->schedule);
        CU_ASSERT_EQUAL(a->length, b->length);
        CU_ASSERT_EQUAL(a->activation, b->activation);
        CU_ASSERT_EQUAL(b->schedule != NULL, i == l[1]->best);
    }
    const struct ss_schedule *s[2] = {l[0]->rows[l[0]->best].schedule, l[1]->rows[l[1]->best].schedule};
    for (int r = 0; r < 4; r++) {
        CU_ASSERT_EQUAL_FATAL(s[0]->nslots[r], s[1]->nslots[r]);
        CU_ASSERT_EQUAL(
            memcmp(s[0]->slots[r], s[1]->slots[r], (size_t)s[0]->nslots[r] * sizeof *s[0]->slots[r]), 0);
    }
    ss_search_layouts_free(l[0]);
    ss_search_layouts_free(l[1]);
    ss_search_free(q);
}

/* Two ranks, one microbatch, F = I = W = 1: the backward of the last rank begins behind its forward at 2 and takes 2. */
TEST(strip)
{
    static const char *const names[] = {"1f1b", "dualpipe"};
    static const double times[] = {1, 1, 1}, want[][2] = {{0, 1}, {4, 6}, {1, 2}, {2, 4}};
    struct ss_schedule_params shape = {.stages = 2, .microbatches = 1, .overlap_p2p = 1};
    struct ss_comparison *c = NULL;
    CU_ASSERT_EQUAL_FATAL(ss_compare_integers(names, 2, &shape, times, 1, NULL, &c, NULL), SS_OK);
    const struct ss_schedule_strip *s = c->rows[0].strip;
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_PTR_NULL(c->rows[1].strip); /* refused */
    CU_ASSERT_EQUAL_FATAL(s->n, 4);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(s->slots[i].rank, i / 2);
        CU_ASSERT_EQUAL(s->slots[i].phase, i % 2 ? SS_PHASE_B : SS_PHASE_F);
        CU_ASSERT_DOUBLE_EQUAL(s->slots[i].start, want[i][0], 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(s->slots[i].end, want[i][1], 1e-12);
    }
    ss_comparison_free(c);
}

TEST(compare)
{
    static const char *const names[] = {"1f1b", "zb-h1", "zb-v", "interleaved:4", "zb-h2"};
    static const double times[] = {1, 1, 1};
    struct ss_schedule_params shape = {.stages = 4, .microbatches = 8, .overlap_p2p = 1};
    struct ss_comparison *c = NULL;
    CU_ASSERT_EQUAL_FATAL(ss_compare_integers(names, 5, &shape, times, 1, NULL, &c, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[0].summary.iteration_s, 33, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[0].inner_bubble, 9, 1e-12);
    CU_ASSERT_EQUAL(c->rows[0].sends, 2 * 3 * 8);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[1].inner_bubble, 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[2].summary.iteration_s, 25.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[2].activation[3], 4, 1e-12);
    CU_ASSERT_EQUAL(c->rows[2].sends, 2 * 6 * 8); /* the turn of the V is no send */
    CU_ASSERT_EQUAL(c->rows[3].chunks, 4);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[3].inner_bubble, 9.0 / 4, 1e-12);
    ss_comparison_free(c);
    shape.microbatches = 4;
    CU_ASSERT_EQUAL_FATAL(ss_compare_integers(names + 4, 1, &shape, times, 0, NULL, &c, NULL), SS_OK);
    CU_ASSERT_EQUAL(c->rows[0].summary.code, SS_ERR_CONFIG);
    ss_comparison_free(c);
    static const char *const unknown[] = {"zb-h9"};
    CU_ASSERT_EQUAL(ss_compare_integers(unknown, 1, &shape, times, 0, NULL, &c, NULL), SS_ERR_INPUT);
    struct ss_error err;
    shape = (struct ss_schedule_params){.stages = 1024, .microbatches = 21846, .overlap_p2p = 1};
    CU_ASSERT_EQUAL(ss_compare_integers(names, 1, &shape, times, 0, NULL, &c, &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(err.message, "1024 ranks with 21846 microbatches are 6.7e+07 slots, 1.3 GiB"));
}

/* A job's search has of each stage the times and the memory of its busiest class, as its plan has them. */
TEST(of_job)
{
    char text[] =
        "--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32";
    const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .brief = 1};
    char *argv[JOB_MAX_ARGS];
    double fixed[2] = {0}, forward[2] = {0};
    struct ss_search *q = NULL;
    struct ss_scenario *s;
    struct ss_run run;
    CU_ASSERT_EQUAL_FATAL(make_scenario(split(text, argv), argv, &s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &o, &run, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_search_from_job(s, 0, &q, NULL), 0);
    for (int i = 0; i < run.plan->nclasses; i++) {
        const struct ss_plan_class *c = &run.plan->classes[i];
        double sum = ss_plan_overhead_bytes(run.plan, i);
        for (int m = 0; m < SS_MEM_COUNT; m++)
            sum += c->memory[m];
        fixed[c->stage] = fmax(fixed[c->stage], sum);
        forward[c->stage] = fmax(forward[c->stage], ss_label_sum(c->chunks[0].forward));
    }
    for (int r = 0; r < 2; r++) {
        CU_ASSERT(fixed[r] > 10e9 && forward[r] > 0);
        CU_ASSERT_DOUBLE_EQUAL(q->fixed[r], fixed[r], 1);
        CU_ASSERT_DOUBLE_EQUAL(q->f[r], forward[r], 1e-12);
    }
    ss_search_free(q);
    ss_run_free(&run);
    ss_scenario_free(s);
}

/* Percent by which an order is longer than the bound; none where rounding puts it below, or without a bound. */
TEST(above_bound)
{
    CU_ASSERT_DOUBLE_EQUAL(ss_search_above_bound(1.125, 1), 12.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_search_above_bound(3, 2), 50, 1e-12);
    CU_ASSERT(ss_search_above_bound(1 - 1e-15, 1) == 0 && ss_search_above_bound(1, 0) == 0);
}
