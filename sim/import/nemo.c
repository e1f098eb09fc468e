/* SPDX-License-Identifier: Apache-2.0 */
/* NeMo 1: what the rows of nemo.map cannot say. */
#include <string.h>

#include "base/base.h"
#include "import/foreign.h"

/* 8, or [0, 1, 2]; -1 and "auto" are all of the node. */
static void add_devices(struct ss_reading *r, struct ss_tree_node *node)
{
    int64_t n = 0;

    ss_tree_take(node);
    if (node && node->kind == SS_TREE_LIST)
        n = (int64_t)node->n;
    else if (node && !ss_tree_whole(node, &n) && !ss_tree_is(node, "auto"))
        ss_reading_fail(r, node, SS_ERR_INPUT, "is no number of GPUs");
    if (n > 0)
        ss_reading_whole_flag(r, node, "--gpus-per-node", n);
}

static void check_defaults(struct ss_reading *r, struct ss_tree_node *node)
{
    ss_tree_take(node);
    for (struct ss_tree_node *n = node ? node->first : NULL; n && !r->rc; n = n->next) {
        const char *name = n->kind == SS_TREE_MAP && n->first ? n->first->key : n->text;
        if (name && strcmp(name, "_self_") != 0 && strncmp(name, "optional ", 9) != 0) {
            ss_reading_refuse(r, n, "composed of other files, which are not read");
            ss_hint(r->err, r->rc, "give what the script prints with --cfg job --resolve");
        }
    }
}

/* Refuses rows of the dataset whose length differs from the one that the stages expect. */
static void check_rows(struct ss_reading *r, struct ss_tree_node *node)
{
    const struct ss_tree_node *model = ss_reading_node(r, "model.encoder_seq_length");
    int64_t rows, length;

    ss_tree_take(node);
    if (!ss_tree_whole(node, &rows) || !ss_tree_whole(model, &length) || rows == length)
        return;
    ss_reading_refuse(r, node, "rows of %lld tokens for a model of %lld (encoder_seq_length)",
                      (long long)rows, (long long)length);
    ss_hint(r->err, r->rc, "give both the same");
}

/* The vocabulary that a shipped part of a configuration assumes (hydra_command.c). */
static void add_own(struct ss_reading *r, struct ss_tree_node *node)
{
    if (!node || !node->text || ss_reading_node(r, "model.override_vocab_size"))
        return;
    ss_reading_assume(r, "a vocabulary of %s; --vocab-size says another", node->text);
    ss_reading_flag(r, node, "--vocab-size", node->text);
}

const struct ss_key_code ss_nemo_code[] = {{"defaults", check_defaults},
                                           {"devices", add_devices},
                                           {"own", add_own},
                                           {"rows", check_rows},
                                           {NULL, NULL}};
