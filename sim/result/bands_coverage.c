/* SPDX-License-Identifier: Apache-2.0 */
/* How often bands hold runs of a source that they were made without. */
#include "base/base.h"
#include "result/bands.h"

static int is_inside(const struct ss_band *band, const struct ss_band_run *r, int memory)
{
    double above = 100 * expm1(r->above);

    return memory ? above >= band->low_pct && above <= band->high_pct : 100 * r->size <= band->pct;
}

static struct ss_coverage_source *find(struct ss_coverage *c, const char *name, const struct ss_band_kind *k)
{
    int i = 0;

    while (i < c->n && (c->sources[i].experts != k->experts || c->sources[i].hybrid != k->hybrid ||
                        strcmp(c->sources[i].name, name) != 0))
        i++;
    if (i == c->n) {
        c->n++;
        ss_copy(c->sources[i].name, sizeof c->sources[i].name, name);
        c->sources[i].experts = k->experts;
        c->sources[i].hybrid = k->hybrid;
    }
    return &c->sources[i];
}

/* Holds runs of the table against bands of `of`: made without the runs' source, or (without_source 0) of other runs. */
static void hold(const struct ss_band_table *t, const struct ss_band_table *of, const struct ss_band_run *r,
                 int without_source, int memory, struct ss_coverage *out)
{
    const struct ss_band_kind *k = &t->kinds[r->kind];
    struct ss_band_job job = {
        .card = k->card, .family = k->family, .experts = k->experts, .hybrid = k->hybrid};
    struct ss_coverage_source *source = find(out, t->sources[k->source], k);
    struct ss_band band;

    memcpy(job.size, r->at, sizeof job.size);
    ss_band_find(of, &job, without_source ? k->source : -1, &band);
    if (!band.n)
        return;
    source->runs++;
    source->weight += r->weight;
    source->pct += r->weight * (memory ? (band.high_pct - band.low_pct) / 2 : band.pct);
    source->inside += is_inside(&band, r, memory) ? r->weight : 0;
}

static int by_name(const void *pa, const void *pb)
{
    const struct ss_coverage_source *a = pa, *b = pb;

    if (a->hybrid != b->hybrid || a->experts != b->experts)
        return a->hybrid != b->hybrid ? a->hybrid - b->hybrid : a->experts - b->experts;
    return strcmp(a->name, b->name);
}

/* Takes the mean over sources and over runs. */
static void sum_up(struct ss_coverage *out)
{
    int n = 0;

    for (int i = 0; i < out->n; i++)
        if (out->sources[i].runs)
            out->sources[n++] = out->sources[i];
    out->n = n;
    for (int i = 0; i < out->n; i++) {
        struct ss_coverage_source *s = &out->sources[i];
        out->weight += s->weight;
        out->by_run += s->inside;
        s->inside /= s->weight;
        s->pct /= s->weight;
        out->by_source += s->inside / out->n;
    }
    if (out->weight > 0)
        out->by_run /= out->weight;
    qsort(out->sources, (size_t)out->n, sizeof *out->sources, by_name);
}

/* A table of each source's smaller two thirds, by GPUs. */
struct part {
    double most[SS_BAND_SOURCES]; /* GPUs of the source's runs */
    struct ss_band_table table;
};

static int by_number(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static int is_in(const struct part *part, const struct ss_band_table *of, const struct ss_band_run *r)
{
    return r->at[SS_BAND_GPUS] <= part->most[of->kinds[r->kind].source];
}

static int find_most(const struct ss_band_table *t, struct part *part)
{
    double *gpus = ss_calloc((size_t)t->n + 1, sizeof *gpus);

    for (int source = 0; gpus && source < t->nsources; source++) {
        int n = 0;
        for (int i = 0; i < t->n; i++)
            if (t->kinds[t->by_above[i].kind].source == source)
                gpus[n++] = t->by_above[i].at[SS_BAND_GPUS];
        qsort(gpus, (size_t)n, sizeof *gpus, by_number);
        part->most[source] = n ? gpus[(2 * n + 2) / 3 - 1] : 0;
    }
    free(gpus);
    return gpus ? SS_OK : SS_ERR_NOMEM;
}

/* Copies what is_in the part, in both orders. */
static int split(const struct ss_band_table *t, struct part *part)
{
    const struct ss_band_run *const orders[] = {t->by_above, t->by_size};
    struct ss_band_table *to = &part->table;
    struct ss_band_run *runs = ss_calloc(2 * (size_t)t->n + 1, sizeof *runs);
    int n = 0;

    *to = *t;
    to->by_above = runs;
    to->kinds = ss_calloc((size_t)t->nkinds + 1, sizeof *to->kinds);
    if (!runs || !to->kinds || find_most(t, part))
        return SS_ERR_NOMEM;
    memcpy(to->kinds, t->kinds, (size_t)t->nkinds * sizeof *t->kinds);
    for (int order = 0; order < 2; order++)
        for (int i = 0; i < t->n; i++)
            if (is_in(part, t, &orders[order][i]))
                runs[n++] = orders[order][i];
    to->n = n / 2;
    to->by_size = runs + to->n;
    for (int i = 0; i < to->nkinds; i++) {
        struct ss_band_kind *k = &to->kinds[i];
        k->runs = 0;
        k->weight = 0;
        memset(k->least, 0, sizeof k->least);
        memset(k->most, 0, sizeof k->most);
    }
    for (int i = 0; i < to->n; i++)
        ss_band_count(to, &to->by_above[i]);
    return SS_OK;
}

int ss_bands_coverage(const struct ss_bands *bands, int memory, int largest, struct ss_coverage *out,
                      struct ss_error *err)
{
    const struct ss_band_table *t = memory ? &bands->memory : &bands->time;
    struct part *part = ss_calloc(1, sizeof *part);
    int rc = SS_OK;

    memset(out, 0, sizeof *out);
    out->sources = ss_calloc((size_t)t->nkinds + 1, sizeof *out->sources);
    if (!part || !out->sources || (largest && split(t, part)))
        rc = ss_nomem(err);
    for (int i = 0; i < t->n && !rc; i++)
        if (!largest)
            hold(t, t, &t->by_above[i], 1, memory, out);
        else if (!is_in(part, t, &t->by_above[i]))
            hold(t, &part->table, &t->by_above[i], 0, memory, out);
    if (rc)
        ss_coverage_free(out);
    else
        sum_up(out);
    SS_FREE(part ? part->table.by_above : NULL, part ? part->table.kinds : NULL, part);
    return rc;
}

void ss_coverage_free(struct ss_coverage *coverage)
{
    free(coverage->sources);
    memset(coverage, 0, sizeof *coverage);
}
