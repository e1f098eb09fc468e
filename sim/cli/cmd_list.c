/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_list(int argc, char **argv, struct ss_error *err)
{
    int n, rc;
    struct cli_flags flags;

    cli_flags_init(&flags, CLI_LIST);
    rc = cli_words(&flags, argc, argv, &n, err);
    if (!rc && n > 1)
        rc = cli_usage(err, "", "list takes one word at most");
    const struct ss_display view = cli_view(&flags);
    SS_THEN(rc, ss_report_list(n ? argv[0] : NULL, &view, stdout, err));
    return rc;
}
