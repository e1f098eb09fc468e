/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of training frameworks share. */
#include "import/trainer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

void ss_trainer_begin(struct ss_trainer *t, const char *name, struct ss_tree *tree,
                      struct ss_request *request, struct ss_error *err)
{
    *t = (struct ss_trainer){.name = name, .tree = tree, .request = request, .err = err};
}

static void no_memory(struct ss_trainer *t)
{
    t->rc = ss_fail(t->err, SS_ERR_NOMEM, NULL, 0, "out of memory");
}

/* ---- reading ---- */

struct ss_tree_node *ss_trainer_node(struct ss_trainer *t, const char *paths)
{
    struct ss_tree_node *first = NULL;

    for (const char *p = paths; *p; p += strcspn(p, " "), p += *p == ' ') {
        char path[160];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(p, " "), p);
        struct ss_tree_node *node = ss_tree_get(ss_tree_root(t->tree), path);
        if (ss_notes_add(&t->asked, "%s", path) && !t->rc)
            no_memory(t);
        if (!first && node && !ss_tree_is_null(node))
            first = node;
    }
    return first;
}

int64_t ss_trainer_whole(struct ss_trainer *t, const char *paths, int64_t missing)
{
    const struct ss_tree_node *node = ss_trainer_node(t, paths);
    int64_t value = missing;

    if (node && !ss_tree_whole(node, &value) && !t->rc)
        t->rc = ss_tree_fail(node, SS_ERR_INPUT, t->err, "a whole number is asked%s%.40s",
                             node->text ? ", not " : "", node->text ? node->text : "");
    return value;
}

int64_t ss_trainer_size(struct ss_trainer *t, const char *paths, int64_t missing, int64_t low, int64_t high)
{
    const struct ss_tree_node *node = ss_trainer_node(t, paths);
    int64_t value = ss_trainer_whole(t, paths, missing);

    if (node && !t->rc && (value < low || value > high))
        t->rc = ss_tree_fail(node, SS_ERR_INPUT, t->err, "%.40s is not within %lld .. %lld", node->text,
                             (long long)low, (long long)high);
    return t->rc ? missing : value;
}

int ss_trainer_truth(struct ss_trainer *t, const char *paths, int missing)
{
    const struct ss_tree_node *node = ss_trainer_node(t, paths);
    int value = node ? ss_tree_truth(node) : missing;

    if (node && value < 0 && !t->rc)
        t->rc = ss_tree_fail(node, SS_ERR_INPUT, t->err, "true or false is asked");
    return value < 0 ? missing : value;
}

const char *ss_trainer_text(struct ss_trainer *t, const char *paths, const char *missing)
{
    const struct ss_tree_node *node = ss_trainer_node(t, paths);

    if (node && node->kind != SS_TREE_SCALAR && !t->rc)
        t->rc = ss_tree_fail(node, SS_ERR_INPUT, t->err, "a text is asked");
    return node && node->text ? node->text : missing;
}

bool ss_trainer_lists(struct ss_trainer *t, const char *paths, const char *item)
{
    struct ss_tree_node *node = ss_trainer_node(t, paths);
    size_t n = strlen(item);

    ss_tree_take(node);
    for (const struct ss_tree_node *child = node ? node->first : NULL; child; child = child->next)
        if (ss_tree_is(child, item))
            return true;
    for (const char *p = node ? node->text : NULL; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && !strncmp(p, item, n))
            return true;
    return false;
}

void ss_trainer_set(struct ss_trainer *t, const char *path, const char *text, const char *file, int line)
{
    struct ss_tree_node *at = ss_tree_root(t->tree);

    for (const char *p = path; !t->rc;) {
        size_t n = strcspn(p, ".");
        struct ss_tree_node *child = at->kind == SS_TREE_MAP ? ss_tree_child(at, p, n) : NULL;
        if (child && (!p[n] || child->kind != SS_TREE_MAP)) {
            ss_tree_drop(child);
            child = NULL;
        }
        const struct ss_tree_made made = {.kind = p[n] ? SS_TREE_MAP : SS_TREE_SCALAR,
                                          .key = p,
                                          .key_len = n,
                                          .text = p[n] ? NULL : text,
                                          .text_len = strlen(text),
                                          .file = file,
                                          .line = line};
        if (!child)
            t->rc = ss_tree_add(t->tree, at, &made, &child, t->err);
        if (t->rc || !p[n])
            return;
        at = child;
        p += n + 1;
    }
}

/* ---- words ---- */

void ss_trainer_add(struct ss_trainer *t, const struct ss_tree_node *at, const char *flag, const char *value)
{
    if (value && !strncmp(value, "--", 2)) /* no file may add flags by its values */
        ss_trainer_fail(t, at, SS_ERR_INPUT, "%s is no value of %s: it begins as a flag does", value, flag);
    if (t->rc)
        return;
    char *copy = strdup(flag), *text = copy && value ? strdup(value) : NULL;
    if (!copy || (value && !text) || ss_grow(&t->word, &t->cap, t->n + 1, sizeof *t->word)) {
        free(copy);
        free(text);
        no_memory(t);
        return;
    }
    t->word[t->n++] =
        (struct ss_trainer_word){copy, text, at ? at->file : ss_tree_file(t->tree), at ? at->line : 1};
}

void ss_trainer_add_whole(struct ss_trainer *t, const struct ss_tree_node *at, const char *flag,
                          int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    ss_trainer_add(t, at, flag, text);
}

void ss_trainer_add_prop(struct ss_trainer *t, const struct ss_tree_node *at, int prop, double value)
{
    char text[96];

    snprintf(text, sizeof text, "%s=%.15g", ss_prop_at(prop)->id, value);
    ss_trainer_add(t, at, "--set", text);
}

void ss_trainer_assume(struct ss_trainer *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (ss_notes_add(&t->assumed, "%s: assumed: %s", t->name, text) && !t->rc)
        no_memory(t);
}

void ss_trainer_fail(struct ss_trainer *t, const struct ss_tree_node *at, int code, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (t->rc)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    t->rc = ss_tree_fail(at ? at : ss_tree_root(t->tree), code, t->err, "%s", text);
}

/* The words of one file. */
static void add_place(struct ss_trainer *t, const char *file, size_t first)
{
    t->rc = ss_request_add_place(t->request, file, t->err);
    for (size_t i = first; i < t->n && !t->rc; i++) {
        const struct ss_trainer_word *w = &t->word[i];
        if (strcmp(w->file, file) != 0)
            continue;
        t->rc = ss_request_add(t->request, w->flag, w->line, t->err);
        if (!t->rc && w->value)
            t->rc = ss_request_add(t->request, w->value, w->line, t->err);
    }
}

static int is_first(const struct ss_trainer *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(t->word[k].file, t->word[i].file))
            return 0;
    return 1;
}

int ss_trainer_end(struct ss_trainer *t)
{
    for (size_t i = 0; i < t->n && !t->rc; i++)
        if (is_first(t, i))
            add_place(t, t->word[i].file, i);
    if (!t->rc && (ss_notes_add_all(&t->request->notes, &t->assumed) ||
                   ss_notes_add_all(&t->request->ignored, &t->ignored)))
        no_memory(t);
    for (size_t i = 0; i < t->n; i++) {
        free(t->word[i].flag);
        free(t->word[i].value);
    }
    free(t->word);
    ss_notes_free(&t->asked);
    ss_notes_free(&t->assumed);
    ss_notes_free(&t->ignored);
    return t->rc;
}

/* ---- the rest ---- */

static int matches(const struct ss_trainer_rule *rule, const char *path)
{
    size_t n = strlen(rule->path);

    if (n > 2 && !strcmp(rule->path + n - 2, ".*"))
        return !strncmp(rule->path, path, n - 2) && (path[n - 2] == '.' || !path[n - 2]);
    return !strcmp(rule->path, path);
}

static int is_fine(const struct ss_trainer_rule *rule, const struct ss_tree_node *node)
{
    if (!strcmp(rule->fine, "*") || ss_tree_is_null(node))
        return 1;
    if (node->kind != SS_TREE_SCALAR)
        return node->n == 0 && ss_has_word(rule->fine, "[]");
    return !node->text[0] || ss_has_word(rule->fine, node->text) ||
           (ss_tree_truth(node) >= 0 && ss_has_word(rule->fine, ss_tree_truth(node) ? "true" : "false"));
}

static void unknown(struct ss_trainer *t, const struct ss_tree_node *node, const struct ss_trainer_rule *rule,
                    size_t n, const char *path)
{
    const char **names = ss_calloc(n + t->asked.n + 1, sizeof *names);
    size_t many = 0;

    for (size_t i = 0; i < t->asked.n && names; i++)
        names[many++] = t->asked.text[i];
    for (size_t i = 0; i < n && names; i++)
        names[many++] = rule[i].path;
    const char *near = names ? ss_nearest(path, names, many) : NULL;
    t->rc = ss_tree_fail(node, SS_ERR_INPUT, t->err, "%s has no such key that is known here", t->name);
    ss_hint(t->err, t->rc,
            near ? "did you mean %s? Else take it out if it has no effect on time or memory"
                 : "take it out if it has no effect on time or memory%.0s",
            near ? near : "");
    free(names);
}

/* One value, or a list. */
static void settle(struct ss_trainer *t, struct ss_tree_node *node, const struct ss_trainer_rule *rule,
                   size_t n)
{
    char path[256];
    size_t i = 0;

    ss_tree_path(node, path, sizeof path);
    while (i < n && !matches(&rule[i], path))
        i++;
    if (i == n) {
        unknown(t, node, rule, n, path);
    } else if (!is_fine(&rule[i], node)) {
        ss_trainer_refuse(t, node, "%s", rule[i].why);
    } else {
        size_t len = strlen(rule[i].path);
        ss_tree_take(node);
        len -= len > 2 && !strcmp(rule[i].path + len - 2, ".*") ? 2 : 0;
        if (ss_notes_add(&t->ignored, "%.*s", (int)len, rule[i].path))
            no_memory(t);
    }
}

static void settle_below(struct ss_trainer *t, struct ss_tree_node *node, const struct ss_trainer_rule *rule,
                         size_t n)
{
    for (struct ss_tree_node *child = node->first; child && !t->rc; child = child->next) {
        if (child->read && child->kind == SS_TREE_SCALAR)
            continue;
        if (child->kind == SS_TREE_MAP)
            settle_below(t, child, rule, n);
        else if (!child->read)
            settle(t, child, rule, n);
    }
}

void ss_trainer_rest(struct ss_trainer *t, const struct ss_trainer_rule *rule, size_t n)
{
    if (!t->rc)
        settle_below(t, ss_tree_root(t->tree), rule, n);
}
