/* SPDX-License-Identifier: Apache-2.0 */
/* Attention and Mamba-2 side by side behind one norm, whose outputs are added (Falcon-H1: transformers' FalconH1DecoderLayer). */
#include "layers/attention.h"
#include "layers/kinds.h"
#include "layers/mamba.h"

static void operators(struct ss_ops *ops, const struct ss_shape *s)
{
    double sum = 3 * s->tokens * s->h / s->sp * s->e; /* of outputs, and of the gradients of the input */
    const struct ss_heads a = ss_heads_joint(s);
    struct ss_model side = *s->model; /* the attention ends without a residual */
    struct ss_shape both = *s;
    side.parallel_residual = SS_RESIDUAL_TWO_NORMS;
    both.model = &side;
    ss_op_joint_attention(ops, &both, &a);
    ss_op_mamba2(ops, s);
    ss_op_kernels(ops, "sum of both", sum, sum, 1, 1);
    ss_op_branch_end(ops, s, "mixer post norm");
}

const struct ss_mixer ss_mixer_parallel_mamba2 = {.operators = operators,
                                                  .exchanges = SS_COLL_BIT(SS_COLL_ALL_TO_ALL)};
