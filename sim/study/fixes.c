/* SPDX-License-Identifier: Apache-2.0 */
/* What to change when a job does not fit: candidates are tried, none is taken on trust. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/result.h"

#define MAX_CHANGES 3 /* changes taken together when fewer do not give three fixes */

/* A candidate changes the job and writes the flags that do so; 0 = does not apply to this job. */
typedef int (*change_fn)(struct ss_job *job, int dp, char *flags, size_t size);

static int use_distributed_optimizer(struct ss_job *job, int dp, char *flags, size_t size)
{
    if (job->distributed_optimizer || job->fsdp || dp * job->cp < 2)
        return 0;
    job->distributed_optimizer = 1;
    snprintf(flags, size, "--use-distributed-optimizer");
    return 1;
}

static int use_sequence_parallel(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->sequence_parallel || job->tp < 2)
        return 0;
    job->sequence_parallel = 1;
    snprintf(flags, size, "--sequence-parallel");
    return 1;
}

static int use_flash(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->attention != SS_ATTENTION_UNFUSED || job->precision == SS_FP32)
        return 0;
    job->attention = SS_ATTENTION_FLASH;
    snprintf(flags, size, "--attention-backend flash");
    return 1;
}

static int recompute_selective(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->recompute != SS_RECOMPUTE_NONE)
        return 0;
    job->recompute = SS_RECOMPUTE_SELECTIVE;
    job->recompute_num_layers = 0;
    snprintf(flags, size, "--recompute-activations");
    return 1;
}

static int recompute_full(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->recompute == SS_RECOMPUTE_FULL && job->recompute_method == SS_RECOMPUTE_UNIFORM &&
        job->recompute_num_layers == 1)
        return 0;
    job->recompute = SS_RECOMPUTE_FULL;
    job->recompute_method = SS_RECOMPUTE_UNIFORM;
    job->recompute_num_layers = 1;
    snprintf(flags, size, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    return 1;
}

static int halve_micro_batch(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->micro_batch < 2 || job->micro_batch % 2)
        return 0;
    job->micro_batch /= 2;
    snprintf(flags, size, "--micro-batch-size %d", job->micro_batch);
    return 1;
}

static int least_micro_batch(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->micro_batch < 3)
        return 0;
    job->micro_batch = 1;
    snprintf(flags, size, "--micro-batch-size 1");
    return 1;
}

static int raise_tp(struct ss_job *job, int dp, int times, char *flags, size_t size)
{
    if (dp % times)
        return 0;
    job->tp *= times;
    job->sequence_parallel = 1;
    snprintf(flags, size, "--tensor-model-parallel-size %d --sequence-parallel", job->tp);
    return 1;
}

static int double_tp(struct ss_job *job, int dp, char *flags, size_t size)
{
    return raise_tp(job, dp, 2, flags, size);
}

static int quadruple_tp(struct ss_job *job, int dp, char *flags, size_t size)
{
    return raise_tp(job, dp, 4, flags, size);
}

static int fp8_parameters(struct ss_job *job, int dp, char *flags, size_t size)
{
    if (job->precision != SS_FP8 || job->fp8_param_gather || !(job->distributed_optimizer || job->fsdp) ||
        dp < 2)
        return 0;
    job->fp8_param_gather = 1;
    snprintf(flags, size, "--fp8-param-gather");
    return 1;
}

static int drop_fp8(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->precision != SS_FP8)
        return 0;
    job->precision = job->fp8_base;
    job->fp8_param_gather = 0;
    snprintf(flags, size, "--fp8-format none");
    return 1;
}

/* Twice the stages. Virtual stages stay, by their layers or by their number, where they can, else one chunk a rank. */
static int double_pp(struct ss_job *job, int dp, char *flags, size_t size)
{
    int per_stage, layers = ss_job_split_layers(job);

    if (dp % 2 || job->first_stage_layers || job->last_stage_layers || layers % (2 * job->pp))
        return 0;
    job->pp *= 2;
    per_stage = layers / job->pp;
    int keep = job->layers_per_virtual_stage > 0 && job->layers_per_virtual_stage < per_stage &&
               per_stage % job->layers_per_virtual_stage == 0;
    int had = job->layers_per_virtual_stage > 0 || job->virtual_stages > 0;
    keep |= job->virtual_stages > 1 && per_stage % job->virtual_stages == 0;
    job->microbatch_group_size = 0;
    if (!keep)
        job->layers_per_virtual_stage = job->virtual_stages = 0;
    snprintf(flags, size, "--pipeline-model-parallel-size %d%s", job->pp, had && !keep ? " --vp 1" : "");
    return 1;
}

static int double_cp(struct ss_job *job, int dp, char *flags, size_t size)
{
    if (dp % 2)
        return 0;
    job->cp *= 2;
    snprintf(flags, size, "--context-parallel-size %d", job->cp);
    return 1;
}

static int drop_virtual_stages(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (ss_job_chunks(job) < 2)
        return 0;
    job->layers_per_virtual_stage = 0;
    job->virtual_stages = 0;
    job->microbatch_group_size = 0;
    snprintf(flags, size, "--vp 1");
    return 1;
}

static int offload_optimizer(struct ss_job *job, int dp, char *flags, size_t size)
{
    (void)dp;
    if (job->optimizer_offload > 0)
        return 0;
    job->optimizer_offload = 1;
    snprintf(flags, size, "--optimizer-cpu-offload --optimizer-offload-fraction 1");
    return 1;
}

static int use_fsdp(struct ss_job *job, int dp, char *flags, size_t size)
{
    if (job->fsdp || dp < 2 || job->pp > 1)
        return 0;
    job->fsdp = 1;
    job->sharding = SS_SHARD_OPTIM_GRADS_PARAMS;
    job->distributed_optimizer = 1;
    snprintf(flags, size, "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params");
    return 1;
}

static const change_fn changes[] = {
    use_distributed_optimizer,
    use_sequence_parallel,
    use_flash,
    recompute_selective,
    recompute_full,
    halve_micro_batch,
    least_micro_batch,
    double_tp,
    quadruple_tp,
    double_pp,
    double_cp,
    drop_virtual_stages,
    fp8_parameters,
    drop_fp8,
    use_fsdp,
    offload_optimizer,
};
#define NCHANGES (sizeof changes / sizeof changes[0])

struct search {
    const struct ss_stack *stack;
    const struct ss_platform *platform;
    struct ss_run_options options;
    int world_size, gpus_per_node;
    char alone[NCHANGES]; /* fits by itself: no need of a second change */
    struct ss_fix *found; /* every fix that fits, unsorted */
    size_t nfound, cap;
};

/* 1: the job can be built and fits, *summary says how. A refusal is an answer, not an error. */
static int try_job(const struct search *x, const struct ss_job *wanted, struct ss_summary *summary)
{
    struct ss_job job = *wanted;
    struct ss_run run;
    int fits, rc = ss_job_finish_again(&job, x->stack, x->world_size, x->gpus_per_node, NULL);

    if (rc || ss_run_job_with(&job, x->stack, x->platform, &x->options, &run, NULL))
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
static int fits_with_few_microbatches(const struct search *x, const struct ss_job *job)
{
    struct ss_job few = *job;
    struct ss_summary ignored;
    int ways = x->world_size / (job->tp * job->pp * job->cp);
    int group = job->microbatch_group_size > job->pp ? job->microbatch_group_size : job->pp;
    int64_t batch = (int64_t)4 * group * job->micro_batch * ways;

    if (ways < 1 || batch >= job->global_batch)
        return 1;
    few.global_batch = (int)batch;
    return try_job(x, &few, &ignored);
}

static int keep(struct search *x, const char *flags, const struct ss_summary *summary)
{
    if (ss_grow(&x->found, &x->cap, x->nfound + 1, sizeof *x->found))
        return SS_ERR_NOMEM;
    struct ss_fix *f = &x->found[x->nfound++];
    memset(f, 0, sizeof *f);
    ss_copy(f->change, sizeof f->change, flags);
    f->summary = *summary;
    return SS_OK;
}

static int data_parallel(const struct search *x, const struct ss_job *job)
{
    return x->world_size / (job->tp * job->pp * job->cp);
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

/* Applies `depth` more changes from `first` on; those that fit are kept. */
static int explore(struct search *x, const struct ss_job *base, const char *done, size_t first, int depth)
{
    for (size_t i = first; i < NCHANGES; i++) {
        struct ss_job job = *base;
        char flags[160], all[160];
        struct ss_summary summary;
        int rc = SS_OK;
        if (x->alone[i] || !changes[i](&job, data_parallel(x, base), flags, sizeof flags) ||
            stands(done, flags))
            continue;
        if (snprintf(all, sizeof all, "%s%s%s", done, done[0] ? " " : "", flags) >= (int)sizeof all)
            continue;
        if (depth > 1)
            rc = explore(x, &job, all, i + 1, depth - 1);
        else if (fits_with_few_microbatches(x, &job) && try_job(x, &job, &summary)) {
            rc = keep(x, all, &summary);
            x->alone[i] = !done[0];
        }
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

int ss_fixes_find(const struct ss_job *job, const struct ss_stack *stack, const struct ss_platform *platform,
                  const struct ss_run_options *options, struct ss_fix fixes[3], int *n, struct ss_error *err)
{
    struct search x = {.stack = stack, .platform = platform};
    int rc = SS_OK;

    if (options) {
        x.options.plan = options->plan;
        x.options.bands = options->bands;
    }
    x.options.engine = SS_ENGINE_NATIVE;
    x.gpus_per_node = ss_platform_gpus_per_node(platform);
    x.world_size = ss_platform_nodes(platform) * x.gpus_per_node;
    *n = 0;
    for (int depth = 1; !rc && depth <= MAX_CHANGES && *n < 3; depth++) {
        x.nfound = 0;
        rc = explore(&x, job, "", 0, depth);
        if (x.nfound > 1)
            qsort(x.found, x.nfound, sizeof *x.found, faster);
        for (size_t i = 0; !rc && i < x.nfound && *n < 3; i++)
            fixes[(*n)++] = x.found[i];
    }
    if (*n > 1) /* a pair may be faster than a single change */
        qsort(fixes, (size_t)*n, sizeof *fixes, faster);
    free(x.found);
    if (rc)
        return ss_fail(err, rc, NULL, 0, "no memory for the search of fixes");
    return SS_OK;
}
