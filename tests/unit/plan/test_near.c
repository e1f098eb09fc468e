/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that are exact near what is slow or has failed: all ranks spend their time as with exact classes, to 1e-9. */
#include <limits.h>
#include <stdlib.h>

#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

enum { RANDOM_JOBS = 120 };
/* Those that are compared with every rank as well. */
enum { UNFOLDED_JOBS = 10 };
/* Those that SimGrid replays. */
#ifdef SS_SANITIZED
enum { SIMGRID_JOBS = 1 };
#else
enum { SIMGRID_JOBS = 8 };
#endif

struct trouble {
    struct ss_straggler slow[2];
    struct ss_slow_link links[1];
    struct ss_plan_options plan;
};

/* 0 .. n - 1 */
static int draw(uint64_t *state, int n)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((*state >> 33) % (uint64_t)n);
}

/* NICs so slow that transfers are not hidden, and share links for long. */
static void random_job(uint64_t *z, char *text, size_t size)
{
    static const char *const platforms[] = {"h800", "a100-roce400"};
    static const int ratios[] = {1, 1, 2, 8};
    int nodes = 16 << draw(z, 2), tp = 1 << draw(z, 4), pp = 1 << draw(z, 4), dp = nodes * 8 / tp / pp;
    int cp = dp > 2 ? 1 << draw(z, 2) : 1, microbatches = pp * (1 + draw(z, 6));
    snprintf(text, size,
             "%s %d ss.nodes_per_leaf=%d ss.oversubscription=%d ss.nic.bandwidth=%gGBps;--model llama3.1-8b "
             "--bf16 "
             "--seq 1024 --mbs 1 --use-distributed-optimizer %s %s %s --tp %d --pp %d --cp %d --gbs %d",
             platforms[draw(z, 2)], nodes, 1 << draw(z, 3), ratios[draw(z, 4)], 0.25 * (1 << draw(z, 8)),
             draw(z, 3) ? "--overlap-grad-reduce --overlap-param-gather" : "",
             tp > 1 ? "--sequence-parallel" : "",
             pp > 2 && draw(z, 2) ? "--num-layers-per-virtual-pipeline-stage 2" : "", tp, pp, cp,
             dp / cp * microbatches);
}

static void random_trouble(uint64_t *z, int nodes, struct trouble *t)
{
    *t = (struct trouble){0};
    t->plan.stragglers = t->slow;
    t->plan.slow_links = t->links;
    t->plan.nstragglers = draw(z, 3);
    for (int i = 0; i < t->plan.nstragglers; i++)
        t->slow[i] = (struct ss_straggler){draw(z, nodes * 8), 1 + 0.05 * (1 + draw(z, 20))};
    t->plan.nslow_links = t->plan.nstragglers ? draw(z, 2) : 1;
    snprintf(t->links[0].name, sizeof t->links[0].name, "nic-%d-0%s", draw(z, nodes),
             draw(z, 2) ? ".up" : "");
    t->links[0].factor = draw(z, 4) ? 2 + draw(z, 7) : 0;
    t->plan.level = draw(z, 4) ? SS_LEVEL_CHUNK : SS_LEVEL_FLOW;
}

/* s, the largest difference between labels of ranks, or of the iterations */
static double apart(const struct ss_run *a, const struct ss_run *b)
{
    double most = fabs(b->result->iteration_s - a->result->iteration_s);
    for (int r = 0; r < a->plan->world_size; r++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            most = fmax(most, fabs(a->timeline->spent[a->plan->class_of[r]][l] -
                                   b->timeline->spent[b->plan->class_of[r]][l]));
    return most;
}

/* s, how far NICs that are wider by parts of 1e-12 move what the native engine tells of the job: where flows meet at the same
 * moment, their order decides how long some ranks wait, also where the iteration does not feel it. */
static double chaos(const char *text, const struct ss_run_options *o, const struct ss_run *run)
{
    const char *nic = strstr(text, "ss.nic.bandwidth=") + strlen("ss.nic.bandwidth=");
    double bandwidth = strtod(nic, NULL), most = 0;
    for (int i = 1; i <= 8; i++) {
        char wider[700];
        struct scale_job s;
        struct ss_run moved;
        snprintf(wider, sizeof wider, "%.*s%.15g%s", (int)(nic - text), text, bandwidth * (1 + 1e-12 * i),
                 strstr(nic, "GBps"));
        CU_ASSERT_FATAL(scale_open(&s, wider) == 0);
        CU_ASSERT_FATAL(scale_run(&s, o, &moved) == 0);
        most = fmax(most, apart(run, &moved));
        ss_run_free(&moved);
        scale_close(&s);
    }
    return most;
}

static void compare(const char *text, const struct ss_run_options *o, const struct ss_run *a,
                    const struct ss_run *b)
{
    double t = a->result->iteration_s, most = apart(a, b), may = 1e-9 * t;
    if (most > may && a->result->engine != b->result->engine)
        may = 2 * chaos(text, o, b);
    CU_ASSERT(fabs(b->result->iteration_s - t) <= 1e-9 * t);
    CU_ASSERT(most <= may);
    if (most > may)
        fprintf(stderr, "%s: %d classes %.12g s, %d classes %.12g s, %.3g apart\n", text, a->plan->nclasses,
                a->result->iteration_s, b->plan->nclasses, b->result->iteration_s, most);
}

static size_t stride = 1;

TEST(random)
{
    int fewer = 0, farther = 0, jobs = RANDOM_JOBS / (int)stride;
    for (int i = 0; i < jobs; i++) {
        char text[600];
        uint64_t z = (uint64_t)i * 7919 + 17;
        struct scale_job s;
        struct trouble t;
        struct ss_run exact, near, every;
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .unchecked = 1};
        random_job(&z, text, sizeof text);
        CU_ASSERT_FATAL(scale_open(&s, text) == 0);
        random_trouble(&z, ss_platform_nodes(s.platform), &t);
        o.plan = t.plan;
        o.plan.most_classes = INT_MAX;
        CU_ASSERT_FATAL(scale_run(&s, &o, &exact) == 0);
        CU_ASSERT_EQUAL(exact.plan->near, 0);
        o.plan.most_classes = 1;
        CU_ASSERT_FATAL(scale_run(&s, &o, &near) == 0);
        compare(text, &o, &exact, &near);
        fewer += near.plan->nclasses < exact.plan->nclasses;
        farther += near.plan->near > 3;
        o.engine =
            SS_ENGINE_SIMGRID; /* of programs with weights that it has no word for it runs every rank */
        if (i < SIMGRID_JOBS / (int)stride) {
            CU_ASSERT_FATAL(scale_run(&s, &o, &every) == 0);
            o.engine = SS_ENGINE_NATIVE;
            compare(text, &o, &every, &near);
            ss_run_free(&every);
        }
        o.engine = SS_ENGINE_NATIVE;
        o.plan.unfold = 1;
        if (i < UNFOLDED_JOBS / (int)stride) {
            CU_ASSERT_FATAL(scale_run(&s, &o, &every) == 0);
            compare(text, &o, &every, &near);
            ss_run_free(&every);
        }
        ss_run_free(&exact);
        ss_run_free(&near);
        scale_close(&s);
    }
    printf("\n  %d jobs, %d with fewer classes, %d that had to go farther\n", jobs, fewer, farther);
    CU_ASSERT(fewer >= jobs / 12);
    CU_ASSERT(farther >= jobs / 12); /* where a difference does travel it is followed */
}

#define ON_16K                                                                                               \
    "h200 2048;--model llama3.1-405b --bf16 --seq 8192 --sequence-parallel --tp 8 --pp 16 "                  \
    "--decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 7 --mbs 1 "                    \
    "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --gbs "

/* One slow GPU of 16,384, by hand: its stages' 7 other tensor ranks and itself are 2 classes, those of the replica before,
 * of the one behind and of all others likewise, on each of 16 stages. Exactly, all 128 replicas are apart. */
TEST(large)
{
    static const struct ss_straggler slow[] = {{777, 1.5}};
    struct scale_job s;
    struct ss_run near, exact;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .plan = {.nstragglers = 1, .stragglers = slow}};
    CU_ASSERT_FATAL(scale_open(&s, ON_16K "2048") == 0); /* 16 microbatches, so that it is soon unfolded */
    o.plan.most_classes = INT_MAX;
    CU_ASSERT_FATAL(scale_run(&s, &o, &exact) == 0);
    CU_ASSERT_EQUAL(exact.plan->nclasses, 16 * 128 * 2);
    o.plan.most_classes = 1;
    CU_ASSERT_FATAL(scale_run(&s, &o, &near) == 0);
    CU_ASSERT_EQUAL(near.plan->nclasses, 16 * 4 * 2);
    compare(ON_16K, &o, &exact, &near);
    ss_run_free(&near);
    ss_run_free(&exact);
    scale_close(&s);
    CU_ASSERT_FATAL(scale_open(&s, ON_16K "16384") == 0);
    o.plan.most_classes =
        0; /* 128 microbatches of a forward and a backward: more than 256 classes are many */
    CU_ASSERT_FATAL(scale_run(&s, &o, &near) == 0);
    CU_ASSERT_EQUAL(near.plan->nclasses, 16 * 4 * 2);
    ss_run_free(&near);
    scale_close(&s);
}

SUITE(near)
{
    ss_simgrid_load(NULL); /* once for all replays */
    stride = suite_stride(argc, argv, 5);
    return suite_file(argv[0], NULL, NULL);
}
