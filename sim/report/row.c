/* SPDX-License-Identifier: Apache-2.0 */
#include "report/row.h"

#include <assert.h>

#include "base/csv.h"
#include "report/common.h"

/* ---- JSON ---- */

struct ss_json *ss_json_object(const struct ss_keyed *keys)
{
    struct ss_json *object = ss_json_begin_object();

    ss_json_put(object, keys);
    return object;
}

struct ss_json *ss_json_list(struct ss_json *(*object)(const void *row), const void *rows, int n, size_t size)
{
    struct ss_json *list = ss_json_begin_list();

    for (int i = 0; i < n; i++)
        SS_ITEM(list, object((const char *)rows + (size_t)i * size));
    return list;
}

struct ss_json *ss_json_named(int n, const char *(*name)(int), const double *values, double scale)
{
    struct ss_json *object = ss_json_begin_object();

    for (int i = 0; i < n; i++)
        SS_PUT(object, SS_KEY(name(i), scale * values[i]));
    return object;
}

/* ---- rows ---- */

void ss_row_add(struct ss_row *r, const struct ss_keyed *keys)
{
    for (; keys->key; keys++) {
        assert(r->n < SS_ROW_MOST);
        r->at[r->n++] = *keys;
    }
}

void ss_row_verdict(struct ss_row *r, const struct ss_summary *s)
{
    SS_ADD(r, SS_KEY("verdict", ss_outcome_word(s->outcome)),
           SS_KEY_IF(s->code, "code", ss_status_name(s->code)), SS_SAME(s, reason));
}

void ss_row_metrics(struct ss_row *r, const struct ss_summary *s)
{
    for (int m = 0; m < SS_METRICS; m++) {
        const struct ss_metric *of = ss_metric_at(m);
        const double value = ss_metric_value(m, s);
        if (of->kind == SS_METRIC_COUNT)
            SS_ADD(r, SS_KEY_IF(ss_metric_known(m, s), of->key, (int64_t)value));
        else
            SS_ADD(r, SS_KEY_IF(ss_metric_known(m, s), of->key, value));
    }
    SS_ADD(r, SS_SAME(s, logged_by),
           SS_KEY_IF(s->logged_count, "logged_count", ss_flop_count_key(s->logged_count)));
}

struct ss_cell ss_row_find(const struct ss_row *r, const char *key, size_t *at)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct ss_keyed *k = &r->at[(*at + i) % r->n];
        if (!strcmp(k->key, key)) {
            *at += i + 1;
            return k->cell;
        }
    }
    return SS_NO_CELL;
}

double ss_cell_value(struct ss_cell c)
{
    return c.kind == SS_CELL_WHOLE    ? (double)c.whole
           : c.kind == SS_CELL_NUMBER ? c.number
           : c.kind == SS_CELL_FLAG   ? c.flag
                                      : NAN;
}

/* ---- CSV ---- */

static void put_field(struct ss_cell cell, FILE *out)
{
    const double value = ss_cell_value(cell);

    if (cell.kind == SS_CELL_TEXT)
        ss_csv_write(out, cell.text);
    else if (isfinite(value))
        fprintf(out, "%.10g", value);
}

void ss_row_csv(const struct ss_row *r, const char *const *keys, size_t n, FILE *out)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        for (int m = 0; m < (keys[i] ? 1 : SS_METRICS); m++) {
            const char *key = keys[i] ? keys[i] : ss_metric_at(m)->key;
            fputs(i || m ? "," : "", out);
            put_field(r ? ss_row_find(r, key, &at) : ss_cell_text(key), out);
        }
    fputc('\n', out);
}

void ss_row_csv_whole(const struct ss_row *r, bool keys, FILE *out)
{
    for (size_t i = 0; i < r->n; i++) {
        fputs(i ? "," : "", out);
        put_field(keys ? ss_cell_text(r->at[i].key) : r->at[i].cell, out);
    }
    fputc('\n', out);
}
