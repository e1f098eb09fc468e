/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks form a group, and what the job has of a communicator. */
#include "plan/communicators.h"

#include "base/base.h"
#include "cost/rank_cost.h"
#include "layers/stages.h"
#include "stepsim/job.h"
#include "stepsim/params.h"

/* ---- members ---- */

static int shards_layers(const struct ss_job *job)
{
    return job->dp.fsdp && job->dp.sharding >= SS_SHARD_OPTIM_GRADS;
}

int ss_plan_stage_peer(const struct ss_plan *plan, int rank, int stage)
{
    const struct ss_ranks *r = &plan->ranks;
    return rank + (stage - ss_ranks_coordinate(r, rank, SS_AXIS_PP)) * r->stride[SS_AXIS_PP];
}

int ss_comm_is_of_experts(int comm)
{
    int members = ss_comm_facts(comm)->members;
    return members == SS_MEMBERS_EXPERT || members == SS_MEMBERS_EXPERT_SHARDS;
}

/* Returns the rank grid that gives the communicator's members. */
const struct ss_ranks *ss_comm_grid(const struct ss_plan *plan, int comm)
{
    return ss_comm_is_of_experts(comm) ? &plan->expert_ranks : &plan->ranks;
}

/* Returns whether its ranks reduce gradients and share the optimizer, of dense parameters or of experts. */
int ss_comm_is_data_parallel(int comm)
{
    return comm == SS_COMM_DP_CP || comm == SS_COMM_EDP;
}

/* Lists data-parallel members with two copies of the model: both ranks that hold the same layers, in turn. A
 * member of the other copy is then before and behind each member in the ring, and ranks of a stage stay
 * alike. */
static void members_of_copies(const struct ss_plan *plan, int comm, int rank, int *out, int *n)
{
    int stage = ss_ranks_coordinate(&plan->ranks, rank, SS_AXIS_PP),
        twin = plan->schedule->stages - 1 - stage, k;
    int low = stage < twin ? stage : twin, high = stage < twin ? twin : stage;
    ss_ranks_group(ss_comm_grid(plan, comm), comm, ss_plan_stage_peer(plan, rank, low), out, n);
    if (low == high)
        return;
    for (int i = *n - 1; i >= 0; i--)
        out[2 * i] = out[i];
    int shift = ss_plan_stage_peer(plan, rank, high) - ss_plan_stage_peer(plan, rank, low);
    for (k = 0; k < *n; k++)
        out[2 * k + 1] = out[2 * k] + shift;
    *n *= 2;
}

static int node_of_rank(const struct ss_plan *plan, int rank)
{
    return ss_plan_gpu(plan, rank) / ss_platform_gpus_per_node(plan->platform);
}

/* Keeps a part of a hybrid job's data-parallel ranks: the ranks on the node of `rank`, which shard among
 * them; or the ranks with the same shard, one at the same place of every node. */
static void keep_part(const struct ss_plan *plan, int shards, int rank, int *out, int *n)
{
    int own = 0, kept = 0, all = *n, *count = out + plan->world_size; /* [node] */
    memset(count, 0, (size_t)ss_platform_nodes(plan->platform) * sizeof *count);
    for (int i = 0; i < all && out[i] != rank; i++)
        own += node_of_rank(plan, out[i]) == node_of_rank(plan, rank);
    for (int i = 0; i < all; i++) {
        int r = out[i], place = count[node_of_rank(plan, r)]++;
        if (shards ? node_of_rank(plan, r) == node_of_rank(plan, rank) : place == own)
            out[kept++] = r;
    }
    *n = kept;
}

void ss_comm_members(const struct ss_plan *plan, int comm, int rank, int *out, int *n)
{
    int members = ss_comm_facts(comm)->members,
        shards = members == SS_MEMBERS_SHARDS || members == SS_MEMBERS_EXPERT_SHARDS;
    if (ss_comm_is_data_parallel(comm) && plan->schedule->pipelines > 1) {
        members_of_copies(plan, comm, rank, out, n);
        return;
    }
    ss_ranks_group(ss_comm_grid(plan, comm), comm, rank, out, n);
    if (ss_job_is_hybrid(plan->job) && (shards || ss_comm_is_data_parallel(comm)))
        keep_part(plan, shards, rank, out, n);
}

/* ---- what the job has of a communicator ---- */

int ss_comm_has_groups(const struct ss_plan *plan, int comm)
{
    const struct ss_comm_facts *facts = ss_comm_facts(comm);
    int shards = facts->members == SS_MEMBERS_SHARDS || facts->members == SS_MEMBERS_EXPERT_SHARDS;
    return facts->kinds && (!shards || shards_layers(plan->job)) &&
           (!ss_comm_is_of_experts(comm) || plan->experts);
}

/* Returns whether the job's dispatcher, or its optimizer, uses the communicator. */
static int expert_comm_used(const struct ss_plan *plan, int comm)
{
    int gathers = plan->job->moe.dispatcher == SS_DISPATCH_ALLGATHER;
    if (comm == SS_COMM_EDP || comm == SS_COMM_EXPERT_FSDP)
        return ss_job_experts_apart(plan->job);
    return gathers == (comm == SS_COMM_ETP_EP);
}

/* Returns whether the communicator has collectives. With FSDP the data-parallel ranks are the replicas of a
 * hybrid job; with two copies of a model they are the ranks of both. */
int ss_comm_has_collectives(const struct ss_plan *plan, int comm)
{
    if (!ss_comm_has_groups(plan, comm) || (ss_comm_is_of_experts(comm) && !expert_comm_used(plan, comm)))
        return 0;
    int several = ss_ranks_group_size(ss_comm_grid(plan, comm), comm) > 1;
    if (ss_comm_is_data_parallel(comm))
        return (several || plan->schedule->pipelines > 1) &&
               (!shards_layers(plan->job) || ss_job_is_hybrid(plan->job));
    return several;
}

int ss_comm_has_flows(const struct ss_plan *plan, int comm)
{
    return plan->level >= ss_comm_facts(comm)->flows && ss_comm_has_collectives(plan, comm);
}

int ss_comm_in_closed_form(const struct ss_plan *plan, int comm)
{
    return plan->level < ss_comm_facts(comm)->flows && ss_comm_has_collectives(plan, comm);
}

/* Attention drives a ring itself, or leaves the collective to NCCL as its flag says; experts have one
 * dispatcher, beside which rows of n-grams are exchanged. */
unsigned ss_comm_kinds(const struct ss_plan *plan, int comm)
{
    const struct ss_job *job = plan->job;
    const unsigned exchange = SS_COLLS_TO_ALL,
                   rows = job->model.ngram_rows > 0 ? SS_COLL_BIT(SS_COLL_ALL_TO_ALL) : 0;
    if (comm == SS_COMM_CP)
        return ss_layer_context_exchanges(job) |
               SS_COLL_BIT(ss_job_cp_in_ring(job)           ? SS_COLL_RING_STEP
                           : job->cp_comm_type == SS_CP_A2A ? SS_COLL_ALL_TO_ALL
                                                            : SS_COLL_ALL_GATHER);
    if (comm == SS_COMM_EP && job->moe.dispatcher == SS_DISPATCH_ALLGATHER)
        return rows;
    if (comm == SS_COMM_EP)
        return rows | (job->moe.dispatcher == SS_DISPATCH_ALLTOALL ? exchange
                       : job->moe.dispatcher == SS_DISPATCH_HYBRIDEP
                           ? (SS_COLLS_ROUTED & ~exchange) | SS_COLL_BIT(SS_COLL_ALL_GATHER)
                           : SS_COLLS_ROUTED & ~exchange);
    return ss_comm_facts(comm)->kinds;
}
