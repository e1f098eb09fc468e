/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/offload.h"

#include <math.h>
#include <stdlib.h>

#include "base/base.h"

struct ss_offloaded ss_layer_offloaded(const struct ss_job *job, const struct ss_ops *ops)
{
    if (job->offload_modules)
        return ss_ops_offloaded(ops, job->offload_modules, job->offload_least, ss_job_redone_modules(job));
    struct ss_offloaded out = {0};
    if (job->cpu_offload_activations)
        out.freed = out.copied = out.host = ss_ops_saved_bytes(ops, 0);
    return out;
}

void ss_cost_layer_offload(const struct ss_cost_context *c, const struct ss_ops *ops,
                           struct ss_layer_cost *out)
{
    double bytes = ss_layer_offloaded(c->job, ops).copied;
    if (!c->job->offload_modules && c->job->cpu_offload_weights)
        bytes += ss_ops_params(ops) * c->shape.e;
    double copy = bytes / c->card->pcie_bandwidth;
    int joined = c->job->offload_modules && c->job->offload_inflight == 0; /* compute waits for every copy */
    if (bytes <= 0)
        return;
    double f = joined ? copy : ss_cost_exposed(copy, ss_cost_slowed(c, out->forward));
    double b = ss_cost_exposed(copy, ss_cost_slowed_backward(c, out));
    const struct ss_layer_step post = ss_step_post(SS_COMM_HOST, 0, bytes, copy);
    for (int phase = SS_PHASE_F; phase <= SS_PHASE_I; phase++)
        if (joined && phase == SS_PHASE_F)
            ss_record_behind(c->record, phase, &post);
        else
            ss_record_beside(c->record, phase, &post, 1, 0);
    out->forward[SS_LABEL_OFFLOAD] += f;
    out->input_grad[SS_LABEL_OFFLOAD] += b;
}

int ss_offloaded_layers(const struct ss_job *job, int layers, int last)
{
    if (!job->offload_modules)
        return job->cpu_offload_layers;
    int some = layers - (int)(layers * (1 - job->offload_fraction)), most = layers - (last != 0);
    return some < most ? some : most;
}

/* Of one microbatch. */
static double chunk_host(const struct ss_layer_set *set, const struct ss_job *job, int k)
{
    double bytes = 0;
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_layer_run *run = &set->chunks[k].run[i];
        const struct ss_layer_part *part = ss_layer_part(set, run);
        if (part->treatment == SS_TREAT_OFFLOADED)
            bytes += run->count * ss_layer_offloaded(job, set->ops[part->kind]).host;
    }
    return bytes;
}

double ss_offload_host(const struct ss_layer_set *set, const struct ss_job *job, const struct ss_schedule *s,
                       int stage)
{
    double held = 0, most = 0;
    for (int i = 0; job->offload_modules && i < s->nslots[stage]; i++) {
        const struct ss_slot *slot = &s->slots[stage][i];
        if (slot->phase == SS_PHASE_F || slot->phase == SS_PHASE_FB)
            held += chunk_host(set, job, slot->chunk);
        most = fmax(most, held);
        if (slot->phase == SS_PHASE_B || slot->phase == SS_PHASE_I || slot->phase == SS_PHASE_FB)
            held -= chunk_host(set, job, slot->phase == SS_PHASE_FB ? slot->chunk2 : slot->chunk);
    }
    return most;
}
