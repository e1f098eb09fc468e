/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/cli.h"

#define MOST_CLUSTERS 64

/* Reads what is varied, and counts the clusters. */
static int read_varied(struct ss_sweep *vary, struct cli_flags *flags, struct ss_error *err)
{
    SS_TRY(ss_request_check_known(&flags->request, err));
    SS_TRY(cli_vary_read(vary, flags, err));
    SS_TRY(ss_sweep_open(vary, &flags->request, err));
    if (vary->nflags && !ss_find_clusters(vary, MOST_CLUSTERS))
        return cli_usage(err, "vary fewer values of what is no layout", "more than %d clusters",
                         MOST_CLUSTERS);
    return SS_OK;
}

static void show(void *ctx, int64_t done, int64_t all)
{
    cli_watch_show(ctx, (int)done, (int)all);
}

static void note_best(void *ctx, const struct ss_find_group *group, const struct ss_find_point *p)
{
    char text[sizeof group->flags + sizeof p->flags + 32];

    (void)ctx;
    snprintf(text, sizeof text, "%.4g s by %s%s%s", p->summary.iteration_s, group->flags,
             group->flags[0] ? " " : "", p->flags);
    cli_watch_best(text);
}

static int search(struct cli_flags *flags, const struct ss_sweep *vary, struct ss_find_result **out,
                  struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = cli_files()};

    SS_TRY(cli_bands(flags, err));
    const struct ss_run_options run = {.engine = SS_ENGINE_NATIVE, .bands = flags->bands};
    const struct ss_find_options options = {
        .vary = vary,
        .how = &how,
        .run = &run,
        .workers = cli_workers(flags),
        .axes = flags->options.axes,
        .exhaustive = flags->options.exhaustive,
        .brief = !flags->json && !flags->csv[0] && !flags->sweep.report[0],
        .confirm = !flags->options.unconfirmed && ss_engine_is_built(SS_ENGINE_SIMGRID),
        .progress = show,
        .better = note_best};
    cli_watch_begin("searching", options.workers.journal);
    int rc = ss_find_run(&flags->request, &options, out, err);
    cli_watch_end();
    return rc;
}

static int report(const struct ss_find_result *found, const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    const double width = flags->pictures.width;
    int rc = SS_OK;

    if (flags->csv[0])
        CLI_WRITE(rc, flags->csv, ss_find_write_csv(found, stream, err), err);
    if (flags->svg[0])
        CLI_WRITE(rc, flags->svg, ss_find_write_svg(found, width, stream, err), err);
    if (flags->sweep.report[0])
        CLI_WRITE(rc, flags->sweep.report, ss_find_write_page(found, width, stream, err), err);
    CLI_WRITE(rc, flags->output, ss_find_write(found, &view, flags->top ? flags->top : 5, stream, err), err);
    return rc;
}

int cmd_search(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_sweep *vary = calloc(1, sizeof *vary);
    struct ss_find_result *found = NULL;
    int rc = vary ? read_varied(vary, flags, err) : SS_ERR_NOMEM;

    SS_THEN(rc, search(flags, vary, &found, err));
    SS_THEN(rc, report(found, flags, err));
    SS_THEN(rc, ss_find_status(found));
    ss_find_free(found);
    free(vary);
    return rc;
}
