/* SPDX-License-Identifier: Apache-2.0 */
/* GPipe: every rank runs the forwards of all microbatches, then their backwards in the same order. */
#include "base/base.h"
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int m = params->microbatches;
    SS_TRY(ss_schedule_need_chunks("gpipe", params, 1, err));
    struct ss_schedule *s = ss_schedule_alloc("gpipe", params, 2 * m);
    SS_NEED(s, err);
    for (int r = 0; r < params->stages; r++) {
        s->warmup[r] = m;
        for (int i = 0; i < m; i++) {
            s->slots[r][i] = (struct ss_slot){SS_PHASE_F, 0, i, -1, -1};
            s->slots[r][m + i] = (struct ss_slot){SS_PHASE_B, 0, i, -1, -1};
        }
    }
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_gpipe = {
    .name = "gpipe",
    .description = "all forwards, then all backwards",
    .build = build,
    .chunks = 1,
    .facts = {.source = "Huang et al. 2019, arXiv:1811.06965",
              .conditions = "",
              .bubble = "(p-1)(F+B)",
              .in_flight = "m"},
};
