/* SPDX-License-Identifier: Apache-2.0 */
/* Finds changes of a job that make it faster. */
#ifndef SS_DECIDE_ADVISE_H
#define SS_DECIDE_ADVISE_H

#include "stepsim/explain.h"

/* Fills in the changes that help in *out, whose `side` is the run's already. Errors: those of ss_explain. */
int ss_advise(const struct ss_run *run, const struct ss_run_options *options, struct ss_explanation *out,
              struct ss_error *err);

#endif
