/* SPDX-License-Identifier: Apache-2.0 */
/* Recompute of some layers: as few as fit are found, and bounds hold for any number of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/rank_cost.h"
#include "decide/search_internal.h"
#include "job_helper.h"
#include "stepsim/search.h"
#include "suite.h"

static struct ss_scenario *scenario_of(const char *words)
{
    struct ss_scenario *s = NULL;
    struct ss_request r;
    struct ss_error err;
    char text[2048], *argv[JOB_MAX_ARGS];

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    int rc = ss_scenario_build(&r, NULL, &s, &err);
    if (rc)
        printf("%s\n", err.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    ss_request_free(&r);
    return s;
}

/* ---- the search for the fewest layers ---- */

/* Jobs that fit from `fits` layers on, and are near the limit from `near` on. */
struct ladder {
    int fits, near, asked;
};

static int predicted(void *ctx, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                     struct ss_error *err)
{
    struct ladder *l = ctx;
    int n = leaf->at[SS_FIND_BLOCK_LAYERS];

    (void)err;
    l->asked++;
    p->summary.outcome = n >= l->fits   ? SS_OUTCOME_FITS
                         : n >= l->near ? SS_OUTCOME_NEAR_LIMIT
                                        : SS_OUTCOME_TOO_LARGE;
    p->summary.iteration_s = 100 + n;
    return 0;
}

static void finds(int first, int most, struct ladder l, int layers, int outcome, int asked)
{
    for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        struct ss_find_leaf leaf = {.at = {[SS_FIND_BLOCK_LAYERS] = (unsigned char)first}};
        struct ss_find_point p = {.number = 7};
        struct ladder ask = l;
        CU_ASSERT_EQUAL(ss_find_block_fewest(&leaf, most, exhaustive, predicted, &ask, &p, NULL), 0);
        CU_ASSERT_EQUAL(leaf.at[SS_FIND_BLOCK_LAYERS], layers);
        CU_ASSERT_EQUAL(p.summary.outcome, (unsigned)outcome);
        CU_ASSERT_EQUAL(p.summary.iteration_s, 100 + layers);
        CU_ASSERT_EQUAL(p.number, 7);
        CU_ASSERT_EQUAL(ask.asked, exhaustive ? most - first + 1 : asked);
    }
}

TEST(fewest)
{
    finds(1, 20, (struct ladder){.fits = 1, .near = 1}, 1, SS_OUTCOME_FITS, 1);
    finds(3, 20, (struct ladder){.fits = 4, .near = 1}, 4, SS_OUTCOME_FITS, 2);
    finds(3, 20, (struct ladder){.fits = 6, .near = 1}, 6, SS_OUTCOME_FITS, 4);
    finds(3, 20, (struct ladder){.fits = 5, .near = 1}, 5, SS_OUTCOME_FITS, 4);
    finds(1, 20, (struct ladder){.fits = 20, .near = 1}, 20, SS_OUTCOME_FITS, 8); /* 1 2 4 8 16 20 18 19 */
    finds(1, 20, (struct ladder){.fits = 99, .near = 2}, 2, SS_OUTCOME_NEAR_LIMIT, 10);
}

/* Where nothing fits, any number of layers tells so. */
TEST(none_fits)
{
    struct ss_find_leaf leaf = {.at = {[SS_FIND_BLOCK_LAYERS] = 2}};
    struct ss_find_point p = {0};
    struct ladder l = {99, 99, 0};

    CU_ASSERT_EQUAL(ss_find_block_fewest(&leaf, 6, 0, predicted, &l, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.summary.outcome, SS_OUTCOME_TOO_LARGE);
    CU_ASSERT_EQUAL(l.asked, 4);
}

/* ---- bounds between none and all ---- */

static struct ss_plan_bounds bounds_of(const struct ss_scenario *s, const struct ss_job *job)
{
    struct ss_plan_bounds b;

    CU_ASSERT_EQUAL_FATAL(ss_plan_bounds_find(job, s->stack, s->platform, 0, NULL, &b, NULL), 0);
    return b;
}

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9 * fabs(b) + 2)

/* A stage's slots and what they keep are linear in the recomputed layers where all virtual stages have as many;
 * elsewhere the bound between the ends is below. */
static void between(const char *words, int exact)
{
    struct ss_scenario *s = scenario_of(words);
    const struct ss_find_axis axis = {
        .kind = SS_FIND_RECOMPUTE, .n = 3, .value = {"none", SS_FIND_BLOCK, "full"}};
    struct ss_find_cluster *c = calloc(1, sizeof *c);
    const struct ss_find_leaf leaf = {.at = {1, [SS_FIND_BLOCK_LAYERS] = 1}};
    struct ss_find_leaf at[2];
    struct ss_job jobs[2], block = *s->job;

    c->naxes = 1;
    c->axes[0] = axis;
    c->block_value = 2;
    ss_find_block_ends(c, &leaf, s->job, at, jobs);
    CU_ASSERT_EQUAL(at[0].at[0], 0);
    CU_ASSERT_EQUAL(at[1].at[0], 2);
    const struct ss_plan_bounds ends[2] = {bounds_of(s, &jobs[0]), bounds_of(s, &jobs[1])};
    int most = ss_find_block_most(c, &leaf, s->job);
    CU_ASSERT(most >= 1);
    for (int n = 1; n <= most; n++) {
        struct ss_plan_bounds b;
        block.recompute.granularity = SS_RECOMPUTE_FULL;
        block.recompute.method = SS_RECOMPUTE_BLOCK;
        block.recompute.num_layers = n;
        ss_find_block_between(ends, s->job, ss_layers_alike(s->job), n, &b);
        const struct ss_plan_bounds is = bounds_of(s, &block);
        for (int i = 0; i < 3; i++) {
            const struct ss_stage_bounds *low = &b.stage[i], *real = &is.stage[i];
            CU_ASSERT(low->forward + low->backward <= (real->forward + real->backward) * (1 + 1e-9));
            CU_ASSERT(low->split <= real->split * (1 + 1e-9) || i == 1);
            CU_ASSERT(ends[0].even || low->chunk <= real->chunk + 2 || i == 1);
            CU_ASSERT(low->extra <= real->extra + 2 || i == 1);
            if (!exact || i == 1)
                continue;
            if (exact == 1) /* else the host waits in a backward with recomputed layers, where it did not */
                NEAR(1e9 * (low->forward + low->backward), 1e9 * (real->forward + real->backward));
            NEAR(low->activations, real->activations);
        }
        CU_ASSERT(b.all <= is.all * (1 + 1e-9));
    }
    free(c);
    ss_scenario_free(s);
}

TEST(between)
{
    between("--platform h800 --nodes 4 --model llama3.1-70b --bf16 --seq 4096 --gbs 64 --mbs 1 --tp 4 --pp 4 "
            "--sequence-parallel",
            1);
    between("--platform h800 --nodes 4 --model llama3.1-70b --bf16 --seq 4096 --gbs 64 --mbs 1 --tp 2 --pp 4 "
            "--vp 5",
            1);
    between(
        "--platform h100 --nodes 16 --model llama3.1-405b --bf16 --seq 8192 --gbs 64 --mbs 1 --tp 8 --pp 16 "
        "--vp 2 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
        0);
    between("--platform h800 --nodes 4 --model llama3.1-70b --bf16 --seq 4096 --gbs 64 --mbs 1 --tp 4 --pp 4 "
            "--decoder-last-pipeline-num-layers 14",
            0);
    between(
        "--platform h100 --nodes 4 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 64 --mbs 1 --pp 4 --ep 8",
        2);
    between("--platform h100 --nodes 16 --model deepseek-v2-lite --bf16 --seq 4096 --gbs 128 --mbs 1 --pp 8 "
            "--ep 8 "
            "--decoder-last-pipeline-num-layers 6",
            0);
    between("--platform h100 --nodes 4 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --mbs 1 --fsdp full",
            0);
}

/* ---- searches ---- */

static struct ss_find_result *search(const char *words, int exhaustive)
{
    struct ss_find_options o = {.workers = {.n = 1}, .exhaustive = exhaustive};
    struct ss_find_result *f = NULL;
    struct ss_request r;
    struct ss_error err;
    char text[2048], *argv[JOB_MAX_ARGS];

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_find_run(&r, &o, &f, &err), 0);
    ss_request_free(&r);
    return f;
}

/* In jobs short of memory the winner has some layers recomputed; all numbers of layers of all layouts, predicted one
 * by one, have no better one, and as many that are not told apart. */
static void wins(const char *words, int layers)
{
    struct ss_find_result *all = search(words, 1), *some = search(words, 0);
    const struct ss_find_point *best = &some->points[some->groups[0].best];

    CU_ASSERT_FATAL(some->groups[0].best >= 0);
    CU_ASSERT_STRING_EQUAL(all->points[all->groups[0].best].flags, best->flags);
    CU_ASSERT_EQUAL(all->groups[0].like_best, some->groups[0].like_best);
    CU_ASSERT_EQUAL(best->recompute_layers, layers);
    CU_ASSERT(some->npoints < all->npoints);
    for (int i = 0; i < all->npoints; i++) {
        const struct ss_find_point *p = &all->points[i];
        CU_ASSERT(p->least_s <= p->summary.iteration_s && p->least_bytes <= p->summary.peak_device);
    }
    ss_find_free(all);
    ss_find_free(some);
}

TEST(wins)
{
    wins("--platform h100 --nodes 1024 --model llama3.1-405b --bf16 --seq 8192 --gbs 2048 --mbs 1 --tp 8 "
         "--cp 1 "
         "--use-distributed-optimizer",
         1);
    wins("--platform h800 --nodes 4 --model llama3.1-70b --bf16 --seq 8192 --gbs 64 --mbs 1 --cp 1 --tp 4 "
         "--vp 1",
         4);
}

/* A layout that fits without recompute has none: no point with some layers says the same again. */
TEST(once)
{
    struct ss_find_result *f =
        search("--platform h100 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --mbs 1 --cp 1", 0);

    for (int i = 0; i < f->npoints; i++)
        for (int k = 0; k < f->npoints && f->points[i].recompute_layers; k++) {
            const struct ss_find_point *a = &f->points[i], *b = &f->points[k];
            CU_ASSERT(b->recompute != SS_RECOMPUTE_NONE || b->summary.outcome != SS_OUTCOME_FITS ||
                      a->tp != b->tp || a->pp != b->pp || a->chunks != b->chunks || a->fsdp != b->fsdp);
        }
    ss_find_free(f);
}
