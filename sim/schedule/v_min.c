/* SPDX-License-Identifier: Apache-2.0 */
/* V-Min: on a V, with a third of 1F1B's memory, the least that passes of one step can do: a microbatch goes down, up, down and
 * up the ranks without waiting. */
#include "schedule/v_block.h"

static void pattern(int p, int rank, int first[4])
{
    int wait = p % 3 ? 0 : 2; /* a multiple of three would meet in one step */
    first[0] = rank;
    first[1] = 2 * p - rank - 1;
    first[2] = 2 * p + wait + rank;
    first[3] = 4 * p + wait - rank - 1;
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    return ss_block_build("v-min", params, pattern, out, err);
}

const struct ss_schedule_row ss_schedule_v_min = {
    .name = "v-min",
    .description = "split backward on a V with a third of 1F1B's memory",
    .build = build,
    .chunks = 2,
    .facts = {.source = "Qi et al. 2024, arXiv:2405.15362",
              .conditions = "",
              .bubble = "4p-5 for F=I=W (3 divides p: 4p-7)",
              .in_flight = "2 floor((p+4)/3)"},
};
