/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the events of a Kineto trace: the work of the GPU, and the steps of the profiler. */
#include "study/kineto.h"

#include "base/base.h"
#include "study/json_stream.h"

#define LONGEST_US 1e15 /* thirty years: a time beyond it is none */

/* The fields of an event that are read. */
struct event {
    char name[1024], cat[32], ph[4], collective[64], group[128];
    double start, dur; /* us, from the first event; NAN: not told */
    int device, pid;   /* -1: not told */
};

struct reader {
    struct ss_json_stream json;
    struct ss_gpu_trace *t;
    struct ss_kineto *out;
    int64_t base; /* us: time of the first event that has one */
    int based, has_events;
    struct event event;
};

static int no_memory(const struct reader *r)
{
    return ss_nomem(r->json.err);
}

/* ---- values: the token is at hand ---- */

static int take_text(struct reader *r, char *out, size_t size)
{
    int token = ss_json_stream_token(&r->json);

    if (token != SS_JSON_TEXT)
        return ss_json_stream_skip_rest(&r->json, token);
    ss_copy(out, size, r->json.text);
    return SS_OK;
}

/* Takes a number, which may stand in quotes. */
static int take_number(struct reader *r, double *out)
{
    int token = ss_json_stream_token(&r->json);
    double value;

    if (token != SS_JSON_NUMBER && token != SS_JSON_TEXT)
        return ss_json_stream_skip_rest(&r->json, token);
    if (!ss_parse_double(r->json.text, &value))
        *out = value;
    return SS_OK;
}

static int take_index(struct reader *r, int *out)
{
    double value = -1;
    int rc = take_number(r, &value);

    if (value >= 0 && value < 30000)
        *out = (int)value;
    return rc;
}

/* Takes a time. Microseconds since an epoch have more digits than a double, so whole microseconds are
 * counted from the first event. */
static int take_time(struct reader *r, double *out)
{
    double value = NAN;
    int rc = take_number(r, &value);
    const char *dot = strchr(r->json.text, '.');

    if (rc || !(fabs(value) < 9e18))
        return rc;
    int64_t whole = strpbrk(r->json.text, "eE") ? (int64_t)value : strtoll(r->json.text, NULL, 10);
    double rest = dot && !strpbrk(dot, "eE") ? strtod(dot, NULL) : 0;
    if (!r->based) {
        r->base = whole;
        r->based = 1;
    }
    *out = (double)(whole - r->base) + (value < 0 ? -rest : rest);
    return SS_OK;
}

/* ---- what an event is ---- */

static int add_span(struct reader *r, int work, int label)
{
    const struct event *e = &r->event;
    const struct ss_gpu_span span = {.start = 1e-6 * e->start,
                                     .end = 1e-6 * (e->start + e->dur),
                                     .device = (short)(e->device >= 0 ? e->device : e->pid),
                                     .work = (signed char)work,
                                     .label = (signed char)label};

    return ss_gpu_trace_add(r->t, e->name, span) ? no_memory(r) : SS_OK;
}

static int add_step(struct reader *r)
{
    const struct event *e = &r->event;
    struct ss_gpu_step step = {1e-6 * e->start, 1e-6 * (e->start + e->dur), e->cat[0] == 'g'};

    if (ss_grow(&r->t->step, &r->t->step_cap, r->t->nsteps + 1, sizeof step))
        return no_memory(r);
    r->t->step[r->t->nsteps++] = step;
    return SS_OK;
}

static int add_kernel(struct reader *r)
{
    const struct event *e = &r->event;
    int work = ss_kineto_kind(e->name, e->collective);

    return add_span(r, work, ss_kineto_label(work, e->name, e->group));
}

static int is_one_of(const char *text, const char *a, const char *b)
{
    return !strcmp(text, a) || !strcmp(text, b);
}

/* Clears the present event, of which nothing is known yet. */
static void clear_event(struct reader *r)
{
    struct event *e = &r->event;

    e->name[0] = e->cat[0] = e->ph[0] = e->collective[0] = e->group[0] = '\0';
    e->start = e->dur = NAN;
    e->device = e->pid = -1;
}

static int take_event(struct reader *r)
{
    const struct event *e = &r->event;

    if (strcmp(e->ph, "X") != 0 || !(e->dur >= 0 && e->dur < LONGEST_US && fabs(e->start) < LONGEST_US))
        return SS_OK;
    if (is_one_of(e->cat, "kernel", "Kernel"))
        return add_kernel(r);
    if (is_one_of(e->cat, "gpu_memcpy", "Memcpy"))
        return add_span(r, ss_kineto_copy(e->name), SS_GPU_UNNAMED);
    if (is_one_of(e->cat, "gpu_memset", "Memset"))
        return add_span(r, SS_GPU_VECTOR, SS_GPU_UNNAMED);
    if (!strncmp(e->name, "ProfilerStep#", 13))
        return add_step(r);
    return SS_OK;
}

/* ---- the document ---- */

/* Takes the field whose key was read; its value comes next. */
typedef int (*take_field)(struct reader *r, const char *key);

/* Refuses a key that is read and was in this object before; seen: a bit for each of these keys. */
static int check_again(struct reader *r, unsigned *seen)
{
    static const char *const keys[] = {"name",
                                       "cat",
                                       "ph",
                                       "ts",
                                       "dur",
                                       "pid",
                                       "args",
                                       "device",
                                       "rank",
                                       "world_size",
                                       "traceEvents",
                                       "Collective name",
                                       "Process Group Description"};

    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++)
        if (!strcmp(r->json.text, keys[i])) {
            if (*seen >> i & 1)
                return ss_json_stream_fail(&r->json, "\"%s\" is there twice", keys[i]);
            *seen |= 1u << i;
            return SS_OK;
        }
    return SS_OK;
}

/* Reads the fields of an object whose first token was read. Passes over any other value. */
static int read_object(struct reader *r, int token, take_field take)
{
    int first = 1, more = 0, rc = SS_OK;
    unsigned seen = 0;

    if (token != SS_JSON_OBJECT)
        return ss_json_stream_skip_rest(&r->json, token);
    while (!rc && (more = ss_json_stream_key(&r->json, &first)) == 1) {
        rc = check_again(r, &seen);
        SS_THEN(rc, take(r, r->json.text));
    }
    return rc ? rc : more;
}

/* Reads the fields of each object in a list in this way, and calls `end`, unless NULL, behind each object. */
static int read_list(struct reader *r, int token, take_field take, int (*end)(struct reader *r))
{
    int first = 1, more = 0, rc = SS_OK;

    if (token != SS_JSON_ARRAY)
        return ss_json_stream_skip_rest(&r->json, token);
    while (!rc && (more = ss_json_stream_item(&r->json, &first)) == 1) {
        rc = read_object(r, ss_json_stream_token(&r->json), take);
        if (!rc && end)
            rc = end(r);
    }
    return rc ? rc : more;
}

static int take_argument(struct reader *r, const char *key)
{
    struct event *e = &r->event;

    if (!strcmp(key, "device"))
        return take_index(r, &e->device);
    if (!strcmp(key, "Collective name"))
        return take_text(r, e->collective, sizeof e->collective);
    return strcmp(key, "Process Group Description") ? ss_json_stream_skip(&r->json)
                                                    : take_text(r, e->group, sizeof e->group);
}

static int take_of_event(struct reader *r, const char *key)
{
    struct event *e = &r->event;

    if (!strcmp(key, "name"))
        return take_text(r, e->name, sizeof e->name);
    if (!strcmp(key, "cat"))
        return take_text(r, e->cat, sizeof e->cat);
    if (!strcmp(key, "ph"))
        return take_text(r, e->ph, sizeof e->ph);
    if (!strcmp(key, "ts"))
        return take_time(r, &e->start);
    if (!strcmp(key, "dur"))
        return take_number(r, &e->dur);
    if (!strcmp(key, "pid"))
        return take_index(r, &e->pid);
    return strcmp(key, "args") ? ss_json_stream_skip(&r->json)
                               : read_object(r, ss_json_stream_token(&r->json), take_argument);
}

/* Takes "distributedInfo": {"rank": 3, "world_size": 8}. */
static int take_rank(struct reader *r, const char *key)
{
    int *to = !strcmp(key, "rank") ? &r->out->rank : !strcmp(key, "world_size") ? &r->out->world : NULL;
    double number = -1;
    int rc = to ? take_number(r, &number) : ss_json_stream_skip(&r->json);

    if (to && number >= 0 && number < 1 << 24)
        *to = (int)number;
    return rc;
}

/* Takes the name of the first device: "deviceProperties": [{"name": "NVIDIA H800"}]. */
static int take_device(struct reader *r, const char *key)
{
    return !strcmp(key, "name") && !r->out->device[0] ? take_text(r, r->out->device, sizeof r->out->device)
                                                      : ss_json_stream_skip(&r->json);
}

static int end_event(struct reader *r)
{
    int rc = take_event(r);

    clear_event(r);
    return rc;
}

static int read_events(struct reader *r, int token)
{
    r->has_events |= token == SS_JSON_ARRAY;
    clear_event(r);
    return read_list(r, token, take_of_event, end_event);
}

static int take_of_document(struct reader *r, const char *key)
{
    if (!strcmp(key, "distributedInfo"))
        return read_object(r, ss_json_stream_token(&r->json), take_rank);
    if (!strcmp(key, "deviceProperties"))
        return read_list(r, ss_json_stream_token(&r->json), take_device, NULL);
    return strcmp(key, "traceEvents") ? ss_json_stream_skip(&r->json)
                                      : read_events(r, ss_json_stream_token(&r->json));
}

static int read_document(struct reader *r)
{
    int token = ss_json_stream_token(&r->json);

    if (token == SS_JSON_ARRAY)
        return read_events(r, token);
    if (token != SS_JSON_OBJECT)
        return token < 0 ? token : ss_json_stream_fail(&r->json, "no trace: it is no JSON object");
    int rc = read_object(r, token, take_of_document);
    return rc || r->has_events ? rc : ss_json_stream_fail(&r->json, "no trace: it has no \"traceEvents\"");
}

static int read_trace(FILE *in, const char *name, struct ss_gpu_trace *t, struct ss_kineto *out,
                      struct ss_error *err)
{
    struct reader *r = ss_calloc(1, sizeof *r);

    SS_NEED(r, err);
    r->t = t;
    r->out = out;
    ss_json_stream_begin(&r->json, in, name, err);
    int rc = read_document(r);
    free(r);
    return rc;
}

int ss_kineto_load(const char *path, struct ss_kineto *out, struct ss_error *err)
{
    return ss_trace_load(path, read_trace, out, err);
}

int ss_kineto_parse(const char *text, unsigned long len, const char *name, struct ss_kineto *out,
                    struct ss_error *err)
{
    return ss_trace_parse(text, len, name, read_trace, out, err);
}
