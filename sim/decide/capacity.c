/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/capacity.h"

#include <sys/mman.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "decide/search_internal.h"
#include "job/input_cache.h"
#include "job/recipe.h"
#include "report/text.h"
#include "stepsim/import.h"
#include "study/study_internal.h"

static int usage(struct ss_error *err, const char *hint, const char *what)
{
    return ss_hint(err, ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s", what), "%s", hint);
}

/* ---- what is asked ---- */

/* Refuses varied flags that are no part of a layout: the search for each number of nodes must have one
 * best layout. */
static int check_varied(const struct ss_capacity_options *o, struct ss_error *err)
{
    for (int f = 0; o->vary && f < o->vary->nflags; f++) {
        const char *name = o->vary->flags[f].name;
        if (!strcmp(name, "--platform"))
            continue;
        if (o->layout == SS_CAPACITY_GIVEN) {
            ss_fail(err, SS_ERR_USAGE, NULL, 0, "--vary %.40s and --layout given exclude each other",
                    name + 2);
            return ss_hint(err, SS_ERR_USAGE, "leave one of them out");
        }
        if (ss_has_word("--nodes", name))
            return usage(err, "write --nodes 16..256 or --nodes 16,24", "nodes are no part of a layout");
        if (!ss_find_is_axis(name)) {
            ss_fail(err, SS_ERR_USAGE, NULL, 0, "%.40s is no flag of a layout: a plan is of one job", name);
            return ss_hint(err, SS_ERR_USAGE,
                           "vary platform, tp, cp, pp, ep, vp, mbs, recompute, fsdp or schedule");
        }
    }
    return SS_OK;
}

static int check_options(const struct ss_capacity_options *o, struct ss_error *err)
{
    if (!o || !(o->tokens >= 0) || isinf(o->tokens))
        return usage(err, "write --tokens 1T", "no number of tokens");
    if (o->layout != SS_CAPACITY_SEARCH && o->layout != SS_CAPACITY_GIVEN)
        return usage(err, "0 searches, 1 takes the job's own", "unknown way to choose a layout");
    if (!(o->deadline_s >= 0 && o->budget_usd >= 0))
        return usage(err, "0 is none", "a deadline or budget is negative");
    return check_varied(o, err);
}

static int copy_varied(struct ss_capacity_planner *x, struct ss_error *err)
{
    x->vary = ss_calloc(1, sizeof *x->vary);
    if (!x->vary)
        return ss_nomem(err);
    for (int f = 0; x->options->vary && f < x->options->vary->nflags; f++)
        if (strcmp(x->options->vary->flags[f].name, "--platform") != 0)
            x->vary->flags[x->vary->nflags++] = x->options->vary->flags[f];
    return SS_OK;
}

/* Returns the values of --platform that are varied; NULL: none. */
static const struct ss_sweep_flag *platforms_of(const struct ss_capacity_options *o)
{
    for (int f = 0; o->vary && f < o->vary->nflags; f++)
        if (!strcmp(o->vary->flags[f].name, "--platform"))
            return &o->vary->flags[f];
    return NULL;
}

/* Checks that the job says all that a plan needs, beside the number of nodes. */
static int check_job(const struct ss_request *base, const struct ss_capacity_options *o, struct ss_error *err)
{
    const unsigned needs = (platforms_of(o) ? 0 : SS_NEED_PLATFORM) | SS_NEED_MODEL | SS_NEED_SEQ |
                           SS_NEED_GBS | (o->layout == SS_CAPACITY_GIVEN ? SS_NEED_MBS : 0) |
                           (o->tokens >= 1 ? 0 : SS_NEED_TOKENS);
    struct ss_request one;
    struct ss_asked asked;
    int rc = ss_request_copy(base, &one, err);

    if (rc)
        return rc;
    ss_request_drop(&one, "--nodes");
    rc = ss_asked_read(&asked, &one, err);
    SS_THEN(rc, ss_asked_check_given(&asked, &one, needs, err));
    ss_request_free(&one);
    return rc;
}

/* ---- platforms ---- */

/* Makes *one, which must not be initialised, the words of a platform, in nodes. */
static int open_words(struct ss_capacity_planner *x, const struct ss_request *base, int cluster,
                      struct ss_request *one, struct ss_error *err)
{
    const struct ss_sweep_flag *platforms = platforms_of(x->options);
    const struct ss_scenario_options *how = x->options->how;
    int rc = ss_request_copy(base, one, err);

    if (!rc && x->options->vary)
        rc = ss_sweep_note_beaten(x->options->vary, one, err);
    if (!rc && platforms)
        rc = ss_request_set(one, "--platform", platforms->value[cluster], err);
    SS_THEN(rc,
            ss_request_count_nodes(x->loaded, one, how ? how->asker : NULL, how ? how->files : NULL, err));
    return rc;
}

static int open_base(struct ss_capacity_planner *x, const struct ss_request *base, int cluster,
                     struct ss_error *err)
{
    struct ss_request one; /* a range of nodes is nothing that a job's words are */
    int rc = ss_request_copy(base, &one, err);

    if (rc)
        return rc;
    ss_request_drop(&one, "--nodes");
    rc = ss_request_open(&one, &x->bases[cluster], err);
    ss_request_free(&one);
    return rc;
}

static int open_numbers(struct ss_capacity_planner *x, const struct ss_request *words, int cluster,
                        struct ss_capacity_numbers *numbers, struct ss_error *err)
{
    struct ss_capacity_cluster *k = &x->plan->clusters[cluster];
    struct ss_error first = {0}, why = {0};
    int rc = open_base(x, words, cluster, err);

    k->rack = 1;
    SS_THEN(rc, ss_capacity_numbers_read(words, 1, numbers, err));
    if (rc)
        return rc;
    for (int i = 0; i < numbers->n && i < SS_SWEEP_VALUES; i++) {
        rc = ss_capacity_open_cluster(x, cluster, numbers->nodes[i], i ? &why : &first);
        if (!rc || !ss_status_refuses(rc))
            break;
    }
    if (rc && err)
        *err = first;
    if (rc || k->rack == 1)
        return rc ? first.code : SS_OK;
    ss_capacity_numbers_free(numbers);
    return ss_capacity_numbers_read(words, k->rack, numbers, err);
}

/* Opens a platform with the first of its numbers of nodes that it has. */
static int open_cluster(struct ss_capacity_planner *x, const struct ss_request *base, int cluster,
                        struct ss_capacity_numbers *numbers, struct ss_error *err)
{
    struct ss_request words;
    int rc = open_words(x, base, cluster, &words, err);

    SS_THEN(rc, open_numbers(x, &words, cluster, numbers, err));
    ss_request_free(&words);
    return rc;
}

static int open_all(struct ss_capacity_planner *x, const struct ss_request *base,
                    struct ss_capacity_numbers *numbers, struct ss_error *err)
{
    struct ss_capacity *c = x->plan;
    int rc = SS_OK;

    for (int k = 0; k < c->nclusters && !rc; k++)
        rc = open_cluster(x, base, k, &numbers[k], err);
    for (int k = 0; k < c->nclusters && !rc; k++)
        ss_capacity_mark_hopeless(c, &c->clusters[k], &numbers[k]);
    SS_THEN(rc, ss_capacity_check_amounts(c, x->tokens_a_row * c->asked_batch, err));
    return rc;
}

/* ---- the plan ---- */

/* Fails where every number of nodes is refused, because then there is no plan. */
static int check_any(const struct ss_capacity *c, const struct ss_error *first, struct ss_error *err)
{
    for (int i = 0; i < c->npoints; i++)
        if (c->points[i].summary.outcome != SS_OUTCOME_REFUSED)
            return SS_OK;
    if (err)
        *err = *first;
    return first->code;
}

/* Returns the chosen point of a cluster, or the first that is no refusal; -1: none. */
static int shown_of(const struct ss_capacity *c, int cluster)
{
    if (c->clusters[cluster].chosen >= 0)
        return c->clusters[cluster].chosen;
    for (int p = 0; p < c->npoints; p++)
        if (c->points[p].cluster == cluster && c->points[p].summary.outcome != SS_OUTCOME_REFUSED)
            return p;
    return -1;
}

static int find_premises(const struct ss_capacity_planner *x, struct ss_error *err)
{
    static const struct ss_sweep differ = {.nflags = 2,
                                           .flags = {{.name = "--nodes"}, {.name = "--global-batch-size"}}};
    struct ss_capacity *c = x->plan;
    int rc = SS_OK;

    for (int k = 0; k < c->nclusters && !rc; k++) {
        const int i = shown_of(c, k);
        if (i >= 0)
            rc = ss_premises_behind(&x->bases[k], c->points[i].flags, x->options->how, &differ,
                                    c->clusters[k].premises, sizeof c->clusters[k].premises, err);
    }
    return rc;
}

static int find_warnings(const struct ss_capacity_planner *x, struct ss_error *err)
{
    struct ss_capacity *c = x->plan;
    int i = -1;

    for (int k = 0; k < c->nclusters && i < 0; k++)
        i = c->clusters[k].chosen;
    for (int k = 0; k < c->nclusters && i < 0; k++)
        i = shown_of(c, k);
    return i < 0 ? SS_OK
                 : ss_warnings_behind(&x->bases[c->points[i].cluster], c->points[i].flags, x->options->how,
                                      &c->warnings, err);
}

/* Adds what would make the job of a point fit. A search has tried what a layout can do; then the fewest GPUs are left to tell. */
static int add_fixes(const struct ss_capacity_planner *x, const struct ss_capacity_point *p,
                     struct ss_error *err)
{
    const char *platform = x->plan->clusters[p->cluster].platform;
    struct ss_scenario *s = NULL;
    struct ss_smallest smallest = {0};
    struct ss_fix fixes[3];
    struct ss_request r;
    char time[32];
    int n = 0, rc = ss_request_copy(&x->bases[p->cluster], &r, err);

    if (rc)
        return rc;
    rc = ss_request_read_text(&r, p->flags, strlen(p->flags), "capacity", err);
    if (!rc && ss_scenario_build(&r, x->options->how, &s, NULL) == SS_OK) {
        if (x->options->layout == SS_CAPACITY_GIVEN)
            rc = ss_fixes_find(s, &x->run, fixes, &n, err);
        for (int i = 0; i < n && !rc; i++)
            rc = ss_notes_add(&x->plan->fixes, "%s, %d nodes: %s fits, %s an iteration", platform, p->nodes,
                              fixes[i].change, ss_text_time(fixes[i].summary.iteration_s, time, sizeof time));
        ss_smallest_find(s, x->run.cache, &smallest);
        if (!rc && smallest.gpus)
            rc = ss_notes_add(
                &x->plan->fixes,
                "%s: %d GPUs are the fewest that hold weights, gradients and optimizer states: %s", platform,
                smallest.gpus, smallest.flags);
        if (rc == SS_ERR_NOMEM)
            ss_nomem(err);
    }
    ss_scenario_free(s);
    ss_request_free(&r);
    return rc;
}

/* Finds fixes for each platform of which no point holds the job, by its most nodes that are too few. */
static int find_fixes(const struct ss_capacity_planner *x, struct ss_error *err)
{
    const struct ss_capacity *c = x->plan;
    int rc = SS_OK;

    for (int k = 0; k < c->nclusters && !rc; k++) {
        const struct ss_capacity_point *most = NULL;
        int holds = 0;
        for (int i = 0; i < c->npoints; i++) {
            const struct ss_capacity_point *p = &c->points[i];
            holds |= p->cluster == k && ss_capacity_holds(p);
            if (p->cluster == k && p->summary.outcome == SS_OUTCOME_TOO_LARGE)
                most = p;
        }
        if (!holds && most)
            rc = add_fixes(x, most, err);
    }
    return rc;
}

static int make_room(struct ss_capacity_planner *x, struct ss_capacity_numbers **numbers,
                     struct ss_error *err)
{
    const struct ss_sweep_flag *platforms = platforms_of(x->options);
    int n = platforms ? platforms->nvalues : 1;
    size_t size = (size_t)n * sizeof *x->boards;

    x->loaded = ss_input_cache_new();
    x->plan = ss_calloc(1, sizeof *x->plan);
    x->bases = ss_calloc((size_t)n, sizeof *x->bases);
    *numbers = ss_calloc((size_t)n, sizeof **numbers);
    x->boards = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (x->boards == MAP_FAILED)
        x->boards = NULL;
    if (!x->loaded || !x->plan || !x->bases || !*numbers || !x->boards)
        return ss_nomem(err);
    x->plan->clusters = ss_calloc((size_t)n, sizeof *x->plan->clusters);
    if (!x->plan->clusters)
        return ss_nomem(err);
    x->plan->nclusters = n;
    return copy_varied(x, err);
}

static int run(struct ss_capacity_planner *x, const struct ss_request *base,
               struct ss_capacity_numbers **numbers, struct ss_error *err)
{
    const struct ss_capacity_options *o = x->options;
    struct ss_error first = {0};
    int rc = check_options(o, err);

    SS_THEN(rc, check_job(base, o, err));
    SS_THEN(rc, make_room(x, numbers, err));
    if (rc)
        return rc;
    x->plan->tokens = o->tokens;
    x->plan->deadline_s = o->deadline_s;
    x->plan->budget_usd = o->budget_usd;
    x->plan->layout = o->layout;
    rc = open_all(x, base, *numbers, err);
    if (!rc && !x->run.bands) {
        rc = ss_bands_load(NULL, o->how ? o->how->files : NULL, &x->bands, err);
        x->run.bands = x->bands;
    }
    SS_THEN(rc, ss_capacity_plan_all(x, *numbers, &first, err));
    SS_THEN(rc, check_any(x->plan, &first, err));
    SS_THEN(rc, find_fixes(x, err));
    SS_THEN(rc, find_premises(x, err));
    return rc ? rc : find_warnings(x, err);
}

int ss_capacity_run(const struct ss_request *base, const struct ss_capacity_options *options,
                    struct ss_capacity **out, struct ss_error *err)
{
    struct ss_capacity_planner x = {.options = options};
    struct ss_capacity_numbers *numbers = NULL;

    x.run = options && options->run ? *options->run : (struct ss_run_options){.engine = SS_ENGINE_NATIVE};
    int rc = run(&x, base, &numbers, err), n = x.plan ? x.plan->nclusters : 0;
    if (rc)
        ss_capacity_free(x.plan);
    else
        *out = x.plan;
    for (int k = 0; k < n; k++) {
        ss_request_free(&x.bases[k]);
        ss_capacity_numbers_free(&numbers[k]);
    }
    if (x.boards)
        munmap(x.boards, (size_t)n * sizeof *x.boards);
    ss_bands_free(x.bands);
    if (x.loaded)
        ss_input_cache_drop(x.loaded);
    SS_FREE(x.bases, numbers, x.vary);
    return rc;
}

void ss_capacity_free(struct ss_capacity *plan)
{
    if (plan) {
        SS_FREE(plan->clusters, plan->points);
        ss_notes_free(&plan->warnings);
        ss_notes_free(&plan->fixes);
    }
    free(plan);
}
