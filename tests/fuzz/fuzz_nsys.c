/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace of Nsight Systems. */
#include <stdint.h>

#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_kineto k;
    struct ss_error err = {0};
    int rc = ss_nsys_parse((const char *)data, size, "fuzz.csv", &k, &err);

    fuzz_trace_check(rc, &k, &err);
    return 0;
}
