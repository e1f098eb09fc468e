/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of models and jobs share. */
#ifndef SS_MODEL_INTERNAL_H
#define SS_MODEL_INTERNAL_H

#include <stddef.h>

#include "stepsim/model.h"

/* A choice or yes/no that nobody gave; sizes use 0. Gone after ss_model_finish. */
#define SS_MODEL_UNSET (-1)

/* Takes over every value that `given` has. */
void ss_model_overlay(struct ss_model *base, const struct ss_model *given);
/* Takes over the other's choices (no sizes) where `m` has none. */
void ss_model_choose(struct ss_model *m, const struct ss_model *other);
/* Returns the elements of a row of the vocabulary. */
int ss_model_embedding_row(const struct ss_model *m);
/* Parses the text of a config.json; `file` stands for it in messages. *out is initialised here. */
int ss_model_parse(const char *text, size_t len, const char *file, struct ss_model *out,
                   struct ss_error *err);

#endif
