/* SPDX-License-Identifier: Apache-2.0 */
/* A model that a cache finishes is the one that ss_model_finish makes, first, again, and after another one. */
#include <string.h>

#include "job/input_cache.h"
#include "suite.h"

static struct ss_model of(int layers, int heads)
{
    struct ss_model m;
    ss_model_init(&m);
    m.num_layers = layers;
    m.hidden_size = 1024;
    m.num_attention_heads = heads;
    m.vocab_size = 32000;
    m.max_position_embeddings = 4096;
    return m;
}

TEST(models_are_finished_once)
{
    static const int layers[] = {12, 12, 24, 12, 12};
    struct ss_input_cache *l = ss_input_cache_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct ss_model m = of(layers[i], 16), want = of(layers[i], 16);
        CU_ASSERT_EQUAL(ss_input_cache_finish_model(l, &m, NULL), 0);
        CU_ASSERT_EQUAL(ss_model_finish(&want, NULL), 0);
        CU_ASSERT_EQUAL(m.num_layers, layers[i]);
        CU_ASSERT_EQUAL(m.ffn_hidden_size, 4096); /* Megatron's: 4 x 1024 */
        CU_ASSERT_EQUAL(memcmp(&m, &want, sizeof m), 0);
    }
    ss_input_cache_drop(l);
}

/* A refusal is told each time, and leaves what was kept. */
TEST(refusals_are_not_kept)
{
    struct ss_input_cache *l = ss_input_cache_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(l);
    for (int i = 0; i < 4; i++) {
        struct ss_model m = of(12, i % 2 ? 15 : 16); /* 1,024 / 15 is no whole number */
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_input_cache_finish_model(l, &m, &err), i % 2 ? SS_ERR_CONFIG : 0);
        CU_ASSERT_EQUAL(strstr(err.message, "1024 is not divisible by 15") != NULL, i % 2);
    }
    ss_input_cache_drop(l);
}
