/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations inside one process: what a sweep pays for each, and how cost grows with the job.
 * bench_sweep sweep LIST [N]   every configuration of the list (the first N): words to result and memory check. What was read and built is
 *                              kept for the next one, and digits are checked, both as `stepsim sweep` does
 * bench_sweep scaling [--quick]   64 to 16,384 GPUs and 8 to 1024 microbatches, every microbatch replayed; 512 to
 *                                 65,536 GPUs of a larger model
 * Prints Markdown.
 */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "stepsim/stepsim.h"

#define MAX_WORDS 128

static int read_line(char *line, const struct ss_scenario *like, struct ss_scenario **out,
                     struct ss_error *err)
{
    const struct ss_scenario_options how = {.like = like};
    char *words[MAX_WORDS], *rest;
    struct ss_request r;
    int n = 0, rc;
    for (char *w = strtok_r(line, " \n", &rest); w && n < MAX_WORDS; w = strtok_r(NULL, " \n", &rest))
        words[n++] = w;
    ss_request_init(&r);
    rc = ss_request_read(&r, n, words, err);
    if (!rc)
        rc = ss_scenario_build(&r, &how, out, err);
    ss_request_free(&r);
    return rc;
}

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static int fail(const struct ss_error *err, const char *line)
{
    char text[1600];
    fprintf(stderr, "%s\n  %s\n", ss_error_format(err, text, sizeof text), line);
    return 1;
}

static int sweep(const char *list, int most)
{
    double *ms = calloc((size_t)most, sizeof *ms), total = 0;
    int n = 0, fits = 0, failed = 0;
    char line[2048], copy[2048];
    FILE *in = fopen(list, "r");
    struct ss_scenario *like = NULL;
    struct ss_cache *cache = NULL;
    if (ss_cache_open(&cache, NULL))
        return 1;
    while (in && ms && n < most && fgets(line, sizeof line, in)) {
        const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE, .cache = cache};
        struct ss_error err = {0};
        struct ss_scenario *made = NULL;
        struct ss_run run = {0};
        memcpy(copy, line, sizeof copy);
        double start = cpu_now();
        int rc = read_line(line, like, &made, &err);
        if (!rc)
            rc = ss_run_scenario(made, &options, &run, &err);
        if (!rc)
            fits += run.result->fits;
        ss_run_free(&run);
        if (made && !like)
            like = made;
        else
            ss_scenario_free(made);
        if (rc)
            failed |= fail(&err, copy);
        else
            total += ms[n++] = 1e3 * (cpu_now() - start);
    }
    if (in)
        fclose(in);
    ss_cache_close(cache);
    ss_scenario_free(like);
    if (!n)
        return 1;
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    printf("| configurations | fit | median ms | mean ms | 95 %% below ms | slowest ms | a second "
           "|\n|---|---|---|---|---|---|---|\n");
    printf("| %d | %d | %.2f | %.2f | %.2f | %.1f | %.0f |\n", n, fits, ms[n / 2], total / n,
           ms[n * 95 / 100], ms[n - 1], 1e3 * n / total);
    free(ms);
    return failed;
}

struct point {
    double gpus, events, seconds;
};

/* 70B on tp 8 x pp 8, or 405B on tp 8 x pp 16, and data-parallel replicas. */
static int measure(int large, int gpus, int microbatches, int unfold, struct point *out)
{
    static const char *const jobs[] = {
        "--platform h800 --model llama3.1-70b --pp 8 --seq 4096",
        "--platform h200 --model llama3.1-405b --pp 16 --seq 8192 --tp-comm-overlap "
        "--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7"};
    char line[512];
    struct ss_scenario *made = NULL;
    struct ss_error err = {0};
    struct ss_run run = {0};
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE, .full_replay = 1};
    options.plan.unfold = unfold;
    snprintf(line, sizeof line,
             "%s --nodes %d --bf16 --tp 8 --mbs 1 --gbs %d --sequence-parallel --use-distributed-optimizer "
             "--overlap-grad-reduce --overlap-param-gather",
             jobs[large], gpus / 8, microbatches * (gpus / (large ? 128 : 64)));
    int rc = read_line(line, NULL, &made, &err);
    double start = cpu_now();
    if (!rc)
        rc = ss_run_scenario(made, &options, &run, &err);
    if (!rc)
        *out = (struct point){gpus, (double)run.result->events, cpu_now() - start};
    ss_run_free(&run);
    ss_scenario_free(made);
    return rc ? fail(&err, line) : 0;
}

/* Slope of log(seconds) over log(events). */
static double exponent(const struct point *p, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        double x = log(p[i].events), y = log(p[i].seconds);
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static int scaling(int quick)
{
    static const int gpus[] = {64, 256, 1024, 4096, 16384}, microbatches[] = {8, 32, 128, 1024};
    struct point points[64];
    int failed = 0;
    for (int unfold = 1; unfold >= 0; unfold--) {
        int n = 0;
        printf("\n| %s: GPUs | microbatches | events | CPU ms | ns an event |\n|---|---|---|---|---|\n",
               unfold ? "every rank" : "folded");
        for (int g = 0; g < (quick ? 2 : 5); g++)
            for (int m = 0; m < (quick ? 2 : 4); m++) {
                if (unfold && (double)gpus[g] * microbatches[m] > 4e6)
                    continue;
                if (measure(0, gpus[g], microbatches[m], unfold, &points[n])) {
                    failed = 1;
                    continue;
                }
                printf("| %d | %d | %.0f | %.1f | %.0f |\n", gpus[g], microbatches[m], points[n].events,
                       1e3 * points[n].seconds, 1e9 * points[n].seconds / points[n].events);
                n++;
            }
        if (unfold && n > 1)
            printf("\nCPU time grows with the %.2f-th power of the events.\n", exponent(points, n));
    }
    return failed;
}

/* Every rank of 405B, 32 microbatches. */
static int series(int quick)
{
    struct point points[16];
    int n = 0, failed = 0;
    printf("\n| every rank, 405B: GPUs | microbatches | events | CPU ms | ns an event "
           "|\n|---|---|---|---|---|\n");
    for (int gpus = 512; gpus <= (quick ? 1024 : 65536); gpus *= 2) {
        if (measure(1, gpus, 32, 1, &points[n])) {
            failed = 1;
            continue;
        }
        printf("| %d | 32 | %.0f | %.1f | %.0f |\n", gpus, points[n].events, 1e3 * points[n].seconds,
               1e9 * points[n].seconds / points[n].events);
        n++;
    }
    if (n > 1)
        printf("\nCPU time grows with the %.2f-th power of the events.\n", exponent(points, n));
    return failed;
}

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* as in stepsim's own main */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    if (argc > 2 && !strcmp(argv[1], "sweep"))
        return sweep(argv[2], argc > 3 ? atoi(argv[3]) : 1 << 20);
    if (argc > 1 && !strcmp(argv[1], "scaling"))
        return scaling(argc > 2 && !strcmp(argv[2], "--quick")) |
               series(argc > 2 && !strcmp(argv[2], "--quick"));
    fprintf(stderr, "usage: bench_sweep sweep LIST [N] | scaling [--quick]\n");
    return 2;
}
