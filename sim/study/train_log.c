/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of Megatron's training loop, old and new:
 *   iteration 20/ 100 | ... | elapsed time per iteration (ms): 5410.6 | throughput per GPU (TFLOP/s/GPU): 241.4 | ...
 *   [Rank 1] (after 1 iterations) memory (MB) | allocated: 54250.9 | max allocated: 54251.0 | reserved: ... | max reserved: ...
 *   time (ms) | forward-compute: 193.77 | backward-compute: 73.02
 *   forward-compute ................................: (1204.9, 1211.3)
 *   forward-compute ................................: 1211.3
 *   forward-compute:
 *      rank  0: 1204.9
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/stats.h"
#include "study/study_internal.h"

#define MAX_TIMERS 256

struct series {
    double *value;
    size_t n, cap;
};

struct reader {
    const char *file;
    struct ss_train_log *log;
    struct series ms, tflops;
    struct series timers[MAX_TIMERS]; /* of log->timers; one printing a value */
    size_t timer_cap;
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

static int push(struct reader *r, struct series *s, double value)
{
    if (ss_grow(&s->value, &s->cap, s->n + 1, sizeof *s->value))
        return ss_nomem(r->err);
    s->value[s->n++] = value;
    return SS_OK;
}

static int read_iteration(struct reader *r, const char *line)
{
    static const char *const rates[] = {"throughput per GPU (TFLOP/s/GPU):", "TFLOPs:", "TFLOP/s/GPU:"};
    double value;
    int rc;

    if (!number_after(line, "elapsed time per iteration (ms):", &value) || !(value > 0))
        return SS_OK;
    rc = push(r, &r->ms, value);
    for (size_t i = 0; i < SS_ARRAY_LEN(rates) && !rc; i++)
        if (number_after(line, rates[i], &value) && value > 0) {
            rc = push(r, &r->tflops, value);
            break;
        }
    if (number_after(line, "global batch size:", &value) && value < 1e9)
        r->log->global_batch = (int)value;
    return rc;
}

static void read_memory(struct reader *r, const char *line)
{
    double value;

    if (!strstr(line, "memory (MB)"))
        return;
    if (number_after(line, "max allocated:", &value))
        r->log->allocated = fmax(r->log->allocated, value * SS_MIB);
    if (number_after(line, "max reserved:", &value))
        r->log->reserved = fmax(r->log->reserved, value * SS_MIB);
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
    if (ss_grow(&log->timers, &r->timer_cap, (size_t)log->ntimers + 1, sizeof *log->timers))
        return ss_nomem(r->err);
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
    struct series *s = &r->timers[r->of_ranks];
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

static int read_line(void *ctx, char *line, int number)
{
    struct reader *r = ctx;
    int rc;

    (void)number;
    if (strstr(line, "time across ranks (ms)") || strstr(line, "times across ranks (ms)")) {
        r->in_timers = 1;
        r->of_ranks = -1;
        return SS_OK;
    }
    if (strstr(line, "time (ms)"))
        return read_timer_line(r, line);
    rc = read_iteration(r, line);
    read_memory(r, line);
    return rc || !r->in_timers ? rc : read_timer_row(r, line);
}

/* Of those behind the first `skip`, which it sorts; 0 of none. */
static double median(const struct series *s, size_t skip)
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

/* Medians, as of the iterations. A timer of which no rank's value follows is none. */
static void finish_timers(struct reader *r)
{
    struct ss_train_log *log = r->log;
    int kept = 0;

    for (int i = 0; i < log->ntimers; i++) {
        struct series *s = &r->timers[i];
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

static int finish(struct reader *r)
{
    struct ss_train_log *log = r->log;
    size_t skip = warmup(r->ms.n);

    if (!r->ms.n) {
        ss_fail(r->err, SS_ERR_INPUT, r->file, 0, "no \"elapsed time per iteration (ms)\"");
        return ss_hint(r->err, SS_ERR_INPUT,
                       "give what the rank that logs printed, as Megatron-LM writes it");
    }
    log->iterations = (int)r->ms.n;
    log->used = (int)(r->ms.n - skip);
    log->seconds = median(&r->ms, skip) / 1e3;
    for (int i = 0; i < log->used; i++)
        r->ms.value[skip + (size_t)i] = fabs(r->ms.value[skip + (size_t)i] - 1e3 * log->seconds);
    log->spread = median(&r->ms, skip) / (1e3 * log->seconds);
    log->tflops = median(&r->tflops, warmup(r->tflops.n));
    finish_timers(r);
    return SS_OK;
}

/* text NULL: the file of that name */
static int read_all(const char *name, const char *text, unsigned long len, struct ss_train_log **out,
                    struct ss_error *err)
{
    struct reader r = {.file = name, .of_ranks = -1, .err = err};
    int rc;

    r.log = ss_calloc(1, sizeof *r.log);
    rc = r.log ? ss_log_read(name, text, len, read_line, &r, err) : ss_nomem((&r)->err);
    SS_THEN(rc, finish(&r));
    free(r.ms.value);
    free(r.tflops.value);
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
    free(log->timers);
    free(log);
}
