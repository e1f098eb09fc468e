/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of jobs that are alike in all that a band looks at, found once. */
#include <stdlib.h>

#include "result/bands.h"

/* One for time, one for memory. */
struct both {
    struct ss_band time, memory;
};

static struct ss_cache_key key_of(const struct ss_bands *bands, const struct ss_band_job *job)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_BANDS);
    const char *const texts[] = {job->card, job->family, job->unmodelled ? job->unmodelled : ""};
    ss_cache_mix(&key, (uint64_t)(uintptr_t)bands);
    ss_cache_mix(&key, (uint64_t)job->experts);
    ss_cache_mix_bytes(&key, job->size, sizeof job->size);
    ss_cache_mix(&key, (uint64_t)job->hybrid);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ss_cache_mix_bytes(&key, texts[i], strlen(texts[i]));
    return key;
}

void ss_bands_find_kept(struct ss_cache *cache, const struct ss_bands *bands, const struct ss_band_job *job,
                        struct ss_band *time, struct ss_band *memory)
{
    if (!cache || !bands) {
        ss_bands_find(bands, job, time, memory);
        return;
    }
    const struct ss_cache_key key = key_of(bands, job);
    struct both *both = ss_cache_take(cache, key);
    if (both) {
        *time = both->time;
        *memory = both->memory;
        ss_cache_give_back(cache, key);
        return;
    }
    ss_bands_find(bands, job, time, memory);
    both = malloc(sizeof *both);
    if (!both)
        return; /* the next one asks again */
    *both = (struct both){*time, *memory};
    ss_cache_tell(cache, key, ss_cache_copy(cache, both, sizeof *both));
    if (ss_cache_put(cache, key, both, sizeof *both, free))
        free(both);
    else
        ss_cache_give_back(cache, key);
}
