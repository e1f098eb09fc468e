/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command that Hydra reads: --config-path, --config-name and overrides, on top of a file. */
#include <unistd.h>

#include "base/base.h"
#include "import/foreign.h"
#include "import/hydra.h"

#define MAX_BYTES (8u << 20)
#define SHIPPED "workloads/nemo"

struct command {
    struct ss_words *words; /* words of the command; words that were read are taken out */
    const char *name, *folder;
    int line;         /* of the name */
    char path[1024];  /* of the file */
    bool shipped;     /* it is a part of NeMo's own file, of our data */
    const char *size; /* "13b" of a shipped file that has values for it; NULL: none */
    struct ss_tree *tree;
};

static bool try_path(struct command *c, const char *folder, size_t len, const char *below)
{
    const char *end = strlen(c->name) > 5 && !strcmp(c->name + strlen(c->name) - 5, ".yaml") ? "" : ".yaml";
    int n = snprintf(c->path, sizeof c->path, "%.*s%s%s%s%s%s", (int)len, folder, len ? "/" : "", below,
                     *below ? "/" : "", c->name, end);

    return n > 0 && (size_t)n < sizeof c->path && access(c->path, R_OK) == 0;
}

/* Where the command says, else beside the file that names it. */
static bool find_given(struct command *c)
{
    const char *file = c->words->file, *slash = file ? strrchr(file, '/') : NULL;
    size_t len = slash ? (size_t)(slash - file) : 0;

    if (ss_import_is_pasted(file))
        return false;
    if (c->folder && try_path(c, c->folder, strlen(c->folder), ""))
        return true;
    if (c->folder && c->folder[0] != '/' && slash && try_path(c, file, len, c->folder))
        return true;
    return try_path(c, slash ? file : "", len, "");
}

/* NeMo's own files of that name, or "NAME-SIZE", as users call copies for a size. */
static int find_shipped(struct command *c, struct ss_error *err)
{
    char name[128];
    const char *rest;
    bool found = false;
    int rc = ss_copy(name, sizeof name, c->name) ? SS_OK : SS_ERR_IO;
    size_t n = strlen(name);

    if (!rc && n > 5 && !strcmp(name + n - 5, ".yaml"))
        name[n - 5] = '\0';
    if (rc || strchr(name, '/'))
        return SS_OK;
    rc = ss_data_look(SHIPPED, name, ".yaml", c->path, sizeof c->path, &found, err);
    char *dash = strrchr(name, '-');
    if (!rc && !found && dash) {
        *dash = '\0';
        c->size = strrchr(c->name, '-') + 1;
        rc = ss_data_look(SHIPPED, name, ".yaml", c->path, sizeof c->path, &found, err);
    }
    c->shipped = found && ss_data_relative(c->path, &rest);
    return rc;
}

static int not_found(const struct command *c, struct ss_error *err)
{
    const char *file = c->words->file;
    int code = file ? SS_ERR_INPUT : SS_ERR_USAGE;

    return ss_fail(err, code, file, c->line,
                   "the configuration \"%.100s\" is %s%.300s%s in %s" SS_HINT
                   "put its YAML there; known without a file: megatron_gpt_config, megatron_llama_config "
                   "(-7b, -13b, -70b)",
                   c->name, c->folder ? "neither in " : "not", c->folder ? c->folder : "",
                   c->folder ? " nor" : "", file ? "the folder of this file" : "the current folder");
}

static int use_size(struct command *c, struct ss_error *err)
{
    char path[64];
    struct ss_tree_node *root = ss_tree_root(c->tree);
    int rc = SS_OK;

    snprintf(path, sizeof path, "stepsim.sizes.%.30s", c->size);
    const struct ss_tree_node *size = ss_tree_find(root, path);
    if (!size)
        return not_found(c, err);
    for (struct ss_tree_node *n = size->first; n && !rc; n = n->next) {
        struct ss_tree_node *node = ss_tree_child(ss_tree_find(root, "model"), n->key, strlen(n->key));
        rc = node ? ss_tree_assign(c->tree, node, n, err)
                  : ss_fail(err, SS_ERR_INPUT, c->path, n->line, "%.60s is no name of model", n->key);
    }
    return rc;
}

static int load(struct command *c, struct ss_error *err)
{
    char *text;
    size_t len;
    int rc = find_given(c) ? SS_OK : find_shipped(c, err);

    if (!rc && access(c->path, R_OK) != 0)
        return not_found(c, err);
    SS_TRY(rc ? rc : ss_file_read(c->path, MAX_BYTES, &text, &len, err));
    rc = ss_tree_parse(text, len, c->path, &c->tree, err);
    free(text);
    return rc || !c->size ? rc : use_size(c, err);
}

static void tell(const struct command *c, struct ss_notes *notes)
{
    const struct ss_tree_node *source = ss_tree_find(ss_tree_root(c->tree), "stepsim.source");

    if (c->shipped && c->size)
        ss_note(notes, "%s.yaml is not at hand: its base is assumed to be %s, with the shape of %s", c->name,
                source ? source->text : c->path, c->size);
    else if (c->shipped)
        ss_note(notes, "%s.yaml is not at hand: its base is assumed to be %s", c->name,
                source ? source->text : c->path);
    else
        ss_note(notes, "base: %s", c->path);
}

/* Takes the words that are Hydra's out, and applies the overrides. */
static int take_words(struct ss_tree *tree, struct ss_words *words, bool loose, struct ss_error *err)
{
    size_t kept = 0, used = 0;
    int rc = SS_OK;

    for (size_t i = 0; i < words->n; i++) {
        struct ss_word *w = &words->w[i];
        bool mine = ss_hydra_is_override(w->text);
        if (mine && !rc)
            rc = ss_hydra_override(tree, w->text, words->file, w->line, loose, err);
        if (!mine && used == 0 && !ss_hydra_flag(words, i, true, &used) &&
            !ss_hydra_flag(words, i, false, &used)) {
            words->w[kept++] = *w;
            continue;
        }
        used -= used > 0;
        free(w->text);
    }
    words->n = kept;
    return rc;
}

int ss_hydra_take(struct ss_request *r, struct ss_words *words, struct ss_error *err)
{
    struct command c = {.words = words};
    char name[256] = "", folder[700] = "";
    size_t used;

    for (size_t i = 0; i < words->n; i++) {
        const char *text = ss_hydra_flag(words, i, true, &used);
        if (text && ss_copy(name, sizeof name, text))
            c.line = words->w[i].line;
        else if ((text = ss_hydra_flag(words, i, false, &used)) != NULL &&
                 ss_copy(folder, sizeof folder, text))
            c.folder = folder;
    }
    c.name = name;
    int rc = load(&c, err);
    rc = rc ? rc : take_words(c.tree, words, c.shipped, err);
    rc = rc ? rc : ss_hydra_resolve(c.tree, err);
    if (!rc)
        tell(&c, &r->notes);
    rc = rc ? rc : ss_foreign_request(r, words, c.tree, NULL, err);
    ss_tree_free(c.tree);
    return rc;
}
