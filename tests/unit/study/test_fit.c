/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares within bounds: what is found, how well it is known, and what is not known at all. */
#include <math.h>

#include "study/fit.h"
#include "suite.h"

/* A line through points, and a third number that does nothing. */
static int line(void *ctx, const double *x, double *r, struct ss_error *err)
{
    const double *noise = ctx;

    (void)err;
    for (int i = 0; i < 20; i++)
        r[i] = x[0] + x[1] * i / 20.0 - (0.3 + 0.5 * i / 20.0 + (noise ? noise[i] : 0));
    return 0;
}

TEST(line)
{
    struct ss_fit_problem p = {.n = 3, .m = 20, .lo = {0, 0, 0}, .hi = {1, 1, 1}, .residuals = line};
    double x[SS_FIT_MAX] = {0.9, 0.1, 0.4};
    struct ss_fit_answer a;

    CU_ASSERT_EQUAL_FATAL(ss_fit_solve(&p, x, &a, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(x[0], 0.3, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(x[1], 0.5, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(x[2], 0.4, 1e-3);
    CU_ASSERT(a.determined[0] && a.determined[1] && !a.determined[2]);
    CU_ASSERT(isnan(a.deviation[2]));
    CU_ASSERT(a.correlation[0][1] < -0.8 && a.correlation[0][1] > -0.95);
}

/* Against the textbook: slope's deviation = sigma / sqrt(sum (t - mean t)^2). */
TEST(deviation)
{
    struct ss_fit_problem p = {.n = 2, .m = 20, .lo = {0, 0}, .hi = {1, 1}, .residuals = line};
    double noise[20], x[SS_FIT_MAX] = {0.5, 0.5}, sum = 0, spread = 0;
    struct ss_fit_answer a;

    for (int i = 0; i < 20; i++)
        noise[i] = 0.02 * sin(7.0 * i);
    p.ctx = noise;
    CU_ASSERT_EQUAL_FATAL(ss_fit_solve(&p, x, &a, NULL), 0);
    for (int i = 0; i < 20; i++) {
        double r = x[0] + x[1] * i / 20.0 - (0.3 + 0.5 * i / 20.0 + noise[i]), t = (i - 9.5) / 20;
        sum += r * r;
        spread += t * t;
    }
    CU_ASSERT_DOUBLE_EQUAL(a.deviation[1], sqrt(sum / 18 / spread), 1e-4);
}

/* The best value lies outside: the bound is the answer, and it is said. */
TEST(bound)
{
    struct ss_fit_problem p = {.n = 2, .m = 20, .lo = {0, 0}, .hi = {0.25, 1}, .residuals = line};
    double x[SS_FIT_MAX] = {0.1, 0.2};
    struct ss_fit_answer a;

    CU_ASSERT_EQUAL_FATAL(ss_fit_solve(&p, x, &a, NULL), 0);
    CU_ASSERT(x[0] <= 0.25);
    CU_ASSERT_DOUBLE_EQUAL(x[0], 0.25, 1e-3);
    CU_ASSERT(a.at_bound[0] && !a.at_bound[1]);
}

static int broken(void *ctx, const double *x, double *r, struct ss_error *err)
{
    (void)ctx, (void)x, (void)r;
    err->code = SS_ERR_ENGINE;
    return SS_ERR_ENGINE;
}

TEST(error_ends_it)
{
    struct ss_fit_problem p = {.n = 1, .m = 1, .lo = {0}, .hi = {1}, .residuals = broken};
    double x[SS_FIT_MAX] = {0.5};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_fit_solve(&p, x, NULL, &err), SS_ERR_ENGINE);
}

/* What moves the answer by `slope` over the whole range. */
static int sloped(void *ctx, const double *x, double *r, struct ss_error *err)
{
    (void)err;
    r[0] = *(const double *)ctx * (x[0] - 5) / 10;
    return 0;
}

/* A measurement is no better than a thousandth. What moves the answer by `slope` is known to a thousandth over the slope, and a flat
 * guess in the range of 10 to 10 / sqrt(12): undetermined below a slope of sqrt(12) thousandths, 0.003464. */
TEST(undetermined)
{
    static const struct {
        double slope;
        int determined;
    } rows[] = {{0.0034, 0}, {0.0035, 1}, {0.01, 1}, {0.002, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double slope = rows[i].slope, x[SS_FIT_MAX] = {5};
        struct ss_fit_problem p = {.n = 1, .m = 1, .lo = {0}, .hi = {10}, .residuals = sloped, .ctx = &slope};
        struct ss_fit_answer a;
        CU_ASSERT_EQUAL_FATAL(ss_fit_solve(&p, x, &a, NULL), 0);
        CU_ASSERT_EQUAL(a.determined[0], rows[i].determined);
        if (rows[i].determined)
            CU_ASSERT_DOUBLE_EQUAL(a.deviation[0], 10 * 0.001 / slope, 1e-3);
    }
}
