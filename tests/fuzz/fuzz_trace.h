/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of every trace of a real iteration, whichever profiler wrote it. */
#ifndef SS_FUZZ_TRACE_H
#define SS_FUZZ_TRACE_H

#include <math.h>
#include <stdlib.h>

#include "stepsim/kineto.h"

/* rc, k and err: what the reader returned. It is either a trace whose labels sum to its iteration, or one error with text. */
static inline void fuzz_trace_check(int rc, const struct ss_kineto *k, const struct ss_error *err)
{
    if (rc) {
        if (!err->message[0])
            abort();
        return;
    }
    double sum = k->idle;
    for (int w = 0; w < SS_GPU_WORK_COUNT; w++)
        sum += k->work[w].exposed;
    if (!(k->iteration_s > 0) || k->used < 1 || k->used > k->found ||
        fabs(sum - k->iteration_s) > 1e-6 * k->iteration_s)
        abort();
}

#endif
