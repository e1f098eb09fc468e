/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a shell's variables, and words of its text. */
#include "import/shell.h"

#include "base/base.h"

#define MOST_DEPTH 20
#define MOST_BYTES (1u << 18) /* of a word */

/* A word in the making. */
struct made {
    struct ss_shell *shell;
    struct ss_words *out;
    char *text;
    size_t n, cap;
    int split; /* 1: blanks of values end a field */
    int have;  /* 1: a field has begun */
};

static void put(struct made *m, char c)
{
    if (m->n > MOST_BYTES || ss_grow(&m->text, &m->cap, m->n + 2, 1)) {
        m->shell->rc = m->n > MOST_BYTES ? m->shell->rc : SS_ERR_NOMEM;
        return;
    }
    m->text[m->n++] = c;
    m->have = 1;
}

static void end_field(struct made *m)
{
    if (m->have && ss_words_add(m->out, m->text ? m->text : "", m->n, 0))
        m->shell->rc = SS_ERR_NOMEM;
    m->n = 0;
    m->have = 0;
}

static void put_value(struct made *m, const char *text, size_t n, int quoted)
{
    for (size_t i = 0; i < n; i++) {
        int item = text[i] == SS_SHELL_ITEM;
        if (m->split && (item || (!quoted && isspace((unsigned char)text[i]))))
            end_field(m);
        else
            put(m, item ? ' ' : text[i]);
    }
}

static void put_gap(struct made *m, const char *name, size_t n)
{
    put(m, SS_GAP);
    for (size_t i = 0; i < n && name[i] != SS_GAP && name[i] != SS_GAP_END; i++)
        put(m, name[i]);
    put(m, SS_GAP_END);
}

/* ---- values ---- */

static struct ss_shell_value *find(const struct ss_shell *s, const char *name, size_t n)
{
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->value[i].name) == n && !strncmp(s->value[i].name, name, n))
            return &s->value[i];
    return NULL;
}

/* Puts the name of the variable where the text has a gap of no name. */
static char *named_gaps(const char *text, const char *name, size_t n)
{
    size_t gaps = 0, used = 0;

    for (const char *p = text; (p = strstr(p, "\1?\2")) != NULL; p += 3)
        gaps++;
    char *out = malloc(strlen(text) + gaps * n + 1);
    for (const char *p = text; out && *p; p++) {
        out[used++] = *p;
        if (*p == SS_GAP && p[1] == '?' && p[2] == SS_GAP_END) {
            memcpy(out + used, name, n);
            used += n;
            p++;
        }
    }
    if (out)
        out[used] = 0;
    return out;
}

void ss_shell_set(struct ss_shell *s, const char *name, size_t n, const char *text, int given)
{
    struct ss_shell_value *v = find(s, name, n);

    if (v && v->given && strchr(text, SS_GAP))
        return; /* the user knows it, the text does not */
    char *own = named_gaps(text, name, n);
    if (!own || (!v && ss_grow(&s->value, &s->cap, s->n + 1, sizeof *s->value))) {
        free(own);
        s->rc = SS_ERR_NOMEM;
        return;
    }
    if (!v) {
        char *copy = strndup(name, n);
        if (!copy) {
            free(own);
            s->rc = SS_ERR_NOMEM;
            return;
        }
        v = &s->value[s->n++];
        *v = (struct ss_shell_value){.name = copy, .given = given};
    }
    free(v->text);
    v->text = own;
}

size_t ss_shell_name(const char *p, const char *end)
{
    size_t n = 0;

    if (p < end && isdigit((unsigned char)*p))
        return 0;
    while (p + n < end && (isalnum((unsigned char)p[n]) || p[n] == '_'))
        n++;
    return n;
}

/* ---- sums: $(( ... )) ---- */

#define MOST_SUMS 40
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
    if (text && s->depth < MOST_SUMS && text[0]) {
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
    if (s->depth++ > MOST_SUMS)
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
    long yes = s->depth++ < MOST_SUMS ? expression(s, 0) : 0,
         no = eat(s, ":") && s->depth < MOST_SUMS ? expression(s, 0) : 0;
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

/* ---- ends of things ---- */

/* Behind the bracket that closes the one at p. */
static const char *close_of(const char *p, const char *end, char open, char close)
{
    int depth = 0;

    for (; p < end; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if (*p == '\'') {
            for (p++; p < end && *p != '\'';)
                p++;
        } else if (*p == open)
            depth++;
        else if (*p == close && --depth == 0)
            return p + 1;
        else if (*p == '#' && (isspace((unsigned char)p[-1])) && open == '(')
            while (p + 1 < end && p[1] != '\n')
                p++;
    }
    return end;
}

/* Behind what "$" at p begins. */
static const char *dollar_end(const char *p, const char *end)
{
    if (p + 1 < end && p[1] == '(')
        return close_of(p + 1, end, '(', ')');
    if (p + 1 < end && p[1] == '{')
        return close_of(p + 1, end, '{', '}');
    size_t n = ss_shell_name(p + 1, end);
    return n                                                                      ? p + 1 + n
           : p + 1 < end && !isspace((unsigned char)p[1]) && !strchr("\"'", p[1]) ? p + 2
                                                                                  : p + 1;
}

static const char *quote_end(const char *p, const char *end)
{
    char quote = *p++;

    while (p < end && *p != quote)
        if (quote != '\'' && *p == '\\' && p + 1 < end)
            p += 2;
        else if (quote == '"' && *p == '$')
            p = dollar_end(p, end);
        else
            p++;
    return p < end ? p + 1 : end;
}

const char *ss_shell_word_end(const char *p, const char *end)
{
    size_t n = ss_shell_name(p, end);
    const char *list = p + n + (n && p + n < end && p[n] == '+');

    if (n && list + 1 < end && list[0] == '=' && list[1] == '(')
        return close_of(list + 1, end, '(', ')');
    while (p < end && !isspace((unsigned char)*p) && !strchr(";&|()<>", *p))
        if (*p == '\\')
            p += p + 1 < end ? 2 : 1;
        else if (*p == '$')
            p = dollar_end(p, end);
        else if (*p == '\'' || *p == '"' || *p == '`')
            p = quote_end(p, end);
        else
            p++;
    return p;
}

/* ---- expansion ---- */

static void expand(struct made *m, const char *p, const char *end, int quoted);

static void put_sum(struct made *m, const char *p, size_t n)
{
    char *text = ss_shell_text(m->shell, p, n), number[32];
    const char *gap = NULL;

    if (!text)
        return;
    long value = ss_shell_sum(m->shell, text, &gap);
    if (gap && *gap == SS_GAP)
        put_gap(m, gap + 1, strcspn(gap + 1, "\2"));
    else if (gap)
        put_gap(m, gap, ss_shell_name(gap, gap + strlen(gap)));
    else
        put_value(m, number, (size_t)snprintf(number, sizeof number, "%ld", value), 1);
    free(text);
}

/* "${NAME...}" between its braces. */
static void put_braces(struct made *m, const char *p, const char *end, int quoted)
{
    size_t n = p < end && isdigit((unsigned char)*p) ? strspn(p, "0123456789") : ss_shell_name(p, end);
    const struct ss_shell_value *v = find(m->shell, p, n);
    const char *rest = p + n, *value = v ? v->text : NULL;

    if (rest < end && *rest == '[')
        rest = close_of(rest, end, '[', ']');
    int colon = rest < end && *rest == ':', empty = !value || (colon && !*value);
    const char *op = rest + colon;
    if (!n || (rest < end && !strchr(":-=+?", *rest))) {
        put_gap(m, n ? p : "?", n ? n : 1); /* a length or a part of a value is not followed */
        return;
    }
    if (op < end && strchr("-=", *op) && empty) {
        expand(m, op + 1, end, quoted);
        return;
    }
    if (op < end && *op == '+') {
        if (!empty)
            expand(m, op + 1, end, quoted);
        return;
    }
    if (value)
        put_value(m, value, strlen(value), quoted);
    else
        put_gap(m, p, n);
}

static const char *put_dollar(struct made *m, const char *p, const char *end, int quoted)
{
    const char *behind = dollar_end(p, end);
    size_t n = ss_shell_name(p + 1, end);
    int closed = behind > p + 2 && strchr(")}", behind[-1]) != NULL;

    if (p + 2 < end && p[1] == '(' && p[2] == '(')
        put_sum(m, p + 3, closed && behind - p > 5 ? (size_t)(behind - p - 5) : 0);
    else if (p + 1 < end && p[1] == '(')
        put_gap(m, "?", 1);
    else if (p + 1 < end && p[1] == '{')
        put_braces(m, p + 2, behind - closed, quoted);
    else if (n || (p + 1 < end && isdigit((unsigned char)p[1])))
        put_braces(m, p + 1, p + 1 + (n ? n : 1), quoted);
    else if (p + 1 < end && strchr("@*#?$!", p[1]))
        n = 0; /* a script without arguments */
    else
        put(m, '$');
    return behind;
}

static void expand(struct made *m, const char *p, const char *end, int quoted)
{
    if (m->shell->depth++ > MOST_DEPTH || m->shell->steps++ > 200000)
        p = end;
    while (p < end && !m->shell->rc) {
        const char *behind;
        if (*p == '\\' && p + 1 < end && (!quoted || strchr("$`\"\\\n", p[1]))) {
            if (p[1] != '\n')
                put(m, p[1]);
            p += 2;
        } else if (*p == '$') {
            p = put_dollar(m, p, end, quoted);
        } else if (*p == '`') {
            put_gap(m, "?", 1);
            p = quote_end(p, end);
        } else if (!quoted && *p == '\'') {
            behind = quote_end(p, end);
            m->have = 1;
            for (p++; p + 1 < behind; p++)
                put(m, *p);
            p = behind;
        } else if (!quoted && *p == '"') {
            behind = quote_end(p, end);
            int list = behind - p > 5 && p[1] == '$' && memmem(p, (size_t)(behind - p), "[@]", 3);
            m->have |= !list;
            expand(m, p + 1, behind - (behind[-1] == '"' && behind > p + 1), 1);
            p = behind;
        } else {
            put(m, *p++);
        }
    }
    m->shell->depth--;
}

void ss_shell_expand(struct ss_shell *s, const char *word, size_t n, int split, struct ss_words *out)
{
    struct made m = {.shell = s, .out = out, .split = split};

    expand(&m, word, word + n, 0);
    end_field(&m);
    free(m.text);
}

char *ss_shell_text(struct ss_shell *s, const char *word, size_t n)
{
    struct ss_words one = {0};

    ss_shell_expand(s, word, n, 0, &one);
    char *text = strdup(one.n ? one.w[0].text : "");
    if (!text)
        s->rc = SS_ERR_NOMEM;
    ss_words_free(&one);
    return text;
}

void ss_shell_free(struct ss_shell *s)
{
    for (size_t i = 0; i < s->n; i++) {
        SS_FREE(s->value[i].name, s->value[i].text);
    }
    free(s->value);
    ss_words_free(&s->out);
    ss_notes_free(&s->asked);
    ss_notes_free(&s->skipped);
}
