/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts layouts by workers. The items are the leaves in the order of their bounds, once for each of
 * enum ss_find_way.
 */
#include "base/base.h"
#include "base/cache.h"
#include "decide/search_state.h"
#include "study/study_internal.h"
#include "workers/pool.h"

struct ss_find_crew {
    struct ss_find_state *state;
    const struct ss_find_space *space;
    const struct ss_find_options *options;
    struct ss_run_options run;
    struct ss_pool pool;
    struct ss_crew *crew;
};

/* Fills in `more`: "etp 1 overlap-grad-reduce". */
static void fill_more(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf, char *more,
                      size_t size)
{
    size_t used = 0;
    char words[256];
    for (int a = 0; a < c->naxes; a++) {
        const char *whole = strstr(c->axes[a].value[leaf->at[a]], "--");
        if ((c->axes[a].kind == SS_FIND_TP || c->axes[a].kind == SS_FIND_RECOMPUTE) && whole && used < size)
            used += (size_t)snprintf(more + used, size - used, "%s%s", used ? " " : "", whole + 2);
        if (c->axes[a].kind != SS_FIND_EXTRA)
            continue;
        ss_find_words(c, leaf->at, a, words, sizeof words);
        if (words[0] && used < size)
            used += (size_t)snprintf(more + used, size - used, "%s%s", used ? " " : "", words + 2);
    }
}

static int fill_point(const struct ss_find_space *s, const struct ss_find_leaf *leaf,
                      const struct ss_job *job, struct ss_find_point *p, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    p->group = leaf->cluster;
    p->tp = job->tp;
    p->cp = job->cp;
    p->pp = job->pp;
    p->ep = job->ep;
    p->chunks = ss_job_chunks(job);
    p->dp = ss_job_dp(job, c->world_size);
    p->micro_batch = job->micro_batch;
    p->microbatches = ss_job_microbatches(job, c->world_size);
    p->recompute = job->recompute.granularity;
    p->recompute_layers = job->recompute.method == SS_RECOMPUTE_BLOCK ? job->recompute.num_layers : 0;
    p->fsdp = job->dp.fsdp;
    ss_copy(p->schedule, sizeof p->schedule, job->schedule[0] ? job->schedule : "auto");
    p->least_s = leaf->quick; /* the caller knows tighter ones, and the memory's */
    p->switches = ss_find_switches_of(leaf->at);
    fill_more(c, leaf, p->more, sizeof p->more);
    return ss_find_leaf_words(s, leaf, p->flags, sizeof p->flags, err);
}

static int predict(const struct ss_find_crew *w, const struct ss_find_leaf *leaf, int level_choice,
                   struct ss_find_point *p, struct ss_error *err)
{
    const struct ss_find_cluster *c = &w->space->clusters[leaf->cluster];
    struct ss_run_options run = w->run;
    struct ss_job job;

    SS_TRY(ss_find_job(w->space, leaf, &job, err));
    const struct ss_scenario scenario = {.job = &job,
                                         .stack = c->stack,
                                         .platform = c->platform,
                                         .world_size = c->world_size,
                                         .gpus_per_node = c->gpus_per_node,
                                         .request = &c->request};
    run.level_choice = level_choice;
    int rc = fill_point(w->space, leaf, &job, p, err);
    return rc ? rc : ss_predict(&scenario, &run, &p->summary, err);
}

/* The crew, and enum ss_level_choice. */
struct at_level {
    const struct ss_find_crew *crew;
    int choice;
};

static int predict_layers(void *ctx, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                          struct ss_error *err)
{
    const struct at_level *at = ctx;
    return predict(at->crew, leaf, at->choice, p, err);
}

/* Predicts a leaf with block recompute, with as few layers as fit, and sets their number in *leaf. */
static int predict_block(struct ss_find_crew *w, struct ss_find_leaf *leaf, int level_choice,
                         struct ss_find_point *p, struct ss_error *err)
{
    const struct ss_find_cluster *c = &w->space->clusters[leaf->cluster];
    struct at_level at = {w, level_choice};
    struct ss_job job;
    int rc = ss_find_job(w->space, leaf, &job, err), most = rc ? 0 : ss_find_block_most(c, leaf, &job);
    if (!rc && !w->options->exhaustive)
        rc = ss_find_tighten_layers(w->space, leaf, most, INFINITY, w->run.cache, err);
    return rc ? rc : ss_find_block_fewest(leaf, most, w->options->exhaustive, predict_layers, &at, p, err);
}

int ss_find_predict_here(struct ss_find_crew *w, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                         struct ss_error *err)
{
    return predict(w, leaf, w->run.level_choice, p, err);
}

/* Builds the job of a leaf from its words. */
static int build(const struct ss_find_crew *w, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                 struct ss_scenario **out, struct ss_error *err)
{
    const struct ss_find_cluster *c = &w->space->clusters[leaf->cluster];
    struct ss_request r;
    int rc = ss_request_copy(&c->request, &r, err);

    if (rc)
        return rc;
    rc = ss_find_leaf_words(w->space, leaf, p->flags, sizeof p->flags, err);
    SS_THEN(rc, ss_study_add_words(&r, p->flags));
    SS_THEN(rc, ss_scenario_build_from(w->space->loaded, &r, w->options->how ? w->options->how->asker : NULL,
                                       NULL, out, err));
    ss_request_free(&r);
    return rc;
}

/* Predicts the words of a leaf as `stepsim run --level layer` does. */
static int confirm(const struct ss_find_crew *w, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                   struct ss_error *err)
{
    struct ss_run_options layer = {
        .engine = SS_ENGINE_SIMGRID, .unchecked = 1, .level_choice = SS_LEVEL_BLIND, .narrow = 1};
    struct ss_scenario *scenario;

    layer.bands = w->run.bands;
    layer.plan.level = SS_LEVEL_LAYER;
    SS_TRY(build(w, leaf, p, &scenario, err));
    int rc = ss_predict(scenario, &layer, &p->summary, err);
    ss_scenario_free(scenario);
    return rc;
}

/* Predicts the words of a leaf once more, with the bands that `stepsim run` has for them. */
static int widen(struct ss_find_crew *w, const struct ss_find_leaf *leaf, int level_choice,
                 struct ss_find_point *p, struct ss_error *err)
{
    struct ss_run_options wide = w->run;
    struct ss_scenario *s;

    wide.narrow = 0;
    wide.level_choice = level_choice;
    wide.cache = wide.plan.cache = NULL;
    SS_TRY(build(w, leaf, p, &s, err));
    int rc = ss_predict(s, &wide, &p->summary, err);
    ss_scenario_free(s);
    return rc;
}

static int work(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct ss_find_crew *w = ctx;
    struct ss_find_point *p = answer;
    int n = (int)w->space->nleaves, way = item / n, rc = SS_OK;
    struct ss_find_leaf leaf = w->space->leaves[item % n];
    int block = ss_find_block_axis(&w->space->clusters[leaf.cluster], leaf.at) >= 0;
    int choice = w->run.level_choice;

    if (choice != SS_LEVEL_BLIND && way == SS_FIND_PREDICT)
        choice = SS_LEVEL_DOUBTS;
    p->number = item % n;
    if (way == SS_FIND_TIGHTEN) {
        double most_s = w->options->exhaustive ? INFINITY : w->state->within[leaf.cluster];
        rc = ss_find_tighten(w->space, &leaf, most_s, w->run.bands, w->run.cache, err);
        p->recompute_layers = block ? leaf.at[SS_FIND_BLOCK_LAYERS] : 0;
        p->summary.outcome = leaf.unsure ? SS_OUTCOME_NEAR_LIMIT : SS_OUTCOME_FITS;
        p->least_s = leaf.seconds;
        p->least_bytes = leaf.bytes;
        return rc;
    }
    if (block)
        rc = predict_block(w, &leaf, choice, p, err);
    if (rc)
        return rc;
    switch (way) {
    case SS_FIND_PREDICT:
    case SS_FIND_FLOWS: return block ? SS_OK : predict(w, &leaf, choice, p, err);
    case SS_FIND_CONFIRM: return confirm(w, &leaf, p, err);
    default: return widen(w, &leaf, choice, p, err);
    }
}

/* Layouts with equal stages and chunks may have the same schedule, whose messages are the most that is shared; groups, routes and
 * classes are equal among them alone. */
static uint64_t home_of(void *ctx, int item)
{
    const struct ss_find_crew *w = ctx;
    const struct ss_find_leaf *leaf = &w->space->leaves[item % (int)w->space->nleaves];
    const struct ss_find_cluster *c = &w->space->clusters[leaf->cluster];
    uint64_t h = (uint64_t)leaf->cluster;
    for (int a = 0; a < c->naxes; a++)
        if (c->axes[a].kind == SS_FIND_PP || c->axes[a].kind == SS_FIND_SCHEDULE ||
            c->axes[a].kind == SS_FIND_VP)
            h = ss_mix64(h * 31 + leaf->at[a] + 1);
    return h;
}

/* A worker of the crew. */
struct at_home {
    struct ss_find_crew *crew;
    int worker;
};

static int is_home(void *ctx, int number)
{
    const struct at_home *at = ctx;
    return ss_crew_is_home(at->crew->crew, home_of(at->crew, number), at->worker);
}

static int ahead(void *ctx, int worker)
{
    struct at_home at = {ctx, worker};
    int item = ss_find_ahead_item(at.crew->state, is_home, &at);
    if (item < 0)
        ss_find_best_begin(at.crew->state);
    return item;
}

static struct ss_crew *next_crew(void *ctx)
{
    const struct ss_find_crew *w = ctx;
    return ss_find_best_crew(w->state);
}

static void on_item(void *ctx, int item, const void *answer)
{
    const struct ss_find_crew *w = ctx;
    ss_find_ahead_note(w->state, item, answer);
}

void ss_find_tell(const struct ss_find_state *x, int predicted)
{
    if (x->options->progress)
        x->options->progress(x->options->ctx, (int64_t)x->next - x->listed + predicted,
                             x->round ? 0 : (int64_t)x->space->nleaves);
}

static void on_answer(void *ctx, int done)
{
    const struct ss_find_crew *w = ctx;
    if (w->state->listed)
        ss_find_tell(w->state, done);
}

int ss_find_crew_open(struct ss_find_state *x, const struct ss_request *base, struct ss_find_crew **out,
                      struct ss_error *err)
{
    const struct ss_find_space *s = x->space;
    const struct ss_find_options *o = x->options;
    struct ss_find_crew *w = s->nleaves > INT_MAX / SS_FIND_WAYS ? NULL : ss_calloc(1, sizeof *w);
    int rc = SS_OK;

    if (!w)
        return ss_nomem(err);
    w->state = x;
    w->space = s;
    w->options = o;
    w->run = *o->run;
    w->run.unchecked = 1;
    w->run.narrow = 1;
    if (w->run.level_choice != SS_LEVEL_FOLLOWS) /* nobody would read the warning */
        w->run.level_choice = SS_LEVEL_BLIND;
    w->run.brief =
        o->brief && !o->workers.journal; /* another search may read the journal and show all figures */
    w->pool = (struct ss_pool){.workers = o->workers,
                               .nitems = SS_FIND_WAYS * (int)s->nleaves,
                               .size = sizeof(struct ss_find_point),
                               .work = work,
                               .home = home_of,
                               .ahead = o->exhaustive ? NULL : ahead, /* its lists are long */
                               .next = next_crew,
                               .on_item = o->exhaustive ? NULL : on_item,
                               .on_answer = on_answer,
                               .on_answer_ctx = w,
                               .ctx = w,
                               .what = "search"};
    if (o->workers.journal || o->workers.team)
        rc = ss_sweep_digest(o->vary, base, w->run.engine, o->how->files, &w->pool.digest, err);
    for (int c = 0; c < s->nclusters; c++)
        w->pool.digest = ss_mix64(ss_mix64(w->pool.digest + s->clusters[c].switches) + s->clusters[c].given);
    SS_THEN(rc, ss_cache_open(&w->run.cache, err)); /* each worker has its own copy of this cache, */
    if (!rc && ss_pool_forks(&w->pool.workers, w->pool.nitems))
        ss_cache_share(w->run.cache); /* and takes what others tell */
    w->run.plan.cache = w->run.cache; /* the cache points to platforms and stacks of the space */
    SS_THEN(rc, ss_pool_open(&w->pool, &w->crew, err));
    if (rc) {
        ss_cache_close(w->run.cache);
        free(w);
    } else {
        *out = w;
    }
    return rc;
}

int ss_find_predict(struct ss_find_crew *w, const int *items, int n, struct ss_find_point *out,
                    struct ss_error *err)
{
    return ss_pool_deal(w->crew, items, n, out, err);
}
void ss_find_crew_rest(struct ss_find_crew *w)
{
    ss_pool_drop_ahead(w->crew);
}

void ss_find_crew_close(struct ss_find_crew *w)
{
    if (!w)
        return;
    ss_pool_close(w->crew);
    ss_cache_close(w->run.cache);
    free(w);
}
