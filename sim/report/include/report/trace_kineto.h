/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/pictures.h"

/* Writes a trace with the names, categories and streams of a Kineto trace (docs/reference/formats.md,
 * "Traces"). The functions are called as those of report/trace.h. */
struct ss_kineto_trace;
int ss_kineto_trace_begin(const struct ss_program *p, const struct ss_plan *plan, double window_start,
                          double window_end, FILE *out, struct ss_kineto_trace **trace,
                          struct ss_observer *observer);
void ss_kineto_trace_end(struct ss_kineto_trace *t, double makespan);
void ss_kineto_trace_free(struct ss_kineto_trace *t);
