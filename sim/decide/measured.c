/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the terms of a traced iteration and of its prediction. */
#include "stepsim/measured.h"

#include "base/base.h"
#include "report/text.h"
#include "stepsim/compute.h"
#include "stepsim/job.h"

#define UNNAMED_MOST 0.05 /* share of transfers without a name: with more, the labels cannot be told apart */

SS_NAMES(ss_real_term_key, SS_REAL_LIST, SS_SECOND)
SS_NAMES(ss_real_term_words, SS_REAL_LIST, SS_THIRD)

/* ---- the prediction ---- */

static int term_of_part(int part)
{
    switch (part) {
    case SS_PART_ATTENTION_GEMM:
    case SS_PART_MLP_GEMM:
    case SS_PART_EXPERT_GEMM:
    case SS_PART_LOSS: return SS_REAL_GEMM;
    case SS_PART_ATTENTION: return SS_REAL_ATTENTION;
    default: return SS_REAL_ELEMENTWISE;
    }
}

/* Adds kernels by part. The time that other work slows them down is divided in proportion. */
static void predict_kernels(const struct ss_compute *c, int stage, double seconds, double *term)
{
    const struct ss_compute_stage *s = c && stage < c->nstages ? &c->stages[stage] : NULL;
    double sum = 0;

    for (int p = 0; s && p < SS_PARTS; p++) {
        term[term_of_part(p)] += s->compute[p] + s->recompute[p];
        sum += s->compute[p] + s->recompute[p];
    }
    if (!(sum > 0)) {
        term[SS_REAL_GEMM] += seconds;
        return;
    }
    for (int t = SS_REAL_GEMM; t <= SS_REAL_ELEMENTWISE; t++)
        term[t] *= seconds / sum;
}

/* Returns the term of a label other than kernels of the model. A GPU idles while its host works, and while it
 * waits for slower GPUs. */
static int term_of_label(int label)
{
    switch (label) {
    case SS_LABEL_OPTIMIZER: return SS_REAL_OPTIMIZER;
    case SS_LABEL_TP: return SS_REAL_TP;
    case SS_LABEL_CP: return SS_REAL_CP;
    case SS_LABEL_EP: return SS_REAL_EP;
    case SS_LABEL_DP: return SS_REAL_DP;
    case SS_LABEL_PP: return SS_REAL_PP;
    case SS_LABEL_OFFLOAD: return SS_REAL_COPY;
    default: return SS_REAL_IDLE;
    }
}

static int is_kernel(int label)
{
    return label == SS_LABEL_COMPUTE || label == SS_LABEL_RECOMPUTE;
}

static void predict_terms(const struct ss_run *run, struct ss_measured *m)
{
    const double *label = run->result->stages[m->stage].breakdown;

    for (int l = 0; l < SS_LABEL_COUNT; l++)
        if (!is_kernel(l))
            m->predicted[term_of_label(l)] += label[l];
    predict_kernels(run->compute, m->stage, label[SS_LABEL_COMPUTE] + label[SS_LABEL_RECOMPUTE],
                    m->predicted);
    m->predicted_s = run->result->iteration_s;
    m->low_s = m->predicted_s * (1 + run->summary.time_low_pct / 100);
    m->high_s = m->predicted_s * (1 + run->summary.time_high_pct / 100);
    m->band_pct = run->summary.band_pct;
    ss_text_band(&run->summary, m->band);
}

/* ---- what a prediction hides ---- */

#define EVENTS_MOST 20000000 /* the most events of a program that is replayed once more */

struct interval {
    double from, to;
};

/* When the transfers of a class ran, by term. */
struct transfers {
    const struct ss_program *p;
    int cls, failed;
    struct interval *at[SS_REAL_COUNT];
    size_t n[SS_REAL_COUNT], cap[SS_REAL_COUNT];
};

static int takes_part(const struct ss_collective *c, int cls)
{
    for (int i = 0; i < c->nmembers; i++)
        if (c->members[i] == cls)
            return 1;
    return 0;
}

static void on_transfer(void *ctx, int channel, int collective, double start, double end, double bytes)
{
    struct transfers *t = ctx;
    int term = SS_REAL_PP, mine;

    (void)bytes;
    if (channel >= 0) {
        mine = t->p->channels[channel].from == t->cls || t->p->channels[channel].to == t->cls;
    } else {
        mine = takes_part(&t->p->collectives[collective], t->cls);
        term = term_of_label(t->p->collectives[collective].label);
    }
    if (!mine)
        return;
    if (ss_grow(&t->at[term], &t->cap[term], t->n[term] + 1, sizeof *t->at[term]))
        t->failed = 1;
    else
        t->at[term][t->n[term]++] = (struct interval){start, end};
}

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *p = a, *q = b;

    return (p->from > q->from) - (p->from < q->from);
}

/* Returns how long at least one of the intervals runs, up to `end`. */
static double united(struct interval *at, size_t n, double end)
{
    double seconds = 0, until = 0;

    if (n > 1)
        qsort(at, n, sizeof *at, compare_intervals);
    for (size_t i = 0; i < n; i++) {
        double from = fmax(at[i].from, until), to = fmin(at[i].to, end);
        seconds += fmax(0, to - from);
        until = fmax(until, to);
    }
    return seconds;
}

static int is_transfer(int term)
{
    return term >= SS_REAL_TP && term <= SS_REAL_COPY;
}

static void predict_hidden(const struct ss_run *run, int cls, struct ss_measured *m)
{
    struct transfers t = {.p = run->program, .cls = cls};
    const struct ss_observer observer = {&t, NULL, on_transfer, NULL};
    int known = ss_program_event_count(run->program) <= EVENTS_MOST &&
                !ss_replay(run->program, SS_ENGINE_NATIVE, &observer, 1, NULL, NULL) && !t.failed;

    for (int term = 0; term < SS_REAL_COUNT; term++) {
        double ran = united(t.at[term], t.n[term], run->result->iteration_s), exposed = m->predicted[term];
        m->predicted_hidden[term] = !is_transfer(term)                          ? 0
                                    : !known || (t.n[term] == 0 && exposed > 0) ? NAN
                                                                                : fmax(0, ran - exposed);
        free(t.at[term]);
    }
}

/* ---- the trace ---- */

static void measure_terms(const struct ss_kineto *t, struct ss_measured *m)
{
    static const int kernels[][2] = {{SS_GPU_GEMM, SS_REAL_GEMM},
                                     {SS_GPU_ATTENTION, SS_REAL_ATTENTION},
                                     {SS_GPU_VECTOR, SS_REAL_ELEMENTWISE},
                                     {SS_GPU_OPTIMIZER, SS_REAL_OPTIMIZER},
                                     {SS_GPU_COPY, SS_REAL_COPY}};

    for (size_t i = 0; i < SS_ARRAY_LEN(kernels); i++)
        m->measured[kernels[i][1]] += t->work[kernels[i][0]].exposed;
    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        m->measured[term_of_label(l)] += t->label[l].exposed;
        m->measured_hidden[term_of_label(l)] += t->label[l].hidden;
    }
    m->measured_hidden[SS_REAL_COPY] += t->work[SS_GPU_COPY].hidden;
    m->measured[SS_REAL_COLLECTIVES] += t->unnamed.exposed;
    m->measured_hidden[SS_REAL_COLLECTIVES] += t->unnamed.hidden;
    m->measured[SS_REAL_IDLE] += t->idle;
    m->measured_s = t->iteration_s;
}

static double whole(const struct ss_gpu_time *t)
{
    return t->exposed + t->hidden;
}

/* Counts sends and receives without a named group as the pipeline's, where there is a pipeline. */
static void place_messages(const struct ss_job *job, struct ss_measured *m)
{
    int term = job->pp > 1 ? SS_REAL_PP : SS_REAL_COLLECTIVES;

    m->measured[term] += m->trace.messages.exposed;
    m->measured_hidden[term] += m->trace.messages.hidden;
    m->guessed = job->pp > 1 && whole(&m->trace.messages) > 0 && (job->cp > 1 || job->ep > 1);
}

static int is_named(const struct ss_kineto *t, const struct ss_job *job)
{
    double unnamed = whole(&t->unnamed) + (job->pp > 1 ? 0 : whole(&t->messages)),
           all = unnamed + (job->pp > 1 ? whole(&t->messages) : 0);

    for (int l = 0; l < SS_LABEL_COUNT; l++)
        all += whole(&t->label[l]);
    return unnamed <= UNNAMED_MOST * all;
}

static void merge_collectives(double *term)
{
    for (int t = SS_REAL_TP; t <= SS_REAL_DP; t++) {
        term[SS_REAL_COLLECTIVES] += term[t];
        term[t] = 0;
    }
}

/* Returns the class of the trace's rank, or the class that the breakdown of the stage is of. */
static int class_of(const struct ss_run *run, const struct ss_measured *m)
{
    return run->plan->class_of[m->by_rank ? m->trace.rank : run->result->stages[m->stage].rank];
}

void ss_measured_fill(const struct ss_run *run, const struct ss_kineto *trace, const char *run_name,
                      const char *file, struct ss_measured *out)
{
    const struct ss_plan *plan = run->plan;

    memset(out, 0, sizeof *out);
    ss_copy(out->run, sizeof out->run, run_name);
    ss_copy(out->file, sizeof out->file, file);
    out->trace = *trace;
    out->world = plan->world_size;
    out->by_rank = trace->rank >= 0 && trace->rank < plan->world_size &&
                   (trace->world < 0 || trace->world == plan->world_size);
    out->stage =
        out->by_rank ? plan->classes[plan->class_of[trace->rank]].stage : run->result->critical_stage;
    predict_terms(run, out);
    predict_hidden(run, class_of(run, out), out);
    measure_terms(trace, out);
    place_messages(plan->job, out);
    out->named = is_named(trace, plan->job);
    if (!out->named) {
        merge_collectives(out->predicted);
        merge_collectives(out->measured);
        merge_collectives(out->predicted_hidden);
        merge_collectives(out->measured_hidden);
    }
}
