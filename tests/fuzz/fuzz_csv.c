/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a table of full rows that writes back to the same fields, or give one error. */
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_table(const struct ss_csv *csv, FILE *out)
{
    for (size_t c = 0; c < ss_csv_columns(csv); c++) {
        fputs(c ? "," : "", out);
        ss_csv_write(out, ss_csv_column_name(csv, c));
    }
    fputc('\n', out);
    for (size_t r = 0; r < ss_csv_rows(csv); r++) {
        for (size_t c = 0; c < ss_csv_columns(csv); c++) {
            fputs(c ? "," : "", out);
            ss_csv_write(out, ss_csv_field(csv, r, (int)c));
        }
        fputc('\n', out);
    }
}

static void check_same(const struct ss_csv *a, const struct ss_csv *b)
{
    if (ss_csv_rows(a) != ss_csv_rows(b) || ss_csv_columns(a) != ss_csv_columns(b))
        abort();
    for (size_t r = 0; r < ss_csv_rows(a); r++)
        for (size_t c = 0; c < ss_csv_columns(a); c++)
            if (strcmp(ss_csv_field(a, r, (int)c), ss_csv_field(b, r, (int)c)) != 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_csv *csv, *again;
    struct ss_error err = {0};
    char *text = NULL;
    size_t len = 0;

    if (ss_csv_parse((const char *)data, size, "fuzz.csv", &csv, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    /* A lone empty column writes as a blank line, which reads as none. */
    if (ss_csv_columns(csv) > 1) {
        FILE *out = open_memstream(&text, &len);
        write_table(csv, out);
        fclose(out);
        if (ss_csv_parse(text, len, "again.csv", &again, NULL))
            abort();
        check_same(csv, again);
        ss_csv_free(again);
        free(text);
    }
    ss_csv_free(csv);
    return 0;
}
