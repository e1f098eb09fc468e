/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the bands share. */
#pragma once

#include "base/cache.h"
#include "stepsim/bands.h"

#define SS_BAND_KINDS 512 /* of runs: source, card, family and kind of model */
#define SS_BAND_SOURCES 256

/* Runs that are like one another in all that a band looks at. */
struct ss_band_kind {
    char card[64], family[32];
    int experts; /* 1: mixtures */
    int hybrid;
    int source; /* index */
    int runs;
    double weight;                                  /* of its runs */
    double least[SS_BAND_AXES], most[SS_BAND_AXES]; /* of its runs; 0: none tells */
};

/* A measured run. */
struct ss_band_run {
    double above;            /* ln (measured over predicted) */
    double size;             /* of the error, share of the measured */
    double weight;           /* in runs; 1 but where runs of one table are not independent */
    double at[SS_BAND_AXES]; /* 0: not told */
    int kind;
    uint64_t job; /* the same of runs of one model in one precision on as many GPUs */
};

/* How much errors of time drift along an axis. What memory's are off by does not grow with the distance: bands without drift hold 90 % of
 * runs, with it 96. */
struct ss_band_drift {
    double octave; /* of ln (measured over predicted), for each doubling */
    double span;   /* doublings between the two runs of one source that are furthest apart */
};
/* In the order of enum ss_band_axis; test_bands.c derives them from validation/results.csv. */
extern const struct ss_band_drift ss_band_drifts[SS_BAND_AXES];

/* The runs that tell about time, or about memory, in two orders. */
struct ss_band_table {
    int drifts; /* 1: errors drift with the distance to runs */
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

/* Counts a run among those of its kind. */
void ss_band_count(struct ss_band_table *t, const struct ss_band_run *run);
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
/* By a quick hash first, of odd and of even words: each run of a job asks. */
static inline struct ss_cache_key ss_bands_key(const char *text, size_t len)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_BANDS);
    uint64_t even = 0, odd = 0, word[2];
    for (; len >= sizeof word; len -= sizeof word, text += sizeof word) {
        memcpy(word, text, sizeof word);
        even = (even ^ word[0]) * 0x9e3779b97f4a7c15u;
        odd = (odd ^ word[1]) * 0xc2b2ae3d27d4eb4fu;
    }
    ss_cache_mix(&key, even);
    ss_cache_mix(&key, odd);
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
