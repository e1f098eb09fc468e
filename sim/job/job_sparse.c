/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSeek's sparse attention by flags, and under parallelism: what Megatron-LM makes of it and refuses, with its words
 * (transformer_config.py, absorbed_mla.py, dsa.py and experimental_attention_variant_module_specs.py of August 2026). */
#include "base/base.h"
#include "job/job_internal.h"
#include "model/model_internal.h"
#include "stepsim/precision.h"

#define VARIANT "--experimental-attention-variant"
#define LOSS "--dsa-indexer-loss-coeff"

static int has_sparse(const struct ss_model *m)
{
    return m->dsa.n > 0 || m->dsa.period > 0;
}

int ss_job_complete_sparse(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_asked *asked = f->asked;

    if (asked->sparse_variant)
        m->dsa = (struct ss_layer_rule){.period = 1};
    if (!has_sparse(m)) {
        if (!m->msa.n && !m->msa.period &&
            (m->index_num_heads || m->index_head_dim || m->index_topk || asked->index_loss_coeff > 0))
            ss_note(f->notes, "flags of an indexer, --dsa-*, are not active without " VARIANT " dsa");
        return SS_OK;
    }
    if (!m->kv_lora_rank && !asked->multi_latent)
        REFUSE(f, VARIANT, "add --multi-latent-attention", "Currently only MLA supports sparse attention.");
    if (!m->index_num_heads || !m->index_head_dim || !m->index_topk)
        REFUSE(f, VARIANT, "DeepSeek-V3.2 has 64 heads of 128 and 2048 keys",
               "sparse attention needs --dsa-indexer-n-heads, --dsa-indexer-head-dim and --dsa-indexer-topk");
    if (asked->index_loss_coeff > 0)
        f->job->index_loss = asked->index_loss_chosen ? SS_INDEX_LOSS_CHOSEN : SS_INDEX_LOSS_ALL;
    if (!SS_GIVEN(asked, dsa_kernels))
        ss_note(f->notes, "--dsa-kernel-backend is not given: cudnn, as Megatron-Bridge's recipes have it; "
                          "PyTorch's operators (none) are not modelled");
    return SS_OK;
}

/* Heads that a rank's kernels take. */
static int check_heads(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int heads = job->model.num_attention_heads / job->tp;

    if (job->dsa_kernels == SS_DSA_TILELANG && (heads < 16 || heads & (heads - 1)))
        REFUSE(f, "--tp --dsa-kernel-backend", "take another --tp, or the backend cudnn",
               "TileLang's sparse attention takes a power of two heads a rank, 16 or more, not %d", heads);
    if (job->dsa_kernels == SS_DSA_CUDNN && heads % 64 && 64 % heads)
        REFUSE(f, "--tp --dsa-kernel-backend", "take another --tp, or the backend tilelang",
               "FlashMLA sparse prefill requires the local query-head count to divide 64, got h_q=%d.",
               heads);
    return SS_OK;
}

static int check_loss(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->index_loss != SS_INDEX_LOSS_ALL)
        return SS_OK;
    if (job->dsa_kernels == SS_DSA_TILELANG || job->cp > 1)
        REFUSE(f, LOSS " --dsa-kernel-backend --cp",
               "add --dsa-indexer-use-sparse-loss, or take the backend cudnn and --cp 1",
               "an indexer's loss over all keys is Megatron's reference path there, which is not modelled");
    return SS_OK;
}

/* Layers that take the choice of an earlier layer, which must be of their stage: each stage starts with a layer that chooses. */
static int check_shared(struct ss_finish *f, int virtual_stages)
{
    const struct ss_job *job = f->job;
    const struct ss_model *m = &job->model;
    int stages = job->layout.n ? job->layout.n : job->pp * (virtual_stages > 0 ? virtual_stages : 1);
    int own = job->first_stage_layers || job->last_stage_layers || job->account_for_embedding ||
              job->account_for_loss;

    if (m->index_topk_freq <= 1 || stages <= 1)
        return SS_OK;
    if (own && !job->layout.n)
        REFUSE(f, "--dsa-indexer-topk-freq --pp", "say the stages by --pipeline-model-parallel-layout",
               "shared choices of keys over uneven stages are checked for a layout alone");
    for (int s = 0, first = 0; s < stages; s++) {
        if (ss_layer_rule_has(&m->dsa_shared, first))
            REFUSE(f, "--dsa-indexer-topk-freq --pp", "take stages that begin with a layer of an indexer",
                   "Cross-PP top-k sharing is not supported. Ensure each pipeline stage starts on a "
                   "computing layer (dsa_indexer_topk_freq=%d, dsa_indexer_skip_topk_offset=%d): layer %d "
                   "does not compute.",
                   m->index_topk_freq, m->index_topk_offset, first + 1);
        first += job->layout.n ? job->layout.layers[s] : m->num_layers / stages;
    }
    return SS_OK;
}

int ss_job_check_sparse(struct ss_finish *f, int virtual_stages)
{
    const struct ss_job *job = f->job;

    if (!has_sparse(&job->model))
        return SS_OK;
    if (job->model.linear_bias)
        REFUSE(f, VARIANT, "add --disable-bias-linear",
               "DSA uses AbsorbedMLASelfAttention, which requires add_bias_linear=False. Disable linear bias "
               "for DSA configs.");
    if (job->tp > 1 && !job->sequence_parallel)
        REFUSE(f, "--tp " VARIANT, "add --sequence-parallel",
               "AbsorbedMLA requires sequence_parallel when tensor_model_parallel_size > 1");
    if (job->cp > 1 && job->cp_comm_type != SS_CP_ALLGATHER)
        REFUSE(f, "--cp --cp-comm-type", "add --cp-comm-type allgather",
               "DSAttention context parallelism currently supports cp_comm_type=allgather only.");
    if (ss_precision_is_quantized(job->precision) &&
        ss_job_redone_modules(job) & SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ))
        REFUSE(f, "--recompute-modules", "leave mla_up_proj out, or take bf16",
               "FP8/FP4 is not supported for AbsorbedMLA");
    int rc = check_heads(f);
    SS_THEN(rc, check_loss(f));
    SS_THEN(rc, check_shared(f, virtual_stages));
    return rc;
}
