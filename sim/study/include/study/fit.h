/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares within bounds, with statistics of each fitted number. No other file calls cminpack. */
#pragma once

#include "stepsim/study.h"

struct ss_fit_problem {
    int n, m; /* how many numbers are fitted; how many residuals there are */
    double lo[SS_FIT_MAX], hi[SS_FIT_MAX];
    /* Fills the residuals r[m] for the numbers x[n]. An error ends the fit. */
    int (*residuals)(void *ctx, const double *x, double *r, struct ss_error *err);
    void *ctx;
};
struct ss_fit_answer {
    double deviation[SS_FIT_MAX]; /* standard deviation; NaN where the data do not determine the number */
    double correlation[SS_FIT_MAX][SS_FIT_MAX];
    double unknown
        [SS_FIT_MAX]; /* the part of each number that lies in directions about which the data say nothing, 0..1 */
    int determined[SS_FIT_MAX], at_bound[SS_FIT_MAX];
};
/* Fits x, which has the start values before and the result after. `answer` may be NULL: no statistics
 * are wanted. */
int ss_fit_solve(const struct ss_fit_problem *p, double *x, struct ss_fit_answer *answer,
                 struct ss_error *err);
