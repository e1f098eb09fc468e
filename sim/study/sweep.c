/* SPDX-License-Identifier: Apache-2.0 */
/* The combinations of the flags' values, and the best of their predictions. */
#include "stepsim/sweep.h"

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
