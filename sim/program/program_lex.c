/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the program text, and tables of names. */
#include "program/program_text.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static int lex_fail(struct ss_lines *l, const char *why)
{
    return ss_fail(l->err, SS_ERR_INPUT, l->file, l->line, "%s", why);
}

/* A quoted word, from behind the opening quote; unescaped in place. */
static int quoted_word(struct ss_lines *l, char **at, struct ss_word *word)
{
    char *from = *at, *to = from;
    *word = (struct ss_word){from, true};
    for (; *from && *from != '\n' && *from != '"'; from++) {
        if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
            from++;
        *to++ = *from;
    }
    if (*from != '"')
        return lex_fail(l, "a quote is not closed on its line");
    if (from[1] && from[1] != '\n' && !is_space(from[1]))
        return lex_fail(l, "a closing quote must be followed by a space");
    *to = '\0';
    *at = from + 1;
    return SS_OK;
}

static int next_word(struct ss_lines *l, char **at)
{
    struct ss_word word = {*at, false};
    SS_NEED(!ss_grow(&l->words, &l->cap, l->nwords + 1, sizeof *l->words), l->err);
    if (**at == '"') {
        ++*at;
        SS_TRY(quoted_word(l, at, &word));
    } else {
        while (**at && **at != '\n' && !is_space(**at)) {
            if (**at == '"')
                return lex_fail(l, "a quote must be at the start of a word");
            ++*at;
        }
    }
    l->words[l->nwords++] = word;
    return SS_OK;
}

/* One line; its words are cut off by NULs. */
static int split_line(struct ss_lines *l)
{
    char *at = l->next;
    l->nwords = 0;
    l->line++;
    for (;;) {
        while (is_space(*at))
            at++;
        if (*at == '#')
            at += strcspn(at, "\n");
        if (!*at || *at == '\n')
            break;
        SS_TRY(next_word(l, &at));
        char end = *at;
        *at = '\0';
        if (!end || end == '\n') {
            l->next = end ? at + 1 : at;
            return SS_OK;
        }
        at++;
    }
    l->next = *at ? at + 1 : at;
    return SS_OK;
}

int ss_lines_next(struct ss_lines *l)
{
    while (*l->next) {
        SS_TRY(split_line(l));
        if (l->nwords)
            return 1;
    }
    l->nwords = 0;
    return 0;
}

void ss_lines_free(struct ss_lines *l)
{
    free(l->words);
    l->words = NULL;
}

static bool is_plain(const char *name)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:>/+-~";
    return name[0] && strchr(first, name[0]) && !name[strspn(name, rest)];
}

void ss_word_write(const char *name, FILE *out)
{
    if (is_plain(name)) {
        fputs(name, out);
        return;
    }
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', out);
        fputc((unsigned char)*name < ' ' ? ' ' : *name, out);
    }
    fputc('"', out);
}

/* ---- names ---- */

/* Key of a name: its own, or the first free one. */
static uint64_t key_of(const struct ss_names *names, const char *name, int *number)
{
    uint64_t key = ss_hash(SS_HASH_INIT, name, strlen(name));
    while ((*number = ss_map_get(&names->map, key)) >= 0 && strcmp(names->name[*number], name) != 0)
        key++;
    return key;
}

int ss_names_add(struct ss_names *names, const char *name)
{
    int number;
    uint64_t key = key_of(names, name, &number);
    if (number >= 0)
        return SS_ERR_INPUT;
    if (ss_grow(&names->name, &names->name_cap, names->n + 1, sizeof *names->name) ||
        ss_map_put(&names->map, key, (int)names->n) < 0)
        return SS_ERR_NOMEM;
    names->name[names->n++] = name;
    return SS_OK;
}

int ss_names_find(const struct ss_names *names, const char *name)
{
    int number;
    key_of(names, name, &number);
    return number;
}

void ss_names_clear(struct ss_names *names)
{
    free(names->name);
    ss_map_free(&names->map);
    *names = (struct ss_names){0};
}
