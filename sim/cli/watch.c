/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says how far long work is, by the clock and not by the work: each second on a terminal, a line every ten seconds elsewhere. An interrupt
 * says what is kept and how to go on.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

#define QUIET_S 10

/* Handlers read these, which change between two signals at most. */
static struct {
    pid_t owner; /* workers are copies of this process, and say nothing */
    int terminal;
    char what[24], kept[320];
    volatile sig_atomic_t done, all, seconds;
} watched;

static void say(const char *text, int n)
{
    while (n > 0) {
        ssize_t wrote = write(STDERR_FILENO, text, (size_t)n);
        if (wrote <= 0)
            return;
        text += wrote;
        n -= (int)wrote;
    }
}

static void print(void)
{
    char text[160];
    int n =
        snprintf(text, sizeof text, "%s%s: %3d %%, %d of %d, %d s%s", watched.terminal ? "\r" : "",
                 watched.what, watched.all ? (int)(100. * watched.done / watched.all) : 0, (int)watched.done,
                 (int)watched.all, (int)watched.seconds, watched.terminal ? "\033[K" : "\n");
    say(text, n);
}

static void tick(int number)
{
    (void)number;
    watched.seconds++;
    if (getpid() == watched.owner && (watched.terminal || watched.seconds % QUIET_S == 0))
        print();
}

static void end(int number)
{
    char text[480];

    if (getpid() == watched.owner) {
        int n =
            snprintf(text, sizeof text, "%sinterrupted: %d of %d done%s\n",
                     watched.terminal ? "\r\033[K" : "", (int)watched.done, (int)watched.all, watched.kept);
        say(text, n);
    }
    signal(number, SIG_DFL);
    raise(number);
}

void cli_watch_begin(const char *what, const char *journal)
{
    const struct itimerval second = {{1, 0}, {1, 0}};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};

    memset(&watched, 0, sizeof watched);
    watched.owner = getpid();
    watched.terminal = cli_terminal(STDERR_FILENO);
    snprintf(watched.what, sizeof watched.what, "%s", what);
    if (journal)
        snprintf(watched.kept, sizeof watched.kept,
                 " and kept in %.200s: the same command with --resume goes on", journal);
    else
        snprintf(watched.kept, sizeof watched.kept, ", nothing is kept: --journal FILE would keep it");
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = end;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    setitimer(ITIMER_REAL, &second, NULL);
}

void cli_watch_show(void *ctx, int done, int all)
{
    (void)ctx;
    watched.done = done;
    watched.all = all;
    if (watched.terminal)
        print();
}

void cli_watch_end(void)
{
    const struct itimerval never = {0};

    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (watched.terminal)
        say("\r\033[K", (int)strlen("\r\033[K"));
}
