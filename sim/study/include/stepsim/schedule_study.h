/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules side by side, on integers or on a cluster, and the search for a better schedule. */
#pragma once

#include "stepsim/pictures.h"

SS_C_BEGIN

/* A listener for the progress of a study: `tell` gets the share that is done, 0 to 1, now and then. NULL:
 * nobody. */
struct ss_study_progress {
    void (*tell)(void *ctx, double share);
    void *ctx;
};

/* ---- compare ---- */
struct ss_compare_row {
    char name[256];
    /* on integers only iteration_s, in the unit of the times, and bubble_fraction, of the rank that idles
     * most */
    struct ss_summary summary;
    int chunks, stages;
    double inner_bubble; /* on integers: worst idle time of a rank between its first start and its last end */
    int64_t sends;       /* messages between ranks in one iteration of one pipeline */
    int in_flight;       /* most (chunk, microbatch) pairs of a rank */
    /* [stages]: on integers the peak in microbatches of a whole stage; on a cluster in bytes */
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
/* Judges the rows of a job as if the card had `bytes` of memory: a row that needs more on a rank is too
 * large. A limit above the card's memory changes nothing. */
void ss_comparison_limit(struct ss_comparison *c, double bytes);
/* Frees a comparison. NULL is allowed. */
void ss_comparison_free(struct ss_comparison *c);
/* Writes a comparison as a table, or as JSON. Error: SS_ERR_IO. */
int ss_comparison_write(const struct ss_comparison *c, const struct ss_display *view, FILE *out,
                        struct ss_error *err);

/* Draws the schedules of a comparison that was made with `draw`, one below the other on one time axis, as an SVG. Error: SS_ERR_IO,
 * SS_ERR_NOMEM. */
int ss_comparison_svg(const struct ss_comparison *c, double width, FILE *out, struct ss_error *err);

/* ---- search ---- */
/*
 * List scheduling with a few integers for each rank (how many forwards may run ahead, how many W may be owed,
 * what goes first), and a local search over these integers. Each try changes one rank or all ranks; a change
 * that is not worse stays. The search starts from the known schedules, and is deterministic for a seed.
 */
struct ss_search {
    int stages, chunks, microbatches;
    int v_shape; /* chunks on a V; else virtual stage = chunk * stages + rank */
    int split;   /* W may be moved */
    int barrier; /* minimise the makespan; 0: the longest rank from first start to last end */
    /* [rank * chunks + chunk]: seconds; memory kept from F to I (all of it) and from I to W */
    double *f, *i, *w, *activation, *weight;
    double *cap; /* [rank]: same unit as activation */
    /* For a search of a job (0 or NULL without one): the memory of a rank, as `run` counts it, is fixed +
     * growth x (peak of activations + extra), in bytes. */
    double *fixed, *extra; /* [rank] */
    double growth, limit;  /* limit: most memory of a rank, the card's or less */
    uint64_t seed;
    int steps; /* number of tries; 0: about a second's */
    struct ss_study_progress progress;
};
struct ss_search_result {
    struct ss_schedule *schedule;
    double length, lower_bound; /* s */
    char known[32];             /* best known schedule under the cap, "": none fits */
    double known_length;
    /* a known schedule of another placement that is under the cap and shorter than `length`: the shortest;
     * "": none, or not asked for */
    char other[32];
    double other_length;
    int other_chunks, other_v;
    int tried;
    double *peak; /* [rank] */
    int stages;
};
/* Returns a search with room for stages x chunks. All is zero except the caps, which are unlimited; NULL: out
 * of memory. The caller fills it and frees it with ss_search_free. */
struct ss_search *ss_search_new(int stages, int chunks, int microbatches);
/* Frees a search. NULL is allowed. */
void ss_search_free(struct ss_search *q);
/* Makes a search of a job's stages: their times and memory; the cap is what the card leaves beside static
 * memory. The caller frees *out with ss_search_free. */
int ss_search_from_job(const struct ss_scenario *s, int v_shape, struct ss_search **out,
                       struct ss_error *err);
/* Limits a search of a job to `bytes` a rank, as `run` counts memory. A limit above the card's memory changes
 * nothing. Error: SS_ERR_CONFIG (too little for one microbatch in any order). */
int ss_search_limit(struct ss_search *q, double bytes, struct ss_error *err);
/* Returns the memory, in bytes, of a rank of a job whose activations have this peak. */
double ss_search_device(const struct ss_search *q, int rank, double peak);
/* Runs a search; the caller frees *out with ss_search_result_free. Errors: SS_ERR_CONFIG (no order was found that stays under the
 * cap), SS_ERR_UNSUPPORTED (the fewest tries would take a GiB, or about an hour), SS_ERR_USAGE. */
int ss_search_run(const struct ss_search *q, struct ss_search_result **out, struct ss_error *err);
/* Fills in `other` of a result for `q`, which ss_search_from_job made of the job: one chunk a rank, two, and
 * two on a V. A placement that the framework refuses is left out. Errors: those of ss_run_scenario. */
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
    int found;                    /* 1: there is an order under the cap; 0: refused, see the summary */
    struct ss_schedule *schedule; /* the best one; NULL: refused, or found by another process */
    double length, lower_bound;   /* s, without communication, as in a search */
    char known[32];               /* best known schedule under the cap, "": none fits */
    double known_length;
    double activation; /* of the stage with most: bytes, or without a job the unit of its memory */
    /* of its replay on the cluster; without a job only length and bubble; where refused, the reason */
    struct ss_summary summary;
    struct ss_schedule_strip *strip; /* for a picture, or NULL */
};
struct ss_search_layouts {
    int n,
        best; /* the fitting row with the most tokens a second, without a job the shortest; -1: none fits */
    int cluster; /* 1: the search is of a job */
    struct ss_search_layout *rows;
};
struct ss_layout_options {
    double cap;                   /* bytes a rank, as ss_search_limit; infinite: the card's */
    int whole, no_barrier, steps; /* steps: tries of each layout; 0: a part of those of a single search */
    uint64_t seed;
    int draw;                     /* 1: a picture will be drawn */
    const struct ss_bands *bands; /* of the summaries; NULL: none */
    struct ss_study_progress progress;
    /* Share the layouts; of several workers the best row alone has its schedule. A picture takes one. No figure depends on them. */
    struct ss_workers workers;
};
/* Searches the best order of a job for each number of pipeline ranks that divides the GPUs of a replica's
 * tensor and context groups (a job with stages of its own keeps their number), on one chunk a rank, two, and
 * two on a V. It replays each on the cluster. `o` may be NULL: no cap. The caller frees *out with
 * ss_search_layouts_free. */
int ss_search_layouts_run(const struct ss_scenario *s, const struct ss_layout_options *o,
                          struct ss_search_layouts **out, struct ss_error *err);
/* Does so without a cluster. `whole` is a search with one chunk a rank, with the times and memory of whole
 * stages; two chunks have half of them each. split, barrier and cap are those of `whole`, not of the
 * options. */
int ss_search_layouts_of_shape(const struct ss_search *whole, const struct ss_layout_options *o,
                               struct ss_search_layouts **out, struct ss_error *err);
/* Frees the result of a search over layouts. NULL is allowed. */
void ss_search_layouts_free(struct ss_search_layouts *l);
/* Writes what was found as a table, or as JSON. Error: SS_ERR_IO. */
int ss_search_layouts_write(const struct ss_search_layouts *l, const struct ss_display *view, FILE *out,
                            struct ss_error *err);
/* Draws the orders of a search that was made with `draw`, one below the other on one time axis, as an SVG. Error: SS_ERR_IO. */
int ss_search_layouts_svg(const struct ss_search_layouts *l, double width, FILE *out, struct ss_error *err);

SS_C_END
