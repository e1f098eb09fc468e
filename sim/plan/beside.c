/* SPDX-License-Identifier: Apache-2.0 */
/* Slots beside the reductions and gathers of replicas, which hold SMs. */
#include <math.h>
#include <string.h>

#include "plan/buckets.h"

/* Seconds of a class's slots, of the kernels in them, of the GEMMs among these, of the host between kernels. */
struct slot_seconds {
    double all, kernels, gemms, host;
};

static struct slot_seconds slot_seconds(const struct ss_plan *plan, int cls)
{
    struct slot_seconds s = {0};
    for (int k = 0; k < plan->schedule->chunks; k++) {
        const struct ss_chunk_cost *chunk = &plan->classes[cls].chunks[k];
        double kernels = ss_chunk_kernels(chunk);
        double waits = ss_issue_left(&chunk->issue[SS_PHASE_F]) + ss_issue_left(&chunk->issue[SS_PHASE_B]);
        s.all += ss_chunk_seconds(chunk, SS_PHASE_F) + ss_chunk_seconds(chunk, SS_PHASE_B) - waits;
        s.kernels += kernels;
        s.gemms += chunk->gemms * kernels;
        s.host += chunk->forward[SS_LABEL_OTHER] + chunk->backward[SS_LABEL_OTHER] - waits;
    }
    return s;
}

/* Returns the share that a collective of the group takes of the computation in a slot beside it, in the class
 * that all others wait for: of kernels and the host's time between them; at_chunks: also of waits inside the
 * slot. */
static double sm_share(const struct ss_dp_group *d, int at_chunks)
{
    const struct ss_plan *plan = d->b->plan;
    const struct ss_card *card = ss_platform_card(plan->platform);
    struct slot_seconds most = {0, 0, 0, 0};
    for (int i = 0; i < d->classes.n; i++) {
        const struct slot_seconds s = slot_seconds(plan, d->classes.cls[i]);
        most = s.all > most.all ? s : most;
    }
    double taken = ss_sm_share_taken(card, ss_collective_sm_share(plan->stack, card, &d->shape),
                                     most.kernels > 0 ? most.gemms / most.kernels : 0);
    return ss_sm_share_diluted(taken, most.kernels, at_chunks ? fmax(0, most.all - most.kernels) : most.host);
}

/* Returns how long the group's reductions of a class's chunk k take, alone on their links, over its backward. */
static double part_beside(const struct ss_dp_group *d, int cls, int k)
{
    double bytes = ss_dp_params(d, ss_dp_same_chunk(d, cls, k)) * d->how.grad_bytes;
    double backward = ss_label_sum(d->b->plan->classes[cls].chunks[k].backward);
    return bytes > 0 ? ss_collective_seconds(&d->b->net, d->how.reduce, bytes, &d->shape) / backward : 0;
}

/* Fills the backward of a chunk beside reductions that hold the share `held` of the SMs for the first `part` of each layer's time, as
 * buckets are ready where layers end: what is recomputed comes first. Kernels and the host's time between them take longer, waits do
 * not. */
static void slow_beside(const struct ss_chunk_cost *chunk, double held, double part,
                        double out[SS_LABEL_COUNT])
{
    const double *own = chunk->backward;
    double all = ss_label_sum(own), again = own[SS_LABEL_RECOMPUTE], more = held / (1 - held);
    double done = part * all * (1 - held), first = fmin(done, again);
    double rest = all > again ? fmin(1, (done - first) / (all - again)) : 0;
    double before = own[SS_LABEL_COMPUTE] + again;
    memcpy(out, own, sizeof chunk->backward);
    out[SS_LABEL_RECOMPUTE] += first * more;
    out[SS_LABEL_COMPUTE] *= 1 + rest * more;
    out[SS_LABEL_OTHER] *= 1 + rest * more;
    if (before > 0)
        out[SS_LABEL_SPREAD] *= (out[SS_LABEL_COMPUTE] + out[SS_LABEL_RECOMPUTE]) / before;
}

/* Fills the last backwards of chunk level, in which kernels run beside the group's reductions and, where replicas have shards, beside the
 * collectives of layers, too. Returns the share that a reduction takes of such a slot; < 0: out of memory. */
static double share_of_last(const struct ss_dp_group *d)
{
    struct ss_plan *plan = d->b->plan;
    double held = sm_share(d, 0), share = 0;
    for (int i = 0; i < d->classes.n; i++) {
        int cls = d->classes.cls[i];
        const struct ss_cost_entry *priced = &d->b->costs[d->b->cost_of[cls]];
        for (int k = 0; k < plan->schedule->chunks; k++) {
            struct ss_chunk_cost *chunk = &plan->classes[cls].chunks[k];
            double beside[SS_LABEL_COUNT], part = part_beside(d, cls, k), taken = 0;
            if (priced->site.fsdp.n <= 1)
                slow_beside(chunk, held, part, beside);
            else if (ss_rank_backward_beside(&priced->cost, &priced->site, k, held, part, beside, &taken))
                return SS_ERR_NOMEM;
            if (ss_label_sum(chunk->backward_beside) <= 0)
                memcpy(chunk->backward_beside, chunk->backward, sizeof chunk->backward);
            for (int l = 0; l < SS_LABEL_COUNT; l++)
                chunk->backward_beside[l] += beside[l] - chunk->backward[l];
            share = fmax(share, taken);
        }
    }
    return share > 0 ? share : sm_share(d, 1);
}

double ss_dp_group_share(const struct ss_dp_group *d)
{
    int at_chunks = d->b->plan->level == SS_LEVEL_CHUNK;
    return at_chunks && d->how.reduce_early ? share_of_last(d) : sm_share(d, at_chunks);
}
