/* SPDX-License-Identifier: Apache-2.0 */
/* V-Half: on a V, with half of 1F1B's memory. Chunk 0 goes down the ranks two steps a rank and up one step a rank, forward and
 * backward alike, so that every rank keeps a microbatch for about 3 p steps of the 6 p that 1F1B's first rank keeps it. */
#include "schedule/v_block.h"

static void pattern(int p, int rank, int first[4])
{
    int wait = p % 2 ? 0 : 3; /* an even number of ranks would meet in one step */
    first[0] = 2 * rank;
    first[1] = 3 * p - rank - 2;
    first[2] = 3 * p + wait + 2 * rank - 1;
    first[3] = 6 * p + wait - rank - 2;
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    return ss_block_build("v-half", params, pattern, out, err);
}

const struct ss_schedule_row ss_schedule_v_half = {
    .name = "v-half",
    .description = "split backward on a V with half of 1F1B's memory",
    .build = build,
    .chunks = 2,
    .facts = {.source = "Qi et al. 2024, arXiv:2405.15362",
              .conditions = "",
              .bubble = "3p-7 for F=I=W, p>3 (odd p: 3p-4)",
              .in_flight = "p+2 (odd p: p+1)"},
};
