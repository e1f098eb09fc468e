/* SPDX-License-Identifier: Apache-2.0 */
/* Precisions and recipes: what follows from their rows, and words that name them. */
#include <string.h>

#include "cost/kernel.h"
#include "stepsim/job.h"
#include "stepsim/params.h"
#include "suite.h"

TEST(rows)
{
    for (int p = 0; p < SS_PRECISION_COUNT; p++) {
        const struct ss_precision_facts *f = ss_precision_at(p);
        int recipe = -1;
        CU_ASSERT_EQUAL(ss_precision_find(f->name, &recipe), p);
        CU_ASSERT_EQUAL(recipe, f->recipe);
        CU_ASSERT_STRING_EQUAL(ss_precision_name(p), f->name);
        CU_ASSERT_EQUAL(ss_precision_is_quantized(p), f->bits < 16);
        CU_ASSERT(f->rows * f->bits >= 128); /* tensor cores are fed 16 bytes */
        CU_ASSERT_STRING_EQUAL(ss_prop_at(f->peak)->owner == SS_OF_CARD ? "card" : "", "card");
        CU_ASSERT_EQUAL(strncmp(ss_prop_at(f->peak)->id, "ss.peak.", 8), 0);
        CU_ASSERT_EQUAL(strncmp(ss_prop_at(f->efficiency)->id, "ss.gemm.efficiency.", 19), 0);
        CU_ASSERT_EQUAL(strncmp(ss_prop_at(f->prologue)->id, "ss.gemm.k_prologue", 18), 0);
        if (f->recipe != SS_NO_RECIPE)
            CU_ASSERT_EQUAL(ss_recipe_at(f->recipe)->precision, p);
    }
    CU_ASSERT_STRING_EQUAL(ss_precision_name(-1), "unknown");
    CU_ASSERT_STRING_EQUAL(ss_precision_name(SS_PRECISION_COUNT), "unknown");
    CU_ASSERT(!ss_precision_is_quantized(-1));
}

TEST(words)
{
    int recipe = -1;
    CU_ASSERT_EQUAL(ss_precision_find("mxfp8", &recipe), SS_FP8);
    CU_ASSERT_EQUAL(recipe, SS_FP8_MXFP8);
    CU_ASSERT_EQUAL(ss_precision_find("nvfp4", &recipe), SS_NVFP4);
    CU_ASSERT_EQUAL(recipe, SS_NVFP4_BLOCKS);
    recipe = 7;
    CU_ASSERT_EQUAL(ss_precision_find("blockwise", &recipe), -1); /* of --fp8-recipe alone */
    CU_ASSERT_EQUAL(ss_precision_find("none", &recipe), -1);
    CU_ASSERT_EQUAL(ss_precision_find("int8", &recipe), -1);
    CU_ASSERT_EQUAL(recipe, 7);
    CU_ASSERT_STRING_EQUAL(ss_job_word("--fp8-recipe", SS_FP8_BLOCKWISE),
                           ss_recipe_at(SS_FP8_BLOCKWISE)->word);
}

/* A scale of a byte is shared by 32 elements in mxfp8 and by 16 in nvfp4. */
TEST(bytes)
{
    static const struct {
        int recipe;
        double bytes;
    } rows[] = {{SS_FP8_DELAYED, 1},
                {SS_FP8_TENSORWISE, 1},
                {SS_FP8_BLOCKWISE, 1},
                {SS_FP8_MXFP8, 33 / 32.},
                {SS_NVFP4_BLOCKS, 9 / 16.}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_job job = {.precision = ss_recipe_at(rows[i].recipe)->precision,
                             .fp8_recipe = rows[i].recipe};
        CU_ASSERT_EQUAL(ss_recipe_bytes(rows[i].recipe), rows[i].bytes);
        CU_ASSERT_EQUAL(ss_job_recipe(&job), rows[i].recipe);
        CU_ASSERT_EQUAL(ss_job_quantized_bytes(&job), rows[i].bytes);
    }
    struct ss_job job = {.precision = SS_BF16};
    CU_ASSERT_EQUAL(ss_job_recipe(&job), SS_NO_RECIPE);
    CU_ASSERT_EQUAL(ss_job_quantized_bytes(&job), 1);
    /* 8 x 8 x 8: two operands of 64 elements, and sums of 2 bytes or the element's */
    CU_ASSERT_EQUAL(ss_kernel_gemm_bytes(SS_FP32, 1, 8, 8, 8, 0), 3 * 64 * 4);
    CU_ASSERT_EQUAL(ss_kernel_gemm_bytes(SS_BF16, 1, 8, 8, 8, 0), 3 * 64 * 2);
    CU_ASSERT_EQUAL(ss_kernel_gemm_bytes(SS_FP8, 1, 8, 8, 8, 0), 2 * 64 + 64 * 2);
    CU_ASSERT_EQUAL(ss_kernel_gemm_bytes(SS_NVFP4, 1, 8, 8, 8, 0), 2 * 64 * 9 / 16. + 64 * 2);
}

/* Rates over fp8's, with steps of K of the prologue: 0.5 of 0.8 at k = 100 with 100 and 300 steps. */
TEST(gain)
{
    struct ss_stack stack = {.fp8_forward_gain = 1.25};
    struct ss_card card = {.gemm_eff_fp8 = 0.8,
                           .gemm_k_prologue_fp8 = 100,
                           .gemm_eff_fp8_blocks = 0.4,
                           .gemm_k_prologue_fp8_blocks = 300,
                           .gemm_wgrad_fp8_blocks = 0.5,
                           .gemm_eff_mxfp8 = 0.6,
                           .gemm_eff_fp4 = 0.7};
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_BF16, SS_NO_RECIPE, SS_PHASE_F, 100), 1);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_DELAYED, SS_PHASE_F, 100), 1.25);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_TENSORWISE, SS_PHASE_I, 100), 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_F, 100),
                           0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_W, 100),
                           0.125, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_MXFP8, SS_PHASE_F, 100), 0.75,
                           1e-15);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_NVFP4, SS_NVFP4_BLOCKS, SS_PHASE_F, 100), 1);
    card.gemm_eff_fp8_blocks = card.gemm_eff_mxfp8 = 0;
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_F, 100), 1.25);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_MXFP8, SS_PHASE_F, 100), 1);
    card.gemm_sums_apart = 1; /* memory of their own keeps all bits */
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_DELAYED, SS_PHASE_F, 100), 1);
    stack.gemm_level = 0.75; /* of any precision */
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_BF16, SS_NO_RECIPE, SS_PHASE_F, 100), 0.75);
}
