/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "schedule/builder.h"

/* More slots than this are a slip of the keyboard, not a job. */
#define SLOTS_MAX ((int64_t)1 << 28)

static const struct {
    const char *name, *description;
    ss_schedule_builder build;
    int chunks; /* that a rank must have; 0: as asked for */
    struct ss_schedule_facts facts;
} table[] = {
    {"1f1b",
     "one forward, one backward (PipeDream-flush); Megatron without virtual stages",
     ss_schedule_build_1f1b,
     1,
     {"Narayanan et al. 2021, arXiv:2006.09503; Megatron core", "", "(p-1)(F+B)", "p"}},
    {"interleaved",
     "1F1B over several model chunks a rank; Megatron with virtual stages",
     ss_schedule_build_interleaved,
     0,
     {"Narayanan et al. 2021, arXiv:2104.04473; Megatron core", "p divides m, or a group size", "(p-1)(F+B)",
      "(v-1)p+2(p-1)+1, m>p"}},
    {"gpipe",
     "all forwards, then all backwards",
     ss_schedule_build_gpipe,
     1,
     {"Huang et al. 2019, arXiv:1811.06965", "", "(p-1)(F+B)", "m"}},
    {"eager-1f1b",
     "1F1B with twice the warm-up and asynchronous sends, which hides their time",
     ss_schedule_build_eager_1f1b,
     1,
     {"Zhuang et al. 2023, arXiv:2211.05322", "", "(p-1)(F+B)", "2p-1, m>=2p-1"}},
    {"looped-bfs",
     "all microbatches through a chunk before the next chunk (breadth first)",
     ss_schedule_build_looped_bfs,
     0,
     {"Lamy-Poirier 2023, arXiv:2211.05953", "m>=p", "(p-1)(F+B)", "v m"}},
    {"zb-h1",
     "1F1B with split backward: W fills the cool-down, memory of 1F1B",
     ss_schedule_build_zb_h1,
     1,
     {"Qi et al. 2024, arXiv:2401.10241", "m>=p", "(p-1)(F+I-W)", "p"}},
    {"zb-h2",
     "split backward and longer warm-up: no bubble without a global barrier, twice the memory",
     ss_schedule_build_zb_h2,
     1,
     {"Qi et al. 2024, arXiv:2401.10241", "m>=2p-1", "(p-1)(F+I-2W)", "2p-1"}},
    {"zb-v",
     "split backward on a V of two chunks a rank: no bubble where F = I = W, memory of 1F1B",
     ss_schedule_build_zb_v,
     2,
     {"Qi et al. 2024, arXiv:2401.10241 section 6", "m>=2p-1", "0 for F=I=W", "2p"}},
    {"dualpipe",
     "microbatches from both ends over two copies of the model, forward beside backward",
     ss_schedule_build_dualpipe,
     2,
     {"DeepSeek-V3 2024, arXiv:2412.19437; deepseek-ai/DualPipe", "p and m even, m>=2p", "(p/2-1)(FB+B-3W)",
      "p+1"}},
    {"dualpipev",
     "DualPipe cut in half: a V of two chunks a rank, one copy of the model",
     ss_schedule_build_dualpipev,
     2,
     {"deepseek-ai/DualPipe; Sea AI Lab's cut in half", "m>=2p", "(p-1)(FB+B-3W)", "2p+1"}},
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

int ss_schedule_known_chunks(int n, int wanted)
{
    if (n < 0 || (size_t)n >= SS_ARRAY_LEN(table))
        return -1;
    return table[n].chunks ? table[n].chunks : wanted;
}

int ss_schedule_chunks(const char *name, int wanted)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(table); i++)
        if (!strcmp(name, table[i].name))
            return ss_schedule_known_chunks((int)i, wanted);
    return wanted;
}

const struct ss_schedule_facts *ss_schedule_known_facts(int n)
{
    return n < 0 || (size_t)n >= SS_ARRAY_LEN(table) ? NULL : &table[n].facts;
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
        if (!rc)
            rc = table[i].build(params, out, err);
        if (!rc)
            (*out)->sound = 1; /* as tests/unit/test_schedule*.c prove */
        return rc;
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
    ss_schedule_source_free(s->source);
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
    s->pipelines = 1;
    s->p2p = SS_P2P_ASYNC;
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

void ss_schedule_place_v(struct ss_schedule *s)
{
    for (int v = 0; v < 2 * s->stages; v++) {
        s->virtual_rank[v] = v < s->stages ? v : 2 * s->stages - 1 - v;
        s->virtual_chunk[v] = v / s->stages;
    }
}

int ss_schedule_depth(const struct ss_schedule *s)
{
    return s->stages * s->chunks / (s->pipelines > 1 ? s->pipelines : 1);
}

int ss_schedule_before(const struct ss_schedule *s, int virtual_stage)
{
    if (s->pipelines < 2)
        return virtual_stage - 1;
    return virtual_stage % ss_schedule_depth(s) ? virtual_stage - 1 : -1;
}

int ss_schedule_after(const struct ss_schedule *s, int virtual_stage)
{
    if (s->pipelines < 2)
        return virtual_stage + 1 < s->stages * s->chunks ? virtual_stage + 1 : -1;
    return (virtual_stage + 1) % ss_schedule_depth(s) ? virtual_stage + 1 : -1;
}

int ss_schedule_microbatches(const struct ss_schedule *s)
{
    return s->microbatches * (s->pipelines > 1 ? s->pipelines : 1);
}

void ss_schedule_source_free(struct ss_schedule_source *source)
{
    if (!source)
        return;
    for (int r = 0; r < source->stages; r++) {
        if (source->line)
            free(source->line[r]);
        if (source->column)
            free(source->column[r]);
    }
    free(source->line);
    free(source->column);
    free(source);
}

int ss_schedule_need_chunks(const char *name, const struct ss_schedule_params *params, int chunks,
                            struct ss_error *err)
{
    if (params->chunks == chunks)
        return SS_OK;
    ss_fail(err, SS_ERR_CONFIG, NULL, 0, "schedule %s has %s a rank, not %d", name,
            chunks == 1 ? "one model chunk" : "two model chunks", params->chunks);
    return ss_hint(err, SS_ERR_CONFIG,
                   chunks == 1 ? "use the schedule 'interleaved' for virtual pipeline stages"
                               : "leave the virtual stages out (--vp 1), or ask for two a rank (--vp 2)");
}

int ss_schedule_need_microbatches(const char *name, const struct ss_schedule_params *params, int least,
                                  const char *why, struct ss_error *err)
{
    if (params->microbatches >= least)
        return SS_OK;
    ss_fail(err, SS_ERR_CONFIG, NULL, 0,
            "schedule %s over %d stages needs at least %d microbatches (%s), not %d", name, params->stages,
            least, why, params->microbatches);
    return ss_hint(err, SS_ERR_CONFIG, "enlarge the global batch, or use 1f1b or fewer stages");
}

int ss_schedule_no_memory(const struct ss_schedule_params *params, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for a schedule of %d stages and %d microbatches",
                   params->stages, params->microbatches);
}
