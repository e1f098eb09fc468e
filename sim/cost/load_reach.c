/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct ranks and nodes of a token. A choice of k experts is as likely as the product of its experts' odds, so that the sum
 * over the choices with none in a set is a coefficient of a product of polynomials: of (1 + odds x) over the experts outside
 * of it, that of x^k. Where all are as likely this is the hypergeometric distribution.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cost/load_internal.h"

/* Odds of an expert that almost every token chooses stay finite. */
#define MOST_LIKELY 0.9999
#define LENGTH (SS_LOAD_TOP_K_MAX + 1)

/* A group-limited router: polynomials of its groups; sums over choices that touch exactly d groups, and over all. */
struct limited {
    int k, groups, limit, size; /* size: experts of a group */
    const double *odds;
    double *group; /* [groups][k + 1] */
    double all, touch[LENGTH];
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

/* Blocks touched, no limit: the experts outside of a block are those before and those behind it. */
static int reach_unlimited(const double *odds, int experts, int k, int blocks, double *out)
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
    *out = 0;
    for (int b = 0; b < blocks; b++) {
        double none = 0;
        for (int j = 0; j <= k; j++)
            none += before[j] * behind[(size_t)(b + 1) * row + (size_t)(k - j)];
        *out += 1 - none / all;
        block_poly(odds, b * size, (b + 1) * size, k, block);
        times(before, block, k, next);
        memcpy(before, next, sizeof before);
    }
    free(behind);
    return SS_OK;
}

/* Sums over choices of k experts that touch exactly d groups, without the experts first .. end - 1; returns the sum over all
 * numbers of groups. */
static double sum_choices(const struct limited *l, int first, int end, double touch[LENGTH])
{
    double sum[LENGTH][LENGTH] = {{1}}, any[LENGTH] = {1}, next[LENGTH];
    const int k = l->k;
    for (int g = 0; g < l->groups; g++) {
        const int from = g * l->size, to = from + l->size;
        const double *poly = l->group + (size_t)g * ((size_t)k + 1);
        double cut[LENGTH];
        if (first < to && end > from) {
            memset(cut, 0, sizeof cut);
            cut[0] = 1;
            for (int e = from; e < to; e++)
                if (e < first || e >= end)
                    times_expert(cut, k, l->odds[e]);
            poly = cut;
        }
        for (int d = l->limit; d > 0; d--)
            for (int j = k; j > 0; j--)
                for (int i = 1; i <= j; i++)
                    sum[d][j] += sum[d - 1][j - i] * poly[i];
        times(any, poly, k, next);
        memcpy(any, next, sizeof any);
    }
    for (int d = 0; d <= l->limit; d++)
        touch[d] = sum[d][k];
    return any[k];
}

/* Probability that a token has none of the experts first .. end - 1. Experts are taken in the order of their scores; behind
 * the first expert of the last group that may be touched, the experts of other groups are passed over. So a choice that
 * would touch fewer groups stays what it is, all others touch exactly as many as they may. */
static double none_limited(const struct limited *l, int first, int end)
{
    double touch[LENGTH], below = 0, fewer = 0;
    sum_choices(l, first, end, touch);
    for (int d = 0; d < l->limit; d++) {
        below += l->touch[d];
        fewer += touch[d];
    }
    double most = fmax(0, 1 - below / l->all);
    return fewer / l->all + (l->touch[l->limit] > 0 ? most * touch[l->limit] / l->touch[l->limit] : 0);
}

static int reach_limited(const struct ss_load_input *in, const double *odds, int blocks, int even,
                         double *out)
{
    struct limited l = {.k = in->top_k,
                        .groups = in->groups,
                        .limit = in->group_topk < in->top_k ? in->group_topk : in->top_k,
                        .size = in->experts / in->groups,
                        .odds = odds};
    const int size = in->experts / blocks;
    /* Where all experts and all blocks are alike one block stands for them. */
    const int alike = even && (blocks % in->groups == 0 || in->groups % blocks == 0);
    const size_t row = (size_t)l.k + 1;
    l.group = ss_calloc((size_t)l.groups, row * sizeof *l.group);
    if (!l.group)
        return SS_ERR_NOMEM;
    for (int g = 0; g < l.groups; g++)
        block_poly(odds, g * l.size, (g + 1) * l.size, l.k, l.group + (size_t)g * row);
    l.all = sum_choices(&l, 0, 0, l.touch);
    *out = 0;
    for (int b = 0; b < (alike ? 1 : blocks); b++)
        *out += (1 - none_limited(&l, b * size, (b + 1) * size)) * (alike ? blocks : 1);
    free(l.group);
    return SS_OK;
}

int ss_load_reach(const struct ss_load_input *in, const double *p, int blocks, double *out)
{
    double *odds = ss_calloc((size_t)in->experts, sizeof *odds);
    int even = 1, status;
    if (!odds)
        return SS_ERR_NOMEM;
    for (int e = 0; e < in->experts; e++) {
        odds[e] = odds_of(p[e]);
        even = even && p[e] == p[0];
    }
    if (blocks == 1) {
        *out = 1;
        status = SS_OK;
    } else if (in->group_topk > 0 && in->group_topk < in->groups) {
        status = reach_limited(in, odds, blocks, even, out);
    } else {
        status = reach_unlimited(odds, in->experts, in->top_k, blocks, out);
    }
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
