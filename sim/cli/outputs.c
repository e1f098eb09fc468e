/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a program that may be interrupted. An interrupt removes the unfinished files. */
#include <signal.h>
#include <sys/stat.h>

#include "cli/cli.h"

#define MOST 8

static struct ss_output *volatile unfinished[MOST];
static struct ss_files inputs; /* the files that the command of this process has read */

struct ss_files *cli_files(void)
{
    return &inputs;
}

static void leave(int number)
{
    for (int i = 0; i < MOST; i++)
        if (unfinished[i])
            ss_output_discard(unfinished[i]);
    raise(number); /* ends the process by the default action, which SA_RESETHAND has restored */
}

/* Returns 1 if a signal can be handled, and ends a program that does not handle it. */
static int ends(int number)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                                 SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (number == others[i])
            return 0;
    return 1;
}

static void signals(sigset_t *set)
{
    sigemptyset(set);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (ends(number))
            sigaddset(set, number);
}

static void watch(void)
{
    struct sigaction action = {.sa_handler = leave, .sa_flags = (int)SA_RESETHAND | SA_NODEFER}, old;

    signals(&action.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (ends(number) && sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL);
}

int cli_output_begin(const char *path, struct cli_output *out, struct ss_error *err)
{
    SS_TRY(ss_output_check(path, NULL, &inputs, err));
    return cli_output_renew(path, out, err);
}

/* No signal may come between a change of the file and that of our list. A pipe, which may wait long for its reader, leaves
 * nothing behind. */
int cli_output_renew(const char *path, struct cli_output *out, struct ss_error *err)
{
    sigset_t held, before;
    struct stat st;
    int rc;

    watch();
    signals(&held);
    if (!stat(path, &st) && S_ISFIFO(st.st_mode))
        sigemptyset(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    rc = ss_output_begin(ss_team_rank(cli_team()) ? "/dev/null" : path, &out->output, &out->stream, err);
    for (int i = 0; !rc && i < MOST; i++)
        if (!unfinished[i]) {
            unfinished[i] = out->output;
            break;
        }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int cli_output_end(struct cli_output *out, int rc, struct ss_error *err)
{
    sigset_t held, before;

    signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    for (int i = 0; i < MOST; i++)
        if (unfinished[i] == out->output)
            unfinished[i] = NULL;
    rc = ss_output_end(out->output, rc, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int cli_ranks_write(const struct cli_flags *flags, const struct ss_plan *plan,
                    const struct ss_program *program, const struct ss_timeline *timeline,
                    struct ss_error *err)
{
    struct cli_output out;
    int rc = flags->ranks_csv[0] ? cli_output_begin(flags->ranks_csv, &out, err) : SS_OK;

    if (rc || !flags->ranks_csv[0])
        return rc;
    return cli_output_end(&out, ss_report_ranks(plan, program, timeline, out.stream, err), err);
}
