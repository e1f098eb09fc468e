/* SPDX-License-Identifier: Apache-2.0 */
/* Flags over a model file, defaults, and sizes that no model has. */
#include <stdio.h>
#include <string.h>

#include "model/model_internal.h"
#include "suite.h"

static struct ss_model empty(void)
{
    struct ss_model m;
    ss_model_init(&m);
    return m;
}

/* What `base` has of a field, of which the model and what is laid over it have these values; LONE: no value. */
#define LONE (-9)
#define LAID(field, base_value, given_value, expected)                                                       \
    {                                                                                                        \
        struct ss_model base = empty(), given = empty();                                                     \
        base.field = base_value;                                                                             \
        if (given_value != LONE)                                                                             \
            given.field = given_value;                                                                       \
        ss_model_overlay(&base, &given);                                                                     \
        if (base.field != expected)                                                                          \
            printf("%s: %g over %g is %g\n", #field, (double)given_value, (double)base_value,                \
                   (double)base.field);                                                                      \
        CU_ASSERT(base.field == expected);                                                                   \
    }
#define CHOICE(field)                                                                                        \
    LAID(field, 1, LONE, 1)                                                                                  \
    LAID(field, 1, 0, 0)                                                                                     \
    LAID(field, 0, 1, 1)
#define SIZE(field)                                                                                          \
    LAID(field, 5, LONE, 5)                                                                                  \
    LAID(field, 5, 0, 5)                                                                                     \
    LAID(field, 5, 7, 7)
#define NEED(field) SIZE(field)
#define SHARE(field) SIZE(field)
#define MARK(field) LAID(field, 1, 0, 1) LAID(field, 0, 1, 0)
#define RATE(field) LAID(field, 0.5, 0.25, 0.5)
#define LAYERS(field)
#define MIXER(field)
#define TEXT(field)
#define ENCODER(field)

/* What is given wins: a choice also where it is 0, a size where it is not. What is of a file alone stays. */
TEST(fields){
#define SS_FIELD(kind, field, number, told, read) kind(field)
#include "stepsim/model_fields.def"
}

/* The rows that completing a model does not work out itself. */
TEST(defaults)
{
    struct ss_model m = empty();
    CU_ASSERT(m.gated_mlp == -1 && m.yarn == -1 && m.hidden_dropout == -1 && m.num_layers == 0);
    m.num_layers = 2;
    m.hidden_size = 64;
    m.num_attention_heads = 4;
    m.vocab_size = 100;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
    CU_ASSERT(m.gated_mlp == 0 && m.yarn == 0 && m.qk_norm == SS_QK_NORM_NONE && m.hidden_dropout == -1);
    CU_ASSERT(m.tied_embeddings == 1 && m.final_norm == 1 && m.linear_bias == 1 && m.expert_bias == 1);
    CU_ASSERT(m.position == SS_POSITION_LEARNED && m.normalization == SS_NORM_LAYERNORM &&
              m.norm_vectors == 2);
    CU_ASSERT(m.ffn_hidden_size == 256 && m.kv_channels == 16 && m.num_query_groups == 4);
}

/* Rows that a file adds belong to its own vocabulary; which layers have experts or a window is one rule. */
TEST(together)
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

TEST(limits)
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
