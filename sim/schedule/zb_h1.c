/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-H1: 1F1B whose backward is split. Only I stands where the backward stood, which lets the earlier ranks
 * go on sooner; W follows r input gradients later on rank r, so that every rank holds p microbatches, as
 * the first rank of 1F1B does, and the W left over fill the cool-down.
 */
#include <stdlib.h>

#include "base/base.h"
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches, rc = ss_schedule_need_chunks("zb-h1", params, 1, err);
    if (rc)
        return rc;
    struct ss_order o;
    rc = ss_order_begin(&o, "zb-h1", params, 3 * m, err);
    if (rc)
        return rc;
    struct ss_schedule *s = o.s;
    for (int r = 0; r < p; r++) {
        s->warmup[r] = p - r - 1 < m ? p - r - 1 : m;
        ss_order_rank(&o, r);
        for (int i = 0; i < m + s->warmup[r]; i++) {
            if (i < m)
                ss_order_add(&o, SS_PHASE_F, 0);
            if (i < s->warmup[r])
                continue;
            ss_order_add(&o, SS_PHASE_I, 0);
            if (ss_order_owed(&o) > r)
                ss_order_weight(&o);
        }
        while (ss_order_owed(&o))
            ss_order_weight(&o);
    }
    ss_order_end(&o);
    *out = s;
    return SS_OK;
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
