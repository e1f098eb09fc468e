/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule as a structure: its arrays, placement, and the conditions that builders share. */
#include "base/base.h"
#include "schedule/builder.h"

const char *ss_p2p_name(int p2p)
{
    static const char *const names[] = {"blocking", "overlapped", "batched", "async", "ordered"};
    return p2p >= 0 && (size_t)p2p < SS_ARRAY_LEN(names) ? names[p2p] : "unknown";
}

void ss_schedule_free(struct ss_schedule *s)
{
    if (!s || s->sharers-- > 0)
        return;
    for (int r = 0; s->slots && r < s->stages; r++)
        free(s->slots[r]);
    SS_FREE(s->slots, s->nslots, s->warmup, s->loop_first, s->virtual_rank, s->virtual_chunk);
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

int ss_schedule_turns(const struct ss_schedule *s, int more, struct ss_schedule **out, struct ss_error *err)
{
    struct ss_schedule_params params = {
        .stages = s->stages, .chunks = s->chunks, .microbatches = s->microbatches + more * s->loop_step};
    int most = 0;
    for (int r = 0; r < s->stages; r++)
        most = s->nslots[r] > most ? s->nslots[r] : most;
    struct ss_schedule *t = ss_schedule_alloc(s->name, &params, most + more * s->loop_length);
    size_t stages = (size_t)s->stages * (size_t)s->chunks;
    SS_NEED(t, err);
    t->pipelines = s->pipelines;
    t->p2p = s->p2p;
    t->sound = s->sound;
    memcpy(t->virtual_rank, s->virtual_rank, stages * sizeof *t->virtual_rank);
    memcpy(t->virtual_chunk, s->virtual_chunk, stages * sizeof *t->virtual_chunk);
    memcpy(t->warmup, s->warmup, (size_t)s->stages * sizeof *t->warmup);
    for (int r = 0; r < s->stages; r++) {
        int first = more ? s->loop_first[r] : 0, length = s->loop_length;
        t->nslots[r] = s->nslots[r] + more * length;
        if (!more)
            memcpy(t->slots[r], s->slots[r], (size_t)s->nslots[r] * sizeof *s->slots[r]);
        for (int i = 0; more && i < t->nslots[r]; i++) {
            int turn = i < first ? 0 : (i - first) / length;
            turn = turn < more ? turn : more;
            t->slots[r][i] = s->slots[r][i - turn * length];
            ss_slot_shift(&t->slots[r][i], turn * s->loop_step);
        }
    }
    *out = t;
    return SS_OK;
}

int ss_schedule_copy(const struct ss_schedule *s, struct ss_schedule **out, struct ss_error *err)
{
    return ss_schedule_turns(s, s->loop_more, out, err);
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

int ss_schedule_fill_pairs(struct ss_slot *slots, const struct ss_slot *forward,
                           const struct ss_slot *backward, int total, int warmup)
{
    for (int i = 0; i < warmup; i++)
        slots[i] = forward[i];
    for (int i = warmup; i < total; i++) {
        const struct ss_slot *f = &forward[i], *b = &backward[i - warmup];
        slots[i] = (struct ss_slot){SS_PHASE_FB, f->chunk, f->microbatch, b->chunk, b->microbatch};
    }
    for (int i = total - warmup; i < total; i++)
        slots[i + warmup] = backward[i];
    return total + warmup;
}

void ss_schedule_count_warmup(struct ss_schedule *s)
{
    for (int r = 0; r < s->stages; r++) {
        s->warmup[r] = 0;
        while (s->warmup[r] < s->nslots[r] && s->slots[r][s->warmup[r]].phase == SS_PHASE_F)
            s->warmup[r]++;
    }
}

void ss_schedule_truncate(struct ss_schedule *s, int microbatches)
{
    for (int r = 0; r < s->stages; r++) {
        int n = 0, forwards = 0;
        for (int i = 0; i < s->nslots[r]; i++) {
            const struct ss_slot *slot = &s->slots[r][i];
            if (slot->microbatch >= microbatches)
                continue;
            forwards += slot->phase == SS_PHASE_F;
            s->slots[r][n++] = *slot;
        }
        s->nslots[r] = n;
        s->warmup[r] = s->warmup[r] < forwards ? s->warmup[r] : forwards;
    }
    s->microbatches = microbatches;
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
    return (s->microbatches + s->loop_more * s->loop_step) * (s->pipelines > 1 ? s->pipelines : 1);
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
    SS_FREE(source->line, source->column, source);
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
    return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                   "schedule %s over %d stages needs at least %d microbatches (%s), not %d" SS_HINT
                   "enlarge the global batch, or use 1f1b or fewer stages",
                   name, params->stages, least, why, params->microbatches);
}
