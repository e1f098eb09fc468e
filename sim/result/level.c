/* SPDX-License-Identifier: Apache-2.0 */
/* Effects on links that closed forms miss: groups with different shares, and other traffic on the same
 * links. */
#include "result/level.h"

#include <math.h>
#include <string.h>

#include "stepsim/job.h"

/* Half of the tolerance: either may wait for the other. */
#define MATTERS (SS_LEVEL_TOLERANCE / 2)

/* Whether two passes, or experts and the shared expert, run at once: all communicators of a rank may then be busy together. */
static int run_at_once(const struct ss_job *job)
{
    return job->moe.overlap || job->moe.shared_expert_overlap;
}

/* Whether the communicator may be busy while compute, or another one of the same rank, is. */
static int runs_beside(const struct ss_job *job, int comm)
{
    switch (comm) {
    case SS_COMM_FSDP:
    case SS_COMM_EXPERT_FSDP: return 1;
    case SS_COMM_CP: return ss_job_cp_in_ring(job) || run_at_once(job);
    case SS_COMM_TP: return job->tp_comm_overlap || run_at_once(job);
    default: return run_at_once(job);
    }
}

/* Returns the largest share of an iteration that a rank waits for the communicator, over all ranks: its stage
 * may be described by another rank. Communication beside compute is not visible, so all of it may count. */
static double waited(const struct ss_run *run, int comm)
{
    const struct ss_timeline *t = run->timeline;
    double most = 0;
    for (int c = 0; c < t->nclasses; c++)
        most = fmax(most, t->spent[c][ss_comm_facts(comm)->label] / t->iteration_s);
    return runs_beside(run->plan->job, comm) ? 1 : most;
}

/* Pairs of uneven exchanges in an iteration, few of which fold: at 16 ranks this many take 2 s. */
#define MOST_UNEVEN 2e5
/* And CPU time that they may take for a check, all of a layer's four exchanges: of 64 ranks it grows with the square of the pairs. */
#define MOST_UNEVEN_S 5

int ss_level_is_wide(const struct ss_run *run)
{
    const struct ss_job *job = run->plan->job;
    double together = (double)job->ep * job->ep,
           pairs = together * job->model.num_layers * run->plan->microbatches;
    return pairs > MOST_UNEVEN ||
           4 * pairs * (SS_LABOUR_FLOW_S + together * SS_LABOUR_SHARE_S) > MOST_UNEVEN_S;
}

/* Flows of the largest exchange, which the plan counts: 17 million take 0.6 s where nodes are equal, as DeepSeek-V3 on 65,536 GPUs
 * with ep 256, and 1 us each where they are not, as with one slow GPU. */
#define MOST_FLOWS 2e7

int ss_level_affordable(const struct ss_run *run)
{
    const struct ss_plan *plan = run->plan;
    double widest = ss_ranks_group_size(&plan->ranks, SS_COMM_CP);
    if (plan->experts)
        widest = fmax(widest, ss_ranks_group_size(&plan->expert_ranks, SS_COMM_EP));
    return plan->world_size * widest < MOST_FLOWS;
}

/* Whether a link carries its rank's traffic alone: one of the fabric, or a NIC that one GPU has to itself. */
static int is_own(const struct ss_plan *plan, const struct ss_link_use *link)
{
    return link->link.kind == SS_LINK_FABRIC ||
           (link->link.kind == SS_LINK_NIC &&
            ss_platform_nics_per_node(plan->platform) >= ss_platform_gpus_per_node(plan->platform));
}

/* Share of the iteration in which messages between stages, alone on the link, would cross it. */
static double sends_on(const struct ss_link_use *link)
{
    return link->utilisation * (link->sends / link->bytes);
}

/*
 * Returns the most that a communicator with this wait can lose on a link to transfers of pipeline and data
 * parallelism, as a share of the iteration. On a link of its own a rank without overlap reduces gradients behind its last slot and gathers parameters
 * before its first, where it waits for no other communicator. With overlap it does so in these slots, whose
 * delays add up over the stages.
 */
static double lost_on(const struct ss_run *run, const struct ss_link_use *link, double wait)
{
    const struct ss_plan *plan = run->plan;
    if (!is_own(plan, link))
        return fmin(wait, link->utilisation);
    double sends = sends_on(link), rest = link->utilisation - sends;
    double slots = fmin(1, (double)plan->schedule->stages / plan->microbatches);
    int overlaps = plan->job->dp.overlap_grad_reduce || plan->job->dp.overlap_param_gather;
    return fmin(wait, fmin(wait, sends) + (overlaps ? fmin(wait * slots, rest) : 0));
}

/* Returns the link on which it loses most among those that its groups cross; NULL: none is used. */
static const struct ss_link_use *worst_link(const struct ss_run *run, const struct ss_share *share,
                                            double wait, double *lost)
{
    const struct ss_result *r = run->result;
    const struct ss_link_use *worst = NULL;
    *lost = 0;
    for (int i = 0; i < r->nlinks && (share->inside || share->across); i++) {
        if (!(r->links[i].link.kind == SS_LINK_FABRIC ? share->inside : share->across))
            continue;
        double here = lost_on(run, &r->links[i], wait);
        if (worst && here <= *lost)
            continue;
        worst = &r->links[i];
        *lost = here;
    }
    return worst;
}

/*
 * Returns how far apart ranks of a stage are behind their optimizers, as a share of the iteration. A slot of
 * closed forms begins when its rank is ready; as flows the members of a group meet in its first collective.
 */
static double apart(const struct ss_run *run)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_timeline *t = run->timeline;
    double most = 0;
    for (int s = 0; s < plan->schedule->stages; s++) {
        double low = INFINITY, high = 0;
        for (int c = 0; c < t->nclasses; c++)
            if (plan->classes[c].stage == s) {
                low = fmin(low, t->spent[c][SS_LABEL_OPTIMIZER]);
                high = fmax(high, t->spent[c][SS_LABEL_OPTIMIZER]);
            }
        most = fmax(most, (high - low) / t->iteration_s);
    }
    return most;
}

static int is_of_shards(int comm)
{
    return comm == SS_COMM_FSDP || comm == SS_COMM_EXPERT_FSDP;
}

/* Returns the communicator that ranks wait for longest among those that share the links inside nodes with the gathers and scatters beside
 * layers, and sets *wait to that share of the iteration; -1: none. */
static int beside_shards(const struct ss_run *run, double *wait)
{
    const struct ss_share *shares = run->plan->shares;
    int longest = -1;
    *wait = 0;
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        double here = shares[comm].inside && !is_of_shards(comm) ? waited(run, comm) : 0;
        longest = here > *wait ? comm : longest;
        *wait = fmax(*wait, here);
    }
    return shares[SS_COMM_FSDP].inside || shares[SS_COMM_EXPERT_FSDP].inside ? longest : -1;
}

/* Fills what is in doubt about a communicator, `first` being one before it that leaves its nodes, too, and `within` one that has several
 * members on a node, too, or -1. */
static void doubt_comm(const struct ss_run *run, int comm, int first, int within, struct ss_level_doubt *d)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_share *share = &plan->shares[comm];
    const char *name = ss_comm_facts(comm)->name;
    double wait = share->across || share->inside || share->beyond > 1 ? waited(run, comm) : 0, lost;
    const struct ss_link_use *link = worst_link(run, share, wait, &lost);
    if (share->beyond > 1 && wait * (share->beyond - 1) > MATTERS)
        snprintf(d->what, sizeof d->what, "groups of %s have different shares of links, least of %s", name,
                 share->link);
    else if (share->both[0] && wait > MATTERS)
        snprintf(d->what, sizeof d->what, "%s leaves its nodes over %ss that it uses inside them, as %s",
                 name, ss_platform_fabric(plan->platform), share->both);
    else if (wait * share->taken > MATTERS)
        snprintf(d->what, sizeof d->what,
                 "groups of %s share links, and differ in pace, so that they take turns", name);
    else if ((share->across || share->inside) && apart(run) > MATTERS)
        snprintf(d->what, sizeof d->what, "members of %s begin apart, as far as their optimizers differ",
                 name);
    else if (share->inside && within >= 0 && run_at_once(plan->job))
        snprintf(d->what, sizeof d->what, "%s and %s share %ss inside nodes", ss_comm_facts(within)->name,
                 name, ss_platform_fabric(plan->platform));
    else if (link && lost > MATTERS) {
        snprintf(d->what, sizeof d->what, "%s shares links, as %s, with pipeline and data-parallel transfers",
                 name, link->link.name);
        d->beside = is_own(plan, link);
        d->sends = fmin(wait, sends_on(link));
    } else if (share->across && first >= 0 && (runs_beside(plan->job, comm) || runs_beside(plan->job, first)))
        snprintf(d->what, sizeof d->what, "%s and %s share links between nodes", ss_comm_facts(first)->name,
                 name);
}
/* Fills what is in doubt about collectives inside layers beside those of parameters in shards. */
static void doubt_shards(const struct ss_run *run, struct ss_level_doubt *d)
{
    double wait;
    int beside = beside_shards(run, &wait);
    if (beside >= 0 && wait > MATTERS)
        snprintf(d->what, sizeof d->what, "%s and %s share %ss inside nodes", ss_comm_facts(beside)->name,
                 ss_comm_facts(SS_COMM_FSDP)->name, ss_platform_fabric(run->plan->platform));
}

/* The first doubt is told; whether all are of one kind decides how they are looked into. */
static void add_doubt(struct ss_level_doubt *all, const struct ss_level_doubt *d)
{
    if (!d->what[0])
        return;
    if (!all->what[0])
        *all = *d;
    all->beside &= d->beside;
    all->sends = fmax(all->sends, d->sends);
}

struct ss_level_doubt ss_level_doubt(const struct ss_run *run)
{
    struct ss_level_doubt all = {.what = ""};
    int first = -1, within = -1;
    for (int comm = 0; comm < SS_COMM_COUNT && (!all.what[0] || all.beside); comm++) {
        struct ss_level_doubt d = {.what = ""};
        doubt_comm(run, comm, first, within, &d);
        add_doubt(&all, &d);
        first = run->plan->shares[comm].across ? comm : first;
        within = run->plan->shares[comm].inside ? comm : within;
    }
    if (!all.what[0] || all.beside) {
        struct ss_level_doubt d = {.what = ""};
        doubt_shards(run, &d);
        add_doubt(&all, &d);
    }
    return all;
}
