/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of single kernels and traffic of operators, by hand (docs/reference/model.md, sections 1 to 4). */
#include <string.h>

#include "cost/kernel.h"
#include "cost/operators.h"
#include "suite.h"

static void make(struct ss_card *card, struct ss_stack *stack)
{
    memset(card, 0, sizeof *card);
    memset(stack, 0, sizeof *stack);
    card->sm_count = 100;
    card->peak_bf16 = 1e15;
    card->peak_fp8 = 2e15;
    card->gemm_eff_bf16 = card->gemm_eff_fp8 = 0.5;
    card->gemm_tile_m = 128;
    card->gemm_tile_n = 256;
    card->gemm_small_tile = 0.9;
    card->hbm_bandwidth = 1e12;
    card->hbm_efficiency = 1;
    stack->te_layers = stack->norm_passes = stack->fp8_cast_passes = 1;
}

static void test_grouped_gemm(void)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    double k = 65536, tile = 2.0 * 128 * 256 * k / 5e12;
    card.hbm_bandwidth = 1e14;
    /* 10 groups of 128 x 2560: 10 x 10 tiles, one wave; one row more in each are 20 rows of tiles, of which those of half
     * the rows, 30 x 20 at 0.9 squared of a quarter's time, waste least. */
    double equal = ss_kernel_grouped_gemm(&card, SS_BF16, 10, 0, 1280, 2560, k, 0, 100, 1);
    CU_ASSERT_DOUBLE_EQUAL(equal, tile, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_grouped_gemm(&card, SS_BF16, 10, 0, 1290, 2560, k, 0, 100, 1),
                           6 * tile / 4 / 0.81, 1e-12);
    /* Scattered: 1.5 rows of tiles a group are 150 tiles in two waves; tiles of half the rows and columns are 2.5 x 20 a
     * group, five waves of a quarter. */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_grouped_gemm(&card, SS_BF16, 10, 1, 1280, 2560, k, 0, 100, 1),
                           5 * tile / 4 / 0.81, 1e-12);
    /* One group does not scatter, and is a GEMM. */
    CU_ASSERT_EQUAL(ss_kernel_grouped_gemm(&card, SS_BF16, 1, 1, 1280, 2560, k, 1, 100, 1.1),
                    ss_kernel_gemm(&card, SS_BF16, 1280, 2560, k, 1, 100, 1.1));
    /* A token each: every matrix is read. */
    card.hbm_bandwidth = 1e12;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_grouped_gemm(&card, SS_BF16, 64, 1, 64, 2560, 1024, 0, 100, 1),
                           (64 * 1024 + 64 * 1024 * 2560.0 + 64 * 2560) * 2 / 1e12, 1e-12);
}

/* Blocks: 0.6 of the rate and a prologue of 1024 steps, weight gradients 0.9 of it; neutral where the card knows none. */
static void test_gemm_gain(void)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    stack.fp8_forward_gain = 1.1;
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_F, 4096), 1.1);
    card.gemm_eff_fp8_blocks = 0.3;
    card.gemm_k_prologue_fp8_blocks = 1024;
    card.gemm_wgrad_fp8_blocks = 0.9;
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_BF16, SS_FP8_BLOCKWISE, SS_PHASE_F, 4096), 1);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_TENSORWISE, SS_PHASE_I, 4096), 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_F, 4096),
                           0.6 * 4096 / 5120, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_W, 1024),
                           0.6 / 2 * 0.9, 1e-12);
    /* One wave of a GEMM takes K + 1024 steps at 0.3 of the peak. */
    double gain = ss_kernel_gemm_gain(&card, &stack, SS_FP8, SS_FP8_BLOCKWISE, SS_PHASE_I, 65536);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_FP8, 1280, 2560, 65536, 0, 100, gain),
                           2.0 * 128 * 256 * (65536 + 1024) / (0.3 * 2e15 / 100), 1e-12);
}

/* A score costs its exponential whatever the head: the mean of d_qk and d_v decides. */
static void test_attention_rate(void)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    stack.attention_half_dim = 32;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 8192, 128, 128), 5e14, 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 8192, 192, 128),
                           5e14 * (160.0 / 192) / (128.0 / 160), 1);
}

/* 1000 tokens, 100 wide, tensor and sequence parallel over sp. */
static struct ss_shape shape_of(int blocks, double sp)
{
    return (struct ss_shape){.tokens = 1000,
                             .h = 100,
                             .e = 2,
                             .sp = sp,
                             .te = 1,
                             .norm_passes = 1.5,
                             .gemm_precision = SS_FP8,
                             .fp8_blocks = blocks};
}

static const struct ss_op *cast(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack,
                                int role)
{
    memset(ops, 0, sizeof *ops);
    ss_op_fp8_cast(ops, s, stack, 100, 300, role);
    return &ops->op[0];
}

/* Where blocks are scaled the norm leaves its output in 16 bit, and a kernel of its own casts it. */
static void test_casts(void)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops;
    make(&card, &stack);
    struct ss_shape plain = shape_of(0, 1), blocks = shape_of(1, 1), split = shape_of(1, 4);
    const struct ss_op *op = cast(&ops, &plain, &stack, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 0 && op->forward_kernels == 0);
    CU_ASSERT(op->backward_bytes == 1000 * (4 * 300 + 2 * 100) && op->backward_kernels == 3);
    op = cast(&ops, &blocks, &stack, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->forward_kernels == 2);
    CU_ASSERT(op->backward_bytes == 1000 * 4 * 300 && op->backward_kernels == 2);
    op = cast(&ops, &split, &stack, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 3 * 25 && op->backward_bytes == 1000 * (4 * 300 + 2 * 100));
    op = cast(&ops, &blocks, &stack, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * 4 * 300);
    CU_ASSERT(op->backward_kernels == 2);
    stack.fp8_keeps_less = 1; /* as many bytes (ss.te.fp8_cast counts them) in more kernels */
    op = cast(&ops, &blocks, &stack, SS_TP_ROW);
    CU_ASSERT(op->forward_kernels == 2 && op->backward_bytes == 1000 * 4 * 300 && op->backward_kernels == 5);
    ops.n = 0;
    ss_op_expert_cast(&ops, &blocks, &stack, 100, 300);
    CU_ASSERT(ops.op[0].forward_kernels == 2 && ops.op[0].backward_kernels == 4);
}

/* Current scaling: 2 B more to find a tensor's largest value, by three launches; the norm finds its output's, by two. */
static void test_current_scaling(void)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops;
    make(&card, &stack);
    struct ss_shape whole = shape_of(0, 1), split = shape_of(0, 4);
    whole.fp8_current = split.fp8_current = 1;
    whole.local_experts = 8;
    whole.routed = 500;
    const struct ss_op *op = cast(&ops, &whole, &stack, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * 6 * 300);
    CU_ASSERT(op->forward_kernels == 2 && op->backward_kernels == 2);
    CU_ASSERT(op->forward_launches == 2 && op->backward_launches == 3);
    op = cast(&ops, &whole, &stack, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 6 * 100 && op->forward_launches == 3);
    /* Shards are reduced: one collective more to issue. A gradient's shard is 75 wide. */
    op = cast(&ops, &split, &stack, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 3 * 25 && op->forward_kernels == 3 && op->backward_kernels == 3);
    op = cast(&ops, &split, &stack, SS_TP_ROW);
    CU_ASSERT(op->backward_bytes == 1000 * (5 * 75 + 2 * 300) && op->forward_kernels == 2);
    CU_ASSERT(op->backward_kernels == 4);
    ops.n = 0;
    ss_op_expert_cast(&ops, &whole, &stack, 100, 300);
    CU_ASSERT(ops.op[0].forward_bytes == 500 * 6 * 100 && ops.op[0].backward_bytes == 500 * 6 * 300);
    CU_ASSERT(ops.op[0].forward_launches == 4 * 8 && ops.op[0].backward_launches == 4 * 8);
    ops.n = 0;
    ss_op_norm(&ops, &whole, &stack, "norm"); /* its output stays in 16 bit */
    CU_ASSERT_EQUAL(ops.op[0].forward_bytes, 1.5 * 100000 * 4);
}

static void test_norm(void)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops = {0};
    make(&card, &stack);
    struct ss_shape plain = shape_of(0, 1), blocks = shape_of(1, 1);
    ss_op_norm(&ops, &plain, &stack, "norm");
    ss_op_norm(&ops, &blocks, &stack, "norm");
    CU_ASSERT_EQUAL(ops.op[0].forward_bytes, 1.5 * 100000 * 3);
    CU_ASSERT_EQUAL(ops.op[1].forward_bytes, 1.5 * 100000 * 4);
    CU_ASSERT(ops.op[0].backward_bytes == 1.5 * 100000 * 6 && ops.op[1].backward_bytes == 1.5 * 100000 * 6);
    CU_ASSERT_EQUAL(ops.op[0].saved_bytes, ops.op[1].saved_bytes);
}

int main(void)
{
    CU_TestInfo tests[] = {{"grouped GEMM", test_grouped_gemm},
                           {"GEMM gain", test_gemm_gain},
                           {"attention rate", test_attention_rate},
                           {"casts", test_casts},
                           {"casts by current scaling", test_current_scaling},
                           {"norm", test_norm},
                           CU_TEST_INFO_NULL};
    return suite_run("kernel", NULL, NULL, tests);
}
