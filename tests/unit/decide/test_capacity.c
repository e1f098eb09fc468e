/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans of capacity: which number of nodes is the answer of a job. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/capacity_internal.h"
#include "job_helper.h"
#include "suite.h"

/* ---- whole plans ---- */

static int plan(const char *words, const struct ss_capacity_options *o, struct ss_capacity **out,
                struct ss_error *err)
{
    static char text[1024];
    char *argv[JOB_MAX_ARGS];
    struct ss_request r;

    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    int rc = ss_request_read(&r, split(text, argv), argv, err);
    if (!rc)
        rc = ss_capacity_run(&r, o, out, err);
    ss_request_free(&r);
    return rc;
}

#define JOB                                                                                                  \
    "--platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --gbs 64 "

/* On 3 nodes 12 pipelines divide no batch of 64: 60 is nearest. 2 + 12 bytes of a parameter are kept. */
TEST(given)
{
    const struct ss_capacity_options o = {
        .tokens = 1e9, .layout = SS_CAPACITY_GIVEN, .run = &(struct ss_run_options){.unchecked = 1}};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 3,1", &o, &c, &err), 0);
    CU_ASSERT_EQUAL(c->npoints, 2);
    CU_ASSERT_EQUAL(c->points[0].nodes, 1); /* in their order */
    CU_ASSERT_EQUAL(c->points[0].batch, 64);
    CU_ASSERT_EQUAL(c->points[1].batch, 60);
    CU_ASSERT_STRING_EQUAL(c->points[0].flags, "--nodes 1");
    CU_ASSERT_STRING_EQUAL(c->points[1].flags, "--nodes 3 --global-batch-size 60");
    CU_ASSERT_DOUBLE_EQUAL(c->points[1].iterations, ceil(1e9 / (60 * 4096)), 0);
    CU_ASSERT_DOUBLE_EQUAL(c->points[0].checkpoint_bytes, 14 * c->points[0].summary.parameters, 1);
    CU_ASSERT_EQUAL(c->clusters[0].price_is_example, 1);
    ss_capacity_free(c);
    /* interleaved stages need microbatches in fours: of 2 x 4 sequences, 12 becomes 16 */
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--gbs 12 --pp 4 --vp 2 --nodes 2", &o, &c, &err), 0);
    CU_ASSERT_EQUAL(c->points[0].batch, 16);
    ss_capacity_free(c);
}

/* Who types no precision trains in bf16, on a range of nodes as on one number of them. */
TEST(assumed)
{
    const struct ss_capacity_options o = {
        .tokens = 1e9, .layout = SS_CAPACITY_GIVEN, .run = &(struct ss_run_options){.unchecked = 1}};
    static const char *const nodes[] = {"--bf16 --nodes 1", "--nodes 1", "--nodes 1..1", "--nodes 1,1"};
    double seconds = 0;

    for (int i = 0; i < 4; i++) {
        char words[256];
        struct ss_capacity *c = NULL;
        struct ss_error err;

        snprintf(words, sizeof words,
                 "--platform h100 --model llama3.1-8b --seq 4096 --tp 2 --mbs 1 --gbs 64 %s", nodes[i]);
        CU_ASSERT_EQUAL_FATAL(plan(words, &o, &c, &err), 0);
        if (i == 0)
            seconds = c->points[0].summary.iteration_s;
        CU_ASSERT_EQUAL(c->points[0].summary.iteration_s, seconds);
        ss_capacity_free(c);
    }
}

/* 2 nodes are too slow for 6 days and 4 are not; between them is 3. A list is not refined. */
TEST(refined)
{
    struct ss_capacity_options o = {
        .tokens = 1e9, .layout = SS_CAPACITY_GIVEN, .run = &(struct ss_run_options){.unchecked = 1}};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..4", &o, &c, &err), 0);
    CU_ASSERT_EQUAL(c->npoints, 3); /* nothing is asked */
    o.deadline_s = 0.8 * c->points[1].time_s.value;
    o.budget_usd = 0.5 * (c->points[1].usd.value + c->points[2].usd.value);
    ss_capacity_free(c);
    double usd = o.budget_usd;
    o.budget_usd = -1;
    CU_ASSERT_EQUAL(plan(JOB "--nodes 1", &o, &c, NULL), SS_ERR_USAGE);
    o.budget_usd = 0;
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..4", &o, &c, &err), 0);
    CU_ASSERT_EQUAL_FATAL(c->npoints, 4);
    CU_ASSERT_EQUAL(c->points[2].nodes, 3);
    CU_ASSERT_EQUAL(c->points[c->clusters[0].chosen].nodes, 3);
    ss_capacity_free(c);
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1,2,4", &o, &c, &err), 0);
    CU_ASSERT_EQUAL(c->npoints, 3);
    CU_ASSERT_EQUAL(c->points[c->clusters[0].chosen].nodes, 4);
    ss_capacity_free(c);
    o.deadline_s = 0;
    o.budget_usd = usd;
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..4", &o, &c, &err), 0);
    CU_ASSERT(c->points[c->clusters[0].chosen].nodes == 2 || c->points[c->clusters[0].chosen].nodes == 3);
    CU_ASSERT(c->points[c->clusters[0].chosen].usd.value <= usd);
    ss_capacity_free(c);
}

/* A deadline that 2 nodes just meet: by the far end of their range they are late, and 3, which take two thirds of it, are not. Of 1, 2, 4
 * and 8 that answer would be 4. */
TEST(refined_sure)
{
    struct ss_capacity_options o = {
        .tokens = 1e9, .layout = SS_CAPACITY_GIVEN, .run = &(struct ss_run_options){.unchecked = 1}};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..8", &o, &c, &err), 0);
    CU_ASSERT_EQUAL_FATAL(c->npoints, 4);
    CU_ASSERT(c->points[1].time_s.high > 1.01 * c->points[1].time_s.value);
    o.deadline_s = 1.001 * c->points[1].time_s.value;
    ss_capacity_free(c);
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..8", &o, &c, &err), 0);
    CU_ASSERT_EQUAL(c->points[c->clusters[0].chosen].nodes, 2);
    CU_ASSERT_EQUAL_FATAL(c->points[2].nodes, 3);
    CU_ASSERT_EQUAL(c->clusters[0].sure, 2);
    ss_capacity_free(c);
}

TEST(refused)
{
    struct ss_capacity_options o = {.tokens = 1e9, .layout = SS_CAPACITY_GIVEN};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL(plan(JOB "--pp 3 --nodes 1,2", &o, &c, &err), SS_ERR_CONFIG);
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--pp 8 --nodes 1,2", &o, &c, &err), 0); /* 8 GPUs are no 16 */
    CU_ASSERT_EQUAL(c->points[0].summary.outcome, SS_OUTCOME_REFUSED);
    CU_ASSERT(c->points[1].summary.iteration_s > 0);
    ss_capacity_free(c);
    CU_ASSERT_EQUAL(plan(JOB "--nodes 4..2", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(plan(JOB "--nodes two", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(plan("--platform h100 --model llama3.1-8b --seq 4096 --nodes 1", &o, &c, &err),
                    SS_ERR_USAGE);
    o.budget_usd = 5;
    CU_ASSERT_EQUAL(plan(JOB "--set ss.price.example=0USD/h --nodes 1", &o, &c, &err), SS_ERR_USAGE);
    o = (struct ss_capacity_options){.layout = SS_CAPACITY_GIVEN};
    CU_ASSERT_EQUAL(plan(JOB "--nodes 1", &o, &c, &err), SS_ERR_USAGE);
}

/* What is found on 1 node is what the search finds there, and every form can be written. */
TEST(searched)
{
    const struct ss_capacity_options o = {.tokens = 1e9, .deadline_s = 1e9, .workers = {.n = 1}};
    struct ss_capacity *c = NULL;
    struct ss_error err;
    char *text = NULL;
    size_t size;

    CU_ASSERT_EQUAL_FATAL(plan("--platform h100 --model llama3.2-1b --bf16 --seq 2048 --gbs 8 --pp 1 --cp 1 "
                               "--mbs 1 --fsdp none --recompute none --nodes 1",
                               &o, &c, &err),
                          0);
    CU_ASSERT_EQUAL(c->clusters[0].chosen, 0);
    CU_ASSERT(ss_capacity_holds(&c->points[0]));
    CU_ASSERT_PTR_NOT_NULL(strstr(c->points[0].flags, "--nodes 1 --tp"));
    for (int form = SS_CAPACITY_TEXT; form <= SS_CAPACITY_CSV + 2; form++) {
        FILE *out = open_memstream(&text, &size);
        CU_ASSERT_EQUAL(form <= SS_CAPACITY_CSV       ? ss_capacity_write(c, form, NULL, out, &err)
                        : form == SS_CAPACITY_CSV + 1 ? ss_capacity_write_svg(c, 600, out, &err)
                                                      : ss_capacity_write_page(c, 0, out, &err),
                        0);
        fclose(out);
        CU_ASSERT(size > 200);
        if (form == SS_CAPACITY_JSON) {
            json_t *root = json_loads(text, 0, NULL);
            CU_ASSERT_EQUAL(json_integer_value(json_object_get(root, "chosen")), 0);
            CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "points")), 1);
            json_decref(root);
        }
        free(text);
    }
    ss_capacity_free(c);
}

/* ---- all numbers of nodes ---- */

#define SMALL "--bf16 --seq 2048 --cp 1 --fsdp none --recompute none "

/* Small spaces: their words, the layouts' `given` or a search, and the range. Numbers of layers, batches and cards let days jump: 24 layers
 * and 36 sequences have other divisors than the nodes. Where micro batches and recompute are free, too, the best layouts of the rows are up
 * to 25 % dearer on the numbers between. */
static const struct space {
    const char *words, *vary;
    int layout, low, high;
} spaces[] = {
    {"--platform h100 --model llama3.2-1b --gbs 36 --mbs 1 " SMALL, "tp=1,2,4", 0, 1, 9},
    {"--platform h100 --model llama3.2-1b --gbs 40 --bf16 --seq 8192 --pp 1 --fsdp none ", NULL, 0, 1, 10},
    {"--platform a100 --model llama3.2-1b --gbs 45 --bf16 --seq 4096 --cp 1 --fsdp none ", NULL, 0, 2, 11},
    {"--platform h20 --model llama3.2-1b --gbs 50 --mbs 1 " SMALL, "pp=1,2", 0, 1, 8},
    {"--platform gb200 --model llama3.2-1b --gbs 64 --mbs 1 " SMALL, "tp=1,2", 0, 1, 12},
    {"--platform h800 --model qwen3-8b --gbs 60 --mbs 1 --tp 4 --sequence-parallel " SMALL, "pp=1,2,4", 0, 2,
     10},
    {"--platform h100 --model llama3.2-1b --gbs 54 --bf16 --seq 4096 --cp 1 --fsdp none ", NULL, 0, 3, 12},
    {"--platform h100 --model llama3.1-8b --gbs 72 --mbs 1 --tp 2 --pp 4 --vp 2 "
     "--use-distributed-optimizer " SMALL,
     NULL, 1, 1, 12},
    {"--platform b200 --model llama3.1-8b --gbs 56 --mbs 1 --tp 4 " SMALL, "vp=1,2,4", 0, 1, 9},
    {"--platform h200 --model llama3.2-1b --gbs 44 --mbs 1 --tp 2 " SMALL, "sequence-parallel=on,off", 0, 1,
     7},
    /* on 7 nodes the fastest layout is near the limit, and a slower one surely fits */
    {"--platform gb200 --model gemma-2-27b --gbs 72 --bf16 --seq 4096 --tp 2 --cp 1 --pp 1 --fsdp full "
     "--recompute none ",
     NULL, 0, 6, 9},
};

/* Plans the range of a space, or each of its numbers as one of a list, which nothing rules out. */
static int plan_space(const struct space *at, int range, struct ss_capacity_options *o,
                      struct ss_capacity **out)
{
    struct ss_sweep *vary = calloc(1, sizeof *vary);
    char words[512], nodes[256];
    struct ss_error err;
    int n = snprintf(nodes, sizeof nodes, "--nodes %d", at->low);

    if (range)
        snprintf(nodes + n, sizeof nodes - (size_t)n, "..%d", at->high);
    for (int i = at->low + 1; i <= at->high && !range; i++)
        n += snprintf(nodes + n, sizeof nodes - (size_t)n, ",%d", i);
    snprintf(words, sizeof words, "%s%s", at->words, nodes);
    int rc = at->vary ? ss_sweep_vary(vary, at->vary, &err) : 0;
    o->vary = vary;
    o->layout = at->layout;
    rc = rc ? rc : plan(words, o, out, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n", words, err.message);
    free(vary);
    return rc;
}

/* Returns the cheapest point that keeps the deadline, or the fastest within the budget, one with a batch near the asked one if there is any; and holds
 * the bound of all points. */
static const struct ss_capacity_point *best_of(const struct ss_capacity *all)
{
    const struct ss_capacity_point *best = NULL;
    int best_far = 0;

    for (int i = 0; i < all->npoints; i++) {
        const struct ss_capacity_point *p = &all->points[i];
        int far = fabs((double)p->batch / all->asked_batch - 1) > 1 / 16.;
        if (p->summary.iteration_s > 0)
            CU_ASSERT(all->clusters[0].least_gpu_s < 3600 * p->gpu_hours.value);
        if (!ss_capacity_enough(all, p, 0))
            continue;
        if (!best || far < best_far ||
            (far == best_far && (all->deadline_s > 0 ? p->gpu_hours.value < best->gpu_hours.value
                                                     : p->time_s.value < best->time_s.value))) {
            best = p;
            best_far = far;
        }
    }
    return best;
}

static double fastest_s(const struct ss_capacity *c)
{
    double least = INFINITY;

    for (int i = 0; i < c->npoints; i++)
        if (ss_capacity_holds(&c->points[i]))
            least = fmin(least, c->points[i].time_s.value);
    return least;
}

/* The answer for a range is the best of all its numbers, also where the deadline lies between rows. */
TEST(all_numbers)
{
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
        struct ss_capacity_options o = {
            .tokens = 1e9, .workers = {.n = 1}, .run = &(struct ss_run_options){.unchecked = 1}};
        struct ss_capacity *all = NULL, *c = NULL;

        CU_ASSERT_EQUAL_FATAL(plan_space(&spaces[i], 0, &o, &all), 0);
        double middle = 0, n = 0;
        for (int p = 0; p < all->npoints; p++)
            if (ss_capacity_holds(&all->points[p])) {
                middle += log(all->points[p].time_s.value);
                n++;
            }
        CU_ASSERT(n > 2);
        for (int by = 0; by < 3; by++) {
            all->deadline_s = o.deadline_s = by < 2 ? exp(middle / n) * (by ? 0.8 : 1.1) : 0;
            all->budget_usd = o.budget_usd =
                by == 2 ? 1.02 * all->points[all->clusters[0].cheapest].usd.value : 0;
            CU_ASSERT_EQUAL_FATAL(plan_space(&spaces[i], 1, &o, &c), 0);
            const struct ss_capacity_point *best = best_of(all);
            CU_ASSERT_PTR_NOT_NULL_FATAL(best);
            CU_ASSERT_FATAL(c->clusters[0].chosen >= 0);
            CU_ASSERT_EQUAL(c->points[c->clusters[0].chosen].nodes, best->nodes);
            CU_ASSERT_DOUBLE_EQUAL(c->points[c->clusters[0].chosen].gpu_hours.value, best->gpu_hours.value,
                                   0);
            ss_capacity_free(c);
        }
        o.budget_usd = 0;
        o.deadline_s = 0.9 * fastest_s(all); /* which none keeps: the fastest is told */
        CU_ASSERT_EQUAL_FATAL(plan_space(&spaces[i], 1, &o, &c), 0);
        CU_ASSERT_EQUAL(c->clusters[0].chosen, -1);
        CU_ASSERT_EQUAL(fastest_s(c), fastest_s(all));
        ss_capacity_free(c);
        ss_capacity_free(all);
    }
}

/* Rows of racks: 2 to 16 nodes of an NVL72 are a part of one, 19 to 35 are none; 40 to 200 have 72 and 144. */
TEST(racks)
{
    static const struct {
        const char *nodes;
        int rack, n, first, rows, last_row;
    } of[] = {{"2..4096", 18, 17 + 226, 2, 12, 2304},
              {"40..200", 18, 9, 54, 2, 144},
              {"19..35", 18, 17, 19, 1, 19},
              {"2..64", 1, 63, 2, 6, 64},
              {"7,5", 18, 2, 7, 2, 5}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        char words[64];
        char *argv[8];
        struct ss_capacity_numbers x;
        struct ss_request r;
        struct ss_error err;
        int rows = 0, last = 0;

        snprintf(words, sizeof words, "--nodes %s", of[i].nodes);
        ss_request_init(&r);
        CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(words, argv), argv, &err), 0);
        CU_ASSERT_EQUAL_FATAL(ss_capacity_numbers_read(&r, of[i].rack, &x, &err), 0);
        for (int k = 0; k < x.n; k++)
            if (x.state[k] == SS_CAPACITY_ROW) {
                rows++;
                last = x.nodes[k];
            }
        CU_ASSERT_EQUAL(x.n, of[i].n);
        CU_ASSERT_EQUAL(x.nodes[0], of[i].first);
        CU_ASSERT_EQUAL(rows, of[i].rows);
        CU_ASSERT_EQUAL(last, of[i].last_row);
        ss_capacity_numbers_free(&x);
        ss_request_free(&r);
    }
}

/* 8.03 billion parameters less an embedding of 128,256 x 4,096 multiply: 6 x 7.50e9 x 0.99 FLOP a token at 989.4 TFLOP/s are 4.51e-5 s. */
TEST(hopeless)
{
    struct ss_capacity_options o = {.tokens = 1e12,
                                    .deadline_s = 30 * 86400.,
                                    .layout = SS_CAPACITY_GIVEN,
                                    .run = &(struct ss_run_options){.unchecked = 1}};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..8", &o, &c, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(c->clusters[0].least_gpu_s, 4.51e7, 0.01e7);
    CU_ASSERT_EQUAL(c->clusters[0].hopeless, 2); /* 17.4 GPUs are the least */
    CU_ASSERT_EQUAL(c->clusters[0].numbers, 8);
    CU_ASSERT_EQUAL(c->points[0].nodes, 4);
    ss_capacity_free(c);
    o.deadline_s = 86400; /* none will do: the largest row is planned all the same */
    CU_ASSERT_EQUAL_FATAL(plan(JOB "--use-distributed-optimizer --nodes 1..8", &o, &c, &err), 0);
    CU_ASSERT_EQUAL(c->npoints, 1);
    CU_ASSERT_EQUAL(c->points[0].nodes, 8);
    CU_ASSERT_EQUAL(c->clusters[0].chosen, -1);
    ss_capacity_free(c);
}

/* An amount that is a unit away from what it must mean is refused before anything is predicted. */
TEST(absurd)
{
    struct ss_capacity_options o = {.tokens = 15000, .layout = SS_CAPACITY_GIVEN};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL(plan(JOB "--nodes 1..8", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.hint, "did you mean --tokens 15B or 15T?");
    o.tokens = 1e30;
    CU_ASSERT_EQUAL(plan(JOB "--nodes 1..8", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.hint, "did you mean --tokens 1T?");
    o.tokens = 15e15; /* "15000T" */
    CU_ASSERT_EQUAL(plan(JOB "--nodes 1..8", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.hint, "did you mean --tokens 15T?");
    o.tokens = 1e12;
    o.budget_usd = 50; /* 4.51e7 GPU-seconds cost 80.4 k */
    CU_ASSERT_EQUAL(plan(JOB "--nodes 1..8", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.hint, "did you mean --budget 50M?");
    o.budget_usd = 0;
    o.deadline_s = 30;
    CU_ASSERT_EQUAL(plan(JOB "--nodes 1..8", &o, &c, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.hint, "did you mean --deadline 30d?");
}

/* 70 billion parameters of 18 bytes are no 2 nodes' of 80 GB on tensor ranks alone: full recompute helps nothing, 32 GPUs do. */
TEST(fixes)
{
    struct ss_capacity_options o = {
        .tokens = 1e12, .layout = SS_CAPACITY_GIVEN, .run = &(struct ss_run_options){.unchecked = 1}};
    struct ss_capacity *c = NULL;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(
        plan("--platform h100 --model llama3.1-70b --bf16 --seq 4096 --tp 8 --mbs 1 --gbs 64 --nodes 1,2", &o,
             &c, &err),
        0);
    CU_ASSERT_EQUAL(c->clusters[0].chosen, -1);
    CU_ASSERT_FATAL(c->fixes.n >= 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(c->fixes.text[c->fixes.n - 1], "GPUs are the fewest"));
    ss_capacity_free(c);
    o.layout = SS_CAPACITY_SEARCH; /* whose job has no micro batch of its own */
    CU_ASSERT_EQUAL_FATAL(
        plan("--platform h100 --model llama3.1-70b --bf16 --seq 4096 --cp 1 --gbs 64 --nodes 1", &o, &c,
             &err),
        0);
    CU_ASSERT_FATAL(c->fixes.n == 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(c->fixes.text[0], "16 GPUs are the fewest"));
    CU_ASSERT_PTR_NOT_NULL(strstr(c->clusters[0].premises, "bf16, sequence 4096"));
    ss_capacity_free(c);
    /* on 4 nodes a batch of 8 is less than a sequence a GPU, and all layouts are left out before they are bounded */
    CU_ASSERT_EQUAL_FATAL(
        plan("--platform a100 --model falcon-180b --bf16 --seq 2048 --cp 1 --gbs 8 --nodes 1..4", &o, &c,
             &err),
        0);
    CU_ASSERT_FATAL(c->fixes.n == 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(c->fixes.text[0], "64 GPUs are the fewest"));
    ss_capacity_free(c);
}

/* Two platforms in one plan have what each has alone. */
TEST(platforms)
{
    static const char job[] =
        "--model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --gbs 64 "
        "--use-distributed-optimizer --nodes 1..4 ";
    struct ss_sweep *vary = calloc(1, sizeof *vary);
    struct ss_capacity_options o = {.tokens = 1e11,
                                    .deadline_s = 40 * 86400.,
                                    .budget_usd = 1e6,
                                    .layout = SS_CAPACITY_GIVEN,
                                    .run = &(struct ss_run_options){.unchecked = 1}};
    struct ss_capacity *both = NULL, *one_of = NULL;
    struct ss_error err;
    char words[256];
    int at = 0;

    CU_ASSERT_EQUAL_FATAL(ss_sweep_vary(vary, "platform=h100,h20", &err), 0);
    o.vary = vary;
    snprintf(words, sizeof words, "%s --platform h800", job);
    CU_ASSERT_EQUAL_FATAL(plan(words, &o, &both, &err), 0);
    CU_ASSERT_FATAL(both->warnings.n > 0); /* h800 is nowhere, and that is told */
    CU_ASSERT_STRING_EQUAL(both->warnings.text[both->warnings.n - 1],
                           "--platform h800: the values of --vary platform take its place");
    ss_capacity_free(both);
    CU_ASSERT_EQUAL_FATAL(plan(job, &o, &both, &err), 0);
    CU_ASSERT_EQUAL_FATAL(both->nclusters, 2);
    o.vary = NULL;
    for (int k = 0; k < 2; k++) {
        snprintf(words, sizeof words, "%s --platform %s", job, k ? "h20" : "h100");
        CU_ASSERT_EQUAL_FATAL(plan(words, &o, &one_of, &err), 0);
        for (int i = 0; i < one_of->npoints; i++, at++) {
            CU_ASSERT_FATAL(at < both->npoints);
            CU_ASSERT_EQUAL(both->points[at].cluster, k);
            CU_ASSERT_EQUAL(both->points[at].nodes, one_of->points[i].nodes);
            CU_ASSERT_EQUAL(both->points[at].gpu_hours.value, one_of->points[i].gpu_hours.value);
        }
        CU_ASSERT_EQUAL(both->points[both->clusters[k].chosen].nodes,
                        one_of->points[one_of->clusters[0].chosen].nodes);
        ss_capacity_free(one_of);
    }
    CU_ASSERT_EQUAL(at, both->npoints);
    ss_capacity_free(both);
    free(vary);
}
