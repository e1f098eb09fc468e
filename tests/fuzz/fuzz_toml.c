/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either TOML, a tree whose nodes stand in its lines, or give one error with text and a line. */
#include <stdlib.h>
#include <string.h>

#include "import/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(const struct ss_tree_node *node, int lines)
{
    size_t n = 0;

    if (node->line < 1 || node->line > lines || (node->kind == SS_TREE_SCALAR) != (node->text != NULL))
        abort();
    for (const struct ss_tree_node *child = node->first; child; child = child->next, n++)
        visit(child, lines);
    if (n != node->n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_tree *tree;
    struct ss_error err = {0};
    int lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (ss_toml_parse((const char *)data, size, "fuzz.toml", &tree, &err)) {
        if (!err.message[0] || err.line < 1 || err.line > lines)
            abort();
        return 0;
    }
    visit(ss_tree_root(tree), lines);
    ss_tree_free(tree);
    return 0;
}
