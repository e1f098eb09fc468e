/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends what to whom, kept by the schedule that it follows from. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "program/program_internal.h"
#include "stepsim/schedule.h"

enum { ROOM = 128 }; /* schedules; the oldest one makes room for another */

/* All of a schedule that ss_comm_build reads, as 128 bits: two schedules of one search with one key are not to be expected
 * before its 10^19th. */
struct key {
    uint64_t a, b;
};

struct ss_program_shelf {
    int n, oldest;
    struct key key[ROOM];
    struct ss_comm comm[ROOM];
};

int ss_program_shelf_open(struct ss_program_shelf **out, struct ss_error *err)
{
    *out = ss_calloc(1, sizeof **out);
    return *out ? SS_OK : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory to keep schedules");
}

void ss_program_shelf_close(struct ss_program_shelf *shelf)
{
    for (int i = 0; shelf && i < shelf->n; i++)
        ss_comm_free(&shelf->comm[i]);
    free(shelf);
}

/* A few instructions a word: keys are made of thousands. */
static inline void mix(struct key *key, uint64_t word)
{
    key->a = (key->a ^ word) * 0x9e3779b97f4a7c15ULL;
    key->a ^= key->a >> 32;
    key->b = (key->b + word) * 0xc2b2ae3d27d4eb4fULL;
    key->b ^= key->b >> 29;
}

static void mix_ints(struct key *key, const int *list, int n)
{
    mix(key, (uint64_t)n);
    for (int i = 0; i < n; i++)
        mix(key, (uint64_t)(uint32_t)list[i]);
}

/* Chunks and microbatches of a slot are numbers of less than 28 bits in all that is ever built; more would only mix. */
static void mix_slots(struct key *key, const struct ss_slot *slot, int n)
{
    mix(key, (uint64_t)n);
    for (int i = 0; i < n; i++, slot++) {
        mix(key, (uint64_t)slot->phase << 56 ^ (uint64_t)(uint32_t)slot->chunk << 28 ^
                     (uint64_t)(uint32_t)slot->microbatch);
        if (slot->phase == SS_PHASE_FB)
            mix(key, (uint64_t)(uint32_t)slot->chunk2 << 28 ^ (uint64_t)(uint32_t)slot->microbatch2);
    }
}

static struct key key_of(const struct ss_schedule *s)
{
    struct key key = {1, 2};
    const int numbers[] = {s->stages, s->chunks, s->microbatches, s->pipelines, s->p2p, s->sound};
    mix_ints(&key, numbers, SS_ARRAY_LEN(numbers));
    mix_ints(&key, s->virtual_rank, s->stages * s->chunks);
    mix_ints(&key, s->virtual_chunk, s->stages * s->chunks);
    mix_ints(&key, s->warmup, s->stages);
    for (int r = 0; r < s->stages; r++)
        mix_slots(&key, s->slots[r], s->nslots[r]);
    return key;
}

int ss_shelf_comm(struct ss_program_shelf *shelf, const struct ss_schedule *s, struct ss_comm *comm,
                  struct ss_error *err)
{
    if (!shelf)
        return ss_comm_build(s, comm, err);
    const struct key key = key_of(s);
    for (int i = 0; i < shelf->n; i++)
        if (shelf->key[i].a == key.a && shelf->key[i].b == key.b) {
            *comm = shelf->comm[i];
            return SS_OK;
        }
    int rc = ss_comm_build(s, comm, err), at = shelf->n < ROOM ? shelf->n : shelf->oldest;
    if (rc)
        return rc;
    if (shelf->n < ROOM)
        shelf->n++;
    else
        ss_comm_free(&shelf->comm[at]);
    shelf->oldest = (at + 1) % ROOM;
    shelf->key[at] = key;
    shelf->comm[at] = *comm;
    return SS_OK;
}

void ss_shelf_drop(const struct ss_program_shelf *shelf, struct ss_comm *comm)
{
    if (!shelf)
        ss_comm_free(comm);
    *comm = (struct ss_comm){0};
}
