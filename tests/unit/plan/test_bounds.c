/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of a rank's slots, by hand. */

#include "base/base.h"
#include "plan/bounds.h"
#include "plan/order.h"
#include "plan/plan_internal.h"
#include "stepsim/import.h"
#include "stepsim/job.h"
#include "stepsim/params.h"
#include "stepsim/scenario.h"
#include "suite.h"

/* Forwards before the first backward: p - r - 1 of one chunk, 2 (p - r - 1) + (v - 1) p of several, no more than there are. */
TEST(warmup)
{
    struct ss_job job;
    memset(&job, 0, sizeof job);
    job.pp = 4;
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 8), 3);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 3, 8), 0);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 2), 2);
    job.virtual_stages = 2;
    CU_ASSERT_EQUAL_FATAL(ss_job_chunks(&job), 2);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 8), 10);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 3, 8), 4);
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 4), 8);
    job.microbatch_group_size = 6;
    CU_ASSERT_EQUAL(ss_plan_bounds_warmup(&job, 0, 12), 12);
}

/* Host and GPU are busy; the later one decides. A host that ends each forward with the GPU begins each backward behind one with it. */
TEST(ahead)
{
    struct ss_stage_bounds s = {.forward = 1, .backward = 2, .host = {2, 2}, .waits = {1, 0.5}};
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 4);
    s.host[SS_PHASE_F] = 0.5;
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 3);
    s.in_step[SS_PHASE_F] = 1; /* the forward has its waits */
    s.host[SS_PHASE_F] = s.waits[SS_PHASE_F] = 0;
    s.most_back = 2.5;
    s.least_back[0] = 2;
    s.least_back[1] = 2.25; /* what the host takes for each of the last three backwards */
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 3.5 - 3 * 0.25);
    s.in_step[SS_PHASE_B] = 1;
    CU_ASSERT_EQUAL(ss_plan_bounds_ahead(&s, 8, 3), 8 * 3);
}

/* Two stages of a node each: 4,096 tokens of 4,096 numbers, 2 bytes each, in 8 slices, by a NIC each. */
TEST(messages)
{
    static const char *const layouts[] = {
        "--nodes 2 --tp 8 --sequence-parallel --pp 2 --vp 4",
        "--nodes 1 --tp 4 --sequence-parallel --pp 2 --vp 4",
        "--nodes 2 --tp 8 --sequence-parallel --pp 2 --untie-embeddings-and-output-weights",
        "--nodes 2 --tp 8 --sequence-parallel --pp 2"};
    struct ss_plan_bounds b = {.hops = 3, .wrap = 2};
    CU_ASSERT_EQUAL(ss_plan_bounds_messages(&b, 1), 2 * 3);
    CU_ASSERT_EQUAL(ss_plan_bounds_messages(&b, 4), 2 * (4 * 3 + 3 * 2));
    for (int i = 0; i < 4; i++) {
        char text[512];
        struct ss_scenario *s;
        struct ss_request r;
        snprintf(text, sizeof text, "--platform h100 --model %s --bf16 --seq 4096 --gbs 16 --mbs 1 %s",
                 i < 2 ? "llama3.1-8b" : "llama3.2-1b", layouts[i]);
        ss_request_init(&r);
        CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "words", NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_plan_bounds_find(s->job, s->stack, s->platform, 0, NULL, &b, NULL), 0);
        double rate = ss_platform_get(s->platform, SS_PROP_NIC_BANDWIDTH) *
                      ss_platform_card(s->platform)->nic_efficiency;
        double message = i < 2 ? 4096. * 4096 * 2 / 8 / rate : 4096. * 2048 * 2 / 8 / rate;
        CU_ASSERT_DOUBLE_EQUAL(b.hops, i == 1 ? 0 : message, 1e-12 * message);
        CU_ASSERT_DOUBLE_EQUAL(b.wrap, i == 1 ? 0 : message, 1e-12 * message);
        /* 128,256 rows (padded to 1,024) of 2,048 numbers, 4 bytes each */
        CU_ASSERT_DOUBLE_EQUAL(b.tied, i == 3 ? 129024. / 8 * 2048 * 4 / rate : 0, 1e-12);
        ss_scenario_free(s);
        ss_request_free(&r);
    }
}

/* Microbatches follow each other on a chunk in groups of p, or as many as the job says; one chunk has all. */
TEST(group)
{
    struct ss_job job;
    memset(&job, 0, sizeof job);
    job.pp = 4;
    CU_ASSERT_EQUAL(ss_plan_bounds_group(&job, 7), 1);
    job.virtual_stages = 2;
    CU_ASSERT_EQUAL(ss_plan_bounds_group(&job, 8), 4);
    CU_ASSERT_EQUAL(ss_plan_bounds_group(&job, 6), 0);
    job.microbatch_group_size = 6;
    CU_ASSERT_EQUAL(ss_plan_bounds_group(&job, 12), 6);
}

/* ---- with a cache ---- */

#define MIXTURE                                                                                              \
    "--platform h800 --nodes 16 --model qwen3-30b-a3b --bf16 --seq 4096 --gbs 512 --mbs 2 --pp 4 --ep 8 "
#define DENSE                                                                                                \
    "--platform h100 --nodes 8 --model llama3.1-8b --bf16 --seq 8192 --gbs 128 --mbs 1 --tp 2 --cp 2 "
static const char *const jobs[] = {
    MIXTURE,
    MIXTURE "--mbs 4 --recompute full",
    MIXTURE "--tp 2 --etp 1 --sequence-parallel --moe-flex-dispatcher-backend deepep "
            "--moe-token-dispatcher-type flex",
    MIXTURE "--moe-load zipf:0.5",
    MIXTURE "--use-distributed-optimizer --set ss.oversubscription=3",
    DENSE "--pp 4 --vp 2",
    DENSE "--pp 4 --vp 4 --recompute selective",
    DENSE "--cp 1 --pp 2 --use-tp-pp-dp-mapping",
    DENSE "--fsdp hybrid",
};

static struct ss_scenario *open_job(const char *words)
{
    struct ss_scenario *s = NULL;
    struct ss_request r;
    struct ss_error err = {0};
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, words, strlen(words), "job", &err), 0);
    int rc = ss_scenario_build(&r, NULL, &s, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n", words, err.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    ss_request_free(&r);
    return s;
}

/* A cache has the groups of the first rank of each stage, which jobs with other layers share. Bounds are those of all groups. */
TEST(kept)
{
    struct ss_cache *cache;
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (size_t i = 0; i < SS_ARRAY_LEN(jobs); i++)
        for (int exact = 0; exact < 2; exact++) {
            struct ss_scenario *s = open_job(jobs[i]);
            struct ss_plan_bounds with, without;
            CU_ASSERT_EQUAL(ss_plan_bounds_find(s->job, s->stack, s->platform, exact, NULL, &without, NULL),
                            0);
            for (int again = 0; again < 2; again++) {
                CU_ASSERT_EQUAL(ss_plan_bounds_find(s->job, s->stack, s->platform, exact, cache, &with, NULL),
                                0);
                CU_ASSERT_EQUAL(memcmp(&with, &without, sizeof with), 0);
            }
            ss_scenario_free(s);
        }
    ss_cache_close(cache);
}

/* A value of a flag, by chance. */
static void add_flag(uint64_t *seed, char *words, size_t size, const char *const *choice, int n)
{
    *seed = ss_mix64(*seed + 1);
    ss_append(words, size, " %s", choice[*seed % (uint64_t)n]);
}
#define ADD(...)                                                                                             \
    add_flag(&seed, words, sizeof words, (const char *const[]){__VA_ARGS__},                                 \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A layout by chance; 0: the framework refuses it. */
static struct ss_scenario *open_layout(uint64_t seed)
{
    char words[1024] = "--bf16 --nodes 8";
    struct ss_scenario *s = NULL;
    struct ss_request r;
    struct ss_error err;
    ADD("--platform h100", "--platform h800", "--platform gb200");
    ADD("--model qwen3-30b-a3b --ep 4", "--model qwen3-30b-a3b --ep 8", "--model llama3.1-8b",
        "--model deepseek-v3 --ep 8");
    ADD("", "", "--stack nanotron-2025", "--stack megatron-lm-2025", "--stack pytorch-2026",
        "--stack megatron-bridge-26.08");
    ADD("--tp 1", "--tp 2", "--tp 2 --sequence-parallel", "--tp 4 --sequence-parallel --tp-comm-overlap",
        "--tp 2 --etp 1 --sequence-parallel");
    ADD("", "", "--cp 2");
    ADD("--pp 1", "--pp 2", "--pp 4", "--pp 2 --decoder-last-pipeline-num-layers 13", "--pp 4 --vp 2");
    ADD("--seq 4096 --mbs 1", "--seq 4096 --mbs 2", "--seq 2048 --mbs 1");
    ADD("--gbs 128", "--gbs 256");
    ADD("", "--recompute full", "--recompute selective",
        "--recompute-granularity full --recompute-method block --recompute-num-layers 2");
    ADD("", "", "--fsdp full", "--use-distributed-optimizer", "--no-gradient-accumulation-fusion");
    ADD("", "", "--moe-load zipf:0.5", "--distribute-saved-activations", "--attention-dropout 0.1",
        "--spread 0");
    ss_request_init(&r);
    int rc = ss_request_read_text(&r, words, strlen(words), "job", &err);
    if (!rc)
        rc = ss_scenario_build(&r, NULL, &s, &err);
    ss_request_free(&r);
    return rc ? NULL : s;
}

/* Layouts by chance that share a cache, costs of layers in it, have the bounds of those without one, to the last bit. */
TEST(layers)
{
    struct ss_cache *cache;
    int seen = 0;
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (uint64_t seed = 0; seed < 3000 && seen < 300; seed++) {
        struct ss_scenario *s = open_layout(seed << 32);
        struct ss_plan_bounds with, without;
        if (!s)
            continue;
        int rc = ss_plan_bounds_find(s->job, s->stack, s->platform, seen % 2, NULL, &without, NULL);
        CU_ASSERT_EQUAL(ss_plan_bounds_find(s->job, s->stack, s->platform, seen % 2, cache, &with, NULL), rc);
        CU_ASSERT(rc || !memcmp(&with, &without, sizeof with));
        seen++;
        ss_scenario_free(s);
    }
    CU_ASSERT_EQUAL(seen, 300);
    ss_cache_close(cache);
}

/* Layers of jobs that differ in stages, replicas or the batch alone are the same; of others not. */
TEST(keepers)
{
    static const struct {
        const char *words;
        int same;
    } others[] = {{"--pp 2", 1},
                  {"--gbs 256", 1},
                  {"--nodes 32 --recompute full", 1},
                  {"--mbs 4", 0},
                  {"--tp 2 --sequence-parallel", 0},
                  {"--seq 2048", 0},
                  {"--ep 4", 0},
                  {"--model qwen3-235b-a22b --pp 2", 0},
                  {"--platform h100", 0},
                  {"--stack megatron-lm-2025", 0},
                  {"--recompute selective", 0}};
    struct ss_scenario *s = open_job(MIXTURE);
    struct ss_cache *cache;
    const struct ss_net net = {0};
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    const struct ss_layer_keeper own =
        ss_layer_keeper(cache, s->job, s->stack, ss_platform_card(s->platform), &net);
    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++) {
        char words[256];
        snprintf(words, sizeof words, "%s%s", MIXTURE, others[i].words);
        struct ss_scenario *o = open_job(words);
        const struct ss_layer_keeper k =
            ss_layer_keeper(cache, o->job, o->stack, ss_platform_card(o->platform), &net);
        CU_ASSERT_EQUAL(k.key.a == own.key.a && k.key.b == own.key.b, others[i].same);
        ss_scenario_free(o);
    }
    ss_scenario_free(s);
    ss_cache_close(cache);
}

/* Groups of a mixture on 128 GPUs: four places for four stages; jobs that differ in layers and micro batch have the same tables. */
TEST(places)
{
    const int *first[2];
    struct ss_cache *cache;
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    const struct ss_plan_options options = {.cache = cache};
    struct ss_scenario *both[2] = {open_job(jobs[0]), open_job(jobs[1])};
    for (int i = 0; i < 2; i++) {
        const struct ss_scenario *s = both[0];
        const struct ss_schedule_params params = {.stages = 4, .chunks = 1, .microbatches = 4};
        struct ss_schedule *schedule;
        struct ss_plan_builder b;
        CU_ASSERT_EQUAL_FATAL(ss_schedule_build("1f1b", &params, &schedule, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(
            ss_plan_begin(&b, both[i]->job, s->stack, s->platform, schedule, &options, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_plan_group(&b, NULL), 0);
        CU_ASSERT_EQUAL(b.groups.n, 4);
        CU_ASSERT_EQUAL(ss_groups_shape(&b.groups, SS_COMM_EP, 96).n, 8);
        CU_ASSERT_EQUAL(ss_groups_shape(&b.groups, SS_COMM_EP, 96).nodes, 1);
        CU_ASSERT_EQUAL(ss_groups_shape(&b.groups, SS_COMM_DP_CP, 96).n, 32);
        CU_ASSERT_EQUAL(ss_groups_shape(&b.groups, SS_COMM_DP_CP, 96).nodes, 4);
        first[i] = b.groups.first[SS_COMM_EP];
        ss_plan_end(&b);
        ss_plan_free(b.plan);
        ss_schedule_free(schedule);
    }
    for (int i = 0; i < 2; i++)
        ss_scenario_free(both[i]);
    CU_ASSERT_PTR_EQUAL(first[0], first[1]);
    ss_cache_close(cache);
}

/* Two microbatches through two stages, the second of which takes twice as long: F of the first stage at 0 and 1, F B F B of the second
 * from 1 to 9, the last B of the first from 9 to 10. With waits of 1 before each slot of the first stage: F at 0 and 2, the second from
 * 2 to 10, the last B to 12. Each rank alone has 4 and 8, and the ways of one microbatch 2 beside 8. */
TEST(order)
{
    const struct ss_slot_bounds slot[2] = {{{{1, 2}, {1, 2}}}, {{{2, 2}, {2, 2}}}};
    struct ss_scenario *s = open_job(
        "--platform h100 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --tp 4 --pp 2 --mbs 1 --gbs 2");
    struct ss_schedule few = {.stages = 2, .chunks = 1, .microbatches = 1};
    struct ss_plan plan = {.job = s->job, .stack = s->stack, .world_size = s->world_size, .schedule = &few};
    double passing[2] = {0, 20};
    CU_ASSERT_EQUAL(ss_order_least(&plan, slot, NULL, passing, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(passing[0], 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(passing[1], 20, 0); /* only raised */
    passing[1] = 0;
    CU_ASSERT_EQUAL(ss_order_least(&plan, slot, NULL, passing, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(passing[1], 12, 1e-9);
    ss_scenario_free(s);
}
