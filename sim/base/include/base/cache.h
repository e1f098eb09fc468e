/* SPDX-License-Identifier: Apache-2.0 */
/* What is put in a cache and taken from it (stepsim/cache.h). */
#ifndef SS_BASE_CACHE_H
#define SS_BASE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stepsim/cache.h"

/* All that a thing follows from, as 128 bits: two things of one search with one key are not to be expected before its 10^19th. */
struct ss_cache_key {
    uint64_t a, b;
};

/* A key of nothing yet; `kind` tells things of one owner from those of others. */
static inline struct ss_cache_key ss_cache_key(uint64_t kind)
{
    return (struct ss_cache_key){kind + 1, kind + 2};
}

/* A few instructions a word: keys are made of thousands. */
static inline void ss_cache_mix(struct ss_cache_key *key, uint64_t word)
{
    key->a = (key->a ^ word) * 0x9e3779b97f4a7c15ULL;
    key->a ^= key->a >> 32;
    key->b = (key->b + word) * 0xc2b2ae3d27d4eb4fULL;
    key->b ^= key->b >> 29;
}

static inline void ss_cache_mix_ints(struct ss_cache_key *key, const int *list, int n)
{
    ss_cache_mix(key, (uint64_t)n);
    for (int i = 0; i < n; i++)
        ss_cache_mix(key, (uint64_t)(uint32_t)list[i]);
}

/* Bytes of a structure, of which those between fields count too: where they differ a thing is not found, no more. */
static inline void ss_cache_mix_bytes(struct ss_cache_key *key, const void *bytes, size_t n)
{
    const char *at = bytes;
    uint64_t word;
    ss_cache_mix(key, n);
    for (; n >= sizeof word; n -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        ss_cache_mix(key, word);
    }
    word = 0;
    memcpy(&word, at, n);
    ss_cache_mix(key, word);
}

enum ss_cache_kind {
    SS_CACHE_SCHEDULE,
    SS_CACHE_COMM,
    SS_CACHE_LAYOUT,
    SS_CACHE_GROUPS,
    SS_CACHE_BANDS,
    SS_CACHE_PACE
};

/* The thing of a key, which stays until it is given back as often as it was taken; NULL: it is not there. */
void *ss_cache_take(struct ss_cache *cache, struct ss_cache_key key);
/* Puts a thing of some `bytes` there, taken once; the cache frees it with `destroy`. -1: out of memory, it stays the caller's. */
int ss_cache_put(struct ss_cache *cache, struct ss_cache_key key, void *thing, size_t bytes,
                 void (*destroy)(void *));
/* The thing is not read any more. */
void ss_cache_give_back(struct ss_cache *cache, struct ss_cache_key key);

#endif
