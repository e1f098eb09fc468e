/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs beside each other: programs by hand on one link, and jobs on one cluster. */

#include "base/base.h"
#include "stepsim/import.h"
#include "stepsim/result.h"
#include "stepsim/share.h"
#include "suite.h"

/* ---- programs by hand ---- */

/* One class that computes for 1 s and then waits for 10 bytes over a link, which takes 1 s at 10 bytes/s. */
static struct ss_program *by_hand(const char *link, const char *bandwidth)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    char text[512];
    int n = snprintf(text, sizeof text,
                     "program hand\nlink %s bandwidth %s\npath p %s\ncollective c {\n members only\n phase\n "
                     "flow p 10B\n}\n"
                     "template work {\n compute 1s\n post c\n wait\n}\nclass only {\n slot work\n}\n",
                     link, bandwidth, link);

    if (ss_program_parse(text, (unsigned long)n, "hand", &p, &err))
        fprintf(stderr, "%d: %s\n", err.line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* s until two of them have run `times` times each, the second one later by `delay`. */
static double together(const char *first, const char *second, int times, double delay)
{
    struct ss_program *a = by_hand(first, "10Bps"), *b = by_hand(second, "10Bps"), *both = NULL;
    const struct ss_program_part parts[] = {{a, times, 0, "1"}, {b, times, delay, "2"}};
    double seconds = NAN;

    CU_ASSERT_EQUAL_FATAL(ss_programs_join(parts, 2, &both, NULL), 0);
    CU_ASSERT_EQUAL(ss_program_check(both, NULL), 0);
    CU_ASSERT_EQUAL(both->nlinks, strcmp(first, second) ? 2 : 1);
    for (int engine = SS_ENGINE_NATIVE; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_replay_stats stats;
        CU_ASSERT_EQUAL_FATAL(ss_replay(both, engine, NULL, 0, &stats, NULL), 0);
        if (engine > SS_ENGINE_NATIVE)
            CU_ASSERT_DOUBLE_EQUAL(stats.makespan, seconds, 1e-9 * seconds);
        seconds = stats.makespan;
    }
    ss_program_free(a);
    ss_program_free(b);
    ss_program_free(both);
    return seconds;
}

TEST(by_hand)
{
    /* 1 s of compute, then each gets half of the link: 2 s; four times */
    CU_ASSERT_DOUBLE_EQUAL(together("wire", "wire", 4, 0), 4 * 3.0, 1e-8);
    CU_ASSERT_DOUBLE_EQUAL(together("wire", "other", 4, 0), 4 * 2.0, 1e-8);
    /* one is at the link while the other computes: nobody waits */
    CU_ASSERT_DOUBLE_EQUAL(together("wire", "wire", 4, 1), 4 * 2.0 + 1, 1e-8);
    /* half a second later: 0.5 s alone on the link, then halves until the first is through, after 1.5 s, and 0.5 s alone */
    CU_ASSERT_DOUBLE_EQUAL(together("wire", "wire", 1, 0.5), 3, 1e-8);
}

TEST(width)
{
    struct ss_program *a = by_hand("wire", "10Bps"), *b = by_hand("wire", "20Bps"), *both = NULL;
    const struct ss_program_part parts[] = {{a, 1, 0, "1"}, {b, 1, 0, "2"}};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_programs_join(parts, 2, &both, &err), SS_ERR_CONFIG);
    CU_ASSERT(strstr(err.message, "wire has 10 bytes/s for one job and 20 for another") != NULL);
    ss_program_free(a);
    ss_program_free(b);
}

/* ---- jobs ---- */

#define DENSE                                                                                                \
    "--platform h800 --model llama3.2-1b --bf16 --seq 2048 --mbs 1 --gbs 16 --tp 8 "                         \
    "--use-distributed-optimizer "
#define LEAVES "--set ss.nodes_per_leaf=2 --set ss.oversubscription=4 "

static struct ss_scenario *make(const char *words, const char *more)
{
    struct ss_scenario *s = NULL;
    struct ss_error err = {0};
    struct ss_request r;
    char text[600];

    snprintf(text, sizeof text, "%s %s", words, more);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "a", NULL), 0);
    if (ss_scenario_build(&r, NULL, &s, &err))
        fprintf(stderr, "%s: %s\n", text, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    ss_request_free(&r);
    return s;
}

static int share(const char *a, const char *b, int engine, int starts, struct ss_sharing *x,
                 struct ss_error *err)
{
    struct ss_scenario *s[2] = {make(a, ""), make(b, "")};
    const struct ss_scenario *jobs[2] = {s[0], s[1]};
    const struct ss_share_options options = {engine, SS_LEVEL_FLOW, starts};
    int rc = ss_share(jobs, (const char *const[]){"a", "b"}, 2, &options, x, err);

    ss_scenario_free(s[0]);
    ss_scenario_free(s[1]);
    return rc;
}

/* What a rank of the dense job moves over the uplink of its rail and leaf, in s, when the fabric is as narrow as LEAVES. */
static double uplink_seconds(double bandwidth)
{
    struct ss_scenario *s = make(DENSE, LEAVES "--on-nodes 0,2");
    struct ss_run run;

    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, NULL, &run, NULL), 0);
    /* half of the gradients in 4 bytes and half of the parameters in 2 go to the other of two replicas */
    double bytes = (4 + 2) / 2.0 * run.plan->classes[0].parameters;
    ss_run_free(&run);
    ss_scenario_free(s);
    return bytes / bandwidth;
}

/* Both engines on two equal jobs at once. */
static void share_equal(const char *a, const char *b)
{
    struct ss_sharing x[2];

    for (int engine = SS_ENGINE_NATIVE; engine <= SS_ENGINE_SIMGRID; engine++) {
        struct ss_sharing *y = &x[engine];
        CU_ASSERT_EQUAL_FATAL(share(a, b, engine, 1, y, NULL), 0);
        double move = uplink_seconds(y->limit.bandwidth);
        CU_ASSERT(!strncmp(y->limit.name, "uplink-", 7));
        CU_ASSERT_EQUAL(y->nlinks, 32); /* 8 rails x 2 leaves x 2 directions */
        for (int j = 0; j < 2; j++) {
            CU_ASSERT_DOUBLE_EQUAL(y->sharer[j].beside - y->sharer[j].alone, move, 2e-4 * move);
            CU_ASSERT_DOUBLE_EQUAL(y->limit.use[j], move / y->sharer[j].beside, 2e-4);
        }
    }
    for (int j = 0; j < 2; j++)
        CU_ASSERT_DOUBLE_EQUAL(x[0].sharer[j].beside, x[1].sharer[j].beside, 1e-9 * x[1].sharer[j].beside);
}

/* Two equal jobs at once on uplinks that hold both back get half of them: what they move takes twice as long. */
TEST(saturated)
{
    /* half of a NIC, which holds back each job alone too */
    share_equal(DENSE LEAVES "--on-nodes 0,2 --cluster-nodes 4", DENSE LEAVES "--on-nodes 1,3");
    /* as wide as the one NIC that a job has there: it holds back nobody alone */
    share_equal(DENSE LEAVES "--set ss.oversubscription=2 --on-nodes 0,2 --cluster-nodes 4",
                DENSE LEAVES "--set ss.oversubscription=2 --on-nodes 1,3");
}

/* Jobs that share nothing are as if alone: on leaves of their own, and on one leaf as wide as its nodes. */
TEST(apart)
{
    static const char *const pairs[][2] = {
        {DENSE LEAVES "--on-nodes 0-1 --cluster-nodes 4", DENSE LEAVES "--gbs 32 --on-nodes 2-3"},
        {DENSE "--on-nodes 0,2 --cluster-nodes 4", DENSE "--tp 4 --pp 2 --on-nodes 1,3"},
        /* ranks of these run on into the next iteration: no barrier */
        {DENSE LEAVES
         "--clip-grad 0 --no-check-for-nan-in-loss-and-grad --pp 2 --on-nodes 0-1 --cluster-nodes 4",
         DENSE LEAVES "--on-nodes 2-3"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(pairs); i++) {
        struct ss_sharing x;
        CU_ASSERT_EQUAL_FATAL(share(pairs[i][0], pairs[i][1], SS_ENGINE_NATIVE, 2, &x, NULL), 0);
        for (int j = 0; j < 2; j++) {
            CU_ASSERT_DOUBLE_EQUAL(x.sharer[j].least / x.sharer[j].alone, 1, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(x.sharer[j].most / x.sharer[j].alone, 1, 1e-9);
            CU_ASSERT(x.sharer[j].iterations >= 4);
        }
    }
}

/* A job alone in a part of a larger cluster is the job by itself; what is refused. */
TEST(place)
{
    struct ss_scenario *s[2] = {make(DENSE, "--nodes 2"), make(DENSE, "--on-nodes 3,5 --cluster-nodes 9")};
    struct ss_summary u[2];
    struct ss_sharing x;
    struct ss_error err = {0};

    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(ss_predict(s[i], NULL, &u[i], NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(u[0].iteration_s, u[1].iteration_s, 1e-12);
    CU_ASSERT_EQUAL(s[1]->world_size, 16);
    ss_scenario_free(s[0]);
    ss_scenario_free(s[1]);
    CU_ASSERT_EQUAL(share(DENSE "--on-nodes 0-1", DENSE "--on-nodes 1-2 --cluster-nodes 3", 0, 1, &x, &err),
                    SS_ERR_CONFIG);
    CU_ASSERT(strstr(err.message, "cluster of 2 nodes, b on one of 3") != NULL);
    CU_ASSERT_EQUAL(share(DENSE "--on-nodes 0-1 --cluster-nodes 3", DENSE "--on-nodes 1-2", 0, 1, &x, &err),
                    SS_ERR_CONFIG);
    CU_ASSERT(strstr(err.message, "node 1 is of a and of b") != NULL);
    CU_ASSERT_EQUAL(share(DENSE "--on-nodes 0-1 --cluster-nodes 4", DENSE "--platform h100 --on-nodes 2-3", 0,
                          1, &x, &err),
                    SS_ERR_CONFIG);
    CU_ASSERT(strstr(err.message, "a is on h800 with 8 GPUs a node, b on h100 with 8") != NULL);
}
