/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_doctor(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_doctor doctor;

    if (flags->n)
        return cli_usage(err, "", "doctor takes no words");
    ss_doctor_run(&doctor);
    SS_TRY(ss_doctor_write(&doctor, flags->json, stdout, err));
    return doctor.healthy ? 0 : 1;
}
