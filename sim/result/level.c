/* SPDX-License-Identifier: Apache-2.0 */
/* What closed forms cannot know of links: groups with different shares, and other traffic on the same links. */
#include "result/level.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stepsim/communicator.h"

/* At flow level, of a forward and a backward, about. */
#define EVENTS_A_LAYER 60

/* Half of the tolerance: either may wait for the other. */
#define MATTERS (SS_LEVEL_TOLERANCE / 2)

/* The most used link between nodes, by flows of the replay; NULL: none is. */
static const struct ss_link_use *busiest(const struct ss_result *r)
{
    for (int i = 0; i < r->nlinks; i++)
        if (r->links[i].link.kind != SS_LINK_NVLINK)
            return &r->links[i];
    return NULL;
}

/* Most of an iteration that a stage waits for the label. What runs beside compute is not seen there: it may be all. */
static double waited(const struct ss_run *run, int comm)
{
    const struct ss_result *r = run->result;
    const struct ss_job *job = run->plan->job;
    double most = 0;
    int beside = comm == SS_COMM_FSDP || comm == SS_COMM_EXPERT_FSDP ||
                 (comm == SS_COMM_CP && ss_job_cp_in_ring(job)) ||
                 (comm == SS_COMM_TP && job->tp_comm_overlap) || job->overlap_ep ||
                 job->shared_expert_overlap;
    for (int s = 0; s < r->nstages && !beside; s++)
        most = fmax(most, r->stages[s].breakdown[ss_comm_facts(comm)->label] / r->iteration_s);
    return beside ? 1 : most;
}

/* Communicators that may be busy while another one of the same rank is. */
static int runs_beside(const struct ss_run *run, int comm)
{
    return waited(run, comm) >= 1;
}

/* Flows of the largest exchange, and events of all classes, that take seconds. */
#define MOST_FLOWS 2e7
#define MOST_EVENTS 2e7

int ss_level_affordable(const struct ss_run *run)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_ranks *experts = plan->experts ? &plan->expert_ranks : NULL;
    double widest = ss_ranks_group_size(&plan->ranks, SS_COMM_CP);
    double layers = (double)plan->job->model.num_layers / plan->schedule->stages;
    if (experts)
        widest = fmax(widest, ss_ranks_group_size(experts, SS_COMM_EP));
    return plan->world_size * widest < MOST_FLOWS &&
           plan->nclasses * layers * plan->microbatches * EVENTS_A_LAYER < MOST_EVENTS;
}

struct ss_level_doubt ss_level_doubt(const struct ss_run *run)
{
    const struct ss_plan *plan = run->plan;
    const struct ss_link_use *link = busiest(run->result);
    struct ss_level_doubt d = {""};
    int first = -1;
    for (int comm = 0; comm < SS_COMM_COUNT && !d.what[0]; comm++) {
        const struct ss_share *share = &plan->shares[comm];
        const char *name = ss_comm_facts(comm)->name;
        double wait = share->across || share->beyond > 1 ? waited(run, comm) : 0;
        if (share->beyond > 1 && wait * (share->beyond - 1) > MATTERS)
            snprintf(d.what, sizeof d.what, "groups of %s have different shares of links, least of %s", name,
                     share->link);
        else if (share->both[0] && wait > MATTERS)
            snprintf(d.what, sizeof d.what,
                     "%s leaves its nodes over NVLinks that it uses inside them, as %s", name, share->both);
        else if (share->across && link && fmin(wait, link->utilisation) > MATTERS)
            snprintf(d.what, sizeof d.what,
                     "%s shares links, as %s, with pipeline and data-parallel transfers", name,
                     link->link.name);
        else if (share->across && first >= 0 && (runs_beside(run, comm) || runs_beside(run, first)))
            snprintf(d.what, sizeof d.what, "%s and %s share links between nodes", ss_comm_facts(first)->name,
                     name);
        first = share->across ? comm : first;
    }
    return d;
}
