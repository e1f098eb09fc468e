/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends what to whom, kept by the schedule that it follows from. */
#include "base/base.h"
#include "program/program_internal.h"

/* Chunks and microbatches of a slot are numbers of less than 28 bits in all that is ever built; more would only mix. */
static void mix_slots(struct ss_cache_key *key, const struct ss_slot *slot, int n)
{
    ss_cache_mix(key, (uint64_t)n);
    for (int i = 0; i < n; i++, slot++) {
        ss_cache_mix(key, (uint64_t)slot->phase << 56 ^ (uint64_t)(uint32_t)slot->chunk << 28 ^
                              (uint64_t)(uint32_t)slot->microbatch);
        if (slot->phase == SS_PHASE_FB)
            ss_cache_mix(key, (uint64_t)(uint32_t)slot->chunk2 << 28 ^ (uint64_t)(uint32_t)slot->microbatch2);
    }
}

/* All of a schedule that ss_comm_build reads. */
static struct ss_cache_key key_of(const struct ss_schedule *s, int asked)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_COMM);
    const int numbers[] = {s->stages, s->chunks, s->microbatches, s->pipelines, s->p2p, s->sound};
    ss_cache_mix(&key, (uint64_t)asked);
    if (s->kept[0]) {
        ss_cache_mix(&key, s->kept[0]);
        ss_cache_mix(&key, s->kept[1]);
        return key;
    }
    ss_cache_mix_ints(&key, numbers, SS_ARRAY_LEN(numbers));
    ss_cache_mix_ints(&key, s->virtual_rank, s->stages * s->chunks);
    ss_cache_mix_ints(&key, s->virtual_chunk, s->stages * s->chunks);
    ss_cache_mix_ints(&key, s->warmup, s->stages);
    for (int r = 0; r < s->stages; r++)
        mix_slots(&key, s->slots[r], s->nslots[r]);
    return key;
}

static size_t bytes_of(const struct ss_comm *comm, const struct ss_schedule *s)
{
    size_t bytes = sizeof *comm + (size_t)comm->stages * sizeof *comm->ranks;
    for (int r = 0; r < comm->stages; r++) {
        const struct ss_comm_rank *rank = &comm->ranks[r];
        bytes += (size_t)s->nslots[r] * sizeof *rank->slots + (size_t)rank->nend * sizeof *rank->end +
                 (size_t)s->chunks * sizeof *rank->late;
        for (int i = 0; i < rank->nvariants; i++)
            bytes += sizeof *rank->variants +
                     (size_t)(rank->variants[i].nbefore + rank->variants[i].nafter) * sizeof *rank->end;
    }
    return bytes;
}

static void destroy(void *thing)
{
    ss_comm_free(thing);
    free(thing);
}

/* Copies an entry for all processes that share the cache. */
static void share(struct ss_cache *cache, const struct ss_schedule *s, const struct ss_comm *comm)
{
    struct ss_comm *copy = ss_cache_copy(cache, comm, sizeof *comm);
    if (!copy)
        return;
    copy->ranks = ss_cache_copy(cache, comm->ranks, (size_t)comm->stages * sizeof *comm->ranks);
    for (int r = 0; copy->ranks && r < comm->stages; r++) {
        struct ss_comm_rank *rank = &copy->ranks[r];
        rank->slots = ss_cache_copy(cache, rank->slots, (size_t)s->nslots[r] * sizeof *rank->slots);
        rank->end = ss_cache_copy(cache, rank->end, (size_t)rank->nend * sizeof *rank->end);
        rank->late = ss_cache_copy(cache, rank->late, (size_t)rank->nlate * sizeof *rank->late);
        rank->variants =
            ss_cache_copy(cache, rank->variants, (size_t)rank->nvariants * sizeof *rank->variants);
        for (int i = 0; rank->variants && i < rank->nvariants; i++) {
            struct ss_comm_variant *v = &rank->variants[i];
            v->op = ss_cache_copy(cache, v->op, (size_t)(v->nbefore + v->nafter) * sizeof *v->op);
        }
    }
    ss_cache_tell(cache, comm->key, copy);
}

/* Keeps a new entry; the cache takes over *comm. */
static int keep(struct ss_cache *cache, const struct ss_schedule *s, struct ss_comm *comm,
                struct ss_error *err)
{
    struct ss_comm *kept = malloc(sizeof *kept);
    if (kept)
        *kept = *comm;
    if (kept && !ss_cache_put(cache, comm->key, kept, bytes_of(comm, s), destroy)) {
        share(cache, s, kept);
        return SS_OK;
    }
    free(kept);
    ss_comm_free(comm);
    return ss_nomem(err);
}

int ss_cache_comm(struct ss_cache *cache, const struct ss_schedule *s, int asked, struct ss_comm *comm,
                  struct ss_error *err)
{
    if (!cache)
        return ss_comm_build(s, asked, comm, err);
    const struct ss_cache_key key = key_of(s, asked);
    const struct ss_comm *kept = ss_cache_take(cache, key);
    if (kept) {
        *comm = *kept;
        return SS_OK;
    }
    int rc = ss_comm_build(s, asked, comm, err);
    comm->key = key;
    return rc ? rc : keep(cache, s, comm, err);
}

void ss_cache_drop(struct ss_cache *cache, struct ss_comm *comm)
{
    if (!cache)
        ss_comm_free(comm);
    else if (comm->ranks)
        ss_cache_give_back(cache, comm->key);
    *comm = (struct ss_comm){0};
}
