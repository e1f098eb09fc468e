/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a job that are tried; none is trusted without a run. This file has the changes that save
 * memory. */
#include "study/changes.h"

#include "base/base.h"
#include "study/changes_table.h"
#include "study/study_internal.h"

static int use_distributed_optimizer(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--use-distributed-optimizer");
    return !job->dp.distributed_optimizer && !job->dp.fsdp && dp * job->cp >= 2;
}

static int use_sequence_parallel(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--sequence-parallel");
    return !job->sequence_parallel && job->tp >= 2;
}

/* Adds --bf16 where the job has neither --bf16 nor --fp16, which users forget. */
static int use_bf16(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--bf16");
    return job->precision == SS_FP32;
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
    return job->recompute.granularity == SS_RECOMPUTE_NONE;
}

static int recompute_full(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    snprintf(words, size, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    return job->recompute.granularity != SS_RECOMPUTE_FULL || job->recompute.method != SS_RECOMPUTE_UNIFORM ||
           job->recompute.num_layers != 1;
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

static int double_tp(const struct ss_job *job, int dp, char *words, size_t size)
{
    return ss_change_degrees(job, dp, (struct ss_degrees_twos){.tp = 1}, words, size);
}

static int quadruple_tp(const struct ss_job *job, int dp, char *words, size_t size)
{
    return ss_change_degrees(job, dp, (struct ss_degrees_twos){.tp = 2}, words, size);
}

static int double_pp(const struct ss_job *job, int dp, char *words, size_t size)
{
    return ss_change_degrees(job, dp, (struct ss_degrees_twos){.pp = 1}, words, size);
}

static int double_cp(const struct ss_job *job, int dp, char *words, size_t size)
{
    return ss_change_degrees(job, dp, (struct ss_degrees_twos){.cp = 1}, words, size);
}

static int fp8_parameters(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--fp8-param-gather");
    return job->precision == SS_FP8 && !job->fp8_param_gather &&
           (job->dp.distributed_optimizer || job->dp.fsdp) && dp >= 2;
}

static int drop_fp8(const struct ss_job *job, int dp, char *words, size_t size)
{
    (void)dp;
    const char *flag = ss_precision_at(job->precision)->flag;
    if (flag[0])
        snprintf(words, size, "%s none", flag);
    else
        snprintf(words, size, "--precision %s", ss_precision_name(job->stored));
    return ss_precision_is_quantized(job->precision);
}

/* Doubles expert parallelism: a rank holds fewer experts and their states. The job's check knows whether
 * there are enough ranks. */
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
    return !job->offload.fine_grained && !job->offload.layers &&
           job->recompute.granularity != SS_RECOMPUTE_FULL;
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
    return job->offload.optimizer <= 0;
}

static int use_fsdp(const struct ss_job *job, int dp, char *words, size_t size)
{
    snprintf(words, size, "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params");
    return !job->dp.fsdp && dp >= 2 && job->pp <= 1;
}

#define BOTH (SS_CHANGE_FOR_MEMORY | SS_CHANGE_FOR_TIME)
#define OFFLOAD (SS_CHANGE_FOR_MEMORY | SS_CHANGE_SWITCH)
static const struct ss_change_row rows[] = {
    {use_bf16, BOTH | SS_CHANGE_BESIDE, SS_CHANGE_ARITHMETIC,
     "fp32 is what Megatron takes without --bf16 or --fp16"},
    {use_distributed_optimizer, BOTH, SS_CHANGE_PLAIN, NULL},
    {use_sequence_parallel, BOTH, SS_CHANGE_PLAIN, NULL},
    {use_flash, BOTH | SS_CHANGE_BESIDE | SS_CHANGE_SWITCH, SS_CHANGE_PLAIN, NULL},
    {recompute_selective, SS_CHANGE_FOR_MEMORY, SS_CHANGE_PLAIN, NULL},
    {recompute_full, SS_CHANGE_FOR_MEMORY, SS_CHANGE_PLAIN, NULL},
    {offload_attention, OFFLOAD, SS_CHANGE_PLAIN, NULL},
    {offload_experts, OFFLOAD, SS_CHANGE_PLAIN, NULL},
    {halve_micro_batch, BOTH, SS_CHANGE_PLAIN, NULL},
    {least_micro_batch, SS_CHANGE_FOR_MEMORY, SS_CHANGE_PLAIN, NULL},
    {double_tp, BOTH, SS_CHANGE_PLAIN, NULL},
    {quadruple_tp, SS_CHANGE_FOR_MEMORY, SS_CHANGE_PLAIN, NULL},
    {double_pp, BOTH, SS_CHANGE_PLAIN, NULL},
    {double_cp, BOTH, SS_CHANGE_PLAIN, NULL},
    {double_ep, BOTH, SS_CHANGE_PLAIN, NULL},
    {drop_virtual_stages, BOTH, SS_CHANGE_PLAIN, NULL},
    {fp8_parameters, BOTH | SS_CHANGE_BESIDE, SS_CHANGE_PLAIN, NULL},
    {drop_fp8, SS_CHANGE_FOR_MEMORY, SS_CHANGE_PLAIN, NULL},
    {use_fsdp, SS_CHANGE_FOR_MEMORY, SS_CHANGE_PLAIN, NULL},
    {offload_optimizer, OFFLOAD, SS_CHANGE_PLAIN, NULL},
};
#define NROWS ((int)SS_ARRAY_LEN(rows))

static const struct ss_change_row *row_at(int i)
{
    if (i < NROWS)
        return &rows[i];
    i -= NROWS;
    return i < ss_nchanges_for_time ? &ss_changes_for_time[i]
                                    : &ss_changes_of_layout[i - ss_nchanges_for_time];
}

int ss_change_count(void)
{
    return NROWS + ss_nchanges_for_time + ss_nchanges_of_layout;
}

int ss_change_serves(int i, enum ss_change_aim aim)
{
    return (row_at(i)->aims & (int)aim) != 0;
}

int ss_change_words(int i, enum ss_change_aim aim, const struct ss_job *job, int dp, char *words, size_t size)
{
    return ss_change_serves(i, aim) && row_at(i)->words(job, dp, words, size);
}

const char *ss_change_note(int i)
{
    return row_at(i)->note;
}

enum ss_change_kind ss_change_kind(int i)
{
    return (enum ss_change_kind)row_at(i)->kind;
}

static int gives_batch(const struct ss_request *r)
{
    return ss_request_find(r, "--global-batch-size") < r->n;
}

void ss_change_tell(const struct ss_scenario *base, const struct ss_job *changed, const char *words,
                    char *out, size_t size)
{
    int64_t usual = (int64_t)changed->micro_batch * ss_job_dp(changed, base->world_size);

    if (gives_batch(base->request) || usual == base->job->global_batch)
        ss_copy(out, size, words);
    else
        snprintf(out, size, "%s --global-batch-size %d", words, base->job->global_batch);
}

int ss_change_start(const struct ss_scenario *s, struct ss_changed *out, struct ss_error *err)
{
    char batch[16];
    int rc = ss_request_copy(s->request, &out->request, err);

    ss_asked_of(&out->asked, s->job);
    if (rc || gives_batch(s->request))
        return rc;
    snprintf(batch, sizeof batch, "%d", s->job->global_batch);
    rc = ss_request_set(&out->request, "--global-batch-size", batch, err);
    if (rc)
        ss_request_free(&out->request);
    return rc;
}

int ss_study_add_words(struct ss_request *r, const char *words)
{
    char word[64];
    int rc = SS_OK;

    for (const char *p = words; *p && !rc; p += *p == ' ') {
        size_t length = strcspn(p, " "), n = length < sizeof word ? length : sizeof word - 1;
        memcpy(word, p, n);
        word[n] = '\0';
        rc = ss_request_set(r, word, NULL, NULL);
        p += length;
    }
    return rc;
}

/* Copies words, but leaves out --without and its flag, which only a whole request understands. */
static void leave_out_without(const char *words, char *out, size_t size)
{
    out[0] = '\0';
    for (const char *p = words; *p;) {
        size_t length = strcspn(p, " ");
        int without = !strncmp(p, "--without ", 10);
        if (without)
            length = 10 + strcspn(p + 10, " ");
        else
            ss_append(out, size, "%s%.*s", out[0] ? " " : "", (int)length, p);
        p += length;
        p += *p == ' ';
    }
}

int ss_change_apply(const struct ss_changed *from, const char *words, struct ss_changed *out)
{
    struct ss_request added;
    char kept[256];

    SS_TRY(ss_request_copy(&from->request, &out->request, NULL));
    out->asked = from->asked;
    ss_request_init(&added);
    leave_out_without(words, kept, sizeof kept);
    int rc = ss_study_add_words(&out->request, words);
    SS_THEN(rc, ss_study_add_words(&added, kept));
    SS_THEN(rc, ss_asked_parse(&out->asked, &added, NULL, NULL, NULL));
    ss_request_free(&added);
    if (rc)
        ss_request_free(&out->request);
    return rc;
}

int ss_change_shares_flag(const char *before, const char *words)
{
    for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ') {
        size_t n = strcspn(p, " ");
        for (const char *at = before; !strncmp(p, "--", 2) && (at = strstr(at, "--")) != NULL; at += 2)
            if (!strncmp(at, p, n) && (at[n] == ' ' || !at[n]))
                return 1;
    }
    return 0;
}
