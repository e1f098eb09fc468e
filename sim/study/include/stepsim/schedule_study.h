/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules beside each other, on integers or on a cluster, and the search for a better one. */
#ifndef STEPSIM_SCHEDULE_STUDY_H
#define STEPSIM_SCHEDULE_STUDY_H

#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/scenario.h"
#include "stepsim/schedule.h"
#include "stepsim/summary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- compare ---- */
struct ss_compare_row {
    char name[256];
    struct ss_summary
        summary; /* of integers only iteration_s, in the unit of the times, and bubble_fraction, of the rank that idles most */
    int chunks, stages;
    double inner_bubble; /* of integers: worst idle time of a rank between its first start and its last end */
    int64_t sends;       /* messages between ranks in one iteration of one pipeline */
    int in_flight;       /* most (chunk, microbatch) pairs of a rank */
    double
        *activation; /* [stages]: of integers, peak in microbatches of a whole stage; on a cluster, bytes */
};
struct ss_comparison {
    int n, cluster;
    struct ss_compare_row *rows;
};
/* Names or files; NULL or n = 0: all known ones. times: F, I, W of a whole stage (chunks share them). */
int ss_compare_integers(const char *const *names, int n, const struct ss_schedule_params *params,
                        const double times[3], struct ss_comparison **out, struct ss_error *err);
int ss_compare_job(const char *const *names, int n, const struct ss_scenario *s, int engine,
                   struct ss_comparison **out, struct ss_error *err);
/* Of a job: what needs more than `bytes` on a rank is too large, as if the card had no more. Above the card's memory it changes
 * nothing. */
void ss_comparison_limit(struct ss_comparison *c, double bytes);
void ss_comparison_free(struct ss_comparison *c);
int ss_comparison_write(const struct ss_comparison *c, int json, FILE *out, struct ss_error *err);

/* ---- search ---- */
/*
 * List scheduling with a few integers for each rank (how many forwards may run ahead, how many W may be owed,
 * what goes first), and a local search over these integers: one or all ranks are changed at a time,
 * what is not worse stays. The start are the known schedules. Deterministic for a seed.
 */
struct ss_search {
    int stages, chunks, microbatches;
    int v_shape;  /* chunks on a V; else virtual stage = chunk * stages + rank */
    int split;    /* W may be moved */
    int barrier;  /* minimise the makespan; 0: the longest rank from first start to last end */
    /* [rank * chunks + chunk]: seconds, and memory from F to I (all of it) and from I to W */
    double *f, *i, *w, *activation, *weight;
    double *cap;  /* [rank]: same unit as activation */
    /* Of a job (0 or NULL without one): what `run` calls a rank's memory is fixed + growth x (activations at their peak +
     * extra), in bytes. */
    double *fixed, *extra; /* [rank] */
    double growth, limit;  /* limit: what a rank may have, the card's memory or less */
    uint64_t seed;
    int steps;    /* tries; 0: as many as take about a second */
};
struct ss_search_result {
    struct ss_schedule *schedule;
    double length, lower_bound; /* s */
    char known[32];             /* best known schedule under the cap, "" = none fits */
    double known_length;
    int tried;
    double *peak;               /* [rank] */
    int stages;
};
/* Room for stages x chunks, all zero but cap (unlimited); NULL when out of memory. */
struct ss_search *ss_search_new(int stages, int chunks, int microbatches);
void ss_search_free(struct ss_search *q);
/* Times and memory of a job's stages; the cap is what the card leaves beside static memory. */
int ss_search_from_job(const struct ss_scenario *s, int v_shape, struct ss_search **out, struct ss_error *err);
/* A search of a job: no rank may have more than `bytes`, as `run` counts its memory. SS_ERR_CONFIG where that is too little for
 * one microbatch, whatever the order. Above the card's memory it changes nothing. */
int ss_search_limit(struct ss_search *q, double bytes, struct ss_error *err);
/* Memory of a rank of a job whose activations have this peak, bytes. */
double ss_search_device(const struct ss_search *q, int rank, double peak);
/* SS_ERR_CONFIG when no order is found that stays under the cap. */
int ss_search_run(const struct ss_search *q, struct ss_search_result **out, struct ss_error *err);
void ss_search_result_free(struct ss_search_result *r);
int ss_search_write(const struct ss_search *q, const struct ss_search_result *r, int json, FILE *out,
                    struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
