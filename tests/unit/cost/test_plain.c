/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of plain PyTorch, whose operators a stack counts one by one, against numbers worked out by hand. */
#include "cost/kernel.h"
#include "cost/memory.h"
#include "small_job.h"

/* 8192 tokens; 4 B is a read and a write of 16 bit. */
#define TOKENS 8192.0

TEST(activation)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops fused = layer_of(&t, DENSE);
    t.stack.plain_activation = 1;
    struct ss_ops plain = layer_of(&t, DENSE);
    const struct ss_op *one = find(&fused, "activation"), *two = find(&plain, "activation");
    double x = TOKENS * 2816;
    CU_ASSERT_EQUAL(one->forward_bytes, 6 * x);
    CU_ASSERT_EQUAL(two->forward_bytes, (2 + 3) * 2 * x);
    CU_ASSERT_EQUAL(two->backward_bytes, (3 + 3 + 3) * 2 * x); /* Transformer Engine's layers join nothing */
    CU_ASSERT_EQUAL(two->forward_kernels, 2);
    CU_ASSERT_EQUAL(two->backward_kernels, 3);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&plain, 0) - ss_ops_saved_bytes(&fused, 0), 2 * x);
    t.stack.te_layers = 0; /* both gradients are joined: 2 elements each moved; halves are strided */
    plain = layer_of(&t, DENSE);
    two = find(&plain, "activation");
    CU_ASSERT_EQUAL(two->backward_bytes, (9 + 4) * 2 * x);
    CU_ASSERT_EQUAL(two->forward_strided, 2 * x);
    CU_ASSERT_EQUAL(two->backward_strided, (2 + 2) * x); /* torch.cat of PyTorch before 2.8 */
    t.stack.wide_cat = 1;
    plain = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(find(&plain, "activation")->backward_strided, 2 * x);
    t.stack.split_gate = 1;
    plain = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(find(&plain, "activation")->forward_strided, 0);
}

TEST(norm)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops fused = layer_of(&t, DENSE);
    t.stack.norm_kernels = 8;
    t.stack.norm_passes = 5;
    struct ss_ops plain = layer_of(&t, DENSE);
    const struct ss_op *norm = find(&plain, "input norm");
    CU_ASSERT_EQUAL(norm->forward_bytes, 5 * 4 * TOKENS * 1024);
    CU_ASSERT_EQUAL(norm->forward_kernels, 8);
    CU_ASSERT_EQUAL(norm->backward_kernels, 16);
    CU_ASSERT_EQUAL(norm->forward_strided, 0);
    t.stack.norm_strided_forward = 2; /* rows' roots and the weight are broadcast */
    t.stack.norm_strided_backward = 3;
    plain = layer_of(&t, DENSE);
    norm = find(&plain, "input norm");
    CU_ASSERT_EQUAL(norm->forward_strided, 2 * TOKENS * 1024);
    CU_ASSERT_EQUAL(norm->backward_strided, 3 * TOKENS * 1024);
    CU_ASSERT_EQUAL(norm->strided_bytes, 4);
    /* two norms of a layer keep their normed input */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&plain, 0) - ss_ops_saved_bytes(&fused, 0), 2 * 2 * TOKENS * 1024);
}

/* 1024 of Q, 256 of K and of V. */
TEST(copies)
{
    struct setting t;
    setting_make(&t);
    t.stack.qkv_copied_forward = 2;
    t.stack.qkv_copied_backward = 3;
    t.stack.qkv_copies_forward = 9;
    t.stack.qkv_copies_backward = 5;
    t.stack.rope_kernels = 16;
    t.stack.attention_waits = 1;
    struct ss_ops ops = layer_of(&t, DENSE);
    const struct ss_op *layout = find(&ops, "layout");
    CU_ASSERT_EQUAL(layout->forward_bytes, 2 * 4 * TOKENS * 1536);
    CU_ASSERT_EQUAL(layout->backward_bytes, 3 * 4 * TOKENS * 1536);
    CU_ASSERT_EQUAL(layout->forward_strided, 2 * TOKENS * 1536);
    CU_ASSERT_EQUAL(layout->forward_kernels, 9);
    CU_ASSERT_EQUAL(layout->backward_kernels, 5);
    CU_ASSERT_EQUAL(find(&ops, "rope")->forward_kernels, 16);
    CU_ASSERT_EQUAL(find(&ops, "core attention")->host_waits, 1);
    t.stack.qkv_copied_forward = t.stack.qkv_copies_forward = 0; /* views; their gradients are joined */
    ops = layer_of(&t, DENSE);
    layout = find(&ops, "layout");
    CU_ASSERT_EQUAL(layout->forward_bytes, 0);
    CU_ASSERT_EQUAL(layout->backward_bytes, 3 * 4 * TOKENS * 1536);
}

/* Two sequences lie in another order for attention: their context of 1024 channels is copied, once forward and twice backward; of scores
 * it is once more, and of one sequence once. */
TEST(rows)
{
    static const struct {
        int micro_batch, unfused, forward, backward;
    } rows[] = {{2, 0, 1, 2}, {1, 0, 0, 0}, {2, 1, 3, 4}, {1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting t;
        setting_make(&t);
        t.job.micro_batch = rows[i].micro_batch;
        t.job.attention = rows[i].unfused ? SS_ATTENTION_UNFUSED : t.job.attention;
        t.stack.qkv_copied_forward = 2;
        t.stack.qkv_copies_forward = 9;
        t.stack.rows_forward = 1;
        t.stack.rows_backward = 2;
        struct ss_ops ops = layer_of(&t, DENSE);
        const struct ss_op *layout = find(&ops, "layout");
        double context = 4096. * rows[i].micro_batch * 1024;
        CU_ASSERT_EQUAL(layout->forward_bytes, 4 * (2 * 1.5 + rows[i].forward) * context);
        CU_ASSERT_EQUAL(layout->backward_bytes, 4 * rows[i].backward * context);
        CU_ASSERT_EQUAL(layout->backward_strided, rows[i].backward * context);
        CU_ASSERT_EQUAL(layout->forward_kernels, 9 + rows[i].forward);
        CU_ASSERT_EQUAL(layout->backward_kernels, rows[i].backward);
    }
}

/* Two tensors go on and a gradient comes back, each in three messages of 1 s, between which the host has 25 launches of 0.5 s. */
TEST(shapes)
{
    static const int borders[] = {SS_LAYER_RECEIVED, SS_LAYER_RETURNED};
    for (int i = 0; i < 2; i++) {
        struct setting t;
        struct ss_layer_cost cost;
        setting_make(&t);
        t.stack.host_operator = 1;
        t.stack.host_group = 0.5;
        for (int shapes = 0; shapes <= 2; shapes += 2) {
            t.stack.p2p_shapes = shapes;
            struct ss_ops ops = layer_of(&t, borders[i]);
            ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &cost);
            CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OTHER], shapes * (3 + 12.5), 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_OTHER], shapes ? 3 + 12.5 : 0, 1e-9);
        }
    }
}

/* Two tensor ranks on one node. The rates of the collectives do not matter here: what is compared is what
 * hides them. */
static void two_ranks(struct setting *t, int sp)
{
    t->job.tp = 2;
    t->job.sequence_parallel = sp;
    t->c.net = (struct ss_net){.fabric_busbw = 1e11, .fabric_step = 1e-6};
    t->c.tp = (struct ss_group_shape){.n = 2, .nodes = 1, .per_node = 2};
}

static struct ss_layer_cost cost_of(struct setting *t)
{
    struct ss_ops ops = layer_of(t, DENSE);
    struct ss_layer_cost cost;
    ss_cost_layer(&t->c, &ops, SS_RECOMPUTE_NONE, &cost);
    return cost;
}

/* The gathers of the forward hide under the first of QKV's and FC1's GEMMs, half of the rows each; scatters do not. */
TEST(own_shard_first)
{
    struct setting t;
    setting_make(&t);
    two_ranks(&t, 1);
    struct ss_layer_cost bare = cost_of(&t);
    t.stack.tp_own_shard_first = 1;
    struct ss_layer_cost hidden = cost_of(&t);
    double before = bare.forward[SS_LABEL_TP], after = hidden.forward[SS_LABEL_TP];
    CU_ASSERT_TRUE_FATAL(before > 0);
    double gather = before / 4; /* gather and scatter of both halves of a layer move as much */
    double qkv = ss_kernel_gemm(&t.card, SS_BF16, TOKENS / 2, 768, 1024, 0, 100, 1);
    double fc1 = ss_kernel_gemm(&t.card, SS_BF16, TOKENS / 2, 2816, 1024, 0, 100, 1);
    CU_ASSERT_DOUBLE_EQUAL(after, before - fmin(gather, qkv) - fmin(gather, fc1), 1e-12);
    /* the host issues two GEMMs more for QKV and FC1, and backward for projection and FC2 */
    t.stack.host_operator = t.stack.host_group = 1;
    struct ss_layer_cost three = cost_of(&t);
    t.stack.tp_own_shard_first = 0;
    struct ss_layer_cost one = cost_of(&t);
    CU_ASSERT_DOUBLE_EQUAL(three.host[0] - one.host[0], 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(three.host[1] - one.host[1], 4, 1e-9);
}

/* Seconds of a GEMM of t beside one of NCCL's collectives of c, where it has half of its rate. */
static double halved(double t, double c)
{
    return c > 2 * t ? 2 * t : t + c / 2;
}

/* NCCL's blocks hold a quarter of the SMs, beside which GEMMs have half of their rate: the first of QKV's and FC1's, and in their backward
 * the gradient of the input, beside the gather, and that of the weight, beside the scatter. */
TEST(gemms_beside)
{
    struct setting t;
    setting_make(&t);
    two_ranks(&t, 1);
    t.stack.tp_own_shard_first = t.stack.tp_async_backward = 1;
    struct ss_layer_cost alone = cost_of(&t);
    t.stack.comm_sms_fabric = 25;
    t.card.gemm_beside = 0.5;
    struct ss_layer_cost beside = cost_of(&t);
    double moved = ss_collective_seconds(&t.c.net, SS_COLL_ALL_GATHER, TOKENS * 1024 * 2, &t.c.tp);
    double forward = 0, gradients = 0, weights = 0;
    static const double columns[] = {768, 2816};
    for (int i = 0; i < 2; i++) {
        double n = columns[i], first = ss_kernel_gemm(&t.card, SS_BF16, TOKENS / 2, n, 1024, 0, 100, 1);
        double d = ss_kernel_gemm(&t.card, SS_BF16, TOKENS, 1024, n, 0, 100, 1);
        double w =
            ss_kernel_gemm(&t.card, SS_BF16, n, 1024, TOKENS, ss_cost_main_gradient_bytes(&t.c), 100, 1);
        forward += halved(first, moved) - first;
        gradients += halved(d, moved) - d;
        weights += halved(w, moved) - w;
    }
    static const double rows[] = {512, 1408}; /* own shards of the projection's and FC2's gradients */
    for (int i = 0; i < 2; i++) {
        double first = ss_kernel_gemm(&t.card, SS_BF16, TOKENS / 2, rows[i], 1024, 0, 100, 1);
        gradients += halved(first, moved) - first;
    }
    CU_ASSERT(forward > 0);
    CU_ASSERT_DOUBLE_EQUAL(beside.forward[SS_LABEL_COMPUTE] - alone.forward[SS_LABEL_COMPUTE], forward,
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(beside.input_grad[SS_LABEL_COMPUTE] - alone.input_grad[SS_LABEL_COMPUTE],
                           gradients, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(beside.weight_grad[SS_LABEL_COMPUTE] - alone.weight_grad[SS_LABEL_COMPUTE],
                           weights, 1e-12);
}

/* Four ranks: rows of 2,048 each. The shards of a layer are a GEMM of one, and behind the gather one of three at
 * either end of the group, or one and two in the middle, whichever takes longer; forward of QKV and FC1, backward of projection and FC2. */
TEST(shards_in_waves)
{
    struct setting t;
    setting_make(&t);
    two_ranks(&t, 1);
    t.job.tp = 4;
    t.c.tp = (struct ss_group_shape){.n = 4, .nodes = 1, .per_node = 4};
    struct ss_layer_cost whole = cost_of(&t);
    t.stack.tp_own_shard_first = 1;
    struct ss_layer_cost shards = cost_of(&t);
    static const struct {
        double n, k;
        int backward;
    } gemms[] = {{384, 1024, 0}, {1408, 1024, 0}, {256, 1024, 1}, {704, 1024, 1}};
    double more[2] = {0, 0};
    for (size_t i = 0; i < 4; i++) {
        double rows[4];
        for (int s = 1; s <= 4; s++)
            rows[s - 1] = ss_kernel_gemm(&t.card, SS_BF16, s * TOKENS / 4, gemms[i].n, gemms[i].k, 0, 100, 1);
        more[gemms[i].backward] += rows[0] + fmax(rows[2], rows[0] + rows[1]) - rows[3];
    }
    CU_ASSERT(more[0] > 0);
    CU_ASSERT_DOUBLE_EQUAL(shards.forward[SS_LABEL_COMPUTE] - whole.forward[SS_LABEL_COMPUTE], more[0],
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(shards.input_grad[SS_LABEL_COMPUTE] - whole.input_grad[SS_LABEL_COMPUTE], more[1],
                           1e-12);
    CU_ASSERT_EQUAL(shards.weight_grad[SS_LABEL_COMPUTE], whole.weight_grad[SS_LABEL_COMPUTE]);
}

/* Without sequence parallelism a layer all-reduces twice forward and twice backward; where gate and FC1 are
 * apart and each reduces, three times backward. */
TEST(reduces_each)
{
    struct setting t;
    setting_make(&t);
    two_ranks(&t, 0);
    t.stack.split_gate = 1;
    struct ss_layer_cost joint = cost_of(&t);
    t.stack.tp_reduces_each = 1;
    struct ss_layer_cost each = cost_of(&t);
    double one = joint.forward[SS_LABEL_TP] / 2;
    CU_ASSERT_TRUE_FATAL(one > 0);
    CU_ASSERT_EQUAL(each.forward[SS_LABEL_TP], joint.forward[SS_LABEL_TP]);
    CU_ASSERT_DOUBLE_EQUAL(joint.input_grad[SS_LABEL_TP], 2 * one, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(each.input_grad[SS_LABEL_TP], 3 * one, 1e-12);
}

/* A gradient of fp32 is 4 bytes; a bucket of the same type 4 more; a bucket of 16-bit gradients 2. These gradients
 * take the room of activations. With ZeRO there are no buckets, but the share of two and the gather of all, in 16 bit. */
TEST(buckets)
{
    struct setting t;
    setting_make(&t);
    struct ss_param_count params = {.all = 1000};
    static const struct {
        int copies, replicas, zero;
        double bytes, main, step;
    } rows[] = {{0, 2, 0, 4000, 0, 0},    {1, 1, 0, 4000, 0, 0},    {1, 2, 0, 8000, 0, 0},
                {2, 1, 0, 4000, 2000, 0}, {2, 2, 0, 6000, 2000, 0}, {2, 2, 1, 4000, 2000, 3000}};
    shape_again(&t);
    t.job.dp.grad_reduce_fp32 = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double memory[SS_MEM_COUNT], states = rows[i].zero ? 2 : 1;
        struct ss_optimizer_shards shards = {.dense = states, .expert = states};
        t.stack.ddp_copies = rows[i].copies;
        t.c.replicas = rows[i].replicas;
        t.job.dp.distributed_optimizer = rows[i].zero;
        ss_memory_static(&t.c, &params, shards, memory);
        CU_ASSERT_EQUAL(memory[SS_MEM_GRADIENTS], rows[i].bytes);
        CU_ASSERT_EQUAL(memory[SS_MEM_OPTIMIZER], 12000 / states + rows[i].step);
        CU_ASSERT_EQUAL(ss_memory_step(&t.c, &params, shards), rows[i].step);
        CU_ASSERT_EQUAL(ss_memory_main_gradients(&t.c, &params, shards), rows[i].main);
    }
}

/* Views and copies around attention keep 1024 channels of a token each; with fewer keys than queries none is joined. */
TEST(views)
{
    static const struct {
        int groups, joined, twice, unfused;
        double micro_batch, channels;
    } rows[] = {{16, 1, 0, 0, 4, 2 * 1024}, {16, 2, 0, 0, 4, 2 * 1024}, {16, 2, 0, 1, 4, 0},
                {16, 2, 1, 1, 1, 2 * 1024}, {4, 1, 0, 0, 4, 0},         {4, 0, 1, 0, 4, 1024},
                {4, 0, 1, 0, 1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting t;
        setting_make(&t);
        t.job.model.num_query_groups = rows[i].groups;
        t.job.micro_batch = (int)rows[i].micro_batch;
        t.job.attention = rows[i].unfused ? SS_ATTENTION_UNFUSED : t.job.attention;
        struct ss_ops bare = layer_of(&t, DENSE);
        t.stack.keeps_joined = rows[i].joined;
        t.stack.context_twice = rows[i].twice;
        struct ss_ops ops = layer_of(&t, DENSE);
        CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&bare, 0),
                        rows[i].channels * 2 * t.c.shape.tokens);
    }
}

/* Cosines and sines of 64 channels of Q and of K; two squares of scores more beside those that are kept. */
TEST(kept_beside)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops bare = layer_of(&t, DENSE);
    t.stack.rope_kept = 4;
    struct ss_ops ops = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&bare, 0), 4 * 64 * 2 * TOKENS);
    t.job.attention = SS_ATTENTION_UNFUSED;
    t.stack.unfused_held = 3;
    ops = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(find(&ops, "core attention")->working_bytes, 3 * 2 * TOKENS * t.c.shape.sequence * 16);
}

/* Two ranks have 16,000 logits of a token each; where they gather them, each has the loss of all 32,000, one gather of
 * 2 bytes a logit takes the place of three sums. Two copies of each move 8 bytes, of which torch.cat makes an element at a time before PyTorch
 * 2.8; of the gradient the own 16,000 are copied, which lie in strides. */
TEST(whole_logits)
{
    struct setting t;
    setting_make(&t);
    two_ranks(&t, 0);
    struct ss_ops parted = layer_of(&t, SS_LAYER_LOSS);
    t.stack.loss_gathers = 1;
    t.stack.wide_cat = 0;
    struct ss_ops whole = layer_of(&t, SS_LAYER_LOSS);
    const struct ss_op *one = find(&parted, "cross entropy"), *two = find(&whole, "cross entropy");
    double logits = TOKENS * 16000;
    CU_ASSERT_EQUAL(two->saved_bytes, 2 * one->saved_bytes);
    CU_ASSERT_EQUAL(two->working_bytes, 2 * one->working_bytes);
    CU_ASSERT_EQUAL(two->forward_bytes, 2 * one->forward_bytes);
    CU_ASSERT_EQUAL(two->backward_bytes, 2 * one->backward_bytes);
    const struct ss_op *joined = find(&whole, "gathered logits");
    CU_ASSERT_EQUAL(joined->forward_bytes, 2 * logits * 8);
    CU_ASSERT_EQUAL(joined->backward_bytes, logits * 4);
    CU_ASSERT_EQUAL(joined->forward_strided, 2 * logits);
    CU_ASSERT_EQUAL(joined->backward_strided, logits);
    t.stack.wide_cat = 1;
    whole = layer_of(&t, SS_LAYER_LOSS);
    CU_ASSERT_EQUAL(find(&whole, "gathered logits")->forward_strided, 0);
    CU_ASSERT_EQUAL(parted.nborders, 3);
    CU_ASSERT_EQUAL_FATAL(whole.nborders, 1);
    CU_ASSERT_EQUAL(whole.border[0].coll, SS_COLL_ALL_GATHER);
    CU_ASSERT_EQUAL(whole.border[0].bytes, 2 * logits * 2);
}

/* Two ranks scatter outputs of 1,024 channels behind projection and FC2, and gradients of them before QKV and FC1: whole
 * and half, in 16 bit, 6 KiB a token of a layer each way. A call is 1 s; the host is 1,024 calls ahead at most. With a pipeline the host
 * waits in each slot. Checks of collectives, four messages of 0.25 s each, are half of what these take, and no calls. */
TEST(idle)
{
    static const struct {
        int pp;
        double microbatches, host, gpu; /* s of a pass over a layer */
        double layers;                  /* of F and B that are not yet done */
        double checked;                 /* s of a pass in checked collectives */
    } rows[] = {{1, 1, 100, 100, 0, 0},
                {1, 1, 100, 200, 2, 0},
                {1, 1, 100, 400, 3, 0},
                {2, 8, 100, 400, 3, 0},
                {2, 8, 100, 99, 0, 0},
                {1, 2, 100, 200, 6, 0},
                {1, 2, 100, 99, 0, 0},
                {1, 64, 100, 400, 8, 0},
                {1, 64, 100, 101, 4 + 4. * (4 + 63 * 8 - 404) / 404, 0},
                {1, 64, 300, 400, 4 * 1024. / 1200, 0},
                {1, 64, 300, 400, 4 + 4 * 224. / 800, 200}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting t;
        setting_make(&t);
        two_ranks(&t, 1);
        struct ss_ops ops = layer_of(&t, DENSE);
        struct ss_layer_part part = {.ops = &ops};
        struct ss_layer_run run = {.part = 0, .count = 4};
        struct ss_layer_runs runs = {.n = 1, .run = &run};
        struct ss_layer_set set = {.nparts = 1, .part = &part, .nchunks = 1, .chunks = &runs};
        struct ss_chunk_cost chunk = {.has_loss = 1};
        t.job.pp = rows[i].pp;
        t.c.once = 1 / rows[i].microbatches;
        t.stack.host_operator = t.card.host_slowdown = 1;
        part.cost.host[0] = part.cost.host[1] = rows[i].host;
        t.stack.host_check = rows[i].checked > 0 ? 0.25 : 0;
        for (int way = 0; way < 2; way++)
            part.cost.launches[way][SS_LAUNCH_COLLECTIVES] = rows[i].checked;
        part.cost.forward[SS_LABEL_COMPUTE] = part.cost.input_grad[SS_LABEL_COMPUTE] = rows[i].gpu;
        part.cost.forward[SS_LABEL_OTHER] = 1000; /* the device waits then */
        CU_ASSERT_EQUAL(ss_memory_waiting(&t.c, &set, 0), 0);
        CU_ASSERT_EQUAL(ss_memory_idle(&t.c, &chunk), 0);
        t.stack.marks_streams = 1;
        CU_ASSERT_DOUBLE_EQUAL(ss_memory_waiting(&t.c, &set, 0), rows[i].layers * 2 * 3072 * TOKENS, 1);
        t.stack.loss_idle_bytes = 2; /* 16,000 logits of a token */
        CU_ASSERT_EQUAL(ss_memory_idle(&t.c, &chunk), 2 * 16000 * TOKENS);
    }
}
