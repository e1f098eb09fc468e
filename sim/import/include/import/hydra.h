/* SPDX-License-Identifier: Apache-2.0 */
/* What Hydra and OmegaConf do with a tree: overrides on a command line, and texts that stand for other values. */
#ifndef SS_IMPORT_HYDRA_H
#define SS_IMPORT_HYDRA_H

#include "import/import.h"
#include "import/tree.h"

/* Whether a word is an override: "a.b=c", "+a.b=c", "++a.b=c", "~a.b", "~a.b=c". */
bool ss_hydra_is_override(const char *word);
/* Applies one to the tree, at the place of the word (`file` NULL: the command line). `loose` 1: the tree is a part of what the job
 * has, so that names which it lacks may be set, and others be there. Errors, as Hydra's: SS_ERR_INPUT where "a=c" names nothing,
 * "+a=c" something that is there, "~a" nothing; a value that is not understood. */
int ss_hydra_override(struct ss_tree *tree, const char *word, const char *file, int line, bool loose,
                      struct ss_error *err);
/* Puts values for texts with "${a.b}", "${.a}" (beside it), "${multiply:${a},2}" and the like: sum, multiply, divide, divide_floor,
 * divide_ceil, int_div, oc.env (its default), oc.select. Where a name is not there, or names stand for one another in a circle, the
 * text stays. SS_ERR_NOMEM. */
int ss_hydra_resolve(struct ss_tree *tree, struct ss_error *err);

/* Whether words, without a program, are of a command that Hydra reads: one is --config-name. */
bool ss_hydra_is_command(const struct ss_words *words);
/* The value of --config-name (`name`) or --config-path at word i; *used: words of both. NULL: another word stands there. */
const char *ss_hydra_flag(const struct ss_words *words, size_t i, bool name, size_t *used);

/* ---- hydra_command.c ---- */

/* Reads the configuration that they name, with their overrides, into *r; the words themselves become those of the job that stand in
 * their place. The file is at --config-path, else beside the file of the words, else one of workloads/nemo of the data, a part of
 * what NeMo ships: a note says which. Errors: SS_ERR_INPUT (SS_ERR_USAGE on the command line) where there is none, those of
 * ss_hydra_override and ss_foreign_request. */
int ss_hydra_take(struct ss_request *r, struct ss_words *words, struct ss_error *err);
/* Takes overrides, from word `first` on, out of the words and applies them. */
int ss_hydra_overrides(struct ss_tree *tree, struct ss_words *words, size_t first, bool loose,
                       struct ss_error *err);

/* ---- hydra_command.c ---- */

/* Whether words, without a program, are of a command that Hydra reads: one is --config-name. */
bool ss_hydra_is_command(const struct ss_words *words);
/* Reads the configuration that they name, with their overrides, into *r; the words themselves become those of the job that stand in
 * their place. The file is at --config-path, else beside the file of the words, else one of workloads/nemo of the data, a part of
 * what NeMo ships: a note says which. Errors: SS_ERR_INPUT (SS_ERR_USAGE on the command line) where there is none, those of
 * ss_hydra_override and ss_foreign_request. */
int ss_hydra_take(struct ss_request *r, struct ss_words *words, struct ss_error *err);

#endif
