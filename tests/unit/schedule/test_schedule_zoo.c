/* SPDX-License-Identifier: Apache-2.0 */
/* Every schedule against its closed form: bubble and activations in flight, equal stages, free communication. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_fixture.h"
#include "stepsim/replay.h"
#include "stepsim/schedule.h"
#include "suite.h"

static struct ss_schedule *build(const char *name, int p, int v, int m)
{
    struct ss_schedule_params params = {
        .stages = p, .chunks = v, .microbatches = m, .microbatch_group_size = 0, .overlap_p2p = 1};
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};
    if (ss_schedule_build(name, &params, &s, &err) || ss_schedule_check(s, &err)) {
        fprintf(stderr, "%s p=%d v=%d m=%d: %s\n", name, p, v, m, err.message);
        ss_schedule_free(s);
        return NULL;
    }
    return s;
}

/* Durations F, I, W of a chunk; a paired slot lasts `pair`, or F + B where that is 0. */
struct times {
    double f, i, w, pair;
};

static double worst_bubble(const struct ss_schedule *s, const struct times *t)
{
    double f[8], b[8], i[8], w[8], fb[8], bubble[64], worst = 0;
    const double *duration[SS_PHASE_COUNT] = {f, b, i, w, t->pair > 0 ? fb : NULL};
    for (int c = 0; c < s->chunks; c++) {
        f[c] = t->f;
        i[c] = t->i;
        w[c] = t->w;
        b[c] = t->i + t->w;
        fb[c] = t->pair;
    }
    CU_ASSERT_EQUAL_FATAL(ss_schedule_bubble(s, duration, bubble, NULL), SS_OK);
    for (int r = 0; r < s->stages; r++)
        worst = fmax(worst, bubble[r]);
    return worst;
}

static int most_in_flight(const struct ss_schedule *s)
{
    int most = 0;
    for (int r = 0; r < s->stages; r++)
        most = ss_schedule_in_flight(s, r) > most ? ss_schedule_in_flight(s, r) : most;
    return most;
}

/* The papers' formulas; -1: the schedule's conditions do not hold, -2: the formula's do not. */
static double paper_bubble(const char *name, int p, int m, const struct times *t)
{
    double b = t->i + t->w, pair = t->pair > 0 ? t->pair : t->f + b;
    if (!strcmp(name, "zb-h1") || !strcmp(name, "zb-interleaved"))
        return m >= p ? (p - 1) * (t->f + t->i - t->w) : -2;
    if (!strcmp(name, "zb-h2"))
        return m >= 2 * p - 1 ? (p - 1) * (t->f + t->i - 2 * t->w) : -1;
    if (!strcmp(name, "zb-v"))
        return m >= 2 * p - 1 ? 0 : -2;
    if (!strcmp(name, "group-interleaved"))
        return 2 * (p - 1);
    if (!strcmp(name, "v-half"))
        return p % 2 ? 3 * p - 4 : 3 * p - 7;
    if (!strcmp(name, "v-min"))
        return p % 3 ? 4 * p - 5 : 4 * p - 7;
    if (!strcmp(name, "1f1b-v"))
        return p % 3 == 1 ? 5 * p - 5 : 5 * p - 7;
    if (!strcmp(name, "dualpipe"))
        return m >= 2 * p ? (p / 2 - 1) * (pair + b - 3 * t->w) : -1;
    if (!strcmp(name, "dualpipev"))
        return m >= 2 * p ? (p - 1) * (pair + b - 3 * t->w) : -1;
    return (p - 1) * (t->f + b);
}

static int paper_in_flight(const char *name, int p, int v, int m)
{
    int n = v * m, want = p;
    if (!strcmp(name, "gpipe") || !strcmp(name, "looped-bfs"))
        want = n;
    else if (!strcmp(name, "interleaved"))
        want = m == p ? n : (v - 1) * p + 2 * (p - 1) + 1;
    else if (!strcmp(name, "eager-1f1b") || !strcmp(name, "zb-h2"))
        want = 2 * p - 1;
    else if (!strcmp(name, "zb-v") || !strcmp(name, "zb-interleaved") || !strcmp(name, "group-interleaved"))
        want = 2 * p;
    else if (!strcmp(name, "v-half"))
        want = p % 2 ? p + 1 : p + 2;
    else if (!strcmp(name, "v-min"))
        want = (p + 4) / 3 * 2;
    else if (!strcmp(name, "1f1b-v"))
        want = (2 * p + 3) / 3 * 2;
    else if (!strcmp(name, "dualpipe"))
        want = p + 1;
    else if (!strcmp(name, "dualpipev"))
        want = 2 * p + 1;
    return want < n ? want : n;
}

static int chunks_of(int known, const char *name)
{
    int several = !strcmp(name, "interleaved") || !strcmp(name, "looped-bfs") ||
                  !strcmp(name, "zb-interleaved") || !strcmp(name, "group-interleaved");
    return ss_schedule_known_chunks(known, several ? 2 : 1);
}

TEST(closed_forms)
{
    static const struct times equal = {1, 1, 1, 0};
    const char *name;
    int shown = 0, refused = 0, skipped = 0;
    for (int n = 0; ss_schedule_known(n, &name, NULL); n++)
        for (int p = 4; p <= 8; p += 4)
            for (int m = 8; m <= 32; m *= 2) {
                int v = chunks_of(n, name);
                double bubble = paper_bubble(name, p, m, &equal);
                struct ss_schedule_params params = {.stages = p,
                                                    .chunks = v,
                                                    .microbatches = m,
                                                    .microbatch_group_size = 0,
                                                    .overlap_p2p = 1};
                struct ss_schedule *s = NULL;
                struct ss_error err = {0};
                if (bubble == -2) {
                    skipped++;
                    continue;
                }
                if (bubble < 0) {
                    CU_ASSERT_EQUAL(ss_schedule_build(name, &params, &s, &err), SS_ERR_CONFIG);
                    CU_ASSERT(err.hint[0] && strstr(err.message, "microbatches"));
                    refused++;
                    continue;
                }
                s = build(name, p, v, m);
                CU_ASSERT_PTR_NOT_NULL_FATAL(s);
                CU_ASSERT_DOUBLE_EQUAL(worst_bubble(s, &equal), bubble, 1e-12);
                CU_ASSERT_EQUAL(most_in_flight(s), paper_in_flight(name, p, v, m));
                CU_ASSERT_EQUAL(ss_schedule_microbatches(s), m);
                ss_schedule_free(s);
                shown++;
            }
    CU_ASSERT_EQUAL(shown, 15 * 6 - refused - skipped);
    CU_ASSERT_EQUAL(refused, 3); /* p = 8, m = 8: zb-h2, dualpipe, dualpipev */
    CU_ASSERT_EQUAL(skipped, 1); /* p = 8, m = 8: zb-v */
}

/* The formulas hold for other times too, where W is short enough to be moved freely. */
TEST(unequal_phases)
{
    static const char *const names[] = {"1f1b", "gpipe", "eager-1f1b", "zb-h1", "zb-h2"};
    static const struct times t = {1.1, 1.3, 0.9, 0};
    double worst = 0;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (int p = 2; p <= 8; p++)
            for (int m = 2 * p - 1; m <= 4 * p; m++) {
                struct ss_schedule *s = build(names[n], p, 1, m);
                CU_ASSERT_PTR_NOT_NULL_FATAL(s);
                double got = worst_bubble(s, &t), want = paper_bubble(names[n], p, m, &t);
                if (fabs(got - want) > 1e-9)
                    fprintf(stderr, "%s p=%d m=%d: %.12g, not %.12g\n", names[n], p, m, got, want);
                worst = fmax(worst, fabs(got - want));
                ss_schedule_free(s);
            }
    CU_ASSERT(worst < 1e-11);
}

TEST(claims)
{
    static const struct times equal = {1, 1, 1, 0};
    for (int p = 2; p <= 8; p++)
        for (int m = 2 * p; m <= 40; m += 2) {
            struct ss_schedule *one = build("1f1b", p, 1, m), *h1 = build("zb-h1", p, 1, m);
            struct ss_schedule *v = build("zb-v", p, 2, m);
            CU_ASSERT_DOUBLE_EQUAL(3 * worst_bubble(h1, &equal), worst_bubble(one, &equal), 1e-12);
            CU_ASSERT_EQUAL(most_in_flight(h1), most_in_flight(one));
            CU_ASSERT_DOUBLE_EQUAL(worst_bubble(v, &equal), 0, 1e-12);
            CU_ASSERT_EQUAL(most_in_flight(v), 2 * most_in_flight(one)); /* of half a stage each */
            ss_schedule_free(one);
            ss_schedule_free(h1);
            ss_schedule_free(v);
        }
}

static void expect_refusal(const char *name, int p, int v, int m, const char *words)
{
    struct ss_schedule_params params = {
        .stages = p, .chunks = v, .microbatches = m, .microbatch_group_size = 0, .overlap_p2p = 1};
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_schedule_build(name, &params, &s, &err), SS_ERR_CONFIG);
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT(err.hint[0] != '\0');
    if (!strstr(err.message, words)) {
        fprintf(stderr, "no '%s' in '%s'\n", words, err.message);
        CU_FAIL("message");
    }
}

TEST(refusals)
{
    expect_refusal("zb-h2", 4, 1, 6, "at least 7 microbatches");
    expect_refusal("zb-v", 4, 1, 8, "two model chunks");
    expect_refusal("zb-interleaved", 4, 2, 9, "2 rounds");
    expect_refusal("zb-h1", 4, 2, 8, "one model chunk");
    expect_refusal("dualpipe", 3, 2, 8, "even");
    expect_refusal("dualpipe", 4, 2, 9, "even");
    expect_refusal("dualpipe", 4, 2, 6, "at least 8");
    expect_refusal("dualpipev", 4, 2, 7, "at least 8");
    expect_refusal("gpipe", 4, 2, 7, "one model chunk");
}

/* Fewer microbatches than fill the pipeline: every order runs, and no rank keeps more than there are. */
TEST(few_microbatches)
{
    static const char *const names[] = {"looped-bfs", "zb-h1", "zb-interleaved", "zb-v",
                                        "v-half",     "v-min", "1f1b-v"};
    static const int chunks[] = {3, 1, 3, 2, 2, 2, 2};
    for (int n = 0; n < 7; n++)
        for (int p = 1; p <= 8; p++)
            for (int m = 1; m < 2 * p; m++) {
                struct ss_schedule *s = build(names[n], p, chunks[n], m);
                CU_ASSERT_PTR_NOT_NULL_FATAL(s);
                CU_ASSERT(most_in_flight(s) <= chunks[n] * m);
                ss_schedule_free(s);
            }
}

static int is_slot(const struct ss_slot *slot, int phase, int chunk, int microbatch)
{
    return slot->phase == phase && slot->chunk == chunk && slot->microbatch == microbatch;
}

/* The end of rank 1 of 3, m = 5, by PyTorch's rule: an I of either chunk; two I of chunk 0, each with that chunk's oldest W;
 * the W of chunk 1; that of chunk 0. */
TEST(cooldown_of_the_v)
{
    static const int want[][3] = {{SS_PHASE_I, 0, 2}, {SS_PHASE_I, 1, 4}, {SS_PHASE_I, 0, 3},
                                  {SS_PHASE_W, 0, 2}, {SS_PHASE_I, 0, 4}, {SS_PHASE_W, 0, 3},
                                  {SS_PHASE_W, 1, 4}, {SS_PHASE_W, 0, 4}};
    struct ss_schedule *s = build("zb-v", 3, 2, 5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (int i = 0; i < 8; i++)
        CU_ASSERT(is_slot(&s->slots[1][30 - 8 + i], want[i][0], want[i][1], want[i][2]));
    ss_schedule_free(s);
}

/* Each rank of a V of p ranks has 2p forwards behind it when its first backward begins; the steady part begins with the last of them. */
TEST(warmup_of_the_v)
{
    for (int p = 2; p <= 8; p *= 2) {
        struct ss_schedule *s = build("zb-v", p, 2, 4 * p);
        CU_ASSERT_PTR_NOT_NULL_FATAL(s);
        for (int r = 0; r < p; r++) {
            int forwards = 0;
            while (s->slots[r][forwards].phase == SS_PHASE_F)
                forwards++;
            CU_ASSERT(forwards == 2 * p && s->warmup[r] == forwards - 1);
        }
        ss_schedule_free(s);
    }
}

/* Two chunks on two ranks, m = 4: the first slots of rank 0 by PyTorch's rule. */
TEST(interleaved_split)
{
    static const int want[][3] = {{SS_PHASE_F, 0, 0}, {SS_PHASE_F, 0, 1}, {SS_PHASE_F, 1, 0},
                                  {SS_PHASE_F, 1, 1}, {SS_PHASE_I, 1, 0}, {SS_PHASE_W, 1, 0},
                                  {SS_PHASE_F, 0, 2}, {SS_PHASE_I, 1, 1}};
    struct ss_schedule *s = build("zb-interleaved", 2, 2, 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (int i = 0; i < 8; i++)
        CU_ASSERT(is_slot(&s->slots[0][i], want[i][0], want[i][1], want[i][2]));
    ss_schedule_free(s);
}

static void expect_order(const char *name, int p, int m, int rank, const char *want)
{
    struct ss_schedule *s = build(name, p, 2, m);
    char got[200] = "", word[16];
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    for (int i = 0; i < s->nslots[rank]; i++) {
        const struct ss_slot *slot = &s->slots[rank][i];
        const char *letters = slot->chunk ? "fbiw" : "FBIW";
        snprintf(word, sizeof word, "%c%d ", letters[slot->phase], slot->microbatch);
        strcat(got, word);
    }
    CU_ASSERT_STRING_EQUAL(got, want);
    ss_schedule_free(s);
}

/* Small enough for paper. V-Min, two ranks, two microbatches, steps of 1: rank 0's block is F at 0, f at 3, i at 4, I at 7, rank
 * 1's F at 1, f at 2, i at 5, I at 6, the other microbatch six later; W goes into what is free. Rank 1 keeps 4 chunks at most (F1
 * and f1 run at 7 and 8, before its first W at 9), so rank 0's F1 may move from 6 to 1; nothing else can move. 1F1B-V on one rank has
 * no gaps. */
TEST(blocks_by_hand)
{
    expect_order("v-min", 2, 2, 0, "F0 F1 f0 i0 w0 I0 W0 f1 i1 w1 I1 W1 ");
    expect_order("v-min", 2, 2, 1, "F0 f0 i0 I0 F1 f1 w0 W0 i1 I1 w1 W1 ");
    expect_order("1f1b-v", 1, 2, 0, "F0 f0 b0 B0 F1 f1 b1 B1 ");
    /* Groups of two on two ranks, every third step an F: rank 0's F at 0, 3, its f at 6, 9; rank 1's f at 7, its i behind it at 8
     * and rank 0's, which takes what rank 1's backward leaves at 10, then 13; I six later, at 16 and 19. */
    expect_order("group-interleaved", 2, 2, 0, "F0 F1 f0 f1 i0 w0 i1 w1 I0 W0 I1 W1 ");
    expect_order("group-interleaved", 2, 2, 1, "F0 F1 f0 i0 w0 f1 i1 w1 I0 W0 I1 W1 ");
}

/* Four ranks: 1F1B keeps 8 half stages, the V 4 (V-Min), 6 (V-Half, 1F1B-V) or 8 (ZB-V), and pays with bubble. The most that a
 * rank keeps is what its block keeps: V-Min's rank 0 holds chunk 0 from step 0 to the W behind step 15, chunk 1 from 7 to the W
 * behind 8, together 4 p + 4 steps of 6 a microbatch, so 20 / 6, rounded up to 4. */
TEST(memory_for_bubble)
{
    static const struct {
        const char *name;
        int in_flight, bubble;
    } rows[] = {{"v-min", 4, 11}, {"v-half", 6, 5}, {"zb-v", 8, 0}, {"1f1b-v", 6, 15}};
    static const struct times equal = {1, 1, 1, 0};
    for (int n = 0; n < 4; n++)
        for (int m = 8; m <= 64; m += 7) {
            struct ss_schedule *s = build(rows[n].name, 4, 2, m);
            CU_ASSERT_PTR_NOT_NULL_FATAL(s);
            CU_ASSERT_EQUAL(most_in_flight(s), rows[n].in_flight);
            CU_ASSERT_DOUBLE_EQUAL(worst_bubble(s, &equal), rows[n].bubble, 1e-12);
            ss_schedule_free(s);
        }
}

/* The V: what a rank hands to itself needs no send; DualPipe's two pipelines end where they meet the rim. */
TEST(placement)
{
    struct ss_schedule *s = build("zb-v", 4, 2, 8);
    CU_ASSERT_EQUAL(s->virtual_rank[3], 3);
    CU_ASSERT_EQUAL(s->virtual_rank[4], 3);
    CU_ASSERT_EQUAL(s->virtual_rank[7], 0);
    CU_ASSERT_EQUAL(ss_schedule_after(s, 3), 4);
    CU_ASSERT_EQUAL(ss_schedule_after(s, 7), -1);
    ss_schedule_free(s);
    s = build("dualpipe", 4, 2, 8);
    CU_ASSERT_EQUAL(ss_schedule_depth(s), 4);
    CU_ASSERT_EQUAL(ss_schedule_after(s, 3), -1);
    CU_ASSERT_EQUAL(ss_schedule_before(s, 4), -1);
    CU_ASSERT_EQUAL(ss_schedule_before(s, 5), 4);
    ss_schedule_free(s);
}

/* The program that the schedule is lowered to takes, with free communication, what its integers say. */
static double replay_error(const char *name, int p, int v, int m)
{
    static const double f[] = {1, 1}, b[] = {2, 2}, i[] = {1.25, 1.25}, w[] = {0.75, 0.75};
    const double *duration[SS_PHASE_COUNT] = {f, b, i, w, NULL};
    struct fixture *x = fixture_make(name, p, v, m, 1, FIXTURE_EXTRA);
    struct ss_program *program = NULL;
    struct ss_replay_stats stats = {0};
    struct ss_error err = {0};
    double makespan = 0;
    if (!x)
        return INFINITY;
    int rc = ss_schedule_makespan(x->schedule, duration, &makespan, NULL, &err);
    if (!rc)
        rc = ss_program_build(&x->plan, &program, &err);
    if (!rc)
        rc = ss_program_check(program, &err);
    if (!rc)
        rc = ss_replay(program, SS_ENGINE_NATIVE, NULL, 0, &stats, &err);
    if (rc)
        fprintf(stderr, "%s p=%d m=%d: %s\n", name, p, m, err.message);
    ss_program_free(program);
    fixture_free(x);
    return rc ? INFINITY : fabs(stats.makespan - makespan) / makespan;
}

TEST(replay_equals_integers)
{
    const char *name;
    for (int n = 0; ss_schedule_known(n, &name, NULL); n++)
        for (int p = 2; p <= 8; p += p < 4 ? 1 : 2)
            for (int m = 2 * p; m <= 32; m += 2 * p) {
                if (p % 2 && !strcmp(name, "dualpipe"))
                    continue;
                double error = replay_error(name, p, chunks_of(n, name), m);
                if (!(error < 1e-12))
                    fprintf(stderr, "%s p=%d m=%d: %g\n", name, p, m, error);
                CU_ASSERT(error < 1e-12);
            }
}

/* Without a global barrier the period of the loop is the work and the worst bubble inside a rank; with one it is the
 * makespan. Equal stages, F = I = W = 1. */
static double period(const char *name, int p, int v, int m, int with_barrier)
{
    const struct ss_replay_options native = {.engine = SS_ENGINE_NATIVE};
    struct fixture *x = fixture_make(name, p, v, m, 1, 0);
    struct ss_program *program = NULL;
    struct ss_timeline *t = NULL;
    struct ss_error err = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int c = 0; c < x->plan.nclasses; c++)
        for (int k = 0; k < v; k++) {
            x->plan.classes[c].chunks[k].input_grad[SS_LABEL_COMPUTE] = 1;
            x->plan.classes[c].chunks[k].weight_grad[SS_LABEL_COMPUTE] = 1;
        }
    int rc = ss_program_build(&x->plan, &program, &err);
    if (!rc)
        rc = with_barrier ? ss_timeline_replay(program, SS_ENGINE_NATIVE, &t, &err)
                          : ss_timeline_steady(program, &native, &t, &err);
    CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
    for (int c = 0; c < t->nclasses; c++) {
        double sum = 0;
        for (int i = 0; i < SS_LABEL_COUNT; i++)
            sum += t->spent[c][i];
        CU_ASSERT_DOUBLE_EQUAL(sum, t->iteration_s, 1e-9);
    }
    double seconds = t->iteration_s;
    ss_timeline_free(t);
    ss_program_free(program);
    fixture_free(x);
    return seconds;
}

TEST(price_of_the_barrier)
{
    for (int p = 4; p <= 8; p += 4)
        for (int m = 16; m <= 32; m *= 2) {
            CU_ASSERT_DOUBLE_EQUAL(period("1f1b", p, 1, m, 1), 3 * m + 3 * (p - 1), 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("1f1b", p, 1, m, 0), 3 * m + 3 * (p - 1), 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("zb-h1", p, 1, m, 1), 3 * m + p - 1, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("zb-h1", p, 1, m, 0), 3 * m + p - 1, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("zb-h2", p, 1, m, 1), 3 * m + p - 1, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("zb-h2", p, 1, m, 0), 3 * m, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("zb-v", p, 2, m, 1), 6 * m + p - 1, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(period("zb-v", p, 2, m, 0), 6 * m, 1e-9);
        }
}
