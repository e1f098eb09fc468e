/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct ranks and nodes of a token. A choice of k experts is as likely as the product of its experts'
 * odds. The sum over the choices without an expert of a set is therefore the coefficient of x^k in the
 * product of (1 + odds x) over the experts outside the set. With equal odds this is the hypergeometric
 * distribution.
 */
#include "base/base.h"
#include "cost/load_internal.h"

/* This limit keeps the odds of an expert finite that almost every token chooses. */
#define MOST_LIKELY 0.9999
#define LENGTH (SS_LOAD_TOP_K_MAX + 1)

/* Sums over choices of j experts: those that touch exactly d groups, and all. */
struct sums {
    double touch[LENGTH][LENGTH]; /* [d][j] */
    double any[LENGTH];           /* [j] */
};
/* A group-limited router. */
struct limited {
    int k, groups, limit, size; /* size: experts of a group */
    const double *odds;
    double *group;    /* [groups][k + 1]: polynomials */
    struct sums all;  /* over all groups */
    struct sums rest; /* over all but groups rest_first .. rest_end - 1 */
    struct sums some; /* over the block at hand */
    int rest_first, rest_end;
};

static double odds_of(double p)
{
    p = fmin(p, MOST_LIKELY);
    return p / (1 - p);
}

/* poly *= 1 + w x, up to x^k */
static void times_expert(double *poly, int k, double w)
{
    for (int j = k; j > 0; j--)
        poly[j] += w * poly[j - 1];
}

static void times(const double *a, const double *b, int k, double *out)
{
    for (int j = 0; j <= k; j++) {
        out[j] = 0;
        for (int i = 0; i <= j; i++)
            out[j] += a[i] * b[j - i];
    }
}

static void block_poly(const double *odds, int first, int end, int k, double *poly)
{
    memset(poly, 0, ((size_t)k + 1) * sizeof *poly);
    poly[0] = 1;
    for (int e = first; e < end; e++)
        times_expert(poly, k, odds[e]);
}

/* Adds the touched blocks where the router has no limit: the experts outside a block are those before it and
 * those behind it. */
static int reach_unlimited(const double *odds, int experts, int k, int blocks, double scale, double *touch)
{
    const size_t row = (size_t)k + 1;
    const int size = experts / blocks;
    double *behind = ss_calloc((size_t)blocks + 1, row * sizeof *behind);
    double before[LENGTH] = {1}, block[LENGTH], next[LENGTH];
    if (!behind)
        return SS_ERR_NOMEM;
    behind[(size_t)blocks * row] = 1;
    for (int b = blocks - 1; b >= 0; b--) {
        block_poly(odds, b * size, (b + 1) * size, k, block);
        times(behind + (size_t)(b + 1) * row, block, k, behind + (size_t)b * row);
    }
    const double all = behind[k];
    for (int b = 0; b < blocks; b++) {
        double none = 0;
        for (int j = 0; j <= k; j++)
            none += before[j] * behind[(size_t)(b + 1) * row + (size_t)(k - j)];
        touch[b] += scale * (1 - none / all);
        block_poly(odds, b * size, (b + 1) * size, k, block);
        times(before, block, k, next);
        memcpy(before, next, sizeof before);
    }
    free(behind);
    return SS_OK;
}

static void sums_begin(const struct limited *l, struct sums *s)
{
    for (int d = 0; d <= l->limit; d++)
        memset(s->touch[d], 0, ((size_t)l->k + 1) * sizeof **s->touch);
    memset(s->any, 0, sizeof s->any);
    s->touch[0][0] = s->any[0] = 1;
}

static void sums_times(const struct limited *l, struct sums *s, const double *poly)
{
    double next[LENGTH];
    for (int d = l->limit; d > 0; d--)
        for (int j = l->k; j > 0; j--)
            for (int i = 1; i <= j; i++)
                s->touch[d][j] += s->touch[d - 1][j - i] * poly[i];
    times(s->any, poly, l->k, next);
    memcpy(s->any, next, ((size_t)l->k + 1) * sizeof *next);
}

/* Sums over all groups but first .. end - 1. */
static void sums_without(const struct limited *l, struct sums *s, int first, int end)
{
    sums_begin(l, s);
    for (int g = 0; g < l->groups; g++)
        if (g < first || g >= end)
            sums_times(l, s, l->group + (size_t)g * ((size_t)l->k + 1));
}

/* Sums over all experts but first .. end - 1, into l->some. */
static void sums_outside(struct limited *l, int first, int end)
{
    const int from = first / l->size, to = (end + l->size - 1) / l->size;
    double poly[LENGTH];
    if (from != l->rest_first || to != l->rest_end) {
        sums_without(l, &l->rest, from, to);
        l->rest_first = from;
        l->rest_end = to;
    }
    for (int d = 0; d <= l->limit; d++)
        memcpy(l->some.touch[d], l->rest.touch[d], ((size_t)l->k + 1) * sizeof *poly);
    memcpy(l->some.any, l->rest.any, sizeof l->rest.any);
    for (int g = from; g < to; g++) {
        const int begin = g * l->size, stop = begin + l->size;
        block_poly(l->odds, begin, first > begin ? first : begin, l->k, poly);
        for (int e = end; e < stop; e++)
            times_expert(poly, l->k, l->odds[e]);
        sums_times(l, &l->some, poly);
    }
}

/* Returns the probability that a token has none of the experts first .. end - 1. Experts are taken in the
 * order of their scores. Once the token touches its last allowed group, experts of other groups are passed
 * over. A choice that would touch fewer groups therefore stays as it is, and every other choice touches
 * exactly as many groups as it may. */
static double none_limited(struct limited *l, int first, int end)
{
    const int k = l->k;
    double below = 0, fewer = 0, full = l->all.touch[l->limit][k];
    sums_outside(l, first, end);
    for (int d = 0; d < l->limit; d++) {
        below += l->all.touch[d][k];
        fewer += l->some.touch[d][k];
    }
    double most = fmax(0, 1 - below / l->all.any[k]);
    return fewer / l->all.any[k] + (full > 0 ? most * l->some.touch[l->limit][k] / full : 0);
}

static int reach_limited(const struct ss_load_input *in, const double *odds, int blocks, int even,
                         double scale, double *touch)
{
    const size_t row = (size_t)in->top_k + 1;
    const int size = in->experts / blocks;
    /* Where all experts and all blocks are equal, one block stands for all. */
    const int alike = even && (blocks % in->groups == 0 || in->groups % blocks == 0);
    struct limited *l = ss_calloc(1, sizeof *l);
    double *group = ss_calloc((size_t)in->groups, row * sizeof *group);
    if (!l || !group) {
        SS_FREE(l, group);
        return SS_ERR_NOMEM;
    }
    l->k = in->top_k;
    l->groups = in->groups;
    l->limit = in->group_topk < in->top_k ? in->group_topk : in->top_k;
    l->size = in->experts / in->groups;
    l->odds = odds;
    l->group = group;
    for (int g = 0; g < l->groups; g++)
        block_poly(odds, g * l->size, (g + 1) * l->size, l->k, group + (size_t)g * row);
    sums_without(l, &l->all, 0, 0);
    l->rest_first = -1;
    double one = alike ? 1 - none_limited(l, 0, size) : 0;
    for (int b = 0; b < blocks; b++)
        touch[b] += scale * (alike ? one : 1 - none_limited(l, b * size, (b + 1) * size));
    SS_FREE(group, l);
    return SS_OK;
}

int ss_load_reach(const struct ss_load_input *in, const double *p, int blocks, double scale, double *touch)
{
    if (blocks == 1) {
        touch[0] += scale;
        return SS_OK;
    }
    double *odds = ss_calloc((size_t)in->experts, sizeof *odds);
    int even = 1, status;
    if (!odds)
        return SS_ERR_NOMEM;
    for (int e = 0; e < in->experts; e++) {
        odds[e] = odds_of(p[e]);
        even = even && p[e] == p[0];
    }
    if (in->group_topk > 0 && in->group_topk < in->groups)
        status = reach_limited(in, odds, blocks, even, scale, touch);
    else
        status = reach_unlimited(odds, in->experts, in->top_k, blocks, scale, touch);
    free(odds);
    return status;
}

double ss_load_reach_in_turn(const struct ss_load_input *in, int blocks)
{
    const int size = in->experts / blocks;
    long touched = 0, tokens = 0;
    for (int start = 0; start > 0 || tokens == 0; start = (start + in->top_k) % in->experts, tokens++) {
        int whole = start % size + in->top_k;
        int n = (whole + size - 1) / size;
        touched += n < blocks ? n : blocks;
    }
    return (double)touched / (double)tokens;
}
