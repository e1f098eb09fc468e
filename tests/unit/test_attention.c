/* SPDX-License-Identifier: Apache-2.0 */
/* Attention blocks: local attention, against numbers worked out by hand. */
#include <math.h>
#include <string.h>

#include "cost/layer_kinds.h"
#include "suite.h"

struct setting {
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_cost_context c;
};

/* A small decoder of 16 heads of 64 on a card of round numbers. */
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
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    t->job.micro_batch = 2;
    t->job.seq_length = 4096;
    t->job.tp = t->job.cp = t->job.pp = 1;
    t->job.precision = SS_BF16;
    t->job.attention = SS_ATTENTION_FLASH;
    t->job.attention_dropout = t->job.hidden_dropout = 0;
    t->card.sm_count = 100;
    t->card.peak_bf16 = 1e15;
    t->card.gemm_eff_bf16 = 0.5;
    t->card.gemm_tile_m = 128;
    t->card.gemm_tile_n = 256;
    t->card.gemm_small_tile = 0.9;
    t->card.hbm_bandwidth = 1e12;
    t->card.hbm_efficiency = 1;
    t->stack.fused_wgrad_accumulation = t->stack.fp8_forward_gain = 1;
    t->stack.flash_fwd = 0.4;
    t->stack.flash_bwd = 0.25;
    t->stack.attention_half_tokens = 1024;
    t->stack.te_layers = 1;
    t->c.card = &t->card;
    t->c.stack = &t->stack;
    t->c.job = &t->job;
    t->c.tp = t->c.cp = t->c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
}

static void shape_again(struct setting *t)
{
    ss_shape_init(&t->c.shape, &t->job, &t->stack, 32000);
}

static struct ss_ops layer_of(struct setting *t, int kind)
{
    struct ss_ops ops;
    shape_again(t);
    ss_layer_operators(kind, &t->c.shape, &t->stack, &ops);
    return ops;
}

static const struct ss_op *find(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return &ops->op[i];
    return NULL;
}

/* A query at position i sees min(i, 1024) keys: 4096 x 1024 - 1024^2 / 2 of them together. */
static void test_window(void)
{
    struct setting t;
    struct ss_layer_cost wide, narrow;
    setting_make(&t);
    t.job.model.sliding_window = 1024;
    struct ss_ops full = layer_of(&t, SS_LAYER_DENSE), local = layer_of(&t, SS_LAYER_DENSE_LOCAL);
    const struct ss_op *op = find(&local, "core attention");
    double pairs = 2 * (4096.0 * 1024 - 1024.0 * 1024 / 2);
    CU_ASSERT_EQUAL(op->forward_flops, 4 * pairs * 1024);
    CU_ASSERT_EQUAL(op->backward_flops, 10 * pairs * 1024);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&local, 0), ss_ops_saved_bytes(&full, 0));
    CU_ASSERT_EQUAL(ss_ops_params(&local), ss_ops_params(&full));
    ss_cost_layer(&t.c, &full, ss_layer_kind(SS_LAYER_DENSE), SS_RECOMPUTE_NONE, &wide);
    ss_cost_layer(&t.c, &local, ss_layer_kind(SS_LAYER_DENSE_LOCAL), SS_RECOMPUTE_NONE, &narrow);
    /* 4096 queries of 4096 keys, and of 2 x 1024 - 1024^2 / 4096 = 1792 keys, at their own rates. */
    double rate = 0.4e15 * (8192 + 1024) / 8192;
    double full_s = 4 * 4096.0 * 4096 * 1024 / (rate * 4096 / (4096 + 1024)),
           local_s = 4 * pairs * 1024 / (rate * 1792 / (1792 + 1024));
    CU_ASSERT_DOUBLE_EQUAL(wide.forward[SS_LABEL_COMPUTE] - narrow.forward[SS_LABEL_COMPUTE],
                           full_s - local_s, 1e-12);
}

/* No window, and one as long as the sequence: full attention, bit for bit. */
static void test_wide_window(void)
{
    struct setting t;
    setting_make(&t);
    for (int window = 0; window <= 8192; window += 4096) {
        t.job.model.sliding_window = window;
        t.job.model.local_layers.period = 1;
        struct ss_ops full = layer_of(&t, SS_LAYER_DENSE), local = layer_of(&t, SS_LAYER_DENSE_LOCAL);
        CU_ASSERT_EQUAL_FATAL(full.n, local.n);
        CU_ASSERT_EQUAL(memcmp(full.op, local.op, (size_t)full.n * sizeof *full.op), 0);
        CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), SS_LAYER_DENSE);
    }
    /* Of a shorter one the layers that the rule names are local: every other one, all where there is no rule. */
    t.job.model.sliding_window = 1024;
    t.job.model.local_layers.period = 2;
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 2), SS_LAYER_DENSE_LOCAL);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), SS_LAYER_DENSE);
    t.job.model.local_layers.period = 0;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t.job.model, NULL), 0);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), SS_LAYER_DENSE_LOCAL);
}

/* Unfused kernels compute the whole square and mask it. */
static void test_window_unfused(void)
{
    struct setting t;
    setting_make(&t);
    t.job.attention = SS_ATTENTION_UNFUSED;
    t.job.model.sliding_window = 1024;
    struct ss_ops local = layer_of(&t, SS_LAYER_DENSE_LOCAL);
    CU_ASSERT_EQUAL(find(&local, "core attention")->forward_flops, 4 * 2 * 4096.0 * 4096 * 1024);
}

int main(void)
{
    CU_TestInfo tests[] = {{"local attention sees a window", test_window},
                           {"a window as long as the sequence is none", test_wide_window},
                           {"unfused local attention is masked", test_window_unfused},
                           CU_TEST_INFO_NULL};
    return suite_run("attention", NULL, NULL, tests);
}
