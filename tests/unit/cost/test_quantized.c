/* SPDX-License-Identifier: Apache-2.0 */
/* mxfp8 and nvfp4: bytes of casts and of what is kept, rate of the products, by hand. */
#include "cost/kernel.h"
#include "small_job.h"
#include "stepsim/job_kinds.h"

#define TOKENS (2 * 4096.)

static struct ss_ops dense_layer(struct setting *t, int precision)
{
    t->job.precision = precision;
    t->job.stored = SS_BF16;
    t->job.fp8_recipe = SS_FP8_MXFP8;
    t->stack.fp8_cast_passes = 1;
    return layer_of(t, DENSE);
}

/* What goes into a linear layer of 1024 and what comes back of QKV's 1024 + 2 x 256 are cast on each of the ranks that share the
 * tokens, `cast` B an element. */
static void check_casts(const struct ss_ops *ops, double cast, int launches, int ranks)
{
    const struct ss_op *op = find(ops, "fp8 cast");
    CU_ASSERT_PTR_NOT_NULL_FATAL(op);
    CU_ASSERT_DOUBLE_EQUAL(op->forward_bytes, TOKENS * 1024 / ranks * cast, 1);
    CU_ASSERT_DOUBLE_EQUAL(op->backward_bytes, TOKENS * 1536 / ranks * cast, 1);
    /* one call of PyTorch; scales of two operands are put in order, in nvfp4 the largest value and a second orientation are more */
    CU_ASSERT(op->forward_kernels == 1 && op->backward_kernels == 1);
    CU_ASSERT(op->forward_launches == launches && op->backward_launches == launches);
}

/* Read in 16 bit, written by rows and by columns; a scale of 1 B for 32 elements in mxfp8. */
TEST(mxfp8)
{
    const double element = 33. / 32, cast = 2 + 2 * element;
    struct setting t;
    setting_make(&t);
    struct ss_ops ops = dense_layer(&t, SS_FP8);
    check_casts(&ops, cast, 2, 1);
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "fc2")->saved_bytes, TOKENS * 2816 * element, 1);
    /* the norm writes 16 bit, for the cast is a kernel of its own, but what is kept is quantized */
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "input norm")->forward_bytes, TOKENS * 1024 * 4, 1);
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "input norm")->saved_bytes, TOKENS * (1024 * (2 + element) + 4), 1);
}

/* A scale of 1 B for 16 elements of half a byte; the tensor is read for its largest value, and again for each orientation. */
TEST(nvfp4)
{
    const double element = 9. / 16, cast = 3 * 2 + 2 * element;
    struct setting t;
    setting_make(&t);
    struct ss_ops ops = dense_layer(&t, SS_NVFP4);
    check_casts(&ops, cast, 4, 1);
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "fc2")->saved_bytes, TOKENS * 2816 * element, 1);
    CU_ASSERT_EQUAL(find(&ops, "fc2")->gemm.precision, SS_NVFP4);
}

/* Under sequence parallelism of two ranks shards are cast, and what is gathered moves quantized. */
TEST(shards)
{
    struct setting t;
    setting_make(&t);
    t.job.tp = 2;
    t.job.sequence_parallel = 1;
    struct ss_ops ops = dense_layer(&t, SS_FP8);
    check_casts(&ops, 2 + 33. / 16, 2, 2);
    /* nvfp4 reduces the largest value of shards before the cast, of QKV's input and of FC2's gradient, and puts in order what their
     * weight gradients gather: values and scales, read and written. */
    ops = dense_layer(&t, SS_NVFP4);
    const struct ss_op *qkv = find(&ops, "fp8 cast"), *fc2 = find(&ops, "fc2") - 1;
    const double q = 9. / 16, cast = 6 + 2 * q;
    CU_ASSERT(qkv->forward_kernels == 2 && qkv->backward_kernels == 1);
    CU_ASSERT(qkv->forward_launches == 4 && qkv->backward_launches == 6);
    CU_ASSERT_DOUBLE_EQUAL(qkv->backward_bytes, TOKENS * (768 * cast + 1024 * 2 * q), 1);
    CU_ASSERT_STRING_EQUAL_FATAL(fc2->name, "fp8 cast");
    CU_ASSERT(fc2->forward_kernels == 1 && fc2->backward_kernels == 2);
    CU_ASSERT_DOUBLE_EQUAL(fc2->forward_bytes, TOKENS * 1408 * cast, 1);
    CU_ASSERT_DOUBLE_EQUAL(fc2->backward_bytes, TOKENS * (512 * cast + 1024 * 2 * q), 1);
}

/* 100 tiles are one wave of 100 SMs; 2 PFLOP/s of them, depth 65536 and a prologue of 464. */
TEST(products)
{
    struct setting t;
    setting_make(&t);
    t.card.peak_fp4 = 4e15;
    t.card.gemm_eff_fp4 = 0.5;
    t.card.gemm_k_prologue_fp4 = 464;
    t.card.gemm_eff_fp8 = 0.5;
    t.card.gemm_eff_mxfp8 = 0.4;
    t.card.hbm_bandwidth = 1e14;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&t.card, SS_NVFP4, 1280, 2560, 65536, 0, 100, 1),
                           2. * 128 * 256 * 66000 / 2e13, 1e-12);
    /* bound by HBM: 0.5625 B an element of the operands, 2 of the product */
    t.card.hbm_bandwidth = 1e10;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&t.card, SS_NVFP4, 1280, 2560, 256, 0, 100, 1),
                           ((1280 + 2560) * 256 * 0.5625 + 1280 * 2560 * 2) / 1e10, 1e-12);
    /* sums stay in the tensor cores, so that a forward is no faster */
    t.stack.fp8_forward_gain = 1.1;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm_gain(&t.card, &t.stack, SS_FP8, SS_FP8_MXFP8, SS_PHASE_F, 4096),
                           0.8, 1e-12);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&t.card, &t.stack, SS_FP8, SS_FP8_TENSORWISE, SS_PHASE_F, 4096), 1.1);
    t.card.gemm_sums_apart = 1;
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&t.card, &t.stack, SS_FP8, SS_FP8_TENSORWISE, SS_PHASE_F, 4096), 1);
    CU_ASSERT_EQUAL(ss_kernel_gemm_gain(&t.card, &t.stack, SS_NVFP4, SS_FP8_DELAYED, SS_PHASE_F, 4096), 1);
}

/* 2560 x 1280 sums move 8 B each at 1 TB/s: behind the products, or beside them where they are the longer part. */
TEST(sums_apart)
{
    const double k = 65536, products = 2. * 128 * 256 * k / 5e12, sums = 1280 * 2560 * 8. / 1e12;
    const double operands = (1280 + 2560) * k * 2 / 1e12;
    struct setting t;
    setting_make(&t);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&t.card, SS_BF16, 1280, 2560, k, 4, 100, 1), products + sums,
                           1e-12);
    t.card.gemm_sums_apart = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&t.card, SS_BF16, 1280, 2560, k, 4, 100, 1), products, 1e-12);
    t.card.hbm_bandwidth = 1e11;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&t.card, SS_BF16, 1280, 2560, k, 4, 100, 1), 10 * (operands + sums),
                           1e-12);
}

/* What a report says of a GEMM's bytes is what its time counts: where HBM bounds it, bytes over bandwidth. */
TEST(bytes)
{
    static const int precisions[] = {SS_FP32, SS_FP16, SS_BF16, SS_FP8, SS_NVFP4};
    struct setting t;
    setting_make(&t);
    t.card.hbm_bandwidth = 1e6;
    t.card.peak_fp32 = t.card.peak_fp16 = t.card.peak_fp8 = t.card.peak_fp4 = 1e15;
    t.card.gemm_eff_fp32 = t.card.gemm_eff_fp16 = t.card.gemm_eff_fp8 = t.card.gemm_eff_fp4 = 0.5;
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        for (int accumulate = 0; accumulate <= 4; accumulate += 2) {
            double bytes = ss_kernel_gemm_bytes(precisions[i], 4, 512, 256, 128, accumulate);
            CU_ASSERT_DOUBLE_EQUAL(
                ss_kernel_grouped_gemm(&t.card, precisions[i], 4, 0, 512, 256, 128, accumulate, 100, 1),
                bytes / (t.card.hbm_bandwidth * t.card.hbm_efficiency) + t.card.kernel_latency, 1e-9);
        }
    CU_ASSERT_EQUAL(ss_kernel_gemm_bytes(SS_NVFP4, 1, 16, 32, 64, 0), (16 + 32) * 64 * 0.5625 + 16 * 32 * 2);
    CU_ASSERT_EQUAL(ss_kernel_gemm_bytes(SS_FP8, 1, 16, 32, 64, 2), (16 + 32) * 64 + 16 * 32 * 4);
}

/* The width of what tensor parallelism gathers is one: quantized where the stack gathers so, of every format. */
TEST(gathered)
{
    struct setting t;
    setting_make(&t);
    struct ss_shape s = {.e = 2, .quantized = 0.5625, .stack = &t.stack};
    t.stack.fp8_allgather = 1;
    CU_ASSERT_EQUAL(ss_op_gathered_width(&s, SS_NVFP4), 0.5625);
    CU_ASSERT_EQUAL(ss_op_gathered_width(&s, SS_BF16), 2);
    t.stack.fp8_allgather = 0;
    CU_ASSERT_EQUAL(ss_op_gathered_width(&s, SS_NVFP4), 2);
}

/* Core attention in mxfp8, 16 heads of 64 for queries, 4 for keys and values: 24 x 64 elements a token are quantized, and the gradient
 * of the output, 16 x 64; a window of 512 of 4096 tokens leaves a query 960 keys forward, and all in the backward. */
TEST(attention)
{
    const double cast = 2 + 2 * 33. / 32;
    struct setting t;
    setting_make(&t);
    t.job.attention = SS_ATTENTION_FUSED;
    t.job.model.sliding_window = 512;
    for (int fp8 = 0; fp8 < 2; fp8++) {
        struct ss_ops ops;
        t.job.fp8_attention = fp8;
        dense_layer(&t, SS_FP8);
        ops = layer_of(&t, LOCAL_DENSE);
        const struct ss_op *core = find(&ops, "core attention"), *quantized = find(&ops, "attention cast");
        CU_ASSERT_DOUBLE_EQUAL(core->forward_flops, 2 * TOKENS * 960 * 16 * 64, 1);
        CU_ASSERT_DOUBLE_EQUAL(core->backward_flops, 2.5 * 2 * TOKENS * (fp8 ? 4096 : 960) * 16 * 64, 1);
        CU_ASSERT_EQUAL(quantized != NULL, fp8);
        if (fp8) {
            CU_ASSERT_DOUBLE_EQUAL(quantized->forward_bytes, TOKENS * 24 * 64 * cast, 1);
            CU_ASSERT_DOUBLE_EQUAL(quantized->backward_bytes, TOKENS * 16 * 64 * cast, 1);
        }
    }
}

/* The projection keeps nothing of its own where it casts again; the input is cast in one orientation each way, q bytes, of mxfp8 by one
 * kernel, of nvfp4 behind a pass for the largest value, 2 bytes. */
TEST(casts_again)
{
    struct setting t;
    setting_make(&t);
    for (int fp4 = 0; fp4 < 2; fp4++)
        for (int saves = 0; saves < 3; saves++) {
            double q = fp4 ? 9. / 16 : 33. / 32, once = (fp4 ? 4 : 2) + q, both = (fp4 ? 6 : 2) + 2 * q;
            int again = saves > fp4;
            t.stack.fp8_saves_inputs = saves;
            struct ss_ops ops = dense_layer(&t, fp4 ? SS_NVFP4 : SS_FP8);
            const struct ss_op *projection = find(&ops, "projection"), *op = projection - 1;
            CU_ASSERT_STRING_EQUAL_FATAL(op->name, "fp8 cast");
            CU_ASSERT_DOUBLE_EQUAL(projection->saved_bytes, again ? 0 : TOKENS * 1024 * q, 1);
            CU_ASSERT_DOUBLE_EQUAL(op->forward_bytes, TOKENS * 1024 * (again ? once : both), 1);
            CU_ASSERT_DOUBLE_EQUAL(op->backward_bytes, TOKENS * 1024 * (both + (again ? once : 0)), 1);
            CU_ASSERT_EQUAL(op->forward_kernels + op->forward_launches, (fp4 ? 5 : 3) - (again && fp4));
            CU_ASSERT_EQUAL(op->backward_kernels + op->backward_launches,
                            (fp4 ? 5 : 3) + (again ? 1 + fp4 : 0));
        }
}

/* Only parameters that are kept in fp8 alone: others have a cast copy, made and turned once an iteration. */
TEST(weights_turned_of)
{
    struct setting t;
    struct ss_shape s;
    setting_make(&t);
    t.stack.weights_turned = 1;
    for (int fp8 = 0; fp8 < 2; fp8++)
        for (int gathered = 0; gathered < 2; gathered++) {
            t.job.precision = fp8 ? SS_FP8 : SS_BF16;
            t.job.fp8_param_gather = gathered;
            ss_shape_init(&s, &t.job, &t.stack, 1024);
            CU_ASSERT_EQUAL(s.weights_turned, fp8 && gathered);
        }
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("nemo-24.09", "H100", &t.stack, NULL), 0);
    CU_ASSERT_EQUAL(t.stack.weights_turned, 1);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("nemo-24.12", "H100", &t.stack, NULL), 0);
    CU_ASSERT_EQUAL(t.stack.weights_turned, 0);
}
