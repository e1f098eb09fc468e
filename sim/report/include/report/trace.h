/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/bins.h"
#include "stepsim/pictures.h"

/* Writes trace events as they come. Its memory grows with classes, channels and links, not with the
 * length of the run. `plan` is the plan that the program was lowered from, which knows the kernels;
 * NULL: there is none. */
struct ss_trace;
int ss_trace_begin(const struct ss_program *p, const struct ss_plan *plan, double window_start,
                   double window_end, FILE *out, struct ss_trace **trace, struct ss_observer *observer);
/* Closes the events that are open and adds the load of the links. */
void ss_trace_end(struct ss_trace *t, const struct ss_bins *bins, double makespan);
/* Returns 1 if memory ran out while events were written. */
int ss_trace_failed(const struct ss_trace *t);
void ss_trace_free(struct ss_trace *t);
