/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the subcommands share: errors, verbs, the clock, progress on a terminal. */
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

#define NARROWEST 40 /* columns */
#define WIDEST 1000

int cli_usage(struct ss_error *err, const char *hint, const char *fmt, ...)
{
    va_list ap;

    memset(err, 0, sizeof *err);
    err->code = SS_ERR_USAGE;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    snprintf(err->hint, sizeof err->hint, "%s", hint ? hint : "");
    ss_text_clean(err->message);
    ss_text_clean(err->hint);
    return SS_ERR_USAGE;
}

int cli_unknown(struct ss_error *err, const char *what, const char *word, const char *const *names, size_t n,
                const char *hint)
{
    const char *near = ss_nearest(word, names, n);
    char did_you_mean[128];

    snprintf(did_you_mean, sizeof did_you_mean, "did you mean %s?", near ? near : "");
    return cli_usage(err, near ? did_you_mean : hint, "unknown %s \"%s\"", what, word);
}

int cli_fail(const struct ss_error *err, int json)
{
    char text[4096];

    if (!json || ss_report_error(err, stdout)) { /* ss_report_error may lack the memory for its JSON */
        ss_error_format(err, text, sizeof text);
        ss_text_wrap(text, strlen(text), isatty(STDERR_FILENO) ? cli_columns(STDERR_FILENO) : 0, stderr);
        fputc('\n', stderr);
    }
    return ss_status_exit(err->code);
}

int cli_has_word(int argc, char *const *argv, const char *word)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], word))
            return 1;
    return 0;
}

static struct timespec start; /* begin of the command that this process runs */

void cli_wall_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &start);
}

double cli_wall_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
}

/* Returns the number in a variable of the environment; 0: there is none. */
static long number_of(const char *variable)
{
    const char *text = getenv(variable);

    return text ? strtol(text, NULL, 10) : 0;
}

int cli_columns(int fd)
{
    struct winsize w;
    long n = number_of("STEPSIM_COLUMNS");

    if (n <= 0 && !isatty(fd))
        return SS_TEXT_WIDTH;
    if (n <= 0)
        n = number_of("COLUMNS");
    if (n <= 0)
        n = ioctl(fd, TIOCGWINSZ, &w) || w.ws_col == 0 ? SS_TEXT_WIDTH : w.ws_col;
    return n < NARROWEST ? NARROWEST : n > WIDEST ? WIDEST : (int)n;
}

struct ss_display cli_view(const struct cli_flags *flags)
{
    const char *no_color = getenv("NO_COLOR");
    const int by_mpi =
        getenv("PMIX_RANK") || getenv("PMI_RANK"); /* its launcher gives ranks terminals that are none */

    return (struct ss_display){.json = flags->json,
                               .width = flags->output[0] ? SS_TEXT_WIDTH : cli_columns(STDOUT_FILENO),
                               .color = !flags->output[0] && !by_mpi && cli_terminal(STDOUT_FILENO) &&
                                        !(no_color && no_color[0])};
}

int cli_terminal(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && !(term && !strcmp(term, "dumb"));
}

void cli_progress(void *ctx, double share)
{
    fprintf(stderr, "\r%s: %3.0f %%", (const char *)ctx, 100 * share);
    fflush(stderr);
}

void cli_progress_end(void)
{
    fputs("\r\033[K", stderr);
}

struct ss_workers cli_workers(const struct cli_flags *flags)
{
    struct ss_workers workers = flags->options.workers;

    workers.team = cli_team();
    workers.journal = flags->journal[0] ? flags->journal : NULL;
    if (workers.journal && workers.resume && !ss_team_rank(workers.team) && access(flags->journal, F_OK)) {
        char shown[sizeof flags->journal];
        snprintf(shown, sizeof shown, "%s", flags->journal);
        fprintf(stderr, "stepsim: note: --resume: there is no journal %s yet: all begins anew\n",
                ss_text_clean(shown));
    }
    return workers;
}
