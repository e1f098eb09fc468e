/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed rows differ. This file computes what an iteration takes beyond microbatches that are all like the
 * mean one (docs/reference/model.md, "Packed sequences"). Iterations are drawn. The replica whose rows have
 * most to attend ends last, and all wait for it. Inside a pipeline a stage waits for the slower of the
 * microbatches under way; some of the drawn replicas are run for that, with free communication.
 */
#include "base/base.h"
#include "base/stats.h"
#include "job/packing.h"
#include "plan/plan_internal.h"
#include "stepsim/job.h"

/* Most rows that are drawn, and most slots that are run; fewest and most iterations and pipelines. */
#define ROWS (1 << 19)
#define ITERATIONS_MIN 64
#define ITERATIONS_MAX 4096
#define SLOTS (1 << 18)
#define PIPELINES_MIN 8
#define PIPELINES_MAX 2048

/* Seconds of a phase of a chunk with the mean row, and further seconds of a row with twice its squares. */
struct unequal_time {
    double mean, more;
};
struct imbalance {
    const struct ss_plan *plan;
    const struct ss_packing *packing;
    struct unequal_time *time;   /* [stage][phase][chunk], phase < SS_PHASE_FB */
    struct ss_pair_cost **pairs; /* [stage]: as in struct ss_plan_class */
    int *pipeline_of;            /* [stage * chunks + chunk] */
    int replicas;                /* replicas that run by themselves */
    int lockstep;                /* replicas in each of these that run in step, microbatch by microbatch */
    int iterations, pipelines;   /* number of iterations drawn, and of pipelines run */
    int run;                     /* pipelines run so far */
    /* [pipelines of the schedule][microbatches]: squares of the replica's rows over the mean, less 1 */
    double *squares;
    double *most; /* [iterations]: largest sum of squares of a replica */
    double *sum,
        /* [pipelines]: sum of squares of a replica, and seconds that its pipeline takes beyond the mean
         * one */
        *longer;
    uint64_t drawn;
};

/* ---- seconds of slots ---- */

static struct unequal_time *time_of(const struct imbalance *m, int stage, int phase, int chunk)
{
    return &m->time[(stage * SS_PHASE_FB + phase) * m->plan->schedule->chunks + chunk];
}

/* Fills the times of the class of a stage: its chunks as they are, and with rows one standard deviation above
 * the mean. */
static int stage_times(const struct ss_plan_builder *b, struct imbalance *m, int cls, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    const struct ss_plan_class *c = &plan->classes[cls];
    struct ss_packing above = *m->packing;
    struct ss_job job = *plan->job;
    struct ss_cost_input in = ss_plan_cost_input(b->plan, &b->net);
    struct ss_rank_cost cost;
    above.scale = 1 + above.sigma;
    job.packed.rows = &above;
    in.job = &job;
    in.with_steps = 0;
    int rc = ss_rank_cost_build(&in, &b->costs[b->cost_of[cls]].site, NULL, &cost, err);
    for (int phase = 0; phase < SS_PHASE_FB && !rc; phase++)
        for (int k = 0; k < plan->schedule->chunks; k++) {
            struct unequal_time *t = time_of(m, c->stage, phase, k);
            t->mean = ss_chunk_seconds(&c->chunks[k], phase);
            t->more = (ss_chunk_seconds(&cost.chunks[k], phase) - t->mean) / above.sigma;
        }
    m->pairs[c->stage] = c->pairs;
    ss_rank_cost_free(&cost);
    return rc;
}

static int all_times(const struct ss_plan_builder *b, struct imbalance *m, struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    int rc = SS_OK;
    for (int stage = 0; stage < plan->schedule->stages && !rc; stage++)
        for (int cls = 0; cls < plan->nclasses; cls++)
            if (plan->classes[cls].stage == stage) { /* replicas differ in their rows only */
                rc = stage_times(b, m, cls, err);
                break;
            }
    return rc;
}

static double squares_of(const struct imbalance *m, int rank, int chunk, int microbatch)
{
    const struct ss_schedule *s = m->plan->schedule;
    return m->squares[m->pipeline_of[rank * s->chunks + chunk] * s->microbatches + microbatch];
}

static double slot_seconds(void *ctx, int rank, const struct ss_slot *slot)
{
    const struct imbalance *m = ctx;
    const int pair = slot->phase == SS_PHASE_FB;
    const struct unequal_time *first = time_of(m, rank, pair ? SS_PHASE_F : slot->phase, slot->chunk);
    double more = first->more * squares_of(m, rank, slot->chunk, slot->microbatch);
    if (!pair)
        return fmax(0, first->mean + more);
    const struct unequal_time *second = time_of(m, rank, SS_PHASE_B, slot->chunk2);
    double mean = first->mean + second->mean;
    if (m->pairs[rank])
        mean = ss_label_sum(m->pairs[rank][slot->chunk * m->plan->schedule->chunks + slot->chunk2].seconds);
    return fmax(0, mean + more + second->more * squares_of(m, rank, slot->chunk2, slot->microbatch2));
}

/* Returns the further seconds for a row of twice the squares on the stage that has most to attend. */
static double most_more(const struct imbalance *m)
{
    double most = 0;
    for (int stage = 0; stage < m->plan->schedule->stages; stage++) {
        double sum = 0;
        for (int k = 0; k < m->plan->schedule->chunks; k++)
            sum += time_of(m, stage, SS_PHASE_F, k)->more + time_of(m, stage, SS_PHASE_B, k)->more;
        most = fmax(most, sum / (m->plan->schedule->pipelines > 1 ? m->plan->schedule->pipelines : 1));
    }
    return most;
}

/* ---- replicas that wait for each other ---- */

/* Groups replicas that wait for each other. Experts on other replicas, and parameters or gradients sharded
 * layer by layer, hold all to the slowest replica in every microbatch. */
static void group_replicas(const struct ss_plan_builder *b, struct imbalance *m)
{
    m->lockstep = ss_plan_lockstep_replicas(b);
    m->replicas = b->plan->dp / m->lockstep > 0 ? b->plan->dp / m->lockstep : 1;
}

/* ---- draws ---- */

static int clamp(double x, int low, int high)
{
    return x < low ? low : x > high ? high : (int)x;
}

/* Draws the squares of the rows of a replica's microbatches; returns their sum. */
static double draw_replica(struct imbalance *m)
{
    const int n = ss_schedule_microbatches(m->plan->schedule);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double most = -INFINITY;
        for (int k = 0; k < m->lockstep; k++)
            most = fmax(most, ss_packing_draw(m->packing, m->drawn++) - 1);
        m->squares[i] = most;
        sum += most;
    }
    return sum;
}

static int draw_iterations(struct imbalance *m, double mean, double *average, struct ss_error *err)
{
    double longer;
    *average = 0;
    for (int i = 0; i < m->iterations; i++) {
        m->most[i] = -INFINITY;
        for (int r = 0; r < m->replicas; r++) {
            double sum = draw_replica(m);
            m->most[i] = fmax(m->most[i], sum);
            *average += sum / ((double)m->iterations * m->replicas);
            if (m->run == m->pipelines)
                continue;
            SS_TRY(ss_schedule_makespan_timed(m->plan->schedule, slot_seconds, m, &longer, NULL, err));
            m->sum[m->run] = sum;
            m->longer[m->run++] = longer - mean;
        }
    }
    return SS_OK;
}

/* ---- results ---- */

static double mean_of(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] / n;
    return sum;
}

static double covariance(const double *x, const double *y, int n)
{
    double sum = 0, mean_x = mean_of(x, n), mean_y = mean_of(y, n);
    for (int i = 0; i < n; i++)
        sum += (x[i] - mean_x) * (y[i] - mean_y) / n;
    return sum;
}

/* Fills the seconds of a replica from the sum of its squares, mean and scatter. Without a pipeline they are
 * that sum. Otherwise they come from the pipelines that were run, and the known sum corrects their mean. */
static void sum_up(struct imbalance *m, double average, struct ss_load_spread *out)
{
    double expected = m->lockstep > 1 ? average : 0; /* it is known for replicas by themselves */
    double varies = most_more(m), mean = varies * expected;
    double squares = covariance(m->sum, m->sum, m->run);
    if (m->run > 0 && squares > 0) {
        double follows = covariance(m->longer, m->sum, m->run) / squares;
        varies = sqrt(covariance(m->longer, m->longer, m->run) / squares);
        mean = mean_of(m->longer, m->run) + follows * (expected - mean_of(m->sum, m->run));
    }
    for (int i = 0; i < m->iterations; i++)
        m->most[i] = mean + varies * (m->most[i] - average);
    ss_sort(m->most, (size_t)m->iterations);
    out->mean = fmax(0, mean_of(m->most, m->iterations));
    out->p50 = m->most[(m->iterations - 1) / 2];
    out->p90 = m->most[(m->iterations - 1) * 9 / 10];
    out->p99 = m->most[(m->iterations - 1) * 99 / 100];
}

static int allocate(struct imbalance *m, struct ss_error *err)
{
    const struct ss_schedule *s = m->plan->schedule;
    size_t stages = (size_t)s->stages, chunks = (size_t)s->chunks;
    double slots = 0;
    for (int r = 0; r < s->stages; r++)
        slots += s->nslots[r];
    m->iterations = clamp(ROWS / (double)m->plan->job->global_batch, ITERATIONS_MIN, ITERATIONS_MAX);
    m->pipelines = s->stages > 1 ? clamp(SLOTS / slots, PIPELINES_MIN, PIPELINES_MAX) : 0;
    m->time = ss_calloc(stages * SS_PHASE_FB * chunks, sizeof *m->time);
    m->pairs = ss_calloc(stages, sizeof *m->pairs);
    m->pipeline_of = ss_calloc(stages * chunks, sizeof *m->pipeline_of);
    m->squares = ss_calloc((size_t)ss_schedule_microbatches(s), sizeof *m->squares);
    m->most = ss_calloc((size_t)m->iterations, sizeof *m->most);
    m->sum = ss_calloc((size_t)m->pipelines + 1, sizeof *m->sum);
    m->longer = ss_calloc((size_t)m->pipelines + 1, sizeof *m->longer);
    SS_NEED(m->time && m->pairs && m->pipeline_of && m->squares && m->most && m->sum && m->longer, err);
    for (int v = 0; v < s->stages * s->chunks; v++)
        m->pipeline_of[s->virtual_rank[v] * s->chunks + s->virtual_chunk[v]] = v / ss_schedule_depth(s);
    return SS_OK;
}

static int fill(struct ss_plan_builder *b, struct imbalance *m, struct ss_load_spread *out,
                struct ss_error *err)
{
    double average = 0, mean = 0;
    group_replicas(b, m);
    int rc = allocate(m, err);
    SS_THEN(rc, all_times(b, m, err));
    if (!rc && m->pipelines > 0) /* if all squares are 0 every row is the mean one */
        rc = ss_schedule_makespan_timed(m->plan->schedule, slot_seconds, m, &mean, NULL, err);
    SS_THEN(rc, draw_iterations(m, mean, &average, err));
    if (!rc)
        sum_up(m, average, out);
    SS_FREE(m->time, m->pairs, m->pipeline_of, m->squares, m->most, m->sum, m->longer);
    return rc;
}

int ss_plan_imbalance_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_packing *p = plan->job->packed.rows;
    struct imbalance m = {.plan = plan, .packing = p};
    struct ss_packing_figures *f = &plan->packing;
    if (!p)
        return SS_OK;
    f->documents = p->documents;
    f->padding = 1 - p->tokens / p->row;
    f->attention = p->token_squares / ((double)p->row * p->row);
    f->cut = p->cut;
    f->sigma = p->sigma;
    int rc = p->sigma > 0 ? fill(b, &m, &f->imbalance, err) : SS_OK;
    for (int c = 0; c < plan->nclasses; c++)
        plan->classes[c].imbalance_s = f->imbalance.mean;
    return rc;
}
