/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cell.h"

#include <assert.h>
#include <inttypes.h>

#include "base/csv.h"
#include "report/common.h"

static json_t *json_of(struct ss_cell c)
{
    switch (c.kind) {
    case SS_CELL_WHOLE: return json_integer(c.whole);
    case SS_CELL_NUMBER: /* -0.0 would print a sign that means nothing */
        return isfinite(c.number) ? json_real(c.number == 0 ? 0 : c.number) : json_null();
    case SS_CELL_TEXT: return ss_json_string(c.text);
    case SS_CELL_FLAG: return json_boolean(c.flag);
    case SS_CELL_JSON: return c.json;
    case SS_CELL_NONE: break;
    }
    return NULL;
}

struct ss_cell ss_metric_cell(int metric, const struct ss_summary *s)
{
    double value = ss_metric_value(metric, s);

    return ss_metric_at(metric)->kind == SS_METRIC_COUNT ? ss_cell_whole((int64_t)value)
                                                         : ss_cell_number(value);
}

void ss_json_put(json_t *object, const struct ss_keyed *keys)
{
    for (; keys->key; keys++)
        if (keys->cell.kind != SS_CELL_NONE)
            ss_json_set(object, keys->key, json_of(keys->cell));
}

json_t *ss_json_object(const struct ss_keyed *keys)
{
    json_t *object = json_object();

    ss_json_put(object, keys);
    return object;
}

json_t *ss_json_list(json_t *(*object)(const void *row), const void *rows, int n, size_t size)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        ss_json_append(list, object((const char *)rows + (size_t)i * size));
    return list;
}

json_t *ss_json_named(int n, const char *(*name)(int), const double *values, double scale)
{
    json_t *object = json_object();

    for (int i = 0; i < n; i++)
        SS_PUT(object, SS_KEY(name(i), scale * values[i]));
    return object;
}

void ss_record_add(struct ss_record *r, const struct ss_keyed *keys)
{
    for (; keys->key; keys++) {
        assert(r->n < SS_RECORD_MOST);
        r->at[r->n++] = *keys;
    }
}

void ss_record_metrics(struct ss_record *r, const struct ss_summary *s)
{
    for (int m = 0; m < SS_METRICS; m++)
        SS_ADD(r, SS_KEY_IF(ss_metric_known(m, s), ss_metric_at(m)->key, ss_metric_cell(m, s)));
}

void ss_record_clear(struct ss_record *r, size_t first)
{
    for (size_t i = first; i < r->n; i++)
        r->at[i].cell = SS_NO_CELL;
}

void ss_record_csv(const struct ss_record *r, bool keys, FILE *out)
{
    for (size_t i = 0; i < r->n; i++) {
        fputs(i ? "," : "", out);
        ss_cell_csv(keys ? ss_cell_text(r->at[i].key) : r->at[i].cell, out);
    }
    fputc('\n', out);
}

void ss_cell_csv(struct ss_cell c, FILE *out)
{
    switch (c.kind) {
    case SS_CELL_WHOLE: fprintf(out, "%" PRId64, c.whole); break;
    case SS_CELL_NUMBER:
        if (isfinite(c.number))
            fprintf(out, "%.10g", c.number);
        break;
    case SS_CELL_TEXT: ss_csv_write(out, c.text); break;
    case SS_CELL_FLAG: fputs(c.flag ? "1" : "0", out); break;
    case SS_CELL_JSON: assert(0);
    case SS_CELL_NONE: break;
    }
}
