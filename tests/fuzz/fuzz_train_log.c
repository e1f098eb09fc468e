/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a training log: a positive time, or give one error with text. */
#include <stdint.h>
#include <stdlib.h>

#include "stepsim/study.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_train_log *log;
    struct ss_error err = {0};

    if (ss_train_log_parse((const char *)data, size, "fuzz.txt", &log, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (!(log->seconds > 0) || log->used < 1 || log->used > log->iterations)
        abort();
    ss_train_log_free(log);
    return 0;
}
