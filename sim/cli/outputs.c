/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a program that may be interrupted: what is unfinished then is removed. */
#include <signal.h>
#include <stddef.h>

#include "cli/cli.h"

#define MOST 8

static struct ss_output *volatile unfinished[MOST];
static struct ss_files inputs; /* of the command that this process runs */

struct ss_files *cli_files(void)
{
    return &inputs;
}

int cli_output_check(const char *path, const char *start, struct ss_error *err)
{
    return ss_output_check(path, start, &inputs, err);
}

static void leave(int number)
{
    for (int i = 0; i < MOST; i++)
        if (unfinished[i])
            ss_output_discard(unfinished[i]);
    raise(number); /* with the default action, which SA_RESETHAND has restored: the shell sees why it ended */
}

static void signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

static void watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = leave, .sa_flags = (int)SA_RESETHAND | SA_NODEFER}, old;

    signals(&action.sa_mask);
    for (int i = 0; i < 3; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static void forget(const struct ss_output *o)
{
    for (int i = 0; i < MOST; i++)
        if (unfinished[i] == o)
            unfinished[i] = NULL;
}

int cli_output_begin(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err)
{
    int rc = cli_output_check(path, NULL, err);

    return rc ? rc : cli_output_renew(path, out, stream, err);
}

int cli_output_try(const char *path, struct ss_error *err)
{
    struct ss_output *o;
    FILE *stream;
    int rc = path[0] ? cli_output_begin(path, &o, &stream, err) : SS_OK;

    if (path[0] && !rc)
        cli_output_abort(o);
    return rc;
}

/* No signal may come between a change of the file and that of our list. */
int cli_output_renew(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err)
{
    sigset_t held, before;
    int rc;

    watch();
    signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    rc = ss_output_begin(ss_team_rank(cli_team()) ? "/dev/null" : path, out, stream, err);
    for (int i = 0; !rc && i < MOST; i++)
        if (!unfinished[i]) {
            unfinished[i] = *out;
            break;
        }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int cli_output_commit(struct ss_output *o, struct ss_error *err)
{
    sigset_t held, before;
    int rc;

    signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    forget(o);
    rc = ss_output_commit(o, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void cli_output_abort(struct ss_output *o)
{
    sigset_t held, before;

    signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    forget(o);
    ss_output_abort(o);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int cli_output_end(struct ss_output *o, int rc, struct ss_error *err)
{
    if (!rc)
        return cli_output_commit(o, err);
    cli_output_abort(o);
    return rc;
}
