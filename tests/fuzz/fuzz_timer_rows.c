/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a table of timers: named, positive times, or give one error with text. */
#include <stdlib.h>

#include "study/study_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_timer_rows t;
    struct ss_error err = {0};

    if (ss_timer_rows_parse((const char *)data, size, "fuzz.csv", &t, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    for (int i = 0; i < t.n; i++)
        if (!(t.rows[i].timer.seconds > 0) || !t.rows[i].run[0] || !t.rows[i].timer.name[0])
            abort();
    ss_timer_rows_free(&t);
    return 0;
}
