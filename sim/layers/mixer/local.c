/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention of a model's local layers: a query sees the keys of a window, or of its chunk, where that is
 * shorter than the sequence. Where a model neither norms nor rotates queries and keys in its other layers, as
 * Llama 4, these layers are local at any length.
 */
#include "layers/attention.h"
#include "layers/kinds.h"

static int shorter(int size, double sequence)
{
    return size > 0 && size < sequence ? size : 0;
}

static int has(const struct ss_model *m, int sequence, int layer)
{
    return (shorter(m->sliding_window, sequence) || shorter(m->attention_chunk, sequence) ||
            m->full_unturned > 0) &&
           (layer < 0 || ss_layer_rule_has(&m->local_layers, layer));
}

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    const struct ss_model *m = s->model;
    int latent = m->kv_lora_rank > 0;
    struct ss_heads a = latent ? ss_heads_latent(s) : ss_heads_joint(s);
    a.window = shorter(m->sliding_window, s->sequence);
    a.chunk = shorter(m->attention_chunk, s->sequence);
    (latent ? ss_op_latent_attention : ss_op_joint_attention)(ops, s, &a);
}

const struct ss_mixer ss_mixer_local = {.operators = operators, .has = has};
