/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: --gantt, --trace, --memory, --report, and the options that change them. */
#include <unistd.h>

#include "cli/cli.h"

static int draw(const struct cli_flags *flags, const struct ss_program *program,
                const struct ss_timeline *timeline, struct ss_picture_request *request, struct ss_error *err)
{
    int shown = cli_terminal(STDERR_FILENO), rc;

    request->window_start = flags->pictures.window[0];
    request->window_end = flags->pictures.window[1];
    request->whole = flags->pictures.whole;
    request->width = flags->pictures.width;
    request->color = flags->pictures.color;
    request->progress = shown ? cli_progress : NULL;
    request->progress_ctx = "drawing";
    rc = ss_pictures_draw(program, timeline, flags->how.options.engine, request, err);
    if (shown)
        cli_progress_end();
    return rc;
}

int cli_pictures_draw(struct cli_drawn *drawn, const struct cli_flags *flags,
                      const struct ss_program *program, const struct ss_timeline *timeline,
                      const struct ss_run *run, const struct ss_card_steps *steps,
                      const struct ss_report_options *report, struct ss_error *err)
{
    struct ss_picture_request request = {.run = run, .steps = steps, .options = report};
    FILE **const streams[] = {&request.gantt,  &request.trace,  &request.memory,
                              &request.report, &request.kineto, &request.card};
    int wanted = 0, rc = SS_OK;

    memset(drawn, 0, sizeof *drawn);
    for (int i = 0; !rc && i < CLI_NPICTURES; i++)
        if (flags->pictures.path[i][0]) {
            rc = cli_output_begin(flags->pictures.path[i], &drawn->file[i], err);
            *streams[i] = drawn->file[i].stream;
            wanted = 1;
        }
    if (!rc && wanted)
        rc = draw(flags, program, timeline, &request, err);
    return rc ? cli_pictures_end(drawn, rc, err) : SS_OK;
}

int cli_pictures_end(struct cli_drawn *drawn, int rc, struct ss_error *err)
{
    for (int i = 0; i < CLI_NPICTURES; i++) {
        if (drawn->file[i].output)
            rc = cli_output_end(&drawn->file[i], rc, err);
        drawn->file[i].output = NULL;
    }
    return rc;
}
