/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM refuses of --pipeline-model-parallel-layout, with its words. */
#include "base/base.h"
#include "job/job_internal.h"

int ss_job_has_dense_layer(const struct ss_job *job)
{
    const struct ss_model *m = &job->model;

    for (int i = 0; i < m->num_layers; i++)
        if (!ss_layer_rule_has(&m->no_mlp, i) && !(m->num_experts && ss_layer_rule_has(&m->moe_layers, i)))
            return 1;
    return 0;
}

int ss_job_layout_most(const struct ss_job *job)
{
    int most = 0;

    for (int rank = 0; rank < job->pp; rank++) {
        int n = 0;
        for (int v = rank; v < job->layout.n; v += job->pp)
            n += job->layout.layers[v];
        most = n > most ? n : most;
    }
    return most;
}

/* Flags that say the same otherwise. */
static int check_others(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->layers_per_virtual_stage || job->virtual_stages)
        REFUSE(f,
               "--pipeline-model-parallel-layout --num-virtual-stages-per-pipeline-rank "
               "--num-layers-per-virtual-pipeline-stage",
               "drop one of them",
               "No more than one of the following arguments can be set at the same time: "
               "--num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank, "
               "--pipeline-model-parallel-layout.");
    if (job->first_stage_layers || job->last_stage_layers || job->account_for_embedding ||
        job->account_for_loss)
        REFUSE(f, "--pipeline-model-parallel-layout", "drop the other flags of it",
               "pipeline_model_parallel_layout cannot be set with other pipeline layout arguments.");
    return SS_OK;
}

int ss_job_check_pipeline_layout(struct ss_finish *f, int *v)
{
    const struct ss_job *job = f->job;
    const char *flag = "--pipeline-model-parallel-layout";
    int stages = job->layout.n, layers = 0;

    SS_TRY(check_others(f));
    for (int i = 0; i < stages; i++)
        layers += job->layout.layers[i];
    if (stages % job->pp)
        REFUSE(f, "--pipeline-model-parallel-layout --pp", "take a --pp that divides its stages",
               "pipeline_model_parallel_layout must be divisible by pipeline_model_parallel_size (%d stages, "
               "pipeline %d)",
               stages, job->pp);
    if (layers != job->model.num_layers)
        REFUSE(f, "--pipeline-model-parallel-layout --num-layers", "write a t for each layer",
               "Number of decoder layers %d must match num_layers %d", layers, job->model.num_layers);
    if (f->asked->job.layout.n && f->asked->layout_mtp >= 0 &&
        f->asked->layout_mtp != job->model.mtp_num_layers)
        REFUSE(f, "--pipeline-model-parallel-layout --mtp-num-layers", "write an m for each MTP layer",
               "Number of mtp layers in layout must match mtp_num_layers (%d, %d)", f->asked->layout_mtp,
               job->model.mtp_num_layers);
    if (job->pp < 2 && stages > 1)
        REFUSE(f, "--pipeline-model-parallel-layout --pp", "take a larger --pp",
               "when interleaved schedule is used, pipeline-model-parallel size should be greater than 1");
    if (stages > job->pp && job->pp < 3 && !job->overlap_p2p)
        REFUSE(f, flag, "drop --no-overlap-p2p-communication",
               "when interleaved schedule is used and p2p communication overlap is disabled, "
               "pipeline-model-parallel size should be greater than 2");
    *v = stages > job->pp ? stages / job->pp : 0;
    return SS_OK;
}
