/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the readers of traces share: streams, and the list of the work that a GPU ran. */
#include <errno.h>

#include "base/base.h"
#include "base/gzip.h"
#include "study/kineto.h"

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
    free(t->span);
    free(t->step);
    free(t->names);
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
    SS_THEN(rc, ss_kineto_sum(&t, name, out, err));
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
