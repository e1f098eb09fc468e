/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and programs as loops are the whole ones, and as small for a million microbatches as for a thousand. */
#include <stdlib.h>
#include <string.h>

#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

static int same_schedule(const struct ss_schedule *a, const struct ss_schedule *b)
{
    int same = a->microbatches == b->microbatches && a->stages == b->stages && a->p2p == b->p2p &&
               a->pipelines == b->pipelines && !strcmp(a->name, b->name);
    for (int v = 0; same && v < a->stages * a->chunks; v++)
        same = a->virtual_rank[v] == b->virtual_rank[v] && a->virtual_chunk[v] == b->virtual_chunk[v];
    for (int r = 0; same && r < a->stages; r++)
        same = a->nslots[r] == b->nslots[r] && a->warmup[r] == b->warmup[r] &&
               !memcmp(a->slots[r], b->slots[r], (size_t)a->nslots[r] * sizeof *a->slots[r]);
    return same;
}

/* 1: a loop; 0: none; -1: refused, by both ways of building. */
static int check_schedule(const char *name, const struct ss_schedule_params *params)
{
    struct ss_schedule *loop = NULL, *whole = NULL, *turns = NULL;
    int a = ss_schedule_build(name, params, &whole, NULL),
        b = ss_schedule_build_loop(name, params, &loop, NULL);
    int looped = -1;
    CU_ASSERT_EQUAL(a, b);
    if (!a && !b) {
        CU_ASSERT_FATAL(ss_schedule_turns(loop, loop->loop_more, &turns, NULL) == 0);
        CU_ASSERT_EQUAL(ss_schedule_microbatches(loop), ss_schedule_microbatches(whole));
        for (int r = 0; r < whole->stages; r++)
            CU_ASSERT_EQUAL(ss_schedule_in_flight(loop, r), ss_schedule_in_flight(whole, r));
        if (!same_schedule(turns, whole)) {
            CU_FAIL("a loop is another order");
            fprintf(stderr, "%s p %d v %d m %d group %d: another order\n", name, params->stages,
                    params->chunks, params->microbatches, params->microbatch_group_size);
        }
        looped = loop->loop_more > 0;
    }
    ss_schedule_free(loop);
    ss_schedule_free(whole);
    ss_schedule_free(turns);
    return looped;
}

static size_t stride = 1;

TEST(schedules)
{
    const char *name;
    for (int n = 0; ss_schedule_known(n, &name, NULL); n++) {
        int loops = 0, others = 0, all_first = !strcmp(name, "gpipe") || !strcmp(name, "looped-bfs");
        for (int p = 1; p <= 6; p++)
            for (int v = 1; v <= 3; v++)
                for (int m = (size_t)(p + v) % stride ? 401 : 1; m <= 400; m += m < 8 ? 1 : 13)
                    for (int group = 0; group <= 9; group += group == 0 ? p : 9 - p) {
                        struct ss_schedule_params params = {.stages = p,
                                                            .chunks = ss_schedule_known_chunks(n, v),
                                                            .microbatches = m,
                                                            .microbatch_group_size = group,
                                                            .overlap_p2p = v & 1,
                                                            .paired = m & 1};
                        int looped = check_schedule(name, &params);
                        loops += looped == 1;
                        others += looped == 0 && m > 380;
                    }
        /* what runs all forwards before a backward has no steady part */
        CU_ASSERT(all_first ? loops == 0 : loops > 100 / (int)stride && others < loops / 10);
    }
}

/* A forward takes 1, and all that the slow rank does `factor` times as long. */
struct unlike {
    double input, weight, factor;
    int slow;
};

static double slot_seconds(void *ctx, int rank, const struct ss_slot *slot)
{
    const struct unlike *u = ctx;
    const double seconds[SS_PHASE_COUNT] = {[SS_PHASE_F] = 1,
                                            [SS_PHASE_B] = u->input + u->weight,
                                            [SS_PHASE_I] = u->input,
                                            [SS_PHASE_W] = u->weight,
                                            [SS_PHASE_FB] = 1 + u->input + u->weight};
    return seconds[slot->phase] * (rank == u->slow ? u->factor : 1);
}

static void same_idle(const char *name, int n, int p, struct unlike *u)
{
    const struct ss_schedule_params params = {
        .stages = p, .chunks = ss_schedule_known_chunks(n, 2), .microbatches = 60 * p};
    struct ss_schedule *both[2] = {NULL, NULL};
    double seconds[2], idle[2][8];
    CU_ASSERT_FATAL(!ss_schedule_build_loop(name, &params, &both[0], NULL) &&
                    !ss_schedule_build(name, &params, &both[1], NULL));
    for (int k = 0; k < 2; k++) {
        CU_ASSERT_FATAL(ss_schedule_makespan_timed(both[k], slot_seconds, u, &seconds[k], idle[k], NULL) ==
                        0);
        ss_schedule_free(both[k]);
    }
    CU_ASSERT_DOUBLE_EQUAL(seconds[0], seconds[1], 1e-11 * seconds[1]);
    for (int r = 0; r < p; r++)
        CU_ASSERT_DOUBLE_EQUAL(idle[0][r], idle[1][r], 1e-11 * seconds[1]);
}

/* What ranks idle in a loop is what they idle in the whole order, which settles after dozens of turns only where the slower rank
 * is little slower (zb-h2). */
TEST(idle)
{
    const char *name;
    for (int n = 0; ss_schedule_known(n, &name, NULL); n++)
        for (int p = 4; p <= 8; p += 2)
            for (int k = 0; k < 20; k += (int)stride) {
                struct unlike u = {0.6 + 0.25 * (k % 4), 0.4 + 0.2 * (k / 4), 1 + 0.05 * (k % 5), k % p};
                same_idle(name, n, p, &u);
            }
}

/* Returns the program's text, to be freed. */
static char *text_of(const struct ss_program *p)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_EQUAL(ss_program_write(p, 0, out, NULL), SS_OK);
    fclose(out);
    return text;
}

#define SMALL "--model llama3.1-8b --bf16 --seq 1024 --mbs 1 --tp 8 "
#define OVERLAP "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
#define VP "--num-layers-per-virtual-pipeline-stage "

static const struct {
    const char *job;
    int loop; /* 0: microbatches of its schedule do not repeat */
} jobs[] = {
    {"h800 4;" SMALL "--pp 4 --gbs 501", 1},
    {"h800 8;" SMALL OVERLAP "--pp 4 --gbs 1006", 1},
    {"h800 4;" SMALL "--pp 1 --gbs 1200", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 600 " VP "4", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 607 --microbatch-group-size-per-vp-stage 7 " VP "4", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 600 --no-overlap-p2p-communication " VP "2", 1},
    {"h800 4;" SMALL OVERLAP "--pp 2 --gbs 1200 " VP "4", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 599 --schedule zb-h1", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 599 --schedule zb-h2", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 599 --schedule zb-v", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 600 --schedule dualpipe", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 601 --schedule dualpipev", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 601 --schedule eager-1f1b", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 601 --schedule v-half", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 601 --schedule v-min", 1},
    {"h800 4;" SMALL "--pp 4 --gbs 601 --schedule gpipe", 0},
    {"h800 8;" SMALL "--pp 4 --gbs 1200 --clip-grad 0", 1},
};

/* The schedule of a run, whole. */
static int run_whole(const struct ss_run *run, struct ss_schedule **schedule, struct ss_plan **plan,
                     struct ss_program **program)
{
    const struct ss_plan *p = run->plan;
    int rc = ss_schedule_turns(p->schedule, p->schedule->loop_more, schedule, NULL);
    if (!rc)
        rc = ss_plan_build(p->job, p->stack, p->platform, *schedule, NULL, plan, NULL);
    return rc ? rc : ss_program_build(*plan, program, NULL);
}

static void same_times(const char *job, const struct ss_program *loop, const struct ss_program *whole,
                       int engine, int full, int period)
{
    const struct ss_replay_options how = {.engine = engine, .full = full};
    struct ss_timeline *a, *b;
    int (*const replay)(const struct ss_program *, const struct ss_replay_options *, struct ss_timeline **,
                        struct ss_error *) = period ? ss_timeline_steady : ss_timeline_replay_with;
    CU_ASSERT_FATAL(replay(loop, &how, &a, NULL) == 0);
    CU_ASSERT_FATAL(replay(whole, &how, &b, NULL) == 0);
    double seconds = 0; /* the same without labels and memory */
    CU_ASSERT_EQUAL(ss_replay_seconds(loop, &how, period, &seconds, NULL), SS_OK);
    CU_ASSERT_EQUAL(seconds, a->iteration_s);
    CU_ASSERT_EQUAL(a->events, b->events);
    CU_ASSERT_EQUAL(a->iteration_s, b->iteration_s);
    for (int c = 0; c < a->nclasses; c++) {
        CU_ASSERT(!memcmp(a->spent[c], b->spent[c], sizeof a->spent[c]));
        CU_ASSERT(!memcmp(a->dynamic_peak[c], b->dynamic_peak[c], sizeof a->dynamic_peak[c]));
        CU_ASSERT_EQUAL(a->peak_slot[c], b->peak_slot[c]);
    }
    if (a->iteration_s != b->iteration_s)
        fprintf(stderr, "%s: %.17g s as a loop, %.17g s\n", job, a->iteration_s, b->iteration_s);
    ss_timeline_free(a);
    ss_timeline_free(b);
}

static void check_program(const char *job, struct ss_program *loop, struct ss_program *whole)
{
    char *a = text_of(loop), *b = text_of(whole);
    struct ss_cursor at = {0, 0}, there = {0, 0};
    const struct ss_event *e, *f;
    CU_ASSERT_STRING_EQUAL(a, b);
    CU_ASSERT_EQUAL(ss_program_event_count(loop), ss_program_event_count(whole));
    CU_ASSERT_EQUAL(ss_program_check(loop, NULL), SS_OK);
    do {
        e = ss_program_next(loop, 0, &at);
        f = ss_program_next(whole, 0, &there);
    } while (e && f && e->kind == f->kind && e->amount == f->amount && at.slot == there.slot);
    CU_ASSERT(!e && !f);
    same_times(job, loop, whole, SS_ENGINE_NATIVE, 0, 0);
    same_times(job, loop, whole, SS_ENGINE_NATIVE, 1, 0);
    same_times(job, loop, whole, SS_ENGINE_NATIVE, 0, 1);
#ifndef SS_SANITIZED
    same_times(job, loop, whole, SS_ENGINE_SIMGRID, 0, 0);
#endif
    loop->jitter = whole->jitter = (struct ss_jitter){.sigma = 0.1, .seed = 3};
    same_times(job, loop, whole, SS_ENGINE_NATIVE, 0, 0);
    free(a);
    free(b);
}

TEST(programs)
{
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct scale_job s;
        struct ss_run run;
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        struct ss_schedule *schedule = NULL;
        struct ss_plan *plan = NULL;
        struct ss_program *whole = NULL;
        CU_ASSERT_FATAL(scale_open(&s, jobs[i].job) == 0);
        CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
        CU_ASSERT_FATAL(run_whole(&run, &schedule, &plan, &whole) == 0);
        CU_ASSERT_EQUAL(run.program->classes[0].loop.more > 0, jobs[i].loop);
        check_program(jobs[i].job, run.program, whole);
        ss_program_free(whole);
        ss_plan_free(plan);
        ss_schedule_free(schedule);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* Slots that are kept for so many microbatches. */
static int stored(const char *job, int microbatches, double *bubble)
{
    char text[400];
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    int slots = 0;
    snprintf(text, sizeof text, "%s --gbs %d", job, microbatches);
    CU_ASSERT_FATAL(scale_open(&s, text) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    for (int c = 0; c < run.program->nclasses; c++) {
        const struct ss_program_class *pc = &run.program->classes[c];
        slots += ss_program_stored(pc) + run.schedule->nslots[pc->stage];
        CU_ASSERT_EQUAL(pc->nslots, 2 * microbatches * run.schedule->chunks + 2);
    }
    *bubble = run.result->stages[run.result->critical_stage].breakdown[SS_LABEL_BUBBLE];
    ss_run_free(&run);
    scale_close(&s);
    return slots;
}

/* The bubble is what warm-up and cool-down leave, however many microbatches there are in between. */
TEST(million)
{
    static const char *const of[] = {"h800 4;" SMALL "--pp 4", "h800 4;" SMALL "--pp 4 " VP "4"};
    for (int i = 0; i < 2; i++) {
        double few, many;
        int n = stored(of[i], 1000, &few);
        CU_ASSERT(n < 4 * 1000);
        CU_ASSERT_EQUAL(stored(of[i], 1000000, &many), n);
        CU_ASSERT_DOUBLE_EQUAL(many, few, 1e-8 * few); /* a sum of a million periods */
        CU_ASSERT(few > 0);
    }
}

/* Pictures place slots one by one. */
TEST(unroll)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct ss_program whole;
    CU_ASSERT_FATAL(scale_open(&s, jobs[0].job) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    CU_ASSERT_FATAL(ss_program_unroll(run.program, &whole, NULL) == 0);
    for (int c = 0; c < whole.nclasses; c++) {
        const struct ss_program_class *k = &whole.classes[c];
        int forward = 0, backward = 0;
        CU_ASSERT_EQUAL(k->loop.more, 0);
        for (int i = 0; i < k->nslots; i++)
            if (k->slots[i].phase >= 0)
                CU_ASSERT_EQUAL(k->slots[i].microbatch,
                                k->slots[i].phase == SS_PHASE_F ? forward++ : backward++);
        CU_ASSERT(forward == 501 && backward == 501);
    }
    ss_program_unroll_free(&whole);
    struct ss_error err = {0};
    run.program->classes[1].loop.more = run.program->classes[1].nslots;
    CU_ASSERT_EQUAL(ss_replay(run.program, SS_ENGINE_NATIVE, NULL, 0, NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "class 1 has a loop"));
    ss_run_free(&run);
    scale_close(&s);
}

/* The program of a job is the same with a cache. */
static void same_program(const char *job, struct ss_cache *cache)
{
    struct ss_run_options how = {.unchecked = 1, .brief = 1};
    struct scale_job s;
    struct ss_run alone, kept;
    CU_ASSERT_FATAL(!scale_open(&s, job));
    CU_ASSERT_FATAL(!scale_run(&s, &how, &alone));
    how.cache = cache;
    CU_ASSERT_FATAL(!scale_run(&s, &how, &kept));
    char *a = text_of(alone.program), *b = text_of(kept.program);
    CU_ASSERT_STRING_EQUAL(a, b);
    free(a);
    free(b);
    ss_run_free(&kept);
    ss_run_free(&alone);
    scale_close(&s);
}

/* Who sends what to whom is kept for one schedule, and for no other; what is taken again is the same. */
TEST(cache)
{
    static const int order[] = {1, 2, 130, 131, 1, 3, 2};
    struct ss_cache *cache;
    char job[256];
    CU_ASSERT_FATAL(!ss_cache_open(&cache, NULL));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
            same_program(jobs[i].job, cache);
    for (int m = 1; m <= 131; m++)
        for (int i = m < 131 ? 7 : 0; i < 8; i++) {
            snprintf(job, sizeof job, "h800 2;" SMALL "--pp 2 --gbs %d", i < 7 ? order[i] : m);
            same_program(job, cache);
        }
    ss_cache_close(cache);
    ss_cache_close(NULL);
}

static struct ss_schedule *kept_schedule(struct ss_cache *cache, int microbatches, int overlap_p2p)
{
    const struct ss_schedule_params params = {
        .stages = 4, .chunks = 2, .microbatches = microbatches, .overlap_p2p = overlap_p2p};
    struct ss_schedule *s = NULL;
    CU_ASSERT_FATAL(!ss_schedule_build_kept("interleaved", &params, cache, &s, NULL));
    return s;
}

/* One schedule of each name and parameters, which outlives the cache; loops that differ in their turns alone have the same slots. */
TEST(schedules_kept)
{
    struct ss_cache *cache;
    CU_ASSERT_FATAL(!ss_cache_open(&cache, NULL));
    struct ss_schedule *a = kept_schedule(cache, 64, 1), *again = kept_schedule(cache, 64, 1),
                       *more = kept_schedule(cache, 128, 1), *other = kept_schedule(cache, 64, 0),
                       *few = kept_schedule(cache, 8, 1), *alone = kept_schedule(NULL, 64, 1);
    CU_ASSERT_PTR_EQUAL(a, again);
    CU_ASSERT(more != a && other != a && few != a);
    CU_ASSERT(a->loop_more > 0 && more->loop_more > a->loop_more && few->loop_more == 0);
    CU_ASSERT(!memcmp(a->kept, more->kept, sizeof a->kept));
    CU_ASSERT(memcmp(a->kept, other->kept, sizeof a->kept) && memcmp(a->kept, few->kept, sizeof a->kept));
    CU_ASSERT(!alone->kept[0] && same_schedule(a, alone));
    ss_schedule_free(again);
    ss_cache_close(cache);
    CU_ASSERT(same_schedule(a, alone));
    ss_schedule_free(a);
    ss_schedule_free(more);
    ss_schedule_free(other);
    ss_schedule_free(few);
    ss_schedule_free(alone);
}

SUITE(loop)
{
    ss_simgrid_load(NULL); /* once for all replays */
    stride = suite_stride(argc, argv, 3);
    return suite_file(argv[0], NULL, NULL);
}
