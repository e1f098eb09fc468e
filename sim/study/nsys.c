/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nsys stats --report cuda_gpu_trace --format csv` prints: lines of its own, then a table of which these columns count:
 *   Start (ns),Duration (ns),CorrId,...,Device,Ctx,Strm,Name
 */
#include "base/base.h"
#include "study/kineto.h"

#define LINE_MOST 65536
#define LONGEST_NS 1e18

enum { START, DURATION, DEVICE, NAME, COLUMNS };

struct reader {
    FILE *in;
    const char *file;
    struct ss_gpu_trace *t;
    struct ss_kineto *out;
    struct ss_error *err;
    int line, based;
    int64_t base; /* ns: start of the first row */
    int column[COLUMNS];
    char text[LINE_MOST];
};

/* Reads a line. Returns 1, 0 at the end, or an error. */
static int next_line(struct reader *r)
{
    if (!fgets(r->text, sizeof r->text, r->in))
        return 0;
    r->line++;
    size_t n = strcspn(r->text, "\r\n");
    if (n + 1 == sizeof r->text)
        return ss_fail(r->err, SS_ERR_INPUT, r->file, r->line, "a line of more than %d characters",
                       LINE_MOST);
    r->text[n] = '\0';
    return 1;
}

/* Returns the field at *at without its quotes, cut out in place. *at is moved behind the field, and
 * becomes NULL behind the last one. */
static char *next_field(char **at)
{
    char *from = *at, *to = from, *field = from;
    int quoted = *from == '"';

    from += quoted;
    for (; *from && (quoted || *from != ','); from++) {
        if (quoted && *from == '"' && from[1] != '"') {
            quoted = 0;
            continue;
        }
        from += quoted && *from == '"';
        *to++ = *from;
    }
    *at = *from ? from + 1 : NULL;
    *to = '\0';
    return field;
}

static int read_head(struct reader *r)
{
    static const char *const names[COLUMNS] = {"Start (ns)", "Duration (ns)", "Device", "Name"};
    int more;

    while ((more = next_line(r)) == 1) {
        char *at = r->text;
        if (!strstr(at, names[START]) || !strstr(at, names[DURATION]))
            continue;
        for (int c = 0; c < COLUMNS; c++)
            r->column[c] = -1;
        for (int i = 0; at; i++) {
            const char *field = next_field(&at);
            for (int c = 0; c < COLUMNS; c++)
                if (!strcmp(field, names[c]))
                    r->column[c] = i;
        }
        if (r->column[START] >= 0 && r->column[DURATION] >= 0 && r->column[NAME] >= 0)
            return SS_OK;
    }
    if (more < 0)
        return more;
    return ss_fail(r->err, SS_ERR_INPUT, r->file, 0,
                   "no table with the columns Start (ns), Duration (ns), Name" SS_HINT
                   "write it with nsys stats --report cuda_gpu_trace --format csv");
}

/* Reads a device, "NVIDIA H100 80GB HBM3 (3)": returns its number, and keeps the name of the first. */
static int device_of(struct reader *r, char *text)
{
    char *open = strrchr(text, '(');
    int64_t number = 0;

    if (open) {
        open[1 + strspn(open + 1, "0123456789")] = '\0';
        if (ss_parse_i64(open + 1, 0, 30000, &number))
            number = 0;
        *open = '\0';
    }
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ')
        text[--n] = '\0';
    if (!r->out->device[0])
        ss_copy(r->out->device, sizeof r->out->device, text);
    return (int)number;
}

static int work_of(const char *name)
{
    if (!strncmp(name, "[CUDA memcpy", 12))
        return ss_kineto_copy(name);
    return !strncmp(name, "[CUDA memset", 12) ? SS_GPU_VECTOR : ss_kineto_kind(name, "");
}

static int read_row(struct reader *r)
{
    char none[] = "", *field[COLUMNS] = {none, none, none, none}, *at = r->text;
    int64_t start;
    double duration;

    for (int i = 0; at; i++) {
        char *text = next_field(&at);
        for (int c = 0; c < COLUMNS; c++)
            if (r->column[c] == i)
                field[c] = text;
    }
    if (ss_parse_i64(field[START], 0, (int64_t)LONGEST_NS, &start) ||
        ss_parse_double(field[DURATION], &duration) || !(duration >= 0 && duration < LONGEST_NS) ||
        !field[NAME][0])
        return ss_fail(r->err, SS_ERR_INPUT, r->file, r->line,
                       "start, duration or name of a kernel is missing");
    if (!r->based)
        r->base = start;
    r->based = 1;
    int work = work_of(field[NAME]);
    const struct ss_gpu_span span = {.start = 1e-9 * (double)(start - r->base),
                                     .end = 1e-9 * ((double)(start - r->base) + duration),
                                     .device = (short)device_of(r, field[DEVICE]),
                                     .work = (signed char)work,
                                     .label = (signed char)ss_kineto_label(work, field[NAME], "")};
    return ss_gpu_trace_add(r->t, field[NAME], span) ? ss_nomem(r->err) : SS_OK;
}

/* The table ends at an empty line: another report may follow. */
static int read_table(FILE *in, const char *name, struct ss_gpu_trace *t, struct ss_kineto *out,
                      struct ss_error *err)
{
    struct reader *r = ss_calloc(1, sizeof *r);
    int more = 0;

    SS_NEED(r, err);
    r->in = in;
    r->file = name;
    r->t = t;
    r->out = out;
    r->err = err;
    int rc = read_head(r);
    while (!rc && (more = next_line(r)) == 1 && r->text[0])
        rc = read_row(r);
    free(r);
    return rc ? rc : more < 0 ? more : SS_OK;
}

int ss_nsys_load(const char *path, struct ss_kineto *out, struct ss_error *err)
{
    return ss_trace_load(path, read_table, out, err);
}

int ss_nsys_parse(const char *text, unsigned long len, const char *name, struct ss_kineto *out,
                  struct ss_error *err)
{
    return ss_trace_parse(text, len, name, read_table, out, err);
}
