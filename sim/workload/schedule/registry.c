/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/schedule/builder.h"

/* More slots than this are a slip of the keyboard, not a job. */
#define SLOTS_MAX ((int64_t)1 << 28)

static const struct {
    const char *name, *description;
    ss_schedule_builder build;
} table[] = {
    {"1f1b", "one forward, one backward (PipeDream-flush); Megatron without virtual stages",
     ss_schedule_build_1f1b},
    {"interleaved", "1F1B over several model chunks a rank; Megatron with virtual stages",
     ss_schedule_build_interleaved},
};

int ss_schedule_known(int n, const char **name, const char **description)
{
    if (n < 0 || (size_t)n >= SS_ARRAY_LEN(table))
        return 0;
    if (name)
        *name = table[n].name;
    if (description)
        *description = table[n].description;
    return 1;
}

static int check_params(const char *name, const struct ss_schedule_params *p, struct ss_error *err)
{
    if (p->stages < 1 || p->chunks < 1 || p->microbatches < 1 || p->microbatch_group_size < 0)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "schedule %s: %d stages, %d chunks, %d microbatches: each must be at least 1", name,
                       p->stages, p->chunks, p->microbatches);
    /* Divided step by step: the product may overflow. */
    if (SLOTS_MAX / 2 / p->stages / p->chunks < p->microbatches)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "schedule %s: %d stages x %d chunks x %d microbatches is more than %lld slots", name,
                       p->stages, p->chunks, p->microbatches, (long long)SLOTS_MAX);
    return SS_OK;
}

int ss_schedule_build(const char *name, const struct ss_schedule_params *params, struct ss_schedule **out,
                      struct ss_error *err)
{
    const char *names[SS_ARRAY_LEN(table)];
    for (size_t i = 0; i < SS_ARRAY_LEN(table); i++) {
        names[i] = table[i].name;
        if (strcmp(name, table[i].name) != 0)
            continue;
        int rc = check_params(name, params, err);
        return rc ? rc : table[i].build(params, out, err);
    }
    ss_fail(err, SS_ERR_INPUT, NULL, 0, "unknown schedule '%s'", name);
    const char *near = ss_nearest(name, names, SS_ARRAY_LEN(table));
    return ss_hint(err, SS_ERR_INPUT,
                   near ? "did you mean '%s'? `stepsim list schedules` names all"
                        : "`stepsim list schedules` names all%.0s",
                   near ? near : "");
}

void ss_schedule_free(struct ss_schedule *s)
{
    if (!s)
        return;
    for (int r = 0; s->slots && r < s->stages; r++)
        free(s->slots[r]);
    free(s->slots);
    free(s->nslots);
    free(s->warmup);
    free(s->virtual_rank);
    free(s->virtual_chunk);
    free(s);
}

struct ss_schedule *ss_schedule_alloc(const char *name, const struct ss_schedule_params *params, int nslots)
{
    struct ss_schedule *s = ss_calloc(1, sizeof *s);
    if (!s)
        return NULL;
    size_t p = (size_t)params->stages, virtual_stages = p * (size_t)params->chunks;
    ss_copy(s->name, sizeof s->name, name);
    s->stages = params->stages;
    s->chunks = params->chunks;
    s->microbatches = params->microbatches;
    s->virtual_rank = ss_calloc(virtual_stages, sizeof *s->virtual_rank);
    s->virtual_chunk = ss_calloc(virtual_stages, sizeof *s->virtual_chunk);
    s->nslots = ss_calloc(p, sizeof *s->nslots);
    s->warmup = ss_calloc(p, sizeof *s->warmup);
    s->slots = ss_calloc(p, sizeof *s->slots);
    bool ok = s->virtual_rank && s->virtual_chunk && s->nslots && s->warmup && s->slots;
    for (size_t r = 0; ok && r < p; r++) {
        s->nslots[r] = nslots;
        s->slots[r] = malloc((size_t)(nslots ? nslots : 1) * sizeof **s->slots);
        ok = s->slots[r] != NULL;
    }
    if (!ok) {
        ss_schedule_free(s);
        return NULL;
    }
    for (size_t v = 0; v < virtual_stages; v++) {
        s->virtual_rank[v] = (int)(v % p);
        s->virtual_chunk[v] = (int)(v / p);
    }
    return s;
}

void ss_schedule_fill(struct ss_slot *slots, const struct ss_slot *forward, const struct ss_slot *backward,
                      int total, int warmup)
{
    size_t lead = (size_t)warmup, n = 0;
    memcpy(slots, forward, lead * sizeof *slots);
    n = lead;
    for (int i = warmup; i < total; i++) {
        slots[n++] = forward[i];
        slots[n++] = backward[i - warmup];
    }
    memcpy(slots + n, backward + (total - warmup), lead * sizeof *slots);
}

int ss_schedule_warmup(const struct ss_schedule *s, int rank)
{
    return s->warmup[rank];
}

int *ss_schedule_stage_map(const struct ss_schedule *s)
{
    size_t n = (size_t)s->stages * (size_t)s->chunks;
    int *map = malloc((n ? n : 1) * sizeof *map);
    if (!map)
        return NULL;
    for (size_t i = 0; i < n; i++)
        map[i] = -1;
    for (size_t v = 0; v < n; v++)
        map[(size_t)s->virtual_rank[v] * (size_t)s->chunks + (size_t)s->virtual_chunk[v]] = (int)v;
    return map;
}
