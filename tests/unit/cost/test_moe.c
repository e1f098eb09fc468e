/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of experts: a single expert is a dense MLP; sizes, exchanges and memory against numbers worked out by hand. */
#include "moe_layer.h"

/* On two nodes half of the tokens have their one expert on the other node; with all experts chosen each has one there, and no more nodes
 * than the three others are reached on four. */
TEST(spread)
{
    static const struct {
        int top_k, nodes;
        double reached;
    } rows[] = {{1, 2, 0.5}, {64, 2, 1}, {1, 4, 0.75}, {64, 4, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting t;
        struct ss_token_spread spread;
        moe_make(&t);
        experts_set(&t, 64, rows[i].top_k, 512, 8);
        t.c.ep = (struct ss_group_shape){.n = 8, .nodes = rows[i].nodes, .per_node = 8 / rows[i].nodes};
        CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&t.job, &t.c.ep, &spread, NULL, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(spread.nodes, rows[i].reached, 1e-12);
    }
}

/* The output of shared experts is added to that of the others, 3 times 2 bytes an element in one kernel, which passes its gradient on.
 * A gate, h weights, reads the output and multiplies it besides, and has four kernels in the backward. */
TEST(shared_output)
{
    struct setting t;
    struct ss_ops ops;
    for (int gate = 0; gate < 2; gate++) {
        moe_make(&t);
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
TEST(shared_beside)
{
    struct setting t;
    struct ss_ops ops;
    for (int fp8 = 0; fp8 < 2; fp8++) {
        moe_make(&t);
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
TEST(one_expert)
{
    struct setting t;
    struct ss_ops dense, moe;
    struct ss_layer_cost a, b;
    moe_make(&t);
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
TEST(exchange)
{
    struct setting t;
    struct ss_ops ops;
    struct ss_layer_cost cost;
    moe_make(&t);
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
TEST(probabilities)
{
    double ep[2][2];
    for (int on = 0; on <= 1; on++) {
        struct setting t;
        struct ss_ops ops;
        struct ss_layer_cost cost;
        moe_make(&t);
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
TEST(kept_in_fp8)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
    t.job.precision = SS_FP8;
    t.job.stored = SS_BF16;
    experts_set(&t, 64, 4, 512, 8);
    ops_of(&t, MOE, &ops);
    double all = ss_ops_saved_bytes(&ops, 0);
    t.stack.fp8_keeps_less = 1;
    ops_of(&t, MOE, &ops);
    CU_ASSERT_EQUAL(all - ss_ops_saved_bytes(&ops, 0), TOKENS * 4 * 2 * 512 + TOKENS * 1024 * 1.5);
}

/* HybridEP puts tokens down with the rows that fp8 needs; DeepEP and NCCL do not. */
TEST(padded_by_dispatcher)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
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
TEST(hybridep)
{
    for (int nodes = 1; nodes <= 2; nodes++) {
        struct setting t;
        struct ss_token_spread spread;
        struct ss_layer_cost cost = {0};
        struct ss_ops ops;
        moe_make(&t);
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
    moe_make(&alone);
    alone.job.moe.dispatcher = SS_DISPATCH_HYBRIDEP;
    alone.job.etp = 2;
    experts_set(&alone, 64, 4, 512, 1);
    ops_of(&alone, MOE, &ops);
    CU_ASSERT(find(&ops, "counts")->forward_kernels == 1 && find(&ops, "counts")->gathers_first == 0);
}

/* 8 of 64 experts a rank: two matrices of 1024 x 1024 (gate and up) and 512 x 1024 each; the router is whole. */
TEST(parameters)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
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
TEST(router_fp32)
{
    struct setting t;
    struct ss_ops half, full;
    moe_make(&t);
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
TEST(jitter)
{
    struct setting t;
    struct ss_ops plain, noisy;
    moe_make(&t);
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
TEST(capacity)
{
    struct setting t;
    moe_make(&t);
    t.job.moe.capacity_factor = 1.25;
    t.job.moe.pad_to_capacity = 1;
    experts_set(&t, 64, 4, 512, 8);
    CU_ASSERT_DOUBLE_EQUAL(t.c.shape.routed, TOKENS * 4 * 1.25, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(t.c.shape.sent, TOKENS * 4 * 1.25, 1e-6);
}

/* moe_act drops the activation's output of the experts' part; moe drops all but what the norm before it keeps. */
TEST(recompute)
{
    struct setting t;
    struct ss_ops ops;
    struct ss_layer_cost none, act, moe;
    moe_make(&t);
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
TEST(skew)
{
    double last = 0;
    for (double exponent = 0; exponent <= 1.5; exponent += 0.25) {
        struct setting t;
        struct ss_ops ops;
        struct ss_layer_cost cost;
        moe_make(&t);
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
