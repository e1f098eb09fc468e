/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what a number of nodes takes: time, energy and money. */
#include "base/base.h"
#include "cost/rank_cost.h"
#include "decide/capacity_internal.h"
#include "stepsim/job.h"
#include "stepsim/plan.h"

double ss_checkpoint_interval(double write_s, double mtbf_s)
{
    double x = write_s / (2 * mtbf_s);

    if (x >= 1)
        return mtbf_s;
    return sqrt(2 * write_s * mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - write_s;
}

double ss_checkpoint_goodput(double interval_s, double write_s, double restart_s, double mtbf_s)
{
    double lost = exp(-restart_s / mtbf_s);

    /* for an interval of 0 the limit holds, in which only restarts cost time */
    return interval_s > 0 ? lost * interval_s / mtbf_s / expm1((interval_s + write_s) / mtbf_s) : lost;
}

/* Returns the range of a predicted value, which grows as the time of an iteration. */
static struct ss_capacity_range range_of(double value, const struct ss_summary *u)
{
    return (struct ss_capacity_range){value, value * (1 + u->time_low_pct / 100),
                                      value * (1 + u->time_high_pct / 100)};
}

static double busy_share(const struct ss_result *r)
{
    double busy = 0;

    for (int s = 0; s < r->nstages; s++) {
        const double *label = r->stages[s].breakdown;
        busy += label[SS_LABEL_COMPUTE] + label[SS_LABEL_RECOMPUTE] + label[SS_LABEL_OPTIMIZER];
    }
    return busy / r->nstages / r->iteration_s;
}

/* Returns the share of time in which the job trains, work that is lost later included. In the rest of
 * the time it writes checkpoints or restarts. */
static double training_share(const struct ss_capacity_cluster *c, const struct ss_capacity_point *p)
{
    double up = fmax(0, 1 - c->restart_s / p->mtbf_s);

    return p->interval_s > 0 ? up * p->interval_s / (p->interval_s + p->checkpoint_s) : up;
}

/* Returns the power of all nodes, W, averaged over the whole time. */
static double mean_power(const struct ss_capacity_cluster *c, const struct ss_capacity_point *p)
{
    double busy = training_share(c, p) * p->busy_share;

    return c->pue * (p->gpus * c->gpu_w * (busy + (1 - busy) * c->idle) + p->nodes * c->node_w);
}

void ss_capacity_figures(const struct ss_capacity *c, struct ss_capacity_point *p, double tokens_an_iteration)
{
    const struct ss_capacity_cluster *k = &c->clusters[p->cluster];
    const struct ss_summary *u = &p->summary;

    p->iterations = ceil(c->tokens / tokens_an_iteration * (1 - 1e-12));
    p->checkpoint_s = p->checkpoint_bytes / (k->storage * p->nodes);
    p->mtbf_s = 3600 * k->mtbf_h / p->gpus;
    p->interval_s = ss_checkpoint_interval(p->checkpoint_s, p->mtbf_s);
    p->goodput = ss_checkpoint_goodput(p->interval_s, p->checkpoint_s, k->restart_s, p->mtbf_s);
    double seconds = p->iterations * u->iteration_s / p->goodput, hours = seconds / 3600 * p->gpus;
    int powered = k->gpu_w > 0 && k->node_w > 0;
    p->time_s = range_of(seconds, u);
    p->gpu_hours = range_of(hours, u);
    p->energy_j = range_of(powered ? seconds * mean_power(k, p) : NAN, u);
    p->usd = range_of(k->price > 0 ? hours * k->price : NAN, u);
}

void ss_capacity_measure(const struct ss_run *run, struct ss_capacity_point *p)
{
    const struct ss_plan *plan = run->plan;
    struct ss_parameter_bytes bytes = ss_parameter_bytes(plan->job, plan->stack);

    p->summary = run->summary;
    p->straddles = plan->straddles;
    p->busy_share = busy_share(run->result);
    p->checkpoint_bytes = plan->parameters * (bytes.weight + bytes.states);
}

int ss_capacity_holds(const struct ss_capacity_point *p)
{
    return p->summary.iteration_s > 0 &&
           (p->summary.outcome == SS_OUTCOME_FITS || p->summary.outcome == SS_OUTCOME_NEAR_LIMIT);
}
