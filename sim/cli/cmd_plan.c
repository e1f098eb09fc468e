/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static int report(const struct ss_run *run, const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_files files = {.n = flags->in.nfiles, .path = cli_files()->path};
    struct ss_report_options opt = ss_report_of(flags->in.scenario);
    int rc = SS_OK;

    opt.json = flags->json;
    opt.width = cli_view(flags).width;
    opt.how = &flags->in.how;
    opt.files = &files;
    CLI_WRITE(rc, flags->output,
              cli_given(flags, "--steps") ? ss_report_steps(run->plan, flags->stage, stream, err)
                                          : ss_report_plan(run, &opt, stream, err),
              err);
    return rc;
}

int cmd_plan(struct cli_flags *flags, struct ss_error *err)
{
    const int steps = cli_given(flags, "--steps");
    struct ss_run run;

    SS_TRY(cli_bands(flags, err));
    const struct ss_run_options options = {.engine = flags->options.how.options.engine,
                                           .bands = flags->bands,
                                           .open_compute = !flags->json && !steps,
                                           .plan.level = steps ? SS_LEVEL_LAYER : SS_LEVEL_CHUNK};
    SS_TRY(ss_run_scenario(flags->in.scenario, &options, &run, err));
    int rc = report(&run, flags, err);
    ss_run_free(&run);
    return rc;
}
