/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers do while the last items of a list are out: what the next lists are likely to ask for, as far as is known by then.
 * A layout is bounded, then predicted, then its flows are asked, each step as soon as the answer before says that the layout may
 * still win. Where nothing is left that is likely to be asked for, layouts follow that another is likely to beat, which is not known
 * yet: flows may make the other one slower. An answer is the same whenever it comes, and which layouts are asked for does not depend
 * on this, so no byte of a search does.
 */
#include "decide/search_state.h"

void ss_find_ahead_begin(struct ss_find_state *x, const int *batch, int n)
{
    struct ss_find_ahead *a = &x->ahead;
    a->batch = batch;
    a->nbatch = n;
    a->nbegun = a->nmaybe = 0;
    for (int shards = 0; shards < 2; shards++)
        a->cursor[shards] = (struct ss_find_cursor){0, x->next};
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

/* Share by which a layout is slower than its bound, at most where it is likely to be the fastest. */
#define ABOVE_BOUND 0.04

/* Returns whether a leaf that may not fit is likely to be slower than one of these: the fastest alone is told. */
static int is_late(const struct ss_find_state *x, const struct ss_find_leaf *leaf, const int *others, int n)
{
    int late = 0;
    for (int i = 0; i < n && leaf->unsure && !late; i++) {
        const struct ss_find_leaf *other = &x->space->leaves[others[i]];
        late = other->cluster == leaf->cluster && other->seconds * (1 + ABOVE_BOUND) <= leaf->seconds;
    }
    return late;
}

/* Returns whether the search may ask for a leaf with these bounds, as far as is known for certain; likely 1: whether it will, as far as is
 * known at all. */
static int may_win(const struct ss_find_state *x, const struct ss_find_leaf *leaf, int likely)
{
    const struct ss_find_ahead *a = &x->ahead;
    if (ss_find_cannot_win(x, leaf) ||
        (likely &&
         (ss_find_waits(x, leaf, a->batch, a->nbatch) || ss_find_waits(x, leaf, a->begun, a->nbegun) ||
          is_late(x, leaf, a->batch, a->nbatch) || is_late(x, leaf, a->begun, a->nbegun))))
        return 0;
    for (int i = 0; i < a->nseen && leaf->seconds >= x->within[leaf->cluster]; i++)
        if ((likely || !a->seen[i].unsure) && beats(x, &a->seen[i], leaf))
            return 0;
    return 1;
}

/* Keeps a layout that fits, by flows in the place of closed forms, among those that are beaten by no other. */
static void see(struct ss_find_state *x, const struct ss_find_point *p)
{
    struct ss_find_ahead *a = &x->ahead;
    struct ss_find_leaf seen = x->space->leaves[p->number];
    int kept = 0, beaten = 0;
    seen.seconds = p->summary.iteration_s;
    seen.bytes = p->summary.peak_device;
    seen.unsure = p->summary.doubted != 0;
    for (int i = 0; i < a->nseen; i++) {
        const struct ss_find_leaf *other = &a->seen[i];
        beaten |= other->unsure <= seen.unsure && beats(x, other, &seen);
        if (other->walk != seen.walk && (other->unsure < seen.unsure || !beats(x, &seen, other)))
            a->seen[kept++] = *other;
    }
    a->nseen = kept;
    if (!beaten && kept < SS_FIND_GUESSES)
        a->seen[a->nseen++] = seen;
}

/* Takes the oldest guess that may win and whose home is the worker, or the oldest of all, and drops others that cannot win. Returns its
 * layout, or -1. */
static int next_guess(const struct ss_find_state *x, struct ss_find_guesses *q, int likely,
                      ss_find_is_home *is_home, void *ctx)
{
    int kept = 0, best = -1, home = 0;
    for (int i = 0; i < q->n; i++) {
        const struct ss_find_leaf leaf = leaf_of(x, &q->guess[i]);
        int mine = !home && is_home(ctx, q->guess[i].number);
        if (!home && (mine || best < 0)) {
            if (!may_win(x, &leaf, 0))
                continue;
            if (!likely || may_win(x, &leaf, 1)) {
                best = kept;
                home = mine;
            }
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

/* Returns the next leaf that is likely to be asked for, or -1. */
static int next_leaf(struct ss_find_state *x)
{
    struct ss_find_ahead *a = &x->ahead;
    for (a->look = a->look > x->next ? a->look : x->next;
         a->nbegun < SS_FIND_BEFORE && a->look < x->space->nleaves; a->look++)
        if (may_win(x, &x->space->leaves[a->look], 1))
            return a->begun[a->nbegun++] = (int)a->look++;
    return -1;
}

static int in_shards(const struct ss_find_state *x, int number)
{
    const struct ss_find_leaf *leaf = &x->space->leaves[number];
    return ss_find_in_shards(&x->space->clusters[leaf->cluster], leaf->at);
}

/* Returns the next leaf, in shards or not, that waits, or that will wait for what was begun, or -1. Some were begun before. Those in shards
 * come first: of them flows are likely to be asked, which take longest. */
static int next_waiting(struct ss_find_state *x, int shards)
{
    struct ss_find_ahead *a = &x->ahead;
    struct ss_find_cursor *c = &a->cursor[shards];
    while (a->nmaybe < SS_FIND_MAYBE && (c->wait < x->nwaiting || c->far < x->space->nleaves)) {
        int number = c->wait < x->nwaiting ? x->waiting[c->wait++] : (int)c->far++;
        if (in_shards(x, number) != shards || !may_win(x, &x->space->leaves[number], 0))
            continue;
        a->nmaybe++;
        return number;
    }
    return -1;
}

/* Returns the item that is the first step of a leaf. */
static int first_of(const struct ss_find_state *x, int number)
{
    enum ss_find_way way = x->space->leaves[number].loose ? SS_FIND_TIGHTEN : SS_FIND_PREDICT;
    return (int)way * (int)x->space->nleaves + number;
}

int ss_find_ahead_item(struct ss_find_state *x, ss_find_is_home *is_home, void *ctx)
{
    struct ss_find_ahead *a = &x->ahead;
    int n = (int)x->space->nleaves, number;
    for (int likely = 1; a->on && likely >= 0; likely--) {
        if ((number = next_guess(x, &a->flows, likely, is_home, ctx)) >= 0)
            return SS_FIND_FLOWS * n + number;
        if ((number = next_guess(x, &a->predictions, likely, is_home, ctx)) >= 0)
            return SS_FIND_PREDICT * n + number;
        if (likely && (number = next_leaf(x)) >= 0)
            return first_of(x, number);
    }
    for (int shards = 1; a->on && shards >= 0; shards--)
        if ((number = next_waiting(x, shards)) >= 0)
            return first_of(x, number);
    return -1;
}

void ss_find_ahead_note(struct ss_find_state *x, int item, const struct ss_find_point *p)
{
    struct ss_find_ahead *a = &x->ahead;
    int way = item / (int)x->space->nleaves, near = p->summary.outcome == SS_OUTCOME_NEAR_LIMIT;
    const struct ss_find_leaf *leaf = &x->space->leaves[p->number];
    struct ss_find_guesses *q = way == SS_FIND_TIGHTEN ? &a->predictions : &a->flows;
    struct ss_find_guess g = {p->number, near, ss_find_least_as_flows(p, leaf->seconds),
                              p->summary.peak_device};
    int asks =
        way == SS_FIND_PREDICT && p->summary.doubted && (near || p->summary.outcome == SS_OUTCOME_FITS);
    if (way == SS_FIND_TIGHTEN)
        g = (struct ss_find_guess){p->number, near || leaf->unsure, p->least_s, p->least_bytes};
    if (a->on && way <= SS_FIND_FLOWS && p->summary.outcome == SS_OUTCOME_FITS)
        see(x, p);
    if (a->on && (asks || way == SS_FIND_TIGHTEN) && q->n < SS_FIND_GUESSES)
        q->guess[q->n++] = g;
}
