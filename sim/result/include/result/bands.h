/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the bands share. */
#ifndef SS_RESULT_BANDS_H
#define SS_RESULT_BANDS_H

#include <stdint.h>

#include "stepsim/bands.h"
#include "stepsim/cache.h"

#define SS_BAND_KINDS 512 /* of runs: source, card, family and kind of model */
#define SS_BAND_SOURCES 256

/* Runs that are like one another in all that a band looks at. */
struct ss_band_kind {
    char card[64], family[32];
    int experts; /* 1: mixtures */
    int hybrid;
    int source; /* index */
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
    struct ss_band_kind kinds[SS_BAND_KINDS];
    char sources[SS_BAND_SOURCES][SS_BAND_NAME];
};

struct ss_bands {
    struct ss_band_table time, memory;
};

/* Fills *out with the band of `job` without the runs of source `without` (-1: of all). */
void ss_band_find(const struct ss_band_table *t, const struct ss_band_job *job, int without,
                  struct ss_band *out);

/* bands_cache.c: ss_bands_find, or its earlier answer; cache may be NULL. The bands must live as long as the
 * cache. */
void ss_bands_find_kept(struct ss_cache *cache, const struct ss_bands *bands, const struct ss_band_job *job,
                        struct ss_band *time, struct ss_band *memory);

#endif
