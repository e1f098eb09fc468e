/* SPDX-License-Identifier: Apache-2.0 */
/* Files of flags. */
#include "base/base.h"
#include "import/command.h"

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

int ss_args_read(struct ss_words *out, const char *text, size_t len, const char *file, struct ss_error *err)
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
    SS_NEED(s.word, err);
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
                rc = ss_nomem(err);
        }
    }
    free(s.word);
    return rc ? rc : ss_command_strip(out, err);
}
