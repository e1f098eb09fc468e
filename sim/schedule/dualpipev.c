/* SPDX-License-Identifier: Apache-2.0 */
/* DualPipeV: the order of DualPipe for a V of two chunks a rank. A microbatch goes down the ranks with chunk
 * 0, turns on the last rank and comes back with chunk 1; in the steady part each forward of one chunk is
 * paired with a backward of the other. */
#include "schedule/builder.h"

/* Gradients of the input only, once the W that are put off fill the end of the order. */
static void last_backwards(struct ss_order *o, int i, int near, int far)
{
    /* 2 (i + 1) backwards in turn; the second half of them puts off its W */
    int count = 2 * (i + 1), whole = i + 1;
    for (int k = 0; k < count; k++)
        ss_order_add(o, k < whole ? SS_PHASE_B : SS_PHASE_I, k % 2 ? near : far);
}

void ss_order_dualpipe(struct ss_order *o, int i, int n, int near, int far)
{
    int m = o->s->microbatches, to_turn = n - i - 1;
    for (int k = 0; k < 2 * to_turn; k++)
        ss_order_add(o, SS_PHASE_F, near);
    for (int k = 0; k <= i; k++) {
        ss_order_add(o, SS_PHASE_F, near);
        ss_order_add(o, SS_PHASE_F, far);
    }
    for (int k = 0; k < to_turn; k++) {
        ss_order_add(o, SS_PHASE_I, far);
        ss_order_weight(o);
        ss_order_add(o, SS_PHASE_F, far);
    }
    for (int k = 0; k < m - 2 * n + i + 1; k++) {
        if (k == 0 && to_turn == 0) { /* side by side they would only hold each other up here */
            ss_order_add(o, SS_PHASE_F, near);
            ss_order_add(o, SS_PHASE_B, far);
        } else {
            ss_order_pair(o, near, far);
        }
        ss_order_pair(o, far, near);
    }
    for (int k = 0; k < to_turn; k++) {
        ss_order_add(o, SS_PHASE_B, far);
        ss_order_pair(o, far, near);
    }
    last_backwards(o, i, near, far);
    for (int k = 0; k < to_turn; k++) {
        ss_order_weight(o);
        ss_order_add(o, SS_PHASE_I, near);
    }
    while (ss_order_owed(o))
        ss_order_weight(o);
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches,
        rc = ss_schedule_need_chunks("dualpipev", params, 2, err);
    SS_THEN(rc,
            ss_schedule_need_microbatches("dualpipev", params, 2 * p, "two for each rank fill the V", err));
    if (rc)
        return rc;
    struct ss_order o;
    SS_TRY(ss_order_begin(&o, "dualpipev", params, 6 * m, err));
    struct ss_schedule *s = o.s;
    ss_schedule_place_v(s);
    for (int r = 0; r < p; r++) {
        s->warmup[r] = 2 * p;
        ss_order_rank(&o, r);
        ss_order_dualpipe(&o, r, p, 0, 1);
    }
    ss_order_end(&o);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_dualpipev = {
    .name = "dualpipev",
    .description = "DualPipe cut in half: a V of two chunks a rank, one copy of the model",
    .build = build,
    .chunks = 2,
    .facts = {.source = "deepseek-ai/DualPipe; Sea AI Lab's cut in half",
              .conditions = "m>=2p",
              .bubble = "(p-1)(FB+B-3W)",
              .in_flight = "2p+1"},
};
