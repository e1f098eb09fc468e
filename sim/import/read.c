/* SPDX-License-Identifier: Apache-2.0 */
/* Words of command lines, and of the files that they name, to a request. */
#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"
#include "import/hydra.h"

#define MAX_DEPTH 8
#define MAX_FILES 64
#define MAX_FILE_BYTES (1u << 20)
#define MAX_RESULT_BYTES (64u << 20)

/* "--job" and the file that it names: 0 no, 1 "--job=FILE", 2 "--job FILE". */
static int names_file(const struct ss_words *words, size_t i, const char **file)
{
    const char *text = words->w[i].text;

    if (!strncmp(text, "--job=", 6)) {
        *file = text + 6;
        return 1;
    }
    if (strcmp(text, "--job"))
        return 0;
    *file = i + 1 < words->n ? words->w[i + 1].text : "";
    return 2;
}

struct reading {
    struct ss_request *request;
    int files;
    struct ss_cluster cluster;
};
static int expand(struct reading *to, struct ss_words *words, int depth, struct ss_error *err);

static int is_json(const char *path)
{
    size_t n = strlen(path);

    return n > 5 && !strcmp(path + n - 5, ".json");
}

/* Words of a command line that a configuration may take. */
struct overrides {
    const char *file; /* where they stand; NULL: the command line */
    struct ss_word *w;
    size_t n; /* 0 when they were taken */
};

static int read_tree(struct reading *to, struct ss_tree *tree, const struct ss_foreign_kind *kind,
                     struct overrides *over, struct ss_error *err)
{
    int rc = SS_OK;

    if (kind && kind->hydra) {
        for (size_t i = 0; i < over->n && !rc; i++)
            rc = ss_hydra_override(tree, over->w[i].text, over->file, over->w[i].line, kind->loose, err);
        over->n = 0;
        rc = rc ? rc : ss_hydra_resolve(tree, err);
    }
    return rc ? rc : ss_foreign_request(to->request, NULL, tree, kind, err);
}

static int import_tree(struct reading *to, const char *file, const char *text, size_t len,
                       struct overrides *over, struct ss_error *err)
{
    struct ss_tree *tree = NULL;
    int rc = ss_tree_parse(text, len, file, &tree, err);

    rc = rc ? rc : read_tree(to, tree, ss_foreign_kind_of(ss_tree_root(tree)), over, err);
    ss_tree_free(tree);
    return rc;
}

/* Takes `words` over, which have a file and no word yet. */
static int import_text(struct reading *to, struct ss_words *words, const char *text, size_t len,
                       struct overrides *over, int depth, struct ss_error *err)
{
    const struct ss_importer *kind = ss_importer_of(text, len);
    int tree = kind->read == ss_args_read && ss_foreign_sniff(text, len), rc;

    words->cluster = &to->cluster;

    if (tree)
        rc = import_tree(to, words->file, text, len, over, err);
    else
        rc = kind->add ? kind->add(to->request, text, len, words->file, err)
                       : kind->read(words, text, len, words->file, err);
    ss_command_tell(&to->request->notes, words->file, words);
    if (!rc && !tree && !kind->add)
        return expand(to, words, depth, err);
    ss_words_free(words);
    return rc;
}

static int expand_file(struct reading *to, const char *name, const struct ss_words *from, int line,
                       struct overrides *over, int depth, struct ss_error *err)
{
    struct ss_words words = {0};
    char path[1024], *text;
    size_t len;

    if (!name[0] || !strncmp(name, "--", 2))
        return ss_fail(err, from->file ? SS_ERR_INPUT : SS_ERR_USAGE, from->file, line, "--job needs a file");
    if (depth >= MAX_DEPTH || to->files++ >= MAX_FILES)
        return ss_fail(err, SS_ERR_INPUT, from->file, line,
                       "--job %.100s: files of flags name files more than %d deep", name, MAX_DEPTH);
    SS_TRY(ss_import_find(name, from->file, path, sizeof(path), err));
    SS_TRY(ss_file_read(path, is_json(path) ? MAX_RESULT_BYTES : MAX_FILE_BYTES, &text, &len, err));
    words.file = strdup(path);
    int rc = words.file ? import_text(to, &words, text, len, over, depth + 1, err) : ss_nomem(err);
    if (!rc && !ss_import_is_configuration(text, len))
        ss_batch_unread(text, path, &to->request->notes);
    free(text);
    return rc;
}

static int add_words(struct ss_request *r, const struct ss_words *words, size_t first, size_t end,
                     struct ss_error *err)
{
    int rc = first < end ? ss_request_add_place(r, words->file, err) : SS_OK;

    for (size_t i = first; i < end && !rc; i++)
        rc = ss_request_add(r, words->w[i].text, words->w[i].line, err);
    return rc;
}

/* Words of ours and of a program stand in places of their own. */
static int add_place(struct ss_request *r, const struct ss_words *words, struct ss_error *err)
{
    size_t own = words->program ? words->own : words->n;
    int rc = add_words(r, words, 0, own, err);

    SS_THEN(rc, add_words(r, words, own, words->n, err));
    if (!rc && own < words->n)
        r->place[r->nplaces - 1].program = 1;
    return rc;
}

/* Overrides from word i on, up to the first that is none. */
static struct overrides overrides_at(const struct ss_words *words, size_t i)
{
    struct overrides over = {.file = words->file};

    over.w = words->w + (i < words->n ? i : words->n);
    while (i + over.n < words->n && ss_hydra_is_override(over.w[over.n].text))
        over.n++;
    return over;
}

/* The files that the words name; GPT-NeoX merges several, of which not each says whose it is. */
static bool is_neox(const struct ss_words *words, const char *name[], size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < words->n && *n < MAX_FILES; i++)
        if (names_file(words, i, &name[*n]))
            ++*n;
    return *n > 1 && ss_neox_any(name, *n, words->file);
}

/* Takes `words` over. */
static int expand(struct reading *to, struct ss_words *words, int depth, struct ss_error *err)
{
    const struct ss_command_importer *other;
    struct ss_command command;
    size_t kept = 0;
    int rc = SS_OK;

    if (words->file && ss_command_find(words, &command, &other)) {
        rc = ss_command_sizes(words, &command, &to->request->notes, err);
        rc = rc ? rc : other->add(to->request, words, &command, err);
        ss_words_free(words);
        return rc;
    }
    if (ss_hydra_is_command(words)) {
        rc = ss_hydra_take(to->request, words, err);
        words->program = 0; /* what is left says the configuration in our words */
    }
    const char *names[MAX_FILES];
    size_t several;
    bool neox = !rc && !words->program && is_neox(words, names, &several);
    if (neox)
        rc = ss_neox_files_add(to->request, names, several, words->file, err);
    for (size_t i = 0; i < words->n; i++) {
        const char *name;
        int used = rc || (words->program && i >= words->own) ? 0 : names_file(words, i, &name);
        if (!used) {
            words->w[kept++] = words->w[i];
            continue;
        }
        struct overrides over = overrides_at(words, i + (size_t)used);
        size_t behind = over.n;
        rc = neox ? SS_OK : expand_file(to, name, words, words->w[i].line, &over, depth, err);
        free(words->w[i].text);
        if (used == 2 && i + 1 < words->n)
            free(words->w[++i].text);
        for (size_t k = over.n; k < behind; k++)
            free(words->w[++i].text);
    }
    words->n = kept;
    if (!rc && kept)
        rc = add_place(to->request, words, err);
    ss_words_free(words);
    return rc;
}

int ss_request_read(struct ss_request *r, int argc, char *const *argv, struct ss_error *err)
{
    struct reading to = {.request = r};
    struct ss_words words = {0}, script = {0};
    int rc = SS_OK;

    for (int i = 0; i < argc && !rc; i++)
        rc = !argv || !argv[i] ? ss_fail(err, SS_ERR_USAGE, NULL, 0, "word %d of %d is missing", i + 1, argc)
             : ss_words_add(&words, argv[i], strlen(argv[i]), 0) ? ss_nomem(err)
                                                                 : SS_OK;
    rc = rc ? rc : ss_launch_take(&words, &script, &to.cluster, &r->notes, err);
    if (ss_notes_add_all(&r->behind, &script.behind) && !rc)
        rc = ss_nomem(err);
    if (!rc && script.file)
        rc = expand(&to, &script, 1, err);
    if (!rc)
        rc = expand(&to, &words, 0, err);
    else
        ss_words_free(&words);
    ss_words_free(&script);
    if (rc)
        ss_request_blame(r, err);
    return rc;
}

int ss_request_read_text(struct ss_request *r, const char *text, size_t len, const char *file,
                         struct ss_error *err)
{
    struct reading to = {.request = r};
    struct overrides none = {0};

    if (!file || (!text && len))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no text to read a job from, or no name of it");
    struct ss_words words = {.file = strdup(file)};

    return words.file ? import_text(&to, &words, text, len, &none, 0, err) : ss_nomem(err);
}
