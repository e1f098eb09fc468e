/* SPDX-License-Identifier: Apache-2.0 */
/* How fast attention of one shape runs on a card. */
#include <math.h>

#include "cost/cost.h"

/* Returns how full the attention calls keep the card; each call takes a row with all its documents.
 * All-to-all gives each rank whole rows of fewer heads. A ring gives it a part of each row: queries see their
 * own chunk in the first step; in the other steps all queries see half of the keys, or half of the queries
 * see all keys. Gathered keys are seen by the two halves of a rank's queries in two calls, with about as many
 * keys for each query. */
static double attention_fill(const struct ss_cost_context *c, const struct ss_op_attention *a, int backward)
{
    double sms = ss_cost_own_sms(c), ranks = c->shape.cp;
    int whole = backward && a->keys_backward > a->keys;
    struct ss_attention_call own = {.heads = a->tokens * a->heads / a->queries,
                                    .queries = a->queries,
                                    .spread = whole ? 2 : 2 * a->most_keys / a->keys,
                                    .backward = backward};
    struct ss_attention_call all = own, half;
    double first = ss_kernel_attention_fill(c->card, &own, sms);
    if (ranks <= 1 || a->context.coll == SS_COLL_ALL_TO_ALL)
        return first;
    all.spread = 1;
    half = all;
    half.queries /= 2;
    double of_half = ss_kernel_attention_fill(c->card, &half, sms);
    if (a->context.coll != SS_COLL_RING_STEP)
        return of_half;
    if (!backward) /* two streams: the next step fills the SMs that idle, except in the last step */
        return ranks / (ranks - 1 + 1 / of_half);
    double others = (1 / ss_kernel_attention_fill(c->card, &all, sms) + 1 / of_half) / 2;
    return ranks / (1 / first + (ranks - 1) * others);
}

double ss_cost_attention_rate(const struct ss_cost_context *c, const struct ss_op_attention *a, double share,
                              int backward)
{
    int split = backward && ss_deterministic_splits(c, a) > 0;
    double keys = backward ? a->keys_backward : a->keys;
    double half_d = a->fp8 ? c->stack->mxfp8_half_dim : c->stack->attention_half_dim;
    double rate = ss_kernel_attention_rate(c->card, c->stack, c->shape.storage_precision, share, half_d,
                                           fmin(a->document, keys), a->d, a->d_v);
    double fill = split ? ss_deterministic_fill(c, a) : attention_fill(c, a, backward);
    return rate * fill * (ss_cost_own_sms(c) / c->card->sm_count);
}

double ss_cost_cp_exposed(const struct ss_cost_context *c, const struct ss_op_attention *a,
                          double attention_s, int backward)
{
    if (c->cp.n <= 1)
        return 0;
    double step = ss_cost_cp_step(c, &a->context, backward).seconds;
    if (a->context.coll != SS_COLL_RING_STEP)
        return step;
    return (c->cp.n - 1) * fmax(step - c->stack->cp_overlap * attention_s * (1 + c->slower) / c->cp.n,
                                (1 - c->stack->cp_overlap) * step);
}

/* Returns the bytes that n steps of Transformer Engine's ring move beside attention. The causal order halves
 * the queries or keys of all steps but the first: the average rank does (3n + 1)/4 full steps. Forward: the
 * output is set to zero and takes the part of each step (two reads, one write); halves of Q, K and V are
 * copied. Backward: gradients are copied in the first step and added in the others; halves of Q, of the
 * output and of its gradient are copied. */
double ss_cost_cp_correction(const struct ss_cost_context *c, const struct ss_op_attention *a, int backward)
{
    double n = c->cp.n, steps = (3 * n + 1) / 4, halves = (n - 1) / 2;
    if (n <= 1 || a->context.coll != SS_COLL_RING_STEP)
        return 0;
    double queries = a->tokens * a->heads * a->d_v * c->shape.e,
           keys = a->tokens * a->groups * (a->d + a->d_v) * c->shape.e;
    double bytes = backward ? (queries + keys) * (2 + 3 * (steps - 1)) + 3 * queries * halves
                            : queries * (1 + 3 * steps + halves) + keys * (2 + halves);
    return ss_cost_elementwise(c, bytes, (backward ? 6 : 3) * (c->cp.n - 1));
}
