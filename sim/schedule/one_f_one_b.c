/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B as in Megatron core's pipeline without interleaving: rank r of p runs min(p - r - 1, m)
 * forwards, then one forward and one backward in turn, then the backwards that are left. In pairs, which Megatron has without
 * a pipeline alone: a forward, then each further forward beside the backward before it. */
#include "base/base.h"
#include "schedule/builder.h"

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches;
    if (params->chunks != 1)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "schedule 1f1b has one model chunk a rank, not %d" SS_HINT
                       "use the schedule 'interleaved' for virtual pipeline stages",
                       params->chunks);
    if (params->paired && p > 1)
        return ss_fail(
            err, SS_ERR_CONFIG, NULL, 0,
            "If enabling EP A2A overlap, virtual_pipeline_model_parallel_size must be specified when "
            "pipeline_model_parallel_size > 1" SS_HINT
            "use the schedule 'interleaved', dualpipe or dualpipev");
    struct ss_slot *order = malloc(2 * (size_t)m * sizeof *order);
    struct ss_schedule *s = ss_schedule_alloc("1f1b", params, 2 * m);
    if (!order || !s) {
        free(order);
        ss_schedule_free(s);
        return ss_nomem(err);
    }
    for (int i = 0; i < m; i++) {
        order[i] = (struct ss_slot){SS_PHASE_F, 0, i, -1, -1};
        order[m + i] = (struct ss_slot){SS_PHASE_B, 0, i, -1, -1};
    }
    s->p2p = params->ordered_p2p ? SS_P2P_ORDERED : SS_P2P_BLOCKING;
    for (int r = 0; r < p; r++) {
        int warmup = params->paired ? 1 : p - r - 1;
        s->warmup[r] = warmup < m ? warmup : m;
        if (params->paired)
            s->nslots[r] = ss_schedule_fill_pairs(s->slots[r], order, order + m, m, s->warmup[r]);
        else
            ss_schedule_fill(s->slots[r], order, order + m, m, s->warmup[r]);
    }
    free(order);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_1f1b = {
    .name = "1f1b",
    .description = "one forward, one backward (PipeDream-flush); Megatron without virtual stages",
    .build = build,
    .chunks = 1,
    .heeds = SS_SCHEDULE_HEEDS_PAIRED,
    .facts = {.source = "Narayanan et al. 2021, arXiv:2006.09503; Megatron core",
              .conditions = "",
              .bubble = "(p-1)(F+B)",
              .in_flight = "p"},
};
