/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved 1F1B as in Megatron core. All ranks run their forwards in one order: microbatches in
 * groups of N, inside a group chunk after chunk; backwards likewise with the chunks reversed. Rank r
 * runs 2 (p - r - 1) + (v - 1) N forwards before its first pair of one forward and one backward.
 *
 * Two releases differ, and the group size says which one is meant:
 *   not given   core 0.8: N = p; p must divide m; when m = p there is nothing but warm-up.
 *   given       core 0.10 and later (the first with the flag): p <= N <= m, and the last group may be
 *               short if it still has p microbatches; m = p is nothing special.
 *
 * In pairs, each steady forward is one slot with the backward that follows it, and there is one more forward of warm-up, for a
 * rank's forward and backward must not be of the same microbatch where its output is.
 */
#include "base/base.h"
#include "schedule/builder.h"

static int refuse_0_8(const struct ss_schedule_params *q, struct ss_error *err)
{
    int p = q->stages, m = q->microbatches;
    if (m % p == 0)
        return SS_OK;
    return ss_fail(
        err, SS_ERR_CONFIG, NULL, 0,
        "number of microbatches (%d) is not divisible by pipeline-model-parallel-size (%d) when using "
        "the interleaved schedule" SS_HINT
        "change the global batch so that microbatches become %d or %d, or give "
        "--microbatch-group-size-per-vp-stage for the rules of Megatron core 0.10",
        m, p, m < p ? p : m - m % p, m < p ? 2 * p : m - m % p + p);
}

static int refuse_0_10(const struct ss_schedule_params *q, struct ss_error *err)
{
    int p = q->stages, m = q->microbatches, group = q->microbatch_group_size;
    if (group < p || group > m) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                "microbatch-group-size-per-vp-stage %d is outside %d (pipeline-model-parallel-size) to %d "
                "(number of microbatches)",
                group, p, m);
        return m < p ? ss_hint(err, SS_ERR_CONFIG, "use at least %d microbatches", p)
                     : ss_hint(err, SS_ERR_CONFIG, "use a group size from %d to %d", p, m);
    }
    if (m % group && m % group < p)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "the last of the groups of %d microbatches has %d of %d microbatches, fewer than "
                       "pipeline-model-parallel-size (%d)" SS_HINT
                       "the rest must be 0 or at least %d: change the group size or the "
                       "number of microbatches",
                       group, m % group, m, p, p);
    return SS_OK;
}

static int refuse(const struct ss_schedule_params *q, struct ss_error *err)
{
    if (q->stages < 2)
        return ss_fail(
            err, SS_ERR_CONFIG, NULL, 0,
            "pipeline-model-parallel-size must be greater than 1 with the interleaved schedule" SS_HINT
            "leave the virtual pipeline stages out, or use --pp 2 or more");
    return q->microbatch_group_size ? refuse_0_10(q, err) : refuse_0_8(q, err);
}

/* The common order of all ranks: n forwards, then n backwards behind them. */
static void fill_order(struct ss_slot *order, const struct ss_schedule_params *q, int group)
{
    int v = q->chunks, m = q->microbatches, n = v * m, i = 0;
    for (int first = 0; first < m; first += group) {
        int last = m - first < group ? m : first + group;
        for (int chunk = 0; chunk < v; chunk++)
            for (int mb = first; mb < last; mb++, i++) {
                order[i] = (struct ss_slot){SS_PHASE_F, chunk, mb, -1, -1};
                order[n + i] = (struct ss_slot){SS_PHASE_B, v - 1 - chunk, mb, -1, -1};
            }
    }
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, v = params->chunks, m = params->microbatches, n = v * m;
    SS_TRY(refuse(params, err));
    int group = params->microbatch_group_size ? params->microbatch_group_size : p;
    bool only_warmup = !params->microbatch_group_size && m == p;
    struct ss_slot *order = malloc(2 * (size_t)n * sizeof *order);
    struct ss_schedule *s = ss_schedule_alloc("interleaved", params, 2 * n);
    if (!order || !s) {
        free(order);
        ss_schedule_free(s);
        return ss_nomem(err);
    }
    fill_order(order, params, group);
    s->p2p = params->overlap_p2p ? SS_P2P_OVERLAPPED : SS_P2P_BATCHED;
    for (int r = 0; r < p; r++) {
        int64_t warmup = 2 * (int64_t)(p - r - 1) + (int64_t)(v - 1) * group + (params->paired != 0);
        s->warmup[r] = only_warmup || warmup > n ? n : (int)warmup;
        if (params->paired)
            s->nslots[r] = ss_schedule_fill_pairs(s->slots[r], order, order + n, n, s->warmup[r]);
        else
            ss_schedule_fill(s->slots[r], order, order + n, n, s->warmup[r]);
    }
    free(order);
    *out = s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_interleaved = {
    .name = "interleaved",
    .description = "1F1B over several model chunks a rank; Megatron with virtual stages",
    .build = build,
    .heeds = SS_SCHEDULE_HEEDS_GROUP | SS_SCHEDULE_HEEDS_PAIRED,
    .facts = {.source = "Narayanan et al. 2021, arXiv:2104.04473; Megatron core",
              .conditions = "p divides m, or a group size",
              .bubble = "(p-1)(F+B)",
              .in_flight = "(v-1)p+2(p-1)+1, m>p"},
};
