/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan's layers: what recompute by operator keeps and repeats, where recompute of whole layers stops, and the copies of
 * DTensor, against numbers worked out by hand. */
#include "cost/kernel.h"
#include "cost/memory.h"
#include "h100_job.h"

#define T 8192.0
#define H 4096.0
#define F 14336.0
#define KV 1024.0
#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9 * (b))

static struct ss_layer_cost cost_of(const struct h100_layer *l, int recompute)
{
    return h100_cost(l, recompute);
}

static double gemm(const struct h100_layer *f, double n, double k)
{
    return ss_kernel_gemm(f->c.card, SS_BF16, T, n, k, 0, f->c.card->sm_count, 1);
}

/* Linear layers in order are q, k, v, projection, fc1, fc3, fc2: k, projection and fc3 are every second one. */
TEST(kept)
{
    static const struct {
        const char *name;
        int again;
    } rows[] = {{"input norm", 1},     {"q", 0},          {"k", 1},        {"v", 0},   {"rope", 1},
                {"core attention", 0}, {"projection", 1}, {"mlp norm", 1}, {"fc1", 0}, {"fc3", 1},
                {"activation", 1},     {"fc2", 0}};
    unsigned bit = SS_MODULE_BIT(SS_MODULE_OPERATORS);
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--recompute op-selective");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ss_op *op = h100_op(&f.ops, rows[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(op);
        CU_ASSERT_EQUAL(!!(op->modules & bit), rows[i].again);
    }
    /* compiled: the branch's gradient is that of the stream, which the norm's kernel reads and adds */
    NEAR(h100_op(&f.ops, "residual")->backward_bytes, 2 * T * H);
    /* input, q, attention's output, v and fc1 in 2 bytes, statistics of 32 heads in 4 */
    NEAR(ss_ops_saved_bytes(&f.ops, bit), T * (2 * (3 * H + KV + F) + 4 * 32));
    /* without: 4 norms' tensors and statistics, q, repeated k and v, output, both halves of the MLP and its product */
    NEAR(ss_ops_saved_bytes(&f.ops, 0), T * (2 * (4 * H + 4 * H + 3 * F) + 4 * 32 + 2 * 4));
}

/* A layer whose tokens go to the experts evenly, in a group of `ep` ranks of one node. */
static void mixture(struct h100_layer *f, int kind, const char *flags)
{
    struct ss_token_spread spread;

    h100_layer(f, kind, "torchtitan-2025", flags);
    f->c.ep = f->c.etp_ep = (struct ss_group_shape){.n = f->job.ep, .nodes = 1, .per_node = f->job.ep};
    f->c.etp = f->c.edp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&f->job, &f->c.ep, &spread, NULL, NULL), 0);
    ss_shape_experts(&f->c.shape, &f->job, &spread);
    ss_layer_operators(kind, &f->c.shape, &f->ops);
}

/* Latent attention and mixtures, in elements of 2 bytes a token, and fp32 statistics of the heads. Linear layers by number, the odd ones
 * kept: of DeepSeek-V3 q down 1, q up 2, kv down 3, kv up 4, projection 5, then w1 6, w3 7, w2 8 of its dense layers and shared
 * experts, though kv down stands before q up in the list; of V2-Lite q 1, kv down 2, kv up 3, projection 4, shared w1 5, w3 6, w2 7;
 * of Qwen3 q 1, k 2, v 3, projection 4. The router has no number. Copies of 8 (V2-Lite 6) experts are kept where they arrive and where they
 * come back. */
TEST(kept_in_mixtures)
{
#define BY_OPERATOR                                                                                          \
    " --seq 4096 --mbs 1 --gbs 8 --bf16 --fsdp full --moe-load balanced "                                    \
    "--moe-token-dispatcher-type alltoall --recompute op-selective"
    enum { INPUT = 7168, ATTENTION = 128 * 128, Q_DOWN = 1536, KV_DOWN = 512 + 64, COPIES = 2 * 8 * 7168 };
    static const struct {
        const char *flags;
        int kind;
        double elements, heads;
    } rows[] = {
        {"--model deepseek-v3 --mtp-num-layers 0 --ep 8" BY_OPERATOR, LATENT_MOE,
         INPUT + Q_DOWN + KV_DOWN + ATTENTION + 7168 + COPIES + 2048, 128},
        {"--model deepseek-v3 --mtp-num-layers 0 --ep 1" BY_OPERATOR, LATENT_MOE,
         INPUT + Q_DOWN + KV_DOWN + ATTENTION + 7168 + 2048, 128},
        {"--model deepseek-v3 --mtp-num-layers 0 --ep 8" BY_OPERATOR, LATENT_DENSE,
         INPUT + Q_DOWN + KV_DOWN + ATTENTION + 7168 + 18432, 128},
        {"--model deepseek-v2-lite --ep 8" BY_OPERATOR, LATENT_MOE,
         2048 + 16 * 192 + 16 * 256 + 16 * 128 + 2 * 6 * 2048 + 2816 + 2048, 16},
        {"--model qwen3-30b-a3b --ep 8" BY_OPERATOR, MOE, 2048 + 4096 + 4 * 128 + 32 * 128 + 2 * 8 * 2048,
         32},
    };
    unsigned bit = SS_MODULE_BIT(SS_MODULE_OPERATORS);
    struct h100_layer f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        mixture(&f, rows[i].kind, rows[i].flags);
        NEAR(ss_ops_saved_bytes(&f.ops, bit), 4096 * (2 * rows[i].elements + 4 * rows[i].heads));
    }
}

/* Until September 2025 what all-to-alls give is repeated. */
TEST(exchanges_repeated)
{
    struct h100_layer f;

    mixture(&f, MOE, "--model qwen3-30b-a3b --ep 8" BY_OPERATOR);
    f.stack.by_operator = 1;
    ss_layer_operators(MOE, &f.c.shape, &f.ops);
    NEAR(ss_ops_saved_bytes(&f.ops, SS_MODULE_BIT(SS_MODULE_OPERATORS)),
         4096 * (2 * (2048 + 4096 + 4 * 128 + 32 * 128) + 4 * 32.0));
}

/* Operator by operator fc2's output is held too, the seventh; of two tensor ranks its part, and the reduced output. Nothing of linear
 * layers in nvfp4 is. */
TEST(unread)
{
    unsigned bit = SS_MODULE_BIT(SS_MODULE_OPERATORS);
    double others = 2 * (3 * H + KV + F) + 4 * 32,
           halves = 2 * (H / 2 + H / 2 + KV / 2 + F / 2 + H / 2 + H / 2) + 4 * 16;
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--recompute op-selective");
    f.c.shape.compiled = 0;
    ss_layer_operators(DENSE, &f.c.shape, &f.ops);
    NEAR(ss_ops_saved_bytes(&f.ops, bit), T * (others + 2 * H));
    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--recompute op-selective --tp 2 --sequence-parallel");
    double compiled = ss_ops_saved_bytes(&f.ops, bit);
    NEAR(compiled, T * halves); /* input, q, attention, v, fc1; the projection's reduced output */
    f.c.shape.compiled = 0;
    ss_layer_operators(DENSE, &f.c.shape, &f.ops);
    NEAR(ss_ops_saved_bytes(&f.ops, bit), compiled + T * 2 * (H + H / 2));
    h100_layer(&f, DENSE, "torchtitan-2026", LLAMA "--recompute op-selective --precision nvfp4");
    NEAR(ss_ops_saved_bytes(&f.ops, bit), T * (2 * 2 * H + 4 * 32));
    f.c.shape.compiled = 0;
    ss_layer_operators(DENSE, &f.c.shape, &f.ops);
    NEAR(ss_ops_saved_bytes(&f.ops, bit), T * (2 * 2 * H + 4 * 32));
}

/* torchao's layers in nvfp4 keep codes of 4 bit with a byte for 16 of them, each of its own input and weight, where those of 16 bit keep
 * what norms and SwiGLU make. What goes by is that, and all beside what recompute keeps. */
TEST(codes)
{
    double codes = 0.5625 * (4 * H + F), weights = 0.5625 * (H * (H + 2 * KV) + H * H + 3 * H * F);
    struct h100_layer f, plain;

    h100_layer(&plain, DENSE, "torchtitan-2026", LLAMA);
    h100_layer(&f, DENSE, "torchtitan-2026", LLAMA "--precision nvfp4");
    CU_ASSERT_EQUAL(plain.ops.sum.coded, 0);
    NEAR(f.ops.sum.coded, 2 * T * (2 * H + F));
    NEAR(ss_ops_saved_bytes(&f.ops, 0),
         ss_ops_saved_bytes(&plain.ops, 0) - 2 * T * (2 * H + F) + T * codes + weights);
    h100_layer(&f, DENSE, "megatron-bridge-26.04", LLAMA "--precision nvfp4");
    CU_ASSERT_EQUAL(f.ops.sum.coded, 0);
}

/* FLOP of what DeepSeek-V3's mixture repeats: both up-projections, the router, three matrices of 8 experts, and w1 and w2 of the shared
 * one. */
TEST(repeated_in_mixtures)
{
    struct h100_layer f;
    double columns = 1536.0 * 128 * 192 + 512.0 * 128 * 256 + 7168.0 * (256 + 3 * 8 * 2048 + 2 * 2048);

    mixture(&f, LATENT_MOE, "--model deepseek-v3 --mtp-num-layers 0" BY_OPERATOR);
    struct ss_layer_cost by = cost_of(&f, SS_RECOMPUTE_SELECTIVE), none = cost_of(&f, SS_RECOMPUTE_NONE);
    NEAR(by.recompute_flops, 2 * 4096 * columns);
    NEAR(by.forward[SS_LABEL_COMPUTE], none.forward[SS_LABEL_COMPUTE]);
    CU_ASSERT(by.input_grad[SS_LABEL_RECOMPUTE] > 0 && none.input_grad[SS_LABEL_RECOMPUTE] == 0);
}

/* GEMMs of k, projection and fc3, and 12 kernels: norm 4 bytes an element, rope 20 of q and k, k and v to 32 heads, residual 6, the norm
 * in its kernel 2, activation 2 of 3 F. */
TEST(repeated)
{
    struct h100_layer f;
    double kernels = 1 + 2 + 2 + 1 + 0 + 1;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--recompute op-selective");
    struct ss_layer_cost by = cost_of(&f, SS_RECOMPUTE_SELECTIVE), none = cost_of(&f, SS_RECOMPUTE_NONE);
    double bytes = T * (4 * H + 20 * (H + KV) + 4 * (KV + H) + 6 * H + 2 * H + 6 * F);
    double expected = gemm(&f, KV, H) + gemm(&f, H, H) + gemm(&f, F, H) +
                      ss_kernel_elementwise(f.c.card, bytes, (int)kernels);
    NEAR(by.input_grad[SS_LABEL_RECOMPUTE], expected);
    CU_ASSERT_EQUAL(none.input_grad[SS_LABEL_RECOMPUTE], 0);
    NEAR(by.recompute_flops, 2 * T * H * (KV + H + F));
    NEAR(by.forward[SS_LABEL_COMPUTE], none.forward[SS_LABEL_COMPUTE]);
}

/* All but fc2 and the residual behind it. */
TEST(stops_early)
{
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--recompute full");
    struct ss_layer_cost early = cost_of(&f, SS_RECOMPUTE_FULL);
    f.stack.stops_early = 0;
    struct ss_layer_cost whole = cost_of(&f, SS_RECOMPUTE_FULL);
    NEAR(whole.input_grad[SS_LABEL_RECOMPUTE] - early.input_grad[SS_LABEL_RECOMPUTE],
         gemm(&f, H, F) + ss_kernel_elementwise(f.c.card, 6 * T * H, 1));
    NEAR(whole.recompute_flops - early.recompute_flops, 2 * T * H * F);
}

/* Two tensor ranks: each gather and scatter of the forward has a copy, 4 bytes an element; in the backward the sum of three, or two,
 * gradients is made where it is copied. In fp8 what is gathered has 1 byte. Asynchronous ones add two shares up, and copy the rank's own
 * half of what is gathered; where sequences lie beside each other, weight gradients in 16 bit read it, and the gathered gradient, in
 * another order, a copy of 4 bytes an element. */
TEST(copies)
{
    struct h100_layer f;
    const struct ss_op *first, *second;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel");
    first = h100_op(&f.ops, "gathered");
    second = h100_op(&f.ops, "scattered");
    CU_ASSERT_FATAL(first && second);
    NEAR(first->forward_bytes, 4 * T * H);
    NEAR(first->backward_bytes, 4 * 2 * T * H);
    NEAR(second->forward_bytes, 4 * T * H);
    NEAR(second->backward_bytes, 4 * T * H);
    CU_ASSERT(!h100_op(&f.ops, "q")->gemm.shares_input && h100_op(&f.ops, "k")->gemm.shares_input &&
              h100_op(&f.ops, "fc3")->gemm.shares_input);
    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --fp8-format hybrid");
    NEAR(h100_op(&f.ops, "gathered")->forward_bytes, 2 * T * H);
    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap");
    NEAR(h100_op(&f.ops, "gathered")->forward_bytes, 4 * T * H / 2);
    NEAR(h100_op(&f.ops, "gathered")->backward_bytes, 4 * 2 * T * H);
    NEAR(h100_op(&f.ops, "scattered")->forward_bytes, 3 * T * H);
    NEAR(h100_op(&f.ops, "scattered")->backward_bytes, 4 * T * H / 2);
    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap --mbs 2");
    NEAR(h100_op(&f.ops, "gathered")->backward_bytes, 2 * (4 * 2 + 4) * T * H);
    NEAR(h100_op(&f.ops, "scattered")->backward_bytes, 2 * (4 / 2 + 4) * T * H);
    h100_layer(&f, DENSE, "torchtitan-2025",
               LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap --mbs 2 --fp8-format hybrid");
    NEAR(h100_op(&f.ops, "gathered")->forward_bytes, 2 * 2 * T * H / 2);
    NEAR(h100_op(&f.ops, "scattered")->backward_bytes, 2 * 2 * T * H / 2);
    /* not compiled, with q, k and v apart: two adds of three tensors of 2 bytes, and the copy */
    h100_layer(&f, DENSE, "pytorch-2024", LLAMA "--tp 2 --sequence-parallel");
    f.stack.split_linear = 1;
    memset(&f.ops, 0, sizeof f.ops);
    ss_layer_operators(DENSE, &f.c.shape, &f.ops);
    NEAR(h100_op(&f.ops, "gathered")->backward_bytes, (2 * 3 * 2 + 4) * T * H);
    h100_layer(&f, DENSE, "pytorch-2023", LLAMA "--tp 2 --sequence-parallel");
    CU_ASSERT(!h100_op(&f.ops, "gathered") && !h100_op(&f.ops, "scattered") && h100_op(&f.ops, "qkv"));
}

/* Asynchronous ones of the backward are the gathers, which half of their GEMMs hide; the scatters of q, k and v, and of fc1 and fc3, are
 * of sums, by NCCL, and nothing hides them. */
TEST(scattered_sums)
{
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap");
    NEAR(cost_of(&f, SS_RECOMPUTE_NONE).input_grad[SS_LABEL_TP],
         2 * ss_collective_seconds(&f.c.net, SS_COLL_REDUCE_SCATTER, 2 * T * H, &f.c.tp));
}

/* Bytes of all fp8 casts of a layer in the backward: of each group of linear layers 5 of gradients, as a shard where they are gathered,
 * 3 of inputs, likewise, and weights; and what torchao copies to turn operands, 2 of what is gathered, 3 of other gradients. */
TEST(turned)
{
    double weights = H * (H + 2 * KV) + H * H + 3 * H * F, columns = H + 2 * KV + 2 * F, bytes = 0;
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--fp8-format hybrid");
    for (int i = 0; i < f.ops.n; i++)
        bytes += strcmp(f.ops.op[i].name, "fp8 cast") ? 0 : f.ops.op[i].backward_bytes;
    NEAR(bytes, T * (5 + 3) * (columns + 2 * H) + 3 * (T * (3 * H + F) + weights));
    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --fp8-format hybrid");
    bytes = 0;
    for (int i = 0; i < f.ops.n; i++)
        bytes += strcmp(f.ops.op[i].name, "fp8 cast") ? 0 : f.ops.op[i].backward_bytes;
    NEAR(bytes, T * (5 + 3) * columns / 2 + 5 * T * H + 3 * (T * (H + H / 2 + F / 2) + weights / 2) +
                    2 * T * (2 * H + 2 * H));
}

/* Without shards, on fp32 parameters: a microbatch copies the layer's weights to 16 bit, 6 bytes each, keeps them, and casts their
 * gradients to 4 bytes; those of later microbatches are added in fp32. */
TEST(autocast)
{
    double weights = H * (H + 2 * KV) + H * H + 3 * H * F;
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA);
    CU_ASSERT(!h100_op(&f.ops, "weight casts"));
    f.c.accumulated = 1;
    double apart = cost_of(&f, SS_RECOMPUTE_NONE).weight_grad[SS_LABEL_COMPUTE];
    f.stack.fp32_params = 1;
    ss_shape_init(&f.c.shape, &f.job, &f.stack, 128512);
    ss_layer_operators(DENSE, &f.c.shape, &f.ops);
    const struct ss_op *casts = h100_op(&f.ops, "weight casts");
    CU_ASSERT_FATAL(casts == f.ops.op && casts->forward_kernels == 7 && casts->backward_kernels == 7);
    NEAR(casts->forward_bytes, 6 * weights);
    NEAR(casts->backward_bytes, 6 * weights);
    NEAR(casts->saved_bytes, 2 * weights);
    struct ss_ops
        made; /* recompute by operator makes the copies anew, and keeps what it keeps without them */
    f.c.shape.autocast = 0;
    ss_layer_operators(DENSE, &f.c.shape, &made);
    f.c.shape.autocast = 1;
    unsigned bit = SS_MODULE_BIT(SS_MODULE_OPERATORS);
    CU_ASSERT(casts->modules & bit);
    NEAR(ss_ops_saved_bytes(&f.ops, bit), ss_ops_saved_bytes(&made, bit));
    NEAR(cost_of(&f, SS_RECOMPUTE_NONE).weight_grad[SS_LABEL_COMPUTE] - apart,
         ss_kernel_elementwise(f.c.card, 6 * weights, 0));
    f.job.dp.sharding = SS_SHARD_OPTIM_GRADS_PARAMS; /* what FSDP gathers is of 16 bit */
    CU_ASSERT(!ss_job_autocasts(&f.job, &f.stack));
}

/* PyTorch's own data parallelism copies gradients of 4 bytes into buckets and back, and keeps both; one rank does not, and Megatron's
 * are where they are reduced. */
TEST(buckets)
{
    static const struct {
        const char *stack;
        int replicas;
        double bytes, kept;
    } rows[] = {{"accelerate-2026", 8, 16, 8}, {"accelerate-2026", 1, 0, 4}, {"megatron-2407", 8, 16, 4}};
    const struct ss_param_count params = {.all = 1e9};
    struct h100_layer f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double memory[SS_MEM_COUNT];
        h100_layer(&f, DENSE, rows[i].stack, LLAMA);
        f.c.replicas = rows[i].replicas;
        CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&f.c, 1e9, 0),
                               ss_kernel_elementwise(f.c.card, rows[i].bytes * 1e9, 0), 1e-12);
        ss_memory_static(&f.c, &params, (struct ss_optimizer_shards){1, 1}, memory);
        CU_ASSERT_EQUAL(memory[SS_MEM_GRADIENTS], rows[i].kept * 1e9);
    }
}

static int refused(const char *stack, const char *flags)
{
    struct ss_job job;
    struct ss_stack s;
    return h100_finish(&job, &s, stack, flags, NULL);
}

/* Context parallelism is PyTorch's: it gathers unless a flag says, and asks for no Transformer Engine. */
TEST(context)
{
    struct h100_layer f;

    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--cp 2");
    CU_ASSERT_EQUAL(f.job.cp_comm_type, SS_CP_ALLGATHER);
    h100_layer(&f, DENSE, "torchtitan-2025", LLAMA "--cp 2 --cp-comm-type p2p");
    CU_ASSERT_EQUAL(f.job.cp_comm_type, SS_CP_P2P);
    CU_ASSERT_EQUAL(refused("llm-foundry-2023", LLAMA "--cp 2"), SS_ERR_CONFIG);
}

/* Megatron's stacks: with gradients in bf16 the read and write of each weight's gradient move 4 bytes, not 8. */
TEST(accumulated)
{
    struct h100_layer f;
    double params = H * (H + 2 * KV) + H * H + 3 * H * F;

    h100_layer(&f, DENSE, "megatron-2407", LLAMA);
    struct ss_layer_cost wide = cost_of(&f, SS_RECOMPUTE_NONE);
    h100_layer(&f, DENSE, "megatron-2407", LLAMA "--grad-reduce-in-bf16");
    struct ss_layer_cost narrow = cost_of(&f, SS_RECOMPUTE_NONE);
    NEAR(wide.weight_grad[SS_LABEL_COMPUTE] - narrow.weight_grad[SS_LABEL_COMPUTE],
         ss_kernel_elementwise(f.c.card, 4 * params, 0));
}

TEST(refused)
{
    CU_ASSERT_EQUAL(refused("megatron-2407", LLAMA "--recompute op-selective"), SS_ERR_CONFIG);
    CU_ASSERT_EQUAL(refused("torchtitan-2025", LLAMA "--recompute op-selective --recompute none"), 0);
    /* props of the stack, not its other ways */
    CU_ASSERT_EQUAL(refused(SS_SOURCE_DIR "/tests/unit/data/split.xml", LLAMA "--recompute op-selective"),
                    SS_ERR_CONFIG);
    CU_ASSERT_EQUAL(refused(SS_SOURCE_DIR "/tests/unit/data/split.xml", LLAMA "--cp 2"), SS_ERR_CONFIG);
}

SUITE(by_operator)
{
    return suite_file(argv[0], h100_open, h100_close);
}
