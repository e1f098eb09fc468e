/* SPDX-License-Identifier: Apache-2.0 */
/* --deterministic-mode: rings, the slower backward of attention, fresh memory that is filled. */
#include "base/base.h"
#include "comm/collective.h"
#include "cost/kernel.h"
#include "h100_job.h"

/* A node's switches, trees between nodes and PAT give way to the ring; an all-to-all stays what it is. */
TEST(rings)
{
    const struct ss_group_shape node = {.n = 8, .nodes = 1, .per_node = 8},
                                far = {.n = 64, .nodes = 64, .per_node = 1};
    struct ss_net net;

    ss_net_init(&net, h100);
    net.pat = 1;
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e9, &node)->name, "nvls");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e4, &far)->name, "tree");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 1e4, &far)->name, "pat");
    net.rings = 1;
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e9, &node)->name, "ring");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, 1e4, &far)->name, "ring");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 1e4, &far)->name, "ring");
    CU_ASSERT_STRING_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_TO_ALL, 1e6, &far)->name, "alltoall");
}

/* Backward seconds of a layer whose attention is deterministic, or not. */
static double backward(const char *flags, int deterministic, double share)
{
    struct h100_layer l;

    h100_layer(&l, DENSE, "megatron-2407", flags);
    l.stack.deterministic = deterministic;
    l.stack.flash_deterministic = l.stack.fused_deterministic = share;
    ss_shape_init(&l.c.shape, &l.job, &l.stack, 128512);
    ss_layer_operators(DENSE, &l.c.shape, &l.ops);
    return h100_cost(&l, SS_RECOMPUTE_NONE).input_grad[SS_LABEL_COMPUTE];
}

/* Attention's backward does 2.5 times 2 * 8192 * 8192 * 32 * 128 FLOP at the stack's share of 989.4 TFLOP/s, in 32 heads of 64 tiles of
 * 128 keys on 132 SMs. Any block may take any tile: the longest takes twice the mean, 2 * 132 / 2048 = 264 / 2048 of all work; when it
 * starts, others have a third of that left, so that SMs wait 2/3 of it, less 64 / 264 because a head's longest block comes first.
 * FlashAttention 2 deterministic: 132 / 32 is 5 blocks a head, the first of which has tiles 64, 59, ... 4, 13 of them and 442 squares of a
 * mean of 2080 / 5 = 416; 160 blocks on 132 SMs are two waves. Its five parts of 8192 * 32 * 128 fp32 are zeroed and read, where the
 * other has one. */
TEST(flash)
{
    struct ss_stack stack;
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H100", &stack, NULL), 0);
    double flops = 2.5 * 2 * 8192.0 * 8192 * 32 * 128, all = flops / (stack.flash_bwd * 989.4e12);
    double idle = (2. / 3 - 64. / 264) * 264 / 2048, plain = backward(LLAMA, 0, 0);
    double parts = ss_kernel_elementwise(ss_platform_card(h100), 8 * 4 * 8192.0 * 32 * 128, 1);
    CU_ASSERT_DOUBLE_EQUAL(backward(LLAMA, 1, 0) - plain,
                           all * (264. / 160 * 442 / 416) + parts - all * (1 + idle), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(backward(LLAMA, 1, 0.5) - plain, all * (1 + idle), 1e-9);
    CU_ASSERT_EQUAL(backward(LLAMA, 0, 0.5), plain);
}

/* Random numbers of dropout: those of the causal half of 32 squares of 8192 scores, in both passes. */
TEST(drawn)
{
    for (int fused = 0; fused <= 1; fused++) {
        struct ss_layer_cost with, without;
        struct h100_layer l;
        h100_layer(&l, DENSE, "megatron-2407",
                   fused ? LLAMA "--attention-backend fused" : LLAMA "--attention-backend flash");
        without = h100_cost(&l, SS_RECOMPUTE_NONE);
        l.c.shape.attention_dropout = 0.1;
        with = h100_cost(&l, SS_RECOMPUTE_NONE);
        CU_ASSERT_DOUBLE_EQUAL(with.forward[SS_LABEL_COMPUTE] - without.forward[SS_LABEL_COMPUTE],
                               0.3e-12 * 8192. * 8192 / 2 * 32, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(with.input_grad[SS_LABEL_COMPUTE] - without.input_grad[SS_LABEL_COMPUTE],
                               0.3e-12 * 8192. * 8192 / 2 * 32, 1e-12);
    }
}

/* cuDNN on Hopper writes and reads the gradient of the scores, half of 32 squares of 8192 in 16 bit, and keeps room for the squares;
 * a share is one of Blackwell. */
TEST(fused)
{
    const char *flags = LLAMA "--attention-backend fused";
    struct ss_stack stack;
    struct h100_layer l;
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H100", &stack, NULL), 0);
    double idle = (2. / 3 - 64. / 264) * 264 / 2048, plain = backward(flags, 0, 0);
    double once = 2.5 * 2 * 8192.0 * 8192 * 32 * 128 / (stack.fused_bwd * 989.4e12) * (1 + idle);
    CU_ASSERT_DOUBLE_EQUAL(backward(flags, 1, 0) - plain,
                           ss_kernel_elementwise(ss_platform_card(h100), 2 * 8192.0 * 8192 * 32, 1), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(backward(flags, 1, 0.5) - plain, once, 1e-9);
    h100_layer(&l, DENSE, "megatron-2407", LLAMA "--attention-backend fused --deterministic-mode");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "core attention")->working_bytes, 2 * 8192.0 * 8192 * 32);
}

/* Every tensor that a layer asks PyTorch for is written once more: both norms, the joint layer of 6144 columns, rotated queries and
 * keys and their copies (5120 columns each), attention's output and statistics, the projection, both layers of the MLP; in the backward
 * their gradients, and those of the weights where no GEMM adds them up. */
TEST(fill)
{
    const double t = 2 * 8192.0, h = 4096, weights = 2 * h * (6144 + 4096 + 3 * 14336);
    const double forward = t * (2 * h + 6144 + 2 * 5120 + h + h + 28672 + h) + 4 * 8192.0 * 32;
    const double back = t * (2 * h + h + 5120 + 6144 + h + h + 14336);
    struct h100_layer l;
    const struct ss_op *op;

    h100_layer(&l, DENSE, "megatron-2407", LLAMA);
    CU_ASSERT_PTR_NULL(h100_op(&l.ops, "fresh memory"));
    h100_layer(&l, DENSE, "megatron-2407", LLAMA "--deterministic-mode");
    op = h100_op(&l.ops, "fresh memory");
    CU_ASSERT_PTR_NOT_NULL_FATAL(op);
    CU_ASSERT_EQUAL(op->forward_bytes, forward);
    CU_ASSERT_EQUAL(op->backward_bytes, back);
    CU_ASSERT_EQUAL(op->forward_launches, 10);
    CU_ASSERT_EQUAL(op->backward_launches, 8);
    h100_layer(&l, DENSE, "megatron-2407", LLAMA "--deterministic-mode --no-gradient-accumulation-fusion");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->backward_bytes, back + weights);
    h100_layer(&l, DENSE, "megatron-2407", LLAMA "--deterministic-mode --attention-backend fused");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->backward_bytes, back + 2 * 8192.0 * 8192 * 32);
    /* what a pipeline sends; fp32 logits and the cast of their gradient, an empty gradient of the weight, and the last norm */
    h100_layer(&l, SS_LAYER_RECEIVED, "megatron-2407", LLAMA "--deterministic-mode");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->forward_bytes, t * h);
    h100_layer(&l, SS_LAYER_RETURNED, "megatron-2407", LLAMA "--deterministic-mode");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->backward_bytes, t * h);
    h100_layer(&l, SS_LAYER_LOSS, "megatron-2407", LLAMA "--deterministic-mode");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->forward_bytes, 2 * t * 128512 + t * h);
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->backward_bytes, (t + 2 * h) * 128512 + t * h);
    /* the gathered inputs of two layers and again in the backward, whose gradients are scattered; gathered gradients of the other two */
    h100_layer(&l, DENSE, "megatron-2407", LLAMA "--deterministic-mode --tp 4 --sequence-parallel");
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->forward_launches, 10 + 4);
    CU_ASSERT_EQUAL(h100_op(&l.ops, "fresh memory")->backward_launches, 8 + 6);
}

TEST(refused)
{
    struct ss_job job;
    struct ss_stack stack;
    CU_ASSERT_EQUAL(h100_finish(&job, &stack, "megatron-2407",
                                LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap --deterministic-mode",
                                NULL),
                    SS_ERR_CONFIG);
}

/* On Blackwell cuDNN's deterministic backward knows no dropout, which a note says; on Hopper it does. */
TEST(dropout)
{
    static const struct {
        const char *card, *flags;
        int noted;
    } rows[] = {{"B200", LLAMA "--deterministic-mode --attention-dropout 0.1", 1},
                {"B200", LLAMA "--deterministic-mode --attention-dropout 0", 0},
                {"B200", LLAMA "--attention-dropout 0.1", 0},
                {"H100", LLAMA "--deterministic-mode --attention-backend fused --attention-dropout 0.1", 0}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_notes notes = {0};
        struct ss_asked asked;
        struct ss_stack stack;
        struct ss_job job;
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", rows[i].card, &stack, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(parse(&asked, rows[i].flags, &notes, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_asked_finish(&asked, NULL, &stack, 8, 8, &notes, &job, NULL), 0);
        CU_ASSERT_EQUAL(has_note(&notes, "no deterministic attention with dropout"), rows[i].noted);
        ss_notes_free(&notes);
    }
}

SUITE(deterministic)
{
    return suite_file(argv[0], h100_open, h100_close);
}
