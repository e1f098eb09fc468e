/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the layouts of a space from the nearest to the job's own one to the farthest. */
#include "base/base.h"
#include "base/map.h"
#include "decide/capacity_internal.h"
#include "decide/nearest_internal.h"
#include "study/study_internal.h"

/* Flags that say what is trained and on what, which no repair leaves out. */
static const char kept_flags[] =
    "--model --platform --card --nodes --gpus --gpus-per-node --seq --gbs --set --scale";

const char *ss_near_next_flag(const char *words, char *name)
{
    words += strspn(words, " ");
    snprintf(name, 64, "%.*s", (int)strcspn(words, " "), words);
    return *words ? words + strcspn(words, " ") : NULL;
}

int ss_near_put(struct ss_near *x, const char *flag, int value, struct ss_error *err)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    ss_request_drop(&x->base, flag);
    return ss_request_set(&x->base, flag, text, err);
}

int ss_near_leave_out(struct ss_near *x, const char *flag, struct ss_error *err)
{
    ss_request_drop(&x->base, flag);
    return strcmp(flag, "--bf16") ? SS_OK : ss_request_set(&x->base, "--fp16", NULL, err);
}

/* Finds the first flag of a refusal that the job gives and can do without: name[64]. */
static int find_blamed(const struct ss_near *x, const char *flags, char *name)
{
    while ((flags = ss_near_next_flag(flags, name)) != NULL)
        if (!ss_has_word(kept_flags, name) && ss_request_find(&x->base, name) < x->base.n)
            return 1;
    return 0;
}

/* What the refusals of a space blame. */
struct blame {
    char flag[64]; /* that the job can do without; "": none */
    int sequence, batch;
};

static void read_blame(struct ss_near *x, const struct ss_error *why, struct blame *out)
{
    const struct ss_find_result *f = x->space.found;
    int64_t most = 0, told = 0;
    char name[64];

    *out = (struct blame){.flag = ""};
    if (why->code && find_blamed(x, why->flags, name))
        ss_copy(out->flag, sizeof out->flag, name);
    for (int i = 0; f && i < f->nrules; i++) {
        const struct ss_find_rule *rule = &f->rules[i];
        out->batch |= strstr(rule->flags, "--gbs") != NULL;
        out->sequence |= strstr(rule->flags, "--seq") != NULL;
        if (rule->n > most && find_blamed(x, rule->flags, name)) {
            most = rule->n;
            ss_copy(out->flag, sizeof out->flag, name);
        }
        if (rule->n > told) {
            told = rule->n;
            ss_fail(&x->out->why, rule->code, NULL, 0, "%s", rule->example);
        }
    }
}

/* Takes what every layout is refused for out of the job: a flag, a sequence longer than the model's, or a batch that no layout
 * divides. *changed 0: there is no such thing. */
static int repair(struct ss_near *x, const struct ss_error *why, int *changed, struct ss_error *err)
{
    int positions = x->space.nclusters ? x->space.clusters[0].model.max_position_embeddings : 0, batch[2];
    struct ss_job *own = &x->own.job;
    struct blame blame;

    read_blame(x, why, &blame);
    *changed = 1;
    if (blame.flag[0])
        return ss_near_leave_out(x, blame.flag, err);
    if (blame.sequence && positions > 0 && positions < own->seq_length) {
        own->seq_length = positions;
        return ss_near_put(x, "--seq", positions, err);
    }
    *changed = blame.batch && x->rebatched < 2 && own->global_batch > 0;
    if (!*changed)
        return SS_OK;
    int gpus = x->space.found->groups[0].gpus, n = ss_capacity_batches(own->global_batch, gpus, batch);
    return ss_near_put(x, "--gbs",
                       x->rebatched++ ? ss_capacity_nearest(own->global_batch, gpus) : batch[n - 1], err);
}

int ss_near_open_space(struct ss_near *x, struct ss_error *err)
{
    int changed, rc;

    do {
        struct ss_error why = {0};
        changed = 0;
        ss_find_space_free(&x->space);
        rc = ss_find_space_build(&x->base, &x->find, &x->space, &why);
        SS_THEN(rc, ss_find_walk(&x->space, &x->find, 0, &why));
        if (rc && !ss_status_refuses(rc)) {
            if (err)
                *err = why;
            return rc;
        }
        if (rc)
            x->out->why = why;
        rc = x->space.nleaves ? SS_OK : repair(x, &why, &changed, err);
    } while (!rc && changed);
    x->refused = !x->space.nleaves;
    return rc;
}

/* ---- the walk ---- */

#define MOST_NEAR 12      /* the nearest layouts, each of which is predicted */
#define MOST_PREDICTED 60 /* layouts of one walk */
#define MOST_BOUNDED 2048 /* layouts of one walk whose memory is bounded */
#define MOST_REFUSED 3    /* layouts that the checks of a prediction refuse, before the walk ends */
/* A layout beyond the nearest ones is worth a prediction only if its least memory is this share of that of every layout that was
 * predicted. */
#define LIGHTER 0.97

/* ---- one job ---- */

int ss_near_predict(struct ss_near *x, const struct ss_request *r, struct ss_summary *out,
                    struct ss_error *err)
{
    struct ss_run_options quick = x->run;
    struct ss_scenario *s = NULL;
    struct ss_error why = {0};
    int rc = ss_scenario_build(r, x->options->how, &s, &why);

    quick.level_choice = SS_LEVEL_DOUBTS; /* flows are asked about layouts alone that hold the job */
    SS_THEN(rc, ss_predict(s, &quick, out, &why));
    if (!rc && out->doubted && out->outcome <= SS_OUTCOME_NEAR_LIMIT)
        rc = ss_predict(s, &x->run, out, &why);
    ss_scenario_free(s);
    if (rc && !ss_status_refuses(rc)) {
        if (err)
            *err = why;
        return rc;
    }
    if (!rc && out->outcome == SS_OUTCOME_REFUSED)
        ss_fail(&why, out->code, NULL, 0, "%s", out->reason);
    if (rc)
        out->outcome = SS_OUTCOME_REFUSED;
    if (out->outcome == SS_OUTCOME_REFUSED)
        x->out->why = why;
    return SS_OK;
}

/* Makes the words of a layout. The caller frees *out after success. */
static int words_of(const struct ss_near *x, const struct ss_find_leaf *leaf, struct ss_request *out,
                    struct ss_error *err)
{
    char words[SS_FIND_FLAGS];

    SS_TRY(ss_request_copy(&x->base, out, err));
    ss_find_flags(&x->space.clusters[0], leaf->at, words, sizeof words);
    if (!ss_study_add_words(out, words))
        return SS_OK;
    ss_request_free(out);
    return ss_nomem(err);
}

/* ---- how far a layout is ---- */

struct far {
    int cost, leaf;
};

static int by_cost(const void *left, const void *right)
{
    const struct far *a = left, *b = right;
    return a->cost != b->cost ? (a->cost > b->cost) - (a->cost < b->cost) : a->leaf - b->leaf;
}

/* Returns the doublings between two numbers, in thousandths. */
static int doublings(int a, int b)
{
    return (int)lround(1000 * fabs(log2((a > 0 ? a : 1) / (double)(b > 0 ? b : 1))));
}

static int is_half(int kind)
{
    return kind == SS_FIND_VP || kind == SS_FIND_MBS;
}

static int cost_of(const struct ss_near *x, const struct ss_find_leaf *leaf)
{
    const struct ss_find_cluster *c = &x->space.clusters[0];
    const struct ss_job *job = &x->own.job;
    const int own[SS_FIND_KINDS] = {
        [SS_FIND_TP] = job->tp, [SS_FIND_CP] = job->cp,   [SS_FIND_PP] = job->pp,
        [SS_FIND_EP] = job->ep, [SS_FIND_VP] = x->chunks, [SS_FIND_MBS] = job->micro_batch};
    int cost = 0;

    for (int a = 0; a < c->naxes; a++) {
        const char *value = c->axes[a].value[leaf->at[a]];
        int kind = c->axes[a].kind;
        if (own[kind] || is_half(kind))
            cost += doublings(atoi(value), own[kind]) / (is_half(kind) ? 2 : 1);
        if (kind == SS_FIND_TP && strstr(value, "--etp") && job->etp == job->tp)
            cost += 250; /* experts were divided as other layers are */
    }
    return cost;
}

/* ---- memory ---- */

/* Finds the lower bound of a layout's memory; *fits 0: it is more than the card has. */
static int bound(struct ss_near *x, struct ss_find_leaf *leaf, int *fits, struct ss_error *err)
{
    struct ss_find_space part = x->space;
    int rc;

    part.leaves = leaf;
    part.nleaves = 1;
    rc = ss_find_bound(&part, &x->find, NULL, err);
    *fits = part.nleaves == 1;
    return rc;
}

/* Whether a layout may fit: by the bound of the one that needs least among those with its degrees of parallelism, one chunk a rank
 * and micro batch 1, which `seen` keeps, then by its own. */
static int may_fit(struct ss_near *x, struct ss_map *seen, struct ss_find_leaf *leaf, int *fits,
                   struct ss_error *err)
{
    const struct ss_find_cluster *c = &x->space.clusters[0];
    struct ss_find_leaf least = *leaf;
    uint64_t key = 1;
    int rc = SS_OK;

    for (int a = 0; a < c->naxes; a++) {
        for (int i = 0; is_half(c->axes[a].kind) && i < c->axes[a].n; i++)
            least.at[a] = !strcmp(c->axes[a].value[i], "1") ? (unsigned char)i : least.at[a];
        key = ss_mix64(key * 31 + least.at[a]);
    }
    int known = ss_map_get(seen, key);
    if (known < 0) {
        rc = bound(x, &least, &known, err);
        if (!rc && ss_map_put(seen, key, known) < 0)
            rc = ss_nomem(err);
    }
    *fits = known;
    return rc || !known ? rc : bound(x, leaf, fits, err);
}

/* Sets x->least by a legal layout. */
static int find_least(struct ss_near *x, const struct ss_find_leaf *leaf, struct ss_error *err)
{
    struct ss_scenario *s = NULL;
    struct ss_smallest smallest;
    struct ss_request r;

    SS_TRY(words_of(x, leaf, &r, err));
    x->least = 1;
    if (!ss_scenario_build(&r, x->options->how, &s, NULL)) {
        ss_smallest_find(s, NULL, &smallest);
        x->least = smallest.gpus ? smallest.gpus : 1; /* 0: its layouts are refused */
        ss_scenario_free(s);
    }
    ss_request_free(&r);
    return SS_OK;
}

int ss_near_is_too_small(const struct ss_near *x)
{
    return x->space.found && x->space.found->ngroups && x->least > x->space.found->groups[0].gpus;
}

/* ---- the walk ---- */

/* Predicts a layout, and keeps its words where it fits, or is the first near the limit. */
static int try_leaf(struct ss_near *x, const struct ss_find_leaf *leaf, int *outcome, struct ss_error *err)
{
    struct ss_summary summary = {0};
    struct ss_request r;

    SS_TRY(words_of(x, leaf, &r, err));
    int rc = ss_near_predict(x, &r, &summary, err);
    x->out->tried++;
    *outcome = (int)summary.outcome;
    if (!rc && summary.outcome == SS_OUTCOME_FITS) {
        ss_request_free(&x->out->request);
        x->out->found = 1;
        x->out->request = r;
        x->out->summary = summary;
    } else if (!rc && summary.outcome == SS_OUTCOME_NEAR_LIMIT && !x->close.n) {
        x->close = r;
        x->close_summary = summary;
    } else {
        ss_request_free(&r);
    }
    return rc;
}

static int walk(struct ss_near *x, const struct far *far, size_t n, struct ss_map *seen, struct ss_error *err)
{
    double lightest = INFINITY;
    int tried = 0, refused = 0, rc = SS_OK;

    for (size_t i = 0; i < n && seen->n < MOST_BOUNDED && tried < MOST_PREDICTED && !rc && !x->out->found;
         i++) {
        struct ss_find_leaf leaf = x->space.leaves[far[i].leaf];
        int fits, outcome = SS_OUTCOME_TOO_LARGE;
        rc = may_fit(x, seen, &leaf, &fits, err);
        if (!rc && fits && (tried < MOST_NEAR || leaf.bytes < LIGHTER * lightest)) {
            lightest = fmin(lightest, leaf.bytes);
            rc = try_leaf(x, &leaf, &outcome, err);
            tried++;
        }
        refused += outcome == SS_OUTCOME_REFUSED;
        x->refused = refused >= MOST_REFUSED && refused == tried;
        if (x->refused)
            break;
        if (i == MOST_NEAR && !x->least && !x->out->found)
            rc = find_least(x, &x->space.leaves[far[0].leaf], err);
        if (ss_near_is_too_small(x))
            break;
    }
    return rc;
}

int ss_near_walk(struct ss_near *x, struct ss_error *err)
{
    size_t n = x->space.nleaves;
    struct ss_map seen = {0};
    struct far *far = ss_calloc(n + 1, sizeof *far);

    SS_NEED(far, err);
    for (size_t i = 0; i < n; i++)
        far[i] = (struct far){cost_of(x, &x->space.leaves[i]), (int)i};
    qsort(far, n, sizeof *far, by_cost);
    x->space.clusters[0].room = ss_find_room(&x->space.clusters[0], x->run.bands);
    int rc = walk(x, far, n, &seen, err);
    ss_map_free(&seen);
    free(far);
    return rc;
}
