/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/cli.h"

/* Refuses a --vary of an option of the program, because the library knows only flags of jobs. */
static int check_vary(const char *text, struct ss_error *err)
{
    const struct ss_option *o;
    char name[64];

    snprintf(name, sizeof name, "%s%.*s", strncmp(text, "--", 2) == 0 ? "" : "--", (int)strcspn(text, "="),
             text);
    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (!strcmp(o->name, name) && !ss_flag_known(name))
            return cli_usage(err, "vary what the job is, or set=PROP=VALUE",
                             "--vary %s: this is no flag of the job", name);
    return SS_OK;
}

int cli_vary_read(struct ss_sweep *vary, const struct cli_flags *flags, struct ss_error *err)
{
    for (int i = 0; i < flags->options.vary.n; i++) {
        SS_TRY(check_vary(flags->options.vary.text[i], err));
        SS_TRY(ss_sweep_vary(vary, flags->options.vary.text[i], err));
    }
    return SS_OK;
}

static int predict_all(struct ss_sweep *s, const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    const struct ss_run_options run = {.engine = flags->options.how.options.engine};
    const struct ss_sweep_options options = {
        .how = &how, .run = &run, .workers = cli_workers(flags), .progress = cli_watch_show};

    cli_watch_begin("predicting", options.workers.journal);
    int rc = ss_sweep_run(s, &flags->request, &options, SS_SWEEP_MOST, err);
    cli_watch_end();
    return rc;
}

static int arrange(struct ss_sweep *s, const struct cli_flags *flags, const struct ss_sweep_order *order,
                   struct ss_error *err)
{
    s->top = flags->sweep.top;
    return ss_sweep_arrange(s, flags->sweep.sort ? order : NULL, flags->sweep.fits, err);
}

static int write_all(const struct ss_sweep *s, const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    const double width = flags->pictures.width;
    int rc = SS_OK;

    if (flags->csv[0])
        CLI_WRITE(rc, flags->csv, ss_sweep_write_csv(s, stream, err), err);
    if (flags->svg[0])
        CLI_WRITE(rc, flags->svg, ss_sweep_write_svg(s, width, stream, err), err);
    if (flags->sweep.report[0])
        CLI_WRITE(rc, flags->sweep.report, ss_sweep_write_page(s, &flags->request, width, stream, err), err);
    CLI_WRITE(rc, flags->output, ss_sweep_write(s, &view, stream, err), err);
    return rc;
}

static int sweep(struct ss_sweep *s, struct cli_flags *flags, struct ss_error *err)
{
    struct ss_request *base = &flags->request;
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes};
    struct ss_sweep_order order;
    struct ss_notes warnings = {0};

    SS_TRY(ss_request_check_known(base, err));
    SS_TRY(cli_vary_read(s, flags, err));
    SS_TRY(ss_sweep_open(s, base, err));
    SS_TRY(ss_sweep_check(s, base, err));
    SS_TRY(flags->sweep.sort ? ss_sweep_order_read(flags->sweep.sort, &order, err) : SS_OK);
    SS_TRY(predict_all(s, flags, err));
    SS_TRY(arrange(s, flags, &order, err));
    int rc = ss_sweep_warnings(s, base, &how, &warnings, err);
    s->warnings = &warnings;
    SS_THEN(rc, write_all(s, flags, err));
    s->warnings = NULL;
    ss_notes_free(&warnings);
    return rc ? rc : ss_sweep_status(s);
}

int cmd_sweep(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_sweep *s = calloc(1, sizeof *s);
    int rc = s ? sweep(s, flags, err) : SS_ERR_NOMEM;

    if (s)
        free(s->rows);
    free(s);
    return rc;
}
