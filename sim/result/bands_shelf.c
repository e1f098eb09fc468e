/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of jobs that are alike in all that a band looks at, found once. */
#include <stdlib.h>
#include <string.h>

#include "base/shelf.h"
#include "result/bands.h"

/* Of time and of memory. */
struct both {
    struct ss_band time, memory;
};

static struct ss_shelf_key key_of(const struct ss_bands *bands, const struct ss_band_job *job)
{
    struct ss_shelf_key key = ss_shelf_key(SS_SHELF_BANDS);
    const char *const texts[] = {job->card, job->family, job->unmodelled ? job->unmodelled : ""};
    ss_shelf_mix(&key, (uint64_t)(uintptr_t)bands);
    ss_shelf_mix(&key, (uint64_t)job->experts);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ss_shelf_mix_bytes(&key, texts[i], strlen(texts[i]));
    return key;
}

void ss_bands_find_kept(struct ss_shelf *shelf, const struct ss_bands *bands, const struct ss_band_job *job,
                        struct ss_band *time, struct ss_band *memory)
{
    if (!shelf) {
        ss_bands_find(bands, job, time, memory);
        return;
    }
    const struct ss_shelf_key key = key_of(bands, job);
    struct both *both = ss_shelf_take(shelf, key);
    if (both) {
        *time = both->time;
        *memory = both->memory;
        ss_shelf_give_back(shelf, key);
        return;
    }
    ss_bands_find(bands, job, time, memory);
    both = malloc(sizeof *both);
    if (!both)
        return; /* the next one asks again */
    *both = (struct both){*time, *memory};
    if (ss_shelf_put(shelf, key, both, sizeof *both, free))
        free(both);
    else
        ss_shelf_give_back(shelf, key);
}
