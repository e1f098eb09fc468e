/* SPDX-License-Identifier: Apache-2.0 */
/* Mixers beside one another: two kinds of attention in one layer, and an exchange of the context group that is no attention's. */
#include "layers/attention.h"
#include "small_job.h"

/* 8192 tokens of a card of round numbers; two context ranks on NVLinks of 100 GB/s. */
static void ring_of_two(struct setting *t)
{
    setting_make(t);
    t->job.cp = 2;
    t->job.cp_comm_type = SS_CP_P2P;
    t->c.cp = (struct ss_group_shape){.n = 2, .nodes = 1, .per_node = 2};
    t->c.net.fabric_busbw = 1e11;
    shape_again(t);
}

static const struct ss_heads grouped = {.heads = 16, .groups = 4, .d = 64, .d_v = 64};
static const struct ss_heads wide = {.heads = 4, .groups = 2, .d = 192, .d_v = 128, .window = 1024};

static struct ss_layer_cost cost_of(const struct setting *t, const struct ss_ops *ops)
{
    struct ss_layer_cost out;
    ss_cost_layer(&t->c, ops, SS_RECOMPUTE_NONE, &out);
    return out;
}

/* Each has its own FLOP, ring and bytes. A query of the window sees 1024 keys but for the first ones of a document of 4096, as many as
 * in a causal sequence of 2 x (1024 - 1024^2 / 8192) = 1792. A ring step moves the other rank's 4096 tokens of K and V. */
static void test_two_attentions(void)
{
    struct setting t;
    struct ss_ops one = {0}, other = {0}, both = {0};
    ring_of_two(&t);
    ss_op_attention(&one, &t.c.shape, &grouped, 0);
    ss_op_attention(&other, &t.c.shape, &wide, 0);
    ss_op_attention(&both, &t.c.shape, &grouped, 0);
    ss_op_attention(&both, &t.c.shape, &wide, 0);
    const struct ss_op *a = find(&one, "core attention"), *b = find(&other, "core attention");
    CU_ASSERT_DOUBLE_EQUAL(a->forward_flops, 4096. * 4096 * 16 * (64 + 64), 1);
    CU_ASSERT_DOUBLE_EQUAL(b->forward_flops, 4096. * 1792 * 4 * (192 + 128), 1);
    CU_ASSERT_DOUBLE_EQUAL(b->backward_flops, 2 * b->forward_flops / (192 + 128) * (3 * 192 + 2 * 128) / 2,
                           1);
    CU_ASSERT_EQUAL(a->saved_bytes, 4096. * (2 * (16 * 64 + 4 * 128 + 16 * 64) + 16 * 4));
    CU_ASSERT_EQUAL(b->saved_bytes, 4096. * (2 * (4 * 192 + 2 * 320 + 4 * 128) + 4 * 4));
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&both, 0),
                    ss_ops_saved_bytes(&one, 0) + ss_ops_saved_bytes(&other, 0));
    const struct ss_layer_cost x = cost_of(&t, &one), y = cost_of(&t, &other), z = cost_of(&t, &both);
    CU_ASSERT_DOUBLE_EQUAL(x.forward[SS_LABEL_CP], 4096. * 4 * 128 * 2 / 1e11, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(y.forward[SS_LABEL_CP], 4096. * 2 * 320 * 2 / 1e11, 1e-15);
    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        CU_ASSERT_DOUBLE_EQUAL(z.forward[l], x.forward[l] + y.forward[l], 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(z.input_grad[l], x.input_grad[l] + y.input_grad[l], 1e-15);
    }
    CU_ASSERT_DOUBLE_EQUAL(z.backward_flops, x.backward_flops + y.backward_flops, 1);
}

/* A state is handed on round the group, and its gradient, twice as large, back: 1 and 2 MB over 100 GB/s, which nothing hides. The steps
 * say the same. */
static void test_state_passed(void)
{
    struct setting t;
    struct ss_ops ops = {.where = SS_WHERE_TRANSFORMER};
    struct ss_recorder recorder;
    struct ss_layer_steps steps;
    double folded[SS_LABEL_COUNT];
    ring_of_two(&t);
    ss_op_kernels(&ops, "scan", 1e6, 2e6, 1, 1);
    ss_op_exchange(&ops, "state", SS_COMM_CP, SS_COLL_RING_STEP, SS_COLL_RING_STEP, 1e6, 2e6);
    ss_op_kernels(&ops, "scan", 3e6, 4e6, 1, 1);
    t.c.record = &recorder;
    const struct ss_layer_cost cost = cost_of(&t, &ops);
    CU_ASSERT_EQUAL_FATAL(ss_record_end(&recorder, &steps), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_CP], 1e6 / 1e11, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_CP], 2e6 / 1e11, 1e-15);
    CU_ASSERT_EQUAL(cost.forward[SS_LABEL_EP], 0);
    CU_ASSERT_EQUAL_FATAL(ss_steps_fold(&steps.phase[SS_PHASE_F], 0, folded), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(folded[SS_LABEL_CP], cost.forward[SS_LABEL_CP], 1e-18);
    CU_ASSERT_DOUBLE_EQUAL(folded[SS_LABEL_COMPUTE], 4e6 / 1e12, 1e-15);
    CU_ASSERT_EQUAL_FATAL(ss_steps_fold(&steps.phase[SS_PHASE_B], 0, folded), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(folded[SS_LABEL_CP], cost.input_grad[SS_LABEL_CP], 1e-18);
    ss_layer_steps_free(&steps);
}

/* Every layer is of one pair of rows. */
static void test_pairs(void)
{
    struct ss_model m;
    ss_model_init(&m);
    m.num_experts = 8;
    m.moe_layers = (struct ss_layer_rule){.period = 2, .first = 1, .phase = 1};
    m.sliding_window = 1024;
    m.local_layers = (struct ss_layer_rule){.period = 3};
    static const int kinds[] = {LOCAL_DENSE, MOE, DENSE, LOCAL_MOE};
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(ss_layer_kind_in(&m, 4096, i), kinds[i]);
    CU_ASSERT_EQUAL(ss_layer_kind_in(&m, 1024, 0), DENSE); /* the window is as long as the sequence */
    m.kv_lora_rank = 512;
    CU_ASSERT_EQUAL(ss_layer_kind_in(&m, 4096, 1), LATENT_MOE);
    CU_ASSERT_EQUAL(ss_layer_kind_in(&m, 4096, 0), LOCAL_DENSE);
}

SUITE(mixers)
{
    CU_TestInfo tests[] = {{"two kinds of attention in a layer", test_two_attentions},
                           {"a state that is passed on", test_state_passed},
                           {"pairs", test_pairs},
                           CU_TEST_INFO_NULL};
    return suite_run("mixers", NULL, NULL, tests);
}
