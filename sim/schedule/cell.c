/* SPDX-License-Identifier: Apache-2.0 */
/* One cell of a schedule file: STAGE OP MICROBATCH, or (F;B)OVERLAP_F_B. */
#include "base/base.h"
#include "schedule/file.h"

static const struct {
    const char *word;
    int microbatch;
} words[] = {
#define X(sym, word, microbatch) {word, microbatch},
    SS_ACTION_LIST(X)
#undef X
};

int ss_action_fail(const struct ss_action_table *t, const struct ss_action *a, const char *fmt, ...)
{
    char what[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return ss_fail(t->err, SS_ERR_INPUT, t->file, a->line, "row %d column %d: %s", a->line, a->column, what);
}

static int malformed(const struct ss_action_table *t, const struct ss_action *a, const char *text, size_t n)
{
    ss_action_fail(t, a, "'%.*s' is no action", (int)(n < 60 ? n : 60), text);
    return ss_hint(t->err, SS_ERR_INPUT,
                   "write the virtual stage, one of F B I W SEND_F RECV_F SEND_B RECV_B UNSHARD RESHARD "
                   "REDUCE_GRAD, and "
                   "the microbatch, as 2F0; a pair as (2F1;3B0)OVERLAP_F_B");
}

/* Decimal digits at *at; -1 without any or when the number is too large. */
static int number(const char *text, size_t n, size_t *at, int most)
{
    int64_t value = -1;
    for (; *at < n && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
        value = 10 * (value < 0 ? 0 : value) + (text[*at] - '0');
        if (value > most)
            return -1;
    }
    return (int)value;
}

static int find_word(const char *text, size_t n)
{
    for (int i = 0; i < SS_ACTION_COUNT; i++)
        if (strlen(words[i].word) == n && !memcmp(words[i].word, text, n))
            return i;
    return -1;
}

static bool parse_single(const char *text, size_t n, struct ss_action *a)
{
    size_t at = 0, end;
    a->stage = number(text, n, &at, SS_ACTION_STAGE_MAX);
    for (end = at; end < n && (text[end] < '0' || text[end] > '9'); end++)
        ;
    a->kind = find_word(text + at, end - at);
    if (a->stage < 0 || a->kind < 0 || a->kind == SS_ACTION_PAIR)
        return false;
    if (!words[a->kind].microbatch)
        return end == n;
    a->microbatch = number(text, n, &end, SS_ACTION_MICROBATCH_MAX);
    return a->microbatch >= 0 && end == n;
}

static int parse_pair(const struct ss_action_table *t, const char *text, size_t n, struct ss_action *a)
{
    static const char tail[] = "OVERLAP_F_B";
    const char *close = memchr(text, ')', n), *middle = memchr(text, ';', n);
    struct ss_action f = *a, b = *a;
    size_t rest = close ? n - (size_t)(close - text) - 1 : 0;
    /* Our own form may leave the word away. */
    if (!close || !middle || middle > close ||
        (rest && (rest != sizeof tail - 1 || memcmp(close + 1, tail, rest))))
        return malformed(t, a, text, n);
    if (!parse_single(text + 1, (size_t)(middle - text) - 1, &f) ||
        !parse_single(middle + 1, (size_t)(close - middle) - 1, &b))
        return malformed(t, a, text, n);
    if (f.kind != SS_ACTION_F || b.kind != SS_ACTION_B) {
        ss_action_fail(t, a, "a pair is one F and one B, in this order, not '%.*s'", (int)(n < 60 ? n : 60),
                       text);
        return ss_hint(t->err, SS_ERR_INPUT, "write other actions one after the other");
    }
    a->kind = SS_ACTION_PAIR;
    a->stage = f.stage;
    a->microbatch = f.microbatch;
    a->stage2 = b.stage;
    a->microbatch2 = b.microbatch;
    return SS_OK;
}

int ss_action_parse(const struct ss_action_table *t, const char *text, size_t n, struct ss_action *a)
{
    a->microbatch = a->stage2 = a->microbatch2 = -1;
    if (n && text[0] == '(')
        return parse_pair(t, text, n, a);
    return parse_single(text, n, a) ? SS_OK : malformed(t, a, text, n);
}

char *ss_action_format(const struct ss_action *a, char *buf, size_t size)
{
    if (a->kind == SS_ACTION_PAIR)
        snprintf(buf, size, "(%dF%d;%dB%d)OVERLAP_F_B", a->stage, a->microbatch, a->stage2, a->microbatch2);
    else if (words[a->kind].microbatch)
        snprintf(buf, size, "%d%s%d", a->stage, words[a->kind].word, a->microbatch);
    else
        snprintf(buf, size, "%d%s", a->stage, words[a->kind].word);
    return buf;
}

int ss_action_add(struct ss_action_table *t, size_t rank, const struct ss_action *a)
{
    while (t->rows <= rank) {
        SS_NEED(!ss_grow(&t->row, &t->cap, t->rows + 1, sizeof *t->row), t->err);
        t->row[t->rows++] = (struct ss_action_row){0};
    }
    struct ss_action_row *row = &t->row[rank];
    if (!row->line)
        row->line = a->line;
    if (a->kind < 0)
        return SS_OK;
    SS_NEED(!ss_grow(&row->action, &row->cap, row->n + 1, sizeof *row->action), t->err);
    row->action[row->n++] = *a;
    return SS_OK;
}
