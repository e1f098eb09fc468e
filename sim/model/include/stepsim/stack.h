/* SPDX-License-Identifier: Apache-2.0 */
/* A software profile: what a framework release fuses and how well it uses a card. */
#ifndef STEPSIM_STACK_H
#define STEPSIM_STACK_H

#include "stepsim/error.h"
#include "stepsim/files.h"
#include "stepsim/stack_props.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The release that the H800 measurements were made with: that of a job which names none. */
#define SS_DEFAULT_STACK "megatron-2407"

/* Loads workloads/stacks/NAME.xml or a path for a card (its name as in ss.card, may be NULL). */
int ss_stack_load(const char *name_or_path, const char *card, struct ss_stack *out,
                  struct ss_error *err);
/* The same; `files`, may be NULL, gets this file and its bases. */
int ss_stack_load_with(const char *name_or_path, const char *card, struct ss_files *files, struct ss_stack *out,
                       struct ss_error *err);
/* Sets one prop from a text with unit. */
int ss_stack_set(struct ss_stack *s, const char *id, const char *value, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
