/* SPDX-License-Identifier: Apache-2.0 */
/* Flags over a model file, a family's choices under it, and sizes that no model has. */
#include <stdio.h>
#include <string.h>

#include "model/model_internal.h"
#include "stepsim/model.h"
#include "suite.h"

#define CHOICES(X)                                                                                           \
    X(gated_mlp)                                                                                             \
    X(tied_embeddings)                                                                                       \
    X(qkv_bias)                                                                                              \
    X(linear_bias)                                                                                           \
    X(attention_out_bias)                                                                                    \
    X(mlp_bias)                                                                                              \
    X(expert_bias)                                                                                           \
    X(router_linear_bias)                                                                                    \
    X(output_bias)                                                                                           \
    X(normalization)                                                                                         \
    X(norm_vectors)                                                                                          \
    X(embedding_norm)                                                                                        \
    X(embedding_scale)                                                                                       \
    X(logits_scale)                                                                                          \
    X(logits_softcap)                                                                                        \
    X(attention_softcap)                                                                                     \
    X(full_unturned)                                                                                         \
    X(query_scale)                                                                                           \
    X(input_jitter)                                                                                          \
    X(final_norm)                                                                                            \
    X(position)                                                                                              \
    X(qk_norm)                                                                                               \
    X(post_norms)                                                                                            \
    X(parallel_residual)                                                                                     \
    X(attention_sinks)                                                                                       \
    X(yarn)                                                                                                  \
    X(activation_clamp)                                                                                      \
    X(shared_expert_gate)                                                                                    \
    X(router_bias)

#define SIZES(X)                                                                                             \
    X(num_layers)                                                                                            \
    X(hidden_size)                                                                                           \
    X(ffn_hidden_size)                                                                                       \
    X(num_attention_heads)                                                                                   \
    X(num_query_groups)                                                                                      \
    X(kv_channels)                                                                                           \
    X(vocab_size)                                                                                            \
    X(max_position_embeddings)                                                                               \
    X(extra_positions)                                                                                       \
    X(embedding_size)                                                                                        \
    X(num_experts)                                                                                           \
    X(top_k)                                                                                                 \
    X(moe_ffn_hidden_size)                                                                                   \
    X(shared_expert_ffn_hidden_size)                                                                         \
    X(router_groups)                                                                                         \
    X(router_group_topk)                                                                                     \
    X(q_lora_rank)                                                                                           \
    X(kv_lora_rank)                                                                                          \
    X(qk_head_dim)                                                                                           \
    X(qk_pos_emb_head_dim)                                                                                   \
    X(v_head_dim)                                                                                            \
    X(sliding_window)                                                                                        \
    X(attention_chunk)                                                                                       \
    X(rotary_fraction)                                                                                       \
    X(mtp_num_layers)

static struct ss_model empty(void)
{
    struct ss_model m;
    ss_model_init(&m);
    return m;
}

/* What is given wins, also where it is 0; what is not given stays. */
static void test_choices(void)
{
#define CHOICE(f)                                                                                            \
    {                                                                                                        \
        struct ss_model base = empty(), given = empty();                                                     \
        base.f = 1;                                                                                          \
        ss_model_overlay(&base, &given);                                                                     \
        CU_ASSERT(base.f == 1);                                                                              \
        given.f = 0;                                                                                         \
        ss_model_overlay(&base, &given);                                                                     \
        CU_ASSERT(base.f == 0);                                                                              \
        given = base = empty();                                                                              \
        given.f = 2;                                                                                         \
        ss_model_choose(&base, &given);                                                                      \
        CU_ASSERT(base.f == 2);                                                                              \
        given.f = 1;                                                                                         \
        ss_model_choose(&base, &given);                                                                      \
        CU_ASSERT(base.f == 2);                                                                              \
    }
    CHOICES(CHOICE)
}

/* 0 is a size that is not given. */
static void test_sizes(void)
{
#define SIZE(f)                                                                                              \
    {                                                                                                        \
        struct ss_model base = empty(), given = empty();                                                     \
        base.f = 5;                                                                                          \
        ss_model_overlay(&base, &given);                                                                     \
        CU_ASSERT(base.f == 5);                                                                              \
        given.f = 7;                                                                                         \
        ss_model_overlay(&base, &given);                                                                     \
        CU_ASSERT(base.f == 7);                                                                              \
    }
    SIZES(SIZE)
}

/* Rows that a file adds belong to its own vocabulary; which layers have experts or a window is one rule. */
static void test_together(void)
{
    struct ss_model base = empty(), given = empty();

    base.vocab_size = 1000;
    base.extra_vocab_size = 24;
    ss_model_overlay(&base, &given);
    CU_ASSERT_EQUAL(base.extra_vocab_size, 24);
    given.vocab_size = 2000;
    ss_model_overlay(&base, &given);
    CU_ASSERT(base.vocab_size == 2000 && base.extra_vocab_size == 0);
    given.extra_vocab_size = 3;
    ss_model_overlay(&base, &given);
    CU_ASSERT_EQUAL(base.extra_vocab_size, 3);
    base.moe_layers.period = base.local_layers.period = 4;
    ss_model_overlay(&base, &given);
    CU_ASSERT(base.moe_layers.period == 4 && base.local_layers.period == 4);
    given.moe_layers.period = 2;
    given.local_layers.n = 3;
    ss_model_overlay(&base, &given);
    CU_ASSERT(base.moe_layers.period == 2 && base.local_layers.period == 0 && base.local_layers.n == 3);
}

static struct ss_model small(void)
{
    struct ss_model m = empty();
    m.num_layers = 2;
    m.hidden_size = 64;
    m.num_attention_heads = 4;
    m.vocab_size = 100;
    return m;
}

static void test_limits(void)
{
#define LIMIT(field, most, text)                                                                             \
    for (int over = -1; over < 2; over++) {                                                                  \
        struct ss_model m = small();                                                                         \
        struct ss_error err = {0};                                                                           \
        m.kv_channels = m.kv_channels ? m.kv_channels : 16;                                                  \
        m.field = over < 0 ? -1 : (most) + over;                                                             \
        if (!strcmp(#field, "num_attention_heads"))                                                          \
            m.num_query_groups = 1;                                                                          \
        if (!strcmp(#field, "num_query_groups"))                                                             \
            m.num_attention_heads = 1 << 16;                                                                 \
        int rc = ss_model_finish(&m, &err);                                                                  \
        CU_ASSERT_EQUAL(rc, over ? SS_ERR_CONFIG : SS_OK);                                                   \
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, over ? text : ""));                                       \
        if (over && !strstr(err.message, text))                                                              \
            printf("%s: %s\n", #field, err.message);                                                         \
    }
    LIMIT(num_layers, 100000, "is outside 1..100000")
    LIMIT(hidden_size, 1 << 20, "is outside 1..1048576")
    LIMIT(num_attention_heads, 1 << 16, "is outside 1..65536")
    LIMIT(vocab_size, 1 << 26, "is outside 1..67108864")
    LIMIT(ffn_hidden_size, 1 << 24, "is outside 1..16777216")
    LIMIT(num_query_groups, 1 << 16, "is outside 1..65536")
    LIMIT(extra_vocab_size, 1 << 24, "is outside 0..16777216")
    LIMIT(kv_channels, 1 << 16, "is outside 1..65536")
}

SUITE(model_overlay)
{
    CU_TestInfo tests[] = {{"choices", test_choices},
                           {"sizes", test_sizes},
                           {"what goes together", test_together},
                           {"limits", test_limits},
                           CU_TEST_INFO_NULL};
    return suite_run("model_overlay", NULL, NULL, tests);
}
