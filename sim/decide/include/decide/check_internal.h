/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of check share. */
#pragma once

#include "report/row.h"
#include "stepsim/check.h"

/* Returns how the log counts FLOP (enum ss_flop_count, never SS_COUNT_STACK). `logger` is of enum
 * ss_logger. */
int ss_check_count_of(const struct ss_summary *u, int logger);
/* Returns the predicted figure of a run that `told` names (enum ss_told). FLOP are counted by `count`. */
double ss_check_predicted(const struct ss_run *run, int told, int count);
/* Returns how many seconds an iteration of the job takes if a measured figure is right. */
double ss_check_seconds(const struct ss_run *run, int told, int count, double measured);
/* Returns 1 if a time of `seconds` is inside the job's band, moved to another predicted time. */
int ss_check_holds(const struct ss_checked *c, double predicted_s, double seconds);

/* Adds the verdict and its figures to an empty row. */
void ss_check_row(const struct ss_checked *c, struct ss_row *r);

/* Fills the suspects of a check without a verdict: other meanings of the first figure, by which the run would be as predicted. */
void ss_check_reread(const struct ss_run *run, struct ss_checked *c);
/* Fills the suspects of a check whose verdict is slower or faster. */
int ss_check_suspects(const struct ss_run *run, const struct ss_run_options *options, struct ss_checked *c,
                      struct ss_error *err);
