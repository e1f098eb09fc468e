/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of load.c: what tokens choose (load_kinds.c), where the choices meet (load_reach.c). */
#ifndef SS_COST_LOAD_INTERNAL_H
#define SS_COST_LOAD_INTERNAL_H

#include "cost/load.h"

/* Expected number of blocks in which a token has an expert, of `blocks` equal blocks of experts. p[experts]: probability that
 * a token chooses the expert, top_k in sum. 0 or SS_ERR_NOMEM. */
int ss_load_reach(const struct ss_load_input *in, const double *p, int blocks, double *out);
/* Likewise where token t chooses the top_k experts behind t top_k, round and round. */
double ss_load_reach_in_turn(const struct ss_load_input *in, int blocks);

#endif
