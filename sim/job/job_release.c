/* SPDX-License-Identifier: Apache-2.0 */
/* What the release of a stack has: flags of Megatron core by the tag that has them first in megatron/training/arguments.py or in its configurations,
 * and kernels of attention. */
#include "base/base.h"
#include "job/job_internal.h"
#include "job/release.h"

static const struct {
    int release; /* of Megatron core: 14 is 0.14 */
    const char *flag;
} rows[] = {
    {5, "--moe-grouped-gemm"},
    {10, "--moe-shared-expert-overlap"},
    {11, "--moe-permute-fusion"},
    {12, "--moe-token-dispatcher-type flex"},
    {13, "--delay-wgrad-compute"},
    {14, "--moe-router-fusion"},
    {14, "--overlap-moe-expert-parallel-comm"},
    {15, "--fused-single-qkv-rope"},
    {16, "--fine-grained-activation-offloading"},
};

unsigned ss_job_later(const struct ss_job *job, const struct ss_stack *stack)
{
    const int experts = job->model.num_experts > 0, flex = ss_dispatcher_has_stages((int)stack->dispatcher),
              asked[] = {experts && job->moe.grouped_gemm && stack->grouped_gemm <= 0,
                         experts && job->moe.shared_expert_overlap &&
                             job->model.shared_expert_ffn_hidden_size > 0,
                         experts && job->moe.permute_fusion && stack->permute_fusion <= 0,
                         experts && ss_dispatcher_has_stages(job->moe.dispatcher) && !flex &&
                             stack->flex_offered <= 0,
                         experts && job->moe.delay_wgrad,
                         experts && job->moe.router_fusion,
                         experts && job->moe.overlap,
                         ss_job_fuses_qkv_rope(job, stack),
                         job->offload.fine_grained};
    unsigned later = 0;

    _Static_assert(SS_ARRAY_LEN(asked) == SS_ARRAY_LEN(rows), "a row for each");
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        later |= (unsigned)(asked[i] && stack->core_release < rows[i].release) << i;
    return later;
}

const char *ss_job_later_words(unsigned later, char *buf, size_t size)
{
    buf[0] = '\0';
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        if (later >> i & 1)
            ss_append(buf, size, "%s%s (Megatron core 0.%d)", buf[0] ? ", " : "", rows[i].flag,
                      rows[i].release);
    return buf;
}

int ss_flag_is_later(const char *flag, const char *value, const struct ss_stack *stack)
{
    const size_t n = strlen(flag);

    if (!strncmp(flag, "--moe-flex-dispatcher", 21) || !strcmp(flag, "--moe-enable-deepep"))
        return ss_flag_is_later("--moe-token-dispatcher-type", "flex", stack);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        if (!strncmp(rows[i].flag, flag, n) && (!rows[i].flag[n] || !strcmp(rows[i].flag + n + 1, value)))
            return stack->core_release < rows[i].release && !(rows[i].flag[n] && stack->flex_offered > 0);
    return 0;
}

int ss_stack_has_attention(const struct ss_stack *stack, int attention)
{
    const int fused = attention == SS_ATTENTION_FUSED, flash = attention == SS_ATTENTION_FLASH,
              itself =
                  fused ? stack->attention_auto == SS_STACK_FUSED : stack->attention_auto == SS_STACK_FLASH;
    return itself || stack->attention_offered >= flash + 2 * fused;
}

int ss_stack_is_assumed(const struct ss_stack *stack)
{
    return !strcmp(stack->name, SS_DEFAULT_STACK);
}

static int check_attention(struct ss_finish *f)
{
    const int attention = ss_job_attention(f->job, f->stack);

    if (attention == SS_ATTENTION_FUSED && f->job->model.attention_softcap > 0)
        REFUSE(f, "--attention-backend --model", "take --attention-backend flash",
               "cuDNN's fused attention has no soft cap of scores");
    if (attention == SS_ATTENTION_FUSED && !ss_stack_has_attention(f->stack, attention))
        REFUSE(f, "--attention-backend --stack --platform",
               "take --attention-backend auto, or another --stack",
               "%s has no fused attention (cuDNN's) on this card", f->stack->name);
    if (!ss_stack_has_attention(f->stack, attention) &&
        attention == SS_ATTENTION_FLASH) /* forks of it have */
        ss_note(f->notes, "%s has no flash attention: taken as if it did; --stack names yours",
                f->stack->name);
    return SS_OK;
}

int ss_job_check_release(struct ss_finish *f)
{
    const unsigned later = ss_job_later(f->job, f->stack);
    char words[400];

    SS_TRY(check_attention(f));
    if (!later)
        return SS_OK;
    ss_job_later_words(later, words, sizeof words);
    if (!ss_stack_is_assumed(f->stack))
        REFUSE(f, "--stack", "drop it, or take the --stack of a later release", "%s has no %s",
               f->stack->name, words);
    ss_note(f->notes,
            "%s, which stands for any release, does not have %s: taken as if it did; --stack names yours",
            f->stack->name, words);
    return SS_OK;
}
