/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STACK_INTERNAL_H
#define SS_STACK_INTERNAL_H

#include <stddef.h>

#include "stepsim/stack.h"

/* Parses the text of a stack file; `file` stands for it in messages. A base is looked up among the
 * installed stacks. */
int ss_stack_parse(const char *text, size_t len, const char *file, const char *card, struct ss_stack *out,
                   struct ss_error *err);

#endif
