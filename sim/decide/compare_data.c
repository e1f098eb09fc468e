/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison for programs: as JSON or CSV. */
#include "base/base.h"
#include "decide/contrast.h"
#include "report/common.h"

static const char *const keys[SS_CONTRAST_TABLES] = {"breakdown_ms", "kernels_ms", "memory_mib"};
static const double scales[SS_CONTRAST_TABLES] = {1e3, 1e3, 1 / SS_MIB};

/* Adds the rows of a side. Where `less` is a side, the rows have the differences to it. */
static void add_table(json_t *o, const struct ss_contrast *c, int table, int of, int less)
{
    struct ss_contrast_row row;
    json_t *rows = json_object();

    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        SS_PUT(rows, SS_KEY(row.key, scales[table] * (row.value[of] - (less < 0 ? 0 : row.value[less]))));
    SS_PUT(o, SS_KEY(keys[table], rows));
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
    json_t *o = SS_OBJECT(SS_SAME(s, name));

    ss_json_verdict(o, &s->summary);
    if (s->summary.outcome == SS_OUTCOME_REFUSED)
        return o;
    ss_json_metrics(o, -1, &s->summary);
    SS_PUT(o, SS_KEY_IF(s->premises[0], "premises", s->premises), SS_SAME(s, tokens),
           SS_SAME(s, critical_stage), SS_SAME(s, peak_stage));
    add_tables(o, c, i, -1);
    SS_PUT(o, SS_KEY("warnings", ss_json_notes(s->warnings)));
    return o;
}

static json_t *difference_object(const struct ss_contrast *c, int i)
{
    const struct ss_apart *a = &c->apart[i];
    json_t *o = SS_OBJECT(SS_KEY("side", i), SS_SAME(a, faster_pct), SS_SAME(a, least_pct),
                          SS_KEY("apart", ss_apart_cell(a)), SS_KEY("apart_by", a->why));

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
    SS_PUT(root, SS_KEY("sides", sides), SS_KEY("differences", differences));
    return ss_json_write(root, out, err);
}

int ss_contrast_csv(const struct ss_contrast *c, FILE *out, struct ss_error *err)
{
    const char *names[SS_SIDES_MOST + 3] = {"table", "term", "unit"};
    const size_t n = (size_t)c->n + 3;
    struct ss_contrast_row row;

    for (int s = 0; s < c->n; s++)
        names[s + 3] = c->side[s].name;
    ss_row_csv(NULL, names, n, out);
    for (int table = 0; table < SS_CONTRAST_TABLES; table++)
        for (int i = 0; ss_contrast_row(c, table, i, &row); i++) {
            struct ss_row r = {0};
            SS_ADD(&r, SS_KEY("table", ss_contrast_table_key(table)), SS_KEY("term", row.key),
                   SS_KEY("unit", table == SS_CONTRAST_MEMORY ? "MiB" : "ms"));
            for (int s = 0; s < c->n; s++)
                SS_ADD(&r, SS_KEY(c->side[s].name, scales[table] * row.value[s]));
            ss_row_csv(&r, names, n, out);
        }
    return ss_report_done(out, err);
}
