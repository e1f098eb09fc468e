/* SPDX-License-Identifier: Apache-2.0 */
/* What closed forms cannot know of links: groups with different shares, and other traffic on the same links. */
#include "result/level.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stepsim/communicator.h"
#include "stepsim/job.h"
#include "stepsim/model.h"

/* Half of the tolerance: either may wait for the other. */
#define MATTERS (SS_LEVEL_TOLERANCE / 2)

/* Whether the communicator may be busy while compute, or another one of the same rank, is. */
static int runs_beside(const struct ss_job *job, int comm)
{
    switch (comm) {
    case SS_COMM_FSDP:
    case SS_COMM_EXPERT_FSDP: return 1;
    case SS_COMM_CP: return ss_job_cp_in_ring(job) || job->moe.overlap || job->moe.shared_expert_overlap;
    case SS_COMM_TP: return job->tp_comm_overlap || job->moe.overlap || job->moe.shared_expert_overlap;
    default: return job->moe.overlap || job->moe.shared_expert_overlap;
    }
}

/* Most of an iteration that a rank waits for the communicator, which need not be the one that its stage is told by: groups may lie
 * otherwise. Of what runs beside compute that is not seen: it may be all. */
static double waited(const struct ss_run *run, int comm)
{
    const struct ss_timeline *t = run->timeline;
    double most = 0;
    for (int c = 0; c < t->nclasses; c++)
        most = fmax(most, t->spent[c][ss_comm_facts(comm)->label] / t->iteration_s);
    return runs_beside(run->plan->job, comm) ? 1 : most;
}

/* Pairs of uneven exchanges in an iteration, few of which fold: of 16 ranks as many take 2 s. */
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

/*
 * Of a layer's forward and backward at flow level, at most: 54 with tensor 4 x context 2 or a ring of context 4, 46 with tensor 8
 * and full recompute, 41 of experts with it, 11 of sharded parameters. The native engine takes 29 million a second there
 * (tests/bench/results.md), so these are 0.7 s.
 */
#define EVENTS_A_LAYER 60
#define MOST_EVENTS 2e7
/* Flows of the largest exchange, which the plan counts: 17 million take 0.6 s where nodes are equal, as DeepSeek-V3 on 65,536 GPUs
 * with ep 256, and 1 us each where they are not, as with one slow GPU. */
#define MOST_FLOWS 2e7

int ss_level_affordable(const struct ss_run *run)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_model *model = &plan->job->model;
    const struct ss_ranks *experts = plan->experts ? &plan->expert_ranks : NULL;
    double widest = ss_ranks_group_size(&plan->ranks, SS_COMM_CP);
    double layers = (double)(model->num_layers + model->mtp_num_layers) / plan->schedule->stages;
    if (experts)
        widest = fmax(widest, ss_ranks_group_size(experts, SS_COMM_EP));
    return plan->world_size * widest < MOST_FLOWS &&
           plan->nclasses * layers * plan->microbatches * EVENTS_A_LAYER < MOST_EVENTS;
}

/*
 * Of an iteration, what a communicator that is waited for so long can lose on a link to transfers of pipeline and data parallelism,
 * at most. Links of the fabric, and a NIC that one GPU has to itself, carry what its rank does: without overlap a rank reduces gradients behind
 * its last slot and gathers parameters before its first, where it waits for no other communicator; with it in these slots, whose
 * delays add up over the stages.
 */
static double lost_on(const struct ss_run *run, const struct ss_link_use *link, double wait)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_platform *platform = plan->platform;
    int own = link->link.kind == SS_LINK_FABRIC ||
              (link->link.kind == SS_LINK_NIC &&
               ss_platform_nics_per_node(platform) >= ss_platform_gpus_per_node(platform));
    if (!own)
        return fmin(wait, link->utilisation);
    double sends = link->utilisation * (link->sends / link->bytes), rest = link->utilisation - sends;
    double slots = fmin(1, (double)plan->schedule->stages / plan->microbatches);
    int overlaps = plan->job->dp.overlap_grad_reduce || plan->job->dp.overlap_param_gather;
    return fmin(wait, fmin(wait, sends) + (overlaps ? fmin(wait * slots, rest) : 0));
}

/* The link on which it loses most, of those that its groups cross; NULL: none is used. */
static const struct ss_link_use *worst_link(const struct ss_run *run, const struct ss_share *share,
                                            double wait, double *lost)
{
    const struct ss_result *r = run->result;
    const struct ss_link_use *worst = NULL;
    *lost = 0;
    for (int i = 0; i < r->nlinks; i++) {
        double here = lost_on(run, &r->links[i], wait);
        int crossed = r->links[i].link.kind == SS_LINK_FABRIC ? share->inside : share->across;
        if (!crossed || (worst && here <= *lost))
            continue;
        worst = &r->links[i];
        *lost = here;
    }
    return worst;
}

/*
 * Of an iteration, how far apart ranks of a stage are behind their optimizers. A slot of closed forms begins when its rank is ready; as
 * flows the members of a group meet in its first collective.
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

struct ss_level_doubt ss_level_doubt(const struct ss_run *run)
{
    const struct ss_plan *plan = run->plan;
    struct ss_level_doubt d = {""};
    int first = -1;
    for (int comm = 0; comm < SS_COMM_COUNT && !d.what[0]; comm++) {
        const struct ss_share *share = &plan->shares[comm];
        const char *name = ss_comm_facts(comm)->name;
        double wait = share->across || share->inside || share->beyond > 1 ? waited(run, comm) : 0, lost;
        const struct ss_link_use *link = worst_link(run, share, wait, &lost);
        if (share->beyond > 1 && wait * (share->beyond - 1) > MATTERS)
            snprintf(d.what, sizeof d.what, "groups of %s have different shares of links, least of %s", name,
                     share->link);
        else if (share->both[0] && wait > MATTERS)
            snprintf(d.what, sizeof d.what, "%s leaves its nodes over %ss that it uses inside them, as %s",
                     name, ss_platform_fabric(plan->platform), share->both);
        else if (wait * share->taken > MATTERS)
            snprintf(d.what, sizeof d.what,
                     "groups of %s share links, and differ in pace, so that they take turns", name);
        else if ((share->across || share->inside) && apart(run) > MATTERS)
            snprintf(d.what, sizeof d.what, "members of %s begin apart, as far as their optimizers differ",
                     name);
        else if (link && lost > MATTERS)
            snprintf(d.what, sizeof d.what,
                     "%s shares links, as %s, with pipeline and data-parallel transfers", name,
                     link->link.name);
        else if (share->across && first >= 0 &&
                 (runs_beside(plan->job, comm) || runs_beside(plan->job, first)))
            snprintf(d.what, sizeof d.what, "%s and %s share links between nodes", ss_comm_facts(first)->name,
                     name);
        first = share->across ? comm : first;
    }
    return d;
}
