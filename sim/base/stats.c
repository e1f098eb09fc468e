/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void ss_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
}

double ss_median(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}
