/* SPDX-License-Identifier: Apache-2.0 */
/* Reads micro-benchmarks of one card, as validation/microbench.csv and the probe write them, and
 * predicts each from the card's props. */
#include "base/base.h"
#include "cost/kernel.h"
#include "study/curves.h"

enum column { KIND, GPU, SHAPE, RANKS, PRECISION, VALUE, UNIT, SOURCE, COLUMNS = SS_BENCH_COLUMNS };
static const char *const names[COLUMNS] = {
    "kind", "gpu", "shape_or_bytes", "ranks/nodes", "precision", "measured value", "unit", "source"};

struct reader {
    const struct ss_bench_table *table;
    const struct ss_card *card;
    int line_of_card; /* line of the first row of this card; 0: none */
    struct ss_error *err;
};

static const char *field(const struct ss_bench_table *t, size_t row, enum column c)
{
    return t->column[c] < 0 ? "" : ss_csv_field(t->csv, row, t->column[c]);
}

size_t ss_bench_table_rows(const struct ss_bench_table *t)
{
    return ss_csv_rows(t->csv);
}

int ss_bench_table_row(const struct ss_bench_table *t, size_t i, struct ss_bench_row *out)
{
    *out = (struct ss_bench_row){
        field(t, i, KIND),      field(t, i, GPU),  field(t, i, SHAPE),  field(t, i, RANKS),
        field(t, i, PRECISION), field(t, i, UNIT), field(t, i, SOURCE), 0};
    if (ss_parse_double(field(t, i, VALUE), &out->value))
        out->value = NAN;
    return ss_csv_line(t->csv, i);
}

static int bad_value(const struct reader *r, size_t row)
{
    return ss_fail(r->err, SS_ERR_INPUT, ss_csv_file(r->table->csv), ss_csv_line(r->table->csv, row),
                   "measured value \"%.40s\" is no number in 1e-9..1e9" SS_HINT
                   "remove the row, or measure it again",
                   field(r->table, row, VALUE));
}

/* Returns whether a fit uses the row. A row that it would use but for a wrong value is an error. */
static int read_point(struct reader *r, size_t i, struct ss_bench_point *p, int *used)
{
    struct ss_bench_row row;
    int line = ss_bench_table_row(r->table, i, &row), bad = !(row.value > 1e-9 && row.value < 1e9);

    *used = 0;
    if (!ss_card_is_named(row.gpu, r->card->name))
        return SS_OK;
    r->line_of_card = r->line_of_card ? r->line_of_card : line;
    row.value = bad ? 1 : row.value;
    *used = !ss_bench_point_read(&row, r->card, p) && p->fit;
    return *used && bad ? bad_value(r, i) : SS_OK;
}

static int nothing_read(const struct reader *r)
{
    const char *card = r->card->name;

    ss_fail(r->err, SS_ERR_INPUT, ss_csv_file(r->table->csv), r->line_of_card,
            "no GEMM, attention, copy, launch or collective measured on %.60s", card);
    if (r->line_of_card)
        return ss_hint(r->err, SS_ERR_INPUT,
                       "here is a row of that card; docs/reference/formats.md has the words of its columns");
    return ss_hint(r->err, SS_ERR_INPUT, "column \"gpu\" must name it: \"%.*s\"", (int)strcspn(card, "-"),
                   card);
}

static int read_rows(struct reader *r, struct ss_bench *out)
{
    size_t cap = 0, n = ss_bench_table_rows(r->table);
    int rc = SS_OK;

    for (size_t i = 0; i < n && !rc; i++) {
        struct ss_bench_point point;
        int used;
        rc = read_point(r, i, &point, &used);
        if (rc || !used) {
            out->nskipped++;
            continue;
        }
        if (ss_grow(&out->points, &cap, (size_t)out->npoints + 1, sizeof point))
            rc = ss_nomem(r->err);
        else
            out->points[out->npoints++] = point;
    }
    return rc || out->npoints ? rc : nothing_read(r);
}

/* Finds the columns of a table. It takes over the table, also when it fails. */
static int find_columns(struct ss_csv *csv, struct ss_bench_table *out, struct ss_error *err)
{
    out->csv = csv;
    if (!ss_csv_rows(csv)) {
        ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1, "no row below the names of the columns");
        ss_bench_table_free(out);
        return SS_ERR_INPUT;
    }
    for (int c = 0; c < COLUMNS; c++) {
        out->column[c] = ss_csv_column(csv, names[c]);
        if (out->column[c] < 0 && c != SOURCE) {
            ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1, "no column \"%s\"", names[c]);
            ss_hint(err, SS_ERR_INPUT, "give a table like validation/microbench.csv");
            ss_bench_table_free(out);
            return SS_ERR_INPUT;
        }
    }
    return SS_OK;
}

int ss_bench_table_load(const char *path, struct ss_bench_table *out, struct ss_error *err)
{
    struct ss_csv *csv = NULL;
    int rc = ss_csv_load(path, &csv, err);

    return rc ? rc : find_columns(csv, out, err);
}

void ss_bench_table_free(struct ss_bench_table *t)
{
    ss_csv_free(t->csv);
    t->csv = NULL;
}

/* Keeps the rows of one card. */
static int keep(struct ss_bench_table *table, const struct ss_card *card, struct ss_bench **out,
                struct ss_error *err)
{
    struct reader r = {.table = table, .card = card, .err = err};
    struct ss_bench *b = ss_calloc(1, sizeof *b);
    int rc = b ? read_rows(&r, b) : ss_nomem(err);

    ss_bench_table_free(table);
    SS_HAND(rc, b, out, ss_bench_free);
}

int ss_bench_parse(const char *text, size_t len, const char *name, const struct ss_card *card,
                   struct ss_bench **out, struct ss_error *err)
{
    struct ss_bench_table table;
    struct ss_csv *csv = NULL;
    int rc = ss_csv_parse(text, len, name, &csv, err);

    SS_THEN(rc, find_columns(csv, &table, err));
    return rc ? rc : keep(&table, card, out, err);
}

int ss_bench_load(const char *path, const struct ss_card *card, struct ss_bench **out, struct ss_error *err)
{
    struct ss_bench_table table;
    int rc = ss_bench_table_load(path, &table, err);

    return rc ? rc : keep(&table, card, out, err);
}

void ss_bench_free(struct ss_bench *b)
{
    if (!b)
        return;
    SS_FREE(b->points, b);
}

static double attention_share(const struct ss_card *card, const struct ss_stack *s,
                              const struct ss_bench_point *p)
{
    if (p->fused)
        return (p->backward ? s->fused_bwd : s->fused_fwd) *
               ss_kernel_fused_head(card, s->attention_half_dim, p->head, p->values, p->backward);
    return p->backward ? s->flash_bwd : s->flash_fwd;
}

/* Returns the seconds of a product. A row without blocks does not say whether its sums are fast, so the
 * rate of the backward is taken. */
static double product_seconds(const struct ss_card *card, const struct ss_stack *stack,
                              const struct ss_bench_point *p)
{
    int recipe = p->blocks ? SS_FP8_BLOCKWISE : p->mx ? SS_FP8_MXFP8 : SS_NO_RECIPE;
    double gain =
        ss_kernel_gemm_gain(card, stack, p->precision, recipe, p->weights ? SS_PHASE_W : SS_PHASE_I, p->k);
    double (*price)(const struct ss_card *, int, double, int, double, double, double, int, double, double) =
        p->streams ? ss_kernel_stream_gemms : ss_kernel_grouped_gemm;
    double t =
        price(card, p->precision, p->groups, p->scattered, p->m, p->n, p->k, p->accumulate, p->sms, gain);

    return p->streams ? fmax(t, p->groups * stack->host_group * card->host_slowdown) : t;
}

/* Returns the seconds of a product and its gradients, and of the casts where operands are quantized: of
 * the input, the weights and the gradient of the output. Each is read once in 16 bit and written along
 * both of its sides. */
static double gemm_seconds(const struct ss_card *card, const struct ss_stack *stack,
                           const struct ss_bench_point *p)
{
    struct ss_bench_point forward = *p, input = *p, weights = *p;
    double operands = p->m * p->k + p->groups * p->n * p->k + p->m * p->n;
    int cast = ss_precision_is_quantized(p->precision);

    if (!p->both)
        return product_seconds(card, stack, p);
    input.n = p->k;
    input.k = p->n;
    weights.weights = 1;
    weights.m = p->groups * p->n;
    weights.n = p->k;
    weights.k = p->m / p->groups;
    weights.scattered = 0;
    return product_seconds(card, stack, &forward) + product_seconds(card, stack, &input) +
           product_seconds(card, stack, &weights) + (cast ? ss_kernel_elementwise(card, 4 * operands, 3) : 0);
}

/* Returns the seconds of 1 TFLOP; a row with both passes has 1 part forward and 2.5 of 3.5 parts backward. */
static double attention_seconds(const struct ss_card *card, const struct ss_stack *stack,
                                const struct ss_bench_point *p)
{
    struct ss_bench_point one = *p;

    if (p->both) {
        one.both = 0;
        double forward = attention_seconds(card, stack, &one);
        one.backward = 1;
        return (forward + 2.5 * attention_seconds(card, stack, &one)) / 3.5;
    }
    struct ss_attention_call call = {
        .heads = p->heads, .queries = p->queries, .spread = 2, .backward = p->backward};
    double rate = ss_kernel_attention_rate(card, stack, p->precision, attention_share(card, stack, p),
                                           stack->attention_half_dim, p->queries, p->head, p->values);
    double fill = p->heads > 0 ? ss_kernel_attention_fill(card, &call, p->sms) : 1;

    return 1e12 / (p->sms / card->sm_count * rate * fill);
}

static double collective_seconds(const struct ss_platform *platform, const struct ss_stack *stack,
                                 const struct ss_bench_point *p)
{
    struct ss_net net;

    ss_net_init(&net, platform);
    net.nvls_tree = 1; /* releases since 2.18 of 2023, which benchmarks use */
    if (p->collective == SS_COLL_DISPATCH || p->collective == SS_COLL_COMBINE)
        ss_net_dispatcher(&net, p->sms, stack);
    if (p->tokens > 0) {
        struct ss_stack told = *stack;
        told.dispatch_chunk = told.combine_chunk = p->chunk;
        ss_net_chunks(&net, p->tokens, &told);
    }
    if (p->algorithm && (!p->algorithm->applies || p->algorithm->applies(&net, &p->group)))
        return p->algorithm->seconds(&net, p->collective, p->bytes, &p->group);
    return ss_collective_seconds(&net, p->collective, p->bytes, &p->group);
}

static double curve_seconds(const struct ss_platform *platform, const struct ss_bench_point *p)
{
    struct ss_curve_site site;

    ss_curve_site_of(platform, &site);
    return p->curve->seconds(&site, p->size);
}

double ss_bench_seconds(const struct ss_platform *platform, const struct ss_stack *stack,
                        const struct ss_bench_point *p)
{
    const struct ss_card *card = ss_platform_card(platform);

    switch (p->kind) {
    case SS_BENCH_GEMM: return gemm_seconds(card, stack, p);
    case SS_BENCH_COPY: return ss_kernel_elementwise(card, 2 * p->bytes, 1);
    case SS_BENCH_PCIE: return p->bytes / card->pcie_bandwidth;
    case SS_BENCH_COLLECTIVE:
        return fmax(collective_seconds(platform, stack, p), ss_nccl_issue_seconds(p->per_thread));
    case SS_BENCH_ATTENTION: return attention_seconds(card, stack, p);
    case SS_BENCH_CURVE: return curve_seconds(platform, p);
    default: return ss_kernel_elementwise(card, 0, 1);
    }
}

static int collective_props(const struct ss_card *card, const struct ss_bench_point *p,
                            int props[SS_BENCH_PROPS])
{
    int n = 0;

    props[n++] = SS_PROP_fabric_efficiency;
    props[n++] = SS_PROP_fabric_half_size;
    if (p->group.nodes > 1)
        props[n++] = SS_PROP_fabric_latency;
    else if (p->collective != SS_COLL_ALL_REDUCE || card->nvls_efficiency <= 0)
        props[n++] = SS_PROP_curve_ring_middle_latency;
    if (p->collective == SS_COLL_ALL_REDUCE && card->nvls_efficiency > 0) {
        props[n++] = SS_PROP_nvls_efficiency;
        props[n++] = SS_PROP_nvls_latency;
    }
    return n;
}

static int attention_props(const struct ss_bench_point *p, int props[SS_BENCH_PROPS])
{
    if (p->fused)
        props[0] = p->backward ? SS_PROP_fused_bwd : SS_PROP_fused_fwd;
    else
        props[0] = p->backward ? SS_PROP_flash_bwd : SS_PROP_flash_fwd;
    props[1] = SS_PROP_attention_half_tokens;
    props[2] = SS_PROP_attention_half_dim;
    return 3;
}

static int curve_props(const struct ss_bench_point *p, int props[SS_BENCH_PROPS])
{
    int n = 0;

    for (; n < SS_BENCH_PROPS && p->curve->prop[n]; n++)
        props[n] = p->curve->prop[n];
    return n;
}

int ss_bench_props(const struct ss_card *card, const struct ss_bench_point *p, int props[SS_BENCH_PROPS])
{
    int n = 0;

    switch (p->kind) {
    case SS_BENCH_COLLECTIVE: return collective_props(card, p, props);
    case SS_BENCH_ATTENTION: return attention_props(p, props);
    case SS_BENCH_CURVE: return curve_props(p, props);
    case SS_BENCH_PCIE: props[0] = SS_PROP_pcie_bandwidth; return 1;
    case SS_BENCH_GEMM:
        if (p->blocks && card->gemm_eff_fp8_blocks > 0) {
            props[n++] = SS_PROP_gemm_eff_fp8_blocks;
            props[n++] = SS_PROP_gemm_k_prologue_fp8_blocks;
            if (p->accumulate)
                props[n++] = SS_PROP_gemm_wgrad_fp8_blocks;
        } else {
            props[n++] = ss_precision_at(p->precision)->efficiency;
            props[n++] = ss_precision_at(p->precision)->prologue;
        }
        props[n++] = SS_PROP_gemm_small_tile;
        break;
    case SS_BENCH_COPY: props[n++] = SS_PROP_hbm_efficiency; break;
    }
    props[n++] = SS_PROP_kernel_latency;
    return n;
}
