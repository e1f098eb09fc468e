/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh: each pair of a node's GPUs has a link of its own, so a group has the links of its own pairs alone. Figures are worked out by
 * hand; levels and engines agree on jobs whose groups are parts of nodes. */
#include <math.h>
#include <string.h>

#include "comm/collective.h"
#include "library_helper.h"
#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

#define KINDS ((int)SS_COLL_COUNT)

/* Four GPUs a node, 50 GB/s a pair, wide NICs. */
static const struct ss_net net = {.fabric_busbw = 150e9,
                                  .fabric_step = 1e-6,
                                  .nic_busbw = 100e9,
                                  .nic_step = 5e-6,
                                  .gpus_per_node = 4,
                                  .nics_per_node = 4,
                                  .mesh = 1};
static const struct ss_group_shape pair = {.n = 2, .nodes = 1, .per_node = 2},
                                   trio = {.n = 3, .nodes = 1, .per_node = 3},
                                   node = {.n = 4, .nodes = 1, .per_node = 4},
                                   pairs = {.n = 4, .nodes = 2, .per_node = 2},
                                   ragged = {.n = 6, .nodes = 2, .per_node = 4, .few = 2};

static void takes(const struct ss_collective_algorithm *a, int kind, const struct ss_group_shape *g, double s)
{
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, kind, 1.2e9, g), s, 1e-12);
}

/* 1.2 GB: 2(n-1)/n of it over n-1 links of 50 GB/s. */
TEST(by_hand)
{
    takes(&ss_collective_ring, SS_COLL_ALL_REDUCE, &pair, 2e-6 + 1.2e9 / 50e9);
    takes(&ss_collective_ring, SS_COLL_ALL_REDUCE, &trio, 4e-6 + 1.6e9 / 100e9);
    takes(&ss_collective_ring, SS_COLL_ALL_REDUCE, &node, 6e-6 + 1.8e9 / 150e9);
    takes(&ss_collective_tree, SS_COLL_ALL_REDUCE, &pair, 2e-6 + 2.4e9 / 50e9);
    takes(&ss_collective_alltoall, SS_COLL_ALL_TO_ALL, &pair, 1e-6 + 0.6e9 / 50e9);
    takes(&ss_collective_alltoall, SS_COLL_ALL_TO_ALL, &trio, 2e-6 + 0.8e9 / 100e9);
    /* a step goes to one GPU, whatever the group */
    takes(&ss_collective_ring_step, SS_COLL_RING_STEP, &pair, 1e-6 + 1.2e9 / 50e9);
    takes(&ss_collective_ring_step, SS_COLL_RING_STEP, &node, 1e-6 + 1.2e9 / 50e9);
    /* two members on each of two nodes: 0.9 GB over a link, beside NICs of 200 GB/s; the node with the fewest is the slowest */
    takes(&ss_collective_ring, SS_COLL_ALL_GATHER, &pairs, 1e-6 + 2 * 5e-6 + 0.9e9 / 50e9);
    takes(&ss_collective_ring, SS_COLL_ALL_GATHER, &ragged, 3e-6 + 2 * 5e-6 + 1e9 / 50e9);
}

/* What a ring hands on inside the node is a flow to each other member, on a link of 50 GB/s. */
TEST(flows)
{
    const struct ss_collective_algorithm *a = &ss_collective_ring;
    struct ss_collective_flows f = a->flows(&net, SS_COLL_ALL_REDUCE, 1.2e9, &trio, 3);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_NODE], 1.6e9 / 2, 1e-3);
    CU_ASSERT_EQUAL(f.bytes[SS_HOP_INTRA_NODE], 0);
    f = a->flows(&net, SS_COLL_ALL_GATHER, 1.2e9, &ragged, 2);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_NODE], 1e9, 1e-3);
    CU_ASSERT_EQUAL(ss_algorithm_hops(a, 1), SS_HOP_BIT(SS_HOP_NODE) | SS_HOP_BIT(SS_HOP_INTER_NODE));
    CU_ASSERT_EQUAL(ss_algorithm_hops(a, 0), a->hops);
}

/* A group takes what it takes behind a switch whose links are as wide as its own, in every protocol. */
TEST(as_behind_a_switch)
{
    const struct ss_library nccl_library = library_named("nccl");
    static const struct ss_group_shape *const groups[] = {&pair, &trio, &node, &pairs};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (int nccl = 0; nccl < 2; nccl++)
            for (double bytes = 1e3; bytes < 1e10; bytes *= 1e2) {
                struct ss_net mesh = net, flat;
                mesh.nccl = nccl;
                mesh.library = &nccl_library;
                mesh.exchange_busbw = 120e9;
                mesh.fabric_half = 1e6;
                mesh.ll_busbw = 20e9;
                mesh.nccl_piece = 8e6;
                flat = mesh;
                flat.mesh = 0;
                flat.fabric_busbw *= (groups[i]->per_node - 1) / 3.;
                flat.exchange_busbw *= (groups[i]->per_node - 1) / 3.;
                struct ss_group_shape g = *groups[i];
                g.spread = (struct ss_token_spread){.copies = 1.5, .nodes = g.nodes - 1};
                for (int kind = 0; kind < KINDS; kind++) {
                    double flat_s = ss_collective_seconds(&flat, kind, bytes, &g);
                    if (kind != SS_COLL_RING_STEP)
                        CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&mesh, kind, bytes, &g), flat_s,
                                               1e-12 * flat_s);
                }
            }
}

/* Eight MI300X, seven links of 48 GB/s each, by RCCL: 8 MB take two steps of Simple and 14/8 of them over seven links; in LL they would
 * be twice as many. Above 16 MiB, in a part of the node, behind a switch, and by NCCL there are rings. */
TEST(direct)
{
    const struct ss_library rccl = library_named("rccl"), nccl = library_named("nccl");
    const struct ss_group_shape eight = {.n = 8, .nodes = 1, .per_node = 8},
                                four = {.n = 4, .nodes = 1, .per_node = 4},
                                far = {.n = 16, .nodes = 2, .per_node = 8};
    struct ss_net m = {.fabric_busbw = 336e9,
                       .fabric_step = 2.1e-6,
                       .nic_busbw = 40e9,
                       .nic_step = 5e-6,
                       .gpus_per_node = 8,
                       .nics_per_node = 8,
                       .mesh = 1,
                       .nccl = 1,
                       .library = &rccl};
    const struct ss_collective_algorithm *direct = &ss_collective_direct;
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&m, SS_COLL_ALL_REDUCE, 8e6, &eight), direct);
    CU_ASSERT_DOUBLE_EQUAL(direct->seconds(&m, SS_COLL_ALL_REDUCE, 8e6, &eight),
                           17e-6 + 2 * 2.1e-6 + 14e6 / 336e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(direct->seconds(&m, SS_COLL_ALL_REDUCE, 8e3, &eight),
                           12e-6 + 2 * 0.8e-6 + 2 * 14e3 / 336e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(direct->flows(&m, SS_COLL_ALL_REDUCE, 8e6, &eight, 8).bytes[SS_HOP_NODE], 2e6,
                           1e-3);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&m, SS_COLL_ALL_REDUCE, 16777216, &eight), direct);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&m, SS_COLL_ALL_REDUCE, 16777217, &eight), &ss_collective_ring);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&m, SS_COLL_ALL_GATHER, 8e6, &eight), &ss_collective_ring);
    CU_ASSERT(!direct->applies(&m, &four) && !direct->applies(&m, &far));
    m.mesh = 0;
    CU_ASSERT(!direct->applies(&m, &eight));
    m.mesh = 1;
    m.library = &nccl;
    CU_ASSERT(!direct->applies(&m, &eight));
}

/* MI300X, 1 GB more of a large all-reduce by RCCL: a pair has one link of 64 GB/s, of which collectives make 0.805, and sends each
 * byte once; a node has seven and sends 14/8. Latencies are the same for both sizes. */
TEST(mi300x)
{
    const struct ss_platform_options options = {.nodes = 1};
    const struct ss_group_shape two = {.n = 2, .nodes = 1, .per_node = 2},
                                eight = {.n = 8, .nodes = 1, .per_node = 8};
    struct ss_platform *p = NULL;
    struct ss_net m;
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("mi300x", &options, &p, NULL), 0);
    ss_net_init(&m, p);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&m, SS_COLL_ALL_REDUCE, 2e9, &two) -
                               ss_collective_seconds(&m, SS_COLL_ALL_REDUCE, 1e9, &two),
                           1e9 / (0.805 * 64e9), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&m, SS_COLL_ALL_REDUCE, 2e9, &eight) -
                               ss_collective_seconds(&m, SS_COLL_ALL_REDUCE, 1e9, &eight),
                           1.75e9 / (0.805 * 448e9), 1e-12);
    ss_platform_free(p);
}

#define SMALL "--model llama3.2-1b --fp16 --seq 1024 --mbs 1 --gbs 8 "
#define EXPERTS                                                                                              \
    SMALL "--num-experts 8 --moe-ffn-hidden-size 1024 --moe-router-topk 2 --moe-token-dispatcher-type "      \
          "alltoall "

/* Seconds of an iteration, and of the label `tp` on its stage where it is not NULL. */
static double iteration(const char *job, int level, int engine, const struct ss_slow_link *slow, double *tp)
{
    struct ss_run_options o = {.engine = engine,
                               .plan = {.level = level, .slow_links = slow, .nslow_links = slow != NULL}};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(scale_open(&s, job) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    double seconds = run.result->iteration_s;
    if (tp)
        *tp = run.result->stages[run.result->critical_stage].breakdown[SS_LABEL_TP];
    ss_run_free(&run);
    scale_close(&s);
    return seconds;
}

/* Rings, ring attention, pipelines, groups with unequal parts of nodes, even and uneven experts. */
TEST(levels)
{
    static const char *const jobs[] = {"v100 1;" SMALL "--tp 2",
                                       "v100 1;" SMALL "--tp 2 --pp 2",
                                       "v100 1;" SMALL "--cp 4 --cp-comm-type p2p --attention-backend flash",
                                       "v100 2;" SMALL "--tp 2 --use-distributed-optimizer",
                                       "v100 3 ss.nic.bandwidth=1TBps;" SMALL "--gbs 12 --pp 2",
                                       "v100 1;" EXPERTS "--ep 2 --tp 2 --etp 1 --sequence-parallel",
                                       "v100 1;" EXPERTS "--ep 2 --moe-load zipf:1"};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        double chunk = iteration(jobs[i], SS_LEVEL_CHUNK, SS_ENGINE_NATIVE, NULL, NULL);
        CU_ASSERT_DOUBLE_EQUAL(iteration(jobs[i], SS_LEVEL_FLOW, SS_ENGINE_NATIVE, NULL, NULL), chunk,
                               1e-9 * chunk);
        if (i < SCALE_SIMGRID_CASES)
            CU_ASSERT_DOUBLE_EQUAL(iteration(jobs[i], SS_LEVEL_FLOW, SS_ENGINE_SIMGRID, NULL, NULL), chunk,
                                   1e-9 * chunk);
    }
}

/* Two of four GPUs reduce as fast as the two GPUs of a node that one link joins. */
TEST(part)
{
    for (int level = SS_LEVEL_CHUNK; level < SS_LEVEL_COUNT; level++) {
        double of_four, of_two;
        iteration("v100 1;" SMALL "--tp 2", level, SS_ENGINE_NATIVE, NULL, &of_four);
        iteration(SS_SOURCE_DIR "/tests/unit/data/pairs.xml 1;" SMALL "--gbs 4 --tp 2", level,
                  SS_ENGINE_NATIVE, NULL, &of_two);
        CU_ASSERT(of_four > 0);
        CU_ASSERT_DOUBLE_EQUAL(of_four, of_two, 1e-9 * of_two);
    }
}

/* The group on a slow link waits for it; a link between groups is on nobody's way; around one that failed flows go over another GPU. */
TEST(slow)
{
    static const struct ss_slow_link inside[] = {{"nvlink-0-0-1", 4}}, between[] = {{"nvlink-0-0-2", 4}},
                                     all[] = {{"nvlinks-0-0", 4}}, failed[] = {{"nvlink-0-0-1", 0}},
                                     doubled[] = {{"nvlink-0-0-2", 2}};
    for (int level = SS_LEVEL_CHUNK; level < SS_LEVEL_COUNT; level++) {
        double whole = iteration("v100 1;" SMALL "--tp 4", level, SS_ENGINE_NATIVE, NULL, NULL);
        CU_ASSERT(iteration("v100 1;" SMALL "--tp 4", level, SS_ENGINE_NATIVE, inside, NULL) > 1.1 * whole);
        double every = iteration("v100 1;" SMALL "--tp 4", level, SS_ENGINE_NATIVE, all, NULL);
        CU_ASSERT_DOUBLE_EQUAL(iteration("v100 1;" SMALL "--tp 4", level, SS_ENGINE_NATIVE, inside, NULL),
                               every, 1e-9 * every);
        /* over GPU 2, whose links to both then carry twice as much */
        double twice = iteration("v100 1;" SMALL "--tp 4", level, SS_ENGINE_NATIVE, doubled, NULL);
        CU_ASSERT(twice > whole);
        CU_ASSERT_DOUBLE_EQUAL(iteration("v100 1;" SMALL "--tp 4", level, SS_ENGINE_NATIVE, failed, NULL),
                               twice, 1e-9 * twice);
    }
    double half = iteration("v100 1;" SMALL "--tp 2 --use-distributed-optimizer --pp 2", SS_LEVEL_CHUNK,
                            SS_ENGINE_NATIVE, NULL, NULL);
    CU_ASSERT(iteration("v100 1;" SMALL "--tp 2 --use-distributed-optimizer --pp 2", SS_LEVEL_CHUNK,
                        SS_ENGINE_NATIVE, between, NULL) > half);
}

SUITE(mesh)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
