/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error to expect of a prediction: a band that is to hold what 90 % of the jobs of a source that was never seen take. It
 * comes from the measured runs. A source (a publication, a team) is one opinion, however many runs it has: within a source
 * runs lie alike. Beside S sources that are like the job a further one is unlike all with the chance 1 / (S + 1), and then it is
 * like those of the next wider circle; beyond the widest its error is drawn as wide as that of the worst
 * run. (Conformal prediction over groups: Dunn, Wasserman and Ramdas, "Distribution-free prediction sets for two-layer
 * hierarchical models", 2022; each circle stands where their method has infinity.)
 *
 * Circles, narrow to wide: runs of the same family of stacks on the same card; of the same kind of model (dense, mixture); for
 * a mixture dense models too. A hybrid model, with layers that are neither full nor windowed attention, has hybrid ones in a
 * circle before these, and counts for no other. Errors of time drift with each doubling of GPUs, tokens or parameters beyond the largest (or
 * below the smallest) run of the narrowest circle, and the band is wider by that. Where the job is further from the runs of a circle than any
 * two runs of one source are apart, the next circle's runs stand in; beyond the last there is no band. Load the bands once, then find the
 * band of each job; the handle is constant and may be read by
 * several threads.
 */
#pragma once

#include "stepsim/files.h"

SS_C_BEGIN

#define SS_BAND_NAME 80   /* bytes of a source's name, with its zero */
#define SS_BAND_SHARE 0.9 /* share of jobs that a band should hold */

/* What a job may be far from measured runs in. */
enum ss_band_axis { SS_BAND_GPUS, SS_BAND_TOKENS, SS_BAND_PARAMETERS, SS_BAND_AXES };

struct ss_band {
    /* Measured runs behind the band. 0: no band, and `like` may say why. The figures are then 0, but those that keep a
     * verdict from being surer than with a band: apart_pct, and high_pct of memory. */
    int n;
    int sources;              /* number of sources of these runs */
    double pct;               /* size of the error, per cent of the measured */
    double low_pct, high_pct; /* per cent: measured over predicted, less 1 */
    double
        apart_pct; /* `pct` of jobs as near to the runs: how far two layouts of one job are apart that are not too close to call */
    char like[240]; /* description of these runs */
};

/* What a band depends on in a job. */
struct ss_band_job {
    const char *card, *family; /* struct ss_card's name, struct ss_stack's family */
    int experts;               /* 0: a dense model */
    double size[SS_BAND_AXES]; /* in the order of enum ss_band_axis; 0: not known, so not far */
    const char *unmodelled;    /* a flag whose effect is not modelled: no band; NULL or "": none */
    int hybrid;                /* 1: layers of another mixer than full or windowed attention */
};

struct ss_bands;
/* Reads a table of the form of validation/results.csv (`csv` NULL: the installed one; bands are empty where
 * there is none). The caller frees *out. `files`, which may be NULL, gets the table. Errors: SS_ERR_IO;
 * SS_ERR_INPUT, it is no such table, or has no run. */
int ss_bands_load(const char *csv, struct ss_files *files, struct ss_bands **out, struct ss_error *err);
/* Frees bands. NULL is allowed. */
void ss_bands_free(struct ss_bands *bands);
/* Fills *time and *memory with the bands of a job. `bands` may be NULL: both are empty. */
void ss_bands_find(const struct ss_bands *bands, const struct ss_band_job *job, struct ss_band *time,
                   struct ss_band *memory);
/* How well the ratio of two times is predicted, for jobs that differ only in their layout: model, precision,
 * GPUs and software are equal. */
struct ss_pair_band {
    /* number of pairs of measured runs, and of their sources; pairs 0: fewer than 3 sources, too few to say
     * anything */
    int pairs, sources;
    int near_sources; /* sources with this card and family of stacks */
    double pct;       /* 90 % of pairs: the ratio errs by at most this, per cent */
};
/* Fills *out for variants of one job, from pairs of runs that share a source and a kind of model (dense,
 * mixture). Sources with the job's card and family have one vote each; all other sources together have one,
 * as in the bands. `bands` may be NULL. Error: SS_ERR_NOMEM. */
int ss_bands_pair(const struct ss_bands *bands, const struct ss_band_job *job, struct ss_pair_band *out,
                  struct ss_error *err);
/* Returns 1 when predictions may be judged by measured runs of this `quality` (a word of the tables). */
int ss_quality_counts(const char *quality);

/* A source whose runs are compared with bands that were made without them. */
struct ss_coverage_source {
    char name[SS_BAND_NAME];
    int experts;   /* 1: its mixtures, 0: its dense models */
    int runs;      /* runs that have a figure */
    double weight; /* weight of these runs together, in runs */
    double inside; /* share of the weight within the band */
    double pct;    /* mean size of the band: for time `pct`, for memory half the way from low to high */
    int hybrid;    /* 1: its hybrid models, which count in neither of the others */
};
struct ss_coverage {
    int n;
    struct ss_coverage_source *sources;
    double by_source; /* mean of `inside`, one vote a source */
    double by_run;    /* share of the weight of all runs that is within the band */
    double weight;    /* of all runs */
};
/* Compares each run of the table with the band of its job without the run's source; largest: 1 compares runs of more GPUs than the smaller
 * two thirds of their source's runs have with bands that these two thirds make. memory: 1 for bands of memory, 0 of time. The caller frees *out with ss_coverage_free. Error: SS_ERR_NOMEM. */
int ss_bands_coverage(const struct ss_bands *bands, int memory, int largest, struct ss_coverage *out,
                      struct ss_error *err);
/* Frees what a coverage holds. */
void ss_coverage_free(struct ss_coverage *coverage);

SS_C_END
