/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stepsim/schedule.h"
#include "suite.h"

static struct ss_schedule *build(const char *name, int p, int v, int m, int group)
{
    struct ss_schedule_params params = {
        .stages = p, .chunks = v, .microbatches = m, .microbatch_group_size = group, .overlap_p2p = 1};
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};
    if (ss_schedule_build(name, &params, &s, &err)) {
        fprintf(stderr, "%s p=%d v=%d m=%d N=%d: %s\n", name, p, v, m, group, err.message);
        return NULL;
    }
    return s;
}

/* ---- an independent reading of Megatron's rules: iteration number -> (chunk, microbatch) ---- */

struct reference {
    int p, v, m, group; /* group 0: core 0.8 */
};

/* Place of iteration i: groups of N microbatches, the last one may be short. */
static void reference_place(const struct reference *q, int i, int *chunk, int *microbatch)
{
    int n = q->group ? q->group : q->p, group_index = i / (n * q->v);
    int first = group_index * n, in_group = i - first * q->v;
    int length = q->m - first < n ? q->m - first : n;
    *chunk = in_group / length;
    *microbatch = first + in_group % length;
}

static int reference_warmup(const struct reference *q, int rank)
{
    int total = q->m * q->v;
    if (!q->group && q->m == q->p)
        return total;
    int n = q->group ? q->group : q->p;
    int warmup = (q->p - rank - 1) * 2 + (q->v - 1) * n;
    return warmup < total ? warmup : total;
}

static int mismatches(const struct ss_schedule *s, const struct reference *q, int rank, int warmup)
{
    int total = q->m * q->v, f = 0, b = 0, bad = 0;
    if (s->nslots[rank] != 2 * total || ss_schedule_warmup(s, rank) != warmup)
        return 1;
    for (int i = 0; i < 2 * total; i++) {
        /* forward while warming up, then in turn, then only backward */
        int forward = i < warmup || (i < 2 * total - warmup && (i - warmup) % 2 == 0);
        int chunk, microbatch;
        reference_place(q, forward ? f++ : b++, &chunk, &microbatch);
        if (!forward)
            chunk = q->v - 1 - chunk;
        const struct ss_slot *slot = &s->slots[rank][i];
        bad += slot->phase != (forward ? SS_PHASE_F : SS_PHASE_B) || slot->chunk != chunk ||
               slot->microbatch != microbatch || slot->chunk2 != -1 || slot->microbatch2 != -1;
    }
    return bad + (f != total) + (b != total);
}

static int reference_in_flight(const struct reference *q, int warmup)
{
    int total = q->m * q->v;
    return warmup < total ? warmup + 1 : total;
}

static int wrong_ranks(const char *name, const struct reference *q)
{
    struct ss_schedule *s = build(name, q->p, q->v, q->m, q->group);
    if (!s)
        return 1;
    struct ss_error err = {0};
    int bad = ss_schedule_check(s, &err) != SS_OK;
    for (int rank = 0; rank < q->p; rank++) {
        int warmup = reference_warmup(q, rank);
        if (!strcmp(name, "1f1b"))
            warmup = q->p - rank - 1 < q->m ? q->p - rank - 1 : q->m;
        bad += mismatches(s, q, rank, warmup) != 0;
        bad += ss_schedule_in_flight(s, rank) != reference_in_flight(q, warmup);
    }
    for (int stage = 0; stage < q->p * q->v; stage++)
        bad += s->virtual_rank[stage] != stage % q->p || s->virtual_chunk[stage] != stage / q->p;
    ss_schedule_free(s);
    return bad;
}

TEST(1f1b_equals_megatron)
{
    int bad = 0;
    for (int p = 1; p <= 8; p++)
        for (int m = 1; m <= 64; m++)
            bad += wrong_ranks("1f1b", &(struct reference){p, 1, m, 0});
    CU_ASSERT_EQUAL(bad, 0);
}

TEST(interleaved_equals_core_0_8)
{
    int bad = 0, cases = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 5; v++)
            for (int m = p; m <= 64; m += p, cases++)
                bad += wrong_ranks("interleaved", &(struct reference){p, v, m, 0});
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_EQUAL(cases, 5 * (32 + 21 + 16 + 12 + 10 + 9 + 8));
}

TEST(interleaved_equals_core_0_10)
{
    int bad = 0, refused = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 5; v++)
            for (int m = 1; m <= 64; m++)
                for (int group = 1; group <= m + 1; group++) {
                    struct ss_schedule_params params = {.stages = p,
                                                        .chunks = v,
                                                        .microbatches = m,
                                                        .microbatch_group_size = group,
                                                        .overlap_p2p = 1};
                    struct ss_schedule *s = NULL;
                    int rest = m % group;
                    if (group >= p && group <= m && (rest == 0 || rest >= p)) {
                        if (m % 7 == 1 || m < 20)
                            bad += wrong_ranks("interleaved", &(struct reference){p, v, m, group});
                    } else {
                        refused++;
                        bad += ss_schedule_build("interleaved", &params, &s, NULL) != SS_ERR_CONFIG || s;
                    }
                }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT(refused > 1000);
}

/* A few values read off Megatron's own comments and figures, so that the rule above is not its only judge. */
TEST(known_orders)
{
    /* "PP2 N3M5 with VP2": the table in Megatron's source. */
    static const int microbatch[] = {0, 1, 2, 0, 1, 2, 3, 4, 3, 4}, chunk[] = {0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
    struct ss_schedule *s = build("interleaved", 2, 2, 5, 3);
    CU_ASSERT_FATAL(s != NULL);
    int f = 0;
    for (int i = 0; i < s->nslots[0]; i++)
        if (s->slots[0][i].phase == SS_PHASE_F) {
            CU_ASSERT_EQUAL(s->slots[0][i].chunk, chunk[f]);
            CU_ASSERT_EQUAL(s->slots[0][i].microbatch, microbatch[f++]);
        }
    CU_ASSERT_EQUAL(f, 10);
    CU_ASSERT_EQUAL(ss_schedule_warmup(s, 0), 5);
    CU_ASSERT_EQUAL(ss_schedule_warmup(s, 1), 3);
    ss_schedule_free(s);

    /* The figure of interleaved 1F1B with p = 4, v = 2, m = 8. */
    s = build("interleaved", 4, 2, 8, 0);
    CU_ASSERT_FATAL(s != NULL);
    static const int warmup[] = {10, 8, 6, 4};
    for (int r = 0; r < 4; r++)
        CU_ASSERT_EQUAL(ss_schedule_warmup(s, r), warmup[r]);
    CU_ASSERT_EQUAL(s->slots[3][5].phase, SS_PHASE_B);
    CU_ASSERT_EQUAL(s->slots[3][5].chunk, 1);
    CU_ASSERT_EQUAL(s->slots[3][5].microbatch, 0);
    ss_schedule_free(s);

    /* m = p: core 0.8 only warms up, later releases do not. */
    s = build("interleaved", 4, 2, 4, 0);
    CU_ASSERT_FATAL(s != NULL);
    CU_ASSERT_EQUAL(ss_schedule_warmup(s, 3), 8);
    ss_schedule_free(s);
    s = build("interleaved", 4, 2, 4, 4);
    CU_ASSERT_FATAL(s != NULL);
    CU_ASSERT_EQUAL(ss_schedule_warmup(s, 3), 4);
    ss_schedule_free(s);
}

static void expect_error(const char *name, int p, int v, int m, int group, int code, const char *words)
{
    struct ss_schedule_params params = {
        .stages = p, .chunks = v, .microbatches = m, .microbatch_group_size = group, .overlap_p2p = 1};
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_schedule_build(name, &params, &s, &err), code);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT_EQUAL(err.code, code);
    if (!strstr(err.message, words)) {
        fprintf(stderr, "no '%s' in '%s'\n", words, err.message);
        CU_FAIL("message");
    }
    CU_ASSERT(code != SS_ERR_CONFIG || err.hint[0]);
    CU_ASSERT_EQUAL(ss_schedule_build(name, &params, &s, NULL), code);
}

/* Megatron's combined 1F1B: one more forward, then each forward beside the backward that follows it. */
TEST(pairs)
{
    struct ss_schedule_params params = {.stages = 1, .chunks = 1, .microbatches = 4, .paired = 1};
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};
    CU_ASSERT_FATAL(ss_schedule_build("1f1b", &params, &s, NULL) == SS_OK);
    CU_ASSERT_EQUAL_FATAL(s->nslots[0], 5);
    CU_ASSERT(s->slots[0][0].phase == SS_PHASE_F && s->slots[0][4].phase == SS_PHASE_B);
    for (int i = 1; i < 4; i++) {
        const struct ss_slot *slot = &s->slots[0][i];
        CU_ASSERT(slot->phase == SS_PHASE_FB && slot->microbatch == i && slot->microbatch2 == i - 1);
    }
    ss_schedule_free(s);
    params.stages = 2;
    CU_ASSERT_EQUAL(ss_schedule_build("1f1b", &params, &s, &err), SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "virtual_pipeline_model_parallel_size"));
    params = (struct ss_schedule_params){
        .stages = 2, .chunks = 2, .microbatches = 4, .overlap_p2p = 1, .paired = 1};
    CU_ASSERT_FATAL(ss_schedule_build("interleaved", &params, &s, NULL) == SS_OK);
    CU_ASSERT_EQUAL(ss_schedule_check(s, NULL), SS_OK);
    CU_ASSERT_EQUAL(s->warmup[0], 5);
    CU_ASSERT_EQUAL(s->warmup[1], 3);
    CU_ASSERT_EQUAL(s->nslots[1], 8 + 3);
    /* rank 1: forwards (chunk, microbatch) 00 01 10, then 11 beside the backward of 10 */
    const struct ss_slot *first = &s->slots[1][3];
    CU_ASSERT(first->phase == SS_PHASE_FB && first->chunk == 1 && first->microbatch == 1);
    CU_ASSERT(first->chunk2 == 1 && first->microbatch2 == 0);
    ss_schedule_free(s);
}

TEST(refusals)
{
    expect_error("interleaved", 4, 2, 10, 0, SS_ERR_CONFIG,
                 "(10) is not divisible by pipeline-model-parallel-size (4)");
    expect_error("interleaved", 1, 2, 8, 0, SS_ERR_CONFIG, "greater than 1");
    expect_error("interleaved", 4, 2, 8, 3, SS_ERR_CONFIG, "outside 4");
    expect_error("interleaved", 4, 2, 8, 9, SS_ERR_CONFIG, "outside 4");
    expect_error("interleaved", 4, 2, 10, 4, SS_ERR_CONFIG, "2 of 10");
    expect_error("1f1b", 4, 2, 8, 0, SS_ERR_CONFIG, "one model chunk");
    expect_error("1f1b", 0, 1, 8, 0, SS_ERR_INPUT, "at least 1");
    expect_error("interleaved", 4, 2, 8, -1, SS_ERR_INPUT, "at least 1");
    expect_error("interleaved", 1 << 20, 1 << 20, 1 << 20, 0, SS_ERR_INPUT, "slots");
    expect_error("interlaved", 4, 2, 8, 0, SS_ERR_INPUT, "unknown schedule");
}

TEST(known_list)
{
    const char *name = NULL, *description = NULL;
    int n = 0;
    for (; ss_schedule_known(n, &name, &description); n++)
        CU_ASSERT(name[0] && description[0]);
    CU_ASSERT(n >= 2);
    CU_ASSERT_EQUAL(ss_schedule_known(-1, &name, &description), 0);
}

/* ---- bubble ---- */

static double bubble_error(const char *name, int p, int v, int m, int group, double f, double b)
{
    double forward[8], backward[8], idle[8], makespan;
    const double *duration[SS_PHASE_COUNT] = {[SS_PHASE_F] = forward, [SS_PHASE_B] = backward};
    for (int c = 0; c < v; c++) {
        forward[c] = f;
        backward[c] = b;
    }
    struct ss_schedule *s = build(name, p, v, m, group);
    if (!s || ss_schedule_makespan(s, duration, &makespan, idle, NULL))
        return INFINITY;
    double ideal = (f + b) * v * m, worst = 0;
    for (int r = 0; r < p; r++)
        worst = fmax(worst, fabs(idle[r] / ideal - (p - 1.0) / (v * m)));
    ss_schedule_free(s);
    return worst;
}

TEST(bubble_is_exact)
{
    double worst = 0;
    for (int p = 1; p <= 8; p++)
        for (int m = p; m <= 64; m++)
            worst = fmax(worst, bubble_error("1f1b", p, 1, m, 0, 0.1, 0.2371));
    CU_ASSERT(worst < 1e-12);
    worst = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 5; v++)
            for (int m = p; m <= 64; m += p)
                worst = fmax(worst, fmax(bubble_error("interleaved", p, v, m, 0, 0.1, 0.2371),
                                         bubble_error("interleaved", p, v, m, p, 3e-3, 7e-3)));
    CU_ASSERT(worst < 1e-12);
}

/* ---- checker, on schedules written by hand ---- */

static struct ss_schedule *by_hand(int p, int v, int m, const struct ss_slot *const *slots, const int *n)
{
    struct ss_schedule *s = calloc(1, sizeof *s);
    snprintf(s->name, sizeof s->name, "mine");
    s->stages = p;
    s->chunks = v;
    s->microbatches = m;
    s->virtual_rank = calloc((size_t)(p * v), sizeof(int));
    s->virtual_chunk = calloc((size_t)(p * v), sizeof(int));
    s->nslots = calloc((size_t)p, sizeof(int));
    s->warmup = calloc((size_t)p, sizeof(int));
    s->slots = calloc((size_t)p, sizeof *s->slots);
    for (int i = 0; i < p * v; i++) {
        s->virtual_rank[i] = i % p;
        s->virtual_chunk[i] = i / p;
    }
    for (int r = 0; r < p; r++) {
        s->nslots[r] = n[r];
        s->slots[r] = malloc((size_t)(n[r] ? n[r] : 1) * sizeof(struct ss_slot));
        memcpy(s->slots[r], slots[r], (size_t)n[r] * sizeof(struct ss_slot));
    }
    return s;
}

static void expect_check(int p, int v, int m, const struct ss_slot *const *slots, const int *n, int code,
                         const char *words)
{
    struct ss_schedule *s = by_hand(p, v, m, slots, n);
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_schedule_check(s, &err), code);
    if (words && !strstr(err.message, words)) {
        fprintf(stderr, "no '%s' in '%s'\n", words, err.message);
        CU_FAIL("message");
    }
    ss_schedule_free(s);
}

#define F(c, m)                                                                                              \
    {                                                                                                        \
        SS_PHASE_F, c, m, -1, -1                                                                             \
    }
#define B(c, m)                                                                                              \
    {                                                                                                        \
        SS_PHASE_B, c, m, -1, -1                                                                             \
    }
#define I(c, m)                                                                                              \
    {                                                                                                        \
        SS_PHASE_I, c, m, -1, -1                                                                             \
    }
#define W(c, m)                                                                                              \
    {                                                                                                        \
        SS_PHASE_W, c, m, -1, -1                                                                             \
    }

TEST(check_names_the_slot)
{
    static const struct ss_slot good[] = {F(0, 0), F(0, 1), B(0, 0), B(0, 1)};
    static const struct ss_slot twice[] = {F(0, 0), F(0, 0), B(0, 0), B(0, 1)};
    static const struct ss_slot early[] = {F(0, 0), B(0, 1), B(0, 0), F(0, 1)};
    static const struct ss_slot split[] = {F(0, 0), F(0, 1), I(0, 0), I(0, 1), W(0, 1), W(0, 0)};
    static const struct ss_slot both[] = {F(0, 0), F(0, 1), B(0, 0), I(0, 0), B(0, 1)};
    static const struct ss_slot early_w[] = {F(0, 0), F(0, 1), W(0, 0), I(0, 0), B(0, 1)};
    static const struct ss_slot range[] = {F(0, 0), F(0, 1), B(0, 0), B(0, 2)};
    static const struct ss_slot phase[] = {{9, 0, 0, -1, -1}};
    expect_check(1, 1, 2, (const struct ss_slot *[]){good}, (int[]){4}, SS_OK, NULL);
    expect_check(1, 1, 2, (const struct ss_slot *[]){split}, (int[]){6}, SS_OK, NULL);
    expect_check(1, 1, 2, (const struct ss_slot *[]){twice}, (int[]){4}, SS_ERR_INPUT, "rank 0 slot 1 (F");
    expect_check(1, 1, 2, (const struct ss_slot *[]){early}, (int[]){4}, SS_ERR_INPUT, "rank 0 slot 1 (B");
    expect_check(1, 1, 2, (const struct ss_slot *[]){both}, (int[]){5}, SS_ERR_INPUT, "whole (B) and split");
    expect_check(1, 1, 2, (const struct ss_slot *[]){early_w}, (int[]){5}, SS_ERR_INPUT,
                 "before the gradient");
    expect_check(1, 1, 2, (const struct ss_slot *[]){range}, (int[]){4}, SS_ERR_INPUT, "no such chunk");
    expect_check(1, 1, 2, (const struct ss_slot *[]){phase}, (int[]){1}, SS_ERR_INPUT, "phase 9");
    expect_check(1, 1, 2, (const struct ss_slot *[]){good}, (int[]){3}, SS_ERR_INPUT,
                 "never runs B of chunk 0, microbatch 1");
    expect_check(2, 1, 2, (const struct ss_slot *[]){good, good}, (int[]){4, 0}, SS_ERR_INPUT,
                 "rank 1 never runs F");
    /* A split backward on one rank and a whole one on the other fit together. */
    expect_check(2, 1, 2, (const struct ss_slot *[]){split, good}, (int[]){6, 4}, SS_OK, NULL);
}

TEST(check_names_the_cycle)
{
    /* Rank 0 wants the backward of 0 before it starts microbatch 1; rank 1 wants both forwards first. */
    static const struct ss_slot first[] = {F(0, 0), B(0, 0), F(0, 1), B(0, 1)};
    static const struct ss_slot second[] = {F(0, 0), F(0, 1), B(0, 0), B(0, 1)};
    expect_check(2, 1, 2, (const struct ss_slot *[]){first, second}, (int[]){4, 4}, SS_ERR_DEADLOCK,
                 "rank 0 slot 1 (B");
    expect_check(2, 1, 2, (const struct ss_slot *[]){first, second}, (int[]){4, 4}, SS_ERR_DEADLOCK,
                 "is at slot 1 (F");
    struct ss_schedule *s = by_hand(2, 1, 2, (const struct ss_slot *[]){second, second}, (int[]){4, 4});
    s->virtual_rank[1] = 0;
    CU_ASSERT_EQUAL(ss_schedule_check(s, NULL), SS_ERR_INPUT);
    ss_schedule_free(s);
}

TEST(paired_and_split_slots)
{
    /* Rank 0 pairs the forward of microbatch 1 with the backward of microbatch 0. */
    static const struct ss_slot paired[] = {F(0, 0), {SS_PHASE_FB, 0, 1, 0, 0}, B(0, 1)};
    static const double f[] = {1}, b[] = {2}, fb[] = {2.5}, i[] = {1}, w[] = {1};
    const double *duration[SS_PHASE_COUNT] = {f, b, i, w, NULL};
    double makespan, idle[2];
    struct ss_schedule *s = by_hand(1, 1, 2, (const struct ss_slot *[]){paired}, (int[]){3});
    CU_ASSERT_EQUAL(ss_schedule_check(s, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_schedule_in_flight(s, 0), 2);
    CU_ASSERT_EQUAL(ss_schedule_makespan(s, duration, &makespan, idle, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(makespan, 6, 1e-15);
    duration[SS_PHASE_FB] = fb;
    CU_ASSERT_EQUAL(ss_schedule_makespan(s, duration, &makespan, NULL, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(makespan, 5.5, 1e-15);
    ss_schedule_free(s);

    /* The gradient of the weights fills what a whole backward leaves idle. */
    static const struct ss_slot zb0[] = {F(0, 0), I(0, 0), W(0, 0)}, zb1[] = {F(0, 0), I(0, 0), W(0, 0)};
    s = by_hand(2, 1, 1, (const struct ss_slot *[]){zb0, zb1}, (int[]){3, 3});
    CU_ASSERT_EQUAL(ss_schedule_makespan(s, duration, &makespan, idle, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(makespan, 5, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(idle[1], 2, 1e-15);
    ss_schedule_free(s);
}

static double by_microbatch(void *ctx, int rank, const struct ss_slot *slot)
{
    const double *seconds = ctx; /* [microbatch] */
    return seconds[slot->microbatch] * (slot->phase == SS_PHASE_F ? 1 : 2) + (rank == 1 ? 0.5 : 0);
}

/* Two stages, two microbatches of 1 and 3 s forward, twice that backward, the second stage half a second slower. Stage 0: F0 ends
 * at 1, F1 at 4. Stage 1: F0 1 to 2.5, B0 to 5, F1 to 8.5, B1 to 15. Stage 0: B0 5 to 7, B1 15 to 21. */
TEST(timed)
{
    double seconds[] = {1, 3}, makespan;
    struct ss_schedule *s = build("1f1b", 2, 1, 2, 0);
    CU_ASSERT_EQUAL(ss_schedule_makespan_timed(s, by_microbatch, seconds, &makespan, NULL, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(makespan, 21, 1e-12);
    ss_schedule_free(s);
}

/* Forwards of so many s, backwards twice as long; each rank takes a tenth longer than the one before where ranks differ. */
struct pace {
    double forward;
    int ranks_differ;
};

static double by_pace(void *ctx, int rank, const struct ss_slot *slot)
{
    const struct pace *p = ctx;
    double f = p->forward * (p->ranks_differ ? 1 + 0.1 * rank : 1);
    return slot->phase == SS_PHASE_F    ? f
           : slot->phase == SS_PHASE_B  ? 2 * f
           : slot->phase == SS_PHASE_FB ? 3 * f
                                        : f;
}

/* 1F1B of 2 stages and 2 microbatches takes 3 (F + B): 9 and 18 s, of which a rank idles for F + B. Each of two timings is as alone. */
TEST(two_timings)
{
    static const struct {
        const char *name;
        int p, v, m;
    } rows[] = {{"1f1b", 2, 1, 2},          {"1f1b", 4, 1, 300},  {"interleaved", 4, 3, 16},
                {"interleaved", 4, 2, 256}, {"zb-h1", 4, 1, 200}, {"gpipe", 3, 1, 9},
                {"dualpipev", 4, 2, 40}};
    struct pace slow = {2, 0}, usual = {1, 0}, apart = {1, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_schedule *s = build(rows[i].name, rows[i].p, rows[i].v, rows[i].m, 0);
        struct pace *other = i ? &apart : &slow;
        void *const both[] = {&usual, other};
        double makespan[2], alone[2], idle[8] = {0}, idle_alone[8] = {0};
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        CU_ASSERT_EQUAL(ss_schedule_makespans(s, by_pace, both, makespan, idle, NULL), SS_OK);
        for (int k = 0; k < 2; k++)
            CU_ASSERT_EQUAL(
                ss_schedule_makespan_timed(s, by_pace, both[k], &alone[k], idle_alone + k * rows[i].p, NULL),
                SS_OK);
        CU_ASSERT(!memcmp(makespan, alone, sizeof alone));
        CU_ASSERT(!memcmp(idle, idle_alone, sizeof idle));
        if (i == 0) {
            CU_ASSERT_DOUBLE_EQUAL(makespan[0], 9, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(makespan[1], 18, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(idle[0], 3, 1e-12);
            CU_ASSERT_DOUBLE_EQUAL(idle[3], 6, 1e-12);
        }
        ss_schedule_free(s);
    }
}
