/* SPDX-License-Identifier: Apache-2.0 */
/* No MLP: the layer is a mixer alone, with one norm and one residual (Nemotron-H). */
#include "layers/kinds.h"
#include "stepsim/model.h"

static int has(const struct ss_model *m, int layer)
{
    return ss_layer_rule_may(&m->no_mlp, layer);
}

static void operators(struct ss_ops *ops __attribute__((unused)),
                      const struct ss_shape *s __attribute__((unused)))
{
}

const struct ss_mlp ss_mlp_none = {.has = has, .operators = operators};
