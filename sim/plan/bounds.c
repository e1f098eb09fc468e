/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/bounds.h"

#include "base/base.h"
#include "plan/order.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

int ss_plan_bounds_is_even(const struct ss_job *job, int alike)
{
    int given = job->layout.n > 0 || job->first_stage_layers > 0 || job->account_for_embedding ||
                job->account_for_loss;
    int by_chunk = job->recompute.method == SS_RECOMPUTE_BLOCK || job->offload.layers > 0 ||
                   job->offload.modules || job->recompute.num_layers > 1;
    if (given || by_chunk || job->packed.rows || ss_experts_loads_by_layer(job) ||
        job->model.mtp_num_layers > 0 || ss_job_encodes(job))
        return 0;
    return alike;
}

int ss_plan_bounds_p2p(const struct ss_job *job, const struct ss_stack *stack)
{
    return ss_job_chunks(job) == 1           ? SS_P2P_BLOCKING
           : ss_job_overlaps_p2p(job, stack) ? SS_P2P_OVERLAPPED
                                             : SS_P2P_BATCHED;
}

/* Makes a schedule with few microbatches, for its stages only, so that it costs nothing. */
static int make_schedule(const struct ss_job *job, const struct ss_stack *stack, int one_chunk,
                         struct ss_schedule **out, struct ss_error *err)
{
    const struct ss_schedule_params params = {
        .stages = job->pp, .chunks = one_chunk ? 1 : ss_job_chunks(job), .microbatches = 1};
    int rc = ss_schedule_build(ss_schedule_undemanding(params.chunks, 0), &params, out, err);
    if (!rc && !one_chunk && ss_plan_bounds_is_megatrons(job))
        (*out)->p2p = ss_plan_bounds_p2p(job, stack);
    return rc;
}

/* Returns the pace of the ranks that wait for each other in every layer, of one stage among `stages`; no stage is faster. */
static double pace_of(const struct ss_plan_builder *b, int stages)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_gpu_spread spread = ss_pace_of(ss_platform_card(plan->platform), plan->job->spread,
                                                   ss_platform_gpus_per_node(plan->platform));
    if (plan->world_size == 1 || !ss_pace_differs(&spread))
        return 1;
    int together =
        stages == 1 ? plan->world_size : plan->job->tp * plan->job->cp * ss_plan_lockstep_replicas(b);
    return ss_pace_slowest_kept(b->options->cache, &spread, together);
}

/* Returns the seconds of a slot; of a slot whose exchanges may be hidden, or take less than the busiest
 * rank's, only the kernels. */
static double seconds_of(const double *by_label, int kernels)
{
    return kernels ? by_label[SS_LABEL_COMPUTE] + by_label[SS_LABEL_RECOMPUTE] + by_label[SS_LABEL_SPREAD]
                   : ss_label_sum(by_label);
}

/* Adds what the host takes for a phase of a chunk, and returns the seconds of the phase without its waits, which may be part of
 * them. */
static double add_host(const struct ss_rank_cost *cost, int k, int phase, int kernels,
                       struct ss_stage_bounds *out)
{
    const struct ss_chunk_cost *chunk = &cost->chunks[k];
    const struct ss_chunk_host host = ss_chunk_host_of(cost, k, phase);
    double seconds = seconds_of(phase == SS_PHASE_F ? chunk->forward : chunk->backward, kernels);
    out->in_step[phase] = (k == 0 || out->in_step[phase]) && host.in_step; /* of all chunks */
    out->layers_work[phase] += kernels ? 0 : ss_chunk_layers_seconds(cost, k, phase);
    out->layers_host[phase] += host.layers_host;
    if (host.in_step)
        return seconds;
    out->host[phase] += host.host;
    seconds -= kernels ? 0 : chunk->issue[phase].waits;
    out->waits[phase] += kernels ? 0 : host.waits[0];
    out->after[phase] = kernels || !(host.waits[1] > 0) ? host.host : seconds + host.waits[1];
    return seconds;
}

static void add_chunk(const struct ss_rank_cost *cost, int k, int kernels, struct ss_stage_bounds *out)
{
    const struct ss_chunk_cost *chunk = &cost->chunks[k];
    const double b_waits = kernels ? 0 : chunk->issue[SS_PHASE_B].waits;
    double waits = out->waits[SS_PHASE_B], host = out->host[SS_PHASE_B];
    double f = add_host(cost, k, SS_PHASE_F, kernels, out);
    double b = add_host(cost, k, SS_PHASE_B, kernels, out);
    double split = seconds_of(chunk->input_grad, kernels) + seconds_of(chunk->weight_grad, kernels) - b_waits;
    double back = out->waits[SS_PHASE_B] - waits, issued = out->host[SS_PHASE_B] - host;
    out->forward += f;
    out->backward += b;
    out->most_back = fmax(out->most_back, b + back);
    out->least_back[0] = k ? fmin(out->least_back[0], b) : b;
    out->least_back[1] = k ? fmin(out->least_back[1], issued) : issued;
    out->split += f + fmin(b, split);
    out->chunk = out->activations > 0 ? fmin(out->chunk, chunk->activation_bytes) : chunk->activation_bytes;
    out->largest = fmax(out->largest, chunk->activation_bytes);
    out->activations += chunk->activation_bytes;
    out->layers += chunk->activation_bytes - chunk->border_bytes;
    out->logits += chunk->logits_bytes;
    out->extra = fmax(out->extra, chunk->backward_extra_bytes);
}

/* Returns the seconds of labels that no host's wait is part of. */
static double without_host(const double *by_label)
{
    return ss_label_sum(by_label) - by_label[SS_LABEL_OTHER];
}

/*
 * Returns what a rank's forwards take beyond all kernels, at least, however they are paired: a forward alone takes its
 * exchanges, one beside a backward what the pair takes beyond the kernels of both, with whichever backward that is least.
 * A backward alone takes no less than its kernels.
 */
static double exposed_of(const struct ss_rank_cost *cost, int chunks)
{
    double sum = 0, lowest = INFINITY;
    for (int f = 0; f < chunks && cost->pairs; f++) {
        const double *forward = cost->chunks[f].forward, kernels = seconds_of(forward, 1);
        const struct ss_pair_cost *pair = &cost->pairs[f * chunks];
        double least = INFINITY;
        for (int b = 0; b < chunks; b++) {
            double both = without_host(pair[b].seconds);
            if (both > 0)
                least = fmin(least, both - kernels - seconds_of(cost->chunks[b].backward, 1));
        }
        if (isinf(least)) /* the chunk is like one before it */
            least = lowest;
        least = fmax(0, fmin(least, without_host(forward) - kernels));
        lowest = fmin(lowest, least);
        sum += least;
    }
    return sum;
}

static double waits_of(const struct ss_stage_bounds *s)
{
    return s->waits[SS_PHASE_F] + s->waits[SS_PHASE_B];
}

/* Sets what the chunk that was added last takes; `so_far` is the sum without it. */
static void set_chunk(const struct ss_stage_bounds *s, const double so_far[2], double chunk[2])
{
    chunk[0] = s->forward + s->backward - so_far[0];
    chunk[1] = s->forward + s->backward + waits_of(s) - so_far[1];
}

/* Sets what the slots of the chunk that was added last take, `was` being the bounds without it. */
static void set_slot(const struct ss_stage_bounds *was, const struct ss_stage_bounds *s,
                     struct ss_slot_bounds *out)
{
    const double work[2] = {s->forward - was->forward, s->backward - was->backward};
    for (int i = 0; i < 2; i++) {
        int phase = i ? SS_PHASE_B : SS_PHASE_F;
        out->seconds[i][0] = work[i];
        out->seconds[i][1] = work[i] + s->waits[phase] - was->waits[phase];
    }
}

/* Adds what nothing hides of a data-parallel communicator's collectives, on links that nobody shares. */
static void add_replicas(const struct ss_plan_builder *b, int comm, int rank, const struct ss_rank_cost *cost,
                         struct ss_stage_bounds *out)
{
    const struct ss_group_shape shape = ss_groups_shape(&b->groups, comm, rank);
    double params = 0;
    if (shape.n <= 1 || !ss_comm_has_flows(b->plan, comm))
        return;
    const struct ss_replicas how = ss_plan_replicas(b, comm, rank);
    for (int k = 0; k < b->plan->schedule->chunks; k++)
        params += comm == SS_COMM_EDP ? cost->params[k].expert : cost->params[k].all - cost->params[k].expert;
    if (params > 0 && !how.reduce_early)
        out->reduce += ss_collective_seconds(&b->net, how.reduce, params * how.grad_bytes, &shape);
    if (params > 0 && !how.gather_late && how.scatter)
        out->gather += ss_collective_seconds(&b->net, SS_COLL_ALL_GATHER,
                                             params * (how.param_bytes - how.fp8_saving), &shape);
}

/* ---- messages ---- */

/* Returns the fewer bytes, of those so far (0: none) and of a chunk's messages. */
static double least_sent(double sent, const struct ss_chunk_cost *chunk)
{
    for (int i = 0; i < 2; i++) {
        double bytes = i ? chunk->recv_bytes : chunk->send_bytes;
        sent = bytes > 0 && (sent <= 0 || bytes < sent) ? bytes : sent;
    }
    return sent;
}

/* Returns whether replicas of two stages lie alike. */
static int same_replicas(const struct ss_plan_builder *b, int stage, int other)
{
    int stride = b->plan->ranks.stride[SS_AXIS_PP];
    const struct ss_group_shape s = ss_groups_shape(&b->groups, SS_COMM_DP_CP, stage * stride),
                                o = ss_groups_shape(&b->groups, SS_COMM_DP_CP, other * stride);
    return s.n == o.n && s.nodes == o.nodes && s.per_node == o.per_node;
}

/* Returns whether the order of all slots is worth a look: the layers are unlike, so that ranks wait for one another in each turn, and
 * their slots follow each other as the schedule has them. */
static int is_ordered(const struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;
    return job->pp > 1 && ss_plan_bounds_is_megatrons(job) && !job->moe.overlap && !job->packed.rows &&
           !ss_layers_alike(job);
}

/* A stage whose ranks are priced. stage -1: none. */
struct priced {
    struct ss_rank_site site;
    struct ss_rank_cost cost; /* of a stage that is alike */
};

/* Adds the kinds of layers of the first stage, and those that the last one alone has, at the pace of one among several. */
static void add_layers(const struct ss_plan_builder *b, const struct ss_rank_site *site,
                       const struct ss_rank_cost *cost, struct ss_layer_bounds *out)
{
    const struct ss_plan *plan = b->plan;
    if ((site->stage > 0 && site->stage < plan->schedule->stages - 1) ||
        !ss_plan_bounds_has_layers(plan->job, plan->stack, plan->platform))
        return;
    struct ss_rank_site first = ss_plan_site(b, 0, 0);
    first.pace = first.own_pace = site->pace;
    out->microbatches = plan->microbatches;
    out->micro_batch = plan->job->micro_batch;
    out->kinds = ss_rank_layers(cost, !ss_rank_site_equal(site, &first), out->kind, out->kinds,
                                SS_ARRAY_LEN(out->kind));
    const double faster = plan->schedule->stages == 1 ? pace_of(b, 2) / site->pace : 1;
    for (int k = 0; k < out->kinds && faster < 1; k++) {
        out->kind[k].all -= (1 - faster) * out->kind[k].kernels;
        out->kind[k].kernels *= faster;
    }
}

/* Finds the bounds of a stage. *before is the stage before it, and becomes this one; *out has the bounds of the stage before it, which hold
 * for one that is alike. The layers of another one at an equal site are taken over. slot[chunks], which may be NULL, gets those of its slots. */
static int find_stage(const struct ss_plan_builder *b, int stage, double pace, int exact,
                      struct priced *before, struct ss_stage_bounds *out, struct ss_slot_bounds *slot,
                      struct ss_plan_bounds *all, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    struct ss_cost_input in = ss_plan_cost_input(plan, &b->net);
    struct ss_rank_site site = ss_plan_site(b, stage * plan->ranks.stride[SS_AXIS_PP], stage);
    struct ss_rank_cost cost;
    int unlike = plan->uneven || site.ep.spread.uneven;
    int kernels = plan->experts && (unlike || plan->job->moe.overlap);
    in.any_order = 1;
    in.keeper = &b->keeper;
    in.pairs = exact && !unlike;
    all->loose |= all->even || (kernels && !unlike) || (!exact && is_ordered(plan));
    site.pace = site.own_pace = pace;
    int last = before->site.stage, equal = last >= 0 && ss_rank_site_equal(&site, &before->site);
    int alike = equal && ss_stages_alike(&in, stage, last) && same_replicas(b, stage, last);
    before->site = site;
    if (alike) {
        int chunks = plan->schedule->chunks;
        if (slot)
            memcpy(slot, slot - chunks, (size_t)chunks * sizeof *slot);
        return SS_OK;
    }
    memset(out, 0, sizeof *out);
    int rc = ss_rank_cost_build(&in, &site, equal ? &before->cost : NULL, &cost, err);
    for (int k = 0; k < plan->schedule->chunks && !rc; k++) {
        double sum = out->forward + out->backward, so_far[2] = {sum, sum + waits_of(out)};
        const struct ss_stage_bounds was = *out;
        add_chunk(&cost, k, kernels, out);
        if (slot)
            set_slot(&was, out, &slot[k]);
        set_chunk(out, so_far, out->last);
        if (k == 0)
            memcpy(out->first, out->last, sizeof out->first);
        all->sent = least_sent(all->sent, &cost.chunks[k]);
    }
    if (!rc) {
        add_layers(b, &site, &cost, &all->layers);
        out->issues = ss_rank_issues(&cost);
        out->exposed = exposed_of(&cost, plan->schedule->chunks);
        out->step = cost.optimizer_s + cost.gradients_s + plan->stack->fixed_iteration;
        for (int m = 0; m < SS_MEM_COUNT; m++)
            out->fixed += cost.memory[m];
        all->states = fmax(all->states, cost.memory[SS_MEM_WEIGHTS] + cost.memory[SS_MEM_GRADIENTS] +
                                            cost.memory[SS_MEM_OPTIMIZER]);
        add_replicas(b, SS_COMM_DP_CP, stage * plan->ranks.stride[SS_AXIS_PP], &cost, out);
        if (ss_job_experts_apart(plan->job))
            add_replicas(b, SS_COMM_EDP, stage * plan->ranks.stride[SS_AXIS_PP], &cost, out);
        out->step_bytes = cost.step_bytes;
        out->main_gradients = cost.main_gradients;
        out->beside = ss_memory_overhead(plan->job, plan->stack, plan->world_size, cost.parameters);
        if (!all->even && !plan->job->moe.overlap)
            ss_plan_bounds_raise_bytes(plan, &cost, stage, out, all);
    }
    ss_rank_cost_free(&before->cost);
    before->cost = cost;
    return rc;
}

/* Returns the seconds of a microbatch where host and GPU begin each slot in step. */
static double together(const struct ss_stage_bounds *s)
{
    return s->forward + s->backward + s->exposed + waits_of(s);
}

/* Host and GPU are busy. Where the host ends each forward with the GPU, a backward behind one has its waits; of the last ones, which
 * follow each other, host and GPU go through all. */
double ss_plan_bounds_ahead(const struct ss_stage_bounds *s, int microbatches, int warmup)
{
    double work = s->forward + s->backward + s->exposed, host = s->host[SS_PHASE_F] + s->host[SS_PHASE_B];
    double most = microbatches * fmax(work, host);
    if (!s->in_step[SS_PHASE_F] || s->in_step[SS_PHASE_B])
        return most;
    double least = fmax(s->least_back[0], s->least_back[1]);
    return fmax(most, microbatches * (work + s->waits[SS_PHASE_B]) - warmup * (s->most_back - least));
}

/* Raises `passing` to that of a stage behind the way. */
static void pass(const struct ss_stage_bounds *s, int microbatches, const double way[2], int warmup,
                 struct ss_plan_bounds *out)
{
    out->passing[0] = fmax(out->passing[0], way[0] + ss_plan_bounds_ahead(s, microbatches, warmup));
    out->passing[1] = fmax(out->passing[1], way[1] + microbatches * together(s));
}

/*
 * Raises `passing` to the way of the first microbatch through all chunks, `whole` of both phases, the slots of the last stage until its
 * last forward, and the way of the last microbatch back. The last stage's first backward is behind the first forward of its last chunk;
 * from there on it has all forwards but those of one group on its other chunks, and as many backwards of each chunk.
 */
static void pass_whole(const struct ss_plan *plan, const double whole[2], const struct ss_stage_bounds *last,
                       struct ss_plan_bounds *out)
{
    int m = plan->microbatches, group = ss_plan_bounds_group(plan->job, m), v = plan->schedule->chunks;
    const double slots[2] = {last->forward + last->backward, last->forward + last->backward + waits_of(last)};
    for (int i = 0; i < 2 && group && !plan->job->moe.overlap; i++)
        out->passing[i] =
            fmax(out->passing[i], whole[i] + (m - group) * slots[i] + (group - 1) * last->last[i] +
                                      ss_plan_bounds_messages(out, v));
}

/* Raises each field to the larger one, and `step` to the smaller. What is told of F and B apart is told of F. */
static void raise(struct ss_stage_bounds *to, const struct ss_stage_bounds *s)
{
    double most = fmax(together(to), together(s));
    to->host[SS_PHASE_F] =
        fmax(to->host[SS_PHASE_F] + to->host[SS_PHASE_B], s->host[SS_PHASE_F] + s->host[SS_PHASE_B]);
    to->host[SS_PHASE_B] = to->waits[SS_PHASE_B] = 0;
    to->in_step[SS_PHASE_F] = to->in_step[SS_PHASE_B] = 1; /* slots are of no one stage */
    if (s->forward + s->backward + s->exposed > to->forward + to->backward + to->exposed) {
        to->forward = s->forward;
        to->backward = s->backward;
        to->exposed = s->exposed;
    }
    to->waits[SS_PHASE_F] = most - to->forward - to->backward - to->exposed;
    to->step = fmin(to->step, s->step);
    to->gather = fmin(to->gather, s->gather);
    to->reduce = fmin(to->reduce, s->reduce);
    if (s->fixed + s->beside > to->fixed + to->beside) {
        to->fixed = s->fixed;
        to->beside = s->beside;
        to->step_bytes = s->step_bytes;
        to->main_gradients = s->main_gradients;
    }
}

/* Lowers the fields of a stage between the first and the last one, which stands for all of them, to what a stage takes whose groups lie
 * otherwise. */
static void lower(struct ss_stage_bounds *to, const struct ss_stage_bounds *s)
{
    for (int phase = SS_PHASE_F; phase <= SS_PHASE_B; phase++) {
        double *work = phase == SS_PHASE_F ? &to->forward : &to->backward,
               other = phase == SS_PHASE_F ? s->forward : s->backward,
               most = fmin(*work + to->waits[phase], other + s->waits[phase]);
        *work = fmin(*work, other);
        to->waits[phase] = most - *work;
        to->host[phase] = fmin(to->host[phase], s->host[phase]);
        to->layers_work[phase] = fmin(to->layers_work[phase], s->layers_work[phase]);
        to->layers_host[phase] = fmin(to->layers_host[phase], s->layers_host[phase]);
        to->least_back[phase] = fmin(to->least_back[phase], s->least_back[phase]);
        to->after[phase] = fmin(to->after[phase], s->after[phase]);
        to->in_step[phase] &= s->in_step[phase];
    }
    to->most_back = fmax(to->most_back, s->most_back);
    to->issues |= s->issues;
    to->split = fmin(to->split, s->split);
    to->step = fmin(to->step, s->step);
    to->gather = fmin(to->gather, s->gather);
    to->reduce = fmin(to->reduce, s->reduce);
}

/* Returns whether the groups of a stage's first rank lie like those of another one at a site. */
static int lies_like(const struct ss_plan_builder *b, int stage, const struct ss_rank_site *other)
{
    const struct ss_rank_site site = ss_plan_site(b, stage * b->plan->ranks.stride[SS_AXIS_PP], stage);
    return ss_rank_site_equal(&site, other) && same_replicas(b, stage, other->stage);
}

static int find_stages(struct ss_plan_builder *b, int exact, struct ss_plan_bounds *out, struct ss_error *err)
{
    int p = b->plan->schedule->stages, last = p - 1, middle = p > 2 ? 1 : last;
    double pace = pace_of(b, b->plan->schedule->stages);
    ss_plan_keep_layers(b);
    struct priced before = {.site = {.stage = -1}};
    const struct ss_rank_site second = ss_plan_site(b, middle * b->plan->ranks.stride[SS_AXIS_PP], middle);
    struct ss_stage_bounds stage;
    double way[2] = {0}, whole[2] = {0};
    int microbatches = b->plan->microbatches, rc = SS_OK, chunks = b->plan->schedule->chunks;
    struct ss_slot_bounds *slot =
        exact && is_ordered(b->plan) ? ss_calloc((size_t)p * (size_t)chunks, sizeof *slot) : NULL;
    for (int s = 0; s < p && !rc; s++) {
        int between = out->even && s > middle && s < last;
        if (between && lies_like(b, s, &second)) {
            out->all += out->stage[1].split;
            continue;
        }
        rc = find_stage(b, s, pace, exact, &before, &stage, slot ? slot + s * chunks : NULL, out, err);
        out->all += stage.split;
        if (!out->even)
            pass(&stage, microbatches, way, ss_plan_bounds_warmup(b->plan->job, s, microbatches), out);
        for (int i = 0; i < 2; i++) {
            way[i] += stage.first[i];
            whole[i] += stage.forward + stage.backward + (i ? waits_of(&stage) : 0);
        }
        if (s == 0)
            out->stage[0] = stage;
        if (s == last)
            out->stage[2] = stage;
        if (between)
            lower(&out->stage[1], &stage);
        else if (s == (out->even ? middle : 0))
            out->stage[1] = stage;
        else if (!out->even)
            raise(&out->stage[1], &stage);
    }
    if (!rc)
        ss_plan_bounds_add_messages(b->plan, out);
    if (!rc && !out->even)
        pass_whole(b->plan, whole, &stage, out);
    if (!rc && slot)
        rc = ss_order_least(b->plan, slot, b->options->cache, out->passing, err);
    free(slot);
    ss_rank_cost_free(&before.cost);
    if (!out->even)
        out->stage[1].activations = out->stage[1].chunk = out->stage[1].logits = out->stage[1].extra = 0;
    return rc;
}

/* Finds the layers of the first and of the last stage alone. */
static int find_ends(struct ss_plan_builder *b, struct ss_plan_bounds *out, struct ss_error *err)
{
    const int last = b->plan->schedule->stages - 1;
    const double pace = pace_of(b, b->plan->schedule->stages);
    struct priced before = {.site = {.stage = -1}};
    struct ss_stage_bounds stage;
    ss_plan_keep_layers(b);
    int rc = find_stage(b, 0, pace, 0, &before, &stage, NULL, out, err);
    if (!rc && last > 0)
        rc = find_stage(b, last, pace, 0, &before, &stage, NULL, out, err);
    ss_rank_cost_free(&before.cost);
    return rc;
}

int ss_plan_bounds_find(const struct ss_job *job, const struct ss_stack *stack,
                        const struct ss_platform *platform, int exact, struct ss_cache *cache,
                        struct ss_plan_bounds *out, struct ss_error *err)
{
    const struct ss_plan_options options = {.cache = cache};
    struct ss_plan_builder b;
    struct ss_schedule *schedule;
    memset(out, 0, sizeof *out);
    out->even = exact <= 0 && ss_plan_bounds_is_even(job, ss_layers_alike(job));
    SS_TRY(make_schedule(job, stack, out->even, &schedule, err));
    int rc = ss_plan_begin(&b, job, stack, platform, schedule, &options, err);
    SS_THEN(rc, ss_plan_group(&b, err));
    SS_THEN(rc, exact < 0 ? find_ends(&b, out, err) : find_stages(&b, exact, out, err));
    out->barrier = ss_plan_asks_barrier(job, stack);
    ss_plan_end(&b);
    ss_plan_free(b.plan);
    ss_schedule_free(schedule);
    return rc;
}
