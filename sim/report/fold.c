/* SPDX-License-Identifier: Apache-2.0 */
#include "report/fold.h"

#include "base/base.h"

#define LONGEST 4096  /* slots of a period */
#define WORTH 0.6     /* a fold that leaves more than this share of the iteration is no help */
#define LEAST_TIMES 4 /* periods of a steady state that is worth a fold */

/* Returns 1 if slot b does for later microbatches what slot a does. */
static int repeats(const struct ss_program_slot *a, const struct ss_program_slot *b, int step)
{
    return a->phase >= 0 && a->phase == b->phase && a->chunk == b->chunk &&
           b->microbatch - a->microbatch == step;
}

/* Returns the slots around the middle that repeat with this length. */
static struct ss_fold_period around(const struct ss_program_class *c, int middle, int length)
{
    int step = c->slots[middle].microbatch - c->slots[middle - length].microbatch, from = middle, to = middle;

    while (step > 0 && from >= length && repeats(&c->slots[from - length], &c->slots[from], step))
        from--;
    while (step > 0 && to < c->nslots && repeats(&c->slots[to - length], &c->slots[to], step))
        to++;
    return (struct ss_fold_period){from - length + 1, to, length};
}

struct ss_fold_period ss_fold_period(const struct ss_program_class *c)
{
    int middle = c->nslots / 2;

    for (int length = 1; length <= c->nslots / 3 && length <= LONGEST; length++) {
        struct ss_fold_period q = around(c, middle, length);
        if (q.to - q.from >= c->nslots / 2) /* a few slots may repeat by chance */
            return q;
    }
    return (struct ss_fold_period){0, 0, 0};
}

struct clock {
    double **start; /* [class][nslots + 1]: s, when a slot begins; < 0: not yet */
};

static void on_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct clock *k = ctx;

    (void)event, (void)busy_from, (void)end;
    if (k->start[cls][slot] < 0)
        k->start[cls][slot] = start;
}

/* Returns when slot i of a class begins; one that takes no time begins with the next one that does. */
static double begin_of(const struct clock *k, const struct ss_program *p, int cls, int i, double makespan)
{
    for (; i < p->classes[cls].nslots; i++)
        if (k->start[cls][i] >= 0)
            return k->start[cls][i];
    return makespan;
}

/* The steady state of all classes: from the last begin to the first end. The class that is steady first gives the period. */
static void fold(const struct ss_program *p, const struct clock *k, double makespan, struct ss_fold *out)
{
    double warm = 0, cool = makespan;
    int first = -1, earliest = 0;
    struct ss_fold_period own = {0, 0, 0};

    for (int c = 0; c < p->nclasses; c++) {
        struct ss_fold_period q = ss_fold_period(&p->classes[c]);
        if (q.length == 0)
            return;
        warm = fmax(warm, begin_of(k, p, c, q.from, makespan));
        cool = fmin(cool, begin_of(k, p, c, q.to, makespan));
        if (first < 0 || q.from < earliest) {
            first = c;
            earliest = q.from;
            own = q;
        }
    }
    if (first < 0)
        return;
    int times = (own.to - own.from) / own.length;
    double period = (begin_of(k, p, first, own.from + times * own.length, makespan) -
                     begin_of(k, p, first, own.from, makespan)) /
                    times;
    if (!(period > 0) || cool - warm < LEAST_TIMES * period)
        return;
    warm += warm < period / 4 ? period : 0; /* a part of hardly any length could not be read */
    cool -= makespan - cool < period / 4 ? period : 0;
    int shown = (int)fmax(1, ceil((warm + makespan - cool) / 2 / period - 1e-6)),
        at = own.from + (times - shown) / 2 * own.length;
    if (shown > times || warm + shown * period + makespan - cool > WORTH * makespan)
        return;
    out->n = SS_FOLD_PARTS;
    out->part[0].end = warm;
    out->part[1].start = begin_of(k, p, first, at, makespan);
    out->part[1].end = begin_of(k, p, first, at + shown * own.length, makespan);
    out->part[2].start = cool;
    out->part[2].end = makespan;
    out->shown = shown;
    out->periods = (int)lround((cool - warm) / period);
}

static int make_clock(struct clock *k, const struct ss_program *p)
{
    k->start = ss_calloc((size_t)p->nclasses + 1, sizeof *k->start);
    for (int c = 0; k->start && c < p->nclasses; c++) {
        k->start[c] = ss_calloc((size_t)p->classes[c].nslots + 1, sizeof **k->start);
        if (!k->start[c])
            return SS_ERR_NOMEM;
        for (int i = 0; i < p->classes[c].nslots; i++)
            k->start[c][i] = -1;
    }
    return k->start ? SS_OK : SS_ERR_NOMEM;
}

int ss_fold_find(const struct ss_program *p, int wanted, struct ss_fold *out, double *makespan,
                 struct ss_error *err)
{
    struct clock k = {NULL};
    const struct ss_observer observer = {&k, on_span, NULL, NULL};
    struct ss_replay_stats stats = {0};
    int rc = wanted ? make_clock(&k, p) : SS_OK;

    if (rc)
        ss_nomem(err);
    SS_THEN(rc, ss_replay(p, SS_ENGINE_NATIVE, &observer, wanted ? 1 : 0, &stats, err));
    memset(out, 0, sizeof *out);
    out->n = 1;
    out->part[0].end = *makespan = stats.makespan;
    if (!rc && wanted)
        fold(p, &k, stats.makespan, out);
    for (int c = 0; k.start && c < p->nclasses; c++)
        free(k.start[c]);
    free(k.start);
    return rc;
}
