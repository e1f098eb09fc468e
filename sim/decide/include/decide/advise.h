/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that help a job. */
#ifndef SS_DECIDE_ADVISE_H
#define SS_DECIDE_ADVISE_H

#include "stepsim/explain.h"

/* Fills what changes help in *out, whose side is that of the run. Errors: as ss_explain. */
int ss_advise(const struct ss_run *run, const struct ss_run_options *options, struct ss_explanation *out,
              struct ss_error *err);

#endif
