/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the clusters, and the layouts on each that the framework accepts by the rules of
 * ss_scenario_build. */
#include "base/base.h"
#include "decide/search_internal.h"
#include "model/model_internal.h"
#include "stepsim/schedule.h"

/* ---- clusters ---- */

static int outer_flags(const struct ss_sweep *vary, int *outer)
{
    int n = 0;
    for (int f = 0; vary && f < vary->nflags; f++)
        if (!ss_find_is_axis(vary->flags[f].name))
            outer[n++] = f;
    return n;
}

int ss_find_clusters(const struct ss_sweep *vary, int most)
{
    int outer[SS_SWEEP_FLAGS], flags = outer_flags(vary, outer), n = 1;
    for (int k = 0; k < flags; k++) {
        if (n > most / vary->flags[outer[k]].nvalues)
            return 0;
        n *= vary->flags[outer[k]].nvalues;
    }
    return n;
}

static int add_words(struct ss_find_cluster *c, const struct ss_sweep *vary, const int *outer, int n, int i,
                     char *flags, size_t size, struct ss_error *err)
{
    int rc = SS_OK;
    size_t used = 0;
    for (int k = n - 1; k >= 0; k--) {
        c->at[k] = i % vary->flags[outer[k]].nvalues;
        i /= vary->flags[outer[k]].nvalues;
    }
    flags[0] = 0;
    for (int k = 0; k < n && !rc; k++) {
        const struct ss_sweep_flag *f = &vary->flags[outer[k]];
        const char *value = strcmp(f->value[c->at[k]], "on") ? f->value[c->at[k]] : NULL;
        if (value && !strcmp(value, "off"))
            continue;
        rc = ss_request_set(&c->request, f->name, value, err);
        if (used < size)
            used += (size_t)snprintf(flags + used, size - used, "%s%s%s%s", used ? " " : "", f->name,
                                     value ? " " : "", value ? value : "");
    }
    return rc;
}

/* Finds the model with its sizes. Checks and defaults follow with each layout. */
static int find_model(const struct ss_find_space *s, struct ss_find_cluster *c, struct ss_error *err)
{
    if (!c->asked.job.model_ref[0]) {
        c->model = c->asked.job.model;
        return SS_OK;
    }
    int rc = ss_input_cache_model(s->loaded, c->asked.job.model_ref, &c->model, err);
    if (rc)
        ss_request_locate(&c->request, "--model", err);
    else
        ss_model_overlay(&c->model, &c->asked.job.model);
    return rc;
}

static int load_cluster(struct ss_find_space *s, struct ss_find_cluster *c, const struct ss_find_options *o,
                        struct ss_error *err)
{
    struct ss_files *files = o->how ? o->how->files : NULL;
    int rc = ss_request_count_nodes(s->loaded, &c->request, o->how ? o->how->asker : NULL, files, err);
    ss_asked_init(&c->asked);
    SS_THEN(rc, ss_asked_parse(&c->asked, &c->request, NULL, NULL, err));
    SS_THEN(rc, ss_asked_check_given(&c->asked, &c->request, (SS_NEEDS_OF_A_RUN & ~SS_NEED_MBS) | SS_NEED_GBS,
                                     err));
    SS_THEN(rc, ss_input_cache_find(s->loaded, &c->asked.job, &c->request, o->how ? o->how->asker : NULL,
                                    files, &c->platform, &c->stack, err));
    if (rc)
        return rc;
    c->gpus_per_node = ss_platform_gpus_per_node(c->platform);
    c->world_size = ss_job_world_size(&c->asked.job, ss_platform_nodes(c->platform), c->gpus_per_node);
    rc = find_model(s, c, err);
    return rc ? rc : ss_find_axes_build(c, o->vary, err);
}

/* Returns 1 if two clusters train the same model on the same tokens in an iteration, so that their times
 * can be compared. */
static int is_same_work(const struct ss_find_cluster *a, const struct ss_find_cluster *b)
{
    const struct ss_job *x = &a->asked.job, *y = &b->asked.job;
    return x->global_batch == y->global_batch && x->seq_length == y->seq_length &&
           x->packed.law == y->packed.law && x->packed.low == y->packed.low &&
           x->packed.high == y->packed.high && !strcmp(x->packed.source, y->packed.source) &&
           a->asked.document_masking == b->asked.document_masking &&
           !memcmp(&a->model, &b->model, sizeof a->model);
}

/* Returns the first cluster with the same work. */
static int work_of(const struct ss_find_space *s, int i)
{
    int first = 0;
    while (first < i && !is_same_work(&s->clusters[first], &s->clusters[i]))
        first++;
    return first;
}

static int build_cluster(struct ss_find_space *s, int i, const struct ss_request *base,
                         const struct ss_find_options *o, const int *outer, int n, struct ss_error *err)
{
    struct ss_find_cluster *c = &s->clusters[i];
    struct ss_find_group *g = &s->found->groups[i];
    SS_TRY(ss_request_copy(base, &c->request, err));
    s->nclusters++;
    c->typed = ss_find_typed_new();
    int rc = add_words(c, o->vary, outer, n, i, g->flags, sizeof g->flags, err);
    c->given = o->axes == SS_FIND_AXES_SWITCHES;
    SS_THEN(rc, load_cluster(s, c, o, err));
    SS_THEN(rc, ss_find_switches_of_recipe(s, c, err));
    if (rc)
        return rc;
    if (o->switches)
        c->switches = o->switches[i];
    if (c->switches || o->axes != SS_FIND_AXES_LAYOUT)
        c->said = ss_find_switches_said(c) | ss_find_switches_lacking(c);
    g->gpus = c->world_size;
    g->nodes = c->world_size / ss_platform_file_gpus(c->platform);
    g->best = g->near = -1;
    g->work = work_of(s, i);
    g->layouts = 1;
    for (int a = 0; a < c->naxes && g->layouts <= SS_FIND_MOST_LAYOUTS; a++)
        g->layouts *= c->axes[a].n;
    if (g->layouts > SS_FIND_MOST_LAYOUTS)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d layouts: give some of the flags a value",
                       SS_FIND_MOST_LAYOUTS);
    return SS_OK;
}

/* ---- refusals ---- */

int ss_find_reach(const struct ss_find_cluster *c, const char *flags)
{
    static const struct {
        const char *flags;
        int kind;
    } reach[] = {
        {"--tp --num-attention-heads", SS_FIND_TP},
        {"--tp --num-query-groups", SS_FIND_TP},
        {"--tp --ffn-hidden-size", SS_FIND_TP},
        {"--seq --cp", SS_FIND_CP},
        {"--tp --pp --cp --nodes", SS_FIND_PP},
        {"--seq --sequence-parallel --tp", SS_FIND_EXTRA},
        {"--ep --etp --pp --nodes", SS_FIND_EXTRA},
        {"--etp --moe-ffn-hidden-size", SS_FIND_EXTRA},
        {"--tp --moe-shared-expert-intermediate-size", SS_FIND_TP},
        {"--pp --num-layers", SS_FIND_VP},
        {"--num-virtual-stages-per-pipeline-rank --pp", SS_FIND_VP},
        {"--num-layers-per-virtual-pipeline-stage --num-virtual-stages-per-pipeline-rank --pp", SS_FIND_VP},
        {"--gbs --mbs", SS_FIND_MBS},
    };
    int deepest = c->naxes - 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(reach); i++)
        if (!strcmp(flags, reach[i].flags))
            for (deepest = c->naxes - 1; deepest >= 0 && c->axes[deepest].kind > reach[i].kind;)
                deepest--;
    return deepest;
}

int ss_find_refuse(struct ss_find_space *s, int cluster, const struct ss_error *why, int64_t n,
                   struct ss_error *err)
{
    struct ss_find_result *f = s->found;
    int i = 0;
    f->groups[cluster].refused += n;
    while (i < f->nrules && (f->rules[i].code != why->code || strcmp(f->rules[i].flags, why->flags) != 0))
        i++;
    if (i == f->nrules) {
        SS_NEED(!ss_grow(&f->rules, &s->cap_rules, (size_t)f->nrules + 1, sizeof *f->rules), err);
        memset(&f->rules[f->nrules], 0, sizeof *f->rules);
        f->rules[f->nrules].code = why->code;
        ss_copy(f->rules[f->nrules].flags, sizeof f->rules->flags, why->flags);
        ss_copy(f->rules[f->nrules].example, sizeof f->rules->example, why->message);
        ss_copy(f->rules[f->nrules].hint, sizeof f->rules->hint, why->hint);
        f->nrules++;
    }
    f->rules[i].n += n;
    return SS_OK;
}

int ss_find_space_build(const struct ss_request *base, const struct ss_find_options *o,
                        struct ss_find_space *s, struct ss_error *err)
{
    int outer[SS_SWEEP_FLAGS], n = outer_flags(o->vary, outer), rc = SS_OK;
    int clusters = ss_find_clusters(o->vary, SS_FIND_CLUSTERS);
    memset(s, 0, sizeof *s);
    if (!clusters)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d clusters", SS_FIND_CLUSTERS);
    s->loaded = ss_input_cache_new();
    s->clusters = ss_calloc((size_t)clusters, sizeof *s->clusters);
    s->found = ss_calloc(1, sizeof *s->found);
    if (s->found)
        s->found->groups = ss_calloc((size_t)clusters, sizeof *s->found->groups);
    SS_NEED(s->loaded && s->clusters && s->found && s->found->groups, err);
    for (int i = 0; i < clusters && !rc; i++) {
        rc = build_cluster(s, i, base, o, outer, n, err);
        s->found->ngroups += !rc;
    }
    return rc;
}

/* Takes the layouts of a round that are worth a look. */
static int take_layouts(struct ss_find_space *s, const struct ss_find_round *round, struct ss_error *err)
{
    s->nleaves = 0;
    SS_NEED(!ss_grow(&s->leaves, &s->cap_leaves, s->nall + 1, sizeof *s->leaves), err);
    for (size_t i = 0; i < s->nall; i++)
        if (round->exact || !ss_find_known_hopeless(round->known, (int)i, round->best[s->all[i].cluster]))
            s->leaves[s->nleaves++] = s->all[i];
    return SS_OK;
}

int ss_find_space_begin(struct ss_find_space *s, const struct ss_find_round *round, struct ss_error *err)
{
    struct ss_find_result *f = s->found;
    free(f->points);
    f->points = NULL;
    f->npoints = 0;
    for (int i = 0; i < f->ngroups; i++) {
        struct ss_find_group *g = &f->groups[i];
        g->best = g->near = -1;
        g->predicted = 0;
        g->too_large = s->clusters[i].too_large;
        g->bounded = s->clusters[i].too_slow;
        g->like_best = 0;
    }
    if (round && !s->all) { /* the first of several */
        s->all = s->leaves;
        s->nall = s->nleaves;
        s->leaves = NULL;
        s->cap_leaves = 0;
    }
    if (round)
        return take_layouts(s, round, err);
    if (s->all) { /* the last one */
        free(s->leaves);
        s->leaves = s->all;
        s->nleaves = s->nall;
        s->all = NULL;
    }
    return SS_OK;
}

static int cluster_files(const struct ss_find_space *s, int cluster, struct ss_files *files,
                         struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[cluster];
    int rc = ss_request_files(&c->request, files, err);
    SS_THEN(rc, ss_data_note("workloads/models", c->asked.job.model_ref, ".json", files, err));
    if (!rc && ss_schedule_is_file(c->asked.job.schedule))
        rc = ss_files_add(files, c->asked.job.schedule, err);
    for (int a = 0; a < c->naxes; a++)
        for (int i = 0; i < c->axes[a].n && c->axes[a].kind == SS_FIND_SCHEDULE && !rc; i++)
            if (ss_schedule_is_file(c->axes[a].value[i]))
                rc = ss_files_add(files, c->axes[a].value[i], err);
    return rc;
}

int ss_find_files(const struct ss_find_space *s, struct ss_files *files, struct ss_error *err)
{
    int rc = SS_OK, seen = -1;
    for (int i = 0; i < s->nclusters && !rc; i++)
        rc = cluster_files(s, i, files, err);
    for (size_t i = 0; i < s->nleaves && !rc;
         i++) { /* what the finished job of a leaf has read: the same for all leaves of a cluster */
        struct ss_job job;
        if (s->leaves[i].cluster == seen)
            continue;
        seen = s->leaves[i].cluster;
        rc = ss_find_job(s, &s->leaves[i], &job, err);
        SS_THEN(rc, ss_input_cache_note(&job, files, err));
    }
    return rc;
}

void ss_find_space_free(struct ss_find_space *s)
{
    for (int i = 0; s->clusters && i < s->nclusters; i++) {
        ss_request_free(&s->clusters[i].request);
        ss_find_typed_free(s->clusters[i].typed);
    }
    SS_FREE(s->clusters, s->leaves, s->all, s->bounds);
    ss_find_free(s->found);
    if (s->loaded)
        ss_input_cache_drop(s->loaded);
    memset(s, 0, sizeof *s);
}
