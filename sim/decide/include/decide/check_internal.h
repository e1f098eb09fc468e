/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of check share. */
#ifndef SS_DECIDE_CHECK_INTERNAL_H
#define SS_DECIDE_CHECK_INTERNAL_H

#include "report/row.h"
#include "stepsim/check.h"

/* How a stack counts FLOP in its log: enum ss_flop_count, never SS_COUNT_STACK. `logger`: enum ss_logger. */
int ss_check_count_of(const char *stack, int logger);
/* Returns FLOP by a count over those of the whole square. */
double ss_check_over_full(const struct ss_summary *u, int count);
/* Returns a predicted figure (enum ss_told) of a run; FLOP by `count`. */
double ss_check_predicted(const struct ss_run *run, int told, int count);
/* Returns seconds of an iteration that a measured figure means for the job. */
double ss_check_seconds(const struct ss_run *run, int told, int count, double measured);
/* Whether what was measured is inside the band around a predicted time. */
int ss_check_holds(const struct ss_checked *c, double predicted_s);

/* Adds the verdict and its figures to an empty row. */
void ss_check_row(const struct ss_checked *c, struct ss_row *r);

/* Fills the suspects of a check whose verdict is not SS_CHECK_AS_PREDICTED. */
int ss_check_suspects(const struct ss_run *run, const struct ss_run_options *options, struct ss_checked *c,
                      struct ss_error *err);

#endif
