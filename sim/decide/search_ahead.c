/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers do while the last items of a list are out: what the next lists are likely to ask for, as far as is known by then.
 * An answer is the same whenever it comes, and which layouts are asked for does not depend on this, so no byte of a search
 * does.
 */
#include "decide/search_state.h"

/* Leaves behind the next one that are looked at. In a search of 70B on 64 nodes, whose flows take up to a hundred times as long as other
 * predictions, 64 leave eight workers idle for a seventh of the time, and 128 for a twenty-fifth. */
#define LOOK 128

static int item_of(const struct ss_find_state *x, enum ss_find_way way, int number)
{
    return (int)way * (int)x->space->nleaves + number;
}

int ss_find_ahead_item(struct ss_find_state *x)
{
    struct ss_find_ahead *a = &x->ahead;
    if (!a->on)
        return -1;
    while (a->n > 0) {
        const struct ss_find_point *p = &a->doubted[a->first];
        a->first = (a->first + 1) % SS_FIND_DOUBTED;
        a->n--;
        if (ss_find_asks_flows(x, p))
            return item_of(x, SS_FIND_FLOWS, p->number);
    }
    for (a->look = a->look > x->next ? a->look : x->next;
         a->look < x->space->nleaves && a->look < x->next + LOOK; a->look++) {
        const struct ss_find_leaf *leaf = &x->space->leaves[a->look];
        int fast = x->options->exhaustive || leaf->seconds < x->within[leaf->cluster];
        if (fast && !ss_find_cannot_win(x, leaf))
            return item_of(x, leaf->loose && x->options->exhaustive != 1 ? SS_FIND_TIGHTEN : SS_FIND_PREDICT,
                           (int)a->look++);
    }
    return -1;
}

void ss_find_ahead_note(struct ss_find_state *x, int item, const struct ss_find_point *p)
{
    struct ss_find_ahead *a = &x->ahead;
    int n = (int)x->space->nleaves;
    if (item / n == SS_FIND_PREDICT && p->summary.doubted && a->n < SS_FIND_DOUBTED)
        a->doubted[(a->first + a->n++) % SS_FIND_DOUBTED] = *p;
}
