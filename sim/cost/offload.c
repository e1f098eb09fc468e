/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/offload.h"

#include <math.h>
#include <stdlib.h>

#include "stepsim/job.h"

struct ss_offloaded ss_layer_offloaded(const struct ss_job *job, const struct ss_ops *ops)
{
    if (job->offload.modules)
        return ss_ops_offloaded(ops, job->offload.modules, job->offload.least, ss_job_redone_modules(job));
    struct ss_offloaded out = {0};
    if (job->offload.activations)
        out.freed = out.copied = out.host = ss_ops_saved_bytes(ops, 0);
    return out;
}

/* Returns what compute waits for all copies in Transformer Engine from 1.10 to 2.9. `moved` of `layers`
 * layers are copied one after the other. The windows of the copies share the layers evenly; the first copy
 * begins behind its own layer. */
static double wait_by_windows(int layers, int moved, double copy, double layer)
{
    int window = layers / moved, longer = layers % moved;
    double first = ss_cost_exposed(copy, (window + (longer > 0) - 1) * layer);
    int wide = longer > 0 ? longer - 1 : 0, narrow = moved - 1 - wide;
    return first + wide * ss_cost_exposed(copy, (window + 1) * layer) +
           narrow * ss_cost_exposed(copy, window * layer);
}

/* Returns that wait from version 2.10 on, where copy i must end before layer `layers - moved + i` begins. The
 * time is the longest path through computes and copies, each behind the one before it; the path turns from
 * compute to copies and back once, or as often as it can. */
static double wait_by_deadlines(int layers, int moved, double copy, double layer)
{
    int ahead = layers - moved, most = (layers - 1) / ahead;
    double wait = 0;
    for (int i = 0; i < 2; i++) {
        double turns = i ? most : 1, rest = layers - 1 - turns * ahead;
        wait = fmax(wait, layer * (1 + turns - layers) + turns * copy + rest * fmax(layer, copy));
    }
    return wait;
}

/* Returns what one offloaded layer waits for its copy in a pass of `pass` seconds. */
static double waited(const struct ss_cost_context *c, double copy, double pass)
{
    int layers = c->job->model.num_layers, moved = c->job->offload.layers;
    if (c->job->offload.modules || c->stack->offload_windows <= 0)
        return ss_cost_exposed(copy, pass);
    return (c->stack->offload_windows > 1 ? wait_by_deadlines : wait_by_windows)(layers, moved, copy, pass) /
           moved;
}

/* Returns the length of a copy as seen beside its layer alone: the length that explains what the layer
 * waits. */
static double seen(double copy, double pass, double wait)
{
    return wait > 0 ? pass + wait : fmin(copy, pass);
}

void ss_cost_layer_offload(const struct ss_cost_context *c, const struct ss_ops *ops,
                           struct ss_layer_cost *out)
{
    double bytes = ss_layer_offloaded(c->job, ops).copied;
    if (!c->job->offload.modules && c->job->offload.weights)
        bytes += ops->sum.params * c->shape.e;
    double copy = bytes / c->card->pcie_bandwidth;
    int joined = c->job->offload.modules && c->job->offload.inflight == 0; /* compute waits for every copy */
    if (bytes <= 0)
        return;
    double forward = ss_cost_slowed(c, out->forward), backward = ss_cost_slowed_backward(c, out);
    double f = joined ? copy : waited(c, copy, forward), b = waited(c, copy, backward);
    const struct ss_layer_step there = ss_step_post(SS_COMM_HOST, 0, bytes,
                                                    joined ? copy : seen(copy, forward, f)),
                               back = ss_step_post(SS_COMM_HOST, 0, bytes, seen(copy, backward, b));
    if (joined)
        ss_record_behind(c->record, SS_PHASE_F, &there);
    else
        ss_record_beside(c->record, SS_PHASE_F, &there, 1, 0);
    for (int phase = SS_PHASE_B; phase <= SS_PHASE_I; phase++)
        ss_record_beside(c->record, phase, &back, 1, 0);
    out->forward[SS_LABEL_OFFLOAD] += f;
    out->input_grad[SS_LABEL_OFFLOAD] += b;
}

/* Returns the page-locked host bytes of one microbatch. */
static double chunk_host(const struct ss_layer_set *set, int k)
{
    double bytes = 0;
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_layer_run *run = &set->chunks[k].run[i];
        bytes += run->count * ss_layer_part(set, run)->host;
    }
    return bytes;
}

double ss_offload_host(const struct ss_layer_set *set, const struct ss_job *job, const struct ss_schedule *s,
                       int stage)
{
    double held = 0, most = 0;
    for (int i = 0; job->offload.modules && i < s->nslots[stage]; i++) {
        const struct ss_slot *slot = &s->slots[stage][i];
        if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
            held += chunk_host(set, slot->chunk);
        most = fmax(most, held);
        if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I || slot->phase == SS_PHASE_FB)
            held -= chunk_host(set, slot->phase == SS_PHASE_FB ? slot->chunk2 : slot->chunk);
    }
    return most;
}
