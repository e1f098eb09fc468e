/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of a table that curves are fitted to, and leaves out what measured no kernel. */
#include "base/base.h"
#include "study/curves.h"

/* A machine that takes so much longer than another of the same SMs, or than itself for more work, was slowed ... */
#define SLOWER 1.15
/* ... and rows are left out where this share of a kind's are slower than those of the other machine, */
#define MANY (1. / 3)
/* all rows of a kind where this share are slower than for more work. */
#define MOST (1. / 2)

/* ---- rows ---- */

static int drawn_half(const struct ss_bench_row *row, uint64_t seed)
{
    const char *const words[] = {row->kind, row->shape, row->precision, row->ranks};
    uint64_t h = ss_hash(0xcbf29ce484222325u, &seed, sizeof seed);

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        h = ss_hash(h, words[i], strlen(words[i]) + 1);
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u;
    return (int)(h >> 63);
}

static int read_rows(struct ss_curve_rows *s, uint64_t seed, struct ss_error *err)
{
    size_t all = ss_bench_table_rows(&s->table);

    s->rows = ss_calloc(all + 1, sizeof *s->rows);
    SS_NEED(s->rows, err);
    for (size_t i = 0; i < all; i++) {
        struct ss_bench_row row;
        struct ss_curve_row *r = &s->rows[s->n];
        int line = ss_bench_table_row(&s->table, i, &row);
        const struct ss_bench_machine *m = ss_bench_machine_of(&s->machines, &row);
        if (!m || ss_bench_point_read(&row, ss_platform_card(m->platform), &r->point) ||
            r->point.kind != SS_BENCH_CURVE) {
            s->unread++;
            continue;
        }
        r->machine = (int)(m - s->machines.list);
        r->line = line;
        r->error = NAN;
        r->half = drawn_half(&row, seed);
        r->shape = row.shape;
        r->precision = row.precision;
        r->ranks = row.ranks;
        s->n++;
    }
    if (s->n)
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, ss_csv_file(s->table.csv), 0,
                   "no row of a kernel that has a curve" SS_HINT
                   "docs/design/curves.md has the kinds of kernels");
}

/* ---- machines that were slowed ---- */

int ss_curve_same_generation(const struct ss_card *a, const struct ss_card *b)
{
    double x = a->peak_bf16 / (a->sm_count * a->sm_clock), y = b->peak_bf16 / (b->sm_count * b->sm_clock);

    return fabs(x - y) <= 0.1 * y;
}

/* Returns 1 if two cards have the same SMs, and the first at least as much bandwidth. */
static int has_more(const struct ss_curve_site *a, const struct ss_curve_site *b)
{
    const struct ss_card *x = a->card, *y = b->card;

    return x->sm_count == y->sm_count && x->sm_clock == y->sm_clock && x->peak_bf16 == y->peak_bf16 &&
           x->peak_fp8 == y->peak_fp8 && x->hbm_bandwidth >= y->hbm_bandwidth && a->fabric >= b->fabric;
}

static int by_shape(const void *a, const void *b)
{
    const struct ss_curve_row *x = a, *y = b;
    int order = strcmp(x->point.curve->kind, y->point.curve->kind);

    order = order ? order : (x->point.curve > y->point.curve) - (x->point.curve < y->point.curve);
    order = order ? order : strcmp(x->precision, y->precision);
    order = order ? order : strcmp(x->shape, y->shape);
    order = order ? order : strcmp(x->ranks, y->ranks);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int same_shape(const struct ss_curve_row *a, const struct ss_curve_row *b)
{
    return a->point.curve == b->point.curve && !strcmp(a->precision, b->precision) &&
           !strcmp(a->shape, b->shape) && !strcmp(a->ranks, b->ranks);
}

/* Returns how many sizes the words of a curve name. */
static int words_of(const struct ss_bench_curve *c)
{
    int n = 0;

    for (const char *at = c->words; *at; at += strcspn(at, " "), at += strspn(at, " "))
        n++;
    return n;
}

/* Returns 1 if a row has at least as much to do as another of its curve. */
static int does_more(const struct ss_curve_row *a, const struct ss_curve_row *b, int words)
{
    for (int i = 0; i < SS_BENCH_SIZES; i++)
        if (i < words ? a->point.size[i] < b->point.size[i] : a->point.size[i] != b->point.size[i])
            return 0;
    return 1;
}

/* Returns 1 if a row is slower than one of its shape on a machine with the same SMs and no more bandwidth, which *than becomes. */
static int slower_than_other(const struct ss_curve_rows *s, size_t i, int *than)
{
    const struct ss_curve_row *r = &s->rows[i];
    size_t from = i, to = i + 1;

    while (from > 0 && same_shape(&s->rows[from - 1], r))
        from--;
    while (to < s->n && same_shape(&s->rows[to], r))
        to++;
    for (size_t k = from; k < to; k++)
        if (s->rows[k].machine != r->machine && r->point.seconds > SLOWER * s->rows[k].point.seconds &&
            has_more(&s->sites[r->machine], &s->sites[s->rows[k].machine])) {
            *than = s->rows[k].machine;
            return 1;
        }
    return 0;
}

static int slower_than_more(const struct ss_curve_rows *s, size_t i, size_t from, size_t to)
{
    const struct ss_curve_row *r = &s->rows[i];
    int words = words_of(r->point.curve);

    for (size_t k = from; k < to && r->point.curve->grows; k++)
        if (s->rows[k].machine == r->machine && s->rows[k].point.curve == r->point.curve &&
            r->point.seconds > SLOWER * s->rows[k].point.seconds && does_more(&s->rows[k], r, words))
            return 1;
    return 0;
}

/* Leaves out rows [from, to), which are of one kind, of one machine. */
static void judge(struct ss_curve_rows *s, size_t from, size_t to, int machine, struct ss_notes *notes)
{
    const char *name = ss_platform_name(s->machines.list[machine].platform);
    const char *kind = s->rows[from].point.curve->kind;
    int n = 0, stalled = 0, slowed = 0, than = -1;

    for (size_t i = from; i < to; i++)
        if (s->rows[i].machine == machine) {
            n++;
            stalled += slower_than_more(s, i, from, to);
            s->rows[i].out = slower_than_other(s, i, &than);
            slowed += s->rows[i].out;
        }
    if (stalled > MOST * n)
        ss_note(notes,
                "%s, %s: all %d rows are left out, as %d take more than %.0f %% longer than one with more "
                "work: stalls "
                "were measured",
                name, kind, n, stalled, 100 * (SLOWER - 1));
    else if (slowed > MANY * n)
        ss_note(notes,
                "%s, %s: %d of %d rows are left out, as more than %.0f %% slower than on %s, which has the "
                "same SMs and "
                "no more bandwidth: the machine was slowed",
                name, kind, slowed, n, 100 * (SLOWER - 1), ss_platform_name(s->machines.list[than].platform));
    for (size_t i = from; i < to; i++)
        if (s->rows[i].machine == machine)
            s->rows[i].out = stalled > MOST * n || (slowed > MANY * n && s->rows[i].out);
}

static void find_slowed(struct ss_curve_rows *s, struct ss_notes *notes)
{
    qsort(s->rows, s->n, sizeof *s->rows, by_shape);
    for (size_t i = 0, end; i < s->n; i = end) {
        for (end = i + 1;
             end < s->n && !strcmp(s->rows[end].point.curve->kind, s->rows[i].point.curve->kind);)
            end++;
        for (size_t m = 0; m < s->machines.n; m++)
            judge(s, i, end, (int)m, notes);
    }
}

int ss_curve_rows_load(const char *path, const char *stack, uint64_t seed, struct ss_files *files,
                       struct ss_curve_rows *out, struct ss_notes *notes, struct ss_error *err)
{
    int rc = ss_files_add(files, path, err);

    SS_THEN(rc, ss_bench_table_load(path, &out->table, err));
    SS_THEN(rc, ss_bench_machines_load(stack, files, &out->machines, err));
    out->sites = rc ? NULL : ss_calloc(out->machines.n + 1, sizeof *out->sites);
    if (!rc && !out->sites)
        rc = ss_nomem(err);
    for (size_t m = 0; m < out->machines.n && !rc; m++)
        ss_curve_site_of(out->machines.list[m].platform, &out->sites[m]);
    SS_THEN(rc, read_rows(out, seed, err));
    if (!rc)
        find_slowed(out, notes);
    return rc;
}

void ss_curve_rows_free(struct ss_curve_rows *r)
{
    ss_bench_table_free(&r->table);
    ss_bench_machines_free(&r->machines);
    SS_FREE(r->sites, r->rows);
}
