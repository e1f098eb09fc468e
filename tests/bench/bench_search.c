/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times searches and a sweep by two workers: how many layouts a second they replay, how many configurations in which nothing but
 * numbers differs, and how soon a large space is searched.
 * bench_search STEPSIM [--quick] [--against PROGRAM]
 * Prints a table in Markdown; --against runs an earlier program in turn with this one, where that one can.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define MAX_WORDS 64
#define REPEATS 5
#define MOST_CPU 15 /* s of all runs after which a search is not repeated */

/* Values that each of a sweep's three flags takes; the same with --quick. */
#define NUMBERS 22
#define QUICK_NUMBERS 4

static const struct {
    const char *name, *command, *options;
    const char *quick; /* the options of --quick, which leaves out where there are none */
    const char *goal;
} cases[] = {
    {"70B on 4 to 64 nodes, every legal layout without cp", "search",
     "--unconfirmed --vary nodes=4..64 --cp 1 --exhaustive",
     "--unconfirmed --vary nodes=4..5 --cp 1 --mbs 1 --exhaustive", "4000 a second"},
    {"70B on 16 nodes, tp 4, pp 4: NIC bandwidth, HBM efficiency and spread vary", "sweep",
     "--nodes 16 --tp 4 --pp 4 --mbs 1 --sequence-parallel --use-distributed-optimizer",
     "--nodes 16 --tp 4 --pp 4 --mbs 1 --sequence-parallel --use-distributed-optimizer", "4000 a second"},
    {"70B on 16 nodes, 100,530 legal layouts, with bounds", "search",
     "--unconfirmed --nodes 16 --vary overlap-grad-reduce=off,on --vary overlap-param-gather=off,on "
     "--vary tp-comm-overlap=off,on --vary use-distributed-optimizer=off,on",
     NULL, "20 s of CPU, 1 GiB"},
};
#define NCASES (sizeof cases / sizeof cases[0])

struct figures {
    double wall, cpu, mib;
    double others; /* per cent of the processors that other programs took */
    long layouts, refused, predicted;
};

/* The number before a word of the line that says what became of the layouts; -1: it is not there. */
static long before(const char *line, const char *word)
{
    const char *at = strstr(line, word);
    if (!at)
        return -1;
    while (at > line && at[-1] == ' ')
        at--;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtol(at, NULL, 10);
}

/* " --vary FLAG=1x,2x,...", n values from `from` on. */
static void add_numbers(char *words, size_t size, int n, const char *flag, const char *form, double from,
                        double step)
{
    for (int i = 0; i < n; i++) {
        size_t used = strlen(words);
        used += (size_t)snprintf(words + used, size - used, i ? "," : " --vary %s=", flag);
        snprintf(words + used, size - used, form, from + i * step);
    }
}

/* The rows of a sweep: lines between its head, behind the premises, and the empty one behind them. */
static void count_rows(const char *text, struct figures *f)
{
    const char *head = strstr(text, "\n\n"), *end;
    if (!head)
        return;
    head += 2;
    end = strstr(head, "\n\n");
    for (const char *at = strchr(head, '\n'); at && at != end; at = strchr(at + 1, '\n')) {
        f->layouts++;
        f->refused += strncmp(at + 1 + strcspn(at + 1, "\n") - 7, "refused", 7) == 0;
    }
    f->predicted = f->layouts - f->refused;
}

/* A search says what became of the layouts in one line, behind its premises. */
static void read_counts(char *text, struct figures *f)
{
    char *line = strstr(text, " layouts: ");
    if (line)
        line[strcspn(line, "\n")] = '\0';
    f->layouts = before(text, " layouts");
    f->refused = before(text, " refused");
    f->predicted = before(text, " predicted");
}

/* Runs the words, and keeps what they print up to `size`; workers are waited for, so that the usage has theirs. */
static int run_words(char *words, int quiet, char *text, size_t size, struct figures *f)
{
    char *argv[MAX_WORDS], *rest, more[4096];
    int fds[2], status, n = 0;
    struct rusage usage;
    size_t used = 0;
    ssize_t got;
    for (char *w = strtok_r(words, " ", &rest); w && n < MAX_WORDS - 1; w = strtok_r(NULL, " ", &rest))
        argv[n++] = w;
    argv[n] = NULL;
    if (pipe(fds))
        return -1;
    double start = now();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        if (quiet)
            dup2(open("/dev/null", O_WRONLY), 2);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(fds[1]);
    while ((got = used + 1 < size ? read(fds[0], text + used, size - 1 - used)
                                  : read(fds[0], more, sizeof more)) > 0)
        used += used + 1 < size ? (size_t)got : 0;
    text[used] = '\0';
    close(fds[0]);
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
        return -1;
    *f = (struct figures){.wall = now() - start,
                          .cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime),
                          .mib = (double)usage.ru_maxrss / 1024};
    return 0;
}

static int run(const char *stepsim, size_t i, int quick, int quiet, struct figures *f)
{
    static char text[4 << 20], words[16384];
    const int sweep = strcmp(cases[i].command, "sweep") == 0, n = quick ? QUICK_NUMBERS : NUMBERS;
    snprintf(words, sizeof words,
             "%s %s --platform h800 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --workers 2 %s",
             stepsim, cases[i].command, quick ? cases[i].quick : cases[i].options);
    if (sweep) {
        add_numbers(words, sizeof words, n, "set", "ss.nic.bandwidth=%gGBps", 25, 1);
        add_numbers(words, sizeof words, n, "scale", "hbm.efficiency=%gx", 0.9, 0.005);
        add_numbers(words, sizeof words, n, "spread", "%g", 0.5, 0.05);
    }
    if (run_words(words, quiet, text, sizeof text, f))
        return -1;
    if (sweep)
        count_rows(text, f);
    else
        read_counts(text, f);
    return f->layouts > 0 && f->predicted > 0 ? 0 : -1;
}

/* *nprograms is 1 afterwards where the earlier program cannot run the case. */
static int measure(const char *const *programs, int *nprograms, size_t i, int quick, struct figures *best)
{
    const struct machine since = machine_now();
    double own = 0;
    for (int r = 0; r < (quick ? 1 : REPEATS) && own < MOST_CPU; r++)
        for (int p = 0; p < *nprograms; p++) {
            struct figures f;
            if (run(programs[p], i, quick, p, &f)) {
                fprintf(stderr,
                        p ? "bench_search: %s cannot run this, so that there is no comparison: %s\n"
                          : "bench_search: %s failed: %s\n",
                        programs[p], cases[i].name);
                if (!p)
                    return -1;
                *nprograms = 1;
                break;
            }
            own += f.cpu;
            if (r == 0 || f.cpu < best[p].cpu)
                best[p] = f;
        }
    best->others = others_share(since, own);
    return 0;
}

static int has_search(const char *program)
{
    char words[1024], text[64];
    struct figures f;
    snprintf(words, sizeof words, "%s search --help", program);
    return run_words(words, 1, text, sizeof text, &f) == 0;
}

int main(int argc, char **argv)
{
    const char *programs[2] = {argc > 1 ? argv[1] : NULL, NULL};
    int nprograms = 1, quick = 0;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            quick = 1;
        else if (!strcmp(argv[i], "--against") && i + 1 < argc)
            programs[nprograms++ % 2] = argv[++i];
    }
    if (argc < 2 || nprograms > 2) {
        fprintf(stderr, "usage: bench_search STEPSIM [--quick] [--against PROGRAM]\n");
        return 2;
    }
    if (nprograms > 1 && !has_search(programs[1])) {
        fprintf(stderr, "bench_search: %s has no search: there is no comparison\n", programs[1]);
        nprograms = 1;
    }
    printf("| search | layouts | refused | predicted | CPU s | predicted a second of CPU | goal | MiB | wall "
           "s | "
           "others, %% | CPU s before | ratio |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < NCASES; i++) {
        struct figures best[2];
        int compared = nprograms;
        if (quick && !cases[i].quick)
            continue;
        if (measure(programs, &compared, i, quick, best))
            return 1;
        printf("| %s | %ld | %ld | %ld | %.2f | %.0f | %s | %.0f | %.2f | %.0f |", cases[i].name,
               best[0].layouts, best[0].refused, best[0].predicted, best[0].cpu,
               (double)best[0].predicted / best[0].cpu, cases[i].goal, best[0].mib, best[0].wall,
               best[0].others);
        if (compared > 1)
            printf(" %.2f | %.2f |\n", best[1].cpu, best[0].cpu / best[1].cpu);
        else
            printf(" | |\n");
        fflush(stdout);
    }
    return 0;
}
