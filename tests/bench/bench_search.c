/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times searches by two workers: how many layouts a second they replay, and how soon a large space is searched.
 * bench_search STEPSIM [--quick] [--against PROGRAM]
 * Prints a table in Markdown; --against runs an earlier program in turn with this one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORDS 40
#define REPEATS 5

static const struct {
    const char *name, *options, *goal;
    int slow; /* left out by --quick */
} cases[] = {
    {"70B on 4 to 64 nodes, every legal layout without cp", "--vary nodes=4..64 --cp 1 --exhaustive",
     "8000 a second", 0},
    {"70B on 16 nodes, 100,530 legal layouts, with bounds",
     "--nodes 16 --vary overlap-grad-reduce=off,on --vary overlap-param-gather=off,on "
     "--vary tp-comm-overlap=off,on --vary use-distributed-optimizer=off,on",
     "10 s, 1 GiB", 1},
};
#define NCASES (sizeof cases / sizeof cases[0])

struct figures {
    double wall, cpu, mib;
    long layouts, refused, predicted;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

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

/* One search; workers are waited for by it, so that its usage has theirs. */
static int run(const char *stepsim, const char *options, struct figures *f)
{
    static char text[1 << 16];
    char words[1024], *argv[MAX_WORDS], *rest;
    int fds[2], status, n = 0;
    struct rusage usage;
    size_t used = 0;
    ssize_t got;
    snprintf(words, sizeof words,
             "%s search --platform h800 --model llama3.1-70b --bf16 --seq 8192 --gbs 1024 --workers 2 "
             "--unconfirmed %s",
             stepsim, options);
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
        execvp(argv[0], argv);
        _exit(127);
    }
    close(fds[1]);
    while ((got = read(fds[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(fds[0]);
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
        return -1;
    text[strcspn(text, "\n")] = '\0';
    *f = (struct figures){now() - start,
                          seconds(usage.ru_utime) + seconds(usage.ru_stime),
                          (double)usage.ru_maxrss / 1024,
                          before(text, " layouts"),
                          before(text, " refused"),
                          before(text, " predicted")};
    return f->layouts > 0 && f->predicted > 0 ? 0 : -1;
}

static int measure(const char *const *programs, int nprograms, size_t i, int repeats, struct figures *best)
{
    for (int r = 0; r < repeats; r++)
        for (int p = 0; p < nprograms; p++) {
            struct figures f;
            if (run(programs[p], cases[i].options, &f)) {
                fprintf(stderr, "bench_search: %s failed: %s\n", programs[p], cases[i].name);
                return -1;
            }
            if (r == 0 || f.wall < best[p].wall)
                best[p] = f;
        }
    return 0;
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
    printf("| search | layouts | refused | predicted | wall s | CPU s | MiB | predicted a second | goal | "
           "wall s before | ratio |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < NCASES; i++) {
        struct figures best[2];
        if (quick && cases[i].slow)
            continue;
        if (measure(programs, nprograms, i, quick ? 1 : REPEATS, best))
            return 1;
        printf("| %s | %ld | %ld | %ld | %.2f | %.2f | %.0f | %.0f | %s |", cases[i].name, best[0].layouts,
               best[0].refused, best[0].predicted, best[0].wall, best[0].cpu, best[0].mib,
               (double)best[0].predicted / best[0].wall, cases[i].goal);
        if (nprograms > 1)
            printf(" %.2f | %.2f |\n", best[1].wall, best[0].wall / best[1].wall);
        else
            printf(" | |\n");
        fflush(stdout);
    }
    return 0;
}
