/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static int explain(const struct ss_run *run, const struct cli_flags *flags, struct ss_error *err)
{
    struct ss_explanation *x = calloc(1, sizeof *x);
    const struct ss_display view = cli_view(flags);
    struct ss_output *output;
    FILE *stream;
    int rc = x ? ss_explain(run, &flags->how.options, x, err) : SS_ERR_NOMEM;

    SS_THEN(rc, cli_output_begin(flags->output, &output, &stream, err));
    SS_THEN(rc, cli_output_end(output, ss_explanation_write(x, run, &view, stream, err), err));
    free(x);
    return rc;
}

int cmd_explain(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags flags;
    struct cli_inputs in;
    struct ss_bands *bands = NULL;
    struct ss_run run;
    int status = 0;

    cli_flags_init(&flags, CLI_EXPLAIN);
    SS_TRY(cli_inputs_load(&in, &flags, argc, argv, err));
    int rc = ss_run_words_finish(&flags.how, in.scenario, cli_files(), err);
    SS_THEN(rc, ss_bands_load(NULL, cli_files(), &bands, err));
    flags.how.options.bands = bands;
    flags.how.options.open_compute = 1;
    SS_THEN(rc, ss_run_weighed(in.scenario, &flags.how.options, &run, err));
    if (!rc) {
        rc = explain(&run, &flags, err);
        status = run.result->fits ? 0 : ss_status_exit(SS_ERR_OOM);
        ss_run_free(&run);
    }
    ss_bands_free(bands);
    cli_inputs_free(&in);
    cli_flags_free(&flags);
    return rc ? rc : status;
}
