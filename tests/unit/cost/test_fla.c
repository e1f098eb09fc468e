/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of flash-linear-attention's models, RWKV-7, retention, attention over blocks: FLOP, bytes, what is saved, parameters and exchanges by
 * hand; exchanges of context ranks that have parts of a sequence. */

#include "base/base.h"
#include "small_job.h"

#define H 1024.
#define T 8192. /* tokens of two sequences of 4096 */
/* RWKV-7: ranks of decay, rate, values and gate */
#define W 64.
#define A 96.
#define V 32.
#define G 128.

#define LAYER(mixer) SS_LAYER_PAIR(SS_MIXER_##mixer, SS_MLP_NONE)
#define RULE(field) offsetof(struct ss_model, field)

static void setting_of(struct setting *t, size_t rule)
{
    setting_make(t);
    struct ss_model *m = &t->job.model;
    ((struct ss_layer_rule *)((char *)m + rule))->period = 1;
    m->num_query_groups = m->num_attention_heads;
    m->decay_rank = (int)W;
    m->rate_rank = (int)A;
    m->value_rank = (int)V;
    m->gate_rank = (int)G;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
}

/* Bytes that a mixer keeps behind its first norm. */
static double saved_of_mixer(const struct ss_ops *ops)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += strcmp(ops->op[i].name, "input norm") != 0 ? ops->op[i].saved_bytes : 0;
    return sum;
}

TEST(rwkv7)
{
    struct setting t;
    setting_of(&t, RULE(rwkv7));
    t.job.model.gated_mlp = 0;
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), SS_LAYER_PAIR(SS_MIXER_rwkv7_first, SS_MLP_CHANNEL_MIX));
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), SS_LAYER_PAIR(SS_MIXER_rwkv7, SS_MLP_CHANNEL_MIX));
    struct ss_ops ops = layer_of(&t, LAYER(rwkv7)), first = layer_of(&t, LAYER(rwkv7_first));
    const struct ss_op *rule = find(&ops, "rwkv7 rule");
    CU_ASSERT_EQUAL(find(&ops, "receptance")->forward_flops, 2 * T * H * H);
    CU_ASSERT_EQUAL(find(&ops, "rate down")->forward_flops, 2 * T * H * A);
    CU_ASSERT_EQUAL(find(&ops, "gate up")->backward_flops, 4 * T * G * H);
    /* a token and head of 64 in chunks of 64: 98,304 FLOP forward, 270,336 backward; 1,472 channels and 256 products in 16 bit, 256 sums and
     * 384 products in fp32, and states of 128 */
    CU_ASSERT_EQUAL(rule->forward_flops, T * 16 * 98304);
    CU_ASSERT_EQUAL(rule->backward_flops, T * 16 * 270336);
    CU_ASSERT_EQUAL(rule->forward_bytes, T * 16 * (2 * (1472 + 256 + 128) + 4 * (256 + 384)));
    CU_ASSERT_EQUAL(rule->backward_bytes, T * 16 * (2 * (3968 + 256 + 320) + 4 * (448 + 1024)));
    CU_ASSERT_EQUAL(rule->model_flops, T * 16 * 8 * 64 * 64);
    CU_ASSERT_EQUAL(find(&ops, "mixtures")->forward_bytes, 8 * T * 2 * H);
    CU_ASSERT_EQUAL(find(&ops, "correction")->backward_bytes, 20 * T * 2 * H);
    CU_ASSERT_EQUAL(find(&ops, "time mix inputs")->forward_bytes, 24 * T * 2 * H + 2 * T * 2 * (W + G));
    CU_ASSERT_EQUAL(find(&first, "time mix inputs")->forward_bytes, 18 * T * 2 * H + 2 * T * 2 * (W + G));
    /* four matrices; low ranks, whose second halves have biases but the gate's; six mixtures, three vectors, a norm; RMSNorm of the test */
    double low = 2 * H * (W + A + G) + 2 * H;
    CU_ASSERT_EQUAL(first.sum.params, H + 4 * H * H + low + 6 * H + 3 * H + 2 * H);
    CU_ASSERT_EQUAL(ops.sum.params - first.sum.params, 2 * H * V + H);
    /* 23 tensors: difference and mixtures 7, decay 2, rate, values before and weight 2, keys 2, normed keys, two of the update,
     * receptance, values, output, normed, gate, its product; inner tensors of the low ranks; norms of keys, two statistics of the output */
    CU_ASSERT_EQUAL(saved_of_mixer(&ops), T * (2 * (23 * H + W + A + V + G) + 3 * 4 * 16));
    CU_ASSERT_EQUAL(saved_of_mixer(&ops) - saved_of_mixer(&first), T * 2 * (2 * H + V));
}

/* The MLP of a mixture with the token before: one vector, one tensor kept. */
TEST(channel_mix)
{
    struct setting t;
    setting_of(&t, RULE(rwkv7));
    struct ss_ops mix = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_no_mixer, SS_MLP_CHANNEL_MIX));
    struct ss_ops plain = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_no_mixer, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(mix.sum.params - plain.sum.params, H);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&mix, 0) - ss_ops_saved_bytes(&plain, 0), T * 2 * H);
    CU_ASSERT_EQUAL(find(&mix, "channel fc1")->forward_flops, find(&plain, "fc1")->forward_flops);
    CU_ASSERT_EQUAL(find(&mix, "mixture")->forward_bytes, 3 * T * 2 * H);
    CU_ASSERT_EQUAL(find(&mix, "token shift")->backward_bytes, 5 * T * 2 * H);
    /* recompute of the MLP drops what it keeps but for its input, the norm's output */
    unsigned mlp = SS_MODULE_BIT(SS_MODULE_MLP);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&mix, mlp), ss_ops_saved_bytes(&plain, mlp));
}

/* Values twice as wide as keys, 16 heads of 64 and 128; otherwise lightning attention. */
TEST(retention)
{
    struct setting t;
    setting_of(&t, RULE(retention));
    t.job.model.linear_value_head_dim = 128;
    struct ss_ops ops = layer_of(&t, LAYER(retention));
    const struct ss_op *scan = find(&ops, "lightning scan");
    CU_ASSERT_EQUAL(find(&ops, "v")->forward_flops, 2 * T * H * 2 * H);
    CU_ASSERT_EQUAL(scan->forward_flops, T * 16 * (4 * 64 * 128 + 2 * 64 * 64 + 2 * 64 * 128));
    CU_ASSERT_EQUAL(scan->backward_flops, T * 16 * (10 * 64 * 128 + 6 * 64 * 64 + 4 * 64 * 128));
    CU_ASSERT_EQUAL(scan->forward_bytes, T * 16 * 2 * (3 * 64 + 3 * 128 + 2 * 128));
    CU_ASSERT_EQUAL(scan->saved_bytes, T * 16 * 2 * (64 + 64 + 128));
    CU_ASSERT_EQUAL(ops.sum.params, H + 2 * H * H + 3 * 2 * H * H + 128);
    t.job.tp = 2; /* a half of the heads, and of the states */
    t.job.cp = 2;
    t.job.micro_batch = 1;
    ops = layer_of(&t, LAYER(retention));
    CU_ASSERT_EQUAL(find(&ops, "lightning scan")->forward_flops,
                    4096 / 2 * 8 * (4 * 64 * 128 + 2 * 64 * 64 + 2 * 64 * 128.));
    CU_ASSERT_EQUAL(find(&ops, "states")->exchange.forward, 2 * 8 * 64 * 128 * 4);
}

/* 64 heads of 32 and 4 of keys; 16 blocks of 64 keys and a window of 512, in sequences of 4096: 2048 keys before a query on average, 32 means of
 * them, 1024 - 1024^2 / 8192 = 896 chosen ones. */
TEST(nsa)
{
    struct setting t;
    setting_of(&t, RULE(nsa));
    struct ss_model *m = &t.job.model;
    m->num_attention_heads = 64;
    m->num_query_groups = 4;
    m->kv_channels = 32;
    struct ss_ops ops = layer_of(&t, LAYER(nsa)), full = layer_of(&t, LAYER(FULL));
    const struct ss_op *means = find(&ops, "compressed branch"), *chosen = find(&ops, "chosen branch");
    double q = 64 * 32, kv = 4 * 32;
    CU_ASSERT(m->sparse_block == 64 && m->sparse_blocks == 16 && m->sparse_window == 512);
    CU_ASSERT_EQUAL(means->forward_flops, 6 * q * T * 32);
    CU_ASSERT_EQUAL(means->backward_flops, 14 * q * T * 32);
    CU_ASSERT_EQUAL(chosen->forward_flops, 4 * q * T * 896);
    CU_ASSERT_EQUAL(chosen->backward_flops, 14 * q * T * 896);
    /* queries and output; keys and values of a group from L2 at half the price; queries and output's gradient once a block */
    CU_ASSERT_EQUAL(chosen->forward_bytes, T * (2 * 2 * q + 896 * 2 * kv));
    CU_ASSERT_EQUAL(chosen->backward_bytes,
                    T * (5 * 2 * q + 896 * 2 * kv + 896 / 64 * 2 * q + 3 * 4 * 4 * 16));
    /* attention of the window: 480 keys on average, 512 - 512^2 / 8192 */
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "core attention")->forward_flops,
                           find(&full, "core attention")->forward_flops * 480 / 2048, 1);
    CU_ASSERT_EQUAL(ops.sum.params - full.sum.params, H * 3 * 64);
    /* gates, means, outputs of two branches and of their sum, two statistics a head, indices */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&full, 0),
                    T * (2 * 3 * 64 + 2 * 2 * kv / 64 + 3 * 2 * q + 2 * 4 * 64 + 4 * 4 * 16));
}

/* Four blocks of 256 keys, a query's own among them, in sequences of 4096: of 16 blocks the first three have fewer before them, 3 - 6/16. */
TEST(moba)
{
    struct setting t;
    setting_of(&t, RULE(moba));
    struct ss_ops ops = layer_of(&t, LAYER(moba)), full = layer_of(&t, LAYER(FULL));
    const struct ss_op *chosen = find(&ops, "chosen blocks"), *scores = find(&ops, "block scores");
    double rows = T * 16 * (3 - 6. / 16);
    CU_ASSERT_EQUAL(chosen->forward_flops, 4 * rows * 256 * 64);
    CU_ASSERT_EQUAL(chosen->backward_flops, 10 * rows * 256 * 64);
    CU_ASSERT_EQUAL(scores->forward_flops, 2 * T * H * 16);
    CU_ASSERT(scores->gemm.precision == SS_FP32 && scores->backward_kernels == 0 && scores->params == 0);
    CU_ASSERT_EQUAL(find(&ops, "choice of blocks")->forward_bytes, 42 * T * 16 * 16);
    CU_ASSERT_EQUAL(find(&ops, "choice of blocks")->host_waits, 1);
    /* its own block: 128 keys on average */
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "core attention")->forward_flops,
                           find(&full, "core attention")->forward_flops / 16, 1);
    CU_ASSERT_EQUAL(ops.sum.params - full.sum.params, 64);
    /* gathered queries, keys and values in another order, the list; the norm's input and statistics */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&full, 0),
                    rows * (2 * 64 + 8) + T * (2 * 2 * H) + T * (2 * H + 4 * 16));
    t.job.model.sparse_blocks = 1; /* fla: all keys */
    ops = layer_of(&t, LAYER(moba));
    CU_ASSERT_PTR_NULL(find(&ops, "chosen blocks"));
    CU_ASSERT_EQUAL(find(&ops, "core attention")->forward_flops,
                    find(&full, "core attention")->forward_flops);
}

/* All ranks of a context group together do the work of one rank, and each gathers what others hand on. */
TEST(context)
{
    static const struct {
        size_t rule;
        int kind;
        const char *exchange;
        double bytes; /* of one rank's part, a sequence */
    } rows[] = {{RULE(rwkv7), LAYER(rwkv7), "states", 16 * 2 * 64 * 64 * 4},
                {RULE(rwkv7), LAYER(rwkv7), "last token", 2 * H},
                {RULE(short_conv), LAYER(short_conv), "tokens of convolution", 2 * 2 * H},
                {RULE(kimi_delta), LAYER(kimi_delta), "tokens of convolution", 3 * 16 * 128 * 2},
                {RULE(lightning), LAYER(lightning), "states", 16 * 64 * 64 * 4}};
    for (size_t r = 0; r < SS_ARRAY_LEN(rows); r++) {
        struct setting t;
        setting_of(&t, rows[r].rule);
        struct ss_ops one = layer_of(&t, rows[r].kind);
        t.job.cp = 4;
        struct ss_ops part = layer_of(&t, rows[r].kind);
        const struct ss_op *exchange = find(&part, rows[r].exchange);
        CU_ASSERT_PTR_NULL(find(&one, rows[r].exchange));
        CU_ASSERT_EQUAL(exchange->exchange.forward, 4 * 2 * rows[r].bytes);
        CU_ASSERT_EQUAL(exchange->exchange.backward, exchange->exchange.forward);
        CU_ASSERT_EQUAL(ss_layer_context_exchanges(&t.job), SS_COLL_BIT(SS_COLL_ALL_GATHER));
        for (int i = 0, k = 0; i < one.n; i++, k++) {
            while (part.op[k].kind == SS_OP_EXCHANGE)
                k++;
            const struct ss_op *a = &one.op[i], *b = &part.op[k];
            CU_ASSERT_STRING_EQUAL(a->name, b->name);
            CU_ASSERT_DOUBLE_EQUAL(a->forward_flops, 4 * b->forward_flops, 1e-15 * a->forward_flops);
            CU_ASSERT_DOUBLE_EQUAL(a->backward_bytes, 4 * b->backward_bytes, 1e-15 * a->backward_bytes);
            CU_ASSERT_DOUBLE_EQUAL(a->saved_bytes, 4 * b->saved_bytes, 1e-15 * a->saved_bytes);
            CU_ASSERT_EQUAL(a->params, b->params);
        }
    }
}

/* The longest lists have room: a layer of casts, and of blocks that layers share. */
TEST(room)
{
    static const struct {
        size_t rule;
        int kind;
    } rows[] = {{RULE(rwkv7), SS_LAYER_PAIR(SS_MIXER_rwkv7, SS_MLP_CHANNEL_MIX)},
                {RULE(nsa), SS_LAYER_PAIR(SS_MIXER_nsa, SS_MLP_DENSE)},
                {RULE(moba), SS_LAYER_PAIR(SS_MIXER_moba, SS_MLP_DENSE)},
                {RULE(retention), SS_LAYER_PAIR(SS_MIXER_retention, SS_MLP_DENSE)},
                {RULE(shared_block), SS_LAYER_PAIR(SS_MIXER_shared_block, SS_MLP_DENSE)},
                {RULE(parallel_mamba2), SS_LAYER_PAIR(SS_MIXER_parallel_mamba2, SS_MLP_DENSE)}};
    for (size_t r = 0; r < SS_ARRAY_LEN(rows); r++) {
        struct setting t;
        setting_of(&t, rows[r].rule);
        t.job.precision = SS_FP8;
        t.job.mamba_apart = 1;
        t.job.model.attention_adapters = 1;
        t.job.cp = 2;
        t.job.deterministic = 1;
        struct ss_ops ops = layer_of(&t, rows[r].kind);
        CU_ASSERT(ops.n < SS_OPS_MAX && find(&ops, "fp8 cast") != NULL);
    }
}
