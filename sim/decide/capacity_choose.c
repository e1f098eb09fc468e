/* SPDX-License-Identifier: Apache-2.0 */
/* Reads amounts in words, rounds batches, and picks the number of nodes that is the answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "decide/capacity_internal.h"

/* ---- words ---- */

struct suffix {
    const char *name;
    double factor;
};

static int read_suffixed(const char *text, const struct suffix *suffix, const char *what, const char *example,
                         double *out, struct ss_error *err)
{
    char *end;
    text = text ? text : "";
    double number = strtod(text, &end);

    for (int i = 0; end > text && suffix[i].name; i++)
        if (!strcmp(end, suffix[i].name) && isfinite(number * suffix[i].factor) && number > 0 &&
            strspn(text, "0123456789.eE+-") >= (size_t)(end - text)) {
            *out = number * suffix[i].factor;
            return SS_OK;
        }
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "%.60s: not %s", text, what);
    return ss_hint(err, SS_ERR_USAGE, "write %s", example);
}

int ss_capacity_read_tokens(const char *text, double *out, struct ss_error *err)
{
    static const struct suffix suffixes[] = {{"", 1},    {"k", 1e3},  {"M", 1e6}, {"B", 1e9},
                                             {"G", 1e9}, {"T", 1e12}, {NULL, 0}};
    return read_suffixed(text, suffixes, "a number of tokens", "--tokens 15.6T or --tokens 2e12", out, err);
}

int ss_capacity_read_time(const char *text, double *out, struct ss_error *err)
{
    static const struct suffix suffixes[] = {{"s", 1},     {"min", 60},   {"h", 3600},
                                             {"d", 86400}, {"w", 604800}, {NULL, 0}};
    return read_suffixed(text, suffixes, "a time with its unit", "--deadline 54d; units are s, min, h, d, w",
                         out, err);
}

int ss_capacity_read_money(const char *text, double *out, struct ss_error *err)
{
    static const struct suffix suffixes[] = {{"", 1},       {"k", 1e3},    {"M", 1e6},
                                             {"B", 1e9},    {"USD", 1},    {"kUSD", 1e3},
                                             {"MUSD", 1e6}, {"BUSD", 1e9}, {NULL, 0}};
    return read_suffixed(text, suffixes, "an amount of USD", "--budget 5e6 or --budget 5MUSD", out, err);
}

/* ---- batches ---- */

int ss_capacity_nearest(int batch, int unit)
{
    int times = (int)((batch + (int64_t)unit / 2) / unit);

    return (times > 0 ? times : 1) * unit;
}

int ss_capacity_search_batch(int batch, int gpus)
{
    int odd = gpus;

    while (odd % 2 == 0)
        odd /= 2;
    if (batch % odd == 0)
        return batch;
    for (int unit = gpus; unit > odd; unit /= 2)
        if (16 * (int64_t)abs(ss_capacity_nearest(batch, unit) - batch) <= batch)
            return ss_capacity_nearest(batch, unit);
    return ss_capacity_nearest(batch, odd);
}

/* ---- which point ---- */

static int meets(const struct ss_capacity *c, const struct ss_capacity_point *p, int far)
{
    if (c->deadline_s > 0)
        return (far ? p->time_s.high : p->time_s.value) <= c->deadline_s;
    return (far ? p->usd.high : p->usd.value) <= c->budget_usd;
}

int ss_capacity_enough(const struct ss_capacity *c, const struct ss_capacity_point *p, int far)
{
    return ss_capacity_holds(p) && meets(c, p, far) && (!far || p->summary.outcome == SS_OUTCOME_FITS);
}

/* Picks the point with the fewest nodes for a deadline, the fastest point for a budget. */
static int pick(const struct ss_capacity *c, int far)
{
    int best = -1;

    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        if (!ss_capacity_enough(c, p, far))
            continue;
        if (best < 0 || (!(c->deadline_s > 0) && p->time_s.value < c->points[best].time_s.value))
            best = i;
    }
    return best;
}

void ss_capacity_choose(struct ss_capacity *c)
{
    c->cheapest = c->knee = -1;
    for (int i = 0; i < c->npoints; i++)
        if (ss_capacity_holds(&c->points[i]) &&
            (c->cheapest < 0 || c->points[i].gpu_hours.value < c->points[c->cheapest].gpu_hours.value))
            c->cheapest = i;
    for (int i = 0; i < c->npoints; i++)
        if (ss_capacity_holds(&c->points[i]) &&
            c->points[i].gpu_hours.value <= 1.1 * c->points[c->cheapest].gpu_hours.value)
            c->knee = i;
    if (c->deadline_s > 0 || c->budget_usd > 0) {
        c->chosen = pick(c, 0);
        c->sure = pick(c, 1);
    } else {
        c->chosen = c->knee;
        c->sure = -1;
    }
}
