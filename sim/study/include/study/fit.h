/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares within bounds, and what the data say of each number. The only way into cminpack. */
#ifndef SS_STUDY_FIT_H
#define SS_STUDY_FIT_H

#include "stepsim/study.h"

struct ss_fit_problem {
    int n, m; /* numbers, residuals */
    double lo[SS_FIT_MAX], hi[SS_FIT_MAX];
    /* Fills r[m] for x[n]; an error ends the fit. */
    int (*residuals)(void *ctx, const double *x, double *r, struct ss_error *err);
    void *ctx;
};
struct ss_fit_answer {
    double deviation[SS_FIT_MAX]; /* NaN where not determined */
    double correlation[SS_FIT_MAX][SS_FIT_MAX];
    double unknown[SS_FIT_MAX]; /* share of each number that lies in directions of no information */
    int determined[SS_FIT_MAX], at_bound[SS_FIT_MAX];
};
/* x: start and result. answer may be NULL: no statistics. */
int ss_fit_solve(const struct ss_fit_problem *p, double *x, struct ss_fit_answer *answer,
                 struct ss_error *err);

#endif
