/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: the files that it reads, as maps of one tree, and host files. */
#include "base/base.h"
#include "import/hf.h"

/* Makes the node, or where it is NULL a new one of that name at the root, the map that the text is. */
static int assign(struct ss_tree *tree, struct ss_tree_node *at, const char *section, const char *text,
                  size_t len, const char *file, struct ss_error *err)
{
    struct ss_tree *other;
    int rc = SS_OK;

    SS_TRY(ss_tree_parse(text, len, file, &other, err));
    if (ss_tree_root(other)->kind != SS_TREE_MAP)
        rc = ss_fail(err, SS_ERR_INPUT, file, 1, "a map of names and values is expected");
    SS_THEN(rc, at ? ss_tree_assign(tree, at, ss_tree_root(other), err)
                   : ss_tree_graft(tree, ss_tree_root(tree), section, ss_tree_root(other), err));
    ss_tree_free(other);
    return rc;
}

int ss_hf_graft(struct ss_tree *tree, const char *section, const char *text, size_t len, const char *file,
                struct ss_error *err)
{
    struct ss_tree_node *root = ss_tree_root(tree),
                        *at = section[0] ? ss_tree_child(root, section, strlen(section)) : root;

    return assign(tree, at, section, text, len, file, err);
}

/* Whether a name ends in a known file's, "examples/deepspeed/ds_z3_config.json" in "deepspeed/ds_z3_config.json", as a whole word. */
static bool names(const char *name, const char *known)
{
    size_t n = strlen(name), k = strlen(known);

    return n >= k && !strcmp(name + n - k, known) && (n == k || name[n - k - 1] == '/');
}

/* Assigns a file that frameworks publish, which known.yaml of the importers has. *found: whether it is one. */
static int graft_known(struct ss_tree *tree, const char *section, const char *name, bool *found,
                       struct ss_error *err)
{
    char path[1024], *text;
    struct ss_tree *known;
    size_t len;
    int rc = ss_data_find("workloads/importers", "known", ".yaml", path, sizeof path, err);

    *found = false;
    SS_THEN(rc, ss_file_read(path, 1 << 20, &text, &len, err));
    if (rc)
        return rc;
    rc = ss_tree_parse(text, len, path, &known, err);
    free(text);
    if (rc)
        return rc;
    const struct ss_tree_node *node = ss_tree_root(known)->first;
    while (node && !names(name, node->key))
        node = node->next;
    *found = node != NULL;
    struct ss_tree_node *root = ss_tree_root(tree), *at = ss_tree_child(root, section, strlen(section));
    if (node)
        rc = at ? ss_tree_assign(tree, at, node, err) : ss_tree_graft(tree, root, section, node, err);
    ss_tree_free(known);
    return rc;
}

int ss_hf_graft_file(struct ss_tree *tree, const struct ss_words *words, const char *section,
                     const char *name, const char *from, struct ss_error *err)
{
    char path[1024], *text;
    size_t len;
    bool known = false;
    int rc = ss_command_read(words, name, from, path, sizeof path, &text, &len, NULL);

    if (rc == SS_ERR_IO && section[0]) {
        rc = graft_known(tree, section, name, &known, err);
        if (rc || known)
            return rc;
        rc = SS_ERR_IO;
    }
    if (rc)
        return ss_command_read(words, name, from, path, sizeof path, &text, &len, err);
    rc = ss_hf_graft(tree, section, text, len, path, err);
    free(text);
    return rc;
}

/* Where a file that a node names was looked for. */
static int tell_missing(const struct ss_tree_node *at, int rc, struct ss_error *err)
{
    if (!rc || !err || err->file[0])
        return rc;
    return rc == SS_ERR_IO
               ? ss_tree_fail(at, rc, err, "no file \"%.200s\", neither beside this one nor as it stands",
                              at->text ? at->text : "")
               : ss_tree_fail(at, rc, err, "%s", err->message);
}

/* A map in the place of a name is a configuration itself. */
int ss_hf_graft_deepspeed(struct ss_tree *tree, const struct ss_words *words, struct ss_error *err)
{
    static const char *const names[] = {"args.deepspeed", "args.deepspeed_config",
                                        "accelerate.deepspeed_config.deepspeed_config_file"};
    struct ss_tree_node *at = NULL;
    int rc = SS_OK;

    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
        struct ss_tree_node *node = ss_tree_get(ss_tree_root(tree), names[i]);
        if (node && !at && !ss_tree_is_null(node) && ss_tree_truth(node) < 0)
            at = node;
    }
    if (!at)
        return SS_OK;
    if (at->kind == SS_TREE_SCALAR) {
        rc = ss_hf_graft_file(tree, words, "deepspeed", at->text, at->file, err);
    } else {
        rc = ss_tree_graft(tree, ss_tree_root(tree), "deepspeed", at, err);
        ss_tree_take(at);
    }
    return tell_missing(at, rc, err);
}

int ss_hf_graft_fsdp(struct ss_tree *tree, const struct ss_words *words, struct ss_error *err)
{
    struct ss_tree_node *at = ss_tree_find(ss_tree_root(tree), "args.fsdp_config");
    char path[1024], *text = NULL;
    size_t len;

    if (ss_tree_is_null(at) || at->kind != SS_TREE_SCALAR || !at->text[0])
        return SS_OK;
    const struct ss_tree_node named = *at;
    if (named.text[0] == '{') /* JSON in a word */
        return assign(tree, at, "", named.text, strlen(named.text), named.file, err);
    int rc = ss_command_read(words, named.text, named.file, path, sizeof path, &text, &len, err);
    rc = rc ? rc : assign(tree, at, "", text, len, path, err);
    free(text);
    return tell_missing(&named, rc, err);
}
