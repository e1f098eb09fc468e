/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer: what Megatron-LM refuses, with its words, and what flags leave open. */
#include "base/base.h"
#include "job/job_internal.h"

int ss_job_check_optimizer(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if ((f->asked->exp_avg_bf16 || f->asked->exp_avg_sq_bf16) && !job->optimizer.precision_aware)
        REFUSE(f, "--exp-avg-dtype --exp-avg-sq-dtype", "add --use-precision-aware-optimizer",
               "exp_avg_dtype can only be fp32 when not using precision-aware optimizer");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->stored == SS_FP16)
        REFUSE(f, "--optimizer", "take --bf16", "muon with fp16 is not supported.");
    if (job->optimizer.kind == SS_OPTIMIZER_MUON && job->optimizer.precision_aware)
        REFUSE(f, "--use-precision-aware-optimizer", "drop it",
               "muon with the precision-aware optimizer is not supported.");
    if (job->optimizer.precision_aware && !job->dp.distributed_optimizer && !job->dp.fsdp)
        REFUSE(f, "--use-precision-aware-optimizer", "add --use-distributed-optimizer",
               "--use-precision-aware-optimizer only supported with distributed optimizer");
    return SS_OK;
}

void ss_job_complete_optimizer(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (f->asked->optimizer_fraction >= 0 && job->offload.optimizer > 0)
        job->offload.optimizer = f->asked->optimizer_fraction;
    else if (f->asked->optimizer_fraction >= 0)
        ss_note(f->notes, "--optimizer-offload-fraction is not active without --optimizer-cpu-offload");
    job->optimizer.bf16_moments = f->asked->exp_avg_bf16 && f->asked->exp_avg_sq_bf16;
    if (job->stored == SS_FP16)
        job->optimizer.check_for_nan = 0; /* dynamic loss scaling looks for them itself */
}

void ss_job_note_muon(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->optimizer.kind != SS_OPTIMIZER_MUON &&
        (job->optimizer.muon_steps != 5 || job->optimizer.muon_tp != SS_MUON_BLOCKWISE ||
         job->optimizer.muon_joint_qkv))
        ss_note(f->notes, "flags of Muon are not active without --optimizer muon");
}
