/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of experts in a file (docs/reference/formats.md, "Loads of experts"). */
#pragma once

#include "stepsim/error.h"

/* The layers that the file has, in the order of their numbers. */
struct ss_moe_loads {
    int layers, experts;
    double *load; /* [layer][expert] >= 0, more than 0 of at least `top_k` experts of each layer */
};

/* Reads loads of a model with `experts` experts, whose tokens choose top_k. The caller frees out->load.
 * `name` stands for the file in messages. Errors: SS_ERR_INPUT with the line, SS_ERR_IO, SS_ERR_NOMEM. */
int ss_moe_loads_parse(const char *text, size_t len, const char *name, int experts, int top_k,
                       struct ss_moe_loads *out, struct ss_error *err);
int ss_moe_loads_read(const char *path, int experts, int top_k, struct ss_moe_loads *out,
                      struct ss_error *err);
