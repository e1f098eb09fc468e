/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers do while the last items of a list are out: what the next lists are likely to ask for, as far as is known by then.
 * A layout is bounded, then predicted, then its flows are asked, each step as soon as the answer before says that the layout may
 * still win. An answer is the same whenever it comes, and which layouts are asked for does not depend on this, so no byte of a
 * search does.
 */
#include "base/base.h"
#include "decide/search_state.h"

void ss_find_ahead_begin(struct ss_find_state *x, const int *batch, int n)
{
    struct ss_find_ahead *a = &x->ahead;
    a->batch = batch;
    a->nbatch = n;
    a->nbegun = 0;
}

static struct ss_find_leaf leaf_of(const struct ss_find_state *x, const struct ss_find_guess *g)
{
    struct ss_find_leaf leaf = x->space->leaves[g->number];
    leaf.seconds = g->seconds;
    leaf.bytes = g->bytes;
    leaf.unsure = g->unsure;
    return leaf;
}

/* Returns whether a layout of the same work is as good as a leaf's bounds. */
static int beats(const struct ss_find_state *x, const struct ss_find_leaf *seen,
                 const struct ss_find_leaf *leaf)
{
    const struct ss_find_group *a = &x->space->found->groups[seen->cluster],
                               *b = &x->space->found->groups[leaf->cluster];
    return a->work == b->work && a->gpus <= b->gpus && seen->seconds <= leaf->seconds &&
           seen->bytes <= leaf->bytes && seen->walk != leaf->walk;
}

/* Returns whether the search will ask for a leaf with these bounds, as far as is known. */
static int is_likely(const struct ss_find_state *x, const struct ss_find_leaf *leaf)
{
    const struct ss_find_ahead *a = &x->ahead;
    if (x->options->exhaustive)
        return 1;
    if (ss_find_cannot_win(x, leaf) || ss_find_waits(x, leaf, a->batch, a->nbatch) ||
        ss_find_waits(x, leaf, a->begun, a->nbegun))
        return 0;
    for (int i = 0; i < a->nseen && leaf->seconds >= x->within[leaf->cluster]; i++)
        if (beats(x, &a->seen[i], leaf))
            return 0;
    return 1;
}

/* Keeps a layout that fits among those that are beaten by no other. */
static void see(struct ss_find_state *x, const struct ss_find_point *p)
{
    struct ss_find_ahead *a = &x->ahead;
    struct ss_find_leaf seen = x->space->leaves[p->number];
    int kept = 0;
    seen.seconds = p->summary.iteration_s;
    seen.bytes = p->summary.peak_device;
    for (int i = 0; i < a->nseen; i++)
        if (beats(x, &a->seen[i], &seen))
            return;
    for (int i = 0; i < a->nseen; i++)
        if (!beats(x, &seen, &a->seen[i]))
            a->seen[kept++] = a->seen[i];
    a->nseen = kept;
    if (kept < SS_FIND_GUESSES)
        a->seen[a->nseen++] = seen;
}

/* Takes the oldest guess that the search will ask for and whose home is the worker, or the oldest of all, and drops others that the
 * search will not ask for. Returns its layout, or -1. */
static int next_guess(const struct ss_find_state *x, struct ss_find_guesses *q, ss_find_is_home *is_home,
                      void *ctx)
{
    int kept = 0, best = -1, home = 0;
    for (int i = 0; i < q->n; i++) {
        const struct ss_find_leaf leaf = leaf_of(x, &q->guess[i]);
        int mine = !home && is_home(ctx, q->guess[i].number);
        if (!home && (mine || best < 0)) {
            if (!is_likely(x, &leaf))
                continue;
            best = kept;
            home = mine;
        }
        q->guess[kept++] = q->guess[i];
    }
    q->n = kept;
    if (best < 0)
        return -1;
    int number = q->guess[best].number;
    memmove(&q->guess[best], &q->guess[best + 1], (size_t)(--q->n - best) * sizeof *q->guess);
    return number;
}

int ss_find_ahead_item(struct ss_find_state *x, ss_find_is_home *is_home, void *ctx)
{
    struct ss_find_ahead *a = &x->ahead;
    int n = (int)x->space->nleaves, number;
    if (!a->on)
        return -1;
    if ((number = next_guess(x, &a->flows, is_home, ctx)) >= 0)
        return SS_FIND_FLOWS * n + number;
    if ((number = next_guess(x, &a->predictions, is_home, ctx)) >= 0)
        return SS_FIND_PREDICT * n + number;
    for (a->look = a->look > x->next ? a->look : x->next;
         a->nbegun < SS_FIND_BEFORE && a->look < x->space->nleaves; a->look++) {
        const struct ss_find_leaf *leaf = &x->space->leaves[a->look];
        if (!is_likely(x, leaf))
            continue;
        a->begun[a->nbegun++] = (int)a->look;
        return (leaf->loose && x->options->exhaustive != 1 ? SS_FIND_TIGHTEN : SS_FIND_PREDICT) * n +
               (int)a->look++;
    }
    return -1;
}

void ss_find_ahead_note(struct ss_find_state *x, int item, const struct ss_find_point *p)
{
    struct ss_find_ahead *a = &x->ahead;
    int way = item / (int)x->space->nleaves, near = p->summary.outcome == SS_OUTCOME_NEAR_LIMIT;
    const struct ss_find_leaf *leaf = &x->space->leaves[p->number];
    struct ss_find_guesses *q = way == SS_FIND_TIGHTEN ? &a->predictions : &a->flows;
    struct ss_find_guess g = {p->number, near, leaf->seconds, p->summary.peak_device};
    int asks = way == SS_FIND_PREDICT && p->summary.doubted &&
               (near || p->summary.outcome == SS_OUTCOME_FITS || x->options->exhaustive);
    if (way == SS_FIND_TIGHTEN)
        g = (struct ss_find_guess){p->number, near || leaf->unsure, p->least_s, p->least_bytes};
    if (a->on && way == SS_FIND_PREDICT && p->summary.outcome == SS_OUTCOME_FITS)
        see(x, p);
    if (a->on && (asks || way == SS_FIND_TIGHTEN) && q->n < SS_FIND_GUESSES)
        q->guess[q->n++] = g;
}
