/* SPDX-License-Identifier: Apache-2.0 */
/* How far two predictions may be apart and still stand in the wrong order: errors of ratios, from measured runs. */
#include "base/base.h"
#include "base/map.h"
#include "result/bands.h"

#define LEAST_SOURCES 3 /* with pairs; of fewer nothing is said */

struct pair {
    double size; /* of the logarithm of the ratio's error */
    double weight;
    int source, near;
};
/* Pairs, and by whether their card and stack are the job's the weight of each source's. */
struct pairs {
    size_t n, cap;
    struct pair *pair;
    double weight[2][SS_BAND_SOURCES];
    int sources[2];
};

static int add(const struct ss_band_run *a, const struct ss_band_run *b, int source, int near,
               struct pairs *out)
{
    double weight = a->weight * b->weight;

    if (ss_grow(&out->pair, &out->cap, out->n + 1, sizeof *out->pair))
        return SS_ERR_NOMEM;
    out->pair[out->n++] = (struct pair){fabs(a->above - b->above), weight, source, near};
    out->sources[near] += out->weight[near][source] == 0;
    out->weight[near][source] += weight;
    return SS_OK;
}

/* Finds the next run behind each that has its kind and job; 0: there is none. next has t->n numbers, and behind them as many to work with. */
static int link_runs(const struct ss_band_table *t, int *next)
{
    int *last = next + t->n, rc = SS_OK;
    struct ss_map first = {0};

    for (int i = 0; i < t->n && !rc; i++) {
        const struct ss_band_run *run = &t->by_above[i];
        int at = ss_map_put(&first, ss_mix64(run->job) + (uint64_t)run->kind, i);
        rc = at < 0 ? SS_ERR_NOMEM : SS_OK;
        if (!rc && at < i)
            next[last[at]] = i;
        if (!rc)
            last[at] = i;
    }
    ss_map_free(&first);
    return rc;
}

/* Collects pairs of runs that share source, card and family of stacks, and the job except for its layout. */
static int collect(const struct ss_band_table *t, const struct ss_band_job *job, struct pairs *out)
{
    int *next = ss_calloc(2 * (size_t)t->n + 1, sizeof *next), rc = next ? link_runs(t, next) : SS_ERR_NOMEM;

    for (int i = 0; i < t->n && !rc; i++) {
        const struct ss_band_run *a = &t->by_above[i];
        const struct ss_band_kind *kind = &t->kinds[a->kind];
        int near = !strcmp(kind->card, job->card) && !strcmp(kind->family, job->family);
        int alike = kind->experts == (job->experts > 0) && kind->hybrid == job->hybrid;
        for (int k = alike ? next[i] : 0; k && !rc; k = next[k])
            rc = add(a, &t->by_above[k], kind->source, near, out);
    }
    free(next);
    return rc;
}

/* A near source has one vote; all others share one, if there are any. */
static double share_of(const struct pairs *p, const struct pair *pair)
{
    double share = pair->weight / p->weight[pair->near][pair->source];
    return pair->near ? share : share / p->sources[0];
}

static void swap(struct pair *a, struct pair *b)
{
    struct pair was = *a;
    *a = *b;
    *b = was;
}

/* Returns the size up to which pairs have this level of the votes. Pairs are parted by one of their sizes, and the part where the level is
 * reached again, as sorting all of them would cost more. */
static double quantile(struct pairs *p, double level)
{
    double votes = p->sources[1] + (p->sources[0] > 0), left = level * votes * (1 - 1e-12), size = 0;
    for (size_t low = 0, high = p->n; low < high;) {
        size_t same = low, at = low, above = high;
        double below = 0, equal = 0;
        size = p->pair[low + (high - low) / 2].size;
        while (at < above) {
            struct pair *pair = &p->pair[at];
            if (pair->size > size) {
                swap(pair, &p->pair[--above]);
                continue;
            }
            *(pair->size < size ? &below : &equal) += share_of(p, pair);
            if (pair->size < size)
                swap(pair, &p->pair[same++]);
            at++;
        }
        if (below >= left) {
            high = same;
            continue;
        }
        left -= below + equal;
        if (left <= 0)
            break;
        low = above;
    }
    return size;
}

int ss_bands_pair(const struct ss_bands *bands, const struct ss_band_job *job, struct ss_pair_band *out,
                  struct ss_error *err)
{
    struct pairs p = {0};
    int rc = bands ? collect(&bands->time, job, &p) : SS_OK;

    memset(out, 0, sizeof *out);
    out->sources = p.sources[0] + p.sources[1];
    out->near_sources = p.sources[1];
    if (!rc && out->sources >= LEAST_SOURCES) {
        out->pairs = (int)p.n;
        out->pct = 100 * expm1(quantile(&p, SS_BAND_SHARE));
    }
    free(p.pair);
    return rc ? ss_fail(err, rc, NULL, 0, "no memory for the error bands") : SS_OK;
}
