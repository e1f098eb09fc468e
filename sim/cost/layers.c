/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cost/memory.h"

static int has_part(const struct ss_job *job, int part)
{
    return (part != SS_PART_REDONE || job->recompute == SS_RECOMPUTE_FULL) &&
           (part != SS_PART_OFFLOADED || job->cpu_offload_layers > 0);
}

static void part_cost(const struct ss_layer_set *set, const struct ss_cost_context *c, int part,
                      struct ss_layer_cost *cost)
{
    int kept = c->job->recompute == SS_RECOMPUTE_SELECTIVE ? SS_RECOMPUTE_SELECTIVE : SS_RECOMPUTE_NONE;
    switch (part) {
    case SS_PART_RECEIVED: ss_cost_pp_gather(c, SS_PHASE_F, cost); break;
    case SS_PART_RETURNED: ss_cost_pp_gather(c, SS_PHASE_I, cost); break;
    case SS_PART_EMBEDDING:
        ss_cost_layer(c, &set->embedding, SS_LAYER_EMBEDDING, SS_RECOMPUTE_NONE, cost);
        break;
    case SS_PART_LOSS: ss_cost_layer(c, &set->loss, SS_LAYER_LOSS, SS_RECOMPUTE_NONE, cost); break;
    case SS_PART_REDONE: ss_cost_layer(c, &set->dense, SS_LAYER_DENSE, SS_RECOMPUTE_FULL, cost); break;
    default: ss_cost_layer(c, &set->dense, SS_LAYER_DENSE, kept, cost);
    }
    if (part == SS_PART_OFFLOADED)
        ss_cost_layer_offload(c, &set->dense, cost);
}

int ss_layer_set_build(struct ss_layer_set *set, const struct ss_cost_context *context, int with_steps,
                       struct ss_error *err)
{
    struct ss_cost_context c = *context;
    struct ss_recorder recorder;
    int status;
    memset(set, 0, sizeof *set);
    set->fixed = c.stack->fixed_microbatch;
    if ((status = ss_ops_build(&c.shape, c.stack, SS_LAYER_EMBEDDING, &set->embedding, err)) != 0 ||
        (status = ss_ops_build(&c.shape, c.stack, SS_LAYER_DENSE, &set->dense, err)) != 0 ||
        (status = ss_ops_build(&c.shape, c.stack, SS_LAYER_LOSS, &set->loss, err)) != 0)
        return status;
    c.record = with_steps ? &recorder : NULL;
    for (int part = 0; part < SS_PARTS; part++) {
        if (!has_part(c.job, part))
            continue;
        part_cost(set, &c, part, &set->cost[part]);
        if (with_steps)
            status |= ss_record_end(&recorder, &set->steps[part]);
    }
    return status ? ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the steps of a layer") : SS_OK;
}

void ss_layer_set_free(struct ss_layer_set *set)
{
    for (int part = 0; set && part < SS_PARTS; part++)
        ss_layer_steps_free(&set->steps[part]);
    free(set);
}

/* ---- parts of a chunk ---- */

static void count_parts(const struct ss_job *job, const struct ss_chunk_cost *chunk, int count[SS_PARTS])
{
    int redone = ss_memory_recomputed_layers(job, chunk->nlayers), left = chunk->nlayers - redone;
    count[SS_PART_RECEIVED] = chunk->recv_bytes > 0;
    count[SS_PART_RETURNED] = chunk->send_bytes > 0;
    count[SS_PART_EMBEDDING] = chunk->has_embedding;
    count[SS_PART_REDONE] = redone;
    count[SS_PART_OFFLOADED] = job->cpu_offload_layers < left ? job->cpu_offload_layers : left;
    count[SS_PART_DENSE] = left - count[SS_PART_OFFLOADED];
    count[SS_PART_LOSS] = chunk->has_loss;
}

void ss_chunk_cost_fill(const struct ss_job *job, const struct ss_layer_set *set, struct ss_chunk_cost *chunk)
{
    int count[SS_PARTS];
    count_parts(job, chunk, count);
    for (int part = 0; part < SS_PARTS; part++)
        for (int i = 0; i < SS_LABEL_COUNT; i++) {
            chunk->forward[i] += count[part] * set->cost[part].forward[i];
            chunk->input_grad[i] += count[part] * set->cost[part].input_grad[i];
            chunk->weight_grad[i] += count[part] * set->cost[part].weight_grad[i];
        }
    chunk->forward[SS_LABEL_OTHER] += set->fixed;
    chunk->input_grad[SS_LABEL_OTHER] += set->fixed;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        chunk->backward[i] = chunk->input_grad[i] + chunk->weight_grad[i];
}

static double part_seconds(const struct ss_layer_cost *cost, int phase)
{
    double s = 0;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        s += phase == SS_PHASE_F   ? cost->forward[i]
             : phase == SS_PHASE_B ? cost->input_grad[i] + cost->weight_grad[i]
             : phase == SS_PHASE_I ? cost->input_grad[i]
                                   : cost->weight_grad[i];
    return s;
}

/* The i-th part in the order of a phase: backward ones begin behind. */
static int part_at(int phase, int i)
{
    return phase == SS_PHASE_F ? i : SS_PARTS - 1 - i;
}

/* What comes before the first transformer layer of a phase. */
static int starts(int phase, int part)
{
    return phase == SS_PHASE_F ? part < SS_PART_REDONE : part > SS_PART_DENSE;
}

struct ss_chunk_place ss_chunk_place_at(const struct ss_job *job, const struct ss_layer_set *set,
                                        const struct ss_chunk_cost *chunk, int phase, int layers)
{
    int count[SS_PARTS], fixed = phase != SS_PHASE_W && set->fixed > 0, left = layers, steps = fixed, all = fixed;
    double at = fixed ? set->fixed : 0, total = at;
    struct ss_chunk_place place = {0, 0};
    count_parts(job, chunk, count);
    for (int i = 0; i < SS_PARTS; i++) {
        int part = part_at(phase, i);
        int layer = part >= SS_PART_REDONE && part <= SS_PART_DENSE;
        int here = left < count[part] ? left : count[part];
        if (!layer) /* what is no transformer layer: before the first one, or behind the last */
            here = starts(phase, part)                               ? count[part]
                   : phase != SS_PHASE_F && layers == chunk->nlayers ? count[part]
                                                                     : 0;
        double seconds = part_seconds(&set->cost[part], phase);
        at += here * seconds;
        total += count[part] * seconds;
        steps += here * (int)set->steps[part].phase[phase].n;
        all += count[part] * (int)set->steps[part].phase[phase].n;
        left -= layer ? here : 0;
    }
    if (layers > 0 || phase != SS_PHASE_F)
        place = (struct ss_chunk_place){total > 0 ? at / total : 1, steps};
    if (layers >= chunk->nlayers && phase != SS_PHASE_F)
        place = (struct ss_chunk_place){1, all};
    return place;
}

int ss_chunk_steps_visit(const struct ss_job *job, const struct ss_layer_set *set, const struct ss_chunk_cost *chunk,
                         int phase, ss_step_visitor visit, void *ctx)
{
    const struct ss_layer_step fixed = {.kind = SS_STEP_COMPUTE, .label = SS_LABEL_OTHER, .seconds = set->fixed};
    int count[SS_PARTS], status = phase != SS_PHASE_W && set->fixed > 0 ? visit(ctx, &fixed) : 0;
    count_parts(job, chunk, count);
    for (int i = 0; i < SS_PARTS; i++) {
        int part = part_at(phase, i);
        const struct ss_step_list *l = &set->steps[part].phase[phase];
        for (int n = 0; n < count[part]; n++)
            for (size_t k = 0; k < l->n && !status; k++)
                status = visit(ctx, &l->step[k]);
    }
    return status;
}
