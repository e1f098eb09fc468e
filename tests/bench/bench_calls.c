/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one answer costs: of the page of `stepsim serve`, without HTTP, and of the library as Python calls it.
 * bench_calls page|library LIST STEP N   N jobs of the list, each STEP-th, no two alike; the first, which reads all files, is not counted
 * Prints a row of Markdown; tests/instructions.py counts the instructions of one more job by two of these runs.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "stepsim/stepsim.h"

#define MAX_WORDS 128

/* Asks the page. Returns the bytes of the answer; 0: it is an error. */
static size_t ask_page(const struct ss_serve *page, const char *line)
{
    const struct ss_serve_argument job = {"job", line};
    struct ss_serve_reply reply;
    int rc = ss_serve_answer(page, "/run.json", &job, 1, &reply);

    free(reply.body);
    return rc || reply.status != 200 ? 0 : reply.size;
}

static size_t ask_library(struct ss_asker *asker, char *line)
{
    const char *words[MAX_WORDS] = {"run"};
    char *rest = NULL, *json = NULL;
    size_t size = 0;
    int n = 1;

    for (char *w = strtok_r(line, " ", &rest); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    int status = ss_asker_ask(asker, n, words, NULL, NULL, &json, &size);
    ss_ask_free(json);
    return status > 1 ? 0 : size;
}

static int by_value(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static int ask_all(const struct ss_serve *page, struct ss_asker *asker, FILE *in, int step, int most)
{
    double *ms = calloc((size_t)most, sizeof *ms), total = 0, bytes = 0;
    char line[2048], copy[2048];
    int n = 0, bad = !ms;

    for (int i = 0; !bad && n < most && fgets(line, sizeof line, in); i++) {
        if (i % step)
            continue;
        line[strcspn(line, "\n")] = '\0';
        memcpy(copy, line, sizeof copy);
        double start = cpu_now();
        size_t size = page ? ask_page(page, copy) : ask_library(asker, copy);
        bad = !size;
        double took = 1e3 * (cpu_now() - start);
        total += n ? took : 0;
        ms[n++] = took;
        bytes += (double)size;
    }
    if (bad || n < 2) {
        fprintf(stderr, "bench_calls: %s\n", bad ? line : "no two jobs");
        free(ms);
        return 1;
    }
    double first = ms[0];
    qsort(ms + 1, (size_t)n - 1, sizeof *ms, by_value);
    printf("| %s | %d | %.1f | %.2f | %.2f | %.1f | %.1f |\n", page ? "page" : "library", n - 1, first,
           ms[1 + (n - 1) / 2], total / (n - 1), ms[1 + (n - 1) * 99 / 100], bytes / n / 1e3);
    free(ms);
    return 0;
}

int main(int argc, char **argv)
{
    struct ss_serve *page = NULL;
    struct ss_asker *asker = NULL;
    FILE *in = argc == 5 ? fopen(argv[2], "r") : NULL;

    if (!in || atoi(argv[3]) < 1 || atoi(argv[4]) < 2) {
        fprintf(stderr, "usage: bench_calls page|library LIST STEP N\n");
        return 2;
    }
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* as in stepsim's own main */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    int bad = !strcmp(argv[1], "page") ? ss_serve_new(NULL, &page, NULL) : !(asker = ss_asker_new());
    bad = bad || ask_all(page, asker, in, atoi(argv[3]), atoi(argv[4]));
    ss_asker_free(asker);
    ss_serve_free(page);
    fclose(in);
    return bad;
}
