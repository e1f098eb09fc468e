/* SPDX-License-Identifier: Apache-2.0 */
/* Each key of each configuration of tests/ misspelt by itself: it is refused, or told, by its name or as a part of what has no effect as a
 * whole. What is inside of a value, as of a function that was dumped as a map, is no key. */
#include <dirent.h>

#include "base/base.h"
#include "import/foreign.h"
#include "import/toml.h"
#include "suite.h"

#define MARK "qq"

struct source {
    const char *folder, *end; /* files of tests/FOLDER whose names end so */
    const char *name;         /* what they are read as; NULL: their own */
    const char *map,
        *below; /* the keymap, and the section that the file is; "": its root. NULL: by the kind of the YAML */
};
struct counts {
    int tried, silent;
};

/* Whether one of the notes names the key or what it is in: "model.a (line 3)", "no effect: a". */
static bool has_told(const struct ss_notes *notes, const char *misspelt)
{
    for (unsigned long i = 0; i < notes->n; i++)
        if (strstr(notes->text[i], misspelt))
            return true;
    return false;
}

/* Whether something that the key is in is told as a whole. */
static bool is_in_whole(const struct ss_request *r, const struct ss_tree_node *key)
{
    char path[300], item[310];

    for (const struct ss_tree_node *n = key->parent; n && n->parent; n = n->parent) {
        ss_tree_path(n, path, sizeof path);
        snprintf(item, sizeof item, " %s (", path);
        if (has_told(&r->notes, item))
            return true;
        for (unsigned long i = 0; i < r->ignored.n; i++) {
            const char *text = r->ignored.text[i];
            size_t a = strlen(text), b = strlen(path);
            if (a >= b && !strcmp(text + a - b, path) && (a == b || text[a - b - 1] == '.'))
                return true;
        }
    }
    return false;
}

/* Reads the text with the key's name misspelt where it stands on its line; false: that is silent. */
static bool is_told(const char *text, const char *at, const char *name, const struct ss_tree_node *key)
{
    size_t n = strlen(text), k = strlen(key->key), i = (size_t)(at - text) + k;
    char *copy = malloc(n + sizeof MARK), misspelt[300];
    struct ss_request r;
    struct ss_error err = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, text, i);
    memcpy(copy + i, MARK, sizeof MARK - 1);
    memcpy(copy + i + sizeof MARK - 1, text + i, n - i + 1);
    snprintf(misspelt, sizeof misspelt, "%s" MARK, key->key);
    ss_request_init(&r);
    bool told = !ss_import_is_configuration(copy, strlen(copy)) || /* then its words are no flags of a job */
                ss_request_read_text(&r, copy, strlen(copy), name, &err) || has_told(&r.notes, misspelt) ||
                has_told(&r.ignored, misspelt) || is_in_whole(&r, key);
    ss_request_free(&r);
    free(copy);
    return told;
}

/* Whether a name ends at p, as a key: its quote, blanks, then ":", "=", or what parts a table's name. */
static bool ends_key(const char *p)
{
    p += *p == '"' || *p == '\'';
    p += strspn(p, " \t");
    return *p && strchr(":=].", *p);
}

static void try_key(const char *text, const char *name, const struct ss_tree_node *key, struct counts *c)
{
    const char *line = text;
    size_t k = strlen(key->key);

    for (int i = 1; i < key->line && line; i++)
        line = (line = strchr(line, '\n')) != NULL ? line + 1 : NULL;
    for (const char *p = line; p && *p && *p != '\n'; p++) {
        if (strncmp(p, key->key, k) || !ends_key(p + k) ||
            (p > line && (isalnum((unsigned char)p[-1]) || strchr("_-.", p[-1]))))
            continue;
        c->tried++;
        if (!is_told(text, p, name, key)) {
            printf("\n  %s:%d: %s misspelt is silent\n", name, key->line, key->key);
            c->silent++;
        }
    }
}

/* The path at which rows look for a node: where a row of the kind `as` puts what it is in. */
static const char *row_path(const struct ss_keymap *m, const char *below, const struct ss_tree_node *node,
                            char path[400])
{
    char own[400], more[200];
    size_t n = (size_t)snprintf(own, sizeof own, "%s%s", below, below[0] && node->parent ? "." : "");

    ss_tree_path(node, own + n, sizeof own - n);
    for (char *p = own + n; *p; p++) /* GPT-NeoX */
        *p = *p == '-' ? '_' : *p;
    ss_copy(path, 400, own);
    for (char *dot = own + strlen(own); dot; dot = strrchr(own, '.')) {
        *dot = '\0';
        const struct ss_key_row *row = ss_keymap_find(m, own);
        ss_copy(more, sizeof more, path + strlen(own));
        if (row && row->kind == SS_KEY_AS) {
            snprintf(path, 400, "%s%s", row->text, more);
            return path;
        }
    }
    return path;
}

/* Whether keys of this map are read one by one. */
static bool is_section(const struct ss_keymap *m, const char *below, const struct ss_tree_node *node)
{
    char path[400];

    row_path(m, below, node, path);
    return !path[0] || ss_keymap_is_section(m, path);
}

static void try_below(const char *text, const char *name, const struct ss_keymap *m, const char *below,
                      const struct ss_tree_node *node, struct counts *c)
{
    bool section = node->kind == SS_TREE_MAP && is_section(m, below, node),
         arguments = strstr(m->file, "megatron-arguments") != NULL;

    for (const struct ss_tree_node *child = node->first; child; child = child->next) {
        bool variable = arguments && !node->parent &&
                        child->kind == SS_TREE_SCALAR; /* which is missed where it is used */
        if (section && child->key && child->key[0] && strlen(child->key) < 100 && child->line > 0 &&
            !variable)
            try_key(text, name, child, c);
        try_below(text, name, m, below, child, c);
    }
}

static int parse(const char *text, const char *name, struct ss_tree **tree)
{
    size_t n = strlen(name);
    bool toml = n > 5 && !strcmp(name + n - 5, ".toml");

    return toml ? ss_toml_parse(text, strlen(text), name, tree, NULL)
                : ss_tree_parse(text, strlen(text), name, tree, NULL);
}

static void try_text(const char *text, const char *name, const struct source *s, struct counts *c)
{
    struct ss_request r;
    struct ss_tree *tree;
    struct ss_keymap *m;

    ss_request_init(&r);
    bool read = ss_import_is_configuration(text, strlen(text)) &&
                !ss_request_read_text(&r, text, strlen(text), name, NULL) && !parse(text, name, &tree);
    ss_request_free(&r);
    if (!read)
        return; /* what is refused as it stands tells nothing of its keys */
    const struct ss_foreign_kind *kind = s->map ? NULL : ss_foreign_kind_of(ss_tree_root(tree));
    if (s->map || kind) {
        CU_ASSERT_EQUAL_FATAL(ss_keymap_load(kind ? kind->map : s->map, NULL, &m, NULL), SS_OK);
        try_below(text, name, m, s->below, ss_tree_root(tree), c);
        ss_keymap_free(m);
    }
    ss_tree_free(tree);
}

static void try_folder(const struct source *s, struct counts *c)
{
    char folder[300], path[600], *text;
    struct dirent **files;
    size_t len, end = strlen(s->end);

    snprintf(folder, sizeof folder, SS_SOURCE_DIR "/tests/%s", s->folder);
    int n = scandir(folder, &files, NULL, alphasort);
    CU_ASSERT_FATAL(n > 2);
    for (int i = 0; i < n; i++) {
        size_t k = strlen(files[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
        bool wanted = files[i]->d_name[0] != '.' && k >= end && !strcmp(files[i]->d_name + k - end, s->end);
        free(files[i]);
        if (!wanted || ss_is_folder(path) || ss_file_read(path, 1u << 20, &text, &len, NULL))
            continue;
        try_text(text, s->name ? s->name : path, s, c); /* a corpus has overrides behind a zero byte */
        free(text);
    }
    free(files);
}

TEST(misspelt)
{
    static const struct source sources[] = {
        {"import/huggingface", ".yaml", NULL, "huggingface", "accelerate"},
        {"import/huggingface", ".json", NULL, "huggingface", "deepspeed"},
        {"import/deepspeed", ".json", NULL, "huggingface", "deepspeed"},
        {"import/llamafactory", ".yaml", NULL, "huggingface", "args"},
        {"import/llamafactory", ".json", NULL, "huggingface", "deepspeed"},
        {"import/neox/configs", ".yml", NULL, "neox", ""},
        {"import/axolotl", ".yaml", NULL, "axolotl", ""},
        {"import/llamafactory-v1", ".yaml", NULL, "llamafactory-v1", ""},
        {"import/trl", ".yaml", NULL, "trl", "args"},
        {"import/nanotron", ".yaml", NULL, NULL, ""},
        {"import/flagscale", ".yaml", NULL, NULL, ""},
        {"import/torchtitan", ".toml", NULL, "torchtitan", ""},
        {"import/torchtitan", ".json", NULL, "torchtitan", ""},
        {"launch", ".yaml", NULL, NULL, ""},
        {"launch/nemo", ".yaml", NULL, NULL, ""},
        {"fuzz/corpus/foreign", "", "fuzz.yaml", NULL, ""},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(sources); i++) {
        struct counts c = {0};
        try_folder(&sources[i], &c);
        printf("\n  %s %s: %d keys", sources[i].folder, sources[i].end, c.tried);
        CU_ASSERT(c.tried > 6); /* the test reads configurations */
        CU_ASSERT_EQUAL(c.silent, 0);
    }
}
