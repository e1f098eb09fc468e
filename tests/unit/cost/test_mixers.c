/* SPDX-License-Identifier: Apache-2.0 */
/* Mamba-1, the short convolution, Mamba-2 beside attention and behind a shared block: FLOP, bytes, parameters and what is kept by hand. */

#include "small_job.h"

#define H 1024.
#define T 8192. /* tokens of two sequences of 4096 */
/* Mamba-1: 2048 channels with a state of 16, dt from 64 */
#define X 2048.
#define N 16.
#define R 64.

static void setting_mixer(struct setting *t, size_t rule)
{
    setting_make(t);
    struct ss_model *m = &t->job.model;
    ((struct ss_layer_rule *)((char *)m + rule))->period = 1;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
}

TEST(mamba1)
{
    struct setting t;
    setting_mixer(&t, offsetof(struct ss_model, mamba1));
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), SS_LAYER_PAIR(SS_MIXER_mamba1, SS_MLP_DENSE));
    CU_ASSERT(t.job.model.mamba1_inner == 2048 && t.job.model.mamba1_dt_rank == 64);
    struct ss_ops ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_mamba1, SS_MLP_NONE));
    const struct ss_op *scan = find(&ops, "selective scan"), *conv = find(&ops, "conv1d");
    CU_ASSERT_EQUAL(find(&ops, "mamba in")->forward_flops, 2 * T * H * 2 * X);
    CU_ASSERT_EQUAL(find(&ops, "x projection")->forward_flops, 2 * T * X * (R + 2 * N));
    CU_ASSERT_EQUAL(find(&ops, "dt projection")->backward_flops, 4 * T * R * X);
    CU_ASSERT_EQUAL(scan->forward_flops, 9 * T * X * N);
    CU_ASSERT_EQUAL(scan->backward_flops, 27 * T * X * N);
    /* x, dt, z, the output and it before the gate; B and C for each channel at half of their bytes; states of two chunks of 2048 tokens, of two sequences, twice N in fp32 */
    double states = 2 * 4 * X
    *N * 2 * 2;
    CU_ASSERT_EQUAL(scan->forward_bytes, 5 * 2 * T * X + 2 * T * X * N + states);
    CU_ASSERT_EQUAL(scan->backward_bytes, 8 * 2 * T * X + 2 * T * X * N + 8 * T * X * N + states);
    CU_ASSERT(conv->forward_bytes == 2 * 2 * T * X && conv->backward_bytes == 5 * 2 * T * X);
    CU_ASSERT_EQUAL(ops.sum.params, H + H * 2 * X + 5 * X + X * (R + 2 * N) + R * X + X + X * N + X + X * H);
    /* The norm keeps input and output; mamba_ssm's function x and z, the narrow projection's output, states and output before the gate;
     * the last projection its input. */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0), T * (2 * 2 * H + 4) + 2 * 2 * T * X + 2 * T * (R + 2 * N) +
                                                     states + 2 * T * X + 2 * T * X);
    /* Jamba norms dt, B and C, so that x, dt, B and C are kept by operators of their own. */
    t.job.model.mamba1_norms = SS_MAMBA_NORMS;
    struct ss_ops jamba = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_mamba1, SS_MLP_NONE));
    CU_ASSERT_EQUAL(jamba.sum.params - ops.sum.params, R + 2 * N);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&jamba, 0) - ss_ops_saved_bytes(&ops, 0),
                    -2 * T * (R + 2 * N) + T * (2 * 2 * (R + 2 * N) + 3 * 4) + 2 * 2 * T * X + 2 * 2 * T * N);
    t.job.model.mamba1_norms = SS_MAMBA_PLAIN_NORMS;
    jamba = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_mamba1, SS_MLP_NONE));
    CU_ASSERT_EQUAL(jamba.sum.params, ops.sum.params);
    CU_ASSERT_EQUAL(jamba.sum.tensors, ops.sum.tensors);
}

/* The scan of Mamba-1 runs on ordinary cores. */
TEST(rates)
{
    struct setting t;
    setting_make(&t);
    t.card.peak_cuda_cores = 5e13;
    /* nine sixteenths of it, or HBM's peak */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_scan(&t.card, SS_SCAN_SELECTIVE, 9e11, 1e6, 1), 3.2e-2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_scan(&t.card, SS_SCAN_SELECTIVE, 9e8, 1e9, 1), 1e-3, 1e-12);
}

TEST(short_conv)
{
    struct setting t;
    setting_mixer(&t, offsetof(struct ss_model, short_conv));
    struct ss_ops ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_short_conv, SS_MLP_NONE));
    CU_ASSERT_EQUAL(find(&ops, "conv in")->forward_flops, 2 * T * H * 3 * H);
    CU_ASSERT_EQUAL(find(&ops, "conv1d")->forward_flops, 2 * 3 * T * H);
    CU_ASSERT(find(&ops, "conv1d")->forward_bytes == 4 * T * H &&
              find(&ops, "B x")->forward_bytes == 6 * T * H);
    CU_ASSERT_EQUAL(find(&ops, "C conv")->backward_bytes, 12 * T * H);
    CU_ASSERT_EQUAL(ops.sum.params, H + 3 * H * H + 3 * H + H * H);
    /* the norm's input and output; B, C and x; their product; the convolution's output; the projection's input */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0), T * (4 * H + 4) + 2 * T * H * (3 + 1 + 1 + 1));
}

/* Mamba-2 beside attention: the operators of both, one norm, one residual, and the sum of both. */
TEST(parallel)
{
    struct setting t;
    setting_mixer(&t, offsetof(struct ss_model, parallel_mamba2));
    t.job.micro_batch = 1;
    struct ss_ops ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_parallel_mamba2, SS_MLP_NONE));
    struct ss_ops mamba = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_mamba2, SS_MLP_NONE));
    struct ss_ops attention = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_NONE));
    CU_ASSERT_EQUAL(ops.n, mamba.n + attention.n - 1);
    CU_ASSERT_EQUAL(ops.sum.params, mamba.sum.params + attention.sum.params - H);
    CU_ASSERT_EQUAL(find(&ops, "sum of both")->forward_bytes, 3 * 2 * 4096 * H);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0),
                    ss_ops_saved_bytes(&mamba, 0) + ss_ops_saved_bytes(&attention, 0) - 4096 * (4 * H + 4));
    /* A tensor rank has a half of the heads of both. */
    t.job.tp = 2;
    struct ss_ops half = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_parallel_mamba2, SS_MLP_NONE));
    static const char *const names[] = {"qkv", "core attention", "projection", "ssd scan", "mamba out"};
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(find(&ops, names[i])->forward_flops, 2 * find(&half, names[i])->forward_flops);
    t.job.tp = 1;
    t.job.model.mamba_norm = 0;
    half = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_parallel_mamba2, SS_MLP_NONE));
    CU_ASSERT_PTR_NULL(find(&half, "mamba norm"));
}

/* Two blocks for four layers: each layer counts a half of a block, and an adapter and a projection of its own. */
TEST(shared)
{
    struct setting t;
    setting_make(&t);
    struct ss_model *m = &t.job.model;
    m->shared_block.period = m->no_mlp.period = 1;
    m->num_shared_blocks = 2;
    m->adapter_rank = 32;
    m->num_query_groups = 16;
    m->kv_channels = 128;
    m->position = SS_POSITION_NONE;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    t.job.micro_batch = 1;
    struct ss_ops ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_shared_block, SS_MLP_NONE));
    struct ss_ops mamba = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_mamba2, SS_MLP_NONE));
    double f = m->ffn_hidden_size, block = 2 * H + 3 * 2 * H * 2048 + 2048 * H + H + 3 * H * f;
    CU_ASSERT_EQUAL(ops.sum.params - mamba.sum.params, block / 2 + H * 32 + 32 * 2 * f + H * H);
    CU_ASSERT_EQUAL(find(&ops, "q")->forward_flops, 2 * 4096. * 2 * H * 2048);
    CU_ASSERT_EQUAL(find(&ops, "adapter up")->forward_flops, 2 * 4096. * 32 * 2 * f);
    CU_ASSERT_EQUAL(find(&ops, "beside embedding")->forward_bytes, 4 * 2 * 4096. * H);
    CU_ASSERT_EQUAL(find(&ops, "shared norm")->saved_bytes, 4096 * (2 * 2 * 2 * H + 4));
    m->attention_adapters = 1;
    struct ss_ops more = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_shared_block, SS_MLP_NONE));
    CU_ASSERT_EQUAL(more.sum.params - ops.sum.params, 3 * (2 * H * 32 + 32 * 2048));
}

/* Blocks of keys by an indexer of 4 heads of 64, 512 keys: attention as of a window of 512, and scores of all keys in fp32. */
TEST(blocks)
{
    struct setting t;
    setting_make(&t);
    struct ss_model *m = &t.job.model;
    m->msa.period = 1;
    m->index_num_heads = 4;
    m->index_head_dim = 64;
    m->index_topk = 512;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    struct ss_ops ops = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_msa, SS_MLP_NONE));
    struct ss_ops full = layer_of(&t, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_NONE));
    /* 480 keys on average (512 - 512^2 / 8192) in place of 2048 */
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "core attention")->forward_flops,
                           find(&full, "core attention")->forward_flops * 480 / 2048, 1);
    const struct ss_op *scores = find(&ops, "index scores");
    CU_ASSERT(scores->gemm.precision == SS_FP32 && scores->gemm.no_input_grad && scores->gemm.no_weight_grad);
    CU_ASSERT_EQUAL(scores->forward_flops, 2 * 4 * 64 * T * 4096);
    CU_ASSERT_EQUAL(find(&ops, "choice of blocks")->forward_bytes, 5 * 4 * 4 * T * 4096);
    CU_ASSERT_EQUAL(ops.sum.params - full.sum.params, H * 5 * 64 + 2 * 64);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0), ss_ops_saved_bytes(&full, 0));
}
