/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the kernels of a trace to the labels of its iterations. */
#include <errno.h>

#include "base/base.h"
#include "base/gzip.h"
#include "study/kineto.h"

#define REGULAR 0.8 /* a period's shortest gap is at least this share of its longest */

/* A moment at which a span begins or ends. */
struct point {
    double at;
    size_t span;
    int begins;
};

struct sweep {
    const struct ss_gpu_trace *t;
    struct ss_kineto *out;
    double longest; /* s: length of the longest span */
    struct point *point;
    size_t n, cap;
    int active[SS_GPU_WORK_COUNT];
    int active_label[SS_GPU_WORK_COUNT][SS_GPU_LABELS]; /* [work][label]: active transfers */
};

struct window {
    double from, to;
};

/* ---- one iteration ---- */

static int compare_points(const void *a, const void *b)
{
    const struct point *p = a, *q = b;

    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    return p->span < q->span ? -1 : p->span > q->span;
}

static struct ss_gpu_time *label_time(struct ss_kineto *out, int label)
{
    return label == SS_GPU_UNNAMED   ? &out->unnamed
           : label == SS_GPU_MESSAGE ? &out->messages
                                     : &out->label[label];
}

/* Charges `seconds` to the work that is active now. */
static void charge(struct sweep *s, double seconds)
{
    int top = 0, told = 0;

    while (top < SS_GPU_WORK_COUNT && s->active[top] == 0)
        top++;
    if (top == SS_GPU_WORK_COUNT) {
        s->out->idle += seconds;
        return;
    }
    s->out->work[top].exposed += seconds;
    for (int w = top + 1; w < SS_GPU_WORK_COUNT; w++)
        s->out->work[w].hidden += s->active[w] > 0 ? seconds : 0;
    for (int label = 0; label < SS_GPU_LABELS; label++) {
        int runs = 0, first = ss_gpu_work_is_comm(top) && !told && s->active_label[top][label] > 0;
        for (int w = SS_GPU_ALL_REDUCE; w <= SS_GPU_OTHER_COMM; w++)
            runs |= s->active_label[w][label] > 0;
        if (first)
            label_time(s->out, label)->exposed += seconds;
        else if (runs)
            label_time(s->out, label)->hidden += seconds;
        told |= first;
    }
}

static void change(struct sweep *s, const struct point *p)
{
    const struct ss_gpu_span *span = &s->t->span[p->span];
    int more = p->begins ? 1 : -1;

    s->active[span->work] += more;
    s->active_label[span->work][span->label] += more;
}

/* Returns the first span that begins at a moment or later. */
static size_t first_from(const struct ss_gpu_trace *t, double moment)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->span[middle].start < moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_points(struct sweep *s, const struct window *w)
{
    s->n = 0;
    for (size_t i = first_from(s->t, w->from - s->longest); i < s->t->n; i++) {
        const struct ss_gpu_span *span = &s->t->span[i];
        if (span->start >= w->to)
            break;
        double from = fmax(span->start, w->from), to = fmin(span->end, w->to);
        if (!(from < to))
            continue;
        if (ss_grow(&s->point, &s->cap, s->n + 2, sizeof *s->point))
            return SS_ERR_NOMEM;
        s->point[s->n++] = (struct point){from, i, 1};
        s->point[s->n++] = (struct point){to, i, 0};
        if (span->start < w->from)
            continue;
        s->out->work[span->work].calls++;
        if (ss_gpu_work_is_comm(span->work))
            label_time(s->out, span->label)->calls++;
    }
    return SS_OK;
}

/* Adds the times of a window. */
static int sweep_window(struct sweep *s, const struct window *w)
{
    double at = w->from;

    SS_TRY(add_points(s, w));
    if (s->n > 1)
        qsort(s->point, s->n, sizeof *s->point, compare_points);
    for (size_t i = 0; i < s->n; i++) {
        if (s->point[i].at > at)
            charge(s, s->point[i].at - at);
        at = s->point[i].at;
        change(s, &s->point[i]);
    }
    s->out->idle += w->to - at;
    s->out->iteration_s += w->to - w->from;
    return SS_OK;
}

/* ---- iterations ---- */

static int compare_steps(const void *a, const void *b)
{
    const struct ss_gpu_step *p = a, *q = b;

    if (p->on_gpu != q->on_gpu)
        return q->on_gpu - p->on_gpu;
    return (p->start > q->start) - (p->start < q->start);
}

/* Drops a step that stands there twice: some traces have it as an operator, too. */
static void drop_doubles(struct ss_gpu_trace *t)
{
    size_t kept = 0;

    qsort(t->step, t->nsteps, sizeof *t->step, compare_steps);
    for (size_t i = 0; i < t->nsteps; i++)
        if (kept == 0 || compare_steps(&t->step[i], &t->step[kept - 1]) != 0)
            t->step[kept++] = t->step[i];
    t->nsteps = kept;
}

static double last_end(const struct ss_gpu_trace *t)
{
    double end = t->span[0].end;

    for (size_t i = 1; i < t->n; i++)
        end = fmax(end, t->span[i].end);
    return end;
}

/* Finds the windows of steps. Each of several steps lasts to the beginning of the next, on the GPU's own time
 * line where the trace has it, because the CPU is ahead. The GPU's last step has no next one. A single step
 * has everything that was launched in it. */
static int windows_of_steps(struct ss_gpu_trace *t, struct window *w)
{
    size_t gpu = 0, n = 0;

    drop_doubles(t);
    while (gpu < t->nsteps && t->step[gpu].on_gpu)
        gpu++;
    if (gpu >= 3 || gpu == t->nsteps) {
        for (; n + 1 < gpu; n++)
            w[n] = (struct window){t->step[n].start, t->step[n + 1].start};
        if (gpu == 1)
            w[n++] = (struct window){t->step[0].start, fmax(t->step[0].end, last_end(t))};
        return (int)n;
    }
    const struct ss_gpu_step *step = t->step + gpu;
    size_t steps = t->nsteps - gpu;
    for (; n < steps; n++)
        w[n] = (struct window){step[n].start, n + 1 < steps ? step[n + 1].start : step[n].end};
    if (n == 1)
        w[0].to = fmax(w[0].to, last_end(t));
    return (int)n;
}

/* How often and when a kernel's name occurs. */
struct beat {
    double first, last, shortest, longest;
    int n;
};

static void count_beats(const struct ss_gpu_trace *t, struct beat *beats)
{
    for (size_t i = 0; i < t->n; i++) {
        struct beat *b = &beats[t->span[i].name];
        double at = t->span[i].start, gap = at - b->last;
        if (b->n++ == 0) {
            *b = (struct beat){at, at, INFINITY, 0, 1};
            continue;
        }
        b->shortest = fmin(b->shortest, gap);
        b->longest = fmax(b->longest, gap);
        b->last = at;
    }
}

/* Finds the kernel that runs once an iteration: it comes back after the longest time, at least three
 * times, and through half of the trace. */
static int find_period(const struct ss_gpu_trace *t, int *name)
{
    struct beat *beats = ss_calloc(t->nnames, sizeof *beats);
    double whole = t->span[t->n - 1].start - t->span[0].start, best = 0;

    *name = -1;
    if (!beats)
        return SS_ERR_NOMEM;
    count_beats(t, beats);
    for (size_t i = 0; i < t->nnames; i++) {
        const struct beat *b = &beats[i];
        double gap = b->n > 1 ? (b->last - b->first) / (b->n - 1) : 0;
        if (b->n < 3 || b->shortest < REGULAR * b->longest || b->last - b->first < whole / 2)
            continue;
        if (gap > best * (1 + 1e-9)) {
            best = gap;
            *name = (int)i;
        }
    }
    free(beats);
    return SS_OK;
}

static int windows_of_period(const struct ss_gpu_trace *t, int name, struct window *w)
{
    int n = 0;

    for (size_t i = 0; i < t->n; i++) {
        if (t->span[i].name != name)
            continue;
        if (n > 0)
            w[n - 1].to = t->span[i].start;
        w[n++].from = t->span[i].start;
    }
    return n - 1;
}

static int find_windows(struct ss_gpu_trace *t, struct window *w, struct ss_kineto *out)
{
    int name;

    if (t->nsteps > 0) {
        out->by = SS_KINETO_STEPS;
        out->found = windows_of_steps(t, w);
        return SS_OK;
    }
    if (find_period(t, &name))
        return SS_ERR_NOMEM;
    out->by = name >= 0 ? SS_KINETO_PERIOD : SS_KINETO_WHOLE;
    if (name >= 0) {
        ss_copy(out->period, sizeof out->period, t->names[name]);
        out->found = windows_of_period(t, name, w);
        return SS_OK;
    }
    w[0] = (struct window){t->span[0].start, last_end(t)};
    out->found = 1;
    return SS_OK;
}

/* ---- the trace ---- */

static int compare_spans(const void *a, const void *b)
{
    const struct ss_gpu_span *p = a, *q = b;

    if (p->start != q->start)
        return p->start < q->start ? -1 : 1;
    if (p->end != q->end)
        return p->end < q->end ? -1 : 1;
    return p->name != q->name ? p->name - q->name : p->work - q->work;
}

/* Keeps the GPU with the most kernels, because a rank has one GPU. */
static int keep_one_device(struct ss_gpu_trace *t, struct ss_kineto *out)
{
    size_t *count = ss_calloc(1 << 16, sizeof *count), kept = 0;
    int best = 0;

    if (!count)
        return SS_ERR_NOMEM;
    for (size_t i = 0; i < t->n; i++)
        count[(unsigned short)t->span[i].device]++;
    for (int d = 0; d < 1 << 16; d++) {
        out->gpus += count[d] > 0;
        if (count[d] > count[best])
            best = d;
    }
    out->gpu = best;
    for (size_t i = 0; i < t->n; i++)
        if ((unsigned short)t->span[i].device == best)
            t->span[kept++] = t->span[i];
    t->n = kept;
    free(count);
    return SS_OK;
}

static void divide(struct ss_gpu_time *time, double n)
{
    time->exposed /= n;
    time->hidden /= n;
    time->calls /= n;
}

static void take_means(struct ss_kineto *out)
{
    out->iteration_s /= out->used;
    out->idle /= out->used;
    for (int w = 0; w < SS_GPU_WORK_COUNT; w++)
        divide(&out->work[w], out->used);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        divide(&out->label[l], out->used);
    divide(&out->messages, out->used);
    divide(&out->unnamed, out->used);
}

static int sum_windows(struct ss_gpu_trace *t, const struct window *w, struct ss_kineto *out)
{
    struct sweep s = {.t = t, .out = out};
    int skipped = out->found > 2, rc = SS_OK; /* the first one starts the profiler */

    for (size_t i = 0; i < t->n; i++)
        s.longest = fmax(s.longest, t->span[i].end - t->span[i].start);
    s.longest *= 1 + 1e-9; /* the difference is rounded */
    out->used = out->found - skipped;
    for (int i = skipped; i < out->found && !rc; i++)
        rc = sweep_window(&s, &w[i]);
    free(s.point);
    if (!rc)
        take_means(out);
    return rc;
}

/* Sums up the spans of a trace to the times of an iteration, and sorts the spans. Errors: SS_ERR_INPUT,
 * SS_ERR_NOMEM. */
static int kineto_sum(struct ss_gpu_trace *t, const char *file, struct ss_kineto *out, struct ss_error *err)
{
    if (t->n == 0)
        return ss_fail(err, SS_ERR_INPUT, file, 0,
                       "no kernel of a GPU is in this trace" SS_HINT
                       "profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
    struct window *w = ss_calloc((t->n > t->nsteps ? t->n : t->nsteps) + 1, sizeof *w);
    int rc = w ? keep_one_device(t, out) : SS_ERR_NOMEM;
    if (!rc) {
        qsort(t->span, t->n, sizeof *t->span, compare_spans);
        out->kernels = (long)t->n;
        rc = find_windows(t, w, out);
    }
    if (!rc && out->found > 0)
        rc = sum_windows(t, w, out);
    free(w);
    if (rc)
        return ss_fail(err, rc, file, 0, "no memory for %zu kernels", t->n);
    if (!(out->iteration_s > 0))
        return ss_fail(err, SS_ERR_INPUT, file, 0, "no iteration: its steps take no time");
    return SS_OK;
}

/* ---- files ---- */

int ss_gpu_trace_add(struct ss_gpu_trace *t, const char *name, struct ss_gpu_span span)
{
    uint64_t key = ss_hash(SS_HASH_INIT, name, strlen(name));

    span.name = ss_map_put(&t->index, key, (int)t->nnames);
    if (span.name < 0 || ss_grow(&t->span, &t->cap, t->n + 1, sizeof *t->span))
        return SS_ERR_NOMEM;
    if (span.name == (int)t->nnames) {
        if (ss_grow(&t->names, &t->name_cap, t->nnames + 1, sizeof *t->names))
            return SS_ERR_NOMEM;
        ss_copy(t->names[t->nnames++], sizeof *t->names, name);
    }
    t->span[t->n++] = span;
    return SS_OK;
}

static void free_trace(struct ss_gpu_trace *t)
{
    ss_map_free(&t->index);
    SS_FREE(t->span, t->step, t->names);
}

static int read_stream(FILE *in, const char *name, ss_trace_reader reader, struct ss_kineto *out,
                       struct ss_error *err)
{
    struct ss_gpu_trace t = {0};

    memset(out, 0, sizeof *out);
    out->rank = out->world = -1;
    int rc = reader(in, name, &t, out, err);
    if (ferror(in))
        rc = errno == EBADMSG ? ss_fail(err, SS_ERR_INPUT, name, 0, "its gzip text is cut or damaged")
                              : ss_fail(err, SS_ERR_IO, name, 0, "cannot read: %s", strerror(errno));
    SS_THEN(rc, kineto_sum(&t, name, out, err));
    free_trace(&t);
    return rc;
}

int ss_trace_load(const char *path, ss_trace_reader reader, struct ss_kineto *out, struct ss_error *err)
{
    FILE *under, *in;

    SS_TRY(ss_file_open(path, &under, err));
    in = ss_gunzip_open(under);
    int rc = in ? read_stream(in, path, reader, out, err) : ss_nomem(err);
    if (in)
        fclose(in);
    fclose(under);
    return rc;
}

int ss_trace_parse(const char *text, unsigned long len, const char *name, ss_trace_reader reader,
                   struct ss_kineto *out, struct ss_error *err)
{
    /* A stream of no bytes is refused by fmemopen. */
    FILE *in = fmemopen((void *)(uintptr_t)(len ? text : " "), len ? len : 1, "rb");

    SS_NEED(in, err);
    int rc = read_stream(in, name, reader, out, err);
    fclose(in);
    return rc;
}
