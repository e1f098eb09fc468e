/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of layers: Megatron's Python-like lists of 0 and 1, layouts of pipelines, and what one layer does. */
#include "base/base.h"
#include "job/flags_set.h"
#include "model/model_internal.h"

#define TOO_LONG "it names more than 512 layers or stages"
#define DEPTH 16 /* of brackets in each other */

/* The unread rest of a text, and why it is wrong. */
struct reader {
    const char *p, *why;
    int most; /* largest number of a list */
};

static int wrong(struct reader *r, const char *why)
{
    r->why = why;
    return SS_ERR_INPUT;
}

static int skip(struct reader *r, char c)
{
    while (*r->p == ' ')
        r->p++;
    if (*r->p != c)
        return 0;
    r->p++;
    return 1;
}

/* A number of repetitions, or of a layer. */
static int number(struct reader *r, int *out)
{
    int n = 0, digits = 0;

    for (; isdigit((unsigned char)*r->p); r->p++, digits++)
        n = n > 1000000 ? n : 10 * n + (*r->p - '0');
    *out = n;
    return digits ? SS_OK : wrong(r, "a number is missing");
}

/* ---- lists: [0]*3+[1]*58 ---- */

struct list {
    int n;
    unsigned char has[SS_LAYER_RULE_MAX];
};

static int repeat(struct reader *r, struct list *l, int times)
{
    int n = l->n;

    if (n > 0 && times > SS_LAYER_RULE_MAX / n)
        return wrong(r, TOO_LONG);
    for (int i = 1; i < times; i++)
        memcpy(l->has + i * n, l->has, (size_t)n);
    l->n = n * times;
    return SS_OK;
}

static int append(struct reader *r, struct list *l, const struct list *more)
{
    if (l->n + more->n > SS_LAYER_RULE_MAX)
        return wrong(r, TOO_LONG);
    memcpy(l->has + l->n, more->has, (size_t)more->n);
    l->n += more->n;
    return SS_OK;
}

static int brackets(struct reader *r, struct list *l)
{
    l->n = 0;
    if (skip(r, ']'))
        return SS_OK;
    while (1) {
        int value, rc;
        skip(r, ' ');
        rc = number(r, &value);
        if (!rc && value > r->most)
            rc = wrong(r, r->most > 1 ? "a ratio is 0, 4 or 128" : "a layer is 0 or 1");
        if (!rc && l->n == SS_LAYER_RULE_MAX)
            rc = wrong(r, TOO_LONG);
        if (rc)
            return rc;
        l->has[l->n++] = (unsigned char)value;
        if (skip(r, ']'))
            return SS_OK;
        if (!skip(r, ','))
            return wrong(r, "a list is not closed by ]");
    }
}

static int sum(struct reader *r, struct list *l, int depth);

/* A list, or a sum in parentheses, and how often it is repeated. */
static int term(struct reader *r, struct list *l, int depth)
{
    int rc, times;

    if (skip(r, '[')) {
        rc = brackets(r, l);
    } else if (skip(r, '(') && depth < DEPTH) {
        rc = sum(r, l, depth + 1);
        if (!rc && !skip(r, ')'))
            rc = wrong(r, "a parenthesis is not closed");
    } else {
        rc = wrong(r, "it is a whole number, or lists of 0 and 1 such as ([0]*3+[1]*58)");
    }
    while (!rc && skip(r, '*')) {
        skip(r, ' ');
        rc = number(r, &times);
        SS_THEN(rc, repeat(r, l, times));
    }
    return rc;
}

static int sum(struct reader *r, struct list *l, int depth)
{
    struct list more;
    int rc = term(r, l, depth);

    while (!rc && skip(r, '+')) {
        rc = term(r, &more, depth);
        SS_THEN(rc, append(r, l, &more));
    }
    return rc;
}

static int read_list(const char *text, int most, struct list *l, const char **why)
{
    struct reader r = {.p = text, .most = most};
    int rc = sum(&r, l, 0);
    if (!rc && (skip(&r, ' '), *r.p))
        rc = wrong(&r, "something follows the list");
    if (!rc && l->n == 0)
        rc = wrong(&r, "it names no layer");
    *why = r.why;
    return rc;
}

/* Reads Megatron's moe_freq_type: a whole number into *every, whose meaning the flag decides; or a
 * Python-like list into *rule. *why gets the reason on SS_ERR_INPUT. */
static int read_layers(const char *text, int *every, struct ss_layer_rule *rule, const char **why)
{
    struct list l;
    int64_t n;

    *every = 0;
    memset(rule, 0, sizeof *rule);
    if (!ss_parse_i64(text, 1, 100000, &n) ||
        !ss_parse_i64(text, -1, -1, &n)) { /* of -1, too, every layer is a multiple */
        *every = n < 0 ? 1 : (int)n;
        return SS_OK;
    }
    SS_TRY(read_list(text, 1, &l, why));
    rule->n = l.n;
    for (int i = 0; i < l.n; i++)
        rule->bits[i / 64] |= (uint64_t)l.has[i] << i % 64;
    return SS_OK;
}

/* ---- layouts: Et*3|(tt|)*30mL ---- */

struct stages {
    struct ss_pipeline_layout *out;
    int embeddings, losses, mtp;
    int apart; /* 1: the loss is in a stage behind that of the MTP layers */
};

static int add_layer(struct reader *r, struct stages *s, char c)
{
    short *here = &s->out->layers[s->out->n - 1];

    if (c == ',')
        return SS_OK;
    if (s->losses)
        return wrong(r, "nothing may follow the loss, L");
    if (!s->embeddings && c != 'E')
        return wrong(r, "the first layer must be the embedding, E");
    switch (c) {
    case '|':
        s->apart |= s->mtp > 0;
        if (s->out->n == SS_LAYOUT_MAX)
            return wrong(r, TOO_LONG);
        s->out->layers[s->out->n++] = 0;
        return SS_OK;
    case 'E': return s->embeddings++ ? wrong(r, "the embedding, E, must be specified exactly once") : SS_OK;
    case 't':
        if (s->mtp)
            return wrong(r, "decoder layers, t, must be placed before MTP layers, m");
        return ++*here > 10000 ? wrong(r, "a stage of more than 10000 layers") : SS_OK;
    case 'm': return ++s->mtp > 1000 ? wrong(r, "more than 1000 MTP layers") : SS_OK;
    case 'L': s->losses++; return SS_OK;
    default: return wrong(r, "it is made of E, t, m, L, | and (...)*N, as Et*3|(tt|)*30mL");
    }
}

/* The characters from `first` to `end`, `times` times; x*N in them is N times x. */
static int add_part(struct reader *r, struct stages *s, const char *first, const char *end, int times)
{
    int rc = SS_OK;

    for (int i = 0; i < times && !rc; i++)
        for (r->p = first; r->p < end && !rc;) {
            char c = *r->p++;
            int n = 1;
            if (*r->p == '*' && r->p < end) {
                r->p++;
                rc = number(r, &n);
            }
            for (int k = 0; k < n && !rc; k++)
                rc = add_layer(r, s, c);
        }
    return rc;
}

/* A part in parentheses and its repetitions, or all up to the next one. */
static int read_part(struct reader *r, struct stages *s)
{
    const char *first = r->p, *end;
    int times, rc;

    if (*first != '(')
        return add_part(r, s, first, first + strcspn(first, "("), 1);
    first++;
    end = first + strcspn(first, "()");
    if (*end != ')' || end[1] != '*')
        return wrong(r, "parentheses hold a part that is repeated, (tt|)*30, and no others");
    r->p = end + 2;
    rc = number(r, &times);
    const char *next = r->p;
    SS_THEN(rc, add_part(r, s, first, end, times));
    r->p = next;
    return rc;
}

SS_FLAG_CALLED(layout)
{
    struct ss_pipeline_layout layout = {.n = 1};
    struct reader r = {.p = values[0]};
    struct stages s = {.out = &layout};
    int rc = SS_OK;

    while (*r.p && !rc)
        rc = read_part(&r, &s);
    if (!rc && s.losses != 1)
        rc = wrong(&r, "the last layer must be the loss, L");
    *why = r.why;
    if (rc)
        return SS_ERR_UNSUPPORTED; /* of one row, not of the whole table that it stands in */
    asked->job.layout = layout;
    asked->layout_mtp = s.mtp;
    asked->layout_mtp_apart = s.apart;
    return SS_OK;
}

SS_FLAG_CALLED(moe_layer_freq)
{
    struct ss_layer_rule rule;
    int every, rc = read_layers(values[0], &every, &rule, why);

    rule.period = every;
    if (!rc)
        asked->job.model.moe_layers = rule;
    return rc;
}

SS_FLAG_CALLED(linear_attention_freq)
{
    struct ss_layer_rule rule;
    int every, rc = read_layers(values[0], &every, &rule, why);

    rule.period = every;
    if (!rc)
        asked->linear_layers = rule;
    return rc;
}

SS_FLAG_CALLED(compress_ratios)
{
    struct list l;
    int blocks[SS_LAYER_RULE_MAX], rc = read_list(values[0], SS_HCA_BLOCK, &l, why);

    for (int i = 0; i < l.n && !rc; i++) {
        blocks[i] = l.has[i];
        if (blocks[i] && blocks[i] != SS_CSA_BLOCK && blocks[i] != SS_HCA_BLOCK)
            rc = SS_ERR_INPUT, *why = "csa_compress_ratios must be 0, 4, or 128";
    }
    if (!rc)
        ss_model_blocks(&asked->job.model, blocks, l.n);
    return rc;
}

SS_FLAG_CALLED(attention_variant)
{
    int sparse = !strcmp(values[0], "dsa"), compressed = !strcmp(values[0], "dsv4_hybrid");

    if (!sparse && !compressed && !ss_has_word("gdn gated_delta_net", values[0])) {
        *why = "it may be gdn, gated_delta_net, dsa or dsv4_hybrid: others are not modelled";
        return strcmp(values[0], "gdn2") ? SS_ERR_INPUT : SS_ERR_UNSUPPORTED;
    }
    asked->sparse_variant = sparse;
    asked->compressed_variant = compressed;
    asked->delta_variant = !sparse && !compressed;
    return SS_OK;
}

SS_FLAG_CALLED(dsa_kernels)
{
    int tilelang = !strcmp(values[0], "tilelang");

    if (!tilelang && strcmp(values[0], "cudnn") != 0) {
        *why = "it may be cudnn or tilelang: PyTorch's operators (none) are not modelled";
        return strcmp(values[0], "none") ? SS_ERR_INPUT : SS_ERR_UNSUPPORTED;
    }
    asked->job.dsa_kernels = tilelang ? SS_DSA_TILELANG : SS_DSA_CUDNN;
    SS_GIVE(asked, dsa_kernels);
    return SS_OK;
}

SS_FLAG_CALLED(window_skip_freq)
{
    struct ss_layer_rule rule;
    int every;

    SS_TRY(read_layers(values[0], &every, &rule, why));
    asked->window_skip_freq = every;
    asked->job.model.local_layers = rule;
    return SS_OK;
}

SS_FLAG_CALLED(activation_clamp)
{
    double most;

    asked->job.model.activation_clamp = 1;
    if (!ss_parse_double(values[0], &most) && most > 0 && most <= 1e15)
        return SS_OK;
    *why = "it is a number above 0";
    return SS_ERR_INPUT;
}

/* ---- patterns: M-M*|ME*E ---- */

/* Keeps a text of letters that ss_model_pattern reads. */
static int keep(const char *text, char *out, size_t size, const char **why)
{
    struct ss_model scratch;
    struct ss_layer_pattern pattern;

    if (strlen(text) >= size) {
        *why = "it names 1 to 512 layers";
        return SS_ERR_INPUT;
    }
    ss_model_init(&scratch);
    int rc = ss_model_pattern(&scratch, text, &pattern, why);
    if (!rc)
        ss_copy(out, size, text);
    return rc;
}

SS_FLAG_CALLED(hybrid_pattern)
{
    return keep(values[0], asked->hybrid.layers, sizeof asked->hybrid.layers, why);
}

SS_FLAG_CALLED(mtp_pattern)
{
    if (strpbrk(values[0], "|/")) {
        *why = "it has the layers of one prediction, without | and /";
        return SS_ERR_INPUT;
    }
    return keep(values[0], asked->hybrid.prediction, sizeof asked->hybrid.prediction, why);
}

SS_FLAG_CALLED(is_hybrid)
{
    return SS_OK;
}
