/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of links: what the default level says of collectives that share links, against flows of every rank; and what an
 * all-to-all puts on links, against the sum over its pairs. */
#include <stdlib.h>

#include "plan/exchange.h"
#include "scale_job.h"
#include "suite.h"

#define DENSE                                                                                                \
    "--model gpt2-7.5b --bf16 --seq 4096 --mbs 1 --max-position-embeddings 131072 "                          \
    "--use-distributed-optimizer "
#define EXPERTS                                                                                              \
    "--model qwen3-30b-a3b --num-layers 4 --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer --tp 1 "     \
    "--pp 1 "                                                                                                \
    "--moe-token-dispatcher-type alltoall "

#define TORN "--tp 8 --rank-order dp-ep-tp-cp-pp --num-layers 4 --gbs 4"

enum { IN_ORDER, SHUFFLED, CROSSED };
/* Two nodes: each group of four has two members on both, so that all have the same shares of links. */
static const int crossed[] = {10, 15, 6, 3, 4, 12, 11, 5, 7, 0, 9, 8, 1, 14, 2, 13};

static const struct {
    const char *what, *job;
    int placement;
    const char
        *slow; /* a link with a quarter of its bandwidth; or a rank and how many times as long it takes */
    int flows; /* whether the default goes to flow level */
} cases[] = {
    {"tensor 16 over two nodes, 4:1",
     "h100 8 ss.nodes_per_leaf=1 ss.oversubscription=4;" DENSE "--sequence-parallel --tp 16 --gbs 8",
     IN_ORDER, NULL, 0},
    {"tensor 8, shuffled, 4:1",
     "h100 8 ss.nodes_per_leaf=4 ss.oversubscription=4;" DENSE "--sequence-parallel --tp 8 --pp 4 --gbs 8",
     SHUFFLED, NULL, 1},
    {"context 32 by all-to-all, 1:1",
     "h100 4 ss.nodes_per_leaf=2;" DENSE "--cp 32 --cp-comm-type a2a --num-layers 8 --gbs 1", IN_ORDER, NULL,
     0},
    {"context 32 by all-to-all, 2:1",
     "h100 4 ss.nodes_per_leaf=2 ss.oversubscription=2;" DENSE
     "--cp 32 --cp-comm-type a2a --num-layers 8 --gbs 1",
     IN_ORDER, NULL, 0},
    {"experts 64, 1:1", "h100 8 ss.nodes_per_leaf=2;" EXPERTS "--ep 64 --gbs 64", IN_ORDER, NULL, 0},
    {"experts 64, 2:1", "h100 8 ss.nodes_per_leaf=2 ss.oversubscription=2;" EXPERTS "--ep 64 --gbs 64",
     IN_ORDER, NULL, 0},
    {"experts 64, 4:1", "h100 8 ss.nodes_per_leaf=2 ss.oversubscription=4;" EXPERTS "--ep 64 --gbs 64",
     IN_ORDER, NULL, 0},
    {"tensor 16, a slow NIC", "h100 4;" DENSE "--sequence-parallel --tp 16 --num-layers 8 --gbs 8", IN_ORDER,
     "nic-0-3", 0},
    {"tensor 8, a slow NVLink", "h100 4;" DENSE "--sequence-parallel --tp 8 --num-layers 8 --gbs 8", IN_ORDER,
     "nvlink-0-3", 0},
    {"tensor 16, shuffled, a slow NVLink",
     "h100 2;" DENSE "--sequence-parallel --tp 16 --num-layers 8 --gbs 8", SHUFFLED, "nvlink-0-2", 1},
    {"experts 16 and tensor 4, shuffled, 2:1",
     "h200 8 ss.nodes_per_leaf=4 ss.oversubscription=2;" EXPERTS
     "--tp 4 --sequence-parallel --ep 16 --gbs 32",
     SHUFFLED, NULL, 1},
    {"slow NVLinks: tensor 2 beside kernels, and sends",
     "h100 1 ss.nvlink.bandwidth=1GBps;" DENSE
     "--sequence-parallel --tp-comm-overlap --tp 2 --pp 4 --num-layers 4 --schedule zb-h1 --gbs 4",
     IN_ORDER, NULL, 1},
    {"two tensor groups a NIC, one of them late",
     "a100-roce400 2;--num-layers 6 --hidden-size 512 --num-attention-heads 8 --vocab-size 128256 --bf16 "
     "--max-position-embeddings 16384 --tp 8 --rank-order dp-ep-tp-cp-pp --seq 8192 --mbs 2 --gbs 8",
     IN_ORDER, "7:1.05", 1},
    {"crossed, and an optimizer that is late",
     "h20 2 ss.nodes_per_leaf=1 ss.oversubscription=1;--hidden-size 2048 --num-attention-heads 16 "
     "--ffn-hidden-size 8192 --vocab-size 32000 "
     "--num-layers 2 --swiglu --disable-bias-linear --num-query-groups 16 --bf16 --tp 4 --seq 2048 "
     "--max-position-embeddings 4096 --mbs 1 --gbs 4 "
     "--sequence-parallel",
     CROSSED, "6:2", 1},
    {"context 2 beside shards, direct links",
     "mi300x 2;--model granite-4.0-h-micro --bf16 --seq 2048 --mbs 1 --cp 2 --cp-comm-type all_gather "
     "--fsdp hybrid --gbs 16",
     IN_ORDER, NULL, 1},
    {"tensor 4 beside shards over two nodes",
     "h800 2;--model nemotron-h-8b --bf16 --seq 4096 --mbs 1 --tp 4 --sequence-parallel --fsdp full --gbs 4 "
     "--stack torchtitan-2026",
     IN_ORDER, NULL, 1},
};

static size_t stride = 1;

/* The same order everywhere: Fisher and Yates, with the generator of C's own example. */
static void shuffle(int *gpu, int n)
{
    uint64_t state = 20;
    for (int i = 0; i < n; i++)
        gpu[i] = i;
    for (int i = n - 1; i > 0; i--) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        int j = (int)((state >> 33) % (uint64_t)(i + 1)), t = gpu[i];
        gpu[i] = gpu[j];
        gpu[j] = t;
    }
}

static double run_at(size_t i, int level, int choice, int unfold, int *reached, char note[300])
{
    struct ss_slow_link slow = {.factor = 4};
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = choice};
    struct scale_job s;
    struct ss_run run;
    int gpu[64];
    CU_ASSERT_FATAL(!scale_open(&s, cases[i].job));
    shuffle(gpu, 8 * ss_platform_nodes(s.platform));
    o.plan.placement = cases[i].placement == SHUFFLED ? gpu : cases[i].placement == CROSSED ? crossed : NULL;
    o.plan.level = level;
    o.plan.unfold = unfold;
    const char *factor = cases[i].slow ? strchr(cases[i].slow, ':') : NULL;
    const struct ss_straggler late = {factor ? atoi(cases[i].slow) : 0,
                                      factor ? strtod(factor + 1, NULL) : 1};
    if (factor) {
        o.plan.nstragglers = 1;
        o.plan.stragglers = &late;
    } else if (cases[i].slow) {
        snprintf(slow.name, sizeof slow.name, "%s", cases[i].slow);
        o.plan.nslow_links = 1;
        o.plan.slow_links = &slow;
    }
    CU_ASSERT_FATAL(!scale_run(&s, &o, &run));
    double t = run.result->iteration_s;
    *reached = run.result->level;
    CU_ASSERT_EQUAL(run.level_reason[0] != 0, *reached != level);
    CU_ASSERT_FATAL(run.plan->warnings.n <= (choice == SS_LEVEL_STAYS));
    snprintf(note, 300, "%s", run.plan->warnings.n ? run.plan->warnings.text[0] : "");
    ss_run_free(&run);
    scale_close(&s);
    return t;
}

/* The default is within 3 % of flows of every rank. Where it had to go to flows it says so; where somebody asks for chunks they
 * stay, and the one warning says by how much they are off. */
TEST(default_level)
{
    printf("\n%-40s %10s %10s %8s  level\n", "", "default ms", "flows ms", "off");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride) {
        unsigned before = CU_get_number_of_failures();
        char note[300], warning[300] = "";
        int level, other = SS_LEVEL_CHUNK;
        double t = run_at(i, SS_LEVEL_CHUNK, SS_LEVEL_FOLLOWS, 0, &level, note);
        double chunk = cases[i].flows ? run_at(i, SS_LEVEL_CHUNK, SS_LEVEL_STAYS, 0, &other, warning) : t;
        CU_ASSERT_EQUAL(other, SS_LEVEL_CHUNK);
        double flows = run_at(i, SS_LEVEL_FLOW, SS_LEVEL_STAYS, 1, &other, note);
        CU_ASSERT(fabs(t / flows - 1) <= 0.03);
        CU_ASSERT_EQUAL(level, cases[i].flows ? SS_LEVEL_FLOW : SS_LEVEL_CHUNK);
        CU_ASSERT_EQUAL(strstr(warning, "chunk level is") != NULL, cases[i].flows);
        CU_ASSERT_EQUAL(fabs(chunk / flows - 1) > 0.03, cases[i].flows);
        printf("%-40s %10.1f %10.1f %+7.2f%%  %s%s%s\n", cases[i].what, 1e3 * t, 1e3 * flows,
               100 * (t / flows - 1), ss_level_name(level), warning[0] ? "; asked for chunks: " : "",
               warning);
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "%s: %s\n", cases[i].what, cases[i].job);
    }
}

/* Two tensor groups of 8, each on both nodes, of which the second GPU of every NIC is: alone a group has the whole NIC. Whoever has a
 * NIC of its own loses nothing, and in step nobody counts. */
TEST(turns)
{
    static const struct {
        const char *job;
        int late; /* a rank that takes 1.05 times as long; 0: none */
        double taken;
    } turns[] = {{"a100-roce400 2;" DENSE TORN, 7, 0.5},
                 {"a100-roce400 2;" DENSE TORN, 0, 0},
                 {"h100 2;" DENSE TORN, 7, 0},
                 {"a100-roce400 2;" DENSE "--tp 16 --num-layers 4 --gbs 4", 7, 0}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        const struct ss_straggler late = {turns[i].late, 1.05};
        struct ss_run_options o = {.level_choice = SS_LEVEL_BLIND};
        struct scale_job s;
        struct ss_run run;
        o.plan.nstragglers = turns[i].late > 0;
        o.plan.stragglers = &late;
        CU_ASSERT_FATAL(!scale_open(&s, turns[i].job));
        CU_ASSERT_FATAL(!scale_run(&s, &o, &run));
        CU_ASSERT_DOUBLE_EQUAL(run.plan->shares[SS_COMM_TP].taken, turns[i].taken, 1e-12);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* ---- loads of links, pair by pair ---- */

#define TOPOLOGIES 200

struct tally {
    const struct ss_rail_links *links;
    double load[4096];
};

static void add_pairs(void *ctx, int link, double pairs)
{
    struct tally *t = ctx;
    t->load[link] += pairs;
}

static int link_named(const struct ss_rail_links *links, const char *name)
{
    char own[64];
    for (int i = 0; i < links->n + 2 * links->nodes * links->rails.gpus; i++) {
        ss_rail_link_name(links, i, own);
        if (!strcmp(own, name))
            return i;
    }
    return -1;
}

/* The links of rails by the platform's numbers. */
static int *number_links(const struct ss_platform *p, const struct ss_rail_links *links)
{
    int n = ss_platform_link_count(p), *of = malloc((size_t)n * sizeof *of);
    CU_ASSERT_PTR_NOT_NULL_FATAL(of);
    for (int i = 0; i < n; i++) {
        struct ss_link link;
        ss_platform_link(p, i, &link);
        of[i] = link_named(links, link.name);
    }
    return of;
}

/* Adds what crosses the links from one GPU to another; NVLinks where they are asked for, other links elsewhere. */
static void add_route(const struct ss_platform *p, const struct ss_rail_links *links, const int *number,
                      int from, int to, int nvlinks, double amount, struct tally *t)
{
    struct ss_route route;
    if (from == to)
        return;
    ss_platform_route(p, from, to, &route);
    for (int k = 0; k < route.nlinks; k++)
        if ((number[route.link[k]] >= links->n) == nvlinks)
            t->load[number[route.link[k]]] += amount;
}

enum { NEAR, HANDED, FAR };

/* Every pair on its own route, over the GPU of its rail; or, by the source's rail, to the GPU at the source's place of the node of the
 * target, which has a part of what goes to this node. */
static void sum_pairs(const struct ss_platform *p, const struct ss_rail_links *links,
                      const struct ss_exchange *e, int what, struct tally *t)
{
    const struct ss_rails rails = links->rails;
    int *number = number_links(p, links);
    for (int i = 0; i < e->n * e->n; i++) {
        int from = e->gpus[i / e->n], to = e->gpus[i % e->n], same = from / rails.gpus == to / rails.gpus;
        double amount = e->row ? e->row[i / e->n] * e->col[i % e->n] : 1;
        if (from == to || same != (what == NEAR))
            continue;
        if (e->by_source)
            to = to / rails.gpus * rails.gpus + from % rails.gpus;
        int via = ss_rails_via(&rails, from, to);
        add_route(p, links, number, from, via, what == HANDED, what == HANDED ? amount : 0, t);
        add_route(p, links, number, via, to, what == NEAR, what == HANDED ? 0 : amount, t);
    }
    free(number);
}

/* The same law for a matrix: with rows and columns drawn at random, on NICs and uplinks by either rail, and on NVLinks. */
static void try_matrix(const struct ss_platform *p, struct ss_rail_links *links, const int *gpus, int n)
{
    static void (*const visits[])(struct ss_rail_links *, const struct ss_exchange *, ss_pairs_visitor,
                                  void *) = {[NEAR] = ss_rail_links_visit_near,
                                             [HANDED] = ss_rail_links_visit_handed,
                                             [FAR] = ss_rail_links_visit};
    double row[128], col[128], total = 0;
    for (int i = 0; i < n; i++) {
        row[i] = rand() % 4 ? 0.25 + rand() % 8 : 0;
        col[i] = rand() % 4 ? 0.1 + rand() % 16 : 0;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            total += row[i] * col[j];
    for (int way = 0; way < 4; way++) {
        const struct ss_exchange e = {gpus, n, row, col, way == 3};
        struct tally counted = {0}, summed = {0};
        visits[way < 3 ? way : FAR](links, &e, add_pairs, &counted);
        sum_pairs(p, links, &e, way < 3 ? way : FAR, &summed);
        for (int l = 0; l < links->n + 2 * 8 * links->nodes; l++)
            CU_ASSERT_DOUBLE_EQUAL(counted.load[l], summed.load[l], 1e-12 * total);
    }
}

/* One member on each rail of each of N nodes, k on a leaf: k (N - k)/(N - 1) times what a NIC carries. */
static void expect_formula(const struct ss_rail_links *links, int nodes, int per_leaf, const struct tally *t)
{
    int nic = link_named(links, "nic-0-0.up"), uplink = link_named(links, "uplink-0-0.up");
    if (nodes % per_leaf == 0 && nodes > per_leaf)
        CU_ASSERT_DOUBLE_EQUAL(t->load[uplink] * (nodes - 1), t->load[nic] * per_leaf * (nodes - per_leaf),
                               1e-9);
}

static void try_topology(unsigned i)
{
    static const char *const platforms[] = {"h800", "a100-roce400"};
    int nodes = 2 + rand() % 15, per_leaf = 1 + rand() % nodes, all = i % 2 == 0, n = 0, gpus[128];
    const struct ss_platform_options options = {.nodes = nodes};
    struct tally counted = {0}, summed = {0};
    struct ss_rail_links links;
    struct ss_platform *p;
    char text[16];
    CU_ASSERT_FATAL(!ss_platform_load(platforms[i / 2 % 2], &options, &p, NULL));
    snprintf(text, sizeof text, "%d", per_leaf);
    CU_ASSERT_FATAL(!ss_platform_set(p, "ss.nodes_per_leaf", text, NULL));
    CU_ASSERT_FATAL(!ss_rail_links_init(&links, p));
    CU_ASSERT_FATAL(links.n + 2 * 8 * nodes <= (int)(sizeof counted.load / sizeof *counted.load));
    for (int g = 0; g < 8 * nodes; g++)
        if (all || rand() % 3 == 0)
            gpus[n++] = g;
    const struct ss_exchange even = {.gpus = gpus, .n = n};
    ss_rail_links_visit(&links, &even, add_pairs, &counted);
    sum_pairs(p, &links, &even, FAR, &summed);
    for (int l = 0; l < links.n; l++)
        CU_ASSERT_EQUAL(counted.load[l], summed.load[l]);
    try_matrix(p, &links, gpus, n);
    if (all)
        expect_formula(&links, nodes, per_leaf, &counted);
    ss_rail_links_free(&links);
    ss_platform_free(p);
}

TEST(loads)
{
    srand(1);
    for (unsigned i = 0; i < TOPOLOGIES / stride; i++)
        try_topology(i);
}

SUITE(shares)
{
    stride = suite_stride(argc, argv, 4);
    return suite_file(argv[0], NULL, NULL);
}
