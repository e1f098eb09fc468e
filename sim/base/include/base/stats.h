/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STATS_H
#define SS_STATS_H

#include <stddef.h>

/* Ascending. */
void ss_sort(double *values, size_t n);
void ss_sort_int(int *values, size_t n);
/* Of n > 0 ascending values. */
double ss_median(const double *sorted, size_t n);

/* Doublings from 1 to n or more: log2, upwards; 0 for n <= 1. */
int ss_log2_up(int n);

#endif
