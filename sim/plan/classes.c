/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: the coarsest equitable partition of ranks, flows and links. Ranks of a class have the same
 * pipeline rank and speed, groups of the same shape with members of the same classes, peers of the same
 * classes, and flows of the same classes. Flows of a class start together, are equally large (the ends of a
 * send, or the group of a collective, are of the same classes), and cross links of the same classes in the
 * same order. Links of a class have the same bandwidth and are crossed by equally many flows of every class.
 * docs/design/design.md proves that such ranks do the same at the same time. Colour refinement finds the
 * partition: a colour is a hash of what a rank, flow or link sees.
 */
#include "base/base.h"
#include "plan/partition.h"

/* Numbers the classes of the ranks that stand for all, by (pipeline rank, lowest member); without colours
 * each rank is a class. */
static int number_colours(struct ss_plan *plan, const struct ss_symmetry *s, const uint64_t *colour,
                          int *class_at)
{
    struct ss_map of = {0};
    int found = 0, rc = 0;
    for (int stage = 0; stage < plan->schedule->stages && rc >= 0; stage++)
        for (int at = 0; at < s->nranks; at++) {
            int r = ss_symmetry_rank(s, at);
            if (ss_ranks_coordinate(&plan->ranks, r, SS_AXIS_PP) != stage)
                continue;
            int c = rc = colour ? ss_map_put(&of, colour[at], found) : found;
            if (c < 0)
                break;
            if (c == found) {
                found++;
                plan->classes[c].stage = stage;
                plan->classes[c].representative = r;
            }
            plan->classes[c].count += s->shifts;
            class_at[at] = c;
        }
    plan->nclasses = found;
    ss_map_free(&of);
    return rc < 0 ? SS_ERR_NOMEM : SS_OK;
}

/* Numbers the classes of all ranks. */
static int number_classes(struct ss_plan *plan, const struct ss_symmetry *s, const uint64_t *colour,
                          int nclasses, struct ss_error *err)
{
    int *class_at = s->shifts > 1 ? ss_calloc((size_t)s->nranks, sizeof *class_at) : plan->class_of;
    int rc = SS_ERR_NOMEM;
    plan->classes = ss_calloc((size_t)nclasses, sizeof *plan->classes);
    if (plan->classes && class_at)
        rc = number_colours(plan, s, colour, class_at);
    for (int from = 0, at = 0; s->shifts > 1 && !rc && from < plan->world_size;
         from += s->rank.block, at += s->rank.period)
        for (int i = 0; i < s->shifts; i++)
            memcpy(plan->class_of + from + i * s->rank.period, class_at + at,
                   (size_t)s->rank.period * sizeof *class_at);
    if (s->shifts > 1)
        free(class_at);
    return rc ? ss_fail(err, rc, NULL, 0, "out of memory for %d classes", nclasses) : SS_OK;
}

/* Most slots of all classes of a job with slow or failed parts; more slots would take noticeably long. */
#define MOST_SLOTS 65536

/* Returns up to how many classes all are kept exact. */
static int most_classes(const struct ss_plan_builder *b)
{
    const struct ss_schedule *s = b->plan->schedule;
    double slots = 1; /* slots of a loop count in every turn */
    if ((b->options->nstragglers == 0 && b->options->nslow_links == 0) || b->options->near == 0 ||
        b->options->apart)
        return INT_MAX;
    if (b->options->most_classes > 0)
        return b->options->most_classes;
    for (int stage = 0; stage < s->stages; stage++)
        slots = fmax(slots, s->nslots[stage] + (double)s->loop_more * s->loop_length);
    return (int)fmax(MOST_SLOTS / slots, 64);
}

static int colour(struct ss_plan_builder *b, struct ss_partition *c, int *exact, struct ss_error *err)
{
    int rc = ss_partition_init(c, b, &b->routes, b->slowness);
    SS_THEN(rc, ss_partition_refine(c, most_classes(b), exact));
    if (!rc && !*exact) {
        ss_partition_free(c);
        SS_FREE(c->link, c->flow);
        rc = ss_partition_init(c, b, &b->routes, b->slowness);
    }
    if (rc)
        return ss_fail(err, rc, NULL, 0, "out of memory for %d ranks", b->plan->world_size);
    return *exact ? SS_OK : ss_partition_near_colour(b, c, err);
}

static int fold(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_partition c;
    int exact = 0, rc = colour(b, &c, &exact, err);
    if (!rc)
        rc = number_classes(b->plan, &b->routes.symmetry, c.rank, ss_partition_count(c.rank, c.nranks, 1),
                            err);
    b->link_colour = c.link;
    b->flow_colour = c.flow;
    if (!rc && !exact)
        rc = ss_partition_near_represent(b, &c, err);
    ss_partition_free(&c);
    return rc;
}

int ss_plan_classes_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    plan->class_of = malloc((size_t)plan->world_size * sizeof *plan->class_of);
    SS_NEED(plan->class_of, err);
    return plan->unfolded ? number_classes(plan, &b->routes.symmetry, NULL, plan->world_size, err)
                          : fold(b, err);
}
