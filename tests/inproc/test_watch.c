/* SPDX-License-Identifier: Apache-2.0 */
/* What an interrupt of long work says: that answers are kept only where the journal has one behind its head. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

/* Interrupts work that has this journal, and compares what is said. Returns 1 where it is something else. */
static int says(const char *journal, const char *want)
{
    char said[2048];
    size_t used = 0;
    int ends[2], status;

    if (pipe(ends))
        return 1;
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        cli_watch_begin("searching", journal);
        raise(SIGINT);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t n; used < sizeof said - 1 && (n = read(ends[0], said + used, sizeof said - 1 - used)) > 0;)
        used += (size_t)n;
    said[used] = '\0';
    close(ends[0]);
    if (waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT &&
        !strcmp(said, want))
        return 0;
    printf("'%s' instead of '%s'\n", said, want);
    return 1;
}

int main(void)
{
    char path[] = "/tmp/stepsim-watch-XXXXXX", kept[200];
    int fd = mkstemp(path), bad = fd < 0;

    bad |= says(NULL, "interrupted; nothing is kept: --journal FILE keeps it\n");
    bad |= says("", "interrupted; nothing is kept\n");
    bad |= says("/nonexistent/journal", "interrupted; nothing is kept yet\n");
    bad |= says(path, "interrupted; nothing is kept yet\n");
    bad |= dprintf(fd, "stepsim journal 1\n") < 0 || says(path, "interrupted; nothing is kept yet\n");
    snprintf(kept, sizeof kept, "interrupted; kept in %s: the same command with --resume goes on\n", path);
    bad |= dprintf(fd, "7 00 1234\n") < 0 || says(path, kept);
    close(fd);
    unlink(path);
    return bad;
}
