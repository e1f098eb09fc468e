/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-H1: 1F1B whose backward is split. Only I stands where the backward stood, which lets the earlier ranks
 * go on sooner; W follows r input gradients later on rank r, so that every rank holds p microbatches, as the
 * first rank of 1F1B does, and the W left over fill the cool-down: zb_interleaved.c with one chunk. */
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int rc = ss_schedule_need_chunks("zb-h1", params, 1, err);
    return rc ? rc : ss_split_build("zb-h1", params, params->microbatches, out, err);
}

const struct ss_schedule_row ss_schedule_zb_h1 = {
    .name = "zb-h1",
    .description = "1F1B with split backward: W fills the cool-down, memory of 1F1B",
    .build = build,
    .chunks = 1,
    .facts = {.source = "Qi et al. 2024, arXiv:2401.10241",
              .conditions = "",
              .bubble = "(p-1)(F+I-W), m>=p",
              .in_flight = "p"},
};
