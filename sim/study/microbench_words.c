/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the words of a micro-benchmark's row: the kernel or collective, its time, or why the model has none
 * for it. */
#include <strings.h>

#include "base/base.h"
#include "cost/kernel.h"
#include "study/curves.h"

static int precision_of(const char *name)
{
    for (int p = 0; p < SS_PRECISION_COUNT; p++) /* "fp4" is what ss.peak.fp4 is of */
        if (!strcmp(name, ss_precision_name(p)) ||
            !strcmp(name, ss_prop_at(ss_precision_at(p)->peak)->id + strlen("ss.peak.")))
            return p;
    return -1;
}

/* Returns the SMs that a kernel had: all, where neither shape nor source tells them. */
static double sms_of(const struct ss_bench_row *r, const struct ss_card *card)
{
    return fmin(ss_bench_sms(r->shape, card), ss_bench_sms(r->source, card));
}

/* Returns 1 if the row has this unit, whatever stands behind it in brackets. "(up to)" would make the
 * value a bound. */
static int is_unit(const struct ss_bench_row *r, const char *unit)
{
    size_t n = strlen(unit);
    return !strncmp(r->unit, unit, n) && (!r->unit[n] || r->unit[n] == ' ') && !strstr(r->unit, "(up to)");
}

/* Returns the rate that the table itself computed: "iter/s (= 325 TFLOP/s causal-halved, derived)"; 0:
 * none. */
static double derived_rate(const struct ss_bench_row *r)
{
    const char *at = strstr(r->unit, "(= ");
    char *end;
    double rate = at ? strtod(at + 3, &end) : 0;

    return at && !strncmp(end, " TFLOP/s", 8) ? rate : 0;
}

/* Returns the seconds of `flops` by the row's unit; 0: the unit tells no time. */
static double seconds_of(const struct ss_bench_row *r, double flops)
{
    double rate = is_unit(r, "TFLOP/s") ? r->value : derived_rate(r);

    if (rate > 0)
        return flops / (rate * 1e12);
    return is_unit(r, "ms") ? r->value * 1e-3 : is_unit(r, "us") ? r->value * 1e-6 : 0;
}

static const char *read_gemm(const struct ss_bench_row *r, const struct ss_card *card,
                             struct ss_bench_point *p)
{
    char name[24];

    ss_copy(name, sizeof name, r->precision);
    name[strcspn(name, " ")] = 0;
    p->kind = SS_BENCH_GEMM;
    p->mx = !strcmp(name, "mxfp8");
    p->precision = p->mx ? SS_FP8 : precision_of(name);
    p->blocks = !strcmp(r->precision, "fp8 (128 block scale)");
    p->sms = sms_of(r, card);
    if (p->precision < 0 ||
        (!p->blocks && strcmp(name, r->precision) != 0 && strcmp(r->precision, "fp32 inputs (TF32)") != 0))
        return "a precision that is not modelled";
    if (ss_kernel_peak(card, p->precision) <= 0)
        return SS_BENCH_NO_PEAK;
    if (!ss_bench_gemm_shape(r->shape, r->source, p))
        return SS_BENCH_NO_SIZES;
    p->fit = !p->both && !p->mx;
    p->seconds = seconds_of(r, 2 * p->m * p->n * p->k * (p->both ? 3 : 1));
    return p->seconds > 0 ? NULL : SS_BENCH_NO_UNIT;
}

/* Reads the bytes of "copy kernel 65536", "H2D 65536". */
static int read_bytes(const char *shape, const char *what, double *bytes)
{
    size_t n = strlen(what);
    int64_t count;

    if (strncmp(shape, what, n) != 0 || ss_parse_i64(shape + n, 1, (int64_t)1 << 50, &count))
        return 0;
    *bytes = (double)count;
    return 1;
}

/* Reads a copy. Where no size is given the buffer is large, so that its latency does not count. */
static const char *read_copy(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    double rate = is_unit(r, "GB/s") ? r->value * 1e9 : is_unit(r, "TB/s") ? r->value * 1e12 : 0;
    int plain = read_bytes(r->shape, "copy kernel ", &p->bytes),
        sent = !plain && read_bytes(r->shape, "H2D ", &p->bytes);

    p->fit = plain || sent;
    if (!strcmp(r->shape, "HBM Copy") || !strcmp(r->shape, "HBM Triad"))
        plain = 1;
    else if (!strcmp(r->shape, "Host to Device"))
        sent = 1;
    if (!plain && !sent)
        return SS_BENCH_NO_SIZES;
    if (rate <= 0)
        return SS_BENCH_NO_UNIT;
    if (!p->fit)
        p->bytes = 1e10;
    p->kind = plain ? SS_BENCH_COPY : SS_BENCH_PCIE;
    p->seconds = (plain ? 2 : 1) * p->bytes / rate;
    return NULL;
}

static const char *read_launch(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    p->kind = SS_BENCH_LAUNCH;
    p->seconds = r->value * 1e-6;
    return strcmp(r->shape, "empty kernel, start to start") != 0 || !is_unit(r, "us") ? SS_BENCH_NO_SIZES
                                                                                      : NULL;
}

/* Returns the number behind a word such as "seq=", or 0. */
static double number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at && (at == text || at[-1] == ' ') ? (double)strtoul(at + strlen(word), NULL, 10) : 0;
}

/* Reads which implementation the row names, and what of it the model lacks. "flash" is the version that the
 * stack runs; Transformer Engine's rows are of cuDNN. */
static const char *read_backend(const char **shape, struct ss_bench_point *p)
{
    static const struct {
        const char *word;
        int fused, fit;
    } known[] = {{"cuDNN ", 1, 1}, {"TE ", 1, 0}, {"FA2 ", 0, 1}, {"flash ", 0, 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++)
        if (!strncasecmp(*shape, known[i].word, strlen(known[i].word))) {
            p->fused = known[i].fused;
            p->fit = known[i].fit;
            *shape += strlen(known[i].word);
            return NULL;
        }
    if (!strncmp(*shape, "FA3 ", 4) || !strncmp(*shape, "FA4 ", 4))
        return "FlashAttention 3 or 4 by name: stacks know the version that they run as flash";
    if (strstr(*shape, "context-parallel"))
        return "attention of a ring of GPUs, with its transfers";
    return strstr(*shape, "decode") ? "decoding" : "another implementation of attention";
}

/* "FA2 fwd b=2 seq=8192 hq=64 hkv=8 d=128 causal": the rate depends on the sequence, the head and,
 * where they are said, how many of either there are. */
static const char *read_attention(const struct ss_bench_row *r, const struct ss_card *card,
                                  struct ss_bench_point *p)
{
    const char *shape = r->shape, *why = read_backend(&shape, p);

    p->kind = SS_BENCH_ATTENTION;
    if (why)
        return why;
    p->sms = sms_of(r, card);
    p->both = !strncmp(shape, "fwd+bwd ", 8);
    p->backward = !strncmp(shape, "bwd ", 4);
    p->fit = p->fit && !p->both;
    p->queries = number_behind(shape, "seq=");
    p->heads = number_behind(shape, "b=") * fmax(number_behind(shape, "hq="), number_behind(shape, "h="));
    p->head = fmax(number_behind(shape, "d="), number_behind(shape, "headdim="));
    p->values = p->head > 0 ? p->head : number_behind(shape, "dv=");
    p->head = fmax(p->head, number_behind(shape, "dqk="));
    p->precision = !strncmp(r->precision, "fp16", 4)   ? SS_FP16
                   : !strncmp(r->precision, "bf16", 4) ? SS_BF16
                                                       : -1;
    if (p->precision < 0)
        return "attention in a precision that is not modelled";
    if (ss_kernel_peak(card, p->precision) <= 0)
        return SS_BENCH_NO_PEAK;
    if (strstr(shape, " window=") || !strstr(shape, " causal"))
        return "a whole square or a window, no causal half";
    if ((!p->both && !p->backward && strncmp(shape, "fwd ", 4) != 0) || p->queries <= 0 || p->head <= 0 ||
        p->values <= 0)
        return SS_BENCH_NO_SIZES;
    p->seconds = seconds_of(r, 1e12) * (strstr(r->source, "FLOPs of the FULL square") ? 2 : 1);
    return p->seconds > 0 ? NULL : SS_BENCH_NO_UNIT;
}

/* "cudnn bwd N=8192 C=4096 (mixtral-8x7b)": its input and output move once, in the backward two inputs. PyTorch's own
 * and compiled ones are held against the same bytes, but tell nothing of a card. */
static const char *read_norm(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    const char *pass = strchr(r->shape, ' ');
    int passes = !pass ? 0 : !strncmp(pass, " fwd ", 5) ? 2 : !strncmp(pass, " bwd ", 5) ? 3 : 0;

    p->kind = SS_BENCH_COPY;
    p->fit = !strncmp(r->shape, "cudnn ", 6);
    p->bytes = passes * number_behind(r->shape, "N=") * number_behind(r->shape, "C=");
    if (p->bytes <= 0 || strcmp(r->precision, "bf16") != 0)
        return SS_BENCH_NO_SIZES;
    p->seconds = 2 * p->bytes / (r->value * 1e9); /* read and written */
    return is_unit(r, "GB/s") ? NULL : SS_BENCH_NO_UNIT;
}

/* "eager SwiGLU fwd N=8192 C=4096 bytes=201326592": operands and results, once. Of PyTorch's operators, which move more. */
static const char *read_elementwise(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    p->kind = SS_BENCH_COPY;
    p->fit = 0;
    p->bytes = number_behind(r->shape, "bytes=") / 2; /* read and written */
    if (p->bytes <= 0)
        return SS_BENCH_NO_SIZES;
    p->seconds = 2 * p->bytes / (r->value * 1e9);
    return is_unit(r, "GB/s") ? NULL : SS_BENCH_NO_UNIT;
}

const char *ss_bench_point_read(const struct ss_bench_row *r, const struct ss_card *card,
                                struct ss_bench_point *p)
{
    const char *why = NULL;

    *p = (struct ss_bench_point){.precision = -1, .fit = 1};
    snprintf(p->id, sizeof p->id, "%.50s%s%.8s", r->shape, r->precision[0] ? " " : "", r->precision);
    if (!strcmp(r->kind, "datasheet"))
        why = "a figure of a data sheet";
    else if (!strcmp(r->kind, "host"))
        why = "host time of an operator: no number of a card";
    else if (!strcmp(r->kind, "moe_layer"))
        why = "a whole layer, or a sum of its kernels";
    else if (isnan(r->value))
        why = "a value that is no number";
    else if (!(r->value > 1e-9 && r->value < 1e9))
        why = r->value < 1 ? "no value above 0" : "a value that no kernel has";
    else if (ss_bench_curve_read(r, card, p, &why))
        return why;
    else if (!strcmp(r->kind, "collective") || !strcmp(r->kind, "p2p"))
        why = ss_bench_collective(r, p);
    else if (strcmp(r->ranks, "1 GPU") != 0)
        why = "several GPUs";
    else if (!strcmp(r->kind, "gemm") || !strcmp(r->kind, "grouped_gemm"))
        why = read_gemm(r, card, p);
    else if (!strcmp(r->kind, "norm"))
        why = read_norm(r, p);
    else if (!strcmp(r->kind, "elementwise"))
        why = read_elementwise(r, p);
    else if (!strcmp(r->kind, "attention"))
        why = read_attention(r, card, p);
    else if (!strcmp(r->kind, "memcpy"))
        why = read_copy(r, p);
    else
        why = strcmp(r->kind, "launch") != 0 ? "a kind that is not known" : read_launch(r, p);
    return why;
}
