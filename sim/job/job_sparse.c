/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSeek's sparse attention by flags, and under parallelism: what Megatron-LM makes of it and refuses, with its words
 * (transformer_config.py, absorbed_mla.py, dsa.py and experimental_attention_variant_module_specs.py of August 2026). */
#include "base/base.h"
#include "job/job_internal.h"
#include "model/model_internal.h"

#define VARIANT "--experimental-attention-variant"
#define LOSS "--dsa-indexer-loss-coeff"

/* Deals layers to stages as Megatron-Bridge does where nobody says: equal numbers, and one more to each of the first stages. */
static void deal_layers(struct ss_finish *f, const struct ss_model *m)
{
    struct ss_job *job = f->job;

    if (job->pp <= 1 || m->num_layers < job->pp || job->pp > SS_LAYOUT_MAX || m->num_layers % job->pp == 0 ||
        job->layout.n || job->first_stage_layers || job->last_stage_layers || job->account_for_embedding ||
        job->account_for_loss || job->virtual_stages || job->layers_per_virtual_stage)
        return;
    job->layout.n = job->pp;
    for (int i = 0; i < job->pp; i++)
        job->layout.layers[i] = (short)(m->num_layers / job->pp + (i < m->num_layers % job->pp));
    ss_note(f->notes,
            "no layout of stages is given: %d to %d layers a stage, as Megatron-Bridge deals those of "
            "DeepSeek-V4",
            m->num_layers / job->pp, m->num_layers / job->pp + 1);
}

/* DeepSeek-V4's attention: its list of layers, and sizes. */
static int complete_compressed(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_asked *asked = f->asked;
    int mtp = m->mtp_num_layers > 0 ? m->mtp_num_layers : 0, n = m->csa_local.n;

    if (asked->compressed_variant && !n)
        REFUSE(f, VARIANT, "add --csa-compress-ratios", "csa_compress_ratios must be set");
    if (!n)
        return SS_OK;
    if (f->job->tp > 1)
        REFUSE(f, "--tp " VARIANT, "take --tp 1, and experts or stages over more ranks",
               "DSv4 Hybrid Attention only supports TP size 1.");
    if (!m->kv_lora_rank && !asked->multi_latent)
        REFUSE(f, VARIANT, "add --multi-latent-attention", "DSv4 Hybrid requires multi_latent_attention.");
    if (n < m->num_layers || n > m->num_layers + (mtp > 1 ? mtp : 1) || (mtp && n == m->num_layers))
        REFUSE(f, "--csa-compress-ratios --num-layers --mtp-num-layers",
               "name each layer and prediction once",
               "csa_compress_ratios length (%d) must equal num_layers + mtp_num_layers (%d + %d = %d)", n,
               m->num_layers, mtp, m->num_layers + mtp);
    if (!m->q_lora_rank || m->v_head_dim <= m->qk_pos_emb_head_dim)
        REFUSE(f, VARIANT " --q-lora-rank --v-head-dim", "DeepSeek-V4-Flash has 1024, 512 and 64",
               "DSv4 Hybrid needs --q-lora-rank, and a --v-head-dim above --qk-pos-emb-head-dim");
    deal_layers(f, m);
    return SS_OK;
}

static int has_sparse(const struct ss_model *m)
{
    return m->dsa.n > 0 || m->dsa.period > 0;
}

/* What the indexer of either attention needs, and its loss. */
static int complete_indexer(struct ss_finish *f, const struct ss_model *m)
{
    const struct ss_asked *asked = f->asked;

    if (!m->index_num_heads || !m->index_head_dim || !m->index_topk)
        REFUSE(f, VARIANT, "DeepSeek-V3.2 has 64 heads of 128 and 2048 keys",
               "sparse attention needs --dsa-indexer-n-heads, --dsa-indexer-head-dim and --dsa-indexer-topk");
    if (asked->index_loss_coeff > 0)
        f->job->index_loss = asked->index_loss_chosen ? SS_INDEX_LOSS_CHOSEN : SS_INDEX_LOSS_ALL;
    if (ss_model_compresses(m))
        ss_note(f->notes, "DeepSeek-V4's attention is priced with fused kernels, which Megatron-LM has on "
                          "Blackwell alone and "
                          "NeMo AutoModel (TileLang) on Hopper, too; PyTorch's operators are not modelled");
    else if (!SS_GIVEN(asked, dsa_kernels))
        ss_note(f->notes, "--dsa-kernel-backend is not given: cudnn, as Megatron-Bridge's recipes have it; "
                          "PyTorch's operators (none) are not modelled");
    return SS_OK;
}

int ss_job_complete_sparse(struct ss_finish *f, struct ss_model *m)
{
    const struct ss_asked *asked = f->asked;

    if (asked->sparse_variant)
        m->dsa = (struct ss_layer_rule){.period = 1};
    int rc = complete_compressed(f, m);
    if (rc || ss_model_compresses(m))
        return rc ? rc : complete_indexer(f, m);
    if (!has_sparse(m)) {
        if (!m->msa.n && !m->msa.period && !m->qsa.n &&
            (m->index_num_heads || m->index_head_dim || m->index_topk || asked->index_loss_coeff > 0))
            ss_note(f->notes, "flags of an indexer, --dsa-*, are not active without " VARIANT " dsa");
        return SS_OK;
    }
    if (!m->kv_lora_rank && !asked->multi_latent)
        REFUSE(f, VARIANT, "add --multi-latent-attention", "Currently only MLA supports sparse attention.");
    return complete_indexer(f, m);
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

/* DeepSeek-V4's attention, by Megatron-LM's dev branch. */
static int check_compressed(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    unsigned modules = ss_job_redone_modules(job);

    if (!ss_model_compresses(&job->model))
        return SS_OK;
    if (job->cp > 1 && !job->packed.law && strncmp(f->stack->name, "nemo-automodel", 14) != 0)
        REFUSE(f, "--cp " VARIANT, "take --cp 1, or packed sequences, or --stack nemo-automodel-2026",
               "DSv4 Hybrid Attention under context parallelism needs packed sequences (qkv_format thd)");
    if (job->seq_length / job->cp < (int)SS_HCA_BLOCK || job->seq_length / job->cp % SS_HCA_BLOCK)
        REFUSE(f, "--cp --seq-length", "take a --seq-length that is a multiple of 128 times --cp",
               "blocks of 128 tokens do not divide the %d tokens of a context rank",
               job->seq_length / job->cp);
    if (modules & SS_MODULE_BIT(SS_MODULE_CORE_ATTN))
        REFUSE(f, "--recompute-modules --recompute-granularity", "name modules, core_attn not among them",
               "Checkpoint core attention is not supported in DSv4 Hybrid Attention.");
    if (job->offload.modules & SS_OFFLOAD_BIT(SS_OFFLOAD_QKV_LINEAR))
        REFUSE(f, "--offload-modules", "leave qkv_linear out",
               "Offload qkv linear is not supported in DSv4 Hybrid Attention.");
    return SS_OK;
}

int ss_job_check_sparse(struct ss_finish *f, int virtual_stages)
{
    const struct ss_job *job = f->job;
    int rc = check_compressed(f);

    if (rc || !has_sparse(&job->model))
        return rc;
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
    rc = check_heads(f);
    SS_THEN(rc, check_loss(f));
    SS_THEN(rc, check_shared(f, virtual_stages));
    return rc;
}
