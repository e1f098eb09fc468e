/* SPDX-License-Identifier: Apache-2.0 */
/* The legal layout that is nearest to a job's own: where it is looked for, and what is given up. */
#include "stepsim/nearest.h"
#include "decide/nearest_internal.h"
#include "report/common.h"
#include "stepsim/flags.h"
#include "study/study_internal.h"

/* Flags that say a layout, with what belongs to it. */
static const char layout_flags[] =
    "--tp --pp --cp --ep --etp --vp --num-layers-per-virtual-pipeline-stage --mbs "
    "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers "
    "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split "
    "--pipeline-model-parallel-layout";
static const char recompute_flags[] =
    "--recompute --recompute-granularity --recompute-method --recompute-num-layers --recompute-modules "
    "--recompute-activations --checkpoint-activations --moe-layer-recompute --cpu-offloading "
    "--cpu-offloading-num-layers";
/* Whether a word gives one of these flags, by any of its names. */
static int is_among(const char *word, const char *flags)
{
    char name[96], flag[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    while ((flags = ss_near_next_flag(flags, flag)) != NULL)
        if (!strcmp(name, flag) || ss_flag_same(name, flag))
            return 1;
    return 0;
}

static void drop(struct ss_request *r, const char *flags)
{
    char flag[64];

    while ((flags = ss_near_next_flag(flags, flag)) != NULL)
        ss_request_drop(r, flag);
}

/* ---- where it is looked for ---- */

/* Varies a flag over the job's value and the powers of two from 1 to `most`. */
static int vary(struct ss_near *x, const char *flag, int own, int most, struct ss_error *err)
{
    char text[128];

    snprintf(text, sizeof text, "%s=%d", flag, own > 0 ? own : 1);
    for (int size = 1; size <= most; size *= 2)
        if (size != (own > 0 ? own : 1))
            ss_append(text, sizeof text, ",%d", size);
    return ss_sweep_vary(&x->vary, text, err);
}

/* Searches with the recompute that the words say, or with full recompute. */
static int search_with(struct ss_near *x, int full, struct ss_error *err)
{
    const struct ss_job *own = &x->own.job;
    int rc;

    memset(&x->vary, 0, sizeof x->vary);
    rc = vary(x, "cp", own->cp, 16, err);
    SS_THEN(rc, vary(x, "mbs", own->micro_batch, 2, err));
    SS_THEN(rc, vary(x, "vp", x->chunks, 2, err));
    SS_THEN(rc, ss_sweep_vary(&x->vary, own->dp.fsdp ? "fsdp=full" : "fsdp=none", err));
    SS_THEN(rc, full ? ss_sweep_vary(&x->vary, "recompute=full", err) : SS_OK);
    SS_THEN(rc, ss_near_open_space(x, err));
    return rc || x->refused ? rc : ss_near_walk(x, err);
}

/* Moves the flags that say a recompute from one request to another. */
static int move_recompute(struct ss_request *from, struct ss_request *to, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < from->n && !rc;) {
        size_t n = ss_request_span(from, i);
        if (!is_among(from->word[i].text, recompute_flags)) {
            i += n;
            continue;
        }
        for (size_t k = 0; k < n && !rc; k++)
            rc = ss_request_set(to, from->word[i + k].text, NULL, err);
        ss_request_remove(from, i, n);
    }
    return rc;
}

/* Searches with full recompute; the words have their own again behind it. */
static int search_full(struct ss_near *x, struct ss_error *err)
{
    struct ss_request own;

    ss_request_init(&own);
    int rc = move_recompute(&x->base, &own, err);
    SS_THEN(rc, search_with(x, 1, err));
    SS_THEN(rc, move_recompute(&own, &x->base, err));
    ss_request_free(&own);
    return rc;
}

/* Takes the nearest layout near the limit where none surely fits. */
static void settle(struct ss_near *x)
{
    if (x->out->found || !x->close.n)
        return;
    ss_request_free(&x->out->request);
    x->out->found = 1;
    x->out->request = x->close;
    x->out->summary = x->close_summary;
    ss_request_init(&x->close);
}

/* Searches the job's own number of nodes. */
static int search_own(struct ss_near *x, struct ss_error *err)
{
    int rc = search_with(x, 0, err);

    if (!rc && !x->out->found && !x->close.n && !x->refused && !ss_near_is_too_small(x))
        rc = search_full(x, err);
    settle(x);
    return rc;
}

/* Searches another number: what full recompute does not fit on nothing fits on. */
static int search_nodes(struct ss_near *x, int nodes, struct ss_error *err)
{
    int rc = ss_near_put(x, "--nodes", nodes, err);

    x->out->nodes = nodes;
    SS_THEN(rc, search_full(x, err));
    settle(x);
    if (rc || !x->out->found)
        return rc;
    x->out->found = 0;
    rc = search_with(x, 0, err);
    x->out->found = 1; /* by the words of this walk, or of the one before */
    return rc;
}

/* Searches the job's number of nodes, then twice as many, and so on. */
static int search(struct ss_near *x, struct ss_error *err)
{
    int rc = search_own(x, err), gpus = 0, nodes;

    if (!x->space.found || !x->space.found->ngroups)
        return rc;
    x->out->nodes = x->out->asked_nodes = nodes = x->space.found->groups[0].nodes;
    gpus = x->space.found->groups[0].gpus;
    if (!rc && !x->out->found)
        ss_request_drop(&x->base, "--gpus");
    while (!rc && !x->out->found && !x->refused && gpus <= SS_NEAREST_GPUS / 2) {
        nodes *= 2;
        gpus *= 2;
        if (gpus >= x->least)
            rc = search_nodes(x, nodes, err);
    }
    return rc;
}

/* What is given up where nothing else helps, one thing alone, then one after the other: a schedule, formats of 8 and 4 bits, bf16, the
 * stack, a batch of fewer sequences than 64 nodes have GPUs, parameters that are whole on each data rank, and a batch of fewer than 256 nodes have. */
static const char *const give_up[] = {
    "--schedule",
    "--fp8-format --fp8-recipe --fp8-dispatch --fp8-param-gather --fp4-format --fp4-recipe --precision "
    "--moe-router-padding-for-fp8",
    "--bf16",
    "--stack",
    "--gbs",
    "--fsdp",
    "--gbs",
};

/* Gives up a thing. Returns 1 where the job has it, 0 where there is nothing to give up, or an error. */
static int give_up_one(struct ss_near *x, const char *flags, struct ss_error *err)
{
    int enough = 64 * (x->space.clusters ? x->space.clusters[0].gpus_per_node : 8), some = 0, rc = SS_OK;
    char flag[64];

    if (!strcmp(flags, "--gbs")) {
        enough *= x->own.job.global_batch == enough ? 4 : 1;
        some = x->own.job.global_batch > 0 && x->own.job.global_batch < enough;
        x->own.job.global_batch = some ? enough : x->own.job.global_batch;
        rc = some ? ss_near_put(x, "--gbs", enough, err) : SS_OK;
        return rc ? rc : some;
    }
    if (!strcmp(flags, "--fsdp")) {
        some = !x->own.job.dp.fsdp;
        x->own.job.dp.fsdp = 1;
        return some;
    }
    while (!rc && (flags = ss_near_next_flag(flags, flag)) != NULL)
        if (ss_request_find(&x->base, flag) < x->base.n) {
            some = 1;
            rc = ss_near_leave_out(x, flag, err);
        }
    return rc ? rc : some;
}

/* Searches without a thing; alone 1: the words have it again behind that. */
static int search_without(struct ss_near *x, const char *flags, int alone, struct ss_error *err)
{
    const int batch = x->own.job.global_batch, fsdp = x->own.job.dp.fsdp;
    struct ss_request before;

    SS_TRY(ss_request_copy(&x->base, &before, err));
    const int some = give_up_one(x, flags, err);
    int rc = some < 0 ? some : SS_OK;
    x->least = x->rebatched = 0;
    if (some > 0 && x->out->asked_nodes)
        rc = ss_near_put(x, "--nodes", x->out->asked_nodes, err);
    if (some > 0)
        SS_THEN(rc, search(x, err));
    if (alone && !x->out->found) {
        ss_request_free(&x->base);
        x->base = before;
        x->own.job.global_batch = batch;
        x->own.job.dp.fsdp = fsdp;
    } else {
        ss_request_free(&before);
    }
    return rc;
}

/* Searches; where nothing is found, with something given up. */
static int search_all(struct ss_near *x, struct ss_error *err)
{
    int rc = search(x, err);

    for (int alone = 1; alone >= 0; alone--)
        for (size_t i = 0; i < SS_ARRAY_LEN(give_up) && !rc && !x->out->found; i++)
            rc = search_without(x, give_up[i], alone, err);
    return rc;
}

/* Notes the flags of the job that its layout lacks. */
static void tell_left_out(const struct ss_request *base, struct ss_nearest *out)
{
    for (size_t i = 0; i < base->n; i += ss_request_span(base, i)) {
        const char *word = base->word[i].text;
        if (word[0] == '-' && !is_among(word, layout_flags) && !is_among(word, recompute_flags) &&
            ss_request_find(&out->request, word) == out->request.n)
            ss_note(&out->left_out, "%s", word);
    }
}

/* ---- the door ---- */

static int begin(struct ss_near *x, const struct ss_request *base, struct ss_error *err)
{
    int rc = ss_request_copy(base, &x->base, err);

    ss_asked_init(&x->own);
    if (rc)
        return rc;
    (void)ss_asked_parse(&x->own, base, NULL, NULL, NULL); /* as far as it can be said */
    x->chunks = x->own.job.virtual_stages             ? x->own.job.virtual_stages
                : x->own.job.layers_per_virtual_stage ? 2
                                                      : 1;
    drop(&x->base, layout_flags);
    return SS_OK;
}

/* Finds it for a job whose bands are loaded. */
static int find(struct ss_near *x, const struct ss_request *base, struct ss_error *err)
{
    struct ss_nearest *out = x->out;

    SS_TRY(ss_near_predict(x, base, &out->summary, err));
    if (out->summary.outcome <= SS_OUTCOME_NEAR_LIMIT) {
        struct ss_request own;
        SS_TRY(ss_request_copy(base, &own, err));
        out->request = own;
        out->found = 1;
        return SS_OK;
    }
    int rc = begin(x, base, err);
    SS_THEN(rc, search_all(x, err));
    if (!rc && out->found)
        tell_left_out(base, out);
    return rc;
}

/* Searches the layouts on the nodes of the nearest one, whose words x->out has. */
static int find_fastest(struct ss_near *x, struct ss_error *err)
{
    struct ss_nearest *out = x->out;
    struct ss_find_result *found = NULL;
    struct ss_request own;

    SS_TRY(ss_request_copy(&out->request, &own, err));
    ss_request_free(&x->base);
    x->base = own;
    ss_asked_init(&x->own);
    (void)ss_asked_parse(&x->own, &x->base, NULL, NULL, NULL);
    drop(&x->base, layout_flags);
    drop(&x->base, recompute_flags);
    memset(&x->vary, 0, sizeof x->vary);
    int rc = vary(x, "cp", x->own.job.cp, 16, err);
    SS_THEN(rc, vary(x, "mbs", x->own.job.micro_batch, 4, err));
    SS_THEN(rc, ss_sweep_vary(&x->vary, x->own.job.dp.fsdp ? "fsdp=full" : "fsdp=none", err));
    x->find.best_only = x->find.brief = 1;
    SS_THEN(rc, ss_find_run(&x->base, &x->find, &found, err));
    const struct ss_find_point *best =
        !rc && found->groups[0].best >= 0 ? &found->points[found->groups[0].best] : NULL;
    if (best)
        rc = ss_study_add_words(&x->base, best->flags) ? ss_nomem(err) : SS_OK;
    if (best && !rc) {
        ss_request_free(&out->request);
        out->request = x->base;
        out->summary = best->summary;
        ss_request_init(&x->base);
    }
    ss_find_free(found);
    return rc;
}

static int open_and_find(const struct ss_request *base, const struct ss_nearest_options *options, int fastest,
                         struct ss_nearest *out, struct ss_error *err)
{
    static const unsigned no_switches = 0;
    static const struct ss_scenario_options no_how = {0};
    struct ss_near *x = ss_calloc(1, sizeof *x);
    struct ss_bands *bands = NULL;

    memset(out, 0, sizeof *out);
    ss_request_init(&out->request);
    SS_NEED(x, err);
    x->options = options;
    x->out = out;
    x->run = options->run ? *options->run : (struct ss_run_options){.any_engine = 1};
    x->find = (struct ss_find_options){.vary = &x->vary,
                                       .how = options->how ? options->how : &no_how,
                                       .run = &x->run,
                                       .workers = {.n = 1},
                                       .switches = &no_switches};
    ss_request_init(&x->base);
    ss_request_init(&x->close);
    int rc = x->run.bands ? SS_OK : ss_bands_load(NULL, NULL, &bands, err);
    if (bands)
        x->run.bands = bands;
    SS_THEN(rc, find(x, base, err));
    if (!rc && fastest && out->found)
        rc = find_fastest(x, err);
    ss_find_space_free(&x->space);
    ss_request_free(&x->base);
    ss_request_free(&x->close);
    ss_bands_free(bands);
    free(x);
    if (rc)
        ss_nearest_free(out);
    return rc;
}

int ss_nearest_find(const struct ss_request *base, const struct ss_nearest_options *options,
                    struct ss_nearest *out, struct ss_error *err)
{
    return open_and_find(base, options, 0, out, err);
}

int ss_nearest_fastest(const struct ss_request *base, const struct ss_nearest_options *options,
                       struct ss_nearest *out, struct ss_error *err)
{
    return open_and_find(base, options, 1, out, err);
}

void ss_nearest_free(struct ss_nearest *n)
{
    ss_request_free(&n->request);
    ss_notes_free(&n->left_out);
}

/* ---- JSON ---- */

int ss_nearest_write(const struct ss_nearest *n, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("nearest");

    SS_PUT(o, SS_TRUTH(n, found), SS_SAME(n, asked_nodes), SS_SAME(n, nodes), SS_SAME(n, tried),
           SS_KEY("left_out", ss_json_notes(&n->left_out)),
           SS_KEY_IF(n->why.code, "why", (const char *)n->why.message));
    if (n->found) {
        ss_json_verdict(o, &n->summary);
        ss_json_metrics(o, -1, &n->summary);
        struct ss_json *words = ss_json_begin_list();
        for (size_t i = 0; i < n->request.n; i++)
            SS_ITEM(words, n->request.word[i].text);
        SS_PUT(o, SS_KEY("words", words));
    }
    return ss_json_write(o, out, err);
}
