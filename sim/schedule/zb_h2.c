/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-H2: rank r starts with 2 (p - r) - 2 forwards before its first pair, enough to bridge the time until the
 * first gradient comes back, and keeps W 2 r input gradients behind, so that every rank holds 2 p - 1
 * microbatches. The orders of the ranks are one parallelogram: without a global barrier nothing is idle where
 * F = I = W. */
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches, rc = ss_schedule_need_chunks("zb-h2", params, 1, err);
    if (!rc)
        rc =
            ss_schedule_need_microbatches("zb-h2", params, 2 * p - 1, "the first rank starts with them", err);
    if (rc)
        return rc;
    struct ss_order o;
    SS_TRY(ss_order_begin(&o, "zb-h2", params, 3 * m, err));
    struct ss_schedule *s = o.s;
    for (int r = 0; r < p; r++) {
        s->warmup[r] = 2 * (p - r - 1);
        ss_order_rank(&o, r);
        for (int i = 0; i < m + s->warmup[r]; i++) {
            if (i < m)
                ss_order_add(&o, SS_PHASE_F, 0);
            if (i < s->warmup[r])
                continue;
            ss_order_add(&o, SS_PHASE_I, 0);
            if (ss_order_owed(&o) > 2 * r)
                ss_order_weight(&o);
        }
        while (ss_order_owed(&o))
            ss_order_weight(&o);
    }
    ss_order_end(&o);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_zb_h2 = {
    .name = "zb-h2",
    .description = "split backward and longer warm-up: no bubble without a global barrier, twice the memory",
    .build = build,
    .chunks = 1,
    .facts = {.source = "Qi et al. 2024, arXiv:2401.10241",
              .conditions = "m>=2p-1",
              .bubble = "(p-1)(F+I-2W)",
              .in_flight = "2p-1"},
};
