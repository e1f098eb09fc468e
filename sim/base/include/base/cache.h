/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that put things into a cache and take them out (stepsim/cache.h). */
#pragma once

#include <stdint.h>
#include <string.h>

#include "stepsim/cache.h"

/* A key: 128 bits of hash over everything that the cached thing depends on. A collision is expected after
 * about 10^19 keys. */
struct ss_cache_key {
    uint64_t a, b;
};

/* Returns a key over nothing yet; `kind` keeps the things of one owner apart from those of others. */
static inline struct ss_cache_key ss_cache_key(uint64_t kind)
{
    return (struct ss_cache_key){kind + 1, kind + 2};
}

/* Mixes one word into the key in a few instructions, because a key is made of thousands of words. */
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

/* One round of a lane of ss_cache_mix_bytes: both halves of a product of 128 bits. The sum keeps the lane where a factor is 0. */
static inline uint64_t ss_cache_lane(uint64_t lane, const char *at)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t word[2];
    memcpy(word, at, sizeof word);
    const wide product = (wide)(word[0] ^ lane) * (word[1] ^ 0xc2b2ae3d27d4eb4fULL);
    return lane + ((uint64_t)product ^ (uint64_t)(product >> 64)) + 0x9e3779b97f4a7c15ULL;
}

/* Mixes in the bytes of a structure, padding too. Padding that differs costs a missed hit, never a wrong
 * one. Structures have thousands of bytes: two lanes of words, which a compiler keeps in registers, go into the key behind them. */
static inline void ss_cache_mix_bytes(struct ss_cache_key *key, const void *bytes, size_t n)
{
    const char *at = bytes, *const end = at + n / 32 * 32;
    uint64_t word, a = 1, b = 2;
    ss_cache_mix(key, n);
    for (; at < end; at += 32) {
        a = ss_cache_lane(a, at);
        b = ss_cache_lane(b, at + 16);
    }
    if (n >= 32) {
        ss_cache_mix(key, a);
        ss_cache_mix(key, b);
    }
    for (n %= 32; n >= sizeof word; n -= sizeof word, at += sizeof word) {
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
    SS_CACHE_STAGES,
    SS_CACHE_BANDS,
    SS_CACHE_PACE,
    SS_CACHE_LOAD,
    SS_CACHE_LAYER,
    SS_CACHE_HASH,
    SS_CACHE_JSON,
    SS_CACHE_REPLAY,
    SS_CACHE_SPANS,
    SS_CACHE_ANSWER,
    SS_CACHE_COSTS
};

/* Mixes in where a file is, when it was changed and how long it is; one that is not there counts too. */
void ss_cache_mix_file(struct ss_cache_key *key, const char *path);
/* ss_file_hash of a file that may be known; cache NULL: none is. */
int ss_cache_file_hash(struct ss_cache *cache, const char *path, char hash[17], struct ss_error *err);
/* Returns the thing of a key, or NULL. The cache keeps it until it is given back as often as it was taken. */
void *ss_cache_take(struct ss_cache *cache, struct ss_cache_key key);
/* Puts a thing of `bytes` bytes into the cache and takes it once; the cache frees it with `destroy`. Returns
 * -1 when memory runs out; the thing then stays the caller's. */
int ss_cache_put(struct ss_cache *cache, struct ss_cache_key key, void *thing, size_t bytes,
                 void (*destroy)(void *));
/* Tells what a thing has grown to; the next one that is put makes room. */
void ss_cache_weigh(struct ss_cache *cache, struct ss_cache_key key, size_t bytes);
/* Gives back a thing that was taken. */
void ss_cache_give_back(struct ss_cache *cache, struct ss_cache_key key);

/* Processes that are forked from now on take what one of them tells; where there is no memory each keeps its own. What a thing points to
 * must be a copy, too, or have been there before. */
void ss_cache_share(struct ss_cache *cache);
int ss_cache_is_shared(const struct ss_cache *cache);
/* Copies a block into the memory of all these processes, where nobody writes any more once the thing is told. NULL: the cache is not
 * shared, there is no room, or no block. */
void *ss_cache_copy(struct ss_cache *cache, const void *block, size_t bytes);
/* Tells all of a thing, made of copies; unless one of the copies had no room. */
void ss_cache_tell(struct ss_cache *cache, struct ss_cache_key key, void *copy);

/* How often a thing was found in the cache, and how often one was put in. */
struct ss_cache_counts {
    uint64_t found, put;
};
struct ss_cache_counts ss_cache_counts(const struct ss_cache *cache);
