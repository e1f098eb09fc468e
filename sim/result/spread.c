/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations under jitter: as many replays as replicas are asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "result/spread.h"

struct drawn {
    double seconds;
    int replica;
};

static int by_seconds(const void *pa, const void *pb)
{
    const struct drawn *a = pa, *b = pb;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    return a->replica - b->replica;
}

/* Linear between the order statistics. */
static double percentile(const struct drawn *d, int n, double p)
{
    double at = p / 100 * (n - 1);
    int i = (int)at;
    return i + 1 < n ? d[i].seconds + (at - i) * (d[i + 1].seconds - d[i].seconds) : d[n - 1].seconds;
}

static int replay(struct ss_program *p, int replica, int engine, int loop, struct ss_timeline **out,
                  struct ss_error *err)
{
    const struct ss_replay_options how = {.engine = engine};

    p->jitter.replica = replica;
    return loop ? ss_timeline_steady(p, &how, out, err) : ss_timeline_replay_with(p, &how, out, err);
}

static void fill(const struct drawn *d, int n, struct ss_spread *out)
{
    for (int i = 0; i < n; i++)
        out->mean += d[i].seconds / n;
    out->min = d[0].seconds;
    out->p5 = percentile(d, n, 5);
    out->p25 = percentile(d, n, 25);
    out->p50 = percentile(d, n, 50);
    out->p75 = percentile(d, n, 75);
    out->p95 = percentile(d, n, 95);
    out->max = d[n - 1].seconds;
}

int ss_spread_replay(struct ss_program *p, const struct ss_run_options *options, int loop,
                     struct ss_timeline **median, struct ss_spread *out, struct ss_error *err)
{
    const struct ss_jitter *jitter = &options->jitter;
    int engine = options->engine, replicas = options->replicas;
    struct drawn *drawn = ss_calloc((size_t)replicas, sizeof *drawn);
    struct ss_timeline *t = NULL;
    int rc = drawn ? replay(p, 0, engine, loop, &t, err) /* without jitter */
                   : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for %d replicas", replicas);
    memset(out, 0, sizeof *out);
    if (!rc) {
        out->without = t->iteration_s;
        ss_timeline_free(t);
        p->jitter = *jitter;
    }
    for (int i = 0; i < replicas && !rc; i++) {
        rc = replay(p, i, engine, loop, &t, err);
        if (rc)
            break;
        drawn[i] = (struct drawn){t->iteration_s, i};
        ss_timeline_free(t);
        if (options->progress)
            options->progress(options->ctx, (i + 1.0) / replicas);
    }
    if (!rc) {
        qsort(drawn, (size_t)replicas, sizeof *drawn, by_seconds);
        out->replicas = replicas;
        out->sigma = jitter->sigma;
        out->seed = jitter->seed;
        fill(drawn, replicas, out);
        rc = replay(p, drawn[(replicas - 1) / 2].replica, engine, loop, median, err);
    }
    free(drawn);
    return rc;
}
