/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of foreign configurations: how they are read, and what of them was not. */
#include <strings.h>

#include "base/base.h"
#include "import/tree.h"

static struct ss_tree_node *item_of(const struct ss_tree_node *list, const char *name, size_t len)
{
    char *end;
    unsigned long i = strtoul(name, &end, 10);
    struct ss_tree_node *n = list->first;

    if (len == 0 || end != name + len || name[0] < '0' || name[0] > '9' || i >= list->n)
        return NULL;
    while (i-- > 0)
        n = n->next;
    return n;
}

struct ss_tree_node *ss_tree_find(const struct ss_tree_node *from, const char *path)
{
    size_t len = strcspn(path, ".");

    if (!from || !path[0])
        return (struct ss_tree_node *)from;
    if (from->kind == SS_TREE_SCALAR)
        return NULL;
    for (;; len += 1 + strcspn(path + len + 1, ".")) { /* "a.b.c": a, else a.b, else a.b.c */
        struct ss_tree_node *child =
            from->kind == SS_TREE_LIST ? item_of(from, path, len) : ss_tree_child(from, path, len);
        struct ss_tree_node *found = child && path[len] ? ss_tree_find(child, path + len + 1) : child;
        if (found || !path[len])
            return found;
    }
}

static void mark(struct ss_tree_node *node)
{
    node->read = true;
    for (struct ss_tree_node *p = node->parent; p && !p->touched; p = p->parent)
        p->touched = true;
}

struct ss_tree_node *ss_tree_get(const struct ss_tree_node *from, const char *path)
{
    struct ss_tree_node *node = ss_tree_find(from, path);

    if (node)
        mark(node);
    return node;
}

static void take_below(struct ss_tree_node *node)
{
    node->read = node->touched = true;
    for (struct ss_tree_node *child = node->first; child; child = child->next)
        take_below(child);
}

void ss_tree_take(struct ss_tree_node *node)
{
    if (!node)
        return;
    mark(node);
    take_below(node);
}

bool ss_tree_is_null(const struct ss_tree_node *node)
{
    return !node || (node->kind == SS_TREE_SCALAR && !node->quoted &&
                     (!node->text[0] || !strcmp(node->text, "~") || !strcasecmp(node->text, "null")));
}

int ss_tree_truth(const struct ss_tree_node *node)
{
    static const char *const words[2][3] = {{"false", "no", "off"}, {"true", "yes", "on"}};

    if (!node || node->kind != SS_TREE_SCALAR || node->quoted)
        return -1;
    for (int truth = 0; truth < 2; truth++)
        for (int i = 0; i < 3; i++)
            if (!strcasecmp(node->text, words[truth][i]))
                return truth;
    return -1;
}

bool ss_tree_whole(const struct ss_tree_node *node, int64_t *out)
{
    char text[64], *end;
    size_t n = 0;

    if (!node || node->kind != SS_TREE_SCALAR)
        return false;
    for (const char *p = node->text; *p; p++) {
        if (n + 1 >= sizeof text || !strchr("+-.0123456789eE_", *p))
            return false;
        if (*p != '_')
            text[n++] = *p;
    }
    text[n] = '\0';
    double x = strtod(text, &end);
    if (end == text || *end || !(x >= -9007199254740992.0 && x <= 9007199254740992.0) ||
        (double)(int64_t)x != x)
        return false;
    *out = (int64_t)x;
    return true;
}

bool ss_tree_is(const struct ss_tree_node *node, const char *text)
{
    return node && node->kind == SS_TREE_SCALAR && !strcmp(node->text, text);
}

static size_t place_of(const struct ss_tree_node *node)
{
    size_t i = 0;

    for (const struct ss_tree_node *n = node->parent->first; n != node; n = n->next)
        i++;
    return i;
}

static void put_path(FILE *out, const struct ss_tree_node *node)
{
    if (!node->parent)
        return;
    put_path(out, node->parent);
    if (node->key)
        fprintf(out, "%s%s", node->parent->parent ? "." : "", node->key);
    else
        fprintf(out, "[%zu]", place_of(node));
}

char *ss_tree_path(const struct ss_tree_node *node, char *buf, size_t size)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    buf[0] = '\0';
    if (out) {
        put_path(out, node);
        if (!fclose(out))
            ss_copy(buf, size, text);
        free(text);
    }
    return buf;
}

int ss_tree_fail(const struct ss_tree_node *node, int code, struct ss_error *err, const char *fmt, ...)
{
    char path[128], text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ss_tree_path(node, path, sizeof path);
    return ss_fail(err, code, node->line ? node->file : NULL, node->line, "%s%s%s", path, path[0] ? ": " : "",
                   text);
}

struct ss_tree_node *ss_tree_unread(const struct ss_tree *tree, const struct ss_tree_node *last)
{
    struct ss_tree_node *n = last ? (struct ss_tree_node *)last : ss_tree_root(tree);
    bool down = !last; /* what lies below the last node is reported with it */

    for (;;) {
        if (down && n->first && (n->touched || !n->parent || n->read))
            n = n->first;
        else {
            while (n && !n->next)
                n = n->parent;
            if (!n)
                return NULL;
            n = n->next;
        }
        down = true;
        if (!n->read && !n->touched)
            return n;
    }
}
