/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the best order for each placement of a pipeline, from times and memory alone. */
#include "base/base.h"
#include "study/schedule_order.h"

/* Divides a search with whole stages: the chunks of a rank get equal parts of its stage. */
static struct ss_search *divide(const struct ss_search *whole, const struct ss_search_layout *row)
{
    struct ss_search *q = ss_search_new(whole->stages, row->chunks, whole->microbatches);
    if (!q)
        return NULL;
    q->v_shape = row->v_shape;
    q->split = whole->split;
    q->barrier = whole->barrier;
    for (int r = 0; r < q->stages; r++) {
        q->cap[r] = whole->cap[r];
        for (int k = r * q->chunks; k < (r + 1) * q->chunks; k++) {
            q->f[k] = whole->f[r] / q->chunks;
            q->i[k] = whole->i[r] / q->chunks;
            q->w[k] = whole->w[r] / q->chunks;
            q->activation[k] = whole->activation[r] / q->chunks;
            q->weight[k] = whole->weight[r] / q->chunks;
        }
    }
    return q;
}

static void take_result(const struct ss_search *whole, const struct ss_search_result *found,
                        struct ss_search_layout *row)
{
    row->length = row->summary.iteration_s = found->length;
    row->lower_bound = found->lower_bound;
    ss_copy(row->known, sizeof row->known, found->known);
    row->known_length = found->known_length;
    for (int r = 0; r < whole->stages; r++) {
        double work = whole->microbatches * (whole->f[r] + whole->i[r] + whole->w[r]);
        double idle = found->length > 0 ? 1 - work / found->length : 0;
        row->activation = fmax(row->activation, found->peak[r]);
        row->summary.bubble_fraction = fmax(row->summary.bubble_fraction, idle);
    }
}

static int find_order(const struct ss_search *whole, const struct ss_layout_options *o,
                      struct ss_search_layout *row, struct ss_error *err)
{
    struct ss_search *q = divide(whole, row);
    struct ss_search_result *found = NULL;
    SS_NEED(q, err);
    q->seed = o->seed;
    q->steps = o->steps;
    q->progress = o->progress;
    int rc = ss_search_run(q, &found, err);
    if (!rc)
        take_result(whole, found, row);
    if (!rc && o->draw && ss_search_strip(q, found->schedule, &row->strip))
        rc = ss_nomem(err);
    if (!rc) {
        row->found = 1;
        row->schedule = found->schedule;
        found->schedule = NULL;
    }
    ss_search_result_free(found);
    ss_search_free(q);
    return rc;
}

static int try_layout(const void *whole, const struct ss_layout_options *o, struct ss_search_layout *row,
                      struct ss_error *err)
{
    struct ss_error e = {0};
    int rc = find_order(whole, o, row, &e);
    return ss_search_layout_end(rc, &e, row, err);
}

static int better(const struct ss_search_layout *a, const struct ss_search_layout *b)
{
    return a->length < b->length;
}

int ss_search_layouts_of_shape(const struct ss_search *whole, const struct ss_layout_options *o,
                               struct ss_search_layouts **out, struct ss_error *err)
{
    static const int chunks[] = {1, 2, 2}, v_shape[] = {0, 0, 1};
    static const struct ss_layout_options usual = {.cap = INFINITY};
    struct ss_search_layouts *l = ss_calloc(1, sizeof *l);
    if (l)
        l->rows = ss_calloc(3, sizeof *l->rows);
    if (!l || !l->rows) {
        free(l);
        return ss_nomem(err);
    }
    l->n = whole->stages > 1 ? 3 : 1;
    for (int i = 0; i < l->n; i++)
        l->rows[i] =
            (struct ss_search_layout){.stages = whole->stages, .chunks = chunks[i], .v_shape = v_shape[i]};
    int rc = ss_search_layouts_try(l, whole, o ? o : &usual, try_layout, better, err);
    SS_HAND(rc, l, out, ss_search_layouts_free);
}
