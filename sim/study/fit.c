/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levenberg-Marquardt of cminpack on x = lo + (hi - lo) (1 + sin u) / 2, so that every u is within the bounds.
 * A faint pull towards the start decides what the data do not: such numbers stay where they were.
 *
 * Uncertainty: J is the Jacobian of the residuals in s = (x - lo) / (hi - lo). An eigenvector of J'J with
 * eigenvalue l is known to sigma / sqrt(l) of the bounds' range. Where that is wider than a flat guess within the
 * bounds (1 / sqrt(12)), the data do not determine that direction, nor a number that mostly lies in it.
 */
#include "study/fit.h"

#include <cminpack.h>

#include "base/base.h"

#define PULL 1e-3     /* residual of moving a number through all of its range */
#define NOISE 1e-3    /* no measurement is better than this: floor of sigma */
#define FLAT 0.288675 /* 1 / sqrt(12) */
#define SHIFT 4.0     /* u is kept away from 0, where relative steps and tolerances lose their meaning */
#define STEP 1e-4     /* of s, for the Jacobian of the statistics */
#define UNKNOWN 0.1   /* share of undetermined directions that makes a number undetermined */

struct solver {
    const struct ss_fit_problem *p;
    const double *start;
    double *x; /* of the last call */
    int status;
    struct ss_error *err;
};

static void to_x(const struct ss_fit_problem *p, const double *u, double *x)
{
    for (int i = 0; i < p->n; i++)
        x[i] = p->lo[i] + (p->hi[i] - p->lo[i]) * 0.5 * (1 + sin(u[i] - SHIFT));
}

static void to_u(const struct ss_fit_problem *p, const double *x, double *u)
{
    for (int i = 0; i < p->n; i++) {
        double t = (x[i] - p->lo[i]) / (p->hi[i] - p->lo[i]);
        t = fmin(0.99, fmax(0.01, t)); /* on the bound the derivative is 0: start inside */
        u[i] = SHIFT + asin(2 * t - 1);
    }
}

static int residuals(void *ctx, int m, int n, const double *u, double *r, int flag)
{
    struct solver *s = ctx;

    (void)flag;
    to_x(s->p, u, s->x);
    s->status = s->p->residuals(s->p->ctx, s->x, r, s->err);
    for (int i = 0; i < n; i++)
        r[m - n + i] = PULL * (s->x[i] - s->start[i]) / (s->p->hi[i] - s->p->lo[i]);
    for (int i = 0; i < m && !s->status; i++)
        if (!isfinite(r[i]))
            r[i] = 1e3; /* far from anything sensible */
    return s->status ? -1 : 0;
}

/* One block for all the work arrays of lmdif. */
static int minimise(struct solver *s, double *u)
{
    int n = s->p->n, m = s->p->m + n, evaluations = 0;
    size_t size = (size_t)m * (size_t)(n + 2) + 6 * (size_t)n;
    double *work = ss_calloc(size, sizeof *work), *at = work;
    int pivot[SS_FIT_MAX];

    SS_NEED(work, s->err);
    double *r = at, *jacobian = r + m, *wa4 = jacobian + (size_t)m * (size_t)n;
    double *diag = wa4 + m, *qtf = diag + n, *wa1 = qtf + n, *wa2 = wa1 + n, *wa3 = wa2 + n;
    lmdif(residuals, s, m, n, u, r, 1e-6, 1e-6, 0, 50 * (n + 1), 1e-7, diag, 1, 1.0, 0, &evaluations,
          jacobian, m, pivot, qtf, wa1, wa2, wa3, wa4);
    free(work);
    return s->status;
}

/* ---- statistics ---- */

/* Central differences in s, one-sided at a bound; jacobian[i * m + k] = d r_k / d s_i. */
static int differentiate(struct solver *s, const double *x, double *jacobian)
{
    const struct ss_fit_problem *p = s->p;
    double *low = ss_calloc((size_t)p->m + 1, sizeof *low), y[SS_FIT_MAX];
    int rc = low ? SS_OK : ss_nomem(s->err);

    for (int i = 0; i < p->n && !rc; i++) {
        double range = p->hi[i] - p->lo[i], a = fmax(p->lo[i], x[i] - STEP * range),
               b = fmin(p->hi[i], x[i] + STEP * range), *high = jacobian + (size_t)i * (size_t)p->m;
        memcpy(y, x, (size_t)p->n * sizeof *y);
        y[i] = a;
        rc = p->residuals(p->ctx, y, low, s->err);
        y[i] = b;
        SS_THEN(rc, p->residuals(p->ctx, y, high, s->err));
        for (int k = 0; k < p->m && !rc; k++)
            high[k] = (high[k] - low[k]) * range / (b - a);
    }
    free(low);
    return rc;
}

/* One sweep of Jacobi rotations over the symmetric a; the columns of v become its eigenvectors. */
static void rotate(int n, double a[SS_FIT_MAX][SS_FIT_MAX], double v[SS_FIT_MAX][SS_FIT_MAX])
{
    for (int p = 0; p < n; p++)
        for (int q = p + 1; q < n; q++) {
            if (fabs(a[p][q]) <= 1e-300)
                continue;
            double theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
            double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
            double c = 1 / sqrt(t * t + 1), s = t * c;
            for (int k = 0; k < n; k++) {
                double x = a[k][p], y = a[k][q];
                a[k][p] = c * x - s * y;
                a[k][q] = s * x + c * y;
            }
            for (int k = 0; k < n; k++) {
                double x = a[p][k], y = a[q][k], vx = v[k][p], vy = v[k][q];
                a[p][k] = c * x - s * y;
                a[q][k] = s * x + c * y;
                v[k][p] = c * vx - s * vy;
                v[k][q] = s * vx + c * vy;
            }
        }
}

static void fill_covariance(const struct ss_fit_problem *p, double a[SS_FIT_MAX][SS_FIT_MAX],
                            double v[SS_FIT_MAX][SS_FIT_MAX], double sigma, struct ss_fit_answer *out)
{
    double covariance[SS_FIT_MAX][SS_FIT_MAX] = {{0}}, unknown[SS_FIT_MAX] = {0};

    for (int d = 0; d < p->n; d++) {
        int known = a[d][d] > 0 && sigma / sqrt(a[d][d]) < FLAT;
        for (int i = 0; i < p->n; i++) {
            unknown[i] += known ? 0 : v[i][d] * v[i][d];
            for (int k = 0; k < p->n && known; k++)
                covariance[i][k] += sigma * sigma / a[d][d] * v[i][d] * v[k][d];
        }
    }
    for (int i = 0; i < p->n; i++) {
        out->unknown[i] = unknown[i];
        out->determined[i] = unknown[i] < UNKNOWN;
        out->deviation[i] = out->determined[i] ? sqrt(covariance[i][i]) * (p->hi[i] - p->lo[i]) : NAN;
        for (int k = 0; k < p->n; k++) {
            double norm = sqrt(covariance[i][i] * covariance[k][k]);
            out->correlation[i][k] = i == k ? 1 : norm > 0 ? covariance[i][k] / norm : 0;
        }
    }
}

static int find_statistics(struct solver *s, const double *x, struct ss_fit_answer *out)
{
    const struct ss_fit_problem *p = s->p;
    double a[SS_FIT_MAX][SS_FIT_MAX] = {{0}}, v[SS_FIT_MAX][SS_FIT_MAX] = {{0}}, sum = 0;
    double *jacobian = ss_calloc((size_t)p->m * (size_t)p->n + (size_t)p->m + 1, sizeof *jacobian), *r;

    SS_TRY(jacobian ? SS_OK : ss_nomem(s->err));
    r = jacobian + (size_t)p->m * (size_t)p->n;
    int rc = differentiate(s, x, jacobian);
    SS_THEN(rc, p->residuals(p->ctx, x, r, s->err));
    for (int i = 0; i < p->m && !rc; i++)
        sum += r[i] * r[i];
    for (int i = 0; i < p->n && !rc; i++) {
        v[i][i] = 1;
        for (int k = 0; k < p->n; k++)
            for (int j = 0; j < p->m; j++)
                a[i][k] += jacobian[(size_t)i * (size_t)p->m + (size_t)j] *
                           jacobian[(size_t)k * (size_t)p->m + (size_t)j];
    }
    free(jacobian);
    if (rc)
        return rc;
    for (int sweep = 0; sweep < 30; sweep++)
        rotate(p->n, a, v);
    fill_covariance(p, a, v, fmax(NOISE, sqrt(sum / fmax(1, p->m - p->n))), out);
    for (int i = 0; i < p->n; i++) {
        double t = (x[i] - p->lo[i]) / (p->hi[i] - p->lo[i]);
        out->at_bound[i] = t < 1e-3 || t > 1 - 1e-3;
    }
    return SS_OK;
}

int ss_fit_solve(const struct ss_fit_problem *p, double *x, struct ss_fit_answer *answer,
                 struct ss_error *err)
{
    double start[SS_FIT_MAX], last[SS_FIT_MAX], u[SS_FIT_MAX];
    struct solver s = {.p = p, .start = start, .x = last, .err = err};

    memcpy(start, x, (size_t)p->n * sizeof *start);
    to_u(p, x, u);
    SS_TRY(minimise(&s, u));
    to_x(p, u, x);
    if (!answer)
        return SS_OK;
    memset(answer, 0, sizeof *answer);
    return find_statistics(&s, x, answer);
}
