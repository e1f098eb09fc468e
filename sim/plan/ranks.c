/* SPDX-License-Identifier: Apache-2.0 */
/* Process groups by arithmetic on the rank order; nothing is stored. */
#include "base/base.h"
#include "stepsim/plan.h"

int ss_ranks_init(struct ss_ranks *r, const char *order, const int size[SS_AXIS_COUNT], struct ss_error *err)
{
    int seen[SS_AXIS_COUNT] = {0}, stride = 1;
    memset(r, 0, sizeof *r);
    for (const char *p = order; *p;) {
        size_t len = strcspn(p, "-");
        int axis = ss_axis_find(p, len);
        if (axis < 0 || seen[axis])
            return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                           "rank order '%s' must name each of tp, cp, ep, dp, pp at most once", order);
        seen[axis] = 1;
        r->size[axis] = size[axis];
        r->stride[axis] = stride;
        stride *= size[axis];
        p += len;
        p += *p == '-';
    }
    for (int i = 0; i < SS_AXIS_COUNT; i++) {
        if (!seen[i] && size[i] > 1)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0, "rank order '%s' lacks %s, whose size is %d", order,
                           ss_axis_name(i), size[i]);
        if (!seen[i]) {
            r->size[i] = 1;
            r->stride[i] = stride;
        }
    }
    r->world_size = stride;
    return SS_OK;
}

/* Checks that both grids have the same pipelines, as Megatron asserts. */
static int check_pipelines(const struct ss_ranks *dense, const struct ss_ranks *experts, const char *order,
                           struct ss_error *err)
{
    size_t n = strlen(order);
    int last = n >= 2 && strcmp(order + n - 2, "pp") == 0, rc = SS_OK;
    if (dense->size[SS_AXIS_PP] == 1)
        return SS_OK;
    if (!last && experts->size[SS_AXIS_DP] != dense->size[SS_AXIS_DP])
        rc = ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                     "When not using pp-last rank ordering, the data parallel size of the attention and moe "
                     "layers must be the same (%d and %d)",
                     dense->size[SS_AXIS_DP], experts->size[SS_AXIS_DP]);
    else if (experts->stride[SS_AXIS_PP] != dense->stride[SS_AXIS_PP])
        rc = ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                     "Pipeline parallel groups are expected to be the same for Non-Expert and Expert part, "
                     "but their ranks are %d and %d apart",
                     dense->stride[SS_AXIS_PP], experts->stride[SS_AXIS_PP]);
    return rc ? ss_hint(err, rc, "write pp last, as in --rank-order tp-cp-ep-dp-pp") : SS_OK;
}

int ss_ranks_init_experts(struct ss_ranks *r, const struct ss_ranks *dense, const char *order, int etp,
                          int ep, struct ss_error *err)
{
    int world = dense->world_size, pp = dense->size[SS_AXIS_PP], rc;
    int64_t one = (int64_t)etp * ep * pp; /* ranks of one copy of the experts */
    memset(r, 0, sizeof *r);
    if (world % one)
        return ss_fail(
            err, SS_ERR_CONFIG, NULL, 0,
            "world_size (%d) is not divisible by expert_tensor_model_pipeline_parallel size (%lld)" SS_HINT
            "take --ep and --etp (default: as --tp) whose product with --pp divides it",
            world, (long long)one);
    const int size[SS_AXIS_COUNT] = {etp, 1, ep, (int)(world / one), pp};
    rc = ss_ranks_init(r, order, size, err);
    return rc ? rc : check_pipelines(dense, r, order, err);
}

const struct ss_ranks *ss_plan_grid(const struct ss_plan *plan, int comm)
{
    int expert = ss_comm_facts(comm)->members == SS_MEMBERS_EXPERT;
    if (!ss_comm_in_grid(comm) || (expert && !plan->experts))
        return NULL;
    return expert ? &plan->expert_ranks : &plan->ranks;
}

int ss_plan_lockstep(const struct ss_plan *plan, int rank)
{
    const struct ss_ranks *r = &plan->ranks;
    if (plan->level > SS_LEVEL_CHUNK)
        return rank;
    for (int axis = SS_AXIS_TP; axis <= SS_AXIS_CP; axis++)
        if (r->size[axis] > 1)
            rank -= ss_ranks_coordinate(r, rank, axis) * r->stride[axis];
    return rank;
}

int ss_ranks_coordinate(const struct ss_ranks *r, int rank, int axis)
{
    return rank / r->stride[axis] % r->size[axis];
}

int ss_ranks_group_size(const struct ss_ranks *r, int comm)
{
    unsigned mask = ss_comm_axes(comm);
    int size = 1;
    for (int a = 0; a < SS_AXIS_COUNT; a++)
        size *= mask & 1u << a ? r->size[a] : 1;
    return size;
}

void ss_ranks_group(const struct ss_ranks *r, int comm, int rank, int *out, int *n)
{
    unsigned mask = ss_comm_axes(comm);
    int ends = ss_comm_facts(comm)->members == SS_MEMBERS_ENDS, base = rank, count = 1, order[SS_AXIS_COUNT],
        at[SS_AXIS_COUNT] = {0}, k = 0;
    for (int a = 0; a < SS_AXIS_COUNT; a++) {
        if (!(mask & 1u << a) || r->size[a] == 1)
            continue;
        base -= ss_ranks_coordinate(r, rank, a) * r->stride[a];
        count *= r->size[a];
        order[k++] = a;
    }
    for (int i = 1; i < k; i++) /* fastest axis first, so that members ascend */
        for (int j = i; j > 0 && r->stride[order[j]] < r->stride[order[j - 1]]; j--) {
            int t = order[j];
            order[j] = order[j - 1];
            order[j - 1] = t;
        }
    *n = 0;
    const int inner = k ? r->size[order[0]] : 1, step = k ? r->stride[order[0]] : 0;
    for (int i = 0; i < count; i += inner) {
        for (int c = 0; c < inner; c++)
            if (!ends || i + c == 0 || i + c == count - 1)
                out[(*n)++] = base + c * step;
        for (int j = 1; j < k; j++) { /* to the next one, carrying over */
            base += r->stride[order[j]];
            if (++at[j] < r->size[order[j]])
                break;
            base -= at[j] * r->stride[order[j]];
            at[j] = 0;
        }
    }
}
