/* SPDX-License-Identifier: Apache-2.0 */
/* What every rank gets: one profile for passes that differ. */
#include <math.h>

#include "cost/load_internal.h"

/* Below this skew the shares of a pass are equal; within this difference two shares are one. */
#define SAME 1e-10

void ss_load_profile_add(struct ss_load_profile *p, const double *share, double weight)
{
    double sum = 0, most = 0;
    if (!p->share)
        return;
    for (int i = 0; i < p->n; i++) {
        sum += share[i];
        most = fmax(most, share[i]);
    }
    double mean = sum / p->n, skew = mean > 0 ? most / mean : 1;
    p->most += weight * most;
    p->mean += weight * mean;
    if (!(skew > p->skew))
        return;
    p->skew = skew;
    for (int i = 0; i < p->n; i++)
        p->share[i] = mean > 0 ? share[i] / mean : 1;
}

void ss_load_profile_end(struct ss_load_profile *p, double mean)
{
    if (!p->share)
        return;
    double left =
        p->skew > 1 + SAME && p->mean > 0 ? fmin(1, fmax(0, p->most / p->mean - 1) / (p->skew - 1)) : 0;
    for (int i = 0; i < p->n; i++) {
        double x = mean * (1 + left * (p->share[i] - 1));
        for (int j = i - 1; j >= 0; j--)
            if (fabs(p->share[j] - x) <= SAME * mean) {
                x = p->share[j];
                break;
            }
        p->share[i] = x;
    }
}

void ss_load_sources(double most, int n, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = n > 1 ? 1 + (most - 1) * (2. * i / (n - 1) - 1) : 1;
}
