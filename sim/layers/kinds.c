/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/kinds.h"

#include <string.h>

static const struct ss_mixer *const mixers[SS_MIXERS] = {
#define X(sym, row) [sym] = &row,
    SS_MIXER_LIST(X)
#undef X
};
static const struct ss_mlp *const mlps[SS_MLPS] = {
#define X(sym, row) [sym] = &row,
    SS_MLP_LIST(X)
#undef X
};
static const struct ss_layer_border *const borders[SS_LAYER_BORDERS] = {
#define X(sym, row) [sym] = &row,
    SS_BORDER_LIST(X)
#undef X
};

void ss_layer_operators(int kind, const struct ss_shape *s, const struct ss_stack *stack, struct ss_ops *out)
{
    const struct ss_layer_border *border = ss_layer_is_pair(kind) ? NULL : borders[kind];
    out->where = border ? border->where : SS_WHERE_TRANSFORMER;
    out->is_loss = border && border->is_loss;
    out->n = out->nsaved = out->nborders = 0;
    out->bias_columns = 0;
    if (border) {
        border->operators(out, s, stack);
    } else {
        mixers[(kind - SS_LAYER_BORDERS) / SS_MLPS]->operators(out, s, stack);
        mlps[(kind - SS_LAYER_BORDERS) % SS_MLPS]->operators(out, s, stack);
        if (s->by_operator)
            ss_ops_by_operator(out, s);
    }
    if (s->autocast)
        ss_op_weight_casts(out);
}

/* Whether the model says that the layer has the mixer of this name. */
static int is_named(const struct ss_model *m, const char *name, int layer)
{
    for (int i = 0; i < SS_MODEL_MIXERS && m->mixed[i].mixer[0]; i++)
        if (!strcmp(m->mixed[i].mixer, name) && ss_layer_rule_has(&m->mixed[i].layers, layer))
            return 1;
    return 0;
}

static int has_mixer(const struct ss_mixer *row, const struct ss_model *m, int sequence, int layer)
{
    return row->has ? row->has(m, sequence, layer) : is_named(m, row->name, layer);
}

int ss_layer_kind_in(const struct ss_model *m, int sequence, int layer)
{
    int mixer = 0, mlp = 0;
    while (mixer < SS_MIXERS - 1 && !has_mixer(mixers[mixer], m, sequence, layer))
        mixer++;
    while (mlp < SS_MLPS - 1 && !mlps[mlp]->has(m, layer))
        mlp++;
    return SS_LAYER_PAIR(mixer, mlp);
}

int ss_layer_kind_of(const struct ss_job *job, int layer)
{
    return ss_layer_kind_in(&job->model, job->seq_length, layer);
}
