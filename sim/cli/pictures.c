/* SPDX-License-Identifier: Apache-2.0 */
/* --gantt, --trace, --memory, --report and what goes with them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const options[] = {"--gantt", "--trace", "--memory", "--report"};

/* "1.5s", "20ms", "3us", "0.5": seconds; *end is what follows. -1: no time. */
static double parse_time(const char *text, const char **end)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}};
    char *rest;
    double value = strtod(text, &rest);

    *end = rest;
    if (rest == text || !isfinite(value) || value < 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if (!strncmp(rest, units[i].name, strlen(units[i].name))) {
            *end = rest + strlen(units[i].name);
            return value * units[i].seconds;
        }
    return value;
}

static int set_window(struct cli_pictures *p, const char *value, struct ss_error *err)
{
    const char *rest;
    double from = parse_time(value, &rest), to = *rest == ':' ? parse_time(rest + 1, &rest) : -1;

    if (from < 0 || to <= from || *rest)
        return cli_usage(err, "write it as --window 0s:2s or --window 150ms:200ms",
                         "--window %s: not FROM:TO", value);
    if (to - from < 1e-9 * to) /* too narrow for the figures of an axis */
        return cli_usage(err, "take a wider one", "--window %s is narrower than a billionth of its end",
                         value);
    p->window[0] = from;
    p->window[1] = to;
    return SS_OK;
}

static int set_color(struct cli_pictures *p, const char *value, struct ss_error *err)
{
    if (strcmp(value, "phase") != 0 && strcmp(value, "microbatch") != 0)
        return cli_usage(err, "choose phase or microbatch", "--color-by %s: no such colouring", value);
    p->color = value[0] == 'p' ? SS_COLOR_PHASE : SS_COLOR_MICROBATCH;
    return SS_OK;
}

int cli_picture_set(struct cli_pictures *p, const char *name, const char *value, struct ss_error *err)
{
    int at = 0;

    if (!strcmp(name, "--window"))
        return set_window(p, value, err);
    if (!strcmp(name, "--color-by"))
        return set_color(p, value, err);
    while (at < CLI_NPICTURES - 1 && strcmp(options[at], name) != 0)
        at++;
    if (!value[0] || !strcmp(value, "-"))
        return cli_usage(err, "stdout has the answer", "%s needs the name of a file", name);
    if (strlen(value) >= sizeof p->path[at])
        return cli_usage(err, "", "the path after %s is too long", name);
    strcpy(p->path[at], value);
    return SS_OK;
}

static int check(const struct cli_flags *flags, struct ss_error *err)
{
    const struct cli_pictures *p = &flags->pictures;
    int wanted = 0;

    for (int i = 0; i < CLI_NPICTURES; i++) {
        wanted |= p->path[i][0];
        for (int k = 0; k < i; k++)
            if (ss_output_same(p->path[i], p->path[k]))
                return cli_usage(err, "give each a name of its own", "%s and %s write the same file",
                                 options[k], options[i]);
        if (ss_output_same(p->path[i], flags->output))
            return cli_usage(err, "give each a name of its own", "%s and --output write the same file",
                             options[i]);
    }
    if (!wanted && p->window[1] > 0)
        return cli_usage(err, "add --gantt, --trace, --memory or --report", "--window without a picture");
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
