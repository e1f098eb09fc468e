/* SPDX-License-Identifier: Apache-2.0 */
/* Mixers that no public training framework divides over ranks. */
#include "base/base.h"
#include "job/job_internal.h"

int ss_job_check_undivided(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    const struct {
        int has;
        const char *name;
    } mixers[] = {{m->mamba1_inner, "Mamba-1"},
                  {m->short_conv_taps, "short convolutions"},
                  {m->num_shared_blocks, "shared blocks"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(mixers); i++)
        if (mixers[i].has && (job->tp > 1 || job->cp > 1))
            REFUSE(f, job->tp > 1 ? "--tp" : "--cp", "shard the model by --fsdp full",
                   "no public training framework has layers of %s under %s parallelism", mixers[i].name,
                   job->tp > 1 ? "tensor" : "context");
    if ((m->msa.n || m->msa.period || m->qsa.n) && (job->tp > 1 || job->cp > 1))
        REFUSE(f, job->tp > 1 ? "--tp" : "--cp", "shard the model by --fsdp full",
               "sparse attention over blocks under %s parallelism is not modelled",
               job->tp > 1 ? "tensor" : "context");
    if (m->num_shared_blocks && job->pp > 1)
        REFUSE(f, "--pp", "shard the model by --fsdp full",
               "no public training framework has blocks that layers share under pipeline parallelism");
    return SS_OK;
}
