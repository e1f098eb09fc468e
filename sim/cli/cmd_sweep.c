/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define MAX_ROWS 4096

/* --vary of an option of the program, which the library does not know. */
static int check_vary(const char *text, struct ss_error *err)
{
    const struct cli_option *o;
    char name[64];

    snprintf(name, sizeof name, "%s%.*s", strncmp(text, "--", 2) == 0 ? "" : "--", (int)strcspn(text, "="),
             text);
    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (!strcmp(o->name, name) && !ss_flag_known(name))
            return cli_usage(err, "vary what the job is, or set=PROP=VALUE",
                             "--vary %s: this is no flag of the job", name);
    return SS_OK;
}

int cli_vary_read(struct ss_sweep *vary, const char *text, struct ss_error *err)
{
    int rc = check_vary(text, err);

    return rc ? rc : ss_sweep_vary(vary, text, err);
}

static int read_varied(struct ss_sweep *s, const struct cli_texts *vary, struct ss_error *err)
{
    int rc = SS_OK;

    for (int i = 0; i < vary->n && !rc; i++)
        rc = cli_vary_read(s, vary->text[i], err);
    return rc || s->nflags ? rc : cli_usage(err, "write --vary nodes=8,16", "nothing to vary");
}

static void show(void *ctx, int done, int all)
{
    cli_meter_show(ctx, done, all);
}

static int predict_all(struct ss_sweep *s, const struct ss_request *base, const struct cli_flags *flags,
                       struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    const struct ss_run_options run = {.engine = flags->engine};
    struct cli_meter meter = {.what = "predicting"};
    int shown = isatty(STDERR_FILENO);
    const struct ss_sweep_options options = {.how = &how,
                                             .run = &run,
                                             .workers = cli_workers(flags),
                                             .progress = shown ? show : NULL,
                                             .ctx = &meter};
    int rc = ss_sweep_run(s, base, &options, MAX_ROWS, err);

    if (shown)
        cli_progress_end();
    return rc;
}

int cmd_sweep(int argc, char **argv, struct ss_error *err)
{
    struct ss_sweep *s = calloc(1, sizeof *s);
    struct ss_request base;
    struct cli_flags flags;
    struct ss_output *output;
    FILE *stream;
    int rc;

    cli_flags_init(&flags, CLI_SWEEP);
    ss_request_init(&base);
    rc = s ? cli_request_read(&base, NULL, &flags, argc, argv, err) : SS_ERR_NOMEM;
    if (!rc)
        rc = read_varied(s, &flags.vary, err);
    if (!rc)
        rc = ss_sweep_check(s, &base, err);
    if (!rc)
        rc = predict_all(s, &base, &flags, err);
    if (!rc && flags.csv[0])
        rc = cli_output_begin(flags.csv, &output, &stream, err);
    if (!rc && flags.csv[0])
        rc = cli_output_end(output, ss_sweep_write_csv(s, stream, err), err);
    if (!rc)
        rc = cli_output_begin(flags.output, &output, &stream, err);
    if (!rc)
        rc = cli_output_end(output, ss_sweep_write(s, flags.json, stream, err), err);
    int status = rc || ss_sweep_count(s, SS_OUTCOME_FITS) + ss_sweep_count(s, SS_OUTCOME_NEAR_LIMIT) > 0 ? 0
                 : ss_sweep_count(s, SS_OUTCOME_REFUSED) == s->nrows ? ss_status_exit(SS_ERR_CONFIG)
                                                                     : ss_status_exit(SS_ERR_OOM);
    if (s)
        free(s->rows);
    free(s);
    ss_request_free(&base);
    cli_flags_free(&flags);
    return rc ? rc : status;
}
