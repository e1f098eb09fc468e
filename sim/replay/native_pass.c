/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a state on their way to a block that is kept, or back from it. */
#include "replay/native.h"

#define MOST_BYTES (1 << 20) /* of a state; more is that of unfolded ranks */

void ss_pass(struct ss_pass *s, void *bytes, size_t n)
{
    if (s->failed || n == 0)
        return;
    if (s->back) {
        memcpy(bytes, s->bytes + s->at, n);
        s->at += n;
        return;
    }
    if (s->n + n > s->cap) {
        size_t cap = 2 * (s->n + n);
        char *grown = cap <= 2 * MOST_BYTES ? realloc(s->bytes, cap) : NULL;
        if (!grown) {
            s->failed = 1;
            return;
        }
        s->bytes = grown;
        s->cap = cap;
    }
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
}
