/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace of a PyTorch profiler. */
#include <stdint.h>

#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_kineto k;
    struct ss_error err = {0};
    int rc = ss_kineto_parse((const char *)data, size, "fuzz.json", &k, &err);

    fuzz_trace_check(rc, &k, &err);
    return 0;
}
