/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "decide/search_internal.h"

/* Layouts that are predicted before what is known decides which are next: as many for any number of workers, so that they are
 * the same. */
#define FIRST 64
#define MOST 1024

/* What has been predicted so far. */
struct state {
    const struct ss_find_options *options;
    struct ss_find_space space;
    struct ss_bands *bands;
    struct ss_run_options run;
    size_t next; /* of the leaves in their order */
    size_t cap;
};

static int no_memory(struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the layouts");
}

/* Puts up to `most` leaves that may win into the batch. */
static int take(struct state *x, const struct ss_find_leaf **batch, int most)
{
    int n = 0;
    while (n < most && x->next < x->space.nleaves)
        batch[n++] = &x->space.leaves[x->next++];
    return n;
}

/* Plans refuse what only they see: a schedule's own conditions. */
static int count_points(struct state *x, int first, struct ss_error *err)
{
    struct ss_find_result *f = x->space.found;
    int kept = first, rc = SS_OK;
    for (int i = first; i < f->npoints && !rc; i++) {
        struct ss_find_point *p = &f->points[i];
        if (p->summary.outcome == SS_OUTCOME_REFUSED) {
            struct ss_error why = {.code = p->summary.code};
            ss_copy(why.message, sizeof why.message, p->summary.reason);
            ss_copy(why.flags, sizeof why.flags, "--schedule");
            rc = ss_find_refuse(&x->space, p->group, &why, 1, err);
            continue;
        }
        f->groups[p->group].predicted++;
        f->points[kept++] = *p;
    }
    f->npoints = kept;
    return rc;
}

static int predict_all(struct state *x, struct ss_error *err)
{
    const struct ss_find_leaf **batch = malloc(MOST * sizeof *batch);
    struct ss_find_result *f = x->space.found;
    int rc = batch ? SS_OK : no_memory(err), size = FIRST;
    while (!rc) {
        int n = take(x, batch, size), first = f->npoints;
        if (!n)
            break;
        if (ss_grow(&f->points, &x->cap, (size_t)(first + n), sizeof *f->points))
            rc = no_memory(err);
        if (rc)
            break;
        memset(f->points + first, 0, (size_t)n * sizeof *f->points);
        struct ss_find_options with = *x->options;
        with.run = &x->run;
        rc = ss_find_predict(&x->space, &with, batch, n, f->points + first, err);
        f->npoints += rc ? 0 : n;
        if (!rc)
            rc = count_points(x, first, err);
        if (x->options->progress)
            x->options->progress(x->options->ctx, (int64_t)x->next, (int64_t)x->space.nleaves);
        size = size < MOST ? 2 * size : MOST;
    }
    free(batch);
    return rc;
}

static int by_count(const void *left, const void *right)
{
    const struct ss_find_rule *a = left, *b = right;
    return a->n < b->n ? 1 : a->n > b->n ? -1 : strcmp(a->flags, b->flags);
}

/* The rule that killed most says what to change. */
static int check_any(const struct ss_find_result *f, struct ss_error *err)
{
    int64_t refused = 0, layouts = 0;
    for (int g = 0; g < f->ngroups; g++) {
        refused += f->groups[g].refused;
        layouts += f->groups[g].layouts;
    }
    if (refused < layouts || f->nrules == 0)
        return SS_OK;
    const struct ss_find_rule *r = &f->rules[0];
    ss_fail(err, r->code, NULL, 0, "all of %lld layouts are refused, %lld of them so: %s", (long long)layouts,
            (long long)r->n, r->example);
    return ss_hint(err, r->code, "%s%s", r->flags[0] ? "change " : "vary other flags", r->flags);
}

static int run(struct state *x, const struct ss_request *base, struct ss_error *err)
{
    int rc = ss_find_space_build(base, x->options, &x->space, err);
    if (!rc && !x->run.bands) {
        rc = ss_bands_load(NULL, x->options->how ? x->options->how->files : NULL, &x->bands, err);
        x->run.bands = x->bands;
    }
    if (!rc)
        rc = predict_all(x, err);
    if (rc)
        return rc;
    struct ss_find_result *f = x->space.found;
    if (f->nrules)
        qsort(f->rules, (size_t)f->nrules, sizeof *f->rules, by_count);
    rc = check_any(f, err);
    if (!rc)
        ss_find_rank(f);
    return rc;
}

int ss_find_run(const struct ss_request *base, const struct ss_find_options *options,
                struct ss_find_result **out, struct ss_error *err)
{
    static const struct ss_find_options usual;
    struct state x = {.options = options ? options : &usual};
    x.run = x.options->run ? *x.options->run : (struct ss_run_options){.engine = SS_ENGINE_NATIVE};
    int rc = run(&x, base, err);
    ss_bands_free(x.bands);
    if (!rc) {
        *out = x.space.found;
        x.space.found = NULL;
    }
    ss_find_space_free(&x.space);
    return rc;
}
