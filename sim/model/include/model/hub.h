/* SPDX-License-Identifier: Apache-2.0 */
/* Names of models as the hub of Hugging Face has them. */
#pragma once

#include <stdbool.h>

#include "stepsim/error.h"

/* Sets *found where "Qwen/Qwen3-8B-Instruct" is a model of workloads/models, and name[size] to what --model takes for it; where it is
 * none, name holds something. Error: SS_ERR_IO (the data cannot be read). */
int ss_model_known(const char *hub, char *name, size_t size, bool *found, struct ss_error *err);
