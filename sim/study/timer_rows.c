/* SPDX-License-Identifier: Apache-2.0 */
/* Reads measured timers of runs that stand in a table of runs. */
#include "base/base.h"
#include "base/csv.h"
#include "study/study_internal.h"

static const char *const columns[] = {"run", "timer", "ms"};

static int check_columns(const struct ss_csv *csv, struct ss_error *err)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(columns); i++)
        if (ss_csv_column(csv, columns[i]) < 0)
            return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1,
                           "no column \"%s\"" SS_HINT
                           "a table of timers has run, timer and ms: docs/reference/formats.md",
                           columns[i]);
    return SS_OK;
}

static int read_row(const struct ss_csv *csv, size_t i, struct ss_timer_row *row, struct ss_error *err)
{
    const char *run = ss_csv_field(csv, i, ss_csv_column(csv, "run"));
    const char *name = ss_csv_field(csv, i, ss_csv_column(csv, "timer"));
    const char *ms = ss_csv_field(csv, i, ss_csv_column(csv, "ms"));
    double value;

    row->line = ss_csv_line(csv, i);
    if (!run[0] || !name[0] || strlen(run) >= sizeof row->run || strlen(name) >= sizeof row->timer.name)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), row->line, "a row needs a run and a timer");
    if (ss_parse_double(ms, &value) || !(value >= 1e-6 && value < 1e15))
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), row->line,
                       "ms cannot be \"%.40s\"" SS_HINT "write milliseconds, such as 38.38", ms);
    ss_copy(row->run, sizeof row->run, run);
    ss_copy(row->timer.name, sizeof row->timer.name, name);
    row->timer.seconds = value / 1e3;
    return SS_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct ss_timer_row *const *x = a, *const *y = b;
    int order = strcmp((*x)->run, (*y)->run);

    order = order ? order : strcmp((*x)->timer.name, (*y)->timer.name);
    return order ? order : (*x)->line - (*y)->line;
}

/* Checks that each timer of a run is measured once. */
static int check_repeated(const struct ss_timer_rows *t, struct ss_error *err)
{
    const struct ss_timer_row **sorted = ss_calloc((size_t)t->n + 1, sizeof *sorted);
    int rc = sorted ? SS_OK : ss_nomem(err);

    for (int i = 0; i < t->n && !rc; i++)
        sorted[i] = &t->rows[i];
    if (!rc)
        qsort(sorted, (size_t)t->n, sizeof *sorted, by_name);
    for (int i = 1; i < t->n && !rc; i++)
        if (!strcmp(sorted[i]->run, sorted[i - 1]->run) &&
            !strcmp(sorted[i]->timer.name, sorted[i - 1]->timer.name)) {
            ss_fail(err, SS_ERR_INPUT, t->file, sorted[i]->line, "%.80s of %.80s is in line %d too",
                    sorted[i]->timer.name, sorted[i]->run, sorted[i - 1]->line);
            rc = ss_hint(err, SS_ERR_INPUT, "keep one of them");
        }
    free(sorted);
    return rc;
}

static int wrap(struct ss_csv *csv, struct ss_timer_rows *out, struct ss_error *err)
{
    int rc = check_columns(csv, err);

    memset(out, 0, sizeof *out);
    ss_copy(out->file, sizeof out->file, ss_csv_file(csv));
    if (!rc && !(out->rows = ss_calloc(ss_csv_rows(csv) + 1, sizeof *out->rows)))
        rc = ss_nomem(err);
    for (size_t i = 0; !rc && i < ss_csv_rows(csv); i++) {
        rc = read_row(csv, i, &out->rows[i], err);
        out->n += !rc;
    }
    ss_csv_free(csv);
    if (!rc && !out->n)
        rc = ss_fail(err, SS_ERR_INPUT, out->file, 0, "no rows below the names of the columns");
    SS_THEN(rc, check_repeated(out, err));
    if (rc)
        ss_timer_rows_free(out);
    return rc;
}

int ss_timer_rows_parse(const char *text, size_t len, const char *name, struct ss_timer_rows *out,
                        struct ss_error *err)
{
    struct ss_csv *csv;
    int rc = ss_csv_parse(text, len, name, &csv, err);

    return rc ? rc : wrap(csv, out, err);
}

int ss_timer_rows_load(const char *name_or_path, struct ss_timer_rows *out, struct ss_error *err)
{
    struct ss_csv *csv;
    char path[4096];
    int rc = ss_data_find("validation", name_or_path, ".csv", path, sizeof path, err);

    SS_THEN(rc, ss_csv_load(path, &csv, err));
    return rc ? rc : wrap(csv, out, err);
}

void ss_timer_rows_stranger(const char *run, struct ss_notes *notes)
{
    ss_note(notes, "timers of \"%s\", which is no run of these tables", run);
}

void ss_timer_rows_free(struct ss_timer_rows *t)
{
    free(t->rows);
    memset(t, 0, sizeof *t);
}
