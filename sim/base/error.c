/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/error.h"

#include "base/base.h"
#include "stepsim/text.h"

#define X(sym, value, exit_status, name) {value, exit_status, name},
static const struct {
    int code, exit_status;
    const char *name;
} statuses[] = {{SS_OK, 0, "ok"}, SS_ERROR_LIST(X)};
#undef X

const char *ss_status_name(int status)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(statuses); i++)
        if (statuses[i].code == status)
            return statuses[i].name;
    return "unknown";
}

int ss_status_exit(int status)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(statuses); i++)
        if (statuses[i].code == status)
            return statuses[i].exit_status;
    return 3;
}

int ss_status_refuses(int status)
{
    return status == SS_ERR_CONFIG || status == SS_ERR_UNSUPPORTED;
}

/* Makes the message, and the hint behind SS_HINT. Where the hint begins follows from the length of the message, because arguments may hold
 * any byte. */
static void make_texts(struct ss_error *made, const char *fmt, va_list args)
{
    const char *mark = strchr(fmt, SS_HINT[0]);
    char head[1024], both[2 * sizeof made->message];
    va_list again;

    ss_copy(head, mark && (size_t)(mark - fmt) < sizeof head ? (size_t)(mark - fmt) + 1 : sizeof head, fmt);
    va_copy(again, args);
    const int n = vsnprintf(made->message, sizeof made->message, mark ? head : fmt, again);
    va_end(again);
    vsnprintf(both, sizeof both, mark ? fmt : "", args);
    if (mark && n >= 0 && (size_t)n < sizeof both)
        ss_copy(made->hint, sizeof made->hint, both + n + 1);
}

int ss_fail(struct ss_error *err, int code, const char *file, int line, const char *fmt, ...)
{
    if (!err)
        return code;
    /* The arguments may point into *err (a wrapped error), so the text is made beside it. */
    struct ss_error made = {.code = code, .line = line > 0 ? line : 0};
    ss_copy(made.file, sizeof made.file, file ? file : "");
    va_list args;
    va_start(args, fmt);
    make_texts(&made, fmt, args);
    va_end(args);
    /* A message is one line of UTF-8: it quotes user input, logs are read by line, and JSON takes UTF-8
     * only. */
    ss_text_clean(made.file);
    ss_text_clean(made.message);
    ss_text_clean(made.hint);
    *err = made;
    return code;
}

int ss_hint(struct ss_error *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    char hint[sizeof err->hint];
    va_list args;
    va_start(args, fmt);
    vsnprintf(hint, sizeof hint, fmt, args);
    va_end(args);
    ss_text_clean(hint);
    memcpy(err->hint, hint, sizeof hint);
    return code;
}

int ss_nomem(struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
}

char *ss_error_format(const struct ss_error *err, char *buf, unsigned long size)
{
    char line[32] = "";
    if (err->line > 0)
        snprintf(line, sizeof line, "%d:", err->line);
    snprintf(buf, size, "%s%s%s%serror: %s%s%s", err->file, err->file[0] ? ":" : "", err->file[0] ? line : "",
             err->file[0] ? " " : "", err->message, err->hint[0] ? ": " : "", err->hint);
    return buf;
}

/* Returns the edit distance of two words of at most 63 letters; case is ignored, and '_' equals '-'. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64];
    size_t lb = strlen(b);
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < lb; j++) {
            char x = a[i] == '_' ? '-' : a[i], y = b[j] == '_' ? '-' : b[j];
            x = x >= 'A' && x <= 'Z' ? (char)(x + 32) : x;
            y = y >= 'A' && y <= 'Z' ? (char)(y + 32) : y;
            size_t best = diagonal + (x != y);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[lb];
}

static size_t common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

const char *ss_nearest(const char *word, const char *const *names, size_t n)
{
    return ss_nearest_within(word, names, n, 1 + (strlen(word) - strspn(word, "-")) / 3);
}

const char *ss_nearest_within(const char *word, const char *const *names, size_t n, size_t most)
{
    const char *best = NULL;
    size_t len = strlen(word), best_distance = most + 1;
    if (len > 63)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = names[i] ? strlen(names[i]) : SIZE_MAX;
        if (other > 63 || (other > len ? other - len : len - other) > best_distance)
            continue;
        size_t d = distance(word, names[i]);
        /* "h80" is as far from h20 as from h800, but people leave out more than they mistype. */
        if (d < best_distance ||
            (best && d == best_distance && common_prefix(word, names[i]) > common_prefix(word, best))) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}

int ss_is_told_last(const char *list, const char *reason)
{
    const char *last = NULL;

    for (const char *at = strstr(list, reason); at; at = strstr(at + 1, reason))
        last = at + strlen(reason);
    for (const char *p = last ? strstr(last, ": ") : NULL; p; p = strstr(p + 1, ": "))
        if (strncmp(p, ": likewise", 10) != 0)
            return 0;
    return last != NULL;
}
