/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of keymaps: what they ask of a tree. */
#include <strings.h>

#include "base/base.h"
#include "import/reading.h"

/* ---- paths ---- */

static bool is_class(const struct ss_tree_node *node, const char *name, size_t len)
{
    const struct ss_tree_node *target = ss_tree_find(node, "_target_");

    return target && target->text && memmem(target->text, strlen(target->text), name, len);
}

static struct ss_tree_node *of_class(struct ss_tree_node *node, const char *name, size_t len)
{
    if (!node || node->kind != SS_TREE_LIST)
        return is_class(node, name, len) ? node : NULL;
    node = node->first;
    while (node && !is_class(node, name, len))
        node = node->next;
    return node;
}

struct ss_tree_node *ss_reading_find(const struct ss_tree_node *root, const char *path)
{
    const char *class = strchr(path, '@');
    char before[SS_KEY_PATH];

    if (!class)
        return ss_tree_find(root, path);
    snprintf(before, sizeof before, "%.*s", (int)(class - path), path);
    size_t len = strcspn(++class, ".");
    struct ss_tree_node *node = of_class(ss_tree_find(root, before), class, len);
    return node && class[len] ? ss_reading_find(node, class + len + 1) : node;
}

/* ---- values ---- */

const struct ss_tree_node *ss_reading_single(const struct ss_tree_node *node)
{
    const struct ss_tree_node *name = node && node->kind == SS_TREE_MAP ? ss_tree_find(node, "_name_") : node;

    return name && name->kind == SS_TREE_SCALAR ? name : NULL;
}

int ss_reading_truth_of(const struct ss_tree_node *node)
{
    if (!node || node->kind != SS_TREE_SCALAR)
        return -1;
    const struct ss_tree_node plain = {.kind = SS_TREE_SCALAR, .text = node->text};
    int truth = ss_tree_truth(&plain);
    return truth >= 0 ? truth : !strcmp(node->text, "1") ? 1 : !strcmp(node->text, "0") ? 0 : -1;
}

/* Neither missing nor null, false, 0, "" or "none". */
static bool is_on(const struct ss_tree_node *node)
{
    return !ss_tree_is_null(node) && ss_reading_truth_of(node) != 0 &&
           (node->kind != SS_TREE_SCALAR || (node->text[0] && strcasecmp(node->text, "none")));
}

/* Whether the text is one of "a|b|c", in any case of letters. */
static bool is_among(const char *text, const char *values, size_t len)
{
    size_t n = strlen(text);

    for (const char *v = values; v < values + len; v += strcspn(v, "| "), v++)
        if (strcspn(v, "| ") == n && !strncasecmp(v, text, n))
            return true;
    return false;
}

/* ---- terms ---- */

/* The first node of "a|b" that is not null, else one that is null; NULL: there is none. */
static const struct ss_tree_node *find_any(const struct ss_tree_node *root, const char *prefix,
                                           const char *names, size_t len)
{
    const struct ss_tree_node *found = NULL;

    for (const char *name = names; name < names + len; name++) {
        char path[2 * SS_KEY_PATH];
        size_t n = 0;
        while (name + n < names + len && name[n] != '|')
            n++;
        bool whole = *name == '/' || !prefix[0]; /* from the root */
        snprintf(path, sizeof path, "%s%s%.*s", whole ? "" : prefix, whole ? "" : ".",
                 (int)n - (*name == '/'), name + (*name == '/'));
        const struct ss_tree_node *node = ss_reading_find(root, path);
        if (node && (!found || ss_tree_is_null(found)))
            found = node;
        name += n;
    }
    return found;
}

/* "a.b", "a.b?", "a.b=x|y", "a.b>1", "a.b<1", "a.b~part", with "!" before it that it is not so. */
static bool term_holds(const struct ss_tree_node *root, const char *prefix, const char *term, size_t len)
{
    bool no = *term == '!';
    const char *name = term + no;
    size_t n = strcspn(name, "?=<>~ ");
    const struct ss_tree_node *node = find_any(root, prefix, name, n), *one = ss_reading_single(node);
    const char *value = name + n + 1;
    size_t rest = value < term + len ? (size_t)(term + len - value) : 0;

    if (name + n >= term + len)
        return is_on(node) != no;
    switch (name[n]) {
    case '?': return (node != NULL) != no;
    case '=': return (one && is_among(one->text, value, rest)) != no;
    case '<': return (one && strtod(one->text, NULL) < strtod(value, NULL)) != no;
    case '>': return (one && strtod(one->text, NULL) > strtod(value, NULL)) != no;
    default: return (one && memmem(one->text, strlen(one->text), value, rest)) != no; /* '~' */
    }
}

bool ss_reading_holds(const struct ss_tree_node *root, const char *prefix, const char *condition)
{
    bool all = true;

    for (const char *p = condition; *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        if (len == 2 && !strncmp(p, "or", 2)) {
            if (all)
                return true;
            all = true;
        } else {
            all = all && term_holds(root, prefix, p, len);
        }
        p += len;
    }
    return all;
}
