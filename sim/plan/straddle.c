/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that lie on two fabric domains although one could hold them. Domains are taken to be equal, and
 * ranks fill them in order. */
#include "base/base.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

/* Returns the ranks from the first to the last of a group, 1 where the job has no such groups. */
static int extent_of(const struct ss_plan *plan, int comm)
{
    const struct ss_ranks *grid = ss_comm_grid(plan, comm);
    int extent = 1;

    for (int axis = 0; grid && axis < SS_AXIS_COUNT; axis++)
        extent += ss_comm_axes(comm) & 1u << axis ? (grid->size[axis] - 1) * grid->stride[axis] : 0;
    return extent;
}

/* Returns whether domains in a cluster of `nodes` nodes hold whole groups, and the job's layout divides its
 * GPUs. */
static int avoids(const struct ss_plan *plan, int nodes, int extent)
{
    const struct ss_job *job = plan->job;
    int gpus = ss_platform_file_gpus(plan->platform), joined = ss_platform_joins(plan->platform, nodes);
    return joined > 0 && nodes * gpus % (job->tp * job->cp * job->pp) == 0 &&
           (joined == nodes || joined * gpus % extent == 0);
}

/* Returns the most nodes of a domain, fewer than it has and at least half of what its switch can join, that hold whole
 * groups and divide the cluster; 0: none. A scheduler places jobs so (Slurm's --segment). */
static int segment(const struct ss_plan *plan, int extent)
{
    const struct ss_platform *p = plan->platform;
    int n = ss_platform_joined_nodes(p) - 1;

    while (n > 0 && (ss_platform_file_nodes(p) % n != 0 || n * ss_platform_file_gpus(p) % extent != 0))
        n--;
    return 2 * n < ss_platform_most_joined(p) ? 0 : n;
}

static void warn(struct ss_plan *plan, const char *what, int extent)
{
    const struct ss_platform *p = plan->platform;
    int nodes = ss_platform_file_nodes(p), fewer = nodes - 1, more = nodes + 1;
    int part = segment(plan, extent);
    char hint[160] = "";

    while (fewer > 0 && !avoids(plan, fewer, extent))
        fewer--;
    while (more <= 2 * nodes && !avoids(plan, more, extent))
        more++;
    if (fewer > 0 && more <= 2 * nodes)
        snprintf(hint, sizeof hint, "; %d or %d nodes avoid it", fewer, more);
    else if (fewer > 0 || more <= 2 * nodes)
        snprintf(hint, sizeof hint, "; %d nodes avoid it", fewer > 0 ? fewer : more);
    if (part > 0)
        ss_append(hint, sizeof hint, "%s %d nodes of each, by ss.fabric.nodes in a platform's file",
                  hint[0] ? ", or" : "; to avoid it take", part);
    ss_notes_add(&plan->warnings,
                 "some %s groups (%d ranks in a row) are on two %s domains and exchange over NICs: "
                 "domains are taken "
                 "to be equal, of %d nodes and %d GPUs each%s",
                 what, extent, ss_platform_fabric(p), ss_platform_joined_nodes(p),
                 ss_platform_gpus_per_node(p), hint);
    plan->straddles = 1;
}

void ss_plan_warn_straddling(struct ss_plan *plan)
{
    static const struct {
        int comm;
        const char *what;
    } groups[] = {{SS_COMM_TP, "tensor"}, {SS_COMM_EP, "expert"}};
    const struct ss_platform *p = plan->platform;
    int gpus = ss_platform_gpus_per_node(p), most = ss_platform_most_joined(p) * ss_platform_file_gpus(p);

    if (ss_platform_joined_nodes(p) < 2 || ss_platform_nodes(p) < 2)
        return;
    for (size_t i = 0; i < SS_ARRAY_LEN(groups); i++) {
        int extent = extent_of(plan, groups[i].comm);
        if (extent <= most && gpus % extent)
            warn(plan, groups[i].what, extent);
    }
}
