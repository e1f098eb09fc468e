/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of Mamba-2, layers of one half, experts in a latent, and predictions with layers of their own: FLOP, bytes and parameters by hand. */
#include <math.h>

#include "model/model_internal.h"
#include "small_job.h"

#define MAMBA SS_LAYER_PAIR(SS_MIXER_mamba2, SS_MLP_NONE)
#define ATTENTION SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_NONE)
#define MLP SS_LAYER_PAIR(SS_MIXER_no_mixer, SS_MLP_DENSE)
#define MIXTURE SS_LAYER_PAIR(SS_MIXER_no_mixer, SS_MLP_MOE)
#define H 1024.
#define T 8192. /* tokens of two sequences of 4096 */
/* 32 heads of 64 channels, 8 groups with a state of 128, chunks of 128 */
#define X 2048.
#define BC 1024.
#define WIDTH (2 * X + 2 * BC + 32)
#define STATES (T / 128 * X * 128)
#define SCORES (T * 128 * 8)

static void setting_mamba(struct setting *t)
{
    struct ss_layer_pattern pattern;
    const char *why;
    setting_make(t);
    t->card.scan_products = 0.25;
    CU_ASSERT_EQUAL_FATAL(ss_model_pattern(&t->job.model, "M*-M", &pattern, &why), 0);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t->job.model, NULL), 0);
}

TEST(kinds)
{
    struct setting t;
    setting_mamba(&t);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), MAMBA);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 1), ATTENTION);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 2), MLP);
    CU_ASSERT_EQUAL(t.job.model.mamba_num_heads, 32);
    /* one norm and one residual each */
    static const int kinds[] = {MAMBA, ATTENTION, MLP};
    for (int k = 0; k < 3; k++) {
        struct ss_ops ops = layer_of(&t, kinds[k]);
        int norms = 0, residuals = 0;
        for (int i = 0; i < ops.n; i++) {
            norms += !strcmp(ops.op[i].name, "input norm") || !strcmp(ops.op[i].name, "mlp norm");
            residuals += !strcmp(ops.op[i].name, "residual");
        }
        CU_ASSERT(norms == 1 && residuals == 1);
    }
    struct ss_ops mlp = layer_of(&t, MLP), attention = layer_of(&t, ATTENTION), both = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(mlp.n + attention.n, both.n);
    CU_ASSERT_EQUAL(mlp.sum.params + attention.sum.params, both.sum.params);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&mlp, 0) + ss_ops_saved_bytes(&attention, 0),
                    ss_ops_saved_bytes(&both, 0));
}

TEST(operators)
{
    struct setting t;
    setting_mamba(&t);
    struct ss_ops ops = layer_of(&t, MAMBA);
    const struct ss_op *in = find(&ops, "mamba in"), *conv = find(&ops, "conv1d"),
                       *scan = find(&ops, "ssd scan");
    CU_ASSERT_EQUAL(in->forward_flops, 2 * T * H * WIDTH);
    CU_ASSERT_EQUAL(find(&ops, "mamba out")->backward_flops, 4 * T * X * H);
    CU_ASSERT(conv->kind == SS_OP_SCAN && conv->scan == SS_SCAN_CONV1D && scan->scan == SS_SCAN_CHUNKED);
    CU_ASSERT(conv->forward_bytes == 4 * T * (X + 2 * BC) && conv->backward_bytes == 10 * T * (X + 2 * BC));
    /* states in and out, products of C and B, and three quarters of those with x in a chunk of two tiles of 64 rows */
    double by_states = 2 * T * X
    *128, cb = 2 * SCORES * 128, inside = 2 * T * X
    *128 * 0.75;
    CU_ASSERT_EQUAL(scan->forward_flops, 2 * by_states + cb + inside);
    CU_ASSERT_EQUAL(scan->backward_flops, 5 * by_states + 3 * cb + 3 * inside);
    /* forward: dt (2 B read, 8 written); states: B, x, dt twice, 4 B written, 4 read, 2 written; C and B, 4 B a product; the scan reads
     * products, x, z, C, dt twice and states, and writes its output with and without the gate. */
    double x = 2 * T * X
    , bc = 2 * T * BC, dt = T * 32;
    CU_ASSERT_EQUAL(scan->forward_bytes, 10 * dt + (bc + x + 8 * dt + 10 * STATES) + (2 * bc + 4 * SCORES) +
                                             (4 * SCORES + 2 * x + bc + 8 * dt + 2 * STATES) + 2 * x);
    CU_ASSERT_EQUAL(ops.sum.params, H + H * WIDTH + 5 * (X + 2 * BC) + 3 * 32 + X + X * H);
    /* The norm keeps input and output; the scan its input and its output before the gate; the gated norm that behind it and a statistic a
     * group; the projection its input. */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0),
                    T * (2 * 2 * H + 4) + 2 * T * WIDTH + 2 * T * X + T * (2 * X + 4 * 8) + 2 * T * X);
    CU_ASSERT_EQUAL(find(&ops, "batch first")->forward_bytes,
                    4 * T * WIDTH); /* two sequences are put behind each other */
    t.job.micro_batch = 1;
    ops = layer_of(&t, MAMBA);
    CU_ASSERT_PTR_NULL(find(&ops, "batch first"));
    CU_ASSERT_PTR_NULL(find(&ops, "z to heads"));
}

/* Without Megatron's memory-efficient path: eleven copies, the convolution keeps its input and the scan dt's sums, the norm has the gate. */
TEST(apart)
{
    struct setting t;
    setting_mamba(&t);
    t.job.micro_batch = 1;
    struct ss_ops one = layer_of(&t, MAMBA);
    t.job.mamba_apart = 1;
    struct ss_ops ops = layer_of(&t, MAMBA);
    double rows = 4096, conv = X
    +2 * BC, x = 2 * rows * X;
    CU_ASSERT_EQUAL(find(&ops, "parts apart")->forward_bytes, 4 * rows * (2 * conv + WIDTH));
    CU_ASSERT_EQUAL(find(&ops, "parts apart")->backward_bytes, 4 * rows * (3 * conv + WIDTH));
    CU_ASSERT_EQUAL(find(&ops, "conv1d")->backward_bytes, 6 * rows * conv);
    CU_ASSERT(find(&one, "conv1d")->forward_kernels == 0 && find(&ops, "conv1d")->forward_kernels == 1);
    CU_ASSERT_EQUAL(find(&one, "ssd scan")->forward_bytes - find(&ops, "ssd scan")->forward_bytes, 2 * x);
    CU_ASSERT_EQUAL(find(&one, "ssd scan")->backward_bytes - find(&ops, "ssd scan")->backward_bytes, 6 * x);
    CU_ASSERT_EQUAL(find(&ops, "mamba norm")->forward_bytes, 3 * x);
    /* B and C twice, and four bytes a head */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - ss_ops_saved_bytes(&one, 0), rows * (2 * 2 * BC + 4 * 32));
    CU_ASSERT_EQUAL(ops.sum.params, one.sum.params);
    t.job.micro_batch = 2; /* the order of the batch copies the output */
    struct ss_ops two = layer_of(&t, MAMBA);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&two, 0) - 2 * ss_ops_saved_bytes(&ops, 0), 2 * x);
    t.job.cp = 2;
    t.job.model.mamba_norm = 0; /* the scan has the gate */
    ops = layer_of(&t, MAMBA);
    CU_ASSERT_PTR_NULL(find(&ops, "z to tokens"));
    t.job.model.mamba_norm = 1;
    ops = layer_of(&t, MAMBA);
    CU_ASSERT_EQUAL(find(&ops, "z to tokens")->exchange.forward, x);
}

/* A half of the heads and groups of a tensor rank; a context rank works on all tokens of a half of its heads. */
TEST(parallel)
{
    struct setting t;
    setting_mamba(&t);
    t.job.micro_batch = 1;
    struct ss_ops one = layer_of(&t, MAMBA);
    t.job.tp = 2;
    struct ss_ops tensor = layer_of(&t, MAMBA);
    t.job.tp = 1;
    t.job.cp = 2;
    struct ss_ops context = layer_of(&t, MAMBA);
    static const char *const names[] = {"mamba in", "conv1d", "ssd scan", "mamba norm", "mamba out"};
    for (size_t i = 0; i < 5; i++) {
        const struct ss_op *a = find(&one, names[i]), *b = find(&tensor, names[i]),
                           *c = find(&context, names[i]);
        CU_ASSERT_EQUAL(a->forward_flops, 2 * b->forward_flops);
        CU_ASSERT_EQUAL(a->backward_bytes, 2 * b->backward_bytes);
        CU_ASSERT_EQUAL(a->saved_bytes, 2 * b->saved_bytes);
        CU_ASSERT_EQUAL(a->params, 2 * b->params);
        CU_ASSERT_EQUAL(a->backward_flops, 2 * c->backward_flops);
        CU_ASSERT_EQUAL(a->forward_bytes, 2 * c->forward_bytes);
        CU_ASSERT_EQUAL(a->saved_bytes, 2 * c->saved_bytes);
        CU_ASSERT_EQUAL(a->params, c->params);
    }
    const struct ss_op_exchange *z = &find(&context, "z to heads")->exchange;
    CU_ASSERT(z->comm == SS_COMM_CP && z->forward_coll == SS_COLL_ALL_TO_ALL && z->forward == 2048 * X * 2);
    CU_ASSERT_EQUAL(find(&context, "B to heads")->exchange.forward, 2048 * BC * 2);
    t.job.cp = 16; /* two ranks share a group and repeat its B and C */
    context = layer_of(&t, MAMBA);
    CU_ASSERT_EQUAL(find(&context, "B to heads")->exchange.forward, 256 * 2 * BC * 2);
    CU_ASSERT_EQUAL(find(&context, "conv1d")->forward_bytes, 4 * 4096 * (X / 16 + 2 * 128));
}

/* The roofline of a scan, and a card that says which share of it its kernels reach. */
TEST(rates)
{
    struct setting t;
    setting_mamba(&t);
    t.card.kernel_latency = 1e-6;
    t.card.sm_count = 100, t.card.sm_clock = 2e9, t.card.curve_stream = 0.8;
    t.card.scan_cycles = 0.15, t.card.curve_mamba_conv_cycles = 1.2;
    /* 1e9 bytes: 1.25 ms of HBM, and 1e9 0.15 cycles of 2e11 a second, 0.75 ms; products are in the cycles */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_scan(&t.card, SS_SCAN_CHUNKED, 1e12, 1e9, 8), 2e-3 + 8e-6, 1e-12);
    /* a convolution has 1.5 ms of cycles, which hide HBM's time, or with fewer of them HBM's */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_scan(&t.card, SS_SCAN_CONV1D, 1e9, 1e9, 8), 1.5e-3 + 8e-6, 1e-12);
    t.card.curve_mamba_conv_cycles = 0.4;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_scan(&t.card, SS_SCAN_CONV1D, 1e9, 1e9, 8), 1.25e-3 + 8e-6, 1e-12);
}

/* Experts of 256 x 512 in place of 1024 x 512: tokens are projected to 256 behind the router, and back behind the experts. */
TEST(latent)
{
    struct setting t;
    const struct ss_token_spread spread = {
        .expert_copies = 8192. * 2 / 8, .hottest = 1, .copies = 1, .source = 1};
    setting_make(&t);
    t.job.model.num_experts = 8;
    t.job.model.top_k = 2;
    t.job.model.moe_ffn_hidden_size = t.job.model.shared_expert_ffn_hidden_size = 512;
    t.job.model.gated_mlp = 0;
    t.job.model.moe_latent_size = 256;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t.job.model, NULL), 0);
    shape_again(&t);
    ss_shape_experts(&t.c.shape, &t.job, &spread);
    struct ss_ops ops;
    ss_layer_operators(MIXTURE, &t.c.shape, &ops);
    CU_ASSERT_EQUAL(find(&ops, "to latent")->forward_flops, 2 * T * H * 256);
    CU_ASSERT_EQUAL(find(&ops, "to latent")->saved_bytes, 0);
    CU_ASSERT_EQUAL(find(&ops, "from latent")->saved_bytes, T * 256 * 2);
    CU_ASSERT_EQUAL(find(&ops, "experts fc1")->forward_flops, 2 * 2 * T * 256 * 512);
    CU_ASSERT_EQUAL(find(&ops, "experts fc1")->saved_bytes, 2 * T * (256 + 512) * 2);
    CU_ASSERT_EQUAL(find(&ops, "shared fc1")->forward_flops, 2 * T * H * 512);
    CU_ASSERT_EQUAL(ops.sum.expert, 8 * 2 * 256. * 512);
    CU_ASSERT_EQUAL(ops.sum.params, 8 * 2 * 256. * 512 + 2 * 256 * H + 8 * H + H + 2 * H * 512);
}
