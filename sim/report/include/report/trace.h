/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPORT_TRACE_H
#define SS_REPORT_TRACE_H

#include "report/bins.h"
#include "stepsim/pictures.h"
#include "stepsim/plan.h"

/* Writes trace events as they come; its room depends on classes, channels and links, not on the run's length. `plan`: what the program
 * was lowered from, which knows the kernels; NULL: none. */
struct ss_trace;
int ss_trace_begin(const struct ss_program *p, const struct ss_plan *plan, double window_start,
                   double window_end, FILE *out, struct ss_trace **trace, struct ss_observer *observer);
/* Closes what is open and adds the link load. */
void ss_trace_end(struct ss_trace *t, const struct ss_bins *bins, double makespan);
/* Out of memory on the way. */
int ss_trace_failed(const struct ss_trace *t);
void ss_trace_free(struct ss_trace *t);

#endif
