/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved 1F1B whose microbatches go through the chunks in groups of N < p (zero-bubble's group-interleaved 1F1B): the
 * smaller the group, the sooner a microbatch comes back and the less a rank keeps. All numbers are steps of one pass, F, I
 * or W. Every third step of a rank is an F, the others an I with its W behind it; a chunk follows the one before it when the
 * first of its group has come through all ranks. */
#include "base/base.h"
#include "schedule/builder.h"

struct block {
    int p, v, group;
    int wait; /* groups that start between a group's pass of one chunk and of the next */
    int turn; /* chunks after which a group would meet another one: it waits for one more */
};

static int common_divisor(int a, int b)
{
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static struct block make_block(const struct ss_schedule_params *q)
{
    struct block b = {.p = q->stages, .v = q->chunks};
    int asked = q->microbatch_group_size ? q->microbatch_group_size : q->stages;
    b.group = asked < b.p ? asked : b.p;
    b.wait = ((b.p + 1) / 2 + b.group - 1) / b.group;
    b.turn = b.v / common_divisor(b.v, b.wait);
    return b;
}

/* Steps from the first pass of a group on the first chunk to that on its i-th. */
static int64_t way(const struct block *b, int i)
{
    return 3 * (int64_t)b->group * ((int64_t)b->wait * i + i / b->turn);
}

/* First F of a rank on the i-th chunk, and the first I of the i-th from the end: the last rank's is behind its last chunk's F; on
 * the way up a rank's F takes one step, its backward two. */
static int64_t first_forward(const struct block *b, int rank, int i)
{
    return way(b, i) + rank;
}

static int64_t first_gradient(const struct block *b, int rank, int i)
{
    return first_forward(b, rank, b->v - 1) + 3 * (int64_t)(b->p - 1 - rank) + 1 + way(b, i);
}

/* Fills what starts at each step of a rank: 1 + chunk for an F, -1 - chunk for an I. */
static void fill(const struct block *b, int rank, int microbatches, int *at)
{
    for (int c = 0; c < b->v; c++)
        for (int mb = 0; mb < microbatches; mb++) {
            int64_t step =
                3 * ((int64_t)(mb / b->group) * b->group * b->v + mb % b->group); /* of the group, in it */
            at[first_forward(b, rank, c) + step] = 1 + c;
            at[first_gradient(b, rank, c) + step] = -1 - (b->v - 1 - c);
        }
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int m = params->microbatches;
    struct block b = make_block(params);
    int64_t steps = first_gradient(&b, 0, b.v - 1) + 3 * ((int64_t)m + b.group) * b.v + 2;
    struct ss_order o;
    SS_TRY(ss_order_begin(&o, "group-interleaved", params, 3 * b.v * m, err));
    int *at = ss_calloc((size_t)steps, sizeof *at);
    for (int r = 0; at && r < b.p; r++) {
        ss_order_rank(&o, r);
        fill(&b, r, m, at);
        for (int64_t t = 0; t < steps; t++) {
            if (at[t] > 0)
                ss_order_add(&o, SS_PHASE_F, at[t] - 1);
            if (at[t] < 0) {
                ss_order_add(&o, SS_PHASE_I, -1 - at[t]);
                ss_order_weight(&o);
            }
            at[t] = 0;
        }
    }
    ss_order_end(&o);
    if (!at) {
        ss_schedule_free(o.s);
        return ss_nomem(err);
    }
    free(at);
    ss_schedule_count_warmup(o.s);
    *out = o.s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_group_interleaved = {
    .name = "group-interleaved",
    .description = "interleaved 1F1B in groups of fewer microbatches than ranks: less memory",
    .build = build,
    .heeds = SS_SCHEDULE_HEEDS_GROUP,
    .facts = {.source = "sail-sg/zero-bubble; --group N microbatches a group",
              .conditions = "",
              .bubble = "2(p-1) for F=I=W, N=p",
              .in_flight = "v p, N=p; fewer with smaller N"},
};
