/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of Megatron's training loop, old and new:
 *   iteration 20/ 100 | ... | elapsed time per iteration (ms): 5410.6 | throughput per GPU (TFLOP/s/GPU): 241.4 | ...
 *   [Rank 1] (after 1 iterations) memory (MB) | allocated: 54250.9 | max allocated: 54251.0 | reserved: ... | max reserved: ...
 *   time (ms) | forward-compute: 193.77 | backward-compute: 73.02
 *   forward-compute ................................: (1204.9, 1211.3)
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
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
    size_t timer_cap;
    int in_timers; /* below "time across ranks" */
    struct ss_error *err;
};

static int out_of_memory(struct reader *r)
{
    return ss_fail(r->err, SS_ERR_NOMEM, r->file, 0, "out of memory");
}

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
        return out_of_memory(r);
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

static int set_timer(struct reader *r, const char *name, size_t len, double ms)
{
    struct ss_train_log *log = r->log;

    if (len == 0 || len >= sizeof log->timers[0].name)
        return SS_OK;
    for (int i = 0; i < log->ntimers; i++)
        if (strlen(log->timers[i].name) == len && !strncmp(log->timers[i].name, name, len)) {
            log->timers[i].seconds = ms / 1e3;
            return SS_OK;
        }
    if (log->ntimers == MAX_TIMERS)
        return SS_OK;
    if (ss_grow(&log->timers, &r->timer_cap, (size_t)log->ntimers + 1, sizeof *log->timers))
        return out_of_memory(r);
    memset(&log->timers[log->ntimers], 0, sizeof *log->timers);
    memcpy(log->timers[log->ntimers].name, name, len);
    log->timers[log->ntimers++].seconds = ms / 1e3;
    return SS_OK;
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
            rc = set_timer(r, p, n, ms);
    }
    return rc;
}

/* "    name ....: (min, max)": the largest over the ranks */
static int read_timer_row(struct reader *r, const char *line)
{
    const char *p = line + strspn(line, " \t"), *open;
    size_t n = name_length(p);
    double ms;

    open = strstr(p, ": (");
    if (!n || !open || p[n + strspn(p + n, " .")] != ':') {
        r->in_timers = *p == '\0' || *p == '\r';
        return SS_OK;
    }
    return number_after(open, ",", &ms) ? set_timer(r, p, n, ms) : SS_OK;
}

static int read_line(void *ctx, char *line)
{
    struct reader *r = ctx;
    int rc;

    if (strstr(line, "time across ranks (ms)")) {
        r->in_timers = 1;
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
    ss_study_sort(value, n);
    return ss_study_median(value, n);
}

/* The first lines hold compilation, autotuning and cold caches. */
static size_t warmup(size_t n)
{
    return n >= 10 ? n / 5 : n >= 3 ? 1 : 0;
}

static int finish(struct reader *r)
{
    struct ss_train_log *log = r->log;
    size_t skip = warmup(r->ms.n);

    if (!r->ms.n) {
        ss_fail(r->err, SS_ERR_INPUT, r->file, 0, "no \"elapsed time per iteration (ms)\"");
        return ss_hint(r->err, SS_ERR_INPUT,
                       "give what the rank that logs printed, as Megatron-LM or NeMo writes it");
    }
    log->iterations = (int)r->ms.n;
    log->used = (int)(r->ms.n - skip);
    log->seconds = median(&r->ms, skip) / 1e3;
    for (int i = 0; i < log->used; i++)
        r->ms.value[skip + (size_t)i] = fabs(r->ms.value[skip + (size_t)i] - 1e3 * log->seconds);
    log->spread = median(&r->ms, skip) / (1e3 * log->seconds);
    log->tflops = median(&r->tflops, warmup(r->tflops.n));
    return SS_OK;
}

/* text NULL: the file of that name */
static int read_all(const char *name, const char *text, unsigned long len, struct ss_train_log **out,
                    struct ss_error *err)
{
    struct reader r = {.file = name, .err = err};
    int rc;

    r.log = ss_calloc(1, sizeof *r.log);
    rc = r.log ? ss_log_read(name, text, len, read_line, &r, err) : out_of_memory(&r);
    if (!rc)
        rc = finish(&r);
    free(r.ms.value);
    free(r.tflops.value);
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
