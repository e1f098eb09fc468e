/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a tree, whose every node is found by its path and told once as unread, or give one error with text. */
#include <stdlib.h>
#include <string.h>

#include "import/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Visits a node and what is below it; the number of scalars. */
static size_t visit(const struct ss_tree_node *node)
{
    size_t n = 0, scalars = node->kind == SS_TREE_SCALAR;
    char path[256];
    int64_t whole;

    if ((node->kind == SS_TREE_SCALAR) != (node->text != NULL))
        abort();
    (void)ss_tree_truth(node), (void)ss_tree_whole(node, &whole), (void)ss_tree_is_null(node);
    ss_tree_path(node, path, sizeof path);
    for (const struct ss_tree_node *child = node->first; child; child = child->next, n++) {
        if (child->parent != node || !!child->key != (node->kind == SS_TREE_MAP))
            abort();
        scalars += visit(child);
    }
    if (n != node->n)
        abort();
    return scalars;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_tree *tree;
    struct ss_error err = {0};

    if (ss_tree_parse((const char *)data, size, "fuzz.yaml", &tree, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    struct ss_tree_node *root = ss_tree_root(tree);
    visit(root);
    for (struct ss_tree_node *n = root->first; n && root->kind == SS_TREE_MAP; n = n->next)
        if (n->key[0] && !strchr(n->key, '.') && ss_tree_find(root, n->key) != n)
            abort();
    size_t unread = 0;
    for (struct ss_tree_node *n = NULL; (n = ss_tree_unread(tree, n)) != NULL;)
        unread++;
    if (unread != root->n)
        abort();
    ss_tree_take(root);
    if (ss_tree_unread(tree, NULL))
        abort();
    ss_tree_free(tree);
    return 0;
}
