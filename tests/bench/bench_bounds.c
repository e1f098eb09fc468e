/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How near the bounds of a search are to what it predicts, by kind of layout, and how many layouts it replays for what it shows.
 * bench_bounds [--effort] [FIRST [LAST]]      searches FIRST to LAST of the list, of all layouts and then with bounds
 * Prints Markdown: bound over prediction by kind of layout, then what each search replays; --effort: that alone, without searches of all
 * layouts. Exit status 1: a bound is above its prediction.
 */
#include <stdlib.h>
#include <string.h>

#include "stepsim/stepsim.h"

#define MAX_WORDS 64

static const struct {
    const char *name, *job, *varied;
} searches[] = {
    {"dense 8B, 2 h100", "--platform h100 --model llama3.1-8b --bf16 --seq 8192 --gbs 32 --nodes 2",
     "mbs=1,2,4"},
    {"dense 1B, 2 h100", "--platform h100 --model llama3.2-1b --bf16 --seq 4096 --gbs 128 --nodes 2",
     "mbs=1,2,4"},
    {"dense 70B, 8 h800", "--platform h800 --model llama3.1-70b --bf16 --seq 8192 --gbs 256 --nodes 8 --cp 1",
     "mbs=1,2"},
    {"dense 22B, 4 a100", "--platform a100 --model gpt3-22b --bf16 --seq 2048 --gbs 64 --nodes 4 --cp 1",
     "mbs=1,2,4,8"},
    {"dense 32B, 4 h20", "--platform h20 --model qwen2.5-32b --bf16 --seq 4096 --gbs 128 --nodes 4 --cp 1",
     "mbs=1,2,4"},
    {"dense 70B, 8 gb200",
     "--platform gb200 --model llama3.1-70b --bf16 --seq 8192 --gbs 128 --nodes 8 --cp 1", "mbs=1,2"},
    {"moe 30B, 2 h800", "--platform h800 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 128 --nodes 2 --cp 1",
     "mbs=1,2,4"},
    {"moe 235B, 16 gb200",
     "--platform gb200 --model qwen3-235b-a22b --bf16 --seq 4096 --gbs 512 --nodes 16 --cp 1",
     "mbs=1,2 ep=8,16,32,64"},
    {"moe 47B, 4 h100", "--platform h100 --model mixtral-8x7b --bf16 --seq 4096 --gbs 128 --nodes 4 --cp 1",
     "mbs=1,2"},
    {"hybrid 80B, 8 h100",
     "--platform h100 --model qwen3-next-80b-a3b --bf16 --seq 4096 --gbs 256 --nodes 8 --cp 1",
     "mbs=1,2 ep=8,16,32,64"},
    {"hybrid 8B, 2 h20", "--platform h20 --model nemotron-h-8b --bf16 --seq 8192 --gbs 64 --nodes 2 --cp 1",
     "mbs=1,2"},
    {"hybrid 30B, 4 gb200",
     "--platform gb200 --model nemotron-3-nano-30b-a3b --bf16 --seq 8192 --gbs 128 --nodes 4 --cp 1",
     "mbs=1,2"},
};
#define NSEARCHES (sizeof searches / sizeof *searches)

/* Kinds of layouts; one layout may be of several. */
enum { ALL, SHOWN, ALONE, ORDERED, INTERLEAVED, SHARDED, TENSOR, CONTEXT, EXPERTS, RECOMPUTED, KINDS };
static const char *const kinds[KINDS] = {"all",  "shown",         "no pipeline", "1F1B", "interleaved",
                                         "FSDP", "tp 4 and more", "cp",          "ep",   "block"};

static int is_kind(const struct ss_find_point *p, int kind)
{
    switch (kind) {
    case SHOWN: return p->front || p->like_best;
    case ALONE: return p->pp == 1;
    case ORDERED: return p->pp > 1 && p->chunks == 1;
    case INTERLEAVED: return p->chunks > 1;
    case SHARDED: return p->fsdp;
    case TENSOR: return p->tp >= 4;
    case CONTEXT: return p->cp > 1;
    case EXPERTS: return p->ep > 1;
    case RECOMPUTED: return p->recompute_layers > 0;
    default: return 1;
    }
}

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

struct ratios {
    double *of[2]; /* of the time, and of the memory */
    size_t n;
};

/* What one search replays. */
struct effort {
    int layouts, shown;
    long long replays;
};

static void add(struct ratios *to, const struct ss_find_point *p)
{
    const double ratio[2] = {p->least_s / p->summary.iteration_s, p->least_bytes / p->summary.peak_device};
    for (int i = 0; i < 2; i++) {
        to->of[i] = realloc(to->of[i], (to->n + 1) * sizeof *to->of[i]);
        if (!to->of[i])
            abort();
        to->of[i][to->n] = ratio[i];
    }
    to->n++;
}

static void print_ratios(const char *search, const char *kind, struct ratios *r)
{
    if (r->n)
        printf("| %s | %s | %zu |", search, kind, r->n);
    for (int i = 0; i < 2 && r->n; i++) {
        qsort(r->of[i], r->n, sizeof *r->of[i], by_value);
        printf(" %.3f | %.3f | %.3f |%s", r->of[i][0], r->of[i][r->n / 20], r->of[i][r->n / 2],
               i ? "\n" : "");
    }
    free(r->of[0]);
    free(r->of[1]);
}

static int fail(const struct ss_error *err)
{
    char text[1600];
    fprintf(stderr, "bench_bounds: %s\n", ss_error_format(err, text, sizeof text));
    return 1;
}

static int search(const char *job, const char *varied, int exhaustive, struct ss_find_result **out)
{
    struct ss_find_options o = {.exhaustive = 2 * exhaustive, .workers = {.n = 2}};
    char text[2048], *words[MAX_WORDS], *rest;
    struct ss_error err = {0};
    struct ss_request r;
    struct ss_sweep vary = {0};
    int n = 0, rc;
    snprintf(text, sizeof text, "%s", job);
    for (char *w = strtok_r(text, " ", &rest); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    ss_request_init(&r);
    rc = ss_request_read(&r, n, words, &err);
    char more[512];
    snprintf(more, sizeof more, "%s", varied);
    for (char *w = strtok_r(more, " ", &rest); w && !rc; w = strtok_r(NULL, " ", &rest))
        rc = ss_sweep_vary(&vary, w, &err);
    o.vary = &vary;
    if (!rc)
        rc = ss_find_run(&r, &o, out, &err);
    ss_request_free(&r);
    return rc ? fail(&err) : 0;
}

/* What the search with bounds replays for what it shows. */
static int measure_effort(size_t i, struct effort *effort)
{
    struct ss_find_result *some;
    if (search(searches[i].job, searches[i].varied, 0, &some))
        return 1;
    *effort = (struct effort){.replays = (long long)some->replays};
    for (int g = 0; g < some->ngroups; g++)
        effort->layouts += some->groups[g].layouts - some->groups[g].refused;
    for (int k = 0; k < some->npoints; k++)
        effort->shown += is_kind(&some->points[k], SHOWN) || k == some->groups[some->points[k].group].best;
    ss_find_free(some);
    return 0;
}

/* Bounds of all layouts over what is predicted of them. */
static int measure_bounds(size_t i, struct ratios sums[KINDS])
{
    struct ss_find_result *all;
    struct ratios of[KINDS];
    int failed = 0;
    memset(of, 0, sizeof of);
    if (search(searches[i].job, searches[i].varied, 1, &all))
        return 1;
    for (int k = 0; k < all->npoints; k++) {
        const struct ss_find_point *p = &all->points[k];
        for (int kind = 0; kind < KINDS; kind++)
            if (is_kind(p, kind)) {
                add(&of[kind], p);
                add(&sums[kind], p);
            }
        failed |= p->least_s > p->summary.iteration_s || p->least_bytes > p->summary.peak_device;
    }
    for (int kind = 0; kind < KINDS; kind++)
        print_ratios(searches[i].name, kinds[kind], &of[kind]);
    fflush(stdout);
    ss_find_free(all);
    return failed;
}

int main(int argc, char **argv)
{
    struct ratios sums[KINDS];
    struct effort efforts[NSEARCHES];
    const int alone = argc > 1 && !strcmp(argv[1], "--effort");
    argc -= alone;
    argv += alone;
    size_t first = argc > 1 ? (size_t)atoi(argv[1]) : 0,
           last = argc > 2 ? (size_t)atoi(argv[2]) : NSEARCHES - 1;
    int failed = 0;
    memset(sums, 0, sizeof sums);
    memset(efforts, 0, sizeof efforts);
    if (!alone)
        printf(
            "| search | layouts | number | time: least | 5 %% below | median | memory: least | 5 %% below | "
            "median |\n"
            "|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = first; i <= last && i < NSEARCHES; i++) {
        failed |= !alone && measure_bounds(i, sums);
        failed |= measure_effort(i, &efforts[i]);
    }
    for (int kind = 0; kind < KINDS; kind++)
        print_ratios("together", kinds[kind], &sums[kind]);
    printf("%s| search | legal layouts | replayed | shown: best, front, too close to call | ratio "
           "|\n|---|---|---|---|---|\n",
           alone ? "" : "\n");
    for (size_t i = first; i <= last && i < NSEARCHES; i++)
        if (efforts[i].shown)
            printf("| %s | %d | %lld | %d | %.2f |\n", searches[i].name, efforts[i].layouts,
                   efforts[i].replays, efforts[i].shown, (double)efforts[i].replays / efforts[i].shown);
    return failed;
}
