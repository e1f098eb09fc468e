/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured runs: their files. */
#include <strings.h>

#include "base/base.h"
#include "base/csv.h"
#include "import/table_internal.h"

struct ss_table {
    struct ss_csv *csv;
};

/* Names every column that is not read: it may be one that is spelt wrong. */
static void note_strangers(const struct ss_csv *csv, struct ss_notes *notes)
{
    const char *names[SS_TABLE_COLUMNS];

    for (size_t i = 0; i < ss_table_column_count; i++)
        names[i] = ss_table_columns[i].name;
    for (size_t i = 0; i < ss_csv_columns(csv); i++) {
        const char *name = ss_csv_column_name(csv, i), *near;
        size_t k = 0;
        while (k < ss_table_column_count && strcmp(names[k], name) != 0)
            k++;
        if (k < ss_table_column_count)
            continue;
        near = ss_nearest(name, names, ss_table_column_count);
        ss_note(notes, "%s: column \"%.60s\" is not read%s%s%s", ss_csv_file(csv), name,
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
}

static int missing(const struct ss_csv *csv, const char *name, struct ss_error *err)
{
    const char *first = ss_csv_column_name(csv, 0), *other = strpbrk(first, ";\t|");

    ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1, "no column \"%s\"", name);
    if (ss_csv_columns(csv) == 1 && other)
        return ss_hint(err, SS_ERR_INPUT, "commas part the fields, not %s",
                       *other == ';'   ? "semicolons"
                       : *other == '|' ? "\"|\""
                                       : "tabs");
    for (size_t i = 0; i < ss_csv_columns(csv); i++) {
        const char *given = ss_csv_column_name(csv, i), *word = given + strspn(given, " ");
        size_t n = strlen(name);
        if (!strncasecmp(word, name, n) && word[n + strspn(word + n, " ")] == '\0')
            return ss_hint(err, SS_ERR_INPUT, "write \"%s\", not \"%s\"", name, given);
    }
    return ss_hint(err, SS_ERR_INPUT,
                   "the first line names the columns; a table of runs needs id, platform, "
                   "nodes, micro_batch, global_batch, seq_length and a model or its shape");
}

static int check_columns(const struct ss_csv *csv, struct ss_notes *notes, struct ss_error *err)
{
    for (size_t i = 0; i < ss_table_column_count; i++)
        if (ss_table_columns[i].required && ss_csv_column(csv, ss_table_columns[i].name) < 0)
            return missing(csv, ss_table_columns[i].name, err);
    note_strangers(csv, notes);
    return SS_OK;
}

struct named_row {
    const char *id;
    int line;
};

static int by_id(const void *a, const void *b)
{
    const struct named_row *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    return order ? order : x->line - y->line;
}

/* Notes equal ids: two rows of one name cannot be told apart in a printed table. */
static int note_ids(const struct ss_csv *csv, struct ss_notes *notes, struct ss_error *err)
{
    size_t n = ss_csv_rows(csv);
    int column = ss_csv_column(csv, "id"), twice = 0;
    struct named_row *rows = ss_calloc(n + 1, sizeof *rows);
    char text[512];

    SS_NEED(rows, err);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct named_row){ss_csv_field(csv, i, column), ss_csv_line(csv, i)};
    qsort(rows, n, sizeof *rows, by_id);
    for (size_t i = 1; i < n; i++) {
        if (!rows[i].id[0] || strcmp(rows[i].id, rows[i - 1].id) != 0)
            continue;
        if (!twice++)
            snprintf(text, sizeof text, "%.300s:%d: id \"%.80s\" is that of line %d too", ss_csv_file(csv),
                     rows[i].line, rows[i].id, rows[i - 1].line);
    }
    free(rows);
    if (twice > 1)
        ss_append(text, sizeof text, ", and so on %d times", twice);
    if (twice)
        ss_note(notes, "%s", text);
    return SS_OK;
}

static int wrap(struct ss_csv *csv, struct ss_table **out, struct ss_notes *notes, struct ss_error *err)
{
    struct ss_table *t;
    int rc = check_columns(csv, notes, err);

    if (!rc && !ss_csv_rows(csv)) {
        rc = ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 0, "no rows below the names of the columns");
        ss_hint(err, rc, "a row a run; docs/reference/formats.md has the columns");
    }
    SS_THEN(rc, note_ids(csv, notes, err));
    if (!rc && !(t = ss_calloc(1, sizeof *t)))
        rc = ss_nomem(err);
    if (rc) {
        ss_csv_free(csv);
        return rc;
    }
    t->csv = csv;
    *out = t;
    return SS_OK;
}

int ss_table_parse(const char *text, unsigned long len, const char *name, struct ss_table **out,
                   struct ss_notes *notes, struct ss_error *err)
{
    struct ss_csv *csv;
    int rc = ss_csv_parse(text, len, name, &csv, err);

    return rc ? rc : wrap(csv, out, notes, err);
}

int ss_table_load(const char *name_or_path, struct ss_table **out, struct ss_notes *notes,
                  struct ss_error *err)
{
    char path[4096];
    struct ss_csv *csv;
    int rc = SS_OK;

    if (name_or_path && !strcmp(name_or_path, "-"))
        ss_copy(path, sizeof path, name_or_path);
    else
        rc = ss_data_find("validation", name_or_path, ".csv", path, sizeof path, err);
    SS_THEN(rc, ss_csv_load(path, &csv, err));
    return rc ? rc : wrap(csv, out, notes, err);
}

void ss_table_free(struct ss_table *t)
{
    if (!t)
        return;
    ss_csv_free(t->csv);
    free(t);
}

const char *ss_table_file(const struct ss_table *t)
{
    return ss_csv_file(t->csv);
}

int ss_table_rows(const struct ss_table *t)
{
    return (int)ss_csv_rows(t->csv);
}

int ss_table_line(const struct ss_table *t, int row)
{
    return ss_csv_line(t->csv, (size_t)row);
}

const char *ss_table_get(const struct ss_table *t, int row, const char *column)
{
    return ss_csv_field(t->csv, (size_t)row, ss_csv_column(t->csv, column));
}

int ss_table_number(const struct ss_table *t, int row, const char *column, double missing, double *out,
                    struct ss_error *err)
{
    const char *text = ss_table_get(t, row, column);

    if (!text[0]) {
        *out = missing;
        return SS_OK;
    }
    if (ss_parse_double(text, out) || !(*out >= 0 && *out < 1e15))
        return ss_fail(err, SS_ERR_INPUT, ss_table_file(t), ss_table_line(t, row),
                       "%s \"%.40s\" is no number in 0..1e15" SS_HINT
                       "leave the field empty where nothing is known",
                       column, text);
    return SS_OK;
}
