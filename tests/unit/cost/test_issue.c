/* SPDX-License-Identifier: Apache-2.0 */
/* How far the host is ahead of the GPU: closed forms of a slot, and where the GPU waits. */
#include "cost/issue.h"
#include "cost/rank_cost.h"
#include "suite.h"

/* A chunk of an embedding, four layers and a loss. */
struct made {
    struct ss_layer_set set;
    struct ss_layer_part part[3];
    struct ss_layer_runs chunk;
    struct ss_layer_run run[3];
};

static void layer(struct made *m, int i, double gpu, double host, int in_step)
{
    for (int phase = 0; phase < SS_PHASE_FB; phase++)
        m->part[i].seconds[phase] = gpu;
    m->part[i].cost.host[0] = m->part[i].cost.host[1] = host;
    m->part[i].cost.in_step[0] = m->part[i].cost.in_step[1] = in_step;
}

static void make(struct made *m, double gpu, double host)
{
    static struct ss_ops before, layers, behind;
    before.where = SS_WHERE_BEFORE;
    layers.where = SS_WHERE_TRANSFORMER;
    behind.where = SS_WHERE_BEHIND;
    const struct ss_ops *const ops[] = {&before, &layers, &behind};
    memset(m, 0, sizeof *m);
    for (int i = 0; i < 3; i++) {
        m->part[i].ops = ops[i];
        m->run[i] = (struct ss_layer_run){.part = i, .count = i == 1 ? 4 : 1};
    }
    m->chunk = (struct ss_layer_runs){.n = 3, .run = m->run};
    m->set = (struct ss_layer_set){
        .part = m->part, .nparts = 3, .chunks = &m->chunk, .nchunks = 1, .apart = 1, .ahead = 1};
    layer(m, 0, 1, 2, 0);
    layer(m, 1, gpu, host, 0);
    layer(m, 2, 10, 1, 0);
}

static struct ss_issue_slot forward(const struct made *m)
{
    return ss_issue_slot_of(&m->set, 0, SS_PHASE_F);
}

/* The host is at 2, 5, 8, 11, 14 and 15. The GPU leaves layers at 2, 5, 8, 11 and 14, and the loss at 24. */
TEST(bound_by_host)
{
    struct made m;
    make(&m, 2, 3);
    const struct ss_issue_slot slot = forward(&m);
    CU_ASSERT_DOUBLE_EQUAL(slot.work, 1 + 4 * 2 + 10, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(slot.host, 2 + 4 * 3 + 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(slot.waits, 24 - 19, 1e-12);
    /* the last launch that counts comes at 14, and 15 - 14 = 1 s of launches follow beside 10 s of work */
    CU_ASSERT_DOUBLE_EQUAL(slot.tail * slot.work, 24 - 15, 1e-12);
}

/* In a backward the loss lets the host get ahead: at 10 s it has issued 1 s of loss and 3 layers. The layers take 2 s, their
 * launches 3: the GPU is at 12, 14, 16 and 18, the host at 4, 7, 10 and 13; at 15 the embedding is issued. */
TEST(lead)
{
    struct made m;
    make(&m, 2, 3);
    const struct ss_issue_slot slot = ss_issue_slot_of(&m.set, 0, SS_PHASE_B);
    CU_ASSERT_DOUBLE_EQUAL(slot.waits, 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(slot.host, 15, 1e-12);
    layer(&m, 2, 3, 1, 0); /* a shorter loss: the GPU at 3, 5 and 7, then with the host at 10, 13 and 15 */
    CU_ASSERT_DOUBLE_EQUAL(ss_issue_slot_of(&m.set, 0, SS_PHASE_B).waits, 15 - (3 + 8 + 1), 1e-12);
}

static int add_seconds(void *ctx, double seconds)
{
    double **at = ctx;
    *(*at)++ = seconds;
    return 0;
}

/* Launches between two waits of the GPU: none is waited for while the host is ahead. */
TEST(between_waits)
{
    struct made m;
    double seconds[8] = {0}, *at = seconds;
    make(&m, 2, 3);
    layer(&m, 2, 3, 1, 0);
    CU_ASSERT_EQUAL(ss_chunk_issues_visit(&m.set, 0, SS_PHASE_B, add_seconds, &at), 0);
    CU_ASSERT_EQUAL_FATAL(at - seconds, 3); /* behind the third and fourth layer, and the embedding */
    CU_ASSERT_DOUBLE_EQUAL(seconds[0], 1 + 3 * 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(seconds[1], 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(seconds[2], 2, 1e-12);
}

/* Where the host waits for the GPU on the way, both end in step. */
TEST(in_step)
{
    struct made m;
    make(&m, 5, 3);
    layer(&m, 1, 5, 3, 1);
    CU_ASSERT_EQUAL(forward(&m).in_step, 1);
    CU_ASSERT_DOUBLE_EQUAL(forward(&m).waits, 1, 1e-12); /* the embedding's */
    ss_issue_find(&m.set);
    CU_ASSERT_EQUAL(ss_issue_is_stream(&m.set, 0, SS_PHASE_F), 0);
}

/* A host that the GPU waits for by less than a hundredth of a slot is no stream. */
TEST(stream)
{
    struct made m;
    make(&m, 50, 3);
    ss_issue_find(&m.set);
    CU_ASSERT_EQUAL(m.set.issues, 0); /* 1 s of 211 */
    make(&m, 2, 3);
    ss_issue_find(&m.set);
    CU_ASSERT_EQUAL(ss_issue_is_stream(&m.set, 0, SS_PHASE_F), 1);
    make(&m, 2, 3);
    m.set.apart = 0; /* slots of pairs, or of halves of a backward */
    ss_issue_find(&m.set);
    CU_ASSERT_EQUAL(m.set.issues, 0);
}

/* A bucket behind two layers of the backward: the loss and two layers are issued at 7 s. Work until there is 7 of 12 s. */
TEST(place)
{
    struct made m;
    make(&m, 2, 3);
    layer(&m, 2, 3, 1, 0);
    ss_issue_find(&m.set);
    const struct ss_chunk_place at = ss_chunk_place_at(&m.set, 0, SS_PHASE_B, 2);
    CU_ASSERT_DOUBLE_EQUAL(at.fraction, 7.0 / 12, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(at.host, 7, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(at.tail, 0, 1e-12);
    m.set.ahead = m.set.issues = 0; /* what is waited for is part of the slot then */
    CU_ASSERT_DOUBLE_EQUAL(ss_chunk_place_at(&m.set, 0, SS_PHASE_B, 3).fraction, 10.0 / 15, 1e-12);
}
