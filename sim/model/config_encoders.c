/* SPDX-License-Identifier: Apache-2.0 */
/* The encoders of a config.json, "vision_config" and "audio_config": what each kind leaves unsaid, and its sizes (Hugging Face
 * transformers, models/qwen2_vl, qwen2_5_vl, qwen3_vl, qwen3_omni_moe, internvl, llama4; modeling_intern_vit.py of OpenGVLab). */
#include "base/base.h"
#include "model/config.h"

/* A projector's first layer that is as wide as what is merged. */
#define AS_MERGED (-1)

#define QWEN_MERGER                                                                                          \
    .rotary = 1, .qkv_bias = 1, .patch_frames = 2, .merge_size = 2, .projector_size = AS_MERGED,             \
    .projector_bias = 1
#define QWEN3 QWEN_MERGER, .patch_bias = 1, .patch_size = 16
/* Megatron-Bridge has the modules of Hugging Face here (models/qwen_vl/modeling_qwen25_vl.py). */
#define QWEN2 QWEN_MERGER, .patch_size = 14, .undivided = 1
#define INTERN                                                                                               \
    .qkv_bias = 1, .layer_scales = 2, .image_size = 448, .patch_size = 14, .patch_frames = 1,                \
    .patch_bias = 1, .class_tokens = 1, .merge_size = 2, .norms_merged = 1, .projector_bias = 1

static const struct {
    const char *type; /* "model_type" of the encoder */
    struct ss_encoder unsaid;
} towers[] = {
    {"qwen2_vl", {QWEN2}},
    {"qwen2_5_vl", {QWEN2, .gated_mlp = 1, .rms_norm = 1}},
    {"qwen3_vl", {QWEN3}},
    {"qwen3_vl_moe", {QWEN3}},
    {"qwen3_omni_moe_vision_encoder", {QWEN3}},
    {"qwen3_5", {QWEN3}},
    {"qwen3_5_moe", {QWEN3}},
    {"qwen3_omni_moe_audio_encoder",
     {.qkv_bias = 1,
      .mel_bins = 128,
      .conv_channels = 480,
      .merge_size = 1,
      .projector_size = AS_MERGED,
      .projector_bias = 1}},
    {"intern_vit_6b", {INTERN}},
    {"internvl_vision", {INTERN}},
    {"llama4_vision_model",
     {.rotary = 1,
      .qkv_bias = 1,
      .outer_norms = 2,
      .patch_size = 14,
      .patch_frames = 1,
      .class_tokens = 1,
      .merge_size = 2,
      .norms_merged = 2}},
};

static const struct ss_encoder *unsaid_of(const char *type)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(towers) && type; i++)
        if (!strcmp(towers[i].type, type))
            return &towers[i].unsaid;
    return NULL;
}

/* A window of pixels a side, and layers that see the whole picture: the last of every so many. A window of Qwen3-Omni's sound is so many
 * frames, of which 100 become 13 tokens. */
static void read_window(struct ss_config *c, struct ss_encoder *e)
{
    char key[64];
    int pixels = 0, frames = 0;
    const json_t *list = ss_config_pick(c, "fullatt_block_indexes", key);

    ss_config_size(c, "window_size", 0, 1 << 16, &pixels);
    ss_config_size(c, "n_window_infer", 0, 1 << 16, &frames);
    if (e->mel_bins > 0)
        e->window = frames / SS_AUDIO_FRAMES * SS_AUDIO_TOKENS;
    else
        e->window = (pixels / e->patch_size) * (pixels / e->patch_size);
    e->full_period = json_array_size(list) ? (int)json_integer_value(json_array_get(list, 0)) + 1 : 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_integer_value(json_array_get(list, i)) != (json_int_t)(i + 1) * e->full_period - 1)
            ss_config_wrong(c, key, "is not the last of every so many layers, which is not modelled");
}

/* Qwen2-VL's sizes have names of their own; its "hidden_size" is the language model's. */
static void read_width(struct ss_config *c, struct ss_encoder *e)
{
    int ratio = 4;

    ss_config_size(c, "embed_dim d_model hidden_size", 1, 1 << 20, &e->hidden_size);
    ss_config_positive(c, "mlp_ratio", 64, &ratio);
    e->ffn_hidden_size = ratio * e->hidden_size;
    ss_config_positive(c, "intermediate_size encoder_ffn_dim", 1 << 24, &e->ffn_hidden_size);
}

/* How many patches a side become a token: "pixel_shuffle_ratio" and "downsample_ratio" are its inverse. */
static void read_merge(struct ss_config *c, const json_t *outside, struct ss_encoder *e)
{
    char key[64];
    const json_t *v = ss_config_pick(c, "pixel_shuffle_ratio", key);
    double ratio = json_number_value(v ? v : outside);

    ss_config_positive(c, "spatial_merge_size", 64, &e->merge_size);
    if (ratio > 0 && ratio <= 1)
        e->merge_size = (int)(1 / ratio + 0.5);
}

static void read_projector(struct ss_config *c, struct ss_encoder *e)
{
    char key[64];

    e->deep_projectors = (int)json_array_size(ss_config_pick(c, "deepstack_visual_indexes", key));
    if (e->projector_size == AS_MERGED)
        e->projector_size = e->merge_size * e->merge_size * e->hidden_size;
    ss_config_size(c, "projector_input_dim", 0, 1 << 20, &e->projector_size);
    ss_config_size(c, "projector_output_dim", 0, 1 << 20, &e->projector_second);
}

static void read_norms(struct ss_config *c, struct ss_encoder *e)
{
    char key[64];
    const char *word = json_string_value(ss_config_pick(c, "norm_type", key));

    if (word)
        e->rms_norm = !strcmp(word, "rms_norm");
    ss_config_bool(c, "use_qk_norm qk_normalization", &e->qk_norm);
}

static void read_pictures(struct ss_config *c, struct ss_encoder *e)
{
    ss_config_positive(c, "patch_size", 1 << 16, &e->patch_size);
    ss_config_positive(c, "temporal_patch_size", 64, &e->patch_frames);
    if (e->class_tokens > 0) { /* every picture has this size, and a row of the table for each token */
        ss_config_positive(c, "image_size", 1 << 16, &e->image_size);
        int side = e->image_size / e->patch_size;
        e->positions = side * side + e->class_tokens;
    }
    ss_config_size(c, "num_position_embeddings", 0, 1 << 24, &e->positions);
}

static void read_sound(struct ss_config *c, struct ss_encoder *e)
{
    ss_config_positive(c, "num_mel_bins", 1 << 16, &e->mel_bins);
    ss_config_positive(c, "downsample_hidden_size", 1 << 16, &e->conv_channels);
}

/* Reads the encoder that an object of the file is; it stays none where its kind is not known. */
static void read_encoder(struct ss_config *c, const char *name, struct ss_encoder *out, struct ss_model *m)
{
    char key[64];
    json_t *own = ss_config_pick(c, name, key);
    const json_t *type = json_object_get(own, "model_type"); /* older files have that of the whole alone */
    const struct ss_encoder *unsaid =
        unsaid_of(json_string_value(type ? type : json_object_get(c->root, "model_type")));
    struct ss_config inner = *c;
    int channels = SS_IMAGE_CHANNELS;
    struct ss_encoder e;

    if (!json_object_size(own))
        return;
    if (!unsaid) {
        ss_config_not_priced(m, name);
        return;
    }
    e = *unsaid;
    inner.root = own;
    ss_config_size(&inner, "depth encoder_layers num_hidden_layers", 1, SS_LAYER_RULE_MAX, &e.num_layers);
    ss_config_size(&inner, "num_heads encoder_attention_heads num_attention_heads", 1, 1 << 16, &e.num_heads);
    ss_config_positive(&inner, "in_channels in_chans num_channels", 64, &channels);
    ss_config_bool(&inner, "qkv_bias attention_bias", &e.qkv_bias);
    read_width(&inner, &e);
    read_merge(&inner, json_object_get(c->root, "downsample_ratio"), &e);
    read_norms(&inner, &e);
    (e.mel_bins > 0 ? read_sound : read_pictures)(&inner, &e);
    read_projector(&inner, &e);
    read_window(&inner, &e);
    c->missing = c->missing ? c->missing : inner.missing;
    if (channels != SS_IMAGE_CHANNELS)
        ss_config_wrong(&inner, "in_channels", "is not 3, which is not modelled");
    if (!c->err->code && !inner.missing && e.hidden_size % e.num_heads)
        ss_config_wrong(&inner, "num_heads", "does not divide the encoder's width");
    *out = e;
}

void ss_config_encoders(struct ss_config *c, struct ss_model *m)
{
    read_encoder(c, "vision_config", &m->vision, m);
    read_encoder(c, "audio_config", &m->audio, m);
}
