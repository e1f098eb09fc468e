/* SPDX-License-Identifier: Apache-2.0 */

#include "base/base.h"
#include "plan_fixture.h"
#include "stepsim/replay.h"
#include "suite.h"

static struct ss_program *lower(struct fixture *f)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    if (ss_program_build(&f->plan, &p, &err))
        fprintf(stderr, "build: %s\n", err.message);
    return p;
}

/* ---- lowering ---- */

/* The k-th event of a class, in words: "send 1", "compute 2 ms". */
static const char *describe(const struct ss_program *p, int cls, const struct ss_event *ev, char *out,
                            size_t size)
{
    if (ev->kind == SS_EV_COMPUTE)
        snprintf(out, size, "compute %.10g", ev->amount);
    else if (ev->kind == SS_EV_ALLOC || ev->kind == SS_EV_FREE)
        snprintf(out, size, "%s %s %.10g", ss_event_name(ev->kind), ss_mem_name(ev->index), ev->amount);
    else if (ev->kind == SS_EV_POST)
        snprintf(out, size, "post %s", p->collectives[ev->index].name);
    else if (ev->kind == SS_EV_WAIT)
        snprintf(out, size, "wait %d", ev->aux);
    else {
        const struct ss_channel *ch = &p->channels[ev->index];
        snprintf(out, size, "%s %s%s", ss_event_name(ev->kind), ch->tag ? "b" : "f",
                 p->classes[ch->from == cls ? ch->to : ch->from].name + 5);
    }
    return out;
}

/* The events of a class are these, or begin with them and go on. */
static void expect_events(const struct ss_program *p, int cls, const char *want, bool go_on)
{
    struct ss_cursor cur = {0, 0};
    char text[128], *got = NULL;
    size_t size, n = strlen(want);
    FILE *f = open_memstream(&got, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (const struct ss_event *ev; (ev = ss_program_next(p, cls, &cur)) != NULL;)
        fprintf(f, "%s, ", describe(p, cls, ev, text, sizeof text));
    fclose(f);
    if (strncmp(got, want, n) || strncmp(got + n, ", ", go_on ? 2 : 3)) {
        fprintf(stderr, "class %d: '%s', expected '%s'\n", cls, got, want);
        CU_FAIL("events");
    }
    free(got);
}

TEST(1f1b_events)
{
    /* Three microbatches over two ranks: rank 0 warms up with one forward. */
    static const char first[] =
        "compute 0.5, compute 0.25, post gather0.0, "                             /* step */
        "alloc activations 100, alloc other 7, wait 0, compute 1, free other 7, " /* warm-up */
        "send f1, wait-send f1, alloc activations 100, alloc other 7, compute 1, "
        "free other 7, " /* F1, B0 */
        "send f1, recv b1, wait-recv b1, wait-send f1, alloc other 9, compute 2, "
        "free other 9, free activations 100, alloc activations 100, alloc other 7, "
        "compute 1, free other 7, " /* F2, B1 */
        "send f1, recv b1, wait-recv b1, wait-send f1, "
        "alloc other 9, compute 2, free other 9, "
        "free activations 100, recv b1, wait-recv b1, " /* cool-down: B2, cut at the bucket */
        "alloc other 9, compute 1, post reduce0.0, compute 1, free other 9, free activations 100, "
        "post embedding, wait 0, wait 0, post norm, wait 1";
    static const char last[] =
        "compute 0.5, compute 0.25, post gather1.0, recv f0, wait-recv f0, alloc activations 100, "
        "alloc logits 11, alloc other 7, wait 0, compute 1, free other 7, alloc other 9, compute 2, "
        "free other 9, free activations 100, free logits 11, send b0, recv f0, wait-recv f0, "
        "wait-send b0, alloc activations 100, alloc logits 11, alloc other 7, compute 1, free other 7, "
        "alloc other 9, compute 2, free other 9, free activations 100, free logits 11, send b0, "
        "recv f0, wait-recv f0, wait-send b0, alloc activations 100, alloc logits 11, alloc other 7, "
        "compute 1, free other 7, alloc other 9, compute 1, post reduce1.0, compute 1, free other 9, "
        "free activations 100, free logits 11, send b0, wait-send b0, post embedding, wait 0, wait 0, "
        "post norm, wait 1";
    struct fixture *f = fixture_make("1f1b", 2, 1, 3, 1, FIXTURE_DP | FIXTURE_EXTRA);
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL);
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
    expect_events(p, 0, first, false);
    expect_events(p, 1, last, false);
    CU_ASSERT_EQUAL(ss_program_event_count(p), 100);
    CU_ASSERT_EQUAL(p->nchannels, 2);
    CU_ASSERT(p->channels[0].rendezvous && p->channels[1].rendezvous);
    ss_program_free(p);
    fixture_free(f);
}

/* One message after the other: three microbatches over two ranks, of which the last forward and the first backward meet. */
TEST(ordered_events)
{
    static const char *const want[] = {"send f1, wait-send f1, send f1, wait-send f1, recv b1, wait-recv b1, "
                                       "send f1, wait-send f1, recv b1, wait-recv b1, "
                                       "recv b1, wait-recv b1, ",
                                       "recv f0, wait-recv f0, recv f0, wait-recv f0, send b0, wait-send b0, "
                                       "recv f0, wait-recv f0, send b0, wait-send b0, "
                                       "send b0, wait-send b0, "};
    struct fixture *f = fixture_make("1f1b", 2, 1, 3, 1, FIXTURE_DP | FIXTURE_EXTRA);
    f->schedule->p2p = SS_P2P_ORDERED;
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL);
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
    for (int cls = 0; cls < 2; cls++) {
        struct ss_cursor cur = {0, 0};
        char got[400] = "", text[128];
        for (const struct ss_event *ev; (ev = ss_program_next(p, cls, &cur)) != NULL;)
            if (ev->kind == SS_EV_SEND || ev->kind == SS_EV_RECV || ev->kind == SS_EV_WAIT_SEND ||
                ev->kind == SS_EV_WAIT_RECV)
                ss_append(got, sizeof got, "%s, ", describe(p, cls, ev, text, sizeof text));
        CU_ASSERT_STRING_EQUAL(got, want[cls]);
    }
    ss_program_free(p);
    fixture_free(f);
}

TEST(interleaved_events)
{
    /* Two ranks, two chunks, four microbatches, overlapped: receives are posted one slot ahead. */
    static const char overlapped[] =
        "compute 1, send f1, "                                      /* F0.0: nothing comes back yet */
        "wait-send f1, compute 1, send f1, recv f1, "               /* F0.1; chunk 1 of microbatch 0 is due */
        "wait-send f1, wait-recv f1, compute 1, send f1, recv f1, " /* F1.0 */
        "wait-send f1, wait-recv f1, compute 1, send f1, recv b1, " /* F1.1, then the first backward's */
        "wait-send f1, compute 1, send f1, "                        /* F0.2 */
        "wait-recv b1, compute 2, send b1, recv b1, "               /* B1.0 */
        "wait-send f1, compute 1, send f1, recv f1, "               /* F0.3 */
        "wait-send b1, wait-recv b1, compute 2, send b1, recv b1" /* B1.1 */;
    static const char batched[] =
        "compute 1, send f1, wait-send f1, compute 1, send f1, recv f1, wait-recv f1, wait-send f1, "
        "compute 1, send f1, recv f1, wait-recv f1, wait-send f1, compute 1, send f1, recv b1, "
        "wait-recv b1, wait-send f1, compute 1, compute 2, send f1, send b1, recv b1, wait-recv b1, "
        "wait-send f1, wait-send b1";
    for (int overlap = 0; overlap < 2; overlap++) {
        struct fixture *f = fixture_make("interleaved", 2, 2, 4, overlap, 0);
        struct ss_program *p = lower(f);
        CU_ASSERT_FATAL(p != NULL);
        CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
        expect_events(p, 0, overlap ? overlapped : batched, true);
        ss_program_free(p);
        fixture_free(f);
    }
}

/* Builds, checks and counts: sends and receives per microbatch and border, memory back to zero. */
static int unsound(const char *name, int p, int v, int m, int group, int overlap, int flags)
{
    struct fixture *f = fixture_make_group(name, p, v, m, group, overlap, flags);
    struct ss_program *prog = f ? lower(f) : NULL;
    struct ss_error err = {0};
    int bad = !prog || ss_program_check(prog, &err) != SS_OK;
    if (bad) {
        fprintf(stderr, "%s p=%d v=%d m=%d N=%d overlap=%d: %s\n", name, p, v, m, group, overlap,
                err.message);
    } else {
        long sends = 0;
        for (int c = 0; c < prog->nclasses; c++) {
            struct ss_cursor cur = {0, 0};
            const struct ss_event *ev;
            double now = 0, most = 0;
            while ((ev = ss_program_next(prog, c, &cur))) {
                sends += ev->kind == SS_EV_SEND;
                if (ev->kind == SS_EV_ALLOC && ev->index == SS_MEM_ACTIVATIONS)
                    now += ev->amount;
                if (ev->kind == SS_EV_FREE && ev->index == SS_MEM_ACTIVATIONS)
                    now -= ev->amount;
                most = fmax(most, now);
            }
            bad += now != 0 || most != 100.0 * ss_schedule_in_flight(f->schedule, prog->classes[c].stage) *
                                           !!(flags & FIXTURE_EXTRA);
        }
        bad += sends != 2L * (p * v - 1) * m * (prog->nclasses / p);
    }
    ss_program_free(prog);
    fixture_free(f);
    return bad;
}

static int step = 1; /* of the numbers of microbatches */

TEST(everything_can_run)
{
    int bad = 0;
    for (int p = 1; p <= 8; p++)
        for (int m = 1; m <= 64; m += step)
            bad += unsound("1f1b", p, 1, m, 0, 1, FIXTURE_DP | FIXTURE_EXTRA);
    CU_ASSERT_EQUAL(bad, 0);
    bad = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 5; v++)
            for (int m = p; m <= 64; m += p * step)
                for (int overlap = 0; overlap < 2; overlap++)
                    bad += unsound("interleaved", p, v, m, 0, overlap, FIXTURE_DP | FIXTURE_EXTRA);
    CU_ASSERT_EQUAL(bad, 0);
    bad = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 4; v++)
            for (int m = p; m <= 40; m += 3 * step)
                for (int group = p; group <= m; group += 2)
                    for (int overlap = 0; overlap < 2; overlap++)
                        if (m % group == 0 || m % group >= p)
                            bad += unsound("interleaved", p, v, m, group, overlap, FIXTURE_EXTRA);
    CU_ASSERT_EQUAL(bad, 0);
}

/* A forward and a backward in one slot: they wait for two messages, and for two sends. */
TEST(pairs_can_run)
{
    const int flags = FIXTURE_DP | FIXTURE_EXTRA | FIXTURE_PAIRED;
    int bad = 0;
    for (int m = 1; m <= 16; m++)
        bad += unsound("1f1b", 1, 1, m, 0, 1, flags);
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 5; v++)
            for (int m = p; m <= 64; m += p * step)
                for (int overlap = 0; overlap < 2; overlap++)
                    bad += unsound("interleaved", p, v, m, 0, overlap, flags);
    CU_ASSERT_EQUAL(bad, 0);
    bad = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 4; v++)
            for (int m = p; m <= 40; m += 3 * step)
                for (int group = p; group <= m; group += 2)
                    for (int overlap = 0; overlap < 2; overlap++)
                        if (m % group == 0 || m % group >= p)
                            bad += unsound("interleaved", p, v, m, group, overlap, flags);
    CU_ASSERT_EQUAL(bad, 0);
}

TEST(unfolded_classes)
{
    CU_ASSERT_EQUAL(unsound("1f1b", 4, 1, 8, 0, 1, FIXTURE_DP | FIXTURE_EXTRA | FIXTURE_TWO), 0);
    CU_ASSERT_EQUAL(unsound("interleaved", 4, 3, 8, 0, 1, FIXTURE_DP | FIXTURE_EXTRA | FIXTURE_TWO), 0);
    struct fixture *f = fixture_make("1f1b", 4, 1, 8, 1, FIXTURE_TWO);
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL);
    CU_ASSERT_STRING_EQUAL(p->classes[0].name, "stage0.0");
    CU_ASSERT_STRING_EQUAL(p->classes[7].name, "stage3.1");
    CU_ASSERT_EQUAL(p->nchannels, 12);
    for (int i = 0; i < p->nchannels; i++)
        CU_ASSERT_EQUAL(p->channels[i].from % 2, p->channels[i].to % 2);
    ss_program_free(p);
    /* A class that would talk to two classes of one stage is not a class of equal ranks. */
    f->plan.p2p[0].from = 1;
    struct ss_error err = {0};
    p = NULL;
    CU_ASSERT_EQUAL(ss_program_build(&f->plan, &p, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NULL(p);
    CU_ASSERT(strstr(err.message, "stage0.") != NULL);
    fixture_free(f);
}

/* Replay of the lowered program with free communication = makespan of the schedule's integers. */
static double replay_error(const char *name, int p, int v, int m, int group, int overlap)
{
    struct fixture *f = fixture_make_group(name, p, v, m, group, overlap, 0);
    struct ss_program *prog = f ? lower(f) : NULL;
    struct ss_replay_stats stats = {0};
    struct ss_error err = {0};
    double forward[8], backward[8], makespan = 0;
    for (int c = 0; c < 8; c++) {
        forward[c] = 1;
        backward[c] = 2;
    }
    const double *duration[SS_PHASE_COUNT] = {[SS_PHASE_F] = forward, [SS_PHASE_B] = backward};
    if (!prog || ss_replay(prog, SS_ENGINE_NATIVE, NULL, 0, &stats, &err) ||
        ss_schedule_makespan(f->schedule, duration, &makespan, NULL, &err)) {
        fprintf(stderr, "%s p=%d v=%d m=%d: %s\n", name, p, v, m, err.message);
        makespan = INFINITY;
    }
    ss_program_free(prog);
    fixture_free(f);
    return fabs(stats.makespan - makespan) / makespan;
}

TEST(replay_equals_schedule)
{
    double worst = 0;
    for (int p = 1; p <= 8; p++)
        for (int m = 1; m <= 64; m++)
            worst = fmax(worst, replay_error("1f1b", p, 1, m, 0, 1));
    CU_ASSERT(worst < 1e-12);
    worst = 0;
    for (int p = 2; p <= 8; p++)
        for (int v = 1; v <= 5; v++)
            for (int m = p; m <= 64; m += p)
                worst = fmax(worst, replay_error("interleaved", p, v, m, 0, 1));
    CU_ASSERT(worst < 1e-12);
    worst = 0;
    for (int p = 2; p <= 8; p += 2)
        for (int group = p; group <= 4 * p; group += p / 2)
            for (int overlap = 0; overlap < 2; overlap++)
                if (8 * p % group == 0 || 8 * p % group >= p)
                    worst = fmax(worst, replay_error("interleaved", p, 3, 8 * p, group, overlap));
    CU_ASSERT(worst < 1e-12);
}

/* ---- phases that no schedule of today uses ---- */

TEST(split_and_paired_slots)
{
    static const struct ss_slot split[] = {{SS_PHASE_F, 0, 0, -1, -1},
                                           {SS_PHASE_FB, 0, 1, 0, 0},
                                           {SS_PHASE_I, 0, 1, -1, -1},
                                           {SS_PHASE_W, 0, 1, -1, -1}};
    static const char want[] =
        "compute 0.5, compute 0.25, post gather0.0, alloc activations 100, alloc logits 11, "
        "alloc other 7, wait 0, compute 1, free other 7, alloc activations 100, alloc logits 11, "
        "alloc other 16, compute 3, free other 16, free activations 100, free logits 11, alloc other 9, "
        "compute 1.25, free other 9, free activations 60, free logits 11, compute 0.375, "
        "post reduce0.0, compute 0.375, free activations 40, post embedding, wait 0, wait 0, post norm, "
        "wait 1";
    struct fixture *f = fixture_make("1f1b", 1, 1, 2, 1, FIXTURE_DP | FIXTURE_EXTRA);
    memcpy(f->schedule->slots[0], split, sizeof split);
    CU_ASSERT_EQUAL(ss_schedule_check(f->schedule, NULL), SS_OK);
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL);
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
    expect_events(p, 0, want, false);
    ss_program_free(p);
    fixture_free(f);
}

/* ---- the example of docs/reference/formats-program.md, as it stands there ---- */

struct seen {
    const struct ss_program *p;
    int n;
    double span[64][4]; /* class, start, busy from, end */
};

static void see(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct seen *s = ctx;
    (void)slot;
    (void)event;
    if (s->n < 64) {
        const double span[4] = {cls, start, busy_from, end};
        memcpy(s->span[s->n++], span, sizeof span);
    }
}

static void replay_example(int engine)
{
    /* class, start, busy from, end; milliseconds */
    static const double want[][4] = {
        {0, 0, 0, 10},    {0, 10, 10, 16},    {1, 0, 10, 16},     {0, 16, 16, 26},
        {1, 16, 16, 28},  {1, 28, 28, 52},    {0, 26, 52, 58},    {1, 52, 52, 58},
        {1, 58, 58, 70},  {0, 58, 58, 78},    {1, 70, 70, 94},    {0, 78, 94, 100},
        {1, 94, 94, 100}, {0, 100, 100, 120}, {0, 120, 120, 126}, {1, 100, 120, 126},
    };
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    struct ss_replay_stats stats = {0};
    int rc = ss_program_read(SS_SOURCE_DIR "/docs/guide/examples/two-ranks.prog", &p, &err);
    if (rc)
        fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
    CU_ASSERT_FATAL(rc == SS_OK);
    CU_ASSERT_EQUAL(ss_program_check(p, &err), SS_OK);
    struct seen seen = {.p = p};
    const struct ss_observer observer = {.ctx = &seen, .span = see};
    rc = ss_replay(p, engine, &observer, 1, &stats, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.message);
    CU_ASSERT_EQUAL(rc, SS_OK);
    CU_ASSERT_EQUAL(seen.n, (int)(sizeof want / sizeof *want));
    for (int i = 0; i < seen.n && i < (int)(sizeof want / sizeof *want); i++)
        for (int k = 0; k < 4; k++)
            if (fabs(seen.span[i][k] * (k ? 1e3 : 1) - want[i][k]) > 1e-9) {
                fprintf(stderr, "engine %d span %d: class %g, %.10g %.10g %.10g ms\n", engine, i,
                        seen.span[i][0], seen.span[i][1] * 1e3, seen.span[i][2] * 1e3, seen.span[i][3] * 1e3);
                CU_FAIL("timeline");
            }
    CU_ASSERT_DOUBLE_EQUAL(stats.makespan, 126e-3, 1e-12);
    ss_program_free(p);
}

TEST(example)
{
    replay_example(SS_ENGINE_NATIVE);
    replay_example(SS_ENGINE_SIMGRID);
}

/* Where experts' loads draw a rank's layers apart it works so much longer at its end, once, and no other rank does. */
TEST(imbalance)
{
    struct fixture *f = fixture_make("1f1b", 2, 1, 3, 1, FIXTURE_DP);
    f->plan.classes[1].imbalance_s = 0.125;
    struct ss_program *p = lower(f);
    double seconds[2] = {0};
    CU_ASSERT_FATAL(p != NULL);
    for (int c = 0; c < 2; c++)
        for (int s = 0; s < p->classes[c].nslots; s++) {
            const struct ss_template *t = &p->templates[ss_program_template_at(&p->classes[c], s)];
            for (int e = 0; e < t->nevents; e++)
                if (t->events[e].kind == SS_EV_COMPUTE)
                    seconds[c] +=
                        t->events[e].amount * p->mixes[t->events[e].index].fraction[SS_LABEL_IMBALANCE];
        }
    CU_ASSERT(seconds[0] == 0 && seconds[1] == 0.125);
    ss_program_free(p);
    fixture_free(f);
}

/* A class's backwards and the buckets that it posts, in order: "B B reduce0.1 ...". */
static void reductions_of(const struct ss_program *p, int cls, char *out, size_t size)
{
    struct ss_cursor cur = {0, 0};
    const struct ss_event *ev;
    size_t n = 0;
    *out = '\0';
    while ((ev = ss_program_next(p, cls, &cur)) && n < size) {
        const char *post = ev->kind == SS_EV_POST ? p->collectives[ev->index].name : "";
        if (ev->kind == SS_EV_COMPUTE && ev->amount == 2)
            n += (size_t)snprintf(out + n, size - n, "B ");
        else if (strncmp(post, "reduce", 6) == 0)
            n += (size_t)snprintf(out + n, size - n, "%s ", post);
    }
}

/* Two ranks, two chunks, four microbatches: backwards of chunks 1 1 0 0 1 1 0 0. Rank 0 begins behind the last one of a chunk, rank 1
 * one backward later, of chunk 0 behind its last slot. Elsewhere each begins inside the last one, which that cuts in two. Where backwards
 * of chunk 0 are passed (2), rank 1's chunk 1 waits for the last slot, too. */
TEST(aligned)
{
    static const char *const want[3][2] = {
        {"B B B B B reduce0.1 B reduce0.0 ", "B B B B B reduce1.1 B reduce1.0 "},
        {"B B B B B B reduce0.1 B B reduce0.0 ", "B B B B B B B reduce1.1 B reduce1.0 "},
        {"B B B B B B reduce0.1 B B reduce0.0 ", "B B B B B B B B reduce1.0 reduce1.1 "}};
    char text[128];
    for (int overlap = 0; overlap < 2; overlap++)
        for (int aligned = 0; aligned < 3; aligned++) {
            struct fixture *f = fixture_make("interleaved", 2, 2, 4, overlap, FIXTURE_DP);
            f->plan.aligned = aligned;
            struct ss_program *p = lower(f);
            CU_ASSERT_FATAL(p != NULL);
            CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
            for (int c = 0; c < 2; c++) {
                reductions_of(p, c, text, sizeof text);
                CU_ASSERT_STRING_EQUAL(text, want[aligned][c]);
            }
            ss_program_free(p);
            fixture_free(f);
        }
}

/* Rank 1's gather begins behind what its first forward receives where hooks begin it, else before. */
TEST(hooked)
{
    for (int hooked = 0; hooked < 2; hooked++) {
        struct fixture *f = fixture_make("1f1b", 2, 1, 3, 1, FIXTURE_DP);
        struct ss_cursor cur = {0, 0};
        const struct ss_event *ev;
        char text[128];
        int posted = -1, received = -1, n = 0;
        f->plan.hooked = hooked;
        struct ss_program *p = lower(f);
        CU_ASSERT_FATAL(p != NULL);
        CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
        for (int i = 0; (ev = ss_program_next(p, 1, &cur)); i++) {
            describe(p, 1, ev, text, sizeof text);
            if (strcmp(text, "post gather1.0") == 0)
                posted = i, n++;
            if (ev->kind == SS_EV_WAIT_RECV && received < 0)
                received = i;
        }
        CU_ASSERT(n == 1 && received > 0 && (posted > received) == hooked);
        ss_program_free(p);
        fixture_free(f);
    }
}

/* A gather of experts behind 0.25 of the forward, another of dense parameters behind 0.5. Hooks that begin the next one let it run beside
 * the layers before it, but for the first of each group of ranks; otherwise each is waited for from its begin on. */
TEST(gathers_begin)
{
    static const char *const want[3] = {"| gather0.0 experts more w 0.25 w 0.25 w 0.5 ",
                                        "| gather0.0 w 0.25 experts w more 0.25 w 0.5 ",
                                        "| gather0.0 w 0.25 experts w 0.25 more w 0.5 "};
    for (int hooked = 0; hooked < 3; hooked++) {
        struct fixture *f = fixture_make("1f1b", 2, 1, 2, 1, FIXTURE_DP);
        struct ss_chunk_cost *c = &f->plan.classes[0].chunks[0];
        struct ss_cursor cur = {0, 0};
        const struct ss_event *ev;
        char text[256] = "", one[128];
        int cls = 0, more = fixture_collective(&f->plan, "more", &cls, 1, 0),
            experts = fixture_collective(&f->plan, "experts", &cls, 1, 0);
        double done = 0;
        c->gather = realloc(c->gather, 3 * sizeof *c->gather);
        c->ngather = 3;
        c->gather[0].first = 1;
        c->gather[1] = (struct ss_bucket_mark){.collective = experts, .fraction = 0.25, .first = 1};
        c->gather[2] = (struct ss_bucket_mark){.collective = more, .fraction = 0.5};
        f->plan.hooked = hooked;
        struct ss_program *p = lower(f);
        CU_ASSERT_FATAL(p != NULL);
        while (done < 1 && (ev = ss_program_next(p, 0, &cur))) {
            describe(p, 0, ev, one, sizeof one);
            if (ev->kind == SS_EV_POST)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", one + 5);
            if (ev->kind == SS_EV_WAIT)
                strcat(text, "w ");
            if (ev->kind == SS_EV_COMPUTE && ev->amount == 0.25 && !strchr(text, '|'))
                strcat(text, "| "); /* the step's fixed time */
            else if (ev->kind == SS_EV_COMPUTE && strchr(text, '|')) {
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", one + 8);
                done += ev->amount;
            }
        }
        CU_ASSERT_STRING_EQUAL(text, want[hooked]);
        ss_program_free(p);
        fixture_free(f);
    }
}

SUITE(program)
{
    step = (int)suite_stride(argc, argv, 3);
    return suite_file(argv[0], NULL, NULL);
}
