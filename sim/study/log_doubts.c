/* SPDX-License-Identifier: Apache-2.0 */
/* Why the figures of a log cannot be those of one run: lines of two frameworks, two batches, or two levels of speed. */
#include "base/base.h"
#include "base/stats.h"
#include "study/log_lines.h"

#define SAME                                                                                                 \
    0.15 /* of the logarithm: figures of one run agree within this, and a level of speed is left by more */
#define LEVEL 4    /* values that make a level of speed */
#define STEADY 0.4 /* share of a step between two levels: each level spreads less */

/* Frameworks that print no lines of their own but within others, or within which others print. */
static int is_guest(int logger)
{
    return logger == SS_LOGGER_TRAINER || logger == SS_LOGGER_DEEPSPEED || logger == SS_LOGGER_LIGHTNING;
}

static int is_of_megatron(int logger)
{
    return logger == SS_LOGGER_MEGATRON || logger == SS_LOGGER_BRIDGE || logger == SS_LOGGER_NEOX ||
           logger == SS_LOGGER_SWIFT || logger == SS_LOGGER_NEMO || is_guest(logger);
}

static double middle(const double *value, size_t n)
{
    double *copy = ss_calloc(n, sizeof *copy), m = NAN;

    if (copy) {
        memcpy(copy, value, n * sizeof *copy);
        ss_sort(copy, n);
        m = ss_median(copy, n);
    }
    free(copy);
    return m;
}

static void doubt_frameworks(const struct ss_log_series *figures, struct ss_train_log *out)
{
    int first = -1;

    for (int i = 0; i < ss_log_row_count() && !out->doubt[0]; i++) {
        const struct ss_log_row *row = ss_log_row_at(i), *other = first < 0 ? NULL : ss_log_row_at(first);
        if (!figures[i].n || row->told >= SS_TOLD_RATES || is_guest(row->logger))
            continue;
        if (other && row->logger != other->logger &&
            !(is_of_megatron(row->logger) && is_of_megatron(other->logger)))
            snprintf(out->doubt, sizeof out->doubt,
                     "the log has lines of two frameworks, %s and %s: give those of one run",
                     ss_logger_name(other->logger), ss_logger_name(row->logger));
        first = other ? first : i;
    }
}

/* Two rows that tell one figure. Progress bars show means, which hold first iterations. */
static void doubt_rows(const struct ss_log_series *figures, int a, int b, struct ss_train_log *out)
{
    const struct ss_log_row *x = ss_log_row_at(a), *y = ss_log_row_at(b);
    double one, two;

    if (x->told != y->told || x->told > SS_TOLD_SAMPLES || ((x->way | y->way) & SS_LOG_BEFORE) ||
        !figures[a].n || !figures[b].n)
        return;
    one = middle(figures[a].value, figures[a].n);
    two = middle(figures[b].value, figures[b].n);
    if (fabs(log1p(two / one - 1)) > SAME)
        snprintf(out->doubt, sizeof out->doubt,
                 "the log tells the %s twice, %.4g as \"%s\" and %.4g as \"%s\": give the lines of one run",
                 ss_told_words(x->told), one, x->key, two, y->key);
}

/* Finds where a series parts into two levels best: the largest sum over the mean, of logarithms. */
static size_t step_of(const double *value, size_t n)
{
    double mean = 0, sum = 0, most = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        mean += log(value[i]) / (double)n;
    for (size_t i = 0; i + 1 < n; i++) {
        sum += log(value[i]) - mean;
        if (fabs(sum) > most) {
            most = fabs(sum);
            at = i + 1;
        }
    }
    return at;
}

static double spread(const double *value, size_t n, double of)
{
    double *off = ss_calloc(n, sizeof *off), m = NAN;

    for (size_t i = 0; off && i < n; i++)
        off[i] = fabs(log(value[i] / of));
    if (off)
        m = middle(off, n);
    free(off);
    return m;
}

static void doubt_levels(const struct ss_log_row *row, const struct ss_log_series *s,
                         struct ss_train_log *out)
{
    size_t skip = s->n >= 10 ? s->n / 5 : s->n >= 3, n = s->n - skip, at;

    if (n < 2 * LEVEL)
        return;
    const double *value = s->value + skip;
    at = step_of(value, n);
    if (at < LEVEL || n - at < LEVEL)
        return;
    double one = middle(value, at), two = middle(value + at, n - at), step = fabs(log(two / one));
    if (step > SAME && spread(value, at, one) < STEADY * step &&
        spread(value + at, n - at, two) < STEADY * step)
        snprintf(out->doubt, sizeof out->doubt,
                 "the log has two speeds, %.4g in %d lines and then %.4g in %d (%s): are these two runs? "
                 "Give the lines of one",
                 one, (int)(skip + at), two, (int)(n - at), ss_told_words(row->told));
}

static void doubt_batches(const struct ss_log_series *s, struct ss_train_log *out)
{
    for (size_t i = 1; i < s->n && !out->doubt[0]; i++)
        if (s->value[i] != s->value[0])
            snprintf(
                out->doubt, sizeof out->doubt,
                "the log has global batches of %g and of %g: give the lines of one run, and of one batch",
                s->value[0], s->value[i]);
}

void ss_log_doubts_find(const struct ss_log_series *figures, struct ss_train_log *out)
{
    doubt_frameworks(figures, out);
    for (int i = 0; i < ss_log_row_count(); i++)
        if (ss_log_row_at(i)->told == SS_TOLD_BATCH)
            doubt_batches(&figures[i], out);
    for (int i = 0; i < ss_log_row_count(); i++)
        for (int k = i + 1; k < ss_log_row_count() && !out->doubt[0]; k++)
            doubt_rows(figures, i, k, out);
    for (int i = 0; i < ss_log_row_count() && !out->doubt[0]; i++)
        if (ss_log_row_at(i)->told <= SS_TOLD_SAMPLES && !(ss_log_row_at(i)->way & SS_LOG_BEFORE))
            doubt_levels(ss_log_row_at(i), &figures[i], out);
}
