/* SPDX-License-Identifier: Apache-2.0 */
/* In place of sandbox.c and what it alone calls where the build has no sandbox of Linux (SS_SANDBOX=OFF). */
#include "base/base.h"
#include "import/sandbox.h"

int ss_sandbox_run(const struct ss_sandbox *box, struct ss_calls *calls, struct ss_error *err)
{
    (void)box, (void)calls;
    return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                   "this stepsim runs no script" SS_HINT
                   "give the flags of the job, or use a stepsim that is built for Linux");
}
