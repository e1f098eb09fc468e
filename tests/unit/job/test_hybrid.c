/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of layers by a pattern: what Megatron-LM refuses of them, with its words, and what it makes of pipelines and predictions. */

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/job.h"
#include "suite.h"

#define COMMON                                                                                               \
    "--hidden-size 1024 --num-attention-heads 16 --vocab-size 128000 --bf16 --mbs 1 --gbs 64 --seq 4096 "    \
    "--position-embedding-type none "
#define EXPERTS "--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm "
#define H8B "--model nemotron-h-8b --bf16 --mbs 1 --gbs 64 --seq 8192 "

TEST(refused)
{
    static const struct job_refusal rows[] = {
        {COMMON "--hybrid-layer-pattern M-M-*- --tp 16",
         "ngroups must be evenly divisible by tp_size (8, 16)"},
        {COMMON "--hybrid-layer-pattern M-M-*- --tp 16 --mamba-num-groups 4 --mamba-num-heads 24",
         "nheads must be evenly divisble by tp_size (24, 16)"},
        {COMMON "--hybrid-layer-pattern M-M-*- --tp 8 --cp 2 --mamba-num-heads 8",
         "nheads must be evenly divisible by tp_size * cp_size (8, 8 * 2)"},
        {COMMON "--hybrid-layer-pattern M-M-*- --cp 4 --mamba-num-groups 6 --mamba-num-heads 24",
         "ngroups must be evenly divisible by tp_size * cp_size"},
        {COMMON "--hybrid-layer-pattern M-M-*- --cp 16 --mamba-num-groups 6 --mamba-num-heads 48",
         "cp_size must be evenly divisible by ngroups/tp_size"},
        {COMMON "--hybrid-layer-pattern M-M-*- --mamba-num-groups 7",
         "nheads must be evenly divisible by ngroups"},
        {COMMON "--hybrid-layer-pattern M-M-*- --fp8-format hybrid --mamba-num-heads 9 --mamba-num-groups 1",
         "must be a multiple of 16"},
        {COMMON "--hybrid-layer-pattern M-M|M-|*- --pp 2", "Got 3 segments and 2 pipeline parallel size"},
        {COMMON "--hybrid-layer-pattern M-M-M-*- --pp 2 --num-layers-per-virtual-pipeline-stage 2",
         "should not be used with --hybrid-layer-pattern"},
        {COMMON "--hybrid-layer-pattern M-M|-*- --pp 2 --decoder-first-pipeline-num-layers 2",
         "the pipeline layout is explicitly defined"},
        {COMMON "--hybrid-layer-pattern M-M-*- --pipeline-model-parallel-layout Ettt|tttL --pp 2",
         "should not be used with --hybrid-layer-pattern"},
        {COMMON "--hybrid-layer-pattern M-x", "it is made of M (Mamba-2)"},
        {COMMON "--hybrid-layer-pattern MEM*", "give --num-experts"},
        {COMMON EXPERTS "--hybrid-layer-pattern MEM*/*E/*-", "All MTP patterns must be identical"},
        {COMMON "--hybrid-layer-pattern M* --multi-latent-attention", "drop --multi-latent-attention"},
        {H8B "--multi-latent-attention", "drop --multi-latent-attention"},
        {COMMON "--hybrid-layer-pattern M* --mamba-head-dim 4096",
         "d_inner must be evenly divisible by headdim (2048, 4096)"},
        {COMMON "--mtp-hybrid-override-pattern M- --num-layers 2", "is for Mamba/hybrid models only"},
        {COMMON "--hybrid-layer-pattern M* --disable-mamba-mem-eff-path --packed-lengths fixed:1024",
         "Training with packed sequences is not supported"},
        {"--model falcon-h1-0.5b --bf16 --mbs 1 --gbs 64 --seq 8192 --cp 2 --disable-mamba-mem-eff-path",
         "Context parallel not supported for use_mem_eff_path==False"},
    };

    check_refusals(rows, SS_ARRAY_LEN(rows), 16);
}

/* | divides the layers among stages, / begins what predicts. */
TEST(stages)
{
    struct ss_job job;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(
        complete(&job, COMMON EXPERTS "--hybrid-layer-pattern ME|M*E|M|-/*E/*E --pp 2", 16, NULL, &err),
        SS_OK);
    CU_ASSERT_EQUAL(job.model.num_layers, 7);
    CU_ASSERT_EQUAL(job.layout.n, 4);
    CU_ASSERT_EQUAL(job.layout.layers[0], 2);
    CU_ASSERT_EQUAL(job.layout.layers[1], 3);
    CU_ASSERT_EQUAL(job.layout.layers[3], 1);
    CU_ASSERT_EQUAL(job.model.mtp_num_layers, 2);
    CU_ASSERT_EQUAL(job.model.mtp_depth_layers, 2);
    CU_ASSERT_EQUAL_FATAL(complete(&job,
                                   COMMON "--hybrid-override-pattern M-M*- --is-hybrid-model --num-layers 99",
                                   16, NULL, &err),
                          SS_OK);
    CU_ASSERT_EQUAL(job.model.num_layers, 5);
    CU_ASSERT_EQUAL(job.layout.n, 0);
    CU_ASSERT_EQUAL(job.model.mamba_num_heads, 2 * 1024 / 64);
}

TEST(accepted)
{
    static const char *const rows[] = {
        H8B "--tp 8 --sequence-parallel --cp 2",
        H8B "--cp 16",
        H8B "--pp 4 --tp 2 --fp8-format hybrid",
        COMMON "--hybrid-layer-pattern M-M-*- --cp 16 --mamba-num-groups 4 --mamba-num-heads 32",
        COMMON EXPERTS "--hybrid-layer-pattern MEM* --mtp-hybrid-override-pattern *E --mtp-num-layers 1",
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        int rc = complete(&job, rows[i], 16, NULL, &err);
        if (rc)
            fprintf(stderr, "%s: %s\n", rows[i], err.message);
        CU_ASSERT_EQUAL(rc, SS_OK);
    }
}

/* What the hybrid model of Megatron-LM does not read decides nothing, and is told. */
TEST(beside)
{
    static const struct {
        const char *flags, *note; /* NULL: none */
        int depths, experts;      /* depths that predict, and layers of experts in the first four */
    } rows[] = {
        {COMMON "--hybrid-layer-pattern M-M*", NULL, 0, 0},
        {COMMON "--hybrid-layer-pattern M-M* --mtp-num-layers 1", "but no MTP pattern", 0, 0},
        {H8B "--mtp-num-layers 1", "but no MTP pattern", 0, 0},
        {H8B, NULL, 0, 0},
        {COMMON EXPERTS "--hybrid-layer-pattern M-M*/*- --mtp-num-layers 2",
         "(2) conflicts with MTP depth count (1)", 1, 0},
        {COMMON "--hybrid-layer-pattern M-M*/*- --mtp-num-layers 1 --mtp-hybrid-override-pattern *",
         "is not active beside a pattern that has a /", 1, 0},
        {COMMON "--hybrid-layer-pattern M-M* --mtp-hybrid-override-pattern *-",
         "is not active without --mtp-num-layers", 0, 0},
        {COMMON EXPERTS "--hybrid-layer-pattern MEME --moe-layer-freq 4", "--moe-layer-freq is not active", 0,
         2},
        {"--model nemotron-3-nano-30b-a3b --bf16 --mbs 1 --gbs 64 --seq 8192 --moe-layer-freq 4",
         "--moe-layer-freq is not active", 0, 2},
        {COMMON "--hybrid-layer-pattern *-*- --mamba-num-heads 64", "sizes of Mamba are not active", 0, 0},
        {COMMON "--hybrid-layer-pattern *-*- --disable-mamba-mem-eff-path",
         "--disable-mamba-mem-eff-path is not active", 0, 0},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job;
        struct ss_error err = {0};
        struct ss_notes notes = {0};
        int experts = 0;

        CU_ASSERT_EQUAL_FATAL(complete(&job, rows[i].flags, 16, &notes, &err), SS_OK);
        CU_ASSERT_EQUAL(job.model.mtp_num_layers, rows[i].depths);
        for (int l = 0; l < 4; l++)
            experts += ss_layer_rule_has(&job.model.moe_layers, l);
        CU_ASSERT_EQUAL(experts, rows[i].experts);
        CU_ASSERT(!rows[i].note || has_note(&notes, rows[i].note));
        CU_ASSERT(!has_note(&notes,
                            "--moe-router-enable-expert-bias")); /* of a family, in a model without experts */
        ss_notes_free(&notes);
    }
}
