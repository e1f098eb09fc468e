/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the commands of a shell's text: what is assigned, which branches hold, which commands there are. */
#include <fnmatch.h>

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

/* ---- commands ---- */

/* Joins words by a character, behind what is there already. */
static char *join(struct ss_shell *s, const struct ss_words *words, char by)
{
    size_t size = 1, used = 0;

    for (size_t i = 0; i < words->n; i++)
        size += strlen(words->w[i].text) + 1;
    char *text = calloc(1, size);
    for (size_t i = 0; text && i < words->n; i++) {
        if (i)
            text[used++] = by;
        used += (size_t)sprintf(text + used, "%s", words->w[i].text);
    }
    if (!text)
        s->rc = SS_ERR_NOMEM;
    return text;
}

/* Adds the items of "( ... )" to *out, without comments. */
static void read_items(struct ss_shell *s, const char *p, const char *end, struct ss_words *out)
{
    while (p < end) {
        const char *behind = p + 1;
        if (*p == '#') {
            behind = memchr(p, '\n', (size_t)(end - p));
            behind = behind ? behind : end;
        } else if (!isspace((unsigned char)*p)) {
            behind = ss_shell_word_end(p, end);
            behind = behind > p ? behind : p + 1;
            ss_shell_expand(s, p, (size_t)(behind - p), 1, out);
        }
        p = behind;
    }
}

/* "NAME=VALUE", "NAME+=VALUE", "NAME=( ... )". */
static void assign(struct ss_shell *s, const char *word, size_t n)
{
    size_t name = ss_shell_name(word, word + n);
    int more = word[name] == '+', list;
    const char *value = word + name + more + 1, *end = word + n;
    struct ss_words parts = {0};
    char before[90];

    list = value < end && *value == '(';
    snprintf(before, sizeof before, "${%.*s-}", (int)(name < 80 ? name : 80), word);
    if (more)
        ss_shell_expand(s, before, strlen(before), list, &parts);
    if (list)
        read_items(s, value + 1, end - (end[-1] == ')'), &parts);
    else
        ss_shell_expand(s, value, (size_t)(end - value), 0, &parts);
    char *text = NULL;
    if (list || parts.n < 2) {
        text = join(s, &parts, SS_SHELL_ITEM);
    } else { /* a text behind a text */
        size_t size = strlen(parts.w[0].text) + strlen(parts.w[1].text) + 1;
        text = malloc(size);
        if (text)
            snprintf(text, size, "%s%s", parts.w[0].text, parts.w[1].text);
    }
    if (text)
        ss_shell_set(s, word, name, text, 0);
    else
        s->rc = SS_ERR_NOMEM;
    free(text);
    ss_words_free(&parts);
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
    const struct ss_words rest = {.w = words->w + first, .n = words->n > first ? words->n - first : 0};
    size_t before;
    char *text = join(s, &rest, ' ');

    if (text && s->depth < MOST_DEPTH) {
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
            ss_shell_test(s, words, 1, words->n - (words->n > 1 && words->w[words->n - 1].text[0] == ']'));
    } else if (!strcmp(name, "test")) {
        r->status = ss_shell_test(s, words, 1, words->n);
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
        ss_shell_ask(r->shell, subject);
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

/* "(", which begins a shell of its own, or "(( ... ))", whose value is the status. Returns 1 for that. */
static int bracket(struct run *r)
{
    const char *close = memmem(r->p, (size_t)(r->end - r->p), "))", 2), *gap;

    if (r->p + 1 >= r->end || r->p[1] != '(') {
        r->p++;
        return 0;
    }
    char *text = ss_shell_text(r->shell, r->p + 2, close ? (size_t)(close - r->p - 2) : 0);
    if (text && active(r) && !r->skip)
        r->status = ss_shell_sum(r->shell, text, &gap) != 0;
    free(text);
    r->p = close ? close + 2 : r->end;
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
            begun |= bracket(r);
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
