/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a rank against numbers worked out by hand, as each framework holds them. */

#include "base/base.h"
#include "cost/memory.h"
#include "job_helper.h"
#include "model/stack_internal.h"
#include "pairs.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define LLAMA_OF(tokens) "--model llama3.1-8b --seq " tokens " --mbs 1 --gbs 1024 "
#define LLAMA LLAMA_OF("8192")
#define PROP(id, value) "<prop id='" id "' value='" value "'/>"

/* A job of 8 GPUs on a stack of these props. */
struct fixture {
    struct ss_job job;
    struct ss_stack stack;
    struct ss_cost_context c;
};

static int fixture_open(struct fixture *f, const char *props, const char *flags)
{
    struct ss_notes notes = {0};
    struct ss_error err = {0};
    struct ss_asked asked;
    char text[1024];
    int rc;

    memset(f, 0, sizeof *f);
    snprintf(text, sizeof text, "<stack name='x'>%s</stack>", props);
    ss_asked_init(&asked);
    rc = ss_stack_parse(text, strlen(text), "x", NULL, &f->stack, &err);
    if (!rc)
        rc = parse(&asked, flags, &notes, &err);
    if (!rc)
        rc = ss_asked_finish(&asked, NULL, &f->stack, 8, 8, &notes, &f->job, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n", flags, err.message);
    ss_notes_free(&notes);
    f->c.stack = &f->stack;
    f->c.job = &f->job;
    f->c.tp = f->c.cp = f->c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    ss_shape_init(&f->c.shape, &f->job, &f->stack, 128512);
    return rc;
}

static struct ss_optimizer_shards both(double shards)
{
    return (struct ss_optimizer_shards){shards, shards};
}

/* 1e9 parameters, of which 0.9e9 in GEMMs, states divided by 8: bytes in 1e9. */
TEST(static)
{
#define ZERO "--use-distributed-optimizer "
#define DEEPSPEED PROP("ss.optimizer.grad_copy", "1") PROP("ss.zero.bucket_params", "5e8")
    static const struct {
        const char *props, *flags;
        double shards, weights, gradients, optimizer;
    } rows[] = {
        {"", LLAMA "--bf16 " ZERO, 8, 2, 4, 1.5},
        {"", LLAMA "--bf16 --grad-reduce-in-bf16 " ZERO, 8, 2, 2, 1.5},
        {"", LLAMA "--fp16", 1, 2, 2, 12},
        {"", LLAMA, 1, 4, 4, 8},
        /* fp8: two 1-byte copies of the GEMM weights; with fp8 parameters one of them is the parameter. */
        {"", LLAMA "--bf16 --fp8-format hybrid " ZERO, 8, 2 + 1.8, 4, 1.5},
        {"", LLAMA "--bf16 --fp8-format hybrid --fp8-param-gather " ZERO, 8, 0.2 + 1.8, 4, 1.5},
        {PROP("ss.te.weights_turned", "1"), LLAMA "--bf16 --fp8-format hybrid --fp8-param-gather " ZERO, 8,
         0.2 + 0.9, 4, 1.5}, /* which is turned when it is needed */
        {PROP("ss.te.weights_turned", "1"), LLAMA "--bf16 --fp8-format hybrid " ZERO, 8, 2 + 1.8, 4, 1.5},
        {PROP("ss.default.fp8_param_gather", "1") PROP("ss.default.grad_reduce_fp32", "0"),
         LLAMA "--bf16 --fp8-format hybrid " ZERO, 8, 0.2 + 1.8, 2, 1.5},
        {PROP("ss.default.fp8_param_gather", "1") PROP("ss.default.grad_reduce_fp32", "0"),
         LLAMA "--bf16 --accumulate-allreduce-grads-in-fp32 " ZERO, 8, 2, 4, 1.5},
        {PROP("ss.fp8.dynamic", "1") PROP("ss.te.layers", "0"), LLAMA "--bf16 --fp8-format hybrid " ZERO, 8,
         2, 4, 1.5},
        {PROP("ss.fp8.keeps_less", "1"), LLAMA "--bf16 --fp8-format hybrid " ZERO, 8, 2 + 0.9, 4, 1.5},
        {PROP("ss.fp8.keeps_less", "1"), LLAMA "--bf16 " ZERO, 8, 2, 4, 1.5},
        {PROP("ss.default.fp32_params", "1"), LLAMA "--bf16 " ZERO, 8, 4, 4, 1},
        {PROP("ss.default.fp32_params", "1"), LLAMA "--fp16 " ZERO, 8, 2, 2, 1.5},
        {PROP("ss.optimizer.param_remainders", "1"), LLAMA "--bf16 " ZERO, 8, 2, 4, 1.25},
        {PROP("ss.optimizer.param_remainders", "1"), LLAMA "--bf16", 1, 2, 4, 12},
        {PROP("ss.optimizer.param_remainders", "1"), LLAMA "--fp16 " ZERO, 8, 2, 2, 1.5},
        {PROP("ss.optimizer.model_type", "1"), LLAMA "--bf16 " ZERO, 8, 2, 2, 0.5},
        {PROP("ss.optimizer.model_type", "1"), LLAMA, 1, 4, 4, 8},
        {PROP("ss.optimizer.grad_copy", "1"), LLAMA "--fp16", 1, 2, 2, 16},
        /* A bucket of 1e9 bytes; a share, flat in 16 bit and then in 32, or what of it is one tensor of 5e7 in 64;
         * without shares twice in 32 bit. */
        {DEEPSPEED, LLAMA "--fp16 " ZERO, 8, 2, 2, 1.5 + 1 + 0.25 + 0.5},
        {DEEPSPEED, LLAMA "--fp16 " ZERO, 16, 2, 2, 0.75 + 1 + 0.125 + 0.4},
        {DEEPSPEED, LLAMA "--fp16 " ZERO, 100, 2, 2, 0.12 + 1 + 0.02 + 0.08},
        {DEEPSPEED, LLAMA "--fp16", 1, 2, 2, 12 + 1 + 8},
        {DEEPSPEED, LLAMA "--bf16 --grad-reduce-in-bf16 " ZERO, 8, 2, 2, 1.5 + 1 + 4},
    };
    const struct ss_param_count count = {
        .all = 1e9, .gemm = 0.9e9, .layer = 1e8, .tensor = 5e7, .tensors = 9};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        double memory[SS_MEM_COUNT];
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, rows[i].flags), 0);
        ss_memory_static(&f.c, &count, both(rows[i].shards), memory);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_WEIGHTS], 1e9 * rows[i].weights, 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_GRADIENTS], 1e9 * rows[i].gradients, 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER], 1e9 * rows[i].optimizer, 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OTHER], 0, 0);
    }
}

/* 4,096 tokens of 7,168 on each of 8 ranks with 32 experts: for 32,768 tokens 14,336 bytes, 1,024 of probabilities of 256 experts and 224 of
 * scales. On 8 nodes with 4 experts a rank 262,144 tokens of 14,336 + 128 + 224; and for each of 7 nodes 4,096 of 7,168 + 128 + 224 and twice
 * 14,336 + 128. */
TEST(hybridep)
{
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_hybridep(8, 8, 32, 4096, 7168, 1), 32768. * 15584, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_hybridep(64, 8, 4, 4096, 7168, 1),
                           262144. * 14688 + 7 * 4096. * (7520 + 2 * 14464), 0.5);
}

/* A token of 7,168 is 14,336 bytes and 2,056 of its source, experts, weights and scales. 20 SMs are 10 channels: 10 * 8 * 256 tokens of
 * 16,392 inside a node; over 8 nodes 10 * 8 * 288, and 10 * 8 * 140 * 2 of 16 bytes more, and 1 MiB. */
TEST(deepep)
{
    struct fixture f;
    struct ss_param_count count = {.all = 1e9, .gemm = 1e9, .expert = 5e8};
    double memory[SS_MEM_COUNT], without[SS_MEM_COUNT];
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_deepep(8, 7168, 20), 335708160, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_deepep(4, 7168, 20), 335708160 / 2, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_deepep(64, 7168, 20), 377671680 + 367539200 + 1048576, 0.5);
    CU_ASSERT_EQUAL_FATAL(
        fixture_open(&f, "",
                     LLAMA
                     "--bf16 --num-experts 8 --moe-router-topk 2 --ep 8 --moe-token-dispatcher-type flex"),
        0);
    f.c.net.dispatch_sms = 20;
    f.c.shape.ep = 8;
    f.c.shape.etp = 1;
    f.c.shape.dispatcher = f.job.moe.dispatcher;
    ss_memory_static(&f.c, &count, both(8), memory);
    f.c.shape.dispatcher = SS_DISPATCH_ALLTOALL;
    ss_memory_static(&f.c, &count, both(8), without);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OTHER] - without[SS_MEM_OTHER], 80 * 256 * (2 * 4096 + 2056.0), 0.5);
    f.c.shape.dispatcher =
        SS_DISPATCH_ALLGATHER; /* the tokens of all 8 ranks, gathered in a buffer that stays */
    ss_memory_static(&f.c, &count, both(8), memory);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OTHER] - without[SS_MEM_OTHER],
                           8 * f.c.shape.tokens / f.c.shape.sp * 4096 * 2, 0.5);
    count.expert = 0; /* a stage without experts */
    f.c.shape.dispatcher = SS_DISPATCH_DEEPEP;
    ss_memory_static(&f.c, &count, both(8), memory);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OTHER], without[SS_MEM_OTHER], 0.5);
}

/* Moments of 2 bytes each: 4 a parameter less, on the device as on the host, and as much less to read and to write. */
TEST(bf16_moments)
{
    static const struct {
        const char *props, *flags;
        double states;
    } rows[] = {{"", LLAMA "--bf16 " ZERO, 8},
                {"", LLAMA, 4},
                {PROP("ss.optimizer.param_remainders", "1"), LLAMA "--bf16 " ZERO, 6}};
    const struct ss_param_count count = {.all = 1e9, .layer = 1e8, .tensors = 9};
    const struct ss_card card = {.hbm_bandwidth = 1e12, .hbm_efficiency = 1, .pcie_bandwidth = 1e9};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        double memory[SS_MEM_COUNT], seconds;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, rows[i].flags), 0);
        f.c.card = &card;
        f.stack.adam_passes = 1;
        seconds = ss_cost_optimizer(&f.c, 1e9, 0, 1);
        f.job.optimizer.moment_bytes = 4;
        ss_memory_static(&f.c, &count, both(8), memory);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER], 1e9 * rows[i].states / 8, 1);
        CU_ASSERT_DOUBLE_EQUAL(seconds - ss_cost_optimizer(&f.c, 1e9, 0, 1), 1e9 * 8 / 1e12, 1e-12);
    }
}

/* DeepSpeed's fp16 copies of gradients (2) exist in the step alone; bf16 adds up in its own, Megatron-LM keeps
 * them (1) until the next step. */
TEST(step)
{
    const struct ss_param_count count = {
        .all = 1e9, .gemm = 0.9e9, .layer = 1e8, .tensor = 5e7, .tensors = 9};
    static const struct {
        const char *props, *flags;
        double shards, bytes;
    } rows[] = {{PROP("ss.optimizer.grad_copy", "2"), LLAMA "--fp16", 1, 4e9},
                {PROP("ss.optimizer.grad_copy", "2") PROP("ss.zero.bucket_params", "5e8"),
                 LLAMA "--fp16 " ZERO, 8, 0.75e9},
                {PROP("ss.optimizer.grad_copy", "2"), LLAMA "--bf16 --grad-reduce-in-bf16", 1, 0},
                {PROP("ss.optimizer.grad_copy", "1"), LLAMA "--fp16", 1, 0},
                {"", LLAMA "--fp16", 1, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, rows[i].flags), 0);
        CU_ASSERT_DOUBLE_EQUAL(ss_memory_step(&f.c, &count, both(rows[i].shards)), rows[i].bytes, 1);
    }
}

#define HALF "--bf16 --grad-reduce-in-bf16 "
#define AWARE "--use-precision-aware-optimizer "
#define FP8 "--fp8-format hybrid "
/* Megatron core copies its share of 16-bit gradients to fp32; an optimizer that is aware of precision reads 16 bit, but for fp8 that
 * scales by itself. DeepSpeed flattens its share and copies that, 2 and 4 bytes; others make none, or keep them. Of 1e9 parameters 2e8 are of experts, in half as many shards. */
TEST(main_gradients)
{
    const struct ss_param_count count = {.all = 1e9, .expert = 2e8};
    static const struct {
        const char *props, *flags;
        double shards, bytes;
    } rows[] = {{"", LLAMA "--fp16", 1, 4e9},
                {"", LLAMA "--bf16", 1, 0},
                {"", LLAMA HALF ZERO, 8, 0.4e9 + 0.2e9},
                {"", LLAMA HALF AWARE ZERO, 8, 0},
                {"", LLAMA HALF FP8 AWARE ZERO, 8, 0},
                {"", LLAMA HALF FP8 "--fp8-recipe tensorwise " AWARE ZERO, 8, 0.4e9 + 0.2e9},
                {PROP("ss.optimizer.param_remainders", "1"), LLAMA HALF ZERO, 8, 0},
                {PROP("ss.optimizer.grad_copy", "1"), LLAMA "--fp16", 1, 0},
                {PROP("ss.optimizer.model_type", "1"), LLAMA HALF ZERO, 8, 0},
                {PROP("ss.zero.bucket_params", "5e8"), LLAMA HALF ZERO, 8, 0.6e9 + 0.3e9},
                {PROP("ss.zero.bucket_params", "5e8"), LLAMA "--bf16 " ZERO, 8, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        struct ss_optimizer_shards shards = {rows[i].shards, fmax(rows[i].shards / 2, 1)};
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, rows[i].flags), 0);
        CU_ASSERT_DOUBLE_EQUAL(ss_memory_main_gradients(&f.c, &count, shards), rows[i].bytes, 1);
    }
}

/* Full sharding holds two layers gathered, of which one may be the output layer, ZeRO-3 as many parameters as it may, and its bucket twice;
 * PyTorch's holds two layers, and embedding and output layer with their gradients all the time; its fp32 shards are the
 * master copy. */
TEST(gathered)
{
    const struct ss_param_count count = {
        .all = 8e9, .gemm = 7e9, .layer = 2e8, .border = 5e8, .borders = 9e8, .tensor = 5e7, .tensors = 9};
    static const struct {
        const char *props;
        double weights, optimizer, other;
    } rows[] = {{"", 2e9, 12e9, 2 * 7e8 + 4 * 5e8},
                {PROP("ss.zero.live_params", "1e9"), 2e9, 12e9, 2 * 1e9 + 4 * 5e8},
                {PROP("ss.zero.live_params", "9e9"), 2e9, 12e9, 2 * 8e9 + 4 * 5e8},
                {PROP("ss.zero.bucket_params", "5e8"), 2e9, 12e9 + 2 * 2 * 5e8, 2 * 7e8 + 4 * 5e8},
                {PROP("ss.fsdp.pytorch", "1"), 4e9, 8e9, 2 * 4e8 + 2 * 9e8 + 4 * 2e8 + 2 * 9e8}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        double memory[SS_MEM_COUNT];
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, LLAMA "--bf16 --fsdp full"), 0);
        f.c.fsdp.n = 8;
        ss_memory_static(&f.c, &count, both(8), memory);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_WEIGHTS], rows[i].weights, 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_GRADIENTS], 4e9, 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER], rows[i].optimizer, 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OTHER], rows[i].other, 1);
    }
}

/* Bytes a logit at the peak of the loss (8192 tokens, 128512 rows), and with the output layer in pieces. */
TEST(loss)
{
    const double logits = 8192.0 * 128512, hidden = 8192.0 * 4096, weight = 128512.0 * 4096;
    const struct {
        const char *props;
        double kept, peak;
    } rows[] = {
        {"", 6 * logits, 8 * logits},
        {PROP("ss.loss.peak_bytes", "18"), 6 * logits, 18 * logits},
        {PROP("ss.loss.parallel_peak_bytes", "18"), 6 * logits, 8 * logits}, /* tensor 1 */
        {PROP("ss.fused.cross_entropy", "1"), 2 * logits, 4 * logits},
        {PROP("ss.fused.cross_entropy", "2"), 2 * logits,
         2 * (logits + weight + hidden)}, /* of the output layer */
        /* 32 pieces of 256 tokens: the logits of one, and its part of the weight's gradient in 16 bit and in fp32 */
        {PROP("ss.fused.linear_cross_entropy", "1"), 2 * (hidden + weight),
         2 * (hidden + weight) + 2 * logits / 32 + 6 * weight},
        /* an eighth of the tokens at a time, with the logits of the eighth before: the input's gradient in fp32 */
        {PROP("ss.loss.chunks", "8"), 2 * hidden, 6 * hidden + (2 + 8) * logits / 8 + 6 * weight},
        {PROP("ss.loss.chunks", "8") PROP("ss.fused.cross_entropy", "1"), 2 * hidden,
         6 * hidden + (2 + 4) * logits / 8 + 6 * weight},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        struct ss_ops loss;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, LLAMA "--bf16"), 0);
        ss_layer_operators(SS_LAYER_LOSS, &f.c.shape, &loss);
        const struct ss_op *entropy = &loss.op[loss.n - 1];
        CU_ASSERT_DOUBLE_EQUAL(entropy->saved_bytes, rows[i].kept, 1);
        CU_ASSERT_DOUBLE_EQUAL(entropy->saved_bytes + entropy->working_bytes, rows[i].peak, 1);
    }
}

/* PyTorch's loss over a vocabulary that tensor ranks share is not compiled with the rest; its kernels go over the logits of all chunks. */
TEST(loss_shared)
{
    const double logits = 8192.0 * 128512 / 2, hidden = 8192.0 * 4096, weight = 128512.0 * 4096 / 2;
    struct fixture f;
    struct ss_ops loss;

    CU_ASSERT_EQUAL_FATAL(
        fixture_open(&f, PROP("ss.fused.cross_entropy", "1") PROP("ss.loss.parallel_peak_bytes", "18"),
                     LLAMA "--bf16 --tp 2"),
        0);
    ss_layer_operators(SS_LAYER_LOSS, &f.c.shape, &loss);
    CU_ASSERT_DOUBLE_EQUAL(loss.op[loss.n - 1].saved_bytes, 6 * logits, 1);
    CU_ASSERT_DOUBLE_EQUAL(loss.op[loss.n - 1].working_bytes, 12 * logits, 1);
    f.stack.loss_chunks = 8;
    ss_layer_operators(SS_LAYER_LOSS, &f.c.shape, &loss);
    const struct ss_op *entropy = &loss.op[loss.n - 1];
    CU_ASSERT_DOUBLE_EQUAL(entropy->working_bytes, (2 + 18) * logits / 8 + 4 * hidden + 6 * weight, 1);
    CU_ASSERT_DOUBLE_EQUAL(entropy->forward_bytes, (38 + 14) * logits + 16 * hidden + (8 * 10 - 4) * weight,
                           1);
    CU_ASSERT_EQUAL(entropy->backward_bytes, 0);
    CU_ASSERT_EQUAL(loss.op[loss.n - 2].gemm.pieces, 8);
}

/* Transformer Engine's cross entropy reads 16-bit logits twice and writes them once, backward once and once; over 4 tensor ranks, each
 * with a quarter of the rows, one gather of 12 bytes of each rank's 8,192 tokens takes the place of three sums. */
TEST(loss_traffic)
{
    const double logits = 8192.0 * 128512, nvlink = 1e9;
    struct ss_layer_cost cost[2];

    for (int i = 0; i < 2; i++) {
        struct fixture f;
        struct ss_card card = {.hbm_bandwidth = 1, .hbm_efficiency = 1, .sm_count = 1};
        struct ss_ops loss;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, PROP("ss.fused.cross_entropy", "1"), LLAMA "--bf16 --tp 4"),
                              0);
        if (i)
            CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-bridge-25.09", "H100-80GB", &f.stack, NULL), 0);
        f.c.card = &card;
        f.c.tp = (struct ss_group_shape){.n = 4, .nodes = 1, .per_node = 4};
        f.c.net = (struct ss_net){.fabric_busbw = nvlink, .rings = 1};
        ss_layer_operators(SS_LAYER_LOSS, &f.c.shape, &loss);
        const struct ss_op *entropy = &loss.op[loss.n - 1];
        if (i) {
            CU_ASSERT_DOUBLE_EQUAL(entropy->forward_bytes, 6 * logits / 4, 1);
            CU_ASSERT_DOUBLE_EQUAL(entropy->backward_bytes, 4 * logits / 4, 1);
        }
        memset(&cost[i], 0, sizeof cost[i]);
        for (int k = 0; k < loss.nborders; k++)
            ss_cost_bare(&f.c, loss.border[k].phase, loss.border[k].coll, loss.border[k].bytes, &cost[i]);
    }
    /* A sum moves 2 * 3/4 of its buffer, the gather 3/4 of what all ranks have. */
    CU_ASSERT_DOUBLE_EQUAL(cost[0].forward[SS_LABEL_TP], 3 * 1.5 * 4 * 8192 / nvlink, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(cost[1].forward[SS_LABEL_TP], 0.75 * 4 * 12 * 8192 / nvlink, 1e-12);
}

/* Liger's output layer and loss: of T tokens the 32nd part (128,512 rows of 4,096), rounded up to a power of two, at a time. Its kernel moves
 * three times the logits, a copy puts the input's gradient where it belongs, and each piece adds to the weight's gradient: in bf16 a part
 * of 2 bytes is read and written in 4, which are read with the sum's 2, which are written. The backward multiplies both gradients. The
 * products are those of pieces: on a card of one SM, 1 FLOP/s and tiles of one element, with a prologue of 100 steps a tile and a second
 * a kernel, the weight's part has that prologue once a piece. */
TEST(linear_loss)
{
    const double rows = 128512, hidden = 4096, weight = rows * hidden;
    const struct ss_card card = {.peak_bf16 = 1,
                                 .peak_fp32 = 1,
                                 .gemm_eff_bf16 = 1,
                                 .gemm_eff_fp32 = 1,
                                 .sm_count = 1,
                                 .gemm_tile_m = 1,
                                 .gemm_tile_n = 1,
                                 .gemm_small_tile = 1,
                                 .gemm_k_prologue = 100,
                                 .hbm_bandwidth = 1e30,
                                 .hbm_efficiency = 1,
                                 .kernel_latency = 1};
    const struct {
        const char *flags;
        double tokens, pieces, element, each;
    } cases[] = {
        {LLAMA "--bf16", 8192, 32, 2, 6 + 8},
        {LLAMA_OF("5000") "--bf16", 5000, 20, 2, 6 + 8},
        {LLAMA_OF("5000") "--precision fp32", 5000, 20, 4, 12},
        {LLAMA_OF("16") "--bf16", 16, 16, 2, 6 + 8},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct ss_ops loss;
        const double e = cases[i].element, t = cases[i].tokens, pieces = cases[i].pieces;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, PROP("ss.fused.linear_cross_entropy", "1"), cases[i].flags),
                              0);
        ss_layer_operators(SS_LAYER_LOSS, &f.c.shape, &loss);
        const struct ss_op *entropy = &loss.op[loss.n - 1], *output = &loss.op[loss.n - 2];
        CU_ASSERT_DOUBLE_EQUAL(entropy->forward_bytes,
                               3 * e * t * rows + 2 * e * t * hidden + pieces * cases[i].each * weight, 1);
        CU_ASSERT_DOUBLE_EQUAL(entropy->backward_bytes, 2 * e * (t * hidden + weight), 1);
        CU_ASSERT_EQUAL(entropy->forward_kernels, 5 * (int)pieces);
        struct ss_ops one = {.n = 1, .op = {*output}};
        struct ss_layer_cost cost;
        f.c.card = &card;
        ss_cost_layer(&f.c, &one, 0, &cost);
        CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_COMPUTE], 2 * t * rows * (hidden + 100) + pieces, 0.5);
        CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_COMPUTE], 2 * t * hidden * (rows + 100) + pieces,
                               0.5);
        CU_ASSERT_DOUBLE_EQUAL(cost.weight_grad[SS_LABEL_COMPUTE], 2 * weight * (t + 100 * pieces) + pieces,
                               0.5);
    }
}

/* An output layer that adds up its weight's gradient in place is at its peak with an empty one, beside the gradient of 2,048 tokens' logits:
 * the gradient of its input, or under sequence parallelism what it gathers, and input and gradient before the scatter. */
TEST(output_gradient)
{
    const double logits = 2048.0 * 128512, hidden = 2048.0 * 4096, weight = 128512.0 * 4096;
#define FUSED PROP("ss.fused.cross_entropy", "1") PROP("ss.fused.wgrad_accumulation", "1")
    const struct {
        const char *props, *flags;
        double peak;
    } rows[] = {
        {PROP("ss.fused.cross_entropy", "1") PROP("ss.fused.wgrad_accumulation", "0"), "", 4 * logits},
        {FUSED, "", 2 * (logits + weight + hidden)},
        {FUSED, "--tp 2 --sequence-parallel", logits + weight + 6 * hidden},
        {PROP("ss.fused.wgrad_accumulation", "1"), "--seq 8192", 4 * 8 * logits},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        struct ss_ops loss;
        char flags[256];
        snprintf(flags, sizeof flags, "--model llama3.1-8b --mbs 1 --gbs 1024 --bf16 %s %s",
                 strstr(rows[i].flags, "--seq ") ? "" : "--seq 2048", rows[i].flags);
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, flags), 0);
        ss_layer_operators(SS_LAYER_LOSS, &f.c.shape, &loss);
        const struct ss_op *entropy = &loss.op[loss.n - 1];
        CU_ASSERT_DOUBLE_EQUAL(entropy->saved_bytes + entropy->working_bytes, rows[i].peak, 1);
    }
}

/* Static bytes beside tensors of a rank of Llama-3.1-8B without tensor parallelism. */
static double other_bytes(const char *set)
{
    const char *words[] = {
        "--platform", "h100",        "--nodes", "1",     "--stack", "megatron-bridge-25.09",
        "--model",    "llama3.1-8b", "--bf16",  "--mbs", "1",       "--gbs",
        "8",          "--seq",       "2048",    "--set", set};
    struct ss_scenario *scenario = NULL;
    struct ss_error err = {0};
    struct ss_run run;

    CU_ASSERT_EQUAL_FATAL(
        make_scenario((int)(sizeof words / sizeof *words), (char *const *)words, &scenario, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(scenario, NULL, &run, &err), 0);
    double bytes = run.plan->classes[0].memory[SS_MEM_OTHER];
    ss_run_free(&run);
    ss_scenario_free(scenario);
    return bytes;
}

/* One 16-bit gradient of each shape of weights: QKV, projection, FC1 and FC2. */
TEST(dummy_gradients)
{
    const double rows = 6144 + 4096 + 28672 + 14336;

    CU_ASSERT_DOUBLE_EQUAL(other_bytes("ss.memory.dummy_gradients=1") -
                               other_bytes("ss.memory.dummy_gradients=0"),
                           2 * rows * 4096, 1);
}

/* The largest working set of a layer of tensor 1: gradients of 2 x 14336 and 14336 columns less FC2's input of 14336 (in
 * fp8 half of that), or only the latter where the backward works in place. */
TEST(working)
{
    static const struct {
        const char *props, *flags;
        double columns;
    } rows[] = {
        {"", "--bf16", 2 * 14336},
        {"", "--bf16 --fp8-format hybrid", 2.5 * 14336},
        {PROP("ss.fused.inplace_activation", "1"), "--bf16", 0},
        {PROP("ss.fused.inplace_activation", "1"), "--bf16 --fp8-format hybrid", 0.5 * 14336},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_ops layer;
        struct fixture f;
        char flags[256];
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i].flags);
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, rows[i].props, flags), 0);
        ss_layer_operators(DENSE, &f.c.shape, &layer);
        CU_ASSERT_DOUBLE_EQUAL(layer.sum.working, 8192.0 * 2 * rows[i].columns, 1);
    }
}

/* Context parallelism by all-gather: K, V and their gradients of the whole sequence, of 8 groups. */
TEST(gathered_keys)
{
    struct ss_ops layer;
    struct fixture f;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", LLAMA "--bf16 --cp 8 --cp-comm-type all_gather"), 0);
    ss_layer_operators(DENSE, &f.c.shape, &layer);
    CU_ASSERT_DOUBLE_EQUAL(layer.sum.working, 4 * 8192.0 * 8 * 128 * 2, 1);
}

/* The bytes of a chunk with this place. */
static void chunk_memory(struct fixture *f, struct ss_chunk_cost *chunk)
{
    struct ss_layer_set *set = calloc(1, sizeof *set);
    struct ss_card card = {.sm_count = 132, .peak_bf16 = 1e15, .hbm_bandwidth = 1e12};

    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    f->c.card = &card;
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_init(set, &f->c, 1, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_chunk(set, 0, chunk, NULL), 0);
    ss_memory_chunk(&f->c, set, 0, chunk);
    ss_layer_set_free(set);
}

/* By block the first layers are recomputed when those behind them, which were kept, are gone: with two of eight there is
 * nothing more than at the start of the backward, with all of them a layer but for its input, 64 MiB, which was kept. */
TEST(block)
{
    struct ss_chunk_cost chunk[3] = {{.nlayers = 8}, {.nlayers = 8}, {.nlayers = 8}};
    static const int redone[3] = {0, 2, 8};
    struct ss_ops layer;
    struct fixture f;

    for (int i = 0; i < 3; i++) {
        char flags[256];
        snprintf(flags, sizeof flags, LLAMA "--bf16 %s --recompute-num-layers %d",
                 redone[i] ? "--recompute-granularity full --recompute-method block" : "",
                 redone[i] ? redone[i] : 1);
        if (!redone[i])
            snprintf(flags, sizeof flags, LLAMA "--bf16");
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", flags), 0);
        ss_layer_operators(DENSE, &f.c.shape, &layer);
        chunk_memory(&f, &chunk[i]);
    }
    CU_ASSERT_DOUBLE_EQUAL(chunk[0].forward_extra_bytes, layer.sum.working, 1);
    CU_ASSERT_DOUBLE_EQUAL(chunk[1].backward_extra_bytes, chunk[0].backward_extra_bytes, 1);
    CU_ASSERT_DOUBLE_EQUAL(chunk[2].backward_extra_bytes - chunk[0].backward_extra_bytes,
                           ss_ops_saved_bytes(&layer, 0) - 8192. * 4096 * 2, 1);
}

/* A layer alone that is recomputed is alive again beside nothing: its input is what was kept of it, so it has what it would have
 * without. */
TEST(one_layer_again)
{
    double most[2];
    for (int redone = 0; redone < 2; redone++) {
        struct ss_chunk_cost chunk = {.nlayers = 1};
        struct fixture f;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", redone ? LLAMA "--bf16 --recompute full" : LLAMA "--bf16"),
                              0);
        chunk_memory(&f, &chunk);
        most[redone] = chunk.activation_bytes + chunk.backward_extra_bytes;
    }
    CU_ASSERT_DOUBLE_EQUAL(most[0], most[1], 1);
}

/* What the inputs of the two norms of a layer leave: 2 x 2 bytes, or gathered over tensor 8 once more each. */
TEST(gathered_inputs)
{
    struct ss_ops shard, whole;
    struct fixture f;
    double x = 8192.0 * 4096 * 2;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", LLAMA "--bf16 --tp 8 --sequence-parallel"), 0);
    ss_layer_operators(DENSE, &f.c.shape, &shard);
    f.stack.saves_gathered = 1;
    ss_layer_operators(DENSE, &f.c.shape, &whole);
    CU_ASSERT_DOUBLE_EQUAL(ss_ops_saved_bytes(&whole, 0) - ss_ops_saved_bytes(&shard, 0), 2 * x * 7 / 8, 1);
}

/* A stage that keeps its output holds a border more for each microbatch, or the share of it that it sends; the last one
 * has none to keep. */
TEST(kept_outputs)
{
    for (int i = 0; i < 4; i++) {
        int last = i % 2, share = i / 2;
        struct ss_chunk_cost freed = {.nlayers = 4, .has_loss = last}, kept = freed;
        struct fixture f;
        CU_ASSERT_EQUAL_FATAL(
            fixture_open(&f, PROP("ss.pp.scatter_gather", "1"), LLAMA "--bf16 --pp 4 --tp 2"), 0);
        chunk_memory(&f, &freed);
        f.stack.keep_outputs = share + 1;
        chunk_memory(&f, &kept);
        CU_ASSERT_DOUBLE_EQUAL(kept.activation_bytes - freed.activation_bytes,
                               last ? 0 : 8192.0 * 4096 * 2 / (share + 1), 1);
    }
}

/* Scattered gradients leave a block of their size; buffers of mixed precision and of ZeRO do not. */
TEST(flat_gradients)
{
    static const struct {
        const char *flags;
        double bytes;
    } rows[] = {{"--fp16", 2}, {"", 4}, {"--bf16", 0}, {"--fp16 --use-distributed-optimizer", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_plan_class class = {.parameters = 1e9};
        struct ss_plan plan = {.classes = &class, .nclasses = 1, .world_size = 8, .dp = 8};
        struct fixture f;
        char flags[256];
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i].flags);
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, PROP("ss.memory.context", "1GB"), flags), 0);
        plan.job = &f.job;
        plan.stack = &f.stack;
        double without = ss_plan_overhead_bytes(&plan, 0);
        f.stack.flat_gradients = 1;
        CU_ASSERT_DOUBLE_EQUAL(ss_plan_overhead_bytes(&plan, 0) - without, 1e9 * rows[i].bytes, 1);
    }
}

/* Uniform groups keep their first input, the last one too where it is shorter: 32 layers are 7 groups of 5 and 4 of 8. 8192 tokens
 * of 4096 in 16 bit are 64 MiB. */
TEST(groups_that_do_not_divide)
{
    static const int layers[] = {1, 5, 8, 31, 32}, groups[] = {32, 7, 4, 2, 1};

    for (int i = 0; i < 5; i++) {
        struct ss_chunk_cost chunk = {.nlayers = 32};
        struct fixture f;
        char flags[256];
        snprintf(flags, sizeof flags,
                 LLAMA
                 "--bf16 --recompute-granularity full --recompute-method uniform --recompute-num-layers %d",
                 layers[i]);
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", flags), 0);
        chunk_memory(&f, &chunk);
        CU_ASSERT_DOUBLE_EQUAL(chunk.activation_bytes, groups[i] * 64 * 1048576., 1);
    }
}

/* A tensor rank of four keeps its part of a layer's input, 8192 tokens of 4096 numbers in 16 bit. Sequence parallelism has cut the input
 * before. */
TEST(kept_in_parts)
{
    static const struct {
        const char *flags;
        double mib; /* of a layer */
    } rows[] = {{"--tp 4", 64},
                {"--tp 4 --distribute-saved-activations", 16},
                {"--tp 2 --distribute-saved-activations", 32},
                {"--tp 4 --sequence-parallel", 16},
                {"--tp 4 --sequence-parallel --distribute-saved-activations", 16}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_chunk_cost chunk = {.nlayers = 32};
        struct fixture f;
        char flags[256];
        snprintf(flags, sizeof flags, LLAMA "--bf16 --recompute full %s", rows[i].flags);
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", flags), 0);
        f.c.tp.n = f.job.tp;
        chunk_memory(&f, &chunk);
        CU_ASSERT_DOUBLE_EQUAL(chunk.activation_bytes, 32 * rows[i].mib * 1048576., 1);
    }
}

/* Bytes of a parameter, its gradient and its optimizer states by their types: a master copy and two moments of Adam. */
TEST(types)
{
#define OWN "--use-distributed-optimizer --use-precision-aware-optimizer "
#define SHARDED                                                                                              \
    "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "                              \
    "--no-gradient-accumulation-fusion "
    static const struct {
        const char *flags;
        double parameter, gradient, states;
    } rows[] = {
        {"--bf16", 2, 4, 4 + 8},
        {"--bf16 " OWN "--exp-avg-dtype fp8 --exp-avg-sq-dtype bf16", 2, 4, 4 + 1 + 2},
        {"--bf16 " OWN "--exp-avg-dtype fp16 --exp-avg-sq-dtype fp8", 2, 4, 4 + 2 + 1},
        {"--bf16 " OWN "--main-params-dtype fp16", 2, 4, 2 + 8},
        {"--fp16 " OWN "--main-params-dtype fp16 --exp-avg-dtype bf16", 2, 2, 2 + 2 + 4},
        {"--bf16 " SHARDED, 2, 4, 4 + 8},
        {"--bf16 " SHARDED "--megatron-fsdp-main-params-dtype auto", 2, 4, 8},
        {"--bf16 " SHARDED "--megatron-fsdp-main-params-dtype bf16", 2, 4, 8},
        {"--bf16 " SHARDED "--megatron-fsdp-main-params-dtype fp16", 2, 4, 2 + 8},
        {"--bf16 " SHARDED "--megatron-fsdp-main-grads-dtype bf16", 2, 4, 4 + 8},
        {"--bf16 --grad-reduce-in-bf16 " SHARDED "--megatron-fsdp-main-grads-dtype bf16", 2, 2, 4 + 8},
        {"--bf16 --grad-reduce-in-bf16 " SHARDED
         "--megatron-fsdp-main-grads-dtype bf16 --megatron-fsdp-grad-comm-dtype fp32",
         2, 4, 4 + 8},
        {"--precision fp32", 4, 4, 8},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct fixture f;
        char flags[512];
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i].flags);
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", flags), 0);
        const struct ss_parameter_bytes bytes = ss_parameter_bytes(&f.job, &f.stack);
        if (bytes.weight != rows[i].parameter || bytes.grad != rows[i].gradient ||
            bytes.states != rows[i].states)
            fprintf(stderr, "%s: %g %g %g\n", rows[i].flags, bytes.weight, bytes.grad, bytes.states);
        CU_ASSERT_EQUAL(bytes.weight, rows[i].parameter);
        CU_ASSERT_EQUAL(bytes.grad, rows[i].gradient);
        CU_ASSERT_EQUAL(bytes.states, rows[i].states);
    }
    /* all in the type of the model, of which moments of a byte are less */
    for (int small = 0; small < 2; small++) {
        struct fixture f;
        CU_ASSERT_EQUAL_FATAL(fixture_open(&f, PROP("ss.optimizer.model_type", "1"), LLAMA "--bf16"), 0);
        f.job.optimizer.moment_bytes = small ? 2 : 8;
        CU_ASSERT_EQUAL(ss_parameter_bytes(&f.job, &f.stack).states, small ? 2 : 4);
    }
}

/* What weight gradients that are put off keep: inputs and gradients of 4096 and 6144, 4096 and 4096, 4096 and 28672, 14336 and 4096
 * numbers a token, 8192 tokens in 16 bit. */
TEST(put_off)
{
    struct fixture f;
    struct ss_ops layer;
    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", LLAMA "--bf16"), 0);
    ss_layer_operators(DENSE, &f.c.shape, &layer);
    CU_ASSERT_EQUAL(ss_ops_weight_grad_bytes(&layer, &f.c.shape), 69632 * 8192. * 2);
}

/* Parameters of a chunk of Llama-3.1-8B: the largest tensor of a layer is both halves of the MLP, of a chunk with the embedding that one.
 * Sharded ones are a tensor a layer, and one for what is beside the layers. */
TEST(parameters)
{
    for (int first = 0; first <= 1; first++)
        for (int shards = 1; shards <= 8; shards *= 8) {
            struct ss_layer_set *set = calloc(1, sizeof *set);
            struct ss_chunk_cost chunk = {.nlayers = 8, .has_embedding = first};
            struct ss_card card = {.sm_count = 132, .peak_bf16 = 1e15, .hbm_bandwidth = 1e12};
            struct fixture f;
            CU_ASSERT_PTR_NOT_NULL_FATAL(set);
            CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "", LLAMA "--bf16 --pp 4"), 0);
            f.c.card = &card;
            f.c.fsdp.n = shards;
            CU_ASSERT_EQUAL_FATAL(ss_layer_set_init(set, &f.c, 1, 0, NULL), 0);
            CU_ASSERT_EQUAL_FATAL(ss_layer_set_chunk(set, 0, &chunk, NULL), 0);
            const struct ss_param_count p = ss_layer_set_params(set, &f.c, 0, 0);
            CU_ASSERT_EQUAL(p.tensor, first ? 128512 * 4096. : 2 * 14336 * 4096.);
            CU_ASSERT_EQUAL(p.tensors, shards > 1 ? 8 + first : 8 * 6 + first);
            CU_ASSERT_EQUAL(p.all, 8 * 218112000. + first * 128512 * 4096.);
            ss_layer_set_free(set);
        }
}
