/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM and Transformer Engine refuse of fp8 and fp4, with their words. */
#include "base/base.h"
#include "job/job_internal.h"

static int check_param_gather(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int gathers = job->fp8_param_gather || f->asked->fp4_param_gather;

    if (job->fp8_param_gather && job->precision != SS_FP8)
        REFUSE(f, "--fp8-param-gather",
               job->precision == SS_NVFP4 ? "take --fp4-param-gather" : "add --fp8-format hybrid",
               "fp8_param must be used together with fp8 mode.");
    if (f->asked->fp4_param_gather && job->precision != SS_NVFP4)
        REFUSE(f, "--fp4-param-gather", "add --fp4-format e2m1, or drop it",
               "--fp4-param-gather must be used together with --fp4-format.");
    if (gathers && !job->dp.distributed_optimizer && !job->dp.fsdp)
        REFUSE(f, "--fp8-param-gather --fp4-param-gather", "add --use-distributed-optimizer",
               "%s only supported with distributed optimizer",
               f->asked->fp4_param_gather ? "--fp4-param-gather" : "--fp8-param-gather");
    return SS_OK;
}

/* Transformer Engine multiplies fp8 matrices of heights by 8 and widths by 16 only. */
static int check_sizes(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    const struct {
        const char *what;
        int64_t value, unit;
    } sizes[] = {
        {"hidden size", m->hidden_size, 16},
        {"ffn hidden size of a rank", ss_job_has_dense_layer(job) ? m->ffn_hidden_size / job->tp : 0, 16},
        {"ffn hidden size of an expert", m->num_experts ? m->moe_ffn_hidden_size / job->etp : 0, 16},
        {"attention width of a rank",
         m->kv_lora_rank > 0 ? 0 : (int64_t)m->num_attention_heads / job->tp * m->kv_channels, 16},
        {"number of tokens of a rank", (int64_t)job->seq_length / job->cp * job->micro_batch, 8},
    };

    if (!ss_precision_is_quantized(job->precision))
        return SS_OK;
    if (job->stored == SS_FP32)
        return ss_fail(f->err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "%s over fp32 storage is not modelled" SS_HINT "add --bf16",
                       ss_precision_name(job->precision));
    if (f->stack->fp8_dynamic == 0 && (job->transformer_local || f->stack->te_layers == 0))
        REFUSE(f, "--transformer-impl --stack --fp8-format --precision",
               "take another --stack or --transformer-impl", "fp8 needs Transformer Engine, which %s",
               job->transformer_local ? "--transformer-impl local does not use" : "the stack does not have");
    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++)
        if (sizes[i].value % sizes[i].unit)
            REFUSE(f, "--tp --fp8-format --precision", "sizes that divide so, another --tp, or 16 bit",
                   "FP8 execution requires 2D input matrices with height divisible by 8 and width divisible "
                   "by 16, but the %s is %lld",
                   sizes[i].what, (long long)sizes[i].value);
    return SS_OK;
}

static int check_attention(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->fp8_attention && ss_job_recipe(job) != SS_FP8_MXFP8)
        REFUSE(f, "--fp8-dot-product-attention", "add --fp8-format hybrid --fp8-recipe mxfp8, or drop it",
               "attention in fp8 is modelled in mxfp8 alone");
    return SS_OK;
}

int ss_job_check_quantized(struct ss_finish *f)
{
    int rc = check_param_gather(f);

    rc = rc ? rc : check_attention(f);
    return rc ? rc : check_sizes(f);
}

/* Notes and leaves out settings of a type that the job does not multiply in, as Megatron leaves them out. */
void ss_job_complete_quantized(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (job->fp8_recipe != SS_FP8_DELAYED && job->precision != SS_FP8)
        ss_note(f->notes, "--fp8-recipe is not active without --fp8-format: Megatron takes it and multiplies "
                          "in 16 bit, as here");
    if (f->asked->fp4_recipe_given && job->precision != SS_NVFP4)
        ss_note(f->notes, "--fp4-recipe is not active without --fp4-format");
    if (f->asked->fp4_param_gather)
        job->fp8_param_gather = 1;
    if (job->precision == SS_FP8 && f->stack->fp8_param_gather > 0 &&
        (job->dp.distributed_optimizer || job->dp.fsdp))
        job->fp8_param_gather = 1;
}
