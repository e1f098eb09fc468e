/* SPDX-License-Identifier: Apache-2.0 */
#include "study/json_stream.h"

#include "base/base.h"

static void advance(struct ss_json_stream *s)
{
    s->line += s->next == '\n';
    s->next = getc_unlocked(s->in);
}

void ss_json_stream_begin(struct ss_json_stream *s, FILE *in, const char *name, struct ss_error *err)
{
    *s = (struct ss_json_stream){.in = in, .name = name, .err = err, .line = 1};
    advance(s);
    for (const char *mark = SS_BYTE_ORDER_MARK; *mark && s->next == (unsigned char)*mark; mark++)
        advance(s);
}

static void skip_blanks(struct ss_json_stream *s)
{
    while (s->next == ' ' || s->next == '\t' || s->next == '\n' || s->next == '\r')
        advance(s);
}

static void put(struct ss_json_stream *s, int c)
{
    if (s->len + 1 < sizeof s->text)
        s->text[s->len++] = (char)c;
    s->text[s->len] = '\0';
}

/* Reads the character behind a backslash. No reader needs code points, which become question marks. */
static int read_escape(struct ss_json_stream *s)
{
    static const char *const from = "\"\\/bfnrt", *const to = "\"\\/\b\f\n\r\t";
    const char *at = s->next > 0 ? strchr(from, s->next) : NULL;

    if (at) {
        put(s, to[at - from]);
        advance(s);
        return SS_OK;
    }
    if (s->next != 'u')
        return ss_json_stream_fail(s, "an escape that JSON does not have");
    advance(s);
    for (int i = 0; i < 4; i++, advance(s))
        if (s->next == EOF || !isxdigit(s->next))
            return ss_json_stream_fail(s, "\\u needs four hexadecimal digits");
    put(s, '?');
    return SS_OK;
}

static int read_text(struct ss_json_stream *s)
{
    s->len = 0;
    s->text[0] = '\0';
    for (advance(s); s->next != '"';) {
        if (s->next == EOF)
            return ss_json_stream_fail(s, "the file ends inside a text: is it whole?");
        if (s->next == '\\') {
            advance(s);
            SS_TRY(read_escape(s));
            continue;
        }
        put(s, s->next);
        advance(s);
    }
    advance(s);
    return SS_JSON_TEXT;
}

/* Reads letters, digits, signs and dots up to any other character. */
static void read_run(struct ss_json_stream *s)
{
    s->len = 0;
    for (; s->next != EOF && (isalnum(s->next) || strchr("+-.", s->next)); advance(s))
        put(s, s->next);
}

static int read_number(struct ss_json_stream *s)
{
    double value;

    read_run(s);
    if (ss_parse_double(s->text, &value))
        return ss_json_stream_fail(s, "'%.40s' is no number", s->text);
    return SS_JSON_NUMBER;
}

static int read_word(struct ss_json_stream *s)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity"};

    read_run(s);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        if (!strcmp(s->text, words[i]))
            return SS_JSON_WORD;
    return ss_json_stream_fail(s, "'%.40s' is no JSON", s->text);
}

int ss_json_stream_token(struct ss_json_stream *s)
{
    static const char *const marks = "{}[]";
    const char *mark;

    skip_blanks(s);
    if (s->next == EOF)
        return SS_JSON_END;
    if (s->next == '"')
        return read_text(s);
    if (s->next == '-' || isdigit(s->next))
        return read_number(s);
    if (isalpha(s->next))
        return read_word(s);
    mark = s->next ? strchr(marks, s->next) : NULL;
    if (!mark)
        return ss_json_stream_fail(s, "a value was expected");
    advance(s);
    return SS_JSON_OBJECT + (int)(mark - marks);
}

/* Reads up to the next member. Returns 1 if there is one, 0 if the list has ended. */
static int next_member(struct ss_json_stream *s, int *first, int end)
{
    int begins = *first;

    *first = 0;
    skip_blanks(s);
    if (s->next == end) {
        advance(s);
        return 0;
    }
    if (s->next == EOF)
        return ss_json_stream_fail(s, "the file ends inside a list: is it whole?");
    if (begins)
        return 1;
    if (s->next != ',')
        return ss_json_stream_fail(s, "a comma or '%c' was expected", end);
    advance(s);
    return 1;
}

int ss_json_stream_item(struct ss_json_stream *s, int *first)
{
    return next_member(s, first, ']');
}

int ss_json_stream_key(struct ss_json_stream *s, int *first)
{
    int rc = next_member(s, first, '}');

    if (rc <= 0)
        return rc;
    skip_blanks(s);
    if (s->next != '"')
        return ss_json_stream_fail(s, "a key was expected");
    rc = read_text(s);
    if (rc < 0)
        return rc;
    skip_blanks(s);
    if (s->next != ':')
        return ss_json_stream_fail(s, "a colon was expected");
    advance(s);
    return 1;
}

/* The function counts the lists inside and does not enter them, so a value may have any depth. */
int ss_json_stream_skip_rest(struct ss_json_stream *s, int token)
{
    for (long depth = 0;;) {
        if (token < 0)
            return token;
        if (token == SS_JSON_END)
            return ss_json_stream_fail(s, "the file ends inside a value: is it whole?");
        depth += token == SS_JSON_OBJECT || token == SS_JSON_ARRAY;
        depth -= token == SS_JSON_OBJECT_END || token == SS_JSON_ARRAY_END;
        if (depth < 0)
            return ss_json_stream_fail(s, "a value was expected");
        if (depth == 0)
            return SS_OK;
        skip_blanks(s);
        while (s->next == ',' || s->next == ':') {
            advance(s);
            skip_blanks(s);
        }
        token = ss_json_stream_token(s);
    }
}

int ss_json_stream_skip(struct ss_json_stream *s)
{
    return ss_json_stream_skip_rest(s, ss_json_stream_token(s));
}
