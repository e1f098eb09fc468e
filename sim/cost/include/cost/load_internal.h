/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of load.c: what tokens choose (load_kinds.c), the largest of many counts (load_law.c), where the choices of a token
 * meet (load_reach.c), what ranks get over all passes (load_ranks.c). */
#pragma once

#include "stepsim/load.h"

/* A phase: passes of a layer in which tokens choose alike. Tokens are of one type or of two. */
#define SS_LOAD_TYPES 2
struct ss_load_phase {
    double weight; /* share of the passes */
    int types;
    double share[SS_LOAD_TYPES]; /* share of the tokens that are of each type */
    /* [experts]: probability that a token of the type chooses the expert, sum top_k; the caller's memory */
    double *p[SS_LOAD_TYPES];
    int even;     /* 1: every expert gets its exact share, whatever single tokens choose */
    int repeated; /* 1: every source draws the same choices; 0: each source draws its own */
    int in_turn;  /* 1: a token chooses the top_k experts behind those of the previous token */
};
/* Returns the number of phases, or SS_ERR_INPUT. */
int ss_load_phases(const struct ss_load_input *in, struct ss_error *err);
/* Fills phase i; each p points to `experts` numbers. */
int ss_load_phase(const struct ss_load_input *in, int i, struct ss_load_phase *out, struct ss_error *err);

/* Returns the most tokens that one source routes, over the mean. */
double ss_load_source(const struct ss_load_input *in);

/* Profile: shares of n blocks of experts over all passes (load_ranks.c). */
struct ss_load_profile {
    int n;
    /* [n]: shares in the pass with most skew, over their mean; the caller's memory, NULL: not wanted */
    double *share;
    double skew;       /* the largest of `share` */
    double most, mean; /* sums over passes: weight times largest share, weight times mean share */
};
/* Adds a pass with these shares. */
void ss_load_profile_add(struct ss_load_profile *p, const double *share, double weight);
/* Ends a profile after its last pass: `share` then is what struct ss_load_ranks says, with `mean` on
 * average. */
void ss_load_profile_end(struct ss_load_profile *p, double mean);
/* Fills out[n] with the tokens that each rank routes; one rank routes `most` times the mean. */
void ss_load_sources(double most, int n, double *out);

/* A count of many independent choices: mean, variance and third central moment. The choices vary freely,
 * before their sum is fixed. */
struct ss_load_count {
    double mean, variance, third;
};
/* A count in the form in which its law is computed. `same`: number of equal counts. */
struct ss_load_bell {
    double mean, sigma, skew;
    int same;
};
/* The law of the largest of several counts: P(largest <= low + i step) = at[i]. */
#define SS_LOAD_POINTS 64
struct ss_load_law {
    double mean, low, step, at[SS_LOAD_POINTS];
};
/* Makes the law of counts whose sum is fixed; `spread` is the variance that the sum would have if it were
 * free. No count exceeds `most`, which may be INFINITY. sign -1: of the negative counts, so that -mean is the
 * mean of the smallest count; else 1. bells[n]: memory to work in. */
void ss_load_law_init(struct ss_load_law *law, const struct ss_load_count *counts, int n, double spread,
                      double most, int sign, struct ss_load_bell *bells);
/* Returns P(largest <= x). */
double ss_load_law_at(const struct ss_load_law *law, double x);

/* Adds to touch[block], for each of `blocks` equal blocks of experts, `scale` times the probability that a
 * token has an expert there. p[experts]: probability that a token chooses the expert, sum top_k. Returns 0 or
 * SS_ERR_NOMEM. */
int ss_load_reach(const struct ss_load_input *in, const double *p, int blocks, double scale, double *touch);
/* Returns in how many blocks a token has experts where token t chooses the top_k experts behind t top_k,
 * round and round. */
double ss_load_reach_in_turn(const struct ss_load_input *in, int blocks);

struct ss_cache;
/* Does what ss_load_by_rank does, and keeps the answer in a cache, which may be NULL; loads of a file are computed each time. */
int ss_load_by_rank_kept(struct ss_cache *cache, const struct ss_load_input *in, struct ss_load_figures *out,
                         struct ss_load_ranks *ranks, struct ss_error *err);
