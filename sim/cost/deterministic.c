/* SPDX-License-Identifier: Apache-2.0 */
/* The deterministic backward of attention: FlashAttention 2's by its sources (csrc/flash_attn), cuDNN's by cudnn-frontend's. */
#include <math.h>

#include "cost/cost.h"
#include "cost/kernel.h"
#include "stepsim/job_kinds.h"

double ss_deterministic_splits(const struct ss_cost_context *c, const struct ss_op_attention *a)
{
    if (!c->shape.deterministic || a->kernel != SS_ATTENTION_FLASH || c->stack->flash_deterministic > 0)
        return 0;
    return ceil(c->card->sm_count / (a->tokens * a->heads / a->queries));
}

/* A block takes every p-th of the n tiles of keys of its head; under the causal mask the first block has the longest tiles. Blocks that
 * do not fit the SMs wait for a whole block. */
double ss_deterministic_fill(const struct ss_cost_context *c, const struct ss_op_attention *a)
{
    double p = ss_deterministic_splits(c, a), blocks = p * a->tokens * a->heads / a->queries,
           sms = ss_cost_own_sms(c);
    double n = ceil(a->queries / SS_BACKWARD_TILE), most = ceil(n / p);
    double mean = n / p, longest = most;
    if (a->most_keys >= a->keys) /* tiles of n, n - 1, ... 1 squares */
        mean = n * (n + 1) / 2 / p, longest = most * n - p * most * (most - 1) / 2;
    return blocks / (ceil(blocks / sms) * sms) * mean / longest;
}

/* FlashAttention 2 adds the gradient of the queries to a zeroed part for each of the blocks that share a head, in
 * fp32, and sums the parts. FlashAttention 3 orders its additions. cuDNN on Hopper writes the gradient of the scores and multiplies it
 * afterwards; on Blackwell it orders its additions, which costs heads of more than 128 channels nothing. */
double ss_deterministic_seconds(const struct ss_cost_context *c, const struct ss_op_attention *a,
                                double *rate)
{
    const struct ss_stack *st = c->stack;
    int fused = a->kernel == SS_ATTENTION_FUSED;
    double own = fused ? st->fused_deterministic : st->flash_deterministic;
    *rate = 1;
    if (!c->shape.deterministic)
        return 0;
    if (own > 0) {
        *rate = fused && a->d > 128 ? 1 : own;
        return 0;
    }
    if (fused) /* causal half of the square, 16 bit written and read */
        return ss_cost_elementwise(c, 4 * a->tokens * a->keys / 2 * a->heads, 1);
    double part = 4 * a->tokens * a->heads * a->d;
    return ss_cost_elementwise(c, part * (ss_deterministic_splits(c, a) * (2 + c->shape.fills) - 2),
                               1 + c->shape.fills);
}
