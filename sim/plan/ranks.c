/* SPDX-License-Identifier: Apache-2.0 */
/* Process groups by arithmetic on the rank order, nothing stored. */
#include <stdlib.h>
#include <string.h>

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
        k = 0;
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
    for (int i = 0; i < count; i++) {
        int member = base, rest = i, first = 1, last = 1;
        for (int j = 0; j < k; j++) {
            int c = rest % r->size[order[j]];
            rest /= r->size[order[j]];
            member += c * r->stride[order[j]];
            first &= c == 0;
            last &= c == r->size[order[j]] - 1;
        }
        if (ends && !first && !last)
            continue;
        out[(*n)++] = member;
    }
}
