/* SPDX-License-Identifier: Apache-2.0 */
/* An encoder of pictures before the language model: FLOP, bytes and parameters of one layer, of patches and projectors by hand. */
#include <stdlib.h>

#include "cost/memory.h"
#include "small_job.h"

/* 16 layers of 512 with 8 heads of 64 before the small decoder; three pictures of 8 x 8 patches a sequence, two sequences. */
#define V 512.
#define F 2048.
#define HEADS 8.
#define PATCHES 64.
#define T (2 * 3 * PATCHES) /* tokens of the encoder */
#define MERGED (T / 4)      /* of what its output becomes */
#define H 1024.             /* of the language model */

struct before {
    struct setting t;
    struct ss_tower tower;
};

static void before_make(struct before *b, const struct ss_encoder *more)
{
    struct ss_encoder *e = &b->t.job.model.vision;
    setting_make(&b->t);
    *e = *more;
    e->num_layers = 16;
    e->hidden_size = (int)V;
    e->ffn_hidden_size = (int)F;
    e->num_heads = (int)HEADS;
    e->patch_size = 16;
    e->patch_frames = 2;
    e->merge_size = 2;
    e->qkv_bias = 1;
    b->t.job.vision.images = 3;
    b->t.job.vision.height = b->t.job.vision.width = 8 * 16;
}

static struct ss_ops before_ops(struct before *b, int kind)
{
    struct ss_ops ops;
    shape_again(&b->t);
    const struct ss_media media = ss_job_media(&b->t.job, SS_VISION);
    CU_ASSERT_FATAL(ss_tower_init(&b->tower, &b->t.c.shape, SS_VISION, &media));
    ss_layer_operators(SS_LAYER_OF_ENCODER(SS_VISION, kind), &b->tower.shape, &ops);
    CU_ASSERT(ops.encoder == 1 + SS_VISION && ops.where == SS_WHERE_BEFORE);
    return ops;
}

static int layer_kind(const struct before *b, int layer)
{
    return ss_layer_kind_in(&b->tower.model, (int)b->tower.shape.sequence, layer);
}

/* LayerNorms, biases, GELU; every patch of a picture sees all patches of it, not those before it alone. */
TEST(layer)
{
    static const struct ss_encoder plain = {.rotary = 1};
    struct before b;
    before_make(&b, &plain);
    struct ss_ops ops = before_ops(&b, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(layer_kind(&b, 0), SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(find(&ops, "qkv")->forward_flops, 2 * T * V * 3 * V);
    CU_ASSERT_EQUAL(find(&ops, "projection")->forward_flops, 2 * T * V * V);
    CU_ASSERT_EQUAL(find(&ops, "fc1")->backward_flops, 2 * 2 * T * V * F);
    CU_ASSERT_EQUAL(find(&ops, "fc2")->forward_flops, 2 * T * V * F);
    /* scores and context of 64 keys; the backward has five products for two */
    const struct ss_op *attention = find(&ops, "core attention");
    CU_ASSERT_EQUAL(attention->forward_flops, 2 * 2 * T * PATCHES * V);
    CU_ASSERT_EQUAL(attention->backward_flops, 2.5 * attention->forward_flops);
    CU_ASSERT_EQUAL(attention->model_flops, attention->forward_flops);
    CU_ASSERT(attention->attention.seen == 1 && attention->attention.bounded == 1);
    CU_ASSERT_EQUAL(ops.sum.params, 4 * V * V + 4 * V + 2 * V * F + F + V + 2 * 2 * V);
    /* Norms keep input, output and 4 B a token; attention Q, K, V, its output and 4 B a head; the activation its input, FC2 its own. */
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0),
                    2 * T * (2 * 2 * V + 4) + T * (4 * 2 * V + 4 * HEADS) + 2 * 2 * T * F);
    CU_ASSERT_EQUAL(find(&ops, "mlp norm")->forward_bytes, 2 * 2 * T * V);
}

/* Qwen2.5-VL: windows of 4 x 4 patches, but for every fourth layer. */
TEST(window)
{
    static const struct ss_encoder windows = {
        .rotary = 1, .window = 16, .full_period = 4, .gated_mlp = 1, .rms_norm = 1};
    struct before b;
    before_make(&b, &windows);
    struct ss_ops ops = before_ops(&b, SS_LAYER_PAIR(SS_MIXER_LOCAL, SS_MLP_DENSE));
    const struct ss_op *attention = find(&ops, "core attention");
    for (int i = 0; i < 16; i++)
        CU_ASSERT_EQUAL(layer_kind(&b, i),
                        SS_LAYER_PAIR(i % 4 == 3 ? SS_MIXER_FULL : SS_MIXER_LOCAL, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(attention->forward_flops, 2 * 2 * T * 16 * V);
    CU_ASSERT_EQUAL(attention->attention.bounded, 16 / PATCHES);
    CU_ASSERT_EQUAL(ops.sum.params, 4 * V * V + 4 * V + 3 * V * F + 2 * F + V + 2 * V);
}

/* InternVL: a class token a picture, learned positions, vectors that scale branches. */
TEST(class_token)
{
    static const struct ss_encoder intern = {
        .class_tokens = 1, .positions = 65, .layer_scales = 2, .patch_bias = 1, .norms_merged = 1};
    const double tokens = T + 6;
    struct before b;
    before_make(&b, &intern);
    struct ss_ops ops = before_ops(&b, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(find(&ops, "qkv")->forward_flops, 2 * tokens * V * 3 * V);
    CU_ASSERT_EQUAL(find(&ops, "layer scale")->params, 2 * V);
    CU_ASSERT_EQUAL(find(&ops, "layer scale")->saved_bytes, 2 * 2 * tokens * V);
    ops = before_ops(&b, SS_LAYER_PATCHES);
    /* 3 colours, 2 frames, 16 x 16 pixels; pixels have no gradient */
    const struct ss_op *cut = find(&ops, "patch embedding");
    CU_ASSERT(cut->forward_flops == 2 * T * 1536 * V && cut->backward_flops == cut->forward_flops);
    CU_ASSERT(cut->gemm.no_input_grad && cut->saved_bytes == 2 * T * 1536);
    CU_ASSERT_EQUAL(ops.sum.params, 1536 * V + V + (65 + 1) * V);
    ops = before_ops(&b, SS_LAYER_PROJECTOR); /* as wide as the language model; no biases here */
    CU_ASSERT_EQUAL(ops.sum.params, 2 * 4 * V + 4 * V * H + H * H);
    CU_ASSERT_EQUAL(find(&ops, "merge")->forward_bytes, 2 * 2 * T * V);
}

/* Qwen3-VL: a projector of what four patches are, and one of each of two inner layers. Llama 4: three matrices, no norm. */
TEST(projector)
{
    static const struct ss_encoder qwen = {.projector_size = 2048, .projector_bias = 1, .deep_projectors = 2};
    static const struct ss_encoder llama = {
        .projector_size = 768, .projector_second = 896, .norms_merged = 2, .outer_norms = 2};
    struct before b;
    before_make(&b, &qwen);
    struct ss_ops ops = before_ops(&b, SS_LAYER_PROJECTOR);
    double one = 2048 * 2048 + 2048 + 2048 * H + H;
    CU_ASSERT_EQUAL(ops.sum.params, 3 * one + 2 * V + 2 * 2 * 2048);
    CU_ASSERT_EQUAL(find(&ops, "projector fc1")->forward_flops, 2 * MERGED * 2048 * 2048);
    CU_ASSERT_EQUAL(find(&ops, "projector fc2")->forward_flops, 2 * MERGED * 2048 * H);
    CU_ASSERT_EQUAL(find(&ops, "placed")->forward_bytes, 2 * 2 * MERGED * H);
    before_make(&b, &llama);
    ops = before_ops(&b, SS_LAYER_PROJECTOR);
    CU_ASSERT_EQUAL(ops.sum.params, 2 * V + 2048 * 768 + 768 * 896 + 896 * H);
    CU_ASSERT_FALSE(find(&ops, "projector fc1")->gemm.no_input_grad);
}

/* Qwen3-Omni: a second of sound, 128 rows x 100 frames, is 64 x 50, 32 x 25 and 16 x 13 positions of 480 channels, and 13 tokens; a layer
 * sees 8 s. Here 20 s of 32 channels, of two sequences. */
TEST(sound)
{
    const struct ss_media media = {1, 20 * 13, 0, 0};
    const double seconds = 2 * 20, tokens = seconds * 13;
    struct before b;
    struct ss_ops ops;
    setting_make(&b.t);
    b.t.job.model.audio = (struct ss_encoder){.num_layers = 4,
                                              .hidden_size = (int)V,
                                              .ffn_hidden_size = (int)F,
                                              .num_heads = (int)HEADS,
                                              .qkv_bias = 1,
                                              .mel_bins = 128,
                                              .conv_channels = 32,
                                              .window = 8 * 13,
                                              .merge_size = 1,
                                              .projector_size = (int)V,
                                              .projector_bias = 1};
    shape_again(&b.t);
    CU_ASSERT_FALSE(ss_tower_init(&b.tower, &b.t.c.shape, SS_VISION, &media));
    CU_ASSERT_FATAL(ss_tower_init(&b.tower, &b.t.c.shape, SS_AUDIO, &media));
    ss_layer_operators(SS_LAYER_OF_ENCODER(SS_AUDIO, SS_LAYER_PATCHES), &b.tower.shape, &ops);
    CU_ASSERT_EQUAL(ops.encoder, 1 + SS_AUDIO);
    CU_ASSERT_EQUAL(find(&ops, "convolution 1")->forward_flops, 2 * seconds * 64 * 50 * 9 * 32);
    CU_ASSERT_EQUAL(find(&ops, "convolution 2")->forward_flops, 2 * seconds * 32 * 25 * 9 * 32 * 32);
    CU_ASSERT_EQUAL(find(&ops, "convolution 3")->backward_flops, 2 * 2 * seconds * 16 * 13 * 9 * 32 * 32);
    CU_ASSERT_EQUAL(find(&ops, "sound embedding")->forward_flops, 2 * tokens * 16 * 32 * V);
    CU_ASSERT_EQUAL(ops.sum.params, 9 * 32 + 32 + 2 * (9 * 32 * 32 + 32) + 16 * 32 * V);
    ss_layer_operators(SS_LAYER_OF_ENCODER(SS_AUDIO, layer_kind(&b, 0)), &b.tower.shape, &ops);
    CU_ASSERT_EQUAL(find(&ops, "core attention")->forward_flops, 2 * 2 * tokens * (8 * 13) * V);
    ss_layer_operators(SS_LAYER_OF_ENCODER(SS_AUDIO, SS_LAYER_PROJECTOR), &b.tower.shape, &ops);
    CU_ASSERT_EQUAL(ops.sum.params, 2 * V + V * V + V + V * H + H);
}

/* Tensor ranks divide heads, columns and the projector; neither sequence nor context parallelism, packing nor fp8 reaches the encoder. */
TEST(parallel)
{
    static const struct ss_encoder qwen = {.rotary = 1, .projector_size = 2048},
                                   whole = {.projector_size = 2048, .undivided = 1};
    struct before b;
    before_make(&b, &qwen);
    b.t.job.tp = b.t.job.cp = 2;
    b.t.job.sequence_parallel = 1;
    b.t.job.precision = SS_FP8;
    struct ss_ops ops = before_ops(&b, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(find(&ops, "qkv")->gemm.m, T);
    CU_ASSERT_EQUAL(find(&ops, "qkv")->gemm.n, 3 * V / 2);
    CU_ASSERT_EQUAL(find(&ops, "qkv")->gemm.precision, SS_BF16);
    CU_ASSERT_EQUAL(find(&ops, "core attention")->forward_flops, 2 * 2 * T * PATCHES * V / 2);
    CU_ASSERT_EQUAL(find(&ops, "core attention")->attention.context.forward, 0);
    CU_ASSERT_EQUAL(find(&ops, "mlp norm")->forward_bytes, 2 * 2 * T * V);
    before_make(&b, &whole);
    b.t.job.tp = 2;
    ops = before_ops(&b, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE));
    CU_ASSERT_EQUAL(find(&ops, "qkv")->gemm.n, 3 * V);
}

/* A rank with embedding and encoder; `frozen`: the encoder is not trained. */
static struct ss_layer_set *set_of(struct before *b, int frozen, struct ss_chunk_cost *chunk)
{
    struct ss_layer_set *set = calloc(1, sizeof *set);
    b->t.job.vision.frozen = frozen;
    before_ops(b, SS_LAYER_PATCHES);
    b->t.c.tower[SS_VISION] = &b->tower;
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_init(set, &b->t.c, 1, 1, NULL), 0);
    *chunk = (struct ss_chunk_cost){.nlayers = 1, .has_embedding = 1};
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_chunk(set, 0, chunk, NULL), 0);
    return set;
}

static double sum(const double *by_label)
{
    return ss_label_sum(by_label);
}

/* A frozen encoder has a forward and weights; its projector is trained. */
TEST(frozen)
{
    static const struct ss_encoder qwen = {.rotary = 1, .projector_size = 2048};
    double layer = 4 * V * V + 4 * V + 2 * V * F + F + V + 2 * 2 * V, patches = 1536 * V,
           projector = 2048 * 2048 + 2048 * H + 2 * V, backward = 0;
    struct ss_chunk_cost chunk[2];
    struct ss_param_count p[2];
    struct before b;
    before_make(&b, &qwen);
    for (int frozen = 0; frozen < 2; frozen++) {
        struct ss_layer_set *set = set_of(&b, frozen, &chunk[frozen]);
        p[frozen] = ss_layer_set_params(set, &b.t.c, 0, 0);
        for (size_t i = 0; i < set->chunks[0].n; i++) {
            const struct ss_layer_part *part = ss_layer_part(set, &set->chunks[0].run[i]);
            int trained = part->treatment != SS_TREAT_FROZEN;
            CU_ASSERT_EQUAL(part->treatment == SS_TREAT_FROZEN,
                            frozen && part->ops->encoder &&
                                part->kind != SS_LAYER_OF_ENCODER(SS_VISION, SS_LAYER_PROJECTOR));
            CU_ASSERT_EQUAL(part->steps.phase[SS_PHASE_B].n > 0, trained);
            CU_ASSERT(part->steps.phase[SS_PHASE_F].n > 0);
            if (!frozen && part->ops->encoder &&
                part->kind != SS_LAYER_OF_ENCODER(SS_VISION, SS_LAYER_PROJECTOR))
                backward +=
                    set->chunks[0].run[i].count * (sum(part->cost.input_grad) + sum(part->cost.weight_grad));
        }
        ss_memory_chunk(&b.t.c, set, 0, &chunk[frozen]);
        ss_layer_set_free(set);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum(chunk[0].forward), sum(chunk[1].forward), 1e-12);
    CU_ASSERT(backward > 0);
    CU_ASSERT_DOUBLE_EQUAL(sum(chunk[0].backward) - sum(chunk[1].backward), backward, 1e-12);
    CU_ASSERT_EQUAL(p[0].frozen, 0);
    CU_ASSERT_EQUAL(p[1].frozen, 16 * layer + patches);
    CU_ASSERT_EQUAL(p[0].all - p[1].all, 16 * layer + patches);
    CU_ASSERT_EQUAL(p[0].loss, 0);
    struct ss_ops ops = before_ops(&b, SS_LAYER_PROJECTOR);
    CU_ASSERT_EQUAL(ops.sum.params, projector);
    CU_ASSERT(chunk[0].activation_bytes > chunk[1].activation_bytes + 16 * T * 10 * V);
}
