/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, numbers, truths and dates of TOML. */
#include "base/base.h"
#include "import/toml.h"

int ss_toml_wrong(struct ss_toml *r, const char *what)
{
    return ss_fail(r->err, SS_ERR_INPUT, ss_tree_file(r->tree), r->line, "%s", what);
}

static void put_character(struct ss_toml *r, unsigned long c)
{
    static const struct {
        unsigned long most;
        int lead, more;
    } form[] = {{0x7f, 0, 0}, {0x7ff, 0xc0, 1}, {0xffff, 0xe0, 2}, {0x10ffff, 0xf0, 3}};
    size_t i = 0;

    while (c > form[i].most)
        i++;
    r->text[r->len++] = (char)((unsigned long)form[i].lead | c >> (6 * form[i].more));
    for (int k = form[i].more - 1; k >= 0; k--)
        r->text[r->len++] = (char)(0x80 | (c >> (6 * k) & 0x3f));
}

/* \uXXXX and \UXXXXXXXX; p is behind the u. The text is never longer than what stands for it. */
static int read_code(struct ss_toml *r, int digits)
{
    unsigned long c = 0;

    for (int i = 0; i < digits; i++, r->p++) {
        if (!isxdigit(ss_toml_peek(r) < 0 ? 0 : ss_toml_peek(r)))
            return ss_toml_wrong(r, "\\u takes 4 hexadecimal digits, \\U 8");
        c = c * 16 + (unsigned long)(isdigit(ss_toml_peek(r)) ? *r->p - '0'
                                                              : tolower((unsigned char)*r->p) - 'a' + 10);
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || !c)
        return ss_toml_wrong(r, "\\u stands for no character");
    put_character(r, c);
    return SS_OK;
}

static int read_escape(struct ss_toml *r, int many_lines)
{
    static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
    int c = ss_toml_peek(r);
    const char *at = c > 0 ? strchr(from, c) : NULL;

    if (c == 'u' || c == 'U') {
        r->p++;
        return read_code(r, c == 'u' ? 4 : 8);
    }
    if (at) {
        r->p++;
        r->text[r->len++] = to[at - from];
        return SS_OK;
    }
    const char *line = r->p;
    while (line < r->end && strchr(" \t\r", *line) && *line)
        line++;
    if (!many_lines || line == r->end || *line != '\n')
        return ss_toml_wrong(r, "no such escape: \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX \\UXXXXXXXX");
    while (ss_toml_peek(r) > 0 && strchr(" \t\r\n", *r->p)) {
        r->line += *r->p == '\n';
        r->p++;
    }
    return SS_OK;
}

/* One character of a text as it stands. */
static int read_plain(struct ss_toml *r)
{
    size_t n = ss_toml_peek(r) < 0x80 ? 1 : ss_utf8_length(r->p);

    if (n == 0 || n > (size_t)(r->end - r->p))
        return ss_toml_wrong(r, "these bytes are no UTF-8");
    if ((ss_toml_peek(r) < ' ' && !strchr("\t\n\r", ss_toml_peek(r))) || ss_toml_peek(r) == 0x7f ||
        ss_toml_peek(r) == 0)
        return ss_toml_wrong(r, "a control character in a text");
    r->line += *r->p == '\n';
    while (n-- > 0)
        r->text[r->len++] = *r->p++;
    return SS_OK;
}

static int is_closed(const struct ss_toml *r, char quote, int quotes)
{
    for (int i = 0; i < quotes; i++)
        if (r->p + i >= r->end || r->p[i] != quote)
            return 0;
    /* of """" the first is of the text */
    return quotes == 1 || r->p + 3 >= r->end || r->p[3] != quote;
}

int ss_toml_quoted(struct ss_toml *r, int may_go_on)
{
    char quote = *r->p;
    int quotes = may_go_on && r->end - r->p >= 3 && r->p[1] == quote && r->p[2] == quote ? 3 : 1;
    int first = r->line, rc = SS_OK;

    r->len = 0;
    r->p += quotes;
    if (quotes == 3) /* the line that begins it is no part of it */
        r->p += ss_toml_peek(r) == '\r' && r->p + 1 < r->end && r->p[1] == '\n';
    if (quotes == 3 && ss_toml_peek(r) == '\n') {
        r->p++;
        r->line++;
    }
    while (!rc && !is_closed(r, quote, quotes)) {
        if (ss_toml_peek(r) < 0 || (quotes == 1 && ss_toml_peek(r) == '\n')) {
            r->line = first;
            return ss_toml_wrong(r, "the quote is not closed");
        }
        if (ss_toml_peek(r) == '\\' && quote == '"') {
            r->p++;
            rc = read_escape(r, quotes == 3);
        } else {
            rc = read_plain(r);
        }
    }
    r->p += rc ? 0 : quotes;
    return rc;
}

/* ---- numbers, truths and dates ---- */

/* Digits with single underscores between them, behind p; *n how many. */
static const char *digits_of(const char *p, const char *set, size_t *n)
{
    *n = 0;
    while (*p && (strchr(set, *p) || (*p == '_' && *n > 0 && p[1] && strchr(set, p[1])))) {
        *n += *p != '_';
        p++;
    }
    return p;
}

static int is_number(const char *text)
{
    static const char *const set[] = {"0123456789abcdefABCDEF", "01234567", "01"};
    const char *base = text[0] == '0' && text[1] ? strchr("xob", text[1]) : NULL, *p = text;
    size_t n, whole;

    if (base) {
        p = digits_of(text + 2, set[base - strchr("xob", 'x') > 0 ? (text[1] == 'o' ? 1 : 2) : 0], &n);
        return n > 0 && !*p;
    }
    p += *p == '+' || *p == '-';
    if (!strcmp(p, "inf") || !strcmp(p, "nan"))
        return 1;
    int zero = *p == '0';
    p = digits_of(p, "0123456789", &whole);
    if (whole == 0 || (zero && whole > 1))
        return 0;
    if (*p == '.') {
        p = digits_of(p + 1, "0123456789", &n);
        if (n == 0)
            return 0;
    }
    if (*p == 'e' || *p == 'E') {
        p += p[1] == '+' || p[1] == '-' ? 2 : 1;
        p = digits_of(p, "0123456789", &n);
        if (n == 0)
            return 0;
    }
    return !*p;
}

/* 1979-05-27, 07:32:00, and both: nothing here reads them. */
static int is_date(const char *text)
{
    return (strlen(text) >= 10 && text[4] == '-' && text[7] == '-' &&
            strspn(text, "0123456789-:.TtZz+ ") == strlen(text)) ||
           (strlen(text) >= 8 && text[2] == ':' && text[5] == ':' &&
            strspn(text, "0123456789:.") == strlen(text));
}

/* Takes the underscores out, and writes 0x10 as 16. */
static void write_number(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++)
        if (*from != '_')
            *to++ = *from;
    *to = '\0';
    if (text[0] == '0' && text[1] && strchr("xob", text[1])) {
        unsigned long long value = strtoull(text + 2, NULL, text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2);
        char digits[32];
        snprintf(digits, sizeof digits, "%llu", value);
        memcpy(text, digits, strlen(digits) + 1); /* never longer: 0x1 is 1 */
    }
}

int ss_toml_bare(struct ss_toml *r)
{
    r->len = 0;
    while (ss_toml_peek(r) > 0 && (isalnum(ss_toml_peek(r)) || strchr("+-_.:", ss_toml_peek(r))))
        r->text[r->len++] = *r->p++;
    r->text[r->len] = '\0';
    if (!strcmp(r->text, "true") || !strcmp(r->text, "false") || is_date(r->text))
        return SS_OK;
    if (!is_number(r->text))
        return ss_fail(r->err, SS_ERR_INPUT, ss_tree_file(r->tree), r->line,
                       r->len ? "\"%.60s\" is no value: texts stand in quotes, truths are true and false"
                              : "a value is missing%.0s",
                       r->text);
    write_number(r->text);
    r->len = strlen(r->text);
    return SS_OK;
}
