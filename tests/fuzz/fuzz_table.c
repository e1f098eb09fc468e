/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a table whose every row is a job or an error with its line, or give one error. */
#include <stdlib.h>

#include "import/table_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_notes notes = {0};
    struct ss_table *t;
    struct ss_error err = {0};

    if (ss_table_parse((const char *)data, size, "fuzz.csv", &t, &notes, &err)) {
        if (!err.message[0])
            abort();
        ss_notes_free(&notes);
        return 0;
    }
    for (int row = 0; row < ss_table_rows(t) && row < 50; row++) {
        struct ss_error why = {0};
        struct ss_asked asked;
        double ms;
        if (ss_table_asked(t, row, &asked, &notes, &why) &&
            (!why.message[0] || why.line < ss_table_line(t, row)))
            abort();
        ss_table_number(t, row, "iteration_ms", 0, &ms, &why);
    }
    ss_table_free(t);
    ss_notes_free(&notes);
    return 0;
}
