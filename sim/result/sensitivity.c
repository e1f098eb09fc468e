/* SPDX-License-Identifier: Apache-2.0 */
/* How much of an answer depends on the order of events that differ only by rounding: replays whose links
 * differ by next to nothing. */
#include "result/sensitivity.h"

#include "base/base.h"
#include "base/map.h"

/* Doublings that take 2^-53, the rounding of one number, to about 1e-10: fewer cannot matter. */
#define DOUBLINGS 20
/* A smaller change of the iteration does not count, as a share of it. */
#define HOLDS 1e-9
/* Number of replays that tell whether the answer moves, and of all that tell how far. */
#define FIRST 2
#define ALL 16
/* Standard deviations on both sides: of 300 other replays of three chaotic jobs, 97 to 99 % lie within. */
#define WIDTH 3

/* Iterations of all replays, s; sums of their excess over the first. */
struct answers {
    int n;
    double first, low, high, sum, squares;
};

static double size_of(int replay)
{
    static const double sizes[] = {1e-12, 1e-12, 1e-14, 1e-13, 1e-11, 1e-10};
    return sizes[replay % (int)SS_ARRAY_LEN(sizes)];
}

/* -1 .. 1, by (replay, link). */
static double draw(int replay, int link)
{
    uint64_t bits = ss_mix64(ss_mix64((uint64_t)replay + 1) + (uint64_t)link);
    return 2 * ((double)(bits >> 11) * 0x1p-53) - 1;
}

static void add(struct answers *a, double seconds)
{
    double longer = seconds - a->first;
    a->low = fmin(a->low, seconds);
    a->high = fmax(a->high, seconds);
    a->sum += longer;
    a->squares += longer * longer;
    a->n++;
}

static int moved(const struct answers *a)
{
    return a->high - a->low > HOLDS * a->high;
}

static void sum_up(const struct answers *a, struct ss_sensitivity *out)
{
    double mean = a->sum / a->n, width = WIDTH * sqrt(fmax(0, a->squares / a->n - mean * mean));
    out->sensitive = 1;
    out->low = fmax(0, fmin(a->low, a->first + mean - width));
    out->high = fmax(a->high, a->first + mean + width);
}

static int replay_all(struct ss_program *p, const double *bandwidth, int loop, struct ss_sensitivity *out,
                      struct ss_error *err)
{
    const struct ss_replay_options how = {.engine = SS_ENGINE_NATIVE};
    struct answers a = {.n = 1, .first = out->low, .low = out->low, .high = out->low};
    double seconds;
    for (int i = 0; i < (moved(&a) ? ALL : FIRST); i++) {
        for (int l = 0; l < p->nlinks; l++)
            p->links[l].bandwidth = bandwidth[l] * (1 + size_of(i) * draw(i, l));
        SS_TRY(ss_replay_seconds(p, &how, loop, &seconds, err));
        add(&a, seconds);
    }
    if (moved(&a))
        sum_up(&a, out);
    return SS_OK;
}

/* For a replay on SimGrid the native engine counts the doublings. */
static int count_doublings(const struct ss_program *p, const struct ss_timeline *t, int loop, double *out,
                           struct ss_error *err)
{
    const struct ss_replay_options how = {.engine = SS_ENGINE_NATIVE};
    struct ss_timeline *native = NULL;
    *out = t->doublings;
    if (!isnan(t->doublings))
        return SS_OK;
    int rc = (loop ? ss_timeline_steady : ss_timeline_replay_with)(p, &how, &native, err);
    if (!rc)
        *out = native->doublings;
    ss_timeline_free(native);
    return rc;
}

int ss_sensitivity_none(const struct ss_timeline *t)
{
    return t->doublings <= DOUBLINGS;
}

int ss_sensitivity_find(struct ss_program *p, const struct ss_timeline *t, int loop,
                        struct ss_sensitivity *out, struct ss_error *err)
{
    double doublings, *bandwidth;
    *out = (struct ss_sensitivity){.known = 1, .low = t->iteration_s, .high = t->iteration_s};
    int rc = count_doublings(p, t, loop, &doublings, err);
    if (rc || doublings <= DOUBLINGS)
        return rc;
    bandwidth = ss_calloc((size_t)p->nlinks, sizeof *bandwidth);
    SS_NEED(bandwidth, err);
    for (int l = 0; l < p->nlinks; l++)
        bandwidth[l] = p->links[l].bandwidth;
    rc = replay_all(p, bandwidth, loop, out, err);
    for (int l = 0; l < p->nlinks; l++)
        p->links[l].bandwidth = bandwidth[l];
    free(bandwidth);
    return rc;
}
