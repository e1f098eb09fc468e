/* SPDX-License-Identifier: Apache-2.0 */
/* Uneven amounts of an exchange: what each link carries, against a matrix worked out by hand. */

#include "base/base.h"
#include "base/cache.h"
#include "plan/matrix.h"
#include "plan/shares.h"
#include "scale_job.h"
#include "suite.h"

#define TRUNK SS_SOURCE_DIR "/tests/unit/data/trunk.xml"
#define FOUR                                                                                                 \
    " 2;--model llama3.1-8b --num-layers 2 --num-experts 4 --moe-router-topk 1 --bf16 --seq 4096 --mbs 1 "   \
    "--ep 4 --gbs 4 --moe-token-dispatcher-type "

enum { ALLTOALL, TWO_STAGES };
static const char *const dispatchers[] = {"alltoall", "flex --moe-enable-deepep"};

/* Seven tokens of ten go to the expert of GPU 0. */
static const double hot[] = {7, 1, 1, 1};

static int open_job(struct scale_job *s, const char *text, const double *loads, int layers)
{
    int rc = scale_open(s, text);
    if (!rc && loads) {
        s->job.moe.load = SS_LOAD_FILE;
        s->job.moe.loads = loads;
        s->job.moe.load_layers = layers;
    }
    return rc;
}

static void run_at(struct scale_job *s, int level, int unfold, int even, struct ss_run *run)
{
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = SS_LEVEL_BLIND};
    o.plan.level = level;
    o.plan.unfold = unfold;
    o.plan.even = even;
    CU_ASSERT_FATAL(!scale_run(s, &o, run));
}

/* The first collective whose name has these words, NULL: there is none. */
static const struct ss_collective *collective_of(const struct ss_plan *plan, const char *words, int skip)
{
    for (int i = 0; i < plan->ncollectives; i++)
        if (!strncmp(plan->collectives[i].name, "ep ", 3) && strstr(plan->collectives[i].name, words) &&
            skip-- == 0)
            return &plan->collectives[i];
    return NULL;
}

static double load_of(const struct ss_plan *plan, const struct ss_collective *c, const char *link)
{
    double sum = 0;
    for (int f = 0; f < c->phases[0].nflows; f++) {
        const struct ss_path *p = &plan->paths[c->phases[0].flows[f].path];
        for (int l = 0; l < p->nlinks; l++)
            if (!strcmp(plan->links[p->link[l]].name, link))
                sum += p->weight[l] * c->phases[0].flows[f].bytes;
    }
    return sum;
}

static double total_of(const struct ss_collective *c)
{
    double sum = 0;
    for (int f = 0; f < c->phases[0].nflows; f++)
        sum += c->phases[0].flows[f].bytes;
    return sum;
}

/* Bytes that a member sends on average: those of the balanced job, whose shares to three others are 3/4 of it. */
static double mean_bytes(int dispatcher)
{
    struct scale_job s;
    struct ss_run run;
    char text[512];
    snprintf(text, sizeof text, TRUNK FOUR "%s", dispatchers[dispatcher]);
    CU_ASSERT_FATAL(!scale_open(&s, text));
    run_at(&s, SS_LEVEL_FLOW, 1, 0, &run);
    double bytes = collective_of(run.plan, dispatcher == ALLTOALL ? "all-to-all" : "dispatch", 0)->bytes;
    ss_run_free(&run);
    scale_close(&s);
    return bytes;
}

/* In parts of a member's mean bytes, there; back what goes up comes down. A copy for GPU 0 is 0.7 of each member's, for the others 0.1.
 * Two stages: by the odds of 7/3 and 1/9 tokens go to GPU 0 with 21/24, to the others with 1/24, so to node 0 with 22/24; in each node
 * they come in at both places from both nodes, and the other GPU of the node takes also what was for the one that they came to. */
static const struct {
    const char *link;
    double part[2]; /* of all-to-all, of two stages */
} links[] = {
    {"nic-0_UP", {0.2, 2. / 24}},         {"nic-0_DOWN", {1.4, 22. / 24}},
    {"nic-1_UP", {0.2, 2. / 24}},         {"nic-1_DOWN", {0.2, 22. / 24}},
    {"nic-2_UP", {0.8, 22. / 24}},        {"nic-2_DOWN", {0.2, 2. / 24}},
    {"nic-3_UP", {0.8, 22. / 24}},        {"nic-3_DOWN", {0.2, 2. / 24}},
    {"trunk-0_UP", {0.4, 4. / 24}},       {"trunk-0_DOWN", {1.6, 44. / 24}},
    {"trunk-1_UP", {1.6, 44. / 24}},      {"trunk-1_DOWN", {0.4, 4. / 24}},
    {"nvlink-0_UP", {0.1, 4. / 24}},      {"nvlink-0_DOWN", {0.7, 4 * 21. / 24}},
    {"nvlink-1_UP", {0.7, 4 * 21. / 24}}, {"nvlink-1_DOWN", {0.1, 4. / 24}},
    {"nvlink-2_UP", {0.1, 4. / 24}},      {"nvlink-2_DOWN", {0.1, 4. / 24}},
    {"nvlink-3_UP", {0.1, 4. / 24}},      {"nvlink-3_DOWN", {0.1, 4. / 24}},
};

static void turned(const char *link, char out[64])
{
    const char *end = strchr(link, '_');
    snprintf(out, 64, "%.*s_%s", (int)(end - link), link, strcmp(end, "_UP") ? "UP" : "DOWN");
}

static void expect_links(const struct ss_run *run, int dispatcher, double bytes)
{
    const struct ss_collective *there =
        collective_of(run->plan, dispatcher == ALLTOALL ? "all-to-all" : "dispatch", 0);
    const struct ss_collective *back =
        collective_of(run->plan, dispatcher == ALLTOALL ? "all-to-all" : "combine", dispatcher == ALLTOALL);
    CU_ASSERT_FATAL(there && back);
    /* the probabilities go with the copies, not back */
    double less = back->bytes / there->bytes;
    CU_ASSERT_DOUBLE_EQUAL(total_of(there) * less, total_of(back), 1e-9 * bytes);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char other[64];
        double part = links[i].part[dispatcher] * bytes;
        turned(links[i].link, other);
        CU_ASSERT_DOUBLE_EQUAL(load_of(run->plan, there, links[i].link), part, 1e-9 * bytes);
        CU_ASSERT_DOUBLE_EQUAL(load_of(run->plan, back, other), part * less, 1e-9 * bytes);
    }
}

TEST(by_hand)
{
    for (int dispatcher = ALLTOALL; dispatcher <= TWO_STAGES; dispatcher++) {
        struct scale_job s;
        struct ss_run run;
        char text[512];
        double bytes = mean_bytes(dispatcher);
        snprintf(text, sizeof text, TRUNK FOUR "%s", dispatchers[dispatcher]);
        CU_ASSERT_FATAL(!open_job(&s, text, hot, 1));
        run_at(&s, SS_LEVEL_FLOW, 1, 0, &run);
        CU_ASSERT(run.plan->uneven);
        expect_links(&run, dispatcher, bytes);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* ---- what is sent, and what links carry, in sum ---- */

#define SIXTEEN                                                                                              \
    "h800 2 ss.nodes_per_leaf=1 ss.oversubscription=4;--model llama3.1-8b --num-layers 2 --num-experts 64 "  \
    "--moe-router-topk 4 --bf16 --seq 4096 --mbs 1 --ep 16 --gbs 16 --moe-token-dispatcher-type alltoall "

static const char *const loads[] =
    SS_VALUES("uniform", "zipf:0.3", "zipf:1", "biased:0.5", "W1_hot_expert_set", "W3_spread_hot_experts",
              "W4_source_ragged", "W5_zero_expert_rank", "W6_rotating_hotspot", "W7_burst");

static struct ss_groups groups_of(struct ss_plan *plan, struct ss_routes *routes)
{
    const struct ss_plan_options o = {.level = plan->level};
    struct ss_groups g;
    struct ss_net net;
    int *room = malloc(2 * (size_t)plan->world_size * sizeof *room);
    CU_ASSERT_PTR_NOT_NULL_FATAL(room);
    ss_net_init(&net, plan->platform);
    CU_ASSERT_EQUAL_FATAL(ss_groups_build(plan, 0, &g, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_groups_spread_tokens(plan, &g, room, 0, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_routes_build(plan, &g, &net, &o, routes, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_groups_share_links(plan, routes, &net, 0, 0, &g, room, NULL), 0);
    free(room);
    return g;
}

/* All that members send is what all get: one mean buffer each. Back is there, turned. */
static void expect_conserved(struct ss_plan *plan)
{
    struct ss_routes routes;
    struct ss_groups g = groups_of(plan, &routes);
    const struct ss_group_shape *shape = ss_groups_at(&g, SS_COMM_EP, 0);
    const double busiest = shape->spread.busiest;
    double all = 0;
    CU_ASSERT_FATAL(g.give[1] && g.take[1]);
    for (int i = 0; i < shape->n; i++) {
        double sent = 0, got = 0;
        for (int j = 0; j < shape->n; j++) {
            double there = ss_groups_amount(&g, SS_HOP_APART, SS_WAY_THERE, i, j);
            CU_ASSERT_EQUAL(ss_groups_amount(&g, SS_HOP_APART, SS_WAY_BACK, j, i), there);
            sent += there * busiest;
            got += ss_groups_amount(&g, SS_HOP_APART, SS_WAY_THERE, j, i) * busiest;
        }
        CU_ASSERT_DOUBLE_EQUAL(sent, g.give[1][i] * shape->n, 1e-9);
        CU_ASSERT(got <= shape->spread.hot_copies * (1 + 1e-3));
        all += sent;
    }
    CU_ASSERT_DOUBLE_EQUAL(all, shape->n, 1e-8);
    for (int way = 0; way < SS_WAYS; way++)
        CU_ASSERT(shape->priced[way].far >= shape->sent[way].far && shape->sent[way].far > 0);
    ss_groups_free(&g);
    ss_routes_free(&routes);
}

TEST(sums)
{
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        char text[512];
        struct scale_job s;
        struct ss_run run, even;
        snprintf(text, sizeof text, SIXTEEN "--moe-load %s", loads[i]);
        CU_ASSERT_FATAL(!scale_open(&s, text));
        run_at(&s, SS_LEVEL_CHUNK, 0, 0, &run);
        expect_conserved(run.plan);
        run_at(&s, SS_LEVEL_CHUNK, 0, 1, &even);
        CU_ASSERT(even.plan->uneven == 0);
        /* On 4:1 uplinks, which all ranks as busy as the hottest would load by its factor, the hot ones alone do not. */
        CU_ASSERT(run.result->iteration_s < even.result->iteration_s * (1 - 1e-4));
        ss_run_free(&run);
        ss_run_free(&even);
        scale_close(&s);
    }
}

/* Layouts of one load compute it once: that of other layers takes what is kept, that of a larger micro batch keeps one more. */
TEST(kept)
{
    static const struct {
        const char *flags;
        uint64_t found, put;
    } rows[] = {{"", 0, 1}, {"--num-layers 4", 1, 1}, {"--mbs 2", 1, 2}, {"--mbs 2 --num-layers 8", 2, 2}};
    struct ss_cache *cache;
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        struct scale_job s;
        struct ss_run run;
        struct ss_groups g;
        snprintf(text, sizeof text, SIXTEEN "--gbs 32 --moe-load zipf:0.3 %s", rows[i].flags);
        CU_ASSERT_FATAL(!scale_open(&s, text));
        run_at(&s, SS_LEVEL_CHUNK, 0, 0, &run);
        int *room = malloc(2 * (size_t)run.plan->world_size * sizeof *room);
        CU_ASSERT_EQUAL_FATAL(ss_groups_build(run.plan, 0, &g, NULL), 0);
        CU_ASSERT_EQUAL(ss_groups_spread_tokens(run.plan, &g, room, 0, cache, NULL), 0);
        CU_ASSERT_EQUAL(ss_cache_counts(cache).found, rows[i].found);
        CU_ASSERT_EQUAL(ss_cache_counts(cache).put, rows[i].put);
        ss_groups_free(&g);
        free(room);
        ss_run_free(&run);
        scale_close(&s);
    }
    ss_cache_close(cache);
}

/* ---- an even matrix is the closed form of even amounts ---- */

#define EXPERTS                                                                                              \
    "--model llama3.1-8b --num-layers 2 --num-experts 64 --moe-router-topk 4 --bf16 --seq 4096 --mbs 1 "

static void make_even(struct ss_groups *g, int two_stages, const struct ss_plan *plan)
{
    for (int far = 0; far < 2; far++) {
        g->give[far] = calloc((size_t)plan->world_size, sizeof **g->give);
        g->take[far] = calloc((size_t)plan->world_size, sizeof **g->take);
    }
    for (int r = 0; r < plan->world_size; r++) {
        struct ss_group_shape *s = ss_groups_at(g, SS_COMM_EP, r);
        const double q = s->per_node, n = s->n;
        s->spread.busiest = s->spread.hot_copies = 1;
        s->spread.hot_tokens = s->spread.copies;
        s->spread.hot_nodes = s->spread.nodes;
        g->give[0][r] = !two_stages ? 1 / n : q > 1 ? q / (q - 1) * s->nodes : 0;
        g->take[0][r] = !two_stages ? 1 : s->spread.copies / n;
        g->give[1][r] = !two_stages ? 1 / n : 1;
        g->take[1][r] = !two_stages ? 1 : s->spread.nodes / (s->nodes - 1);
    }
}

static void expect_even(struct ss_plan *plan, int two_stages)
{
    const struct ss_plan_options o = {.level = plan->level};
    const int kinds[2][2] = {{SS_COLL_ALL_TO_ALL, SS_COLL_ALL_TO_ALL_BACK},
                             {SS_COLL_DISPATCH, SS_COLL_COMBINE}};
    struct ss_groups g, matrix;
    struct ss_routes routes;
    struct ss_net net;
    int *room = malloc(2 * (size_t)plan->world_size * sizeof *room);
    CU_ASSERT_PTR_NOT_NULL_FATAL(room);
    ss_net_init(&net, plan->platform);
    for (struct ss_groups *which = &g;; which = &matrix) {
        CU_ASSERT_EQUAL_FATAL(ss_groups_build(plan, 0, which, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_groups_spread_tokens(plan, which, room, 0, NULL, NULL), 0);
        CU_ASSERT_PTR_NULL(which->give[0]);
        if (which == &matrix)
            make_even(which, two_stages, plan);
        CU_ASSERT_EQUAL_FATAL(ss_routes_build(plan, which, &net, &o, &routes, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_groups_share_links(plan, &routes, &net, 0, 0, which, room, NULL), 0);
        ss_routes_free(&routes);
        if (which == &matrix)
            break;
    }
    for (int way = 0; way < SS_WAYS; way++) {
        const struct ss_group_shape a = ss_groups_shape(&g, SS_COMM_EP, 0),
                                    b = ss_groups_shape(&matrix, SS_COMM_EP, 0);
        CU_ASSERT(!ss_is_uneven(&a) && ss_is_uneven(&b));
        double old = ss_collective_seconds(&net, kinds[two_stages][way], 64e6, &a);
        CU_ASSERT_DOUBLE_EQUAL(ss_collective_seconds(&net, kinds[two_stages][way], 64e6, &b), old,
                               1e-11 * old);
    }
    ss_groups_free(&g);
    ss_groups_free(&matrix);
    free(room);
}

TEST(even)
{
    static const char *const jobs[] = {
        "h800 1;" EXPERTS "--ep 8 --gbs 8",
        "h800 4;" EXPERTS "--ep 32 --gbs 32",
        "h800 4 ss.nodes_per_leaf=2 ss.oversubscription=2;" EXPERTS "--ep 32 --gbs 32",
        "h800 8 ss.nodes_per_leaf=4 ss.oversubscription=4;" EXPERTS "--ep 64 --gbs 64",
        "h800 4 ss.nodes_per_leaf=1 ss.oversubscription=4;" EXPERTS "--ep 16 --gbs 32",
        "h800 2 ss.nic.bandwidth=200GBps;" EXPERTS "--ep 16 --gbs 32",
        "a100-roce400 4 ss.nodes_per_leaf=2 ss.oversubscription=2;" EXPERTS "--ep 32 --gbs 32",
        "h800 4;" EXPERTS "--tp 8 --sequence-parallel --etp 8 --ep 4 --gbs 4",
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs * 2; i++) {
        struct scale_job s;
        struct ss_run run;
        unsigned before = CU_get_number_of_failures();
        CU_ASSERT_FATAL(!scale_open(&s, jobs[i / 2]));
        s.job.moe.dispatcher = i % 2 ? SS_DISPATCH_DEEPEP : SS_DISPATCH_ALLTOALL;
        run_at(&s, SS_LEVEL_CHUNK, 0, 0, &run);
        expect_even(run.plan, i % 2);
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "%s: %s\n", i % 2 ? "two stages" : "all-to-all", jobs[i / 2]);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* ---- a load of each layer: stages have matrices of their own ---- */

TEST(by_layer)
{
    /* The first layer of two is balanced, the second sends all to GPU 0's expert: stage 0 has no matrix, stage 1 has one. */
    static const double rows[] = {1, 1, 1, 1, 1, 0, 0, 0};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(!open_job(&s,
                              TRUNK
                              " 2;--model llama3.1-8b --num-layers 2 --num-experts 4 --moe-router-topk 1 "
                              "--bf16 --seq 4096 --mbs 1 --ep 2 --pp 2 --gbs 4 "
                              "--moe-token-dispatcher-type alltoall",
                              rows, 2));
    run_at(&s, SS_LEVEL_CHUNK, 0, 0, &run);
    struct ss_routes routes;
    struct ss_groups g = groups_of(run.plan, &routes);
    CU_ASSERT_DOUBLE_EQUAL(g.take[0][2], 1, 1e-12);
    CU_ASSERT_EQUAL(g.take[0][3], 0);
    CU_ASSERT_DOUBLE_EQUAL(g.take[0][0], g.take[0][1], 1e-12);
    CU_ASSERT(g.take[0][0] > 0.9);
    ss_groups_free(&g);
    ss_routes_free(&routes);
    ss_run_free(&run);
    scale_close(&s);
}
