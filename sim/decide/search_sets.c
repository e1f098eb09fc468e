/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which switches are on. For one set of them the search over layouts is exact; sets are tried from all that are fast by
 * their nature: the best layout with a set tells which switch to turn, and the search is made again with that set, until
 * no switch of the best layout and no layout under its set is better. A switch may need other layouts before it helps
 * (offload makes room for faster ones, the overlap of tensor ranks slows layouts that have many), so each switch is
 * turned once in the best set, before the layouts are searched again, until a whole pass over the switches finds
 * nothing better.
 */
#include "base/base.h"
#include "decide/search_internal.h"
#include "job/recipe.h"

/* share of a time: a smaller gain is none */
#define LEAST_GAIN 1e-6
/* rounds from one start; each is better than the one before */
#define ROUNDS 6

SS_NAMES(ss_find_axes_word, SS_FIND_AXES_LIST, SS_SECOND)

/* Predicts a leaf with the switches `on` and no others, and changes *set so that they are on there: what one of the others
 * kept off must not come up. *seconds is infinite where it does not surely fit, and -1 where they are not legal. A
 * negative status is an error. */
static int try_on(struct ss_find_space *s, struct ss_find_crew *crew, const struct ss_find_leaf *leaf,
                  unsigned on, unsigned *set, double *seconds, struct ss_error *err)
{
    struct ss_find_leaf with = *leaf;
    struct ss_find_point p = {0};
    struct ss_job job;
    unsigned more = ss_find_switches_of(leaf->at) & ~on;
    *set |= on;
    do {
        *set &= ~more;
        SS_TRY(ss_find_leaf_switch(s, &with, *set, &job, err));
        more = ss_find_switches_of(with.at) & ~on;
    } while (more);
    *seconds = -1;
    if (ss_find_switches_of(with.at) != on)
        return SS_OK;
    SS_TRY(ss_find_predict_here(crew, &with, &p, err));
    *seconds = p.summary.outcome == SS_OUTCOME_FITS ? p.summary.iteration_s : INFINITY;
    return SS_OK;
}

/* Turns switch `bit` of a layout, and where it is not legal there as another is on or off, both. Sets *set and *least to
 * what is better than *least. */
static int turn_one(struct ss_find_space *s, struct ss_find_crew *crew, const struct ss_find_leaf *leaf,
                    unsigned from, int bit, unsigned *set, double *least, struct ss_error *err)
{
    const unsigned on = ss_find_switches_of(leaf->at) ^ 1u << bit;
    double seconds = -1;
    for (int i = -1; i < ss_find_switches(); i++) {
        unsigned with = from;
        SS_TRY(try_on(s, crew, leaf, i < 0 ? on : on ^ 1u << i, &with, &seconds, err));
        if (seconds >= 0 && seconds < *least) {
            *least = seconds;
            *set = with;
        }
        if (i < 0 && (seconds >= 0 || !(on >> bit & 1)))
            break;
    }
    return SS_OK;
}

/* Turns the switches of one layout, each time the one that helps most. */
static int turn(struct ss_find_space *s, struct ss_find_crew *crew, struct ss_find_leaf *leaf, unsigned *set,
                double *best, struct ss_error *err)
{
    struct ss_job job;
    for (;;) {
        const unsigned from = *set;
        double least = *best * (1 - LEAST_GAIN);
        for (int i = 0; i < ss_find_switches(); i++)
            SS_TRY(turn_one(s, crew, leaf, from, i, set, &least, err));
        if (!(least < *best * (1 - LEAST_GAIN)))
            return SS_OK;
        *best = least;
        SS_TRY(ss_find_leaf_switch(s, leaf, *set, &job, err));
    }
}

/* Tries sets that differ from the round's in a switch on the best layout of each group, as long as one is better. */
static int try_sets(struct ss_find_round *r, struct ss_find_space *s, struct ss_find_crew *crew,
                    struct ss_error *err)
{
    const struct ss_find_result *f = s->found;
    int rc = SS_OK;
    for (int g = 0; g < f->ngroups && !rc; g++) {
        const struct ss_find_point *p = f->groups[g].best >= 0 ? &f->points[f->groups[g].best] : NULL;
        if (!p || !(p->summary.iteration_s < r->best[g] * (1 - LEAST_GAIN)))
            continue;
        struct ss_find_leaf leaf = s->leaves[p->number];
        leaf.at[SS_FIND_BLOCK_LAYERS] = (unsigned char)p->recompute_layers;
        r->best[g] = p->summary.iteration_s;
        r->sets[g] = s->clusters[g].switches;
        r->better = r->found = 1;
        rc = turn(s, crew, &leaf, &r->sets[g], &r->best[g], err);
    }
    return rc;
}

/* Searches from the sets of a start until nothing is better. The first round is exact if the caller asks for it. */
static int search_from(const struct ss_request *base, const struct ss_find_options *o, const unsigned *start,
                       int exact, struct ss_find_space *s, struct ss_find_round *r, struct ss_error *err)
{
    struct ss_find_options with = *o;
    int rc = SS_OK;
    with.best_only = with.brief = 1;
    with.exhaustive = with.confirm = 0;
    with.workers.journal = NULL;
    with.workers.resume = 0;
    with.below = r->best;
    r->better = 1;
    for (int i = 0; i < ROUNDS && r->better && !rc; i++) {
        for (int c = 0; c < s->nclusters; c++)
            s->clusters[c].switches = start[c];
        r->better = 0;
        r->exact = exact && i == 0;
        rc = ss_find_search(base, &with, s, r, err);
        start = r->sets;
    }
    return rc;
}

/* Turns each switch in the best sets, and searches from there, until a pass over all of them finds nothing better. */
static int turn_all(const struct ss_request *base, const struct ss_find_options *o, unsigned *start,
                    struct ss_find_space *s, struct ss_find_round *r, struct ss_error *err)
{
    int rc = SS_OK;
    for (int i = 0, last = 0; i - last < ss_find_switches() && !rc; i++) {
        for (int c = 0; c < s->nclusters; c++)
            start[c] = r->sets[c] ^ 1u << i % ss_find_switches();
        r->found = 0;
        rc = search_from(base, o, start, 0, s, r, err);
        last = r->found ? i + 1 : last;
    }
    return rc;
}

/* Finds the best set of each cluster. Rounds between leave out what is slow with other switches; the last one, with the
 * best sets, does not. */
static int find_sets(const struct ss_request *base, const struct ss_find_options *o, struct ss_find_space *s,
                     struct ss_error *err)
{
    const unsigned usual = ss_find_switches_usual();
    const size_t n = (size_t)s->nclusters;
    unsigned *sets = ss_calloc(n, sizeof *sets), *start = ss_calloc(n, sizeof *start);
    double *best = ss_calloc(n, sizeof *best);
    struct ss_find_round r = {
        .sets = sets, .best = best, .turn = try_sets, .known = ss_find_known_open(s->nleaves)};
    int rc = sets && start && best && r.known ? SS_OK : ss_nomem(err);
    for (size_t c = 0; c < n && !rc; c++) {
        start[c] = sets[c] = usual;
        best[c] = INFINITY;
    }
    SS_THEN(rc, search_from(base, o, start, 1, s, &r, err));
    for (r.found = 1; r.found && !rc;) {
        rc = turn_all(base, o, start, s, &r, err);
        r.found = 0;
        SS_THEN(rc, search_from(base, o, sets, 1, s, &r, err));
    }
    for (int c = 0; c < s->nclusters && !rc; c++)
        s->clusters[c].switches = sets[c];
    ss_find_known_close(r.known);
    SS_FREE(sets, start, best);
    return rc;
}

/* Enumerates the layouts, finds the best switches where they are searched, and searches the layouts with them. */
static int search_axes(const struct ss_request *base, const struct ss_find_options *o,
                       struct ss_find_result **out, struct ss_error *err)
{
    struct ss_find_options with = *o;
    struct ss_run_options run = *o->run;
    struct ss_bands *bands = NULL;
    struct ss_find_space s;
    int rc = ss_find_space_build(base, o, &s, err), sets = o->axes != SS_FIND_AXES_LAYOUT && !o->switches;
    if (!rc && !run.bands)
        rc = ss_bands_load(NULL, o->how->files, &bands, err);
    run.bands = run.bands ? run.bands : bands;
    with.run = &run;
    for (int c = 0; c < s.nclusters && !rc; c++) {
        s.clusters[c].room = ss_find_room(&s.clusters[c], run.bands);
        s.clusters[c].switches = sets ? ss_find_switches_usual() : s.clusters[c].switches;
    }
    SS_THEN(rc, ss_find_walk(&s, &with, 1, err));
    SS_THEN(rc, ss_find_files(&s, o->how->files, err));
    if (!rc && sets && s.nleaves)
        rc = find_sets(base, &with, &s, err);
    SS_THEN(rc, ss_find_search(base, &with, &s, NULL, err));
    if (!rc) {
        *out = s.found;
        s.found = NULL;
    }
    ss_find_space_free(&s);
    ss_bands_free(bands);
    return rc;
}

int ss_find_run(const struct ss_request *asked, const struct ss_find_options *options,
                struct ss_find_result **out, struct ss_error *err)
{
    const struct ss_run_options native = {.engine = SS_ENGINE_NATIVE};
    struct ss_request base;
    struct ss_find_options with = options ? *options : (struct ss_find_options){0};
    struct ss_scenario_options how = with.how ? *with.how : (struct ss_scenario_options){0};
    struct ss_files files = {0}; /* files that the journal's digest covers */
    if (!with.run)
        with.run = &native;
    if (!how.files)
        how.files = &files;
    with.how = &how;
    SS_TRY(ss_request_open(asked, &base, err));
    int rc = search_axes(&base, &with, out, err);
    ss_request_free(&base);
    ss_files_free(&files);
    return rc;
}
