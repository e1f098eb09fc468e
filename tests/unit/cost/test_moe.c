/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of experts: a single expert is a dense MLP; sizes, exchanges and memory against numbers worked out by hand. */
#include <math.h>
#include <string.h>

#include "cost/cost.h"
#include "cost/experts.h"
#include "cost/rank_cost.h"
#include "layers/kinds.h"
#include "pairs.h"
#include "stepsim/job.h"
#include "stepsim/model.h"
#include "suite.h"

#define TOKENS 8192.0

struct setting {
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_cost_context c;
};

/* A small decoder on a card of round numbers; experts are the test's. */
static void setting_make(struct setting *t)
{
    memset(t, 0, sizeof *t);
    ss_job_init(&t->job);
    struct ss_model *m = &t->job.model;
    m->num_layers = 4;
    m->hidden_size = 1024;
    m->ffn_hidden_size = 2816;
    m->num_attention_heads = 16;
    m->num_query_groups = 4;
    m->vocab_size = 32000;
    m->gated_mlp = 1;
    m->linear_bias = m->qkv_bias = m->tied_embeddings = 0;
    m->normalization = SS_NORM_RMSNORM;
    m->position = SS_POSITION_ROPE;
    t->job.micro_batch = 2;
    t->job.seq_length = 4096;
    t->job.etp = 1;
    t->job.moe.dispatcher = SS_DISPATCH_ALLTOALL;
    t->job.precision = t->job.stored = SS_BF16;
    t->job.attention = SS_ATTENTION_FLASH;
    t->job.attention_dropout = t->job.hidden_dropout = 0;
    t->card.sm_count = 100;
    t->card.host_slowdown = 1;
    t->card.attention_wide = 1;
    t->card.attention_lone = 1;
    t->card.peak_bf16 = 1e15;
    t->card.gemm_eff_bf16 = 0.5;
    t->card.gemm_tile_m = 128;
    t->card.gemm_tile_n = 256;
    t->card.gemm_small_tile = 0.9;
    t->card.hbm_bandwidth = 1e12;
    t->card.hbm_efficiency = 1;
    t->card.kernel_latency = 5e-6;
    t->stack.fused_wgrad_accumulation = t->stack.fp8_forward_gain = 1;
    t->stack.flash_fwd = 0.4;
    t->stack.flash_bwd = 0.25;
    t->stack.attention_half_tokens = 1024;
    t->stack.te_layers = t->stack.norm_passes = 1;
    t->c.card = &t->card;
    t->c.stack = &t->stack;
    t->c.job = &t->job;
    t->c.net.fabric_busbw = 200e9;
    t->c.net.gpus_per_node = t->c.net.nics_per_node = 8;
    t->c.tp = t->c.cp = t->c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    t->c.ep = t->c.etp = t->c.etp_ep = t->c.edp = t->c.tp;
}

static void experts_set(struct setting *t, int experts, int top_k, int ffn, int ep)
{
    struct ss_model *m = &t->job.model;
    struct ss_token_spread spread;
    m->num_experts = experts;
    m->top_k = top_k;
    m->moe_ffn_hidden_size = ffn;
    t->job.ep = ep;
    t->c.ep = (struct ss_group_shape){.n = ep, .nodes = 1, .per_node = ep};
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    ss_shape_init(&t->c.shape, &t->job, &t->stack, 32000);
    CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&t->job, &t->c.ep, &spread, NULL, NULL), 0);
    ss_shape_experts(&t->c.shape, &t->job, &spread);
}

static void ops_of(const struct setting *t, int kind, struct ss_ops *ops)
{
    ss_layer_operators(kind, &t->c.shape, ops);
}

static const struct ss_op *find(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return &ops->op[i];
    CU_FAIL_FATAL("no such operator");
    return NULL;
}

/* On two nodes half of the tokens have their one expert on the other node; with all experts chosen each has one there, and no more nodes
 * than the three others are reached on four. */
static void test_spread(void)
{
    static const struct {
        int top_k, nodes;
        double reached;
    } rows[] = {{1, 2, 0.5}, {64, 2, 1}, {1, 4, 0.75}, {64, 4, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting t;
        struct ss_token_spread spread;
        setting_make(&t);
        experts_set(&t, 64, rows[i].top_k, 512, 8);
        t.c.ep = (struct ss_group_shape){.n = 8, .nodes = rows[i].nodes, .per_node = 8 / rows[i].nodes};
        CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&t.job, &t.c.ep, &spread, NULL, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(spread.nodes, rows[i].reached, 1e-12);
    }
}

/* The output of shared experts is added to that of the others, 3 times 2 bytes an element in one kernel, which passes its gradient on.
 * A gate, h weights, reads the output and multiplies it besides, and has four kernels in the backward. */
static void test_shared_output(void)
{
    struct setting t;
    struct ss_ops ops;
    for (int gate = 0; gate < 2; gate++) {
        setting_make(&t);
        t.job.model.shared_expert_ffn_hidden_size = 512;
        t.job.model.shared_expert_gate = gate;
        experts_set(&t, 64, 4, 512, 8);
        ops_of(&t, MOE, &ops);
        const struct ss_op *op = find(&ops, "shared output");
        double x = t.c.shape.tokens * t.c.shape.h * 2;
        CU_ASSERT_DOUBLE_EQUAL(op->forward_bytes, (gate ? 5 : 3) * x, 1);
        CU_ASSERT_DOUBLE_EQUAL(op->backward_bytes, (gate ? 5 : 0) * x, 1);
        CU_ASSERT_EQUAL(op->forward_kernels, gate ? 3 : 1);
        CU_ASSERT_EQUAL(op->backward_kernels, gate ? 4 : 0);
        CU_ASSERT_EQUAL(op->params, gate ? t.c.shape.h : 0);
    }
}

/* Beside the exchanges FC2 and the output, in fp8 with the cast before FC2, stand behind the combine; all others behind the dispatch. */
static void test_shared_beside(void)
{
    struct setting t;
    struct ss_ops ops;
    for (int fp8 = 0; fp8 < 2; fp8++) {
        setting_make(&t);
        t.job.model.shared_expert_ffn_hidden_size = 512;
        t.job.moe.shared_expert_overlap = 1;
        t.job.precision = fp8 ? SS_FP8 : SS_BF16;
        experts_set(&t, 64, 4, 512, 8);
        ops_of(&t, MOE, &ops);
        CU_ASSERT_STRING_EQUAL(find(&ops, "sort")[-1].name, "activation");
        CU_ASSERT_STRING_EQUAL(find(&ops, "combine")[1].name, fp8 ? "fp8 cast" : "shared fc2");
    }
}

/* One expert, top-1, expert parallel 1: the dense layer, in every number. */
static void test_one_expert(void)
{
    struct setting t;
    struct ss_ops dense, moe;
    struct ss_layer_cost a, b;
    setting_make(&t);
    experts_set(&t, 1, 1, 2816, 1);
    ops_of(&t, DENSE, &dense);
    ops_of(&t, MOE, &moe);
    ss_cost_layer(&t.c, &dense, SS_RECOMPUTE_NONE, &a);
    ss_cost_layer(&t.c, &moe, SS_RECOMPUTE_NONE, &b);
    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        CU_ASSERT_DOUBLE_EQUAL(b.forward[l], a.forward[l], 1e-12 * fabs(a.forward[l]));
        CU_ASSERT_DOUBLE_EQUAL(b.input_grad[l], a.input_grad[l], 1e-12 * fabs(a.input_grad[l]));
        CU_ASSERT_DOUBLE_EQUAL(b.weight_grad[l], a.weight_grad[l], 1e-12 * fabs(a.weight_grad[l]));
    }
    CU_ASSERT(a.forward[SS_LABEL_COMPUTE] > 0);
    CU_ASSERT_EQUAL(b.forward_flops, a.forward_flops);
    CU_ASSERT_EQUAL(b.backward_flops, a.backward_flops);
    CU_ASSERT_EQUAL(moe.sum.params, dense.sum.params);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&moe, 0), ss_ops_saved_bytes(&dense, 0));
    CU_ASSERT_EQUAL(moe.sum.working, dense.sum.working);
}

/* Balanced: each rank sends and gets tokens x top-k copies, 7/8 of them to others by the all-to-all of 8 ranks. */
static void test_exchange(void)
{
    struct setting t;
    struct ss_ops ops;
    struct ss_layer_cost cost;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double bytes = TOKENS * 4 * 1024 * 2,
           weighed = 2 * bytes; /* a product with the probabilities: read and written */
    const struct ss_op *dispatch = find(&ops, "dispatch"), *combine = find(&ops, "combine");
    CU_ASSERT(dispatch->exchange.forward == bytes && dispatch->exchange.backward == bytes &&
              dispatch->exchange.ahead == 0);
    CU_ASSERT(dispatch->forward_kernels == 1 && dispatch->backward_kernels == 1);
    CU_ASSERT(combine->exchange.forward == bytes && combine->exchange.backward == bytes);
    CU_ASSERT(combine->forward_kernels == 1 && combine->backward_kernels == 1);
    CU_ASSERT_EQUAL(find(&ops, "experts fc1")->gemm.m, TOKENS * 4);
    CU_ASSERT_EQUAL(find(&ops, "experts fc1")->gemm.groups, 8);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &cost);
    double both = 2 * bytes * 7 / 8 / 200e9;
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_EP], both, 1e-12 * both);
    CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_EP], both, 1e-12 * both);
    /* In fp8 what the experts get is 1 byte an element with 4 for 128 of them, both ways; what is added up stays. */
    t.job.moe.fp8_dispatch = 1;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double narrow = bytes / 2 * (1 + 4.0 / 128);
    CU_ASSERT_EQUAL(find(&ops, "dispatch")->exchange.forward, narrow);
    CU_ASSERT_EQUAL(find(&ops, "dispatch")->exchange.backward, bytes);
    CU_ASSERT_EQUAL(find(&ops, "combine")->exchange.forward, bytes);
    CU_ASSERT_EQUAL(find(&ops, "combine")->exchange.backward, narrow);
    /* and is gathered as narrow as it is sent: tokens and their copies. Sums, which are unfused here, are of 16 bit. */
    double gathered = TOKENS * 1024 * (1 + 4) * (1 + 4.0 / 128), summed = TOKENS * 1024 * 2 * (2 + 3 * 4);
    CU_ASSERT_EQUAL(find(&ops, "permute")->forward_bytes, gathered);
    CU_ASSERT_EQUAL(find(&ops, "permute")->backward_bytes, summed);
    CU_ASSERT_EQUAL(find(&ops, "unpermute")->forward_bytes, summed + weighed);
    CU_ASSERT_EQUAL(find(&ops, "unpermute")->backward_bytes, gathered + 3 * weighed);
    /* The tokens of all 8 ranks are gathered; TOKENS x 4 are copied, by the ranks' experts alike; sums are of all 8 x TOKENS. */
    t.job.moe.fp8_dispatch = 0;
    t.job.moe.dispatcher = SS_DISPATCH_ALLGATHER;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    gathered = TOKENS * 1024 * 2 * (4 + 4), summed = TOKENS * 1024 * 2 * (2 * 8 + 3 * 4);
    CU_ASSERT_EQUAL(find(&ops, "permute")->forward_bytes, gathered);
    CU_ASSERT_EQUAL(find(&ops, "permute")->backward_bytes, summed);
    CU_ASSERT_EQUAL(find(&ops, "unpermute")->forward_bytes, summed + weighed);
    CU_ASSERT_EQUAL(find(&ops, "unpermute")->backward_bytes, gathered + 3 * weighed);
}

/* Probabilities in fp32, whose all-to-all goes ahead of that of the tokens, each way: a start of its own (10 us a step, 7 of them)
 * and 4 bytes a copy. */
static void test_probabilities(void)
{
    double ep[2][2];
    for (int on = 0; on <= 1; on++) {
        struct setting t;
        struct ss_ops ops;
        struct ss_layer_cost cost;
        setting_make(&t);
        t.stack.moe_probabilities = on;
        experts_set(&t, 64, 4, 512, 8);
        t.c.net.fabric_step = 10e-6;
        ops_of(&t, MOE, &ops);
        const struct ss_op *dispatch = find(&ops, "dispatch");
        CU_ASSERT_EQUAL(dispatch->exchange.ahead, on * TOKENS * 4 * 4);
        CU_ASSERT(dispatch->forward_kernels == 1 + on && dispatch->backward_kernels == 1 + on);
        ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &cost);
        ep[on][0] = cost.forward[SS_LABEL_EP];
        ep[on][1] = cost.input_grad[SS_LABEL_EP];
    }
    double more = 7 * 10e-6 + TOKENS * 4 * 4 * 7 / 8 / 200e9;
    CU_ASSERT_DOUBLE_EQUAL(ep[1][0] - ep[0][0], more, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ep[1][1] - ep[0][1], more, 1e-12);
}

/* In fp8 FC1's output is kept in 1 byte instead of 2; attention's output once in 12 bits instead of in 16 and in 8. */
static void test_kept_in_fp8(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    t.job.precision = SS_FP8;
    t.job.stored = SS_BF16;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double all = ss_ops_saved_bytes(&ops, 0);
    t.stack.fp8_keeps_less = 1;
    ops_of(&t, MOE, &ops);
    CU_ASSERT_EQUAL(all - ss_ops_saved_bytes(&ops, 0), TOKENS * 4 * 2 * 512 + TOKENS * 1024 * 1.5);
}

static struct ss_layer_cost cost_issued(struct setting *t, double host_group)
{
    struct ss_ops ops;
    struct ss_layer_cost cost;
    t->stack.host_group = host_group;
    ops_of(t, MOE, &ops);
    ss_cost_layer(&t->c, &ops, SS_RECOMPUTE_NONE, &cost);
    return cost;
}

/* The host issues a GEMM for each of 8 experts in each of two products: beyond their own time it alone counts. */
static void test_issued(void)
{
    struct setting t;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    struct ss_layer_cost one = cost_issued(&t, 0), little = cost_issued(&t, 1e-9),
                         less = cost_issued(&t, 1e-10), much = cost_issued(&t, 1e-3),
                         more = cost_issued(&t, 2e-3);
    CU_ASSERT_EQUAL(little.forward[SS_LABEL_COMPUTE], less.forward[SS_LABEL_COMPUTE]);
    /* kernels of their own, whose waves do not join to whole ones */
    CU_ASSERT(little.forward[SS_LABEL_COMPUTE] >= one.forward[SS_LABEL_COMPUTE]);
    CU_ASSERT_DOUBLE_EQUAL(more.forward[SS_LABEL_COMPUTE] - much.forward[SS_LABEL_COMPUTE], 16e-3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(more.input_grad[SS_LABEL_COMPUTE] - much.input_grad[SS_LABEL_COMPUTE], 16e-3,
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(more.weight_grad[SS_LABEL_COMPUTE] - much.weight_grad[SS_LABEL_COMPUTE], 16e-3,
                           1e-12);
}

/* Operators of the router: sigmoid scores whose bias chooses take 11 more each way, the fused ones count for the bias alone. */
static void test_router(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    for (int bias = 0; bias <= 1; bias++)
        for (int fused = 0; fused <= 1; fused++) {
            t.job.model.router_bias = bias;
            t.job.moe.router_fusion = fused;
            experts_set(&t, 64, 4, 512, 8);
            ops_of(&t, MOE, &ops);
            const struct ss_op *routing = find(&ops, "routing");
            CU_ASSERT_EQUAL(routing->forward_kernels, fused ? 8 + 2 * bias : 26 + 11 * bias);
            CU_ASSERT_EQUAL(routing->backward_kernels, fused ? 4 : 12 + 11 * bias);
            CU_ASSERT_EQUAL(find(&ops, "router")->gemm_params, 0);    /* never in fp8 */
            CU_ASSERT_EQUAL(find(&ops, "router")->tensors, 1 + bias); /* its matrix and the scores' bias */
        }
    t.job.model.router_linear_bias = 1;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    CU_ASSERT_EQUAL(find(&ops, "router")->tensors, 3);
    CU_ASSERT_EQUAL(find(&ops, "router")->params, 64 * (t.c.shape.h + 2));
}

/* Host of a layer, 1 s an operator and 0.1 s a call without kernels; selective recompute of `modules`. */
static void host_of(unsigned modules, double host[2])
{
    struct setting t;
    struct ss_ops ops;
    struct ss_layer_cost cost;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    t.stack.host_operator = 1;
    t.stack.host_group = 0.1;
    t.job.recompute.granularity = modules ? SS_RECOMPUTE_SELECTIVE : SS_RECOMPUTE_NONE;
    t.job.recompute.modules = modules;
    ops_of(&t, MOE, &ops);
    ss_cost_layer(&t.c, &ops, t.job.recompute.granularity, &cost);
    memcpy(host, cost.host, sizeof cost.host);
}

/* A module that is repeated costs the host its operators again and the calls of checkpointing: one function of autograd and
 * 3 states of generators forward, 2 and 9 backward. */
static void test_host_of_recompute(void)
{
    double none[2], act[2], two[2];
    host_of(0, none);
    host_of(SS_MODULE_BIT(SS_MODULE_MOE_ACT), act);
    CU_ASSERT_DOUBLE_EQUAL(act[0] - none[0], 1 + 0.3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(act[1] - none[1], 1 + 2 + 0.9, 1e-9);
    host_of(SS_MODULE_BIT(SS_MODULE_MOE_ACT) | SS_MODULE_BIT(SS_MODULE_CORE_ATTN), two);
    CU_ASSERT_DOUBLE_EQUAL(two[0] - none[0], 2 * (1 + 0.3), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(two[1] - none[1], 2 * (1 + 2 + 0.9), 1e-9);
}

/* Four operators that the host issues in 2 s each; the GPU works 10 s on the first and 1 s on each other, and the host waits for
 * the second. It is behind in the next layer too, until the operator of 10 s: 2, 4 and 6 s are issued when 0, 1 and 2 s are done. */
static void test_behind(void)
{
    struct setting t;
    struct ss_ops ops = {0};
    struct ss_layer_cost cost = {0};
    const struct ss_repeated none = {0};
    const double gpu[] = {10, 1, 1, 1};
    setting_make(&t);
    t.stack.host_operator = 2;
    for (int i = 0; i < 4; i++)
        ss_op_add(&ops, "operator", SS_OP_ELEMENTWISE);
    cost.forward[SS_LABEL_COMPUTE] = 13;
    ss_cost_host(&t.c, &ops, gpu, &none, &cost);
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OTHER], 0, 1e-12);
    ops.op[1].host_waits = 1;
    ss_cost_host(&t.c, &ops, gpu, &none, &cost);
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OTHER], 4, 1e-12);
    /* a host that takes 1.5 times as long: 3, 6 and 9 s are issued by then, and 12 s of 13 all in all */
    t.card.host_slowdown = 1.5;
    cost.forward[SS_LABEL_OTHER] = 0;
    ss_cost_host(&t.c, &ops, gpu, &none, &cost);
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OTHER], 7, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(cost.host[0], 12, 1e-12);
}

/* Elements that kernels make of strided or broadcast operands, and what each moves. */
static int strides(const struct ss_op *op, double forward, double backward, double bytes)
{
    return op->forward_strided == forward && op->backward_strided == backward && op->strided_bytes == bytes;
}

/* GPT-OSS: bytes and kernels of what PyTorch runs in operators of its own. 8192 tokens, 4 copies each, 8 experts a rank, all in bf16:
 * with P bytes of the copies' activations 8 P forward and 15 P backward to clamp, 6 and 8 to add FC2's bias, of which in fp32 14 and 20. */
static void test_own_operators(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    t.job.model.activation_clamp = t.job.model.yarn = 1;
    t.job.model.expert_bias = 1;
    t.stack.te_layers = 1;
    t.stack.rope_passes = 1;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double p = TOKENS * 4 * 512 * 2, x = TOKENS * 4 * 1024 * 2;
    const struct ss_op *clamp = find(&ops, "activation clamp"), *bias = find(&ops, "experts bias"),
                       *rope = find(&ops, "rope");
    CU_ASSERT(clamp->forward_bytes == 8 * p && clamp->backward_bytes == 15 * p);
    CU_ASSERT(clamp->forward_kernels == 3 && clamp->backward_kernels == 7);
    CU_ASSERT(clamp->saved_bytes == 2 * p &&
              clamp->modules == (SS_MODULE_BIT(SS_MODULE_MOE_ACT) | SS_MODULE_BIT(SS_MODULE_MOE)));
    CU_ASSERT(strides(clamp, p, 2.5 * p, 4)); /* both halves; two and three kernels, P / 2 elements each */
    CU_ASSERT(bias->forward_bytes == 6 * x && bias->backward_bytes == 8 * x);
    CU_ASSERT(strides(bias, x / 2, x, 4));
    /* queries of 16 heads and keys of 4, of 64 channels */
    CU_ASSERT_EQUAL(rope->forward_bytes, 12 * TOKENS * 20 * 64 * 2);
    CU_ASSERT_EQUAL(rope->backward_bytes, 17 * TOKENS * 20 * 64 * 2);
    CU_ASSERT(rope->forward_kernels == 12 && rope->backward_kernels == 22);
    CU_ASSERT(strides(rope, 3.5 * TOKENS * 20 * 64, 3.5 * TOKENS * 20 * 64, 4));
    /* queries and values; gradients of all three joined */
    CU_ASSERT(strides(find(&ops, "layout"), TOKENS * 20 * 64, TOKENS * 24 * 64, 4));
    t.job.moe.router_dtype = 1;
    t.job.model.yarn = 0;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    bias = find(&ops, "experts bias");
    CU_ASSERT(bias->forward_bytes == 14 * x && bias->backward_bytes == 20 * x);
    CU_ASSERT(strides(bias, x / 2, x, 8) && strides(find(&ops, "rope"), 0, 0, 4));
    CU_ASSERT_EQUAL(find(&ops, "rope")->forward_bytes, 2 * TOKENS * 20 * 64 * 2);
}

/* One kernel reads 24 heads of 64 channels of the joint tensor and writes them apart, and their gradients the other way: no copies are
 * left, of YaRN either. A norm of queries and keys stands between, and nothing is fused. */
static void test_joint_rope(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    t.job.model.yarn = t.stack.te_layers = t.job.fused_qkv_rope = 1;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    const struct ss_op *rope = find(&ops, "rope"), *layout = find(&ops, "layout");
    CU_ASSERT(rope->forward_bytes == 2 * TOKENS * 24 * 64 * 2 && rope->backward_bytes == rope->forward_bytes);
    CU_ASSERT(rope->forward_kernels == 1 && rope->backward_kernels == 1);
    CU_ASSERT(strides(rope, 0, 0, 0) && layout->forward_bytes + layout->backward_bytes == 0);
    t.job.model.qk_norm = SS_QK_NORM_HEAD;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    CU_ASSERT(find(&ops, "layout")->forward_bytes > 0 && find(&ops, "rope")->forward_kernels == 12);
}

static int has(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return 1;
    return 0;
}

/* HybridEP puts tokens down with the rows that fp8 needs; DeepEP and NCCL do not. */
static void test_padded_by_dispatcher(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    t.job.precision = SS_FP8;
    t.job.stored = SS_BF16;
    t.job.moe.load = SS_LOAD_UNIFORM;
    t.job.moe.dispatcher = SS_DISPATCH_DEEPEP;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    CU_ASSERT(has(&ops, "pad") && has(&ops, "unpad"));
    CU_ASSERT(find(&ops, "pad")->forward_strided == 0 && find(&ops, "unpad")->backward_strided == 0);
    CU_ASSERT_EQUAL(find(&ops, "pad")->backward_strided, t.c.shape.routed * 1024);
    CU_ASSERT_EQUAL(find(&ops, "unpad")->forward_strided, t.c.shape.routed * 1024);
    t.job.moe.dispatcher = SS_DISPATCH_HYBRIDEP;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    CU_ASSERT(!has(&ops, "pad") && !has(&ops, "unpad"));
}

/* Each copy takes along fp32 probabilities of the 64 experts of one NVLink domain, of 32 where the group lies on two, there and, their
 * gradients, back; the map of all 8 ranks' tokens to 64 experts is gathered first, by NVLink in a ring of 7/8 of it. */
static void test_hybridep(void)
{
    for (int nodes = 1; nodes <= 2; nodes++) {
        struct setting t;
        struct ss_token_spread spread;
        struct ss_layer_cost cost = {0};
        struct ss_ops ops;
        setting_make(&t);
        t.job.moe.dispatcher = SS_DISPATCH_HYBRIDEP;
        experts_set(&t, 64, 4, 512, 8);
        t.c.ep = (struct ss_group_shape){.n = 8, .nodes = nodes, .per_node = 8 / nodes};
        CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&t.job, &t.c.ep, &spread, NULL, NULL), 0);
        ss_shape_experts(&t.c.shape, &t.job, &spread);
        ops_of(&t, MOE, &ops);
        const struct ss_op *dispatch = find(&ops, "dispatch"), *combine = find(&ops, "combine");
        double tokens = TOKENS * t.c.shape.h * 2, probabilities = TOKENS * 4. * 64 / nodes;
        CU_ASSERT_EQUAL(dispatch->exchange.forward, tokens + probabilities);
        CU_ASSERT_EQUAL(dispatch->exchange.backward, tokens + probabilities);
        CU_ASSERT(combine->exchange.forward == tokens && combine->exchange.backward == tokens);
        const struct ss_op *counts = find(&ops, "counts");
        CU_ASSERT(counts->gathers_first == 8. * TOKENS * 64 && counts->dynamic);
        CU_ASSERT(counts->forward_kernels == 1 && counts->forward_launches == 2);
        if (nodes > 1)
            continue;
        ss_cost_gathered(&t.c, counts, &cost);
        CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_EP], 7. * TOKENS * 64 / 200e9, 1e-12);
        ss_cost_gathered(&t.c, dispatch, &cost);
        CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_EP], 7. * TOKENS * 64 / 200e9, 1e-12);
    }
    /* A rank with all experts, halves of them on two tensor ranks, has the whole map. */
    struct setting alone;
    struct ss_ops ops;
    setting_make(&alone);
    alone.job.moe.dispatcher = SS_DISPATCH_HYBRIDEP;
    alone.job.etp = 2;
    experts_set(&alone, 64, 4, 512, 1);
    ops_of(&alone, MOE, &ops);
    CU_ASSERT(find(&ops, "counts")->forward_kernels == 1 && find(&ops, "counts")->gathers_first == 0);
}

/* 8 experts a rank. The cast of mxfp8 is one call of PyTorch and a kernel for each expert, and two for the scales of both operands; in
 * Transformer Engine's fuser one kernel for all. HybridEP's call for its dispatch launches the permutation's four as well. */
static void test_launches(void)
{
    struct setting t;
    struct ss_ops ops;
    const struct ss_op *op;
    setting_make(&t);
    t.job.precision = SS_FP8;
    t.job.stored = SS_BF16;
    t.job.fp8_recipe = SS_FP8_MXFP8;
    t.job.moe.permute_fusion = 1;
    t.job.moe.dispatcher = SS_DISPATCH_DEEPEP;
    for (int fused = 0; fused < 2; fused++) {
        t.job.moe.op_fuser = fused;
        experts_set(&t, 64, 4, 512, 8);
        ops_of(&t, MOE, &ops);
        op = find(&ops, "expert fp8 cast");
        CU_ASSERT(op->forward_kernels == 1 && op->forward_launches == (fused ? 2 : 9));
        CU_ASSERT(op->backward_kernels == !fused && op->backward_launches == (fused ? 0 : 9));
        CU_ASSERT(find(&ops, "permute")->forward_kernels == 4 && !find(&ops, "permute")->forward_launches);
    }
    t.job.moe.dispatcher = SS_DISPATCH_HYBRIDEP;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    CU_ASSERT(find(&ops, "permute")->forward_launches == 4 && !find(&ops, "permute")->forward_kernels);
}

/* TOKENS x 4 copies of 1024. Where probabilities stay with the token the copies that come back are multiplied by them (2 passes, what is
 * broadcast makes it strided), backward their gradient, too (2), and gradient by copy (3), which is summed (1); copies are kept. A fused
 * kernel reads them once more. From Megatron core 0.13 on the activation is weighed. */
static void test_weighed(void)
{
    const double elements = TOKENS * 4 * 1024, pass = 2 * elements, own = TOKENS * 1024 * 2;
    static const char *const names[2] = {"permute", "unpermute"};
    for (int on = 0; on <= 1; on++)
        for (int fused = 0; fused <= 1; fused++) {
            struct setting t;
            struct ss_ops ops;
            setting_make(&t);
            t.stack.moe_probabilities = on;
            t.job.moe.permute_fusion = fused;
            experts_set(&t, 64, 4, 512, 8);
            ops_of(&t, MOE, &ops);
            const struct ss_op *there = find(&ops, names[0]), *back = find(&ops, names[1]);
            double sum = fused ? own + pass : 2 * own + 3 * pass;
            CU_ASSERT(there->forward_bytes == own + pass && there->backward_bytes == sum);
            CU_ASSERT_EQUAL(back->forward_bytes, sum + (on || fused ? 0 : 2) * pass);
            CU_ASSERT_EQUAL(back->backward_bytes, own + pass + (on ? 0 : fused ? 1 : 6) * pass);
            /* sums (scatter_add) and, until PyTorch 2.8, copies of rows (index_select), one element at a time */
            for (int wide = 0; wide <= 1; wide++) {
                t.stack.wide_cat = wide;
                ops_of(&t, MOE, &ops);
                double weighed = on || fused ? 0 : elements, added = fused ? 0 : elements,
                       selected = fused || wide ? 0 : elements;
                CU_ASSERT_EQUAL(there->forward_strided, selected);
                CU_ASSERT_EQUAL(there->backward_strided, added);
                CU_ASSERT_EQUAL(back->forward_strided, added + weighed);
                CU_ASSERT_EQUAL(back->backward_strided, selected + weighed);
            }
            CU_ASSERT_EQUAL(back->forward_kernels, (fused ? 2 : 4) + (on || fused ? 0 : 1));
            CU_ASSERT_EQUAL(back->backward_kernels, (fused ? 2 : 4) + (on || fused ? 0 : 3));
            CU_ASSERT_EQUAL(back->saved_bytes, on ? 0 : pass);
        }
}

/* Beside a collective that holds SMs a GEMM waits for its last blocks; kernels of experts on several streams fill each other's waits, and so
 * are no GEMMs in that. */
static void test_streams_beside(void)
{
    double gemms[2], experts = 0;
    for (int streams = 0; streams <= 1; streams++) {
        struct ss_layer_cost cost;
        struct setting t;
        struct ss_ops ops;
        setting_make(&t);
        experts_set(&t, 64, 4, 512, 8);
        ops_of(&t, MOE, &ops);
        t.stack.host_group = streams ? 1e-12 : 0;
        ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &cost);
        gemms[streams] = cost.gemms[0];
        for (int i = 0; i < ops.n && !streams; i++)
            if (ops.op[i].kind == SS_OP_GROUPED_GEMM)
                experts += ss_kernel_grouped_gemm(
                    t.c.card, ops.op[i].gemm.precision, 8, ops.op[i].gemm.scattered, ops.op[i].gemm.m,
                    ops.op[i].gemm.n, ops.op[i].gemm.k, 0, t.c.card->sm_count, 1);
    }
    CU_ASSERT(experts > 0);
    CU_ASSERT_DOUBLE_EQUAL(gemms[0] - gemms[1], experts, 1e-12);
}

/* torch.cat makes 16 bit an element at a time until PyTorch 2.8: sorts that are not fused, both ways; outputs of experts one after the
 * other, and the gradients of their inputs; the rows that fp8 padded, when the padding goes, forward and backward. */
static void test_joined(void)
{
    const double elements = TOKENS * 4 * 1024;
    for (int wide = 0; wide <= 1; wide++)
        for (int i = 0; i < 3; i++) { /* plain, fused, one after the other */
            struct setting t;
            struct ss_ops ops;
            setting_make(&t);
            t.stack.wide_cat = wide;
            t.job.moe.permute_fusion = i == 1;
            t.job.moe.grouped_gemm = i < 2;
            experts_set(&t, 64, 4, 512, 8);
            ops_of(&t, MOE, &ops);
            const struct ss_op *sort = find(&ops, "sort back");
            CU_ASSERT_EQUAL(sort->forward_strided, wide || i == 1 ? 0 : elements);
            CU_ASSERT_EQUAL(sort->backward_strided, wide || i == 1 ? 0 : elements);
            CU_ASSERT(sort->forward_bytes == 4 * elements && sort->backward_bytes == 4 * elements);
            CU_ASSERT_EQUAL(has(&ops, "experts joined"), i == 2);
            if (i < 2)
                continue;
            const struct ss_op *joined = find(&ops, "experts joined");
            CU_ASSERT(joined->forward_bytes == 4 * elements && joined->backward_bytes == 4 * elements);
            CU_ASSERT(joined->forward_kernels == 1 && joined->backward_kernels == 1);
            CU_ASSERT_EQUAL(joined->forward_strided, wide ? 0 : elements);
            CU_ASSERT_EQUAL(joined->backward_strided, wide ? 0 : elements);
        }
}

/* Without --moe-grouped-gemm one expert after the other: 8 GEMMs of TOKENS x 4 / 8 tokens. */
static void test_sequential(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    t.job.moe.grouped_gemm = 1;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    const struct ss_op *fc1 = find(&ops, "experts fc1"), *fc2 = find(&ops, "experts fc2");
    CU_ASSERT(fc1->forward_launches == 8 && fc1->backward_launches == 24); /* two GEMMs and a hook for each */
    double rows = TOKENS * 4, sms = t.card.sm_count, grouped = cost_issued(&t, 0).forward[SS_LABEL_COMPUTE];
    double together = ss_kernel_grouped_gemm(&t.card, fc1->gemm.precision, 8, fc1->gemm.scattered, rows,
                                             fc1->gemm.n, fc1->gemm.k, 0, sms, 1) +
                      ss_kernel_grouped_gemm(&t.card, fc2->gemm.precision, 8, fc2->gemm.scattered, rows,
                                             fc2->gemm.n, fc2->gemm.k, 0, sms, 1);
    double apart =
        8 * (ss_kernel_gemm(&t.card, fc1->gemm.precision, rows / 8, fc1->gemm.n, fc1->gemm.k, 0, sms, 1) +
             ss_kernel_gemm(&t.card, fc2->gemm.precision, rows / 8, fc2->gemm.n, fc2->gemm.k, 0, sms, 1));
    t.job.moe.grouped_gemm = 0;
    experts_set(&t, 64, 4, 512, 8);
    double sequential = cost_issued(&t, 0).forward[SS_LABEL_COMPUTE];
    double joined = ss_kernel_elementwise(&t.card, 2 * rows * 1024 * 2, 1); /* outputs, read and written */
    CU_ASSERT_DOUBLE_EQUAL(sequential - grouped, apart - together + joined, 1e-12);
    ops_of(&t, MOE, &ops);
    fc1 = find(&ops, "experts fc1");
    CU_ASSERT(fc1->forward_kernels == 8 && fc1->backward_kernels == 16 && fc1->forward_launches == 0);
}

/* 8 of 64 experts a rank: two matrices of 1024 x 1024 (gate and up) and 512 x 1024 each; the router is whole. */
static void test_parameters(void)
{
    struct setting t;
    struct ss_ops ops;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double experts = 0;
    for (int i = 0; i < ops.n; i++)
        experts += ops.op[i].expert ? ops.op[i].params : 0;
    CU_ASSERT_EQUAL(experts, 8 * (1024.0 * 1024 + 512 * 1024));
    CU_ASSERT_EQUAL(find(&ops, "router")->params, 64 * 1024.0);
    double attention = 1024.0 * 1536 + 1024 * 1024, norms = 2 * 1024;
    CU_ASSERT_EQUAL(ops.sum.params, experts + 64 * 1024.0 + attention + norms);
}

/* A router in fp32: in the backward its input of 8192 x 1024 and its matrix are cast, 6 bytes an element each way, and two GEMMs
 * move 2 bytes more of each. */
static void test_router_fp32(void)
{
    struct setting t;
    struct ss_ops half, full;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &half);
    t.job.moe.router_dtype = 1;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &full);
    CU_ASSERT_EQUAL(full.n, half.n + 1);
    CU_ASSERT_EQUAL(find(&full, "router casts")->forward_bytes, 0);
    CU_ASSERT_EQUAL(find(&full, "router casts")->backward_bytes, 2 * (6 + 2) * (TOKENS + 64) * 1024);
    CU_ASSERT_EQUAL(find(&full, "router casts")->modules, SS_MODULE_BIT(SS_MODULE_MOE));
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&full, 0), ss_ops_saved_bytes(&half, 0));
    CU_ASSERT_EQUAL(full.sum.params, half.sum.params);
}

/* Noise on the router's input of 8192 x 1024: drawn, scaled, moved, multiplied; it and the product are kept. */
static void test_jitter(void)
{
    struct setting t;
    struct ss_ops plain, noisy;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &plain);
    t.job.moe.input_jitter = 0.01;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &noisy);
    double pass = TOKENS * 1024 * 2;
    CU_ASSERT_EQUAL(find(&noisy, "input jitter")->forward_bytes, (1 + 2 + 2 + 3) * pass);
    CU_ASSERT_EQUAL(find(&noisy, "input jitter")->backward_bytes, 3 * pass);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&noisy, 0) - ss_ops_saved_bytes(&plain, 0), 2 * pass);
    t.job.moe.input_jitter = 0;
    t.job.model.input_jitter = 1; /* as a config says */
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &noisy);
    CU_ASSERT_EQUAL(noisy.n, plain.n + 1);
}

/* With a capacity of one even share and padding every expert works on as many copies; without it they are as drawn. */
static void test_capacity(void)
{
    struct setting t;
    setting_make(&t);
    t.job.moe.capacity_factor = 1.25;
    t.job.moe.pad_to_capacity = 1;
    experts_set(&t, 64, 4, 512, 8);
    CU_ASSERT_DOUBLE_EQUAL(t.c.shape.routed, TOKENS * 4 * 1.25, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(t.c.shape.sent, TOKENS * 4 * 1.25, 1e-6);
}

/* moe_act drops the activation's output of the experts' part; moe drops all but what the norm before it keeps. */
static void test_recompute(void)
{
    struct setting t;
    struct ss_ops ops;
    struct ss_layer_cost none, act, moe;
    setting_make(&t);
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double all = ss_ops_saved_bytes(&ops, 0);
    CU_ASSERT_EQUAL(all - ss_ops_saved_bytes(&ops, SS_MODULE_BIT(SS_MODULE_MOE_ACT)), TOKENS * 4 * 512 * 2);
    double inputs = TOKENS * 4 * (1024 + 1024 + 512 + 1024) * 2,
           router = TOKENS * 64 * (4 + 4 + 1) + 8 * TOKENS * 4;
    CU_ASSERT_EQUAL(all - ss_ops_saved_bytes(&ops, SS_MODULE_BIT(SS_MODULE_MOE)), inputs + router);
    t.job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &none);
    t.job.recompute.modules = SS_MODULE_BIT(SS_MODULE_MOE_ACT);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_SELECTIVE, &act);
    t.job.recompute.modules = SS_MODULE_BIT(SS_MODULE_MOE);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_SELECTIVE, &moe);
    double bytes = TOKENS * 4 * (1024 + 512) * 2; /* gate and up in, their product out */
    CU_ASSERT_EQUAL(none.input_grad[SS_LABEL_RECOMPUTE], 0);
    CU_ASSERT_DOUBLE_EQUAL(act.input_grad[SS_LABEL_RECOMPUTE], bytes / 1e12 + 5e-6, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(moe.input_grad[SS_LABEL_EP], 2 * none.input_grad[SS_LABEL_EP], 1e-12);
    CU_ASSERT(moe.input_grad[SS_LABEL_RECOMPUTE] > 0.5 * none.forward[SS_LABEL_COMPUTE]);
}

/* The hottest rank sets the time: it never falls with skew. */
static void test_skew(void)
{
    double last = 0;
    for (double exponent = 0; exponent <= 1.5; exponent += 0.25) {
        struct setting t;
        struct ss_ops ops;
        struct ss_layer_cost cost;
        setting_make(&t);
        t.job.moe.load = SS_LOAD_ZIPF;
        t.job.moe.load_exponent = exponent;
        experts_set(&t, 64, 4, 512, 8);
        ops_of(&t, MOE, &ops);
        ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &cost);
        double all =
            ss_label_sum(cost.forward) + ss_label_sum(cost.input_grad) + ss_label_sum(cost.weight_grad);
        CU_ASSERT(all >= last);
        last = all;
    }
}

SUITE(moe)
{
    CU_TestInfo tests[] = {{"one expert is a dense MLP", test_one_expert},
                           {"output of shared experts", test_shared_output},
                           {"shared experts beside exchanges", test_shared_beside},
                           {"nodes that tokens reach", test_spread},
                           {"balanced exchange", test_exchange},
                           {"an all-to-all of probabilities", test_probabilities},
                           {"tensors kept in fp8", test_kept_in_fp8},
                           {"GEMMs issued by the host", test_issued},
                           {"one expert after the other", test_sequential},
                           {"weighed by probabilities", test_weighed},
                           {"streams beside a collective", test_streams_beside},
                           {"joined by torch.cat", test_joined},
                           {"operators of their own", test_own_operators},
                           {"rotary embedding of the joint tensor", test_joint_rope},
                           {"padded by the dispatcher", test_padded_by_dispatcher},
                           {"parameters of a rank", test_parameters},
                           {"router in fp32", test_router_fp32},
                           {"jitter", test_jitter},
                           {"capacity with padding", test_capacity},
                           {"recompute of modules", test_recompute},
                           {"time never falls with skew", test_skew},
                           {"operators of the router", test_router},
                           {"host of what is repeated", test_host_of_recompute},
                           {"host behind after a wait", test_behind},
                           {"launches of a call", test_launches},
                           {"HybridEP", test_hybridep},
                           CU_TEST_INFO_NULL};
    return suite_run("moe", NULL, NULL, tests);
}
