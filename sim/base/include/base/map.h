/* SPDX-License-Identifier: Apache-2.0 */
/* Hash maps of numbers. The same input gives the same map on every machine; who reads all slots does not depend on
 * their order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Spreads the bits of a key (splitmix64's finaliser). */
static inline uint64_t ss_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* A map from 64-bit keys to numbers; it grows. */
struct ss_map {
    struct ss_map_slot {
        uint64_t key;
        int value; /* value + 1; 0: free */
    } * slot;
    size_t n, size;
};
/* Returns the value of `key`, which is set to `value` if the key is new; -1: out of memory. */
int ss_map_put(struct ss_map *m, uint64_t key, int value);
/* Returns the value of `key`; -1: the map does not have it. */
int ss_map_get(const struct ss_map *m, uint64_t key);
/* Adds `more` to the value of a key; a new key begins at 0. */
int ss_map_add(struct ss_map *m, uint64_t key, int more);
void ss_map_free(struct ss_map *m);
