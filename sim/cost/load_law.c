/* SPDX-License-Identifier: Apache-2.0 */
/* The largest of many counts, in closed form: the product of their distributions, tabulated. */
#include "base/base.h"
#include "cost/load_internal.h"

/* Standard deviations from the mean beyond which no count is expected. */
#define FAR 6.0

/* Returns P(count <= x) of a gamma distribution with these moments, by the cube root of Wilson and
 * Hilferty. */
static double below(const struct ss_load_bell *c, double x)
{
    if (c->sigma <= 0)
        return x >= c->mean;
    double z = (x - c->mean) / c->sigma;
    if (fabs(c->skew) > 1e-4) {
        double t = c->skew * z / 2 + 1;
        if (t <= 0)
            return c->skew < 0;
        z = (cbrt(t) - 1) * 6 / c->skew + c->skew / 6;
    }
    return z > FAR + 2 ? 1 : erfc(-z * 0.7071067811865476) / 2;
}

static double end_of(const struct ss_load_bell *c)
{
    return c->mean + FAR * (1 + fmax(0, c->skew)) * c->sigma;
}

/* Makes bells of counts; equal neighbours become one bell. Returns how many bells there are. */
static int bells_of(const struct ss_load_count *counts, int n, int sign, struct ss_load_bell *out)
{
    int bells = 0;
    for (int i = 0; i < n; i++) {
        const struct ss_load_count *c = &counts[i];
        if (i > 0 && c[-1].mean == c->mean && c[-1].variance == c->variance && c[-1].third == c->third) {
            out[bells - 1].same++;
            continue;
        }
        double sigma = sqrt(c->variance);
        out[bells++] = (struct ss_load_bell){sign * c->mean, sigma,
                                             sigma > 0 ? sign * c->third / (sigma * c->variance) : 0, 1};
    }
    return bells;
}

/* Returns P(all counts <= x). */
static double all_below(const struct ss_load_bell *bells, int n, double x)
{
    double product = 1;
    for (int i = 0; i < n && product > 0; i++) {
        double one = below(&bells[i], x);
        if (one < 1)
            product *= bells[i].same > 1 ? pow(one, bells[i].same) : one;
    }
    return product;
}

void ss_load_law_init(struct ss_load_law *law, const struct ss_load_count *counts, int n, double spread,
                      double most, int sign, struct ss_load_bell *bells)
{
    double high = -INFINITY, area = 0, moment = 0, shared = 0, hottest = -INFINITY;
    int all = bells_of(counts, n, sign, bells), left = 0;
    law->low = -INFINITY;
    for (int i = 0; i < all; i++) {
        double variance = bells[i].sigma * bells[i].sigma;
        law->low = fmax(law->low, bells[i].mean - FAR * bells[i].sigma);
        high = fmax(high, end_of(&bells[i]));
        if (bells[i].mean > hottest) {
            hottest = bells[i].mean;
            shared = spread > 0 ? variance * variance / spread : 0;
        }
    }
    for (int i = 0; i < all; i++)
        if (end_of(&bells[i]) >= law->low)
            bells[left++] = bells[i];
    high = fmin(high, most);
    law->low = fmin(law->low, high);
    law->step = (high - law->low) / (SS_LOAD_POINTS - 1);
    for (int i = 0; i < SS_LOAD_POINTS; i++) {
        double x = law->low + i * law->step;
        law->at[i] = law->step > 0 && x < most ? all_below(bells, left, x) : 1;
        double above = (1 - law->at[i]) * (i == 0 || i == SS_LOAD_POINTS - 1 ? 0.5 : 1) * law->step;
        area += above;
        moment += 2 * above * i * law->step;
    }
    law->mean = law->low + area;
    /* The counts share a sum that is in truth fixed, so part of their common variance is false. Taking that
     * part off changes no mean, only the variance. */
    double variance = moment - area * area;
    double scale = variance > 0 ? sqrt(fmax(0, 1 - shared / variance)) : 0;
    law->low = law->mean - area * scale;
    law->step *= scale;
}

double ss_load_law_at(const struct ss_load_law *law, double x)
{
    if (law->step <= 0)
        return x >= law->low;
    double at = (x - law->low) / law->step;
    if (at < 0)
        return 0;
    if (at >= SS_LOAD_POINTS - 1)
        return 1;
    int i = (int)at;
    return law->at[i] + (at - i) * (law->at[i + 1] - law->at[i]);
}
