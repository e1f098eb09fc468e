/* SPDX-License-Identifier: Apache-2.0 */
/* Iterations under jitter: as many replays as replicas are asked for, by as many processes as there are cores. */
#include "result/spread.h"
#include "base/base.h"
#include "workers/pool.h"

/* 95 % of a normal distribution lie within this many standard deviations of the mean. */
#define NORMAL_95 1.959963984540054
/* On either side of an interval of 95 %. */
#define TAIL 0.025

struct drawn {
    double seconds;
    int replica;
};

/* What all replicas have in common. */
struct draws {
    const struct ss_program *program;
    const struct ss_run_options *options;
    int loop;
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

/* Where the percentile of the distribution is, 95 times of 100, whatever the distribution: the number of draws below it is
 * binomial, so that it lies between two order statistics. NaN on a side on which there are too few draws to say. */
static struct ss_interval percentile_interval(const struct drawn *d, int n, double p)
{
    double q = p / 100, chance = n * log1p(-q),
           below = 0; /* chance: the logarithm of that of k draws below */
    struct ss_interval in = {NAN, NAN};
    for (int k = 0; k <= n; k++) {
        below += exp(chance); /* of at most k */
        if (below <= TAIL && k < n)
            in.low = d[k].seconds; /* of more than k: the k + 1st draw is below the percentile */
        if (below >= 1 - TAIL) {
            in.high = k < n ? d[k].seconds : NAN;
            break;
        }
        chance += log((n - k) / (k + 1.0)) + log(q) - log1p(-q);
    }
    return in;
}

static struct ss_interval mean_interval(const struct drawn *d, int n, double mean)
{
    double squares = 0;
    for (int i = 0; i < n; i++)
        squares += (d[i].seconds - mean) * (d[i].seconds - mean);
    if (n < 2)
        return (struct ss_interval){NAN, NAN};
    double half = NORMAL_95 * sqrt(squares / (n - 1) / n);
    return (struct ss_interval){mean - half, mean + half};
}

static int replay(const struct ss_program *p, const struct ss_jitter *jitter, int engine, int loop,
                  struct ss_timeline **out, struct ss_error *err)
{
    const struct ss_replay_options how = {.engine = engine};
    struct ss_program drawn = *p;
    drawn.jitter = *jitter;
    return loop ? ss_timeline_steady(&drawn, &how, out, err)
                : ss_timeline_replay_with(&drawn, &how, out, err);
}

/* The answer is a double: s. */
static int replay_replica(void *ctx, int replica, void *answer, struct ss_error *err)
{
    const struct draws *d = ctx;
    struct ss_jitter jitter = d->options->jitter;
    struct ss_timeline *t;
    jitter.replica = replica;
    SS_TRY(replay(d->program, &jitter, d->options->engine, d->loop, &t, err));
    memcpy(answer, &t->iteration_s, sizeof t->iteration_s);
    ss_timeline_free(t);
    return SS_OK;
}

static void tell(void *ctx, int done)
{
    const struct ss_run_options *o = ctx;
    if (o->progress)
        o->progress(o->ctx, (double)done / o->replicas);
}

static void fill(const struct drawn *d, int n, struct ss_spread *out)
{
    const struct {
        double at, *value;
        struct ss_interval *interval;
    } rows[] = {{5, &out->p5, &out->p5_in},
                {25, &out->p25, &out->p25_in},
                {50, &out->p50, &out->p50_in},
                {75, &out->p75, &out->p75_in},
                {95, &out->p95, &out->p95_in}};
    for (int i = 0; i < n; i++)
        out->mean += d[i].seconds / n;
    out->mean_in = mean_interval(d, n, out->mean);
    out->min = d[0].seconds;
    out->max = d[n - 1].seconds;
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        *rows[i].value = percentile(d, n, rows[i].at);
        *rows[i].interval = percentile_interval(d, n, rows[i].at);
    }
}

/* In ascending order; *drawn is freed with free(). */
static int draw_all(struct draws *d, struct drawn **drawn, struct ss_error *err)
{
    int n = d->options->replicas;
    double *seconds = ss_calloc((size_t)n, sizeof *seconds);
    const struct ss_pool pool = {.workers = d->options->workers,
                                 .nitems = n,
                                 .size = sizeof *seconds,
                                 .work = replay_replica,
                                 .ctx = d,
                                 .on_answer = tell,
                                 .on_answer_ctx = (void *)d->options};
    *drawn = ss_calloc((size_t)n, sizeof **drawn);
    int rc = seconds && *drawn ? ss_pool_run(&pool, seconds, err) : ss_nomem(err);
    for (int i = 0; !rc && i < n; i++)
        (*drawn)[i] = (struct drawn){seconds[i], i};
    if (!rc)
        qsort(*drawn, (size_t)n, sizeof **drawn, by_seconds);
    free(seconds);
    return rc;
}

int ss_spread_replay(struct ss_program *p, const struct ss_run_options *options, int loop,
                     struct ss_timeline **median, struct ss_spread *out, struct ss_error *err)
{
    const struct ss_jitter none = {0};
    struct draws d = {p, options, loop};
    struct drawn *drawn = NULL;
    struct ss_timeline *t = NULL;
    int n = options->replicas, rc = replay(p, &none, options->engine, loop, &t, err);
    memset(out, 0, sizeof *out);
    if (!rc) {
        out->without = t->iteration_s;
        ss_timeline_free(t);
        rc = draw_all(&d, &drawn, err);
    }
    if (!rc) {
        out->replicas = n;
        out->sigma = options->jitter.sigma;
        out->seed = options->jitter.seed;
        fill(drawn, n, out);
        p->jitter = options->jitter;
        p->jitter.replica = drawn[(n - 1) / 2].replica;
        rc = replay(p, &p->jitter, options->engine, loop, median, err);
    }
    free(drawn);
    return rc;
}
