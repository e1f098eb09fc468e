/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a layer of experts, one by one: what each moves, when the host issues it, and what runs beside it. */
#include "moe_layer.h"

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
TEST(issued)
{
    struct setting t;
    moe_make(&t);
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
TEST(router)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
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
    moe_make(&t);
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
TEST(host_of_recompute)
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
TEST(behind)
{
    struct setting t;
    struct ss_ops ops = {0};
    struct ss_layer_cost cost = {0};
    const struct ss_repeated none = {0};
    const double gpu[] = {10, 1, 1, 1};
    moe_make(&t);
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
TEST(own_operators)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
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
TEST(joint_rope)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
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

/* 8 experts a rank. The cast of mxfp8 is one call of PyTorch and a kernel for each expert, and two for the scales of both operands; in
 * Transformer Engine's fuser one kernel for all. HybridEP's call for its dispatch launches the permutation's four as well. */
TEST(launches)
{
    struct setting t;
    struct ss_ops ops;
    const struct ss_op *op;
    moe_make(&t);
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
TEST(weighed)
{
    const double elements = TOKENS * 4 * 1024, pass = 2 * elements, own = TOKENS * 1024 * 2;
    static const char *const names[2] = {"permute", "unpermute"};
    for (int on = 0; on <= 1; on++)
        for (int fused = 0; fused <= 1; fused++) {
            struct setting t;
            struct ss_ops ops;
            moe_make(&t);
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
TEST(streams_beside)
{
    double gemms[2], experts = 0;
    for (int streams = 0; streams <= 1; streams++) {
        struct ss_layer_cost cost;
        struct setting t;
        struct ss_ops ops;
        moe_make(&t);
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
TEST(joined)
{
    const double elements = TOKENS * 4 * 1024;
    for (int wide = 0; wide <= 1; wide++)
        for (int i = 0; i < 3; i++) { /* plain, fused, one after the other */
            struct setting t;
            struct ss_ops ops;
            moe_make(&t);
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
TEST(sequential)
{
    struct setting t;
    struct ss_ops ops;
    moe_make(&t);
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
