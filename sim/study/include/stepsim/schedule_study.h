/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules beside each other, on integers or on a cluster, and the search for a better one. */
#ifndef STEPSIM_SCHEDULE_STUDY_H
#define STEPSIM_SCHEDULE_STUDY_H

#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/pictures.h"
#include "stepsim/scenario.h"
#include "stepsim/schedule.h"
#include "stepsim/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who is told how far a study is: `tell` gets the share that is done, 0 to 1, now and then. NULL: nobody. */
struct ss_study_progress {
    void (*tell)(void *ctx, double share);
    void *ctx;
};

/* ---- compare ---- */
struct ss_compare_row {
    char name[256];
    /* of integers only iteration_s, in the unit of the times, and bubble_fraction, of the rank that idles
     * most */
    struct ss_summary summary;
    int chunks, stages;
    double inner_bubble; /* of integers: worst idle time of a rank between its first start and its last end */
    int64_t sends;       /* messages between ranks in one iteration of one pipeline */
    int in_flight;       /* most (chunk, microbatch) pairs of a rank */
    /* [stages]: of integers, peak in microbatches of a whole stage; on a cluster, bytes */
    double *activation;
    struct ss_schedule_strip *strip; /* for a picture; NULL where none was asked for or the row is refused */
};
struct ss_comparison {
    int n, cluster;
    struct ss_compare_row *rows;
};
/* Compares schedules, names or files (NULL or n = 0: all known ones), with free communication; times: F, I, W of a whole stage,
 * which its chunks share. `draw` 1: a picture will be drawn; `progress` may be NULL. The caller frees *out with ss_comparison_free. Errors:
 * SS_ERR_USAGE (params or times NULL), SS_ERR_INPUT, SS_ERR_IO (files), SS_ERR_UNSUPPORTED (more slots than fit a GiB a schedule). */
int ss_compare_integers(const char *const *names, int n, const struct ss_schedule_params *params,
                        const double times[3], int draw, const struct ss_study_progress *progress,
                        struct ss_comparison **out, struct ss_error *err);
/* Predicts the job of a scenario under each schedule; `names`, `n`, `draw` and `progress` are as for ss_compare_integers. A schedule that refuses the
 * job is a row. The caller frees *out with ss_comparison_free. */
int ss_compare_job(const char *const *names, int n, const struct ss_scenario *s, int engine, int draw,
                   const struct ss_study_progress *progress, struct ss_comparison **out,
                   struct ss_error *err);
/* Judges the rows of a job as if the card had `bytes` of memory: what needs more on a rank is too large. More than the card's
 * memory changes nothing. */
void ss_comparison_limit(struct ss_comparison *c, double bytes);
/* Frees a comparison. NULL is allowed. */
void ss_comparison_free(struct ss_comparison *c);
/* Writes a comparison as a table, or as JSON. Error: SS_ERR_IO. */
int ss_comparison_write(const struct ss_comparison *c, int json, FILE *out, struct ss_error *err);

/* Draws the schedules of a comparison that was made with `draw`, one below the other on one time axis, as an SVG. Error: SS_ERR_IO,
 * SS_ERR_NOMEM. */
int ss_comparison_svg(const struct ss_comparison *c, FILE *out, struct ss_error *err);

/* ---- search ---- */
/*
 * List scheduling with a few integers for each rank (how many forwards may run ahead, how many W may be owed,
 * what goes first), and a local search over these integers: one or all ranks are changed at a time,
 * what is not worse stays. The start are the known schedules. Deterministic for a seed.
 */
struct ss_search {
    int stages, chunks, microbatches;
    int v_shape; /* chunks on a V; else virtual stage = chunk * stages + rank */
    int split;   /* W may be moved */
    int barrier; /* minimise the makespan; 0: the longest rank from first start to last end */
    /* [rank * chunks + chunk]: seconds, and memory from F to I (all of it) and from I to W */
    double *f, *i, *w, *activation, *weight;
    double *cap; /* [rank]: same unit as activation */
    /* Of a job (0 or NULL without one): what `run` calls a rank's memory is fixed + growth x (activations at their peak +
     * extra), in bytes. */
    double *fixed, *extra; /* [rank] */
    double growth, limit;  /* limit: what a rank may have, the card's memory or less */
    uint64_t seed;
    int steps; /* tries; 0: as many as take about a second */
    struct ss_study_progress progress;
};
struct ss_search_result {
    struct ss_schedule *schedule;
    double length, lower_bound; /* s */
    char known[32];             /* best known schedule under the cap, "" = none fits */
    double known_length;
    /* shortest known schedule of another placement under the cap that is shorter than `length`, "": none, or not asked for */
    char other[32];
    double other_length;
    int other_chunks, other_v;
    int tried;
    double *peak; /* [rank] */
    int stages;
};
/* Returns a search with room for stages x chunks, all zero but the caps, which are unlimited; NULL: out of memory. The caller
 * fills it and frees it with ss_search_free. */
struct ss_search *ss_search_new(int stages, int chunks, int microbatches);
/* Frees a search. NULL is allowed. */
void ss_search_free(struct ss_search *q);
/* Makes a search of a job's stages: their times and memory, and as cap what the card leaves beside static memory. The caller
 * frees *out with ss_search_free. */
int ss_search_from_job(const struct ss_scenario *s, int v_shape, struct ss_search **out,
                       struct ss_error *err);
/* Limits a search of a job to `bytes` a rank, as `run` counts its memory. More than the card's memory changes nothing. Error:
 * SS_ERR_CONFIG (too little for one microbatch, whatever the order). */
int ss_search_limit(struct ss_search *q, double bytes, struct ss_error *err);
/* Returns the memory, in bytes, of a rank of a job whose activations have this peak. */
double ss_search_device(const struct ss_search *q, int rank, double peak);
/* Runs a search; the caller frees *out with ss_search_result_free. Errors: SS_ERR_CONFIG (no order was found that stays under the
 * cap), SS_ERR_UNSUPPORTED (the fewest tries would take a GiB, or about an hour), SS_ERR_USAGE. */
int ss_search_run(const struct ss_search *q, struct ss_search_result **out, struct ss_error *err);
/* Fills in `other` of what ss_search_run found for `q`, which ss_search_from_job made of the job: one chunk a rank, two, and two on a V. A
 * placement that the framework refuses is left out. Errors: those of ss_run_scenario. */
int ss_search_other(const struct ss_scenario *s, const struct ss_search *q, struct ss_search_result *r,
                    struct ss_error *err);
/* Frees the result of a search. NULL is allowed. */
void ss_search_result_free(struct ss_search_result *r);
/* Writes what was found as text, or as JSON. Error: SS_ERR_IO. */
int ss_search_write(const struct ss_search *q, const struct ss_search_result *r, int json, FILE *out,
                    struct ss_error *err);

/* ---- search over layouts ---- */
/* One number of pipeline ranks and one placement of a job. */
struct ss_search_layout {
    int stages, chunks, v_shape;
    struct ss_schedule *schedule; /* best order found under the cap; NULL: refused, see the summary */
    double length, lower_bound;   /* s: as of a search, without communication */
    char known[32];               /* best known schedule under the cap, "" = none fits */
    double known_length;
    double activation; /* of the stage with most: bytes, of a shape in the unit of its memory */
    struct ss_summary
        summary; /* of its replay on the cluster, of a shape length and bubble alone; refused: the reason */
    struct ss_schedule_strip *strip; /* for a picture, or NULL */
};
struct ss_search_layouts {
    int n,
        best; /* row with the most tokens a second, of a shape the shortest, of those that fit, -1: none does */
    int cluster; /* 1: of a job */
    struct ss_search_layout *rows;
};
struct ss_layout_options {
    double cap;                   /* bytes a rank, as ss_search_limit; infinite: the card's */
    int whole, no_barrier, steps; /* steps: tries of each layout; 0: a part of what a single search takes */
    uint64_t seed;
    int draw;                     /* 1: a picture will be drawn */
    const struct ss_bands *bands; /* of the summaries; NULL: none */
    struct ss_study_progress progress;
};
/* Searches the best order of a job for each number of pipeline ranks that divides the GPUs of a replica's tensor and context
 * groups (of a job with stages of its own their number), on one chunk a rank, two, and two on a V, and replays each on the
 * cluster. `o` may be NULL: no cap. The caller frees *out with ss_search_layouts_free. */
int ss_search_layouts_run(const struct ss_scenario *s, const struct ss_layout_options *o,
                          struct ss_search_layouts **out, struct ss_error *err);
/* The same without a cluster: `whole` is a search of one chunk a rank, with the times and memory of whole stages, which two chunks
 * share by halves. Of the options split, barrier and cap are those of `whole`. */
int ss_search_layouts_of_shape(const struct ss_search *whole, const struct ss_layout_options *o,
                               struct ss_search_layouts **out, struct ss_error *err);
/* Frees the result of a search over layouts. NULL is allowed. */
void ss_search_layouts_free(struct ss_search_layouts *l);
/* Writes what was found as a table, or as JSON. Error: SS_ERR_IO. */
int ss_search_layouts_write(const struct ss_search_layouts *l, int json, FILE *out, struct ss_error *err);
/* Draws the orders of a search that was made with `draw`, one below the other on one time axis, as an SVG. Error: SS_ERR_IO. */
int ss_search_layouts_svg(const struct ss_search_layouts *l, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
