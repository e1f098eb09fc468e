/* SPDX-License-Identifier: Apache-2.0 */
/* Which layouts a walk leaves out, all that differ in recompute and sharding at once: in a space of 200,000 most. */
#include "base/base.h"
#include "decide/search_internal.h"

/* Share of the time or memory of a layout that another recompute may save beside what it is for, by which collectives run beside. */
#define HIDDEN 0.02
/* Sequences of a micro batch with which kernels are as good as with any, but for SS_FIND_TILES. */
#define MANY 32

/* Finds what layouts take at least that share the values of a leaf up to an axis; *first, which may be NULL, is the job of the first of
 * them. costs NULL: legal ones are counted alone. Times alone are found of layouts that surely take longer than `most`, s. */
static int find_least(const struct ss_find_space *s, const struct ss_find_leaf *leaf, int axis,
                      const struct ss_asked *asked, const struct ss_job *first, struct ss_find_costs *costs,
                      double most, struct ss_find_least *out, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    const int n = axis + 1 < c->naxes ? c->axes[axis + 1].n : 1;
    struct ss_asked with = *asked;

    memset(out, 0, sizeof *out);
    out->seconds = out->bytes = out->work = INFINITY;
    SS_TRY(ss_find_set(c, leaf->at, axis, axis + 1, &with, err));
    for (int i = 0; i < n; i++) {
        struct ss_find_leaf at = *leaf;
        struct ss_asked copy, *one = i + 1 < n ? memcpy(&copy, &with, sizeof copy) : &with;
        struct ss_find_bounds bounds;
        struct ss_job job;
        at.at[axis + 1] = (unsigned char)i;
        if (axis + 1 < c->naxes)
            SS_TRY(ss_find_set(c, at.at, axis + 1, axis + 2, one, err));
        struct ss_find_refusal why = {0};
        if (!first || i)
            SS_TRY(ss_find_ask(s, c, one, &job, &why, err));
        else if (costs)
            job = *first;
        if (why.code) {
            memcpy(out->refused, at.at, sizeof out->refused);
            out->why = why;
            continue;
        }
        out->legal++;
        if (!costs)
            continue;
        SS_TRY(ss_find_bound_job(costs, &at, one, &job, most, 1, &bounds));
        memcpy(out->held, at.at, sizeof out->held);
        out->seconds = fmin(out->seconds, bounds.seconds);
        out->bytes = fmin(out->bytes, bounds.least_bytes);
        out->work = fmin(out->work, bounds.work);
    }
    return SS_OK;
}

int ss_find_splits_batch(const struct ss_find_cluster *c, int axis, int i, const struct ss_asked *asked)
{
    int64_t together = atoi(c->axes[axis].value[i]) * (int64_t)ss_job_dp(&asked->job, c->world_size);
    return together > 0 && asked->job.global_batch % together != 0;
}

/* Finds whether all micro batches are too slow beside the values of other axes: none has less work a sequence than one of MANY, or than the
 * largest where all are smaller, but for SS_FIND_TILES. What pipelines wait is not in it, because that grows with the micro batch. */
static int find_slow(const struct ss_find_space *s, struct ss_find_limit *limit, struct ss_find_leaf leaf,
                     int axis, const struct ss_asked *asked, struct ss_find_costs *costs,
                     struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf.cluster];
    const struct ss_find_axis *a = c->axes;
    struct ss_asked many = *asked;
    struct ss_find_least least;
    int most = 0;

    while (a->kind < SS_FIND_MBS)
        a++;
    if (a->kind > SS_FIND_MBS)
        return SS_OK;
    SS_TRY(find_least(s, &leaf, axis, asked, NULL, NULL, INFINITY, &least, err));
    for (int i = 0; i < a->n && least.legal; i++) {
        const int size = atoi(a->value[i]);
        int better = most < MANY ? size > most : size >= MANY && size < most;
        if (!better || ss_find_splits_batch(c, (int)(a - c->axes), i, asked))
            continue;
        most = size;
        leaf.at[a - c->axes] = (unsigned char)i;
    }
    if (!most)
        return SS_OK;
    SS_TRY(ss_find_set(c, leaf.at, (int)(a - c->axes), (int)(a - c->axes) + 1, &many, err));
    SS_TRY(find_least(s, &leaf, axis, &many, NULL, costs, 0, &least, err));
    limit->slow = least.legal && least.work * (1 - SS_FIND_TILES) >= limit->most_s;
    return SS_OK;
}

int ss_find_leave_out(const struct ss_find_space *s, struct ss_find_limit *limit,
                      const struct ss_find_leaf *leaf, int axis, const struct ss_asked *asked,
                      const struct ss_job *first, struct ss_find_costs *costs, struct ss_find_least *out,
                      struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    const struct ss_find_axis *a = &c->axes[axis];
    const int none = ss_find_value(a, "none", -1), full = ss_find_value(a, "full", -1);
    struct ss_find_leaf at = *leaf;

    out->left_out = SS_FIND_STAYS;
    at.at[axis] = (unsigned char)none;
    if (none >= 0 && isfinite(limit->most_s)) {
        if (limit->slow < 0)
            SS_TRY(find_slow(s, limit, at, axis, asked, costs, err));
        int slow = limit->slow > 0;
        SS_TRY(find_least(s, &at, axis, asked, none ? NULL : first, slow ? NULL : costs,
                          limit->most_s / (1 - HIDDEN), out, err));
        if (out->legal && (slow || out->seconds * (1 - HIDDEN) >= limit->most_s))
            out->left_out = SS_FIND_TOO_SLOW;
    }
    at.at[axis] = (unsigned char)full;
    if (out->left_out || full < 0)
        return SS_OK;
    SS_TRY(find_least(s, &at, axis, asked, NULL, costs, INFINITY, out, err));
    if (out->legal && out->bytes * (1 - HIDDEN) > ss_platform_card(c->platform)->device_memory)
        out->left_out = SS_FIND_TOO_LARGE;
    return SS_OK;
}
