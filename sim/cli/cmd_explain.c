/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_explain(struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);
    struct ss_explanation *x = calloc(1, sizeof *x);
    struct ss_run run = {0};
    int rc =
        x ? ss_run_words_finish(&flags->options.how, flags->in.scenario, cli_files(), err) : SS_ERR_NOMEM;

    SS_THEN(rc, cli_bands(flags, err));
    SS_THEN(rc, ss_run_weighed(flags->in.scenario, &flags->options.how.options, &run, err));
    SS_THEN(rc, ss_explain(&run, &flags->options.how.options, x, err));
    CLI_WRITE(rc, flags->output, ss_explanation_write(x, &run, &view, stream, err), err);
    if (!rc && !run.result->fits)
        rc = ss_status_exit(SS_ERR_OOM);
    ss_run_free(&run);
    free(x);
    return rc;
}
