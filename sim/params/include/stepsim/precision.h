/* SPDX-License-Identifier: Apache-2.0 */
/* Precisions of matrix products, and recipes by which linear layers make the few-bit copies that they
 * multiply: a row each. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/*
 * Precision of the products of linear layers. fp32 matmuls run as TF32 where the card has tensor cores for it. In bits: an element.
 * Rows: matrix units are fed so many elements of a row at a time. Peak, efficiency and prologue: props of a card (card.h). Recipe: how
 * copies are made, unless the job says another one of the same precision. Flag: Megatron's, which takes the precision, or "none".
 * X(symbol, name, bits, rows, peak, efficiency, prologue, recipe, flag)
 */
#define SS_PRECISION_LIST(X)                                                                                 \
    X(SS_FP32, "fp32", 32, 4, peak_fp32, gemm_eff_fp32, gemm_k_prologue, SS_NO_RECIPE, "")                   \
    X(SS_FP16, "fp16", 16, 8, peak_fp16, gemm_eff_fp16, gemm_k_prologue, SS_NO_RECIPE, "")                   \
    X(SS_BF16, "bf16", 16, 8, peak_bf16, gemm_eff_bf16, gemm_k_prologue, SS_NO_RECIPE, "")                   \
    X(SS_FP8, "fp8", 8, 16, peak_fp8, gemm_eff_fp8, gemm_k_prologue_fp8, SS_FP8_DELAYED, "--fp8-format")     \
    X(SS_NVFP4, "nvfp4", 4, 32, peak_fp4, gemm_eff_fp4, gemm_k_prologue_fp4, SS_NVFP4_BLOCKS, "--fp4-format")
enum ss_precision {
#define X(sym, name, bits, rows, peak, efficiency, prologue, recipe, flag) sym,
    SS_PRECISION_LIST(X)
#undef X
        SS_PRECISION_COUNT
};

/* How copies of few bits are scaled, and by whom. */
enum ss_casts {
    SS_CASTS_NONE,    /* no copies: values of 16 bit and more are multiplied as they are */
    SS_CASTS_HISTORY, /* one scale a tensor, of its largest values in steps before */
    SS_CASTS_TENSOR,  /* one scale a tensor, of its own largest value, which a pass more finds */
    SS_CASTS_BLOCKS,  /* one scale a block of 128, which the kernel multiplies sums with */
    SS_CASTS_UNITS,   /* one scale a block, which the matrix units apply */
    /* likewise, and one a tensor of its largest value; each orientation is a kernel of its own */
    SS_CASTS_UNITS_TWICE,
};

/*
 * Recipes. Word: of --fp8-recipe, and of --precision where matrix units apply the scales. Block: elements that share a scale of so many
 * bytes, 0: scales take no room that counts. Outside: 1 where sums are added up outside of the matrix units, which keep few bits of
 * them, but for forwards that accumulate fast (ss.fp8.forward_gain). Efficiency and prologue: props of a card; where the efficiency
 * is 0 the precision's own hold.
 * X(symbol, word, precision, casts, block, scale bytes, outside, efficiency, prologue)
 */
#define SS_RECIPE_LIST(X)                                                                                    \
    X(SS_FP8_DELAYED, "delayed", SS_FP8, SS_CASTS_HISTORY, 0, 0, 1, gemm_eff_fp8, gemm_k_prologue_fp8)       \
    X(SS_FP8_TENSORWISE, "tensorwise", SS_FP8, SS_CASTS_TENSOR, 0, 0, 1, gemm_eff_fp8, gemm_k_prologue_fp8)  \
    X(SS_FP8_BLOCKWISE, "blockwise", SS_FP8, SS_CASTS_BLOCKS, 0, 0, 1, gemm_eff_fp8_blocks,                  \
      gemm_k_prologue_fp8_blocks)                                                                            \
    X(SS_FP8_MXFP8, "mxfp8", SS_FP8, SS_CASTS_UNITS, 32, 1, 0, gemm_eff_mxfp8, gemm_k_prologue_fp8)          \
    X(SS_NVFP4_BLOCKS, "nvfp4", SS_NVFP4, SS_CASTS_UNITS_TWICE, 16, 1, 0, gemm_eff_fp4, gemm_k_prologue_fp4) \
    X(SS_NO_RECIPE, "none", SS_FP32, SS_CASTS_NONE, 0, 0, 0, gemm_eff_fp32, gemm_k_prologue)
enum ss_recipe {
#define X(sym, word, precision, casts, block, scale, outside, efficiency, prologue) sym,
    SS_RECIPE_LIST(X)
#undef X
        SS_RECIPE_COUNT
};

/* The rows as data. Props are indices of the registry (params.h). */
struct ss_precision_facts {
    const char *name, *flag;
    int bits, rows, peak, efficiency, prologue, recipe;
};
struct ss_recipe_facts {
    const char *word;
    int precision, casts, block, scale_bytes, outside, efficiency, prologue;
};

/* Returns the row of a precision (enum ss_precision), which must be one. */
const struct ss_precision_facts *ss_precision_at(int precision);
/* Returns the row of a recipe; `recipe` must be one (enum ss_recipe). */
const struct ss_recipe_facts *ss_recipe_at(int recipe);
/* Returns the name of a precision (enum ss_precision), "bf16", or "unknown". Never NULL. */
const char *ss_precision_name(int precision);
/* Returns 1 where linear layers multiply copies of 8 or fewer bits with scales, which are cast from values of 16 bit: fp8, nvfp4. */
int ss_precision_is_quantized(int precision);
/* Returns the precision of a word of --precision and sets *recipe to its recipe: "mxfp8" is SS_FP8 by SS_FP8_MXFP8; -1: there is no such
 * word, and *recipe stays. */
int ss_precision_find(const char *word, int *recipe);
/* Returns bytes of an element of what a recipe multiplies, with its share of the scale of its block: 1 + 1/32 in mxfp8. */
double ss_recipe_bytes(int recipe);

SS_C_END
