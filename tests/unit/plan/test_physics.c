/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the figures of the cards are, some answers can go one way only: what a flag or a faster part may do to
 * time and memory. */

#include "scale_job.h"
#include "suite.h"

#define NEAR_ENOUGH 1e-9 /* rounding of sums */
#define ANOMALY 2e-3     /* faster links change who shares with whom: a little may be lost */

/* Figures of one run; memory is that of the stage with the peak. */
struct answer {
    double iteration, peak, bubble;
    double label[SS_LABEL_COUNT], memory[SS_MEM_COUNT];
};

static int ask(const char *platform, const char *flags, struct answer *a)
{
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    char text[1024];
    int rc;

    snprintf(text, sizeof text, "%s;%s", platform, flags);
    rc = scale_open(&s, text);
    if (!rc)
        rc = scale_run(&s, &options, &run);
    if (!rc) {
        const struct ss_result *r = run.result;
        *a = (struct answer){r->iteration_s, r->peak_device, run.summary.bubble_fraction, {0}, {0}};
        memcpy(a->label, r->stages[r->critical_stage].breakdown, sizeof a->label);
        memcpy(a->memory, r->stages[r->peak_stage].memory, sizeof a->memory);
        ss_run_free(&run);
    } else {
        fprintf(stderr, "in: %s\n", text);
    }
    scale_close(&s);
    return rc;
}

/* What is compared: time, peak, or one label or class of memory. */
enum { TIME, PEAK, LABEL = 100, MEMORY = 200 };

static double value(const struct answer *a, int what)
{
    return what >= MEMORY  ? a->memory[what - MEMORY]
           : what >= LABEL ? a->label[what - LABEL]
           : what == PEAK  ? a->peak
                           : a->iteration;
}

static void expect(const char *what, double before, double after, char relation)
{
    double slack = NEAR_ENOUGH * (before > after ? before : after);
    int right = relation == '<'   ? after < before - slack
                : relation == '>' ? after > before + slack
                                  : fabs(after - before) <= slack;

    if (!right)
        fprintf(stderr, "%s: from %.10g to %.10g, expected %c\n", what, before, after, relation);
    CU_ASSERT_TRUE(right);
}

/* One more flag, and which way each quantity goes. */
struct change {
    const char *more;
    struct {
        int what;
        char relation; /* after < before, after > before, or = */
    } expected[5];
};
#define T(r)                                                                                                 \
    {                                                                                                        \
        TIME, r                                                                                              \
    }
#define P(r)                                                                                                 \
    {                                                                                                        \
        PEAK, r                                                                                              \
    }
#define L(name, r)                                                                                           \
    {                                                                                                        \
        LABEL + SS_LABEL_##name, r                                                                           \
    }
#define M(name, r)                                                                                           \
    {                                                                                                        \
        MEMORY + SS_MEM_##name, r                                                                            \
    }

static void try_changes(const char *platform, const char *base, const struct change *changes, int n)
{
    struct answer before, after;

    CU_ASSERT_EQUAL_FATAL(ask(platform, base, &before), 0);
    for (int i = 0; i < n; i++) {
        char flags[512];
        snprintf(flags, sizeof flags, "%s %s", base, changes[i].more);
        CU_ASSERT_EQUAL_FATAL(ask(platform, flags, &after), 0);
        for (int k = 0; k < 5 && changes[i].expected[k].relation; k++) {
            int what = changes[i].expected[k].what;
            expect(flags, value(&before, what), value(&after, what), changes[i].expected[k].relation);
        }
    }
}
#define TRY(platform, base, changes)                                                                         \
    try_changes(platform, base, changes, (int)(sizeof changes / sizeof changes[0]))

#define ONE_STAGE "--model llama3.1-8b --bf16 --tp 2 --seq 8192 --mbs 1 --gbs 64 --sequence-parallel"
#define ZERO1 ONE_STAGE " --use-distributed-optimizer"
#define PIPELINE                                                                                             \
    "--model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 8192 --mbs 1 --gbs 32 --sequence-parallel "              \
    "--use-distributed-optimizer"

TEST(sharding)
{
    static const struct change plain[] = {
        {"--use-distributed-optimizer",
         {M(OPTIMIZER, '<'), M(WEIGHTS, '='), P('<'), L(OPTIMIZER, '<'), T('<')}},
        {"--use-megatron-fsdp --data-parallel-sharding-strategy no_shard", {P('='), T('=')}},
        {"--use-megatron-fsdp --data-parallel-sharding-strategy optim",
         {M(OPTIMIZER, '<'), M(GRADIENTS, '='), P('<')}},
        {"--fsdp grad", {M(OPTIMIZER, '<'), M(GRADIENTS, '<'), M(WEIGHTS, '='), P('<')}},
        {"--fsdp full", {M(OPTIMIZER, '<'), M(GRADIENTS, '<'), M(WEIGHTS, '<'), P('<')}},
        {"--fsdp hybrid", {M(OPTIMIZER, '<'), M(GRADIENTS, '<'), M(WEIGHTS, '<'), P('<')}},
    };
    static const struct change full[] = {
        {"--fsdp hybrid", {M(OPTIMIZER, '>'), M(GRADIENTS, '>'), M(WEIGHTS, '>'), P('>')}},
        {"--fsdp grad", {M(WEIGHTS, '>'), M(OPTIMIZER, '='), P('>'), T('<')}},
    };
    static const struct change zero1[] = {
        {"--overlap-grad-reduce", {T('<'), L(DP, '<'), P('=')}},
        {"--overlap-grad-reduce --overlap-param-gather", {T('<'), L(DP, '<'), P('=')}},
        {"--grad-reduce-in-bf16", {T('<'), M(GRADIENTS, '<'), L(DP, '<')}},
    };

    TRY("h800 2", ONE_STAGE, plain);
    TRY("h800 2", ONE_STAGE " --fsdp full", full);
    TRY("h800 2", ZERO1, zero1);
}

/* No look for NaN, which stops the GPU at each bucket. */
#define NO_LOOK " --no-check-for-nan-in-loss-and-grad"
TEST(buckets)
{
    static const struct change changes[] = {
        {"--ddp-bucket-size 400000000", {L(DP, '>')}},            /* and fewer calls of the step */
        {"--ddp-bucket-size 100000000000", {T('>'), L(DP, '>')}}, /* one bucket: nothing is hidden */
    };
    struct answer plain, one;

    TRY("h800 2", ZERO1 NO_LOOK " --overlap-grad-reduce --ddp-bucket-size 40000000", changes);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1 NO_LOOK, &plain), 0);
    CU_ASSERT_EQUAL_FATAL(
        ask("h800 2", ZERO1 NO_LOOK " --overlap-grad-reduce --ddp-bucket-size 100000000000", &one), 0);
    expect("one bucket is no overlap", plain.iteration, one.iteration, '=');
    /* nanotron's ZeRO-1 all-reduces behind the backward, whatever overlaps, and gathers beside it. */
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1 " --stack nanotron-2025", &plain), 0);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1 " --stack nanotron-2025 --overlap-grad-reduce", &one), 0);
    expect("nothing overlaps", plain.iteration, one.iteration, '=');
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ONE_STAGE " --stack nanotron-2025", &one), 0);
    expect("an all-reduce and a gather", one.label[SS_LABEL_DP], plain.label[SS_LABEL_DP], '>');
}

TEST(recompute)
{
    static const struct change changes[] = {
        {"--recompute selective", {M(ACTIVATIONS, '<'), L(RECOMPUTE, '>'), T('>')}},
        {"--recompute full", {M(ACTIVATIONS, '<'), L(RECOMPUTE, '>'), T('>'), P('<'), M(WEIGHTS, '=')}},
        {"--attention-backend unfused", {M(ACTIVATIONS, '>'), T('>'), P('>')}},
    };
    static const char *const blocks[] = {"1", "8", "16", "31", "32"};
    struct answer last, next, full;
    char flags[512];

    TRY("h800 2", ZERO1, changes);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1, &last), 0);
    for (int i = 0; i < 5; i++) {
        snprintf(flags, sizeof flags,
                 ZERO1 " --recompute-granularity full --recompute-method block "
                       "--recompute-num-layers %s",
                 blocks[i]);
        CU_ASSERT_EQUAL_FATAL(ask("h800 2", flags, &next), 0);
        expect("layers recomputed: time", last.iteration, next.iteration, '>');
        expect("layers recomputed: memory", last.memory[SS_MEM_ACTIVATIONS], next.memory[SS_MEM_ACTIVATIONS],
               '<');
        last = next;
    }
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1 " --recompute full", &full), 0);
    expect("block of all layers = uniform of one", full.iteration, last.iteration, '=');
    expect("block of all layers = uniform of one", full.peak, last.peak, '=');
    for (int i = 1; i < 5; i++) { /* fewer checkpoints, more alive while a group is redone; the same work */
        static const char *const groups[] = {"", "2", "4", "8", "32"};
        snprintf(flags, sizeof flags,
                 ZERO1 " --recompute-granularity full --recompute-method uniform "
                       "--recompute-num-layers %s",
                 groups[i]);
        CU_ASSERT_EQUAL_FATAL(ask("h800 2", flags, &next), 0);
        expect("layers a group: time", full.iteration, next.iteration, '=');
        expect("layers a group: checkpoints", full.memory[SS_MEM_ACTIVATIONS],
               next.memory[SS_MEM_ACTIVATIONS], '<');
        expect("layers a group: working memory", full.memory[SS_MEM_OTHER], next.memory[SS_MEM_OTHER], '>');
    }
}

TEST(offload)
{
    static const struct change activations[] = {
        {"--cpu-offloading --cpu-offloading-num-layers 1", {M(ACTIVATIONS, '<'), T('>'), L(OFFLOAD, '>')}},
        {"--cpu-offloading --cpu-offloading-num-layers 31", {M(ACTIVATIONS, '<'), T('>'), P('<')}},
        {"--cpu-offloading", {T('='), P('=')}},
        {"--optimizer-cpu-offload", {M(OPTIMIZER, '<'), P('<'), T('>'), L(OPTIMIZER, '>')}},
        {"--optimizer-cpu-offload --optimizer-offload-fraction 0", {P('='), T('=')}},
        {"--optimizer-offload-fraction 0.5", {P('='), T('=')}}, /* not switched on */
    };
    static const struct change all[] = {
        {"--no-cpu-offloading-weights", {T('<'), M(ACTIVATIONS, '=')}},
        {"--no-cpu-offloading-activations", {T('<'), M(ACTIVATIONS, '>')}},
    };
    static const struct change whole[] = {
        {"--optimizer-offload-fraction 0.5", {M(OPTIMIZER, '>'), T('<')}},
    };
    struct answer slow, fast;

    TRY("h800 2", ZERO1, activations);
    TRY("h800 2", ZERO1 " --cpu-offloading --cpu-offloading-num-layers 31", all);
    TRY("h800 2", ZERO1 " --optimizer-cpu-offload", whole);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1 " --cpu-offloading --cpu-offloading-num-layers 31", &slow), 0);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2 ss.pcie.bandwidth=1000GBps",
                              ZERO1 " --cpu-offloading --cpu-offloading-num-layers 31", &fast),
                          0);
    expect("faster PCIe", slow.iteration, fast.iteration, '<');
}

/* What leaves the device must be somewhere: a node without room for it is warned of. */
TEST(host_memory)
{
    static const struct {
        const char *platform, *more;
        int warned;
    } rows[] = {
        {"h800 1", "", 0},
        {"h800 1", "--optimizer-cpu-offload", 0},
        {"h800 1 ss.host_memory=60GB", "--optimizer-cpu-offload", 1}, /* 8e9 parameters of 16 bytes */
        {"h800 1 ss.host_memory=60GB", "--optimizer-cpu-offload --optimizer-offload-fraction 0.4", 0},
        {"h800 1 ss.host_memory=60GB", "--cpu-offloading --cpu-offloading-num-layers 31", 1},
        {"h800 1 ss.host_memory=60GB", "--cpu-offloading --cpu-offloading-num-layers 1", 0},
    };
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        struct scale_job s;
        struct ss_run run;
        snprintf(text, sizeof text, "%s;" ZERO1 " %s", rows[i].platform, rows[i].more);
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
        CU_ASSERT_EQUAL(has_note(&run.plan->warnings, "host memory"), rows[i].warned);
        ss_run_free(&run);
        scale_close(&s);
    }
}

TEST(context)
{
#define WHOLE "--model llama3.1-8b --bf16 --seq 32768 --mbs 1 --gbs 16 --use-distributed-optimizer"
    static const struct change changes[] = {
        {"--cp 2", {M(ACTIVATIONS, '<'), M(LOGITS, '<'), M(WEIGHTS, '='), M(OPTIMIZER, '='), P('<')}},
        {"--cp 8", {M(ACTIVATIONS, '<'), M(LOGITS, '<'), M(WEIGHTS, '='), M(OPTIMIZER, '='), P('<')}},
        {"--cp 8 --cp-comm-type a2a", {M(ACTIVATIONS, '<'), L(CP, '>')}},
    };
    static const char *const types[] = {"p2p", "a2a", "all_gather", "a2a+p2p"};
    struct answer a, b;
    char flags[512];

    TRY("h800 2", WHOLE, changes);
    for (int i = 0; i < 4; i++) { /* whatever is sent, fast links send it sooner */
        snprintf(flags, sizeof flags, WHOLE " --cp 8 --cp-comm-type %s", types[i]);
        CU_ASSERT_EQUAL_FATAL(ask("h800 2 ss.nvlink.bandwidth=20GBps", flags, &a), 0);
        CU_ASSERT_EQUAL_FATAL(ask("h800 2", flags, &b), 0);
        expect(flags, a.iteration, b.iteration, '<');
        expect(flags, a.peak, b.peak, '=');
        CU_ASSERT_TRUE(a.label[SS_LABEL_CP] > 0);
    }
}

TEST(pipeline)
{
    static const struct change changes[] = {
        {"--num-layers-per-virtual-pipeline-stage 4", {L(BUBBLE, '<'), T('<'), P('>')}},
        {"--num-virtual-stages-per-pipeline-rank 4", {L(BUBBLE, '<'), T('<'), P('>')}},
        {"--decoder-first-pipeline-num-layers 8 --decoder-last-pipeline-num-layers 8", {T('='), P('=')}},
        {"--decoder-first-pipeline-num-layers 14", {T('>'), P('>')}},
        {"--rank-order tp-cp-ep-dp-pp", {T('='), P('=')}},
        {"--rank-order tp-pp-cp-ep-dp", {L(DP, '>'), P('=')}}, /* data parallel now leaves the node */
        {"--recompute full", {P('<'), T('>')}},
    };
    static const struct change interleaved[] = {
        {"--no-overlap-p2p-communication", {T('>'), M(ACTIVATIONS, '=')}},
        {"--microbatch-group-size-per-vp-stage 8", {M(ACTIVATIONS, '>')}},
        {"--microbatch-group-size-per-vp-stage 4", {M(ACTIVATIONS, '='), T('=')}},
    };
    struct answer layers, stages, last, next;
    char flags[512];

    TRY("h800 2", PIPELINE, changes);
    TRY("h800 2", PIPELINE " --num-layers-per-virtual-pipeline-stage 2", interleaved);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", PIPELINE " --num-layers-per-virtual-pipeline-stage 2", &layers), 0);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", PIPELINE " --num-virtual-stages-per-pipeline-rank 4", &stages), 0);
    expect("virtual stages by either flag", layers.iteration, stages.iteration, '=');
    expect("virtual stages by either flag", layers.peak, stages.peak, '=');
    for (int m = 4; m <= 64; m *= 2) { /* dp is 2 */
        snprintf(flags, sizeof flags, PIPELINE " --gbs %d", 2 * m);
        CU_ASSERT_EQUAL_FATAL(ask("h800 2", flags, &next), 0);
        if (m > 4) {
            expect("microbatches: bubble", last.bubble, next.bubble, '<');
            expect("microbatches: time", last.iteration, next.iteration, '>');
            expect("microbatches: time each", last.iteration / (m / 2), next.iteration / m, '<');
            expect("microbatches: memory", last.peak, next.peak, '=');
        }
        last = next;
    }
}

TEST(precision)
{
    static const struct change bf16[] = {
        {"--fp8-format hybrid",
         {T('<'), M(WEIGHTS, '>'), M(OPTIMIZER, '=')}}, /* fp8 copies beside the weights */
        {"--seq 16384", {T('>'), M(ACTIVATIONS, '>'), M(LOGITS, '>'), M(WEIGHTS, '=')}},
        {"--mbs 2", {M(ACTIVATIONS, '>'), M(LOGITS, '>'), P('>')}},
        {"--hidden-dropout 0.1", {P('>')}},
        {"--attention-backend unfused --attention-dropout 0.1", {P('>'), T('>')}},
    };
    static const struct change fp8[] = {
        {"--fp8-param-gather", {M(WEIGHTS, '<'), T('<'), L(DP, '<')}},
    };
    static const struct change unfused[] = {
        {"--attention-dropout 0.1", {M(ACTIVATIONS, '>'), T('>')}},
    };

    TRY("h800 2", ZERO1, bf16);
    TRY("h800 2", ZERO1 " --fp8-format hybrid", fp8);
    TRY("h800 2", ZERO1 " --attention-backend unfused --attention-dropout 0", unfused);
}

TEST(tensor)
{
    static const struct change changes[] = {
        {"--tp 4", {M(WEIGHTS, '<'), M(GRADIENTS, '<'), M(ACTIVATIONS, '<'), L(TP, '>'), P('<')}},
        {"--tp 8", {M(WEIGHTS, '<'), M(GRADIENTS, '<'), M(ACTIVATIONS, '<'), L(TP, '>'), P('<')}},
        {"--tp-comm-overlap", {L(TP, '<'), M(OTHER, '>'), M(ACTIVATIONS, '=')}},
    };
    struct answer with, without;

    TRY("h800 2", ZERO1, changes);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2", ZERO1 " --tp 8", &with), 0);
    CU_ASSERT_EQUAL_FATAL(ask("h800 2",
                              "--model llama3.1-8b --bf16 --tp 8 --seq 8192 --mbs 1 --gbs 64 "
                              "--use-distributed-optimizer",
                              &without),
                          0);
    expect("sequence parallel", without.memory[SS_MEM_ACTIVATIONS], with.memory[SS_MEM_ACTIVATIONS], '<');
}

/* A faster part never makes an iteration slower, whatever the job is. */
static const char *const jobs[] = {
    ZERO1,
    ZERO1 " --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap",
    ZERO1 " --fsdp full",
    ZERO1 " --fsdp full --param-offload nvme --param-offload-max-in-cpu 1e8 --optimizer-cpu-offload",
    ZERO1 " --fsdp hybrid --overlap-grad-reduce",
    ZERO1 " --cpu-offloading --cpu-offloading-num-layers 8 --optimizer-cpu-offload",
    PIPELINE,
    PIPELINE " --num-layers-per-virtual-pipeline-stage 2 --overlap-grad-reduce --overlap-param-gather",
    PIPELINE " --rank-order pp-tp-cp-ep-dp --recompute full",
    "--model llama3.1-8b --bf16 --tp 2 --pp 2 --cp 4 --seq 32768 --mbs 1 --gbs 8 --sequence-parallel",
    "--model qwen2.5-14b --bf16 --fp8-format hybrid --pp 4 --num-layers-per-virtual-pipeline-stage 3 --seq "
    "8192 "
    "--mbs 1 --gbs 16 --use-distributed-optimizer --overlap-grad-reduce",
};

static const struct part {
    const char *prop, *values[4]; /* from slow to fast */
} parts[] = {
    {"ss.nic.bandwidth", {"1GBps", "10GBps", "50GBps", "400GBps"}},
    {"ss.nvme.bandwidth", {"1GBps", "10GBps", "25GBps", "100GBps"}},
    {"ss.nic.latency", {"1ms", "50us", "5us", "1us"}},
    {"ss.nvlink.bandwidth", {"10GBps", "100GBps", "200GBps", "900GBps"}},
    {"ss.nvlink.latency", {"100us", "10us", "3us", "1us"}},
    {"ss.hbm.bandwidth", {"500GBps", "2000GBps", "3350GBps", "8000GBps"}},
    {"ss.peak.bf16", {"100Tf", "500Tf", "990Tf", "2000Tf"}},
    {"ss.pcie.bandwidth", {"5GBps", "25GBps", "50GBps", "200GBps"}},
};

TEST(faster_parts)
{
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
        for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
            struct answer last = {0}, next;
            for (int v = 0; v < 4; v++) {
                char platform[128];
                snprintf(platform, sizeof platform, "h800 2 %s=%s", parts[p].prop, parts[p].values[v]);
                CU_ASSERT_EQUAL_FATAL(ask(platform, jobs[j], &next), 0);
                if (v && next.iteration > last.iteration * (1 + ANOMALY))
                    fprintf(stderr, "%s: %.10g s, was %.10g; %s\n", platform, next.iteration, last.iteration,
                            jobs[j]);
                CU_ASSERT_TRUE(!v || next.iteration <= last.iteration * (1 + ANOMALY));
                CU_ASSERT_TRUE(!v || next.peak == last.peak);
                last = next;
            }
        }
}

/* A slow GPU or link never makes an iteration faster, and a GPU on the busiest stage makes it slower. */
TEST(slow_members)
{
    struct ss_straggler straggler = {.rank = 0, .factor = 2};
    struct ss_slow_link slow = {.name = "nic-0-0", .factor = 20};
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};

    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        char text[1024];
        struct scale_job s;
        struct ss_run plain, gpu, link;
        snprintf(text, sizeof text, "h800 2;%s", jobs[j]);
        memset(&options.plan, 0, sizeof options.plan);
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &plain), 0);
        options.plan.stragglers = &straggler;
        options.plan.nstragglers = 1;
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &gpu), 0);
        memset(&options.plan, 0, sizeof options.plan);
        options.plan.slow_links = &slow;
        options.plan.nslow_links = 1;
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &link), 0);
        expect(jobs[j], plain.result->iteration_s, gpu.result->iteration_s, '>');
        CU_ASSERT_TRUE(link.result->iteration_s >= plain.result->iteration_s * (1 - ANOMALY));
        ss_run_free(&plain);
        ss_run_free(&gpu);
        ss_run_free(&link);
        scale_close(&s);
    }
}

/* Every stage accounts for the whole iteration and for all of its memory, at every level. */
TEST(accounts)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};

    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
        for (int level = SS_LEVEL_CHUNK; level <= SS_LEVEL_FLOW; level++) {
            char text[1024];
            struct scale_job s;
            struct ss_run run;
            snprintf(text, sizeof text, "h800 2;%s", jobs[j]);
            options.plan.level = level;
            CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
            CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
            const struct ss_result *r = run.result;
            const struct ss_summary *u = &run.summary;
            for (int i = 0; i < r->nstages; i++) {
                const struct ss_stage_result *stage = &r->stages[i];
                double time = 0, memory = 0, least = 0;
                for (int k = 0; k < SS_LABEL_COUNT; k++) {
                    time += stage->breakdown[k];
                    least = fmin(least, stage->breakdown[k]);
                }
                for (int k = 0; k < SS_MEM_COUNT; k++) {
                    memory += stage->memory[k];
                    least = fmin(least, stage->memory[k]);
                }
                expect(jobs[j], r->iteration_s, time, '=');
                expect(jobs[j], stage->allocated, memory, '=');
                CU_ASSERT_TRUE(least >= 0);
                CU_ASSERT_TRUE(stage->allocated <= stage->reserved && stage->reserved <= stage->device);
                CU_ASSERT_TRUE(stage->device <= r->peak_device);
            }
            CU_ASSERT_TRUE(u->mfu > 0 && u->mfu < 1 && u->hfu >= u->mfu && u->hfu < 1);
            CU_ASSERT_TRUE(u->tflops_causal_per_gpu < u->tflops_per_gpu);
            CU_ASSERT_EQUAL(r->fits, r->peak_device <= r->capacity);
            ss_run_free(&run);
            scale_close(&s);
        }
}
