/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are alike beforehand: a plan made of those that stand for all is the plan made of all. */
#include <stdlib.h>

#include "plan/symmetry.h"
#include "scale_job.h"
#include "suite.h"

#define SMALL                                                                                                \
    "--model llama3.1-8b --bf16 --seq 4096 --sequence-parallel --mbs 1 --use-distributed-optimizer "         \
    "--overlap-grad-reduce --overlap-param-gather "
#define EXPERTS SMALL "--num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 1024 "

/* shifts: ranks that one stands for, by hand: data-parallel ranks over those of a period */
static const struct {
    const char *job;
    int shifts;
} cases[] = {
    {"h800 16 ss.nodes_per_leaf=2;" SMALL "--tp 2 --pp 2 --gbs 64", 4},
    {"h800 16 ss.nodes_per_leaf=2 ss.oversubscription=4;" SMALL "--tp 4 --pp 4 --gbs 64", 2},
    {"h800 16 ss.nodes_per_leaf=1;" SMALL "--tp 8 --pp 2 --cp 2 --gbs 64", 4},
    {"h800 16 ss.nodes_per_leaf=1;" SMALL "--tp 2 --pp 2 --gbs 64 --use-tp-pp-dp-mapping", 16},
    {"h800 16 ss.nodes_per_leaf=3;" SMALL "--tp 2 --pp 2 --gbs 64", 1}, /* the last leaf has one node */
    {"h800 16 ss.nodes_per_leaf=16;" SMALL "--tp 2 --pp 2 --gbs 64", 1},
    {"a100-roce400 16 ss.nodes_per_leaf=2 ss.oversubscription=2;" SMALL "--tp 4 --pp 2 --gbs 64", 4},
    {"h800 16 ss.nodes_per_leaf=2 ss.oversubscription=2;" EXPERTS "--tp 2 --pp 2 --ep 4 --etp 1 --gbs 64", 4},
    {"h800 16 ss.nodes_per_leaf=1 ss.oversubscription=2;" EXPERTS "--pp 2 --ep 16 --etp 1 --gbs 64", 4},
    {"h800 16 ss.nodes_per_leaf=1;" SMALL "--tp 2 --pp 4 --gbs 256 --schedule dualpipe", 4},
    {"h800 16 ss.nodes_per_leaf=2 ss.oversubscription=8;" SMALL "--tp 2 --pp 2 --cp 2 --cp-comm-type a2a "
     "--gbs 64",
     4},
    {"h800 16 ss.nodes_per_leaf=1;--model qwen2.5-1.5b --bf16 --seq 4096 --mbs 1 --tp 1 --pp 2 --gbs 256", 8},
};

static int shifts_of(const struct ss_run *run)
{
    struct ss_groups groups;
    struct ss_error err = {0};
    CU_ASSERT_FATAL(ss_groups_build(run->plan, 0, &groups, &err) == 0);
    struct ss_symmetry s = ss_symmetry_of(run->plan, &groups, 1);
    for (int at = 0; at < s.nranks; at++)
        CU_ASSERT_EQUAL(ss_symmetry_at(&s, ss_symmetry_rank(&s, at)), at);
    for (int at = 0; at < s.nlinks; at++) {
        int link = ss_symmetry_link(&s, at);
        CU_ASSERT_EQUAL(ss_symmetry_link_at(&s, link), at);
        CU_ASSERT_EQUAL(ss_symmetry_link_beside(&s, link, link), link);
    }
    ss_groups_free(&groups);
    return s.shifts;
}

static void compare_classes(const struct ss_plan *a, const struct ss_plan *b)
{
    CU_ASSERT_EQUAL_FATAL(a->nclasses, b->nclasses);
    for (int c = 0; c < a->nclasses; c++) {
        CU_ASSERT_EQUAL(a->classes[c].stage, b->classes[c].stage);
        CU_ASSERT_EQUAL(a->classes[c].count, b->classes[c].count);
        CU_ASSERT_EQUAL(a->classes[c].representative, b->classes[c].representative);
    }
    CU_ASSERT(!memcmp(a->class_of, b->class_of, (size_t)a->world_size * sizeof *a->class_of));
}

static void compare_links(const struct ss_plan *a, const struct ss_plan *b)
{
    CU_ASSERT_EQUAL_FATAL(a->nlinks, b->nlinks);
    CU_ASSERT_EQUAL_FATAL(a->npaths, b->npaths);
    for (int l = 0; l < a->nlinks; l++) {
        CU_ASSERT_STRING_EQUAL(a->links[l].name, b->links[l].name);
        CU_ASSERT(a->links[l].bandwidth == b->links[l].bandwidth);
        CU_ASSERT_EQUAL(a->link_count[l], b->link_count[l]);
    }
    for (int p = 0; p < a->npaths; p++) {
        CU_ASSERT_EQUAL_FATAL(a->paths[p].nlinks, b->paths[p].nlinks);
        for (int i = 0; i < a->paths[p].nlinks; i++) {
            CU_ASSERT_EQUAL(a->paths[p].link[i], b->paths[p].link[i]);
            CU_ASSERT(a->paths[p].weight[i] == b->paths[p].weight[i]);
        }
    }
    CU_ASSERT_EQUAL(a->np2p, b->np2p);
    CU_ASSERT_EQUAL(a->ncollectives, b->ncollectives);
}

/* A placement that leaves every rank where it is takes the long way. */
static int shape_differs(const struct ss_group_shape *a, const struct ss_group_shape *b)
{
    return a->n != b->n || a->nodes != b->nodes || a->per_node != b->per_node || a->few != b->few ||
           a->trees != b->trees;
}

/* Each place of the tables has what groups built rank by rank have there. Returns the number of places. */
static int compare_groups(const struct ss_plan *plan, int how)
{
    struct ss_groups fast, all;
    CU_ASSERT_FATAL(ss_groups_build(plan, how, &fast, NULL) == 0);
    CU_ASSERT_FATAL(ss_groups_build(plan, 0, &all, NULL) == 0);
    for (int comm = 0, wrong = 0; comm < SS_COMM_COUNT; comm++, wrong = 0) {
        CU_ASSERT_EQUAL_FATAL(!fast.first[comm], !all.first[comm]);
        for (int at = 0; at < fast.n && all.first[comm]; at++) {
            int r = ss_periodic_rank(fast.ranks, at);
            wrong += ss_groups_first(&fast, comm, r) != ss_groups_first(&all, comm, r) ||
                     ss_groups_local(&fast, comm, r) != ss_groups_local(&all, comm, r) ||
                     shape_differs(ss_groups_at(&fast, comm, r), ss_groups_at(&all, comm, r));
            for (int hop = 0; hop < SS_HOP_COUNT; hop++)
                for (int j = 0; j < all.width[comm][hop]; j++)
                    wrong +=
                        ss_groups_target(&fast, comm, hop, j, r) != ss_groups_target(&all, comm, hop, j, r);
        }
        CU_ASSERT(!wrong && !memcmp(fast.width[comm], all.width[comm], sizeof all.width[comm]));
    }
    int places = fast.n;
    ss_groups_free(&fast);
    ss_groups_free(&all);
    return places;
}

TEST(equal)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int level = SS_LEVEL_CHUNK; level <= SS_LEVEL_FLOW; level += SS_LEVEL_FLOW - SS_LEVEL_CHUNK) {
            struct scale_job s;
            struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .plan = {.level = level}};
            struct ss_run some, all;
            int gpu_of[128];
            unsigned before = CU_get_number_of_failures();
            CU_ASSERT_FATAL(scale_open(&s, cases[i].job) == 0);
            CU_ASSERT_FATAL(scale_run(&s, &o, &some) == 0);
            for (int r = 0; r < 128; r++)
                gpu_of[r] = r;
            o.plan.placement = gpu_of;
            CU_ASSERT_FATAL(scale_run(&s, &o, &all) == 0);
            CU_ASSERT_EQUAL(shifts_of(&some), cases[i].shifts);
            CU_ASSERT_EQUAL(compare_groups(some.plan, SS_GROUPS_IN_ORDER), 128);
            if (!i) /* tensor groups on a node: 4 shifts of 32 ranks */
                CU_ASSERT_EQUAL(compare_groups(some.plan, SS_GROUPS_IN_ORDER | SS_GROUPS_ALIKE), 32);
            compare_groups(some.plan, SS_GROUPS_IN_ORDER | SS_GROUPS_ALIKE);
            compare_classes(some.plan, all.plan);
            compare_links(some.plan, all.plan);
            CU_ASSERT(some.result->iteration_s == all.result->iteration_s);
            if (CU_get_number_of_failures() > before)
                fprintf(stderr, "%s: level %d\n", cases[i].job, level);
            ss_run_free(&some);
            ss_run_free(&all);
            scale_close(&s);
        }
}

/* Context groups of three on nodes of eight: {0, 2, 4} is on one node, {6, 8, 10} on two, so that a group repeats another only where no
 * member leaves its node. */
TEST(uneven)
{
    struct scale_job s;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .plan = {.level = SS_LEVEL_FLOW}};
    struct ss_run run;
    CU_ASSERT_FATAL(scale_open(&s, "h800 3;--model llama3.1-8b --bf16 --seq 6144 --tp 2 --cp 3 --mbs 1 "
                                   "--gbs 8 --sequence-parallel") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    CU_ASSERT_EQUAL(compare_groups(run.plan, SS_GROUPS_IN_ORDER), 24);
    ss_run_free(&run);
    scale_close(&s);
}

/* 405B on 131,072 nodes: 16 stages of 65,536 ranks that do the same, each with a NIC of its own. */
TEST(million)
{
    struct scale_job s;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct ss_run run;
    CU_ASSERT_FATAL(
        scale_open(&s, "h200 131072;--model llama3.1-405b --bf16 --seq 8192 --sequence-parallel "
                       "--tp 8 --pp 16 --decoder-first-pipeline-num-layers 7 "
                       "--decoder-last-pipeline-num-layers 7 --mbs 1 --gbs 262144 "
                       "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    CU_ASSERT_EQUAL(run.plan->world_size, 1048576);
    CU_ASSERT_EQUAL(run.plan->nclasses, 16);
    for (int c = 0; c < run.plan->nclasses; c++)
        CU_ASSERT_EQUAL(run.plan->classes[c].count, 65536);
    for (int r = 0; r < run.plan->world_size; r += 4099)
        CU_ASSERT_EQUAL(run.plan->class_of[r], r / 65536);
    for (int l = 0; l < run.plan->nlinks; l++)
        CU_ASSERT_EQUAL(run.plan->link_count[l], 65536);
    ss_run_free(&run);
    scale_close(&s);
}
