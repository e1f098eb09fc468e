/* SPDX-License-Identifier: Apache-2.0 */
/* Words of command lines and files of flags. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "job/job_internal.h"

#define MAX_DEPTH 8
#define MAX_PLACES 64
#define MAX_FILE_BYTES (1u << 20)

int ss_words_add(struct ss_words *words, const char *text, size_t len, int line)
{
    if (ss_grow(&words->w, &words->cap, words->n + 1, sizeof(*words->w)))
        return SS_ERR_NOMEM;
    char *copy = malloc(len + 1);
    if (!copy)
        return SS_ERR_NOMEM;
    memcpy(copy, text, len);
    copy[len] = 0;
    words->w[words->n++] = (struct ss_word){copy, line};
    return SS_OK;
}

void ss_words_free(struct ss_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->w[i].text);
    free(words->w);
    free(words->file);
    memset(words, 0, sizeof(*words));
}

void ss_places_free(struct ss_places *places)
{
    for (size_t i = 0; i < places->n; i++)
        ss_words_free(&places->place[i]);
    free(places->place);
    memset(places, 0, sizeof(*places));
}

static int no_memory(struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
}

struct scanner {
    const char *p, *end, *file;
    int line;
    char *word; /* room for the whole text */
    size_t len;
};

static int is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Reads a quoted part into the word; p is behind the opening quote. */
static int scan_quoted(struct scanner *s, char quote, struct ss_error *err)
{
    int first = s->line;

    for (; s->p < s->end; s->p++) {
        if (*s->p == quote) {
            s->p++;
            return SS_OK;
        }
        if (*s->p == '\n')
            s->line++;
        if (quote == '"' && *s->p == '\\' && s->p + 1 < s->end && strchr("\"\\$`\n", s->p[1]) && s->p[1]) {
            s->p++;
            if (*s->p == '\n') { /* a line that goes on */
                s->line++;
                continue;
            }
        }
        s->word[s->len++] = *s->p;
    }
    return ss_fail(err, SS_ERR_INPUT, s->file, first, "the quote %c is not closed", quote);
}

/* Reads one word that starts at p. *found 0: it was only the end of a line that goes on. */
static int scan_word(struct scanner *s, int *found, struct ss_error *err)
{
    int rc = SS_OK;

    s->len = 0;
    *found = 0;
    while (s->p < s->end && !is_space(*s->p) && !rc) {
        char c = *s->p++;
        if (c == '\'' || c == '"') {
            *found = 1;
            rc = scan_quoted(s, c, err);
        } else if (c == '\\' && s->p < s->end && (*s->p == '\n' || *s->p == '\r')) {
            if (*s->p == '\r' && s->p + 1 < s->end && s->p[1] == '\n')
                s->p++;
            s->p++;
            s->line++;
        } else {
            if (c == '\\' && s->p < s->end)
                c = *s->p++;
            s->word[s->len++] = c;
            *found = 1;
        }
    }
    return rc;
}

int ss_words_split(struct ss_words *out, const char *text, size_t len, const char *file, struct ss_error *err)
{
    struct scanner s = {.p = text, .end = text + len, .file = file, .line = 1};
    const char *nul = memchr(text, 0, len);
    int rc = SS_OK;

    s.p += ss_byte_order_mark(text, len);
    if (nul) {
        int line = 1;
        for (const char *p = text; p < nul; p++)
            line += *p == '\n';
        return ss_fail(err, SS_ERR_INPUT, file, line, "a zero byte: this is not a text of flags");
    }
    s.word = malloc(len + 1);
    if (!s.word)
        return no_memory(err);
    while (s.p < s.end && !rc) {
        int found, line = s.line;
        if (is_space(*s.p)) {
            s.line += *s.p++ == '\n';
        } else if (*s.p == '#') {
            while (s.p < s.end && *s.p != '\n')
                s.p++;
        } else {
            rc = scan_word(&s, &found, err);
            if (!rc && found && ss_words_add(out, s.word, s.len, line))
                rc = no_memory(err);
        }
    }
    free(s.word);
    return !rc && ss_words_strip_command(out) ? no_memory(err) : rc;
}

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

/* A path as it stands, beside the file that names it, or a name in workloads/jobs. */
static int find_file(const char *name, const char *from, char *path, size_t size, struct ss_error *err)
{
    const char *slash = from ? strrchr(from, '/') : NULL;

    if (slash && name[0] != '/' && strcmp(name, "-")) {
        int n = snprintf(path, size, "%.*s/%s", (int)(slash - from), from, name);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
            return SS_OK;
    }
    if (!strcmp(name, "-") || access(name, R_OK) == 0) {
        if (ss_copy(path, size, name))
            return SS_OK;
        return ss_fail(err, SS_ERR_IO, NULL, 0, "the path of a file of flags is too long");
    }
    return ss_data_find("workloads/jobs", name, ".args", path, size, err);
}

static int expand(struct ss_places *out, struct ss_words *words, int depth, struct ss_error *err);

static int expand_file(struct ss_places *out, const char *name, const struct ss_words *from, int line,
                       int depth, struct ss_error *err)
{
    struct ss_words words = {0};
    char path[1024], *text;
    size_t len;

    if (!name[0] || !strncmp(name, "--", 2))
        return ss_fail(err, from->file ? SS_ERR_INPUT : SS_ERR_USAGE, from->file, line, "--job needs a file");
    if (depth >= MAX_DEPTH || out->n >= MAX_PLACES)
        return ss_fail(err, SS_ERR_INPUT, from->file, line,
                       "--job %.100s: files of flags name files more than %d deep", name, MAX_DEPTH);
    int rc = find_file(name, from->file, path, sizeof(path), err);
    if (!rc)
        rc = ss_file_read(path, MAX_FILE_BYTES, &text, &len, err);
    if (rc)
        return rc;
    words.file = strdup(path);
    rc = words.file ? ss_words_split(&words, text, len, path, err) : no_memory(err);
    free(text);
    if (!rc)
        return expand(out, &words, depth + 1, err);
    ss_words_free(&words);
    return rc;
}

/* Takes `words` over. */
static int expand(struct ss_places *out, struct ss_words *words, int depth, struct ss_error *err)
{
    size_t kept = 0;
    int rc = SS_OK;

    for (size_t i = 0; i < words->n; i++) {
        const char *name;
        int used = rc ? 0 : names_file(words, i, &name);
        if (!used) {
            words->w[kept++] = words->w[i];
            continue;
        }
        rc = expand_file(out, name, words, words->w[i].line, depth, err);
        free(words->w[i].text);
        if (used == 2 && i + 1 < words->n)
            free(words->w[++i].text);
    }
    words->n = kept;
    if (!rc && ss_grow(&out->place, &out->cap, out->n + 1, sizeof(*out->place)))
        rc = no_memory(err);
    if (rc) {
        ss_words_free(words);
        return rc;
    }
    out->place[out->n++] = *words;
    return SS_OK;
}

int ss_places_expand(struct ss_places *out, struct ss_words *words, struct ss_error *err)
{
    return expand(out, words, 0, err);
}
