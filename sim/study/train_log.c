/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of training loops. Figures of an iteration are the rows of log_lines.c; timers are Megatron's, old and new:
 *   time (ms) | forward-compute: 193.77 | backward-compute: 73.02
 *   forward-compute ................................: (1204.9, 1211.3)
 *   forward-compute ................................: 1211.3
 *   forward-compute:
 *      rank  0: 1204.9
 */
#include "base/base.h"
#include "base/stats.h"
#include "study/log_lines.h"
#include "study/study_internal.h"

#define MAX_TIMERS 256

struct reader {
    const char *file;
    struct ss_train_log *log;
    struct ss_log_series figures[SS_LOG_ROWS_MOST]; /* of the rows of log_lines.c */
    struct ss_log_series timers[MAX_TIMERS];        /* of log->timers; one printing a value */
    size_t timer_cap;
    int number;    /* of the line, from 1 */
    int in_timers; /* below "time across ranks" or "times across ranks" */
    int of_ranks;  /* timer whose ranks' lines follow, -1 = none */
    struct ss_error *err;
};

/* The number behind `key`, which may have blanks before it. */
static int number_after(const char *line, const char *key, double *out)
{
    const char *at = strstr(line, key);
    char text[40];
    size_t n;

    if (!at)
        return 0;
    at += strlen(key);
    at += strspn(at, " \t");
    n = strspn(at, "0123456789.eE+-");
    if (n == 0 || n >= sizeof text)
        return 0;
    memcpy(text, at, n);
    text[n] = '\0';
    return !ss_parse_double(text, out) && *out >= 0 && *out < 1e15;
}

static int push(struct reader *r, struct ss_log_series *s, double value)
{
    SS_NEED(!ss_grow(&s->value, &s->cap, s->n + 1, sizeof *s->value), r->err);
    s->value[s->n++] = value;
    return SS_OK;
}

static void note_unread(struct ss_train_log *log, const char *line, int number)
{
    if (!log->unread++) {
        log->unread_line = number;
        ss_copy(log->unread_text, sizeof log->unread_text, line + strspn(line, " \t"));
    }
}

static int read_figures(struct reader *r, const char *line)
{
    double value;
    int rc = SS_OK, found = 0; /* bits of enum ss_told */

    for (int i = 0; i < ss_log_row_count() && !rc; i++) {
        const struct ss_log_row *row = ss_log_row_at(i);
        if ((found >> row->told & 1) || !ss_log_row_read(row, line, &value))
            continue;
        found |= 1 << row->told;
        rc = push(r, &r->figures[i], value);
    }
    if (!(found & ((1 << SS_TOLD_RATES) - 1)) && !r->in_timers && ss_log_line_looks(line))
        note_unread(r->log, line, r->number);
    return rc;
}

/* The timer of that name, new or known; *index -1 where there is no room for it. */
static int find_timer(struct reader *r, const char *name, size_t len, int *index)
{
    struct ss_train_log *log = r->log;

    *index = -1;
    if (len == 0 || len >= sizeof log->timers[0].name)
        return SS_OK;
    for (int i = 0; i < log->ntimers; i++)
        if (strlen(log->timers[i].name) == len && !strncmp(log->timers[i].name, name, len)) {
            *index = i;
            return SS_OK;
        }
    if (log->ntimers == MAX_TIMERS)
        return SS_OK;
    SS_NEED(!ss_grow(&log->timers, &r->timer_cap, (size_t)log->ntimers + 1, sizeof *log->timers), r->err);
    memset(&log->timers[log->ntimers], 0, sizeof *log->timers);
    memcpy(log->timers[log->ntimers].name, name, len);
    *index = log->ntimers++;
    return SS_OK;
}

static int add_timer(struct reader *r, const char *name, size_t len, double ms)
{
    int index, rc = find_timer(r, name, len, &index);

    return rc || index < 0 ? rc : push(r, &r->timers[index], ms);
}

static size_t name_length(const char *p)
{
    size_t n = 0;

    while (isalnum((unsigned char)p[n]) || p[n] == '-' || p[n] == '_')
        n++;
    return n;
}

/* " | name: value | name: value" */
static int read_timer_line(struct reader *r, const char *line)
{
    int rc = SS_OK;

    for (const char *p = strchr(line, '|'); p && !rc; p = strchr(p, '|')) {
        double ms;
        size_t n;
        p++;
        p += strspn(p, " ");
        n = name_length(p);
        if (p[n] == ':' && number_after(p + n, ":", &ms))
            rc = add_timer(r, p, n, ms);
    }
    return rc;
}

/* "     rank  0: value", below "  name:": the largest over the ranks */
static int read_rank(struct reader *r, const char *p)
{
    struct ss_log_series *s = &r->timers[r->of_ranks];
    double ms;

    if (!number_after(p, ":", &ms))
        return SS_OK;
    if (isnan(s->value[s->n - 1]) || ms > s->value[s->n - 1])
        s->value[s->n - 1] = ms;
    return SS_OK;
}

/* "    name ....: (min, max)" or "    name ....: max": the largest over the ranks */
static int read_timer_row(struct reader *r, const char *line)
{
    const char *p = line + strspn(line, " \t"), *colon;
    size_t n = name_length(p);
    double ms;
    int rc;

    if (r->of_ranks >= 0 && !strncmp(p, "rank ", 5))
        return read_rank(r, p);
    r->of_ranks = -1;
    colon = p + n + strspn(p + n, " .");
    if (!n || *colon != ':') {
        r->in_timers = *p == '\0' || *p == '\r';
        return SS_OK;
    }
    if (colon[1 + strspn(colon + 1, " \r")] == '\0') {
        rc = find_timer(r, p, n, &r->of_ranks);
        return rc || r->of_ranks < 0 ? rc : push(r, &r->timers[r->of_ranks], NAN);
    }
    return number_after(colon, strncmp(colon, ": (", 3) == 0 ? "," : ":", &ms) ? add_timer(r, p, n, ms)
                                                                               : SS_OK;
}

/* Takes colours of a terminal out of a line. */
static void drop_colours(char *line)
{
    char *to = line;

    for (const char *p = line; *p; p++) {
        if (*p == '\033' && p[1] == '[')
            p += 1 + strcspn(p + 1, "ABCDHJKfhlmn");
        else
            *to++ = *p;
        if (!*p)
            break;
    }
    *to = '\0';
}

static int read_part(struct reader *r, const char *line)
{
    if (strstr(line, "time across ranks (ms)") || strstr(line, "times across ranks (ms)")) {
        r->in_timers = 1;
        r->of_ranks = -1;
        return SS_OK;
    }
    if (strstr(line, "time (ms)"))
        return read_timer_line(r, line);
    int rc = read_figures(r, line);
    return rc || !r->in_timers ? rc : read_timer_row(r, line);
}

/* A line; progress bars write several over each other. */
static int read_line(void *ctx, char *line, int number)
{
    struct reader *r = ctx;
    char *next;
    int rc = SS_OK;

    r->number = number;
    drop_colours(line);
    for (char *at = line; at && !rc; at = next) {
        next = strchr(at, '\r');
        if (next)
            *next++ = '\0';
        rc = *at || at == line ? read_part(r, at) : SS_OK;
    }
    return rc;
}

/* Returns the median of the values behind the first `skip`, which it sorts; 0 for none. */
static double median(const struct ss_log_series *s, size_t skip)
{
    double *value;
    size_t n = s->n - skip;

    if (!n)
        return 0;
    value = s->value + skip;
    ss_sort(value, n);
    return ss_median(value, n);
}

/* The first lines hold compilation, autotuning and cold caches. */
static size_t warmup(size_t n)
{
    return n >= 10 ? n / 5 : n >= 3 ? 1 : 0;
}

/* Finds medians, as for the iterations. A timer without a value of a rank is dropped. */
static void finish_timers(struct reader *r)
{
    struct ss_train_log *log = r->log;
    int kept = 0;

    for (int i = 0; i < log->ntimers; i++) {
        struct ss_log_series *s = &r->timers[i];
        size_t n = 0;
        for (size_t k = 0; k < s->n; k++)
            if (!isnan(s->value[k]))
                s->value[n++] = s->value[k];
        s->n = n;
        if (!n)
            continue;
        log->timers[kept] = log->timers[i];
        log->timers[kept++].seconds = median(s, warmup(n)) / 1e3;
    }
    log->ntimers = kept;
}

static double largest(const struct ss_log_series *s)
{
    double most = 0;

    for (size_t i = 0; i < s->n; i++)
        most = fmax(most, s->value[i]);
    return most;
}

/* The row that tells a figure: the first one that has any, of the framework of the log where one is known. -1: none. */
static int row_of(const struct reader *r, int told, int logger)
{
    int first = -1;

    for (int i = 0; i < ss_log_row_count(); i++) {
        if (ss_log_row_at(i)->told != told || !r->figures[i].n)
            continue;
        if (ss_log_row_at(i)->logger == logger)
            return i;
        first = first < 0 ? i : first;
    }
    return first;
}

static int is_of_whole_run(const struct ss_log_row *row)
{
    return !strncmp(row->key, "train_", 6) && row->logger == SS_LOGGER_TRAINER;
}

/* Describes the log by the series of its first figure, which median() has sorted. */
static void describe(struct ss_train_log *log, const struct ss_log_row *row, struct ss_log_series *s)
{
    size_t skip = warmup(s->n);
    double middle = log->told[row->told];

    log->logger = row->logger;
    log->whole_run = is_of_whole_run(row);
    log->iterations = (int)s->n;
    log->used = (int)(s->n - skip);
    for (size_t i = skip; i < s->n; i++)
        s->value[i] = fabs(s->value[i] - middle);
    log->spread = median(s, skip) / middle;
}

/* DeepSpeed's wall clock breakdown: forward, backward and step are the iteration. */
static void add_up_timers(struct reader *r)
{
    static const char *const parts[] = {"fwd", "bwd", "step"};
    double sum = 0;
    int n = 0;

    for (int i = 0; i < r->log->ntimers; i++)
        for (size_t k = 0; k < SS_ARRAY_LEN(parts); k++)
            if (!strcmp(r->log->timers[i].name, parts[k])) {
                sum += r->log->timers[i].seconds;
                n++;
            }
    if (n < 3)
        return;
    r->log->told[SS_TOLD_SECONDS] = sum;
    r->log->logger = SS_LOGGER_DEEPSPEED;
    r->log->iterations = r->log->used = 1;
}

static void finish_figures(struct reader *r)
{
    struct ss_train_log *log = r->log;

    for (int told = 0; told < SS_TOLD_COUNT; told++) {
        int i = row_of(r, told, log->logger);
        struct ss_log_series *s = i < 0 ? NULL : &r->figures[i];
        if (!s)
            continue;
        double last = s->value[s->n - 1];
        if (told == SS_TOLD_SECONDS)
            log->micro = (ss_log_row_at(i)->way & SS_LOG_MICRO) != 0;
        log->told[told] = told < SS_TOLD_RATES   ? median(s, warmup(s->n))
                          : told < SS_TOLD_BATCH ? largest(s)
                                                 : last;
        if (told == SS_TOLD_TFLOPS || (told == SS_TOLD_MFU && !log->told[SS_TOLD_TFLOPS]))
            log->count = ss_log_row_at(i)->count;
        if (!log->iterations && told < SS_TOLD_RATES)
            describe(log, ss_log_row_at(i), s);
    }
}

static int finish(struct reader *r)
{
    struct ss_train_log *log = r->log;

    finish_timers(r);
    ss_log_doubts_find(r->figures, log);
    finish_figures(r);
    if (!log->told[SS_TOLD_SECONDS])
        add_up_timers(r);
    if (!log->iterations) {
        if (log->unread)
            ss_fail(r->err, SS_ERR_INPUT, r->file, log->unread_line,
                    "a speed as no known logger writes it: \"%.60s\"", log->unread_text);
        else
            ss_fail(r->err, SS_ERR_INPUT, r->file, 0,
                    "no line tells the time of an iteration, tokens/s, samples/s or TFLOP/s");
        return ss_hint(
            r->err, SS_ERR_INPUT,
            log->unread
                ? "give the figure itself, with a decimal point: --measured 7.61s, --tokens-per-second 56000 "
                  "or "
                  "7000/gpu, --tflops 411, --mfu 41%%"
                : "give what the rank that logs printed: Megatron-LM, Megatron-Bridge, NeMo, GPT-NeoX, "
                  "torchtitan, nanotron, DeepSpeed or Trainer");
    }
    log->seconds = log->told[SS_TOLD_SECONDS];
    log->tflops = log->told[SS_TOLD_TFLOPS];
    log->allocated = log->told[SS_TOLD_ALLOCATED];
    log->reserved = log->told[SS_TOLD_RESERVED];
    log->global_batch = log->told[SS_TOLD_BATCH] < 1e9 ? (int)log->told[SS_TOLD_BATCH] : 0;
    return SS_OK;
}

/* text NULL: the file of that name */
static int read_all(const char *name, const char *text, unsigned long len, struct ss_train_log **out,
                    struct ss_error *err)
{
    struct reader r = {.file = name, .of_ranks = -1, .err = err};

    r.log = ss_calloc(1, sizeof *r.log);
    int rc = r.log ? ss_log_read(name, text, len, read_line, &r, err) : ss_nomem((&r)->err);
    SS_THEN(rc, finish(&r));
    for (int i = 0; i < SS_LOG_ROWS_MOST; i++)
        free(r.figures[i].value);
    for (int i = 0; i < MAX_TIMERS; i++)
        free(r.timers[i].value);
    if (rc)
        ss_train_log_free(r.log);
    else
        *out = r.log;
    return rc;
}

int ss_train_log_parse(const char *text, unsigned long len, const char *name, struct ss_train_log **out,
                       struct ss_error *err)
{
    return read_all(name, text, len, out, err);
}

int ss_train_log_load(const char *path, struct ss_train_log **out, struct ss_error *err)
{
    return read_all(path, NULL, 0, out, err);
}

void ss_train_log_free(struct ss_train_log *log)
{
    if (!log)
        return;
    SS_FREE(log->timers, log);
}
