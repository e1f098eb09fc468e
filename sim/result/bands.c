/* SPDX-License-Identifier: Apache-2.0 */
/* The error to expect of a prediction: that of the measured runs most like it. */
#include "stepsim/bands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/csv.h"
#include "stepsim/types.h"

#define ENOUGH 4 /* runs that make a band; with fewer the next wider circle is asked */

struct likeness {
    const char *card, *precision;
    double parameters;
    int gpus, experts;
};

/* A measured run. */
struct line {
    char card[64], precision[16];
    double parameters, gpus, experts;
    double error; /* of its prediction, per cent of the measured */
    double above; /* measured over predicted, less 1, per cent */
    double size;  /* of the error, computed from `above` */
};

/* The runs that tell about time, or about memory, in two orders. */
struct told {
    int n;
    struct line *by_above;
    struct line *by_size;
};

struct ss_bands {
    struct told time, memory;
};

int ss_quality_counts(const char *quality)
{
    static const char *const good[] = {"", "ok", "inferred-precision", "A", "B"};

    for (size_t i = 0; i < SS_ARRAY_LEN(good); i++)
        if (!strcmp(quality, good[i]))
            return 1;
    return 0;
}

/* Columns that are read, and where a table has them. */
enum { CARD, GPUS, PRECISION, PARAMETERS, QUALITY, OUTCOME, PREDICTED, KIND, TIME, MEMORY, EXPERTS, COLUMNS };

static int find_columns(const struct ss_csv *csv, int at[COLUMNS], struct ss_error *err)
{
    static const char *const names[COLUMNS] = {"card",
                                               "gpus",
                                               "precision",
                                               "parameters",
                                               "quality",
                                               "outcome",
                                               "predicted_outcome",
                                               "memory_kind",
                                               "error_pct",
                                               "memory_error_pct",
                                               "experts"};

    for (int i = 0; i < COLUMNS; i++)
        if ((at[i] = ss_csv_column(csv, names[i])) < 0 && i != EXPERTS) {
            ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1, "no column \"%s\"", names[i]);
            return ss_hint(err, SS_ERR_INPUT, "write it anew with validate --csv");
        }
    return SS_OK;
}

/* Is it a run that ran and whose column `what` says how far off its prediction is? */
static int read_line(const struct ss_csv *csv, const int at[COLUMNS], size_t row, int what, struct line *out)
{
#define FIELD(column) ss_csv_field(csv, row, at[column])
    int tells = what == TIME ? !strcmp(FIELD(PREDICTED), "ok") : strcmp(FIELD(KIND), "analytic") != 0;
    if (!tells || strcmp(FIELD(OUTCOME), "ok") != 0 || !ss_quality_counts(FIELD(QUALITY)) || !*FIELD(what))
        return 0;
    ss_copy(out->card, sizeof out->card, FIELD(CARD));
    ss_copy(out->precision, sizeof out->precision, FIELD(PRECISION));
    if (at[EXPERTS] < 0 || ss_parse_double(FIELD(EXPERTS), &out->experts))
        out->experts = 0; /* a table of before there were any */
    return !ss_parse_double(FIELD(PARAMETERS), &out->parameters) &&
           !ss_parse_double(FIELD(GPUS), &out->gpus) && !ss_parse_double(FIELD(what), &out->error) &&
           out->parameters > 0 && out->gpus > 0 && out->error > -100;
#undef FIELD
}

static int within(double a, double b, double factor)
{
    return a <= factor * b && b <= factor * a;
}

/* Circles from the narrowest to the widest. A model's size tells more than the card it runs on: what bounds a small one bounds
 * it everywhere. What a mixture's prediction misses tells nothing of a dense model's. */
#define CIRCLES 7
static int is_alike(const struct likeness *to, const struct line *l, int circle)
{
    int card = !strcmp(to->card, l->card), precision = !strcmp(to->precision, l->precision);
    int near = within(to->parameters, l->parameters, 2) && within(to->gpus, l->gpus, 4);
    int far = within(to->parameters, l->parameters, 8);

    if ((to->experts > 0) != (l->experts > 0))
        return 0;
    switch (circle) {
    case 0: return card && precision && near;
    case 1: return card && precision && far;
    case 2: return card && far;
    case 3: return near;
    case 4: return far;
    case 5: return card;
    default: return 1;
    }
}

static void describe(const struct likeness *to, int circle, char *out, size_t size)
{
    static const char *const sizes[] = {"model size within 2 x and GPUs within 4 x", "model size within 8 x"};

    switch (circle) {
    case 0:
    case 1: snprintf(out, size, "%.60s in %s, %s", to->card, to->precision, sizes[circle]); break;
    case 2: snprintf(out, size, "%.60s in any precision, %s", to->card, sizes[1]); break;
    case 3:
    case 4:
        snprintf(out, size, "any card, %s: few or none on %.60s were measured", sizes[circle - 3], to->card);
        break;
    case 5: snprintf(out, size, "%.60s, models of any size", to->card); break;
    default: snprintf(out, size, "all runs: few or none on %.60s were measured", to->card);
    }
}

static int by_above(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;

    return (a->above > b->above) - (a->above < b->above);
}

static int by_size(const void *pa, const void *pb)
{
    const struct line *a = pa, *b = pb;

    return (a->size > b->size) - (a->size < b->size);
}

/* Room for the two orders of a told is one block. */
static int read_told(const struct ss_csv *csv, const int at[COLUMNS], int what, struct told *out)
{
    size_t rows = ss_csv_rows(csv);

    out->by_above = ss_calloc(2 * rows + 1, sizeof *out->by_above);
    if (!out->by_above)
        return SS_ERR_NOMEM;
    for (size_t r = 0; r < rows; r++) {
        struct line *l = &out->by_above[out->n];
        if (!read_line(csv, at, r, what, l))
            continue;
        l->above = 100 / (1 + l->error / 100) - 100;
        l->size = fabs(100 / (1 + l->above / 100) - 100);
        out->n++;
    }
    out->by_size = out->by_above + out->n;
    memcpy(out->by_size, out->by_above, (size_t)out->n * sizeof *out->by_size);
    qsort(out->by_above, (size_t)out->n, sizeof *out->by_above, by_above);
    qsort(out->by_size, (size_t)out->n, sizeof *out->by_size, by_size);
    return SS_OK;
}

int ss_bands_load(const char *csv_path, struct ss_files *files, struct ss_bands **out, struct ss_error *err)
{
    struct ss_bands *bands = ss_calloc(1, sizeof *bands);
    struct ss_csv *csv = NULL;
    char path[4096];
    int at[COLUMNS], rc;
    bool found = false;

    if (!bands)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    rc = ss_data_look("validation", csv_path ? csv_path : "results", ".csv", path, sizeof path, &found, err);
    if (!rc && found)
        rc = ss_csv_load(path, &csv, err);
    if (!rc && csv)
        rc = ss_files_add(files, path, err);
    if (!rc && csv)
        rc = find_columns(csv, at, err);
    if (!rc && csv && (read_told(csv, at, TIME, &bands->time) || read_told(csv, at, MEMORY, &bands->memory)))
        rc = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    ss_csv_free(csv);
    if (rc)
        ss_bands_free(bands);
    else
        *out = bands;
    return rc;
}

void ss_bands_free(struct ss_bands *bands)
{
    if (!bands)
        return;
    free(bands->time.by_above);
    free(bands->memory.by_above);
    free(bands);
}

/* The narrowest circle with enough runs, *n of them; CIRCLES: none. */
static int find_circle(const struct told *t, const struct likeness *to, int *n)
{
    int circle = 0;

    for (*n = 0; circle < CIRCLES; circle++) {
        *n = 0;
        for (int i = 0; i < t->n; i++)
            *n += is_alike(to, &t->by_above[i], circle);
        if (*n >= ENOUGH)
            break;
    }
    return circle;
}

/* Of the runs in the circle the one that `before` others are ahead of. */
static const struct line *pick(const struct line *list, const struct likeness *to, int circle, int before)
{
    while (!is_alike(to, list, circle) || before-- > 0)
        list++;
    return list;
}

/* Index of what 90 % of n sorted values are not above. */
static int ninety(int n)
{
    return n < 10 ? n - 1 : (int)ceil(0.9 * n) - 1;
}

static void find_band(const struct told *t, const struct likeness *to, struct ss_band *out)
{
    int n, circle = find_circle(t, to, &n), outside = n < 10 ? 0 : (int)floor(0.05 * n);

    memset(out, 0, sizeof *out);
    if (circle == CIRCLES)
        return;
    out->n = n;
    out->low_pct = pick(t->by_above, to, circle, outside)->above;
    out->high_pct = pick(t->by_above, to, circle, n - 1 - outside)->above;
    out->pct = pick(t->by_size, to, circle, ninety(n))->size;
    describe(to, circle, out->like, sizeof out->like);
}

void ss_bands_find(const struct ss_bands *bands, const char *card, int precision, double parameters, int gpus,
                   int experts, struct ss_band *time, struct ss_band *memory)
{
    static const struct ss_bands none;
    const struct likeness to = {card, ss_precision_name(precision), parameters, gpus, experts};

    find_band(bands ? &bands->time : &none.time, &to, time);
    find_band(bands ? &bands->memory : &none.memory, &to, memory);
}
