/* SPDX-License-Identifier: Apache-2.0 */
/* Trees over nodes and PAT: who sends to whom, by hand; and what flows on their links take, against closed forms and
 * every rank on both engines. */
#include "comm/collective.h"
#include "library_helper.h"
#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

/* ---- trees ---- */

static int has(const int *list, int n, int value)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += list[i] == value;
    return found;
}

/* NCCL's trees of 8 and of 5 nodes: 0 on top, the odd ones leaves; the second one mirrored, or shifted by one. */
TEST(by_hand)
{
    static const struct {
        int nodes, node, to[SS_TREE_NEIGHBOURS];
    } rows[] = {{8, 0, {-1, -1, 4, 1, -1, -1}}, {8, 1, {2, -1, -1, 3, 0, 2}},   {8, 4, {0, 2, 6, 5, -1, -1}},
                {8, 6, {4, 5, 7, 5, -1, -1}},   {8, 7, {6, -1, -1, -1, -1, 3}}, {5, 0, {-1, -1, 4, 1, -1, 3}},
                {2, 0, {-1, -1, 1, 1, -1, -1}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int to[SS_TREE_NEIGHBOURS];
        ss_tree_neighbours(rows[i].nodes, rows[i].node, to);
        for (int t = 0; t < 2; t++)
            for (int j = 0; j < 3; j++)
                CU_ASSERT_EQUAL(has(to + 3 * t, 3, rows[i].to[3 * t + j]),
                                has(rows[i].to + 3 * t, 3, rows[i].to[3 * t + j]));
    }
}

/* Each is a tree: as many edges as nodes less one, both ends know of each, and every node has a way up to the root. Its flows are at
 * most what the closed form takes, and some node has them. */
TEST(trees)
{
    for (int n = 2; n <= 70; n++) {
        int most = 0;
        for (int t = 0; t < 2; t++) {
            int edges = 0;
            for (int k = 0; k < n; k++) {
                int to[SS_TREE_NEIGHBOURS], back[SS_TREE_NEIGHBOURS], at = k, up = 0, flows;
                ss_tree_neighbours(n, k, to);
                flows = SS_TREE_NEIGHBOURS - has(to, SS_TREE_NEIGHBOURS, -1);
                most = flows > most ? flows : most;
                for (int i = 3 * t; i < 3 * t + 3; i++) {
                    if (to[i] < 0)
                        continue;
                    edges++;
                    CU_ASSERT_FATAL(to[i] < n && to[i] != k);
                    ss_tree_neighbours(n, to[i], back);
                    CU_ASSERT_EQUAL(has(back + 3 * t, 3, k), 1);
                }
                for (ss_tree_neighbours(n, at, to); to[3 * t] >= 0 && up <= n; up++)
                    ss_tree_neighbours(n, at = to[3 * t], to);
                CU_ASSERT(up < n && (1 << up) <= 2 * n);
            }
            CU_ASSERT_EQUAL(edges, 2 * (n - 1));
        }
        CU_ASSERT_EQUAL(ss_tree_flows(n), most);
    }
}

/* ---- algorithms ---- */

/* Eight nodes of one: shares of 4, 2 and 1 of the seven others come from 1, 2 and 4 places before, in three steps. */
TEST(pat)
{
    const struct ss_library nccl = library_named("nccl");
    const struct ss_collective_algorithm *a = &ss_collective_pat;
    const struct ss_net net = {.fabric_busbw = 160e9,
                               .nic_busbw = 40e9,
                               .nic_step = 5e-6,
                               .gpus_per_node = 8,
                               .nics_per_node = 8,
                               .pat = 1,
                               .library = &nccl};
    struct ss_net without = net;
    const struct ss_group_shape eight = {.n = 8, .nodes = 8, .per_node = 1},
                                five = {.n = 5, .nodes = 5, .per_node = 1},
                                two = {.n = 16, .nodes = 8, .per_node = 2};
    without.pat = 0;
    CU_ASSERT(a->applies(&net, &eight) && !a->applies(&net, &two) && !a->applies(&without, &eight));
    for (int j = 0; j < 3; j++) {
        CU_ASSERT_DOUBLE_EQUAL(a->part(&eight, j), (4 >> j) / 7., 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(a->part(&five, j), (j == 0 ? 2 : 1) / 4., 1e-15); /* 1 and 3, 2, 4 places */
    }
    CU_ASSERT(ss_hop_has_parts(SS_HOP_PAT) && !ss_hop_has_parts(SS_HOP_TREE));
    CU_ASSERT(ss_hop_part(SS_HOP_PAT, &eight, 1) == a->part(&eight, 1) &&
              ss_hop_part(SS_HOP_TREE, &eight, 1) == 1);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, SS_COLL_ALL_GATHER, 1.6e9, &eight), 15e-6 + 1.4e9 / 0.75 / 40e9,
                           1e-12);
    /* five take three steps, too: 1, 2 and 4 places */
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, SS_COLL_ALL_GATHER, 1.5e9, &five), 15e-6 + 1.2e9 / 0.75 / 40e9,
                           1e-12);
    struct ss_collective_flows f = a->flows(&net, SS_COLL_REDUCE_SCATTER, 1.6e9, &eight, 1);
    CU_ASSERT_DOUBLE_EQUAL(f.latency, 15e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_PAT], 1.4e9 / 0.75, 1e-3);
    /* Seven steps of a ring or three of PAT, at three quarters of the busbw: PAT where 20 us are more than a third of the time. */
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 2e6, &eight), a);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 4e6, &eight), &ss_collective_ring);
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&without, SS_COLL_ALL_GATHER, 2e6, &eight), &ss_collective_ring);
    /* Groups that share its links slow PAT down tenfold, which NCCL does not know when it chooses. */
    struct ss_group_shape sharing = eight;
    sharing.stretch[SS_HOP_PAT] = 10;
    CU_ASSERT(a->seconds(&net, SS_COLL_ALL_GATHER, 2e6, &sharing) >
              ss_collective_ring.seconds(&net, SS_COLL_ALL_GATHER, 2e6, &sharing));
    CU_ASSERT_PTR_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_GATHER, 2e6, &sharing), a);
}

/* Two nodes exchange the buffer once, over all of their NICs; more nodes send half of it to four neighbours. Up and down a tree of 3 or
 * 4 nodes are 4 steps, of 5 nodes 6. */
TEST(nvls_tree)
{
    const struct ss_collective_algorithm *a = &ss_collective_nvls_tree;
    const struct ss_net net = {.fabric_busbw = 160e9,
                               .nvls_busbw = 120e9,
                               .nvls_latency = 24e-6,
                               .nic_busbw = 10e9,
                               .nic_step = 5e-6,
                               .gpus_per_node = 8,
                               .nics_per_node = 8,
                               .nvls_tree = 1};
    struct ss_net without = net;
    struct ss_group_shape two = {.n = 16, .nodes = 2, .per_node = 8},
                          four = {.n = 32, .nodes = 4, .per_node = 8},
                          three = {.n = 24, .nodes = 3, .per_node = 8},
                          five = {.n = 40, .nodes = 5, .per_node = 8};
    without.nvls_tree = 0;
    CU_ASSERT(a->applies(&net, &two) && !a->applies(&without, &two));
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, SS_COLL_ALL_REDUCE, 1e9, &two), 34e-6 + 1e9 / 80e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, SS_COLL_ALL_REDUCE, 1e9, &four), 44e-6 + 2e9 / 80e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, SS_COLL_ALL_REDUCE, 1, &three), 44e-6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(a->seconds(&net, SS_COLL_ALL_REDUCE, 1, &five), 54e-6, 1e-9);
    struct ss_collective_flows f = a->flows(&net, SS_COLL_ALL_REDUCE, 1e9, &four, 8);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_INTRA_NODE], 1.125e9 * 160 / 120, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_INTER_NODE], 2e9 / 8, 1e-3);
    four.trees = 1;
    f = a->flows(&net, SS_COLL_ALL_REDUCE, 1e9, &four, 8);
    CU_ASSERT_DOUBLE_EQUAL(f.bytes[SS_HOP_TREE], 0.5e9 / 8, 1e-3);
    CU_ASSERT_EQUAL(f.bytes[SS_HOP_INTER_NODE], 0);
}

/* validation/microbench.csv: 16 H200 on two nodes, 485.57 GB/s busbw of 8 GiB by NCCL 2.30.4; nccl-tests issue 153: 161 GB/s on
 * 16 H800 with eight NICs of 100 Gbit/s. Nothing of it is fitted on either. */
TEST(measured)
{
    static const struct {
        const char *platform;
        double nic, busbw; /* bytes/s */
    } rows[] = {{"h200", 50e9, 485.57e9}, {"h800", 12.5e9, 161e9}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ss_platform_options nodes = {.nodes = 2};
        const struct ss_group_shape two = {.n = 16, .nodes = 2, .per_node = 8};
        const double bytes = 8589934592.0;
        struct ss_platform *p;
        struct ss_net net;
        CU_ASSERT_EQUAL_FATAL(ss_platform_load(rows[i].platform, &nodes, &p, NULL), 0);
        ss_net_init(&net, p);
        net.nic_busbw *= rows[i].nic / ss_platform_nic_bandwidth(p);
        net.nvls_tree = 1;
        double t = ss_collective_seconds(&net, SS_COLL_ALL_REDUCE, bytes, &two);
        CU_ASSERT_PTR_EQUAL(ss_collective_choose(&net, SS_COLL_ALL_REDUCE, bytes, &two),
                            &ss_collective_nvls_tree);
        CU_ASSERT(fabs(30. / 16 * bytes / t / rows[i].busbw - 1) < 0.07);
        ss_platform_free(p);
    }
}

/* ---- on links ---- */

/* Without LL and LL128, and with switches and NICs that start at once, PAT and NVLSTree are taken for small buffers, too. */
#define SIMPLE "ss.nccl.net_simple=1 "
#define QUICK SIMPLE "ss.nvls.latency=1us ss.nic.exchange_half_size=0B"
#define MODEL "--model gpt2-7.5b --num-layers 2 --bf16 --seq 1024 --mbs 1 "
#define SMALL                                                                                                \
    "--num-layers 2 --hidden-size 512 --num-attention-heads 8 --vocab-size 8192 --bf16 --seq 512 --mbs 1 "   \
    "--max-position-embeddings 512 "
/* Collectives inside layers by PAT (parameters sharded over nodes) and by trees (tensor groups over nodes), and gradients by either. */
static const char *const jobs[] = {
    "h100 8 " SIMPLE "ss.nodes_per_leaf=2 ss.oversubscription=4;" MODEL "--tp 8 --fsdp full --gbs 8",
    "h100 5 " SIMPLE "ss.nodes_per_leaf=5;" MODEL "--tp 8 --fsdp full --gbs 5",
    "h100 4 ss.nodes_per_leaf=1 ss.oversubscription=4 " QUICK ";" MODEL "--tp 32 --gbs 2",
    "h100 8 ss.nodes_per_leaf=2 ss.oversubscription=4 " QUICK ";" MODEL "--tp 32 --gbs 2",
    "h100 8 ss.nodes_per_leaf=2 ss.oversubscription=8 " QUICK ";" SMALL
    "--tp 2 --gbs 64 --overlap-grad-reduce",
    "h100 16 " SIMPLE "ss.nodes_per_leaf=2 ss.oversubscription=8;" SMALL
    "--tp 8 --gbs 32 --use-distributed-optimizer "
    "--overlap-grad-reduce --overlap-param-gather",
};

static double at(struct scale_job *s, int level, int unfold, int engine)
{
    struct ss_run_options o = {
        .engine = engine, .level_choice = SS_LEVEL_STAYS, .plan = {.level = level, .unfold = unfold}};
    struct ss_run run;
    CU_ASSERT_FATAL(!scale_run(s, &o, &run));
    double t = run.result->iteration_s;
    ss_run_free(&run);
    return t;
}

/* Closed forms, folded flows and flows of every rank on both engines: the same; and without the algorithm another time, so that it is there. */
TEST(levels)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct scale_job s;
        CU_ASSERT_FATAL(!scale_open(&s, jobs[i]));
        s.stack.ddp_bucket = 1;
        double ring = at(&s, SS_LEVEL_FLOW, 0, SS_ENGINE_NATIVE);
        s.stack.nccl_pat = s.stack.nccl_nvls_tree = 1;
        double chunk = at(&s, SS_LEVEL_CHUNK, 0, SS_ENGINE_NATIVE),
               flow = at(&s, SS_LEVEL_FLOW, 0, SS_ENGINE_NATIVE);
        double every = at(&s, SS_LEVEL_FLOW, 1, SS_ENGINE_NATIVE);
        CU_ASSERT_DOUBLE_EQUAL(flow, every, 1e-9 * every);
        CU_ASSERT_DOUBLE_EQUAL(chunk, every, 0.03 * every);
        CU_ASSERT(fabs(ring / every - 1) > 1e-6);
        if (i < SCALE_SIMGRID_CASES)
            CU_ASSERT_DOUBLE_EQUAL(at(&s, SS_LEVEL_FLOW, 1, SS_ENGINE_SIMGRID), every, 1e-9 * every);
        scale_close(&s);
    }
}

SUITE(trees)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
