/* SPDX-License-Identifier: Apache-2.0 */
/* What an all-to-all puts on every kind of link, against loads worked out by hand, and the closed form beside it. */
#include <stdlib.h>

#include "plan/exchange.h"
#include "plan/shares.h"
#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

#define TRUNK SS_SOURCE_DIR "/tests/unit/data/trunk.xml"
#define JOB                                                                                                  \
    "--model llama2-70b --num-layers 2 --num-query-groups 64 --bf16 --seq 4096 --mbs 1 --cp-comm-type a2a "

/*
 * n members, in shares of a buffer (1/n of it); N nodes, k on a leaf, q members a node.
 *   NIC: all q members of the node send by it to the members elsewhere that are on its rail
 *   uplink of a rail: the members of the leaf to those of the rail on other leaves
 *   NVLink of a GPU: to the q - 1 others of its node, and what leaves by another GPU's NIC
 *   across: the uplink's load over its bandwidth, k NICs / oversubscription, over what a member's share of the NICs takes
 */
static const struct {
    const char *job;
    double nvlink, nic, fabric, across; /* 0: no such load */
} cases[] = {
    {"h800 1;" JOB "--cp 8 --gbs 1", 7, 0, 0, 0},
    /* 32 members of which 24 are elsewhere, 3 of them on a rail; k (N - k)/(N - 1) = 4/3 times the NIC's load */
    {"h800 4 ss.nodes_per_leaf=2 ss.oversubscription=2;" JOB "--cp 32 --gbs 1", 7 + 21, 24, 32, 4. / 3},
    {"h800 8 ss.nodes_per_leaf=4 ss.oversubscription=2;" JOB "--cp 64 --gbs 1", 7 + 49, 56, 128, 8. / 7},
    /* leaves of 3, 3 and 2 nodes: 24 members to the 5 of the rail elsewhere */
    {"h800 8 ss.nodes_per_leaf=3 ss.oversubscription=2;" JOB "--cp 64 --gbs 1", 7 + 49, 56, 120, 80. / 56},
    /* a group on every rail, one member a node */
    {"h800 8 ss.nodes_per_leaf=4 ss.oversubscription=4;" JOB "--tp 8 --cp 8 --gbs 1", 0, 7, 16, 16. / 7},
    /* uplinks as wide as the NICs below them: they hold nothing up, and are no links of the plan */
    {"h800 4 ss.nodes_per_leaf=2;" JOB "--cp 32 --gbs 1", 7 + 21, 24, 0, 1},
    /* two GPUs a NIC: a rail has two members a node */
    {"a100-roce400 4 ss.nodes_per_leaf=2 ss.oversubscription=2;" JOB "--cp 32 --gbs 1", 7 + 18, 48, 64,
     4. / 3},
    /* no rails, but the routes of the file: each of two members to two elsewhere, by a trunk of one NIC's bandwidth */
    {TRUNK " 2;" JOB "--cp 4 --gbs 1", 1, 2, 4, 2},
};

static const struct ss_collective *exchange_of(const struct ss_plan *plan)
{
    for (int i = 0; i < plan->ncollectives; i++)
        if (strstr(plan->collectives[i].name, "all-to-all"))
            return &plan->collectives[i];
    return NULL;
}

/* Most bytes of the collectives like `c`, of all groups, on one link of a kind. */
static double most_on(const struct ss_plan *plan, const struct ss_collective *c, int kind)
{
    double most = 0, *load = calloc((size_t)plan->nlinks + 1, sizeof *load);
    CU_ASSERT_PTR_NOT_NULL_FATAL(load);
    for (int i = 0; i < plan->ncollectives; i++) {
        const struct ss_collective *other = &plan->collectives[i];
        if (other->role != c->role || other->label != c->label || other->bytes != c->bytes)
            continue;
        for (int f = 0; f < other->phases[0].nflows; f++) {
            const struct ss_path *p = &plan->paths[other->phases[0].flows[f].path];
            for (int l = 0; l < p->nlinks; l++)
                load[p->link[l]] += p->weight[l] * other->phases[0].flows[f].bytes;
        }
    }
    for (int l = 0; l < plan->nlinks; l++)
        if (plan->links[l].kind == kind)
            most = fmax(most, load[l]);
    free(load);
    return most;
}

static void expect_loads(size_t i, const struct ss_plan *plan)
{
    const struct ss_collective *c = exchange_of(plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    double share = c->bytes / plan->job->cp;
    CU_ASSERT_DOUBLE_EQUAL(most_on(plan, c, SS_LINK_FABRIC) / share, cases[i].nvlink, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(most_on(plan, c, SS_LINK_NIC) / share, cases[i].nic, 1e-9);
    double fabric = fmax(most_on(plan, c, SS_LINK_UPLINK), most_on(plan, c, SS_LINK_OTHER));
    CU_ASSERT_DOUBLE_EQUAL(fabric / share, cases[i].fabric, 1e-9);
}

static void expect_across(size_t i, struct ss_plan *plan)
{
    const struct ss_plan_options none = {.level = plan->level};
    struct ss_groups groups;
    struct ss_routes routes;
    struct ss_net net;
    int *room = malloc(2 * (size_t)plan->world_size * sizeof *room);
    CU_ASSERT_PTR_NOT_NULL_FATAL(room);
    ss_net_init(&net, plan->platform);
    CU_ASSERT_EQUAL_FATAL(ss_groups_build(plan, 0, &groups, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_routes_build(plan, &groups, &net, &none, &routes, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_groups_share_links(plan, &routes, &net, 0, 0, &groups, room, NULL), 0);
    for (int r = 0; r < plan->world_size; r++) {
        const struct ss_group_shape cp = ss_groups_shape(&groups, SS_COMM_CP, r);
        const struct ss_group_shape tp = ss_groups_shape(&groups, SS_COMM_TP, r);
        CU_ASSERT_DOUBLE_EQUAL(cp.stretch[SS_HOP_APART], cases[i].across > 1 ? cases[i].across : 0, 1e-12);
        CU_ASSERT_EQUAL(tp.stretch[SS_HOP_INTER_NODE], 0);
    }
    CU_ASSERT_EQUAL(plan->shares[SS_COMM_CP].across, cases[i].across > 0);
    CU_ASSERT_EQUAL(plan->shares[SS_COMM_CP].beyond, 0);
    ss_routes_free(&routes);
    ss_groups_free(&groups);
    free(room);
}

TEST(loads)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned before = CU_get_number_of_failures();
        struct scale_job s;
        CU_ASSERT_FATAL(!scale_open(&s, cases[i].job));
        for (int unfold = 0; unfold < 2; unfold++) {
            struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
            struct ss_run run;
            o.plan.level = SS_LEVEL_FLOW;
            o.plan.unfold = unfold;
            CU_ASSERT_FATAL(!scale_run(&s, &o, &run));
            expect_loads(i, run.plan);
            expect_across(i, run.plan);
            ss_run_free(&run);
        }
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "%s\n", cases[i].job);
        scale_close(&s);
    }
}

#define EXPERTS                                                                                              \
    "--model llama3.1-8b --num-layers 2 --num-experts 16 --moe-router-topk 4 --bf16 --seq 4096 --mbs 1 "

#define UNEVEN "--num-experts 24 --ep 3 "

static const char *const expert_jobs[] = {
    "h800 1;" EXPERTS "--ep 8 --gbs 8",
    "h800 2;" EXPERTS "--ep 16 --gbs 32",
    "h800 4;" EXPERTS "--ep 16 --gbs 32",
    "h800 4;" EXPERTS "--tp 8 --sequence-parallel --etp 8 --ep 4 --gbs 4",
    "h800 4;" EXPERTS "--tp 2 --sequence-parallel --etp 1 --ep 16 --gbs 32",
    "h800 4 ss.nodes_per_leaf=1 ss.oversubscription=2;" EXPERTS "--ep 16 --gbs 32",
    "h800 4 ss.nodes_per_leaf=3 ss.oversubscription=4;" EXPERTS
    "--tp 4 --sequence-parallel --etp 4 --ep 8 --gbs 8",
    /* NICs as fast as NVLink, which what goes to other rails crosses before it leaves */
    "h800 2 ss.nic.bandwidth=200GBps;" EXPERTS "--ep 16 --gbs 32",
    "h800 4 ss.nic.bandwidth=400GBps;" EXPERTS "--tp 4 --sequence-parallel --etp 4 --ep 8 --gbs 8",
    "a100-roce400 2 ss.nodes_per_leaf=1 ss.oversubscription=2;" EXPERTS "--ep 16 --gbs 16",
    TRUNK " 2;" EXPERTS "--ep 4 --gbs 4", /* 2:1 */
    /* of two groups of one shape one is on one leaf */
    "h800 8 ss.nodes_per_leaf=6 ss.oversubscription=6;" EXPERTS "--num-experts 32 --ep 32 --gbs 64",
};

/* Chunks, layers and flows take as long, folded and unfolded, on both engines. */
static void expect_levels(const char *job, int dispatcher, int simgrid)
{
    static const struct {
        int level, unfold, engine;
    } ways[] = {{SS_LEVEL_CHUNK, 0, SS_ENGINE_NATIVE}, {SS_LEVEL_CHUNK, 1, SS_ENGINE_NATIVE},
                {SS_LEVEL_LAYER, 0, SS_ENGINE_NATIVE}, {SS_LEVEL_FLOW, 0, SS_ENGINE_NATIVE},
                {SS_LEVEL_FLOW, 1, SS_ENGINE_NATIVE},  {SS_LEVEL_FLOW, 0, SS_ENGINE_SIMGRID},
                {SS_LEVEL_FLOW, 1, SS_ENGINE_SIMGRID}};
    struct scale_job s;
    double first = 0;
    unsigned before = CU_get_number_of_failures();
    CU_ASSERT_FATAL(!scale_open(&s, job));
    s.job.moe.dispatcher = dispatcher;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct ss_run_options o = {.engine = ways[i].engine};
        struct ss_run run;
        if (ways[i].engine == SS_ENGINE_SIMGRID && !simgrid)
            continue;
        o.plan.level = ways[i].level;
        o.level_choice = SS_LEVEL_STAYS;
        o.plan.unfold = ways[i].unfold;
        CU_ASSERT_FATAL(!scale_run(&s, &o, &run));
        double t = run.result->iteration_s;
        first = i ? first : t;
        CU_ASSERT_DOUBLE_EQUAL(t, first, 1e-9 * first);
        CU_ASSERT(run.timeline->spent[0][SS_LABEL_EP] > 0);
        CU_ASSERT_EQUAL(run.plan->warnings.n, 0);
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "dispatcher %d way %zu: %.12g, not %.12g s: %s\n", dispatcher, i, t, first, job);
        ss_run_free(&run);
    }
    scale_close(&s);
}

static size_t stride = 1; /* of the jobs that SimGrid replays */

/* Tokens go to experts and back alone on the links. */
TEST(levels)
{
    for (size_t j = 0; j < sizeof expert_jobs / sizeof *expert_jobs * 3; j++) {
        int dispatcher = (int)(j % 3); /* gathers, all-to-all, two stages */
        expect_levels(expert_jobs[j / 3], dispatcher, j < SCALE_SIMGRID_CASES && j % stride == 0);
    }
}

/* Groups of three ranks on one node, or on two: a rank alone on its node sends to both others by its NIC. */
TEST(uneven)
{
    expect_levels("h800 3;" EXPERTS UNEVEN "--gbs 24", SS_DISPATCH_ALLTOALL, 1);
}

/* 105 flows of an all-to-all among 128 leave by one NIC to other rails; SimGrid shares it folded. */
TEST(wide)
{
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run[2];
    CU_ASSERT_FATAL(
        !scale_open(&s, "h800 16;--model llama3.1-8b --num-layers 2 --num-experts 128 --moe-router-topk 4 "
                        "--bf16 --seq 4096 --mbs 1 --ep 128 --gbs 128"));
    s.job.moe.dispatcher = SS_DISPATCH_ALLTOALL;
    o.plan.level = SS_LEVEL_FLOW;
    CU_ASSERT_FATAL(!scale_run(&s, &o, &run[0]));
    o.engine = SS_ENGINE_SIMGRID;
    CU_ASSERT_FATAL(!scale_run(&s, &o, &run[1]));
    CU_ASSERT_EQUAL(run[1].result->ranks_simulated, 1);
    CU_ASSERT_DOUBLE_EQUAL(run[1].result->iteration_s, run[0].result->iteration_s,
                           1e-9 * run[0].result->iteration_s);
    ss_run_free(&run[0]);
    ss_run_free(&run[1]);
    scale_close(&s);
}

/* DeepEP's rates on H800 with 24 SMs (its README): 4,096 tokens of 7,168, top-8 of 256 experts in at most 4 nodes, dispatch
 * in fp8 with a scale for 128, combine in bf16. Over NVLink it counts all copies, over NICs all nodes, the own one too. */
TEST(deepep)
{
    static const struct {
        int kind, nodes;
        double rate; /* bytes/s */
    } rows[] = {{SS_COLL_DISPATCH, 1, 153e9}, {SS_COLL_COMBINE, 1, 158e9}, {SS_COLL_DISPATCH, 2, 43e9},
                {SS_COLL_COMBINE, 2, 43e9},   {SS_COLL_DISPATCH, 4, 58e9}, {SS_COLL_COMBINE, 4, 57e9},
                {SS_COLL_DISPATCH, 8, 51e9},  {SS_COLL_COMBINE, 8, 50e9}};
    const struct ss_platform_options one = {.nodes = 1};
    struct ss_platform *p;
    struct ss_net net;
    struct ss_stack stack;
    double sum = 0;
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", &one, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("deepseek-v3", ss_platform_card(p)->name, &stack, NULL), 0);
    ss_net_init(&net, p);
    net.dispatch_rate = 24 * stack.dispatch_sm_rate_alone;
    CU_ASSERT(stack.dispatch_sm_rate < stack.dispatch_sm_rate_alone);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int nodes = rows[i].nodes;
        const struct ss_load_input in = {.kind = SS_LOAD_BALANCED,
                                         .experts = 256,
                                         .top_k = 8,
                                         .groups = nodes > 4 ? nodes : 0,
                                         .group_topk = nodes > 4 ? 4 : 0,
                                         .ep = 8 * nodes,
                                         .nodes = nodes,
                                         .tokens = 4096. * 8 * nodes};
        struct ss_group_shape g = {.n = 8 * nodes, .nodes = nodes, .per_node = 8};
        struct ss_load_figures load;
        CU_ASSERT_EQUAL_FATAL(ss_load_figures(&in, &load, NULL), 0);
        g.spread = (struct ss_token_spread){.nodes = load.remote_nodes, .copies = load.ranks};
        double bytes = 4096. * 7168 * (rows[i].kind == SS_COLL_DISPATCH ? 1 + 4. / 128 : 2);
        double measured = bytes * (nodes > 1 ? load.nodes : load.ranks) / rows[i].rate;
        double error = ss_collective_seconds(&net, rows[i].kind, bytes, &g) / measured - 1;
        CU_ASSERT(fabs(error) < 0.15);
        sum += fabs(error);
    }
    CU_ASSERT(sum / 8 < 0.07);
    ss_platform_free(p);
}

/* Few SMs move copies more slowly than NVLink takes them; as the profile of DeepSeek-V3 on 20 of them (validation/h800-deepseek-v3.csv:
 * combine 6,063 us, dispatch 3,448 and 4,312) within 15 %. */
TEST(few_sms)
{
    const struct ss_net net = {
        .fabric_busbw = 150e9, .nic_busbw = 45e9, .gpus_per_node = 8, .nics_per_node = 8};
    struct ss_net few = net, many = net;
    struct ss_group_shape g = {.n = 64, .nodes = 8, .per_node = 8, .spread = {.nodes = 3.5, .copies = 7.5}};
    double bytes = 4096. * 7168, fp8 = bytes * (1 + 4. / 128);
    few.dispatch_rate = 20 * 3.3e9;
    many.dispatch_rate = 100 * 3.3e9;
    double combine = ss_collective_seconds(&few, SS_COLL_COMBINE, 2 * bytes, &g);
    double dispatch = ss_collective_seconds(&few, SS_COLL_DISPATCH, fp8, &g);
    CU_ASSERT_DOUBLE_EQUAL(combine, 2 * bytes * 7.5 / 66e9, 1e-12);
    CU_ASSERT(fabs(combine / 6.063e-3 - 1) < 0.15 && fabs(2 * dispatch / (3.448e-3 + 4.312e-3) - 1) < 0.15);
    CU_ASSERT_EQUAL(ss_collective_seconds(&many, SS_COLL_COMBINE, bytes, &g),
                    ss_collective_seconds(&net, SS_COLL_COMBINE, bytes, &g));
}

/* Where nobody says, DeepEP has 20 of H800's 132 SMs and HybridEP 16. */
TEST(default_sms)
{
    static const double sms[][2] = {{SS_DISPATCH_DEEPEP, 20}, {SS_DISPATCH_HYBRIDEP, 16}};
    for (int i = 0; i < 2; i++) {
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = SS_LEVEL_BLIND};
        struct scale_job s;
        struct ss_run run;
        int seen = 0;
        CU_ASSERT_FATAL(!scale_open(&s, "h800 1 ss.gemm.beside=0;" EXPERTS
                                        "--ep 8 --gbs 16 --overlap-moe-expert-parallel-comm "
                                        "--moe-token-dispatcher-type flex"));
        s.job.moe.dispatcher = (int)sms[i][0];
        o.plan.level = SS_LEVEL_FLOW;
        CU_ASSERT_FATAL(!scale_run(&s, &o, &run));
        for (int c = 0; c < run.plan->ncollectives; c++)
            if (strstr(run.plan->collectives[c].name, "ep dispatch")) {
                CU_ASSERT_DOUBLE_EQUAL(run.plan->collectives[c].sm_share, sms[i][1] / 132, 1e-12);
                seen++;
            }
        CU_ASSERT(seen > 0);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* What goes to another rail leaves by the GPU at the target's place; what stays on the node or on its rail does not. */
TEST(via)
{
    const struct ss_rails eight = {.gpus = 8, .n = 8, .per_leaf = 4},
                          four = {.gpus = 8, .n = 4, .per_leaf = 4}, none = {.gpus = 8};
    CU_ASSERT_EQUAL(ss_rails_via(&eight, 3, 13), 5);
    CU_ASSERT_EQUAL(ss_rails_via(&eight, 3, 11), 3);
    CU_ASSERT_EQUAL(ss_rails_via(&eight, 3, 6), 3);
    CU_ASSERT_EQUAL(ss_rails_via(&four, 2, 11), 2); /* GPUs 2 and 3 of a node share a NIC */
    CU_ASSERT_EQUAL(ss_rails_via(&four, 2, 12), 4);
    CU_ASSERT_EQUAL(ss_rails_via(&none, 3, 13), 3);
}

SUITE(exchange)
{
    ss_simgrid_load(NULL); /* once for all replays */
    stride = suite_stride(argc, argv, 7);
    return suite_file(argv[0], NULL, NULL);
}
