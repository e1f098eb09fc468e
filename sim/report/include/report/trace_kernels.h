/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a trace for kernels: at layer and flow level a class has a thread for each kind of kernels (enum
 * ss_part). A program knows only whole computations between collectives. The steps of the plan that it was
 * lowered from tell the kernels of each computation.
 */
#pragma once

#include "report/trace_write.h"
#include "stepsim/plan.h"
#include "stepsim/program.h"

struct ss_kernel_rows;

/* Writes the names of the rows. *rows stays NULL where no kernels are known: `plan` is NULL or of chunk
 * level. `program` was lowered from the plan, without loops. Plan, program and `w` have to live as long
 * as the rows. Returns 0 or SS_ERR_NOMEM. */
int ss_kernel_rows_begin(struct ss_trace_writer *w, const struct ss_program *program,
                         const struct ss_plan *plan, double from, double to, struct ss_kernel_rows **rows);
/* Does the same for a writer with a form of its own: `put` is called for each kernel, which runs from
 * `start` to `end`, s. */
typedef void (*ss_kernel_put)(void *ctx, int cls, int slot, const struct ss_step *step, double start,
                              double end);
int ss_kernel_rows_tell(const struct ss_program *program, const struct ss_plan *plan, ss_kernel_put put,
                        void *ctx, struct ss_kernel_rows **rows);
/* Tells that a computation of a class ran from `start` to `end`. The computations of a class have to
 * come in their order. `rows` may be NULL. */
void ss_kernel_rows_span(struct ss_kernel_rows *rows, int cls, int slot, int event, double start, double end);
void ss_kernel_rows_free(struct ss_kernel_rows *rows);
