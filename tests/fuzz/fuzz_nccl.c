/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a output of nccl-tests: finite points, or give one error with text. */
#include <stdlib.h>

#include "stepsim/study.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_nccl_log *log;
    struct ss_error err = {0};

    if (ss_nccl_parse((const char *)data, size, "fuzz.txt", &log, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    for (int i = 0; i < log->npoints; i++)
        if (!(log->points[i].bytes > 0 && log->points[i].seconds > 0))
            abort();
    ss_nccl_free(log);
    return 0;
}
