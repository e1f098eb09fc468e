/* SPDX-License-Identifier: Apache-2.0 */
/* A job's band: the quantiles of what the sources that are like it, and then all others, were off by. */
#include "base/base.h"
#include "result/bands.h"

/* The first is that of hybrid models alone, on any card: of few runs those of one card are one job. */
#define CIRCLES 4
#define OF_HYBRIDS 1
#define EXACT 1e-12 /* masses that should add up to a quantile may miss it by this */

/* Nine of ten sources of validation/results.csv, one vote each: how much the errors of two runs of one source, card, stack and precision
 * (but for parameters of one model, too) that are 8 times apart or more differ, for each doubling. */
const struct ss_band_drift ss_band_drifts[] = {{0.030, 8}, {0.022, 7}, {0.032, 9.25}};

/* How the mass of a band is dealt out. */
struct deal {
    double share[SS_BAND_KINDS]; /* of a run of this kind, by its weight */
    double rest;                 /* of a source unlike all */
    double sigma;                /* of ln (measured over predicted) for such a source */
    int runs, sources;           /* of all circles */
    int near_runs,
        near_sources; /* of the narrowest circle: of hybrid models, or of the same family on the same card */
    int hybrids;      /* 1: of hybrid models */
    int late;         /* 1: runs of narrower circles are too far */
    int narrowest;    /* circle that has runs */
    double least[SS_BAND_AXES], most[SS_BAND_AXES]; /* of the narrowest's runs */
};

static int is_alike(const struct ss_band_job *to, const struct ss_band_kind *k, int circle)
{
    int mixture = to->experts > 0, near = !strcmp(to->card, k->card) && !strcmp(to->family, k->family);

    if (circle < OF_HYBRIDS)
        return to->hybrid && k->hybrid;
    switch (k->hybrid ? CIRCLES : circle) {
    case OF_HYBRIDS: return mixture == k->experts && near;
    case OF_HYBRIDS + 1: return mixture == k->experts;
    case OF_HYBRIDS + 2:
        return mixture; /* what a mixture's prediction misses tells nothing of a dense model's */
    default: return 0;  /* nor that of a hybrid model of any other */
    }
}

static void add_range(const struct ss_band_kind *k, struct deal *d)
{
    for (int axis = 0; axis < SS_BAND_AXES; axis++) {
        if (k->least[axis] > 0)
            d->least[axis] = d->least[axis] > 0 ? fmin(d->least[axis], k->least[axis]) : k->least[axis];
        d->most[axis] = fmax(d->most[axis], k->most[axis]);
    }
}

/* Deals the mass that is left to the sources of a circle that were in no narrower one. */
static void deal_circle(const struct ss_band_table *t, const struct ss_band_job *job, int circle, int *joined,
                        struct deal *d)
{
    double weight[SS_BAND_SOURCES] = {0};
    int sources = 0, runs = 0;

#define COUNTS(k) ((joined[(k)->source] < 0 || joined[(k)->source] == circle) && is_alike(job, k, circle))
    for (int i = 0; i < t->nkinds; i++) {
        const struct ss_band_kind *k = &t->kinds[i];
        if (!COUNTS(k))
            continue;
        sources += joined[k->source] < 0;
        joined[k->source] = circle;
        weight[k->source] += k->weight;
        runs += k->runs;
        if (!d->runs)
            add_range(k, d);
    }
    if (!d->runs && runs)
        d->narrowest = circle;
    for (int i = 0; i < t->nkinds; i++)
        if (COUNTS(&t->kinds[i]))
            d->share[i] = d->rest / (sources + 1) / weight[t->kinds[i].source];
#undef COUNTS
    d->rest /= sources + 1;
    d->runs += runs;
    d->sources += sources;
    if (circle <= OF_HYBRIDS && !d->near_runs) {
        d->near_runs = runs;
        d->near_sources = sources;
        d->hybrids = circle < OF_HYBRIDS && runs;
    }
}

/* How far off the worst run of all is. */
static double furthest(const struct ss_band_table *t, const struct deal *d)
{
    double most = 0;

    for (int i = 0; i < t->n; i++)
        if (d->share[t->by_above[i].kind] > 0)
            most = fmax(most, fabs(t->by_above[i].above));
    return most;
}

/* Deals from the circle `first` on. */
static void deal(const struct ss_band_table *t, const struct ss_band_job *job, int without, int first,
                 struct deal *d)
{
    int joined[SS_BAND_SOURCES]; /* the circle in which a source counts; -1: none yet */

    memset(d, 0, sizeof *d);
    d->rest = 1;
    for (int s = 0; s < SS_BAND_SOURCES; s++)
        joined[s] = s == without ? CIRCLES : -1;
    for (int circle = first; circle < CIRCLES; circle++)
        deal_circle(t, job, circle, joined, d);
    d->sigma = furthest(t, d);
}

static double normal(double x, double sigma)
{
    return sigma > 0 ? 0.5 * (1 + erf(x / (sigma * sqrt(2)))) : x >= 0;
}

/* Returns the share of errors of that spread that are at most x, a share of the measured. */
static double normal_size(double x, double sigma)
{
    if (x < 0)
        return 0;
    return normal(log1p(x), sigma) - (x < 1 ? normal(log1p(-x), sigma) : 0);
}

typedef double (*law)(double x, double sigma);

/* The x between low and high at which the rest alone has the mass. */
static double solve(const struct deal *d, law of_rest, double mass, double low, double high)
{
    for (int i = 0; i < 60; i++) {
        double x = (low + high) / 2;
        if (d->rest * of_rest(x, d->sigma) >= mass - EXACT)
            high = x;
        else
            low = x;
    }
    return high;
}

/* A way to look at runs: by size, by the errors above, or by the errors below. */
struct view {
    const struct ss_band_run *runs;
    law of_rest;
    int sign; /* 0: size */
};

static double value(const struct view *v, const struct ss_band_run *r)
{
    return v->sign ? v->sign * r->above : r->size;
}

/* The least value that a share `level` of the mass is not above. */
static double quantile(const struct ss_band_table *t, const struct deal *d, const struct view *v,
                       double level)
{
    double mass = 0, before = -10;

    for (int i = 0; i < t->n; i++) {
        const struct ss_band_run *r = &v->runs[v->sign < 0 ? t->n - 1 - i : i];
        double x = value(v, r), rest, more = d->share[r->kind] * r->weight;
        if (!(d->share[r->kind] > 0))
            continue;
        if (mass + more + d->rest < level - EXACT) { /* however much of the rest is below */
            mass += more;
            before = x;
            continue;
        }
        rest = d->rest * v->of_rest(x, d->sigma);
        if (mass + rest >= level - EXACT)
            return solve(d, v->of_rest, level - mass, before, x);
        mass += more;
        if (mass + rest >= level - EXACT)
            return x;
        before = x;
    }
    return solve(d, v->of_rest, level - mass, before, 10);
}

static void describe(const struct ss_band_job *job, const struct deal *d, char *out, size_t size)
{
    char what[80];

    if (d->hybrids)
        ss_copy(what, sizeof what, "of hybrid models");
    else
        snprintf(what, sizeof what, "%.20s on %.40s", job->family, job->card);
    int others = d->runs - d->near_runs, sources = d->sources - d->near_sources;
    if (d->near_runs)
        snprintf(out, size,
                 "%d run%s of %d source%s, %s; %d run%s of %d other source%s also count%s, with less weight",
                 d->near_runs, ss_plural(d->near_runs), d->near_sources, ss_plural(d->near_sources), what,
                 others, ss_plural(others), sources, ss_plural(sources), others == 1 ? "s" : "");
    else if (d->late)
        snprintf(out, size, "%d run%s of %d source%s; none of like jobs is near this one", d->runs,
                 ss_plural(d->runs), d->sources, ss_plural(d->sources));
    else
        snprintf(out, size, "%d measured run%s of %d source%s; none used %.20s on %.40s", d->runs,
                 ss_plural(d->runs), d->sources, ss_plural(d->sources), job->family, job->card);
}

/* How far a job is from runs. */
struct away {
    double octaves[SS_BAND_AXES];
    double log; /* what errors drift by that */
    int beyond; /* axis on which runs tell nothing as far away; -1: none */
};

static struct away away_from(const struct ss_band_table *t, const struct ss_band_job *job,
                             const struct deal *d)
{
    struct away a = {.beyond = -1};

    for (int axis = 0; axis < SS_BAND_AXES; axis++) {
        double x = job->size[axis];
        if (!t->drifts || !(x > 0) || !(d->most[axis] > 0))
            continue;
        a.octaves[axis] = fmax(0, fmax(log2(x / d->most[axis]), log2(d->least[axis] / x)));
        a.log += a.octaves[axis] * ss_band_drifts[axis].octave;
        if (a.octaves[axis] > ss_band_drifts[axis].span)
            a.beyond = axis;
    }
    return a;
}

/* Appends on what axis a job is furthest from runs: "16 times the most GPUs of these runs". */
static void tell_away(const struct ss_band_job *job, const struct deal *d, const struct away *a, char *out,
                      size_t size)
{
    static const char *const names[SS_BAND_AXES] = {"GPUs", "tokens a sequence", "parameters"};
    int worst = 0;

    for (int axis = 1; axis < SS_BAND_AXES; axis++)
        if (a->octaves[axis] * ss_band_drifts[axis].octave > a->octaves[worst] * ss_band_drifts[worst].octave)
            worst = axis;
    worst = a->beyond >= 0 ? a->beyond : worst;
    double times = exp2(a->octaves[worst]);
    int more = job->size[worst] > d->most[worst];
    ss_append(out, size, "%s%.3g %s %s of these runs", more ? "" : "1/", times,
              more ? "times the most" : "of the fewest", names[worst]);
}

static void fill(const struct ss_band_table *t, const struct ss_band_job *job, const struct deal *d,
                 const struct away *a, double pct, struct ss_band *out)
{
    const struct view up = {t->by_above, normal, 1}, down = {t->by_above, normal, -1};
    double side = 1 - (1 - SS_BAND_SHARE) / 2;

    out->n = d->runs;
    out->sources = d->sources;
    out->pct = 100 * expm1(log1p(pct / 100) + a->log);
    out->high_pct = 100 * expm1(quantile(t, d, &up, side) + a->log);
    out->low_pct = 100 * expm1(-quantile(t, d, &down, side) - a->log);
    describe(job, d, out->like, sizeof out->like);
    if (a->log > 0.005) { /* told where it moves the band by a digit */
        ss_append(out->like, sizeof out->like, "; wider: ");
        tell_away(job, d, a, out->like, sizeof out->like);
    }
}

void ss_band_find(const struct ss_band_table *t, const struct ss_band_job *job, int without,
                  struct ss_band *out)
{
    const struct view size = {t->by_size, normal_size, 0};

    memset(out, 0, sizeof *out);
    for (int first = 0; first < CIRCLES && !out->n; first++) {
        struct deal d;
        deal(t, job, without, first, &d);
        if (!d.runs)
            return;
        d.late = first > 0;
        const struct away a = away_from(t, job, &d);
        first = d.narrowest;
        double pct = 100 * quantile(t, &d, &size, SS_BAND_SHARE);
        out->apart_pct = out->apart_pct > 0 ? out->apart_pct : pct;
        if (a.beyond < 0) {
            fill(t, job, &d, &a, pct, out);
        } else {
            ss_copy(out->like, sizeof out->like, "no measured run is near: ");
            tell_away(job, &d, &a, out->like, sizeof out->like);
        }
    }
}

void ss_bands_find(const struct ss_bands *bands, const struct ss_band_job *job, struct ss_band *time,
                   struct ss_band *memory)
{
    memset(time, 0, sizeof *time);
    memset(memory, 0, sizeof *memory);
    if (bands) {
        ss_band_find(&bands->time, job, -1, time);
        ss_band_find(&bands->memory, job, -1, memory);
    }
    if (!job->unmodelled || !job->unmodelled[0])
        return;
    *time = (struct ss_band){.apart_pct = time->apart_pct};
    *memory = (struct ss_band){.high_pct = memory->high_pct};
    snprintf(time->like, sizeof time->like, "the effect of %.60s is not modelled", job->unmodelled);
    ss_copy(memory->like, sizeof memory->like, time->like);
}
