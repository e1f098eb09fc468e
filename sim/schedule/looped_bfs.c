/* SPDX-License-Identifier: Apache-2.0 */
/* Breadth-first pipeline: a chunk runs all microbatches before the next chunk begins; the backward takes
 * the chunks, and the microbatches of a chunk, from the last to the first. */
#include "base/base.h"
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int v = params->chunks, m = params->microbatches, n = v * m;
    struct ss_schedule *s = ss_schedule_alloc("looped-bfs", params, 2 * n);
    SS_NEED(s, err);
    for (int r = 0; r < params->stages; r++) {
        s->warmup[r] = n;
        for (int i = 0; i < n; i++) {
            s->slots[r][i] = (struct ss_slot){SS_PHASE_F, i / m, i % m, -1, -1};
            s->slots[r][2 * n - 1 - i] = (struct ss_slot){SS_PHASE_B, i / m, i % m, -1, -1};
        }
    }
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_looped_bfs = {
    .name = "looped-bfs",
    .description = "all microbatches through a chunk before the next chunk (breadth first)",
    .build = build,
    .facts = {.source = "Lamy-Poirier 2023, arXiv:2211.05953",
              .conditions = "",
              .bubble = "(p-1)(F+B), m>=p",
              .in_flight = "v m"},
};
