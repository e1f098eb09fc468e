/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what tables of micro-benchmarks say of a GEMM: sizes, groups, pass, SMs. */
#include "base/base.h"
#include "study/calibrate.h"

enum pass { FORWARD, INPUT_GRAD, WEIGHT_GRAD, ALL };

/* The numbers of a shape as the text gives them. */
struct shape {
    double m, n, k, groups;
    int whole; /* 1: m is the sum over all groups, which have different numbers of rows */
    int named; /* 1: sizes are those of the forward, whatever the pass */
    int pass;
    int sums; /* bytes of an element of the sum to which a weight gradient is added */
    int te;   /* 1: of Transformer Engine, with groups on several streams */
};

/* "4096" up to a space or the end; "616(each)", "128000(total)"; "49152/8": a tensor rank's part */
static int read_size(const char *text, double *out, const char **rest)
{
    char *end;

    *out = (double)strtoul(text, &end, 10);
    if (*end == '/' && end[1] >= '1' && end[1] <= '9')
        *out /= (double)strtoul(end + 1, &end, 10);
    *rest = end;
    return end != text && *text >= '0' && *text <= '9' && *out >= 1 && *out <= 1e9;
}

static int read_sized(const char *word, struct shape *s)
{
    static const struct {
        const char *key;
        size_t field;
        int whole;
    } keys[] = {{"M=", offsetof(struct shape, m), 0},       {"N=", offsetof(struct shape, n), 0},
                {"K=", offsetof(struct shape, k), 0},       {"M/group=", offsetof(struct shape, m), 0},
                {"total_M=", offsetof(struct shape, m), 1}, {"groups=", offsetof(struct shape, groups), 0},
                {"G=", offsetof(struct shape, groups), 0},  {"batch=", offsetof(struct shape, groups), 0}};

    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++) {
        size_t n = strlen(keys[i].key);
        const char *rest;
        double size;
        if (strncmp(word, keys[i].key, n) != 0)
            continue;
        if (!read_size(word + n, &size, &rest))
            return 0;
        *(double *)((char *)s + keys[i].field) = size;
        s->whole |= keys[i].whole || !strcmp(rest, "(total)");
        return !*rest || !strcmp(rest, "(each)") || !strcmp(rest, "(total)");
    }
    return 0;
}

static int read_word(const char *word, struct shape *s)
{
    static const struct {
        const char *word;
        int pass, named;
    } passes[] = {{"forward", FORWARD, 0},         {"fwd", FORWARD, 0},       {"dgrad", INPUT_GRAD, 0},
                  {"bwd_grad_act", INPUT_GRAD, 1}, {"wgrad", WEIGHT_GRAD, 0}, {"bwd_grad_w", WEIGHT_GRAD, 1},
                  {"accumulate", WEIGHT_GRAD, 0},  {"fwd+bwd", ALL, 0}};
    static const char *const others[] = {"grouped",  "contiguous", "layout=TN", "layout=NN", "layout=NT",
                                         "out=bf16", "out=fp32",   "AG+GEMM",   "GEMM+RS"};
    int end = 0;

    if (!strcmp(word, "main_grad=fp32") || !strcmp(word, "main_grad=bf16")) {
        s->sums = strstr(word, "bf16") ? 2 : 4;
        s->te = 1;
        return 1;
    }

    if (sscanf(word, "MxNxK=%lfx%lfx%lf%n", &s->m, &s->n, &s->k, &end) == 3 && end && !word[end])
        return 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(passes); i++)
        if (!strcmp(word, passes[i].word)) {
            s->pass = passes[i].pass;
            s->named |= passes[i].named;
            return 1;
        }
    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++)
        if (!strcmp(word, others[i]))
            return 1;
    return read_sized(word, s);
}

/* Sets the sizes of the product itself, with m of all groups. The weight gradient of a group is [n x m]
 * [m x k] in sizes of its forward. */
static void set_point(const struct shape *s, struct ss_bench_point *p)
{
    double rows = s->whole ? s->m : s->m * s->groups, each = rows / s->groups;

    p->groups = s->groups;
    p->scattered = s->whole && s->groups > 1 && s->pass != WEIGHT_GRAD;
    p->weights = s->pass == WEIGHT_GRAD;
    p->both = s->pass == ALL;
    p->accumulate = p->weights ? s->sums : 0;
    p->streams = s->te && s->groups > 1;
    p->m = s->named && p->weights ? s->groups * s->n : rows;
    p->n = s->named ? s->k : s->n;
    p->k = !s->named ? s->k : p->weights ? each : s->n;
}

/* "scaled_grouped_mm 2D-3D fwd (131072,7168)@(8,7168,2048)": rows of all groups by columns of each; a weight gradient
 * "2D-2D wgrad (2048,131072)@(131072,7168)" has its groups in the source, "G=8". Their sums go to no main gradient. */
static int read_scaled(const char *text, const char *source, struct shape *s)
{
    const char *groups = strstr(source, " G=");
    double rows, columns;
    int end = 0;

    *s = (struct shape){.whole = 1};
    if (sscanf(text, "scaled_grouped_mm 2D-3D fwd (%lf,%lf)@(%lf,%lf,%lf)%n", &s->m, &s->k, &s->groups, &rows,
               &s->n, &end) == 5 &&
        end)
        return !text[end] && rows == s->k;
    s->pass = INPUT_GRAD;
    if (sscanf(text, "scaled_grouped_mm 2D-3D dgrad (%lf,%lf)@(%lf,%lf,%lf)%n", &s->m, &s->k, &s->groups,
               &rows, &s->n, &end) == 5 &&
        end)
        return !text[end] && rows == s->k;
    s->pass = WEIGHT_GRAD;
    if (sscanf(text, "scaled_grouped_mm 2D-2D wgrad (%lf,%lf)@(%lf,%lf)%n", &s->n, &rows, &columns, &s->k,
               &end) != 4 ||
        !end || text[end] || rows != columns || !groups || sscanf(groups, " G=%lf", &s->groups) != 1)
        return 0;
    s->named = 1;
    s->m = rows;
    return 1;
}

static int read_words(const char *text, struct shape *s)
{
    char words[160], *save, *word;

    *s = (struct shape){.groups = 1, .sums = 4};
    if (strlen(text) >= sizeof words)
        return 0;
    ss_copy(words, sizeof words, text);
    words[strcspn(words, ",")] = 0; /* "..., 112 of 132 SMs" */
    for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (!read_word(word, s))
            return 0;
    return 1;
}

int ss_bench_gemm_shape(const char *text, const char *source, struct ss_bench_point *p)
{
    struct shape s;

    if (!read_scaled(text, source, &s) && !read_words(text, &s))
        return 0;
    if (!(s.m >= 1 && s.n >= 1 && s.k >= 1 && s.groups >= 1 &&
          fmax(fmax(s.m, s.n), fmax(s.k, s.groups)) <= 1e9))
        return 0;
    set_point(&s, p);
    return 1;
}

double ss_bench_sms(const char *text, const struct ss_card *card)
{
    const char *of = strstr(text, " of ");
    int used, all, end = 0;

    for (; of; of = strstr(of + 1, " of ")) {
        const char *number = of;
        while (number > text && number[-1] >= '0' && number[-1] <= '9')
            number--;
        end = 0;
        if (sscanf(number, "%4d of %4d SMs%n", &used, &all, &end) == 2 && end && used > 0 && used <= all &&
            all == (int)card->sm_count)
            return used;
    }
    return card->sm_count;
}
