/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of YAML that are recognised by their contents. Each is a row of foreign.c and has a keymap. */
#pragma once

#include "import/command.h"
#include "import/reading.h"

struct ss_foreign_kind {
    const char *name; /* as people call it: "NeMo 1" */
    const char *map;  /* name of its keymap */
    const char *
        knows; /* a condition that holds for trees of this kind; NULL: the kind is Megatron-LM's MODEL_ARGS */
    const struct ss_key_code *code;
    bool hydra; /* overrides "a.b=c" may follow its file, and "${a.b}" stands for a value (hydra.h) */
    bool loose; /* overrides may also set names that the file lacks: they are variables */
};

/* Returns true if a text may be YAML and is not flags: its first line that is no comment is "---" or
 * "name:". */
bool ss_foreign_sniff(const char *text, size_t len);
/* Returns the first kind that a tree is of; NULL: none. */
const struct ss_foreign_kind *ss_foreign_kind_of(const struct ss_tree_node *root);
/* Reads a tree and adds its words to *r, with one place for each file. `kind` is NULL where the kind is
 * not known yet. The notes of *r get what was assumed and which keys are unknown; its list of ignored
 * flags gets the keys without effect. Words whose place is that of `own`, which may be NULL, go to the
 * end of `own`. The tree stays the caller's. Errors: SS_ERR_INPUT, also where the tree is of no kind,
 * with the names of all; those of the rows. */
int ss_foreign_request(struct ss_request *r, struct ss_words *own, struct ss_tree *tree,
                       const struct ss_foreign_kind *kind, struct ss_error *err);

/* ---- foreign.c: functions of the keymaps' rows; each list ends with a name of NULL ---- */

extern const struct ss_key_code ss_core_code[], ss_flagscale_code[], ss_nemo_code[], ss_nemo2_code[],
    ss_arguments_code[];
extern const struct ss_key_code ss_nanotron_code[]; /* nanotron.c */

/* ---- megatron_log.c: reads "name .... value" of a log, between "--- arguments ---" and its end, or by themselves ---- */
int ss_megatron_log_sniff(const char *text, size_t len);
int ss_megatron_log_add(struct ss_request *r, const char *text, size_t len, const char *file,
                        struct ss_error *err);

/* ---- nanotron.c: "torchrun --nproc_per_node 8 run_train.py --config-file config.yaml" ---- */
int ss_nanotron_command_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_nanotron_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                            struct ss_error *err);
