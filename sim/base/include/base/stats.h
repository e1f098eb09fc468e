/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STATS_H
#define SS_STATS_H

#include <stddef.h>

/* Ascending. */
void ss_sort(double *values, size_t n);
/* Of n > 0 ascending values. */
double ss_median(const double *sorted, size_t n);

#endif
