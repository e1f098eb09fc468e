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

static int compare_int(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

void ss_sort_int(int *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_int);
}

int ss_log2_up(int n)
{
    int steps = 0;

    while (steps < 31 && 1LL << steps < n)
        steps++;
    return steps;
}

double ss_median(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}
