/* SPDX-License-Identifier: Apache-2.0 */
/* Traces keep the rules of the Trace Event Format, their spans nest, and they sum to the breakdown. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "job_helper.h"
#include "pictures_fixture.h"
#include "stepsim/replay.h"
#include "suite.h"

struct span {
    long long tid, start, end; /* ps */
};

static double number(json_t *e, const char *key)
{
    json_t *value = json_object_get(e, key);

    CU_ASSERT(json_is_number(value));
    return json_number_value(value);
}

static long long ps(double us)
{
    return llround(us * 1e6);
}

static int has(json_t *e, const char *key, int (*is)(json_t *))
{
    json_t *value = json_object_get(e, key);

    if (!value || !is(value)) {
        char *text = json_dumps(e, 0);
        fprintf(stderr, "no good \"%s\" in %s\n", key, text);
        free(text);
    }
    return value && is(value);
}

static int is_string(json_t *v)
{
    return json_is_string(v);
}
static int is_number(json_t *v)
{
    return json_is_number(v) && isfinite(json_number_value(v)) && json_number_value(v) >= 0;
}
static int is_integer(json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0;
}
static int is_object(json_t *v)
{
    return json_is_object(v);
}

/* Fields that each kind of event must have. */
static void check_event(json_t *e)
{
    CU_ASSERT_FATAL(has(e, "ph", is_string));
    char kind = json_string_value(json_object_get(e, "ph"))[0];

    CU_ASSERT_PTR_NOT_NULL_FATAL(strchr("XCMsf", kind));
    CU_ASSERT_FATAL(has(e, "pid", is_integer) && has(e, "name", is_string));
    if (kind != 'M')
        CU_ASSERT(has(e, "ts", is_number));
    if (kind == 'X')
        CU_ASSERT(has(e, "tid", is_integer) && has(e, "dur", is_number) && has(e, "cat", is_string));
    if (kind == 'M')
        CU_ASSERT(has(e, "args", is_object));
    if (kind == 's' || kind == 'f')
        CU_ASSERT(has(e, "id", is_integer) && has(e, "tid", is_integer) && has(e, "cat", is_string));
    if (kind == 'f')
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(e, "bp")), "e");
    if (kind == 'C') {
        const char *key;
        json_t *value;
        CU_ASSERT_FATAL(has(e, "args", is_object));
        json_object_foreach(json_object_get(e, "args"), key, value) CU_ASSERT(is_number(value));
    }
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end; /* the outer one first */
}

/* On one thread two spans are apart or one is inside the other. */
static void check_nesting(struct span *spans, size_t n)
{
    long long open[64];
    int depth = 0;

    qsort(spans, n, sizeof *spans, compare_spans);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || spans[i].tid != spans[i - 1].tid)
            depth = 0;
        while (depth > 0 && open[depth - 1] <= spans[i].start)
            depth--;
        if (depth > 0 && spans[i].end > open[depth - 1]) {
            fprintf(stderr, "thread %lld: %lld..%lld crosses the end at %lld\n", spans[i].tid, spans[i].start,
                    spans[i].end, open[depth - 1]);
            CU_FAIL("spans cross");
        }
        CU_ASSERT_FATAL(depth < 64);
        open[depth++] = spans[i].end;
    }
}

static int inside_a_span(const struct span *spans, size_t n, long long tid, long long at)
{
    for (size_t i = 0; i < n; i++)
        if (spans[i].tid == tid && spans[i].start <= at && at <= spans[i].end)
            return 1;
    return 0;
}

/* Leaves of the compute thread by label, s. */
static void add_sums(json_t *e, double (*sum)[SS_LABEL_COUNT])
{
    json_t *us = json_object_get(json_object_get(e, "args"), "us");
    double parts = 0;

    if (!us)
        return;
    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        json_t *part = json_object_get(us, ss_label_name(l));
        sum[(int)number(e, "pid") - 1][l] += 1e-6 * json_number_value(part);
        parts += json_number_value(part);
    }
    CU_ASSERT_DOUBLE_EQUAL(parts, number(e, "dur"), 1e-5);
}

struct trace {
    json_t *root, *events;
    struct span *spans;
    size_t n;
    double (*sum)[SS_LABEL_COUNT];
    int starts, ends;
};

static struct trace load(const struct drawn *d)
{
    json_error_t why;
    struct trace t = {.root = json_loads(d->trace, 0, &why)};
    json_t *e;
    size_t i;

    if (!t.root)
        fprintf(stderr, "line %d: %s\n", why.line, why.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.root);
    t.events = json_object_get(t.root, "traceEvents");
    CU_ASSERT_FATAL(json_is_array(t.events));
    t.spans = calloc(json_array_size(t.events) + 1, sizeof *t.spans);
    t.sum = calloc((size_t)d->timeline->nclasses, sizeof *t.sum);
    json_array_foreach(t.events, i, e)
    {
        check_event(e);
        const char *kind = json_string_value(json_object_get(e, "ph"));
        t.starts += kind[0] == 's';
        t.ends += kind[0] == 'f';
        if (kind[0] != 'X')
            continue;
        long long start = ps(number(e, "ts"));
        t.spans[t.n++] = (struct span){(long long)number(e, "tid"), start, start + ps(number(e, "dur"))};
        add_sums(e, t.sum);
    }
    return t;
}

static void unload(struct trace *t)
{
    json_decref(t->root);
    free(t->spans);
    free(t->sum);
}

static void check_arrows(const struct trace *t)
{
    json_t *e;
    size_t i;

    CU_ASSERT_EQUAL(t->starts, t->ends);
    json_array_foreach(t->events, i, e)
    {
        char kind = json_string_value(json_object_get(e, "ph"))[0];
        if (kind == 's' || kind == 'f')
            CU_ASSERT(inside_a_span(t->spans, t->n, (long long)number(e, "tid"), ps(number(e, "ts"))));
    }
}

static void check_trace(const struct ss_program *p, int engine)
{
    struct drawn d = draw(p, engine, (struct ss_picture_request){0}, 1);
    struct trace t = load(&d);

    check_nesting(t.spans, t.n);
    check_arrows(&t);
    for (int c = 0; c < d.timeline->nclasses; c++) {
        double whole = 0;
        for (int l = 0; l < SS_LABEL_COUNT; l++) {
            CU_ASSERT_DOUBLE_EQUAL(t.sum[c][l], d.timeline->spent[c][l], 1e-6 * d.timeline->iteration_s);
            whole += t.sum[c][l];
        }
        CU_ASSERT_DOUBLE_EQUAL(whole, d.timeline->iteration_s, 1e-6 * d.timeline->iteration_s);
    }
    unload(&t);
    drop(&d);
}

TEST(two_ranks)
{
    struct ss_program *p = example();

    check_trace(p, SS_ENGINE_NATIVE);
    check_trace(p, SS_ENGINE_SIMGRID);
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 1);
    struct trace t = load(&d);
    CU_ASSERT_EQUAL(t.starts, 4); /* two microbatches, there and back */
    unload(&t);
    drop(&d);
    ss_program_free(p);
}

/* Runs a job with these words more; the caller frees both. */
static void run_job(const char *words, int level, struct ss_scenario **scenario, struct ss_run *run)
{
    static char text[512]; /* the scenario has its words */
    const struct ss_run_options options = {.plan = {.level = level}};
    char *argv[JOB_MAX_ARGS];
    struct ss_error err = {0};

    snprintf(text, sizeof text,
             "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 4096 --mbs 1 --gbs 32 "
             "--use-distributed-optimizer --sequence-parallel %s",
             words);
    CU_ASSERT_EQUAL_FATAL(make_scenario(split(text, argv), argv, scenario, &err), 0);
    if (ss_run_scenario(*scenario, &options, run, &err))
        fprintf(stderr, "%s: %s\n", words, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(run->program);
}

/* The trace of a job with these words more. */
static void check_job(const char *words)
{
    struct ss_scenario *scenario = NULL;
    struct ss_run run;

    run_job(words, SS_LEVEL_CHUNK, &scenario, &run);
    check_trace(run.program, SS_ENGINE_NATIVE);
    check_trace(run.program, SS_ENGINE_SIMGRID);
    ss_run_free(&run);
    ss_scenario_free(scenario);
}

/* Interleaved, with data-parallel buckets in the background. */
TEST(job)
{
    check_job("--num-layers-per-virtual-pipeline-stage 4 --overlap-grad-reduce --overlap-param-gather");
}

TEST(every_schedule)
{
    static const char *const names[] = {"1f1b",  "gpipe", "eager-1f1b", "zb-h1",
                                        "zb-h2", "zb-v",  "dualpipe",   "dualpipev"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char words[64];
        snprintf(words, sizeof words, "--schedule %s", names[i]);
        check_job(words);
    }
}

/* Seconds of a class's kernels by kind: the rows behind its streams. */
static void add_kernels(const struct trace *t, int cls, double *part)
{
    json_t *e;
    size_t i;

    json_array_foreach(t->events, i, e)
    {
        const char *category = json_string_value(json_object_get(e, "cat"));
        if (category && !strcmp(category, "kernel") && number(e, "pid") == cls + 1)
            part[(int)number(e, "tid") % 1000 - 900] += 1e-6 * number(e, "dur");
    }
}

/* At layer level the rows of kernels sum to the labels that kernels have, and, where nothing runs beside them, kind by kind to what
 * the answer has of the stage. */
static void check_kernels(const char *words, int alone)
{
    struct ss_scenario *scenario = NULL;
    struct ss_compute *compute = NULL;
    struct ss_run run;

    run_job(words, SS_LEVEL_LAYER, &scenario, &run);
    struct drawn d = draw(run.program, SS_ENGINE_NATIVE, (struct ss_picture_request){.run = &run}, 1);
    struct trace t = load(&d);
    CU_ASSERT_EQUAL_FATAL(ss_compute_open(&run, NULL, &compute, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(d.timeline->nclasses, compute->nstages);
    check_nesting(t.spans, t.n);
    for (int c = 0; c < d.timeline->nclasses; c++) {
        double part[SS_PARTS] = {0}, all = 0, *spent = d.timeline->spent[c];
        const struct ss_compute_stage *stage = &compute->stages[run.program->classes[c].stage];
        add_kernels(&t, c, part);
        for (int i = 0; i < SS_PARTS; i++) {
            double sum = stage->compute[i] + stage->recompute[i];
            all += part[i];
            CU_ASSERT(!alone || fabs(part[i] - sum) <= 1e-6 * d.timeline->iteration_s);
        }
        CU_ASSERT_DOUBLE_EQUAL(all, spent[SS_LABEL_COMPUTE] + spent[SS_LABEL_RECOMPUTE],
                               1e-6 * d.timeline->iteration_s);
    }
    ss_compute_free(compute);
    unload(&t);
    drop(&d);
    ss_run_free(&run);
    ss_scenario_free(scenario);
}

static bool every; /* kind of job, not two of them */

#define ALONE "--spread 0 --set ss.tp.async_backward=0 " /* no collective holds SMs beside a GEMM */
TEST(kernels)
{
    check_kernels(
        "--spread 0 --num-layers-per-virtual-pipeline-stage 4 --overlap-grad-reduce --overlap-param-gather",
        0);
    check_kernels(ALONE "--schedule zb-h1", 1);
    if (!every)
        return;
    check_kernels(ALONE "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
                  1);
    check_kernels(ALONE "--schedule dualpipe", 1);
}

/* A slot of several computations is a slice around theirs; the counter ends where it began. */
TEST(parts_of_a_slot)
{
    static const char text[] =
        "program parts\nclass a {\nmemory weights 1MiB\nslot x F 0 0 {\nalloc activations 2MiB\n"
        "compute 1ms\ncompute 2ms tp\nfree activations 2MiB\n}\nslot y B 0 0 {\ncompute 3ms\n}\n}\n";
    struct ss_program *p = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_program_parse(text, sizeof text - 1, "x", &p, &err), 0);
    check_trace(p, SS_ENGINE_NATIVE);
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":0,\"dur\":3000,\"name\":\"F 0\",\"cat\":\"slot\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":1000,\"dur\":2000,\"name\":\"tp\",\"cat\":\"run\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":3000,\"dur\":3000,\"name\":\"B 0\",\"cat\":\"run\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":0,\"name\":\"memory: activations\",\"args\":{\"MiB\":2}"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(d.trace, "\"ts\":3000,\"name\":\"memory: activations\",\"args\":{\"MiB\":0}"));
    drop(&d);
    ss_program_free(p);
}

/* More picoseconds than 64 bits hold, all of them exact in a double. */
TEST(long)
{
    static const char text[] =
        "program long\nclass a {\nmemory weights 1MiB\nslot x F 0 0 {\ncompute 16777216s\n}\n"
        "slot y B 0 0 {\ncompute 512s\n}\n}\n";
    struct ss_program *p = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_program_parse(text, sizeof text - 1, "x", &p, &err), 0);
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);
    struct trace t = load(&d);
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":0,\"dur\":16777216000000,\"name\":\"F 0\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":16777216000000,\"dur\":512000000,\"name\":\"B 0\""));
    unload(&t);
    drop(&d);
    ss_program_free(p);
}

/* 5 MB over 1 GB/s: 5 ms at full load, behind 1 ms of latency, within a bin of 126 ms / 1500. */
TEST(link_load)
{
    struct ss_program *p = example();
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 1);
    struct trace t = load(&d);
    double area = 0, last = 0, level = 0;
    json_t *e;
    size_t i;

    json_array_foreach(t.events, i, e)
    {
        if (json_string_value(json_object_get(e, "ph"))[0] != 'C' ||
            strcmp(json_string_value(json_object_get(e, "name")), "cable.up") != 0)
            continue;
        area += level / 100 * (number(e, "ts") - last);
        last = number(e, "ts");
        level = json_number_value(json_object_get(json_object_get(e, "args"), "percent"));
    }
    CU_ASSERT_EQUAL(level, 0);
    CU_ASSERT_DOUBLE_EQUAL(area, 14000, 14); /* us: two messages of 5 MB and 4 MB of the reduction */
    unload(&t);
    drop(&d);
    ss_program_free(p);
}

SUITE(trace)
{
    ss_simgrid_load(NULL); /* once for all replays */
    every = suite_stride(argc, argv, 2) == 1;
    return suite_file(argv[0], NULL, NULL);
}
