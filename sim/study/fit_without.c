/* SPDX-License-Identifier: Apache-2.0 */
/* In place of fit.c where the build has no cminpack (SS_CMINPACK=OFF). */
#include "base/base.h"
#include "study/fit.h"

int ss_fit_solve(const struct ss_fit_problem *p, double *x, struct ss_fit_answer *answer,
                 struct ss_error *err)
{
    (void)p, (void)x, (void)answer;
    return ss_fail(
        err, SS_ERR_UNSUPPORTED, NULL, 0,
        "this stepsim is built without cminpack, which fits numbers" SS_HINT
        "the Debian packages, the wheel and the static program have it, and so has \"sh setup.sh build\"");
}
