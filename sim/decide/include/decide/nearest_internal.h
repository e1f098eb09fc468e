/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the nearest layout share. */
#pragma once

#include "decide/search_internal.h"
#include "stepsim/nearest.h"

struct ss_near {
    const struct ss_nearest_options *options;
    struct ss_nearest *out;
    struct ss_request base; /* the job's words without its layout */
    struct ss_asked own;    /* what the job asks for */
    int chunks;             /* its virtual stages; where it gives their layers instead, 2 */
    struct ss_run_options run;
    struct ss_find_options find;
    struct ss_sweep vary;
    struct ss_find_space space;
    struct ss_request close; /* words of the nearest layout that is near the limit; empty: none */
    struct ss_summary close_summary;
    int least;     /* GPUs that hold the model's states at least; 0: not known yet */
    int refused;   /* 1: what refuses the layouts has nothing to do with the number of nodes */
    int rebatched; /* times that the batch has changed for the GPUs to divide it */
};

/* ---- nearest_walk.c ---- */
/* Copies the first of some words to name[64]. Returns what is behind it; NULL: there was none. */
const char *ss_near_next_flag(const char *words, char *name);
/* Sets a flag in the words that are looked with. */
int ss_near_put(struct ss_near *x, const char *flag, int value, struct ss_error *err);
/* Leaves a flag of the job out. A job without bf16 trains in fp16, not in fp32. */
int ss_near_leave_out(struct ss_near *x, const char *flag, struct ss_error *err);
/* Finds the legal layouts, with as little changed beside them as need be: x->space, or x->refused. */
int ss_near_open_space(struct ss_near *x, struct ss_error *err);

/* ---- nearest_walk.c ---- */
/* Predicts a job as `stepsim run` does. A refusal is an outcome, whose reason gets x->out->why. */
int ss_near_predict(struct ss_near *x, const struct ss_request *r, struct ss_summary *out,
                    struct ss_error *err);
/* Tries the legal layouts of x->space, nearest first, until one surely fits. */
int ss_near_walk(struct ss_near *x, struct ss_error *err);
/* Returns 1 if the states of the model alone need more GPUs than the cluster of the space has. */
int ss_near_is_too_small(const struct ss_near *x);
