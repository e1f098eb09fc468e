/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes either parse to a tree that can be walked, or give one error with text. */

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches everything, without recursion: lines, tags, attributes, links to the parent. */
static size_t walk(const struct ss_xml_node *root)
{
    const struct ss_xml_node *n = root;
    size_t bytes = 0;
    while (n) {
        if (n->line < 1 || !n->tag[0])
            abort();
        for (int i = 0; i < n->nattrs; i++) {
            bytes += strlen(n->attrs[i].name) + strlen(n->attrs[i].value);
            if (!ss_xml_attr(n, n->attrs[i].name))
                abort();
        }
        if (n->first_child) {
            if (n->first_child->parent != n)
                abort();
            n = n->first_child;
            continue;
        }
        while (n && !n->next)
            n = n->parent;
        n = n ? n->next : NULL;
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_xml *doc = NULL;
    struct ss_error err = {0};
    int rc = ss_xml_parse((const char *)data, size, "fuzz", &doc, &err);
    if (rc ? !err.message[0] || doc != NULL : walk(ss_xml_root(doc)) > 100 * size + 100)
        abort();
    ss_xml_free(doc);
    return 0;
}
