/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* Turns --price into a --set of the platform. */
static int set_price(struct cli_flags *flags, struct ss_error *err)
{
    char price[64], text[80];

    if (!cli_given(flags, "--price"))
        return SS_OK;
    snprintf(text, sizeof text, "ss.price=%s",
             ss_unit_format(flags->price, SS_UNIT_PRICE, price, sizeof price));
    return ss_request_set(&flags->request, "--set", text, err);
}

static int plan(struct cli_flags *flags, const struct ss_sweep *vary, struct ss_capacity **out,
                struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    struct ss_run_options run = {.engine = SS_ENGINE_NATIVE, .unchecked = 1};
    struct ss_capacity_options o = flags->options.capacity;

    o.vary = vary;
    o.how = &how;
    o.run = &run;
    o.workers = cli_workers(flags);
    o.progress = cli_watch_show;
    SS_TRY(ss_request_check_known(&flags->request, err));
    SS_TRY(cli_bands(flags, err));
    run.bands = flags->bands;
    cli_watch_begin("planning", o.workers.journal);
    int rc = ss_capacity_run(&flags->request, &o, out, err);
    cli_watch_end();
    return rc;
}

static int write_all(const struct ss_capacity *c, const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    const double width = flags->pictures.width;
    const enum ss_capacity_form form = flags->json ? SS_CAPACITY_JSON : SS_CAPACITY_TEXT;
    int rc = SS_OK;

    if (flags->csv[0])
        CLI_WRITE(rc, flags->csv, ss_capacity_write(c, SS_CAPACITY_CSV, &view, stream, err), err);
    if (flags->sweep.report[0])
        CLI_WRITE(rc, flags->sweep.report, ss_capacity_write_page(c, width, stream, err), err);
    if (flags->svg[0])
        CLI_WRITE(rc, flags->svg, ss_capacity_write_svg(c, width, stream, err), err);
    CLI_WRITE(rc, flags->output, ss_capacity_write(c, form, &view, stream, err), err);
    return rc;
}

int cmd_capacity(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_capacity *c = NULL;
    struct ss_sweep *vary = calloc(1, sizeof *vary);
    int rc = vary ? cli_vary_read(vary, flags, err) : SS_ERR_NOMEM;

    SS_THEN(rc, set_price(flags, err));
    SS_THEN(rc, plan(flags, vary, &c, err));
    SS_THEN(rc, write_all(c, flags, err));
    if (!rc && !ss_capacity_is_answered(c))
        rc = ss_status_exit(SS_ERR_OOM);
    ss_capacity_free(c);
    free(vary);
    return rc;
}
