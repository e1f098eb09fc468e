/* SPDX-License-Identifier: Apache-2.0 */
/* Eager 1F1B: rank r of p starts with 2 (p - r) - 2 forwards instead of p - r - 1, so that a forward and a
 * backward lie between a send and the slot that needs it. Sends are asynchronous. */
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches;

    SS_TRY(ss_schedule_need_chunks("eager-1f1b", params, 1, err));
    struct ss_order o;
    SS_TRY(ss_order_begin(&o, "eager-1f1b", params, 2 * m, err));
    struct ss_schedule *s = o.s;
    for (int r = 0; r < p; r++) {
        int warmup = 2 * (p - r - 1) < m ? 2 * (p - r - 1) : m;
        s->warmup[r] = warmup;
        ss_order_rank(&o, r);
        for (int i = 0; i < m + warmup; i++) {
            if (i < m)
                ss_order_add(&o, SS_PHASE_F, 0);
            if (i >= warmup)
                ss_order_add(&o, SS_PHASE_B, 0);
        }
    }
    ss_order_end(&o);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_eager_1f1b = {
    .name = "eager-1f1b",
    .description = "1F1B with twice the warm-up and asynchronous sends, which hides their time",
    .build = build,
    .chunks = 1,
    .facts = {.source = "Zhuang et al. 2023, arXiv:2211.05322",
              .conditions = "",
              .bubble = "(p-1)(F+B)",
              .in_flight = "2p-1, m>=2p-1"},
};
