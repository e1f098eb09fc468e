/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-V: two chunks a rank, the second on the way back, so that a microbatch ends on the rank where it began and its
 * gradient is at hand at once. Rank r fills the pipeline with chunk 0, takes what comes back in turn, and in the steady
 * part runs F, I, W of chunk 0 and F, I, W of chunk 1. In the cool-down the I of both chunks go first and W fills what
 * is left, as PyTorch orders it: chunk 0's beside its last I, then chunk 1's, then the rest of chunk 0's. Fewer
 * microbatches than fill the V are the order of as many as do, without the others. */
#include "schedule/builder.h"

static void split(struct ss_order *o, int chunk)
{
    ss_order_add(o, SS_PHASE_I, chunk);
    ss_order_weight(o);
}

static void order_rank(struct ss_order *o, int r, int p, int m)
{
    int first = 2 * (p - r) - 1, started = first + r; /* forwards of chunk 0 before the first gradient */
    ss_order_rank(o, r);
    for (int i = 0; i < first; i++)
        ss_order_add(o, SS_PHASE_F, 0);
    for (int i = 0; i < r; i++) {
        ss_order_add(o, SS_PHASE_F, 1);
        ss_order_add(o, SS_PHASE_F, 0);
    }
    for (int i = 0; i < p - r; i++) {
        ss_order_add(o, SS_PHASE_F, 1);
        split(o, 1);
    }
    for (int i = p; i < m; i++) {
        if (started++ < m)
            ss_order_add(o, SS_PHASE_F, 0);
        split(o, 0);
        ss_order_add(o, SS_PHASE_F, 1);
        split(o, 1);
    }
    for (int i = 0; i < r; i++) {
        ss_order_add(o, SS_PHASE_I, 0);
        ss_order_add(o, SS_PHASE_I, 1);
    }
    for (int i = 0; i < p - r; i++) {
        ss_order_add(o, SS_PHASE_I, 0);
        ss_order_weight_of(o, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--)
        for (int left = ss_order_owed(o); left; left--)
            ss_order_weight_of(o, chunk);
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches;
    SS_TRY(ss_schedule_need_chunks("zb-v", params, 2, err));
    struct ss_order o;
    struct ss_schedule_params full = *params;
    full.microbatches = m < 2 * p - 1 ? 2 * p - 1 : m;
    SS_TRY(ss_order_begin(&o, "zb-v", &full, 6 * full.microbatches, err));
    struct ss_schedule *s = o.s;
    ss_schedule_place_v(s);
    for (int r = 0; r < p; r++) {
        s->warmup[r] = 2 * (p - r) - 1 + 2 * r;
        order_rank(&o, r, p, full.microbatches);
    }
    ss_order_end(&o);
    ss_schedule_truncate(s, m);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_zb_v = {
    .name = "zb-v",
    .description = "split backward on a V of two chunks a rank: no bubble where F = I = W, memory of 1F1B",
    .build = build,
    .chunks = 2,
    .facts = {.source = "Qi et al. 2024, arXiv:2401.10241 section 6",
              .conditions = "",
              .bubble = "0 for F=I=W, m>=2p-1",
              .in_flight = "2p"},
};
