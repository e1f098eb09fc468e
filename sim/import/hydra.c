/* SPDX-License-Identifier: Apache-2.0 */
/* Overrides of Hydra. */
#include "import/hydra.h"

#include "base/base.h"

#define MAX_PATH_BYTES 512

struct override {
    const char *key, *value; /* value NULL: there is none */
    size_t key_len;
    enum { OVERRIDE_SET, OVERRIDE_ADD, OVERRIDE_FORCE, OVERRIDE_DROP } how;
};

static struct override split(const char *word)
{
    struct override o = {.key = word};

    if (*o.key == '~')
        o.how = OVERRIDE_DROP;
    else if (!strncmp(o.key, "++", 2))
        o.how = OVERRIDE_FORCE;
    else if (*o.key == '+')
        o.how = OVERRIDE_ADD;
    o.key += o.how == OVERRIDE_FORCE ? 2 : o.how != OVERRIDE_SET;
    o.key_len = strcspn(o.key, "=");
    o.value = o.key[o.key_len] ? o.key + o.key_len + 1 : NULL;
    return o;
}

bool ss_hydra_is_override(const char *word)
{
    struct override o = split(word);

    if (!(isalpha((unsigned char)*o.key) || *o.key == '_') || (!o.value && o.how != OVERRIDE_DROP) ||
        o.key_len >= MAX_PATH_BYTES)
        return false;
    for (size_t i = 0; i < o.key_len; i++)
        if (!isalnum((unsigned char)o.key[i]) && !strchr("_.-/@", o.key[i]))
            return false;
    return true;
}

/* The value of a flag at word i; *used: words of both. NULL: it is another word. */
static const char *value_at(const struct ss_words *words, size_t i, const char *flag, size_t *used)
{
    const char *text = words->w[i].text;
    size_t n = strlen(flag);

    if (strncmp(text, flag, n) != 0 || (text[n] && text[n] != '='))
        return NULL;
    *used = text[n] ? 1 : 2;
    return text[n] ? text + n + 1 : i + 1 < words->n ? words->w[i + 1].text : "";
}

const char *ss_hydra_flag(const struct ss_words *words, size_t i, bool name, size_t *used)
{
    const char *value = value_at(words, i, name ? "--config-name" : "--config-path", used);

    return value ? value : value_at(words, i, name ? "-cn" : "-cp", used);
}

bool ss_hydra_is_command(const struct ss_words *words)
{
    size_t used;

    for (size_t i = 0; i < words->n; i++)
        if (ss_hydra_flag(words, i, true, &used))
            return true;
    return false;
}

static int fail(const char *word, const char *file, int line, struct ss_error *err, const char *why)
{
    return ss_fail(err, file ? SS_ERR_INPUT : SS_ERR_USAGE, file, line, "%.200s: %s", word, why);
}

/* The node of the path, with the maps that lead there. */
static int make(struct ss_tree *tree, const struct override *o, const char *file, int line,
                struct ss_tree_node **out, struct ss_error *err)
{
    struct ss_tree_node *at = ss_tree_root(tree);
    int rc = SS_OK;

    for (size_t i = 0; i < o->key_len && !rc;) {
        size_t len = strcspn(o->key + i, ".=");
        struct ss_tree_node *child = ss_tree_child(at, o->key + i, len);
        struct ss_tree_made made = {
            .kind = SS_TREE_MAP, .key = o->key + i, .key_len = len, .file = file, .line = line};
        if (!child && at->kind != SS_TREE_MAP) /* a value gives way to names */
            *at = (struct ss_tree_node){.kind = SS_TREE_MAP,
                                        .key = at->key,
                                        .file = at->file,
                                        .line = at->line,
                                        .parent = at->parent,
                                        .next = at->next};
        if (!child)
            rc = ss_tree_add(tree, at, &made, &child, err);
        at = child;
        i += len + 1;
    }
    *out = at;
    return rc;
}

/* The value: a list, a map or a text in quotes as YAML has them, else a text up to the end of the word. */
static int assign(struct ss_tree *tree, struct ss_tree_node *node, const char *word, const char *value,
                  const char *file, int line, struct ss_error *err)
{
    struct ss_tree_node from = {.text = value, .file = file, .line = line};
    struct ss_tree *parsed = NULL;

    if (strchr("[{'\"", *value) && *value) {
        struct ss_error own = {0};
        if (ss_tree_parse(value, strlen(value), "value", &parsed, &own))
            return own.code == SS_ERR_NOMEM
                       ? ss_nomem(err)
                       : fail(word, file[0] ? file : NULL, line, err, "a value that is not understood");
        from = *ss_tree_root(parsed);
    }
    int rc = ss_tree_assign(tree, node, &from, err);
    node->file = file;
    node->line = line;
    ss_tree_free(parsed);
    return rc;
}

int ss_hydra_override(struct ss_tree *tree, const char *word, const char *file, int line, bool loose,
                      struct ss_error *err)
{
    const struct override o = split(word);
    char path[MAX_PATH_BYTES];
    struct ss_tree_node *node;

    snprintf(path, sizeof path, "%.*s", (int)o.key_len, o.key);
    node = ss_tree_find(ss_tree_root(tree), path);
    if (!loose && !node && (o.how == OVERRIDE_SET || o.how == OVERRIDE_DROP))
        return ss_hint(err,
                       fail(word, file, line, err, "the configuration has no such name, which Hydra refuses"),
                       "+name=value adds one");
    if (!loose && node && o.how == OVERRIDE_ADD)
        return ss_hint(err, fail(word, file, line, err, "the name is there already, which Hydra refuses"),
                       "name=value or ++name=value sets it");
    if (o.how == OVERRIDE_DROP) {
        if (node)
            ss_tree_drop(node);
        return SS_OK;
    }
    const char *place = ss_tree_text(tree, file ? file : "");
    SS_NEED(place, err);
    int rc = node ? SS_OK : make(tree, &o, place, line, &node, err);
    return rc ? rc : assign(tree, node, word, o.value, place, line, err);
}
