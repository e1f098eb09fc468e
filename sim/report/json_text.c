/* SPDX-License-Identifier: Apache-2.0 */
/* Documents as text: what jansson's json_dumpf writes with an indent of 2 and 10 digits. A value is written once and put into what holds it. */
#include <locale.h>

#include "report/common.h"

#define NUMBER 40 /* bytes that a number takes at most */
#define DIGITS 10
#define INTEGERS 1e10 /* whole numbers below have no more than the 10 digits */
#define FIRST 512     /* bytes of a value at first; most parts have no more */
#define TIE 1e-3L     /* of the last digit: nearer to a tie printf decides */

/* Returns where n more bytes may be written; NULL: no memory. */
static char *room(struct ss_json *t, size_t n)
{
    if (!t->lost && t->n + n > t->cap)
        t->lost = ss_grow(&t->at, &t->cap, t->n + n > FIRST ? t->n + n : FIRST, 1) != 0;
    return t->lost ? NULL : t->at + t->n;
}

static void add(struct ss_json *t, const char *bytes, size_t n)
{
    char *to = room(t, n);

    if (to) {
        memcpy(to, bytes, n);
        t->n += n;
    }
}

static void add_char(struct ss_json *t, char c)
{
    char *to = room(t, 1);

    if (to) {
        *to = c;
        t->n++;
    }
}

static void add_escape(struct ss_json *t, unsigned char c)
{
    static const char *const named[] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f",
                                        ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
    char code[8];

    if (named[c]) {
        add(t, named[c], 2);
        return;
    }
    snprintf(code, sizeof code, "\\u%04X", c);
    add(t, code, 6);
}

#define EACH (UINT64_MAX / 255) /* 1 in each of eight bytes */
#define TOPS (EACH * 128)

/* Returns how many bytes stand before the first that is escaped or is no ASCII. Eight are looked at at once: a byte of x is below n where n
 * taken from it borrows; what borrows behind such a byte is looked at alone. */
static size_t plain(const char *s, size_t n)
{
    size_t i = 0;

    for (uint64_t x; n >= sizeof x && i < n; i += sizeof x) {
        i = i < n - sizeof x ? i : n - sizeof x; /* the last eight may be looked at twice */
        memcpy(&x, s + i, sizeof x);
        const uint64_t quote = x ^ EACH * '"', back = x ^ EACH * '\\';
        if ((((x - EACH * ' ') & ~x) | ((quote - EACH) & ~quote) | ((back - EACH) & ~back) | x) & TOPS)
            break;
    }
    while (i < n && (signed char)s[i] >= ' ' && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

/* Adds a character that is escaped or is no ASCII; a byte that is no UTF-8 becomes '?'. Returns its bytes. */
static size_t add_other(struct ss_json *t, const char *s)
{
    const size_t length = ss_utf8_length(s);

    if (length > 1)
        add(t, s, length);
    else if (length)
        add_escape(t, (unsigned char)*s);
    else
        add_char(t, '?');
    return length ? length : 1;
}

static void add_string(struct ss_json *t, const char *s)
{
    const size_t n = strlen(s);
    size_t done = plain(s, n);

    char *to = room(t, done + 2);
    if (!to)
        return;
    *to = '"';
    memcpy(to + 1, s, done);
    t->n += done + 1;
    while (done < n) {
        done += add_other(t, s + done);
        size_t more = plain(s + done, n - done);
        add(t, s + done, more);
        done += more;
    }
    add_char(t, '"');
}

/* Writes digits from the end of `end` on backwards; returns where they begin. */
static char *digits(char *end, unsigned long long value, bool negative)
{
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    if (negative)
        *--end = '-';
    return end;
}

static void add_integer(struct ss_json *t, int64_t value)
{
    char text[NUMBER], *end = text + sizeof text;
    char *from =
        digits(end, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value, value < 0);

    add(t, from, (size_t)(end - from));
}

/* Rounds a number > 0 to DIGITS decimal digits d, which mean d * 10^(*exponent - DIGITS + 1). Returns them, or 0 where the error of the
 * scaling may decide which way: as far from a tie as here it is much smaller, even where a long double is a double. */
static unsigned long long round_to_digits(double value, int *exponent)
{
    static const long double tens[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,
                                       1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L,
                                       1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L};
    const int most = (int)SS_ARRAY_LEN(tens) - 1;
    int binary;

    frexp(value, &binary);
    int e = (int)floor((binary - 1) * 0.30102999566398120), shift = DIGITS - 1 - e; /* or one more */
    for (int i = 0; i < 2; i++, e++, shift--) {
        if (shift > most || shift < -most)
            return 0;
        long double scaled = shift >= 0 ? value * tens[shift] : value / tens[-shift];
        if (!(scaled < INTEGERS))
            continue;
        unsigned long long d = (unsigned long long)scaled;
        long double rest = scaled - (long double)d;
        if (fabsl(rest - 0.5L) < TIE || scaled < INTEGERS / 10)
            return 0;
        d += rest > 0.5L;
        *exponent = d == (unsigned long long)INTEGERS ? e + 1 : e;
        return d == (unsigned long long)INTEGERS ? d / 10 : d;
    }
    return 0;
}

/* Writes digits as "%.10g" does, without zeros at the end; returns where they end. */
static char *put_digits(char *at, unsigned long long d, int exponent)
{
    char text[DIGITS];
    int n = DIGITS;

    for (int i = DIGITS - 1; i >= 0; i--, d /= 10)
        text[i] = (char)('0' + d % 10);
    while (n > 1 && text[n - 1] == '0')
        n--;
    const int tiny = exponent < -4, point = tiny ? 1 : exponent + 1; /* digits before the point */
    if (!tiny && exponent < 0) {
        at = stpcpy(at, "0.");
        for (int i = exponent; i < -1; i++)
            *at++ = '0';
    }
    for (int i = 0; i < n || i < point; i++) {
        if (i == point && point > 0)
            *at++ = '.';
        *at++ = i < n ? text[i] : '0';
    }
    if (!tiny && n <= point)
        at = stpcpy(at, ".0");
    if (tiny)
        at = ss_write_int(stpcpy(at, "e-"), -exponent);
    return at;
}

/* "1e+20" is written as "1e20", "5e-05" as "5e-5", and 3 as "3.0", so that it stays no integer. */
static void add_printed(struct ss_json *t, double value)
{
    char text[NUMBER], *at;

    snprintf(text, sizeof text, "%.10g", value);
    if ((at = strchr(text, localeconv()->decimal_point[0])) != NULL)
        *at = '.';
    else if (!strchr(text, 'e'))
        strcat(text, ".0");
    if ((at = strchr(text, 'e')) != NULL) {
        char *from = at + 1 + (at[1] == '+' || at[1] == '-'), *to = at + 1 + (at[1] == '-');
        from += strspn(from, "0");
        memmove(to, from, strlen(from) + 1);
    }
    add(t, text, strlen(text));
}

static void add_real(struct ss_json *t, double value)
{
    char text[NUMBER], *end = text + sizeof text, *at = text;
    int exponent;

    if (fabs(value) < INTEGERS && value == rint(value)) {
        end[-1] = '0';
        end[-2] = '.';
        at = digits(end - 2, (unsigned long long)fabs(value), signbit(value) != 0);
        add(t, at, (size_t)(end - at));
        return;
    }
    unsigned long long d = isfinite(value) ? round_to_digits(fabs(value), &exponent) : 0;
    if (!d || exponent >= DIGITS - 1) { /* without a point it is not told from a whole number here */
        add_printed(t, value);
        return;
    }
    if (value < 0)
        *at++ = '-';
    at = put_digits(at, d, exponent);
    add(t, text, (size_t)(at - text));
}

/* ---- values ---- */

static struct ss_json *begin(char open)
{
    struct ss_json *value = ss_calloc(1, sizeof *value);

    if (value)
        value->open = open;
    return value;
}

struct ss_json *ss_json_begin_object(void)
{
    return begin('{');
}

struct ss_json *ss_json_begin_list(void)
{
    return begin('[');
}

static struct ss_json *whole(const char *text)
{
    struct ss_json *value = begin(0);

    if (!value)
        return NULL;
    add(value, text, strlen(text));
    for (const char *c = text; (c = strchr(c, '\n')) != NULL; c++)
        value->lines++;
    return value;
}

struct ss_json *ss_json_null(void)
{
    return whole("null");
}

void ss_json_free(struct ss_json *value)
{
    if (value)
        free(value->at);
    free(value);
}

bool ss_json_is_whole(const struct ss_json *value)
{
    return value && !value->lost;
}

/* Ends an object or a list, to which nothing is added any more. */
static void end(struct ss_json *value)
{
    const char open = value->open;

    value->open = 0;
    if (!open)
        return;
    value->lines += value->n > 0;
    add_char(value, value->n ? '\n' : open);
    add_char(value, open == '{' ? '}' : ']');
}

/* Adds a text as part of what is one deeper. */
static void add_deeper(struct ss_json *t, const struct ss_json *part)
{
    const char *text = part->at, *end_of = text + part->n, *line;
    char *to = room(t, part->n + 2 * part->lines);

    if (!to)
        return;
    for (; (line = memchr(text, '\n', (size_t)(end_of - text))) != NULL; text = line + 1) {
        to = mempcpy(to, text, (size_t)(line + 1 - text));
        *to++ = ' ';
        *to++ = ' ';
    }
    memcpy(to, text, (size_t)(end_of - text));
    t->n += part->n + 2 * part->lines;
    t->lines += part->lines;
}

static void add_part(struct ss_json *t, struct ss_json *part)
{
    if (ss_json_is_whole(part)) {
        end(part);
        add_deeper(t, part);
    }
    t->lost |= !ss_json_is_whole(part);
    ss_json_free(part);
}

static void add_cell(struct ss_json *t, struct ss_cell c)
{
    switch (c.kind) {
    case SS_CELL_WHOLE: add_integer(t, c.whole); return;
    case SS_CELL_NUMBER: /* -0.0 would print a sign that means nothing */
        if (isfinite(c.number))
            add_real(t, c.number == 0 ? 0 : c.number);
        else
            add(t, "null", 4);
        return;
    case SS_CELL_TEXT:
        if (c.text)
            add_string(t, c.text);
        t->lost |= !c.text;
        return;
    case SS_CELL_FLAG: add(t, c.flag ? "true" : "false", c.flag ? 4 : 5); return;
    case SS_CELL_JSON: add_part(t, c.json); return;
    case SS_CELL_NONE: t->lost = true;
    }
}

static void add_line(struct ss_json *t)
{
    char *to = room(t, 4);

    if (!to)
        return;
    memcpy(to, ",\n  ", 4);
    *to = t->n ? ',' : t->open;
    t->n += 4;
    t->lines++;
}

void ss_json_put(struct ss_json *object, const struct ss_keyed *keys)
{
    for (; keys->key; keys++) {
        if (keys->cell.kind == SS_CELL_NONE)
            continue;
        if (!object) {
            if (keys->cell.kind == SS_CELL_JSON)
                ss_json_free(keys->cell.json);
            continue;
        }
        add_line(object);
        add_string(object, keys->key);
        add(object, ": ", 2);
        add_cell(object, keys->cell);
    }
}

void ss_json_item(struct ss_json *list, struct ss_cell value)
{
    if (list) {
        add_line(list);
        add_cell(list, value);
    } else if (value.kind == SS_CELL_JSON) {
        ss_json_free(value.json);
    }
}

/* ---- parts that are the same for many jobs ---- */

struct ss_json *ss_json_keep(struct ss_cache *cache, struct ss_cache_key key,
                             struct ss_json *(*object)(const void *of), const void *of)
{
    const char *kept = cache ? ss_cache_take(cache, key) : NULL;

    if (!cache)
        return object(of);
    if (!kept) {
        char *text = ss_json_text(object(of));
        if (!text)
            return NULL;
        if (ss_cache_put(cache, key, text, strlen(text), free)) {
            free(text);
            return NULL;
        }
        kept = text;
    }
    struct ss_json *value = whole(kept);
    ss_cache_give_back(cache, key);
    return value;
}

/* ---- whole documents ---- */

int ss_json_write(struct ss_json *document, FILE *out, struct ss_error *err)
{
    if (document) {
        end(document);
        add_char(document, '\n');
    }
    const bool whole = ss_json_is_whole(document);
    if (whole)
        fwrite(document->at, 1, document->n, out);
    ss_json_free(document);
    return whole ? ss_report_done(out, err) : ss_nomem(err);
}

char *ss_json_text(struct ss_json *document)
{
    char *text = NULL;

    if (document) {
        end(document);
        add_char(document, '\0');
    }
    if (ss_json_is_whole(document)) {
        text = document->at;
        document->at = NULL;
    }
    ss_json_free(document);
    return text;
}
