/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers of a shell: $(( ... )). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/shell.h"

#define MOST_DEPTH 40
#define MOST 1000000000000000L /* beyond it a number is 0 */

struct sum {
    struct ss_shell *shell;
    const char *p, *gap;
    int depth;
};

static long expression(struct sum *s, int level);

static void skip(struct sum *s)
{
    while (isspace((unsigned char)*s->p))
        s->p++;
}

static int eat(struct sum *s, const char *op)
{
    size_t n = strlen(op);

    skip(s);
    if (strncmp(s->p, op, n) != 0)
        return 0;
    s->p += n;
    return 1;
}

static long within(long x)
{
    return x > MOST || x < -MOST ? 0 : x;
}

/* A name without "$": its value is a number or another expression. */
static long named(struct sum *s, size_t n)
{
    char name[80];

    snprintf(name, sizeof name, "${%.*s}", (int)(n < 70 ? n : 70), s->p);
    s->p += n;
    char *text = ss_shell_text(s->shell, name, strlen(name));
    const char *gap = NULL;
    long value = 0;
    if (text && s->depth < MOST_DEPTH && text[0]) {
        struct sum inner = {s->shell, text, NULL, s->depth + 1};
        value = expression(&inner, 0);
        gap = inner.gap;
    }
    if (gap && !s->gap)
        s->gap = s->p - n; /* the name itself stands for it */
    free(text);
    return value;
}

static long primary(struct sum *s)
{
    skip(s);
    if (s->depth++ > MOST_DEPTH)
        return 0;
    long value = 0;
    size_t n = ss_shell_name(s->p, s->p + strlen(s->p));
    if (eat(s, "(")) {
        value = expression(s, 0);
        eat(s, ")");
    } else if (eat(s, "!")) {
        value = !primary(s);
    } else if (eat(s, "-")) {
        value = -primary(s);
    } else if (eat(s, "+")) {
        value = primary(s);
    } else if (*s->p == SS_GAP) {
        s->gap = s->gap ? s->gap : s->p;
        s->p += strcspn(s->p, "\2");
        s->p += *s->p == SS_GAP_END;
    } else if (isdigit((unsigned char)*s->p)) {
        char *end;
        value = within(strtol(s->p, &end, 10));
        s->p = end;
        if (*s->p == '.') /* a share, which a shell refuses */
            s->p += 1 + strspn(s->p + 1, "0123456789");
    } else if (n) {
        value = named(s, n);
    }
    s->depth--;
    return value;
}

static long apply(const char *op, long a, long b)
{
    switch (op[0]) {
    case '*': return a && labs(b) > MOST / labs(a) ? 0 : a * b;
    case '/': return b ? a / b : 0;
    case '%': return b ? a % b : 0;
    case '+': return within(a + b);
    case '-': return within(a - b);
    case '=': return a == b;
    case '!': return a != b;
    case '&': return a && b;
    case '|': return a || b;
    case '<': return op[1] ? a <= b : a < b;
    default: return op[1] ? a >= b : a > b;
    }
}

/* Operators, from those that bind least on. */
static long expression(struct sum *s, int level)
{
    static const char *const ops[][5] = {{"||"},     {"&&"},         {"==", "!="}, {"<=", ">=", "<", ">"},
                                         {"+", "-"}, {"*", "/", "%"}};
    long value = level == (int)SS_ARRAY_LEN(ops) ? primary(s) : expression(s, level + 1);

    for (int found = 1; found && level < (int)SS_ARRAY_LEN(ops);) {
        found = 0;
        for (int i = 0; i < 5 && ops[level][i] && !found; i++)
            if (eat(s, ops[level][i])) {
                value = apply(ops[level][i], value, expression(s, level + 1));
                found = 1;
            }
    }
    if (level || !eat(s, "?"))
        return value;
    long yes = s->depth++ < MOST_DEPTH ? expression(s, 0) : 0,
         no = eat(s, ":") && s->depth < MOST_DEPTH ? expression(s, 0) : 0;
    s->depth--;
    return value ? yes : no;
}

long ss_shell_sum(struct ss_shell *shell, const char *text, const char **gap)
{
    struct sum s = {.shell = shell, .p = text};
    long value = expression(&s, 0);

    *gap = s.gap;
    return value;
}
