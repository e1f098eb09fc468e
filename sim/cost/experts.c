/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/experts.h"

#include <math.h>

#include "cost/load_internal.h"
#include "cost/rank_cost.h"
#include "stepsim/job.h"

/* Returns the number of nodes that the ranks are dealt to. For a group that lies on nodes unevenly it is the
 * next larger number that divides the group. */
int ss_experts_nodes(const struct ss_job *job, const struct ss_group_shape *ep)
{
    int nodes = ep->nodes > 0 ? ep->nodes : 1;
    while (nodes < job->ep && job->ep % nodes)
        nodes++;
    return nodes;
}

/* Computes the load of one pass of a layer of experts on a group of this shape; a group without members counts as one node. */
static int find_load(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_cache *cache,
                     struct ss_load_figures *out, struct ss_load_ranks *ranks, struct ss_error *err)
{
    const struct ss_model *m = &job->model;
    const struct ss_load_input in = {
        .kind = job->moe.load,
        .exponent = job->moe.load_exponent,
        .workload = job->moe.load_source,
        .loads = job->moe.loads,
        .layers = job->moe.load_layers,
        .layer = -1,
        .experts = m->num_experts,
        .top_k = m->top_k,
        .groups = m->router_groups,
        .group_topk = m->router_group_topk,
        .ep = job->ep,
        .nodes = ss_experts_nodes(job, ep),
        .tokens = ss_rank_tokens(job) * job->ep * job->etp,
        .sources = job->ep * job->etp,
        .capacity_factor = job->moe.capacity_factor,
        .pad_to_capacity = job->moe.pad_to_capacity,
    };
    return ss_load_by_rank_kept(cache, &in, out, ranks, err);
}

/* Returns whether the hottest rank (with the scatter of a pass) or the node that gets most tokens has more
 * than the others. */
static int is_uneven(const struct ss_token_spread *s, const struct ss_load_figures *load)
{
    const double more = 1 + 1e-9;
    return s->busiest > more || s->hot_tokens > load->ranks * more ||
           s->hot_nodes > load->remote_nodes * more;
}

int ss_experts_spread(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_token_spread *out,
                      struct ss_load_figures *figures, struct ss_error *err)
{
    struct ss_load_ranks none = {NULL, NULL, NULL, NULL};
    return ss_experts_matrix(job, ep, NULL, out, figures, &none, err);
}

int ss_experts_matrix(const struct ss_job *job, const struct ss_group_shape *ep, struct ss_cache *cache,
                      struct ss_token_spread *out, struct ss_load_figures *figures,
                      struct ss_load_ranks *ranks, struct ss_error *err)
{
    struct ss_load_figures load;
    int status = find_load(job, ep, cache, &load, ranks, err);
    *out = (struct ss_token_spread){0};
    if (status)
        return status;
    /* figures of the rank and of the node that gets, or sends, most */
    *out = (struct ss_token_spread){
        .nodes = fmin(ep->nodes - 1, fmax(load.source * load.remote_nodes,
                                          load.hottest_node_tokens * (load.remote_nodes / load.nodes))),
        .copies = ep->n > 1 ? fmax(load.source * load.ranks, load.hottest_rank_tokens) : 0,
        .hottest = load.rank.mean,
        .expert_copies = load.expert_copies,
        .source = load.source,
        .domains = ep->nodes > 0 ? ep->nodes : 1};
    out->hot_copies = load.rank.mean * ss_rank_tokens(job) * job->etp * job->model.top_k * job->ep /
                      (load.expert_copies * job->model.num_experts);
    out->hot_tokens = load.hottest_rank_tokens;
    out->hot_nodes = load.hottest_node_tokens * (load.remote_nodes / load.nodes);
    out->busiest = fmax(1, fmax(load.source, out->hot_copies));
    out->uneven = ep->n > 1 && job->moe.load != SS_LOAD_BALANCED && is_uneven(out, &load);
    if (figures)
        *figures = load;
    return SS_OK;
}

static int expert_layers(const struct ss_model *m, int first, int end)
{
    int n = 0;
    for (int l = first; l < end; l++)
        n += ss_layer_rule_has(&m->moe_layers, l);
    return n;
}

int ss_experts_loads_by_layer(const struct ss_job *job)
{
    const struct ss_model *m = &job->model;
    return job->moe.load == SS_LOAD_FILE && job->moe.loads &&
           job->moe.load_layers == expert_layers(m, 0, m->num_layers);
}

void ss_experts_rows(const struct ss_job *job, int first, int n, int *at, int *rows)
{
    *at = expert_layers(&job->model, 0, first);
    *rows = expert_layers(&job->model, first, first + n);
}

int ss_experts_add_layers(const struct ss_job *job, const struct ss_group_shape *ep, int first, int n,
                          struct ss_token_spread *sum, struct ss_error *err)
{
    struct ss_job own = *job;
    struct ss_token_spread spread;
    int before, rows;
    ss_experts_rows(job, first, n, &before, &rows);
    if (rows == 0)
        return 0;
    own.moe.loads = job->moe.loads + (size_t)before * (size_t)job->model.num_experts;
    own.moe.load_layers = rows;
    SS_TRY(ss_experts_spread(&own, ep, &spread, NULL, err));
    sum->nodes += rows * spread.nodes;
    sum->copies += rows * spread.copies;
    sum->hottest += rows * spread.hottest;
    sum->expert_copies += rows * spread.expert_copies;
    sum->source += rows * spread.source;
    return rows;
}
