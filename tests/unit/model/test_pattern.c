/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of layers: Megatron's letters, lists of a config.json, and models that have them; parameters of published models by hand. */

#include "base/base.h"
#include "model/model_internal.h"
#include "stepsim/parameters.h"
#include "suite.h"

static const char *text_of(const struct ss_layer_rule *rule, int n)
{
    static char text[4][128];
    static int next;
    char *out = text[next = (next + 1) % 4];
    for (int i = 0; i < n; i++)
        out[i] = ss_layer_rule_has(rule, i) ? '1' : '0';
    out[n] = 0;
    return out;
}

static int read_pattern(const char *text, struct ss_model *m, struct ss_layer_pattern *out)
{
    const char *why = NULL;
    ss_model_init(m);
    int rc = ss_model_pattern(m, text, out, &why);
    CU_ASSERT_EQUAL(rc != 0, why != NULL);
    return rc;
}

TEST(letters)
{
    struct ss_layer_pattern p;
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(read_pattern("M-M|*E/*E/*E", &m, &p), 0);
    CU_ASSERT(p.layers == 5 && p.segments == 2 && p.segment[0] == 3 && p.segment[1] == 2);
    CU_ASSERT(p.depths == 2 && p.depth_layers == 2 && m.num_layers == 5);
    CU_ASSERT(m.mtp_num_layers == 2 && m.mtp_depth_layers == 2);
    CU_ASSERT_STRING_EQUAL(text_of(&m.mamba2, 7), "1010000");
    CU_ASSERT_STRING_EQUAL(text_of(&m.no_mlp, 7), "1011010");
    CU_ASSERT_STRING_EQUAL(text_of(&m.no_mixer, 7), "0100101");
    CU_ASSERT_STRING_EQUAL(text_of(&m.moe_layers, 7), "0000101");
    CU_ASSERT_EQUAL_FATAL(read_pattern("M*", &m, &p), 0);
    CU_ASSERT(p.segments == 1 && p.depths == 0 && m.mtp_depth_layers == 0);
    CU_ASSERT_EQUAL_FATAL(read_pattern("G-*-", &m, &p), 0);
    CU_ASSERT_STRING_EQUAL(text_of(&m.gated_delta, 4), "1000");
    CU_ASSERT_STRING_EQUAL(text_of(&m.no_mlp, 4), "1010");
    /* of three predictions one is unlike; a pipe in a prediction; no layers; letters of layers that no file has */
    static const char *const wrong[] = {"MM/*E/*E/*", "MM/*|E", "", "/MM", "MXM", "D-", "+-"};
    for (size_t i = 0; i < SS_ARRAY_LEN(wrong); i++)
        CU_ASSERT_NOT_EQUAL(read_pattern(wrong[i], &m, &p), 0);
    CU_ASSERT_EQUAL(read_pattern("MX", &m, &p), SS_ERR_INPUT); /* no letter, and one that is not modelled */
    CU_ASSERT_EQUAL(read_pattern("MD", &m, &p), SS_ERR_UNSUPPORTED);
    char many[600];
    memset(many, 'M', sizeof many);
    many[sizeof many - 1] = 0;
    CU_ASSERT_EQUAL(read_pattern(many, &m, &p), SS_ERR_INPUT);
}

static int parse(const char *text, struct ss_model *m, struct ss_error *err)
{
    char json[2048];
    ss_copy(json, sizeof json, text);
    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    memset(err, 0, sizeof *err);
    int rc = ss_model_parse(json, strlen(json), "x.json", m, err);
    return rc ? rc : ss_model_finish(m, err);
}

#define SMALL                                                                                                \
    "{'model_type': 'nemotron_h', 'hidden_size': 64, 'num_attention_heads': 4, 'num_key_value_heads': 2, "   \
    "'vocab_size': 100, "                                                                                    \
    "'mamba_num_heads': 8, 'mamba_head_dim': 16, "

TEST(config)
{
    struct ss_error err;
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(parse(SMALL "'num_hidden_layers': 4, 'hybrid_override_pattern': 'M-M*'}", &m, &err),
                          0);
    CU_ASSERT_STRING_EQUAL(text_of(&m.mamba2, 4), "1010");
    CU_ASSERT_STRING_EQUAL(text_of(&m.no_mixer, 4), "0100");
    CU_ASSERT(m.position == SS_POSITION_NONE && m.normalization == SS_NORM_RMSNORM && m.gated_mlp == 0);
    CU_ASSERT(m.mamba_state_dim == 128 && m.mamba_num_groups == 8 && m.mamba_conv == 4 &&
              m.mamba_chunk == 128);
    /* the list says how many layers there are, as in Nemotron-3 Ultra, and what a prediction has */
    CU_ASSERT_EQUAL_FATAL(
        parse(SMALL "'num_hidden_layers': null, 'layers_block_type': ['mamba', 'moe', 'attention', 'mlp'], "
                    "'mtp_layers_block_type': ['attention', 'moe'], 'num_nextn_predict_layers': 1, "
                    "'n_routed_experts': 4, 'num_experts_per_tok': 2, 'moe_intermediate_size': 32}",
              &m, &err),
        0);
    CU_ASSERT(m.num_layers == 4 && m.mtp_num_layers == 1 && m.mtp_depth_layers == 2);
    CU_ASSERT_STRING_EQUAL(text_of(&m.moe_layers, 6), "010001");
    CU_ASSERT_STRING_EQUAL(text_of(&m.no_mlp, 6), "101010");
    CU_ASSERT_NOT_EQUAL(parse(SMALL "'num_hidden_layers': 5, 'hybrid_override_pattern': 'M-M*'}", &m, &err),
                        0);
    CU_ASSERT_NOT_EQUAL(parse(SMALL "'num_hidden_layers': 4}", &m, &err), 0);
    CU_ASSERT_NOT_EQUAL(parse(SMALL "'layers_block_type': ['mamba', 'hybrid']}", &m, &err), 0);
    CU_ASSERT_EQUAL(err.code, SS_ERR_UNSUPPORTED);
    /* experts without their number; heads that the groups do not divide */
    CU_ASSERT_EQUAL(parse(SMALL "'hybrid_override_pattern': 'ME'}", &m, &err), SS_ERR_CONFIG);
    CU_ASSERT_EQUAL(parse(SMALL "'hybrid_override_pattern': 'M-', 'n_groups': 3}", &m, &err), SS_ERR_CONFIG);
}

/* Whole layers, of Mamba-2 but for those of attention: by a list, by numbers, every third, every third from the second. */
TEST(whole_layers)
{
    static const struct {
        const char *said, *mamba;
    } rows[] = {
        {"'layer_types': ['mamba', 'attention', 'mamba', 'linear_attention', 'full_attention', 'mamba']",
         "101101"},
        {"'attn_layer_indices': [1, 4]", "101101"},
        {"'full_attention_interval': 3", "110110"},
        {"'attn_layer_period': 3, 'attn_layer_offset': 1", "101101"},
        {"'rope_theta': 1e4", "111111"},
    };
    struct ss_error err;
    struct ss_model m;
    char text[512];
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof text,
                 "{'model_type': 'bamba', 'hidden_size': 64, 'num_attention_heads': 8, 'vocab_size': 100, "
                 "'num_hidden_layers': 6, 'intermediate_size': 128, %s}",
                 rows[i].said);
        CU_ASSERT_EQUAL_FATAL(parse(text, &m, &err), 0);
        CU_ASSERT_STRING_EQUAL(text_of(&m.mamba2, 6), rows[i].mamba);
        CU_ASSERT_STRING_EQUAL(text_of(&m.no_mlp, 6), "000000");
        CU_ASSERT_STRING_EQUAL(m.not_priced, "");
        CU_ASSERT_EQUAL(m.mamba_num_groups, 1);
    }
    CU_ASSERT_NOT_EQUAL(
        parse("{'model_type': 'bamba', 'hidden_size': 64, 'num_attention_heads': 8, 'vocab_size': 100, "
              "'num_hidden_layers': 2, 'intermediate_size': 128, 'layer_types': ['mamba', 'hybrid']}",
              &m, &err),
        0);
    CU_ASSERT_NOT_EQUAL(
        parse("{'model_type': 'llama', 'hidden_size': 64, 'num_attention_heads': 8, 'vocab_size': 100, "
              "'num_hidden_layers': 2, 'intermediate_size': 128, 'layer_types': ['mamba', 'mamba']}",
              &m, &err),
        0);
}

/* Parameters of a layer of Mamba-2: its norm; z, x, B, C, dt; taps and bias of the convolution; A, D, bias of dt; the gated norm; the
 * projection. */
static double mamba(double h, double heads, double state)
{
    double inner = 64 * heads, bc = 2 * 8 * state;
    return h + h * (2 * inner + bc + heads) + 5 * (inner + bc) + 3 * heads + inner + inner * h;
}

static double attention(double h, double heads, double groups)
{
    return h + h * 128 * (2 * heads + 2 * groups);
}

static struct ss_parameter_counts count(const char *name)
{
    struct ss_parameter_counts n;
    struct ss_model m;
    CU_ASSERT_EQUAL_FATAL(ss_model_load(name, &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&m, NULL), 0);
    CU_ASSERT_STRING_EQUAL(m.not_priced, "");
    ss_model_count(&m, m.vocab_size, &n);
    return n;
}

TEST(published)
{
    struct ss_parameter_counts n = count("nemotron-h-8b");
    double ends = 2 * 131072. * 4096 + 4096;
    CU_ASSERT_EQUAL(n.total, 24 * (mamba(4096, 128, 128) + 4096 + 2 * 4096. * 21504) +
                                 4 * attention(4096, 32, 8) + ends);
    CU_ASSERT_DOUBLE_EQUAL(n.total, 8.1e9, 0.05e9);
    n = count("nemotron-h-47b");
    CU_ASSERT_EQUAL(n.total, 45 * mamba(8192, 256, 256) + 48 * (8192 + 2 * 8192. * 30720) +
                                 5 * attention(8192, 64, 8) + 2 * 131072. * 8192 + 8192);
    CU_ASSERT_DOUBLE_EQUAL(n.total, 46.8e9, 0.05e9);
    n = count("nemotron-h-56b");
    CU_ASSERT_EQUAL(n.total, 54 * (mamba(8192, 256, 256) + 8192 + 2 * 8192. * 32768) +
                                 10 * attention(8192, 64, 8) + 2 * 131072. * 8192 + 8192);
    CU_ASSERT_DOUBLE_EQUAL(n.total, 56.3e9, 0.05e9);
    /* Nano: 31.6B, of which a token uses 3.6B, 3.2B of them without the embedding. An expert has two matrices, the router its bias. */
    n = count("nemotron-3-nano-30b-a3b");
    double rest = 23 * mamba(2688, 64, 128) + 6 * attention(2688, 32, 2) + 2 * 131072. * 2688 + 2688;
    double layer = 2688 + 128 * 2688 + 128 + 2 * 2688. * 3712, expert = 2 * 2688. * 1856;
    CU_ASSERT_EQUAL(n.total, rest + 23 * (layer + 128 * expert));
    CU_ASSERT_EQUAL(n.active, rest + 23 * (layer + 6 * expert));
    CU_ASSERT_DOUBLE_EQUAL(n.total, 31.6e9, 0.05e9);
    CU_ASSERT_DOUBLE_EQUAL(n.active, 3.6e9, 0.05e9);
    CU_ASSERT_DOUBLE_EQUAL(n.active - n.input, 3.2e9, 0.05e9);
    /* Super: 120.6B, of which a token uses 12.7B, 12.1B of them without the embedding (its report); experts of 1024 x 2688 behind a
     * projection to 1024 and before one back. A prediction is attention and experts. */
    n = count("nemotron-3-super-120b-a12b");
    rest = 40 * mamba(4096, 128, 128) + 8 * attention(4096, 32, 2) + 2 * 131072. * 4096 + 4096;
    layer = 4096 + 512 * 4096 + 512 + 2 * 4096. * 5376 + 2 * 4096. * 1024;
    expert = 2 * 1024. * 2688;
    CU_ASSERT_EQUAL(n.total, rest + 40 * (layer + 512 * expert));
    CU_ASSERT_EQUAL(n.active, rest + 40 * (layer + 22 * expert));
    CU_ASSERT_DOUBLE_EQUAL(n.total, 120.6e9, 0.1e9);
    CU_ASSERT_DOUBLE_EQUAL(n.active, 12.7e9, 0.1e9);
    CU_ASSERT_EQUAL(n.mtp, attention(4096, 32, 2) + layer + 512 * expert + 3 * 4096 + 2 * 4096. * 4096);
}
