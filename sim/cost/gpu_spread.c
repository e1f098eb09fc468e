/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics of GPU paces by quadrature, without random numbers. */
#include "cost/gpu_spread.h"

#include <stdlib.h>

#include "base/cache.h"
#include "base/draw.h"
#include "base/map.h"
#include "base/stats.h"

/* The whiskers of a box plot end 1.5 quartile ranges beyond the quartiles: at 2.698 standard deviations of a
 * normal distribution. GPUs beyond the whiskers are outliers there, and slow machines here. */
#define WHISKER 2.698

struct ss_gpu_spread ss_pace_of(const struct ss_card *card, double times, int per_machine)
{
    return (struct ss_gpu_spread){.sigma = times * card->spread_gpu,
                                  .cut = WHISKER,
                                  .within = erf(WHISKER * M_SQRT1_2),
                                  .slow_share = times > 0 ? card->spread_slow_share : 0,
                                  .slow_factor = 1 + times * (card->spread_slow_factor - 1),
                                  .per_machine = per_machine};
}

int ss_pace_differs(const struct ss_gpu_spread *p)
{
    return p->sigma > 0 || (p->slow_share > 0 && p->slow_factor > 1);
}

static double mean_of(const struct ss_gpu_spread *p)
{
    return 1 + p->slow_share * (p->slow_factor - 1);
}

/* Returns the chance that 1 + sigma z is at most x. */
static double body(const struct ss_gpu_spread *p, double x)
{
    if (x >= 1 + p->sigma * p->cut)
        return 1;
    if (x < 1 - p->sigma * p->cut)
        return 0;
    return (1 + erf((x - 1) / (p->sigma * M_SQRT2)) / p->within) / 2;
}

static double power(double x, double n)
{
    return x <= 0 ? 0 : x >= 1 ? 1 : exp(n * log(x));
}

/* Returns the chance that all of `gpus` have a pace of at most x, over the mean pace. All GPUs of a machine
 * are slow together. */
static double all_below(const struct ss_gpu_spread *p, double x, double gpus)
{
    double together = fmin(gpus, p->per_machine), usual = power(body(p, x), together);
    if (!(p->slow_share > 0))
        return power(usual, gpus / together);
    double slow = power(body(p, x / p->slow_factor), together);
    return power((1 - p->slow_share) * usual + p->slow_share * slow, gpus / together);
}

/* Returns the chance that no part takes longer than t. */
static double none_longer(const struct ss_gpu_spread *p, const struct ss_pace_part *parts, int n, double t)
{
    double all = 1, mean = mean_of(p);
    for (int i = 0; i < n && all > 0; i++)
        if (parts[i].kernels > 0)
            all *= all_below(p, (t - parts[i].fixed) / parts[i].kernels * mean, parts[i].gpus);
        else if (t < parts[i].fixed)
            all = 0;
    return all;
}

/* ---- quadrature ---- */

/* A remaining chance below this changes nothing that is shown. */
#define NEGLIGIBLE 1e-12
/* Pieces of an interval, each half of the piece below it: the slowest of many GPUs is near the upper end. */
#define HALVINGS 5
#define POINTS 6

/* Integrates the chance that some part takes longer over one piece (Gauss and Legendre). */
static double piece(const struct ss_gpu_spread *p, const struct ss_pace_part *parts, int n, double from,
                    double to)
{
    static const double at[POINTS / 2] = {0.238619186083197, 0.661209386466265, 0.932469514203152};
    static const double weight[POINTS / 2] = {0.467913934572691, 0.360761573048139, 0.171324492379170};
    double sum = 0, middle = (from + to) / 2, half = (to - from) / 2;
    for (int i = 0; i < POINTS / 2; i++)
        sum += weight[i] * (2 - none_longer(p, parts, n, middle - half * at[i]) -
                            none_longer(p, parts, n, middle + half * at[i]));
    return sum * half;
}

/* Integrates from the upper end of an interval down to where some part surely takes longer; *certain says
 * that this holds all the way below. */
static double interval(const struct ss_gpu_spread *p, const struct ss_pace_part *parts, int n, double from,
                       double to, int *certain)
{
    double sum = 0, high = to, width = to - from, below = none_longer(p, parts, n, from);
    /* between the paces of usual machines and those of slow ones */
    if (none_longer(p, parts, n, to) - below < NEGLIGIBLE && below > 0)
        return (1 - below) * width;
    for (int i = HALVINGS; i >= 0 && !*certain; i--) {
        double low = i ? to - ldexp(width, -i) : from;
        sum += piece(p, parts, n, low, high);
        high = low;
        *certain = (i ? none_longer(p, parts, n, low) : below) < NEGLIGIBLE;
    }
    return sum + (high - from);
}

/* Lists where the chance has a kink: the ends of the paces of usual and of slow machines for the first part.
 * Ends of the other parts matter only where they are steps. */
static int kinks(const struct ss_gpu_spread *p, const struct ss_pace_part *parts, int n, double *at)
{
    double mean = mean_of(p), off = p->sigma * p->cut, top = 0;
    int found = 0, kinds = p->slow_share > 0 ? 2 : 1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < kinds; k++)
            for (int side = -1; side <= 1 && (i == 0 || off == 0); side += 2)
                at[found++] =
                    parts[i].fixed + parts[i].kernels * (k ? p->slow_factor : 1) * (1 + side * off) / mean;
        top = fmax(top,
                   parts[i].fixed + parts[i].kernels * (kinds > 1 ? p->slow_factor : 1) * (1 + off) / mean);
    }
    at[found++] = top;
    ss_sort(at, (size_t)found);
    return found;
}

static int longer_first(const void *pa, const void *pb)
{
    const struct ss_pace_part *a = pa, *b = pb;
    const double x = a->fixed + a->kernels, y = b->fixed + b->kernels;
    return x < y ? 1 : x > y ? -1 : a->kernels < b->kernels ? 1 : a->kernels > b->kernels ? -1 : 0;
}

/* Makes one part of more GPUs of parts that take equally long, and of those beyond SS_PACE_PARTS. */
static int merge(struct ss_pace_part *parts, int n)
{
    int kept = 0;
    qsort(parts, (size_t)n, sizeof *parts, longer_first);
    for (int i = 0; i < n; i++) {
        struct ss_pace_part *last = &parts[kept ? kept - 1 : 0];
        int same = kept && fabs(parts[i].fixed - last->fixed) <= 1e-9 * (last->fixed + last->kernels) &&
                   fabs(parts[i].kernels - last->kernels) <= 1e-9 * last->kernels;
        if (same || kept == SS_PACE_PARTS)
            last->gpus += parts[i].gpus;
        else
            parts[kept++] = parts[i];
    }
    return kept;
}

double ss_pace_longest(const struct ss_gpu_spread *p, struct ss_pace_part *parts, int n)
{
    double at[4 * SS_PACE_PARTS + 1], sum = 0;
    int certain = 0;
    n = merge(parts, n);
    int m = kinks(p, parts, n, at);
    double low = at[m - 1];
    for (int i = m - 1; i > 0 && !certain; i--)
        if (at[i] > at[i - 1]) {
            sum += interval(p, parts, n, at[i - 1], at[i], &certain);
            low = at[i - 1];
        }
    return low + sum;
}

double ss_pace_longest_kept(struct ss_cache *cache, const struct ss_gpu_spread *p, struct ss_pace_part *parts,
                            int n)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_PACE);
    if (!cache)
        return ss_pace_longest(p, parts, n);
    ss_cache_mix_bytes(&key, p, sizeof *p);
    ss_cache_mix_bytes(&key, parts, (size_t)n * sizeof *parts);
    double *kept = ss_cache_take(cache, key), pace = kept ? *kept : ss_pace_longest(p, parts, n);
    if (!kept && (kept = malloc(sizeof *kept)) != NULL) {
        *kept = pace;
        if (ss_cache_put(cache, key, kept, sizeof *kept, free)) {
            free(kept);
            return pace; /* the next call computes it again */
        }
    }
    if (kept)
        ss_cache_give_back(cache, key);
    return pace;
}

double ss_pace_slowest_kept(struct ss_cache *cache, const struct ss_gpu_spread *p, double gpus)
{
    struct ss_pace_part one = {0, 1, gpus};
    return gpus > 1 && ss_pace_differs(p) ? ss_pace_longest_kept(cache, p, &one, 1) : 1;
}

double ss_pace_slowest(const struct ss_gpu_spread *p, double gpus)
{
    return ss_pace_slowest_kept(NULL, p, gpus);
}

/* ---- draws ---- */

static double uniform(uint64_t seed, uint64_t what, uint64_t which)
{
    return ss_uniform(ss_mix64(ss_mix64(ss_mix64(seed) + what) + which));
}

double ss_pace_draw(const struct ss_gpu_spread *p, uint64_t seed, int gpu)
{
    double u = uniform(seed, 1, (uint64_t)gpu), low = 1 - p->sigma * p->cut, high = 1 + p->sigma * p->cut;
    int machine = (int)(gpu / p->per_machine);
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (body(p, middle) < u)
            low = middle;
        else
            high = middle;
    }
    int slow = p->slow_share > 0 && uniform(seed, 2, (uint64_t)machine) < p->slow_share;
    return (slow ? p->slow_factor : 1) * (low + high) / 2 / mean_of(p);
}
