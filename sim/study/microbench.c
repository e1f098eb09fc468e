/* SPDX-License-Identifier: Apache-2.0 */
/* Micro-benchmarks of one card, as validation/microbench.csv and the probe write them; and what the card's props say
 * of each. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "base/csv.h"
#include "cost/kernel.h"
#include "study/calibrate.h"

enum column { KIND, GPU, SHAPE, RANKS, PRECISION, VALUE, UNIT, SOURCE, COLUMNS };
static const char *const names[COLUMNS] = {
    "kind", "gpu", "shape_or_bytes", "ranks/nodes", "precision", "measured value", "unit", "source"};

struct reader {
    const struct ss_csv *csv;
    const struct ss_card *card;
    int column[COLUMNS];
    size_t row;
    int line_of_card; /* of the first row of this card, 0 = none */
    struct ss_error *err;
};

static const char *field(const struct reader *r, enum column c)
{
    return r->column[c] < 0 ? "" : ss_csv_field(r->csv, r->row, r->column[c]);
}

static int precision_of(const char *name)
{
    for (int p = 0; p < SS_PRECISION_COUNT; p++)
        if (!strcmp(name, ss_precision_name(p)))
            return p;
    return -1;
}

/* SMs that a kernel had, all where neither shape nor source says. */
static double sms_of(const struct reader *r)
{
    return fmin(ss_bench_sms(field(r, SHAPE), r->card), ss_bench_sms(field(r, SOURCE), r->card));
}

static int read_gemm(const struct reader *r, struct ss_bench_point *p)
{
    const char *precision = field(r, PRECISION);
    char name[24];

    ss_copy(name, sizeof name, precision);
    name[strcspn(name, " ")] = 0;
    p->kind = SS_BENCH_GEMM;
    p->precision = precision_of(name);
    p->blocks = !strcmp(precision, "fp8 (128 block scale)");
    p->sms = sms_of(r);
    return p->precision >= 0 && (p->blocks || !strcmp(name, precision)) &&
           ss_kernel_peak(r->card, p->precision) > 0 && !strcmp(field(r, UNIT), "TFLOP/s") &&
           ss_bench_gemm_shape(field(r, SHAPE), p);
}

/* "copy kernel 65536", "H2D 65536" */
static int read_bytes(const struct reader *r, const char *what, int kind, struct ss_bench_point *p)
{
    const char *shape = field(r, SHAPE);
    size_t n = strlen(what);
    int64_t bytes;

    if (strncmp(shape, what, n) != 0 || ss_parse_i64(shape + n, 1, (int64_t)1 << 50, &bytes))
        return 0;
    p->kind = kind;
    p->bytes = (double)bytes;
    return !strcmp(field(r, UNIT), "GB/s");
}

static int is_launch(const struct reader *r)
{
    return !strcmp(field(r, KIND), "launch") && !strcmp(field(r, SHAPE), "empty kernel, start to start") &&
           !strcmp(field(r, UNIT), "us");
}

/* "seq=8192": the number behind a word, or 0 */
static double number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at && (at == text || at[-1] == ' ') ? (double)strtoul(at + strlen(word), NULL, 10) : 0;
}

/* "FA2 fwd b=2 seq=8192 hq=64 hkv=8 d=128 causal": the rate depends on the sequence and the head alone. "flash" is
 * whichever version the stack runs. */
static int read_attention(const struct reader *r, struct ss_bench_point *p)
{
    const char *shape = field(r, SHAPE), *precision = field(r, PRECISION);

    p->kind = SS_BENCH_ATTENTION;
    p->fused = !strncasecmp(shape, "cuDNN ", 6);
    if (!p->fused && strncmp(shape, "FA2 ", 4) != 0 && strncmp(shape, "flash ", 6) != 0)
        return 0;
    shape = strchr(shape, ' ') + 1;
    p->sms = sms_of(r);
    p->backward = !strncmp(shape, "bwd ", 4);
    p->queries = number_behind(shape, "seq=");
    p->head = fmax(number_behind(shape, "d="), number_behind(shape, "headdim="));
    p->values = p->head > 0 ? p->head : number_behind(shape, "dv=");
    p->head = fmax(p->head, number_behind(shape, "dqk="));
    p->precision = !strncmp(precision, "fp16", 4) ? SS_FP16 : !strncmp(precision, "bf16", 4) ? SS_BF16 : -1;
    return (p->backward || !strncmp(shape, "fwd ", 4)) && strstr(shape, " causal") &&
           !strstr(shape, " window=") && p->queries > 0 && p->head > 0 && p->values > 0 &&
           p->precision >= 0 && ss_kernel_peak(r->card, p->precision) > 0 &&
           !strncmp(field(r, UNIT), "TFLOP/s", 7);
}

/* "cudnn bwd N=8192 C=4096 (mixtral-8x7b)": its input and output move once, in the backward two inputs. */
static int read_norm(const struct reader *r, struct ss_bench_point *p)
{
    const char *shape = field(r, SHAPE);
    int passes = !strncmp(shape, "cudnn fwd ", 10) ? 2 : !strncmp(shape, "cudnn bwd ", 10) ? 3 : 0;

    p->kind = SS_BENCH_COPY;
    p->bytes = passes * number_behind(shape, "N=") * number_behind(shape, "C=");
    return p->bytes > 0 && !strcmp(field(r, PRECISION), "bf16") && !strcmp(field(r, UNIT), "GB/s");
}

/* "8 GPU 1 node"; what lies between nodes is no matter of the card */
static int read_group(const char *text, struct ss_group_shape *g)
{
    int end = 0;

    if (sscanf(text, "%5d GPU 1 node%n", &g->n, &end) != 1 || !end || text[end] || g->n < 2)
        return 0;
    g->nodes = 1;
    g->per_node = g->n;
    return 1;
}

/* "all_reduce 1048576", as nccl-tests name and measure it */
static int read_collective(const struct reader *r, struct ss_bench_point *p)
{
    const char *shape = field(r, SHAPE), *space = strchr(shape, ' ');
    char operation[24];
    int64_t bytes;

    if (!space || (size_t)(space - shape) >= sizeof operation ||
        ss_parse_i64(space + 1, (int64_t)SS_SMALLEST_MESSAGE, (int64_t)1 << 50, &bytes))
        return 0;
    ss_copy(operation, (size_t)(space - shape) + 1, shape);
    p->kind = SS_BENCH_COLLECTIVE;
    p->collective = ss_nccl_kind(operation);
    p->bytes = (double)bytes;
    return p->collective >= 0 && read_group(field(r, RANKS), &p->group) &&
           !strncmp(field(r, UNIT), "GB/s busbw", 10);
}

/* Is this row one that the cost of a card predicts? */
static int read_shape(const struct reader *r, struct ss_bench_point *p)
{
    if (!strcmp(field(r, KIND), "collective"))
        return read_collective(r, p);
    if (strcmp(field(r, RANKS), "1 GPU") != 0)
        return 0;
    if (!strcmp(field(r, KIND), "gemm") || !strcmp(field(r, KIND), "grouped_gemm"))
        return read_gemm(r, p);
    if (!strcmp(field(r, KIND), "norm"))
        return read_norm(r, p);
    if (!strcmp(field(r, KIND), "attention"))
        return read_attention(r, p);
    if (!strcmp(field(r, KIND), "memcpy"))
        return read_bytes(r, "copy kernel ", SS_BENCH_COPY, p) || read_bytes(r, "H2D ", SS_BENCH_PCIE, p);
    p->kind = SS_BENCH_LAUNCH;
    return is_launch(r);
}

/* Bytes that nccl-tests count of one member: busbw is them over the time (its PERFORMANCE.md). */
static double bus_bytes(const struct ss_bench_point *p)
{
    double once = p->bytes * (p->group.n - 1) / p->group.n;

    return p->collective == SS_COLL_ALL_REDUCE ? 2 * once : once;
}

static int read_value(const struct reader *r, struct ss_bench_point *p)
{
    double value;

    if (ss_parse_double(field(r, VALUE), &value) || !(value > 1e-9 && value < 1e9)) {
        ss_fail(r->err, SS_ERR_INPUT, ss_csv_file(r->csv), ss_csv_line(r->csv, r->row),
                "measured value \"%.40s\" is no number in 1e-9..1e9", field(r, VALUE));
        return ss_hint(r->err, SS_ERR_INPUT, "remove the row, or measure it again");
    }
    switch (p->kind) {
    case SS_BENCH_GEMM: p->seconds = 2 * p->m * p->n * p->k / (value * 1e12); break;
    case SS_BENCH_COPY: p->seconds = 2 * p->bytes / (value * 1e9); break; /* read and written */
    case SS_BENCH_PCIE: p->seconds = p->bytes / (value * 1e9); break;
    case SS_BENCH_COLLECTIVE: p->seconds = bus_bytes(p) / (value * 1e9); break;
    case SS_BENCH_ATTENTION: p->seconds = 1 / value; break;
    default: p->seconds = value * 1e-6;
    }
    snprintf(p->id, sizeof p->id, "%.50s%s%.8s", field(r, SHAPE), field(r, PRECISION)[0] ? " " : "",
             field(r, PRECISION));
    return SS_OK;
}

static int nothing_read(const struct reader *r)
{
    const char *card = r->card->name;

    ss_fail(r->err, SS_ERR_INPUT, ss_csv_file(r->csv), r->line_of_card,
            "no GEMM, attention, copy, launch or collective measured on %.60s", card);
    if (r->line_of_card)
        return ss_hint(r->err, SS_ERR_INPUT,
                       "here is a row of that card; docs/reference/formats.md has the words of its columns");
    return ss_hint(r->err, SS_ERR_INPUT, "column \"gpu\" must name it: \"%.*s\"", (int)strcspn(card, "-"),
                   card);
}

static int read_rows(struct reader *r, struct ss_bench *out)
{
    size_t cap = 0, n = ss_csv_rows(r->csv);
    int rc = SS_OK;

    for (r->row = 0; r->row < n && !rc; r->row++) {
        struct ss_bench_point point = {.precision = -1};
        int of_card = ss_card_is_named(field(r, GPU), r->card->name);
        if (of_card && !r->line_of_card)
            r->line_of_card = ss_csv_line(r->csv, r->row);
        if (!of_card || !read_shape(r, &point)) {
            out->nskipped++;
            continue;
        }
        rc = read_value(r, &point);
        if (!rc && ss_grow(&out->points, &cap, (size_t)out->npoints + 1, sizeof point))
            rc = ss_fail(r->err, SS_ERR_NOMEM, NULL, 0, "out of memory");
        if (!rc)
            out->points[out->npoints++] = point;
    }
    return rc || out->npoints ? rc : nothing_read(r);
}

static int read_all(const struct ss_csv *csv, const struct ss_card *card, struct ss_bench *out,
                    struct ss_error *err)
{
    struct reader r = {.csv = csv, .card = card, .err = err};

    for (int c = 0; c < COLUMNS; c++) {
        r.column[c] = ss_csv_column(csv, names[c]);
        if (r.column[c] < 0 && c != SOURCE) {
            ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1, "no column \"%s\"", names[c]);
            return ss_hint(err, SS_ERR_INPUT, "give a table like validation/microbench.csv");
        }
    }
    return read_rows(&r, out);
}

static int keep(int rc, struct ss_csv *csv, const struct ss_card *card, struct ss_bench **out,
                struct ss_error *err)
{
    struct ss_bench *b = rc ? NULL : ss_calloc(1, sizeof *b);

    if (rc)
        return rc;
    rc = b ? read_all(csv, card, b, err) : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    ss_csv_free(csv);
    if (rc)
        ss_bench_free(b);
    else
        *out = b;
    return rc;
}

int ss_bench_parse(const char *text, size_t len, const char *name, const struct ss_card *card,
                   struct ss_bench **out, struct ss_error *err)
{
    struct ss_csv *csv = NULL;
    int rc = ss_csv_parse(text, len, name, &csv, err);

    return keep(rc, csv, card, out, err);
}

int ss_bench_load(const char *path, const struct ss_card *card, struct ss_bench **out, struct ss_error *err)
{
    struct ss_csv *csv = NULL;
    int rc = ss_csv_load(path, &csv, err);

    return keep(rc, csv, card, out, err);
}

void ss_bench_free(struct ss_bench *b)
{
    if (!b)
        return;
    free(b->points);
    free(b);
}

static double attention_share(const struct ss_stack *s, const struct ss_bench_point *p)
{
    if (p->fused)
        return p->backward ? s->fused_bwd : s->fused_fwd;
    return p->backward ? s->flash_bwd : s->flash_fwd;
}

/* What accumulates fast is not known of a row without blocks: the rate is the backward's. */
static double gemm_seconds(const struct ss_card *card, const struct ss_stack *stack,
                           const struct ss_bench_point *p)
{
    int recipe = p->blocks ? SS_FP8_BLOCKWISE : SS_FP8_DELAYED;
    int phase = p->accumulate ? SS_PHASE_W : SS_PHASE_I;
    double gain = ss_kernel_gemm_gain(card, stack, p->precision, recipe, phase, p->k);

    return ss_kernel_grouped_gemm(card, p->precision, p->groups, p->scattered, p->m, p->n, p->k,
                                  p->accumulate, p->sms, gain);
}

double ss_bench_seconds(const struct ss_platform *platform, const struct ss_stack *stack,
                        const struct ss_bench_point *p)
{
    const struct ss_card *card = ss_platform_card(platform);
    struct ss_net net;

    switch (p->kind) {
    case SS_BENCH_GEMM: return gemm_seconds(card, stack, p);
    case SS_BENCH_COPY: return ss_kernel_elementwise(card, 2 * p->bytes, 1);
    case SS_BENCH_PCIE: return p->bytes / card->pcie_bandwidth;
    case SS_BENCH_COLLECTIVE:
        ss_net_init(&net, platform);
        return ss_collective_seconds(&net, p->collective, p->bytes, &p->group);
    case SS_BENCH_ATTENTION:
        return 1e12 / (p->sms / card->sm_count *
                       ss_kernel_attention_rate(card, stack, p->precision, attention_share(stack, p),
                                                p->queries, p->head, p->values));
    default: return ss_kernel_elementwise(card, 0, 1);
    }
}

static int collective_props(const struct ss_card *card, const struct ss_bench_point *p,
                            int props[SS_BENCH_PROPS])
{
    int n = 0;

    props[n++] = SS_PROP_nvlink_efficiency;
    props[n++] = SS_PROP_nvlink_half_size;
    props[n++] = SS_PROP_nvlink_latency;
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

int ss_bench_props(const struct ss_card *card, const struct ss_bench_point *p, int props[SS_BENCH_PROPS])
{
    int n = 0;

    switch (p->kind) {
    case SS_BENCH_COLLECTIVE: return collective_props(card, p, props);
    case SS_BENCH_ATTENTION: return attention_props(p, props);
    case SS_BENCH_PCIE: props[0] = SS_PROP_pcie_bandwidth; return 1;
    case SS_BENCH_GEMM:
        if (p->blocks && card->gemm_eff_fp8_blocks > 0) {
            props[n++] = SS_PROP_gemm_eff_fp8_blocks;
            props[n++] = SS_PROP_gemm_k_prologue_fp8_blocks;
            if (p->accumulate)
                props[n++] = SS_PROP_gemm_wgrad_fp8_blocks;
        } else {
            props[n++] = ss_study_prop_of_gemm(p->precision);
            props[n++] = p->precision == SS_FP8 ? SS_PROP_gemm_k_prologue_fp8 : SS_PROP_gemm_k_prologue;
        }
        props[n++] = SS_PROP_gemm_small_tile;
        break;
    case SS_BENCH_COPY: props[n++] = SS_PROP_hbm_efficiency; break;
    }
    props[n++] = SS_PROP_kernel_latency;
    return n;
}
