/* SPDX-License-Identifier: Apache-2.0 */
/* Computes mean, median, worst and bias of the errors, over all rows that count and by group. */
#include "base/base.h"
#include "base/stats.h"
#include "report/row.h"
#include "study/study_internal.h"

static const char *const group_names[SS_BY_COUNT] = {"model",  "gpu",     "precision",
                                                     "source", "outcome", "quality"};

const char *ss_validation_group_name(int group)
{
    return group >= 0 && group < SS_BY_COUNT ? group_names[group] : "unknown";
}

double ss_validation_time_error(const struct ss_validation_row *row)
{
    if (!(row->measured_s > 0) || !(row->summary.iteration_s > 0))
        return NAN;
    return ss_error_pct(row->summary.iteration_s, row->measured_s);
}

double ss_validation_memory_error(const struct ss_validation_row *row)
{
    if (!(row->measured_bytes > 0) || !(row->predicted_bytes > 0))
        return NAN;
    return ss_error_pct(row->predicted_bytes, row->measured_bytes);
}

double ss_validation_timer_error(const struct ss_validation_timer *timer)
{
    return ss_error_pct(timer->predicted_s, timer->measured_s);
}

struct ss_json *ss_error_stat_json(const struct ss_error_stat *s)
{
    const double unknown = s->n ? 1 : NAN;

    return SS_OBJECT(SS_SAME(s, n), SS_KEY("mean_abs_pct", unknown * s->mean_abs),
                     SS_KEY("median_abs_pct", unknown * s->median_abs),
                     SS_KEY("worst_abs_pct", unknown * s->worst_abs), SS_KEY("bias_pct", unknown * s->bias));
}

void ss_error_stat_fill(double *errors, int n, struct ss_error_stat *out)
{
    double sum = 0, sum_abs = 0;

    memset(out, 0, sizeof *out);
    out->n = n;
    if (!n)
        return;
    for (int i = 0; i < n; i++) {
        sum += errors[i];
        errors[i] = fabs(errors[i]);
        sum_abs += errors[i];
    }
    ss_sort(errors, (size_t)n);
    out->bias = sum / n;
    out->mean_abs = sum_abs / n;
    out->median_abs = ss_median(errors, (size_t)n);
    out->worst_abs = errors[n - 1];
}

static void key_of(const struct ss_validation_row *row, int group, char *key, size_t size)
{
    switch (group) {
    case SS_BY_MODEL: snprintf(key, size, "%s", row->model); break;
    case SS_BY_GPU: snprintf(key, size, "%s", row->gpu); break;
    case SS_BY_PRECISION: snprintf(key, size, "%s", row->precision); break;
    case SS_BY_SOURCE: snprintf(key, size, "%.40s on %.40s", row->source, row->platform); break;
    case SS_BY_OUTCOME: snprintf(key, size, "%s", row->outcome); break;
    default: snprintf(key, size, "%s", row->quality);
    }
}

/* Returns 1 if a row belongs to the rows of a grouping. The grouping by quality has the rows that all
 * others leave out. */
static int belongs(const struct ss_validation_row *row, int group)
{
    if (!strcmp(row->predicted_outcome, "unsupported"))
        return 0;
    return group == SS_BY_QUALITY ? !row->counted : row->counted;
}

static int is_measured(const struct ss_validation_row *row)
{
    return !strcmp(row->outcome, "ok");
}

/* Summarises the rows of a group. errors[] has room for all rows. */
static void summarise(const struct ss_validation *v, int group, const char *name, double *errors,
                      struct ss_validation_summary *out)
{
    char key[96];
    int n = 0;

    memset(out, 0, sizeof *out);
    ss_copy(out->name, sizeof out->name, name);
    for (int memory = 0; memory < 2; memory++) {
        n = 0;
        for (int i = 0; i < v->nrows; i++) {
            const struct ss_validation_row *row = &v->rows[i];
            double error = memory ? ss_validation_memory_error(row) : ss_validation_time_error(row);
            key_of(row, group, key, sizeof key);
            if (!belongs(row, group) || (group < SS_BY_COUNT && strcmp(key, name) != 0))
                continue;
            if (isfinite(error) && is_measured(row))
                errors[n++] = error;
            out->outcomes += !memory && row->right >= 0;
            out->right += !memory && row->right == 1;
        }
        ss_error_stat_fill(errors, n, memory ? &out->memory : &out->time);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct ss_validation_summary *)a)->name,
                  ((const struct ss_validation_summary *)b)->name);
}

static int find(const struct ss_validation_summary *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return 1;
    return 0;
}

static int make_groups(struct ss_validation *v, int group, double *errors)
{
    struct ss_validation_summary *list = NULL;
    size_t cap = 0;
    char key[96];
    int n = 0;

    for (int i = 0; i < v->nrows; i++) {
        key_of(&v->rows[i], group, key, sizeof key);
        if (!belongs(&v->rows[i], group) || find(list, n, key))
            continue;
        if (ss_grow(&list, &cap, (size_t)n + 1, sizeof *list)) {
            free(list);
            return SS_ERR_NOMEM;
        }
        summarise(v, group, key, errors, &list[n++]);
    }
    if (n)
        qsort(list, (size_t)n, sizeof *list, compare_names);
    v->groups[group] = list;
    v->ngroups[group] = n;
    return SS_OK;
}

static void summarise_timers(struct ss_validation *v, double *errors)
{
    int n = 0;

    for (int i = 0; i < v->ntimers; i++) {
        double error = ss_validation_timer_error(&v->timers[i]);
        if (isfinite(error) && v->timers[i].counted)
            errors[n++] = error;
    }
    ss_error_stat_fill(errors, n, &v->timer_error);
}

int ss_validation_summarise(struct ss_validation *v, struct ss_error *err)
{
    double *errors = ss_calloc((size_t)v->nrows + (size_t)v->ntimers + 1, sizeof *errors);
    int rc = errors ? SS_OK : SS_ERR_NOMEM;

    if (!rc) {
        summarise(v, SS_BY_COUNT, "all", errors, &v->all);
        summarise_timers(v, errors);
    }
    for (int g = 0; g < SS_BY_COUNT && !rc; g++)
        rc = make_groups(v, g, errors);
    free(errors);
    return rc ? ss_fail(err, rc, NULL, 0, "out of memory") : SS_OK;
}
