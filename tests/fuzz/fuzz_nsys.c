/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a trace of Nsight Systems whose labels sum to its iteration, or give one error with text. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "stepsim/kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_kineto k;
    struct ss_error err = {0};

    if (ss_nsys_parse((const char *)data, size, "fuzz.csv", &k, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    double sum = k.idle;
    for (int w = 0; w < SS_GPU_WORK_COUNT; w++)
        sum += k.work[w].exposed;
    if (!(k.iteration_s > 0) || k.used < 1 || k.used > k.found ||
        fabs(sum - k.iteration_s) > 1e-6 * k.iteration_s)
        abort();
    return 0;
}
