/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an encoder has beside its transformer layers, as Hugging Face's models of qwen3_vl, internvl and llama4: pictures are cut into
 * patches, a matrix product each, and sound goes through convolutions; behind the layers merge x merge patches are joined, and a small MLP makes tokens of the language model of
 * them. Every tensor rank has all patches; tensor parallelism divides the projector.
 */
#include <math.h>

#include "layers/kinds.h"
#include "stepsim/model.h"

/* Returns the tokens of a microbatch's pictures without class tokens. */
static double patches_of(const struct ss_shape *s)
{
    return s->micro_batch * (s->sequence - s->encoder->class_tokens);
}

static void outer_norm(struct ss_ops *ops, const struct ss_shape *s, const char *name)
{
    double x = s->tokens * s->h;
    ss_op_norm_of(ops, s, name, x, s->h, s->e)->saved_bytes = x * s->e + 4 * s->tokens;
}

/* Appends a convolution of 3 x 3 with stride 2 over `rows` x `frames` of its output, as a product, and its activation. The first one has
 * one channel, which has no gradient. */
static void convolution(struct ss_ops *ops, const struct ss_shape *s, const char *name, double in,
                        double positions)
{
    double out = s->encoder->conv_channels;
    struct ss_shape own = *s;
    own.tokens = positions;
    struct ss_op *op = ss_op_linear(ops, name, &own, out, 9 * in, SS_TP_NONE, s->gemm_precision, 1);
    op->gemm_params = 0;
    op->saved_bytes = positions * 4 * in * s->e; /* four times as many positions before it */
    if (in <= 1) {
        op->gemm.no_input_grad = op->backward_kernels = 1;
        op->backward_flops = op->forward_flops;
    }
    ss_op_kernels(ops, "convolution activation", 2 * positions * out * s->e, 3 * positions * out * s->e, 1, 1)
        ->saved_bytes = positions * out * s->e;
}

/* Appends what makes tokens of frames of sound: three convolutions, a layer over the channels of what is left of the rows. Qwen3-Omni pads
 * each second, 100 frames, to 13 tokens. */
static void sounds(struct ss_ops *ops, const struct ss_shape *s)
{
    static const char *const names[] = {"convolution 1", "convolution 2", "convolution 3"};
    double channels = s->encoder->conv_channels, rows = s->encoder->mel_bins, frames = SS_AUDIO_FRAMES;
    for (int i = 0; i < 3; i++) {
        rows = ceil(rows / 2);
        frames = ceil(frames / 2);
        convolution(ops, s, names[i], i ? channels : 1, rows * frames * s->tokens / SS_AUDIO_TOKENS);
    }
    ss_op_linear(ops, "sound embedding", s, s->h, rows * channels, SS_TP_NONE, s->gemm_precision, 0)
        ->saved_bytes = s->tokens * rows * channels * s->e;
    ops->op[ops->n - 1].gemm_params = 0;
}

/* Appends the product of pixels and the sum with rows of the table. Pixels have no gradients; those of rows are added up in fp32. */
static void patches(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct ss_encoder *e = s->encoder;
    struct ss_shape own = *s;
    if (e->mel_bins > 0) {
        sounds(ops, s);
        return;
    }
    double x = s->tokens * s->h, side = e->patch_size, rows = e->positions + e->class_tokens;
    double pixels = SS_IMAGE_CHANNELS * e->patch_frames * side * side;
    own.tokens = patches_of(s);
    struct ss_op *op = ss_op_linear(ops, "patch embedding", &own, s->h, pixels, SS_TP_NONE, s->gemm_precision,
                                    e->patch_bias);
    op->gemm_params = 0;
    op->gemm.no_input_grad = op->backward_kernels = 1;
    op->backward_flops = op->forward_flops;
    op->saved_bytes = own.tokens * pixels * s->e;
    if (rows > 0) {
        op = ss_op_kernels(ops, "patch positions", 3 * x * s->e, x * (s->e + 8), 1, 1);
        op->params = rows * s->h;
        op->tensors = (e->positions > 0) + (e->class_tokens > 0);
    }
    if (e->outer_norms > 0)
        outer_norm(ops, s, "encoder norm");
}

/* Appends the norm of patches, or of what is merged, which is a LayerNorm in any case. */
static void merge(struct ss_ops *ops, const struct ss_shape *s, int merged)
{
    double x = patches_of(s) * s->h, rows = patches_of(s), width = s->h;
    struct ss_shape own = *s;
    if (merged) {
        int side = s->encoder->merge_size;
        rows /= side * side;
        width *= side * side;
        own.norm_vectors = 2;
    }
    ss_op_norm_of(ops, &own, "projector norm", x, width, s->e)->saved_bytes = 2 * x * s->e + 4 * rows;
}

/* Appends a layer of the projector behind the first one, with the activation before it: both keep their inputs. */
static void next_layer(struct ss_ops *ops, const struct ss_shape *s, const char *name, double n, double k,
                       int role)
{
    double in = s->tokens * k * s->e;
    ss_op_kernels(ops, "projector activation", 2 * in, 3 * in, 1, 1)->saved_bytes = in;
    ss_op_linear(ops, name, s, n, k, role, s->gemm_precision, s->encoder->projector_bias)->saved_bytes = in;
}

/* Appends one projector of the encoder's output, or of what an inner layer makes (`deep`). */
static void project(struct ss_ops *ops, const struct ss_shape *s, int deep)
{
    const struct ss_encoder *e = s->encoder;
    struct ss_shape own = *s; /* of what is merged */
    double side = e->merge_size, width = side * side * s->h;
    double first = (e->projector_size > 0 ? e->projector_size : s->text_h) / s->tp;
    own.tokens = patches_of(s) / (side * side);
    if (e->norms_merged > 0) /* pixel shuffle */
        ss_op_kernels(ops, "merge", 2 * own.tokens * width * s->e, 2 * own.tokens * width * s->e, 2, 2);
    if (deep || e->norms_merged < 2)
        merge(ops, s, deep || e->norms_merged);
    struct ss_op *op = ss_op_linear(ops, "projector fc1", &own, first, width, SS_TP_COLUMN, s->gemm_precision,
                                    e->projector_bias);
    op->gemm.no_input_grad = s->frozen && e->norms_merged == 2;
    op->saved_bytes = e->norms_merged == 2 ? own.tokens * width * s->e : 0;
    next_layer(ops, &own, "projector fc2", e->projector_second > 0 ? e->projector_second : s->text_h, first,
               SS_TP_ROW);
    if (e->projector_second > 0)
        next_layer(ops, &own, "projector fc3", s->text_h, e->projector_second, SS_TP_NONE);
    /* put among the embeddings of the text, or added to what a layer of the language model makes */
    double out = own.tokens * s->text_h * s->e;
    ss_op_kernels(ops, "placed", (2 + deep) * out, 2 * out, 1, 1);
}

static void projector(struct ss_ops *ops, const struct ss_shape *s)
{
    if (s->encoder->outer_norms > 1)
        outer_norm(ops, s, "encoder norm");
    project(ops, s, 0);
    for (int i = 0; i < s->encoder->deep_projectors; i++)
        project(ops, s, 1);
}

/* A product keeps the branch, for the gradient of its vector. */
void ss_op_layer_scales(struct ss_ops *ops, const struct ss_shape *s)
{
    double scales = s->encoder->layer_scales, x = s->tokens * s->h * s->e * scales;
    if (scales <= 0)
        return;
    struct ss_op *op = ss_op_kernels(ops, "layer scale", 2 * x, 4 * x, (int)scales, 2 * (int)scales);
    op->params = scales * s->h;
    op->tensors = (int)scales;
    op->saved_bytes = x;
}

const struct ss_layer_border ss_border_patches = {.where = SS_WHERE_BEFORE, .operators = patches};
const struct ss_layer_border ss_border_projector = {.where = SS_WHERE_BEFORE, .operators = projector};
