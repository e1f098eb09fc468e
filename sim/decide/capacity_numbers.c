/* SPDX-License-Identifier: Apache-2.0 */
/* Which numbers of nodes a plan has, which of them the peak of the card rules out, and which amounts are absurd. */
#include "cost/kernel.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"
#include "model/model_internal.h"
#include "report/common.h"
#include "stepsim/parameters.h"

#define ABSURD 100       /* times what the peak asks for */
#define MOST_TOKENS 1e15 /* of a training; all text there is holds fewer */
#define LIKELY_TOKENS 1e14
#define MOST_USD 1e14 /* the world's product of a year */
#define MOST_DAYS 36525.0
#define MOST_PRICE 50.0  /* USD an hour and GPU; the dearest that clouds list is 15 */
#define LEAST_PRICE 0.01 /* USD an hour and GPU; a tenth of what its power costs */

static int wrong_nodes(const char *value, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "--nodes %.60s: no number, list or range of nodes" SS_HINT
                   "write --nodes 16..256 or --nodes 16,24,32",
                   value);
}

static int make_room(struct ss_capacity_numbers *x, int n, struct ss_error *err)
{
    x->nodes = ss_calloc((size_t)n, sizeof *x->nodes);
    x->state = ss_calloc((size_t)n, 1);
    x->by_shapes = ss_calloc((size_t)n, 1);
    return x->nodes && x->state && x->by_shapes ? SS_OK : ss_nomem(err);
}

/* ---- a range ---- */

/* Marks the numbers that double, from a rack on its doubles, which most layouts divide. */
static void mark_rows(struct ss_capacity_numbers *x, int low, int rack)
{
    int64_t racks = rack;
    int first = -1, marked = 0;

    while (racks < low)
        racks *= 2;
    int64_t row = low <= rack || rack == 1 ? low : racks;
    for (int i = 0; i < x->n; i++) {
        first = first < 0 ? i : first;
        if (x->nodes[i] != row)
            continue;
        x->state[i] = SS_CAPACITY_ROW;
        marked = 1;
        row = 2 * row <= rack || rack == 1 || row >= racks ? 2 * row : racks;
    }
    if (!marked && first >= 0)
        x->state[first] = SS_CAPACITY_ROW;
}

static int fill_range(struct ss_capacity_numbers *x, int low, int high, int rack, struct ss_error *err)
{
    int rc = make_room(x, high - low + 1, err);

    if (low > rack && high / rack == (low - 1) / rack)
        rack = 1; /* no whole number of racks is among them */
    for (int64_t n = low; n <= high && !rc; n++)
        if (n <= rack || n % rack == 0)
            x->nodes[x->n++] = (int)n;
    x->is_range = 1;
    if (!rc)
        mark_rows(x, low, rack);
    return rc;
}

static int whole(const char *text, int *out)
{
    int64_t n;
    int rc = ss_parse_i64(text, 1, SS_MAX_GPUS, &n);

    *out = rc ? 0 : (int)n;
    return rc;
}

static int read_range(const char *value, int *low, int *high)
{
    const char *dots = strstr(value, "..");
    char first[24];

    if (!dots || (size_t)(dots - value) >= sizeof first)
        return 0;
    snprintf(first, sizeof first, "%.*s", (int)(dots - value), value);
    return !whole(first, low) && !whole(dots + 2, high) && *low <= *high;
}

static int fill_list(struct ss_capacity_numbers *x, const struct ss_sweep *list, const char *value,
                     struct ss_error *err)
{
    const struct ss_sweep_flag *f = &list->flags[0];
    int rc = make_room(x, f->nvalues, err);

    for (int i = 0; i < f->nvalues && !rc; i++) {
        if (whole(f->value[i], &x->nodes[i]))
            return wrong_nodes(value, err);
        x->state[i] = SS_CAPACITY_ROW;
        x->n++;
    }
    return rc;
}

int ss_capacity_numbers_read(const struct ss_request *base, int rack, struct ss_capacity_numbers *out,
                             struct ss_error *err)
{
    size_t at = ss_request_find(base, "--nodes");
    const char *word = at < base->n ? base->word[at].text : "", *value = strchr(word, '=');
    char text[256];
    int low, high;

    value = value                                           ? value + 1
            : at < base->n && ss_request_span(base, at) > 1 ? base->word[at + 1].text
                                                            : "2..4096";
    memset(out, 0, sizeof *out);
    if (read_range(value, &low, &high))
        return fill_range(out, low, high, rack, err);
    struct ss_sweep *list = ss_calloc(1, sizeof *list);
    SS_NEED(list, err);
    snprintf(text, sizeof text, "nodes=%s", value);
    int rc = ss_sweep_vary(list, text, NULL) ? wrong_nodes(value, err) : fill_list(out, list, value, err);
    free(list);
    return rc;
}

void ss_capacity_numbers_free(struct ss_capacity_numbers *n)
{
    SS_FREE(n->nodes, n->state, n->by_shapes);
}

/* ---- what the peak rules out ---- */

/* Returns the highest peak that products of the job may have: those of few bits only where the job asks for them. */
static double highest_peak(const struct ss_card *card, const struct ss_asked *asked)
{
    int few_bits = ss_precision_is_quantized((int)asked->job.precision) || asked->precision_mxfp8;
    double most = 0;

    for (int p = 0; p < SS_PRECISION_COUNT; p++)
        if (few_bits || !ss_precision_is_quantized(p))
            most = fmax(most, ss_kernel_peak(card, p));
    return most;
}

/*
 * Returns the GPU-seconds that the tokens take at least. Each parameter of a matrix product takes 2 FLOP a token forward and 4 backward,
 * and no product runs faster than the card's highest peak. Tables of embeddings multiply nothing; norms and biases, which do not
 * either, are far fewer than a hundredth of the rest. Experts with a capacity may drop any token, so they do not count.
 */
double ss_capacity_least_gpu_s(const struct ss_capacity_planner *x, const struct ss_asked *asked,
                               const struct ss_card *card)
{
    struct ss_model m = asked->job.model;
    struct ss_parameter_counts n;
    double peak = highest_peak(card, asked);

    if (asked->job.model_ref[0]) {
        if (ss_input_cache_model(x->loaded, asked->job.model_ref, &m, NULL))
            return 0;
        ss_model_overlay(&m, &asked->job.model);
    }
    if (ss_model_finish(&m, NULL) || !(peak > 0) || asked->job.moe.capacity_factor > 0)
        return 0;
    ss_model_count(&m, m.vocab_size, &n);
    return 0.99 * 6 * (n.active - (n.output > 0 ? n.input : 0)) * x->plan->tokens / peak;
}

static int is_hopeless(const struct ss_capacity *c, const struct ss_capacity_cluster *k, int nodes)
{
    double gpus = (double)nodes * k->gpus_a_node;

    return (c->deadline_s > 0 && k->least_gpu_s / gpus > c->deadline_s) ||
           (c->budget_usd > 0 && k->least_gpu_s / 3600 * k->price > c->budget_usd);
}

void ss_capacity_mark_hopeless(const struct ss_capacity *c, struct ss_capacity_cluster *k,
                               struct ss_capacity_numbers *n)
{
    int last = -1;

    k->numbers = n->n;
    for (int i = 0; i < n->n; i++)
        k->most_nodes = n->nodes[i] > k->most_nodes ? n->nodes[i] : k->most_nodes;
    for (int i = 0; i < n->n && n->is_range; i++) {
        last = n->state[i] == SS_CAPACITY_ROW ? i : last;
        if (is_hopeless(c, k, n->nodes[i])) {
            n->state[i] = SS_CAPACITY_HOPELESS;
            k->hopeless++;
        }
    }
    if (last >= 0 && k->hopeless == n->n) {
        n->state[last] = SS_CAPACITY_ROW;
        k->hopeless--;
    }
}

int ss_capacity_first_row(const struct ss_capacity *c, int cluster, const struct ss_capacity_numbers *n)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    int row = -1;

    for (int i = 0; i < n->n; i++)
        if (n->state[i] == SS_CAPACITY_ROW &&
            (row < 0 || 2 * k->least_gpu_s / ((double)n->nodes[i] * k->gpus_a_node) > c->deadline_s))
            row = i;
    return row;
}

/* ---- absurd amounts ---- */

/* Returns the amount, divided by 1000 until it is no more than `most`. */
static double likely(double amount, double most)
{
    while (amount > most)
        amount /= 1000;
    return amount;
}

static int few_tokens(double tokens, double batch, struct ss_error *err)
{
    double meant = likely(tokens, 999);
    char a[32], b[32];

    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "%s tokens are fewer than one batch has, %s" SS_HINT "did you mean --tokens %gB or %gT?",
                   ss_report_count(tokens, a, sizeof a), ss_report_count(batch, b, sizeof b), meant, meant);
}

/* Writes the amount with the smallest letter that makes it enough. */
static const char *enough(double amount, double least, char buf[32])
{
    static const char letters[] = "kMB";
    int i = 0;

    for (double by = 1e3; i < 2 && amount * by < least; i++)
        by *= 1e3;
    snprintf(buf, 32, "%g%c", amount, letters[i]);
    return buf;
}

/* Refuses a price that no GPU has: that of a node, in cents, of a year. */
static int check_price(const struct ss_capacity_cluster *k, struct ss_error *err)
{
    const int more = k->price > MOST_PRICE;
    double meant = k->price;

    if (!more && !(k->price > 0 && k->price < LEAST_PRICE))
        return SS_OK;
    if (more && meant / k->gpus_a_node < MOST_PRICE / 2)
        meant /= k->gpus_a_node;
    while (meant > MOST_PRICE || meant < LEAST_PRICE)
        meant *= more ? 0.01 : 100;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "%g USD an hour is %s than one GPU costs anywhere" SS_HINT
                   "did you mean --price %.3gUSD/h?",
                   k->price, more ? "more" : "less", meant);
}

/* Refuses a deadline that is a unit off: even on the most nodes the card's peak takes far longer. */
static int check_deadline(const struct ss_capacity *c, struct ss_error *err)
{
    double least_s = INFINITY, amount = 0;

    for (int i = 0; i < c->nclusters; i++)
        least_s = fmin(least_s,
                       c->clusters[i].least_gpu_s / c->clusters[i].most_nodes / c->clusters[i].gpus_a_node);
    for (int unit = 3600; unit && amount * 86400 < least_s; unit /= 60)
        amount = fmod(c->deadline_s, unit) == 0 ? c->deadline_s / unit : amount;
    if (!(c->deadline_s > 0) || c->deadline_s * ABSURD >= least_s)
        return SS_OK;
    return ss_fail(
        err, SS_ERR_USAGE, NULL, 0,
        "--deadline %gs is too early: the training takes %.3g days even at the peak of the cards" SS_HINT
        "did you mean --deadline %gd?",
        c->deadline_s, least_s / 86400, fmax(amount, 1));
}

int ss_capacity_check_amounts(const struct ss_capacity *c, double batch_tokens, struct ss_error *err)
{
    double least_usd = INFINITY;
    char a[32], b[32];

    if (c->tokens < batch_tokens)
        return few_tokens(c->tokens, batch_tokens, err);
    if (c->tokens > MOST_TOKENS)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "%g tokens are more than there are" SS_HINT "did you mean --tokens %gT?", c->tokens,
                       likely(c->tokens, LIKELY_TOKENS) / 1e12);
    for (int i = 0; i < c->nclusters; i++) {
        SS_TRY(check_price(&c->clusters[i], err));
        least_usd = fmin(least_usd, c->clusters[i].least_gpu_s / 3600 * c->clusters[i].price);
    }
    if (c->budget_usd > 0 && c->budget_usd * ABSURD < least_usd)
        return ss_fail(
            err, SS_ERR_USAGE, NULL, 0,
            "--budget %g USD is too little: the training costs %s USD even at the peak of the cards" SS_HINT
            "did you mean --budget %s?",
            c->budget_usd, ss_report_count(least_usd, a, sizeof a), enough(c->budget_usd, least_usd, b));
    if (c->budget_usd > MOST_USD)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--budget %g USD is more than there is" SS_HINT "did you mean --budget %gM?",
                       c->budget_usd, likely(c->budget_usd, MOST_USD / 1000) / 1e6);
    if (c->deadline_s > MOST_DAYS * 86400)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--deadline %gd is more than a century" SS_HINT "did you mean --deadline %gd?",
                       c->deadline_s / 86400, likely(c->deadline_s / 86400, 1000));
    return check_deadline(c, err);
}
