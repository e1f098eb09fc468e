/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of DeepSeek's sparse attention: what Megatron-LM refuses of them, with its words, and what their flags say. */
#include "base/base.h"
#include "job_helper.h"
#include "stepsim/job.h"
#include "suite.h"

#define V32 "--model deepseek-v3.2 --bf16 --mbs 1 --gbs 64 --seq 4096 --num-layers 8 "
#define OWN                                                                                                  \
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 64 --vocab-size 128000 --bf16 --mbs 1 --gbs "   \
    "64 "                                                                                                    \
    "--seq 4096 --position-embedding-type rope --swiglu --disable-bias-linear "
#define INDEXER "--dsa-indexer-n-heads 8 --dsa-indexer-head-dim 64 --dsa-indexer-topk 512 "
#define DSA "--experimental-attention-variant dsa "
#define LATENT "--multi-latent-attention --q-lora-rank 256 --kv-lora-rank 128 "

TEST(refused)
{
    static const struct job_refusal rows[] = {
        {OWN DSA LATENT INDEXER "--tp 2", "AbsorbedMLA requires sequence_parallel"},
        {V32 "--cp 2", "supports cp_comm_type=allgather only"},
        {V32 "--cp 2 --cp-comm-type a2a", "supports cp_comm_type=allgather only"},
        {V32 "--tp 16 --sequence-parallel --dsa-kernel-backend tilelang", "16 or more, not 8"},
        {V32 "--dsa-kernel-backend none", "PyTorch's operators (none) are not modelled"},
        {V32 "--dsa-indexer-loss-coeff 1 --dsa-kernel-backend tilelang", "loss over all keys"},
        {V32 "--dsa-indexer-loss-coeff 1 --cp 2 --cp-comm-type allgather", "loss over all keys"},
        {V32 "--fp8-format hybrid --recompute-granularity selective --recompute-modules mla_up_proj",
         "FP8/FP4 is not supported for AbsorbedMLA"},
        {V32 "--pp 2 --dsa-indexer-topk-freq 3", "layer 5 does not compute"},
        {V32 "--pp 2 --dsa-indexer-topk-freq 2 --decoder-first-pipeline-num-layers 3", "uneven stages"},
        {OWN DSA INDEXER, "Currently only MLA supports sparse attention"},
        {OWN DSA LATENT, "needs --dsa-indexer-n-heads"},
        {OWN LATENT DSA INDEXER "--num-attention-heads 48", "to divide 64, got h_q=48"},
        {OWN "--experimental-attention-variant gdn3", "it may be gdn, gated_delta_net, dsa or dsv4_hybrid"},
    };

    check_refusals(rows, SS_ARRAY_LEN(rows), 16);
}

#define V4 "--model deepseek-v4-flash --bf16 --mbs 1 --gbs 64 --seq 4096 "
#define HYBRID "--experimental-attention-variant dsv4_hybrid "
#define HEADS "--multi-latent-attention --q-lora-rank 256 --v-head-dim 64 --qk-pos-emb-head-dim 16 "

/* DeepSeek-V4's attention, its hyper-connections and its layers of hashed routes. */
TEST(compressed)
{
    static const struct job_refusal rows[] = {
        {V4 "--tp 2 --sequence-parallel", "DSv4 Hybrid Attention only supports TP size 1"},
        {V4 "--cp 2", "needs packed sequences (qkv_format thd)"},
        {V4 "--cp 2 --stack nemo-automodel-2026 --seq 4224", "blocks of 128 tokens do not divide the 2112"},
        {V4 "--recompute selective", "Checkpoint core attention is not supported"},
        {V4 "--num-layers 8",
         "csa_compress_ratios length (44) must equal num_layers + mtp_num_layers (8 + 1 = 9)"},
        {V4 "--pp 32 --gbs 256", "embedding stage has 2 decoder layers, but moe_n_hash_layers=3"},
        {V4 "--recompute-granularity selective --recompute-modules mhc mlp", "cannot be used together"},
        {V4 "--csa-dense-mode", "attention to all keys of blocks of 4 is not modelled"},
        {OWN HYBRID HEADS INDEXER, "csa_compress_ratios must be set"},
        {OWN HYBRID INDEXER "--csa-compress-ratios [0,4]*4", "requires multi_latent_attention"},
        {OWN HYBRID HEADS INDEXER "--csa-compress-ratios [0,4]*3", "length (6) must equal"},
        {OWN HYBRID HEADS INDEXER "--csa-compress-ratios [0,8]*4", "must be 0, 4, or 128"},
        {OWN HYBRID HEADS "--csa-compress-ratios [0,4]*4", "needs --dsa-indexer-n-heads"},
        {OWN HYBRID HEADS INDEXER "--csa-compress-ratios [0,4]*4 --o-groups 7", "not divisible by 7 groups"},
        {OWN "--recompute-granularity selective --recompute-modules mhc", "requires enable_mhc_connections"},
    };

    check_refusals(rows, SS_ARRAY_LEN(rows), 64);
}

TEST(compressed_flags)
{
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    struct ss_job job, file;

    CU_ASSERT_FATAL(!complete(&job,
                              OWN HYBRID HEADS INDEXER
                              "--csa-compress-ratios ([0]+[4,128]*3+[0]) --o-lora-rank 32 "
                              "--enable-mhc-connections",
                              8, NULL, &err));
    const struct ss_model *m = &job.model;
    CU_ASSERT(m->csa.bits[0] == 42 && m->hca.bits[0] == 84 && m->csa_local.bits[0] == 129);
    CU_ASSERT(m->output_groups == 8 && m->output_rank == 32 && m->sliding_window == 128);
    CU_ASSERT(m->kv_lora_rank == 48 && m->qk_head_dim == 48 && m->num_query_groups == 1);
    CU_ASSERT(m->residual_streams == 4 && m->sinkhorn_iterations == 20 && m->streams_head == 0);
    CU_ASSERT_FATAL(!complete(&job, OWN "--num-residual-streams 2", 8, &notes, &err));
    CU_ASSERT(job.model.residual_streams == 0 && has_note(&notes, "without --enable-mhc-connections"));
    CU_ASSERT_FATAL(!complete(&file, V4 "--pp 4", 64, &notes, &err));
    CU_ASSERT(file.model.residual_streams == 4 && file.model.streams_head == 1 &&
              file.model.hash_layers == 3);
    CU_ASSERT(file.layout.n == 4 && file.layout.layers[0] == 11 && file.layout.layers[3] == 10);
    CU_ASSERT(has_note(&notes, "10 to 11 layers a stage") &&
              has_note(&notes, "its main branch refuses them"));
    CU_ASSERT(has_note(&notes, "on Blackwell alone"));
    ss_notes_free(&notes);
}

/* Mixers that no framework divides. */
TEST(undivided)
{
#define COMMON " --bf16 --mbs 1 --gbs 64 --seq 4096 --sequence-parallel "
    static const struct job_refusal rows[] = {
        {"--model jamba-1.5-mini" COMMON "--tp 2", "token mixing layers of mamba not implemented"},
        {"--model mamba-1.4b" COMMON "--cp 2", "layers of Mamba-1 under context parallelism"},
        {"--model lfm2-1.2b" COMMON "--tp 2", "layers of short convolutions under tensor parallelism"},
        {"--model zamba2-2.7b" COMMON "--cp 2", "layers of shared blocks under context parallelism"},
        {"--model zamba2-2.7b" COMMON "--pp 2", "layers of shared blocks under pipeline parallelism"},
        {"--model minimax-m3" COMMON "--tp 2", "sparse attention over blocks under tensor parallelism"},
        {"--model rwkv7-1.5b" COMMON "--tp 2", "token mixing layers of rwkv7 not implemented"},
        {"--model rwkv7-1.5b" COMMON "--pp 2", "layers of RWKV-7 under pipeline parallelism"},
        {"--model rwkv7-1.5b" COMMON "--cp 2", NULL},
        {"--model lfm2-1.2b" COMMON "--cp 2", NULL},
        {"--model ring-mini-linear-2.0" COMMON "--cp 2 --ep 2", NULL},
        {"--model minimax-m3" COMMON "--pp 4", NULL},
        {"--model jamba-1.5-mini" COMMON "--pp 2", NULL},
        {"--model lfm2-8b-a1b" COMMON, NULL},
        {"--model falcon-h1-1.5b" COMMON "--tp 1 --pp 2", NULL},
        {"--model falcon-h1-7b" COMMON "--tp 2", "ngroups must be evenly divisible by tp_size (1, 2)"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int rc = complete(&job, rows[i].flags, 16, NULL, &err);
        if ((rc == SS_OK) != !rows[i].reason || (rc && !strstr(err.message, rows[i].reason)))
            fprintf(stderr, "%s: %s (%s)\n", rows[i].flags, err.message, err.hint);
        CU_ASSERT_EQUAL(rc == SS_OK, !rows[i].reason);
        CU_ASSERT(!rc || (rows[i].reason && strstr(err.message, rows[i].reason)));
    }
}

TEST(accepted)
{
    static const struct {
        const char *flags;
        int loss, kernels, shared;
    } rows[] = {
        {V32 "--tp 16 --sequence-parallel", SS_INDEX_LOSS_NONE, SS_DSA_CUDNN, 0},
        {V32 "--cp 16 --cp-comm-type allgather", SS_INDEX_LOSS_NONE, SS_DSA_CUDNN, 0},
        {V32 "--dsa-indexer-loss-coeff 0.01", SS_INDEX_LOSS_ALL, SS_DSA_CUDNN, 0},
        {V32 "--dsa-indexer-loss-coeff 0.01 --dsa-indexer-use-sparse-loss --dsa-kernel-backend tilelang",
         SS_INDEX_LOSS_CHOSEN, SS_DSA_TILELANG, 0},
        {V32 "--pp 2 --dsa-indexer-topk-freq 4", SS_INDEX_LOSS_NONE, SS_DSA_CUDNN, 6},
        {OWN DSA LATENT INDEXER, SS_INDEX_LOSS_NONE, SS_DSA_CUDNN, 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int shared = 0;
        if (complete(&job, rows[i].flags, 16, NULL, &err))
            fprintf(stderr, "%s: %s\n", rows[i].flags, err.message);
        CU_ASSERT_EQUAL_FATAL(err.code, SS_OK);
        CU_ASSERT(job.index_loss == (enum ss_index_loss)rows[i].loss &&
                  job.dsa_kernels == (enum ss_dsa_kernels)rows[i].kernels);
        for (int l = 0; l < job.model.num_layers; l++) {
            CU_ASSERT(ss_layer_rule_has(&job.model.dsa, l));
            shared += ss_layer_rule_has(&job.model.dsa_shared, l);
        }
        CU_ASSERT_EQUAL(shared, rows[i].shared);
    }
}
