/* SPDX-License-Identifier: Apache-2.0 */
/* Finds on how few GPUs of a platform the weights, gradients and optimizer states of a model fit, by
 * trying layouts. */
#include "base/base.h"
#include "layers/kinds.h"
#include "plan/bounds.h"
#include "stepsim/parameters.h"
#include "study/study_internal.h"

#define MOST_GPUS 16384
#define MOST_TP 8

#define ROUNDING 1e-9
#define OTHERWISE                                                                                            \
    0.02 /* a share of the parameters: as many at most may be counted here and lie on no rank, as a router of one expert */
#define MOST_LAYOUTS 64 /* of a number of GPUs: powers of two up to MOST_TP and MOST_GPUS */

struct layout {
    int nodes, per_node, tp, pp, ep;
    int counted;  /* `least` is that of its plan, no longer of all parameters */
    double least; /* bytes of weights, gradients and states at least */
};

/* Bytes of all parameters: of weights and gradients, which data-parallel ranks have each, and of states. 0: not known. */
struct total {
    double copied, states;
};

/* Returns the largest expert group: it divides the number of experts, and the GPUs of a stage are a
 * multiple of it. */
static int most_ep(int experts, int stage_gpus)
{
    int most = 1;
    for (int ep = 2; ep <= experts && ep <= stage_gpus; ep++)
        if (experts % ep == 0 && stage_gpus % ep == 0)
            most = ep;
    return most;
}

/* Writes the words for layers that the stages do not divide: the last stage has fewer layers, or more;
 * "" where the stages divide them. */
static void write_last_stage(const struct ss_job *job, int pp, char *words, size_t size)
{
    int layers = job->model.num_layers, each = layers / pp;
    words[0] = 0;
    if (ss_job_has_stage_layers(job) || ss_job_split_layers(job) != layers || layers % pp == 0 || each < 1)
        return;
    if (layers > (each + 1) * (pp - 1))
        each++;
    snprintf(words, size, " --decoder-last-pipeline-num-layers %d", layers - each * (pp - 1));
}

/* Writes the words of a layout. Only the expert group divides experts; ZeRO-1 is used unless the job has
 * FSDP. */
static void write_change(const struct ss_job *job, const struct layout *l, char *words, size_t size)
{
    char ep[48] = "", last[64];
    write_last_stage(job, l->pp, last, sizeof last);
    if (job->model.num_experts > 0)
        snprintf(ep, sizeof ep, " --ep %d --etp 1", l->ep);
    snprintf(words, size, "--nodes %d --gpus-per-node %d --tp %d --pp %d --cp 1%s%s%s%s%s", l->nodes,
             l->per_node, l->tp, l->pp, last, ep, l->tp > 1 ? " --sequence-parallel" : "",
             job->dp.distributed_optimizer || job->dp.fsdp ? "" : " --use-distributed-optimizer",
             ss_job_chunks(job) > 1 && !job->layout.n ? " --vp 1" : "");
}

/* Builds the scenario with these words, and with a batch that fills the pipeline. */
static int changed(const struct ss_scenario *s, const struct layout *l, const char *words,
                   struct ss_scenario **out)
{
    const struct ss_scenario_options like = {.like = s};
    struct ss_request r;
    char batch[48];
    SS_TRY(ss_request_copy(s->request, &r, NULL));
    snprintf(batch, sizeof batch, "--mbs 1 --gbs %d", l->nodes * l->per_node / l->tp);
    int rc = ss_study_add_words(&r, words);
    SS_THEN(rc, ss_study_add_words(&r, batch));
    SS_THEN(rc, ss_scenario_build(&r, &like, out, NULL));
    ss_request_free(&r);
    return rc;
}

/* Returns the bytes of weights, gradients and states of the fullest stage, which no time decides; infinite where the
 * layout is refused. */
static double static_bytes(const struct ss_scenario *s, struct ss_cache *cache, const struct layout *l,
                           const char *words)
{
    const struct ss_run_options quick = {.engine = SS_ENGINE_NATIVE,
                                         .brief = 1,
                                         .unchecked = 1,
                                         .level_choice = SS_LEVEL_BLIND,
                                         .cache = cache};
    struct ss_scenario *other;
    struct ss_run run;
    double most = INFINITY;
    if (changed(s, l, words, &other))
        return most;
    if (!ss_run_scenario(other, &quick, &run, NULL)) {
        most = 0;
        for (int i = 0; i < run.result->nstages; i++) {
            const double *m = run.result->stages[i].memory;
            most = fmax(most, m[SS_MEM_WEIGHTS] + m[SS_MEM_GRADIENTS] + m[SS_MEM_OPTIMIZER]);
        }
        ss_run_free(&run);
    }
    ss_scenario_free(other);
    return most;
}

/* Returns a lower bound of these bytes; infinite where the words are refused. */
static double least_bytes(const struct ss_scenario *s, struct ss_cache *cache, const struct layout *l)
{
    char words[sizeof((struct ss_smallest *)0)->flags];
    struct ss_scenario *other;
    struct ss_plan_bounds bounds;
    double least = 0;
    write_change(s->job, l, words, sizeof words);
    if (changed(s, l, words, &other))
        return INFINITY;
    if (!ss_plan_bounds_find(other->job, other->stack, other->platform, 0, cache, &bounds, NULL))
        least = bounds.states * (1 - ROUNDING);
    ss_scenario_free(other);
    return least;
}

/* Lists the layouts of this number of GPUs. The fullest rank has no less than a mean one. */
static int list_layouts(const struct ss_job *job, struct total all, int nodes, int per_node,
                        struct layout list[MOST_LAYOUTS])
{
    struct layout l = {.nodes = nodes, .per_node = per_node};
    int gpus = nodes * per_node, given = ss_job_has_stage_layers(job), n = 0;
    for (l.pp = given ? job->pp : 1; l.pp <= gpus; l.pp *= 2) {
        for (l.tp = 1; l.tp <= MOST_TP && l.tp <= per_node && gpus % (l.tp * l.pp) == 0; l.tp *= 2) {
            l.ep = most_ep(job->model.num_experts, gpus / l.pp);
            l.least = all.copied / (l.pp * (l.tp > l.ep ? l.tp : l.ep)) + all.states / gpus;
            list[n++] = l;
        }
        if (given)
            break;
    }
    return n;
}

/* Finds the layout of this number of GPUs that takes the fewest bytes on each, if that is no more than `capacity`; the
 * first of equal ones. The one that may take the fewest is looked at first, and what its bound rules out is not: first that of all
 * parameters, then that of its plan, and then it is simulated. */
static void try_gpus(const struct ss_scenario *s, struct ss_cache *cache, struct total all, int nodes,
                     int per_node, double capacity, struct ss_smallest *best)
{
    struct layout list[MOST_LAYOUTS];
    int n = list_layouts(s->job, all, nodes, per_node, list), first = 0;
    *best = (struct ss_smallest){.gpus = nodes * per_node, .bytes = INFINITY};
    for (;;) {
        char words[sizeof best->flags];
        int next = -1;
        for (int i = 0; i < n; i++)
            if (list[i].nodes && (next < 0 || list[i].least < list[next].least))
                next = i;
        struct layout *l = &list[next < 0 ? 0 : next];
        if (next < 0 || l->least > capacity || l->least > best->bytes || isinf(l->least))
            return;
        if (!l->counted) {
            l->least = fmax(l->least, least_bytes(s, cache, l));
            l->counted = 1;
            continue;
        }
        write_change(s->job, l, words, sizeof words);
        double bytes = static_bytes(s, cache, l, words);
        l->nodes = 0;
        if (bytes < best->bytes || (bytes == best->bytes && next < first && !isinf(bytes))) {
            best->bytes = bytes;
            first = next;
            ss_copy(best->flags, sizeof best->flags, words);
        }
    }
}

/* Returns how many bytes all GPUs together have at least in any layout, where each parameter, its gradient and its states are on
 * one of them or on several. */
static struct total bytes_of_all(const struct ss_scenario *s)
{
    struct ss_job job = *s->job;
    int apart = job.dp.fsdp || job.dp.sharding > SS_SHARD_OPTIM || job.optimizer.kind != SS_OPTIMIZER_ADAM ||
                job.offload.optimizer > 0 || job.offload.params || job.offload.swap || job.fp8_param_gather;
    if (apart || ss_job_encodes(&job) || ss_layer_any_other(&job.model))
        return (struct total){0, 0};
    job.dp.distributed_optimizer = 1; /* as every layout has it */
    const struct ss_parameter_bytes each = ss_parameter_bytes(&job, s->stack);
    double params =
        (1 - OTHERWISE) *
        ss_model_parameters(&job.model, ss_model_padded_vocab(&job.model, job.vocab_divisible_by, 1));
    return (struct total){params * (each.weight + each.grad), params * each.states};
}

static void find(const struct ss_scenario *s, struct ss_cache *cache, struct ss_smallest *out)
{
    const double capacity = ss_platform_card(s->platform)->device_memory;
    const struct total all = bytes_of_all(s);
    const double bytes = all.copied + all.states;
    int full = ss_platform_file_gpus(s->platform);
    for (int some = 1; some < full; some *= 2) {
        if (bytes > some * capacity)
            continue;
        try_gpus(s, cache, all, 1, some, capacity, out);
        if (out->bytes <= capacity)
            return;
    }
    for (int nodes = 1; nodes * full <= MOST_GPUS; nodes *= 2) {
        if (bytes > (double)nodes * full * capacity)
            continue;
        try_gpus(s, cache, all, nodes, full, capacity, out);
        if (out->bytes <= capacity)
            return;
    }
    *out = (struct ss_smallest){0};
}

void ss_smallest_find(const struct ss_scenario *s, struct ss_cache *cache, struct ss_smallest *out)
{
    struct ss_cache *own = NULL;

    if (!cache && !ss_cache_open(&own, NULL)) /* without one it takes longer */
        cache = own;
    find(s, cache, out);
    ss_cache_close(own);
}
