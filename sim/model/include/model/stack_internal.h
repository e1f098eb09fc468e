/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/notes.h"
#include "stepsim/stack.h"

/* Parses the text of a stack file; `file` stands for it in messages. A base is looked up among the
 * installed stacks. */
int ss_stack_parse(const char *text, size_t len, const char *file, const char *card, struct ss_stack *out,
                   struct ss_error *err);

/* Returns the name nearest to `name` among the releases of its framework, the older of two equally near ones.
 * NULL: no release of that framework, or `name` has no release ("megatron-bridge-26.06.01", "megatron-2407",
 * "mlperf-v5.0"). *months_apart: the distance, INT_MAX where the release of `name` is no date: "1x",
 * "24.13". */
const char *ss_release_nearest(const char *const *names, size_t n, const char *name, int *months_apart);

/* Notes that the stack is another release than the one that was asked for, where it is. `notes` may be NULL. */
void ss_stack_note(const struct ss_stack *s, struct ss_notes *notes);
