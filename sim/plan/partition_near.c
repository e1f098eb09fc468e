/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded partition: classes where something is slow or has failed and exact classes would be too many. A
 * difference between ranks travels in two ways. It travels by what starts together (the members of a
 * collective, both ends of a message) as far as it can, so that the folded program can run. It travels by
 * links that flows share for a limited number of steps; ranks farther away are alike if they are alike in the
 * healthy cluster. Each class does what most of its ranks meet. If the replay finds that classes which only
 * the last steps tell apart do the same at the same times, more steps would find nothing new:
 * docs/design/design.md.
 */
#include "base/base.h"
#include "plan/partition.h"

/* In one step links see a flow that differs; in the next step ranks see these links. */
#define THERE_AND_BACK 2

/* Tells ranks and links apart as in the healthy cluster. */
static int colour_healthy(const struct ss_plan_builder *b, struct ss_partition *c, struct ss_error *err)
{
    struct ss_plan_options healthy = *b->options;
    struct ss_routes routes;
    struct ss_partition h = {0};
    healthy.nstragglers = healthy.nslow_links = 0;
    int done, rc = ss_routes_build(b->plan, &b->groups, &b->net, &healthy, &routes, err);
    if (!rc && (ss_partition_init(&h, b, &routes, NULL) || ss_partition_refine(&h, INT_MAX, &done)))
        rc = ss_nomem(err);
    for (size_t r = 0; r < c->nranks && !rc; r++)
        c->rank[r] = ss_mix_in(c->rank[r], h.rank[ss_symmetry_at(&routes.symmetry, (int)r)]);
    for (int l = 0; l < c->routes->nlinks && !rc; l++)
        c->link[l] = ss_mix_in(c->link[l], h.link[ss_symmetry_link_at(&routes.symmetry, l)]);
    ss_partition_free(&h);
    SS_FREE(h.link, h.flow);
    ss_routes_free(&routes);
    return rc;
}

/* Writes to next what each rank meets beyond what tells its class. Flows and links keep their colours. */
static int look_ahead(struct ss_partition *c)
{
    size_t nflows = c->nranks * (size_t)c->routes->nkinds, nlinks = (size_t)c->routes->nlinks;
    uint64_t *flow = malloc(nflows * sizeof *flow), *link = malloc(nlinks * sizeof *link);
    ss_partition_look(c);
    if (flow && link) {
        memcpy(flow, c->flow, nflows * sizeof *flow);
        memcpy(link, c->link, nlinks * sizeof *link);
        ss_partition_look(c);
        memcpy(c->flow, flow, nflows * sizeof *flow);
        memcpy(c->link, link, nlinks * sizeof *link);
    }
    int rc = flow && link ? SS_OK : SS_ERR_NOMEM;
    SS_FREE(flow, link);
    return rc;
}

int ss_partition_near_colour(struct ss_plan_builder *b, struct ss_partition *c, struct ss_error *err)
{
    SS_TRY(colour_healthy(b, c, err));
    b->nearer = malloc(c->nranks * sizeof *b->nearer);
    int rc = b->nearer ? ss_partition_close(c) : SS_ERR_NOMEM;
    for (int i = 0; i < b->options->near && !rc; i++) {
        if (i <= b->options->near - THERE_AND_BACK)
            memcpy(b->nearer, c->rank, c->nranks * sizeof *b->nearer);
        ss_partition_look(c);
        ss_partition_take(c);
        rc = ss_partition_close(c);
    }
    SS_THEN(rc, look_ahead(c));
    return rc ? ss_nomem(err) : SS_OK;
}

/* ---- who stands for a class ---- */

/* Chooses for each class the lowest rank that meets what most ranks of the class meet. */
static int choose_representatives(struct ss_plan *plan, const struct ss_partition *c)
{
    struct ss_map count = {0};
    int *most = ss_calloc((size_t)plan->nclasses, sizeof *most), rc = most ? 0 : -1;
    for (int pass = 0; pass < 2 && !rc; pass++)
        for (int r = 0; r < plan->world_size && !rc; r++) {
            int cls = plan->class_of[r], n;
            uint64_t key = ss_mix_in(c->next[r], (uint64_t)cls);
            if (pass == 0) {
                rc = ss_map_add(&count, key, 1);
            } else if ((n = ss_map_get(&count, key) + 1) > most[cls]) {
                most[cls] = n;
                plan->classes[cls].representative = r;
            }
        }
    ss_map_free(&count);
    free(most);
    return rc;
}

static uint64_t flows_colour(const struct ss_plan_builder *b, int rank)
{
    const struct ss_routes *r = &b->routes;
    const uint64_t *flow = b->flow_colour + (size_t)rank * (size_t)r->nkinds;
    uint64_t h = 0;
    for (int k = r->npeers; k < r->nkinds; k++)
        if (k != r->embedding)
            h = ss_mix_in(h, flow[k]);
    return h;
}

/* Lists ranks whose flows in collectives differ from those of their class, one of each kind. */
static int list_odd_ranks(struct ss_plan_builder *b)
{
    struct ss_plan *plan = b->plan;
    struct ss_map seen = {0};
    int rc = 0;
    for (int c = 0; c < plan->nclasses && rc >= 0; c++)
        rc = ss_map_put(&seen, ss_mix_in(flows_colour(b, plan->classes[c].representative), (uint64_t)c), 0);
    for (int r = 0; r < plan->world_size && rc >= 0; r++) {
        size_t before = seen.n;
        rc = ss_map_put(&seen, ss_mix_in(flows_colour(b, r), (uint64_t)plan->class_of[r]), 0);
        if (rc < 0 || seen.n == before)
            continue;
        if (ss_grow(&b->odd, &b->cap_odd, (size_t)b->nodd + 1, sizeof *b->odd))
            rc = -1;
        else
            b->odd[b->nodd++] = r;
    }
    ss_map_free(&seen);
    return rc < 0 ? -1 : 0;
}

/* Finds the classes that are one class in the partition of two steps fewer. */
static int find_alike(struct ss_plan_builder *b)
{
    struct ss_plan *plan = b->plan;
    struct ss_map first = {0};
    int rc = 0;
    plan->alike = ss_calloc((size_t)plan->nclasses, sizeof *plan->alike);
    for (int c = 0; plan->alike && c < plan->nclasses && rc >= 0; c++)
        plan->alike[c] = rc = ss_map_put(&first, b->nearer[plan->classes[c].representative], c);
    ss_map_free(&first);
    return plan->alike && rc >= 0 ? 0 : -1;
}

int ss_partition_near_represent(struct ss_plan_builder *b, const struct ss_partition *c, struct ss_error *err)
{
    SS_NEED(!choose_representatives(b->plan, c) && !list_odd_ranks(b) && !find_alike(b), err);
    b->plan->near = b->options->near;
    return SS_OK;
}
