/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of lengths: refused with a message, or rows in which every document is. */
#include <math.h>
#include <stdlib.h>

#include "job/packing.h"
#include "stepsim/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack(const struct ss_lengths *lengths, int algorithm)
{
    const struct ss_packing_input in = {
        .law = SS_PACKED_FILE, .lengths = lengths, .row = 256, .multiple = 8, .algorithm = algorithm};
    struct ss_packing p;
    double tokens = 0;
    if (ss_packing_build(&in, &p, NULL))
        abort();
    for (int i = 0; i < p.nlengths; i++)
        tokens += p.length[i] * p.share[i];
    if (fabs(tokens - 256) > 1e-6 || !(p.tokens > 0 && p.tokens <= 256) || !(p.square[0] > 0) ||
        p.token_squares > 256 * p.tokens + 1e-6 || !(p.cut >= 0 && p.cut <= 1))
        abort();
    ss_packing_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_lengths lengths;
    struct ss_error err = {0};
    if (size > 1 << 16)
        return 0;
    if (ss_lengths_parse((const char *)data, size, "fuzz.csv", &lengths, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    for (int algorithm = SS_PACKED_SHUFFLE; algorithm <= SS_PACKED_IN_ORDER; algorithm++)
        pack(&lengths, algorithm);
    ss_lengths_free(&lengths);
    return 0;
}
