/* SPDX-License-Identifier: Apache-2.0 */
/* What to change when a job does not fit: candidates are tried, none is taken on trust. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/result.h"
#include "study/study_internal.h"

#define MAX_CHANGES 3 /* changes taken together when fewer do not give three fixes */

/* A candidate writes the words that change a job; `job` is the one that they are added to. 0 = does not apply to it. */
typedef int (*change_fn)(const struct ss_job *job, int dp, char *words, size_t size);

static int use_distributed_optimizer(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--use-distributed-optimizer");
    return !job->distributed_optimizer && !job->fsdp && dp * job->cp >= 2;
}

static int use_sequence_parallel(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--sequence-parallel");
    return !job->sequence_parallel && job->tp >= 2;
}

static int use_flash(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--attention-backend flash");
    return job->attention == SS_ATTENTION_UNFUSED && job->precision != SS_FP32;
}

static int recompute_selective(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--recompute-activations");
    return job->recompute == SS_RECOMPUTE_NONE;
}

static int recompute_full(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    return job->recompute != SS_RECOMPUTE_FULL || job->recompute_method != SS_RECOMPUTE_UNIFORM ||
           job->recompute_num_layers != 1;
}

static int halve_micro_batch(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--micro-batch-size %d", job->micro_batch / 2);
    return job->micro_batch >= 2 && job->micro_batch % 2 == 0;
}

static int least_micro_batch(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--micro-batch-size 1");
    return job->micro_batch >= 3;
}

static int raise_tp(const struct ss_job *job, int dp, int times, char *words, size_t size)
{
    snprintf(words, size, "--tensor-model-parallel-size %d --sequence-parallel", job->tp * times);
    return dp % times == 0;
}

static int double_tp(const struct ss_job *job, int dp, char *words, size_t size)
{
    return raise_tp(job, dp, 2, words, size);
}

static int quadruple_tp(const struct ss_job *job, int dp, char *words, size_t size)
{
    return raise_tp(job, dp, 4, words, size);
}

static int fp8_parameters(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--fp8-param-gather");
    return job->precision == SS_FP8 && !job->fp8_param_gather && (job->distributed_optimizer || job->fsdp) &&
           dp >= 2;
}

static int drop_fp8(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, job->precision == SS_NVFP4 ? "--fp4-format none" : "--fp8-format none");
    return ss_precision_is_quantized(job->precision);
}

/* Twice the stages. Virtual stages stay, by their layers or by their number, where they can, else one chunk a rank. */
static int double_pp(const struct ss_job *job, int dp, char *words, size_t size)
{
    int per_stage, layers = ss_job_split_layers(job), pp = 2 * job->pp;

    if (dp % 2 || ss_job_has_stage_layers(job) || layers % pp)
        return 0;
    per_stage = layers / pp;
    int keep = job->layers_per_virtual_stage > 0 && job->layers_per_virtual_stage < per_stage &&
               per_stage % job->layers_per_virtual_stage == 0;
    int had = job->layers_per_virtual_stage > 0 || job->virtual_stages > 0;
    keep |= job->virtual_stages > 1 && per_stage % job->virtual_stages == 0;
    snprintf(words, size, "--pipeline-model-parallel-size %d%s", pp, had && !keep ? " --vp 1" : "");
    return 1;
}

static int double_cp(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--context-parallel-size %d", 2 * job->cp);
    return dp % 2 == 0;
}

/* Fewer experts a rank, and their states; how many ranks there are for them, the job's check says. */
static int double_ep(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--expert-model-parallel-size %d", 2 * job->ep);
    return job->model.num_experts > 0 && job->model.num_experts % (2 * job->ep) == 0;
}

static int drop_virtual_stages(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--vp 1");
    return ss_job_chunks(job) >= 2 && !job->layout.n;
}

static int offload_modules(const struct ss_job *job, const char *modules, char *words, size_t size)
{
    snprintf(words, size, "--fine-grained-activation-offloading --offload-modules %s", modules);
    return !job->fine_grained_offload && !job->cpu_offload_layers && job->recompute != SS_RECOMPUTE_FULL;
}

static int offload_attention(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    return offload_modules(job, "core_attn attn_proj qkv_linear", words, size);
}

static int offload_experts(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    return offload_modules(job, "expert_fc1 moe_act", words, size) && job->model.num_experts > 0;
}

static int offload_optimizer(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--optimizer-cpu-offload --optimizer-offload-fraction 1");
    return job->optimizer_offload <= 0;
}

static int use_fsdp(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params");
    return !job->fsdp && dp >= 2 && job->pp <= 1;
}

static const change_fn changes[] = {
    use_distributed_optimizer,
    use_sequence_parallel,
    use_flash,
    recompute_selective,
    recompute_full,
    offload_attention,
    offload_experts,
    halve_micro_batch,
    least_micro_batch,
    double_tp,
    quadruple_tp,
    double_pp,
    double_cp,
    double_ep,
    drop_virtual_stages,
    fp8_parameters,
    drop_fp8,
    use_fsdp,
    offload_optimizer,
};
#define NCHANGES (sizeof changes / sizeof changes[0])

struct search {
    const struct ss_scenario *base;
    struct ss_run_options options;
    int batch_given;      /* by the request; else it follows from the layout, and a change of that says it */
    char alone[NCHANGES]; /* fits by itself: no need of a second change */
    struct ss_fix *found; /* every fix that fits, unsorted */
    size_t nfound, cap;
};

/* The base's request with changes, and a job to ask whether the next one applies: it is not complete, since changes that
 * are refused by themselves may run together. */
struct changed {
    struct ss_request request;
    struct ss_job job;
};

static int predict(const struct search *x, const struct ss_scenario *s, struct ss_summary *summary)
{
    struct ss_run run;
    int fits;

    if (ss_run_scenario(s, &x->options, &run, NULL))
        return 0;
    *summary = run.summary;
    fits = run.result->fits && !run.result->thrash;
    ss_run_free(&run);
    return fits;
}

/*
 * The peak of memory is reached as soon as the pipeline is full, so a few microbatches tell whether
 * the whole batch is worth a run.
 */
static int fits_with_few_microbatches(const struct search *x, const struct ss_scenario *s)
{
    const struct ss_scenario_options like = {.like = x->base};
    const struct ss_job *job = s->job;
    struct ss_scenario *few;
    struct ss_request r;
    struct ss_summary ignored;
    int group = job->microbatch_group_size > job->pp ? job->microbatch_group_size : job->pp, fits;
    int64_t batch = (int64_t)4 * group * job->micro_batch * ss_job_dp(job, s->world_size);
    char text[24];

    if (batch >= job->global_batch)
        return 1;
    snprintf(text, sizeof text, "%lld", (long long)batch);
    fits = !ss_request_copy(s->request, &r, NULL);
    if (!fits)
        return 0;
    fits =
        !ss_request_set(&r, "--global-batch-size", text, NULL) && !ss_scenario_build(&r, &like, &few, NULL);
    ss_request_free(&r);
    if (!fits)
        return 0;
    fits = predict(x, few, &ignored);
    ss_scenario_free(few);
    return fits;
}

/* 1: the changed job can be built and fits, *summary says how. A refusal is an answer, not an error. */
static int try_changed(const struct search *x, const struct changed *c, struct ss_summary *summary)
{
    const struct ss_scenario_options like = {.like = x->base};
    struct ss_scenario *s;
    int fits;

    if (ss_scenario_build(&c->request, &like, &s, NULL))
        return 0;
    fits = fits_with_few_microbatches(x, s) && predict(x, s, summary);
    ss_scenario_free(s);
    return fits;
}

static int keep(struct search *x, const struct ss_job *job, const char *flags,
                const struct ss_summary *summary)
{
    const struct ss_job *base = x->base->job;
    int64_t usual = (int64_t)job->micro_batch * ss_job_dp(job, x->base->world_size);

    if (ss_grow(&x->found, &x->cap, x->nfound + 1, sizeof *x->found))
        return SS_ERR_NOMEM;
    struct ss_fix *f = &x->found[x->nfound++];
    memset(f, 0, sizeof *f);
    ss_copy(f->change, sizeof f->change, flags);
    if (!x->batch_given && usual != base->global_batch)
        snprintf(f->change, sizeof f->change, "%s --global-batch-size %d", flags, base->global_batch);
    f->summary = *summary;
    return SS_OK;
}

/* Whether the first of these flags is among those before. */
static int stands(const char *done, const char *flags)
{
    size_t n = strcspn(flags, " ");

    for (const char *at = done; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, flags, n) && (at[n] == ' ' || !at[n]))
            return 1;
    return 0;
}

int ss_study_add_words(struct ss_request *r, const char *words)
{
    char word[64];
    int rc = SS_OK;

    for (const char *p = words; *p && !rc; p += strcspn(p, " "), p += *p == ' ') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, " "), p);
        rc = ss_request_set(r, word, NULL, NULL);
    }
    return rc;
}

/* *out is `from` with the words, which blanks part. To be freed if this succeeds. */
static int change(const struct changed *from, const char *words, struct changed *out)
{
    struct ss_request added;
    int rc = ss_request_copy(&from->request, &out->request, NULL);

    if (rc)
        return rc;
    out->job = from->job;
    ss_request_init(&added);
    rc = ss_study_add_words(&out->request, words);
    if (!rc)
        rc = ss_study_add_words(&added, words);
    if (!rc)
        rc = ss_job_parse(&out->job, &added, NULL, NULL);
    ss_request_free(&added);
    if (rc)
        ss_request_free(&out->request);
    return rc;
}

/* Makes `depth` more changes from `first` on; those that fit are kept. */
static int explore(struct search *x, const struct changed *from, const char *done, size_t first, int depth)
{
    int dp = x->base->world_size / (from->job.tp * from->job.pp * from->job.cp);

    for (size_t i = first; i < NCHANGES; i++) {
        struct changed c;
        char words[160], all[160];
        struct ss_summary summary;
        if (x->alone[i] || !changes[i](&from->job, dp, words, sizeof words) || stands(done, words))
            continue;
        if (snprintf(all, sizeof all, "%s%s%s", done, done[0] ? " " : "", words) >= (int)sizeof all)
            continue;
        int rc = change(from, words, &c);
        if (rc)
            return rc;
        if (depth > 1) {
            rc = explore(x, &c, all, i + 1, depth - 1);
        } else if (try_changed(x, &c, &summary)) {
            rc = keep(x, &c.job, all, &summary);
            x->alone[i] = !done[0];
        }
        ss_request_free(&c.request);
        if (rc)
            return rc;
    }
    return SS_OK;
}

static int faster(const void *a, const void *b)
{
    const struct ss_fix *x = a, *y = b;

    if (x->summary.iteration_s != y->summary.iteration_s)
        return x->summary.iteration_s < y->summary.iteration_s ? -1 : 1;
    return strcmp(x->change, y->change);
}

int ss_fixes_find(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_fix fixes[3],
                  int *n, struct ss_error *err)
{
    struct search x = {.base = s,
                       .batch_given = ss_request_find(s->request, "--global-batch-size") < s->request->n};
    struct changed from = {.job = *s->job};
    int rc = ss_request_copy(s->request, &from.request, err);

    if (!rc && !x.batch_given) {
        char batch[16];
        snprintf(batch, sizeof batch, "%d", s->job->global_batch);
        rc = ss_request_set(&from.request, "--global-batch-size", batch, err);
    }
    if (rc)
        return rc;
    if (options) {
        x.options.plan = options->plan;
        x.options.bands = options->bands;
        if (options->level_choice != SS_LEVEL_FOLLOWS)
            x.options.level_choice =
                SS_LEVEL_BLIND; /* that of the job itself says how far the level is off */
    }
    x.options.engine = SS_ENGINE_NATIVE;
    x.options.unchecked = 1;
    *n = 0;
    for (int depth = 1; !rc && depth <= MAX_CHANGES && *n < 3; depth++) {
        x.nfound = 0;
        rc = explore(&x, &from, "", 0, depth);
        if (x.nfound > 1)
            qsort(x.found, x.nfound, sizeof *x.found, faster);
        for (size_t i = 0; !rc && i < x.nfound && *n < 3; i++)
            fixes[(*n)++] = x.found[i];
    }
    if (*n > 1) /* a pair may be faster than a single change */
        qsort(fixes, (size_t)*n, sizeof *fixes, faster);
    free(x.found);
    ss_request_free(&from.request);
    if (rc)
        return ss_fail(err, rc, NULL, 0, "no memory for the search of fixes");
    return SS_OK;
}
