/* SPDX-License-Identifier: Apache-2.0 */
/* No mixer: the layer is an MLP alone, with one norm and one residual (Nemotron-H). */
#include "layers/kinds.h"

static void operators(struct ss_ops *ops __attribute__((unused)),
                      const struct ss_shape *s __attribute__((unused)))
{
}

const struct ss_mixer ss_mixer_no_mixer = {.operators = operators};
