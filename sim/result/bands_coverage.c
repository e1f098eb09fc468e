/* SPDX-License-Identifier: Apache-2.0 */
/* How often bands hold runs of a source that they were made without. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Runs of one kind have one band, because a band depends only on the kind. */
static void hold_kind(const struct ss_band_table *t, int kind, int memory, struct ss_coverage *out)
{
    const struct ss_band_kind *k = &t->kinds[kind];
    const struct ss_band_job job = {k->card, k->family, k->experts, NULL, k->hybrid};
    struct ss_coverage_source *source = find(out, t->sources[k->source], k);
    struct ss_band band;

    ss_band_find(t, &job, k->source, &band);
    source->runs += k->runs;
    source->weight += k->weight;
    source->pct += k->weight * (memory ? (band.high_pct - band.low_pct) / 2 : band.pct);
    for (int i = 0; i < t->n; i++)
        if (t->by_above[i].kind == kind && is_inside(&band, &t->by_above[i], memory))
            source->inside += t->by_above[i].weight;
}

static int by_name(const void *pa, const void *pb)
{
    const struct ss_coverage_source *a = pa, *b = pb;

    if (a->hybrid != b->hybrid || a->experts != b->experts)
        return a->hybrid != b->hybrid ? a->hybrid - b->hybrid : a->experts - b->experts;
    return strcmp(a->name, b->name);
}

int ss_bands_coverage(const struct ss_bands *bands, int memory, struct ss_coverage *out, struct ss_error *err)
{
    const struct ss_band_table *t = memory ? &bands->memory : &bands->time;

    memset(out, 0, sizeof *out);
    out->sources = ss_calloc((size_t)t->nkinds + 1, sizeof *out->sources);
    if (!out->sources)
        return ss_nomem(err);
    for (int k = 0; k < t->nkinds; k++)
        hold_kind(t, k, memory, out);
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
    return SS_OK;
}

void ss_coverage_free(struct ss_coverage *coverage)
{
    free(coverage->sources);
    memset(coverage, 0, sizeof *coverage);
}
