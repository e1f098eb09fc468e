/* SPDX-License-Identifier: Apache-2.0 */
/* The error to expect of a prediction: that of the measured runs most like it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/csv.h"
#include "study/study_internal.h"

#define ENOUGH 4 /* rows that make a band; with fewer the next wider circle is asked */

struct likeness {
    const char *card, *precision;
    double parameters;
    int gpus;
};

struct line {
    char gpu[64], precision[16];
    double parameters, gpus, error;
};

/* Columns that are read, and where a table has them. */
enum { CARD, GPUS, PRECISION, PARAMETERS, QUALITY, OUTCOME, PREDICTED, KIND, TIME, MEMORY, COLUMNS };

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
                                               "memory_error_pct"};

    for (int i = 0; i < COLUMNS; i++)
        if ((at[i] = ss_csv_column(csv, names[i])) < 0) {
            ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1, "no column \"%s\"", names[i]);
            return ss_hint(err, SS_ERR_INPUT, "write it anew with validate --csv");
        }
    return SS_OK;
}

/* Is it a run that ran and whose column `what` says how far off its prediction is? */
static int read_line(const struct ss_csv *csv, const int at[COLUMNS], size_t row, int what, struct line *out)
{
#define FIELD(column) ss_csv_field(csv, row, at[column])
    ss_copy(out->gpu, sizeof out->gpu, FIELD(CARD));
    ss_copy(out->precision, sizeof out->precision, FIELD(PRECISION));
    int tells = what == TIME ? !strcmp(FIELD(PREDICTED), "ok") : strcmp(FIELD(KIND), "analytic") != 0;
    return tells && !strcmp(FIELD(OUTCOME), "ok") && ss_quality_counts(FIELD(QUALITY)) &&
           !ss_parse_double(FIELD(PARAMETERS), &out->parameters) &&
           !ss_parse_double(FIELD(GPUS), &out->gpus) && !ss_parse_double(FIELD(what), &out->error) &&
           out->parameters > 0 && out->gpus > 0 && out->error > -100;
#undef FIELD
}

static int within(double a, double b, double factor)
{
    return a <= factor * b && b <= factor * a;
}

/* From the narrowest circle to the widest. A model's size tells more than the card it runs on: what bounds a small one bounds
 * it everywhere. */
#define CIRCLES 7
static int is_alike(const struct likeness *to, const struct line *l, int circle)
{
    int card = !strcmp(to->card, l->gpu), precision = !strcmp(to->precision, l->precision);
    int near = within(to->parameters, l->parameters, 2) && within(to->gpus, l->gpus, 4);
    int far = within(to->parameters, l->parameters, 8);

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

/* Index of what 90 % of n sorted values are not above. */
static int ninety(int n)
{
    return n < 10 ? n - 1 : (int)ceil(0.9 * n) - 1;
}

/* From errors of the prediction to measured over predicted, sorted: 90 % lie between. */
static void fill(double *errors, int n, struct ss_band *out)
{
    int outside = n < 10 ? 0 : (int)floor(0.05 * n);

    for (int i = 0; i < n; i++)
        errors[i] = 100 / (1 + errors[i] / 100) - 100;
    ss_study_sort(errors, (size_t)n);
    out->low_pct = errors[outside];
    out->high_pct = errors[n - 1 - outside];
    for (int i = 0; i < n; i++)
        errors[i] = fabs(100 / (1 + errors[i] / 100) - 100);
    ss_study_sort(errors, (size_t)n);
    out->n = n;
    out->pct = errors[ninety(n)];
}

static void find_circle(const struct ss_csv *csv, const int at[COLUMNS], const struct likeness *to, int what,
                        double *errors, struct ss_band *out)
{
    int circle = 0, n = 0;

    for (; circle < CIRCLES && n < ENOUGH; circle++) {
        n = 0;
        for (size_t r = 0; r < ss_csv_rows(csv); r++) {
            struct line l;
            if (read_line(csv, at, r, what, &l) && is_alike(to, &l, circle))
                errors[n++] = l.error;
        }
    }
    if (n < ENOUGH)
        return;
    fill(errors, n, out);
    describe(to, circle - 1, out->like, sizeof out->like);
}

int ss_band_find(const char *csv_path, const char *card, int precision, double parameters, int gpus,
                 struct ss_band *seconds, struct ss_band *memory, struct ss_error *err)
{
    struct likeness to = {card, ss_precision_name(precision), parameters, gpus};
    double *errors = NULL;
    struct ss_csv *csv;
    char path[4096];
    int at[COLUMNS], rc;
    bool found;

    memset(seconds, 0, sizeof *seconds);
    memset(memory, 0, sizeof *memory);
    rc = ss_data_look("validation", csv_path ? csv_path : "results", ".csv", path, sizeof path, &found, err);
    if (rc || !found)
        return rc;
    rc = ss_csv_load(path, &csv, err);
    if (rc)
        return rc;
    rc = find_columns(csv, at, err);
    if (!rc && !(errors = ss_calloc(ss_csv_rows(csv) + 1, sizeof *errors)))
        rc = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    if (!rc) {
        find_circle(csv, at, &to, TIME, errors, seconds);
        find_circle(csv, at, &to, MEMORY, errors, memory);
    }
    free(errors);
    ss_csv_free(csv);
    return rc;
}
