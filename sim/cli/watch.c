/* SPDX-License-Identifier: Apache-2.0 */
/* Says how far long work is, by the clock and not by the work: each second on a terminal, a line every ten seconds elsewhere. An interrupt
 * says what is kept and how to go on. */
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

#define QUIET_S 10

/* Handlers read these, which change between two signals at most. */
static struct {
    pid_t owner; /* workers are copies of this process, and say nothing */
    int terminal, silent;
    char what[24], journal[SS_OPTION_PATH_SIZE]; /* journal "": there is none, */
    int may_keep;                                /* 1: though there could be */
    volatile sig_atomic_t done, all, seconds;
    int past[QUIET_S],
        since;         /* done in each of the last seconds; the second from which on they are of one kind */
    char best[2][640]; /* the one told, and the one that is written */
    volatile sig_atomic_t told;
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

/* Writes a count as people do: "4,050". Returns buf, of 16 bytes. */
static const char *grouped(int n, char *buf)
{
    char *at = buf;
    for (int unit = 1000000000; unit > 0; unit /= 1000)
        if (n >= unit || unit == 1)
            at += sprintf(at, at > buf ? "%03d" : "%d", n / unit % 1000),
                at += unit > 1 ? sprintf(at, ",") : 0;
    return buf;
}

/* Writes ", about 12 s left", by the pace of the last seconds; "" where nothing moved. Handlers write whole numbers alone: those need
 * no memory. */
static const char *left(char *buf, size_t size)
{
    int now = watched.seconds, span = now - watched.since < QUIET_S ? now - watched.since : QUIET_S - 1;
    int moved = span > 1 ? watched.done - watched.past[(now - span) % QUIET_S] : 0;
    double s = moved > 0 ? (double)(watched.all - watched.done) * span / moved : 0;

    buf[0] = '\0';
    if (moved > 0 && watched.all > watched.done) { /* not where nobody knows yet how much there is */
        int whole = s < 1e9 ? (int)s : 1000000000, tenths = whole / 360;
        if (whole < 120)
            snprintf(buf, size, ", about %d s left", whole);
        else if (whole < 7200)
            snprintf(buf, size, ", about %d min left", whole / 60);
        else
            snprintf(buf, size, ", about %d.%d h left", tenths / 10, tenths % 10);
    }
    return buf;
}

static void print(void)
{
    char text[200], done[16], all[16], more[40];
    int n = snprintf(text, sizeof text, "%s%s: ", watched.terminal ? "\r" : "", watched.what);

    if (watched.all)
        n += snprintf(text + n, sizeof text - (size_t)n, "%3d %%, %s of %s, ",
                      (int)(100. * watched.done / watched.all), grouped(watched.done, done),
                      grouped(watched.all, all));
    n += snprintf(text + n, sizeof text - (size_t)n, "%d s%s%s", (int)watched.seconds,
                  left(more, sizeof more), watched.terminal ? "\033[K" : "\n");
    say(text, n);
}

static void tick(int number)
{
    (void)number;
    watched.seconds++;
    watched.past[watched.seconds % QUIET_S] = watched.done;
    if (getpid() == watched.owner && !watched.silent && (watched.terminal || watched.seconds % QUIET_S == 0))
        print();
}

/* Returns whether the journal has an answer behind its head, the first line. */
static int keeps(void)
{
    char part[4096];
    int fd = watched.journal[0] ? open(watched.journal, O_RDONLY | O_CLOEXEC) : -1, lines = 0;

    for (ssize_t n; fd >= 0 && lines < 2 && (n = read(fd, part, sizeof part)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            lines += part[i] == '\n';
    if (fd >= 0)
        close(fd);
    return lines > 1;
}

static void end(int number)
{
    char text[1200 + SS_OPTION_PATH_SIZE], done[16], all[16];

    if (getpid() == watched.owner) {
        int n = snprintf(text, sizeof text, "%sinterrupted", watched.terminal ? "\r\033[K" : "");
        if (watched.all)
            n += snprintf(text + n, sizeof text - (size_t)n, ": %s of %s done", grouped(watched.done, done),
                          grouped(watched.all, all));
        if (keeps())
            n += snprintf(text + n, sizeof text - (size_t)n,
                          "; kept in %s: the same command with --resume goes on\n", watched.journal);
        else
            n += snprintf(text + n, sizeof text - (size_t)n, "; nothing is kept%s\n",
                          watched.journal[0] ? " yet"
                          : watched.may_keep ? ": --journal FILE keeps it"
                                             : "");
        if (watched.best[watched.told][0])
            n += snprintf(text + n, sizeof text - (size_t)n, "best so far: %s\n", watched.best[watched.told]);
        say(text, n);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* Handles a signal unless somebody has it ignored, as nohup does. */
static void handle(int number)
{
    struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESTART}, before;

    sigemptyset(&action.sa_mask);
    if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cli_watch_begin(const char *what, const char *journal)
{
    const struct itimerval second = {{1, 0}, {1, 0}};
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};

    const char *wanted = getenv("STEPSIM_PROGRESS");

    memset(&watched, 0, sizeof watched);
    watched.owner = getpid();
    watched.silent = wanted && !strcmp(wanted, "off");
    watched.terminal = cli_terminal(STDERR_FILENO);
    snprintf(watched.what, sizeof watched.what, "%s", what);
    watched.may_keep = !journal;
    snprintf(watched.journal, sizeof watched.journal, "%s", journal ? journal : "");
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    handle(SIGINT);
    handle(SIGTERM);
    if (!watched.silent)
        setitimer(ITIMER_REAL, &second, NULL);
}

void cli_watch_show(void *ctx, int done, int all)
{
    int shown = watched.done * 100. / (watched.all + !watched.all);

    (void)ctx;
    if (all != watched.all || done < watched.done) { /* work of another kind */
        memset(watched.past, 0, sizeof watched.past);
        watched.since = watched.seconds;
        watched.past[watched.seconds % QUIET_S] = done;
    }
    watched.done = done;
    watched.all = all;
    if (watched.terminal && !watched.silent && all && (int)(100. * done / all) != shown)
        print();
}

void cli_watch_best(const char *text)
{
    int next = !watched.told;

    snprintf(watched.best[next], sizeof watched.best[next], "%s", text);
    watched.told = next;
}

void cli_watch_end(void)
{
    const struct itimerval never = {0};

    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN); /* forgets one that is on its way */
    signal(SIGALRM, SIG_DFL);
    for (int i = 0; i < 2; i++) {
        const int number = i ? SIGTERM : SIGINT;
        struct sigaction now;
        if (!sigaction(number, NULL, &now) && now.sa_handler == end)
            signal(number, SIG_DFL);
    }
    if (watched.terminal && !watched.silent)
        say("\r\033[K", (int)strlen("\r\033[K"));
}
