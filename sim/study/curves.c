/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rows of kernels alone that a curve prices. */
#include "study/curves.h"
#include "base/base.h"

static const char TOO_FAST[] = "faster than its sizes at the data sheet's rates: other work was measured";

void ss_curve_site_of(const struct ss_platform *platform, struct ss_curve_site *out)
{
    struct ss_net net;

    ss_net_init(&net, platform);
    *out = (struct ss_curve_site){ss_platform_card(platform), ss_platform_fabric_bandwidth(platform),
                                  net.host_gpus};
}

/* Reads the number behind "word=". */
static int read_size(const char *shape, const char *word, size_t n, double *out)
{
    for (const char *at = shape; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, n) == 0 && at[n] == '=') {
            char *end;
            *out = strtod(at + n + 1, &end);
            return end > at + n + 1 && (!*end || *end == ' ') && *out >= 0 && *out <= 1e12;
        }
    }
    return 0;
}

static int read_sizes(const struct ss_bench_curve *c, const char *shape, double *size)
{
    int n = 0;

    for (const char *word = c->words; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (!read_size(shape, word, length, &size[n++]))
            return 0;
        word += length;
    }
    return 1;
}

char *ss_curve_name(const struct ss_bench_curve *c, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", c->kind, c->precision ? " " : "", c->precision ? c->precision : "",
             c->mark ? " " : "", c->mark ? c->mark : "");
    return buf;
}

static const struct ss_bench_curve *find(const struct ss_bench_row *row)
{
    static const struct ss_bench_curve *const lists[] = {ss_curves_gemm, ss_curves_linear, ss_curves_experts,
                                                         ss_curves_exchange, ss_curves_sparse};

    for (size_t i = 0; i < SS_ARRAY_LEN(lists); i++)
        for (const struct ss_bench_curve *c = lists[i]; c->kind; c++)
            if (!strcmp(c->kind, row->kind) && (!c->precision || !strcmp(c->precision, row->precision)) &&
                (!c->mark || strstr(row->shape, c->mark)))
                return c;
    return NULL;
}

/* Returns 1 if a GEMM was measured in a short burst: a row of aiconfigurator's tables, which have other kinds of kernels, too. Other
 * tables' GEMMs ran long enough for the power limit. */
static int is_burst(const struct ss_bench_row *row)
{
    return strcmp(row->kind, "gemm") != 0 || (row->source && !strncmp(row->source, "aic:", 4));
}

static double seconds_of(const struct ss_bench_row *row, const struct ss_bench_curve *c, const double *size)
{
    if (c->work)
        return !strcmp(row->unit, "TFLOP/s") ? c->work(size) / (row->value * 1e12) : 0;
    return !strcmp(row->unit, "us") ? row->value * 1e-6 : !strcmp(row->unit, "ms") ? row->value * 1e-3 : 0;
}

int ss_bench_curve_read(const struct ss_bench_row *row, const struct ss_card *card, struct ss_bench_point *p,
                        const char **why)
{
    const struct ss_bench_curve *c = is_burst(row) ? find(row) : NULL;
    const struct ss_curve_site site = {card, INFINITY, 1};

    if (!c)
        return 0;
    p->kind = SS_BENCH_CURVE;
    p->curve = c;
    *why = read_sizes(c, row->shape, p->size) ? NULL : SS_BENCH_NO_SIZES;
    if (!*why && c->more)
        *why = c->more(row, card, p->size);
    if (*why)
        return 1;
    p->seconds = seconds_of(row, c, p->size);
    if (!(p->seconds > 0))
        *why = SS_BENCH_NO_UNIT;
    else if (c->least && p->seconds < c->least(&site, p->size))
        *why = TOO_FAST;
    return 1;
}
