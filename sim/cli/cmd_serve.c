/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/signalfd.h>

#include "cli/cli.h"

static void tell(void *ctx, int port)
{
    (void)ctx;
    printf("http://127.0.0.1:%d/   (Ctrl-C ends it)\n", port);
    fflush(stdout);
}

/* Opens a descriptor that becomes readable when somebody interrupts the program. Threads that are made
 * later inherit that signals go there. */
static int watch_signals(struct ss_error *err)
{
    sigset_t end;
    int fd;

    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGHUP);
    sigprocmask(SIG_BLOCK, &end, NULL);
    signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &end, SFD_CLOEXEC);
    if (fd >= 0)
        return fd;
    snprintf(err->message, sizeof err->message, "no signals can be watched");
    return err->code = SS_ERR_IO;
}

/* Checks, before the page is up, that the words of its first job make a job. */
static int check(const struct ss_request *start, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    struct ss_scenario *s = NULL;
    int rc = start->n ? ss_scenario_build(start, &how, &s, err) : SS_OK;

    ss_scenario_free(s);
    return rc;
}

int cmd_serve(struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_serve_options options = {.start = &flags->request};
    struct ss_serve_place place = {.ready = tell, .port = flags->port};
    struct ss_serve *page = NULL;
    int rc = check(&flags->request, err);

    SS_THEN(rc, ss_serve_new(&options, &page, err));
    if (!rc && (place.stop = watch_signals(err)) < 0)
        rc = place.stop;
    SS_THEN(rc, ss_serve_run(page, &place, err));
    ss_serve_free(page);
    return rc;
}
