/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of experts, ranks and nodes against figures worked out by hand and against tokens drawn one by one. */
#include <math.h>
#include <stdlib.h>

#include "base/cache.h"
#include "cost/load_internal.h"
#include "job/moe_loads.h"
#include "scale_job.h"
#include "stepsim/job.h"
#include "suite.h"

/* DeepSeek-V3 over 8 nodes of 8 GPUs. */
static const struct ss_load_input deepseek = {.kind = SS_LOAD_BALANCED,
                                              .experts = 256,
                                              .top_k = 8,
                                              .groups = 8,
                                              .group_topk = 4,
                                              .ep = 64,
                                              .nodes = 8,
                                              .tokens = 64 * 4096};

static struct ss_load_figures figures(const struct ss_load_input *in)
{
    struct ss_load_figures f = {.source = 0};
    CU_ASSERT_EQUAL(ss_load_figures(in, &f, NULL), 0);
    return f;
}

TEST(balanced)
{
    struct ss_load_input in = deepseek;
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_EQUAL(f.rank.mean, 1);
    CU_ASSERT_EQUAL(f.rank.p99, 1);
    CU_ASSERT_EQUAL(f.expert.mean, 1);
    CU_ASSERT_EQUAL(f.coldest_rank, 1);
    CU_ASSERT_EQUAL(f.dropped, 0);
    CU_ASSERT_EQUAL(f.source, 1);
    CU_ASSERT_DOUBLE_EQUAL(f.hottest_rank_tokens, f.ranks, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.hottest_node_tokens, f.nodes, 1e-12);
    CU_ASSERT_EQUAL(f.expert_copies, 64 * 4096 * 8 / 256.0);
    /* 4096 x 8 / 256 = 128 copies of a source: a capacity of 0.75 keeps 96 of them, one of 1.25 makes room for 160. */
    in.capacity_factor = 0.75;
    f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.dropped, 0.25, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, 0.75, 1e-15);
    in.capacity_factor = 1.25;
    CU_ASSERT_EQUAL(figures(&in).rank.mean, 1);
    in.pad_to_capacity = 1;
    f = figures(&in);
    CU_ASSERT_EQUAL(f.dropped, 0);
    CU_ASSERT_EQUAL(f.rank.mean, 1.25);
    CU_ASSERT_EQUAL(f.expert_copies, 160 * 64);
}

/* What a cache keeps is what is computed: of each input its own, with what ranks send and get or without. */
TEST(kept)
{
    struct ss_load_input inputs[6] = {deepseek, deepseek, deepseek, deepseek, deepseek, deepseek};
    struct ss_cache *cache;
    inputs[1].kind = SS_LOAD_ZIPF;
    inputs[1].exponent = 0.5;
    inputs[2].tokens *= 2;
    inputs[2].capacity_factor = 1.25;
    inputs[3].nodes = 16;
    inputs[4].kind = inputs[5].kind = SS_LOAD_WORKLOAD;
    inputs[4].workload = "W1_hot_expert_set";
    inputs[5].workload = "W4_source_ragged";
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 12; i++) {
            const struct ss_load_input *in = &inputs[i / 2];
            double room[2][3 * 64 + 16];
            struct ss_load_figures f[2];
            memset(room, 0, sizeof room);
            memset(f, 0, sizeof f);
            for (int kept = 0; kept < 2; kept++) {
                double *r = room[kept];
                struct ss_load_ranks all = {r, r + 64, r + 128, r + 144}, none = {NULL, NULL, NULL, NULL};
                struct ss_load_ranks *ranks = i % 2 ? &all : &none;
                CU_ASSERT_EQUAL(ss_load_by_rank_kept(kept ? cache : NULL, in, &f[kept], ranks, NULL), 0);
            }
            CU_ASSERT_EQUAL(memcmp(&f[0], &f[1], sizeof f[0]), 0);
            CU_ASSERT_EQUAL(memcmp(room[0], room[1], sizeof room[0]), 0);
            /* the first turn computes all twelve and keeps them, the second takes what is kept and computes none */
            const struct ss_cache_counts counts = ss_cache_counts(cache);
            CU_ASSERT_EQUAL(counts.put, turn ? 12 : i + 1);
            CU_ASSERT_EQUAL(counts.found, turn ? i + 1 : 0);
        }
    ss_cache_close(cache);
}

/* C(n - m, k) / C(n, k): none of k of n is among m. */
static double none(int n, int m, int k)
{
    double p = 1;
    for (int i = 0; i < k; i++)
        p *= (double)(n - m - i) / (n - i);
    return p;
}

TEST(reach)
{
    struct ss_load_input in = deepseek;
    in.group_topk = 0;
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.nodes, 8 * (1 - none(256, 32, 8)), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.ranks, 64 * (1 - none(256, 4, 8)), 1e-11);
    CU_ASSERT_DOUBLE_EQUAL(f.remote_nodes, f.nodes * 7 / 8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.remote_ranks, f.ranks * 63 / 64, 1e-12);
    in.top_k = 1;
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).ranks, 1, 1e-12);
    in.ep = in.nodes = 1;
    CU_ASSERT_EQUAL(figures(&in).remote_ranks, 0);
}

/* Two of four experts in two groups, one group a token: both experts are of the group of the better one, whose node is
 * the only one. Two of six in three groups, two groups a token: the second expert is, of five, the first one's neighbour once. */
TEST(group_limit)
{
    struct ss_load_input in = {
        .experts = 4, .top_k = 2, .groups = 2, .group_topk = 1, .ep = 4, .nodes = 2, .tokens = 64};
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.nodes, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.ranks, 2, 1e-12);
    in = (struct ss_load_input){
        .experts = 6, .top_k = 2, .groups = 3, .group_topk = 2, .ep = 3, .nodes = 3, .tokens = 64};
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).nodes, 2 - 0.2, 1e-12);
    /* Two of six in two groups of three, one group a token, over three nodes, of which the second has an expert of each group: two of
     * {0, 1, 2} touch the first node always, and the second unless they are {0, 1}. */
    in = (struct ss_load_input){
        .experts = 6, .top_k = 2, .groups = 2, .group_topk = 1, .ep = 3, .nodes = 3, .tokens = 64};
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).nodes, 1 + 2.0 / 3, 1e-12);
}

/* Two ranks share a fixed number of copies, so the hotter one is |normal| above the mean. One choice of two experts
 * has a variance of 1/4 a token; two choices of four have 2 1/2 1/2 (4 - 2) / (4 - 1) = 1/3, without replacement. */
TEST(uniform)
{
    struct ss_load_input in = {
        .kind = SS_LOAD_UNIFORM, .experts = 2, .top_k = 1, .ep = 2, .nodes = 1, .tokens = 1e6};
    const double half_normal = sqrt(2 / 3.141592653589793);
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean - 1, half_normal * sqrt(1e6 / 4) / 0.5e6, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(f.coldest_rank, 2 - f.rank.mean, 1e-7);
    in.experts = 4;
    in.top_k = 2;
    f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean - 1, half_normal * sqrt(1e6 / 3) / 1e6, 1e-7);
    /* Every token chooses every expert: nothing is left to chance. */
    in.top_k = 4;
    f = figures(&in);
    CU_ASSERT_EQUAL(f.rank.p99, 1);
    CU_ASSERT_EQUAL(f.expert.mean, 1);
}

/* Random numbers of the tests' own. */
static double uniform(void)
{
    static uint64_t state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 1) * 0x1p-53;
}

/* top_k of the experts, all as likely (Floyd). */
static void choose(const struct ss_load_input *in, int *chosen)
{
    char taken[256] = {0};
    for (int j = in->experts - in->top_k, n = 0; j < in->experts; j++) {
        int x = (int)(uniform() * (j + 1));
        x = x > j || taken[x] ? j : x;
        taken[x] = 1;
        chosen[n++] = x;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define DRAWS 600
struct drawn {
    double rank[DRAWS], expert[DRAWS], coldest, dropped;
};

/* One pass, token by token. */
static void draw(const struct ss_load_input *in, int pass, struct drawn *d)
{
    const int per_source = (int)in->tokens / in->ep, local = in->experts / in->ep;
    const double copies = in->tokens * in->top_k;
    const double capacity =
        in->capacity_factor > 0 ? ceil(in->capacity_factor * per_source * in->top_k / in->experts) : INFINITY;
    double rank[256] = {0}, expert[256] = {0}, hottest = 0, coldest = INFINITY, kept = 0, top = 0;
    for (int s = 0; s < in->ep; s++) {
        int count[256] = {0}, chosen[SS_LOAD_TOP_K_MAX];
        for (int t = 0; t < per_source; t++) {
            choose(in, chosen);
            for (int i = 0; i < in->top_k; i++)
                count[chosen[i]]++;
        }
        for (int e = 0; e < in->experts; e++)
            expert[e] += fmin(count[e], capacity);
    }
    for (int e = 0; e < in->experts; e++) {
        rank[e / local] += expert[e];
        top = fmax(top, expert[e]);
        kept += expert[e];
    }
    for (int r = 0; r < in->ep; r++) {
        hottest = fmax(hottest, rank[r]);
        coldest = fmin(coldest, rank[r]);
    }
    d->rank[pass] = hottest * in->ep / copies;
    d->expert[pass] = top * in->experts / copies;
    d->coldest += coldest * in->ep / copies / DRAWS;
    d->dropped += (1 - kept / copies) / DRAWS;
}

static double mean(const double *x)
{
    double sum = 0;
    for (int i = 0; i < DRAWS; i++)
        sum += x[i];
    return sum / DRAWS;
}

/* The closed forms against tokens that are drawn one by one: within 0.4 % of the even share where the mean of an expert's
 * copies is 16 or more, percentiles within 1.5 %, the 99th, which 6 draws are above, within 3 %. */
TEST(drawn)
{
    const struct ss_load_input cases[] = {
        {.kind = SS_LOAD_UNIFORM, .experts = 8, .top_k = 2, .ep = 4, .nodes = 2, .tokens = 512},
        {.kind = SS_LOAD_UNIFORM, .experts = 64, .top_k = 6, .ep = 8, .nodes = 4, .tokens = 1024},
        {.kind = SS_LOAD_UNIFORM,
         .experts = 64,
         .top_k = 6,
         .ep = 8,
         .nodes = 4,
         .tokens = 2048,
         .capacity_factor = 1.1},
        {.kind = SS_LOAD_UNIFORM, .experts = 128, .top_k = 8, .ep = 32, .nodes = 4, .tokens = 1024},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drawn d = {.coldest = 0};
        struct ss_load_figures f = figures(&cases[i]);
        for (int pass = 0; pass < DRAWS; pass++)
            draw(&cases[i], pass, &d);
        qsort(d.rank, DRAWS, sizeof *d.rank, ascending);
        CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, mean(d.rank), 0.004);
        CU_ASSERT_DOUBLE_EQUAL(f.rank.p50, d.rank[DRAWS / 2], 0.015);
        CU_ASSERT_DOUBLE_EQUAL(f.rank.p90, d.rank[DRAWS * 9 / 10], 0.015);
        CU_ASSERT_DOUBLE_EQUAL(f.rank.p99, d.rank[DRAWS * 99 / 100], 0.03);
        CU_ASSERT_DOUBLE_EQUAL(f.coldest_rank, d.coldest, 0.004);
        CU_ASSERT_DOUBLE_EQUAL(f.dropped, d.dropped, 0.004);
        if (cases[i].capacity_factor == 0)
            CU_ASSERT_DOUBLE_EQUAL(f.expert.mean, mean(d.expert), 0.006);
    }
}

/* The hottest rank's load, and the hottest expert's, never fall with the exponent; 0 is the uniform load. */
TEST(zipf)
{
    const struct ss_load_input shapes[] = {
        deepseek,
        {.experts = 8, .top_k = 2, .ep = 4, .nodes = 1, .tokens = 512},
        {.experts = 128, .top_k = 8, .ep = 16, .nodes = 2, .tokens = 65536},
        {.experts = 60, .top_k = 4, .ep = 60, .nodes = 4, .tokens = 6000},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct ss_load_input in = shapes[i];
        in.kind = SS_LOAD_UNIFORM;
        struct ss_load_figures before = figures(&in), f;
        in.kind = SS_LOAD_ZIPF;
        f = figures(&in);
        CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, before.rank.mean, 1e-12);
        for (in.exponent = 0.05; in.exponent < 4; in.exponent += 0.05) {
            f = figures(&in);
            CU_ASSERT(f.rank.mean >= before.rank.mean - 1e-9);
            CU_ASSERT(f.expert.mean >= before.expert.mean - 1e-9);
            CU_ASSERT(f.hottest_rank_tokens >= before.hottest_rank_tokens - 1e-6);
            CU_ASSERT(f.hottest_node_tokens >= before.hottest_node_tokens - 1e-6);
            CU_ASSERT(f.rank.mean <= in.ep + 1e-9 && f.coldest_rank <= 1);
            before = f;
        }
        /* At last the hottest expert is in every token, and no expert can be in more. */
        CU_ASSERT_DOUBLE_EQUAL(f.expert.mean, (double)in.experts / in.top_k, 1e-6);
    }
    /* One choice of four experts by 1, 1/2, 1/3, 1/4 of 25/12: half of the tokens less one in fifty are of the first. */
    struct ss_load_input in = {
        .kind = SS_LOAD_ZIPF, .exponent = 1, .experts = 4, .top_k = 1, .ep = 4, .nodes = 1, .tokens = 1e8};
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).rank.mean, 4 * 12 / 25.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).coldest_rank, 3 / 25.0 * 4, 1e-6);
}

TEST(capacity)
{
    struct ss_load_input in = deepseek;
    in.kind = SS_LOAD_ZIPF;
    in.exponent = 0.5;
    in.capacity_factor = 1.5;
    struct ss_load_figures f = figures(&in);
    /* What is kept is what the experts work on; no expert is above 1.5 x 128 = 192 copies of a source. */
    CU_ASSERT_DOUBLE_EQUAL(f.expert_copies * in.experts, in.tokens * in.top_k * (1 - f.dropped), 1e-3);
    CU_ASSERT(f.dropped > 0.1 && f.dropped < 0.5);
    CU_ASSERT(f.expert.p99 <= 1.5 + 1e-12 && f.rank.mean <= 1.5 + 1e-12);
    double dropped = f.dropped;
    in.pad_to_capacity = 1;
    f = figures(&in);
    CU_ASSERT_EQUAL(f.rank.mean, 1.5);
    CU_ASSERT_EQUAL(f.coldest_rank, 1.5);
    CU_ASSERT_EQUAL(f.expert_copies, 192 * 64);
    CU_ASSERT_DOUBLE_EQUAL(f.dropped, dropped, 1e-15);
    /* A larger capacity never drops more. */
    for (in.capacity_factor = 0.25; in.capacity_factor < 40; in.capacity_factor *= 1.5) {
        double less = figures(&in).dropped;
        in.capacity_factor *= 1.1;
        CU_ASSERT(figures(&in).dropped <= less + 1e-12);
        in.capacity_factor /= 1.1;
    }
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).dropped, 0, 1e-12);
}

/* All copies on the experts of one rank; loads that ask for more copies of an expert than there are tokens. */
TEST(file)
{
    const double one_rank[] = {1, 1, 0, 0, 0, 0, 0, 0}, skewed[] = {9, 1, 1, 1, 1, 1, 1, 1};
    struct ss_load_input in = {.kind = SS_LOAD_FILE,
                               .loads = one_rank,
                               .layers = 1,
                               .layer = 0,
                               .experts = 8,
                               .top_k = 2,
                               .ep = 4,
                               .nodes = 2,
                               .tokens = 1000};
    struct ss_load_figures f = figures(&in);
    struct ss_error err;
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.p99, 4, 1e-12);
    CU_ASSERT_EQUAL(f.coldest_rank, 0);
    CU_ASSERT_DOUBLE_EQUAL(f.ranks, 1, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(f.hottest_rank_tokens, 4, 1e-3); /* all tokens, once */
    CU_ASSERT_DOUBLE_EQUAL(f.hottest_node_tokens, 2, 1e-3);
    /* 9/16 of 2 copies a token are more than one: the expert is in every token, the others share what is left. */
    in.loads = skewed;
    f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.expert.mean, 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, (1 + 1 / 7.0) * 2, 1e-9);
    /* Two layers, each half of the passes. */
    double both[16];
    memcpy(both, one_rank, sizeof one_rank);
    memcpy(both + 8, skewed, sizeof skewed);
    in.loads = both;
    in.layers = 2;
    in.layer = -1;
    double first = 4, second = f.rank.mean;
    f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, (first + second) / 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.p90, first, 1e-6);
    in.top_k = 3;
    in.layer = 0;
    CU_ASSERT_EQUAL(ss_load_figures(&in, &f, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "only 2 experts have a load, a token chooses 3");
    in.layer = 2;
    CU_ASSERT_EQUAL(ss_load_figures(&in, &f, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "no loads of layer 2: there are 2 layers");
    in.loads = NULL;
    CU_ASSERT_EQUAL(ss_load_figures(&in, &f, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "no loads of the experts were read");
}

/* Layers in the order of their numbers, rows in any; what no row names is 0. */
TEST(reader)
{
    static const char text[] = "expert,note,load,layer\n3,,2,7\n0,\"a,b\",0.5,7\n\n1,,4,2\n2,,4e0,2\n";
    struct ss_moe_loads loads;
    CU_ASSERT_EQUAL_FATAL(ss_moe_loads_parse(text, sizeof text - 1, "a.csv", 4, 2, &loads, NULL), 0);
    const double expected[] = {0, 1, 1, 0, 0.25, 0, 0, 1};
    CU_ASSERT_EQUAL(loads.layers, 2);
    CU_ASSERT_EQUAL(loads.experts, 4);
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(loads.load[i], expected[i]);
    free(loads.load);
}

TEST(reader_refuses)
{
    static const struct {
        const char *text, *message;
        int line;
    } bad[] = {
        {"layer,load\n0,1\n", "no column \"expert\": the first line is layer,expert,load", 1},
        {"layer,expert,load\n0,0,1\n0,4,1\n", "expert \"4\" is no whole number in 0..3", 3},
        {"layer,expert,load\n-1,0,1\n", "layer \"-1\" is no whole number in 0..99999", 2},
        {"layer,expert,load\n0,0,-2\n", "load \"-2\" is no number >= 0", 2},
        {"layer,expert,load\n0,0,nan\n", "load \"nan\" is no number >= 0", 2},
        {"layer,expert,load\n0,0,1\n0,1,1\n0,0,2\n", "layer 0, expert 0 stands in line 2 too", 4},
        {"layer,expert,load\n5,0,1\n5,1,0\n", "layer 5 has a load on 1 experts, a token chooses 2", 2},
        {"layer,expert,load\n", "the file has no loads", 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ss_moe_loads loads;
        struct ss_error err = {.line = -1};
        CU_ASSERT_EQUAL(ss_moe_loads_parse(bad[i].text, strlen(bad[i].text), "a.csv", 4, 2, &loads, &err),
                        SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.message, bad[i].message);
        CU_ASSERT_STRING_EQUAL(err.file, "a.csv");
        CU_ASSERT_EQUAL(err.line, bad[i].line);
    }
}

/* The bias is drawn of the seed alone; without a deviation all experts are alike; more of it is more skew. */
TEST(biased)
{
    struct ss_load_input in = {
        .kind = SS_LOAD_BIASED, .experts = 64, .top_k = 6, .ep = 8, .nodes = 1, .tokens = 4096, .seed = 1};
    struct ss_load_figures before = figures(&in), f;
    in.kind = SS_LOAD_UNIFORM;
    CU_ASSERT_DOUBLE_EQUAL(before.rank.mean, figures(&in).rank.mean, 1e-6);
    in.kind = SS_LOAD_BIASED;
    for (in.exponent = 0.125; in.exponent < 8; in.exponent *= 2) {
        f = figures(&in);
        CU_ASSERT(f.rank.mean > before.rank.mean && f.rank.p99 >= f.rank.p50);
        before = f;
    }
    /* Choices that are all but certain: of 64 experts the hottest rank of 8 has 6 of 6 at most, and figures are numbers. */
    for (in.exponent = 8; in.exponent <= 100; in.exponent += 4) {
        f = figures(&in);
        CU_ASSERT(f.rank.mean >= 1 && f.rank.mean <= 8 && f.rank.p50 >= 1 && f.rank.p99 <= 8.000001);
        CU_ASSERT(f.expert.mean >= 1 && f.expert.p99 <= 10.7 && f.ranks >= 1 && f.ranks <= 6);
    }
    in.exponent = 1;
    f = figures(&in);
    CU_ASSERT_EQUAL(f.rank.mean, figures(&in).rank.mean);
    in.seed = 2;
    CU_ASSERT_NOT_EQUAL(f.rank.mean, figures(&in).rank.mean);
}

/* Figures that the request publishes of its workloads: the hottest expert over the mean on 4 ranks of 8 experts, of 128 tokens
 * with 2 experts each and 512 with 4; one draw each, so within what draws differ by. */
TEST(workloads)
{
    const struct {
        const char *name;
        double few, many;
    } published[] = {{"W0_balanced", 1, 1},
                     {"W1_hot_expert_set", 3.312, 1.781},
                     {"W2_hot_rank", 3.219, 1.770},
                     {"W4_source_ragged", 1.281, 1.086},
                     {"W5_zero_expert_rank", 2.156, 2.0},
                     {"W6_rotating_hotspot", 3.312, 1.770}};
    struct ss_load_input in = {.kind = SS_LOAD_WORKLOAD, .experts = 8, .ep = 4, .nodes = 1};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        in.workload = published[i].name;
        in.top_k = 2;
        in.tokens = 4 * 128;
        CU_ASSERT_DOUBLE_EQUAL(figures(&in).expert.mean, published[i].few, 0.1);
        in.top_k = 4;
        in.tokens = 4 * 512;
        CU_ASSERT_DOUBLE_EQUAL(figures(&in).expert.mean, published[i].many, 0.035);
    }
    /* A burst of one step in four: half of its tokens on two experts of eight. The other steps are as even as W4's. */
    in.workload = "W7_burst";
    in.top_k = 2;
    in.tokens = 4e8;
    struct ss_load_figures f = figures(&in);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.mean, 0.75 * 1 + 0.25 * (0.5 + 0.5 * 4), 0.001);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.p99, 2.5, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(f.rank.p50, 1, 0.01);
    /* A token's two experts are neighbours of one rank; every other expert hot loads all ranks alike. */
    in.workload = "W0_balanced";
    CU_ASSERT_EQUAL(figures(&in).ranks, 1);
    in.workload = "W3_spread_hot_experts";
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).rank.mean, 1, 0.002);
    CU_ASSERT_DOUBLE_EQUAL(figures(&in).expert.mean, 0.75 * 2 + 0.25, 0.002);
    in.workload = "W4_source_ragged";
    CU_ASSERT_EQUAL(figures(&in).source, 1.5);
    struct ss_error err;
    in.workload = "W8";
    CU_ASSERT_EQUAL(ss_load_figures(&in, &f, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "there is no workload \"W8\" of experts: W0_balanced to W7_burst");
}

/* What ranks and nodes get adds up to what is sent, and the hottest of them is that of the figures, less the scatter. */
TEST(by_rank)
{
    static const char *const workloads[] = {"W1_hot_expert_set", "W4_source_ragged", "W6_rotating_hotspot",
                                            "W7_burst"};
    double copies[64], tokens[64], nodes[8], sources[64];
    struct ss_load_ranks ranks = {copies, tokens, nodes, sources};
    for (int i = 0; i < 8; i++) {
        struct ss_load_input in = deepseek;
        struct ss_load_figures f, alone;
        double sum[4] = {0}, most = 0;
        in.kind = i < 4 ? SS_LOAD_WORKLOAD : i < 6 ? SS_LOAD_ZIPF : i < 7 ? SS_LOAD_BIASED : SS_LOAD_UNIFORM;
        in.workload = i < 4 ? workloads[i] : NULL;
        in.exponent = i == 4 ? 0.3 : 1;
        in.capacity_factor = i == 5 ? 1.5 : 0;
        CU_ASSERT_EQUAL_FATAL(ss_load_by_rank(&in, &f, &ranks, NULL), 0);
        alone = figures(&in);
        CU_ASSERT_EQUAL(f.rank.mean, alone.rank.mean);
        CU_ASSERT_EQUAL(f.hottest_rank_tokens, alone.hottest_rank_tokens);
        for (int r = 0; r < in.ep; r++) {
            sum[0] += copies[r];
            sum[1] += tokens[r];
            sum[2] += sources[r];
            sum[3] += r < in.nodes ? nodes[r] : 0;
            most = fmax(most, copies[r]);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum[0], in.ep, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(sum[1], f.ranks, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(sum[2], in.ep, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(sum[3], f.nodes, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(sources[in.ep - 1], f.source, 1e-12);
        most *= 1 - f.dropped;
        CU_ASSERT(most <= f.rank.mean * (1 + 1e-3) && most > f.rank.mean * 0.9);
    }
}

/* Shares of passes that differ: the pattern of the one with most skew, 4 times the mean, brought to the mean of both hottest, 2.5. */
TEST(profile)
{
    const double first[] = {4, 0, 0, 0}, second[] = {1, 1, 1, 1};
    double share[4];
    struct ss_load_profile p = {.n = 4, .share = share};
    ss_load_profile_add(&p, second, 0.5);
    ss_load_profile_add(&p, first, 0.5);
    ss_load_profile_end(&p, 10);
    CU_ASSERT_DOUBLE_EQUAL(share[0], 25, 1e-12);
    for (int i = 1; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(share[i], 5, 1e-12);
}

/* A whole iteration never falls with skew, whatever moves the tokens; nor does what the fullest stage holds. */
TEST(time)
{
    static const char *const jobs[] = {
        "h800 2;--model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 --gbs 32 --ep 16",
        "h800 2;--model mixtral-8x7b --bf16 --seq 4096 --mbs 1 --gbs 16 --tp 2 --pp 2 --ep 4 "
        "--sequence-parallel",
        "h800 8;--model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 --gbs 64 --ep 64 --moe-token-dispatcher-type "
        "flex "
        "--moe-enable-deepep",
        "h800 2;--model mixtral-8x7b --bf16 --seq 4096 --mbs 1 --gbs 16 --tp 2 --ep 4 --sequence-parallel "
        "--moe-token-dispatcher-type allgather",
        "h800 4 ss.nodes_per_leaf=2 ss.oversubscription=4;--model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 "
        "--gbs 32 "
        "--ep 32",
        "h800 4 ss.nodes_per_leaf=1 ss.oversubscription=4;--model qwen3-30b-a3b --bf16 --seq 4096 --mbs 1 "
        "--gbs 32 "
        "--ep 32 --moe-token-dispatcher-type flex --moe-enable-deepep"};
    static const char *const exponents[] = {"0", "0.01", "0.1", "0.3", "0.6", "1", "2", "8"};
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        double seconds = 0, bytes = 0;
        for (size_t x = 0; x < sizeof exponents / sizeof *exponents; x++) {
            char text[512];
            struct scale_job s;
            struct ss_run run;
            snprintf(text, sizeof text, "%s --moe-load zipf:%s", jobs[j], exponents[x]);
            CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
            CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
            CU_ASSERT(run.summary.iteration_s >= seconds * (1 - 1e-12));
            CU_ASSERT(run.summary.peak_device >= bytes);
            seconds = run.summary.iteration_s;
            bytes = run.summary.peak_device;
            ss_run_free(&run);
            scale_close(&s);
        }
    }
}

TEST(refused)
{
    struct ss_error err;
    struct ss_load_figures f;
    const struct ss_load_input wrong[] = {
        {.experts = 8, .top_k = 9, .ep = 1, .nodes = 1, .tokens = 1},
        {.experts = 8, .top_k = 2, .ep = 3, .nodes = 1, .tokens = 1},
        {.experts = 8, .top_k = 2, .ep = 4, .nodes = 3, .tokens = 1},
        {.experts = 8, .top_k = 4, .ep = 1, .nodes = 1, .groups = 4, .group_topk = 1, .tokens = 1},
        {.experts = 8, .top_k = 2, .ep = 1, .nodes = 1, .tokens = 0},
        {.experts = 8, .top_k = 2, .ep = 1, .nodes = 1, .tokens = 1, .capacity_factor = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(ss_load_figures(&wrong[i], &f, &err), SS_ERR_INPUT);
}
