/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static int report(const struct ss_run *run, const struct cli_inputs *in, const struct cli_flags *flags,
                  struct ss_error *err)
{
    const struct ss_files files = {.n = in->nfiles, .path = cli_files()->path};
    struct ss_report_options opt = ss_report_of(in->scenario);
    struct ss_output *output;
    FILE *stream;
    opt.json = flags->json;
    opt.width = cli_view(flags).width;
    opt.how = &in->how;
    opt.files = &files;
    int rc = cli_output_begin(flags->output, &output, &stream, err);

    if (rc)
        return rc;
    if (cli_given(flags, "--steps"))
        rc = ss_report_steps(run->plan, flags->stage, stream, err);
    else
        rc = ss_report_plan(run, &opt, stream, err);
    return cli_output_end(output, rc, err);
}

int cmd_plan(int argc, char **argv, struct ss_error *err)
{
    int rc;
    struct cli_flags flags;
    struct cli_inputs in;
    struct ss_bands *bands = NULL;
    struct ss_run run;

    cli_flags_init(&flags, CLI_PLAN);
    SS_TRY(cli_inputs_load(&in, &flags, argc, argv, err));
    rc = ss_bands_load(NULL, cli_files(), &bands, err);
    if (!rc) {
        const struct ss_run_options options = {.engine = flags.how.options.engine,
                                               .bands = bands,
                                               .open_compute = !flags.json && !cli_given(&flags, "--steps"),
                                               .plan.level = cli_given(&flags, "--steps") ? SS_LEVEL_LAYER
                                                                                          : SS_LEVEL_CHUNK};
        rc = ss_run_scenario(in.scenario, &options, &run, err);
    }
    if (!rc) {
        rc = report(&run, &in, &flags, err);
        ss_run_free(&run);
    }
    ss_bands_free(bands);
    cli_inputs_free(&in);
    return rc;
}
