/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of foreign names, applied to a tree. */
#include "import/foreign.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "stepsim/flags.h"

static int no_memory(struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
}

static int add_word(struct ss_foreign *f, const struct ss_tree_node *node, const char *text, size_t len)
{
    if (ss_grow(&f->word, &f->cap, f->n + 1, sizeof *f->word))
        return SS_ERR_NOMEM;
    char *copy = strndup(text, len);
    if (!copy)
        return SS_ERR_NOMEM;
    f->word[f->n++] = (struct ss_foreign_word){copy, node ? node->file : NULL, node ? node->line : 0};
    return SS_OK;
}

int ss_foreign_add(struct ss_foreign *f, const struct ss_tree_node *node, const char *words,
                   struct ss_error *err)
{
    for (const char *p = words + strspn(words, " "); *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        if (add_word(f, node, p, len))
            return no_memory(err);
        p += len;
    }
    return SS_OK;
}

int ss_foreign_flag(struct ss_foreign *f, const struct ss_tree_node *node, const char *flag,
                    const char *value, struct ss_error *err)
{
    if (add_word(f, node, flag, strlen(flag)) || (value && add_word(f, node, value, strlen(value))))
        return no_memory(err);
    return SS_OK;
}

void ss_foreign_assume(struct ss_foreign *f, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ss_notes_add(&f->assumed, "%s", text);
}

/* ---- conversions ---- */

static int bad_value(const struct ss_tree_node *node, const char *asked, struct ss_error *err)
{
    return ss_tree_fail(node, SS_ERR_INPUT, err, "%s%.80s%s is no %s", node->text ? "\"" : "",
                        node->text ? node->text : "a map or a list", node->text ? "\"" : "", asked);
}

/* A scalar, or the name of an enum that was dumped as a map; NULL: it is no single value. */
static const struct ss_tree_node *single(const struct ss_tree_node *node)
{
    const struct ss_tree_node *name = node->kind == SS_TREE_MAP ? ss_tree_find(node, "_name_") : node;

    return name && name->kind == SS_TREE_SCALAR ? name : NULL;
}

static int add_value(struct ss_foreign *f, const struct ss_tree_node *node, const char *flag,
                     struct ss_error *err)
{
    if (node->kind != SS_TREE_LIST)
        return single(node) ? ss_foreign_flag(f, node, flag, single(node)->text, err)
                            : bad_value(node, "single value", err);
    int rc = node->n ? ss_foreign_flag(f, node, flag, NULL, err) : SS_OK;
    for (const struct ss_tree_node *n = node->first; n && !rc; n = n->next)
        rc =
            single(n) ? ss_foreign_flag(f, n, single(n)->text, NULL, err) : bad_value(n, "single value", err);
    return rc;
}

static int add_whole(struct ss_foreign *f, const struct ss_tree_node *node, const char *flag,
                     struct ss_error *err)
{
    char text[24];
    int64_t value;

    if (!ss_tree_whole(node, &value))
        return bad_value(node, "whole number", err);
    snprintf(text, sizeof text, "%lld", (long long)value);
    return ss_foreign_flag(f, node, flag, text, err);
}

/* True and false, also as texts, as argparse and OmegaConf take them. */
static int truth_of(const struct ss_tree_node *node)
{
    if (node->kind != SS_TREE_SCALAR)
        return -1;
    const struct ss_tree_node plain = {.kind = SS_TREE_SCALAR, .text = node->text};
    int truth = ss_tree_truth(&plain);
    return truth >= 0 ? truth : !strcmp(node->text, "1") ? 1 : !strcmp(node->text, "0") ? 0 : -1;
}

static int add_switch(struct ss_foreign *f, const struct ss_tree_node *node, const char *words, int when,
                      struct ss_error *err)
{
    int truth = truth_of(node);

    if (truth < 0)
        return bad_value(node, "true or false", err);
    return truth == when ? ss_foreign_add(f, node, words, err) : SS_OK;
}

/* The words of the value in "value=words;..."; NULL: there is no such value. */
static const char *choice_of(const char *choices, const char *value, size_t *len)
{
    size_t n = strlen(value);

    for (const char *p = choices; *p; p += strcspn(p, ";"), p += *p == ';') {
        size_t name = strcspn(p, "=");
        if ((name == 1 && *p == '*') || (name == n && !strncasecmp(p, value, n))) {
            *len = strcspn(p + name + 1, ";");
            return p + name + 1;
        }
    }
    return NULL;
}

static int add_choice(struct ss_foreign *f, const struct ss_tree_node *node, const char *choices,
                      struct ss_error *err)
{
    char words[256];
    size_t len = 0;
    const char *found = node->kind == SS_TREE_SCALAR ? choice_of(choices, node->text, &len) : NULL;

    if (!found)
        return bad_value(node, "value that is known here", err);
    snprintf(words, sizeof words, "%.*s", (int)len, found);
    if (words[0] == '!')
        return ss_tree_fail(node, SS_ERR_UNSUPPORTED, err, "\"%.80s\": %s", node->text, words + 1);
    return ss_foreign_add(f, node, words, err);
}

static int refuse(const struct ss_tree_node *node, const struct ss_foreign_row *row, struct ss_error *err)
{
    bool empty = node->kind != SS_TREE_SCALAR && node->n == 0;

    if (empty || truth_of(node) == 0 ||
        (node->kind == SS_TREE_SCALAR &&
         (!node->text[0] || (row->words && ss_has_word(row->words, node->text)))))
        return SS_OK;
    return ss_tree_fail(node, SS_ERR_UNSUPPORTED, err, "%s", row->why);
}

static int apply(struct ss_foreign *f, const struct ss_foreign_row *row, struct ss_tree_node *node,
                 struct ss_error *err)
{
    switch (row->kind) {
    case SS_ROW_VALUE: return add_value(f, node, row->words, err);
    case SS_ROW_WHOLE: return add_whole(f, node, row->words, err);
    case SS_ROW_TRUE: return add_switch(f, node, row->words, 1, err);
    case SS_ROW_FALSE: return add_switch(f, node, row->words, 0, err);
    case SS_ROW_CHOICE: return add_choice(f, node, row->words, err);
    case SS_ROW_REFUSE: return refuse(node, row, err);
    case SS_ROW_CALL: return row->call(f, node, err);
    case SS_ROW_NONE: return SS_OK;
    }
    return SS_OK;
}

/* "model.data", or "model.data.*" where some of it was read. */
static void note_none(struct ss_foreign *f, const struct ss_tree_node *node, bool partly)
{
    char path[160];

    ss_notes_add(&f->none, "%s%s", ss_tree_path(node, path, sizeof path), partly ? ".*" : "");
}

int ss_foreign_map(struct ss_foreign *f, const struct ss_tree_node *from, const struct ss_foreign_row *rows,
                   size_t n, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < n && !rc; i++) {
        const struct ss_foreign_row *row = &rows[i];
        const struct ss_tree_node *found = ss_tree_find(from, row->key);
        bool partly = found && found->touched;
        struct ss_tree_node *node = ss_tree_get(from, row->key);
        if (node && row->kind == SS_ROW_NONE)
            note_none(f, node, partly);
        if (node && row->kind != SS_ROW_CALL)
            ss_tree_take(node);
        if (row->kind == SS_ROW_CALL)
            rc = row->call(f, ss_tree_is_null(node) ? NULL : node, err);
        else if (node && (!ss_tree_is_null(node) || row->kind == SS_ROW_NONE))
            rc = apply(f, row, node, err);
    }
    return rc;
}

/* ---- Megatron-LM's names ---- */

/* Number of values of the flag, as in argparse; 0: there is none of that name. */
static char values_of(const char *flag)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;

    if (!ss_flag_known(flag))
        return 0;
    while (ss_flag_list(&at, &info))
        if (!strcmp(info.name, flag))
            return info.values;
    return 0;
}

/* The value of a name that argparse has under another one: "--no-x", "--disable-x". */
static int add_opposite(struct ss_foreign *f, struct ss_tree_node *node, const char *name,
                        struct ss_error *err)
{
    static const char *const before[] = {"--no-", "--disable-"};
    char flag[128];
    int truth = ss_tree_is_null(node) ? 1 : truth_of(node);

    for (size_t i = 0; i < SS_ARRAY_LEN(before) && truth >= 0; i++) {
        snprintf(flag, sizeof flag, "%s%s", before[i], name);
        if (values_of(flag) != '0')
            continue;
        ss_tree_take(node);
        return truth ? SS_OK : ss_foreign_flag(f, node, flag, NULL, err);
    }
    return SS_OK;
}

static int add_by_name(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    char name[96], flag[128];

    if (!node->key || (node->kind == SS_TREE_MAP && !single(node)) || !ss_copy(name, sizeof name, node->key))
        return SS_OK;
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    snprintf(flag, sizeof flag, "--%s", name);
    char values = values_of(flag);
    if (!values)
        return add_opposite(f, node, name, err);
    ss_tree_take(node);
    if (ss_tree_is_null(node))
        return SS_OK;
    return values == '0' ? add_switch(f, node, flag, 1, err) : add_value(f, node, flag, err);
}

int ss_foreign_by_name(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    int rc = SS_OK;

    for (struct ss_tree_node *n = from ? from->first : NULL; n && !rc; n = n->next)
        rc = n->read || n->touched ? SS_OK : add_by_name(f, n, err);
    return rc;
}
