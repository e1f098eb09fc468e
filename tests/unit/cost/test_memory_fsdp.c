/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's FSDP of single parameters: what is gathered, buffers of streams, gradients on their way, and the room that a forward leaves
 * in holes, against numbers worked out by hand. Llama-3.1 8B of 8,192 tokens: hidden 4096, FFN 14336, 1024 keys, 128,512 rows. */
#include "cost/memory.h"
#include "h100_job.h"

#define T 8192.0
#define H 4096.0
#define F 14336.0
#define KV 1024.0
#define V 128512.0
#define LAYER (2 * H * H + 2 * H * KV + 3 * H * F + 2 * H)
#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9 * (b))

static void open_layer(struct h100_layer *f, int kind, const char *stack, const char *flags)
{
    h100_layer(f, kind, stack, flags);
    f->c.fsdp.n = 8;
}

/* Until July 2025 embedding and output layer stay gathered as one group, and then the output layer: beside a layer, and the largest of the
 * gathers' buffers. A layer in fp8 has 1 byte where it is gathered so. Where parameters stay gathered there is the buffer alone. */
TEST(gathered)
{
    const struct ss_param_count count = {
        .all = 8e9, .layer = 2e8, .layer_gemm = 1.8e8, .border = 5e8, .borders = 9e8, .loss = 4e8};
    static const struct {
        const char *stack, *flags;
        double bytes, pool;
    } rows[] = {
        {"torchtitan-2024", "--fsdp full", 2 * (9e8 + 2e8) + 2 * 9e8, 2 * 9e8},
        {"torchtitan-2025", "--fsdp full", 2 * (4e8 + 2e8) + 2 * 5e8, 2 * 5e8},
        {"torchtitan-2025", "--fsdp grad", 2 * 5e8, 2 * 5e8},
        {"torchtitan-2025", "--fsdp full --fp8-format hybrid --fp8-param-gather", 2 * 4e8 + 2.2e8 + 2 * 5e8,
         2 * 5e8},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char flags[200];
        struct h100_layer f;
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i].flags);
        open_layer(&f, DENSE, rows[i].stack, flags);
        CU_ASSERT(ss_memory_per_parameter(&f.c));
        NEAR(ss_memory_gathered(&f.c, &count), rows[i].bytes);
        NEAR(ss_memory_pooled(&f.c, &count, 1e9, 1), rows[i].pool + 1e9);
        NEAR(ss_memory_pooled(&f.c, &count, 1e9, 2), rows[i].pool); /* gradients of the first are live */
    }
    struct h100_layer f;
    open_layer(&f, DENSE, "llm-foundry-2023", LLAMA "--fsdp full");
    CU_ASSERT_FALSE(ss_memory_per_parameter(&f.c));
    CU_ASSERT_EQUAL(ss_memory_pooled(&f.c, &count, 1e9, 1), 0);
}

/* At the scatter of the output layer's gradients, 6 bytes each with those in 16 bit, the gradient of the logits is there too, in the room of
 * the logits where the loss is compiled. In one group with the embedding they wait for its. */
TEST(output_gradients)
{
    struct h100_layer f;

    open_layer(&f, SS_LAYER_LOSS, "torchtitan-2025", LLAMA "--fsdp full");
    NEAR(ss_memory_output_gradients(&f.c, &f.ops), 6 * (V * H + H));
    f.stack.loss_chunks = 8;
    CU_ASSERT_EQUAL(ss_memory_output_gradients(&f.c, &f.ops), 0);
    open_layer(&f, SS_LAYER_LOSS, "torchtitan-2024", LLAMA "--fsdp full");
    CU_ASSERT_EQUAL(ss_memory_output_gradients(&f.c, &f.ops), 0);
}

/* What the forward of a layer gives back: what it does not keep, or operands and product of SwiGLU. */
TEST(passing)
{
    struct h100_layer f;

    open_layer(&f, DENSE, "torchtitan-2024", LLAMA "--fsdp full");
    CU_ASSERT_EQUAL(ss_memory_passing(&f.ops, 5), 5);
    NEAR(ss_memory_passing(&f.ops, 0), 2 * 3 * F * T);
}

/* One layer between embedding and output layer, by its place in a chunk of its own. Its loss holds three tensors in fp32 and a block of 16
 * bit, of which 6 bytes a logit are a class of their own, beside what the layer did not keep. A layer's parameters have gradients of 2 bytes
 * and their sum of 4, and the output layer's wait in 2 where they go with the embedding's. */
TEST(chunk)
{
    static const char flags[] = "--model llama3.1-8b --num-layers 1 --seq 8192 --mbs 1 --gbs 8 --bf16 --fsdp "
                                "full --recompute op-selective";
    double kept = T * (2 * (3 * H + KV + F) + 4 * 32), all = T * (2 * (8 * H + 3 * F) + 4 * 32 + 2 * 4);
    struct ss_chunk_cost chunk = {.nlayers = 1, .has_embedding = 1, .has_loss = 1};
    struct ss_layer_set *set = calloc(1, sizeof *set);
    struct h100_layer f;

    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    open_layer(&f, DENSE, "torchtitan-2024", flags);
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_init(set, &f.c, 1, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_chunk(set, 0, &chunk, NULL), 0);
    NEAR(ss_memory_layer_gradients(&f.c, set, 0), 6 * LAYER + 2 * (V * H + H));
    ss_memory_chunk(&f.c, set, 0, &chunk);
    NEAR(chunk.backward_extra_bytes, 8 * T * V + all - kept);
    NEAR(chunk.logits_bytes, 6 * T * V);
    f.stack.fsdp_pytorch = 3;
    NEAR(ss_memory_layer_gradients(&f.c, set, 0), 6 * LAYER);
    ss_layer_set_free(set);
}

SUITE(memory_fsdp)
{
    return suite_file(argv[0], h100_open, h100_close);
}
