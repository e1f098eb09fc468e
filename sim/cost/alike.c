/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks, stages and chunks cost the same. */
#include "base/base.h"
#include "cost/rank_cost.h"
#include "layers/kinds.h"
#include "stepsim/job.h"

static int same_pace(const struct ss_exchange_rate *a, const struct ss_exchange_rate *b)
{
    for (int way = 0; way < SS_WAYS; way++)
        if (a[way].near != b[way].near || a[way].far != b[way].far)
            return 0;
    return 1;
}

/* Compares field by field, because padding is not copied with a structure. */
static int same_shape(const struct ss_group_shape *a, const struct ss_group_shape *b)
{
    for (int hop = 0; hop < SS_HOP_COUNT; hop++)
        if (a->stretch[hop] != b->stretch[hop])
            return 0;
    return a->n == b->n && a->nodes == b->nodes && a->per_node == b->per_node &&
           a->spread.nodes == b->spread.nodes && a->spread.copies == b->spread.copies &&
           same_pace(a->priced, b->priced) && same_pace(a->sent, b->sent);
}

int ss_rank_site_equal(const struct ss_rank_site *a, const struct ss_rank_site *b)
{
    const struct ss_group_shape *const pairs[][2] = {
        {&a->tp, &b->tp},   {&a->cp, &b->cp},         {&a->fsdp, &b->fsdp}, {&a->ep, &b->ep},
        {&a->etp, &b->etp}, {&a->etp_ep, &b->etp_ep}, {&a->edp, &b->edp}};
    for (size_t i = 0; i < SS_ARRAY_LEN(pairs); i++)
        if (!same_shape(pairs[i][0], pairs[i][1]))
            return 0;
    return a->own == b->own && a->group == b->group && a->own_pace == b->own_pace && a->pace == b->pace;
}

int ss_places_alike(const struct ss_job *job, const struct ss_stage_place *a, const struct ss_stage_place *b)
{
    if (a->nlayers != b->nlayers || a->has_embedding != b->has_embedding || a->has_loss != b->has_loss)
        return 0;
    const struct ss_layer_kinds kinds = ss_layer_kinds_of(job);
    for (int i = 0; i < a->nlayers; i++)
        if (ss_layer_kind_at(&kinds, a->first_layer + i) != ss_layer_kind_at(&kinds, b->first_layer + i))
            return 0;
    return 1;
}

int ss_layers_alike(const struct ss_job *job)
{
    const struct ss_layer_kinds kinds = ss_layer_kinds_of(job);
    const int first = ss_layer_kind_at(&kinds, 0);
    for (int i = 1; i < job->model.num_layers; i++)
        if (ss_layer_kind_at(&kinds, i) != first)
            return 0;
    return 1;
}

/* The slots decide which pairs there are, and how many offloaded bytes are on the host. */
int ss_stages_alike(const struct ss_cost_input *in, int stage, int other)
{
    const struct ss_job *job = in->job;
    if ((!in->any_order && (job->moe.overlap || job->offload.modules)) || ss_experts_loads_by_layer(job))
        return 0;
    for (int k = 0; k < in->schedule->chunks; k++)
        if (!ss_places_alike(job, &in->places[stage * in->schedule->chunks + k],
                             &in->places[other * in->schedule->chunks + k]))
            return 0;
    return 1;
}
