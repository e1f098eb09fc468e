/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own form of a schedule (docs/reference/formats-schedule.md):
 *   schedule 1            # version of the form, first
 *   name NAME
 *   pipelines N           # copies of the model; 1
 *   p2p async             # or blocking, overlapped, batched with warmup
 *   warmup N N ...        # forwards before the steady part, a rank each
 *   rank R: ACTION ...    # '.' is a time step without one; further lines of a rank go on
 */
#include "base/base.h"
#include "schedule/file.h"

struct reader {
    struct ss_action_table *t;
    const char *at, *end; /* of the line at hand, without its comment */
    const char *start;
    int line;
};

static int fail(struct reader *r, const char *why, const char *hint)
{
    return ss_fail(r->t->err, SS_ERR_INPUT, r->t->file, r->line, "%s" SS_HINT "%s", why, hint);
}

/* Next word of the line, false at its end. ',' separates as a blank does. */
static bool next_word(struct reader *r, const char **word, size_t *n)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == ','))
        r->at++;
    *word = r->at;
    while (r->at < r->end && *r->at != ' ' && *r->at != '\t' && *r->at != '\r' && *r->at != ',')
        r->at++;
    *n = (size_t)(r->at - *word);
    return *n > 0;
}

static bool is(const char *word, size_t n, const char *what)
{
    return n == strlen(what) && !memcmp(word, what, n);
}

static bool next_number(struct reader *r, int lo, int hi, int *out)
{
    const char *word;
    char text[16];
    size_t n;
    int64_t value;
    if (!next_word(r, &word, &n) || n >= sizeof text)
        return false;
    memcpy(text, word, n);
    text[n] = '\0';
    if (ss_parse_i64(text, lo, hi, &value))
        return false;
    *out = (int)value;
    return true;
}

static int read_rank(struct reader *r)
{
    const char *word;
    size_t n, digits;
    int64_t rank;
    char text[16];
    if (!next_word(r, &word, &n))
        return fail(r, "a rank without a number", "write it as: rank 0: 0F0 0F1 0B0 0B1");
    for (digits = 0; digits < n && word[digits] != ':'; digits++)
        ;
    if (digits == 0 || digits == n || digits >= sizeof text)
        return fail(r, "a rank without a number and a colon", "write it as: rank 0: 0F0 0F1 0B0 0B1");
    memcpy(text, word, digits);
    text[digits] = '\0';
    if (ss_parse_i64(text, 0, SS_ACTION_STAGE_MAX, &rank))
        return fail(r, "a rank whose number cannot be", "ranks count from 0");
    r->at = word + digits + 1;
    struct ss_action a = {.kind = -1, .line = r->line, .column = 1};
    int rc = ss_action_add(r->t, (size_t)rank, &a);
    while (!rc && next_word(r, &word, &n)) {
        if (is(word, n, "."))
            continue;
        a.column = (int)(word - r->start) + 1;
        rc = ss_action_parse(r->t, word, n, &a);
        SS_THEN(rc, ss_action_add(r->t, (size_t)rank, &a));
    }
    return rc;
}

static int read_p2p(struct reader *r)
{
    const char *word;
    size_t n;
    if (next_word(r, &word, &n))
        for (int i = SS_P2P_BLOCKING; i <= SS_P2P_ORDERED; i++)
            if (is(word, n, ss_p2p_name(i))) {
                r->t->p2p = i;
                return SS_OK;
            }
    return fail(r, "p2p: unknown policy", "choose async, blocking, ordered, overlapped or batched");
}

static int read_warmup(struct reader *r)
{
    int value;
    r->t->warmup_line = r->line;
    while (next_number(r, 0, SS_ACTION_MICROBATCH_MAX, &value)) {
        SS_NEED(!ss_grow(&r->t->warmup, &r->t->warmup_cap, r->t->nwarmup + 1, sizeof value), r->t->err);
        r->t->warmup[r->t->nwarmup++] = value;
    }
    return r->at == r->end ? SS_OK : fail(r, "warmup: not a number", "one number of forwards a rank");
}

static int read_name(struct reader *r)
{
    const char *word;
    size_t n;
    if (!next_word(r, &word, &n) || n >= sizeof r->t->name)
        return fail(r, "name: not one word of at most 31 letters", "write it as: name my-order");
    memcpy(r->t->name, word, n);
    r->t->name[n] = '\0';
    return SS_OK;
}

static int read_line(struct reader *r, bool *seen_header)
{
    static const char *const words[] = {"schedule", "name", "pipelines", "p2p", "warmup", "rank"};
    const char *word;
    size_t n;
    int version, rc = SS_OK;
    if (!next_word(r, &word, &n))
        return SS_OK;
    if (is(word, n, "schedule") && !*seen_header) {
        *seen_header = true;
        if (!next_number(r, 1, 1, &version))
            return fail(r, "this version of the form is not known", "begin with: schedule 1");
    } else if (is(word, n, "name")) {
        rc = read_name(r);
    } else if (is(word, n, "pipelines")) {
        if (!next_number(r, 1, 2, &r->t->pipelines))
            return fail(r, "pipelines: not 1 or 2",
                        "copies of the model; the second runs its own microbatches");
    } else if (is(word, n, "p2p")) {
        rc = read_p2p(r);
    } else if (is(word, n, "warmup")) {
        rc = read_warmup(r);
    } else if (is(word, n, "rank")) {
        return read_rank(r);
    } else {
        char text[40];
        snprintf(text, sizeof text, "%.*s", (int)(n < 39 ? n : 39), word);
        const char *near = ss_nearest(text, words, SS_ARRAY_LEN(words));
        return ss_fail(r->t->err, SS_ERR_INPUT, r->t->file, r->line,
                       "'%s' begins no line of a schedule" SS_HINT "%s%s", text,
                       near ? "did you mean " : "lines begin with name, p2p, rank ...", near ? near : "");
    }
    return !rc && next_word(r, &word, &n) ? fail(r, "more words than the line takes", "one thing a line")
                                          : rc;
}

int ss_action_read_text(struct ss_action_table *t, const char *text, size_t len)
{
    struct reader r = {.t = t};
    const char *end = text + len;
    bool header = false;
    int rc = SS_OK;
    for (r.line = 1; text < end && !rc; r.line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        SS_THEN(stop, end);
        const char *comment = memchr(text, '#', (size_t)(stop - text));
        r.start = r.at = text;
        r.end = comment ? comment : stop;
        rc = read_line(&r, &header);
        text = stop + 1;
    }
    return rc;
}
