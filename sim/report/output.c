/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear whole or not at all. */
#include <errno.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/gzip.h"
#include "report/convert.h"
#include "stepsim/report.h"

struct ss_output {
    struct ss_file_writer *writer; /* NULL: the output is stdout */
    FILE *stream, *packed;         /* packed: what is gzipped to the stream; NULL: nothing */
    FILE *drawn;                   /* an SVG that becomes a PNG or PDF; NULL: none */
    char path[1024];               /* whose ending says which */
};

static int is_named(const char *path)
{
    return path && path[0] && strcmp(path, "-") != 0;
}

int ss_output_same(const char *a, const char *b)
{
    return ss_file_same_target(a, b);
}

int ss_output_check(const char *path, const char *start, const struct ss_files *inputs, struct ss_error *err)
{
    char found[64] = "";
    struct stat st;
    int there = is_named(path) && !stat(path, &st) && S_ISREG(st.st_mode);
    FILE *f = there && start ? fopen(path, "rbe") : NULL;
    size_t n = f ? fread(found, 1, sizeof found - 1, f) : 0;

    if (f)
        fclose(f);
    if (there && ss_files_have(inputs, path))
        return ss_fail(err, SS_ERR_INPUT, path, 0,
                       "this file was read, writing it would destroy an input" SS_HINT
                       "write to another one");
    if (n && (*start ? strncmp(found, start, strlen(start)) != 0 : memchr(found, 0, n) != NULL))
        return ss_fail(err, SS_ERR_INPUT, path, 1,
                       "this file is of another kind, writing it would destroy it" SS_HINT
                       "give another name; files to read stand without an option");
    return SS_OK;
}

static int ends_in_gz(const char *path)
{
    size_t n = strlen(path);

    return n > 3 && !strcmp(path + n - 3, ".gz");
}

int ss_output_begin(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err)
{
    struct ss_output *o = ss_calloc(1, sizeof *o);
    int named = is_named(path), rc = SS_OK;

    SS_NEED(o, err);
    o->stream = stdout;
    if (named)
        rc = ss_file_begin(path, &o->writer, &o->stream, err);
    if (!rc && named && ends_in_gz(path) && !(o->packed = ss_gzip_open(o->stream)))
        rc = ss_nomem(err);
    if (rc) {
        ss_output_abort(o);
        return rc;
    }
    if (named && ss_convert_wanted(path)) {
        ss_copy(o->path, sizeof o->path, path);
        if (!(o->drawn = tmpfile())) {
            rc = ss_fail(err, SS_ERR_IO, path, 0, "no temporary file: %s", strerror(errno));
            ss_output_abort(o);
            return rc;
        }
    }
    *stream = o->drawn ? o->drawn : o->packed ? o->packed : o->stream;
    *out = o;
    return SS_OK;
}

int ss_output_commit(struct ss_output *o, struct ss_error *err)
{
    int rc = SS_OK, failed = 0, why = 0;

    if (o->packed) {
        failed = fclose(o->packed) != 0;
        why = errno;
        o->packed = NULL;
    }
    if (o->drawn) {
        rc = ferror(o->drawn) ? ss_text_written(o->drawn, o->path, err)
                              : ss_convert(o->drawn, o->path, o->stream, err);
        fclose(o->drawn);
        o->drawn = NULL;
        if (rc) {
            ss_output_abort(o);
            return rc;
        }
    }
    if (failed && !ferror(o->stream)) { /* else the file has its own error */
        ss_output_abort(o);
        return ss_fail(err, SS_ERR_IO, NULL, 0, "cannot write the gzipped output: %s", strerror(why));
    }
    if (o->writer)
        rc = ss_file_commit(o->writer, err);
    else if (fflush(o->stream) || ferror(o->stream))
        rc = ss_text_written(o->stream, "to stdout", err);
    free(o);
    return rc;
}

/* Commits even where the stream has failed: the commit then fails, and knows the reason. */
int ss_output_end(struct ss_output *o, int rc, struct ss_error *err)
{
    if (!rc || (rc == SS_ERR_IO && ferror(o->drawn ? o->drawn : o->packed ? o->packed : o->stream)))
        return ss_output_commit(o, err);
    ss_output_abort(o);
    return rc;
}

void ss_output_abort(struct ss_output *o)
{
    if (!o)
        return;
    if (o->packed)
        fclose(o->packed);
    if (o->drawn)
        fclose(o->drawn);
    if (o->writer)
        ss_file_abort(o->writer);
    free(o);
}

void ss_output_discard(const struct ss_output *o)
{
    if (o)
        ss_file_discard(o->writer);
}
