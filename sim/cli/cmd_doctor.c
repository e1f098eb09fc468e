/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_doctor(int argc, char **argv, struct ss_error *err)
{
    struct ss_doctor doctor;
    struct cli_flags flags;
    int n;

    cli_flags_init(&flags, CLI_DOCTOR);
    int rc = cli_words(&flags, argc, argv, &n, err);
    if (!rc && n)
        rc = cli_usage(err, "", "doctor takes no words");
    if (rc)
        return rc;
    ss_doctor_run(&doctor);
    rc = ss_doctor_write(&doctor, flags.json, stdout, err);
    return rc ? rc : doctor.healthy ? 0 : 1;
}
