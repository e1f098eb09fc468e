/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of YAML that are recognised by their contents, each a row of foreign.c with its keymap. */
#ifndef SS_IMPORT_FOREIGN_H
#define SS_IMPORT_FOREIGN_H

#include "import/command.h"
#include "import/import.h"
#include "import/reading.h"

struct ss_foreign_kind {
    const char *name;  /* as people say it: "NeMo 1" */
    const char *map;   /* its keymap */
    const char *knows; /* the condition by which a tree is one; NULL: it is Megatron-LM's MODEL_ARGS */
    const struct ss_key_code *code;
    bool hydra; /* "a.b=c" may follow its file, and "${a.b}" stands for a value (hydra.h) */
    bool loose; /* then also of names that the file has not: they are variables */
};

/* Whether a text may be YAML, not flags: its first line that is no comment is "---" or "name:". */
bool ss_foreign_sniff(const char *text, size_t len);
/* The first kind whose tree it is; NULL: none. */
const struct ss_foreign_kind *ss_foreign_kind_of(const struct ss_tree_node *root);
/* Reads a tree, of which `kind` is NULL or known, and adds its words to *r, one place a file, and to its notes what was assumed
 * and what is not known, to its list of the ignored what has no effect. Words of the place of `own`, which may be NULL, go to its end. The
 * tree is the caller's. Errors: SS_ERR_INPUT, also where no kind knows it, with their names; those of the rows. */
int ss_foreign_request(struct ss_request *r, struct ss_words *own, struct ss_tree *tree,
                       const struct ss_foreign_kind *kind, struct ss_error *err);

/* ---- foreign_code.c: functions of the keymaps' rows; each list ends with a name of NULL ---- */

extern const struct ss_key_code ss_core_code[], ss_nemo_code[], ss_nemo2_code[], ss_arguments_code[];
extern const struct ss_key_code ss_nanotron_code[]; /* nanotron.c */
/* foreign_code.c: the map of flags, "MODEL_ARGS: {--num-layers: 12}"; NULL: there is none. */
const struct ss_tree_node *ss_arguments_of(const struct ss_tree_node *root);

/* ---- nanotron.c: "torchrun --nproc_per_node 8 run_train.py --config-file config.yaml" ---- */
int ss_nanotron_command_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_nanotron_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                            struct ss_error *err);

#endif
