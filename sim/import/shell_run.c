/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the commands of a shell's text: what is assigned, which branches hold, which commands there are. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/shell.h"

#define MOST_FRAMES 40
#define MOST_DEPTH 6 /* of eval and of "bash -c" */
#define MOST_STEPS 100000

enum frame_kind { IF, LOOP, CASE };
struct frame {
    enum frame_kind kind;
    int active, taken, outer; /* outer: whether what stands around it is followed */
    int pattern;              /* 1: a pattern of a case comes next */
    char *subject;            /* of a case */
};
struct run {
    struct ss_shell *shell;
    const char *p, *end;
    struct frame frame[MOST_FRAMES];
    int n, status; /* number of frames; whether the last command held */
    int skip;      /* 1: "||" or "&&" leaves the next command out */
};

static int active(const struct run *r)
{
    return !r->n || r->frame[r->n - 1].active;
}

/* ---- conditions ---- */

/* A gap that a comparison needs is asked for. */
static int ask(struct ss_shell *s, const char *text)
{
    const char *gap = strchr(text, SS_GAP);
    char name[100];

    if (!gap)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(gap + 1, "\2"), gap + 1);
    for (unsigned long i = 0; i < s->asked.n; i++)
        if (!strcmp(s->asked.text[i], name))
            return 1;
    if (name[0] != '?')
        ss_note(&s->asked, "%s", name);
    return 1;
}

static int is_number_test(const char *op)
{
    return ss_has_word("-eq -ne -lt -le -gt -ge", op);
}

static int compare(struct ss_shell *s, const char *a, const char *op, const char *b)
{
    if (!is_number_test(op) && (strchr(a, '/') || strchr(b, '/')) && (strchr(a, SS_GAP) || strchr(b, SS_GAP)))
        return !strcmp(op, "!="); /* a path of this machine is no word */
    if (ask(s, a) || ask(s, b))
        return 0;
    if (is_number_test(op)) {
        long x = strtol(a, NULL, 10), y = strtol(b, NULL, 10);
        return !strcmp(op, "-eq")   ? x == y
               : !strcmp(op, "-ne") ? x != y
               : !strcmp(op, "-lt") ? x < y
               : !strcmp(op, "-le") ? x <= y
               : !strcmp(op, "-gt") ? x > y
                                    : x >= y;
    }
    if (!strcmp(op, "<") || !strcmp(op, ">"))
        return (strcmp(a, b) < 0) == (op[0] == '<');
    return !fnmatch(b, a, 0) == (strcmp(op, "!=") != 0);
}

/* One test without "-a" and "-o": of unset names -z and -n tell that they are unset; no file is there. */
static int test_one(struct ss_shell *s, const struct ss_word *w, size_t n)
{
    int no = n > 0 && !strcmp(w[0].text, "!");

    w += no;
    n -= (size_t)no;
    int holds = n == 1                               ? w[0].text[0] && w[0].text[0] != SS_GAP
                : n == 2 && !strcmp(w[0].text, "-z") ? !w[1].text[0] || w[1].text[0] == SS_GAP
                : n == 2 && !strcmp(w[0].text, "-n") ? w[1].text[0] && w[1].text[0] != SS_GAP
                : n == 3                             ? compare(s, w[0].text, w[1].text, w[2].text)
                                                     : 0;
    return no ? !holds : holds;
}

static int test_words(struct ss_shell *s, const struct ss_words *words, size_t first, size_t end)
{
    int any = 0, all = 1;

    for (size_t i = first, from = first; i <= end; i++) {
        const char *text = i < end ? words->w[i].text : "-o";
        int is_or = !strcmp(text, "-o") || !strcmp(text, "||"),
            is_and = !strcmp(text, "-a") || !strcmp(text, "&&");
        if (!is_or && !is_and)
            continue;
        all = all && test_one(s, words->w + from, i - from);
        from = i + 1;
        if (is_or) {
            any |= all;
            all = 1;
        }
    }
    return any;
}

/* ---- commands ---- */

static void assign(struct ss_shell *s, const char *word, size_t n)
{
    size_t name = ss_shell_name(word, word + n);
    int more = word[name] == '+';
    const char *value = word + name + more + 1, *end = word + n;
    char *text = NULL, *joined = NULL;

    if (value < end && *value == '(') {
        struct ss_words items = {0};
        for (const char *p = value + 1; p + 1 < end;) {
            const char *behind = isspace((unsigned char)*p) ? p + 1
                                 : *p == '#'                ? memchr(p, '\n', (size_t)(end - p))
                                                            : ss_shell_word_end(p, end - 1);
            if (!behind || behind == p)
                behind = behind ? p + 1 : end;
            else if (!isspace((unsigned char)*p) && *p != '#')
                ss_shell_expand(s, p, (size_t)(behind - p), 1, &items);
            p = behind;
        }
        size_t size = 1;
        for (size_t i = 0; i < items.n; i++)
            size += strlen(items.w[i].text) + 1;
        text = calloc(1, size);
        for (size_t i = 0, used = 0; text && i < items.n; i++)
            used += (size_t)sprintf(text + used, "%s%s", i ? "\3" : "", items.w[i].text);
        ss_words_free(&items);
    } else {
        text = ss_shell_text(s, value, (size_t)(end - value));
    }
    if (text && more) {
        int list = *value == '(';
        char before[90];
        snprintf(before, sizeof before, "${%.*s-}", (int)(name < 80 ? name : 80), word);
        struct ss_words old = {0};
        ss_shell_expand(s, before, strlen(before), list, &old);
        size_t size = strlen(text) + 2;
        for (size_t i = 0; i < old.n; i++)
            size += strlen(old.w[i].text) + 1;
        joined = calloc(1, size);
        size_t used = 0;
        for (size_t i = 0; joined && i < old.n; i++)
            used += (size_t)sprintf(joined + used, "%s%s", i ? "\3" : "", old.w[i].text);
        if (joined)
            sprintf(joined + used, "%s%s", list && old.n ? "\3" : "", text);
        ss_words_free(&old);
    }
    if (!text || (more && !joined))
        s->rc = SS_ERR_NOMEM;
    else
        ss_shell_set(s, word, name, more ? joined : text, 0);
    free(text);
    free(joined);
}

static int is_assignment(const char *word, size_t n)
{
    size_t name = ss_shell_name(word, word + n), plus = name + (name < n && word[name] == '+');

    return name && plus < n && word[plus] == '=';
}

static void add(struct ss_shell *s, const char *text)
{
    if (ss_words_add(&s->out, text, strlen(text), 0))
        s->rc = SS_ERR_NOMEM;
}

/* Follows the text of "eval" and of "bash -c", whose command stands behind what starts the shell. */
static void inner(struct ss_shell *s, const struct ss_words *words, size_t first, size_t prefix)
{
    size_t before = s->out.n, len = 1;

    for (size_t i = first; i < words->n; i++)
        len += strlen(words->w[i].text) + 1;
    char *text = calloc(1, len);
    for (size_t i = first, used = 0; text && i < words->n; i++)
        used += (size_t)sprintf(text + used, "%s%s", i > first ? " " : "", words->w[i].text);
    if (!text)
        s->rc = SS_ERR_NOMEM;
    else if (s->depth < MOST_DEPTH) {
        for (size_t i = 0; i < prefix; i++)
            add(s, words->w[i].text);
        before = s->out.n;
        s->depth++;
        ss_shell_run(s, text, strlen(text));
        s->depth--;
        if (s->out.n == before)
            add(s, ";");
    }
    free(text);
}

/* Returns the word behind "bash ... -c", 0: there is none. */
static size_t shell_text_at(const struct ss_words *words)
{
    for (size_t i = 0; i + 2 < words->n; i++) {
        const char *slash = strrchr(words->w[i].text, '/'), *name = slash ? slash + 1 : words->w[i].text;
        for (size_t k = i + 1;
             (!strcmp(name, "bash") || !strcmp(name, "sh")) && k + 1 < words->n && words->w[k].text[0] == '-';
             k++)
            if (words->w[k].text[1] != '-' && strchr(words->w[k].text, 'c'))
                return k + 1;
    }
    return 0;
}

static void command(struct run *r, struct ss_words *words)
{
    static const char *const declare[] = {"export", "local", "declare", "readonly", "typeset"};
    struct ss_shell *s = r->shell;
    const char *name = words->n ? words->w[0].text : "";
    size_t text = shell_text_at(words);

    r->status = 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(declare); i++)
        if (!strcmp(name, declare[i]))
            return;
    if (!strcmp(name, "[") || !strcmp(name, "[[")) {
        r->status =
            test_words(s, words, 1, words->n - (words->n > 1 && words->w[words->n - 1].text[0] == ']'));
    } else if (!strcmp(name, "test")) {
        r->status = test_words(s, words, 1, words->n);
    } else if (!strcmp(name, "false") || !strcmp(name, "grep") || !strcmp(name, "command") ||
               !strcmp(name, "which")) {
        r->status = 0;
    } else if (!strcmp(name, "eval")) {
        inner(s, words, 1, 0);
    } else if (text) {
        const char *first = words->w[0].text;
        size_t prefix = text;
        while (prefix > 0 && strcmp(words->w[prefix].text, "bash") && strcmp(words->w[prefix].text, "sh"))
            prefix--;
        words->n = text + 1; /* what follows are arguments of the text */
        inner(s, words, text, first[0] == '-' ? 0 : prefix);
    } else if (words->n) {
        for (size_t i = 0; i < words->n; i++)
            add(s, words->w[i].text);
        add(s, ";");
    }
}

/* ---- the text ---- */

static void skip_blanks(struct run *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' ||
                             (*r->p == '\\' && r->p + 1 < r->end && (r->p[1] == '\n' || r->p[1] == '\r'))))
        r->p += *r->p == '\\' ? 2 : 1;
    if (r->p < r->end && *r->p == '#')
        while (r->p < r->end && *r->p != '\n')
            r->p++;
}

/* Behind the lines that "<<WORD" at p takes. */
static void skip_here(struct run *r)
{
    char word[80];

    r->p += strspn(r->p, "<- \t'\"\\");
    size_t n = ss_shell_name(r->p, r->end);
    snprintf(word, sizeof word, "%.*s", (int)(n < 79 ? n : 79), r->p);
    const char *line = memchr(r->p, '\n', (size_t)(r->end - r->p));
    for (; line && n; line = memchr(line + 1, '\n', (size_t)(r->end - line - 1))) {
        const char *begin = line + 1;
        while (begin < r->end && (*begin == ' ' || *begin == '\t'))
            begin++;
        if ((size_t)(r->end - begin) >= n && !strncmp(begin, word, n) &&
            (begin + n == r->end || isspace((unsigned char)begin[n]))) {
            r->p = begin + n;
            return;
        }
    }
    r->p = n ? r->end : r->p;
}

static void push(struct run *r, enum frame_kind kind, int holds, char *subject)
{
    if (r->n == MOST_FRAMES) {
        free(subject);
        return;
    }
    int outer = active(r);
    r->frame[r->n++] = (struct frame){
        .kind = kind, .outer = outer, .active = outer && holds, .subject = subject, .pattern = kind == CASE};
}

static void pop(struct run *r, enum frame_kind kind)
{
    if (!r->n || r->frame[r->n - 1].kind != kind)
        return;
    free(r->frame[--r->n].subject);
    r->status = 1;
}

/* A word of the shell that begins, parts or ends a block; 1: the command begins behind it. */
static int keyword(struct run *r, const char *word, size_t n)
{
    struct frame *f = r->n ? &r->frame[r->n - 1] : NULL;
    char name[12] = "";

    if (n < sizeof name)
        snprintf(name, sizeof name, "%.*s", (int)n, word);
    if (!strcmp(name, "if"))
        push(r, IF, 1, NULL);
    else if (!strcmp(name, "while") || !strcmp(name, "until"))
        push(r, LOOP, 1, NULL);
    else if (f && f->kind == IF && !strcmp(name, "then")) {
        f->active = f->outer && !f->taken && r->status;
        f->taken |= f->active;
    } else if (f && f->kind == IF && (!strcmp(name, "elif") || !strcmp(name, "else"))) {
        f->active = f->outer && !f->taken;
        r->status = 1;
    } else if (!strcmp(name, "fi"))
        pop(r, IF);
    else if (!strcmp(name, "done"))
        pop(r, LOOP);
    else if (!strcmp(name, "esac"))
        pop(r, CASE);
    else if (!ss_has_word("do { } ! time", name))
        return 0;
    return 1;
}

/* "for NAME in WORDS": the first of them. */
static void begin_for(struct run *r)
{
    struct ss_words items = {0};

    skip_blanks(r);
    const char *name = r->p;
    size_t n = ss_shell_name(r->p, r->end);
    r->p += n;
    skip_blanks(r);
    if (r->end - r->p > 2 && !strncmp(r->p, "in", 2))
        r->p += 2;
    for (skip_blanks(r); r->p < r->end && !strchr(";\n", *r->p); skip_blanks(r)) {
        const char *behind = ss_shell_word_end(r->p, r->end);
        if (behind == r->p)
            behind++;
        else if (active(r))
            ss_shell_expand(r->shell, r->p, (size_t)(behind - r->p), 1, &items);
        r->p = behind;
    }
    if (n && items.n && active(r))
        ss_shell_set(r->shell, name, n, items.w[0].text, 0);
    if (items.n > 1 && active(r))
        ss_note(&r->shell->skipped, "a loop over %.60s is read for its first value, %.60s",
                name[0] ? "several values" : "", items.w[0].text);
    push(r, LOOP, items.n > 0, NULL);
    ss_words_free(&items);
}

static void begin_case(struct run *r)
{
    skip_blanks(r);
    const char *behind = ss_shell_word_end(r->p, r->end);
    char *subject = ss_shell_text(r->shell, r->p, (size_t)(behind - r->p));

    r->p = behind;
    skip_blanks(r);
    if (r->end - r->p > 2 && !strncmp(r->p, "in", 2))
        r->p += 2;
    if (active(r) && subject)
        ask(r->shell, subject);
    push(r, CASE, 0, subject);
}

/* "a|b)": the patterns of a case. */
static void pattern(struct run *r)
{
    struct frame *f = &r->frame[r->n - 1];
    int holds = 0;

    while (r->p < r->end && *r->p != ')') {
        if (isspace((unsigned char)*r->p) || *r->p == '|' || *r->p == '(' || *r->p == ';') {
            r->p++;
            continue;
        }
        const char *behind = ss_shell_word_end(r->p, r->end);
        behind = behind > r->p ? behind : r->p + 1;
        if (behind - r->p == 4 && !strncmp(r->p, "esac", 4)) {
            r->p = behind;
            pop(r, CASE);
            return;
        }
        char *text = ss_shell_text(r->shell, r->p, (size_t)(behind - r->p));
        holds |= text && f->subject && !fnmatch(text, f->subject, 0);
        free(text);
        r->p = behind;
    }
    r->p += r->p < r->end;
    f->pattern = 0;
    f->active = f->outer && holds && !f->taken;
    f->taken |= f->active;
}

/* What stands between two commands: ";", "&&", "|", a redirection with its file. 0: a word. */
static int operator(struct run *r)
{
    const char *p = r->p;

    if (*p == '<' && p + 1 < r->end && p[1] == '<')
        return skip_here(r), 1;
    size_t digits = strspn(p, "0123456789"), n = digits;
    if (p + n >= r->end || !strchr("<>", p[n]))
        return 0;
    n += strspn(p + n, "<>");
    if (p[n] == '&' || p[n] == '|') {
        n += 1 + strspn(p + n + 1, "0123456789-");
        r->p = p + n;
        return 1;
    }
    r->p = p + n;
    r->p += strspn(r->p, " \t");
    if (r->p < r->end && *r->p != '\n')
        r->p = ss_shell_word_end(r->p, r->end);
    return 1;
}

/* Reads the words of one command and does it. */
static void one_command(struct run *r)
{
    struct ss_words words = {0};
    int first = 1, test = 0, begun = 0;

    for (skip_blanks(r); r->p < r->end && !r->shell->rc && r->shell->steps++ < MOST_STEPS; skip_blanks(r)) {
        if (operator(r))
            continue;
        if (test && strchr("&|<>()", *r->p)) { /* inside [[ ]] */
            char op[3] = {*r->p, r->p + 1 < r->end && r->p[1] == *r->p ? *r->p : 0, 0};
            r->p += strlen(op);
            if (op[0] != '(' && op[0] != ')' && active(r) && ss_words_add(&words, op, strlen(op), 0))
                r->shell->rc = SS_ERR_NOMEM;
            continue;
        }
        if (strchr(";\n&|)", *r->p))
            break;
        if (*r->p == '(') {
            const char *behind = r->p + 1;
            if (r->p + 1 < r->end && r->p[1] == '(') { /* (( ... )) */
                const char *close = memmem(r->p, (size_t)(r->end - r->p), "))", 2), *gap;
                behind = close ? close + 2 : r->end;
                char *text = ss_shell_text(r->shell, r->p + 2, close ? (size_t)(close - r->p - 2) : 0);
                if (text && active(r) && !r->skip)
                    r->status = ss_shell_sum(r->shell, text, &gap) != 0;
                free(text);
                begun = 1;
            }
            r->p = behind;
            continue;
        }
        const char *behind = ss_shell_word_end(r->p, r->end);
        size_t n = (size_t)(behind - r->p);
        if (!n) {
            r->p++;
            continue;
        }
        if (first && n == 3 && !strncmp(r->p, "for", 3)) {
            r->p = behind;
            begin_for(r);
            break;
        }
        if (first && n == 4 && !strncmp(r->p, "case", 4)) {
            r->p = behind;
            begin_case(r);
            break;
        }
        if (first && keyword(r, r->p, n)) {
            r->p = behind;
            continue;
        }
        int follows = active(r) && !r->skip;
        int declares = words.n && ss_has_word("export local declare readonly typeset env", words.w[0].text);
        if (is_assignment(r->p, n) && (first || declares)) {
            if (follows)
                assign(r->shell, r->p, n);
        } else {
            first = 0;
            test |= n == 2 && !strncmp(r->p, "[[", 2) && !words.n;
            if (follows)
                ss_shell_expand(r->shell, r->p, n, !test, &words);
        }
        begun = 1;
        r->p = behind;
        test &= !(n == 2 && !strncmp(behind - 2, "]]", 2));
    }
    if (active(r) && !r->skip && words.n)
        command(r, &words);
    else if (active(r) && !r->skip && begun && !words.n && !r->shell->rc)
        r->status = r->status && 1;
    ss_words_free(&words);
}

int ss_shell_run(struct ss_shell *s, const char *text, size_t len)
{
    struct run *r = ss_calloc(1, sizeof *r);

    if (!r)
        return s->rc = SS_ERR_NOMEM;
    *r = (struct run){.shell = s, .p = text, .end = text + len, .status = 1};
    while (r->p < r->end && !s->rc && s->steps++ < MOST_STEPS) {
        if (r->n && r->frame[r->n - 1].kind == CASE && r->frame[r->n - 1].pattern) {
            pattern(r);
            continue;
        }
        const char *before = r->p;
        one_command(r);
        r->skip = 0;
        if (r->p >= r->end)
            break;
        if (*r->p == ';' && r->p + 1 < r->end && r->p[1] == ';') {
            if (r->n && r->frame[r->n - 1].kind == CASE)
                r->frame[r->n - 1].pattern = 1;
            r->p += 2;
        } else if ((*r->p == '&' || *r->p == '|') && r->p + 1 < r->end && r->p[1] == *r->p) {
            r->skip = (*r->p == '&') != (r->status != 0);
            r->p += 2;
        } else if (r->p == before || strchr(";\n&|)", *r->p)) {
            r->p++;
        }
    }
    while (r->n)
        free(r->frame[--r->n].subject);
    free(r);
    return s->rc;
}
