/* SPDX-License-Identifier: Apache-2.0 */
/* Measured runs and the errors of their predictions, read as the bands need them. */
#include "result/bands.h"

#include "base/base.h"
#include "base/csv.h"

static int is_one_of(const char *quality, const char *const *good, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(quality, good[i]))
            return 1;
    return 0;
}

int ss_quality_counts(const char *quality)
{
    static const char *const good[] = {"", "ok", "inferred-precision", "A", "B"};

    return is_one_of(quality, good, SS_ARRAY_LEN(good));
}

/* Runs that are good only for ratios do not judge a model, but users meet such errors, too. */
static int is_in_bands(const char *quality)
{
    return ss_quality_counts(quality) || !strcmp(quality, "C");
}

/* Columns that are read, and where a table has them. */
enum {
    CARD,
    QUALITY,
    OUTCOME,
    PREDICTED,
    KIND,
    TIME,
    MEMORY,
    NEEDED,
    EXPERTS = NEEDED,
    SOURCE,
    FAMILY,
    WEIGHT,
    HYBRID,
    MODEL,
    GPUS,
    PRECISION,
    SEQ,
    PARAMETERS,
    COLUMNS
};

static const char *const names[COLUMNS] = {
    "card",        "quality",   "outcome",          "predicted_outcome",
    "memory_kind", "error_pct", "memory_error_pct", "experts",
    "source",      "family",    "weight",           "hybrid",
    "model",       "gpus",      "precision",        "seq",
    "parameters"};

static int find_columns(const struct ss_csv *csv, int at[COLUMNS], struct ss_error *err)
{
    for (int i = 0; i < COLUMNS; i++)
        if ((at[i] = ss_csv_column(csv, names[i])) < 0 && i < NEEDED)
            return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1,
                           "no column \"%s\"" SS_HINT "write it anew with validate --csv", names[i]);
    return SS_OK;
}

/* Cells that should hold a number or be empty. */
static const struct {
    int column;
    double least, missing;
} cells[] = {{TIME, -100, -100}, {MEMORY, -100, -100}, {EXPERTS, 0, 0}, {WEIGHT, 0, 1},
             {HYBRID, 0, 0},     {GPUS, 1, 0},         {SEQ, 1, 0},     {PARAMETERS, 1, 0}};

/* At a row of the table. */
struct reader {
    struct ss_csv *csv;
    int at[COLUMNS];
    double number[COLUMNS]; /* values of the row's cells */
    struct ss_error *err;
};

/* A column that a table of an earlier version lacks is empty: all its runs are of one source. */
static const char *field(const struct reader *r, int column)
{
    return r->at[column] < 0 ? "" : ss_csv_field(r->csv, 0, r->at[column]);
}

static int read_numbers(struct reader *r)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(cells); i++) {
        const char *text = field(r, cells[i].column);
        double *value = &r->number[cells[i].column];
        *value = cells[i].missing;
        if (!*text || (!ss_parse_double(text, value) && *value >= cells[i].least))
            continue;
        return ss_fail(r->err, SS_ERR_INPUT, ss_csv_file(r->csv), ss_csv_line(r->csv, 0),
                       "%s \"%.40s\" is no number of %g or more" SS_HINT "write it anew with validate --csv",
                       names[cells[i].column], text, cells[i].least);
    }
    return SS_OK;
}

/* Rows of a source stand together. */
static int find_source(struct ss_band_table *t, const char *name)
{
    int i = 0;

    if (t->nsources && !strcmp(t->sources[t->nsources - 1], name))
        return t->nsources - 1;
    while (i < t->nsources && strcmp(t->sources[i], name) != 0)
        i++;
    if (i == t->nsources && i < SS_BAND_SOURCES)
        ss_copy(t->sources[t->nsources++], sizeof t->sources[0], name);
    return i;
}

/* Index of the kind like *like, which is mostly one of the last and is added if it is new; SS_BAND_KINDS: no room. */
static int find_kind(struct ss_band_table *t, const struct ss_band_kind *like)
{
    for (int i = t->nkinds - 1; i >= 0; i--)
        if (t->kinds[i].source == like->source && t->kinds[i].experts == like->experts &&
            t->kinds[i].hybrid == like->hybrid && !strcmp(t->kinds[i].card, like->card) &&
            !strcmp(t->kinds[i].family, like->family))
            return i;
    if (t->nkinds == SS_BAND_KINDS)
        return SS_BAND_KINDS;
    t->kinds[t->nkinds] = *like;
    return t->nkinds++;
}

/* Is it a run that ran and whose column `what` says how far off, in percent, its prediction is? */
static int tells(const struct reader *r, int what)
{
    return r->number[what] > -100 && r->number[WEIGHT] > 0 && !strcmp(field(r, OUTCOME), "ok") &&
           (what == TIME ? !strcmp(field(r, PREDICTED), "ok") : strcmp(field(r, KIND), "analytic") != 0) &&
           is_in_bands(field(r, QUALITY));
}

void ss_band_count(struct ss_band_table *t, const struct ss_band_run *run)
{
    struct ss_band_kind *k = &t->kinds[run->kind];

    k->runs++;
    k->weight += run->weight;
    for (int axis = 0; axis < SS_BAND_AXES; axis++) {
        if (run->at[axis] > 0)
            k->least[axis] = k->least[axis] > 0 ? fmin(k->least[axis], run->at[axis]) : run->at[axis];
        k->most[axis] = fmax(k->most[axis], run->at[axis]);
    }
}

static int read_run(const struct reader *r, double error, struct ss_band_table *t)
{
    struct ss_band_run *run = &t->by_above[t->n];
    struct ss_band_kind kind = {.experts = r->number[EXPERTS] > 0, .hybrid = r->number[HYBRID] > 0};

    ss_copy(kind.card, sizeof kind.card, field(r, CARD));
    ss_copy(kind.family, sizeof kind.family, field(r, FAMILY));
    kind.source = find_source(t, field(r, SOURCE));
    run->above = -log1p(error);
    run->size = fabs(error);
    run->weight = r->number[WEIGHT];
    run->job = SS_HASH_INIT;
    for (int column = MODEL; column <= PRECISION; column++) /* with the final 0, which parts them */
        run->job = ss_hash(run->job, field(r, column), strlen(field(r, column)) + 1);
    run->kind = kind.source < SS_BAND_SOURCES ? find_kind(t, &kind) : SS_BAND_KINDS;
    if (run->kind == SS_BAND_KINDS)
        return ss_fail(r->err, SS_ERR_INPUT, ss_csv_file(r->csv), ss_csv_line(r->csv, 0),
                       "more than %d sources or %d kinds of runs", SS_BAND_SOURCES, SS_BAND_KINDS);
    run->at[SS_BAND_GPUS] = r->number[GPUS];
    run->at[SS_BAND_TOKENS] = r->number[SEQ];
    run->at[SS_BAND_PARAMETERS] = r->number[PARAMETERS];
    ss_band_count(t, run);
    t->n++;
    return SS_OK;
}

static int by_above(const void *pa, const void *pb)
{
    const struct ss_band_run *a = pa, *b = pb;

    return a->above != b->above ? (a->above > b->above) - (a->above < b->above) : a->kind - b->kind;
}

static int by_size(const void *pa, const void *pb)
{
    const struct ss_band_run *a = pa, *b = pb;

    return a->size != b->size ? (a->size > b->size) - (a->size < b->size) : a->kind - b->kind;
}

/* Room for n more runs. */
static int make_room(struct reader *r, int n, struct ss_band_table *t)
{
    SS_NEED(!ss_grow(&t->by_above, &t->cap, (size_t)(t->n + n), sizeof *t->by_above), r->err);
    return SS_OK;
}

/* The two orders of a table are one block. */
static int put_in_order(struct reader *r, struct ss_band_table *t)
{
    SS_TRY(make_room(r, t->n + 1, t));
    t->by_size = t->by_above + t->n;
    memcpy(t->by_size, t->by_above, (size_t)t->n * sizeof *t->by_size);
    qsort(t->by_above, (size_t)t->n, sizeof *t->by_above, by_above);
    qsort(t->by_size, (size_t)t->n, sizeof *t->by_size, by_size);
    return SS_OK;
}

static int read_tables(struct reader *r, struct ss_bands *bands)
{
    struct ss_band_table *const tables[] = {[TIME] = &bands->time, [MEMORY] = &bands->memory};
    int rc = find_columns(r->csv, r->at, r->err), more = 1;

    for (int what = TIME; what <= MEMORY; what++) {
        tables[what]->kinds = ss_calloc(SS_BAND_KINDS, sizeof *tables[what]->kinds);
        tables[what]->sources = ss_calloc(SS_BAND_SOURCES, sizeof *tables[what]->sources);
        SS_NEED(tables[what]->kinds && tables[what]->sources, r->err);
    }
    while (!rc && !(rc = ss_csv_next(r->csv, &more, r->err)) && more) {
        rc = read_numbers(r);
        for (int what = TIME; what <= MEMORY && !rc; what++)
            if (tells(r, what) && !(rc = make_room(r, 1, tables[what])))
                rc = read_run(r, r->number[what] / 100, tables[what]);
    }
    for (int what = TIME; what <= MEMORY && !rc; what++)
        rc = put_in_order(r, tables[what]);
    return rc;
}

int ss_bands_read(const char *path, struct ss_bands **out, struct ss_error *err)
{
    struct ss_bands *bands = ss_calloc(1, sizeof *bands);
    struct reader r = {.err = err};
    int rc = bands ? ss_csv_open(path, &r.csv, err) : ss_nomem(err);

    if (bands)
        bands->time.drifts = 1;
    SS_THEN(rc, read_tables(&r, bands));
    ss_csv_free(r.csv);
    SS_HAND(rc, bands, out, ss_bands_free);
}

void ss_bands_free(struct ss_bands *bands)
{
    if (!bands || bands->constant)
        return;
    struct ss_band_table *const tables[] = {&bands->time, &bands->memory};
    for (size_t i = 0; i < SS_ARRAY_LEN(tables); i++) {
        SS_FREE(tables[i]->by_above, tables[i]->kinds, tables[i]->sources);
    }
    free(bands);
}
