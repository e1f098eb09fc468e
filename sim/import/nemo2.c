/* SPDX-License-Identifier: Apache-2.0 */
/* NeMo 2: what the rows of nemo2.map cannot say. */
#include <string.h>

#include "base/base.h"
#include "import/foreign.h"

/* Classes of configurations, whose shapes are in their code; each field of the file beats its class. */
static void add_model(struct ss_reading *r, struct ss_tree_node *node)
{
    const char *dot = node && node->text ? strrchr(node->text, '.') : NULL, *name = dot ? dot + 1 : "";

    const char *model = node && node->text ? ss_reading_lookup(r, "$models", node->text) : NULL;

    if (model)
        ss_reading_flag(r, node, "--model", model);
    else if (ss_tree_find(ss_tree_root(r->tree), "model.config.num_layers"))
        ss_reading_assume(r, "fields of %s that the file leaves out are Megatron-LM's defaults",
                          name[0] ? name : "model.config");
    else if (!node) /* the key is there, or it would not be NeMo 2, without a value */
        ss_reading_fail(r, ss_tree_find(ss_tree_root(r->tree), "model.config"), SS_ERR_INPUT,
                        "_target_ names no class, and there is no num_layers");
    else
        ss_reading_refuse(r, node, "the shape of \"%.80s\" is in its code, which is not known here", name);
}

/* Notes what nemo2.map marks as off in model.config: NeMo takes trainer.strategy's values, with its own
 * defaults (set_model_parallel_attributes). */
static void tell_parallelism(struct ss_reading *r, struct ss_tree_node *none)
{
    const struct ss_tree_node *root = ss_tree_root(r->tree),
                              *strategy = ss_tree_find(root, "trainer.strategy"),
                              *config = ss_tree_find(root, "model.config");
    char path[160];

    (void)none;
    for (const struct ss_tree_node *n = config->first; n; n = n->next) {
        const struct ss_key_row *row = ss_keymap_find(r->map, ss_tree_path(n, path, sizeof path));
        if (row && row->kind == SS_KEY_OFF && row->block < 0 && row->file == r->map->file &&
            !ss_tree_is_null(n) && ss_tree_truth(n) != 0 && !ss_tree_find(strategy, n->key))
            ss_reading_assume(r, "model.config.%.60s says nothing: NeMo sets trainer.strategy's, its default",
                              n->key);
    }
}

const struct ss_key_code ss_nemo2_code[] = {
    {"model", add_model}, {"stages", tell_parallelism}, {"layout", ss_core_layout}, {NULL, NULL}};
