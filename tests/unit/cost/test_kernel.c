/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds of single kernels and traffic of operators, by hand (docs/reference/model.md, sections 1 to 4). */
#include <math.h>
#include <string.h>

#include "cost/kernel.h"
#include "layers/operators.h"
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
    card->attention_tile = 128;
    card->attention_wide = 1;
    card->attention_lone = 1;
    card->hbm_bandwidth = 1e12;
    card->hbm_efficiency = 1;
    stack->te_layers = stack->norm_passes = stack->fp8_cast_passes = 1;
}

TEST(grouped_gemm)
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
    /* A token each: every matrix is read, in fp32 with 4 bytes an element. */
    card.hbm_bandwidth = 1e12;
    card.peak_fp32 = 1e15;
    card.gemm_eff_fp32 = 0.5;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_grouped_gemm(&card, SS_FP32, 64, 1, 64, 2560, 1024, 0, 100, 1),
                           (64 * 1024 + 64 * 1024 * 2560.0 + 64 * 2560) * 4 / 1e12, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_grouped_gemm(&card, SS_BF16, 64, 1, 64, 2560, 1024, 0, 100, 1),
                           (64 * 1024 + 64 * 1024 * 2560.0 + 64 * 2560) * 2 / 1e12, 1e-12);
}

/* Kernels of their own: 10 groups of 12 x 10 tiles are 2 waves each, not the 12 of 1200 tiles together; where rows scatter, 12.5 x 10
 * tiles are 1.25 waves and half of the last one. Eight tiles of a half's rows and columns each would be 4.8 and 5.25 of a quarter. */
TEST(stream_gemms)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    double k = 65536, tile = 2.0 * 128 * 256 * k / 5e12, quarter = tile / 4 / 0.81, m = 10 * 12 * 128;
    card.hbm_bandwidth = 1e14;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_grouped_gemm(&card, SS_BF16, 10, 0, m, 2560, k, 0, 100, 1), 12 * tile,
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_stream_gemms(&card, SS_BF16, 10, 0, m, 2560, k, 0, 100, 1),
                           10 * fmin(2 * tile, 5 * quarter), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_stream_gemms(&card, SS_BF16, 10, 1, m, 2560, k, 0, 100, 1),
                           10 * fmin(1.75 * tile, 5.4 * quarter), 1e-12);
    /* One group is a GEMM, whose sums may be apart. */
    card.gemm_sums_apart = 1;
    CU_ASSERT_EQUAL(ss_kernel_stream_gemms(&card, SS_BF16, 1, 0, 1280, 2560, k, 4, 100, 1),
                    ss_kernel_gemm(&card, SS_BF16, 1280, 2560, k, 4, 100, 1));
    /* One GEMM's sums: 0.2 follow the products, which hide the others; where memory bounds it, all are added. */
    double alone = ss_kernel_gemm(&card, SS_BF16, 1280, 2560, k, 0, 100, 1), sums = 1280. * 2560 * 8 / 1e12;
    card.gemm_sums_apart = 0.8;
    card.hbm_bandwidth = 1e12;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1280, 2560, k, 4, 100, 1), alone + 0.2 * sums,
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1280, 2560, 1, 4, 100, 1),
                           (1280 + 2560) * 2 / 1e12 + sums, 1e-12);
    card.hbm_bandwidth = 1e14;
    /* Sums of several: what is not apart follows the products. */
    double none = ss_kernel_stream_gemms(&card, SS_BF16, 10, 0, m, 2560, k, 0, 100, 1);
    card.gemm_stream_sums_apart = 0.2;
    card.hbm_bandwidth = 1e12;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_stream_gemms(&card, SS_BF16, 10, 0, m, 2560, k, 4, 100, 1),
                           none + 0.8 * m * 2560 * 8 / 1e12, 1e-12);
}

/* Blocks one after the other on whichever SM is free first, those of a head from its first tile on, or the backward's; what
 * the queries see grows from `least` keys to `most`. Seconds over those of SMs that are busy to the end. */
static double run_blocks(const struct ss_card *card, const struct ss_attention_call *call)
{
    double free_at[132] = {0}, end = 0, work = 0;
    int sms = (int)card->sm_count,
        tiles = (int)call->queries / (call->backward ? 128 : (int)card->attention_tile);
    for (int i = 0; i < (int)call->heads * tiles; i++) {
        int tile = i % tiles, first = 0;
        double part = (call->backward ? tiles - 1 - tile : tile) + 0.5, mean = tiles / 2.;
        double block = 1 + (call->spread - 1) * (part / mean - 1);
        for (int k = 1; k < sms; k++)
            first = free_at[k] < free_at[first] ? k : first;
        free_at[first] += block;
        end = free_at[first] > end ? free_at[first] : end;
        work += block / sms;
    }
    return end / work;
}

/* 4 heads of 4096 are 128 blocks on 100 SMs: the longest is 2 x 100 / 128 of all work, 2/3 of it are waited for. */
TEST(attention_fill)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    struct ss_attention_call call = {.heads = 4, .queries = 4096, .spread = 2};
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1 / (1 + 2 / 3. * 200 / 128), 1e-12);
    /* Two heads: 64 blocks, of which the longest takes 3.125 times what all SMs would. */
    call.heads = 2;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1 / 3.125, 1e-12);
    /* A block alone at 0.8 of the SM's rate: two heads; 4 as before, for most SMs have two; the backward as before. */
    card.attention_lone = 0.8;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 0.8 / 3.125, 1e-12);
    call.heads = 4;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1 / (1 + 2 / 3. * 200 / 128), 1e-12);
    call.heads = 2;
    call.backward = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1 / 3.125, 1e-12);
    card.attention_lone = 1;
    /* As many keys for all: half a block of 256 queries. A tile that is not full is one. */
    card.attention_tile = 256;
    call = (struct ss_attention_call){.heads = 20, .queries = 2500, .spread = 1};
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1 / 1.25, 1e-12);
    /* Backward, of 128 keys: the last head's longest of 32 blocks began 32 / 200 of its time before the last block. */
    call = (struct ss_attention_call){.heads = 8, .queries = 4096, .spread = 2, .backward = 1};
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1 / (1 + (2 / 3. - 0.16) * 200 / 256),
                           1e-12);
    card.attention_sorted = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_fill(&card, &call, 100), 1, 1e-12);
    call.backward = 0;
    CU_ASSERT(ss_kernel_attention_fill(&card, &call, 100) < 0.8);
    card.attention_wide = 0.8;
    CU_ASSERT_EQUAL(ss_kernel_fused_head(&card, 16, 128, 128, 1), 1);
    CU_ASSERT_EQUAL(ss_kernel_fused_head(&card, 16, 192, 128, 1), 0.8);
    CU_ASSERT_EQUAL(ss_kernel_fused_head(&card, 16, 192, 128, 0), 1);
    CU_ASSERT_EQUAL(ss_kernel_fused_head(&card, 16, 64, 64, 0), 1);
    /* 64 channels take the time of 84: (64 + 16) / (84 + 16); 96 their own */
    card.attention_least = 84;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_fused_head(&card, 16, 64, 64, 0), 0.8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_fused_head(&card, 16, 64, 64, 1), 0.8, 1e-12);
    CU_ASSERT_EQUAL(ss_kernel_fused_head(&card, 16, 96, 96, 0), 1);
}

/* Against blocks that are run one by one: 2 to 64 heads of 2048 to 16384 tokens, causal and in a window. */
TEST(attention_fill_runs)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    for (int i = 0; i < 160; i++) {
        struct ss_attention_call call = {.heads = 2 << (i / 2 % 5),
                                         .queries = 2048 << (i / 10 % 4),
                                         .spread = i / 40 % 2 ? 2 : 1.5,
                                         .backward = i % 2};
        card.sm_count = i / 80 ? 132 : 108;
        double took = run_blocks(&card, &call),
               said = 1 / ss_kernel_attention_fill(&card, &call, card.sm_count);
        double blocks = call.heads * call.queries / 128;
        /* between one and two blocks an SM the last wave may be empty or full */
        CU_ASSERT(fabs(said / took - 1) < (blocks <= card.sm_count       ? 0.05
                                           : blocks <= 2 * card.sm_count ? 0.27
                                                                         : 0.13));
    }
}

/* Transformer Engine's cuDNN at 4096 tokens, TFLOP/s of 64 to 4 heads of 128, forward and backward on A100, forward on B200, whose
 * thread blocks have 256 queries (MooreThreads/SimuMax@4dcaae5, configs/system): as model.md, section 3 has it, over 64 heads'. */
TEST(attention_by_heads)
{
    static const struct {
        double sms, tile, lone, measured[5], error[5];
    } row[] = {{108, 128, 1, {370.3, 349.0, 308.2, 245.4, 160.4}, {0, 0.4, -0.4, -3.3, -14.0}},
               {108, 128, 1, {313.6, 301.5, 277.1, 237.2, 210.5}, {0, 1.1, 2.1, 3.1, 19.3}},
               {148, 256, 0.75, {1960.9, 1646.5, 1301.1, 697.9, 375.5}, {0, -2.5, -1.5, -8.0, -1.0}}};
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 5; i++) {
            struct ss_attention_call most = {.heads = 64, .queries = 4096, .spread = 2, .backward = k == 1};
            struct ss_attention_call call = most;
            call.heads = 64 >> i;
            card.attention_tile = row[k].tile;
            card.attention_lone = row[k].lone;
            double said = ss_kernel_attention_fill(&card, &call, row[k].sms) /
                          ss_kernel_attention_fill(&card, &most, row[k].sms);
            CU_ASSERT_DOUBLE_EQUAL(100 * (row[k].measured[i] / row[k].measured[0] / said - 1),
                                   row[k].error[i], 0.06);
        }
}

/* Blocks: 0.6 of the rate and a prologue of 1024 steps, weight gradients 0.9 of it; neutral where the card knows none. */
TEST(gemm_gain)
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
TEST(attention_rate)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 32, 8192, 128, 128), 5e14,
                           1);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 64, 8192, 64, 64),
                           0.75 * 5e14, 1); /* 64 / 128 over 128 / 192 */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 32, 8192, 192, 128),
                           5e14 * (160.0 / 192) / (128.0 / 160), 1);
    /* Measured where GEMMs reach 0.8: 2 of the peak's time, of which 1.25 are products, which take 2 here. */
    card.attention_gemm_level = 0.8;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 32, 8192, 128, 128),
                           1e15 / 2.75, 1);
    card.attention_gemm_level = 0.4; /* no card is faster by it */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_attention_rate(&card, &stack, SS_BF16, 0.5, 32, 8192, 128, 128), 5e14,
                           1);
}

/* 1000 tokens, 100 wide, tensor and sequence parallel over sp. */
static struct ss_shape shape_of(const struct ss_stack *stack, int blocks, double sp)
{
    return (struct ss_shape){.tokens = 1000,
                             .h = 100,
                             .e = 2,
                             .sp = sp,
                             .te = 1,
                             .norm_passes = 1.5,
                             .quantized = 1,
                             .gemm_precision = SS_FP8,
                             .fp8_blocks = blocks,
                             .stack = stack};
}

static const struct ss_op *cast(struct ss_ops *ops, const struct ss_shape *s, int role)
{
    memset(ops, 0, sizeof *ops);
    ss_op_fp8_cast(ops, s, 100, 300, role, role == SS_TP_COLUMN ? SS_CAST_OF_NORM : SS_CAST_OF_OWN);
    return &ops->op[0];
}

/* Where blocks are scaled the norm leaves its output in 16 bit, and a kernel of its own casts it. */
TEST(casts)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops;
    make(&card, &stack);
    struct ss_shape plain = shape_of(&stack, 0, 1), blocks = shape_of(&stack, 1, 1),
                    split = shape_of(&stack, 1, 4);
    const struct ss_op *op = cast(&ops, &plain, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 0 && op->forward_kernels == 0);
    CU_ASSERT(op->backward_bytes == 1000 * (4 * 300 + 2 * 100) && op->backward_kernels == 3);
    op = cast(&ops, &blocks, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->forward_kernels == 2);
    CU_ASSERT(op->backward_bytes == 1000 * 4 * 300 && op->backward_kernels == 2);
    op = cast(&ops, &split, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 3 * 25 && op->backward_bytes == 1000 * (4 * 300 + 2 * 100));
    op = cast(&ops, &blocks, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * 4 * 300);
    CU_ASSERT(op->backward_kernels == 2);
    /* The gradient is cast as a shard and transposed whole; so is the input, where Transformer Engine puts that off. */
    struct ss_shape shard = shape_of(&stack, 0, 4);
    op = cast(&ops, &shard, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * (3 * 75 + 2 * 300));
    CU_ASSERT(op->forward_kernels == 2 && op->backward_kernels == 3);
    stack.row_transposes_late = 1;
    op = cast(&ops, &shard, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 3 * 100);
    CU_ASSERT(op->backward_bytes == 1000 * (3 * 75 + 2 * 300 + 2 * 100) && op->backward_kernels == 4);
    op = cast(&ops, &plain, SS_TP_ROW); /* without sequence parallelism one kernel does both */
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * 4 * 300);
    op = cast(&ops, &plain, SS_TP_COLUMN);
    CU_ASSERT(op->backward_bytes == 1000 * (4 * 300 + 2 * 100) && op->backward_kernels == 3);
    stack.row_transposes_late = 0;
    stack.fp8_keeps_less = 1; /* as many bytes (ss.te.fp8_cast counts them) in more kernels */
    op = cast(&ops, &blocks, SS_TP_ROW);
    CU_ASSERT(op->forward_kernels == 2 && op->backward_bytes == 1000 * 4 * 300 && op->backward_kernels == 5);
    ops.n = 0;
    ss_op_expert_cast(&ops, &blocks, 100, 300);
    CU_ASSERT(ops.op[0].forward_kernels == 2 && ops.op[0].backward_kernels == 4);
}

/* A weight of 100 x 300 in fp8, of which no transpose is kept: 1 B read and 1 B written of each element by one kernel, of eight
 * experts' weights by one each. */
TEST(weights_turned)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops;
    make(&card, &stack);
    struct ss_shape turned = shape_of(&stack, 0, 1);
    turned.weights_turned = 1;
    turned.local_experts = 8;
    turned.routed = 500;
    const struct ss_op *op = cast(&ops, &turned, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->forward_kernels == 2);
    CU_ASSERT(op->backward_bytes == 1000 * 4 * 300 + 2 * 100 * 300 && op->backward_kernels == 3);
    op = cast(&ops, &turned, SS_TP_COLUMN);
    CU_ASSERT(op->backward_bytes == 1000 * (4 * 300 + 2 * 100) + 2 * 100 * 300 && op->backward_kernels == 4);
    ops.n = 0;
    ss_op_expert_cast(&ops, &turned, 100, 300);
    CU_ASSERT(ops.op[0].backward_bytes == 500 * 4 * 300 + 8 * 2 * 100 * 300);
    CU_ASSERT(ops.op[0].backward_kernels + ops.op[0].backward_launches == 2 + 8);
    CU_ASSERT(ops.op[0].forward_launches == 0);
}

/* An input of 100 of which another operator keeps 16 bit: cast by rows for the forward (2 B read, 1 written) and anew for the backward,
 * where Hopper's kernel writes both orientations (4 B) but with blocks (3); with current scaling the largest value is found both
 * times. Shared experts' input comes of no norm of their layer, so it is cast, and its largest value found, as any other's. */
TEST(casts_again)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops;
    make(&card, &stack);
    stack.fp8_saves_inputs = 1;
    struct ss_shape current = shape_of(&stack, 0, 1), blocks = shape_of(&stack, 1, 1),
                    split = shape_of(&stack, 0, 4);
    const struct ss_op *op = &ops.op[0];
    current.fp8_current = split.fp8_current = 1;
    for (int role = SS_TP_COLUMN; role <= SS_TP_ROW;
         role++) { /* alike on one rank, shared FC1 and projection */
        ops.n = 0;
        ss_op_fp8_cast(&ops, &current, 100, 300, role, SS_CAST_OF_KEPT);
        CU_ASSERT(op->forward_bytes == 1000 * 5 * 100 && op->backward_bytes == 1000 * (6 * 300 + 6 * 100));
        CU_ASSERT(op->forward_launches == 3 && op->backward_launches == 6 && op->transposed_bytes == 0);
        CU_ASSERT(op->forward_kernels == 2 && op->backward_kernels == 3);
        ops.n = 0;
        ss_op_fp8_cast(&ops, &blocks, 100, 300, role, SS_CAST_OF_KEPT);
        CU_ASSERT(op->forward_bytes == 1000 * 3 * 100 && op->backward_bytes == 1000 * (4 * 300 + 3 * 100));
    }
    ops.n = 0; /* a shard each time, which is gathered and then transposed; it is reduced each time */
    ss_op_fp8_cast(&ops, &split, 100, 300, SS_TP_COLUMN, SS_CAST_OF_KEPT);
    CU_ASSERT(op->forward_bytes == 1000 * 5 * 25);
    CU_ASSERT(op->backward_bytes == 1000 * (6 * 300 + 2 * 100 + 5 * 25));
    CU_ASSERT(op->forward_kernels == 3 && op->backward_kernels == 2 + 1 + 1 + 1);
    ops.n = 0; /* what no other operator keeps, and scales of history */
    ss_op_fp8_cast(&ops, &current, 100, 300, SS_TP_ROW, SS_CAST_OF_OWN);
    CU_ASSERT(op->forward_bytes == 1000 * 6 * 100 && op->backward_bytes == 1000 * 6 * 300);
    current.fp8_current = 0;
    ops.n = 0;
    ss_op_fp8_cast(&ops, &current, 100, 300, SS_TP_COLUMN, SS_CAST_OF_KEPT);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * 4 * 300);
}

/* Current scaling: 2 B more to find a tensor's largest value, by three launches; the norm finds its output's, by two. */
TEST(current_scaling)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops;
    make(&card, &stack);
    struct ss_shape whole = shape_of(&stack, 0, 1), split = shape_of(&stack, 0, 4);
    whole.fp8_current = split.fp8_current = 1;
    whole.local_experts = 8;
    whole.routed = 500;
    const struct ss_op *op = cast(&ops, &whole, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 4 * 100 && op->backward_bytes == 1000 * 6 * 300);
    CU_ASSERT(op->forward_kernels == 2 && op->backward_kernels == 2);
    CU_ASSERT(op->forward_launches == 2 && op->backward_launches == 3);
    op = cast(&ops, &whole, SS_TP_ROW);
    CU_ASSERT(op->forward_bytes == 1000 * 6 * 100 && op->forward_launches == 3);
    /* Shards are reduced: one collective more to issue. A gradient's shard is 75 wide. */
    op = cast(&ops, &split, SS_TP_COLUMN);
    CU_ASSERT(op->forward_bytes == 1000 * 3 * 25 && op->forward_kernels == 3 && op->backward_kernels == 3);
    op = cast(&ops, &split, SS_TP_ROW);
    CU_ASSERT(op->backward_bytes == 1000 * (5 * 75 + 2 * 300) && op->forward_kernels == 2);
    CU_ASSERT(op->backward_kernels == 4);
    ops.n = 0;
    ss_op_expert_cast(&ops, &whole, 100, 300);
    CU_ASSERT(ops.op[0].forward_bytes == 500 * 6 * 100 && ops.op[0].backward_bytes == 500 * 6 * 300);
    CU_ASSERT(ops.op[0].forward_launches == 4 * 8 && ops.op[0].backward_launches == 4 * 8);
    ops.n = 0;
    ss_op_norm(&ops, &whole, "norm"); /* its output stays in 16 bit */
    CU_ASSERT_EQUAL(ops.op[0].forward_bytes, 1.5 * 100000 * 4);
}

/* An SM makes 1e9 elements a second of strided operands, the card 1e11: 2e11 of 2 bytes each way take 2 s, of which HBM's 1e12 B/s has
 * 0.8 s; of 8 bytes 1.6; of 20 bytes HBM is the slower one. */
TEST(strided)
{
    struct ss_card card;
    struct ss_stack stack;
    make(&card, &stack);
    card.strided_rate = 1e9;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_strided(&card, 2e11, 4), 1.2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_strided(&card, 2e11, 8), 0.4, 1e-12);
    CU_ASSERT_EQUAL(ss_kernel_strided(&card, 2e11, 20), 0);
    CU_ASSERT_EQUAL(ss_kernel_strided(&card, 0, 4), 0);
}

TEST(norm)
{
    struct ss_card card;
    struct ss_stack stack;
    struct ss_ops ops = {0};
    make(&card, &stack);
    struct ss_shape plain = shape_of(&stack, 0, 1), blocks = shape_of(&stack, 1, 1);
    ss_op_norm(&ops, &plain, "norm");
    ss_op_norm(&ops, &blocks, "norm");
    CU_ASSERT_EQUAL(ops.op[0].forward_bytes, 1.5 * 100000 * 3);
    CU_ASSERT_EQUAL(ops.op[1].forward_bytes, 1.5 * 100000 * 4);
    CU_ASSERT(ops.op[0].backward_bytes == 1.5 * 100000 * 6 && ops.op[1].backward_bytes == 1.5 * 100000 * 6);
    CU_ASSERT_EQUAL(ops.op[0].saved_bytes, ops.op[1].saved_bytes);
}
