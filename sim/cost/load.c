/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cost/load_internal.h"
#include "stepsim/job.h"

static int check(const struct ss_load_input *in, struct ss_error *err)
{
    const int sources = in->sources ? in->sources : in->ep;
    if (in->experts < 1 || in->top_k < 1 || in->top_k > in->experts || in->top_k > SS_LOAD_TOP_K_MAX)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "a token cannot choose %d of %d experts: 1 to %d of them are modelled", in->top_k,
                       in->experts, SS_LOAD_TOP_K_MAX);
    if (in->ep < 1 || in->experts % in->ep || in->nodes < 1 || in->ep % in->nodes)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "%d experts do not divide by %d expert-parallel ranks on %d nodes", in->experts,
                       in->ep, in->nodes);
    if (in->group_topk < 0 ||
        (in->group_topk > 0 && (in->groups < 1 || in->experts % in->groups || in->group_topk > in->groups ||
                                (long)in->group_topk * (in->experts / in->groups) < in->top_k)))
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "%d of %d experts cannot be of %d of %d router groups",
                       in->top_k, in->experts, in->group_topk, in->groups);
    if (!(in->tokens > 0) || sources < 1 || in->capacity_factor < 0 || in->exponent < 0)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "tokens, their sources, the capacity and the skew of a load are no negative numbers");
    return SS_OK;
}

/* Every expert gets as many copies, which a router with a capacity below that share cuts and pads. */
static int balanced(const struct ss_load_input *in, struct ss_load_figures *out)
{
    const int sources = in->sources ? in->sources : in->ep;
    const double share = in->tokens * in->top_k / in->experts;
    const double capacity = ceil(in->capacity_factor * share / sources) * sources;
    double works = share;
    if (in->capacity_factor > 0 && (in->pad_to_capacity || capacity < share))
        works = capacity;
    double factor = works / share;
    out->rank = out->expert = (struct ss_load_spread){factor, factor, factor, factor};
    out->coldest_rank = factor;
    out->dropped = in->capacity_factor > 0 ? fmax(0, 1 - capacity / share) : 0;
    out->expert_copies = works;
    return SS_OK;
}

int ss_load_figures(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_error *err)
{
    struct ss_load_figures f = {.source = 1};
    int status = check(in, err);
    if (status < 0)
        return status;
    double *p = ss_calloc((size_t)in->experts, sizeof *p);
    status = p ? SS_OK : SS_ERR_NOMEM;
    for (int e = 0; status == SS_OK && e < in->experts; e++)
        p[e] = (double)in->top_k / in->experts;
    if (status == SS_OK)
        status = balanced(in, &f);
    if (status == SS_OK)
        status = ss_load_reach(in, p, in->nodes, &f.nodes);
    if (status == SS_OK)
        status = ss_load_reach(in, p, in->ep, &f.ranks);
    free(p);
    if (status < 0)
        return ss_fail(err, status, NULL, 0, "out of memory");
    f.remote_nodes = f.nodes * (1 - 1.0 / in->nodes);
    f.remote_ranks = f.ranks * (1 - 1.0 / in->ep);
    *out = f;
    return SS_OK;
}
