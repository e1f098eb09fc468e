/* SPDX-License-Identifier: Apache-2.0 */
/* Adds numbers of nodes between those of a range, around its two answers. */
#include <stdlib.h>
#include <string.h>

#include "decide/capacity_internal.h"
#include "stepsim/error.h"

static int by_nodes(const void *left, const void *right)
{
    const struct ss_capacity_point *a = left, *b = right;
    return a->nodes < b->nodes ? -1 : a->nodes > b->nodes;
}

void ss_capacity_sort(struct ss_capacity *c)
{
    if (c->npoints > 0)
        qsort(c->points, (size_t)c->npoints, sizeof *c->points, by_nodes);
}

/* Finds the two neighbours by nodes between which an answer lies: the larger keeps a deadline, the
 * smaller keeps a budget. */
static int find_bracket(const struct ss_capacity *c, int far, int *low, int *high)
{
    int more = c->deadline_s > 0;

    for (int i = 1; i < c->npoints; i++) {
        const struct ss_capacity_point *a = &c->points[i - 1], *b = &c->points[i];
        if (!ss_capacity_holds(a) || !ss_capacity_holds(b) || ss_capacity_enough(c, more ? a : b, far) ||
            !ss_capacity_enough(c, more ? b : a, far))
            continue;
        *low = a->nodes;
        *high = b->nodes;
        return 1;
    }
    return 0;
}

/* Halves the step in which an answer lies, down to a sixteenth of its nodes. It stops where the middle
 * is refused. */
static int refine(struct ss_capacity *c, int far, ss_capacity_planned *point, void *ctx, struct ss_error *err)
{
    int low, high;

    if (!find_bracket(c, far, &low, &high))
        return SS_OK;
    for (int step = high / 16; high - low > (step > 1 ? step : 1);) {
        struct ss_capacity_point *p = &c->points[c->npoints];
        int middle = low + (high - low) / 2, rc = point(ctx, middle, p, err);
        if (rc)
            return rc;
        if (!ss_capacity_holds(p)) {
            memset(p, 0, sizeof *p);
            break;
        }
        c->npoints++;
        if (ss_capacity_enough(c, p, far) == (c->deadline_s > 0))
            high = middle;
        else
            low = middle;
    }
    ss_capacity_sort(c);
    return SS_OK;
}

int ss_capacity_refine(struct ss_capacity *c, ss_capacity_planned *point, void *ctx, struct ss_error *err)
{
    int rc = SS_OK;

    for (int far = 0; far < 2 && !rc && (c->deadline_s > 0 || c->budget_usd > 0); far++)
        rc = refine(c, far, point, ctx, err);
    return rc;
}
