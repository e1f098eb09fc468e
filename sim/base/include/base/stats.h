/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Both sort in ascending order. */
void ss_sort(double *values, size_t n);
void ss_sort_int(int *values, size_t n);
/* Returns the median of n > 0 ascending values. */
double ss_median(const double *sorted, size_t n);

/* Returns how often 1 is doubled until it is at least n: log2, rounded up; 0 for n <= 1. */
int ss_log2_up(int n);
