/* SPDX-License-Identifier: Apache-2.0 */
/* What Hydra and OmegaConf do with a tree: overrides on a command line, and texts that stand for other values. */
#pragma once

#include "import/import.h"
#include "import/tree.h"

/* Returns true if a word is an override: "a.b=c", "+a.b=c", "++a.b=c", "~a.b", "~a.b=c". */
bool ss_hydra_is_override(const char *word);
/* Applies an override to the tree. Its place is that of the word (`file` NULL: the command line).
 * `loose` 1: the tree is a part of the job's configuration, so that "a=c" may set a name that the tree
 * lacks, and "+a=c" one that it has. Errors are Hydra's: SS_ERR_INPUT where "a=c" or "~a" names nothing,
 * where "+a=c" names what is there already, and where the value is not understood. */
int ss_hydra_override(struct ss_tree *tree, const char *word, const char *file, int line, bool loose,
                      struct ss_error *err);
/* Replaces "${a.b}", "${.a}" (a name of the same map), "${multiply:${a},2}" and the like in texts by
 * their values. Known are sum, multiply, divide, divide_floor, divide_ceil, int_div, oc.env (which gives
 * its default) and oc.select. A text stays as it is where a name does not exist, or where names stand
 * for one another in a circle. Error: SS_ERR_NOMEM. */
int ss_hydra_resolve(struct ss_tree *tree, struct ss_error *err);

/* Returns true if words, which have no program, are a command for Hydra: one of them is --config-name. */
bool ss_hydra_is_command(const struct ss_words *words);
/* Returns the value of --config-name (`name` true) or --config-path at word i, and sets *used to the
 * number of words that both take. NULL: another word stands there. */
const char *ss_hydra_flag(const struct ss_words *words, size_t i, bool name, size_t *used);

/* ---- hydra_command.c ---- */

/* Reads the configuration that the words name, with their overrides, into *r. The words are replaced by
 * words of the job. The file is looked for at --config-path, then beside the file of the words, then in
 * workloads/nemo of the data, which has a part of what NeMo ships; a note says where it was found.
 * Errors: SS_ERR_INPUT (SS_ERR_USAGE on the command line) where there is no such file, those of
 * ss_hydra_override and ss_foreign_request. */
int ss_hydra_take(struct ss_request *r, struct ss_words *words, struct ss_error *err);
/* Takes the overrides out of the words from word `first` on, and applies them. */
int ss_hydra_overrides(struct ss_tree *tree, struct ss_words *words, size_t first, bool loose,
                       struct ss_error *err);
