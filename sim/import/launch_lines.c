/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a script for its scheduler: options that are misspelt, cards that the platform does not have. */
#include "base/base.h"
#include "import/launcher.h"

/* Beginnings of such lines, the program that reads them, and what stands before "=" in the values that count. */
static const struct {
    const char *mark, *program, *keys;
} kinds[] = {
    {"#SBATCH", "sbatch", NULL},
    {"#flux:", "flux", NULL},
    {"#BSUB", "bsub", "ptile num mem cpu gmem gmodel mode hosts block ut pg tmp swp"},
    {"#PBS", "qsub",
     "select nodes ngpus gpus gpu mpiprocs procs ppn ncpus cpus mem vmem pmem pvmem cput pcput place host"},
};

/* Finds the key that the n bytes before "=" are a misspelt one of; NULL: none. */
static const char *meant(const char *keys, const char *text, size_t n, char word[32], char name[32])
{
    snprintf(word, 32, "%.*s", n < 32 ? (int)n : 0, text);
    for (const char *at = keys; n > 2 && n < 32 && *at && !ss_has_word(keys, word);) {
        const size_t length = strcspn(at, " ");
        const char *const one[] = {name};
        snprintf(name, 32, "%.*s", (int)length, at);
        at += length + (at[length] == ' ');
        const bool same = n == length && strspn(word, name) == n && strspn(name, word) == n; /* letters */
        if (length > 2 && ss_nearest_within(word, one, 1, length > 6 || same ? 2 : 1))
            return name;
    }
    return NULL;
}

/* Refuses a word, "span[ptiel=8]", in which one is like a key that would count. */
static int check_keys(const char *keys, const struct ss_word *w, const char *script, struct ss_error *err)
{
    char key[32], near[32];
    const char *text = w->text + (strncmp(w->text, "-l", 2) ? 0 : 2); /* "-lnodes=4" */

    for (const char *p = text; keys && (p = strchr(p, '=')) != NULL; p++) {
        const char *from = p;
        while (from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
            from--;
        if (meant(keys, from, (size_t)(p - from), key, near))
            return ss_fail(err, SS_ERR_INPUT, script, w->line,
                           "%.80s: no resource is %s" SS_HINT "did you mean %s?", w->text, key, near);
    }
    return SS_OK;
}

/* The words of the lines of one kind, with their lines. */
static int read_words(const char *text, const char *mark, struct ss_words *out, struct ss_error *err)
{
    const size_t n = strlen(mark);
    char *copy = strdup(text);
    struct ss_error open = {0}; /* a quote that is not closed */

    SS_NEED(copy, err);
    for (char *p = copy; *p; p += *p == '\n') {
        const bool is = !strncmp(p, mark, n) && isspace((unsigned char)p[n]);
        memset(p, ' ', is ? n : strcspn(p, "\n"));
        p += strcspn(p, "\n");
    }
    int rc = ss_args_read(out, copy, strlen(copy), NULL, &open);
    free(copy);
    return rc == SS_ERR_NOMEM ? ss_nomem(err) : SS_OK;
}

static int check_words(size_t kind, const struct ss_words *words, const char *script, struct ss_error *err)
{
    const char *program = kinds[kind].program;
    char near[64];

    for (size_t i = 0; i < words->n; i++) {
        const struct ss_word *w = &words->w[i];
        bool one = !strcmp(w->text, "-1") && !strcmp(program, "qsub"); /* which looks like -l */
        if (one || ss_launcher_misspells(program, w->text, near))
            return ss_fail(err, SS_ERR_INPUT, script, w->line,
                           "%s has no option %.80s" SS_HINT "did you mean %s?", program, w->text,
                           one ? "-l" : near);
        SS_TRY(check_keys(kinds[kind].keys, w, script, err));
    }
    return SS_OK;
}

int ss_launch_lines(const char *text, const char *script, const struct ss_cluster *cluster,
                    struct ss_notes *notes, struct ss_error *err)
{
    const char *slash = strrchr(script, '/');
    int rc = SS_OK;

    for (size_t k = 0; k < SS_ARRAY_LEN(kinds) && !rc; k++) {
        struct ss_words words = {0};
        rc = read_words(text, kinds[k].mark, &words, err);
        SS_THEN(rc, check_words(k, &words, script, err));
        if (!rc)
            ss_launcher_cards(&words, 0, words.n, cluster, slash ? slash + 1 : script, notes);
        ss_words_free(&words);
    }
    return rc;
}
