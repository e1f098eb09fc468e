/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of one layout by what each of its chunks has: nearer than those that layouts share, at more cost. */

#include "base/base.h"
#include "decide/search_internal.h"
#include "layers/kinds.h"
#include "plan/bounds.h"
#include "result/bands.h"
#include "stepsim/stack.h"

int ss_find_is_unsure(const struct ss_find_cluster *c, const struct ss_job *job, int hybrid,
                      const struct ss_bands *bands, struct ss_cache *cache, double bytes)
{
    const struct ss_card *card = ss_platform_card(c->platform);
    const struct ss_band_job like = {.card = card->name,
                                     .family = c->stack->family,
                                     .experts = job->model.num_experts,
                                     .hybrid = hybrid,
                                     .unmodelled = job->unmodelled};
    struct ss_band time, memory;
    ss_bands_find_kept(cache, bands, &like, &time, &memory);
    return bytes * (1 + memory.high_pct / 100) > card->device_memory;
}

int ss_find_bound_scenario(const struct ss_scenario *s, struct ss_cache *cache, struct ss_find_bounds *out)
{
    struct ss_plan_bounds least;
    struct ss_find_flight flight = {0};
    int rc = ss_plan_bounds_find(s->job, s->stack, s->platform, 1, cache, &least, NULL);
    memset(out, 0, sizeof *out);
    if (!rc)
        ss_find_bounds_set(&least, &flight, s->job, s->stack, ss_job_microbatches(s->job, s->world_size),
                           out);
    return rc == SS_ERR_NOMEM ? rc : SS_OK;
}

/* Sets the bounds of a leaf with so many recomputed layers. */
static int bound_at(const struct ss_find_space *s, struct ss_find_leaf *leaf, int layers,
                    struct ss_cache *cache, struct ss_find_bounds *out, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    struct ss_job job;
    const struct ss_scenario exactly = {
        .job = &job, .stack = c->stack, .platform = c->platform, .world_size = c->world_size};
    leaf->at[SS_FIND_BLOCK_LAYERS] = (unsigned char)layers;
    int rc = ss_find_job(s, leaf, &job, err);
    SS_THEN(rc, ss_find_bound_scenario(&exactly, cache, out));
    out->unsure = out->bytes > c->room;
    return rc;
}

int ss_find_tighten_layers(const struct ss_find_space *s, struct ss_find_leaf *leaf, int most, double most_s,
                           struct ss_cache *cache, struct ss_error *err)
{
    struct ss_find_bounds b = {0};
    int low = leaf->at[SS_FIND_BLOCK_LAYERS], n = low, rc = SS_OK, step = 1;
    for (;; step *= 2) { /* bounds are near, so the first steps are small */
        rc = bound_at(s, leaf, n, cache, &b, err);
        if (rc || !b.unsure || n >= most || b.seconds >= most_s)
            break;
        low = n + 1;
        n = n + step < most ? n + step : most;
    }
    low = b.unsure && b.seconds >= most_s ? n : low; /* more layers take longer */
    for (int high = n; !rc && low < high; n = low) {
        rc = bound_at(s, leaf, (low + high) / 2, cache, &b, err);
        high = b.unsure ? high : (low + high) / 2;
        low = b.unsure ? (low + high) / 2 + 1 : low;
    }
    if (!rc && leaf->at[SS_FIND_BLOCK_LAYERS] != n)
        rc = bound_at(s, leaf, n, cache, &b, err);
    leaf->seconds = fmax(leaf->seconds, rc ? 0 : b.seconds);
    return rc;
}

int ss_find_tighten(const struct ss_find_space *s, struct ss_find_leaf *leaf, double most_s,
                    const struct ss_bands *bands, struct ss_cache *cache, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    struct ss_find_bounds bounds;
    struct ss_job job;
    int rc = ss_find_job(s, leaf, &job, err);
    if (!rc && ss_find_block_axis(c, leaf->at) >= 0)
        return ss_find_tighten_layers(s, leaf, ss_find_block_most(c, leaf, &job), most_s, cache, err);
    const struct ss_scenario exactly = {
        .job = &job, .stack = c->stack, .platform = c->platform, .world_size = c->world_size};
    SS_THEN(rc, ss_find_bound_scenario(&exactly, cache, &bounds));
    if (rc)
        return rc;
    leaf->seconds = fmax(leaf->seconds, bounds.seconds);
    leaf->bytes = fmax(leaf->bytes, bounds.bytes);
    leaf->unsure |= ss_find_is_unsure(c, &job, ss_layer_any_other(&job.model), bands, cache, leaf->bytes);
    return SS_OK;
}
