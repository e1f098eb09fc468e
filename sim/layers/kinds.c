/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/kinds.h"

#include "layers/stages.h"
#include "stepsim/job.h"
#include "stepsim/model.h"

const struct ss_layer_kind *ss_layer_kind(int kind)
{
    static const struct ss_layer_kind *const rows[SS_LAYER_KINDS] = {
#define X(sym, row) [sym] = &row,
        SS_LAYER_KIND_LIST(X)
#undef X
    };
    return rows[kind];
}

void ss_layer_operators(int kind, const struct ss_shape *s, const struct ss_stack *stack, struct ss_ops *out)
{
    out->n = out->nsaved = out->nborders = 0;
    ss_layer_kind(kind)->operators(out, s, stack);
    if (s->autocast)
        ss_op_weight_casts(out);
}

static int is_local(const struct ss_job *job, int layer)
{
    const struct ss_model *m = &job->model;
    int window = m->sliding_window > 0 && m->sliding_window < job->seq_length;
    int chunk = m->attention_chunk > 0 && m->attention_chunk < job->seq_length;
    return (window || chunk || m->full_unturned > 0) && ss_layer_rule_has(&m->local_layers, layer);
}

int ss_layer_kind_of(const struct ss_job *job, int layer)
{
    int moe = job->model.num_experts > 0 && ss_layer_rule_has(&job->model.moe_layers, layer);
    if (is_local(job, layer))
        return moe ? SS_LAYER_MOE_LOCAL : SS_LAYER_DENSE_LOCAL;
    return moe ? SS_LAYER_MOE : SS_LAYER_DENSE;
}
