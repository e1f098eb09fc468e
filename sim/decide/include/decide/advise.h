/* SPDX-License-Identifier: Apache-2.0 */
/* Finds changes of a job that make it faster. */
#pragma once

#include "stepsim/explain.h"

/* Fills in the changes that help in *out, whose `side` is that of a run of the job at `level` already. level -1: the job is run here, too,
 * beside its changes; `side` has a name, and about the seconds. `aim` is an ss_change_aim: all changes for time, or those beside the layout.
 * Errors: those of ss_explain. */
int ss_advise(const struct ss_scenario *s, int level, const struct ss_run_options *options, int aim,
              struct ss_explanation *out, struct ss_error *err);
/* The same in steps, for who has other work before it. The advisor's crew has an `ahead`: its changes may be tried before they are asked
 * for. Scenario, options and *out must stay until it is closed. */
struct ss_advisor;
struct ss_crew;
int ss_advisor_open(const struct ss_scenario *s, int level, const struct ss_run_options *options, int aim,
                    struct ss_explanation *out, struct ss_advisor **advisor, struct ss_error *err);
struct ss_crew *ss_advisor_crew(const struct ss_advisor *advisor);
int ss_advisor_run(struct ss_advisor *advisor, struct ss_error *err);
/* NULL is allowed. */
void ss_advisor_close(struct ss_advisor *advisor);
/* Writes a number of changes, each with its time and memory. */
void ss_advice_text(const struct ss_explanation *x, FILE *out);
/* Returns the changes as an array, and what several of them do together. */
struct ss_json *ss_advice_array(const struct ss_explanation *x);
struct ss_json *ss_advice_together(const struct ss_explanation *x);
