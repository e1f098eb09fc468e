/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a training log: a positive figure, or give one error with text. */
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
    int told = 0;
    for (int i = 0; i < SS_TOLD_RATES; i++)
        told += log->told[i] > 0;
    if (!told || log->used < 1 || log->used > log->iterations || !(log->spread >= 0))
        abort();
    ss_train_log_free(log);
    return 0;
}
