/* SPDX-License-Identifier: Apache-2.0 */
/* A class of ranks does what each of its ranks does: folded and unfolded agree, on both engines, to 1e-9. */

#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

#define COMMON "--mbs 1 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
#define SMALL "--model llama3.1-8b --bf16 --seq 4096 --sequence-parallel " COMMON
#define EXPERTS SMALL "--num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 1024 "

static const struct ss_straggler slow_gpu[] = {{5, 1.3}};
static const struct ss_slow_link slow_nic[] = {{"nic-1-3", 4}};
static const struct ss_slow_link failed_nic[] = {{"nic-1-3", 0}};
static const struct ss_slow_link slow_uplink[] = {{"uplink-0-2.up", 3}};

static const struct {
    const char *what, *job;
    int classes; /* folded; 0: not looked at */
    int straggler;
    const struct ss_slow_link *slow;
} cases[] = {
    {"pipeline", "h800 2;" SMALL "--tp 2 --pp 4 --gbs 16", 4, 0, NULL},
    {"interleaved", "h800 2;" SMALL "--tp 2 --pp 4 --gbs 16 --num-layers-per-virtual-pipeline-stage 2", 4, 0,
     NULL},
    {"two stages, interleaved",
     "h800 2;" SMALL "--tp 2 --pp 2 --gbs 16 --num-layers-per-virtual-pipeline-stage 4", 2, 0, NULL},
    {"context", "h800 4;" SMALL "--tp 2 --pp 2 --cp 2 --gbs 16", 2, 0, NULL},
    {"context over nodes", "h800 4;" SMALL "--tp 2 --pp 2 --cp 8 --gbs 8", 0, 0, NULL},
    {"ranks in another order", "h800 4;" SMALL "--tp 2 --pp 4 --gbs 32 --use-tp-pp-dp-mapping", 4, 0, NULL},
    {"tied embeddings", "h800 2;--model qwen2.5-1.5b --bf16 --seq 4096 " COMMON "--tp 1 --pp 2 --gbs 32", 2,
     0, NULL},
    {"nothing overlaps", "h800 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 2 --pp 2 --gbs 16", 2, 0,
     NULL},
    {"two GPUs a NIC", "a100-roce400 4;" SMALL "--tp 2 --pp 4 --gbs 32", 4, 0, NULL},
    {"no NVSwitch", "v100-32g 4;--model qwen2.5-0.5b --fp16 --seq 1024 --mbs 1 --tp 1 --pp 4 --gbs 16", 0, 0,
     NULL},
    {"two to one", "h800 8 ss.oversubscription=2 ss.nodes_per_leaf=2;" SMALL "--tp 2 --pp 2 --gbs 64", 0, 0,
     NULL},
    {"eight to one, uneven leaves",
     "h800 8 ss.oversubscription=8 ss.nodes_per_leaf=3;" SMALL "--tp 2 --pp 4 --gbs 64", 0, 0, NULL},
    {"four to one, shared NICs",
     "a100-roce400 8 ss.oversubscription=4 ss.nodes_per_leaf=2;" SMALL "--tp 4 --pp 4 --gbs 32", 0, 0, NULL},
    {"a slow GPU", "h800 4;" SMALL "--tp 2 --pp 4 --gbs 32", 0, 1, NULL},
    {"a slow NIC", "h800 4;" SMALL "--tp 2 --pp 2 --gbs 32", 0, 0, slow_nic},
    {"a failed NIC", "h800 4;" SMALL "--tp 2 --pp 2 --gbs 32", 0, 0, failed_nic},
    {"a slow uplink", "h800 8 ss.nodes_per_leaf=2;" SMALL "--tp 2 --pp 2 --gbs 64", 0, 0, slow_uplink},
    {"V", "h800 2;" SMALL "--tp 2 --pp 4 --gbs 32 --schedule zb-v", 4, 0, NULL},
    {"experts on one node", "h800 2;" EXPERTS "--tp 2 --pp 2 --ep 4 --etp 2 --gbs 16", 2, 0, NULL},
    {"experts over nodes", "h800 4;" EXPERTS "--pp 2 --cp 2 --ep 16 --etp 1 --gbs 16", 2, 0, NULL},
    {"experts, shared NICs", "a100-roce400 4;" EXPERTS "--pp 2 --ep 16 --etp 1 --gbs 32", 2, 0, NULL},
    {"experts, a slow GPU", "h800 4;" EXPERTS "--pp 2 --ep 8 --etp 1 --gbs 32", 0, 1, NULL},
    {"experts, uneven leaves",
     "h800 8 ss.oversubscription=8 ss.nodes_per_leaf=3;" EXPERTS "--tp 2 --pp 2 --ep 4 --etp 1 --gbs 64", 0,
     0, NULL},
    {"experts of two copies", "h800 2;" EXPERTS "--tp 2 --pp 4 --ep 2 --etp 1 --gbs 32 --schedule dualpipe",
     4, 0, NULL},
    {"two copies", "h800 2;" SMALL "--tp 2 --pp 4 --gbs 32 --schedule dualpipe", 4, 0, NULL},
    {"links of both directions at once",
     SS_SOURCE_DIR "/tests/unit/data/shared-links.xml 1;" SMALL "--tp 1 --pp 2 --gbs 4", 2, 0, NULL},
};

static void compare(const struct ss_run *a, const struct ss_run *b)
{
    double t = a->result->iteration_s;
    CU_ASSERT_DOUBLE_EQUAL(b->result->iteration_s, t, 1e-9 * t);
    CU_ASSERT_DOUBLE_EQUAL(b->result->peak_device, a->result->peak_device, 1e-9 * a->result->peak_device);
    for (int r = 0; r < a->plan->world_size; r++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            CU_ASSERT_DOUBLE_EQUAL(b->timeline->spent[b->plan->class_of[r]][l],
                                   a->timeline->spent[a->plan->class_of[r]][l], 1e-9 * t);
}

/* Counts of the cases that SimGrid replays and of the random clusters. */
static size_t stride = 1;

static void run_case(size_t i)
{
    struct scale_job s;
    struct ss_run run[4] = {{0}};
    CU_ASSERT_FATAL(scale_open(&s, cases[i].job) == 0);
    for (int k = 0; k < (i < SCALE_SIMGRID_CASES && i % stride == 0 ? 4 : 2); k++) {
        struct ss_run_options o = {.engine = k & 2 ? SS_ENGINE_SIMGRID : SS_ENGINE_NATIVE};
        o.plan.unfold = k & 1;
        o.plan.nstragglers = cases[i].straggler;
        o.plan.stragglers = slow_gpu;
        o.plan.nslow_links = cases[i].slow != NULL;
        o.plan.slow_links = cases[i].slow;
        unsigned before = CU_get_number_of_failures();
        CU_ASSERT_FATAL(scale_run(&s, &o, &run[k]) == 0);
        if (k)
            compare(&run[0], &run[k]);
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "%s: %s %s: %.12g s, folded native %.12g s\n", cases[i].what,
                    k & 1 ? "unfolded" : "folded", k & 2 ? "simgrid" : "native", run[k].result->iteration_s,
                    run[0].result->iteration_s);
    }
    CU_ASSERT_EQUAL(run[1].result->ranks_simulated, run[1].plan->world_size);
    CU_ASSERT(run[0].result->ranks_simulated < run[0].plan->world_size);
    if (cases[i].classes)
        CU_ASSERT_EQUAL(run[0].result->ranks_simulated, cases[i].classes);
    for (int k = 0; k < 4; k++)
        ss_run_free(&run[k]);
    scale_close(&s);
}

TEST(cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(i);
}

/* A node order that mirrors the cluster changes nothing; one that tears a tensor group apart does. */
TEST(placement)
{
    struct scale_job s;
    struct ss_run straight, mirrored, torn;
    int gpu_of[32];
    CU_ASSERT_FATAL(scale_open(&s, "h800 4;" SMALL "--tp 2 --pp 2 --gbs 32") == 0);
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    CU_ASSERT_FATAL(scale_run(&s, &o, &straight) == 0);
    o.plan.placement = gpu_of;
    for (int r = 0; r < 32; r++)
        gpu_of[r] = (3 - r / 8) * 8 + r % 8;
    CU_ASSERT_FATAL(scale_run(&s, &o, &mirrored) == 0);
    compare(&straight, &mirrored);
    for (int r = 0; r < 32; r++)
        gpu_of[r] = r % 4 * 8 + r / 4;
    CU_ASSERT_FATAL(scale_run(&s, &o, &torn) == 0);
    CU_ASSERT(torn.result->iteration_s > 1.05 * straight.result->iteration_s);
    gpu_of[7] = gpu_of[6];
    struct ss_error err = {0};
    struct ss_run none;
    CU_ASSERT_EQUAL(scale_try(&s, &o, &none, &err), SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "another rank"));
    ss_run_free(&straight);
    ss_run_free(&mirrored);
    ss_run_free(&torn);
    scale_close(&s);
}

/* A straggler splits classes, and no more than those that feel it. */
TEST(straggler)
{
    struct scale_job s;
    struct ss_run whole, slow;
    CU_ASSERT_FATAL(scale_open(&s, "h800 8;" SMALL "--tp 8 --pp 2 --gbs 32") == 0);
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    CU_ASSERT_FATAL(scale_run(&s, &o, &whole) == 0);
    const struct ss_straggler one[] = {{9, 1.5}};
    o.plan.nstragglers = 1;
    o.plan.stragglers = one;
    CU_ASSERT_FATAL(scale_run(&s, &o, &slow) == 0);
    CU_ASSERT_EQUAL(whole.result->ranks_simulated, 2);
    /* per stage: its rail and the other rails, and each replica, for what it sends reaches the next one's NIC */
    CU_ASSERT_EQUAL(slow.result->ranks_simulated, 16);
    CU_ASSERT(slow.result->iteration_s > 1.1 * whole.result->iteration_s);
    CU_ASSERT(slow.result->iteration_s < 1.5 * whole.result->iteration_s);
    ss_run_free(&whole);
    ss_run_free(&slow);
    const struct ss_straggler missing[] = {{64, 2}};
    struct ss_error err = {0};
    o.plan.stragglers = missing;
    CU_ASSERT_EQUAL(scale_try(&s, &o, &slow, &err), SS_ERR_CONFIG);
    const struct ss_slow_link link[] = {{"nic-9-9", 2}};
    o.plan.nstragglers = 0;
    o.plan.nslow_links = 1;
    o.plan.slow_links = link;
    CU_ASSERT_EQUAL(scale_try(&s, &o, &slow, &err), SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "nic-9-9"));
    scale_close(&s);
}

/* What a failed NIC carried meets what the next one carries; a GPU without NVLink cannot be reached. */
TEST(failed)
{
    static const struct ss_slow_link nvlink[] = {{"nvlink-0-0", 0}}, half[] = {{"nic-0-0", 2}};
    struct scale_job s;
    struct ss_run whole, failed, slow, none;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct ss_error err = {0};
    CU_ASSERT_FATAL(scale_open(&s, "h800 2;" SMALL "--tp 8 --pp 1 --gbs 4") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &whole) == 0);
    o.plan.nslow_links = 1;
    o.plan.slow_links = (const struct ss_slow_link[]){{"nic-0-0", 0}};
    CU_ASSERT_FATAL(scale_run(&s, &o, &failed) == 0);
    o.plan.slow_links = half;
    CU_ASSERT_FATAL(scale_run(&s, &o, &slow) == 0);
    CU_ASSERT(failed.result->iteration_s > whole.result->iteration_s);
    CU_ASSERT_DOUBLE_EQUAL(failed.result->iteration_s, slow.result->iteration_s,
                           1e-3 * slow.result->iteration_s);
    o.plan.slow_links = nvlink;
    o.plan.level = SS_LEVEL_FLOW;
    CU_ASSERT_EQUAL(scale_try(&s, &o, &none, &err), SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "no way around"));
    ss_run_free(&whole);
    ss_run_free(&failed);
    ss_run_free(&slow);
    scale_close(&s);
}

/* Where a file writes the links between GPUs a ring goes over all of a GPU: one of them alone is refused at every level, all together slow it
 * down. */
TEST(ports)
{
    static const struct ss_slow_link one[] = {{"nvlink-0-0-1_UP", 4}}, all[] = {{"nvlinks-0-0", 4}};
    static const struct ss_slow_link failed[] = {{"nvlink-0-0-1_UP", 0}};
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct ss_error err = {0};
    struct ss_run whole, slow;
    struct scale_job s;
    CU_ASSERT_FATAL(scale_open(&s, SS_SOURCE_DIR
                               "/tests/unit/data/pairs.xml 1;--model llama3.2-1b --fp16 --seq 1024 "
                               "--mbs 1 --tp 2 --gbs 4") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &whole) == 0);
    o.plan.nslow_links = 1;
    for (o.plan.level = SS_LEVEL_CHUNK; o.plan.level < SS_LEVEL_COUNT; o.plan.level++) {
        o.plan.slow_links = one;
        CU_ASSERT_EQUAL(scale_try(&s, &o, &slow, &err), SS_ERR_UNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "nvlinks-0-0"));
        o.plan.slow_links = failed;
        CU_ASSERT_EQUAL(scale_try(&s, &o, &slow, &err), SS_ERR_UNSUPPORTED);
        o.plan.slow_links = all;
        CU_ASSERT_FATAL(scale_run(&s, &o, &slow) == 0);
        CU_ASSERT(slow.result->iteration_s > 1.05 * whole.result->iteration_s);
        ss_run_free(&slow);
    }
    ss_run_free(&whole);
    scale_close(&s);
}

/* In a mesh messages of a pipeline feel the link that they cross. */
TEST(mesh)
{
    static const struct ss_slow_link one[] = {{"nvlink-0-0-1", 4}};
    struct ss_run_options o;
    struct ss_run whole, slow;
    struct scale_job s;
    o = (struct ss_run_options){.engine = SS_ENGINE_NATIVE};
    CU_ASSERT_FATAL(scale_open(&s, "v100 1;--model gpt2-7.5b --fp16 --seq 1024 --mbs 1 --pp 4 --gbs 4") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &whole) == 0);
    o.plan.nslow_links = 1;
    o.plan.slow_links = one;
    CU_ASSERT_FATAL(scale_run(&s, &o, &slow) == 0);
    CU_ASSERT(slow.result->iteration_s > whole.result->iteration_s);
    ss_run_free(&slow);
    ss_run_free(&whole);
    scale_close(&s);
}

/* Links that cannot limit are not simulated; others are, by how many of them are alike. */
TEST(links)
{
    struct scale_job s;
    struct ss_run run;
    int uplinks = 0, nics = 0;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    CU_ASSERT_FATAL(scale_open(&s, "h800 8 ss.nodes_per_leaf=2;" SMALL "--tp 8 --pp 2 --gbs 32") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    for (int l = 0; l < run.plan->nlinks; l++)
        uplinks += run.plan->links[l].kind == SS_LINK_UPLINK;
    CU_ASSERT_EQUAL(uplinks, 0);
    ss_run_free(&run);
    CU_ASSERT_FATAL(ss_platform_set(s.platform, "ss.oversubscription", "1.5", NULL) == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    for (int l = 0; l < run.plan->nlinks; l++) {
        uplinks += run.plan->links[l].kind == SS_LINK_UPLINK;
        nics += run.plan->links[l].kind == SS_LINK_NIC ? run.plan->link_count[l] : 0;
    }
    CU_ASSERT(uplinks > 0);
    CU_ASSERT_EQUAL(nics, 2 * 64); /* each NIC, up and down, is in one class */
    ss_run_free(&run);
    scale_close(&s);
}

/* The case of docs/guide/study-oversubscription.md: two sends of 8,388,608 bytes are waited for, and two replicas share
 * an uplink of 85 GB/s over the ratio. */
TEST(by_hand)
{
    struct scale_job s;
    double first = 0, send = 8192.0 * 4096 * 2 / 8 / 42.5e9;
    static const int ratios[] = {1, 2, 4};
    CU_ASSERT_FATAL(
        scale_open(&s, "h800 4 ss.nodes_per_leaf=2;--model llama3.1-8b --bf16 --tp 8 --pp 2 --seq 8192 "
                       "--mbs 1 --gbs 2 --sequence-parallel") == 0);
    for (int i = 0; i < 3; i++) {
        char ratio[8];
        struct ss_run run;
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        snprintf(ratio, sizeof ratio, "%d", ratios[i]);
        CU_ASSERT_FATAL(ss_platform_set(s.platform, "ss.oversubscription", ratio, NULL) == 0);
        CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
        first = i ? first : run.result->iteration_s;
        CU_ASSERT_DOUBLE_EQUAL(run.result->iteration_s - first, 2 * (ratios[i] - 1) * send, 1e-12);
        ss_run_free(&run);
    }
    scale_close(&s);
}

/* The link that limits is named, with what it carries. */
TEST(limit)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    CU_ASSERT_FATAL(scale_open(&s, "h800 8 ss.oversubscription=8 ss.nodes_per_leaf=4;" SMALL
                                   "--tp 8 --pp 2 --gbs 512") == 0);
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    const struct ss_link_use *u = run.result->links;
    CU_ASSERT_FATAL(run.result->nlinks > 1);
    CU_ASSERT_EQUAL(u[0].link.kind, SS_LINK_UPLINK);
    CU_ASSERT_EQUAL(u[0].alike, 8); /* rails */
    /* four replicas, 128 microbatches each, an activation of 4096 x 4096 x 2 / 8 bytes */
    CU_ASSERT_DOUBLE_EQUAL(u[0].bytes, 4 * 128 * 4096.0 * 4096 * 2 / 8, 1);
    CU_ASSERT_DOUBLE_EQUAL(u[0].utilisation, u[0].bytes / (4 * 42.5e9 / 8) / run.result->iteration_s, 1e-9);
    CU_ASSERT(u[0].busy >= u[0].utilisation * (1 - 1e-9));
    for (int i = 1; i < run.result->nlinks; i++)
        CU_ASSERT(u[i].utilisation <= u[i - 1].utilisation);
    ss_run_free(&run);
    scale_close(&s);
}

/* Random clusters and jobs: native folded against SimGrid with every rank. */
TEST(random)
{
    static const char *const platforms[] = {"h800", "a100-roce400", "h800", "v100-32g"};
    uint64_t z = 12345;
    int weighted = 0;
    for (int i = 0; i < 60; i++) {
        int draw[8], simgrid = i < SCALE_SIMGRID_CASES && i % (int)stride == 0;
        char text[512];
        struct scale_job s;
        struct ss_run folded, every;
        for (int k = 0; k < 8; k++) {
            z = z * 6364136223846793005ULL + 1442695040888963407ULL;
            draw[k] = (int)(z >> 40);
        }
        int v100 = draw[0] % 4 == 3, tp = 1 << (1 + draw[1] % 2), pp = 1 << (1 + draw[2] % 2);
        int nodes = (v100 ? 8 : 4) << (draw[3] % 2), gpus = nodes * (v100 ? 4 : 8), dp = gpus / tp / pp;
        snprintf(text, sizeof text,
                 "%s %d ss.oversubscription=%d ss.nodes_per_leaf=%d;--model llama3.1-8b %s --seq 1024 --mbs "
                 "1 --tp %d "
                 "--pp %d --gbs %d --sequence-parallel --use-distributed-optimizer %s %s %s",
                 platforms[draw[0] % 4], nodes, 1 + draw[4] % 12, 1 + draw[5] % 4, v100 ? "--fp16" : "--bf16",
                 tp, pp, dp * pp * (1 + draw[6] % 3),
                 draw[7] % 2 ? "--overlap-grad-reduce --overlap-param-gather" : "",
                 draw[7] % 3 ? "" : "--use-tp-pp-dp-mapping",
                 draw[7] % 5 || pp < 4 ? "" : "--num-layers-per-virtual-pipeline-stage 2");
        CU_ASSERT_FATAL(scale_open(&s, text) == 0);
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
        o.plan.level = i % 3;
        CU_ASSERT_FATAL(scale_run(&s, &o, &folded) == 0);
        o.engine = simgrid ? SS_ENGINE_SIMGRID : SS_ENGINE_NATIVE;
        o.plan.unfold = 1;
        CU_ASSERT_FATAL(scale_run(&s, &o, &every) == 0);
        unsigned before = CU_get_number_of_failures();
        compare(&folded, &every);
        weighted += folded.plan->weighted;
        if (CU_get_number_of_failures() > before)
            fprintf(stderr, "%s, level %s: %.12g s with every rank on simgrid, %.12g s folded on native\n",
                    text, ss_level_name(i % 3), every.result->iteration_s, folded.result->iteration_s);
        ss_run_free(&folded);
        ss_run_free(&every);
        scale_close(&s);
    }
    if (weighted < 10)
        fprintf(stderr, "%d weighted\n", weighted);
    CU_ASSERT(weighted >= 10);
}

/* NVLinks of both nodes are slow, those of the second more: its tensor ranks take longer for what closed forms say alone, so they are a
 * class of their own, and as slow as if the first node's were slow as well. */
TEST(slow_nvlinks)
{
    static const struct ss_slow_link rows[][2] = {{{"nvlink-0-3", 2}, {"nvlink-1-3", 4}},
                                                  {{"nvlink-0-3", 4}, {"nvlink-1-3", 4}}};
    struct scale_job s;
    struct ss_run folded[2], all;
    CU_ASSERT_FATAL(scale_open(&s, "h800 2;" SMALL "--tp 8 --gbs 16") == 0);
    for (int i = 0; i < 2; i++) {
        struct ss_run_options o = {.engine = SS_ENGINE_NATIVE, .level_choice = SS_LEVEL_STAYS};
        o.plan.nslow_links = 2;
        o.plan.slow_links = rows[i];
        CU_ASSERT_FATAL(scale_run(&s, &o, &folded[i]) == 0);
        o.plan.unfold = 1;
        CU_ASSERT_FATAL(scale_run(&s, &o, &all) == 0);
        compare(&folded[i], &all);
        ss_run_free(&all);
    }
    CU_ASSERT_EQUAL(folded[0].plan->nclasses, 2);
    CU_ASSERT_EQUAL(folded[1].plan->nclasses, 1);
    CU_ASSERT_DOUBLE_EQUAL(folded[0].result->iteration_s, folded[1].result->iteration_s,
                           1e-9 * folded[1].result->iteration_s);
    ss_run_free(&folded[0]);
    ss_run_free(&folded[1]);
    scale_close(&s);
}

SUITE(unfold)
{
    ss_simgrid_load(NULL); /* once for all replays */
    stride = suite_stride(argc, argv, 5);
    return suite_file(argv[0], NULL, NULL);
}
