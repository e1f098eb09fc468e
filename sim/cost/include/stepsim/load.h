/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the tokens of a mixture of experts fall on experts, ranks and nodes (docs/reference/model.md has the equations). Numbers
 * in, numbers out: it knows no job, plan or kernel. The same input gives the same figures on every machine.
 *
 * Experts are dealt to the ranks of an expert-parallel group in blocks: rank r holds experts r experts/ep and those behind it.
 * Ranks are dealt to nodes, and experts to the groups of a group-limited router, likewise.
 */
#ifndef STEPSIM_LOAD_H
#define STEPSIM_LOAD_H

#include <stdint.h>

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Experts that one token may choose, and draws of a bias, at most. */
#define SS_LOAD_TOP_K_MAX 64
#define SS_LOAD_DRAWS_MAX 256

struct ss_load_input {
    int kind; /* enum ss_moe_load (stepsim/job.h) */
    double
        exponent; /* zipf: >= 0, 0 is even; biased: standard deviation of the bias, that of the logits is 1 */
    const char *workload; /* SS_LOAD_WORKLOAD: a name of SS_MOE_WORKLOAD_LIST */
    /* SS_LOAD_FILE: [layer][expert] loads >= 0 in any unit, at least one of a layer > 0; borrowed */
    const double *loads;
    int layers; /* rows of loads */
    int layer;  /* the row, -1: all of them, each as an equal share of the passes */
    int experts, top_k;
    int groups, group_topk; /* a token's experts are in at most group_topk of the groups; 0: not limited */
    int ep;                 /* ranks that the experts are dealt to; divides experts */
    int nodes;              /* that the ranks are dealt to, 1: all on one */
    double tokens;          /* that the whole EP group routes in one pass of a layer (a microbatch) */
    int sources; /* ranks that route a share of these tokens each, with a capacity each: ep x etp; 0 is ep */
    double
        capacity_factor; /* an expert takes ceil(it x even share) copies of each source, more are dropped; 0: dropless */
    int pad_to_capacity; /* and works on so many whatever it got; needs a capacity */
    uint64_t seed;       /* of SS_LOAD_BIASED */
    int draws;           /* biases over which SS_LOAD_BIASED averages, 0: 8 */
};

/* A random figure over passes of a layer: mean and percentiles. */
struct ss_load_spread {
    double mean, p50, p90, p99;
};

/* Copies: a token is copied to each of its top_k experts. The even share of a rank is tokens top_k / ep, of an expert
 * tokens top_k / experts. */
struct ss_load_figures {
    /* Copies that the hottest rank, and the hottest expert, works on over the even share, padding included: >= 1 where
     * nothing is dropped. A pass takes as long as its hottest rank. */
    struct ss_load_spread rank, expert;
    double coldest_rank;  /* mean of the coldest rank's copies, likewise; <= rank.mean */
    double dropped;       /* share of the copies that the capacity drops, 0..1 */
    double expert_copies; /* copies that an expert works on, mean over experts, padding included */
    /* Expected number of distinct nodes and ranks that a token is sent to, and of those that are not its own. What the
     * capacity drops is not taken off. */
    double nodes, remote_nodes, ranks, remote_ranks;
    /* Tokens that come to the hottest rank (node), each once, over the tokens that a rank (node) routes: `ranks` (`nodes`) where
     * all are alike. */
    double hottest_rank_tokens, hottest_node_tokens;
    double source; /* most tokens that one rank routes, over the mean: 1 but for W4_source_ragged */
};

/* Returns SS_ERR_INPUT where a number is out of its range or the workload has no such name, SS_ERR_NOMEM. */
int ss_load_figures(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_error *err);

/*
 * What every rank sends and gets on average, without the scatter of draws. Where passes differ it is that of the pass whose hottest
 * rank is hottest over its mean, with all differences made smaller by one factor, so that its hottest rank has what hottest ranks of
 * all passes have on average. Values that differ by rounding are equal. The arrays are the caller's.
 */
struct ss_load_ranks {
    double *copies;      /* [ep]: that a rank works on, over the mean of all; 1 on average */
    double *tokens;      /* [ep]: share of all tokens that come to a rank, each once; `ranks` in sum */
    double *node_tokens; /* [nodes]: to a node; `nodes` in sum */
    double
        *sources; /* [ep]: tokens that a rank routes, over their mean; 1 on average, `source` the largest */
};
/* The same, and fills the arrays. */
int ss_load_by_rank(const struct ss_load_input *in, struct ss_load_figures *out, struct ss_load_ranks *ranks,
                    struct ss_error *err);

#ifdef __cplusplus
}
#endif

#endif
