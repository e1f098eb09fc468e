/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers of a config.json have which mixer, and which are one half: letters, lists of words, and every n-th. */
#include "base/base.h"
#include "model/config.h"
#include "model/model_internal.h"

/* Words of whole layers whose mixer is the family's, which is no attention. */
#define LINEAR "linear_attention mamba conv recurrent"

/* Returns the rule of the mixer that a family has beside attention ("linear_mixer" of its row), NULL: none. */
static struct ss_layer_rule *family_mixer(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    const char *name = json_string_value(ss_config_pick(c, "linear_mixer", key));
    for (int i = 0; i < SS_MODEL_FIELDS && name; i++)
        if (ss_model_fields[i].kind == SS_MODEL_IS_LAYERS && !strcmp(ss_model_fields[i].name, name))
            return (struct ss_layer_rule *)((char *)m + ss_model_fields[i].offset);
    return NULL;
}

/* ---- halves: MEM*, or a list of "mamba", "moe", "attention" ---- */

/* Appends a pattern, or the letters of a list's words. */
static void append_letters(struct ss_config *c, const char *name, char *out, size_t size)
{
    char key[64];
    const json_t *v = ss_config_pick(c, name, key);
    if (json_is_string(v) && !ss_append(out, size, "%s", json_string_value(v)))
        ss_config_wrong(c, key, "names more than 512 layers");
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *word = json_string_value(json_array_get(v, i));
        char letter = word ? ss_model_layer_letter(word) : 0;
        if (!word)
            ss_config_wrong(c, key, "holds what is no kind of a layer");
        else if (!letter)
            ss_config_unknown(c, key, "layers of \"%s\" are not modelled", word,
                              "known ones: mamba, attention, mlp, moe");
        else if (!ss_append(out, size, "%c", letter))
            ss_config_wrong(c, key, "names more than 512 layers");
    }
}

/* Reads what each layer is, and the layers of a prediction. A config may leave their number to the list. */
static void read_halves(struct ss_config *c, struct ss_model *m)
{
    char text[2 * SS_LAYER_RULE_MAX + 2] = "";
    const char *key = "hybrid_override_pattern", *why = NULL;
    struct ss_layer_pattern pattern;
    int layers = m->num_layers;

    append_letters(c, "hybrid_override_pattern layers_block_type", text, sizeof text);
    size_t n = strlen(text);
    ss_append(text, sizeof text, "/");
    append_letters(c, "mtp_hybrid_override_pattern mtp_layers_block_type", text, sizeof text);
    if (n == 0 || c->err->code) {
        c->missing = c->missing ? c->missing : "hybrid_override_pattern layers_block_type";
        return;
    }
    int rc = ss_model_pattern(m, text, &pattern, &why);
    if (rc)
        ss_config_wrong(c, key, why);
    else if (layers > 0 && layers != pattern.layers)
        ss_config_wrong(c, key, "does not name num_hidden_layers layers");
    else if (c->missing && !strncmp(c->missing, "num_hidden_layers", strlen("num_hidden_layers")))
        c->missing = NULL;
    m->mtp_num_layers = 0; /* config_experts.c reads how many predictions there are */
}

/* ---- whole layers ---- */

/* A word of "layer_types", or a number of "attn_type_list", where 0 is linear. */
static int is_linear(struct ss_config *c, const char *key, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) != 0 && json_integer_value(value) != 1)
        ss_config_wrong(c, key, "holds what is no kind of a layer");
    return json_is_integer(value) ? json_integer_value(value) == 0
                                  : ss_config_is_linear(json_string_value(value));
}

int ss_config_is_linear(const char *word)
{
    return word && ss_has_word(LINEAR, word);
}

/* Gives the family's mixer to all layers but those of attention: numbers in a list, the first of which is `base`, or every n-th from
 * `first` on. */
static void all_but(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer, const json_t *list,
                    int base, const struct ss_layer_rule *attention)
{
    struct ss_layer_rule has = {.n = m->num_layers};
    if (m->num_layers > SS_LAYER_RULE_MAX) {
        ss_config_wrong(c, "num_hidden_layers", "is above 512, the most for layers of several kinds");
        return;
    }
    for (int i = 0; i < has.n; i++)
        has.bits[i / 64] |= (uint64_t) !(attention && ss_layer_rule_has(attention, i)) << i % 64;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t n = json_integer_value(json_array_get(list, i)) - base;
        if (n >= 0 && n < has.n)
            has.bits[n / 64] &= ~(1ull << n % 64);
        else
            ss_config_wrong(c, base ? "full_attn_layers" : "attn_layer_indices",
                            "is not a list of layers' numbers");
    }
    *mixer = has;
}

/* "linear_attn_config" of Kimi: layers of attention, counted from 1, and sizes. */
static void read_kimi(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer, json_t *own)
{
    struct ss_config inner = *c;
    char key[64];

    inner.root = own;
    all_but(&inner, m, mixer, ss_config_pick(&inner, "full_attn_layers", key), 1, NULL);
    ss_config_positive(&inner, "num_heads", 1 << 16, &m->linear_num_value_heads);
    ss_config_positive(&inner, "head_dim", 1 << 16, &m->linear_value_head_dim);
    ss_config_positive(&inner, "short_conv_kernel_size", 64, &m->linear_conv);
    ss_config_bool(&inner, "use_full_rank_gate", &m->linear_full_gate);
}

/* "layer_group_size" of Ring: attention ends each whole group, and is in all layers behind the last one. */
static void read_groups(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer, int size)
{
    const struct ss_layer_rule last = {.period = size, .first = size - 1, .phase = size - 1};
    all_but(c, m, mixer, NULL, 0, &last);
    for (int i = m->num_layers / size * size; i < mixer->n; i++)
        mixer->bits[i / 64] &= ~(1ull << i % 64);
}

static void read_whole(struct ss_config *c, struct ss_model *m, struct ss_layer_rule *mixer)
{
    int group = 0, mlp = 1;
    char key[64], listed[64];
    struct ss_layer_rule every = {0};
    const json_t *types = ss_config_pick(c, "layer_types layers_block_type attn_type_list", listed);
    json_t *kimi = ss_config_pick(c, "linear_attn_config", key);
    const json_t *numbers = ss_config_pick(c, "attn_layer_indices", key);

    ss_config_positive(c, "full_attention_interval attn_layer_period", 100000, &every.period);
    every.phase = every.first = every.period - 1;
    ss_config_size(c, "attn_layer_offset", 0, 100000, &every.phase);
    every.first = every.phase < every.first ? every.phase : every.first;
    ss_config_positive(c, "layer_group_size", 100000, &group);
    if (json_array_size(types) > 0)
        ss_config_layers(c, listed, types, m->num_layers, is_linear, mixer);
    else if (json_is_object(kimi))
        read_kimi(c, m, mixer, kimi);
    else if (group > 0)
        read_groups(c, m, mixer, group);
    else if (json_is_array(numbers) || every.period > 0)
        all_but(c, m, mixer, numbers, 0, every.period > 0 ? &every : NULL);
    else
        mixer->period = 1; /* all layers */
    ss_config_bool(c, "linear_mlp mamba_use_mlp", &mlp);
    if (!mlp)
        m->no_mlp = *mixer;
}

/* Widths of Mamba-1: so many times h, and a rank that may be "auto". */
static void read_mamba1(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    int expand = 2;
    const char *word = json_string_value(ss_config_pick(c, "mamba_dt_rank time_step_rank", key));

    ss_config_positive(c, "mamba_expand expand", 64, &expand);
    ss_config_size(c, "mamba1_norms", 0, SS_MAMBA_PLAIN_NORMS, &m->mamba1_norms);
    m->mamba1_inner = expand * m->hidden_size;
    if (!word || strcmp(word, "auto") != 0)
        ss_config_positive(c, "mamba_dt_rank time_step_rank", 1 << 20, &m->mamba1_dt_rank);
}

/* LFM2's MLP: two thirds of a width, up to a multiple; its convolution has h channels. */
static void read_lfm2(struct ss_config *c, struct ss_model *m)
{
    int width = 0, channels = m->hidden_size, multiple = 256, adjusted = 1;
    double factor = 1;
    char key[64];
    const json_t *v = ss_config_pick(c, "block_ffn_dim_multiplier", key);

    ss_config_positive(c, "conv_L_cache", 64, &m->short_conv_taps);
    ss_config_size(c, "conv_dim", 0, 1 << 20, &channels);
    if (channels != m->hidden_size)
        ss_config_wrong(c, "conv_dim", "differs from hidden_size: not modelled");
    ss_config_size(c, "block_ff_dim", 0, 1 << 20, &width);
    ss_config_bool(c, "block_auto_adjust_ff_dim", &adjusted);
    ss_config_positive(c, "block_multiple_of", 1 << 16, &multiple);
    if (json_is_number(v))
        factor = json_number_value(v);
    if (factor <= 0 || factor > 64)
        ss_config_wrong(c, key, "is outside 0..64");
    else if (width > 0 && adjusted)
        m->ffn_hidden_size = ((int)(factor * (2 * width / 3)) + multiple - 1) / multiple * multiple;
    else if (width > 0)
        m->ffn_hidden_size = width;
}

/* Falcon-H1's channels of Mamba-2, which are those of its heads. */
static void read_falcon(struct ss_config *c, struct ss_model *m)
{
    int inner = m->mamba_num_heads * m->mamba_head_dim;
    ss_config_bool(c, "mamba_rms_norm", &m->mamba_norm);
    ss_config_size(c, "mamba_d_ssm", 0, 1 << 24, &inner);
    if (inner != m->mamba_num_heads * m->mamba_head_dim)
        ss_config_wrong(c, "mamba_d_ssm", "differs from mamba_n_heads times mamba_d_head: not modelled");
}

static int is_hybrid(struct ss_config *c, const char *key, const json_t *value)
{
    const char *word = json_string_value(value);

    if (!word || (strcmp(word, "hybrid") != 0 && strcmp(word, "mamba") != 0))
        ss_config_wrong(c, key, "holds what is neither mamba nor hybrid");
    return word && word[0] == 'h';
}

/* Zamba2: which of its layers of Mamba-2 have a shared block before it, whose attention is as wide as state and embedding. */
static void read_zamba2(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    int width = 2 * m->hidden_size, turned = 0;
    const json_t *types = ss_config_pick(c, "layers_block_type", key);

    ss_config_size(c, "attention_hidden_size", 0, 1 << 21, &width);
    if (width != 2 * m->hidden_size)
        ss_config_wrong(c, "attention_hidden_size", "differs from twice hidden_size: not modelled");
    if (json_array_size(types) == 0)
        ss_config_wrong(c, key, "is not a list of layers");
    else
        ss_config_layers(c, key, types, m->num_layers, is_hybrid, &m->shared_block);
    m->no_mlp.period = 1;
    m->mamba2 = m->shared_block;
    for (int i = 0; i < m->mamba2.n; i++)
        m->mamba2.bits[i / 64] ^= 1ull << i % 64;
    ss_config_positive(c, "num_mem_blocks", 64, &m->num_shared_blocks);
    ss_config_positive(c, "adapter_rank", 1 << 16, &m->adapter_rank);
    ss_config_bool(c, "use_shared_attention_adapter", &m->attention_adapters);
    ss_config_bool(c, "use_mem_rope", &turned);
    m->position = turned ? SS_POSITION_ROPE : SS_POSITION_NONE;
    ss_config_pick(c, "hybrid_layer_ids ffn_hidden_size kv_channels",
                   key); /* the list and other keys say it */
}

/* The indexer of sparse attention. */
static void read_indexer(struct ss_config *c, struct ss_model *m)
{
    ss_config_positive(c, "index_n_heads", 1 << 16, &m->index_num_heads);
    ss_config_positive(c, "index_head_dim", 1 << 16, &m->index_head_dim);
    ss_config_positive(c, "index_topk", 1 << 30, &m->index_topk);
    ss_config_positive(c, "index_topk_freq", 1 << 16, &m->index_topk_freq);
    ss_config_size(c, "index_skip_topk_offset", 0, 1 << 16, &m->index_topk_offset);
}

static int is_sparse(struct ss_config *c, const char *key, const json_t *value)
{
    if (!json_is_integer(value) || (json_integer_value(value) != 0 && json_integer_value(value) != 1))
        ss_config_wrong(c, key, "holds what is neither 0 nor 1");
    return json_integer_value(value) == 1;
}

/* "sparse_attention_config" of MiniMax-M3: which layers choose blocks of keys, and how many of what size. */
static void read_msa(struct ss_config *c, struct ss_model *m)
{
    char key[64];
    struct ss_config inner = *c;
    int blocks = 0, size = 0, used = 1;
    const json_t *list;

    inner.root = ss_config_pick(c, "sparse_attention_config", key);
    if (!json_is_object(inner.root)) {
        ss_config_wrong(c, key, "is not an object");
        return;
    }
    ss_config_bool(&inner, "use_sparse_attention", &used);
    list = ss_config_pick(&inner, "sparse_attention_freq", key);
    if (list)
        ss_config_layers(&inner, key, list, m->num_layers, is_sparse, &m->msa);
    else
        m->msa.period = used;
    ss_config_size(&inner, "sparse_block_size", 1, 1 << 16, &size);
    ss_config_size(&inner, "sparse_topk_blocks", 1, 1 << 14, &blocks);
    ss_config_size(&inner, "sparse_num_index_heads", 1, 1 << 16, &m->index_num_heads);
    ss_config_size(&inner, "sparse_index_dim", 1, 1 << 16, &m->index_head_dim);
    c->missing = c->missing ? c->missing : inner.missing;
    m->index_topk = blocks * size;
    if (!used)
        m->msa = (struct ss_layer_rule){0};
}

/* Tokens whose keys are one key: a number of "compress_ratios", or a word of "layer_types" that "compress_rates" may explain. */
static int block_of(struct ss_config *c, const char *key, const json_t *value)
{
    static const char *const words[] = {"sliding_attention", "compressed_sparse_attention",
                                        "heavily_compressed_attention"};
    static const int blocks[] = {0, SS_CSA_BLOCK, SS_HCA_BLOCK};
    const char *word = json_string_value(value);
    const json_t *rate = word ? json_object_get(json_object_get(c->root, "compress_rates"), word) : value;

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        if (word && !strcmp(word, words[i]) && (!rate || json_integer_value(rate) == blocks[i]))
            return blocks[i];
    for (size_t i = 0; i < SS_ARRAY_LEN(blocks) && !word; i++)
        if (json_is_integer(value) && json_integer_value(value) == blocks[i])
            return blocks[i];
    ss_config_wrong(c, key, "compresses keys of other blocks than 4 and 128 tokens: not modelled");
    return 0;
}

/* DeepSeek-V4: a list of the layers and, behind them, of the predictions; a head is key and value, its last channels turned. */
static void read_csa(struct ss_config *c, struct ss_model *m)
{
    char key[64], other[64];
    const json_t *list = ss_config_pick(c, "compress_ratios layer_types", key);
    size_t n = json_array_size(list), layers = (size_t)m->num_layers;
    int blocks[SS_LAYER_RULE_MAX] = {0};

    ss_config_pick(c, "compress_rates num_key_value_heads layer_types", other);
    ss_config_positive(c, "q_lora_rank", 1 << 20, &m->q_lora_rank);
    ss_config_positive(c, "head_dim", 1 << 16, &m->v_head_dim);
    ss_config_positive(c, "qk_rope_head_dim", 1 << 16, &m->qk_pos_emb_head_dim);
    if (m->v_head_dim <= m->qk_pos_emb_head_dim)
        ss_config_wrong(c, "qk_rope_head_dim", "is not below head_dim");
    m->kv_lora_rank = m->v_head_dim - m->qk_pos_emb_head_dim; /* as Megatron has it */
    if (n < layers || n >= SS_LAYER_RULE_MAX)
        ss_config_wrong(c, key, "is not a list of num_hidden_layers numbers or more");
    for (size_t i = 0; i < n && i <= layers && !c->err->code; i++)
        blocks[i] = block_of(c, key, json_array_get(list, i));
    if (!c->err->code)
        ss_model_blocks(m, blocks, (int)layers + 1);
    m->streams_head = m->residual_streams > 1;
}

/* Returns the rows of the table of n-grams: for each head the next prime number from `base` on, and padding to a multiple. */
static int ngram_rows(int base, int heads, int multiple)
{
    int64_t rows = 0;
    int prime = base - 1;
    for (int i = 0; i < heads; i++, rows += prime) {
        int divisor = 0;
        while (divisor * (int64_t)divisor <= prime)
            for (prime++, divisor = 2; divisor * (int64_t)divisor <= prime && prime % divisor; divisor++)
                ;
    }
    rows = (rows + multiple - 1) / multiple * multiple;
    return rows <= 1 << 30 ? (int)rows : 0;
}

/* Embeddings of n-grams before layers of a list, counted from 1. */
static void read_ngrams(struct ss_config *c, struct ss_model *m)
{
    int size = 3, heads = 8, base = 20000000, multiple = 128;
    char key[64];
    const json_t *list = ss_config_pick(c, "ple_layer_ids", key);

    ss_config_pick(c, "split_ngram_parts seed mtp output_gate_type",
                   key); /* parts of a checkpoint, and what costs the same */
    ss_config_positive(c, "ngram_size", 64, &size);
    ss_config_positive(c, "heads_per_ngram", 1024, &heads);
    ss_config_positive(c, "ngram_vocab_size_base", 1 << 28, &base);
    ss_config_positive(c, "make_ngram_vocab_size_divisible_by", 1 << 20, &multiple);
    ss_config_positive(c, "ple_conv_kernel_size", 64, &m->ngram_taps);
    m->ngram_width = m->hidden_size;
    ss_config_positive(c, "ple_embed_dim", 1 << 20, &m->ngram_width);
    m->ngram_heads = (size - 1) * heads;
    if (json_array_size(list) > 1)
        ss_config_wrong(c, "ple_layer_ids", "names several layers: not modelled");
    if (json_array_size(list) != 1 || c->err->code)
        return;
    json_int_t n = json_integer_value(json_array_get(list, 0)) - 1;
    if (n < 0 || n >= m->gated_delta.n || !ss_layer_rule_has(&m->gated_delta, (int)n)) {
        ss_config_wrong(c, "ple_layer_ids", "names what is no layer of linear attention: not modelled");
        return;
    }
    m->ngram_delta = (struct ss_layer_rule){.n = m->num_layers};
    m->ngram_delta.bits[n / 64] |= 1ull << n % 64;
    m->ngram_rows = ngram_rows(base, m->ngram_heads, multiple);
    if (!m->ngram_rows || m->ngram_width % m->ngram_heads)
        ss_config_wrong(c, "ple_embed_dim",
                        "is no multiple of the heads, or the table has more than 2^30 rows");
}

/* Qwen3.8: streams with gates, attention over chosen blocks where it is not linear, embeddings of n-grams. */
static void read_qwen4(struct ss_config *c, struct ss_model *m)
{
    int one = 1;

    if (m->gated_delta.n > 0) {
        m->qsa = m->gated_delta;
        for (int i = 0; i < m->qsa.n; i++)
            m->qsa.bits[i / 64] ^= 1ull << i % 64;
    }
    ss_config_positive(c, "indexer_n_heads", 1 << 16, &m->index_num_heads);
    ss_config_positive(c, "indexer_kv_heads", 1, &one);
    ss_config_positive(c, "indexer_head_dim", 1 << 16, &m->index_head_dim);
    ss_config_positive(c, "indexer_budget", 1 << 30, &m->index_topk);
    ss_config_positive(c, "indexer_compress_ratio", 1 << 16, &m->index_block);
    if (!m->index_num_heads || !m->index_head_dim || !m->index_topk || !m->index_block)
        memset(&m->qsa, 0, sizeof m->qsa);
    m->final_norm = 0; /* the gates of the last streams have theirs */
    if (m->residual_streams == 1)
        ss_config_wrong(c, "hc_count", "is one stream: not modelled");
    read_ngrams(c, m);
}

void ss_config_hybrid(struct ss_config *c, struct ss_model *m)
{
    struct ss_layer_rule *mixer = family_mixer(c, m);
    if (c->family->traits & SS_HALF_LAYERS)
        read_halves(c, m);
    else if (mixer == &m->shared_block)
        read_zamba2(c, m);
    else if (mixer == &m->msa)
        read_msa(c, m);
    else if (mixer == &m->csa)
        read_csa(c, m);
    else if (mixer == &m->rwkv7 || mixer == &m->retention || mixer == &m->nsa || mixer == &m->moba)
        ss_config_fla(c, m, mixer);
    else if (mixer)
        read_whole(c, m, mixer);
    if (mixer == &m->mamba1)
        read_mamba1(c, m);
    else if (mixer == &m->short_conv)
        read_lfm2(c, m);
    else if (mixer == &m->parallel_mamba2)
        read_falcon(c, m);
    else if (mixer == &m->dsa || mixer == &m->csa)
        read_indexer(c, m);
    if (!strcmp(c->family->type, "qwen4_exp_text"))
        read_qwen4(c, m);
}
