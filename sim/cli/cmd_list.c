/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"

const char cli_help_list[] =
    "usage: stepsim list [models|platforms|stacks|schedules|props] [--json]\n"
    "\n"
    "Names that --model, --platform, --stack and --schedule know. Each of them takes a path to a\n"
    "file of the same kind as well.\n"
    "\n"
    "example:\n"
    "  stepsim list models\n";

int cmd_list(int argc, char **argv)
{
    int json = cli_has_word(argc, argv, "--json"), n, rc;
    struct ss_error err = {0};
    struct cli_flags flags;

    cli_flags_init(&flags, CLI_LIST);
    rc = cli_words(&flags, argc, argv, &n, &err);
    if (!rc && n > 1)
        rc = cli_usage(&err, "", "list takes one word at most");
    if (!rc)
        rc = ss_report_list(n ? argv[0] : NULL, flags.json, stdout, &err);
    return rc ? cli_fail(&err, json) : 0;
}
