/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison: its rows as text, CSV and JSON. */

#include "decide/contrast.h"
#include "report/common.h"
#include "report/text.h"
#include "stepsim/compute.h"

/* ---- text ---- */

static const char *const tables[SS_CONTRAST_TABLES] = {"time", "kernels", "memory"};

int ss_contrast_has(const struct ss_side *side, int table)
{
    return side->summary.outcome != SS_OUTCOME_REFUSED && (table != SS_CONTRAST_KERNELS || side->opened);
}

static double kernels_total(const struct ss_side *s)
{
    return s->label[SS_LABEL_COMPUTE] + s->label[SS_LABEL_RECOMPUTE];
}

static double value_of(const struct ss_side *s, int table, int i, int n)
{
    if (!ss_contrast_has(s, table))
        return NAN;
    switch (table) {
    case SS_CONTRAST_TIME: return i < n ? s->label[i] : s->summary.iteration_s;
    case SS_CONTRAST_KERNELS: return i < SS_PARTS ? s->part[i] : i < n ? s->part_rest : kernels_total(s);
    default: return i < n ? s->memory[i] : s->summary.peak_device;
    }
}

int ss_contrast_row(const struct ss_contrast *c, int table, int i, struct ss_contrast_row *row)
{
    static const int lines[SS_CONTRAST_TABLES] = {SS_LABEL_COUNT, SS_PARTS + 1, SS_MEM_COUNT};
    int n = lines[table];

    if (i > n)
        return 0;
    row->is_total = i == n;
    row->key = i == n                        ? "total"
               : table == SS_CONTRAST_TIME   ? ss_label_name(i)
               : table == SS_CONTRAST_MEMORY ? ss_mem_name(i)
               : i < SS_PARTS                ? ss_part_key(i)
                                             : "beside_others";
    row->words = table == SS_CONTRAST_KERNELS && i < SS_PARTS ? ss_part_words(i)
                 : table == SS_CONTRAST_KERNELS && i < n      ? "beside others"
                 : table == SS_CONTRAST_TIME && i < n         ? ss_label_words(i)
                                                              : row->key;
    for (int s = 0; s < c->n; s++)
        row->value[s] = value_of(&c->side[s], table, i, n);
    return 1;
}

static int is_refused(const struct ss_side *s)
{
    return s->summary.outcome == SS_OUTCOME_REFUSED;
}

/* Writes a side, and what it stands on where the side above it stands on something else. */
static void write_side(const struct ss_side *s, const struct ss_side *above, char letter,
                       const struct ss_display *view, FILE *out)
{
    const struct ss_summary *u = &s->summary;
    char time[32], tflops[128];

    if (s->premises[0] && (!above || strcmp(above->premises, s->premises) != 0))
        fprintf(out, "%s\n", s->premises);
    fprintf(out, "%c  %s\n   ", letter, s->name);
    if (is_refused(s)) {
        ss_put_verdict(ss_outcome_word(u->outcome), view, out);
        fprintf(out, ": %s\n", u->reason);
        return;
    }
    fputs(ss_text_time(u->iteration_s, time, sizeof time), out);
    fputs(ss_text_band(u, time), out);
    fprintf(out, ", %.1f tokens/s/GPU", u->tokens_per_s_per_gpu);
    if (u->padding_fraction > 0)
        fprintf(out, " (%.1f %% padding)", 100 * u->padding_fraction);
    fprintf(out, ", %s", ss_text_tflops(u, tflops, sizeof tflops));
    if (ss_text_is_causal(u) && u->tflops_windows_per_gpu < u->tflops_logged_per_gpu)
        fprintf(out, ", %.0f causal", u->tflops_windows_per_gpu);
    fprintf(out, " on %.0f GPU%s, ", u->gpus, u->gpus > 1 ? "s" : "");
    ss_put_verdict(ss_outcome_word(u->outcome), view, out);
    fprintf(out, ": %.1f of %.1f GiB\n", u->peak_device / SS_GIB, u->capacity / SS_GIB);
}

/* Writes "B is 3.1 % faster than A: ...". */
static void write_answer(const struct ss_contrast *c, int i, FILE *out)
{
    const struct ss_apart *a = &c->apart[i];
    char letter = (char)('A' + i);

    if (is_refused(&c->side[i]))
        return;
    if (c->side[i].tokens != c->side[0].tokens)
        fprintf(out, "An iteration of %c has %.4g times the tokens of A's: speeds are tokens a second.\n",
                letter, c->side[i].tokens / c->side[0].tokens);
    if (a->faster_pct == 0)
        fprintf(out, "%c is as fast as A.\n", letter);
    else
        fprintf(out, "%c is %.2f %% %s than A: %s.\n", letter, fabs(a->faster_pct),
                a->faster_pct > 0 ? "faster" : "slower",
                isnan(a->least_pct) ? "whether that can be told is not known"
                : a->apart          ? "a clear difference"
                                    : "too close to call");
}

/* Writes each reason once, because mostly all sides have the same. */
static void write_reasons(const struct ss_contrast *c, FILE *out)
{
    for (int i = 1; i < c->n; i++) {
        int told = is_refused(&c->side[i]);
        for (int k = 1; k < i; k++)
            told |= !strcmp(c->apart[k].why, c->apart[i].why);
        if (!told && isnan(c->apart[i].least_pct))
            fprintf(out, "Not known: %s.\n", c->apart[i].why);
        else if (!told)
            fprintf(out, "Differences below %.1f %% are too close to call: %s.\n", c->apart[i].least_pct,
                    c->apart[i].why);
    }
}

static void write_title(const struct ss_contrast *c, int table, FILE *out)
{
    static const char *const titles[SS_CONTRAST_TABLES] = {"Time of the busiest stage, ms",
                                                           "Kernels of compute and recompute, ms",
                                                           "Memory of the fullest stage, GiB"};

    fprintf(out, "\n%s (", titles[table]);
    for (int i = 0; i < c->n; i++) {
        int stage = table == SS_CONTRAST_MEMORY ? c->side[i].peak_stage : c->side[i].critical_stage;
        if (is_refused(&c->side[i]))
            fprintf(out, "%s%c refused", i ? ", " : "", 'A' + i);
        else
            fprintf(out, "%s%c %s%d", i ? ", " : "", 'A' + i, i ? "" : "stage ", stage);
    }
    fputs(")\n", out);
}

/* Keys and heads of the columns: of each side, and of its difference from A. */
static const char *const side_keys[SS_SIDES_MOST] = {"A", "B", "C", "D", "E", "F", "G", "H"};
static const char *const less_keys[SS_SIDES_MOST] = {"A - A", "B - A", "C - A", "D - A",
                                                     "E - A", "F - A", "G - A", "H - A"};

static double rounded(double value, int digits)
{
    return fabs(value) < 0.5 * pow(10, -digits) ? 0 : value;
}

static void write_row(const struct ss_contrast *c, const struct ss_contrast_row *row, double scale,
                      int digits, double total, struct ss_grid *grid)
{
    struct ss_row r = {0};
    int any = row->is_total;

    for (int i = 0; i < c->n; i++)
        any |= fabs(row->value[i]) * scale >= 0.5 * pow(10, -digits);
    if (!any)
        return;
    SS_ADD(&r, SS_KEY("term", row->words));
    for (int i = 0; i < c->n; i++)
        SS_ADD(&r, SS_KEY(side_keys[i], rounded(row->value[i] * scale, digits)));
    for (int i = 1; i < c->n; i++)
        SS_ADD(&r, SS_KEY(less_keys[i], rounded((row->value[i] - row->value[0]) * scale, digits)));
    SS_ADD(&r, SS_KEY("of A", 100 * (row->value[1] - row->value[0]) / total));
    ss_grid_row(grid, &r);
}

static int write_table(const struct ss_contrast *c, int table, const struct ss_display *view, FILE *out)
{
    double scale = table == SS_CONTRAST_MEMORY ? 1 / SS_GIB : 1e3;
    double total =
        table == SS_CONTRAST_MEMORY ? c->side[0].summary.peak_device : c->side[0].summary.iteration_s;
    int digits = total * scale >= 1000 ? 1 : total * scale >= 10 ? 2 : 4;
    struct ss_column columns[2 * SS_SIDES_MOST + 1] = {{"term", "", "%-s", 1, 0}};
    struct ss_contrast_row row;
    struct ss_grid grid;
    char value[16], less[16];
    size_t n = 1;

    if (!ss_contrast_has(&c->side[0], table))
        return SS_OK;
    snprintf(value, sizeof value, "%%.%df", digits);
    snprintf(less, sizeof less, "%%+.%df", digits);
    for (int i = 0; i < c->n; i++)
        columns[n++] = (struct ss_column){side_keys[i], side_keys[i], value, 1, 0};
    for (int i = 1; i < c->n; i++)
        columns[n++] = (struct ss_column){less_keys[i], less_keys[i], less, 1, c->n > 2};
    if (c->n == 2)
        columns[n++] = (struct ss_column){"of A", "of A", "%+.1f %%", 1, 0};
    write_title(c, table, out);
    ss_grid_begin(&grid, columns, n);
    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        write_row(c, &row, scale, digits, total, &grid);
    return ss_grid_end(&grid, view, out);
}

/* Returns 1 if all sides that are not refused have this text among their warnings. */
static int all_have(const struct ss_contrast *c, const char *text)
{
    for (int i = 0; i < c->n; i++) {
        const struct ss_notes *w = c->side[i].warnings;
        int has = is_refused(&c->side[i]);
        for (unsigned long k = 0; w && k < w->n && !has; k++)
            has = !strcmp(w->text[k], text);
        if (!has)
            return 0;
    }
    return 1;
}

/* Writes the warnings that all sides have, or with `common` 0 the warnings of this side that others lack. */
static int write_some(const struct ss_contrast *c, int side, int common, const char *title, FILE *out)
{
    const struct ss_notes *w = c->side[side].warnings;
    struct ss_notes some = {0};
    int rc = SS_OK;

    for (unsigned long k = 0; w && k < w->n && !rc; k++)
        if (all_have(c, w->text[k]) == common)
            rc = ss_notes_add(&some, "%s", w->text[k]);
    if (!rc)
        ss_text_notes(title, &some, 20, out);
    ss_notes_free(&some);
    return rc;
}

static int write_warnings(const struct ss_contrast *c, FILE *out)
{
    int rc = write_some(c, 0, 1, "Warnings", out);

    for (int i = 0; i < c->n && !rc; i++) {
        char title[] = "Warnings of A";
        title[sizeof title - 2] = (char)('A' + i);
        rc = write_some(c, i, 0, title, out);
    }
    return rc;
}

static int contrast_text(const struct ss_contrast *c, const struct ss_display *view, FILE *out,
                         struct ss_error *err)
{
    int rc = SS_OK;

    for (int i = 0; i < c->n; i++)
        write_side(&c->side[i], i ? &c->side[i - 1] : NULL, (char)('A' + i), view, out);
    fputc('\n', out);
    for (int i = 1; i < c->n; i++)
        write_answer(c, i, out);
    write_reasons(c, out);
    for (int table = 0; table < SS_CONTRAST_TABLES; table++)
        SS_THEN(rc, write_table(c, table, view, out));
    SS_THEN(rc, write_warnings(c, out));
    if (rc)
        return ss_nomem(err);
    return ss_report_done(out, err);
}

/* ---- CSV and JSON ---- */

static const char *const keys[SS_CONTRAST_TABLES] = {"breakdown_ms", "kernels_ms", "memory_mib"};
static const double scales[SS_CONTRAST_TABLES] = {1e3, 1e3, 1 / SS_MIB};

/* Adds the rows of a side. Where `less` is a side, the rows have the differences to it. */
static void add_table(struct ss_json *o, const struct ss_contrast *c, int table, int of, int less)
{
    struct ss_contrast_row row;
    struct ss_json *rows = ss_json_begin_object();

    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        SS_PUT(rows, SS_KEY(row.key, scales[table] * (row.value[of] - (less < 0 ? 0 : row.value[less]))));
    SS_PUT(o, SS_KEY(keys[table], rows));
}

static void add_tables(struct ss_json *o, const struct ss_contrast *c, int of, int less)
{
    for (int table = 0; table < SS_CONTRAST_TABLES; table++)
        if (ss_contrast_has(&c->side[of], table) && (less < 0 || ss_contrast_has(&c->side[less], table)))
            add_table(o, c, table, of, less);
}

static struct ss_json *side_object(const struct ss_contrast *c, int i)
{
    const struct ss_side *s = &c->side[i];
    struct ss_json *o = SS_OBJECT(SS_SAME(s, name));

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

static struct ss_json *difference_object(const struct ss_contrast *c, int i)
{
    const struct ss_apart *a = &c->apart[i];
    struct ss_json *o = SS_OBJECT(SS_KEY("side", i), SS_SAME(a, faster_pct), SS_SAME(a, least_pct),
                                  SS_KEY("apart", ss_apart_cell(a)), SS_KEY("apart_by", a->why));

    add_tables(o, c, i, 0);
    return o;
}

static int contrast_json(const struct ss_contrast *c, FILE *out, struct ss_error *err)
{
    struct ss_json *root = ss_json_document("compare"), *sides = ss_json_begin_list(),
                   *differences = ss_json_begin_list();

    for (int i = 0; i < c->n; i++)
        SS_ITEM(sides, side_object(c, i));
    for (int i = 1; i < c->n; i++)
        SS_ITEM(differences, difference_object(c, i));
    SS_PUT(root, SS_KEY("sides", sides), SS_KEY("differences", differences));
    return ss_json_write(root, out, err);
}

static int contrast_csv(const struct ss_contrast *c, FILE *out, struct ss_error *err)
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
            SS_ADD(&r, SS_KEY("table", tables[table]), SS_KEY("term", row.key),
                   SS_KEY("unit", table == SS_CONTRAST_MEMORY ? "MiB" : "ms"));
            for (int s = 0; s < c->n; s++)
                SS_ADD(&r, SS_KEY(c->side[s].name, scales[table] * row.value[s]));
            ss_row_csv(&r, names, n, out);
        }
    return ss_report_done(out, err);
}

int ss_contrast_write(const struct ss_side *side, const struct ss_apart *apart, int n,
                      enum ss_contrast_form form, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    const struct ss_contrast c = {side, apart, n};

    if (!side || !apart || n < 2 || n > SS_SIDES_MOST)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no sides to compare, or not 2 to %d", SS_SIDES_MOST);
    switch (form) {
    case SS_CONTRAST_TEXT: return contrast_text(&c, view, out, err);
    case SS_CONTRAST_JSON: return contrast_json(&c, out, err);
    case SS_CONTRAST_CSV: return contrast_csv(&c, out, err);
    }
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown form %d of a comparison", (int)form);
}
