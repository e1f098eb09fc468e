/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paces of GPUs that the ranks of a stage take (docs/reference/model.md, "Spread of GPUs"). A rank takes
 * the pace of the slowest of the ranks that wait for each other in every layer. One stage takes the pace of
 * the slowest GPU of the job, which sets the pace of all pipelines.
 */
#include "base/base.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

/* Returns the number of replicas, the rank's own included, that have ranks in a group of the communicator. */
static int replicas_of(const struct ss_plan_builder *b, int comm)
{
    const struct ss_plan *plan = b->plan;
    int n = 0, replicas = 0, *seen = b->members + plan->gpus;
    if (ss_groups_shape(&b->groups, comm, 0).n <= 1)
        return 1;
    ss_comm_members(plan, comm, 0, b->members, &n);
    memset(seen, 0, (size_t)plan->ranks.size[SS_AXIS_DP] * sizeof *seen);
    for (int i = 0; i < n; i++) {
        int own = ss_ranks_coordinate(&plan->ranks, b->members[i], SS_AXIS_DP);
        replicas += !seen[own];
        seen[own] = 1;
    }
    return replicas;
}

int ss_plan_lockstep_replicas(const struct ss_plan_builder *b)
{
    int experts = replicas_of(b, SS_COMM_ETP_EP);
    int shards =
        b->plan->job->dp.sharding >= SS_SHARD_OPTIM_GRADS && !ss_job_fsdp_once(b->plan->job, b->plan->stack)
            ? replicas_of(b, SS_COMM_FSDP)
            : 1;
    if (ss_job_reduces_amax(b->plan->job, b->plan->stack) > 1)
        return ss_job_dp(b->plan->job, b->plan->world_size);
    return shards > experts ? shards : experts;
}

static struct ss_gpu_spread pace_of(const struct ss_plan *plan)
{
    return ss_pace_of(ss_platform_card(plan->platform), plan->job->spread,
                      ss_platform_gpus_per_node(plan->platform));
}

int ss_plan_pace_draw(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_gpu_spread pace = pace_of(plan);
    if (!b->options->draw_spread)
        return SS_OK;
    if (plan->world_size == 1 || !ss_pace_differs(&pace)) {
        ss_notes_add(&plan->warnings, "--spread-seed draws nothing: %s",
                     plan->world_size == 1
                         ? "there is one GPU"
                         : "--spread 0 or the card's ss.spread props make all GPUs as fast");
        return SS_OK;
    }
    b->drawn = ss_calloc((size_t)plan->world_size, sizeof *b->drawn);
    SS_NEED(b->drawn, err);
    for (int r = 0; r < plan->world_size; r++)
        b->drawn[r] = ss_pace_draw(&pace, b->options->spread_seed, ss_plan_gpu(plan, r));
    return SS_OK;
}

/* ---- the slowest GPU of the job ---- */

static void add_phase(struct ss_pace_part *part, const double *by_label)
{
    double kernels = by_label[SS_LABEL_COMPUTE] + by_label[SS_LABEL_RECOMPUTE];
    part->kernels += kernels;
    part->fixed += ss_label_sum(by_label) - kernels;
}

/* Returns what a microbatch takes on all chunks of a rank, on the mean GPU. Where its slots are pairs,
 * exchanges that kernels of other chunks hide do not count. */
static struct ss_pace_part part_of(const struct ss_plan *plan, const struct ss_rank_cost *c)
{
    int chunks = plan->schedule->chunks, npairs = 0;
    struct ss_pace_part part = {0}, pairs = {0};
    for (int k = 0; k < chunks; k++) {
        add_phase(&part, c->chunks[k].forward);
        add_phase(&part, c->chunks[k].backward);
    }
    for (int i = 0; c->pairs && i < chunks * chunks; i++)
        if (ss_label_sum(c->pairs[i].seconds) > 0) {
            add_phase(&pairs, c->pairs[i].seconds);
            npairs++;
        }
    if (npairs)
        part.fixed = pairs.fixed * chunks / npairs;
    part.gpus = (double)plan->world_size / plan->schedule->stages;
    return part;
}

static double part_seconds(const struct ss_pace_part *part, double pace)
{
    return part->fixed + pace * part->kernels;
}

/* Returns the stage that takes longest. Among stages equal to a thousandth it is the one in the middle: a
 * slow GPU may be on any of them, and the bubble hides more of it the nearer it is to the first stage. */
static int longest_stage(const struct ss_pace_part *parts, int n, double pace)
{
    double most = 0;
    int found = 0, at = 0;
    for (int s = 0; s < n; s++)
        most = fmax(most, part_seconds(&parts[s], pace));
    for (int s = 0; s < n; s++)
        found += part_seconds(&parts[s], pace) >= most * 0.999;
    for (found /= 2; found >= 0; at++)
        found -= part_seconds(&parts[at], pace) >= most * 0.999;
    return at - 1;
}

/* Sets the paces of the stages' ranks: the slowest of the ranks that wait for each other in every layer. On
 * the longest stage the pace is so large that this stage takes the expected time of the stage that is longest
 * with all its GPUs. `parts` is sorted. */
static void find_paces(const struct ss_plan_builder *b, struct ss_pace_part *parts, double *paces)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_gpu_spread pace = pace_of(plan);
    int stages = plan->schedule->stages, per_replica = plan->job->tp * plan->job->cp;
    double usual =
        ss_pace_slowest_kept(b->options->cache, &pace,
                             stages == 1 ? plan->world_size : per_replica * ss_plan_lockstep_replicas(b));
    for (int s = 0; s < stages; s++)
        paces[s] = usual;
    if (stages == 1)
        return;
    int at = longest_stage(parts, stages, usual);
    struct ss_pace_part longest = parts[at];
    double seconds = ss_pace_longest_kept(b->options->cache, &pace, parts, stages);
    if (longest.kernels > 0)
        paces[at] = fmax(usual, (seconds - longest.fixed) / longest.kernels);
}

static int expect_paces(struct ss_plan_builder *b, struct ss_error *err)
{
    int stages = b->plan->schedule->stages;
    struct ss_pace_part *parts = ss_calloc((size_t)stages, sizeof *parts);
    double *paces = ss_calloc((size_t)stages, sizeof *paces);
    if (parts && paces) {
        for (int i = b->ncosts - 1; i >= 0; i--) /* first entry of a stage: replicas are alike */
            parts[b->costs[i].site.stage] = part_of(b->plan, &b->costs[i].cost);
        find_paces(b, parts, paces);
        for (int i = 0; i < b->ncosts; i++)
            b->costs[i].site.pace = b->costs[i].site.own_pace = paces[b->costs[i].site.stage];
    }
    SS_FREE(parts, paces);
    return parts && paces ? SS_OK : ss_nomem(err);
}

/* ---- times at these paces ---- */

/* Returns whether slower kernels would hide more of what runs beside them. */
static int hides(const struct ss_rank_cost *c, int chunks)
{
    int found = c->pairs != NULL;
    for (int k = 0; k < chunks && !found; k++) {
        found = c->chunks[k].issue[SS_PHASE_F].host > 0 || c->chunks[k].issue[SS_PHASE_B].host > 0;
        for (int phase = 0; phase < SS_PHASE_FB && !found; phase++) {
            const double *t = ss_chunk_labels(&c->chunks[k], phase);
            found = ss_label_sum(t) - t[SS_LABEL_COMPUTE] - t[SS_LABEL_RECOMPUTE] > 0;
        }
    }
    return found;
}

/* Stretches the kernels alone. */
static void stretch(double *by_label, double pace)
{
    for (int l = 0; l < SS_LABEL_COUNT && pace < 1; l++)
        by_label[l] *= pace;
    by_label[SS_LABEL_SPREAD] = pace > 1 ? (pace - 1) * ss_label_sum(by_label) : 0;
}

static void stretch_all(struct ss_rank_cost *c, int chunks, double pace)
{
    for (int k = 0; k < chunks; k++) {
        stretch(c->chunks[k].forward, pace);
        stretch(c->chunks[k].backward, pace);
        stretch(c->chunks[k].input_grad, pace);
        stretch(c->chunks[k].weight_grad, pace);
    }
}

static const double *pair_seconds(const struct ss_rank_cost *c, int chunks, int forward, int backward)
{
    return c->pairs ? c->pairs[forward * chunks + backward].seconds : c->chunks[forward].forward;
}

/* Slots of a rank by phase and chunk, and pairs by both chunks. */
struct slot_counts {
    int *of;    /* [phase * chunks + chunk] */
    int *pairs; /* [forward chunk * chunks + backward chunk]; behind `of` */
    int paired; /* 1: there are pairs */
};

/* Counts the slots [from, to), which run `times` times: equal slots come by the thousand. */
static void count_slots(const struct ss_slot *slots, int from, int to, int times, int chunks,
                        struct slot_counts *counts)
{
    for (int i = from; i < to; i++) {
        if (slots[i].phase == SS_PHASE_FB) {
            counts->pairs[slots[i].chunk * chunks + slots[i].chunk2] += times;
            counts->paired = 1;
        } else {
            counts->of[slots[i].phase * chunks + slots[i].chunk] += times;
        }
    }
}

static void add_hidden(struct ss_cost_entry *entry, int times, const double *before, const double *after)
{
    for (int l = 0; l < SS_LABEL_COUNT && times > 0; l++)
        entry->hidden[l] += l == SS_LABEL_SPREAD ? 0 : times * (before[l] - after[l]);
}

/* Finds by how much each label of an iteration is shorter because slower kernels hide more of it; equal slots
 * are counted together. */
static void find_hidden(const struct ss_schedule *s, const struct ss_rank_cost *even, int *room,
                        struct ss_cost_entry *entry)
{
    const int stage = entry->site.stage, v = s->chunks, n = s->nslots[stage];
    const int first = s->loop_more ? s->loop_first[stage] : n,
              end = s->loop_more ? first + s->loop_length : n;
    const struct ss_rank_cost *paced = &entry->cost;
    struct slot_counts counts = {room, room + SS_PHASE_FB * v, 0};
    count_slots(s->slots[stage], 0, first, 1, v, &counts);
    count_slots(s->slots[stage], first, end, s->loop_more + 1, v, &counts);
    count_slots(s->slots[stage], end, n, 1, v, &counts);
    /* a pair without a cost of its own is F, then B */
    for (int i = 0; counts.paired && !even->pairs && i < v * v; i++)
        counts.of[SS_PHASE_B * v + i % v] += counts.pairs[i];
    for (int phase = 0; phase < SS_PHASE_FB; phase++)
        for (int k = 0; k < v; k++)
            add_hidden(entry, counts.of[phase * v + k], ss_chunk_labels(&even->chunks[k], phase),
                       ss_chunk_labels(&paced->chunks[k], phase));
    for (int i = 0; counts.paired && i < v * v; i++)
        add_hidden(entry, counts.pairs[i], pair_seconds(even, v, i / v, i % v),
                   pair_seconds(paced, v, i / v, i % v));
}

/* Returns an earlier cost for the same paces on a stage that is alike; NULL: there is none. */
static const struct ss_cost_entry *rebuilt_like(const struct ss_plan_builder *b,
                                                const struct ss_cost_entry *entry)
{
    for (const struct ss_cost_entry *e = b->costs; e < entry; e++)
        if (e->like == entry->like && e->site.pace == entry->site.pace &&
            e->site.own_pace == entry->site.own_pace)
            return e;
    return NULL;
}

/* Returns an earlier rebuilt cost at an equal site of any stage; NULL: there is none. */
static const struct ss_rank_cost *rebuilt_at(const struct ss_plan_builder *b,
                                             const struct ss_cost_entry *entry)
{
    for (const struct ss_cost_entry *e = b->costs; e < entry; e++)
        if (e->rebuilt && ss_rank_site_equal(&e->site, &entry->site))
            return &e->cost;
    return NULL;
}

static int rebuild(const struct ss_plan_builder *b, struct ss_cost_entry *entry, struct ss_error *err)
{
    const struct ss_cost_entry *like = rebuilt_like(b, entry);
    struct ss_cost_input in = ss_plan_cost_input(b->plan, &b->net);
    struct ss_rank_cost even = entry->cost;
    in.keeper = &b->keeper;
    size_t v = (size_t)b->plan->schedule->chunks;
    int *count = ss_calloc((SS_PHASE_FB + v) * v, sizeof *count);
    SS_NEED(count, err);
    int rc = like ? ss_rank_cost_copy(&in, &like->cost, entry->site.stage, &entry->cost, err)
                  : ss_rank_cost_paced(&in, &entry->site, &even, rebuilt_at(b, entry), &entry->cost, err);
    entry->rebuilt = 1;
    if (!rc)
        find_hidden(b->plan->schedule, &even, count, entry);
    free(count);
    ss_rank_cost_free(&even);
    return rc;
}

static void take_cost(const struct ss_plan_builder *b, int cls)
{
    const struct ss_cost_entry *entry = &b->costs[b->cost_of[cls]];
    struct ss_plan_class *pc = &b->plan->classes[cls];
    size_t chunks = (size_t)b->plan->schedule->chunks;
    pc->pace = entry->site.own_pace;
    memcpy(pc->hidden, entry->hidden, sizeof pc->hidden);
    memcpy(pc->chunks, entry->cost.chunks, chunks * sizeof *pc->chunks);
    if (pc->pairs)
        memcpy(pc->pairs, entry->cost.pairs, chunks * chunks * sizeof *pc->pairs);
}

int ss_plan_pace_build(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_gpu_spread pace = pace_of(b->plan);
    int rc = SS_OK;
    if (b->plan->world_size == 1 || !ss_pace_differs(&pace))
        return SS_OK;
    if (!b->drawn)
        rc = expect_paces(b, err);
    for (int i = 0; i < b->ncosts && !rc; i++) {
        struct ss_cost_entry *entry = &b->costs[i];
        if (hides(&entry->cost, b->plan->schedule->chunks))
            rc = rebuild(b, entry, err);
        else
            stretch_all(&entry->cost, b->plan->schedule->chunks, entry->site.pace);
    }
    for (int c = 0; c < b->plan->nclasses && !rc; c++)
        take_cost(b, c);
    return rc;
}
