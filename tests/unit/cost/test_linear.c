/* SPDX-License-Identifier: Apache-2.0 */
/* Linear attention and gated attention: FLOP, bytes, what is saved, parameters and exchanges by hand (docs/design/mixers.md). */

#include "base/base.h"
#include "cost/curve.h"
#include "small_job.h"

#define GATED SS_LAYER_PAIR(SS_MIXER_gated_delta, SS_MLP_DENSE)
#define KIMI SS_LAYER_PAIR(SS_MIXER_kimi_delta, SS_MLP_DENSE)
#define LIGHTNING SS_LAYER_PAIR(SS_MIXER_lightning, SS_MLP_DENSE)
#define FULL SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE)
#define H 1024.
#define T 8192. /* tokens of two sequences of 4096 */
/* 4 key heads and 8 value heads of 128 */
#define Q 512.
#define V 1024.
#define WIDTH (2 * Q + 2 * V + 2 * 8)

static void setting_of(struct setting *t, size_t rule)
{
    setting_make(t);
    struct ss_model *m = &t->job.model;
    *(struct ss_layer_rule *)((char *)m + rule) = (struct ss_layer_rule){.n = 4, .bits = {7}};
    m->linear_num_key_heads = 4;
    m->linear_num_value_heads = 8;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    t->job.micro_batch = 2;
}

/* Bytes that a mixer keeps, from behind its first norm up to the residual. */
static double saved_of_mixer(const struct ss_ops *ops)
{
    double sum = 0;
    for (int i = 1; i < ops->n && strcmp(ops->op[i].name, "mlp norm") != 0; i++)
        sum += ops->op[i].saved_bytes;
    return sum;
}

TEST(gated)
{
    struct setting t;
    setting_of(&t, offsetof(struct ss_model, gated_delta));
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), GATED);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), FULL);
    struct ss_ops ops = layer_of(&t, GATED), full = layer_of(&t, FULL);
    const struct ss_op *conv = find(&ops, "conv1d"), *rule = find(&ops, "delta rule");
    CU_ASSERT_EQUAL(find(&ops, "delta in")->forward_flops, 2 * T * H * WIDTH);
    CU_ASSERT_EQUAL(find(&ops, "delta out")->forward_flops, 2 * T * V * H);
    CU_ASSERT_EQUAL(conv->forward_bytes, 4 * T * (2 * Q + V));
    CU_ASSERT_EQUAL(conv->model_flops, 2 * 4 * T * (2 * Q + V));
    /* a token and head of 128 x 128 in chunks of 64: 176,128 FLOP forward, 507,904 backward; 4,608 bytes beside the norms of q and k */
    CU_ASSERT_EQUAL(rule->forward_flops, T * 8 * 176128);
    CU_ASSERT_EQUAL(rule->backward_flops, T * 8 * 507904);
    CU_ASSERT_EQUAL(rule->forward_bytes, T * (8 * 4608 + 2 * 2 * 2 * Q));
    CU_ASSERT_EQUAL(rule->model_flops, T * 8 * 8 * 128 * 128);
    CU_ASSERT_EQUAL(ops.sum.params - full.sum.params,
                    H * WIDTH + 4 * (2 * Q + V) + 2 * 8 + 128 + V * H - (H * 1536 + H * H));
    /* Transformer Engine: all of the projection's output, of which the convolution's input is a view; q and k before and behind their
     * copies, v, decay and beta, inverse; output, its norm, z, and their product; statistics of norms */
    double copied = 8 * 128;
    CU_ASSERT_EQUAL(saved_of_mixer(&ops), T * (2 * WIDTH + 2 * 2 * Q + 2 * 2 * copied + 2 * V + 6 * 8 +
                                               2 * 8 * 64 + 8 * V + 4 * 2 * 4 + 4 * 8));
    unsigned module = SS_MODULE_BIT(SS_MODULE_GDN_NORM_OUT);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&ops, module), T * 4 * V);
    t.stack.split_linear = 1; /* six layers, three convolutions */
    struct ss_ops split = layer_of(&t, GATED);
    t.stack.split_linear = 0;
    CU_ASSERT_EQUAL(split.sum.params, ops.sum.params);
    CU_ASSERT(find(&split, "q")->gemm.shares_input == 0 && find(&split, "alpha")->gemm.shares_input == 1);
    CU_ASSERT_EQUAL(find(&split, "beta")->forward_flops, 2 * T * H * 8);
    CU_ASSERT_EQUAL(find(&split, "conv1d")->forward_kernels, 3);
    t.job.transformer_local = 1; /* the fused norm of flash-linear-attention */
    ops = layer_of(&t, GATED);
    CU_ASSERT_EQUAL(find(&ops, "conv1d")->saved_bytes, T * 2 * (2 * Q + V));
    CU_ASSERT_EQUAL(find(&ops, "delta norm")->saved_bytes, T * (6 * V + 4 * 8));
    CU_ASSERT_EQUAL(find(&ops, "delta norm")->forward_bytes, T * 6 * V);
}

/* The table of docs/design/mixers.md: MFLOP of a token, and the bytes that Megatron keeps of it. */
TEST(worked_examples)
{
    static const struct {
        const char *model;
        double mflop, bytes;
    } rows[] = {{"qwen3-next-80b-a3b", 5.636, 94528},
                {"qwen3.5-397b-a17b", 11.272, 172672},
                {"qwen3.5-27b", 8.454, 133600},
                {"qwen3.5-0.8b", 2.818, 55456}};
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_model m;
        struct ss_shape s;
        struct ss_ops ops;
        CU_ASSERT_EQUAL_FATAL(ss_model_load(rows[i].model, &m, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
        ss_shape_of_model(&s, &m, m.vocab_size, 1);
        s.te = 1;
        ss_layer_operators(ss_layer_kind_in(&m, 4096, 0), &s, &ops);
        double statistics = 4 * (2 * m.linear_num_key_heads + m.linear_num_value_heads);
        CU_ASSERT_DOUBLE_EQUAL(find(&ops, "delta rule")->forward_flops / 1e6, rows[i].mflop, 0.0005);
        CU_ASSERT_EQUAL(saved_of_mixer(&ops), rows[i].bytes + statistics);
    }
}

TEST(kimi)
{
    struct setting t;
    setting_of(&t, offsetof(struct ss_model, kimi_delta));
    CU_ASSERT_EQUAL(t.job.model.linear_num_key_heads, 0);
    struct ss_ops ops = layer_of(&t, KIMI), full = layer_of(&t, FULL);
    const struct ss_op *rule = find(&ops, "kimi delta rule");
    double x = 8 * 128;
    CU_ASSERT_EQUAL(rule->forward_flops, T * 8 * (6 * 128. * 128 + 8.5 * 64 * 128));
    CU_ASSERT_EQUAL(rule->backward_flops, 3 * rule->forward_flops);
    CU_ASSERT_EQUAL(find(&ops, "conv1d")->forward_kernels, 3);
    CU_ASSERT_EQUAL(find(&ops, "decay down")->forward_flops, 2 * T * H * 128);
    CU_ASSERT_EQUAL(find(&ops, "gate up")->forward_flops, 2 * T * 128 * x);
    double mixer = 3 * H * x + 3 * x * 4 + 2 * (H * 128 + 128 * x) + H * 8 + 8 + x + 128 + x * H;
    CU_ASSERT_EQUAL(ops.sum.params - full.sum.params, mixer - (H * 1536 + H * H));
    /* three inputs of convolutions; q, k, v and the decay, both products of keys, beta and its input; two inputs of low ranks; output,
     * gate, and their product; statistics of three norms */
    CU_ASSERT_EQUAL(saved_of_mixer(&ops),
                    T * (6 * x + 8 * x + 4 * 8 * 64 + 4 * 8 + 2 * 2 * 128 + 6 * x + 3 * 4 * 8));
    t.job.model.linear_full_gate = 1;
    ops = layer_of(&t, KIMI);
    CU_ASSERT_EQUAL(find(&ops, "gate")->forward_flops, 2 * T * H * x);
    CU_ASSERT_PTR_NULL(find(&ops, "gate up"));
}

TEST(lightning)
{
    struct setting t;
    setting_of(&t, offsetof(struct ss_model, lightning));
    t.job.model.linear_silu = 1;
    struct ss_ops ops = layer_of(&t, LIGHTNING), full = layer_of(&t, FULL);
    const struct ss_op *scan = find(&ops, "lightning scan");
    /* 16 heads of 64 */
    CU_ASSERT_EQUAL(scan->forward_flops, T * 16 * (4 * 64. * 64 + 4 * 64. * 64));
    CU_ASSERT_EQUAL(scan->backward_flops, T * 16 * (10 * 64. * 64 + 10 * 64. * 64));
    CU_ASSERT_EQUAL(scan->forward_bytes, T * 16 * 2 * (6 * 64 + 2 * 64));
    CU_ASSERT_EQUAL(find(&ops, "qkv")->forward_flops, 2 * T * H * 3 * H);
    CU_ASSERT_EQUAL(ops.sum.params - full.sum.params, 5 * H * H + H - (H * 1536 + H * H));
    /* q, k and v before and behind silu; output, its norm, gate, and their product; a statistic */
    CU_ASSERT_EQUAL(saved_of_mixer(&ops), T * (6 * H + 6 * H + 8 * H + 4));
    CU_ASSERT_PTR_NULL(find(&ops, "rope"));
    t.job.model.linear_silu = 0;
    t.job.model.qk_norm = SS_QK_NORM_HEAD;
    t.job.model.linear_norm_groups = 4;
    ops = layer_of(&t, LIGHTNING);
    CU_ASSERT_PTR_NULL(find(&ops, "silu"));
    CU_ASSERT_PTR_NOT_NULL(find(&ops, "rope"));
    CU_ASSERT_EQUAL(find(&ops, "qk norm")->params, 2 * 64);
    CU_ASSERT_EQUAL(saved_of_mixer(&ops), T * (4 * H + 4 * 2 * 16 + 6 * H + 8 * H + 4 * 4));
}

/* What a rank of two has: half of the work, or what every rank repeats by design. */
static void expect_half(const struct ss_ops *one, const struct ss_ops *part, const char *name, int params,
                        double repeated)
{
    const struct ss_op *a = find(one, name), *b = find(part, name);
    CU_ASSERT_EQUAL(a->forward_flops, 2 * b->forward_flops);
    CU_ASSERT_EQUAL(a->backward_flops, 2 * b->backward_flops);
    CU_ASSERT_EQUAL(a->forward_bytes, 2 * b->forward_bytes);
    CU_ASSERT_EQUAL(a->backward_bytes, 2 * b->backward_bytes);
    CU_ASSERT_EQUAL(a->saved_bytes, 2 * b->saved_bytes - repeated);
    CU_ASSERT_EQUAL(a->params, params * b->params);
}

TEST(ranks)
{
    static const struct {
        size_t rule;
        int kind;
        const char *names[7], *whole; /* whole: norm of a head, whose weights every tensor rank has */
    } rows[] = {{offsetof(struct ss_model, gated_delta),
                 GATED,
                 {"delta in", "conv1d", "delta inputs", "delta rule", "delta out"},
                 "delta norm"},
                {offsetof(struct ss_model, kimi_delta),
                 KIMI,
                 {"q", "k", "v", "beta", "conv1d", "kimi delta rule", "delta out"},
                 "delta norm"},
                {offsetof(struct ss_model, lightning),
                 LIGHTNING,
                 {"qkv", "gate", "silu", "lightning scan", "output norm", "output gate", "lightning out"},
                 NULL}};
    for (size_t r = 0; r < SS_ARRAY_LEN(rows); r++) {
        struct setting t;
        setting_of(&t, rows[r].rule);
        t.job.model.linear_silu = 1;
        t.job.micro_batch = 1;
        t.job.model.linear_norm_groups *= 2;
        struct ss_ops one = layer_of(&t, rows[r].kind);
        t.job.tp = 2;
        struct ss_ops tensor = layer_of(&t, rows[r].kind);
        t.job.tp = 1;
        t.job.cp = 2;
        struct ss_ops context = layer_of(&t, rows[r].kind);
        for (size_t i = 0; i < 7 && rows[r].names[i]; i++) {
            expect_half(&one, &tensor, rows[r].names[i], 2, 0);
            /* each context rank has a statistic a group of its own tokens */
            expect_half(&one, &context, rows[r].names[i], 1, 0);
        }
        if (rows[r].whole) {
            expect_half(&one, &tensor, rows[r].whole, 1, 0);
            expect_half(&one, &context, rows[r].whole, 1, 0);
        }
    }
}

/* Each tensor rank has the first matrices of a low rank whole, and works on all of its tokens. */
TEST(repeated)
{
    struct setting t;
    setting_of(&t, offsetof(struct ss_model, kimi_delta));
    struct ss_ops one = layer_of(&t, KIMI);
    t.job.tp = 2;
    struct ss_ops part = layer_of(&t, KIMI);
    CU_ASSERT_EQUAL(find(&one, "decay down")->forward_flops, find(&part, "decay down")->forward_flops);
    CU_ASSERT_EQUAL(find(&one, "decay up")->forward_flops, 2 * find(&part, "decay up")->forward_flops);
    CU_ASSERT_EQUAL(find(&one, "decay up")->saved_bytes, find(&part, "decay up")->saved_bytes);
}

TEST(exchanges)
{
    struct setting t;
    setting_of(&t, offsetof(struct ss_model, gated_delta));
    t.job.micro_batch = 1;
    t.job.cp = 4;
    struct ss_ops ops = layer_of(&t, GATED);
    const struct ss_op_exchange *there = &find(&ops, "qkvz to heads")->exchange,
                                *back = &find(&ops, "output to tokens")->exchange;
    CU_ASSERT(there->comm == SS_COMM_CP && there->forward_coll == SS_COLL_ALL_TO_ALL);
    CU_ASSERT_EQUAL(there->forward, 1024 * WIDTH * 2);
    CU_ASSERT_EQUAL(back->backward, 1024 * V * 2);
    const struct ss_op_scan *call =
        &find(&ops, "delta rule")->call; /* the whole sequence, a part of the heads */
    CU_ASSERT(call->sequences == 1 && call->tokens == 4096 && call->heads == 2);
    CU_ASSERT_EQUAL(ss_layer_context_exchanges(&t.job), SS_COLL_BIT(SS_COLL_ALL_TO_ALL));
    setting_of(&t, offsetof(struct ss_model, kimi_delta));
    t.job.cp = 4;
    ops = layer_of(&t, KIMI);
    CU_ASSERT_EQUAL(find(&ops, "states")->exchange.forward, 4 * 2 * 8 * 2 * 128. * 128 * 4);
    call = &find(&ops, "kimi delta rule")->call; /* a part of the sequence, all heads */
    CU_ASSERT(call->sequences == 2 && call->tokens == 1024 && call->heads == 8);
    setting_of(&t, offsetof(struct ss_model, lightning));
    t.job.cp = 2;
    ops = layer_of(&t, LIGHTNING);
    CU_ASSERT_EQUAL(find(&ops, "states")->exchange.backward, 2 * 2 * 16 * 64. * 64 * 4);
    CU_ASSERT_EQUAL(ss_layer_context_exchanges(&t.job), SS_COLL_BIT(SS_COLL_ALL_GATHER));
    /* one norm over all heads: tensor ranks sum a number a token */
    t.job.cp = 1;
    int none = layer_of(&t, LIGHTNING).nborders;
    t.job.tp = 2;
    ops = layer_of(&t, LIGHTNING);
    CU_ASSERT_EQUAL(ops.nborders, none + 2);
    CU_ASSERT(ops.border[0].coll == SS_COLL_ALL_REDUCE && ops.border[0].bytes == 4 * T);
}

/* The forward is the card's curve of these kernels; the backward is as much longer as its products are more. */
TEST(seconds)
{
    struct setting t;
    struct ss_ops ops = {0};
    struct ss_layer_cost out;
    setting_of(&t, offsetof(struct ss_model, gated_delta));
    t.card.sm_clock = 1e9;
    t.card.curve_stream = 0.5;
    t.card.curve_gdn_launch = 1e-5;
    t.card.curve_gdn_cycles = 200;
    t.card.curve_gdn_chunk = 3000;
    struct ss_ops layer = layer_of(&t, GATED);
    ops.op[ops.n++] = *find(&layer, "delta rule");
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &out);
    const struct ss_delta_call call = {2, 4096, 8, 8, 128, 128};
    double bytes = ss_curve_gdn_bytes(&call);
    double seconds = 1e-5 + T * 8 * bytes / 0.5e12 + T * 8 * 200 / (100 * 1e9) + 64 * 3000 / 1e9;
    CU_ASSERT_DOUBLE_EQUAL(out.forward[SS_LABEL_COMPUTE], seconds, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(out.input_grad[SS_LABEL_COMPUTE], seconds * 507904 / 176128, 1e-12);
}

/* A gate as wide as the queries in the joint layer, its copy and the product; latent attention has a layer for it. */
TEST(gate)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops plain = layer_of(&t, FULL);
    t.job.model.attention_gate = 1;
    struct ss_ops ops = layer_of(&t, FULL);
    CU_ASSERT_EQUAL(find(&ops, "qkv")->forward_flops, 2 * T * H * (1024 + 1024 + 512));
    CU_ASSERT_EQUAL(ops.sum.params - plain.sum.params, H * 1024);
    CU_ASSERT_EQUAL(find(&ops, "output gate")->forward_bytes, 5 * T * 1024 * 2);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&plain, 0), 2 * T * 1024 * 2);
}

/* Latent attention without a rotary embedding moves what it joins, and turns nothing. */
TEST(unturned)
{
    const int kind = SS_LAYER_PAIR(SS_MIXER_LATENT, SS_MLP_DENSE);
    struct setting t;
    setting_make(&t);
    struct ss_model *m = &t.job.model;
    m->kv_lora_rank = 128;
    m->qk_head_dim = m->v_head_dim = 128;
    m->qk_pos_emb_head_dim = 64;
    t.stack.rope_passes = 2;
    struct ss_ops turned = layer_of(&t, kind);
    m->full_unturned = 2;
    struct ss_ops ops = layer_of(&t, kind);
    CU_ASSERT_EQUAL(find(&turned, "rope")->forward_bytes - find(&ops, "rope")->forward_bytes,
                    T * 16 * 2 * 64 * 2 * 2);
    CU_ASSERT(find(&ops, "rope")->forward_kernels < find(&turned, "rope")->forward_kernels);
    CU_ASSERT_EQUAL(ops.sum.params, turned.sum.params);
}
