/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks: profiles of software, one for each release of a framework. A stack says what the release fuses, how well it uses a
 * card and what its defaults are; stack_props.h lists the props. A struct ss_stack holds no memory and needs no free.
 */
#pragma once

#include "stepsim/files.h"
#include "stepsim/stack_props.h"
#include "stepsim/types.h"

SS_C_BEGIN

/* The stack of a job that names none: the release with which the H800 measurements were made. */
#define SS_DEFAULT_STACK "megatron-2407"

/* Loads a stack by name (workloads/stacks/NAME.xml of the data) or by path into *out, with its values for
 * `card` (struct ss_card's name; NULL: those for all cards). A release without a file ("nemo-25.01") becomes
 * the nearest release of that framework with a file; out->asked has the name that was asked for. Errors:
 * SS_ERR_IO (no such file, no such framework), SS_ERR_INPUT. */
int ss_stack_load(const char *name_or_path, const char *card, struct ss_stack *out, struct ss_error *err);
/* Loads a stack as ss_stack_load does; `files`, which may be NULL, gets this file and its bases. */
int ss_stack_load_with(const char *name_or_path, const char *card, struct ss_files *files,
                       struct ss_stack *out, struct ss_error *err);
/* Sets a prop of a loaded stack from a text, with a unit where the prop has one: ss_stack_set(&s, "ss.host.operator", "5us",
 * &err). Error: SS_ERR_INPUT (no such prop, or no value of it). */
int ss_stack_set(struct ss_stack *s, const char *id, const char *value, struct ss_error *err);

SS_C_END
