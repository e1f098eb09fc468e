/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/base.h"
#include "plan/matrix.h"
#include "plan/plan_internal.h"
#include "plan/shares.h"
#include "stepsim/job.h"
#include "stepsim/params.h"

static void note_guesses(struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;
    if (ss_has_word(ss_platform_assumed(plan->platform), "attention.flash.forward"))
        ss_notes_add(
            &plan->guessed,
            "attention on %s: the stack has no kernel that was measured on it, and takes the shares of "
            "the peak of other cards",
            ss_platform_card(plan->platform)->name);
    if (job->seq_length / job->cp < 1024 || job->seq_length > 32768)
        ss_notes_add(&plan->guessed,
                     "attention over %d tokens, %d a rank: rates are calibrated at 2048 to 8192 a rank and "
                     "checked up to "
                     "32768",
                     job->seq_length, job->seq_length / job->cp);
    if (job->model.kv_channels != 64 && job->model.kv_channels != 128)
        ss_notes_add(&plan->guessed, "attention with head dimension %d: rates are calibrated at 128",
                     job->model.kv_channels);
    if (job->model.linear_num_value_heads > 0 || job->model.linear_norm_groups > 0)
        ss_notes_add(&plan->guessed,
                     "linear attention: no measured run has it, and no public table its backward");
    else if (job->model.decay_rank > 0 || job->model.sparse_block > 0 || job->model.linear_value_head_dim > 0)
        ss_notes_add(
            &plan->guessed,
            "layers of flash-linear-attention: no measured run has them, and no public table their kernels");
    if (ss_job_encodes(job))
        ss_notes_add(&plan->guessed, "an encoder of pictures or sound: no measured run has one");
    if (job->cp > 1 && job->cp_comm_type == SS_CP_A2A_P2P)
        ss_notes_add(&plan->guessed,
                     "--cp-comm-type a2a+p2p is priced as p2p, whose ring has more steps: an upper bound");
    else if (job->cp > 1 && job->cp_comm_type != SS_CP_P2P)
        ss_notes_add(&plan->guessed, "context parallelism other than p2p: never calibrated");
    if (job->tp > 1 && job->tp_comm_overlap && ss_platform_card(plan->platform)->sm_count != 132)
        ss_notes_add(&plan->guessed,
                     "--tp-comm-overlap: the SMs that it takes are measured on H800, which has 132");
    if (job->packed.rows)
        ss_notes_add(
            &plan->guessed,
            "packed sequences: no measured run says how long its documents were, so none is checked");
    if (job->dp.fsdp)
        ss_notes_add(&plan->guessed, "FSDP: prefetch of one layer, never calibrated");
    if (job->offload.params == SS_OFFLOAD_NVME || job->offload.optimizer_nvme) {
        double rate = ss_platform_card(plan->platform)->nvme_bandwidth;
        ss_notes_add(&plan->guessed, "NVMe of a node reads and writes %.1f GB/s%s (ss.nvme.bandwidth)",
                     rate / 1e9,
                     rate == ss_prop_at(SS_PROP_nvme_bandwidth)->def ? ", as eight drives of a DGX-2" : "");
    }
    if (job->offload.params)
        ss_notes_add(&plan->guessed, "parameters on the host: no measured run has them");
    if (job->offload.layers > 0 || job->offload.modules || job->offload.optimizer > 0 ||
        job->offload.params || job->offload.swap)
        ss_notes_add(&plan->guessed, "offload over PCIe at its nominal rate: never calibrated");
    if (job->offload.optimizer > 0 && !job->offload.params)
        ss_notes_add(&plan->guessed, "the host adds up no gradients");
    if (job->offload.optimizer > 0 &&
        ss_platform_card(plan->platform)->host_step == ss_prop_at(SS_PROP_host_step)->def)
        ss_notes_add(&plan->guessed,
                     "the host steps as fast as the two Xeons of a DGX-2 (ss.host.step_bandwidth)");
}

/* Warns where offloaded tensors do not fit the node; a node's GPUs are mostly of one stage. Parameters that do not fit a host whose
 * memory is known cannot even be laid there. */
static int check_host(struct ss_plan *plan, struct ss_error *err)
{
    const double gib = 1024.0 * 1024 * 1024;
    double most = 0, size = ss_platform_card(plan->platform)->host_memory;
    int gpus = ss_platform_file_gpus(plan->platform);
    for (int c = 0; c < plan->nclasses; c++)
        most = fmax(most, plan->classes[c].host_bytes);
    gpus = gpus < plan->world_size ? gpus : plan->world_size;
    if (most * gpus <= size)
        return SS_OK;
    if (plan->job->offload.params && !ss_has_word(ss_platform_assumed(plan->platform), "host_memory"))
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "parameters and states on the host need %.0f GiB of a node, which has %.0f GiB" SS_HINT
                       "more --nodes, --param-offload nvme, --optimizer-offload-nvme, or --set "
                       "ss.host_memory if the nodes have more",
                       most * gpus / gib, size / gib);
    ss_notes_add(&plan->warnings, "offload needs %.0f GiB of host memory on a node, which has %.0f GiB",
                 most * gpus / gib, size / gib);
    return SS_OK;
}

/* Warns of dropped tokens: who asks for a time may not look at the load, which `plan` shows. */
static void warn_dropped(struct ss_plan *plan)
{
    if (plan->experts && plan->load.dropped >= 0.005)
        ss_notes_add(&plan->warnings,
                     "the capacity of the experts drops %.1f %% of the copies of tokens: a larger "
                     "--moe-expert-capacity-factor drops fewer",
                     100 * plan->load.dropped);
}

/* Returns the GPU of rank r without a placement: GPU r, or the same place of the job's node in a larger
 * cluster, or of the spare node where its node has failed. */
static int usual_gpu(const struct ss_plan *plan, int r)
{
    int gpus = ss_platform_gpus_per_node(plan->platform), node = r / gpus;
    if (ss_job_is_placed(plan->job))
        return ss_job_node(plan->job, node) * gpus + r % gpus;
    for (int i = 0; i < plan->job->nfailed; i++)
        if (plan->job->failed[i].node == node)
            return plan->world_size + i * gpus + r % gpus;
    return r;
}

/* Puts each rank on its usual GPU, or on the GPU that the placement names. */
static int place_ranks(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const int *placement = b->options->placement;
    int rc = SS_OK;
    if (ss_plan_in_order(plan, b->options))
        return SS_OK;
    plan->gpu_of = malloc((size_t)plan->world_size * sizeof *plan->gpu_of);
    SS_NEED(plan->gpu_of, err);
    char *taken = ss_calloc((size_t)plan->gpus, 1);
    SS_NEED(taken, err);
    for (int r = 0; r < plan->world_size && !rc; r++) {
        int gpu = plan->gpu_of[r] = placement ? placement[r] : usual_gpu(plan, r),
            exists = gpu >= 0 && gpu < plan->gpus;
        if (!exists || taken[gpu]++)
            rc = ss_fail(err, SS_ERR_CONFIG, NULL, 0, "rank %d is placed on GPU %d, which %s", r, gpu,
                         exists ? "another rank has" : "does not exist");
    }
    free(taken);
    return rc;
}

/* With larger factors times leave the range of a program. */
#define MOST_SLOWNESS 1e30

static int slow_ranks(struct ss_plan_builder *b, struct ss_error *err)
{
    const struct ss_plan_options *o = b->options;
    int world = b->plan->world_size;
    if (o->nstragglers == 0)
        return SS_OK;
    b->slowness = ss_calloc((size_t)world, sizeof *b->slowness);
    SS_NEED(b->slowness, err);
    for (int r = 0; r < world; r++)
        b->slowness[r] = 1;
    for (int i = 0; i < o->nstragglers; i++) {
        if (o->stragglers[i].rank < 0 || o->stragglers[i].rank >= world)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "straggler: there is no rank %d, only 0 to %d",
                           o->stragglers[i].rank, world - 1);
        b->slowness[o->stragglers[i].rank] *= o->stragglers[i].factor;
        if (b->slowness[o->stragglers[i].rank] > MOST_SLOWNESS)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "straggler: rank %d is slowed by more than %g in all",
                           o->stragglers[i].rank, MOST_SLOWNESS);
    }
    return SS_OK;
}

/* Sets the sizes and the rank grid. */
static int size_plan(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_job *job = plan->job;
    plan->world_size =
        ss_job_world_size(job, ss_platform_nodes(plan->platform), ss_platform_gpus_per_node(plan->platform));
    plan->gpus = ss_platform_nodes(plan->platform) * ss_platform_gpus_per_node(plan->platform);
    plan->experts = job->model.num_experts > 0;
    plan->dp = ss_job_dp(job, plan->world_size);
    plan->microbatches = ss_job_microbatches(job, plan->world_size);
    plan->padded_vocab = ss_model_padded_vocab(&job->model, job->vocab_divisible_by, job->tp);
    const int size[SS_AXIS_COUNT] = {job->tp, job->cp, 1, plan->dp, job->pp};
    SS_TRY(ss_ranks_init(&plan->ranks, job->rank_order, size, err));
    if (plan->ranks.world_size != plan->world_size)
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "tensor %d x context %d x data %d x pipeline %d is not %d GPUs", job->tp, job->cp,
                       plan->dp, job->pp, plan->world_size);
    if (plan->experts)
        SS_TRY(ss_ranks_init_experts(&plan->expert_ranks, &plan->ranks, job->rank_order, job->etp, job->ep,
                                     err));
    ss_net_init(&b->net, plan->platform);
    b->net.pat = plan->stack->nccl_pat > 0;
    b->net.rings = plan->job->deterministic || plan->stack->nccl_rings > 0;
    b->net.nvls_tree = plan->stack->nccl_nvls_tree > 0;
    if (plan->stack->nccl_nvls <= 0)
        b->net.nvls_busbw = 0;
    ss_net_dispatcher(&b->net, ss_dispatch_sms(job), plan->stack);
    b->net.dispatch_kernels = job->moe.dispatcher == SS_DISPATCH_HYBRIDEP ? b->net.launch : 0;
    if (job->moe.dispatcher == SS_DISPATCH_HYBRIDEP)
        ss_net_chunks(&b->net, ss_rank_tokens(job), plan->stack);
    b->members = malloc(2 * (size_t)plan->gpus * sizeof *b->members);
    return b->members ? ss_stage_places(job, plan->schedule, &plan->places, err) : ss_nomem(err);
}

/* Returns whether links may differ from what closed forms assume: slow links, and links that a file writes
 * one by one, which may carry both directions in one, or differ from node to node. */
static int unlike_links(const struct ss_plan_builder *b)
{
    return b->options->nslow_links > 0 || !(ss_platform_get(b->plan->platform, SS_PROP_NODES_PER_LEAF) > 0);
}

static int build_groups(struct ss_plan_builder *b, int how, struct ss_error *err)
{
    how |= (unlike_links(b) ? SS_GROUPS_UNLIKE : 0) |
           (ss_plan_in_order(b->plan, b->options) ? SS_GROUPS_IN_ORDER : 0);
    return ss_groups_build(b->plan, how, &b->groups, err);
}

static int spread_tokens(struct ss_plan_builder *b, struct ss_error *err)
{
    return b->plan->experts ? ss_groups_spread_tokens(b->plan, &b->groups, b->members, b->options->even,
                                                      b->options->cache, err)
                            : SS_OK;
}

static int group_ranks(struct ss_plan_builder *b, struct ss_error *err)
{
    int rc = build_groups(b, ss_plan_is_alike(b->plan, b->options) ? SS_GROUPS_ALIKE : 0, err);
    return rc ? rc : spread_tokens(b, err);
}

static int group_stages(struct ss_plan_builder *b, struct ss_error *err)
{
    return build_groups(b, SS_GROUPS_OF_STAGES, err);
}

static int route_flows(struct ss_plan_builder *b, struct ss_error *err)
{
    return ss_routes_build(b->plan, &b->groups, &b->net, b->options, &b->routes, err);
}

static int share_links(struct ss_plan_builder *b, struct ss_error *err)
{
    return ss_groups_share_links(b->plan, &b->routes, &b->net, unlike_links(b),
                                 b->slowness || b->options->draw_spread, &b->groups, b->members, err);
}

/* Sums up what follows from all other steps. */
static int sum_up(struct ss_plan_builder *b, struct ss_error *err)
{
    note_guesses(b->plan);
    warn_dropped(b->plan);
    ss_plan_warn_straddling(b->plan);
    int rc = check_host(b->plan, err);
    return rc ? rc : ss_plan_sites_keep(b, err);
}

static int take_steps(ss_plan_step_function *const *steps, size_t n, struct ss_plan_builder *b,
                      struct ss_error *err)
{
    int rc = SS_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = steps[i](b, err);
    return rc;
}

/* Makes groups to classes anew, or takes those of an equal cached plan. */
static int lay_out(struct ss_plan_builder *b, struct ss_error *err)
{
    static ss_plan_step_function *const steps[] = {
        group_ranks,           /* communicators: members, nodes, hops */
        route_flows,           /* flow -> links */
        share_links,           /* shares of links for closed forms */
        ss_plan_pace_draw,     /* drawn GPUs, where they differ */
        ss_plan_classes_build, /* rank -> class */
        ss_plan_loads_count,   /* flows on each link, by class */
        ss_plan_cache_put,
    };
    int rc = ss_plan_cache_take(b, err);
    return rc ? rc : b->kept ? spread_tokens(b, err) : take_steps(steps, SS_ARRAY_LEN(steps), b, err);
}

/* Each step reads what earlier steps wrote (struct ss_plan_builder). */
static int plan_fill(struct ss_plan_builder *b, struct ss_error *err)
{
    static ss_plan_step_function *const steps[] = {
        ss_plan_check,           /* job against schedule and card */
        size_plan,               /* world size, rank grid */
        place_ranks,             /* rank -> GPU */
        slow_ranks,              /* stragglers */
        lay_out,                 /* groups, routes, classes */
        ss_plan_costs_build,     /* class -> times, bytes, parameters */
        ss_plan_pace_build,      /* times on GPUs that differ */
        ss_plan_imbalance_build, /* packed rows that differ */
        ss_plan_events_limit,    /* events that the steps would become */
        ss_plan_steps_build,     /* layer level: steps of chunks and their collectives */
        ss_plan_buckets_build,   /* data-parallel collectives, and when they are due */
        ss_plan_issues_build,    /* launches of the host, between waits of the GPU */
        ss_plan_p2p_build,       /* sends between stages */
        ss_plan_embedding_build,
        ss_plan_barrier_build,
        ss_plan_links_count, /* number of links of the platform that each link stands for */
        sum_up,
    };
    return take_steps(steps, SS_ARRAY_LEN(steps), b, err);
}

int ss_plan_group(struct ss_plan_builder *b, struct ss_error *err)
{
    int rc = size_plan(b, err);
    SS_THEN(rc, place_ranks(b, err));
    SS_THEN(rc, slow_ranks(b, err));
    /* What an uneven load sends between members takes all groups. */
    int kept = 0, even = !b->plan->experts || b->plan->job->moe.load == SS_LOAD_BALANCED;
    if (even)
        SS_THEN(rc, ss_plan_cache_stages(b, group_stages, &kept, err));
    if (rc)
        return rc;
    return kept ? spread_tokens(b, err) : group_ranks(b, err);
}

/* Frees groups, routes and colours. */
static void end_layout(struct ss_plan_builder *b)
{
    ss_groups_free(&b->groups);
    ss_routes_free(&b->routes);
    SS_FREE(b->link_colour, b->flow_colour);
    ss_map_free(&b->load);
    ss_map_free(&b->alike);
}

void ss_plan_end(struct ss_plan_builder *b)
{
    SS_FREE(b->slowness, b->drawn, b->members, b->own);
    if (b->kept)
        ss_plan_cache_end(b);
    else
        end_layout(b);
    SS_FREE(b->nearer, b->odd);
    for (int i = 0; i < b->ncosts; i++)
        ss_rank_cost_free(&b->costs[i].cost);
    SS_FREE(b->costs, b->cost_of);
    ss_numbers_free(&b->links);
    ss_numbers_free(&b->path_of);
    ss_map_free(&b->step_collectives);
}

int ss_plan_begin(struct ss_plan_builder *b, const struct ss_job *job, const struct ss_stack *stack,
                  const struct ss_platform *platform, const struct ss_schedule *schedule,
                  const struct ss_plan_options *options, struct ss_error *err)
{
    memset(b, 0, sizeof *b);
    if (!job || !stack || !platform || !schedule)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "a plan needs a job, a stack, a platform and a schedule");
    if (options->level < 0 || options->level >= SS_LEVEL_COUNT)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown level %d", options->level);
    b->options = options;
    b->plan = ss_calloc(1, sizeof *b->plan);
    SS_NEED(b->plan, err);
    b->plan->job = job;
    b->plan->stack = stack;
    b->plan->platform = platform;
    b->plan->schedule = schedule;
    b->plan->fragmentation = stack->fragmentation;
    b->plan->level = options->level;
    b->plan->unfolded = options->unfold;
    return SS_OK;
}

int ss_plan_build(const struct ss_job *job, const struct ss_stack *stack, const struct ss_platform *platform,
                  const struct ss_schedule *schedule, const struct ss_plan_options *options,
                  struct ss_plan **out, struct ss_error *err)
{
    static const struct ss_plan_options none;
    struct ss_plan_builder b;
    SS_TRY(ss_plan_begin(&b, job, stack, platform, schedule, options ? options : &none, err));
    int rc = plan_fill(&b, err);
    ss_plan_end(&b);
    if (rc) {
        ss_plan_free(b.plan);
        return rc;
    }
    *out = b.plan;
    return SS_OK;
}

int ss_plan_has_barrier(const struct ss_plan *plan)
{
    for (int c = 0; c < plan->nclasses; c++)
        if (plan->classes[c].norm >= 0)
            return 1;
    return 0;
}

double ss_plan_overhead_bytes(const struct ss_plan *plan, int cls)
{
    return ss_memory_overhead(plan->job, plan->stack, plan->world_size, plan->classes[cls].parameters);
}

void ss_plan_free(struct ss_plan *plan)
{
    if (!plan)
        return;
    for (int c = 0; c < plan->nclasses; c++) {
        for (int k = 0; plan->classes[c].chunks && k < plan->schedule->chunks; k++) {
            SS_FREE(plan->classes[c].chunks[k].reduce, plan->classes[c].chunks[k].gather);
            for (int phase = 0; phase < SS_PHASE_COUNT; phase++)
                free(plan->classes[c].chunks[k].steps[phase]);
            for (int phase = SS_PHASE_F; phase <= SS_PHASE_B; phase++)
                free(plan->classes[c].chunks[k].issue[phase].collective);
        }
        int pairs = plan->schedule->chunks * plan->schedule->chunks;
        for (int k = 0; plan->classes[c].pairs && k < pairs; k++)
            free(plan->classes[c].pairs[k].steps);
        SS_FREE(plan->classes[c].pairs, plan->classes[c].chunks, plan->classes[c].post,
                plan->classes[c].after);
    }
    ss_arena_free(&(struct ss_arena){plan->parts});
    ss_plan_sites_free(plan->sites);
    SS_FREE(plan->places, plan->classes, plan->class_of, plan->alike, plan->gpu_of, plan->link_count,
            plan->links, plan->paths, plan->collectives, plan->p2p);
    ss_notes_free(&plan->guessed);
    ss_notes_free(&plan->warnings);
    free(plan);
}
