/* SPDX-License-Identifier: Apache-2.0 */
/* A document as text: what jansson's json_dumpf writes with an indent of 2, the order kept and 10 digits, in a third of its time. */
#include <locale.h>

#include "report/common.h"

#define NUMBER 40 /* bytes that a number takes at most */
#define DIGITS 10
#define INTEGERS 1e10 /* whole numbers below have no more than the 10 digits */
#define TIE 1e-3L     /* of the last digit: nearer to a tie printf decides */

/* Returns where n more bytes may be written; NULL: no memory. */
static char *room(struct ss_json_text *t, size_t n)
{
    if (!t->lost && t->n + n > t->cap)
        t->lost = ss_grow(&t->at, &t->cap, t->n + n, 1) != 0;
    return t->lost ? NULL : t->at + t->n;
}

static void add(struct ss_json_text *t, const char *bytes, size_t n)
{
    char *to = room(t, n);

    if (to) {
        memcpy(to, bytes, n);
        t->n += n;
    }
}

static void add_char(struct ss_json_text *t, char c)
{
    char *to = room(t, 1);

    if (to) {
        *to = c;
        t->n++;
    }
}

static void add_line(struct ss_json_text *t, int depth)
{
    size_t n = 1 + 2 * (size_t)depth;
    char *to = room(t, n);

    if (to) {
        to[0] = '\n';
        memset(to + 1, ' ', n - 1);
        t->n += n;
    }
}

static void add_escape(struct ss_json_text *t, unsigned char c)
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

/* Returns how many bytes stand before the first that is escaped. Eight are looked at at once: a byte of x is below n where n taken from it
 * borrows; what borrows behind such a byte is looked at alone. */
static size_t plain(const char *s, size_t n)
{
    size_t i = 0;

    for (uint64_t x; i + sizeof x <= n; i += sizeof x) {
        memcpy(&x, s + i, sizeof x);
        const uint64_t quote = x ^ EACH * '"', back = x ^ EACH * '\\';
        if ((((x - EACH * ' ') & ~x) | ((quote - EACH) & ~quote) | ((back - EACH) & ~back)) & TOPS)
            break;
    }
    while (i < n && (unsigned char)s[i] >= ' ' && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

static void add_string(struct ss_json_text *t, const char *s, size_t n)
{
    size_t done = plain(s, n);

    add_char(t, '"');
    add(t, s, done);
    while (done < n) {
        add_escape(t, (unsigned char)s[done++]);
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

static void add_integer(struct ss_json_text *t, json_int_t value)
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
static void add_printed(struct ss_json_text *t, double value)
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

static void add_real(struct ss_json_text *t, double value)
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

static void add_value(struct ss_json_text *t, const json_t *value, int depth);

/* The text that stands for an empty object; NULL: it is one. */
static const char *kept_text(const struct ss_json_kept *kept, const json_t *hole)
{
    for (int i = 0; kept && i < kept->n; i++)
        if (kept->part[i].hole == hole)
            return kept->part[i].text;
    return NULL;
}

static void add_object(struct ss_json_text *t, json_t *object, int depth)
{
    bool first = true;

    const char *kept = json_object_size(object) ? NULL : kept_text(t->kept, object);
    if (kept) {
        add(t, kept, strlen(kept));
        return;
    }
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i), first = false) {
        add_char(t, first ? '{' : ',');
        add_line(t, depth + 1);
        const char *key = json_object_iter_key(i);
        add_string(t, key, strlen(key));
        add(t, ": ", 2);
        add_value(t, json_object_iter_value(i), depth + 1);
    }
    if (first)
        add_char(t, '{');
    else
        add_line(t, depth);
    add_char(t, '}');
}

static void add_array(struct ss_json_text *t, const json_t *array, int depth)
{
    size_t n = json_array_size(array);

    add_char(t, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            add_char(t, ',');
        add_line(t, depth + 1);
        add_value(t, json_array_get(array, i), depth + 1);
    }
    if (n)
        add_line(t, depth);
    add_char(t, ']');
}

static void add_value(struct ss_json_text *t, const json_t *value, int depth)
{
    switch (value ? (int)value->type : -1) {
    case JSON_OBJECT: add_object(t, (json_t *)value, depth); break;
    case JSON_ARRAY: add_array(t, value, depth); break;
    case JSON_STRING: add_string(t, json_string_value(value), json_string_length(value)); break;
    case JSON_INTEGER: add_integer(t, json_integer_value(value)); break;
    case JSON_REAL: add_real(t, json_real_value(value)); break;
    case JSON_TRUE: add(t, "true", 4); break;
    case JSON_FALSE: add(t, "false", 5); break;
    case JSON_NULL: add(t, "null", 4); break;
    default: t->lost = true; /* something is missing of it */
    }
}

bool ss_json_add(struct ss_json_text *t, const json_t *value, int depth)
{
    add_value(t, value, depth);
    return !t->lost;
}
