/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts that a search finds legal, and the best of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/search_internal.h"
#include "job_helper.h"
#include "plan/bounds.h"
#include "stepsim/search.h"
#include "suite.h"

static void read_text(struct ss_request *r, const char *words)
{
    static char text[2048];
    char *argv[JOB_MAX_ARGS];
    struct ss_error err;

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(r, split(text, argv), argv, &err), 0);
}

static void vary_all(struct ss_sweep *s, const char *words)
{
    static char text[1024];
    char *argv[JOB_MAX_ARGS];
    struct ss_error err;

    memset(s, 0, sizeof *s);
    snprintf(text, sizeof text, "%s", words);
    int n = split(text, argv);
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL_FATAL(ss_sweep_vary(s, argv[i], &err), 0);
}

/* ---- one rule book ---- */

/* The next combination in the order of the walk; 0 past the last one. */
static int advance(const struct ss_find_cluster *c, unsigned char *at)
{
    for (int a = c->naxes - 1; a >= 0; a--) {
        if (++at[a] < c->axes[a].n)
            return 1;
        at[a] = 0;
    }
    return 0;
}

/* Whether ss_scenario_build takes the words of a layout. */
static int taken(const struct ss_find_cluster *c, const unsigned char *at, const struct ss_scenario *like)
{
    const struct ss_scenario_options how = {.like = like};
    struct ss_scenario *s;
    struct ss_request r;
    char words[400], *argv[JOB_MAX_ARGS];

    ss_find_flags(c, at, words, sizeof words);
    CU_ASSERT_EQUAL_FATAL(ss_request_copy(&c->request, &r, NULL), 0);
    int n = split(words, argv);
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL_FATAL(ss_request_set(&r, argv[i], NULL, NULL), 0);
    int rc = ss_scenario_build(&r, &how, &s, NULL);
    ss_request_free(&r);
    if (!rc)
        ss_scenario_free(s);
    CU_ASSERT(rc == 0 || ss_status_refuses(rc));
    return rc == 0;
}

/* Every `step`-th combination: legal for the search if and only if the framework takes its words. Returns how many were asked. */
static int check_space(const char *words, const char *varied, const char *like, int step)
{
    struct ss_find_options o = {0};
    struct ss_scenario *scenario;
    struct ss_find_space s;
    struct ss_request r;
    struct ss_sweep vary;
    struct ss_error err;
    size_t leaf = 0;
    int asked = 0;

    read_text(&r, like);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &scenario, &err), 0);
    ss_request_free(&r);
    read_text(&r, words);
    vary_all(&vary, varied);
    o.vary = &vary;
    CU_ASSERT_EQUAL_FATAL(ss_find_space_build(&r, &o, &s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_find_walk(&s, &o, 0, &err), 0);
    for (int k = 0; k < s.nclusters; k++) {
        unsigned char at[SS_FIND_NUMBERS] = {[SS_FIND_BLOCK_LAYERS] = 1};
        int64_t all = 0, legal = 0;
        do {
            const struct ss_find_leaf *next = leaf < s.nleaves ? &s.leaves[leaf] : NULL;
            int is = next && next->cluster == k && !memcmp(next->at, at, sizeof at);
            leaf += (size_t)is;
            legal += is;
            if (all++ % step == 0) {
                CU_ASSERT_EQUAL(taken(&s.clusters[k], at, scenario), is);
                asked++;
            }
        } while (advance(&s.clusters[k], at));
        CU_ASSERT_EQUAL(all, s.found->groups[k].layouts);
        CU_ASSERT_EQUAL(all - legal, s.found->groups[k].refused);
    }
    CU_ASSERT_EQUAL(leaf, s.nleaves);
    ss_find_space_free(&s);
    ss_request_free(&r);
    ss_scenario_free(scenario);
    return asked;
}

TEST(one_rule_book)
{
    static const char dense[] = "--platform h800 --model llama3.1-8b --bf16 --seq 8192 --gbs 96",
                      mixture[] = "--platform h100 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64",
                      fp8[] = "--platform h100 --model llama3.1-405b --bf16 --fp8-format hybrid --seq 8192 "
                              "--gbs 64 --use-distributed-optimizer";
    char like[256];
    int n;

    snprintf(like, sizeof like, "%s --nodes 1 --mbs 1", dense);
    n = check_space(dense, "nodes=1..2", like, 29);
    snprintf(like, sizeof like, "%s --nodes 2 --mbs 1", mixture);
    n += check_space(mixture, "nodes=2 etp=1,2 vp=1,2 recompute=none,full", like, 61);
    n += check_space(mixture, "nodes=2 cp=1 vp=1 recompute=none", like, 5);
    snprintf(like, sizeof like, "%s --nodes 4 --mbs 1 --tp 4", fp8);
    n += check_space(fp8, "nodes=4 schedule=auto,zb-h1 recompute=none", like, 7);
    CU_ASSERT(n > 3000);
}

/* With tensor parallelism experts are split by it or whole where the job does not say: a value more of each size above 1. */
TEST(whole_experts)
{
    static const struct {
        const char *words, *varied;
        int layouts;
    } cases[] = {
        {"--ep 1", "tp=1,2,4", 5},         /* the job says nothing */
        {"--ep 1", "tp=1", 1},             /* nothing to split by */
        {"--ep 1 --tp 2", "", 2},          /* which the job gives */
        {"--ep 1 --tp 1", "", 1},          /* likewise */
        {"--ep 1 --etp 1", "tp=1,2,4", 3}, /* the job says how */
        {"--ep 1", "tp=1,2,4 etp=1,2", 6}, /* or what is varied */
        {NULL, "tp=1,2,4", 3},             /* a model without experts */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_find_options o = {0};
        struct ss_find_space s;
        struct ss_request r;
        struct ss_sweep vary;
        char words[300];
        snprintf(words, sizeof words,
                 "--platform h100 --nodes 1 --model %s --bf16 --seq 4096 --gbs 64 --cp 1 --pp 1 "
                 "--vp 1 --mbs 1 --recompute none --fsdp none %s",
                 cases[i].words ? "qwen3-30b-a3b" : "llama3.1-8b", cases[i].words ? cases[i].words : "");
        read_text(&r, words);
        vary_all(&vary, cases[i].varied);
        o.vary = &vary;
        CU_ASSERT_EQUAL_FATAL(ss_find_space_build(&r, &o, &s, NULL), 0);
        CU_ASSERT_EQUAL(s.found->groups[0].layouts, cases[i].layouts);
        ss_find_space_free(&s);
        ss_request_free(&r);
    }
}

/* ---- what is found ---- */

static const char small[] = "--platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 "
                            "--use-distributed-optimizer --recompute none --cp 1";

static void find(struct ss_find_result **out, const char *varied, int workers)
{
    struct ss_find_options o = {.workers = {.n = workers}};
    struct ss_sweep vary;
    struct ss_request r;
    struct ss_error err;

    read_text(&r, small);
    vary_all(&vary, varied);
    o.vary = &vary;
    CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &o, out, &err), 0);
    ss_request_free(&r);
}

/* No other point is faster, and none beats one of the front. */
static void check_best(const struct ss_find_result *f)
{
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        const struct ss_find_group *g = &f->groups[p->group];
        int beaten = 0;
        if (p->summary.outcome != SS_OUTCOME_FITS)
            continue;
        CU_ASSERT(g->best >= 0 && p->summary.iteration_s >= f->points[g->best].summary.iteration_s);
        for (int k = 0; k < f->npoints && !beaten; k++) {
            const struct ss_summary *a = &f->points[k].summary, *b = &p->summary;
            beaten =
                a->outcome == SS_OUTCOME_FITS && a->gpus <= b->gpus && a->iteration_s <= b->iteration_s &&
                a->peak_device <= b->peak_device &&
                (a->gpus < b->gpus || a->iteration_s < b->iteration_s || a->peak_device < b->peak_device);
        }
        if (p->front)
            CU_ASSERT(!beaten);
        if (i == g->best)
            CU_ASSERT(!p->like_best);
    }
}

TEST(workers_agree)
{
    struct ss_find_result *one, *two;

    find(&one, "nodes=1..2", 1);
    find(&two, "nodes=1..2", 2);
    check_best(one);
    CU_ASSERT_EQUAL_FATAL(one->npoints, two->npoints);
    CU_ASSERT(one->npoints > 50);
    for (int i = 0; i < one->npoints; i++) {
        CU_ASSERT_STRING_EQUAL(one->points[i].flags, two->points[i].flags);
        CU_ASSERT_EQUAL(one->points[i].summary.iteration_s, two->points[i].summary.iteration_s);
        CU_ASSERT_EQUAL(one->points[i].front, two->points[i].front);
    }
    CU_ASSERT_EQUAL(one->ngroups, 2);
    for (int g = 0; g < one->ngroups; g++) {
        CU_ASSERT_EQUAL(one->groups[g].nodes, 1 << g);
        CU_ASSERT_EQUAL(one->groups[g].layouts, one->groups[g].refused + one->groups[g].too_large +
                                                    one->groups[g].bounded + one->groups[g].predicted);
    }
    ss_find_free(one);
    ss_find_free(two);
}

/* The words of a point are those of the job that was predicted. */
TEST(words_make_the_job)
{
    struct ss_find_result *f;
    struct ss_scenario *s;
    struct ss_summary u;
    struct ss_request r;
    struct ss_error err;
    char words[1024];

    find(&f, "nodes=2", 2);
    int best = f->groups[0].best;
    CU_ASSERT_FATAL(best >= 0);
    snprintf(words, sizeof words, "%s --nodes 2 %s", small, f->points[best].flags);
    read_text(&r, words);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_predict(s, NULL, &u, &err), 0);
    CU_ASSERT_EQUAL(u.iteration_s, f->points[best].summary.iteration_s);
    CU_ASSERT_EQUAL(u.peak_device, f->points[best].summary.peak_device);
    CU_ASSERT_EQUAL(s->job->tp, f->points[best].tp);
    CU_ASSERT_EQUAL(s->job->pp, f->points[best].pp);
    ss_scenario_free(s);
    ss_request_free(&r);
    ss_find_free(f);
}

/* Every `step`-th prediction of all layouts, which share what they can, is that of the job run alone, to the bit. */
static int same_as_alone(const char *job, const char *varied, int step, int weighed)
{
    struct ss_find_options o = {.workers = {.n = 1}, .exhaustive = 1};
    struct ss_bands *bands;
    struct ss_find_result *f;
    struct ss_sweep vary;
    struct ss_request r;
    struct ss_error err;
    int asked = 0;

    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, &err), 0);
    const struct ss_run_options alone = {.unchecked = 1, .bands = bands};
    read_text(&r, job);
    vary_all(&vary, varied);
    o.vary = &vary;
    CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &o, &f, &err), 0);
    ss_request_free(&r);
    for (int i = 0; i < f->npoints; i += step) {
        const struct ss_find_point *p = &f->points[i];
        char words[1024];
        struct ss_scenario *s;
        struct ss_summary u;
        snprintf(words, sizeof words, "%s --nodes %d %s", job, f->groups[p->group].nodes, p->flags);
        read_text(&r, words);
        CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), 0);
        CU_ASSERT_EQUAL_FATAL(ss_predict(s, &alone, &u, &err), 0);
        CU_ASSERT_EQUAL(memcmp(&u, &p->summary, sizeof u), 0);
        CU_ASSERT_EQUAL(u.weighed, weighed);
        ss_scenario_free(s);
        ss_request_free(&r);
        asked++;
    }
    ss_find_free(f);
    ss_bands_free(bands);
    return asked;
}

TEST(sharing)
{
    CU_ASSERT(same_as_alone("--platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 16",
                            "nodes=1,2 cp=1", 11, 0) > 60);
    CU_ASSERT(same_as_alone("--platform h800 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 16 --mbs 1",
                            "nodes=2 cp=1 tp=1,2", 7, 0) > 17);
    CU_ASSERT(same_as_alone("--platform h800 --model llama3.1-8b --seq 4096 --gbs 16 --mbs 1 --tp 2 --cp 2",
                            "nodes=2 schedule=auto recompute=none,full", 2, 1) > 15); /* bf16 is assumed */
}

/* Times and memory of a brief search are those of a whole one; the shares of idle time are not known. */
TEST(brief)
{
    struct ss_find_options o = {.workers = {.n = 1}, .brief = 1};
    struct ss_find_result *whole, *brief;
    struct ss_sweep vary;
    struct ss_request r;
    struct ss_error err;

    find(&whole, "nodes=2", 1);
    read_text(&r, small);
    vary_all(&vary, "nodes=2");
    o.vary = &vary;
    CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &o, &brief, &err), 0);
    CU_ASSERT_EQUAL_FATAL(whole->npoints, brief->npoints);
    CU_ASSERT(whole->npoints > 20);
    for (int i = 0; i < whole->npoints; i++) {
        const struct ss_summary *a = &whole->points[i].summary, *b = &brief->points[i].summary;
        CU_ASSERT_STRING_EQUAL(whole->points[i].flags, brief->points[i].flags);
        CU_ASSERT_EQUAL(a->iteration_s, b->iteration_s);
        CU_ASSERT_EQUAL(a->peak_device, b->peak_device);
        CU_ASSERT_EQUAL(a->outcome, b->outcome);
        CU_ASSERT(!isnan(a->bubble_fraction) && !isnan(a->imbalance_fraction) && !isnan(a->spread_fraction));
        CU_ASSERT(isnan(b->bubble_fraction) && isnan(b->imbalance_fraction) && isnan(b->spread_fraction));
    }
    ss_request_free(&r);
    ss_find_free(whole);
    ss_find_free(brief);
}

/* ---- bounds ---- */

static struct ss_find_result *search_by(struct ss_find_options o, const char *words, const char *varied)
{
    struct ss_find_result *f = NULL;
    struct ss_sweep vary;
    struct ss_request r;
    struct ss_error err;

    read_text(&r, words);
    vary_all(&vary, varied);
    o.vary = &vary;
    CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &o, &f, &err), 0);
    ss_request_free(&r);
    return f;
}

static struct ss_find_result *search_all(const char *words, const char *varied, int exhaustive)
{
    return search_by((struct ss_find_options){.exhaustive = exhaustive}, words, varied);
}

/* A point that a search shows beside the best. */
static int is_shown(const struct ss_find_point *p, int front)
{
    return front ? p->front : p->like_best;
}

/* Points of the front, or those not told apart from the best, whose words are those of as many points of the other. */
static int same_set(const struct ss_find_result *a, const struct ss_find_result *b, int front)
{
    int n = 0, found = 0;

    for (int i = 0; i < a->npoints; i++) {
        n += is_shown(&a->points[i], front);
        for (int k = 0; k < b->npoints && is_shown(&a->points[i], front); k++)
            found += is_shown(&b->points[k], front) && b->points[k].group == a->points[i].group &&
                     !strcmp(a->points[i].flags, b->points[k].flags);
    }
    for (int k = 0; k < b->npoints; k++)
        n -= is_shown(&b->points[k], front);
    CU_ASSERT_EQUAL(n, 0);
    return found;
}

/* Every bound holds; the pruned search predicts fewer, half as many again as it shows where `few`, and finds the same
 * best, the same front and the same layouts that are not told apart. */
static void check_bounds(const char *words, const char *varied, int least_front, int few)
{
    struct ss_find_result *all = search_all(words, varied, 2), *some = search_all(words, varied, 0);
    int n = all->npoints, front = 0, like = 0, shown = 0, below = 0;

    for (int i = 0; i < n; i++) {
        const struct ss_find_point *p = &all->points[i];
        below += p->least_s > p->summary.iteration_s || p->least_bytes > p->summary.peak_device;
        CU_ASSERT(p->least_s > 0.02 * p->summary.iteration_s);
        front += p->front;
        like += p->like_best;
        shown += p->front || p->like_best;
    }
    CU_ASSERT_EQUAL(below, 0);
    CU_ASSERT(n >= 150);
    CU_ASSERT((few < 0 ? 1 : 2) * some->npoints < n);
    CU_ASSERT(few <= 0 || some->replays < 1.5 * shown + 12);
    CU_ASSERT(front >= least_front);
    CU_ASSERT_EQUAL(same_set(all, some, 1), front);
    CU_ASSERT_EQUAL(same_set(all, some, 0), like);
    CU_ASSERT_EQUAL_FATAL(all->ngroups, some->ngroups);
    for (int g = 0; g < all->ngroups; g++) {
        const struct ss_find_group *a = &all->groups[g], *s = &some->groups[g];
        CU_ASSERT_EQUAL(s->layouts, s->refused + s->too_large + s->bounded + s->predicted);
        CU_ASSERT_EQUAL(a->too_large, 0);
        CU_ASSERT_EQUAL_FATAL(a->best < 0, s->best < 0);
        if (a->best >= 0)
            CU_ASSERT_STRING_EQUAL(all->points[a->best].flags, some->points[s->best].flags);
    }
    ss_find_free(all);
    ss_find_free(some);
}

static const struct {
    const char *job, *varied;
    int least_front,
        few; /* few: 0 where little is known of the orders of schedules, -1 of what the host hides */
} bounded[] = {
    /* the first SMALL are those of every run, each a kind of its own */
    {"--platform h100 --model llama3.1-8b --bf16 --seq 8192 --gbs 16 --cp 1", "nodes=1..2 mbs=1,2,4", 10, 1},
    /* context and expert groups are free; flows are asked of some */
    {"--platform h800 --model qwen3-30b-a3b --bf16 --seq 8192 --gbs 32 --nodes 2 --mbs 1",
     "recompute=full tp=1,2", 10, 1},
    {"--platform h100 --model qwen3-vl-8b --images 4 --img-h 1024 --bf16 --seq 8192 --gbs 64 --nodes 2 --cp "
     "1",
     "decoder-first-pipeline-num-layers=3,6 mbs=1,2,4,8 recompute=none,selective,full", 3, 0},
    /* forwards beside backwards */
    {"--platform h100 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --nodes 2 --cp 1 "
     "--stack megatron-bridge-26.02 --overlap-moe-expert-parallel-comm --moe-grouped-gemm",
     "ep=4 mbs=2", 5, -1},
    /* the host decides */
    {"--platform h100 --model llama3.2-1b --bf16 --seq 4096 --gbs 128 --nodes 2 --cp 1", "mbs=1,2,4", 10, 1},
#define SMALL 5
    {"--platform h100 --model llama3.1-8b --bf16 --seq 8192 --gbs 32", "nodes=1..2 mbs=1,2,4,8", 20, 1},
    {"--platform h800 --model llama3.1-70b --bf16 --seq 8192 --gbs 256 --nodes 8 "
     "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
     "mbs=1,2", 10, 1},
    {"--platform h100 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --nodes 2 --cp 1",
     "mbs=1,2,4,8 schedule=auto,zb-h1,gpipe,looped-bfs,zb-v vp=1,2,4 recompute=none,selective,full", 10, 0},
    {"--platform h800 --model qwen3-30b-a3b --bf16 --seq 8192 --gbs 64 --nodes 2 --mbs 1", "recompute=full",
     10, 1},
    {"--platform h100 --model qwen3-30b-a3b --bf16 --seq 16384 --gbs 32 --nodes 2",
     "mbs=1,2 recompute=none,full", 10, 1},
    {"--platform h100 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --nodes 4 --cp 1 "
     "--stack megatron-bridge-26.02 --overlap-moe-expert-parallel-comm --moe-grouped-gemm",
     "ep=4,8,16 mbs=1,2 recompute=none,selective", 5, -1},
    /* layers differ */
    {"--platform gb200 --model nemotron-3-nano-30b-a3b --bf16 --seq 8192 --gbs 128 --nodes 4 --cp 1",
     "mbs=1,2", 10, 1}};

static size_t cases = SMALL;

TEST(bounds)
{
    for (size_t i = 0; i < cases; i++)
        check_bounds(bounded[i].job, bounded[i].varied, bounded[i].least_front, bounded[i].few);
}

/* First bounds, which layouts share, hold too where one stage stands for others: of the expert groups of nine stages those of one lie on
 * two domains; a last stage has fewer layers. */
TEST(unlike_stages)
{
    static const char *const spaces[][2] = {{"--platform gb200 --nodes 144 --model qwen3-235b-a22b --bf16 "
                                             "--seq 4096 --gbs 2304 --tp 1 --cp 1 --pp 9 "
                                             "--ep 16 --fsdp none",
                                             "mbs=1,2,4 recompute=none,full schedule=auto,gpipe,zb-h1"},
                                            {"--platform h100 --nodes 15 --model qwen3-30b-a3b --bf16 --seq "
                                             "4096 --gbs 960 --tp 1 --cp 1 --pp 3 --ep 8 "
                                             "--fsdp none",
                                             "mbs=2,4 recompute=none,full schedule=auto,gpipe"}};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        struct ss_find_result *f = search_all(spaces[i][0], spaces[i][1], 1);
        CU_ASSERT(f->npoints >= 18);
        for (int k = 0; k < f->npoints; k++) {
            CU_ASSERT(f->points[k].least_s <= f->points[k].summary.iteration_s);
            CU_ASSERT(f->points[k].least_bytes <= f->points[k].summary.peak_device);
        }
        ss_find_free(f);
    }
}

/* A search replays half as many layouts again as it shows, at most: messages between stages, gradients of an embedding that two stages
 * have, and waits of stages with unlike layers are part of a bound; what fits is known as soon as it is predicted. */
TEST(few)
{
    static const char *const jobs[] = {
        "--platform a100 --model gpt3-22b --bf16 --seq 2048 --gbs 64 --nodes 4 --cp 1",
        "--platform h800 --model llama3.1-70b --bf16 --seq 8192 --gbs 256 --nodes 8 --cp 1",
        "--platform h20 --model nemotron-h-8b --bf16 --seq 8192 --gbs 64 --nodes 2 --cp 1",
        "--platform gb200 --model nemotron-3-nano-30b-a3b --bf16 --seq 8192 --gbs 128 --nodes 4 --cp 1"};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct ss_find_result *f = search_all(jobs[i], i ? "mbs=1,2" : "mbs=1,2,4,8", 0);
        int shown = 0;
        for (int k = 0; k < f->npoints; k++)
            shown += f->points[k].front || f->points[k].like_best;
        CU_ASSERT(shown >= 10);
        CU_ASSERT(2 * f->replays <= 3 * shown);
        ss_find_free(f);
    }
}

/* Returns the index of the point with these words; -1: none. */
static int place_of(const struct ss_find_result *f, const char *flags)
{
    for (int i = 0; i < f->npoints; i++)
        if (!strcmp(f->points[i].flags, flags))
            return i;
    return -1;
}

/* A search in which nothing fits tells what its layouts stand on, and how many GPUs would hold the job. */
TEST(none_fits)
{
    struct ss_find_result *f = NULL;
    struct ss_request r;

    read_text(&r, "--platform h100 --nodes 1 --model llama3.1-70b --bf16 --seq 4096 --gbs 64 --cp 1");
    const struct ss_scenario_options how = {0};
    const struct ss_run_options run = {.engine = SS_ENGINE_NATIVE};
    const struct ss_find_options options = {.how = &how, .run = &run, .workers = {.n = 1}};
    CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &options, &f, NULL), 0);
    CU_ASSERT_EQUAL(f->npoints, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(f->premises, "llama3.1-70b, bf16, sequence 4096"));
    CU_ASSERT_EQUAL(f->smallest.gpus, 16);
    ss_find_free(f);
    ss_request_free(&r);
    /* stages of one layer have no block of some layers: these are as large as with full recompute */
    f = search_all("--platform a100 --nodes 1 --model falcon-180b --bf16 --seq 2048 --gbs 8", "cp=1", 0);
    CU_ASSERT(f->groups[0].too_large > 0);
    CU_ASSERT_EQUAL(f->groups[0].bounded, 0);
    ss_find_free(f);
}

/* A search that wants layouts faster than a time leaves most out without a bound of their own. It finds the best all the same, and all that
 * are not told apart from it, and counts as many legal ones. */
TEST(left_out)
{
    static const char *const jobs[][2] = {
        {"--platform h100 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128", "cp=1,2"},
        {"--platform a100 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --cp 1", "nodes=2"},
        {"--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --cp 1", "tp=1,2"},
        {"--platform gb200 --nodes 3 --model llama3.1-70b --bf16 --seq 4096 --gbs 96 --cp 1", "mbs=1,2,3"},
        {"--platform h20 --nodes 2 --model llama3.2-1b --bf16 --seq 4096 --gbs 48 --pp 1", "recompute=auto"},
        {"--platform h100 --nodes 1 --model llama3.1-8b --bf16 --seq 8192 --gbs 64 --cp 1",
         "recompute=full,none"},
        {"--platform h100 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 64 --cp 1 --mbs 1",
         "recompute=full,selective"}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct ss_find_result *all = search_all(jobs[i][0], jobs[i][1], 0);
        const struct ss_find_group *g = all->groups, *h;
        const struct ss_find_point *best = &all->points[g->best];
        double most_s = best->summary.iteration_s * (1 + best->summary.apart_pct / 100) * (1 + 1e-9);
        struct ss_find_result *few =
            search_by((struct ss_find_options){.best_only = 1, .also_alike = 1, .below = &most_s}, jobs[i][0],
                      jobs[i][1]);
        h = few->groups;
        CU_ASSERT_FATAL(h->best >= 0);
        CU_ASSERT_STRING_EQUAL(few->points[h->best].flags, best->flags);
        CU_ASSERT_EQUAL(few->points[h->best].summary.iteration_s, best->summary.iteration_s);
        CU_ASSERT_EQUAL(h->layouts - h->refused, g->layouts - g->refused);
        CU_ASSERT_EQUAL(h->layouts, h->refused + h->too_large + h->bounded + h->predicted);
        CU_ASSERT(h->bounded >= g->bounded);
        for (int k = 0; k < all->npoints; k++)
            if (all->points[k].like_best)
                CU_ASSERT(place_of(few, all->points[k].flags) >= 0);
        ss_find_free(all);
        ss_find_free(few);
    }
}

static double third(void *ctx, const struct ss_find_point *const *points, int n)
{
    *(int *)ctx += 1;
    for (int i = 1; i < n; i++)
        CU_ASSERT(points[i - 1]->summary.iteration_s <= points[i]->summary.iteration_s);
    return n < 3 ? INFINITY : points[2]->summary.iteration_s;
}

/* A search whose caller wants the three best layouts finds them, and predicts fewer than one that wants all that are not told apart. */
TEST(wanted)
{
    static const char job[] =
        "--platform h100 --nodes 2 --model llama3.1-8b --bf16 --seq 8192 --gbs 128 --cp 1";
    int asked = 0;
    struct ss_find_result *all =
        search_by((struct ss_find_options){.best_only = 1, .also_alike = 1}, job, "nodes=2");
    struct ss_find_result *few =
        search_by((struct ss_find_options){.best_only = 1, .also_alike = 1, .wanted = third, .ctx = &asked},
                  job, "nodes=2");

    CU_ASSERT(asked > 0);
    CU_ASSERT_FATAL(all->groups->best == 0 && few->groups->best == 0 && all->npoints >= 3 &&
                    few->npoints >= 3);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_STRING_EQUAL(few->points[i].flags, all->points[i].flags);
    CU_ASSERT(3 * few->groups->predicted < 2 * all->groups->predicted);
    ss_find_free(all);
    ss_find_free(few);
}

/* Without a barrier a rank of a split backward runs its slots and its step, one after the other: the bound is what the busiest of them
 * takes, here the last stage, which has the loss, and which is more than the mean of the stages. */
TEST(busiest)
{
    static const char words[] =
        "--platform h100 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --gbs 16 --mbs 1 --tp 2 --pp 4 "
        "--cp 1 --sequence-parallel --schedule zb-h1 --recompute none --clip-grad 0";
    struct ss_find_result *f = search_all(words, "nodes=1", 1);
    struct ss_plan_bounds l;
    struct ss_scenario *s;
    struct ss_request r;

    read_text(&r, words);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_plan_bounds_find(s->job, s->stack, s->platform, 0, NULL, &l, NULL), 0);
    CU_ASSERT(!l.barrier && l.even);
    double busiest = l.stage[2].step + 16 * l.stage[2].split, mean = l.stage[0].step + 16 * l.all / 4;
    CU_ASSERT(busiest > 1.01 * mean && l.stage[2].split > l.stage[0].split);
    int n = 0;
    for (int i = 0; i < f->npoints; i++)
        if (f->points[i].chunks == 1 && !f->points[i].fsdp) {
            CU_ASSERT_DOUBLE_EQUAL(f->points[i].least_s, busiest, 1e-8 * busiest);
            n++;
        }
    CU_ASSERT_EQUAL(n, 1);
    ss_scenario_free(s);
    ss_request_free(&r);
    ss_find_free(f);
}

/* A ring of 256 ranks is 385 million events at flow level: nobody waits for them unasked, and the run says so. */
TEST(flows_of_long_rings)
{
    static const char words[] = "--platform h100 --nodes 64 --model llama3.1-70b --bf16 --seq 8192 --gbs "
                                "1024 --sequence-parallel --pp 1 "
                                "--fsdp full --tp 2 --cp 256 --mbs 64 --recompute full";
    const struct ss_run_options doubts = {.unchecked = 1, .level_choice = SS_LEVEL_DOUBTS};
    struct ss_scenario *s;
    struct ss_request r;
    struct ss_run run, asked;
    int told = 0;

    read_text(&r, words);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, NULL, &run, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &doubts, &asked, NULL), 0);
    for (size_t i = 0; i < run.plan->warnings.n; i++)
        told += strstr(run.plan->warnings.text[i], "more than 20 million events") != NULL;
    CU_ASSERT_EQUAL(told, 1);
    CU_ASSERT_EQUAL(run.result->level, SS_LEVEL_CHUNK);
    CU_ASSERT(!run.summary.doubted && asked.summary.doubted);
    CU_ASSERT_EQUAL(asked.summary.iteration_s, run.summary.iteration_s);
    ss_run_free(&run);
    ss_run_free(&asked);
    ss_scenario_free(s);
    ss_request_free(&r);
}

static void fails(const char *words, const char *varied, int code, const char *part)
{
    struct ss_find_options o = {.workers = {.n = 1}};
    struct ss_find_result *f;
    struct ss_sweep vary;
    struct ss_request r;
    struct ss_error err = {0};

    read_text(&r, words);
    vary_all(&vary, varied);
    o.vary = &vary;
    CU_ASSERT_EQUAL(ss_find_run(&r, &o, &f, &err), code);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, part));
    ss_request_free(&r);
}

TEST(errors)
{
    struct ss_sweep vary = {0};
    struct ss_error err;

    fails("--platform h800 --model llama3.1-8b --bf16 --seq 4096", "nodes=1", SS_ERR_USAGE,
          "missing: --gbs N; example: --gbs 512");
    fails("--platform h800 --model llama3.1-8b --bf16 --gbs 8", "nodes=1", SS_ERR_USAGE,
          "missing: --seq N; example: --seq 4096");
    fails("--platform h100 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --ep 16", "nodes=3",
          SS_ERR_CONFIG, "world_size (24) is not divisible by expert"); /* not tp 3, its own value */
    fails(small, "nodes=1 tp=x", SS_ERR_USAGE, "x");
    CU_ASSERT_EQUAL(ss_sweep_vary(&vary, "nodes=8..4", &err), SS_ERR_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "ends before it begins"));
    CU_ASSERT_EQUAL(ss_sweep_vary(&vary, "nodes=0..4", &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_sweep_vary(&vary, "nodes=4..x", &err), 0); /* a value, which the job refuses */
    CU_ASSERT_EQUAL(ss_sweep_vary(&vary, "tp=4..16,32", &err), 0);
    CU_ASSERT_EQUAL(vary.flags[1].nvalues, 4);
    CU_ASSERT_STRING_EQUAL(vary.flags[1].value[2], "16");
}

SUITE(search)
{
    if (suite_stride(argc, argv, 0))
        cases = sizeof bounded / sizeof *bounded;
    return suite_file(argv[0], NULL, NULL);
}
