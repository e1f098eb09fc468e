/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/text.h"

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

#define HELD 9 /* length of the longest colour of a report */

struct cleaner {
    FILE *under;
    int color;
    size_t n;
    char held[HELD + 1]; /* a character or a colour whose end has not come yet */
};

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
            fwrite(c->held, 1, c->n, c->under);
            c->n = 0;
            return;
        }
        if (!last && ((c->color && c->n < HELD && may_be_color(c->held, c->n)) || c->n < need))
            return;
        length = ss_utf8_length(c->held);
        if (length && (!is_order(c->held, length) || *c->held == '\n' || *c->held == '\t'))
            fwrite(c->held, 1, length, c->under);
        else
            putc('?', c->under);
        length = length ? length : 1;
        memmove(c->held, c->held + length, c->n -= length);
    }
}

static ssize_t cleaner_write(void *cookie, const char *data, size_t n)
{
    struct cleaner *c = cookie;
    for (size_t i = 0; i < n; i++)
        if (c->n || (unsigned char)data[i] < ' ' || (unsigned char)data[i] >= 0x7f) {
            c->held[c->n++] = data[i] ? data[i] : '\x7f';
            pass(c, false);
        } else {
            putc(data[i], c->under);
        }
    return fflush(c->under) || ferror(c->under) ? 0 : (ssize_t)n;
}

static int cleaner_close(void *cookie)
{
    struct cleaner *c = cookie;
    pass(c, true);
    int failed = fflush(c->under);
    free(c);
    return failed ? -1 : 0;
}

FILE *ss_text_stream(FILE *under, int color)
{
    cookie_io_functions_t io = {.write = cleaner_write, .close = cleaner_close};
    struct cleaner *c = ss_calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->under = under;
    c->color = color;
    FILE *f = fopencookie(c, "w", io);
    if (!f)
        free(c);
    return f;
}
