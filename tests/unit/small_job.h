/* SPDX-License-Identifier: Apache-2.0 */
/* A small model on a card of round numbers, for tests of its layers. */
#ifndef SMALL_JOB_H
#define SMALL_JOB_H

#include <string.h>

#include "cost/cost.h"
#include "layers/kinds.h"
#include "pairs.h"
#include "stepsim/job.h"
#include "stepsim/model.h"
#include "suite.h"

struct setting {
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_cost_context c;
};

/* A small decoder of 16 heads of 64 on a card of round numbers. */
static inline void setting_make(struct setting *t)
{
    memset(t, 0, sizeof *t);
    ss_job_init(&t->job);
    struct ss_model *m = &t->job.model;
    m->num_layers = 4;
    m->hidden_size = 1024;
    m->ffn_hidden_size = 2816;
    m->num_attention_heads = 16;
    m->num_query_groups = 4;
    m->vocab_size = 32000;
    m->gated_mlp = 1;
    m->linear_bias = m->qkv_bias = m->tied_embeddings = 0;
    m->normalization = SS_NORM_RMSNORM;
    m->position = SS_POSITION_ROPE;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    t->job.micro_batch = 2;
    t->job.seq_length = 4096;
    t->job.tp = t->job.cp = t->job.pp = 1;
    t->job.precision = t->job.stored = SS_BF16;
    t->job.attention = SS_ATTENTION_FLASH;
    t->job.attention_dropout = t->job.hidden_dropout = 0;
    t->card.sm_count = 100;
    t->card.host_slowdown = 1;
    t->card.attention_wide = 1;
    t->card.attention_lone = 1;
    t->card.peak_bf16 = 1e15;
    t->card.gemm_eff_bf16 = 0.5;
    t->card.gemm_tile_m = 128;
    t->card.gemm_tile_n = 256;
    t->card.gemm_small_tile = 0.9;
    t->card.attention_tile = 128;
    t->card.hbm_bandwidth = 1e12;
    t->card.hbm_efficiency = 1;
    t->stack.fused_wgrad_accumulation = t->stack.fp8_forward_gain = 1;
    t->stack.flash_fwd = 0.4;
    t->stack.flash_bwd = 0.25;
    t->stack.attention_half_tokens = 1024;
    t->stack.te_layers = t->stack.norm_passes = 1;
    t->c.card = &t->card;
    t->c.stack = &t->stack;
    t->c.job = &t->job;
    t->c.tp = t->c.cp = t->c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
}

static inline void shape_again(struct setting *t)
{
    ss_shape_init(&t->c.shape, &t->job, &t->stack, 32000);
}

static inline struct ss_ops layer_of(struct setting *t, int kind)
{
    struct ss_ops ops;
    shape_again(t);
    ss_layer_operators(kind, &t->c.shape, &ops);
    return ops;
}

static inline const struct ss_op *find(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return &ops->op[i];
    return NULL;
}

#endif
