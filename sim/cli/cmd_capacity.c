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

typedef int writer(const struct ss_capacity *plan, double width, FILE *out, struct ss_error *err);

/* Writes a text or table, or by `draw` a picture or page. */
static int write_file(const struct ss_capacity *c, const struct cli_flags *flags, const char *path,
                      enum ss_capacity_form form, writer *draw, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    struct cli_output out;

    SS_TRY(cli_output_begin(path, &out, err));
    int rc = draw ? draw(c, flags->pictures.width, out.stream, err)
                  : ss_capacity_write(c, form, &view, out.stream, err);
    return cli_output_end(&out, rc, err);
}

static int write_all(const struct ss_capacity *c, const struct cli_flags *flags, struct ss_error *err)
{
    int rc = flags->csv[0] ? write_file(c, flags, flags->csv, SS_CAPACITY_CSV, NULL, err) : SS_OK;

    if (!rc && flags->sweep.report[0])
        rc = write_file(c, flags, flags->sweep.report, 0, ss_capacity_write_page, err);
    if (!rc && flags->svg[0])
        rc = write_file(c, flags, flags->svg, 0, ss_capacity_write_svg, err);
    SS_THEN(rc, write_file(c, flags, flags->output, flags->json ? SS_CAPACITY_JSON : SS_CAPACITY_TEXT, NULL,
                           err));
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
