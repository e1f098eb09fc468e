/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/text.h"

#include <errno.h>

#include "base/base.h"

size_t ss_utf8_length(const char *c)
{
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)*c;
    size_t n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    unsigned long point = n > 1 ? lead & (0x7fU >> n) : 0;

    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)c[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | ((unsigned char)c[i] & 0x3f);
    }
    return n > 1 && (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) ? 0 : n;
}

int ss_utf8_cut(const char *text, int most)
{
    int n = 0;

    while (text[n] && n < most) {
        size_t length = ss_utf8_length(text + n);
        if (n + (int)(length ? length : 1) > most)
            break;
        n += (int)(length ? length : 1);
    }
    return n;
}

/* Returns whether the character of n bytes at c is an order to a terminal: a control character, or one that
 * turns or ends lines. */
static bool is_order(const char *c, size_t n)
{
    const unsigned char *u = (const unsigned char *)c;
    if (n == 1)
        return *u < ' ' || *u == 0x7f;
    if (n == 2)
        return (u[0] == 0xc2 && u[1] < 0xa0) /* C1: second block of control characters */ ||
               (u[0] == 0xd8 && u[1] == 0x9c);
    if (n != 3 || u[0] != 0xe2)
        return false;
    return u[1] == 0x80 ? u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae)
                        : u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9;
}

char *ss_text_clean(char *text)
{
    char *to = text;
    for (const char *c = text; *c;) {
        if (*c >= ' ' && *c <= '~') { /* most are */
            *to++ = *c++;
            continue;
        }
        size_t n = ss_utf8_length(c);
        if (n && !is_order(c, n)) {
            memmove(to, c, n);
            to += n;
        } else {
            *to++ = n == 1 ? ' ' : '?';
        }
        c += n ? n : 1;
    }
    *to = '\0';
    return text;
}

/* Adds the columns of the character at *at, and moves *at to the last byte of a colour, which takes none. */
static void step(const char *text, size_t n, size_t *at, size_t *columns)
{
    if (text[*at] != '\033')
        *columns += ((unsigned char)text[*at] & 0xc0) != 0x80;
    else
        while (*at + 1 < n && text[*at] != 'm')
            ++*at;
}

size_t ss_text_columns(const char *text, size_t n)
{
    size_t columns = 0;

    for (size_t i = 0; i < n; i++)
        step(text, n, &i, &columns);
    return columns;
}

/* Returns whether the word before the blank at `at` is a flag, or the value of one; *names: it is a flag. Behind a comma or the like
 * stands no value. */
static bool is_of_flags(const char *line, size_t at, bool *names)
{
    size_t from = at, before;

    while (from && line[from - 1] != ' ')
        from--;
    *names = at - from > 2 && !strncmp(line + from, "--", 2) && !strchr(",;:.)", line[at - 1]);
    for (before = from ? from - 1 : 0; before && line[before - 1] != ' ';)
        before--;
    return *names || (before < from && !strncmp(line + before, "--", 2));
}

/* Returns whether the blank at `at` stands between a number and a short unit, as in "23.28 s" or "90 %". */
static bool is_in_figure(const char *line, size_t n, size_t at)
{
    size_t end = at + 1;

    while (end < n && line[end] != ' ')
        end++;
    return line[at - 1] >= '0' && line[at - 1] <= '9' && end - at <= 5 && line[at + 1] != '-';
}

size_t ss_text_break(const char *line, size_t n, size_t first, size_t width, bool *command)
{
    size_t at = 0, columns = 0;

    for (size_t i = 0; i < n && (!at || columns <= width); i++) {
        const size_t before = columns;
        step(line, n, &i, &columns);
        if (i < first || line[i] != ' ' || line[i - 1] == ' ' || (at && before > width))
            continue;
        bool names, next = i + 3 < n && !strncmp(line + i + 1, "--", 2);
        const bool flags = is_of_flags(line, i, &names);
        if ((names && !next) || (at && is_in_figure(line, n, i)) ||
            (flags && next && at && before + 2 > width))
            continue;
        at = i;
        *command = flags && next;
    }
    return at;
}

void ss_text_wrap(const char *line, size_t n, int width, FILE *out)
{
    const size_t all = width > 0 ? (size_t)width : SIZE_MAX;
    size_t blanks = 0, indent = 0;

    while (blanks < n && line[blanks] == ' ')
        blanks++;
    for (size_t first = blanks + 1; ss_text_columns(line, n) + indent > all; first = 1) {
        bool command = false;
        size_t at = ss_text_break(line, n, first, all - indent, &command), rest = at;
        if (!at)
            break;
        while (rest < n && line[rest] == ' ')
            rest++;
        if (rest == n)
            break;
        fprintf(out, "%*s%.*s%s\n", (int)indent, "", (int)at, line, command ? " \\" : "");
        line += rest;
        n -= rest;
        indent = blanks + 2 < all / 2 ? blanks + 2 : 2;
    }
    fprintf(out, "%*s", (int)indent, "");
    fwrite(line, 1, n, out);
}

#define HELD 9 /* length of the longest colour of a report */

struct cleaner {
    FILE *under;
    int color, width; /* width 0: lines stay as they are */
    bool lost;        /* memory had no room for a line */
    size_t n;
    char held[HELD + 1]; /* a character or a colour whose end has not come yet */
    char *line;          /* a line whose end has not come yet */
    size_t used, size;
};

static void put_line(struct cleaner *c)
{
    ss_text_wrap(c->line, c->used, c->width, c->under);
    c->used = 0;
}

static void put(struct cleaner *c, const char *text, size_t n)
{
    if (!c->width) {
        fwrite(text, 1, n, c->under);
        return;
    }
    c->lost = c->lost || ss_grow(&c->line, &c->size, c->used + n, 1);
    if (c->lost)
        return;
    memcpy(c->line + c->used, text, n);
    c->used += n;
    if (text[n - 1] == '\n') {
        c->used--;
        put_line(c);
        putc('\n', c->under);
    }
}

/* "\033[", digits and ';' */
static bool may_be_color(const char *text, size_t n)
{
    if (text[0] != '\033' || n < 2)
        return text[0] == '\033';
    return text[1] == '[' && strspn(text + 2, "0123456789;") == n - 2;
}

/* Returns whether the text is a colour of a report: off, the verdict's or a chart's. A text that blinks or
 * hides is none. */
static bool is_color(const char *text, size_t n)
{
    static const char *const begins[] = {"\033[0m", "\033[1;3", "\033[30;10", "\033[97;4"};
    for (size_t i = 0; i < SS_ARRAY_LEN(begins); i++) {
        size_t length = strlen(begins[i]);
        if (!strncmp(text, begins[i], length) && n == length + (i ? 2 : 0))
            return text[n - 1] == 'm' && may_be_color(text, n - 1);
    }
    return false;
}

static size_t bytes_of(unsigned char lead)
{
    return lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 1;
}

/* Writes the held bytes that are complete and keeps the others. `last`: no more bytes come. */
static void pass(struct cleaner *c, bool last)
{
    while (c->n) {
        size_t need = bytes_of((unsigned char)c->held[0]), length;
        c->held[c->n] = '\0';
        if (c->color && is_color(c->held, c->n)) {
            put(c, c->held, c->n);
            c->n = 0;
            return;
        }
        if (!last && ((c->color && c->n < HELD && may_be_color(c->held, c->n)) || c->n < need))
            return;
        length = ss_utf8_length(c->held);
        if (length && (!is_order(c->held, length) || *c->held == '\n' || *c->held == '\t'))
            put(c, c->held, length);
        else
            put(c, "?", 1);
        length = length ? length : 1;
        memmove(c->held, c->held + length, c->n -= length);
    }
}

static ssize_t cleaner_write(void *cookie, const char *data, size_t n)
{
    struct cleaner *c = cookie;
    for (size_t i = 0, plain; i < n; i += plain ? plain : 1) {
        for (plain = 0; !c->n && i + plain < n && data[i + plain] >= ' ' && data[i + plain] < 0x7f; plain++)
            ;
        if (plain) {
            put(c, data + i, plain);
        } else {
            c->held[c->n++] = data[i] ? data[i] : '\x7f';
            pass(c, false);
        }
    }
    if (c->lost)
        errno = ENOMEM;
    return c->lost || fflush(c->under) || ferror(c->under) ? 0 : (ssize_t)n;
}

static int cleaner_close(void *cookie)
{
    struct cleaner *c = cookie;
    pass(c, true);
    if (c->used)
        put_line(c);
    free(c->line);
    int failed = fflush(c->under) || c->lost;
    free(c);
    return failed ? -1 : 0;
}

FILE *ss_text_stream(FILE *under, int color, int width)
{
    cookie_io_functions_t io = {.write = cleaner_write, .close = cleaner_close};
    struct cleaner *c = ss_calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->under = under;
    c->color = color;
    c->width = width;
    FILE *f = fopencookie(c, "w", io);
    if (!f)
        free(c);
    return f;
}
