/* SPDX-License-Identifier: Apache-2.0 */
/* The combinations of the flags' values, and the best of their predictions. */
#include "stepsim/sweep.h"
#include "base/base.h"
#include "study/study_internal.h"

int ss_sweep_size(const struct ss_sweep *s, int most)
{
    int n = 1;

    for (int f = 0; f < s->nflags; f++) {
        if (s->flags[f].nvalues < 1 || n > most / s->flags[f].nvalues)
            return 0;
        n *= s->flags[f].nvalues;
    }
    return n;
}

void ss_sweep_combination(const struct ss_sweep *s, int i, struct ss_sweep_row *row)
{
    for (int f = s->nflags - 1; f >= 0; f--) {
        row->at[f] = i % s->flags[f].nvalues;
        i /= s->flags[f].nvalues;
    }
}

/* Returns tokens a second, by which rows are compared whose iterations differ. Padding does not count. */
static double speed(const struct ss_summary *s, int by_gpu)
{
    return s->tokens_per_s_per_gpu * (1 - s->padding_fraction) * (by_gpu ? 1 : s->gpus);
}

int ss_sweep_count(const struct ss_sweep *s, int outcome)
{
    int n = s->left_out[outcome];

    for (int i = 0; i < s->nrows; i++)
        n += s->rows[i].summary.outcome == outcome;
    return n;
}

int ss_sweep_status(const struct ss_sweep *s)
{
    if (ss_sweep_count(s, SS_OUTCOME_FITS) + ss_sweep_count(s, SS_OUTCOME_NEAR_LIMIT) > 0)
        return 0;
    return ss_status_exit(ss_sweep_count(s, SS_OUTCOME_TOO_LARGE) ? SS_ERR_OOM : SS_ERR_CONFIG);
}

int ss_sweep_shown(const struct ss_sweep *s)
{
    return s->top > 0 && s->top < s->nrows ? s->top : s->nrows;
}

int ss_sweep_best(const struct ss_sweep *s, int outcome, int by_gpu)
{
    int best = -1;

    for (int i = 0; i < s->nrows; i++) {
        const struct ss_summary *row = &s->rows[i].summary;
        if (row->outcome == outcome &&
            (best < 0 || speed(row, by_gpu) > speed(&s->rows[best].summary, by_gpu)))
            best = i;
    }
    return best;
}

int ss_sweep_best_near_limit(const struct ss_sweep *s)
{
    int near = ss_sweep_best(s, SS_OUTCOME_NEAR_LIMIT, 0), sure = ss_sweep_best(s, SS_OUTCOME_FITS, 0);

    if (near >= 0 && sure >= 0 && speed(&s->rows[near].summary, 0) <= speed(&s->rows[sure].summary, 0))
        return -1;
    return near;
}

/* ---- digest ---- */

static uint64_t add(uint64_t h, const char *text)
{
    return ss_hash(h, text, strlen(text) + 1);
}

int ss_sweep_digest(const struct ss_sweep *vary, const struct ss_request *base, int engine,
                    const struct ss_files *files, uint64_t *out, struct ss_error *err)
{
    uint64_t h = ss_hash(SS_HASH_INIT, &engine, sizeof engine);
    char content[17];
    int rc = SS_OK;

    for (size_t i = 0; i < base->n;
         i++) /* the places tell which words belong together, and which beat others */
        h = ss_hash(add(h, base->word[i].text), &base->word[i].place, sizeof base->word[i].place);
    for (int f = 0; vary && f < vary->nflags; f++) {
        h = add(h, vary->flags[f].name);
        for (int i = 0; i < vary->flags[f].nvalues; i++)
            h = add(h, vary->flags[f].value[i]);
    }
    for (size_t i = 0; files && i < files->n && !rc; i++) {
        rc = ss_file_hash(files->path[i], content, err);
        h = rc ? h : add(h, content);
    }
    *out = h;
    return rc;
}

/* ---- order of rows ---- */

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
    SS_FREE(keys, rows);
    return rc;
}
