/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of "stepsim schedule" share. Functions return 0 or a negative SS_ERR_*. */
#pragma once

#include "cli/cli.h"

/* Returns 1 if one of the words is an option of one of these names. */
int cli_schedule_is_among(int argc, char *const *argv, const char *const *names, size_t n);
/* Returns 1 if the words have --platform or --job: they ask for the form of the verb that takes a job. */
int cli_schedule_has_job(int argc, char *const *argv);
/* Loads the job of the words, and refuses --schedule among them. A schedule that stands in a job file is allowed: the answer is compared
 * with it. */
int cli_schedule_load_job(struct cli_flags *f, struct ss_error *err);
/* Reads n numbers from *at on, and moves *at behind them. */
int cli_schedule_numbers(const char *option, const char **at, int n, double *out, struct ss_error *err);
int cli_schedule_need_shape(const struct cli_flags *f, struct ss_error *err);
/* Writes the order to the file of --output, in the form that the flags ask for. */
int cli_schedule_write(const struct cli_flags *f, const struct ss_schedule *s, struct ss_error *err);
/* The first makes a listener that shows the progress of a study as the meter's line on a terminal. The
 * second ends the line. */
struct ss_study_progress cli_schedule_progress(struct cli_meter *m);
void cli_schedule_progress_end(const struct cli_meter *m);
