/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSeek's sparse attention: kinds of layers, FLOP, bytes, what is saved, and division over ranks by hand. */
#include <math.h>

#include "small_job.h"
#include "stepsim/job_kinds.h"

#define DSA SS_LAYER_PAIR(SS_MIXER_dsa, SS_MLP_DENSE)
#define SHARED SS_LAYER_PAIR(SS_MIXER_dsa_shared, SS_MLP_DENSE)
#define H 1024.
#define T 8192. /* tokens of two sequences of 4096 */
/* 128 heads of 32 + 16 for keys and 32 for values; latents of 256 and 128; an indexer of 8 heads of 64, 512 keys */
#define HEADS 128.
#define KEY (128. + 16)
#define PAIRS (T * 4096 / 2)
/* The first 512 queries of a sequence see 1, 2, ... keys as one of a window does: 512 - 512^2 / (2 x 4096) on average. */
#define CHOSEN (T * 480)

static void setting_dsa(struct setting *t)
{
    setting_make(t);
    struct ss_model *m = &t->job.model;
    m->num_attention_heads = m->num_query_groups = 128;
    m->q_lora_rank = 256;
    m->kv_lora_rank = 128;
    m->qk_head_dim = m->v_head_dim = 32;
    m->qk_pos_emb_head_dim = 16;
    m->dsa.period = 1;
    m->index_num_heads = 8;
    m->index_head_dim = 64;
    m->index_topk = 512;
    m->qk_norm = SS_QK_NORM_HEAD;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
}

/* Layers with an indexer: by Megatron's rule, the first two, and each third after them. */
TEST(shared)
{
    struct setting t;
    setting_dsa(&t);
    struct ss_model *m = &t.job.model;
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), DSA);
    m->num_layers = 8;
    m->index_topk_freq = 3;
    m->index_topk_offset = 2;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, i), i == 0 || i == 1 || i == 4 || i == 7 ? DSA : SHARED);
    struct ss_ops with = layer_of(&t, DSA), without = layer_of(&t, SHARED);
    CU_ASSERT_EQUAL(with.sum.params - without.sum.params, 256. * 8 * 64 + H * 64 + 2 * 64 + H * 8);
    CU_ASSERT_PTR_NULL(find(&without, "index scores"));
}

TEST(operators)
{
    struct setting t;
    setting_dsa(&t);
    struct ss_ops ops = layer_of(&t, DSA);
    const struct ss_op *sparse = find(&ops, "sparse attention"), *scores = find(&ops, "index scores"),
                       *q = find(&ops, "q to latent"), *v = find(&ops, "v from latent");
    CU_ASSERT_EQUAL(scores->forward_flops, 2 * 8 * 64 * PAIRS);
    CU_ASSERT_EQUAL(scores->forward_bytes, 4 * PAIRS + 2 * (T * 8 * 64 + T * 64));
    CU_ASSERT(scores->backward_flops == 0 && scores->backward_bytes == 0 && scores->saved_bytes == 0);
    /* rows of 4096 scores of 4 B, read five times; indices of 8 B and values, masked indices read and written */
    CU_ASSERT_EQUAL(find(&ops, "choice of keys")->forward_bytes, T * (5 * 4 * 4096. + 24 * 512));
    CU_ASSERT_EQUAL(q->forward_flops, 2 * T * HEADS * 32 * 128);
    CU_ASSERT_EQUAL(v->backward_flops, 2 * q->forward_flops);
    CU_ASSERT(q->gemm.groups == 128 && q->gemm.m == T * 128 && q->gemm.n == 128 && q->gemm.k == 32);
    CU_ASSERT_EQUAL(sparse->forward_flops, 2 * HEADS * CHOSEN * (KEY + 128));
    CU_ASSERT_EQUAL(sparse->backward_flops, 2 * HEADS * CHOSEN * (3 * KEY + 2 * 128));
    /* queries, outputs, chosen keys at half of their bytes, keys, indices */
    CU_ASSERT_EQUAL(sparse->forward_bytes,
                    2 * T * HEADS * (KEY + 128) + CHOSEN * KEY + 2 * T * KEY + 4 * T * 512);
    /* q up keeps its input behind and before the norm; the products their inputs, attention queries, keys, indices and statistics */
    CU_ASSERT_EQUAL(q->saved_bytes, 2 * T * HEADS * 48);
    CU_ASSERT_EQUAL(find(&ops, "rope")->saved_bytes, 2 * T * (HEADS + 1) * KEY);
    CU_ASSERT_EQUAL(sparse->saved_bytes, 4 * T * 512 + 4 * T * HEADS);
    CU_ASSERT_EQUAL(v->saved_bytes, 2 * T * HEADS * 128);
    CU_ASSERT_EQUAL(find(&ops, "projection")->saved_bytes, 2 * T * HEADS * 32);
    CU_ASSERT_EQUAL(find(&ops, "kv norm")->saved_bytes, T * (2 * 128 + 4));
    /* both down projections with norms, up projections, output; the indexer; MLP and norms */
    double latent = H * 256 + 256 + 256 * HEADS * 48 + H * KEY + 128 + 128 * HEADS * 64 + HEADS * 32 * H;
    CU_ASSERT_EQUAL(ops.sum.params,
                    latent + 256 * 512 + H * 64 + 128 + H * 8 + 3 * H * t.job.model.ffn_hidden_size + 2 * H);
    t.job.dsa_kernels = SS_DSA_TILELANG;
    ops = layer_of(&t, DSA);
    const struct ss_op *tile = find(&ops, "sparse attention");
    CU_ASSERT_EQUAL(tile->backward_flops, 2 * HEADS * CHOSEN * (4 * KEY + 3 * 128));
    CU_ASSERT_EQUAL(tile->saved_bytes, 4 * T * 512);
}

/* The loss: over all keys in the warm-up, then over the chosen ones; TileLang makes its gradient in the backward. */
TEST(loss)
{
    struct setting t;
    setting_dsa(&t);
    t.job.index_loss = SS_INDEX_LOSS_ALL;
    struct ss_ops ops = layer_of(&t, DSA);
    CU_ASSERT_EQUAL(find(&ops, "index target")->forward_flops, 2 * HEADS * KEY * PAIRS);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->forward_flops, 6 * 8 * 64 * PAIRS);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->saved_bytes, 2 * T * (8 * 64 + 64 + 8));
    t.job.index_loss = SS_INDEX_LOSS_CHOSEN;
    t.job.dsa_kernels = SS_DSA_TILELANG;
    ops = layer_of(&t, DSA);
    CU_ASSERT_EQUAL(find(&ops, "index target")->forward_flops, 2 * HEADS * KEY * CHOSEN);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->forward_flops, 0);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->backward_flops, 6 * 8 * 64 * CHOSEN);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->saved_bytes, 4 * T * 512);
    /* A weight gradient, and none of the input; without a loss neither has. */
    CU_ASSERT(find(&ops, "index q")->gemm.no_input_grad && !find(&ops, "index q")->gemm.no_weight_grad);
    CU_ASSERT_EQUAL(find(&ops, "index q")->backward_flops, 2 * T * 256 * 512);
    t.job.index_loss = SS_INDEX_LOSS_NONE;
    ops = layer_of(&t, DSA);
    CU_ASSERT(find(&ops, "index q")->gemm.no_weight_grad && !find(&ops, "index q")->backward_flops);
}

/* Tensor ranks divide heads, and each has the whole indexer; context ranks divide queries and gather keys. */
TEST(parallel)
{
    struct setting t;
    setting_dsa(&t);
    t.job.micro_batch = 1;
    struct ss_ops one = layer_of(&t, DSA);
    t.job.tp = 2;
    t.job.sequence_parallel = 1;
    struct ss_ops tensor = layer_of(&t, DSA);
    static const char *const by_heads[] = {"q up", "q to latent", "sparse attention", "v from latent",
                                           "projection"};
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(find(&one, by_heads[i])->forward_flops,
                        2 * find(&tensor, by_heads[i])->forward_flops);
        CU_ASSERT_EQUAL(find(&one, by_heads[i])->params, 2 * find(&tensor, by_heads[i])->params);
    }
    static const char *const whole[] = {"index q", "index k", "index weights", "index scores"};
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(find(&one, whole[i])->forward_flops, find(&tensor, whole[i])->forward_flops);
    CU_ASSERT_EQUAL(tensor.nborders, 3);
    CU_ASSERT_EQUAL(tensor.border[0].bytes, 2 * 4096 * KEY);
    CU_ASSERT_EQUAL(tensor.border[2].bytes, 2 * 4096 * (H + 256));
    t.job.tp = 1;
    t.job.cp = 4;
    t.job.cp_comm_type = SS_CP_ALLGATHER;
    struct ss_ops context = layer_of(&t, DSA);
    CU_ASSERT_EQUAL(find(&one, "sparse attention")->backward_flops,
                    4 * find(&context, "sparse attention")->backward_flops);
    CU_ASSERT_EQUAL(find(&one, "index scores")->forward_flops,
                    4 * find(&context, "index scores")->forward_flops);
    const struct ss_op *keys = find(&context, "keys of context ranks");
    CU_ASSERT_EQUAL(keys->exchange.forward, 2 * 4096 * (KEY + 64));
    CU_ASSERT_EQUAL(keys->exchange.backward, 2 * 4096 * KEY);
    CU_ASSERT_EQUAL(find(&context, "order of keys")->saved_bytes, 2 * 3072 * KEY);
}

/* Megatron's count takes latent attention for what it is: all keys, heads of 48 and 32. */
TEST(flops)
{
    struct setting t;
    setting_dsa(&t);
    struct ss_ops sparse = layer_of(&t, DSA);
    struct ss_ops latent = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_LATENT, SS_MLP_DENSE));
    double a = 0, b = 0;
    for (int i = 0; i < sparse.n; i++)
        a += sparse.op[i].model_flops;
    for (int i = 0; i < latent.n; i++)
        b += latent.op[i].model_flops;
    CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9 * b);
    const struct ss_op *op = find(&sparse, "sparse attention");
    CU_ASSERT_EQUAL(op->attention.seen, 960. / 4096 / 2);
    CU_ASSERT_EQUAL(op->attention.bounded, 512. / 4096);
}
