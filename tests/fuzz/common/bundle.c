/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static pid_t owner;

static void remove_folder(void)
{
    char path[400];
    DIR *d = getpid() == owner ? opendir(folder) : NULL;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    if (getpid() == owner)
        rmdir(folder);
}

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.40s/fuzz-XXXXXX", base && strlen(base) < 40 ? base : "/tmp");
    if (!mkdtemp(folder))
        abort();
    owner = getpid();
    atexit(remove_folder);
}

int fuzz_bundle_put(const char *name, const char *text, size_t size, char *path)
{
    if (!folder[0])
        make_folder();
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f)
        return -1;
    int bad = fwrite(text, 1, size, f) != size;
    return fclose(f) || bad ? -1 : 0;
}

/* The line of a mark at or behind `at`; NULL: there is none. */
static const char *next_mark(const char *at, const char *end, const char *begin)
{
    size_t n = sizeof FUZZ_MARK - 1;

    while (at < end && (at = memmem(at, (size_t)(end - at), FUZZ_MARK, n)) != NULL) {
        if (at == begin || at[-1] == '\n')
            return at;
        at++;
    }
    return NULL;
}

static int take_name(const char *at, const char *end, char name[FUZZ_NAME_SIZE])
{
    size_t n = 0;

    for (; at < end && *at != '\n'; at++) {
        int plain = (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '.' || *at == '-';
        if (!plain || n + 1 >= FUZZ_NAME_SIZE || (n == 0 && *at == '.'))
            return -1;
        name[n++] = *at;
    }
    name[n] = '\0';
    return n ? 0 : -1;
}

size_t fuzz_bundle_split(const char *data, size_t size, struct fuzz_bundle *b)
{
    const char *end = data + size, *mark = next_mark(data, end, data);
    size_t words = mark ? (size_t)(mark - data) : size;

    memset(b, 0, sizeof *b);
    while (mark && b->nfiles < FUZZ_MOST_FILES) {
        struct fuzz_file *f = &b->file[b->nfiles];
        const char *line = memchr(mark, '\n', (size_t)(end - mark));
        f->text = line ? line + 1 : end;
        const char *next = next_mark(f->text, end, data);
        f->size = (size_t)((next ? next : end) - f->text);
        if (!take_name(mark + sizeof FUZZ_MARK - 1, end, f->name))
            b->nfiles++;
        mark = next;
    }
    return words;
}

/* Words that read what is no part of the input. */
static int is_foreign(const char *word)
{
    static const char *const scripts[] = {"--launch", "--trust", "--env", "--call"};

    if (strchr(word, '/') || !strcmp(word, "-") || strstr(word, "=-"))
        return 1;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (!strncmp(word, scripts[i], strlen(scripts[i])))
            return 1;
    return 0;
}

/* The word with the path of a file in the place of "@NAME", at its begin or behind "=". */
static char *copy_word(const struct fuzz_bundle *b, const char *word, size_t n)
{
    char text[1024];
    const char *at = memchr(word, '@', n);
    size_t before = at ? (size_t)(at - word) : n;

    if (n >= 512)
        return NULL;
    snprintf(text, sizeof text, "%.*s", (int)n, word);
    if (is_foreign(text))
        return NULL;
    for (int i = 0; at && i < b->nfiles; i++)
        if (strlen(b->file[i].name) == n - before - 1 && !memcmp(b->file[i].name, at + 1, n - before - 1)) {
            snprintf(text, sizeof text, "%.*s%s", (int)before, word, b->file[i].path);
            break;
        }
    return strdup(text);
}

int fuzz_bundle_read(const uint8_t *data, size_t size, struct fuzz_bundle *b)
{
    const char *text = (const char *)data;
    size_t words = fuzz_bundle_split(text, size, b), at = 0;

    if (memchr(text, '\0', words))
        return -1;
    for (int i = 0; i < b->nfiles; i++)
        if (fuzz_bundle_put(b->file[i].name, b->file[i].text, b->file[i].size, b->file[i].path))
            return -1;
    while (at < words) {
        while (at < words && strchr(" \t\n\r", text[at]))
            at++;
        size_t n = 0;
        while (at + n < words && !strchr(" \t\n\r", text[at + n]))
            n++;
        if (!n)
            break;
        if (b->nwords == FUZZ_MOST_WORDS || !(b->word[b->nwords] = copy_word(b, text + at, n)))
            return -1;
        b->nwords++;
        at += n;
    }
    return 0;
}

void fuzz_bundle_free(struct fuzz_bundle *b)
{
    for (int i = 0; i < b->nwords; i++)
        free(b->word[i]);
    b->nwords = 0;
}
