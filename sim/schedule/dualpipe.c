/* SPDX-License-Identifier: Apache-2.0 */
/* DualPipe: two copies of the model over the same ranks, one from rank 0 up (chunk 0), one from rank p - 1
 * down (chunk 1), each with half of the microbatches. Forwards of one direction are paired with backwards of
 * the other. Ranks i and p - 1 - i do the same with the directions exchanged. */
#include "base/base.h"
#include "schedule/builder.h"

static int refuse(const struct ss_schedule_params *q, struct ss_error *err)
{
    int rc = ss_schedule_need_chunks("dualpipe", q, 2, err);
    if (!rc && (q->stages % 2 || q->microbatches % 2))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "schedule dualpipe needs even stages and microbatches, not %d and %d" SS_HINT
                       "half of the microbatches come in at each end; use dualpipev for odd numbers",
                       q->stages, q->microbatches);
    return rc ? rc : ss_schedule_need_microbatches("dualpipe", q, 2 * q->stages, "two for each rank", err);
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, half = p / 2;
    SS_TRY(refuse(params, err));
    struct ss_schedule_params one = *params;
    one.microbatches /= 2;
    struct ss_order o;
    SS_TRY(ss_order_begin(&o, "dualpipe", &one, 6 * one.microbatches, err));
    struct ss_schedule *s = o.s;
    s->pipelines = 2;
    ss_schedule_place_v(s);
    for (int r = 0; r < p; r++) {
        int upper = r >= half;
        s->warmup[r] = p;
        ss_order_rank(&o, r);
        ss_order_dualpipe(&o, upper ? p - 1 - r : r, half, upper, !upper);
    }
    ss_order_end(&o);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_dualpipe = {
    .name = "dualpipe",
    .description = "microbatches from both ends over two copies of the model, forward beside backward",
    .build = build,
    .chunks = 2,
    .facts = {.source = "DeepSeek-V3 2024, arXiv:2412.19437; deepseek-ai/DualPipe",
              .conditions = "p and m even, m>=2p",
              .bubble = "(p/2-1)(FB+B-3W)",
              .in_flight = "p+1"},
};
