/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the rows of a sweep that are shown, and their order. */
#include "base/base.h"
#include "stepsim/sweep.h"

struct keyed {
    double key; /* the smaller comes first; infinite: the row has no such figure */
    int row;
};

static int is_more_better(int metric)
{
    int kind = ss_metric_at(metric)->kind;

    return kind == SS_METRIC_TFLOPS || kind == SS_METRIC_TOKENS || metric == SS_METRIC_OF_mfu ||
           metric == SS_METRIC_OF_mfu_bf16 || metric == SS_METRIC_OF_hfu;
}

int ss_sweep_order_read(const char *text, struct ss_sweep_order *out, struct ss_error *err)
{
    text = text ? text : "";
    const char *names[SS_METRICS], *colon = strchr(text, ':'), *way = colon ? colon + 1 : "";
    size_t n = colon ? (size_t)(colon - text) : strlen(text);

    for (int m = 0; m < SS_METRICS; m++) {
        names[m] = ss_metric_at(m)->key;
        if (strlen(names[m]) != n || strncmp(names[m], text, n) != 0)
            continue;
        out->metric = m;
        out->down = colon ? !strcmp(way, "down") : is_more_better(m);
        if (!colon || out->down || !strcmp(way, "up"))
            return SS_OK;
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--sort %.80s: neither \"up\" nor \"down\"" SS_HINT
                       "write %s:up, or %s alone for the best first",
                       text, names[m], names[m]);
    }
    const char *near = ss_nearest(text, names, SS_METRICS);
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "--sort %.80s: no figure has this name" SS_HINT
                   "%s%s; docs/reference/formats.md, \"Figures\", has all of them",
                   text, near ? "did you mean " : "try ", near ? near : "iteration_ms");
}

static int by_key(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;

    return a->key < b->key ? -1 : a->key > b->key ? 1 : a->row - b->row;
}

static double key_of(const struct ss_summary *u, const struct ss_sweep_order *order)
{
    double value = order ? ss_metric_value(order->metric, u) : 0;

    if (order && (u->outcome == SS_OUTCOME_REFUSED || !ss_metric_known(order->metric, u) || !isfinite(value)))
        return INFINITY;
    return order && order->down ? -value : value;
}

int ss_sweep_arrange(struct ss_sweep *s, const struct ss_sweep_order *order, int fits, struct ss_error *err)
{
    struct keyed *keys = ss_calloc((size_t)s->nrows + 1, sizeof *keys);
    struct ss_sweep_row *rows = ss_calloc((size_t)s->nrows + 1, sizeof *rows);
    int n = 0;

    for (int i = 0; keys && rows && i < s->nrows; i++) {
        const struct ss_summary *u = &s->rows[i].summary;
        if (fits && (u->outcome == SS_OUTCOME_REFUSED || u->outcome == SS_OUTCOME_TOO_LARGE))
            s->left_out[u->outcome]++;
        else
            keys[n++] = (struct keyed){key_of(u, order), i};
    }
    int rc = keys && rows ? SS_OK : ss_nomem(err);
    if (!rc && n) {
        qsort(keys, (size_t)n, sizeof *keys, by_key);
        for (int i = 0; i < n; i++)
            rows[i] = s->rows[keys[i].row];
        memcpy(s->rows, rows, (size_t)n * sizeof *rows);
    }
    s->nrows = rc ? s->nrows : n;
    free(keys);
    free(rows);
    return rc;
}
