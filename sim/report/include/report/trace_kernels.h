/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a trace for kernels: at layer and flow level a class has a thread for each kind of kernels (enum ss_part). A program knows
 * computations between collectives alone; which kernels one is made of is in the steps of the plan that it was lowered from.
 */
#ifndef SS_REPORT_TRACE_KERNELS_H
#define SS_REPORT_TRACE_KERNELS_H

#include "report/trace_write.h"
#include "stepsim/plan.h"
#include "stepsim/program.h"

struct ss_kernel_rows;

/* Writes the names of the rows. *rows stays NULL where no kernels are known: plan NULL, or of chunk level. `program` is that of the plan,
 * without loops; both and `w` have to live as long as the rows. Returns 0 or SS_ERR_NOMEM. */
int ss_kernel_rows_begin(struct ss_trace_writer *w, const struct ss_program *program,
                         const struct ss_plan *plan, double from, double to, struct ss_kernel_rows **rows);
/* The same for who writes kernels in a form of its own: `put` is called with each, from `start` to `end` s. */
typedef void (*ss_kernel_put)(void *ctx, int cls, int slot, const struct ss_step *step, double start,
                              double end);
int ss_kernel_rows_tell(const struct ss_program *program, const struct ss_plan *plan, ss_kernel_put put,
                        void *ctx, struct ss_kernel_rows **rows);
/* A computation of a class took from `start` to `end`; those of a class come in their order. rows may be NULL. */
void ss_kernel_rows_span(struct ss_kernel_rows *rows, int cls, int slot, int event, double start, double end);
void ss_kernel_rows_free(struct ss_kernel_rows *rows);

#endif
