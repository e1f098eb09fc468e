/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the bands share. */
#ifndef SS_RESULT_BANDS_H
#define SS_RESULT_BANDS_H

#include <stdint.h>

#include "base/cache.h"
#include "stepsim/bands.h"

#define SS_BAND_KINDS 512 /* of runs: source, card, family and kind of model */
#define SS_BAND_SOURCES 256

/* Runs that are like one another in all that a band looks at. */
struct ss_band_kind {
    char card[64], family[32];
    int experts; /* 1: mixtures */
    int source;  /* index */
    int runs;
    double weight; /* of its runs */
};

/* A measured run. */
struct ss_band_run {
    double above;  /* ln (measured over predicted) */
    double size;   /* of the error, share of the measured */
    double weight; /* in runs; 1 but where runs of one table are not independent */
    int kind;
    uint64_t job; /* the same of runs of one model in one precision on as many GPUs */
};

/* The runs that tell about time, or about memory, in two orders. */
struct ss_band_table {
    int n, nkinds, nsources;
    size_t cap; /* of the block of both orders */
    struct ss_band_run *by_above, *by_size;
    struct ss_band_kind *kinds;
    char (*sources)[SS_BAND_NAME];
};

struct ss_bands {
    int constant; /* 1: not to be freed */
    struct ss_band_table time, memory;
};

/* Reads a table; the caller frees *out with ss_bands_free. */
int ss_bands_read(const char *path, struct ss_bands **out, struct ss_error *err);

/* What ss_bands_read gives of the validation/results.csv that the program was built with, so that no run reads it
 * again. cmake/bands.c writes it. */
struct ss_bands_made {
    size_t bytes;            /* of the file */
    struct ss_cache_key key; /* of these bytes */
    struct ss_bands bands;
};
extern const struct ss_bands_made ss_bands_made;
static inline struct ss_cache_key ss_bands_key(const char *text, size_t len)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_BANDS);
    ss_cache_mix_bytes(&key, text, len);
    return key;
}

/* Fills *out with the band of `job` without the runs of source `without` (-1: of all). */
void ss_band_find(const struct ss_band_table *t, const struct ss_band_job *job, int without,
                  struct ss_band *out);

/* bands_cache.c: ss_bands_find, or its earlier answer; cache may be NULL. The bands must live as long as the
 * cache. */
void ss_bands_find_kept(struct ss_cache *cache, const struct ss_bands *bands, const struct ss_band_job *job,
                        struct ss_band *time, struct ss_band *memory);

#endif
