/* SPDX-License-Identifier: Apache-2.0 */
/* Hyper-connections by flags, and layers that choose experts by a table: what Megatron-LM makes of them and refuses, with its words
 * (transformer_config.py; main of August 2026 has no pipeline, no MTP and no full recompute with them, its dev branch has). */
#include "base/base.h"
#include "job/job_internal.h"

#define ENABLE "--enable-mhc-connections"

void ss_job_complete_streams(struct ss_finish *f, struct ss_model *m, int from_file)
{
    int streams = m->residual_streams;

    if (f->asked->mhc && !streams)
        m->residual_streams = 4;
    if (!f->asked->mhc && !from_file && (streams || m->sinkhorn_iterations)) {
        ss_note(f->notes, "sizes of hyper-connections are not active without " ENABLE);
        m->residual_streams = m->sinkhorn_iterations = 0;
    }
    if (m->residual_streams <= 1 && (f->job->fused_mhc || f->job->recompute.mhc_layers))
        ss_note(f->notes, "--use-fused-mhc and --mhc-recompute-layer-num are not active: the model has one "
                          "residual stream");
}

/* Stages and predictions that have them in Megatron-LM's dev branch alone. */
static void note_branch(const struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->pp > 1 || job->model.mtp_num_layers > 0 || job->recompute.granularity == SS_RECOMPUTE_FULL)
        ss_note(f->notes,
                "hyper-connections with %s are as in Megatron-LM's dev branch: its main branch refuses them",
                job->pp > 1                     ? "pipeline stages"
                : job->model.mtp_num_layers > 0 ? "predictions (MTP)"
                                                : "full recompute");
}

/* Layers that choose experts by a table need the tokens, which the stage of the embedding has. */
static int check_hashed(struct ss_finish *f, int virtual_stages)
{
    const struct ss_job *job = f->job;
    int hashed = job->model.num_experts > 0 ? job->model.hash_layers : 0;
    int stages = job->pp * (virtual_stages > 0 ? virtual_stages : 1);
    int first = job->layout.n ? job->layout.layers[0]
                : job->first_stage_layers
                    ? job->first_stage_layers / (virtual_stages > 0 ? virtual_stages : 1)
                    : ss_job_split_layers(job) / stages - job->account_for_embedding;

    if (!hashed)
        return SS_OK;
    if (stages > 1 && hashed > first)
        REFUSE(
            f, "--moe-n-hash-layers --pp",
            "give the first stage as many layers by --pipeline-model-parallel-layout",
            "Currently, All hash MoE layers must be in the same virtual pipeline stage as the embedding. The "
            "embedding stage has %d decoder layers, but moe_n_hash_layers=%d.",
            first, hashed);
    if (job->moe.overlap)
        REFUSE(f, "--moe-n-hash-layers --overlap-moe-expert-parallel-comm",
               "drop --overlap-moe-expert-parallel-comm",
               "overlap_moe_expert_parallel_comm does not support moe_n_hash_layers > 0 for now.");
    return SS_OK;
}

int ss_job_check_streams(struct ss_finish *f, int virtual_stages)
{
    const struct ss_job *job = f->job;
    unsigned modules = job->recompute.granularity == SS_RECOMPUTE_SELECTIVE ? job->recompute.modules : 0;
    int mhc = modules & SS_MODULE_BIT(SS_MODULE_MHC), streams = job->model.residual_streams > 1;

    if (mhc && !streams)
        REFUSE(f, "--recompute-modules " ENABLE, "leave mhc out",
               "'mhc' in recompute_modules requires enable_mhc_connections=True.");
    if (mhc && job->model.residual_rank > 0)
        REFUSE(f, "--recompute-modules", "leave mhc out",
               "streams that gates join have no recompute of their own");
    if (mhc && modules & SS_MODULE_BIT(SS_MODULE_MLP))
        REFUSE(f, "--recompute-modules", "leave mlp or mhc out",
               "'mhc' and 'mlp' in recompute_modules cannot be used together. They use different checkpoint "
               "mechanisms that may conflict.");
    if (mhc &&
        job->offload.modules & (SS_OFFLOAD_BIT(SS_OFFLOAD_ATTN_NORM) | SS_OFFLOAD_BIT(SS_OFFLOAD_MLP_NORM)))
        REFUSE(f, "--offload-modules --recompute-modules", "leave attn_norm and mlp_norm, or mhc, out",
               "'mhc' in recompute_modules is incompatible with offload_modules attn_norm and mlp_norm.");
    if (streams)
        note_branch(f);
    return check_hashed(f, virtual_stages);
}
