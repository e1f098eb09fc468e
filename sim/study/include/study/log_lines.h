/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of a training log tells, a row for each figure of each framework. */
#pragma once

#include "stepsim/train_log.h"

/* A figure that a framework writes behind `key`, or before it. */
struct ss_log_row {
    int logger;   /* enum ss_logger */
    int told;     /* enum ss_told */
    int count;    /* enum ss_flop_count, of rates of FLOP */
    unsigned way; /* SS_LOG_ bits */
    const char *key;
    const char *beside; /* what the line has, too; NULL: nothing */
    double scale;       /* of a number without a unit, to the unit of ss_told */
};
#define SS_LOG_BEFORE 1u  /* the number stands before the key */
#define SS_LOG_INVERSE 2u /* the figure is 1 over the number */
#define SS_LOG_MICRO                                                                                         \
    4u /* the time is that of a pass over one microbatch, of which an optimizer step may have several */
#define SS_LOG_THOUSANDS 8u /* the number may have commas between thousands */

#define SS_LOG_ROWS_MOST 96
int ss_log_row_count(void);
const struct ss_log_row *ss_log_row_at(int i);
/* Returns 1 and the number, > 0 and in the unit of ss_told, where the line has the row's figure; else 0. */
int ss_log_row_read(const struct ss_log_row *row, const char *line, double *out);
/* Returns 1 where a line, of which no row reads anything, looks as if it told a speed. */
int ss_log_line_looks(const char *line);

/* The values of a row, in the order of their lines. */
struct ss_log_series {
    double *value;
    size_t n, cap;
};
/* log_doubts.c: says in log->doubt why the figures, as they stand in the log, cannot be those of one run. `figures` has a series for each
 * row, which must not be sorted yet. */
void ss_log_doubts_find(const struct ss_log_series *figures, struct ss_train_log *log);
