/* SPDX-License-Identifier: Apache-2.0 */
/* A model's layers on an H100 by themselves: for tests of what one layer costs with a stack and flags. */
#ifndef H100_JOB_H
#define H100_JOB_H

#include <string.h>

#include "cost/cost.h"
#include "job_helper.h"
#include "pairs.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define LLAMA "--model llama3.1-8b --seq 8192 --mbs 1 --gbs 1024 --bf16 "

/* The platform of a suite: h100_open and h100_close are its `init` and `cleanup`. */
static struct ss_platform *h100;

static inline int h100_open(void)
{
    const struct ss_platform_options options = {.nodes = 64};
    return ss_platform_load("h100", &options, &h100, NULL);
}

static inline int h100_close(void)
{
    ss_platform_free(h100);
    return 0;
}

/* A complete job of one node of the 64. */
static inline int h100_finish(struct ss_job *job, struct ss_stack *stack, const char *stack_name,
                              const char *flags, struct ss_error *err)
{
    struct ss_notes notes = {0};
    struct ss_asked asked;
    int rc = ss_stack_load(stack_name, "H100", stack, err);

    ss_asked_init(&asked);
    if (!rc)
        rc = parse(&asked, flags, &notes, err);
    if (!rc)
        rc = ss_asked_finish(&asked, NULL, stack, 8, 8, &notes, job, err);
    ss_notes_free(&notes);
    return rc;
}

struct h100_layer {
    struct ss_job job;
    struct ss_stack stack;
    struct ss_cost_context c;
    struct ss_ops ops;
};

/* With a vocabulary of 128,512; tensor ranks have NVLinks of 300 GB/s. */
static inline void h100_layer(struct h100_layer *l, int kind, const char *stack, const char *flags)
{
    struct ss_error err = {0};

    memset(l, 0, sizeof *l);
    if (h100_finish(&l->job, &l->stack, stack, flags, &err))
        fprintf(stderr, "%s: %s\n", flags, err.message);
    CU_ASSERT_STRING_EQUAL_FATAL(err.message, "");
    l->c.card = ss_platform_card(h100);
    l->c.stack = &l->stack;
    l->c.job = &l->job;
    l->c.cp = l->c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    l->c.tp = (struct ss_group_shape){.n = l->job.tp, .nodes = 1, .per_node = l->job.tp};
    l->c.net.fabric_busbw = 300e9;
    ss_shape_init(&l->c.shape, &l->job, &l->stack, 128512);
    ss_layer_operators(kind, &l->c.shape, &l->ops);
}

/* The operator of this name; NULL: the layer has none. */
static inline const struct ss_op *h100_op(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return &ops->op[i];
    return NULL;
}

static inline struct ss_layer_cost h100_cost(const struct h100_layer *l, int recompute)
{
    struct ss_layer_cost out;
    ss_cost_layer(&l->c, &l->ops, recompute, &out);
    return out;
}

#endif
