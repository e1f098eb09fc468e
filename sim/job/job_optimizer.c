/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer: what Megatron-LM refuses, with its words, and what flags leave open. */
#include "base/base.h"
#include "job/job_internal.h"

/* Words of the flags of types: fp32 is 0. REMAINDERS: what bf16 parameters lack of the master copy. */
enum { BF16 = 1, FP16 = 2, REMAINDERS = 3 };
static const int state_bytes[] = {4, 2, 2, 1};

int ss_job_check_optimizer(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    const struct {
        int type;
        const char *flag, *name;
    } states[] = {{f->asked->exp_avg, "--exp-avg-dtype", "exp_avg_dtype"},
                  {f->asked->exp_avg_sq, "--exp-avg-sq-dtype", "exp_avg_sq_dtype"},
                  {f->asked->main_grads, "--main-grads-dtype", "main_grads_dtype"},
                  {f->asked->optimizer_master == FP16, "--main-params-dtype", "main_params_dtype"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(states) && !job->optimizer.precision_aware; i++)
        if (states[i].type)
            REFUSE(f, states[i].flag, "add --use-precision-aware-optimizer",
                   "%s can only be fp32 when not using precision-aware optimizer", states[i].name);
    if (f->asked->main_grads && SS_GIVEN(f->asked, grad_reduce_fp32) && job->stored == SS_BF16)
        REFUSE(f, "--main-grads-dtype --accumulate-allreduce-grads-in-fp32", "drop one of them",
               "--main-grads-dtype can only be fp32 when --accumulate-allreduce-grads-in-fp32 is set");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->stored == SS_FP16)
        REFUSE(f, "--optimizer", "take --bf16", "muon with fp16 is not supported.");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->optimizer.precision_aware)
        REFUSE(f, "--use-precision-aware-optimizer", "drop it",
               "muon with the precision-aware optimizer is not supported.");
    /* Megatron-LM's; bitsandbytes' states need none */
    if (job->optimizer.precision_aware && !job->dp.distributed_optimizer && !job->dp.fsdp &&
        f->stack->fsdp_pytorch <= 0)
        REFUSE(f, "--use-precision-aware-optimizer", "add --use-distributed-optimizer",
               "--use-precision-aware-optimizer only supported with distributed optimizer");
    return SS_OK;
}

/* Types of Megatron-FSDP. Its gradients are in fp32 without --grad-reduce-in-bf16, whatever the others say. */
static void complete_fsdp_types(struct ss_finish *f)
{
    enum { FP32 = 3, OWN = 3 };
    const struct ss_asked *asked = f->asked;
    struct ss_job *job = f->job;
    int main = asked->fsdp_main_grads, comm = asked->fsdp_grad_comm ? asked->fsdp_grad_comm : main;

    if (!job->dp.fsdp || job->stored == SS_FP32) {
        if (main || comm || asked->fsdp_main_params)
            ss_note(f->notes, "types of Megatron-FSDP are not active without --use-megatron-fsdp in 16 bit");
        return;
    }
    if (asked->fsdp_main_params) /* of the parameters' own type: no copy beside them */
        job->optimizer.master_bytes =
            asked->fsdp_main_params == OWN ||
                    asked->fsdp_main_params == (job->stored == SS_FP16 ? FP16 : BF16)
                ? 0
                : 2;
    if (!job->dp.grad_reduce_bf16 && (main % FP32 || comm % FP32))
        ss_note(f->notes, "gradients of Megatron-FSDP stay in fp32 without --grad-reduce-in-bf16");
    if (!job->dp.grad_reduce_bf16)
        return;
    job->dp.grad_reduce_fp32 = comm == FP32;
    if (main == FP32 && comm != FP32)
        ss_note(f->notes,
                "gradients that are kept in fp32 and reduced in 16 bit: what they take more is not counted");
}

void ss_job_complete_optimizer(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (f->asked->optimizer_fraction >= 0 && job->offload.optimizer > 0)
        job->offload.optimizer = f->asked->optimizer_fraction;
    else if (f->asked->optimizer_fraction >= 0)
        ss_note(f->notes, "--optimizer-offload-fraction is not active without --optimizer-cpu-offload");
    job->optimizer.moment_bytes = state_bytes[f->asked->exp_avg] + state_bytes[f->asked->exp_avg_sq];
    job->optimizer.main_grad_bytes = f->asked->main_grads ? 2 : 4;
    job->optimizer.master_bytes = f->asked->optimizer_master ? 2 : 4;
    complete_fsdp_types(f);
    if (job->stored == SS_FP16 || (job->optimizer.check_for_nan == 1 && f->stack->check_for_nan <= 0))
        job->optimizer.check_for_nan = 0; /* of fp16 dynamic loss scaling looks for them itself */
    job->optimizer.check_for_nan = job->optimizer.check_for_nan > 0;
}

void ss_job_note_muon(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->optimizer.kind != SS_OPTIMIZER_MUON &&
        (job->optimizer.muon_steps != 5 || job->optimizer.muon_tp != SS_MUON_BLOCKWISE ||
         job->optimizer.muon_joint_qkv))
        ss_note(f->notes, "flags of Muon are not active without --optimizer muon");
}
