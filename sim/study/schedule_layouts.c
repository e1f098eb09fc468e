/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the best order for each number of pipeline ranks and each placement of a job, and replays it
 * on the cluster. */
#include "base/base.h"
#include "stepsim/job.h"
#include "study/progress.h"
#include "study/schedule_order.h"
#include "study/schedule_strip.h"
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

/* ---- of a job ---- */

#define SHARE 5 /* a layout gets one in so many of the tries of a single search */

void ss_search_layouts_free(struct ss_search_layouts *l)
{
    if (!l)
        return;
    for (int i = 0; l->rows && i < l->n; i++) {
        ss_schedule_free(l->rows[i].schedule);
        ss_strip_free(l->rows[i].strip);
    }
    SS_FREE(l->rows, l);
}

int ss_search_layout_build(const struct ss_scenario *s, const struct ss_search_layout *row,
                           struct ss_scenario **out, struct ss_error *err)
{
    const struct ss_scenario_options like = {.like = s};
    struct ss_request r;
    char pp[16], vp[16];
    SS_TRY(ss_request_copy(s->request, &r, err));
    snprintf(pp, sizeof pp, "%d", row->stages);
    snprintf(vp, sizeof vp, "%d", row->chunks);
    int rc = ss_request_set(&r, "--pp", pp, err);
    if (!rc && (row->chunks > 1 || ss_job_chunks(s->job) > 1))
        rc = ss_request_set(&r, "--vp", row->v_shape ? "1" : vp, err);
    SS_THEN(rc, ss_request_set(&r, "--schedule", ss_schedule_undemanding(row->chunks, row->v_shape), err));
    SS_THEN(rc, ss_scenario_build(&r, &like, out, err));
    ss_request_free(&r);
    return rc;
}

static int find_order(const struct ss_scenario *s, const struct ss_layout_options *o,
                      struct ss_search_layout *row, struct ss_error *err)
{
    struct ss_search *q;
    struct ss_search_result *found = NULL;
    SS_TRY(ss_search_from_job(s, row->v_shape, &q, err));
    q->split = !o->whole;
    q->barrier = q->barrier && !o->no_barrier;
    q->seed = o->seed;
    q->steps = o->steps > 0 ? o->steps : ss_search_usual_steps(q) / SHARE + 1;
    q->progress = o->progress;
    int rc = isfinite(o->cap) ? ss_search_limit(q, o->cap, err) : SS_OK;
    SS_THEN(rc, ss_search_run(q, &found, err));
    if (!rc) {
        row->length = found->length;
        row->lower_bound = found->lower_bound;
        ss_copy(row->known, sizeof row->known, found->known);
        row->known_length = found->known_length;
        row->found = 1;
        row->schedule = found->schedule;
        found->schedule = NULL;
        ss_search_result_free(found);
    }
    ss_search_free(q);
    return rc;
}

static int replay_order(const struct ss_scenario *s, const struct ss_layout_options *o,
                        struct ss_search_layout *row, struct ss_error *err)
{
    const struct ss_run_options options = {.bands = o->bands, .schedule = row->schedule};
    struct ss_run run;
    int rc = ss_run_scenario(s, &options, &run, err);
    if (rc)
        return rc;
    row->summary = run.summary;
    for (int i = 0; i < run.result->nstages; i++) {
        const double *memory = run.result->stages[i].memory;
        row->activation = fmax(row->activation, memory[SS_MEM_ACTIVATIONS] + memory[SS_MEM_LOGITS]);
    }
    if (o->draw)
        rc = ss_strip_of_program(run.program, run.schedule, row->stages, row->chunks, &row->strip, err);
    ss_run_free(&run);
    return rc;
}

int ss_search_layout_end(int rc, const struct ss_error *e, struct ss_search_layout *row, struct ss_error *err)
{
    if (ss_status_refuses(rc)) {
        ss_summary_refuse(e, &row->summary);
        return SS_OK;
    }
    if (rc && err)
        *err = *e;
    return rc;
}

/* Tries a layout. If the framework refuses it, or no order keeps the cap, it becomes a row with the
 * reason. */
static int try_layout(const void *scenario, const struct ss_layout_options *o, struct ss_search_layout *row,
                      struct ss_error *err)
{
    struct ss_scenario *own = NULL;
    struct ss_error e = {0};
    int rc = ss_search_layout_build(scenario, row, &own, &e);
    SS_THEN(rc, find_order(own, o, row, &e));
    SS_THEN(rc, replay_order(own, o, row, &e));
    ss_scenario_free(own);
    return ss_search_layout_end(rc, &e, row, err);
}

static void add(struct ss_search_layouts *l, int stages, int chunks, int v_shape)
{
    l->rows[l->n++] = (struct ss_search_layout){.stages = stages, .chunks = chunks, .v_shape = v_shape};
}

/* Lists the layouts. Where the job gives layers to its stages, their number stays; else all numbers are
 * taken that divide the GPUs of a replica. */
static struct ss_search_layouts *list(const struct ss_scenario *s)
{
    const struct ss_job *job = s->job;
    int given = ss_job_has_stage_layers(job);
    int gpus = s->world_size / (job->tp * job->cp), most = job->model.num_layers;
    struct ss_search_layouts *l = ss_calloc(1, sizeof *l);
    if (l)
        l->rows = ss_calloc(3 * (size_t)(most + 1), sizeof *l->rows);
    if (!l || !l->rows) {
        ss_search_layouts_free(l);
        return NULL;
    }
    for (int p = given ? job->pp : 1; p <= most && p <= gpus; p = given ? most + 1 : p + 1) {
        if (gpus % p)
            continue;
        add(l, p, 1, 0);
        if (p > 1) {
            add(l, p, 2, 0);
            add(l, p, 2, 1);
        }
    }
    l->cluster = 1;
    return l;
}

static int better(const struct ss_search_layout *a, const struct ss_search_layout *b)
{
    return a->summary.tokens_per_s_per_gpu > b->summary.tokens_per_s_per_gpu;
}

int ss_search_layouts_run(const struct ss_scenario *s, const struct ss_layout_options *o,
                          struct ss_search_layouts **out, struct ss_error *err)
{
    static const struct ss_layout_options usual = {.cap = INFINITY};
    struct ss_search_layouts *l = list(s);
    int rc = l ? ss_search_layouts_try(l, s, o ? o : &usual, try_layout, better, err) : ss_nomem(err);
    SS_HAND(rc, l, out, ss_search_layouts_free);
}
