/* SPDX-License-Identifier: Apache-2.0 */
/* Compares every row of a table of micro-benchmarks with its prediction on the platform of its card. No
 * row is left out without a reason. */
#include <strings.h>

#include "report/common.h"
#include "study/curves.h"

void ss_bench_machines_free(struct ss_bench_machines *m)
{
    for (size_t i = 0; i < m->n; i++)
        ss_platform_free(m->list[i].platform);
    free(m->list);
}

int ss_bench_machines_load(const char *stack, struct ss_files *files, struct ss_bench_machines *out,
                           struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    char **names = NULL;
    size_t n = 0;
    int rc = ss_data_list("platforms", ".xml", &names, &n, err);

    out->list = ss_calloc(n + 1, sizeof *out->list);
    if (!rc && !out->list)
        rc = ss_nomem(err);
    for (size_t i = 0; i < n && !rc; i++) {
        struct ss_bench_machine *m = &out->list[out->n];
        rc = ss_platform_load(names[i], &options, &m->platform, err);
        if (rc)
            break;
        out->n++;
        const char *card = ss_platform_card(m->platform)->name;
        rc = ss_stack_load_with(stack ? stack : SS_DEFAULT_STACK, card, files, &m->stack, err);
    }
    ss_names_free(names, n);
    return rc;
}

static int says(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = text; *at; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !strncasecmp(at, word, n) &&
            !isalnum((unsigned char)at[n]))
            return 1;
    return 0;
}

/* Returns 1 if a row names the cluster of a platform, which stands behind the card in the platform's
 * name ("p6" of b200-p6), in any case of letters. */
static int names_cluster(const struct ss_bench_row *row, const char *platform)
{
    const char *name = strchr(platform, '-');

    return name && (says(row->gpu, name + 1) || says(row->source, name + 1));
}

const struct ss_bench_machine *ss_bench_machine_of(const struct ss_bench_machines *all,
                                                   const struct ss_bench_row *row)
{
    const struct ss_bench_machine *best = NULL;

    for (size_t i = 0; i < all->n; i++) {
        const struct ss_bench_machine *m = &all->list[i];
        const char *name = ss_platform_name(m->platform);
        if (!ss_card_is_named(row->gpu, ss_platform_card(m->platform)->name))
            continue;
        if (names_cluster(row, name))
            return m;
        if (strncasecmp(name, ss_platform_card(m->platform)->name,
                        strcspn(ss_platform_card(m->platform)->name, "-")) != 0)
            continue; /* of a cloud's own name: p5 */
        if (!best || strlen(name) < strlen(ss_platform_name(best->platform)))
            best = m;
    }
    return best;
}

/* ---- the survey ---- */

struct survey_reader {
    struct ss_bench_table table;
    struct ss_bench_machines machines;
    struct ss_survey *out;
};

/* bytes: from this size on latencies and protocols matter little */
#define LARGE_MESSAGE 67108864

/* Writes the kind of a row: "attention bf16 forward", "collective across nodes < 64 MiB". */
static void kind_of(const struct ss_bench_row *row, const struct ss_bench_point *p, int priced,
                    struct ss_survey_row *out)
{
    const char *more = "", *backend = "";

    if (!priced) {
        ss_copy(out->kind, sizeof out->kind, row->kind);
        return;
    }
    if (p->kind == SS_BENCH_CURVE) {
        ss_curve_name(p->curve, out->kind, sizeof out->kind);
        return;
    }
    if (p->kind == SS_BENCH_ATTENTION) {
        backend = p->fused ? " fused" : " flash";
        more = p->both ? " both passes" : p->backward ? " backward" : " forward";
    } else if (p->kind == SS_BENCH_GEMM) {
        more = p->both ? " both passes" : p->accumulate ? " accumulated" : "";
    }
    if (p->kind == SS_BENCH_COLLECTIVE) {
        int exchange = p->collective == SS_COLL_DISPATCH || p->collective == SS_COLL_COMBINE;
        snprintf(out->kind, sizeof out->kind, "%.20s%s%s%s", row->kind,
                 p->tokens > 0 ? " HybridEP"
                 : exchange    ? " DeepEP"
                               : "",
                 p->group.nodes > 1 ? " across nodes" : "",
                 exchange                         ? ""
                 : p->bytes < SS_SMALLEST_MESSAGE ? " < 1 MiB"
                 : p->bytes < LARGE_MESSAGE       ? " < 64 MiB"
                                                  : " >= 64 MiB");
    } else {
        snprintf(out->kind, sizeof out->kind, "%.20s%s%s%.8s%s%s", row->kind, backend,
                 row->precision[0] ? " " : "",
                 p->precision >= 0 && !p->mx ? ss_precision_name(p->precision) : row->precision,
                 p->blocks ? " blocks" : "", more);
    }
}

static void price(const struct survey_reader *r, const struct ss_bench_row *row, struct ss_survey_row *out)
{
    const struct ss_bench_machine *m = ss_bench_machine_of(&r->machines, row);
    struct ss_bench_point p = {.kind = SS_BENCH_LAUNCH};

    ss_copy(out->gpu, sizeof out->gpu, m ? ss_platform_name(m->platform) : row->gpu);
    out->why =
        m ? ss_bench_point_read(row, ss_platform_card(m->platform), &p) : "a card that no platform has";
    if (!out->why && p.kind == SS_BENCH_COLLECTIVE && !p.group.nodes) {
        int gpus = ss_platform_gpus_per_node(m->platform);
        p.group.nodes = (p.group.n + gpus - 1) / gpus;
        p.group.per_node = p.group.n / p.group.nodes;
    }
    kind_of(row, &p, !out->why, out);
    snprintf(out->id, sizeof out->id, "%.70s", row->shape);
    if (out->why)
        return;
    out->measured = p.seconds;
    out->predicted = ss_bench_seconds(m->platform, &m->stack, &p);
}

/* ---- groups ---- */

static struct ss_survey_group *group_of(struct ss_survey *s, const struct ss_survey_row *row)
{
    for (int i = 0; i < s->ngroups; i++) {
        struct ss_survey_group *g = &s->groups[i];
        int same_why = g->why && row->why ? !strcmp(g->why, row->why) : g->why == row->why;
        if (same_why && !strcmp(g->gpu, row->gpu) && !strcmp(g->kind, row->kind))
            return g;
    }
    struct ss_survey_group *g = &s->groups[s->ngroups++];
    ss_copy(g->gpu, sizeof g->gpu, row->gpu);
    ss_copy(g->kind, sizeof g->kind, row->kind);
    g->why = row->why;
    return g;
}

static int by_name(const void *a, const void *b)
{
    const struct ss_survey_group *x = a, *y = b;
    int order = (x->why != NULL) - (y->why != NULL);

    order = order ? order : strcmp(x->gpu, y->gpu);
    order = order ? order : strcmp(x->kind, y->kind);
    return order || !x->why ? order : strcmp(x->why, y->why);
}

static int fill_groups(struct ss_survey *s, struct ss_error *err)
{
    double *errors = ss_calloc((size_t)s->nrows + 1, sizeof *errors);

    s->groups = ss_calloc((size_t)s->nrows + 1, sizeof *s->groups);
    if (!errors || !s->groups) {
        free(errors);
        return ss_nomem(err);
    }
    for (int i = 0; i < s->nrows; i++) {
        group_of(s, &s->rows[i])->rows++;
        s->npriced += !s->rows[i].why;
    }
    qsort(s->groups, (size_t)s->ngroups, sizeof *s->groups, by_name);
    for (int g = 0; g < s->ngroups; g++) {
        int n = 0;
        for (int i = 0; i < s->nrows && !s->groups[g].why; i++)
            if (!s->rows[i].why && group_of(s, &s->rows[i]) == &s->groups[g])
                errors[n++] = ss_error_pct(s->rows[i].predicted, s->rows[i].measured);
        ss_error_stat_fill(errors, n, &s->groups[g].error);
    }
    free(errors);
    return SS_OK;
}

static int read_rows(struct survey_reader *r, struct ss_error *err)
{
    size_t n = ss_bench_table_rows(&r->table);

    r->out->rows = ss_calloc(n + 1, sizeof *r->out->rows);
    SS_NEED(r->out->rows, err);
    for (size_t i = 0; i < n; i++) {
        struct ss_bench_row row;
        struct ss_survey_row *out = &r->out->rows[r->out->nrows++];
        out->line = ss_bench_table_row(&r->table, i, &row);
        price(r, &row, out);
    }
    return fill_groups(r->out, err);
}

int ss_survey_microbench(const char *path, const char *stack, struct ss_files *files, struct ss_survey **out,
                         struct ss_error *err)
{
    struct survey_reader r = {.out = ss_calloc(1, sizeof *r.out)};
    int rc = r.out ? ss_files_add(files, path, err) : ss_nomem(err);

    SS_THEN(rc, ss_bench_table_load(path, &r.table, err));
    if (!rc) {
        rc = ss_bench_machines_load(stack, files, &r.machines, err);
        SS_THEN(rc, read_rows(&r, err));
        ss_bench_table_free(&r.table);
    }
    ss_bench_machines_free(&r.machines);
    if (rc)
        ss_survey_free(r.out);
    else
        *out = r.out;
    return rc;
}

void ss_survey_free(struct ss_survey *s)
{
    if (!s)
        return;
    SS_FREE(s->rows, s->groups, s);
}

/* ---- for people, and as JSON ---- */

int ss_survey_write_text(const struct ss_survey *s, const struct ss_display *view, FILE *out,
                         struct ss_error *err)
{
    static const struct ss_column columns[] = {
        {"platform", "platform", "%-s", 1, 0}, {"kind", "kind", "%-s", 1, 0},
        {"rows", "rows", "%.0f", 1, 0},        {"mean", "mean", "%.1f", 1, 0},
        {"median", "median", "%.1f", 1, 2},    {"worst", "worst", "%.1f", 1, 0},
        {"bias", "bias %", "%+.1f", 1, 0}};
    int rc = SS_OK;

    for (int refused = 0; refused < 2 && !rc; refused++) {
        struct ss_grid grid;
        ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
        for (int i = 0; i < s->ngroups; i++) {
            const struct ss_survey_group *g = &s->groups[i];
            struct ss_row r = {0};
            SS_ADD(&r, SS_KEY("platform", g->gpu), SS_SAME(g, kind), SS_SAME(g, rows),
                   SS_KEY("mean", g->error.mean_abs), SS_KEY("median", g->error.median_abs),
                   SS_KEY("worst", g->error.worst_abs), SS_KEY("bias", g->error.bias));
            if (refused && g->why)
                ss_grid_span(&grid, &r, "mean", "%s", g->why);
            else if (!refused && !g->why)
                ss_grid_row(&grid, &r);
        }
        if (refused && grid.nrows)
            fputs("\nNot priced\n", out);
        if (refused && !grid.nrows)
            ss_grid_free(&grid);
        else
            rc = ss_grid_end(&grid, view, out);
    }
    fprintf(out, "\n%d of %d rows priced\n", s->npriced, s->nrows);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

static struct ss_json *group_object(const void *group)
{
    const struct ss_survey_group *g = group;
    struct ss_json *o = SS_OBJECT(SS_KEY("platform", g->gpu), SS_SAME(g, kind), SS_SAME(g, rows),
                                  SS_KEY_IF(g->why, "reason", g->why));

    if (!g->why)
        SS_PUT(o, SS_KEY("mean_abs_pct", g->error.mean_abs), SS_KEY("median_abs_pct", g->error.median_abs),
               SS_KEY("worst_abs_pct", g->error.worst_abs), SS_KEY("bias_pct", g->error.bias));
    return o;
}

static struct ss_json *row_object(const void *row)
{
    const struct ss_survey_row *r = row;

    return SS_OBJECT(SS_SAME(r, line), SS_KEY("platform", r->gpu), SS_SAME(r, kind), SS_KEY("shape", r->id),
                     SS_KEY_IF(r->why, "reason", r->why),
                     SS_KEY_IF(!r->why, "measured_us", 1e6 * r->measured),
                     SS_KEY_IF(!r->why, "predicted_us", 1e6 * r->predicted));
}

int ss_survey_write_json(const struct ss_survey *s, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("calibrate");

    SS_PUT(o, SS_KEY("rows_read", s->nrows), SS_KEY("rows_priced", s->npriced),
           SS_KEY("groups", SS_LIST(group_object, s->groups, s->ngroups)),
           SS_KEY("rows", SS_LIST(row_object, s->rows, s->nrows)));
    return ss_json_write(o, out, err);
}
