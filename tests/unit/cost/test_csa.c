/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSeek-V4's attention: FLOP, bytes, what is saved, and division over ranks by hand. */
#include <math.h>

#include "model/model_internal.h"
#include "scale_job.h"
#include "small_job.h"
#include "stepsim/job_kinds.h"
#include "stepsim/parameters.h"

#define CSA SS_LAYER_PAIR(SS_MIXER_csa, SS_MLP_NONE)
#define HCA SS_LAYER_PAIR(SS_MIXER_hca, SS_MLP_NONE)
#define LOCAL SS_LAYER_PAIR(SS_MIXER_csa_local, SS_MLP_NONE)
#define H 1024.
#define T 8192. /* tokens of two sequences of 4096 */
/* 64 heads of 32, of which 8 channels are turned; a latent of 256; 4 groups of a rank of 96; an indexer of 8 heads of 16, 256 keys */
#define HEADS 64.
#define D 32.
#define Q (2 * T * HEADS * D) /* bytes of all queries, and of all outputs */

static void setting_csa(struct setting *t)
{
    static const int blocks[] = {0, 4, 128, 4, 0};
    setting_make(t);
    struct ss_model *m = &t->job.model;
    m->num_attention_heads = 64;
    m->q_lora_rank = 256;
    m->v_head_dim = 32;
    m->qk_pos_emb_head_dim = 8;
    m->output_groups = 4;
    m->output_rank = 96;
    m->index_num_heads = 8;
    m->index_head_dim = 16;
    m->index_topk = 256;
    m->qk_norm = SS_QK_NORM_HEAD;
    ss_model_blocks(m, blocks, 5);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
}

TEST(kinds)
{
    struct setting t;
    setting_csa(&t);
    static const int mixers[] = {SS_MIXER_csa_local, SS_MIXER_csa, SS_MIXER_hca, SS_MIXER_csa};
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, i), SS_LAYER_PAIR(mixers[i], SS_MLP_DENSE));
    CU_ASSERT_EQUAL(ss_layer_mtp_kind_in(&t.job.model, 4096, 0),
                    SS_LAYER_PAIR(SS_MIXER_csa_local, SS_MLP_DENSE));
    /* queries by a latent, one key, the output by groups, sinks, norms; beside them compressors, and an indexer with its own */
    double own = H * 256 + 256 + 256 * HEADS * D + H * D + D + HEADS * D * 96 + 4 * 96 * H + HEADS + H;
    CU_ASSERT_EQUAL(layer_of(&t, LOCAL).sum.params, own);
    CU_ASSERT_EQUAL(layer_of(&t, HCA).sum.params, own + 2 * H * D + 128 * D + D);
    CU_ASSERT_EQUAL(layer_of(&t, CSA).sum.params, own + 2 * H * 2 * D + 4 * 2 * D + D + 2 * H * 2 * 16 +
                                                      4 * 2 * 16 + 16 + 256 * 8 * 16 + H * 8);
}

static void check_attention(const struct ss_ops *ops, double slots, double keys)
{
    const struct ss_op *op = find(ops, "sparse attention");
    CU_ASSERT_EQUAL(op->forward_flops, 2 * HEADS * T * slots * 2 * D);
    CU_ASSERT_EQUAL(op->backward_flops, 2 * HEADS * T * slots * 5 * D);
    /* queries, outputs, the keys of each query at half of their bytes, all keys once, indices */
    CU_ASSERT_EQUAL(op->forward_bytes, 2 * Q + T * slots * D + 2 * keys * D + 4 * T * slots);
    CU_ASSERT_EQUAL(op->saved_bytes, 4 * T * slots + 4 * T * HEADS + Q);
}

TEST(attention)
{
    struct setting t;
    setting_csa(&t);
    /* a window of 128; 256 of 1024 keys of 4 tokens more; all 32 of 128 tokens, 160 in all, rounded up to a multiple of 64 */
    struct ss_ops local = layer_of(&t, LOCAL), csa = layer_of(&t, CSA), hca = layer_of(&t, HCA);
    check_attention(&local, 128, T);
    check_attention(&csa, 384, T + T / 4);
    check_attention(&hca, 192, T + T / 128);
    /* what a query sees of the window on average: 128 - 128^2 / (2 x 4096); of keys of 4 tokens the first 1024 queries see fewer */
    CU_ASSERT_EQUAL(find(&local, "sparse attention")->model_flops, 2 * HEADS * 2 * D * T * 126);
    CU_ASSERT_EQUAL(find(&csa, "sparse attention")->model_flops,
                    2 * HEADS * 2 * D * T * (126 + (1024 - 128) / 4.));
    CU_ASSERT_EQUAL(find(&hca, "sparse attention")->model_flops, 2 * HEADS * 2 * D * T * (126 + 16));
    const struct ss_op *groups = find(&csa, "output groups");
    CU_ASSERT(groups->gemm.groups == 4 && groups->gemm.m == 4 * T && groups->gemm.n == 96 &&
              groups->gemm.k == 512);
    CU_ASSERT_EQUAL(groups->forward_flops, 2 * T * HEADS * D * 96);
    CU_ASSERT_EQUAL(find(&csa, "projection")->forward_flops, 2 * T * 4 * 96 * H);
    CU_ASSERT_EQUAL(find(&csa, "q up")->backward_flops, 4 * T * 256 * HEADS * D);
    CU_ASSERT_EQUAL(find(&csa, "key")->forward_flops, 2 * T * H * D);
    t.stack.fused_latent_rope = 1;
    csa = layer_of(&t, CSA);
    CU_ASSERT_EQUAL(find(&csa, "rope")->forward_bytes, T * (HEADS + 1) * 2 * 8 * 2);
    CU_ASSERT_EQUAL(find(&csa, "output rope")->forward_bytes, T * HEADS * 2 * 8 * 2 + 2 * Q);
}

/* Blocks of 4 tokens overlap: twice the columns, and copies of values (2 B) and gates (4 B) that are filled, read and written. */
TEST(compressor)
{
    struct setting t;
    setting_csa(&t);
    struct ss_ops csa = layer_of(&t, CSA), hca = layer_of(&t, HCA);
    CU_ASSERT_EQUAL(find(&hca, "compressed values")->forward_flops, 2 * T * H * D);
    CU_ASSERT_EQUAL(find(&csa, "compressed gates")->backward_flops, 4 * T * H * 2 * D);
    CU_ASSERT_EQUAL(find(&hca, "compression")->forward_bytes, T * D * 28);
    CU_ASSERT_EQUAL(find(&hca, "compression")->backward_bytes, T * D * 42);
    CU_ASSERT_EQUAL(find(&csa, "compression")->forward_bytes, T * 2 * D * (28 + 18));
    CU_ASSERT_EQUAL(find(&csa, "compression")->saved_bytes, T * 2 * D * 6);
    CU_ASSERT_EQUAL(find(&csa, "compression norm")->saved_bytes, T / 4 * (2 * D + 4));
    CU_ASSERT_EQUAL(find(&csa, "keys joined")->saved_bytes, (T + T / 4) * 2 * D);
    CU_ASSERT_EQUAL(find(&hca, "keys joined")->forward_bytes, (T + T / 128) * 4 * D);
}

/* Scores of all pairs of a query and a key of four tokens; a loss trains the indexer and its compressor, and no gradient leaves it. */
TEST(indexer)
{
    struct setting t;
    setting_csa(&t);
    double pairs = T * 1024 / 2, chosen = T * (1024 - 128) / 4;
    struct ss_ops ops = layer_of(&t, CSA);
    CU_ASSERT_EQUAL(find(&ops, "index scores")->forward_flops, 2 * 8 * 16 * pairs);
    CU_ASSERT_EQUAL(find(&ops, "index scores")->forward_bytes, 4 * pairs + 2 * (T * 8 * 16 + T / 4 * 16));
    CU_ASSERT_EQUAL(find(&ops, "choice of keys")->forward_bytes, T * (5 * 4 * 1024. + 24 * 256));
    CU_ASSERT(find(&ops, "index k values")->backward_flops == 0 &&
              find(&ops, "index k blocks")->saved_bytes == 0);
    double silent = ss_ops_saved_bytes(&ops, 0);
    t.job.index_loss = SS_INDEX_LOSS_CHOSEN;
    ops = layer_of(&t, CSA);
    CU_ASSERT_EQUAL(find(&ops, "index target")->forward_flops, 2 * HEADS * D * chosen);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->forward_flops, 6 * 8 * 16 * chosen);
    CU_ASSERT_EQUAL(find(&ops, "index k values")->backward_flops, 2 * T * H * 32);
    CU_ASSERT(find(&ops, "index k gates")->gemm.no_input_grad &&
              !find(&ops, "index k gates")->gemm.no_weight_grad);
    /* rotated queries and keys with weights, their gradients; the compressor's values and softmax, and its norm's input */
    double rotated = 2 * (T * 8 * 16 + T / 4 * 16 + T * 8);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0) - silent, 2 * rotated + T * 32 * 6 + T / 4 * (2 * 16 + 4));
    t.job.index_loss = SS_INDEX_LOSS_ALL;
    ops = layer_of(&t, CSA);
    CU_ASSERT_EQUAL(find(&ops, "index gradient")->forward_flops, 6 * 8 * 16 * pairs);
}

/* All of a layer: norms, queries before and behind theirs, keys, attention, the output's two products; recompute drops the queries. */
TEST(saved)
{
    struct setting t;
    setting_csa(&t);
    struct ss_ops hca = layer_of(&t, HCA);
    double norms = (4 * H + 4) + (4 * 256 + 4) + (2 * D + 4), compressed = D * 6 + (2 * D + 4) / 128;
    double keys = (1 + 1. / 128) * 2 * D, indices = 4 * 192 + 4 * HEADS, output = 2 * 4 * 96;
    double all = T * (norms + compressed + keys + indices + output) + 4 * Q;
    CU_ASSERT_DOUBLE_EQUAL(ss_ops_saved_bytes(&hca, 0), all, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ss_ops_saved_bytes(&hca, SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ)), all - 2 * Q, 1e-6);
    t.job.precision = SS_FP8; /* projections of blocks stay in 16 bit, whose input others keep in 8 */
    struct ss_ops fp8 = layer_of(&t, HCA);
    CU_ASSERT_EQUAL(find(&fp8, "compressed values")->gemm.precision, SS_BF16);
    CU_ASSERT_EQUAL(find(&fp8, "compressed values")->saved_bytes, 2 * T * H);
    CU_ASSERT_EQUAL(find(&fp8, "q up")->gemm.precision, SS_FP8);
}

/* Context ranks halve queries; the last one scores 2 - 1/2 times the mean; a window of hidden states, and keys of blocks of all. */
TEST(context)
{
    struct setting t;
    setting_csa(&t);
    struct ss_ops one = layer_of(&t, CSA);
    t.job.cp = 2;
    struct ss_ops two = layer_of(&t, CSA), hca = layer_of(&t, HCA), local = layer_of(&t, LOCAL);
    CU_ASSERT_EQUAL(find(&one, "sparse attention")->forward_flops,
                    2 * find(&two, "sparse attention")->forward_flops);
    CU_ASSERT_EQUAL(find(&one, "index scores")->forward_flops * 1.5,
                    2 * find(&two, "index scores")->forward_flops);
    CU_ASSERT_EQUAL(find(&one, "compressed values")->forward_flops,
                    2 * find(&two, "compressed values")->forward_flops);
    CU_ASSERT_EQUAL(find(&two, "window of context ranks")->exchange.forward, 2 * 128 * H * 2);
    CU_ASSERT_EQUAL(find(&two, "keys of context ranks")->exchange.forward, 2 * T / 4 * (D + 16));
    CU_ASSERT_EQUAL(find(&two, "keys of context ranks")->exchange.backward, 2 * T / 4 * D);
    CU_ASSERT_EQUAL(find(&hca, "keys of context ranks")->exchange.forward, 2 * T / 128 * D);
    CU_ASSERT_EQUAL(find(&two, "keys joined")->saved_bytes, (T / 2 + T / 4) * 2 * D);
    CU_ASSERT(find(&local, "window of context ranks") && !find(&local, "keys of context ranks"));
}

/* The released models: parameters as docs/design/hybrid-models.py counts them, those of the prediction too. */
TEST(released)
{
    static const struct {
        const char *name;
        double total, active, mtp, mtp_active;
    } rows[] = {{"deepseek-v4", 1572997201763., 49779081059., 25840145979., 869357115.},
                {"deepseek-v4-flash", 284332240471., 13799632471., 6610048891., 318592891.}};

    for (int i = 0; i < 2; i++) {
        struct ss_model m;
        struct ss_parameter_counts n;
        CU_ASSERT_FATAL(!ss_model_load(rows[i].name, &m, NULL) && !ss_model_finish(&m, NULL));
        ss_model_count(&m, m.vocab_size, &n);
        CU_ASSERT(n.total == rows[i].total && n.active == rows[i].active);
        CU_ASSERT(n.mtp == rows[i].mtp && n.mtp_active == rows[i].mtp_active);
    }
}

static double iteration(const char *text, const struct ss_run_options *options)
{
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(!scale_open(&s, text));
    CU_ASSERT_FATAL(!scale_run(&s, options, &run));
    double seconds = run.result->iteration_s;
    ss_run_free(&run);
    scale_close(&s);
    return seconds;
}

/* Both engines, and chunk and layer level, of stages, expert and context ranks. */
TEST(jobs)
{
    static const char *const jobs[] = {"h100 4;--model deepseek-v4-flash --bf16 --pp 4 --ep 8 --seq 4096 "
                                       "--mbs 1 --gbs 16 --stack megatron-bridge-26.08",
                                       "h100 4;--model deepseek-v4-flash --bf16 --cp 4 --ep 8 --seq 4096 "
                                       "--mbs 1 --gbs 16 --stack nemo-automodel-2026"};
    for (int i = 0; i < 2; i++) {
        double chunk = iteration(jobs[i], &(struct ss_run_options){.engine = SS_ENGINE_NATIVE});
        double layer = iteration(
            jobs[i], &(struct ss_run_options){.engine = SS_ENGINE_NATIVE, .plan.level = SS_LEVEL_LAYER});
        double simgrid = iteration(jobs[i], &(struct ss_run_options){.engine = SS_ENGINE_SIMGRID});
        CU_ASSERT(chunk > 0);
        CU_ASSERT_DOUBLE_EQUAL(layer, chunk, 0.02 * chunk);
        CU_ASSERT_DOUBLE_EQUAL(simgrid, chunk, 1e-6 * chunk);
    }
}
