/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the layouts of a search of schedules, by workers. */
#include "base/base.h"
#include "stepsim/schedule_study.h"
#include "study/progress.h"
#include "study/schedule_order.h"
#include "workers/pool.h"

/* The rows at hand, and how one is tried. */
struct tries {
    struct ss_search_layouts *l;
    const void *whole;
    struct ss_layout_options o;
    ss_layout_search *search;
    const struct ss_study_progress *progress;
};

static int work(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct tries *x = ctx;
    struct ss_search_layout row = x->l->rows[item];
    int rc = x->search(x->whole, &x->o, &row, err);
    ss_schedule_free(row.schedule);
    row.schedule = NULL;
    memcpy(answer, &row, sizeof row);
    return rc;
}

static void tell(void *ctx, int done)
{
    const struct tries *x = ctx;
    ss_study_tell(x->progress, (double)done / x->l->n);
}

/* By processes, whose schedules stay where they were found. */
static int deal(struct tries *x, struct ss_error *err)
{
    struct ss_pool pool = {.workers = x->o.workers,
                           .nitems = x->l->n,
                           .size = sizeof(struct ss_search_layout),
                           .work = work,
                           .ctx = x,
                           .on_answer = tell,
                           .on_answer_ctx = x};
    x->o.progress = (struct ss_study_progress){NULL, NULL};
    return ss_pool_run(&pool, x->l->rows, err);
}

static int try_here(struct tries *x, struct ss_error *err)
{
    struct ss_study_part part = {.whole = x->progress, .n = x->l->n};
    int rc = SS_OK;
    x->o.progress = (struct ss_study_progress){ss_study_tell_part, &part};
    for (; part.i < part.n && !rc; part.i++)
        rc = x->search(x->whole, &x->o, &x->l->rows[part.i], err);
    return rc;
}

int ss_search_layouts_try(struct ss_search_layouts *l, const void *whole, const struct ss_layout_options *o,
                          ss_layout_search *search, ss_layout_better *better, struct ss_error *err)
{
    struct tries x = {.l = l, .whole = whole, .o = *o, .search = search, .progress = &o->progress};
    int n = o->workers.n > 0 ? o->workers.n : ss_pool_cores();
    SS_TRY(o->draw || n == 1 || l->n == 1 ? try_here(&x, err) : deal(&x, err));
    l->best = -1;
    for (int i = 0; i < l->n; i++) {
        const struct ss_summary *own = &l->rows[i].summary;
        if (l->rows[i].found && !own->code && own->outcome != SS_OUTCOME_TOO_LARGE &&
            (l->best < 0 || better(&l->rows[i], &l->rows[l->best])))
            l->best = i;
    }
    struct ss_search_layout *best = l->best >= 0 ? &l->rows[l->best] : NULL;
    if (!best || best->schedule)
        return SS_OK;
    *best =
        (struct ss_search_layout){.stages = best->stages, .chunks = best->chunks, .v_shape = best->v_shape};
    return search(whole, &x.o, best, err);
}
