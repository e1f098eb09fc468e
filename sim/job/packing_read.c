/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lengths of documents: a CSV with a column `length` and, where a line stands for several, `count`. */
#include "base/base.h"
#include "base/csv.h"
#include "job/packing.h"

#define FILE_MAX (256UL << 20)
#define COUNT_MAX 1000000000000 /* 1e12 */

static int read_rows(const struct ss_csv *csv, struct ss_lengths *out, struct ss_error *err)
{
    int column = ss_csv_column(csv, "length"), counts = ss_csv_column(csv, "count");
    if (column < 0)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1,
                       "no column \"length\": the first line is length, or length,count");
    for (out->n = 0; out->n < ss_csv_rows(csv); out->n++) {
        int64_t length, count = 1;
        int rc = ss_csv_whole(csv, out->n, column, 1, SS_DOCUMENT_MAX, &length, err);
        if (!rc && counts >= 0)
            rc = ss_csv_whole(csv, out->n, counts, 0, COUNT_MAX, &count, err);
        if (rc)
            return rc;
        out->length[out->n] = (int)length;
        out->count[out->n] = (double)count;
        out->documents += (double)count;
    }
    if (out->documents < 1)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 0, "the file has no documents");
    return SS_OK;
}

int ss_lengths_parse(const char *text, size_t len, const char *name, struct ss_lengths *out,
                     struct ss_error *err)
{
    struct ss_csv *csv;
    SS_TRY(ss_csv_parse(text, len, name, &csv, err));
    memset(out, 0, sizeof *out);
    out->length = ss_calloc(ss_csv_rows(csv) + 1, sizeof *out->length);
    out->count = ss_calloc(ss_csv_rows(csv) + 1, sizeof *out->count);
    int rc = out->length && out->count ? read_rows(csv, out, err) : ss_nomem(err);
    if (rc)
        ss_lengths_free(out);
    ss_csv_free(csv);
    return rc;
}

int ss_lengths_read(const char *path, struct ss_lengths *out, struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int rc = ss_file_read(path, FILE_MAX, &text, &len, err);
    SS_THEN(rc, ss_lengths_parse(text, len, path, out, err));
    free(text);
    return rc;
}

void ss_lengths_free(struct ss_lengths *lengths)
{
    free(lengths->length);
    free(lengths->count);
    memset(lengths, 0, sizeof *lengths);
}
