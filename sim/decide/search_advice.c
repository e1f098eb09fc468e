/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of the best layout beside its figures, and which changes help it that leave the layout as it is: those of explain. */
#include "base/base.h"
#include "decide/advise.h"
#include "decide/search_state.h"
#include "job/release.h"
#include "study/changes.h"
#include "study/study_internal.h"
#include "workers/pool.h"

/* A layout that is the best, or the best so far. */
struct ss_find_best {
    char words[sizeof((struct ss_find_group *)0)->flags + SS_FIND_FLAGS + 1];
    double seconds;
    struct ss_request request;
    struct ss_scenario *scenario; /* NULL: refused, because of `why` */
    struct ss_error why;
    struct ss_explanation *advice;
    struct ss_advisor *advisor; /* NULL: nobody has asked for advice yet */
};

void ss_find_best_close(struct ss_find_best *b)
{
    if (!b)
        return;
    ss_advisor_close(b->advisor);
    free(b->advice);
    ss_scenario_free(b->scenario);
    ss_request_free(&b->request);
    free(b);
}

/* Makes x->best the layout of a point, unless it is. */
static int open_best(struct ss_find_state *x, const struct ss_find_point *p, struct ss_error *err)
{
    struct ss_find_best *b = ss_calloc(1, sizeof *b);
    SS_NEED(b, err);
    snprintf(b->words, sizeof b->words, "%s %s", x->space->found->groups[p->group].flags, p->flags);
    if (x->best && !strcmp(x->best->words, b->words)) {
        free(b);
        return SS_OK;
    }
    ss_find_best_close(x->best);
    x->best = NULL;
    b->seconds = p->summary.iteration_s;
    int rc = ss_request_behind(x->base, b->words, &b->request, err);
    if (rc) {
        free(b);
        return rc;
    }
    if (ss_scenario_build_from(x->space->loaded, &b->request, x->options->how->asker, NULL, &b->scenario,
                               &b->why))
        b->scenario = NULL;
    x->best = b;
    return SS_OK;
}

static int open_advisor(const struct ss_find_state *x, struct ss_find_best *b, struct ss_error *err)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE,
                                     .unchecked = 1,
                                     .narrow = 1,
                                     .bands = x->options->run->bands,
                                     .workers = x->options->workers};
    if (!b->scenario && err)
        *err = b->why;
    if (!b->scenario || b->advisor)
        return b->scenario ? SS_OK : (int)b->why.code;
    b->advice = b->advice ? b->advice : ss_calloc(1, sizeof *b->advice);
    SS_NEED(b->advice, err);
    if (!options.workers.n && !options.workers.team)
        options.workers.n = ss_pool_cores();
    ss_copy(b->advice->side.name, sizeof b->advice->side.name, "the best");
    b->advice->side.summary.iteration_s = b->seconds;
    return ss_advisor_open(b->scenario, -1, &options, SS_CHANGE_BESIDE, b->advice, &b->advisor, err);
}

void ss_find_best_begin(struct ss_find_state *x)
{
    const struct ss_find_result *f = x->space->found;
    const struct ss_find_point *best = NULL;
    for (int i = 0; i < f->npoints && !x->options->best_only; i++) {
        const struct ss_find_point *p = &f->points[i];
        if (p->summary.outcome == SS_OUTCOME_FITS && !p->summary.doubted &&
            (!best || p->group < best->group ||
             (p->group == best->group && p->summary.iteration_s < best->summary.iteration_s)))
            best = p;
    }
    if (best && !open_best(x, best, NULL))
        open_advisor(x, x->best, NULL);
}

struct ss_crew *ss_find_best_crew(const struct ss_find_state *x)
{
    return x->best && x->best->advisor ? ss_advisor_crew(x->best->advisor) : NULL;
}

static int advise(struct ss_find_state *x, struct ss_find_best *b, struct ss_error *err)
{
    SS_TRY(open_advisor(x, b, err));
    SS_TRY(ss_advisor_run(b->advisor, err));
    x->space->found->advice = b->advice;
    b->advice = NULL;
    ss_advisor_close(b->advisor);
    b->advisor = NULL;
    return SS_OK;
}

/* Notes the switches that were not tried, because the stack does not have them. */
static int tell_later(const struct ss_find_cluster *c, struct ss_notes *notes, struct ss_error *err)
{
    char words[400];
    if (!c->later)
        return SS_OK;
    ss_job_later_words(c->later, words, sizeof words);
    return ss_notes_add(notes, "not tried, because %s does not have them: %s", c->stack->name, words)
               ? ss_nomem(err)
               : SS_OK;
}

int ss_find_tell_best(struct ss_find_state *x, struct ss_error *err)
{
    struct ss_scenario_options how = {.asker = x->options->how->asker};
    struct ss_find_result *f = x->space->found;
    struct ss_find_point held = {0};
    int i = -1, rc = SS_OK;

    for (int g = 0; g < f->ngroups && i < 0; g++)
        i = f->groups[g].best >= 0 ? f->groups[g].best : f->groups[g].near;
    while (!f->npoints && held.group < f->ngroups && !f->groups[held.group].held[0])
        held.group++;
    if (held.group == f->ngroups || (i < 0 && x->options->best_only))
        return SS_OK;
    ss_copy(held.flags, sizeof held.flags, f->groups[held.group].held);
    SS_TRY(open_best(x, !f->npoints ? &held : &f->points[i >= 0 ? i : 0], err));
    how.like = x->best->scenario;
    if (i < 0 && x->best->scenario)
        ss_smallest_find(x->best->scenario, NULL, &f->smallest);
    if (i >= 0)
        rc = ss_warnings_behind(x->base, x->best->words, &how, &f->warnings, err);
    if (i >= 0 && !rc && x->options->axes != SS_FIND_AXES_LAYOUT)
        rc = tell_later(&x->space->clusters[f->points[i].group], &f->warnings, err);
    SS_THEN(rc, ss_premises_find(&x->best->request, &how, x->options->vary, f->premises, sizeof f->premises,
                                 err));
    return rc || i < 0 || x->options->best_only ? rc : advise(x, x->best, err);
}
