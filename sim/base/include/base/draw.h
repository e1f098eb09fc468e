/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of a law made from random bits. The numbers are the same on every machine; bits made from a
 * counter give them in any order of asking. */
#pragma once

#include <math.h>
#include <stdint.h>

/* Returns a number uniform in (0, 1]. */
static inline double ss_uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 1) * 0x1p-53;
}

/* Returns a normal number of mean 0 and variance 1 (Box and Muller); `bits` and `turn` are independent. */
static inline double ss_normal(uint64_t bits, uint64_t turn)
{
    return sqrt(-2 * log(ss_uniform(bits))) * cos(6.283185307179586 * ss_uniform(turn));
}
