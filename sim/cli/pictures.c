/* SPDX-License-Identifier: Apache-2.0 */
/* --gantt, --trace, --memory, --report and what goes with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* in the order of enum cli_picture */
static const char *const options[] = {"--gantt", "--trace", "--memory", "--report"};

static int check(const struct cli_flags *flags, struct ss_error *err)
{
    const struct cli_pictures *p = &flags->pictures;

    for (int i = 0; i < CLI_NPICTURES; i++) {
        for (int k = 0; k < i; k++)
            if (ss_output_same(p->path[i], p->path[k]))
                return cli_usage(err, "give each a name of its own", "%s and %s write the same file",
                                 options[k], options[i]);
        if (ss_output_same(p->path[i], flags->output))
            return cli_usage(err, "give each a name of its own", "%s and --output write the same file",
                             options[i]);
    }
    return SS_OK;
}

/* A picture is a stream to who draws it; what it is called is known here. */
static void name_failed(const struct cli_flags *flags, FILE **const *streams, struct ss_error *err)
{
    for (int i = 0; i < CLI_NPICTURES; i++)
        if (flags->pictures.path[i][0] && ferror(*streams[i]) && !err->file[0]) {
            snprintf(err->file, sizeof err->file, "%s", flags->pictures.path[i]);
            snprintf(err->hint, sizeof err->hint, "is there room on the disk?");
        }
}

static int draw(const struct cli_flags *flags, const struct ss_program *program,
                const struct ss_timeline *timeline, struct ss_picture_request *request, struct ss_error *err)
{
    int shown = isatty(STDERR_FILENO), rc;

    request->window_start = flags->pictures.window[0];
    request->window_end = flags->pictures.window[1];
    request->color = flags->pictures.color;
    request->progress = shown ? cli_progress : NULL;
    request->progress_ctx = "drawing";
    rc = ss_pictures_draw(program, timeline, flags->engine, request, err);
    if (shown)
        cli_progress_end();
    return rc;
}

/* What a picture of before begins with, so that no file of another kind is overwritten. */
static const char *begins_with(int picture, const char *path)
{
    static const char *const starts[] = {"<svg", "{", "<svg", "<!doctype html>"};
    size_t n = strlen(path);

    return n > 3 && !strcmp(path + n - 3, ".gz") ? "\x1f\x8b" : starts[picture];
}

int cli_pictures_make(const struct cli_flags *flags, const struct ss_program *program,
                      const struct ss_timeline *timeline, const struct ss_run *run,
                      const struct ss_report_options *report, struct ss_error *err)
{
    struct ss_picture_request request = {.run = run, .options = report};
    FILE **const streams[] = {&request.gantt, &request.trace, &request.memory, &request.report};
    struct ss_output *outputs[CLI_NPICTURES] = {NULL};
    int wanted = 0, rc = check(flags, err);

    for (int i = 0; !rc && i < CLI_NPICTURES; i++)
        if (flags->pictures.path[i][0]) {
            rc = cli_output_check(flags->pictures.path[i], begins_with(i, flags->pictures.path[i]), err);
            if (!rc)
                rc = cli_output_begin(flags->pictures.path[i], &outputs[i], streams[i], err);
            wanted = 1;
        }
    if (!rc && wanted) {
        rc = draw(flags, program, timeline, &request, err);
        if (rc == SS_ERR_IO)
            name_failed(flags, streams, err);
    }
    for (int i = 0; i < CLI_NPICTURES; i++) {
        if (outputs[i] && rc)
            cli_output_abort(outputs[i]);
        else if (outputs[i])
            rc = cli_output_commit(outputs[i], err);
    }
    return rc;
}
