/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"

#include <errno.h>

#include "base/base.h"
#include "base/gzip.h"

#define MAX_COLUMNS 256
#define MAX_BYTES ((size_t)64 << 20)

struct reader {
    struct ss_csv *csv;
    char *in, *end, *out;
    int line;
    struct ss_error *err;
};

/* Fields are stored row by row; their text stays in the file's buffer, unquoted in place. */
struct ss_csv {
    char file[256];
    char *text;
    const char **field;
    size_t nfields, field_cap;
    int *line; /* line of each row, the first row included */
    size_t nlines, line_cap;
    size_t columns;
    struct reader at; /* place behind the rows that were read */
};

static int bad(struct reader *r, const char *message, const char *hint)
{
    return ss_fail(r->err, SS_ERR_INPUT, r->csv->file, r->line, "%s" SS_HINT "%s", message, hint);
}

static int keep(struct reader *r, const char *field)
{
    struct ss_csv *csv = r->csv;

    if (csv->nfields == csv->field_cap &&
        ss_grow(&csv->field, &csv->field_cap, csv->nfields + 1, sizeof *csv->field))
        return ss_nomem(r->err);
    csv->field[csv->nfields++] = field;
    return SS_OK;
}

static int read_quoted(struct reader *r)
{
    int first = r->line;

    for (r->in++; r->in < r->end; r->in++) {
        if (*r->in == '"' && (r->in + 1 == r->end || r->in[1] != '"')) {
            r->in++;
            if (r->in < r->end && !strchr(",\r\n", *r->in))
                return bad(r, "text behind a closing quote", "double the quotes inside a quoted field");
            return SS_OK;
        }
        r->in += *r->in == '"';
        r->line += *r->in == '\n';
        *r->out++ = *r->in;
    }
    r->line = first;
    return bad(r, "a quote is not closed", "double the quotes inside a quoted field");
}

/* The NUL behind the text ends the last field. */
static int read_plain(struct reader *r)
{
    static const char ends[UCHAR_MAX + 1] = {['\0'] = 1, [','] = 1, ['\r'] = 1, ['\n'] = 1, ['"'] = 1};
    char *from = r->in, *to = from;

    while (!ends[(unsigned char)*to])
        to++;
    r->in = to;
    if (*to == '"')
        return bad(r, "a quote inside a plain field",
                   "put the whole field in quotes and double those inside");
    if (r->out != from)
        memmove(r->out, from, (size_t)(to - from));
    r->out += to - from;
    return SS_OK;
}

/* Reads one field and the separator behind it; *last is set when the row ends with the field. */
static int read_field(struct reader *r, int *last)
{
    char *field = r->out;

    SS_TRY(r->in < r->end && *r->in == '"' ? read_quoted(r) : read_plain(r));
    *last = r->in == r->end || *r->in != ',';
    if (r->in < r->end && *r->in == '\r') {
        if (r->in + 1 < r->end && r->in[1] != '\n')
            return bad(r, "a carriage return without a line feed", "end lines with \\n or \\r\\n");
        r->in++;
    }
    /* The terminator takes the separator's place: `out` never overtakes `in`. */
    r->in += r->in < r->end;
    *r->out++ = '\0';
    return keep(r, field);
}

static int read_row(struct reader *r)
{
    struct ss_csv *csv = r->csv;
    size_t first = csv->nfields, n;
    int last = 0, rc = SS_OK, line = r->line;

    if (*r->in == '\n' || (*r->in == '\r' && r->in + 1 < r->end && r->in[1] == '\n')) {
        r->in += *r->in == '\r' ? 2 : 1;
        r->line++;
        return SS_OK;
    }
    while (!last && !rc) {
        if (csv->nfields - first == MAX_COLUMNS)
            return bad(r, "more than 256 fields", "is this the right file?");
        rc = read_field(r, &last);
    }
    if (rc)
        return rc;
    SS_NEED(!ss_grow(&csv->line, &csv->line_cap, csv->nlines + 1, sizeof *csv->line), r->err);
    csv->line[csv->nlines++] = line;
    n = csv->nfields - first;
    if (csv->nlines == 1)
        csv->columns = n;
    if (n != csv->columns)
        return ss_fail(r->err, SS_ERR_INPUT, csv->file, line,
                       "%zu fields; the first line names %zu columns" SS_HINT
                       "a field with a comma needs quotes",
                       n, csv->columns);
    r->line++;
    return SS_OK;
}

static int check_names(struct reader *r)
{
    struct ss_csv *csv = r->csv;

    if (!csv->nlines) {
        r->line = 1;
        return bad(r, "no line of column names", "the first line names the columns");
    }
    for (size_t i = 0; i < csv->columns; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(csv->field[i], csv->field[k]))
                return ss_fail(r->err, SS_ERR_INPUT, csv->file, csv->line[0],
                               "column \"%.80s\" stands twice" SS_HINT "remove or rename one", csv->field[i]);
    return SS_OK;
}

/* Reads until there are `rows` rows, the first included, or the text ends. */
static int read_rows(struct reader *r, size_t rows)
{
    int rc = SS_OK;

    while (!rc && r->in < r->end && r->csv->nlines < rows)
        rc = read_row(r);
    return rc;
}

static int read_names(struct reader *r, size_t len)
{
    if (memchr(r->in, '\0', len)) {
        for (char *p = r->in; *p; p++)
            r->line += *p == '\n';
        return bad(r, "a NUL byte", "this is no text file; save it as UTF-8");
    }
    r->in += ss_byte_order_mark(r->in, len);
    int rc = read_rows(r, 1);
    return rc ? rc : check_names(r);
}

/* Takes over the caller's text, which has a NUL behind it. */
static int open_own(char *text, size_t len, const char *name, struct ss_csv **out, struct ss_error *err)
{
    struct ss_csv *csv = ss_calloc(1, sizeof *csv);
    int rc;

    if (!csv) {
        free(text);
        return ss_nomem(err);
    }
    ss_copy(csv->file, sizeof csv->file, name);
    csv->text = text;
    csv->at = (struct reader){.csv = csv, .in = text, .end = text + len, .out = text, .line = 1, .err = err};
    rc = read_names(&csv->at, len);
    SS_HAND(rc, csv, out, ss_csv_free);
}

static int parse_own(char *text, size_t len, const char *name, struct ss_csv **out, struct ss_error *err)
{
    int rc = open_own(text, len, name, out, err);

    if (!rc && (rc = read_rows(&(*out)->at, SIZE_MAX)) != SS_OK) {
        ss_csv_free(*out);
        *out = NULL;
    }
    return rc;
}

int ss_csv_parse(const char *text, size_t len, const char *name, struct ss_csv **out, struct ss_error *err)
{
    char *own = NULL;

    if (len > MAX_BYTES)
        return ss_fail(err, SS_ERR_INPUT, name, 0, "larger than %zu bytes", MAX_BYTES);
    if (!(own = ss_calloc(len + 2, 1)))
        return ss_nomem(err);
    memcpy(own, text, len);
    return parse_own(own, len, name, out, err);
}

/* Reads a stream to its end into *text, with two bytes behind it. */
static int read_all(FILE *in, const char *path, char **text, size_t *len, struct ss_error *err)
{
    size_t cap = 0;
    int c;

    *text = NULL;
    *len = 0;
    while ((c = getc(in)) != EOF && *len < MAX_BYTES) {
        SS_NEED(!ss_grow(text, &cap, *len + 3, 1), err);
        (*text)[(*len)++] = (char)c;
    }
    if (ferror(in))
        return ss_fail(err, SS_ERR_INPUT, path, 0, "cannot unpack: %s", strerror(errno));
    if (c != EOF)
        return ss_fail(err, SS_ERR_INPUT, path, 0, "larger than %zu bytes", MAX_BYTES);
    SS_NEED(!ss_grow(text, &cap, *len + 3, 1), err);
    (*text)[*len] = (*text)[*len + 1] = 0;
    return SS_OK;
}

/* Unpacks a gzipped text in place of it. */
static int unpack(char **text, size_t *len, const char *path, struct ss_error *err)
{
    FILE *under = fmemopen(*text, *len, "rb"), *in = under ? ss_gunzip_open(under) : NULL;
    char *plain = NULL;
    size_t plain_len = 0;
    int rc = in ? read_all(in, path, &plain, &plain_len, err) : ss_nomem(err);

    if (in)
        fclose(in);
    if (under)
        fclose(under);
    if (rc) {
        free(plain);
        return rc;
    }
    free(*text);
    *text = plain;
    *len = plain_len;
    return SS_OK;
}

int ss_csv_load(const char *path, struct ss_csv **out, struct ss_error *err)
{
    char *text;
    size_t len;
    int rc = SS_OK;

    SS_TRY(ss_file_read(path, MAX_BYTES, &text, &len, err));
    if (len > 2 && !memcmp(text, "\x1f\x8b", 2) && (rc = unpack(&text, &len, path, err)) != SS_OK) {
        free(text);
        return rc;
    }
    return parse_own(text, len, path, out, err);
}

int ss_csv_open(const char *path, struct ss_csv **out, struct ss_error *err)
{
    char *text;
    size_t len;
    int rc = ss_file_read(path, MAX_BYTES, &text, &len, err);

    return rc ? rc : open_own(text, len, path, out, err);
}

int ss_csv_next(struct ss_csv *csv, int *more, struct ss_error *err)
{
    csv->nfields = csv->columns;
    csv->nlines = 1;
    csv->at.err = err;
    int rc = read_rows(&csv->at, 2);
    *more = csv->nlines == 2;
    return rc;
}

void ss_csv_free(struct ss_csv *csv)
{
    if (!csv)
        return;
    SS_FREE(csv->text, csv->field, csv->line, csv);
}

const char *ss_csv_file(const struct ss_csv *csv)
{
    return csv->file;
}

size_t ss_csv_rows(const struct ss_csv *csv)
{
    return csv->nlines - 1;
}

size_t ss_csv_columns(const struct ss_csv *csv)
{
    return csv->columns;
}

const char *ss_csv_column_name(const struct ss_csv *csv, size_t column)
{
    return csv->field[column];
}

int ss_csv_column(const struct ss_csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->columns; i++)
        if (*csv->field[i] == *name && !strcmp(csv->field[i], name)) /* the letter spares most of the calls */
            return (int)i;
    return -1;
}

const char *ss_csv_field(const struct ss_csv *csv, size_t row, int column)
{
    return column < 0 ? "" : csv->field[(row + 1) * csv->columns + (size_t)column];
}

size_t ss_csv_find(const struct ss_csv *csv, size_t from, int column, const char *value)
{
    const size_t rows = ss_csv_rows(csv);
    const char *const *field = csv->field + (from + 1) * csv->columns + (column > 0 ? column : 0);

    if (column < 0) /* all its fields are "" */
        return *value ? rows : from;
    for (; from < rows; from++, field += csv->columns)
        if (**field == *value && !strcmp(*field, value)) /* the letter spares most of the calls */
            break;
    return from;
}

int ss_csv_line(const struct ss_csv *csv, size_t row)
{
    return csv->line[row + 1];
}

int ss_csv_whole(const struct ss_csv *csv, size_t row, int column, int64_t low, int64_t high, int64_t *out,
                 struct ss_error *err)
{
    const char *text = ss_csv_field(csv, row, column);

    if (!ss_parse_i64(text, low, high, out))
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), ss_csv_line(csv, row),
                   "%s \"%s\" is no whole number in %lld..%lld", ss_csv_column_name(csv, (size_t)column),
                   text, (long long)low, (long long)high);
}

void ss_csv_write(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n") && !ss_byte_order_mark(text, strlen(text))) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            fputc('"', out);
        fputc(*p, out);
    }
    fputc('"', out);
}
