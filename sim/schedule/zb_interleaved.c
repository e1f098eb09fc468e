/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved 1F1B whose backward is split, as PyTorch's InterleavedZeroBubble: forwards and I of all ranks in groups of N = m
 * / max(1, m / p) microbatches, chunk after chunk; rank r starts with p - r - 1 forwards more than the last rank, half of what
 * interleaved 1F1B needs, for only I stands where the backward stood; W follows r input gradients later. ZB-H1 is this with one
 * chunk. */
#include "base/base.h"
#include "schedule/builder.h"

/* Microbatches in a row on one chunk; 0: these numbers are refused. */
static int group_of(const struct ss_schedule_params *params, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches, rounds = m / p > 1 ? m / p : 1;
    if (m % rounds == 0)
        return m / rounds;
    ss_fail(err, SS_ERR_CONFIG, NULL, 0,
            "schedule zb-interleaved over %d stages: %d microbatches are no multiple of their %d rounds", p,
            m, rounds);
    ss_hint(err, SS_ERR_CONFIG, "use %d or %d microbatches", m - m % rounds, m - m % rounds + rounds);
    return 0;
}

/* Chunk of the i-th forward; the i-th backward has the chunks reversed. */
static int chunk_of(int i, int group, int chunks)
{
    return i / group % chunks;
}

int ss_split_build(const char *name, const struct ss_schedule_params *params, int group,
                   struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, v = params->chunks, n = v * params->microbatches;
    struct ss_order o;
    SS_TRY(ss_order_begin(&o, name, params, 3 * n, err));
    struct ss_schedule *s = o.s;
    for (int r = 0; r < p; r++) {
        int64_t warmup = (int64_t)(v - 1) * group + p - r - 1;
        s->warmup[r] = warmup < n ? (int)warmup : n;
        ss_order_rank(&o, r);
        for (int i = 0; i < n + s->warmup[r]; i++) {
            if (i < n)
                ss_order_add(&o, SS_PHASE_F, chunk_of(i, group, v));
            if (i < s->warmup[r])
                continue;
            ss_order_add(&o, SS_PHASE_I, v - 1 - chunk_of(i - s->warmup[r], group, v));
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

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int group = group_of(params, err);
    return group ? ss_split_build("zb-interleaved", params, group, out, err) : SS_ERR_CONFIG;
}

const struct ss_schedule_row ss_schedule_zb_interleaved = {
    .name = "zb-interleaved",
    .description = "interleaved 1F1B with split backward; PyTorch's interleaved zero bubble",
    .build = build,
    .facts = {.source = "PyTorch's InterleavedZeroBubble; Qi et al. 2024, arXiv:2401.10241",
              .conditions = "rounds max(1, m/p) divide m",
              .bubble = "(p-1)(F+I-W), m>=p",
              .in_flight = "(v-1)N+p, N of a round"},
};
