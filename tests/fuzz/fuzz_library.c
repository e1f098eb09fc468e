/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a library of collectives that has Simple and whose protocols carry no more data than they send, or give one error
 * with text. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "stepsim/library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_library l;
    struct ss_error err = {0};
    int rc = ss_library_parse((const char *)data, size, "fuzz.xml", &l, &err);

    if (rc) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (!l.name[0] || !(l.step > 0) || !(l.pieces >= 1) || !(l.protocol[SS_PROTOCOL_SIMPLE].line >= 1))
        abort();
    for (int p = 0; p < SS_PROTOCOL_COUNT; p++)
        if (!(l.protocol[p].data <= l.protocol[p].line) || !isfinite(l.protocol[p].ring[SS_LATENCY_FAR]))
            abort();
    if (ss_library_has(&l, SS_LIBRARY_DIRECT) != (l.direct_most >= 1) ||
        ss_library_has(&l, SS_LIBRARY_PAT) != (l.pat_busbw > 0))
        abort();
    return 0;
}
