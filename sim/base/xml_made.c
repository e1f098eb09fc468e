/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of the shipped documents, as the build has read them: libxml2 reads what has changed since. */
#include "base/xml.h"

static const struct ss_xml_made *find_made(const char *text, size_t len)
{
    for (const struct ss_xml_made *m = ss_xml_made; m->text; m++)
        if (m->bytes == len && !memcmp(m->text, text, len))
            return m;
    return NULL;
}

static void fill(const struct ss_xml_made *m, struct ss_xml_node *nodes, struct ss_xml_attr *attrs)
{
    struct ss_xml_node *before = NULL;
    const uint32_t *at = m->tags;
    uint32_t level = 0; /* of the tag before */

    for (struct ss_xml_node *node = nodes; node < nodes + m->ntags; before = node++) {
        uint32_t n = at[SS_XML_NATTRS];
        *node = (struct ss_xml_node){.tag = m->strings + at[SS_XML_TAG],
                                     .line = (int)at[SS_XML_LINE],
                                     .nattrs = (int)n,
                                     .attrs = attrs};
        for (; level > at[SS_XML_DEPTH]; level--)
            before = before->parent;
        if (level < at[SS_XML_DEPTH]) {
            before->first_child = node;
            node->parent = before;
            level++;
        } else if (before) {
            before->next = node;
            node->parent = before->parent;
        }
        for (at += SS_XML_HEAD; n; n--, at += 2, attrs++)
            *attrs = (struct ss_xml_attr){m->strings + at[0], m->strings + at[1]};
    }
}

int ss_xml_look(const char *text, size_t len, struct ss_arena *arena, struct ss_xml_node **root)
{
    const struct ss_xml_made *made = find_made(text, len);
    struct ss_xml_node *nodes = NULL;
    struct ss_xml_attr *attrs = NULL;

    if (!made)
        return SS_OK;
    nodes = ss_arena_take(arena, (size_t)made->ntags * sizeof *nodes, _Alignof(struct ss_xml_node));
    attrs = ss_arena_take(arena, ((size_t)made->nattrs + 1) * sizeof *attrs, _Alignof(struct ss_xml_attr));
    if (!nodes || !attrs)
        return SS_ERR_NOMEM;
    fill(made, nodes, attrs);
    *root = nodes;
    return SS_OK;
}
