/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/kinds.h"

#include "layers/stages.h"
#include "stepsim/job.h"

#define SS_FIELD(kind, name, number, told, read) SS_MIXER_OF_##kind(name)
#define SS_MIXER_OF_MIXER(name) extern const struct ss_mixer ss_mixer_##name;
#include "stepsim/model_fields.def"
#undef SS_MIXER_OF_MIXER

static const struct {
    const struct ss_mixer *row;
    size_t rule; /* field of a model: the layers that have it, where the row does not say */
} mixers[SS_MIXERS] = {
#define SS_FIELD(kind, name, number, told, read) SS_MIXER_OF_##kind(name)
#define SS_MIXER_OF_MIXER(name) {&ss_mixer_##name, offsetof(struct ss_model, name)},
#include "stepsim/model_fields.def"
#define X(sym, row) {&row, 0},
    SS_ATTENTION_LIST(X)
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

/* Appends a half of a layer, which is a branch of the residual unless it is empty. */
static void branch(struct ss_ops *out, const struct ss_shape *s, ss_ops_maker *operators, int empty)
{
    int first = out->n;
    if (!empty)
        ss_op_streams_in(out, s);
    operators(out, s);
    if (!empty)
        ss_op_streams_norm(out, s, first);
}

void ss_layer_operators(int kind, const struct ss_shape *s, struct ss_ops *out)
{
    int encoder = ss_layer_encoder(kind);
    kind -= encoder * SS_LAYER_PAIR(SS_MIXERS, 0);
    const struct ss_layer_border *border = kind < SS_LAYER_BORDERS ? borders[kind] : NULL;
    out->where = encoder ? SS_WHERE_BEFORE : border ? border->where : SS_WHERE_TRANSFORMER;
    out->encoder = encoder;
    out->is_loss = border && border->is_loss;
    out->n = out->nsaved = out->nborders = 0;
    out->bias_columns = 0;
    if (border) {
        border->operators(out, s);
    } else {
        const struct ss_mixer *mixer = mixers[(kind - SS_LAYER_BORDERS) / SS_MLPS].row;
        const struct ss_mlp *mlp = mlps[(kind - SS_LAYER_BORDERS) % SS_MLPS];
        out->graph = mixer == &ss_mixer_no_mixer ? mlp->graph : mixer->graph ? mixer->graph : SS_GRAPH_ATTN;
        ss_op_graph_copies(out, s,
                           (unsigned)(mixer == &ss_mixer_no_mixer ? 0 : out->graph) | (unsigned)mlp->graph);
        branch(out, s, mixer->operators, mixer == &ss_mixer_no_mixer);
        branch(out, s, mlp->operators, mlp == &ss_mlp_none);
        if (encoder)
            ss_op_layer_scales(out, s);
        if (ss_op_keeps_codes(s))
            ss_ops_codes(out, s);
        if (s->by_operator)
            ss_ops_by_operator(out, s);
    }
    if (s->autocast)
        ss_op_weight_casts(out);
    if (s->fills)
        ss_op_fill(out, s);
    ss_ops_sum(out);
}

/* Returns whether a layer has the mixer; layer -1: whether the model may have it at all. */
static int has_mixer(int mixer, const struct ss_model *m, int sequence, int layer)
{
    const struct ss_mixer *row = mixers[mixer].row;
    if (row->has)
        return row->has(m, sequence, layer);
    const struct ss_layer_rule *rule = (const struct ss_layer_rule *)((const char *)m + mixers[mixer].rule);
    return ss_layer_rule_may(rule, layer);
}

struct ss_layer_kinds ss_layer_kinds_in(const struct ss_model *m, int sequence)
{
    struct ss_layer_kinds kinds = {.model = m, .sequence = sequence};
    for (int i = 0; i < SS_MIXERS; i++)
        if (i == SS_MIXERS - 1 || has_mixer(i, m, sequence, -1))
            kinds.mixer[kinds.n++] = (unsigned char)i;
    while (kinds.first_mlp < SS_MLPS - 1 && !mlps[kinds.first_mlp]->has(m, -1))
        kinds.first_mlp++;
    return kinds;
}

struct ss_layer_kinds ss_layer_kinds_of(const struct ss_job *job)
{
    return ss_layer_kinds_in(&job->model, job->seq_length);
}

int ss_layer_kind_at(const struct ss_layer_kinds *kinds, int layer)
{
    int i = 0, mlp = kinds->first_mlp;
    while (i < kinds->n - 1 && !has_mixer(kinds->mixer[i], kinds->model, kinds->sequence, layer))
        i++;
    while (mlp < SS_MLPS - 1 && !mlps[mlp]->has(kinds->model, layer))
        mlp++;
    return SS_LAYER_PAIR(kinds->mixer[i], mlp);
}

int ss_layer_kind_in(const struct ss_model *m, int sequence, int layer)
{
    const struct ss_layer_kinds kinds = ss_layer_kinds_in(m, sequence);
    return ss_layer_kind_at(&kinds, layer);
}

int ss_layer_kind_of(const struct ss_job *job, int layer)
{
    return ss_layer_kind_in(&job->model, job->seq_length, layer);
}

int ss_layer_any_other(const struct ss_model *m)
{
    const struct ss_layer_kinds kinds = ss_layer_kinds_in(m, 0);
    for (int i = 0; i < m->num_layers; i++) {
        int mixer = (ss_layer_kind_at(&kinds, i) - SS_LAYER_BORDERS) / SS_MLPS;
        if (mixer < SS_MIXER_LOCAL && mixer != SS_MIXER_no_mixer)
            return 1;
    }
    return 0;
}

int ss_tower_kind(const struct ss_tower *t, int i)
{
    int kind = i == 0                        ? (int)SS_LAYER_PATCHES
               : i == ss_tower_length(t) - 1 ? (int)SS_LAYER_PROJECTOR
                                             : ss_layer_kind_in(&t->model, (int)t->shape.sequence, i - 1);
    return SS_LAYER_OF_ENCODER(t->which, kind);
}

unsigned ss_layer_context_exchanges(const struct ss_job *job)
{
    int layers = job->model.num_layers + job->model.mtp_depth_layers;
    unsigned kinds = 0;
    for (int n = 0; n < SS_MIXERS && job->cp > 1; n++)
        for (int i = 0;
             mixers[n].row->exchanges && has_mixer(n, &job->model, job->seq_length, -1) && i < layers; i++)
            if (has_mixer(n, &job->model, job->seq_length, i)) {
                kinds |= mixers[n].row->exchanges;
                break;
            }
    return kinds;
}

int ss_layer_mtp_layers(const struct ss_model *m)
{
    return m->mtp_depth_layers > 0 ? m->mtp_depth_layers : 1;
}

int ss_layer_mtp_kind_in(const struct ss_model *m, int sequence, int layer)
{
    return ss_layer_kind_in(m, sequence, m->mtp_depth_layers > 0 ? m->num_layers + layer : m->num_layers - 1);
}
