/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a table of micro-benchmarks: positive times, or give one error with text. */
#include <stdlib.h>

#include "study/calibrate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ss_card card = {
        .name = "H20", .peak_fp32 = 1e14, .peak_fp16 = 1e14, .peak_bf16 = 1e14, .peak_fp8 = 1e14};
    struct ss_bench *bench;
    struct ss_error err = {0};

    if (ss_bench_parse((const char *)data, size, "fuzz.csv", &card, &bench, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    for (int i = 0; i < bench->npoints; i++)
        if (!(bench->points[i].seconds > 0))
            abort();
    ss_bench_free(bench);
    return 0;
}
