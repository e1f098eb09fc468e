/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of load.c: what tokens choose (load_kinds.c), the largest of many counts (load_law.c), where the choices of a token
 * meet (load_reach.c), what ranks get over all passes (load_ranks.c). */
#ifndef SS_COST_LOAD_INTERNAL_H
#define SS_COST_LOAD_INTERNAL_H

#include "stepsim/load.h"

/* Passes of a layer in which tokens choose alike. Tokens are of one kind or of two. */
#define SS_LOAD_TYPES 2
struct ss_load_phase {
    double weight; /* share of the passes */
    int types;
    double share[SS_LOAD_TYPES]; /* of the tokens */
    double *p
        [SS_LOAD_TYPES]; /* [experts]: probability that a token chooses the expert, top_k in sum; the caller's memory */
    int even;            /* 1: every expert gets its share exactly, whatever a token chooses */
    int repeated; /* 1: every source draws the same choices, 0: its own */
    int in_turn;  /* 1: a token chooses the top_k experts behind those of the token before it */
};
/* Number of phases, or SS_ERR_INPUT. */
int ss_load_phases(const struct ss_load_input *in, struct ss_error *err);
/* Fills phase i in; p point to `experts` numbers each. */
int ss_load_phase(const struct ss_load_input *in, int i, struct ss_load_phase *out, struct ss_error *err);

/* Most tokens that one of the sources routes, over their mean. */
double ss_load_source(const struct ss_load_input *in);

/* Shares of n blocks of experts over all passes (load_ranks.c). */
struct ss_load_profile {
    int n;
    double *share; /* [n]: of the pass with most skew, over its mean; the caller's memory, NULL: not wanted */
    double skew;   /* the largest of them */
    double most, mean; /* sums over passes: weight times largest, weight times mean */
};
/* Adds a pass of these shares. */
void ss_load_profile_add(struct ss_load_profile *p, const double *share, double weight);
/* When all passes are added: share becomes what struct ss_load_ranks says, `mean` on average. */
void ss_load_profile_end(struct ss_load_profile *p, double mean);
/* Tokens that each of n ranks routes, of which one routes `most` times the mean. */
void ss_load_sources(double most, int n, double *out);

/* A count of many independent choices: mean, variance and third central moment, of the choices before their sum is known. */
struct ss_load_count {
    double mean, variance, third;
};
/* A count as its law is computed. `same`: so many of them. */
struct ss_load_bell {
    double mean, sigma, skew;
    int same;
};
/* Law of the largest of several counts: P(largest <= low + i step) = at[i]. */
#define SS_LOAD_POINTS 64
struct ss_load_law {
    double mean, low, step, at[SS_LOAD_POINTS];
};
/* Of counts whose sum is fixed: `spread` is the variance that it would have were it not. No count is above `most`, which may be
 * INFINITY. sign 1, or -1: of their negatives, so that -mean is the mean of the smallest. bells[n]: memory to work in. */
void ss_load_law_init(struct ss_load_law *law, const struct ss_load_count *counts, int n, double spread,
                      double most, int sign, struct ss_load_bell *bells);
/* P(largest <= x). */
double ss_load_law_at(const struct ss_load_law *law, double x);

/* Adds scale times the probability that a token has an expert in the block to touch[block], of `blocks` equal blocks of experts.
 * p[experts]: probability that a token chooses the expert, top_k in sum. 0 or SS_ERR_NOMEM. */
int ss_load_reach(const struct ss_load_input *in, const double *p, int blocks, double scale, double *touch);
/* Number of blocks in which a token has an expert where token t chooses the top_k experts behind t top_k, round and round. */
double ss_load_reach_in_turn(const struct ss_load_input *in, int blocks);

#endif
