/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a stack with every prop in its range, or give one error with text. */
#include <stdint.h>
#include <stdlib.h>

#include "model/stack_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_stack s;
    struct ss_error err = {0};
    int rc = ss_stack_parse((const char *)data, size, "fuzz.xml", "H20", &s, &err);

    if (rc) {
        if (!err.message[0])
            abort();
        return 0;
    }
#define X(field, id, unit, def, lo, hi, doc)                                                                 \
    if (!(s.field >= (double)(lo) && s.field <= (double)(hi)))                                               \
        abort();
    SS_STACK_PROPS(X)
#undef X
    return 0;
}
