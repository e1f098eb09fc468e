/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations of flags' values, and which of their predictions is best. */
#include "stepsim/sweep.h"

#include <stddef.h>

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

void ss_sweep_take(struct ss_sweep_row *row, const struct ss_run *run)
{
    const struct ss_result *r = run->result;

    row->gpus = run->plan->world_size;
    row->fits = r->fits;
    row->thrash = r->thrash;
    row->iteration_s = r->iteration_s;
    row->mfu = r->mfu;
    row->tokens_per_s_per_gpu = r->tokens_per_s_per_gpu;
    row->peak_device = r->peak_device;
    row->capacity = r->capacity;
    row->bubble_fraction = r->bubble_fraction;
    row->usd_per_iteration = r->usd_per_iteration;
}

/* Tokens a second: rows may differ in what an iteration does. */
static double speed(const struct ss_sweep_row *row, int by_gpu)
{
    return row->tokens_per_s_per_gpu * (by_gpu ? 1 : row->gpus);
}

int ss_sweep_count(const struct ss_sweep *s, int fate)
{
    int n = 0;

    for (int i = 0; i < s->nrows; i++) {
        const struct ss_sweep_row *row = &s->rows[i];
        n += fate == (row->code     ? SS_SWEEP_REFUSED
                      : !row->fits  ? SS_SWEEP_TOO_LARGE
                      : row->thrash ? SS_SWEEP_BARELY
                                    : SS_SWEEP_FITS);
    }
    return n;
}

int ss_sweep_best(const struct ss_sweep *s, int by_gpu)
{
    int best = -1;

    for (int i = 0; i < s->nrows; i++) {
        const struct ss_sweep_row *row = &s->rows[i], *b = best < 0 ? NULL : &s->rows[best];
        if (row->code || !row->fits || row->thrash)
            continue;
        if (!b || speed(row, by_gpu) > speed(b, by_gpu))
            best = i;
    }
    return best;
}
