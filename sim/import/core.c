/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron core: what the rows of core.map cannot say. */
#include <string.h>

#include "base/base.h"
#include "import/foreign.h"

static char letter_of(const char *layer)
{
    static const char *const names[] = {"embedding", "decoder", "mtp", "loss"};

    for (size_t i = 0; layer && i < SS_ARRAY_LEN(names); i++)
        if (!strcmp(layer, names[i]))
            return "EtmL"[i];
    return 0;
}

/* "Et|tt|tL", or lists of names: [[embedding, decoder], [decoder, loss]]. */
void ss_core_layout(struct ss_reading *r, struct ss_tree_node *node)
{
    char text[4096];
    size_t n = 0;

    ss_tree_take(node);
    if (node && node->kind == SS_TREE_SCALAR)
        ss_reading_flag(r, node, "--pipeline-model-parallel-layout", node->text);
    if (!node || node->kind == SS_TREE_SCALAR)
        return;
    for (const struct ss_tree_node *stage = node->first; stage; stage = stage->next) {
        for (const struct ss_tree_node *layer = stage->first; layer && n + 2 < sizeof text;
             layer = layer->next)
            if (!(text[n++] = letter_of(layer->text)))
                ss_reading_fail(r, layer, SS_ERR_INPUT, "is no layer of a pipeline's layout");
        if (n + 2 >= sizeof text) {
            ss_reading_fail(r, node, SS_ERR_INPUT, "a layout that is too long");
            return;
        }
        text[n++] = '|';
    }
    text[n ? n - 1 : 0] = '\0';
    ss_reading_flag(r, node, "--pipeline-model-parallel-layout", text);
}

const struct ss_key_code ss_core_code[] = {{"layout", ss_core_layout}, {NULL, NULL}};
