/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that mpirun started together with this one: the first one speaks for all. */
#include <fcntl.h>
#include <unistd.h>

#include "cli/cli.h"

static struct ss_team *team;
static int told = STDERR_FILENO; /* the descriptor that messages of this process go to; < 0: it is silent */

struct ss_team *cli_team(void)
{
    return team;
}

int cli_team_join(int verb, struct ss_error *err)
{
    int shares = verb == CLI_SEARCH || verb == CLI_SWEEP || verb == CLI_CAPACITY || verb == CLI_VALIDATE ||
                 verb == CLI_CALIBRATE;
    int rc = shares ? ss_team_open(&team, err) : SS_OK;
    int nowhere = rc || !ss_team_rank(team) ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nowhere < 0)
        return rc;
    told = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    return SS_OK;
}

int cli_team_leave(int status, const struct ss_error *err)
{
    int rank = ss_team_rank(team), first = status;
    int died = ss_team_close(team, status, &first);

    team = NULL;
    if (rank > 0 && first != status && err->code && told >= 0) { /* the first process lacks this error */
        char text[4096];
        dprintf(told, "process %d: %s\n", rank, ss_error_format(err, text, sizeof text));
    } else if (rank > 0 && first >= 0) {
        status = 0; /* the exit status of the first process tells the failure */
    }
    if (died) {
        fflush(NULL);
        _exit(status);
    }
    return status;
}
