/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a law out of random bits: the same on every machine, and in every order of asking where the bits are of a counter. */
#ifndef SS_BASE_DRAW_H
#define SS_BASE_DRAW_H

#include <math.h>
#include <stdint.h>

/* Uniform in (0, 1]. */
static inline double ss_uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 1) * 0x1p-53;
}

/* Mean 0, variance 1, by Box and Muller; `bits` and `turn` are independent. */
static inline double ss_normal(uint64_t bits, uint64_t turn)
{
    return sqrt(-2 * log(ss_uniform(bits))) * cos(6.283185307179586 * ss_uniform(turn));
}

#endif
