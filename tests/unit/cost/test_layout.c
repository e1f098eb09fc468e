/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the joint QKV and attention, and what joins gradients, by hand. */
#include "h100_job.h"

#define T 2048.0

/* Elements that are copied, each read and written in 2 bytes. Llama-3.1 8B has 32 heads of 128 that share 8 of keys, Llama-2 7B 32 of
 * each, GPT-3 96 of each without rotary embedding. PyTorch of 2025 (Megatron-Bridge 25.09) joins gradients in wide loads. */
TEST(copies)
{
    static const struct {
        const char *model, *stack;
        double forward, backward; /* elements a token */
        int wide;
    } rows[] = {{"llama3.1-8b", "megatron-2407", (32 + 8) * 128, (32 + 2 * 8) * 128, 0},
                {"llama2-7b", "megatron-2407", 32 * 128, 3 * 32 * 128, 0},
                {"gpt3-175b", "megatron-2407", 0, 0, 0},
                {"llama3.1-8b", "megatron-bridge-25.09", (32 + 8) * 128, (32 + 2 * 8) * 128, 1},
                {"llama3.1-8b", "torchtitan-2024", -1, -1, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct h100_layer l;
        char flags[128];
        snprintf(flags, sizeof flags, "--model %s --seq 2048 --mbs 1 --gbs 8 --bf16", rows[i].model);
        h100_layer(&l, DENSE, rows[i].stack, flags);
        const struct ss_op *op = h100_op(&l.ops, "layout");
        CU_ASSERT_PTR_NOT_NULL_FATAL(op);
        if (rows[i].forward <
            0) /* keys and values to all heads: 2 e T (g + a) d each way, by kernels of their own */
            CU_ASSERT(op->forward_bytes == 2 * 2 * T * 40 * 128 && op->forward_strided == 0);
        if (rows[i].forward < 0)
            continue;
        CU_ASSERT_EQUAL(op->forward_bytes, 4 * T * rows[i].forward);
        CU_ASSERT_EQUAL(op->backward_bytes, 4 * T * rows[i].backward);
        CU_ASSERT_EQUAL(op->forward_strided, T * rows[i].forward);
        CU_ASSERT_EQUAL(op->backward_strided, rows[i].wide ? 0 : T * rows[i].backward);
    }
}

/* Backward of SwiGLU: gradient, both halves of FC1's output in, both gradients out: 5 f in 2 bytes. Without Transformer Engine they
 * are joined: 4 f more, and a kernel. */
TEST(halves)
{
    static const char *const engine[] = {"transformer_engine", "local"};
    for (int local = 0; local < 2; local++) {
        struct h100_layer l;
        char flags[160];
        snprintf(flags, sizeof flags,
                 "--model llama3.1-8b --seq 2048 --mbs 1 --gbs 8 --bf16 --transformer-impl %s",
                 engine[local]);
        h100_layer(&l, DENSE, "megatron-2407", flags);
        const struct ss_op *op = h100_op(&l.ops, "activation");
        CU_ASSERT_PTR_NOT_NULL_FATAL(op);
        CU_ASSERT_EQUAL(op->forward_bytes, 2 * T * 3 * 14336);
        CU_ASSERT_EQUAL(op->backward_bytes, 2 * T * (5 + 4 * local) * 14336);
        CU_ASSERT_EQUAL(op->backward_kernels, 1 + local);
    }
}

SUITE(layout)
{
    return suite_file(argv[0], h100_open, h100_close);
}
