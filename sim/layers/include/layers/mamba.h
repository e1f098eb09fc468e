/* SPDX-License-Identifier: Apache-2.0 */
/* What mixers with Mamba-2 inside share. */
#pragma once

#include "layers/operators.h"

/* Appends Mamba-2 from the normed input to its output, without norm and residual. */
void ss_op_mamba2(struct ss_ops *ops, const struct ss_shape *s);
