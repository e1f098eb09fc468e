/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for programs: JSON, and CSV. */
#include <math.h>

#include "base/base.h"
#include "base/csv.h"
#include "decide/contrast.h"
#include "report/common.h"

static const char *const keys[SS_CONTRAST_TABLES] = {"breakdown_ms", "kernels_ms", "memory_mib"};
static const double scales[SS_CONTRAST_TABLES] = {1e3, 1e3, 1 / SS_MIB};

/* The rows of a side, or where `less` is one what it has more than that. */
static void add_table(json_t *o, const struct ss_contrast *c, int table, int of, int less)
{
    struct ss_contrast_row row;
    json_t *rows = json_object();

    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        ss_json_number(rows, row.key, scales[table] * (row.value[of] - (less < 0 ? 0 : row.value[less])));
    ss_json_set(o, keys[table], rows);
}

static void add_tables(json_t *o, const struct ss_contrast *c, int of, int less)
{
    for (int table = 0; table < SS_CONTRAST_TABLES; table++)
        if (ss_contrast_has(&c->side[of], table) && (less < 0 || ss_contrast_has(&c->side[less], table)))
            add_table(o, c, table, of, less);
}

static json_t *side_object(const struct ss_contrast *c, int i)
{
    const struct ss_side *s = &c->side[i];
    json_t *o = json_object();

    ss_json_text(o, "name", s->name);
    ss_json_verdict(o, &s->summary);
    if (s->summary.outcome == SS_OUTCOME_REFUSED)
        return o;
    ss_json_metrics(o, -1, &s->summary);
    ss_json_number(o, "tokens", s->tokens);
    ss_json_integer(o, "critical_stage", s->critical_stage);
    ss_json_integer(o, "peak_stage", s->peak_stage);
    add_tables(o, c, i, -1);
    ss_json_set(o, "warnings", ss_json_notes(s->warnings));
    return o;
}

static json_t *difference_object(const struct ss_contrast *c, int i)
{
    const struct ss_apart *a = &c->apart[i];
    json_t *o = json_object();

    ss_json_integer(o, "side", i);
    ss_json_number(o, "faster_pct", a->faster_pct);
    ss_json_number(o, "least_pct", a->least_pct);
    if (isnan(a->least_pct))
        ss_json_set(o, "apart", json_null());
    else
        ss_json_flag(o, "apart", a->apart);
    ss_json_text(o, "apart_by", a->why);
    add_tables(o, c, i, 0);
    return o;
}

int ss_contrast_json(const struct ss_contrast *c, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("compare"), *sides = json_array(), *differences = json_array();

    for (int i = 0; i < c->n; i++)
        ss_json_append(sides, side_object(c, i));
    for (int i = 1; i < c->n; i++)
        ss_json_append(differences, difference_object(c, i));
    ss_json_set(root, "sides", sides);
    ss_json_set(root, "differences", differences);
    return ss_json_write(root, out, err);
}

static void put(double value, FILE *out)
{
    fputc(',', out);
    if (isfinite(value))
        fprintf(out, "%.10g", value);
}

int ss_contrast_csv(const struct ss_contrast *c, FILE *out, struct ss_error *err)
{
    struct ss_contrast_row row;

    fputs("table,term,unit", out);
    for (int i = 0; i < c->n; i++) {
        fputc(',', out);
        ss_csv_write(out, c->side[i].name);
    }
    fputc('\n', out);
    for (int table = 0; table < SS_CONTRAST_TABLES; table++)
        for (int i = 0; ss_contrast_row(c, table, i, &row); i++) {
            fprintf(out, "%s,%s,%s", ss_contrast_table_key(table), row.key,
                    table == SS_CONTRAST_MEMORY ? "MiB" : "ms");
            for (int s = 0; s < c->n; s++)
                put(scales[table] * row.value[s], out);
            fputc('\n', out);
        }
    return ss_report_done(out, err);
}
