/* SPDX-License-Identifier: Apache-2.0 */
/* The small decoder with experts, whose operators the tests of layers of experts look at. */
#pragma once

#include <math.h>

#include "cost/experts.h"
#include "cost/rank_cost.h"
#include "small_job.h"

#define TOKENS 8192.0

/* Experts are the test's: experts_set. */
static inline void moe_make(struct setting *t)
{
    setting_make(t);
    t->job.etp = 1;
    t->job.moe.dispatcher = SS_DISPATCH_ALLTOALL;
    t->card.attention_tile = 0;
    t->card.kernel_latency = 5e-6;
    t->c.net.fabric_busbw = 200e9;
    t->c.net.gpus_per_node = t->c.net.nics_per_node = 8;
    t->c.ep = t->c.etp = t->c.etp_ep = t->c.edp = t->c.tp;
}

static inline void experts_set(struct setting *t, int experts, int top_k, int ffn, int ep)
{
    struct ss_model *m = &t->job.model;
    struct ss_token_spread spread;
    m->num_experts = experts;
    m->top_k = top_k;
    m->moe_ffn_hidden_size = ffn;
    t->job.ep = ep;
    t->c.ep = (struct ss_group_shape){.n = ep, .nodes = 1, .per_node = ep};
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    ss_shape_init(&t->c.shape, &t->job, &t->stack, 32000);
    CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&t->job, &t->c.ep, &spread, NULL, NULL), 0);
    ss_shape_experts(&t->c.shape, &t->job, &spread);
}

static inline void ops_of(const struct setting *t, int kind, struct ss_ops *ops)
{
    ss_layer_operators(kind, &t->c.shape, ops);
}

static inline int has(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return 1;
    return 0;
}
