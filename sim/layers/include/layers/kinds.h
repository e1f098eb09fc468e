/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of layers, a row and a file each. What a chunk of the model costs and holds follows from its list of layers
 * (layers.h) and these rows; nothing else knows a kind by name.
 */
#ifndef SS_LAYERS_KINDS_H
#define SS_LAYERS_KINDS_H

#include "layers/operators.h"

/* X(symbol, row), in the order of the forward */
#define SS_LAYER_KIND_LIST(X)                                                                                                           \
    X(SS_LAYER_RECEIVED, ss_layer_received) /* what the stage before has sent */                                                        \
    X(SS_LAYER_EMBEDDING, ss_layer_embedding)                                                                                           \
    X(SS_LAYER_DENSE, ss_layer_dense)                                                                                                   \
    X(SS_LAYER_DENSE_LOCAL,                                                                                                             \
      ss_layer_dense_local) /* local attention, its window shorter than the sequence; or Llama 4's layers that turn queries and keys */ \
    X(SS_LAYER_MOE, ss_layer_moe)                                                                                                       \
    X(SS_LAYER_MOE_LOCAL, ss_layer_moe_local)                                                                                           \
    X(SS_LAYER_MTP_EMBEDDING,                                                                                                           \
      ss_layer_mtp_embedding)     /* multi-token prediction: a transformer layer comes */                                               \
    X(SS_LAYER_MTP, ss_layer_mtp) /* between its projection and its loss */                                                             \
    X(SS_LAYER_MTP_LOSS, ss_layer_mtp_loss)                                                                                             \
    X(SS_LAYER_LOSS, ss_layer_loss)                                                                                                     \
    X(SS_LAYER_RETURNED, ss_layer_returned) /* the gradient that the stage behind has sent */
enum ss_layer_kind_index {
#define X(sym, row) sym,
    SS_LAYER_KIND_LIST(X)
#undef X
        SS_LAYER_KINDS
};

/* Transformer layers are those that are numbered (but for multi-token prediction's), recomputed, offloaded, and wrapped by
 * PyTorch's FSDP. */
enum ss_layer_where { SS_WHERE_BEFORE, SS_WHERE_TRANSFORMER, SS_WHERE_BEHIND };

struct ss_layer_kind {
    const char *name;
    int where;   /* enum ss_layer_where, in the order of the forward */
    int is_loss; /* 1: output layer and loss */
    /* Appends the operators, and the collectives that belong to none. Parameters, saved bytes and traffic are theirs. */
    void (*operators)(struct ss_ops *ops, const struct ss_shape *s, const struct ss_stack *stack);
};
#define X(sym, row) extern const struct ss_layer_kind row;
SS_LAYER_KIND_LIST(X)
#undef X
const struct ss_layer_kind *ss_layer_kind(int kind);

/* The operators of one layer of a kind, in forward order. */
void ss_layer_operators(int kind, const struct ss_shape *s, const struct ss_stack *stack, struct ss_ops *out);
/* Kind of a job's n-th transformer layer. */
int ss_layer_kind_of(const struct ss_job *job, int layer);

#endif
