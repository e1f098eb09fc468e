/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the tokens of a mixture of experts spread over experts, ranks and nodes (docs/reference/model.md has
 * the equations). The functions map numbers to numbers and know no job, plan or kernel. The same input gives
 * the same figures on every machine. Experts are dealt to the ranks of an expert-parallel group in blocks:
 * rank r holds experts r experts/ep up to (r + 1) experts/ep - 1. Ranks are dealt to nodes, and experts to
 * the groups of a group-limited router, in blocks, too.
 */
#pragma once

#include <stdint.h>

#include "stepsim/error.h"

SS_C_BEGIN

/* Most experts that one token may choose, and most draws of a bias. */
#define SS_LOAD_TOP_K_MAX 64
#define SS_LOAD_DRAWS_MAX 256

struct ss_load_input {
    int kind; /* enum ss_moe_load (stepsim/job.h) */
    /* zipf: exponent >= 0, 0 is even; biased: standard deviation of the bias, where the logits have 1 */
    double exponent;
    const char *workload; /* SS_LOAD_WORKLOAD: a name of SS_MOE_WORKLOAD_LIST */
    /* SS_LOAD_FILE: [layer][expert] loads >= 0 in any unit, at least one > 0 in each layer; borrowed */
    const double *loads;
    int layers; /* rows of loads */
    int layer;  /* row of loads; -1: all rows, each for an equal share of the passes */
    int experts, top_k;
    int groups, group_topk; /* a token chooses experts of at most group_topk of the groups; 0: no limit */
    int ep;                 /* ranks that the experts are dealt to; divides experts */
    int nodes;              /* nodes that the ranks are dealt to; 1: all ranks on one node */
    double tokens; /* tokens that the whole EP group routes in one pass of a layer (one microbatch) */
    /* ranks that each route an equal share of the tokens, with a capacity of their own: ep x etp; 0: ep */
    int sources;
    /* an expert takes at most ceil(capacity_factor x even share) copies of each source and drops the rest; 0:
     * drops none */
    double capacity_factor;
    int pad_to_capacity; /* 1: an expert computes its full capacity whatever it got; needs a capacity */
    uint64_t seed;       /* seed of SS_LOAD_BIASED */
    int draws;           /* number of biases that SS_LOAD_BIASED averages over; 0: 8 */
};

/* Mean and percentiles of a figure that varies over the passes of a layer. */
struct ss_load_spread {
    double mean, p50, p90, p99;
};

/* A token has one copy for each of its top_k experts. The even share of copies is tokens top_k / ep for a
 * rank, tokens top_k / experts for an expert. */
struct ss_load_figures {
    /* Copies that the hottest rank (expert) computes, padding included, over the even share: >= 1 where
     * nothing is dropped. A pass takes as long as its hottest rank. */
    struct ss_load_spread rank, expert;
    double coldest_rank;  /* mean of the coldest rank's copies over the even share; <= rank.mean */
    double dropped;       /* share of the copies that the capacity makes the experts drop, 0..1 */
    double expert_copies; /* copies that an expert computes, padding included, mean over experts */
    /* Expected number of distinct nodes and ranks that a token is sent to; the `remote` figures leave out the
     * token's own node or rank. Dropped copies are counted here. */
    double nodes, remote_nodes, ranks, remote_ranks;
    /* Distinct tokens that the hottest rank (node) gets, over the tokens that a rank (node) routes. Equals
     * `ranks` (`nodes`) where all are alike. */
    double hottest_rank_tokens, hottest_node_tokens;
    double source; /* most tokens that one rank routes, over the mean: 1 except for W4_source_ragged */
};

/* Computes the figures. Errors: SS_ERR_INPUT where a number is out of its range or the workload has no such
 * name, SS_ERR_NOMEM. */
int ss_load_figures(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_error *err);

/*
 * What every rank sends and gets on average, without the scatter of draws. Where passes differ these are the
 * values of the pass with the most skew (its hottest rank over its mean). One factor then shrinks all their
 * differences until the hottest rank has the average over all passes. Values that differ by rounding are made
 * equal. The arrays are the caller's.
 */
struct ss_load_ranks {
    double *copies;      /* [ep]: copies that a rank computes, over the mean; 1 on average */
    double *tokens;      /* [ep]: share of all tokens that a rank gets, each token once; the sum is `ranks` */
    double *node_tokens; /* [nodes]: likewise of a node; the sum is `nodes` */
    /* [ep]: tokens that a rank routes, over the mean; 1 on average, the largest is `source` */
    double *sources;
};
/* Does what ss_load_figures does, and fills the arrays. */
int ss_load_by_rank(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_load_ranks *ranks,
                    struct ss_error *err);

SS_C_END
