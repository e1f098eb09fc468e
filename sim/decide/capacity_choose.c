/* SPDX-License-Identifier: Apache-2.0 */
/* Reads amounts in words, rounds batches, and picks the number of nodes that is the answer. */
#include "base/base.h"
#include "decide/capacity_internal.h"

#define BESIDE 3 /* numbers beside rows and answers that the table has */

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
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%.60s: not %s" SS_HINT "write %s", text, what, example);
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

int ss_capacity_is_near(int batch, int asked)
{
    return 16 * (int64_t)abs(batch - asked) <= asked;
}

int ss_capacity_batches(int asked, int gpus, int batch[2])
{
    int odd = gpus, unit = gpus, n = 0;

    while (odd % 2 == 0)
        odd /= 2;
    if (asked % odd == 0)
        batch[n++] = asked;
    while (unit > odd && !ss_capacity_is_near(ss_capacity_nearest(asked, unit), asked))
        unit /= 2;
    int nearest = ss_capacity_nearest(asked, unit);
    if (!n || nearest != asked)
        batch[n++] = nearest;
    return n;
}

/* ---- which point ---- */

int ss_capacity_keeps(const struct ss_capacity *c, const struct ss_capacity_point *p, int far)
{
    double time = far ? p->time_s.high : p->time_s.value, usd = far ? p->usd.high : p->usd.value;

    return ss_capacity_holds(p) && !(c->deadline_s > 0 && !(time <= c->deadline_s)) &&
           !(c->budget_usd > 0 && !(usd <= c->budget_usd));
}

int ss_capacity_enough(const struct ss_capacity *c, const struct ss_capacity_point *p, int far)
{
    return ss_capacity_keeps(c, p, far) && (!far || p->summary.outcome == SS_OUTCOME_FITS);
}

int ss_capacity_trend(const struct ss_capacity *c, const struct ss_capacity_point *p, int *by_rows)
{
    const struct ss_capacity_point *half = NULL;
    int rack = c->clusters[p->cluster].rack;

    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *q = &c->points[i];
        if (q->cluster == p->cluster && ss_capacity_holds(q) && 2 * q->nodes <= p->nodes)
            half = q;
    }
    *by_rows = half != NULL;
    double slope = half ? log(half->time_s.value / p->time_s.value) / log((double)p->nodes / half->nodes) : 1;
    double times = slope > 0 ? pow(p->time_s.value / c->deadline_s, 1 / fmin(slope, 1)) : INFINITY;
    return times > 16 ? 0 : (int)ceil(times * p->nodes / rack * (1 - 1e-9)) * rack;
}

int ss_capacity_is_rival(const struct ss_capacity *c, const struct ss_capacity_point *p, int than)
{
    return ss_capacity_is_near(p->batch, c->asked_batch) ||
           (than >= 0 && !ss_capacity_is_near(c->points[than].batch, c->asked_batch));
}

/* Returns whether a point is a better answer than another: by its batch, which far from the asked one trains another model, then by GPU-hours or by
 * time. */
static int is_before(const struct ss_capacity *c, const struct ss_capacity_point *p,
                     const struct ss_capacity_point *than, int by_hours)
{
    int near = ss_capacity_is_near(p->batch, c->asked_batch);

    if (near != ss_capacity_is_near(than->batch, c->asked_batch))
        return near;
    return by_hours ? p->gpu_hours.value < than->gpu_hours.value : p->time_s.value < than->time_s.value;
}

/* Picks the cheapest point that keeps a deadline, the fastest within a budget alone. The price of a GPU-hour is that of the platform. */
static int pick(const struct ss_capacity *c, int cluster, int far)
{
    int best = -1;

    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        if (p->cluster == cluster && ss_capacity_enough(c, p, far) &&
            (best < 0 || is_before(c, p, &c->points[best], c->deadline_s > 0)))
            best = i;
    }
    return best;
}

static void choose(const struct ss_capacity *c, int cluster, struct ss_capacity_cluster *k)
{
    k->cheapest = k->knee = -1;
    for (int i = 0; i < c->npoints; i++)
        if (c->points[i].cluster == cluster && ss_capacity_holds(&c->points[i]) &&
            (k->cheapest < 0 || is_before(c, &c->points[i], &c->points[k->cheapest], 1)))
            k->cheapest = i;
    for (int i = 0; i < c->npoints; i++)
        if (c->points[i].cluster == cluster && ss_capacity_holds(&c->points[i]) &&
            ss_capacity_is_rival(c, &c->points[i], k->cheapest) &&
            c->points[i].gpu_hours.value <= 1.1 * c->points[k->cheapest].gpu_hours.value)
            k->knee = i;
    int limited = c->deadline_s > 0 || c->budget_usd > 0;
    k->chosen = limited ? pick(c, cluster, 0) : k->knee;
    k->sure = limited ? pick(c, cluster, 1) : -1;
}

void ss_capacity_choose(struct ss_capacity *c)
{
    for (int k = 0; k < c->nclusters; k++)
        choose(c, k, &c->clusters[k]);
}

const struct ss_capacity_point *ss_capacity_fastest(const struct ss_capacity *c, int cluster)
{
    const struct ss_capacity_point *best = NULL;

    for (int i = 0; i < c->npoints; i++)
        if (c->points[i].cluster == cluster && ss_capacity_holds(&c->points[i]) &&
            (!best || c->points[i].time_s.value < best->time_s.value))
            best = &c->points[i];
    return best;
}

static double time_of(const struct ss_capacity_point *p, int far)
{
    return far ? p->time_s.high : p->time_s.value;
}

double ss_capacity_middle(const struct ss_capacity *c, int cluster, int far)
{
    const struct ss_capacity_point *late = NULL, *enough = NULL, *fastest = ss_capacity_fastest(c, cluster);
    int chosen = c->clusters[cluster].chosen;

    if (chosen < 0)
        return fastest ? fastest->nodes : c->clusters[cluster].most_nodes;
    for (int i = 0; i < c->npoints && c->deadline_s > 0; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        if (p->cluster == cluster && ss_capacity_enough(c, p, far) && ss_capacity_is_rival(c, p, chosen) &&
            (!enough || p->nodes < enough->nodes))
            enough = p;
    }
    if (!enough)
        return c->points[chosen].nodes;
    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        if (p->cluster == cluster && ss_capacity_holds(p) && p->nodes < enough->nodes &&
            time_of(p, far) > c->deadline_s && (!late || p->nodes > late->nodes))
            late = p;
    }
    double slope =
        late ? log(time_of(late, far) / time_of(enough, far)) / log((double)enough->nodes / late->nodes) : 0;
    return slope > 0 ? late->nodes * pow(time_of(late, far) / c->deadline_s, 1 / slope) : enough->nodes;
}

int ss_capacity_is_answered(const struct ss_capacity *plan)
{
    for (int k = 0; k < plan->nclusters; k++)
        if (plan->clusters[k].chosen >= 0)
            return 1;
    return 0;
}

/* ---- the table ---- */

static int by_place(const void *left, const void *right)
{
    const struct ss_capacity_point *a = left, *b = right;
    int d = a->cluster - b->cluster;
    return d ? d : a->nodes < b->nodes ? -1 : a->nodes > b->nodes;
}

static int is_row(const struct ss_capacity_numbers *numbers, const struct ss_capacity_point *p)
{
    const struct ss_capacity_numbers *x = &numbers[p->cluster];

    for (int i = 0; i < x->n; i++)
        if (x->nodes[i] == p->nodes)
            return x->state[i] == SS_CAPACITY_ROW;
    return 0;
}

int ss_capacity_leave_table(struct ss_capacity *c, const struct ss_capacity_numbers *numbers,
                            struct ss_error *err)
{
    char *keep = ss_calloc((size_t)c->npoints + 1, 1);
    int kept = 0;

    SS_NEED(keep, err);
    ss_capacity_choose(c);
    for (int i = 0; i < c->npoints; i++) {
        const struct ss_capacity_point *p = &c->points[i];
        const struct ss_capacity_cluster *k = &c->clusters[p->cluster];
        int cheaper = 0;
        for (int o = 0; o < c->npoints; o++)
            cheaper += o != k->chosen && c->points[o].cluster == p->cluster &&
                       !is_row(numbers, &c->points[o]) && ss_capacity_enough(c, &c->points[o], 0) &&
                       ss_capacity_is_rival(c, &c->points[o], k->chosen) &&
                       c->points[o].gpu_hours.value < p->gpu_hours.value;
        keep[i] = is_row(numbers, p) || i == k->chosen || i == k->sure ||
                  (k->chosen < 0 && p == ss_capacity_fastest(c, p->cluster)) ||
                  (ss_capacity_enough(c, p, 0) && ss_capacity_is_rival(c, p, k->chosen) && cheaper < BESIDE);
    }
    for (int i = 0; i < c->npoints; i++)
        if (keep[i])
            c->points[kept++] = c->points[i];
    free(keep);
    c->npoints = kept;
    if (kept)
        qsort(c->points, (size_t)kept, sizeof *c->points, by_place);
    ss_capacity_choose(c);
    return SS_OK;
}
