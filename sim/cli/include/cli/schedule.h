/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of "stepsim schedule" share. Functions return 0 or a negative SS_ERR_*. */
#ifndef SS_CLI_SCHEDULE_H
#define SS_CLI_SCHEDULE_H

#include "cli/cli.h"

/* Whether an option of one of these names is among the words. */
int cli_schedule_is_among(int argc, char *const *argv, const char *const *names, size_t n);
/* --platform or --job: of two forms of a verb the one with a job. */
int cli_schedule_has_job(int argc, char *const *argv);
/* Refuses --schedule on the command line; that of a job file is what the answer is measured against. */
int cli_schedule_no_order(int argc, char *const *argv, struct ss_error *err);
void cli_schedule_init(struct cli_flags *f, int verb);
/* n numbers, at *at, which is moved behind them. */
int cli_schedule_numbers(const char *option, const char **at, int n, double *out, struct ss_error *err);
int cli_schedule_need_shape(const struct cli_flags *f, struct ss_error *err);
/* The order as a file: --output, in the form that was asked for. */
int cli_schedule_write(const struct cli_flags *f, const struct ss_schedule *s, struct ss_error *err);
/* Makes the listener that shows a study's progress on a terminal by rewriting the meter's line; and ends that
 * line. */
struct ss_study_progress cli_schedule_progress(struct cli_meter *m);
void cli_schedule_progress_end(const struct cli_meter *m);
/* Opens the picture; the answer goes elsewhere. */
int cli_schedule_picture(const struct cli_flags *f, struct ss_output **output, FILE **out,
                         struct ss_error *err);

#endif
