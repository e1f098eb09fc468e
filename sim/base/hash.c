/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

uint64_t ss_hash(uint64_t h, const void *data, size_t len)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < len; i++)
        h = (h ^ byte[i]) * 0x100000001b3ULL;
    return h;
}
