/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_list(struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_display view = cli_view(flags);

    if (flags->n > 1)
        return cli_usage(err, "", "list takes one word at most");
    return ss_report_list(flags->n ? flags->words[0] : NULL, &view, stdout, err);
}
