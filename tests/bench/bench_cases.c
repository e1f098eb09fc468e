/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times whole runs of the program, from parsing to result.
 * bench_cases STEPSIM SOURCE_ROOT [--repeats N] [--quick] [--instructions] [--only TEXT] [--against PROGRAM]
 * Prints a table in Markdown, processor time first, for other programs of the machine change the wall time more; --against runs an earlier
 * program in turn with this one; --only: cases with this in their names.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define MAX_WORDS 16
#define NAME_WIDTH 64
#define MOST_BEFORE 60   /* s of CPU that a case may take an earlier program */
#define MOST_CPU 10      /* s of CPU after which a case is not repeated */
#define MOST_COUNTED 1e7 /* events of a case whose instructions are counted: callgrind takes minutes beyond */
#define MOST_SECONDS 1   /* and s of its CPU: replicas of jitter are not counted as events */

static const struct {
    const char *name, *job, *options;
    int engines;      /* 1 native, 2 simgrid */
    int slow;         /* left out by --quick */
    double target[2]; /* s of CPU: native, simgrid; 0: none */
} cases[] = {
    {"70b-14, chunk, every microbatch", "70b-14", "--full-replay", 3, 0, {0.030, 0.5}},
    {"70b-14, chunk, steady state jumped", "70b-14", "", 1, 0, {0.008, 0}},
    {"70b-14, layer, every microbatch", "70b-14", "--level layer --full-replay", 3, 1, {0.120, 2.0}},
    {"70b-14, layer, steady state jumped", "70b-14", "--level layer", 1, 0, {0, 0}},
    {"70b-14, 64 ranks unfolded, flow, every microbatch",
     "70b-14",
     "--level flow --unfold --full-replay",
     3,
     1,
     {2.5, 25}},
    {"405b-16k, 16,384 GPUs folded, chunk", "405b-16k", "", 3, 0, {0.030, 1}},
    {"405b-16k, 16,384 ranks unfolded, chunk, every microbatch",
     "405b-16k",
     "--unfold --full-replay",
     1,
     1,
     {10, 0}},
    {"405b-16k, 16,384 ranks unfolded, chunk, jumped", "405b-16k", "--unfold", 1, 1, {0, 0}},
    {"405b-16k, one slow GPU, chunk", "405b-16k", "--straggler 777:1.5", 1, 0, {0.060, 0}},
    {"405b-16k, 100 replicas of jitter, one process a core", "405b-16k", "--jitter 0.02", 1, 1, {120, 0}},
    {"405b on 1,048,576 GPUs folded, chunk", "405b-16k", "--nodes 131072 --gbs 1048576", 1, 0, {0.5, 0}},
    {"70b-14, a million microbatches, chunk", "70b-14", "--gbs 1000000", 1, 0, {0, 0}},
};
#define NCASES (sizeof cases / sizeof cases[0])
static const char *const engines[] = {"native", "simgrid"};

struct figures {
    double wall, cpu, mib, events, iteration_ms, instructions;
    double others; /* per cent of the processors that others took */
};

static double field(const char *text, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\n  \"%s\": ", name);
    const char *at = strstr(text, key);
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

/* One run; its JSON begins with what is looked for, or ends within the room. most: s of CPU, 0: as many as it takes. */
static int run(char *const *argv, rlim_t most, struct figures *f)
{
    static char text[1 << 18];
    int fds[2], status, from;
    struct rusage usage;
    size_t n = 0;
    ssize_t got;
    if (pipe(fds))
        return -1;
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        if (most)
            setrlimit(RLIMIT_CPU, &(struct rlimit){most, most});
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(fds[1]);
    from = fds[0];
    while ((got = read(from, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(from);
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
        return -1;
    f->wall = now() - start;
    f->cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    f->mib = (double)usage.ru_maxrss / 1024;
    f->events = field(text, "events");
    f->iteration_ms = field(text, "iteration_ms");
    return isnan(f->events) ? -1 : 0;
}

static int words_of(const char *stepsim, const char *root, size_t i, int engine, char *buf, size_t size,
                    char **argv)
{
    int n = 0;
    char *rest;
    snprintf(buf, size, "%s run --json --engine %s --job %s/workloads/jobs/%s.args %s", stepsim,
             engines[engine], root, cases[i].job, cases[i].options);
    for (char *w = strtok_r(buf, " ", &rest); w && n < MAX_WORDS - 1; w = strtok_r(NULL, " ", &rest))
        argv[n++] = w;
    argv[n] = NULL;
    return n;
}

/* Begins callgrind's count of one run, without children, in one of which SimGrid replays. */
static FILE *count_begin(char *const *argv)
{
    char command[4096] = "valgrind --tool=callgrind --callgrind-out-file=/dev/null";
    for (int i = 0; argv[i]; i++) {
        strncat(command, " ", sizeof command - strlen(command) - 1);
        strncat(command, argv[i], sizeof command - strlen(command) - 1);
    }
    strncat(command, " 2>&1 >/dev/null", sizeof command - strlen(command) - 1);
    return popen(command, "r");
}

static double count_end(FILE *in)
{
    double count = NAN;
    char line[512];
    while (in && fgets(line, sizeof line, in)) {
        char *at = strstr(line, "refs:");
        if (!at)
            continue;
        count = 0;
        for (at += 5; *at; at++)
            if (*at >= '0' && *at <= '9')
                count = 10 * count + (*at - '0');
    }
    if (in)
        pclose(in);
    return count;
}

/* Counts the instructions of both programs at once. */
static void count(char **argv, char *program, struct figures *f, struct figures *before)
{
    FILE *own = count_begin(argv), *other = NULL;
    argv[0] = program;
    if (program && before->cpu > 0)
        other = count_begin(argv);
    f->instructions = count_end(own);
    before->instructions = other ? count_end(other) : 0;
}

static int run_better(char *const *argv, rlim_t most, int first, struct figures *best, double *own)
{
    struct figures f = {0};
    if (run(argv, most, &f))
        return -1;
    *own += f.cpu;
    if (first || f.cpu < best->cpu)
        *best = f;
    return 0;
}

/* The fastest of `repeats`: the others met something else on the machine. An earlier program, where one is given, takes turns. */
static int best_of(char *const *argv, char *earlier_program, int repeats, struct figures *best,
                   struct figures *before)
{
    char *words[MAX_WORDS] = {earlier_program};
    for (int i = 1; i < MAX_WORDS && argv[i - 1]; i++)
        words[i] = argv[i];
    const struct machine since = machine_now();
    double own = 0;
    for (int i = 0; i < repeats && own < MOST_CPU; i++) {
        if (run_better(argv, 0, i == 0, best, &own))
            return -1;
        if (words[0] && run_better(words, MOST_BEFORE, i == 0, before,
                                   &own)) { /* it refuses the case, or takes minutes */
            words[0] = NULL;
            *before = (struct figures){0};
        }
    }
    best->others = others_share(since, own);
    return 0;
}

static void print_head(const char *before)
{
    printf("| case | engine | CPU ms | goal, CPU ms | Minstructions | MiB | events | ns an event | "
           "simgrid/native | "
           "wall ms | others, %% |%s\n|---|---|---|---|---|---|---|---|---|---|---|%s\n",
           before ? " CPU ms before | CPU, ratio | instructions, ratio |" : "", before ? "---|---|---|" : "");
}

static void print_change(const struct figures *f, const struct figures *before)
{
    if (!(before->cpu > 0)) {
        printf(" | | |");
        return;
    }
    printf(" %.1f | %.2f |", 1e3 * before->cpu, f->cpu / before->cpu);
    printf(before->instructions > 0 ? " %.2f |" : " |", f->instructions / before->instructions);
}

static void print_row(size_t i, int engine, const struct figures *f, double native_cpu)
{
    char ratio[32] = "", target[32] = "", million[32] = "";
    if (engine == 1 && native_cpu > 0)
        snprintf(ratio, sizeof ratio, "%.1f", f->cpu / native_cpu);
    if (cases[i].target[engine] > 0)
        snprintf(target, sizeof target, "%.0f", 1e3 * cases[i].target[engine]);
    if (f->instructions > 0)
        snprintf(million, sizeof million, "%.0f", f->instructions / 1e6);
    printf("| %s | %s | %.1f | %s | %s | %.0f | %.0f | %.1f | %s | %.1f | %.0f |", cases[i].name,
           engines[engine], 1e3 * f->cpu, target, million, f->mib, f->events, 1e9 * f->cpu / f->events, ratio,
           1e3 * f->wall, f->others);
}

/* Both engines of a case, native in turn with an earlier program; 0, or 1 where one failed or they differ. */
static int measure(size_t i, char *const *argv, int repeats, int counted, char *program)
{
    double native = 0, iteration = 0;
    int failed = 0;
    for (int e = 0; e < 2; e++) {
        struct figures f = {0}, before = {0};
        char buf[2048], *words[MAX_WORDS];
        if (!(cases[i].engines & 1 << e))
            continue;
        words_of(argv[1], argv[2], i, e, buf, sizeof buf, words);
        if (best_of(words, e ? NULL : program, e && cases[i].slow ? 1 : repeats, &f, &before)) {
            fprintf(stderr, "%s on %s failed\n", cases[i].name, engines[e]);
            failed = 1;
            continue;
        }
        if (counted && e == 0 && f.events < MOST_COUNTED && f.cpu < MOST_SECONDS)
            count(words, program, &f, &before);
        if (e == 0)
            native = f.cpu;
        if (e == 1 && native > 0 && fabs(f.iteration_ms - iteration) > 1e-8 * iteration) {
            fprintf(stderr, "%s: %.12g ms on simgrid, %.12g ms on native\n", cases[i].name, f.iteration_ms,
                    iteration);
            failed = 1;
        }
        iteration = f.iteration_ms;
        print_row(i, e, &f, native);
        if (program)
            print_change(&f, &before);
        printf("\n");
        fflush(stdout);
    }
    return failed;
}

int main(int argc, char **argv)
{
    int repeats = 5, quick = 0, counted = 0, failed = 0;
    char *before = NULL;
    const char *only = "";
    if (argc < 3) {
        fprintf(stderr, "usage: bench_cases STEPSIM SOURCE_ROOT [--repeats N] [--quick] [--instructions] "
                        "[--only TEXT] [--against PROGRAM]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        quick |= !strcmp(argv[i], "--quick");
        counted |= !strcmp(argv[i], "--instructions");
        if (!strcmp(argv[i], "--repeats") && i + 1 < argc)
            repeats = atoi(argv[++i]) > 0 ? atoi(argv[i]) : 1;
        else if (!strcmp(argv[i], "--against") && i + 1 < argc)
            before = argv[++i];
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            only = argv[++i];
    }
    if (before && access(before, X_OK)) {
        fprintf(stderr, "bench_cases: %s is no program\n", before);
        return 2;
    }
    print_head(before);
    for (size_t i = 0; i < NCASES; i++)
        if (!(quick && cases[i].slow) && strstr(cases[i].name, only))
            failed |= measure(i, argv,
                              quick           ? 1
                              : cases[i].slow ? (repeats + 1) / 2
                                              : repeats,
                              counted, before);
    return failed;
}
