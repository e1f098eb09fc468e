/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legal layout that is nearest to a job's own, for a job that is refused or does not fit.
 *
 *     ss_nearest_find(&request, &options, &near, &err);
 *     near.found                                      1: near.request are its words
 *     ss_nearest_free(&near);
 */
#pragma once

#include "stepsim/result.h"

SS_C_BEGIN

struct ss_nearest_options {
    const struct ss_scenario_options *how; /* asker and files; may be NULL */
    const struct ss_run_options
        *run; /* engine and bands of every prediction; NULL: native, installed bands */
};

struct ss_nearest {
    int found; /* 0: no number of nodes up to SS_NEAREST_GPUS GPUs holds the job */
    int asked_nodes,
        nodes; /* the job's own number of nodes; the smallest of it and its doubles that holds the job */
    struct ss_request request; /* words of the layout */
    struct ss_summary summary; /* its prediction, which fits or, where none surely does, is near the limit */
    struct ss_notes
        left_out;        /* flags of the job that would be refused with every layout: "--moe-grouped-gemm" */
    struct ss_error why; /* what refused the last layouts; code 0: memory alone */
    int tried;           /* layouts that were predicted */
};

#define SS_NEAREST_GPUS 16384

/*
 * Finds it among the layouts that a search has (stepsim/search.h). The distance of two layouts is the sum of the doublings between their
 * degrees of tensor, context, pipeline and expert parallelism; one of virtual stages or of the micro batch counts half. A job that fits is its
 * own nearest one. Tried in this order, until something fits: layouts by their distance; the same with full recompute; the same on twice the
 * nodes. Where nothing does, the job gives up a schedule, formats of 8 and 4 bits, bf16, its stack, a batch of fewer sequences than 64 nodes have
 * GPUs, or whole parameters (--fsdp full). Flags that every layout is refused for are left out, and a batch that no layout divides becomes the
 * nearest one that some layout does. Only the request decides what is found. The caller ends *out with ss_nearest_free, unless the call
 * fails. Errors: those of ss_scenario_build that are no refusal (a typo, no such file), and of ss_predict.
 */
int ss_nearest_find(const struct ss_request *base, const struct ss_nearest_options *options,
                    struct ss_nearest *out, struct ss_error *err);
/* Finds the fastest layout that surely fits on the nodes of the nearest one, by a search over layouts and recompute; where none surely fits, it
 * is the nearest one. Context parallelism goes up to 16 and the micro batch up to 4, or what the job has. */
int ss_nearest_fastest(const struct ss_request *base, const struct ss_nearest_options *options,
                       struct ss_nearest *out, struct ss_error *err);
/* Frees what was found. */
void ss_nearest_free(struct ss_nearest *n);
/* Writes the words, the verdict and what was left out as JSON. Error: SS_ERR_IO. */
int ss_nearest_write(const struct ss_nearest *n, FILE *out, struct ss_error *err);

SS_C_END
