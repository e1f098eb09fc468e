/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on one cluster at the same time: how much they slow each other down where they share links. All of them are replayed as one
 * program in which links of one name are one link, each job iteration after iteration; every rank is simulated, and collectives
 * are flows (level flow) unless another level is asked for, where those inside layers are closed forms that no other job slows.
 *
 * How long jobs wait for each other depends on when they meet. They are run from several starts, with the jobs behind the first
 * one beginning later by parts of the shortest iteration; the answer is the mean, and the range.
 */
#pragma once

#include "stepsim/scenario.h"
#include "stepsim/text.h"

SS_C_BEGIN

#define SS_SHARERS_MOST 16
struct ss_share_options {
    int engine; /* enum ss_engine */
    int level;  /* enum ss_level */
    int starts; /* 1 or more; 1: all begin together */
};
/* One of the jobs. Times are seconds of an iteration. */
struct ss_sharer {
    char name[256], nodes[256]; /* "0-3,8" */
    int gpus;
    double alone;               /* alone at the same place of the same cluster, at the same level */
    double beside, least, most; /* beside the others: mean, least and most of all starts */
    int iterations;             /* iterations that were measured, in the start that has the fewest */
};
/* A link that several jobs use. */
struct ss_shared_link {
    char name[64];
    double bandwidth; /* bytes/s */
    double use
        [SS_SHARERS_MOST]; /* share of the bandwidth that each job uses, averaged over its mean iteration beside the others, 0..1 */
};
struct ss_sharing {
    int n;
    struct ss_sharer sharer[SS_SHARERS_MOST];
    char platform[64];
    int nodes; /* nodes of the cluster */
    int engine, level, starts;
    int nlinks;                  /* links that several jobs use */
    struct ss_shared_link limit; /* the link among them that is used most; name "": there is none */
};
/*
 * Runs jobs alone and beside each other. All are on nodes of one cluster (--on-nodes, --cluster-nodes), no
 * two on one node; `names` has their names. `options` may be NULL: the native engine, level flow, 4 starts.
 * Errors: SS_ERR_CONFIG (less than two jobs, more than SS_SHARERS_MOST, a node of two jobs, clusters that
 * differ), SS_ERR_UNSUPPORTED (more events than a replay should have), and those of ss_run_scenario.
 */
int ss_share(const struct ss_scenario *const *jobs, const char *const *names, int n,
             const struct ss_share_options *options, struct ss_sharing *out, struct ss_error *err);
/* Writes the answer as text or as JSON. Error: SS_ERR_IO. */
int ss_sharing_write(const struct ss_sharing *x, const struct ss_display *view, FILE *out,
                     struct ss_error *err);

SS_C_END
