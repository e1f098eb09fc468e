/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of layers. A transformer layer is a pair: a mixer, which mixes its tokens, and an MLP. Borders are
 * what lies before, between and behind the transformer layers. Each kind is a row and a file:
 * sim/layers/mixer, mlp and border. A kind makes a list of operators, from which time and memory follow;
 * nothing else knows a kind by name.
 */
#ifndef SS_LAYERS_KINDS_H
#define SS_LAYERS_KINDS_H

#include "layers/operators.h"
#include "stepsim/job.h"

/*
 * Mixers: the rows of kind MIXER of stepsim/model_fields.def, then the rows of attention, X(symbol, row).
 * SS_FIELD(MIXER, NAME, ...) names the row ss_mixer_NAME of mixer/NAME.c and says which layers have it. Every
 * other layer has the first row of attention whose `has` is 1.
 */
#define SS_ATTENTION_LIST(X)                                                                                 \
    X(SS_MIXER_LOCAL, ss_mixer_local)   /* attention of a model's local layers */                            \
    X(SS_MIXER_LATENT, ss_mixer_latent) /* multi-head latent attention */                                    \
    X(SS_MIXER_FULL, ss_mixer_full)     /* multi-head or grouped-query attention */
/* X(symbol, row). A layer has the first MLP whose `has` is 1. */
#define SS_MLP_LIST(X)                                                                                       \
    X(SS_MLP_NONE, ss_mlp_none) /* the layer is a mixer alone */                                             \
    X(SS_MLP_HASH, ss_mlp_hash) /* a mixture whose router looks a token up */                                \
    X(SS_MLP_CHANNEL_MIX, ss_mlp_channel_mix)                                                                \
    X(SS_MLP_MOE, ss_mlp_moe)                                                                                \
    X(SS_MLP_DENSE, ss_mlp_dense)
/* X(symbol, row) */
#define SS_BORDER_LIST(X)                                                                                    \
    X(SS_LAYER_PATCHES, ss_border_patches)     /* of an encoder: pictures become its tokens ... */           \
    X(SS_LAYER_PROJECTOR, ss_border_projector) /* ... and these become tokens of the language model */       \
    X(SS_LAYER_RECEIVED, ss_border_received)   /* what the previous stage has sent */                        \
    X(SS_LAYER_EMBEDDING, ss_border_embedding)                                                               \
    X(SS_LAYER_MTP_EMBEDDING, ss_border_mtp_embedding) /* multi-token prediction: a transformer layer */     \
    X(SS_LAYER_MTP, ss_border_mtp)                     /* comes between its projection and its loss */       \
    X(SS_LAYER_MTP_LOSS, ss_border_mtp_loss)                                                                 \
    X(SS_LAYER_LOSS, ss_border_loss)                                                                         \
    X(SS_LAYER_RETURNED, ss_border_returned) /* the gradient that the next stage has sent */

#define SS_MIXER_OF_NEED(name)
#define SS_MIXER_OF_SIZE(name)
#define SS_MIXER_OF_CHOICE(name)
#define SS_MIXER_OF_MARK(name)
#define SS_MIXER_OF_SHARE(name)
#define SS_MIXER_OF_RATE(name)
#define SS_MIXER_OF_LAYERS(name)
#define SS_MIXER_OF_TEXT(name)
#define SS_MIXER_OF_ENCODER(name)
#define SS_FIELD(kind, name, number, told, read) SS_MIXER_OF_##kind(name)
#define X(sym, row) sym,
enum ss_mixer_index {
#define SS_MIXER_OF_MIXER(name) SS_MIXER_##name,
#include "stepsim/model_fields.def"
#undef SS_MIXER_OF_MIXER
    SS_ATTENTION_LIST(X) SS_MIXERS
};
enum ss_mlp_index { SS_MLP_LIST(X) SS_MLPS };
enum ss_border_index { SS_BORDER_LIST(X) SS_LAYER_BORDERS };
#undef X
/* Number of a transformer layer's kind; smaller numbers are borders. */
#define SS_LAYER_PAIR(mixer, mlp) (SS_LAYER_BORDERS + (mixer)*SS_MLPS + (mlp))
/* Number of the same kind in an encoder, SS_VISION or SS_AUDIO, which has that encoder's shape. */
#define SS_LAYER_OF_ENCODER(which, kind) (((which) + 1) * SS_LAYER_PAIR(SS_MIXERS, 0) + (kind))

/* Appends operators, and the collectives that belong to no operator. */
typedef void ss_ops_maker(struct ss_ops *ops, const struct ss_shape *s);

struct ss_mixer {
    ss_ops_maker *operators; /* from the input norm to the residual */
    int graph; /* enum ss_graph_part: the part of a CUDA graph's scope that holds it; 0: attention's */
    unsigned exchanges; /* set of SS_COLL_BIT: collectives of context ranks; attention's are its flag's */
    /* Returns 1 when a layer of the model has this mixer at this sequence length, layer -1: when one may have it; NULL: model_fields.def says
     * so, or no other mixer has the layer */
    int (*has)(const struct ss_model *m, int sequence, int layer);
};
/* Returns whether a rule has a layer; layer -1: whether it may have any. */
static inline int ss_layer_rule_may(const struct ss_layer_rule *rule, int layer)
{
    return (rule->period > 0 || rule->n > 0) && (layer < 0 || ss_layer_rule_has(rule, layer));
}
struct ss_mlp {
    /* Returns 1 when a layer of the model has this MLP, layer -1: when one may have it; NULL in the last row */
    int (*has)(const struct ss_model *m, int layer);
    ss_ops_maker *operators; /* from the norm before it to the residual */
    int graph; /* enum ss_graph_part: the part that holds its norm and residual where the layer has no mixer */
};
struct ss_layer_border {
    int where;   /* enum ss_layer_where: before or behind the transformer layers */
    int is_loss; /* 1: output layer and loss */
    ss_ops_maker *operators;
};
#define X(sym, row) extern const struct ss_mixer row;
SS_ATTENTION_LIST(X)
#undef X
#define X(sym, row) extern const struct ss_mlp row;
SS_MLP_LIST(X)
#undef X
#define X(sym, row) extern const struct ss_layer_border row;
SS_BORDER_LIST(X)
#undef X

/* Appends the products with learned vectors that scale the branches of an encoder's layer. */
void ss_op_layer_scales(struct ss_ops *ops, const struct ss_shape *s);
/* Makes the list of one layer of a kind. */
void ss_layer_operators(int kind, const struct ss_shape *s, struct ss_ops *out);
/* The layers of a model at a sequence length, for who asks for the kinds of many of them. */
struct ss_layer_kinds {
    const struct ss_model *model;
    int sequence, n;
    int first_mlp;                  /* the first row of MLPs that a layer may have */
    unsigned char mixer[SS_MIXERS]; /* those that a layer may have */
};
struct ss_layer_kinds ss_layer_kinds_in(const struct ss_model *m, int sequence);
struct ss_layer_kinds ss_layer_kinds_of(const struct ss_job *job);
/* Returns the kind of the n-th transformer layer. */
int ss_layer_kind_at(const struct ss_layer_kinds *kinds, int layer);
int ss_layer_kind_in(const struct ss_model *m, int sequence, int layer);
int ss_layer_kind_of(const struct ss_job *job, int layer);
/* Returns 1 when a layer of the model has a mixer that is neither full nor windowed attention. */
int ss_layer_any_other(const struct ss_model *m);
/* Returns the kind of the i-th of an encoder's layers and of the two borders around them, of which there are ss_tower_length. */
int ss_tower_kind(const struct ss_tower *t, int i);
static inline int ss_tower_length(const struct ss_tower *t)
{
    return t->model.num_layers + 2;
}
/* Returns the number of transformer layers of one depth of multi-token prediction, and the kind of the n-th. */
int ss_layer_mtp_layers(const struct ss_model *m);
int ss_layer_mtp_kind_in(const struct ss_model *m, int sequence, int layer);
/* Returns 1 when the kind is a transformer layer. */
static inline int ss_layer_is_pair(int kind)
{
    return kind >= SS_LAYER_BORDERS;
}
/* Returns 0 for a kind of the language model, for one of an encoder 1 + SS_VISION or SS_AUDIO. */
static inline int ss_layer_encoder(int kind)
{
    return kind / SS_LAYER_PAIR(SS_MIXERS, 0);
}

#endif
