/* SPDX-License-Identifier: Apache-2.0 */
/* Strips: when the ranks of a schedule run its slots, for a picture. */
#pragma once

#include "stepsim/pictures.h"

/* Makes a strip from the durations of a schedule's slots, as ss_schedule_times takes them. The caller
 * frees *out with ss_strip_free, and fills in its name and figures. */
int ss_strip_of_times(const struct ss_schedule *s, const double *const *duration,
                      struct ss_schedule_strip **out, struct ss_error *err);
/* Makes a strip from a replay of a program of this schedule. Each stage shows its first class. A slot lasts from its
 * first computation to its last. */
int ss_strip_of_program(const struct ss_program *program, const struct ss_schedule *schedule, int stages,
                        int chunks, struct ss_schedule_strip **out, struct ss_error *err);
/* For callers that fill a strip themselves. The first returns a strip without slots, or NULL where
 * memory ran out; the second adds a slot and returns SS_OK or SS_ERR_NOMEM; the third sorts the slots by
 * rank, then time. */
struct ss_schedule_strip *ss_strip_new(int stages, int chunks);
int ss_strip_add(struct ss_schedule_strip *strip, struct ss_slot_time slot);
void ss_strip_sort(struct ss_schedule_strip *strip);
/* Draws the strips of n rows with their figures. For row i, `fill` sets the name, the memory that a rank
 * keeps and *summary, and returns the row's strip; NULL: it has none. */
typedef const struct ss_schedule_strip *ss_strip_row(const void *rows, int i, struct ss_schedule_strip *shown,
                                                     const struct ss_summary **summary);
int ss_strips_svg(const void *rows, int n, ss_strip_row *fill, int cluster, double width, FILE *out,
                  struct ss_error *err);
/* Frees a strip. NULL is allowed. */
void ss_strip_free(struct ss_schedule_strip *strip);
