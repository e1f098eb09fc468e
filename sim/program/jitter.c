/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based draws: the same on every machine and in every order of asking. */

#include "base/draw.h"
#include "stepsim/program.h"

static uint64_t mix(uint64_t h, uint64_t value)
{
    uint64_t z = h * 0x9e3779b97f4a7c15ULL + value + 0xd1342543de82ef95ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

double ss_jitter_factor(const struct ss_jitter *j, int rank, int slot, int event)
{
    uint64_t key =
        mix(mix(mix(j->seed, (uint64_t)j->replica), (uint64_t)rank), (uint64_t)slot << 32 | (unsigned)event);
    double normal = ss_normal(key, mix(key, 1));
    return exp(j->sigma * normal - j->sigma * j->sigma / 2); /* log-normal with mean 1 */
}
