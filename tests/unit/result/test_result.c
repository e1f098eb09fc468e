/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of docs/design/design.md section 5 on a plan and a timeline made by hand. */
#include <unistd.h>

#include "base/base.h"
#include "result/pace_loss.h"
#include "stepsim/job.h"
#include "stepsim/stack.h"
#include "suite.h"

#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12 * (1 + fabs((double)(b))))

enum { STAGES = 2, MICROBATCHES = 4 };

/* Two stages of one chunk each, one class a stage. */
struct fixture {
    struct ss_job job;
    struct ss_stack stack;
    struct ss_platform *platform;
    struct ss_schedule *schedule;
    struct ss_plan plan;
    struct ss_plan_class classes[STAGES];
    struct ss_chunk_cost chunks[STAGES];
    struct ss_timeline timeline;
    double spent[STAGES][SS_LABEL_COUNT], peak[STAGES][SS_MEM_COUNT];
    struct ss_result *result;
    struct ss_summary summary;
};

static void set_up(struct fixture *f)
{
    struct ss_platform_options options = {.nodes = 1};
    struct ss_schedule_params params = {.stages = STAGES, .chunks = 1, .microbatches = MICROBATCHES};
    struct ss_error err = {0};

    memset(f, 0, sizeof *f);
    ss_job_init(&f->job);
    f->job.global_batch = MICROBATCHES;
    f->job.micro_batch = 1;
    f->job.seq_length = 1000;
    f->job.pp = STAGES;
    f->job.precision = SS_FP8;
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", &options, &f->platform, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_schedule_build("1f1b", &params, &f->schedule, &err), 0);
    f->stack.thrash_margin = 0.02;
    f->stack.fragmentation = 0.1;
    int size[SS_AXIS_COUNT] = {1, 1, 1, 1, STAGES};
    CU_ASSERT_EQUAL_FATAL(ss_ranks_init(&f->plan.ranks, "tp-cp-ep-dp-pp", size, &err), 0);
    f->plan.job = &f->job;
    f->plan.stack = &f->stack;
    f->plan.platform = f->platform;
    f->plan.schedule = f->schedule;
    f->plan.world_size = STAGES;
    f->plan.dp = 1;
    f->plan.microbatches = MICROBATCHES;
    f->plan.nclasses = STAGES;
    f->plan.classes = f->classes;
    for (int s = 0; s < STAGES; s++) {
        f->classes[s].stage = s;
        f->classes[s].count = 1;
        f->classes[s].representative = s;
        f->classes[s].chunks = &f->chunks[s];
        f->chunks[s].forward[SS_LABEL_COMPUTE] = 1;
        f->chunks[s].backward[SS_LABEL_COMPUTE] = 1.5;
        f->chunks[s].backward[SS_LABEL_TP] = 0.5;
        f->spent[s][SS_LABEL_COMPUTE] = 10;
        f->spent[s][SS_LABEL_TP] = 2;
        f->spent[s][SS_LABEL_BUBBLE] = 3;
    }
    f->timeline.nclasses = STAGES;
    f->timeline.iteration_s = 15;
    f->timeline.spent = f->spent;
    f->timeline.dynamic_peak = f->peak;
}

static void build(struct fixture *f)
{
    struct ss_error err = {0};

    ss_result_free(f->result);
    f->result = NULL;
    CU_ASSERT_EQUAL_FATAL(ss_result_build(&f->plan, &f->timeline, SS_ENGINE_NATIVE, &f->result, &err), 0);
    const struct ss_run run = {.plan = &f->plan, .result = f->result};
    ss_summary_fill(&run, NULL, &f->summary);
}

static void tear_down(struct fixture *f)
{
    ss_result_free(f->result);
    ss_schedule_free(f->schedule);
    ss_platform_free(f->platform);
}

static double sum(const double *v, int n)
{
    double s = 0;

    for (int i = 0; i < n; i++)
        s += v[i];
    return s;
}

TEST(equal_stages_have_only_the_schedules_bubble)
{
    struct fixture f;

    set_up(&f);
    build(&f);
    NEAR(f.summary.bubble_fraction, 3.0 / 15);
    NEAR(f.summary.imbalance_fraction, 0);
    for (int s = 0; s < STAGES; s++) {
        NEAR(f.result->stages[s].breakdown[SS_LABEL_BUBBLE], 3);
        NEAR(f.result->stages[s].breakdown[SS_LABEL_IMBALANCE], 0);
        NEAR(sum(f.result->stages[s].breakdown, SS_LABEL_COUNT), f.result->iteration_s);
    }
    CU_ASSERT_EQUAL(f.result->critical_stage, 0);
    tear_down(&f);
}

TEST(idle_beyond_the_bubble_is_imbalance)
{
    struct fixture f;

    set_up(&f);
    /* stage 1 computes twice as long and waits for transfers */
    f.chunks[1].forward[SS_LABEL_COMPUTE] = 2;
    f.chunks[1].backward[SS_LABEL_COMPUTE] = 3.5;
    f.spent[1][SS_LABEL_COMPUTE] = 22;
    f.spent[1][SS_LABEL_PP] = 0.5;
    f.timeline.iteration_s = 30;
    f.spent[1][SS_LABEL_BUBBLE] = 30 - 24.5;
    f.spent[0][SS_LABEL_BUBBLE] = 18;
    build(&f);
    CU_ASSERT_EQUAL(f.result->critical_stage, 1);
    /* all stages like stage 1: the bubble is one forward and one backward, 6 s, more than it idles */
    NEAR(f.result->stages[1].breakdown[SS_LABEL_BUBBLE], 5.5);
    NEAR(f.result->stages[1].breakdown[SS_LABEL_IMBALANCE], 0);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_BUBBLE], 6);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_IMBALANCE], 12);
    NEAR(f.summary.bubble_fraction, 5.5 / 30);
    NEAR(f.summary.imbalance_fraction, 0);
    /* a thousandth of all times */
    for (int s = 0; s < STAGES; s++)
        for (int l = 0; l < SS_LABEL_COUNT; l++) {
            f.chunks[s].forward[l] *= 1e-3;
            f.chunks[s].backward[l] *= 1e-3;
            f.spent[s][l] *= 1e-3;
        }
    f.timeline.iteration_s *= 1e-3;
    build(&f);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_BUBBLE], 0.006);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_IMBALANCE], 0.012);
    tear_down(&f);
}

/* Slots of a tenth: of 1.5 s that a stage idles 0.3 s are the schedule's. */
TEST(a_bubble_below_a_second)
{
    struct fixture f;

    set_up(&f);
    for (int s = 0; s < STAGES; s++) {
        f.chunks[s].forward[SS_LABEL_COMPUTE] = 0.1;
        f.chunks[s].backward[SS_LABEL_COMPUTE] = 0.15;
        f.chunks[s].backward[SS_LABEL_TP] = 0.05;
        f.spent[s][SS_LABEL_BUBBLE] = 1.5;
    }
    build(&f);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_BUBBLE], 0.3);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_IMBALANCE], 1.2);
    tear_down(&f);
}

/* Pairs that take 2 s, not the 3 s of a forward and a backward, and of which some never run: their mean is the slot's time. */
TEST(bubble_of_pairs)
{
    const struct ss_schedule_params params = {.stages = STAGES, .chunks = 2, .microbatches = 8, .paired = 1};
    const double f2[] = {1, 1}, b2[] = {2, 2}, i2[] = {1, 1}, w2[] = {1, 1}, pair[] = {2, 2};
    const double *duration[] = {
        [SS_PHASE_F] = f2, [SS_PHASE_B] = b2, [SS_PHASE_I] = i2, [SS_PHASE_W] = w2, [SS_PHASE_FB] = pair};
    struct ss_chunk_cost chunks[2] = {0};
    struct ss_pair_cost pairs[4] = {0};
    double makespan, idle[STAGES];
    struct fixture f;

    set_up(&f);
    ss_schedule_free(f.schedule);
    CU_ASSERT_EQUAL_FATAL(ss_schedule_build("dualpipev", &params, &f.schedule, NULL), 0);
    f.plan.schedule = f.schedule;
    for (int c = 0; c < 2; c++) {
        chunks[c].forward[SS_LABEL_COMPUTE] = 1;
        chunks[c].backward[SS_LABEL_COMPUTE] = 2;
        chunks[c].input_grad[SS_LABEL_COMPUTE] = chunks[c].weight_grad[SS_LABEL_COMPUTE] = 1;
        pairs[c].seconds[SS_LABEL_COMPUTE] = 2;
    }
    for (int s = 0; s < STAGES; s++) {
        f.classes[s].chunks = chunks;
        f.classes[s].pairs = pairs;
        f.spent[s][SS_LABEL_BUBBLE] = 1000;
    }
    build(&f);
    CU_ASSERT_EQUAL_FATAL(ss_schedule_makespan(f.schedule, duration, &makespan, idle, NULL), 0);
    for (int s = 0; s < STAGES; s++)
        NEAR(f.result->stages[s].breakdown[SS_LABEL_BUBBLE], idle[s]);
    tear_down(&f);
}

/* Without draws it is what kernels of the rank take longer and others do not hide, 0.5 - 0.1 s; of draws what the iteration is longer
 * than one without. */
TEST(pace)
{
    struct fixture f;
    double seconds;

    set_up(&f);
    f.classes[1].pace = 1.01;
    f.classes[1].hidden[SS_LABEL_DP] = 0.1;
    f.spent[1][SS_LABEL_SPREAD] = 0.5;
    CU_ASSERT_EQUAL(ss_result_pace(&f.plan, &f.timeline, 1, 0, NULL, &seconds, NULL), SS_OK);
    NEAR(seconds, 0.4);
    f.plan.even_s = 14.25;
    CU_ASSERT_EQUAL(ss_result_pace(&f.plan, &f.timeline, 1, 0, NULL, &seconds, NULL), SS_OK);
    NEAR(seconds, 0.75);
    tear_down(&f);
}

/* Slower kernels hide 0.8 s more of tensor ranks and make 0.5 s more of data ranks, of which a replay has 0.2 s alone: no label is negative. */
TEST(hidden)
{
    struct fixture f;

    set_up(&f);
    f.classes[0].hidden[SS_LABEL_TP] = 0.8;
    f.classes[0].hidden[SS_LABEL_DP] = -0.5;
    f.spent[0][SS_LABEL_DP] = 0.2;
    f.spent[0][SS_LABEL_SPREAD] = 1;
    f.spent[0][SS_LABEL_BUBBLE] = 1.8;
    build(&f);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_DP], 0);
    NEAR(f.result->stages[0].breakdown[SS_LABEL_TP], 2.8);
    NEAR(sum(f.result->stages[0].breakdown, SS_LABEL_COUNT), 15);
    tear_down(&f);
}

TEST(exchanges_of_experts_make_a_stage_busy)
{
    struct fixture f;

    set_up(&f);
    /* stage 0 computes for longer, stage 1 sends tokens to experts and sets the pace */
    f.spent[0][SS_LABEL_COMPUTE] = 11;
    f.spent[1][SS_LABEL_EP] = 2;
    f.spent[0][SS_LABEL_BUBBLE] = 4;
    f.timeline.iteration_s = 17;
    build(&f);
    CU_ASSERT_EQUAL(f.result->critical_stage, 1);
    tear_down(&f);
}

TEST(memory_adds_up_and_decides)
{
    struct fixture f;

    set_up(&f);
    double capacity = ss_platform_card(f.platform)->device_memory;
    f.classes[0].memory[SS_MEM_WEIGHTS] = 3e9;
    f.classes[0].memory[SS_MEM_OPTIMIZER] = 5e9;
    f.peak[0][SS_MEM_ACTIVATIONS] = 10e9;
    f.classes[1].memory[SS_MEM_WEIGHTS] = 4e9;
    build(&f);
    NEAR(f.result->stages[0].allocated, 18e9);
    NEAR(f.result->stages[0].reserved, 19e9);
    NEAR(f.result->stages[0].device, 19e9 + ss_plan_overhead_bytes(&f.plan, 0));
    NEAR(sum(f.result->stages[0].memory, SS_MEM_COUNT), f.result->stages[0].allocated);
    CU_ASSERT_EQUAL(f.result->peak_stage, 0);
    NEAR(f.result->peak_device, f.result->stages[0].device);
    CU_ASSERT(f.result->fits);
    CU_ASSERT_FALSE(f.result->thrash);
    CU_ASSERT_EQUAL(ss_result_largest(f.result, 0), SS_MEM_ACTIVATIONS);
    CU_ASSERT_EQUAL(ss_result_largest(f.result, 1), SS_MEM_WEIGHTS);

    f.classes[1].memory[SS_MEM_WEIGHTS] = 0.99 * capacity - ss_plan_overhead_bytes(&f.plan, 1);
    build(&f);
    CU_ASSERT_EQUAL(f.result->peak_stage, 1);
    CU_ASSERT(f.result->fits);
    CU_ASSERT(f.result->thrash);

    f.classes[1].memory[SS_MEM_WEIGHTS] += 0.011 * capacity;
    build(&f);
    CU_ASSERT_FALSE(f.result->fits);
    CU_ASSERT_FALSE(f.result->thrash);
    NEAR(ss_result_beside(&f.result->stages[1]), ss_plan_overhead_bytes(&f.plan, 1));

    /* 2 % of it are of the step alone, and as much is dynamic: they share their room, though the device shows both. */
    f.classes[1].memory[SS_MEM_WEIGHTS] -= 0.02 * capacity;
    f.classes[1].step_bytes = 0.02 * capacity;
    f.peak[1][SS_MEM_ACTIVATIONS] = 0.02 * capacity;
    build(&f);
    CU_ASSERT(f.result->fits && f.result->thrash);
    NEAR(f.result->stages[1].allocated, 0.981 * capacity - ss_plan_overhead_bytes(&f.plan, 1));
    NEAR(f.result->stages[1].device, 1.003 * capacity);
    f.classes[1].pooled_bytes = 0.3 * capacity; /* reserved, not live, and used by other streams */
    build(&f);
    NEAR(ss_result_least(&f.result->stages[1]), 0.981 * capacity);
    NEAR(f.result->stages[1].allocated, 0.681 * capacity - ss_plan_overhead_bytes(&f.plan, 1));
    NEAR(f.result->stages[1].device, 1.003 * capacity);
    f.classes[1].step_bytes = f.classes[1].pooled_bytes = 0;
    build(&f);
    CU_ASSERT_FALSE(f.result->fits);

    /* Copies of gradients of 1 % hide in the room of the activations, of 2 %; of 3 % they are the peak, 3.3 with fragmentation. */
    f.classes[1].main_gradients = 0.01 * capacity;
    build(&f);
    NEAR(f.result->stages[1].allocated, 1.001 * capacity - ss_plan_overhead_bytes(&f.plan, 1));
    NEAR(f.result->stages[1].device, 1.003 * capacity);
    double states = f.result->stages[1].memory[SS_MEM_OPTIMIZER];
    f.classes[1].main_gradients = f.peak[1][SS_MEM_OPTIMIZER] = 0.03 * capacity;
    f.peak[1][SS_MEM_ACTIVATIONS] = 0;
    build(&f);
    NEAR(f.result->stages[1].allocated, 1.011 * capacity - ss_plan_overhead_bytes(&f.plan, 1));
    NEAR(f.result->stages[1].device, 1.014 * capacity);
    NEAR(f.result->stages[1].memory[SS_MEM_OPTIMIZER], states + 0.03 * capacity);

    /* Idle blocks are reserved and not allocated: they bring no job over the limit, but near it. */
    double reserved = f.result->stages[1].reserved, least = ss_result_least(&f.result->stages[1]);
    f.classes[1].idle_bytes = 0.1 * capacity;
    build(&f);
    NEAR(f.result->stages[1].reserved, reserved + 0.1 * capacity);
    NEAR(ss_result_least(&f.result->stages[1]), least);
    f.classes[1].waiting_bytes = 0.2 * capacity; /* blocks that wait are needed */
    build(&f);
    NEAR(f.result->stages[1].reserved, reserved + 0.3 * capacity);
    NEAR(ss_result_least(&f.result->stages[1]), least + 0.2 * capacity);
    CU_ASSERT_FALSE(f.result->fits);
    tear_down(&f);
}

/* The figure that the framework of the stack prints. No framework counts chunks as they are. */
static void test_logged(struct fixture *f)
{
    const double flops[] = {6e15, 5e15, 3e15, 7.5e15};
    for (int i = 0; i < 4; i++) {
        f->stack.log_by = SS_LOG_BRIDGE;
        f->stack.log_count = SS_LOGS_FULL + i;
        build(f);
        NEAR(f->summary.tflops_logged_per_gpu, flops[i] / 15 / STAGES / 1e12);
        CU_ASSERT_STRING_EQUAL(f->summary.logged_by, "Megatron-Bridge");
        CU_ASSERT_EQUAL(f->summary.logged_count, SS_COUNT_FULL + i);
    }
    f->stack.log_count = SS_LOGS_WINDOWS;
    f->job.model.attention_chunk = 8192;
    build(f);
    CU_ASSERT_EQUAL(f->summary.logged_count, SS_COUNT_CAUSAL);
    f->job.model.attention_chunk = 0;
}

TEST(rates)
{
    struct fixture f;

    set_up(&f);
    const struct ss_card *card = ss_platform_card(f.platform);
    f.plan.model_flops = 6e15;
    f.plan.model_flops_causal = 5e15;
    f.plan.hardware_flops = 7.5e15;
    f.plan.model_flops_seen = 3e15;
    f.plan.bounded_flops = 4e15;
    f.plan.bounded_hardware_flops = 4.5e15;
    build(&f);
    NEAR(f.summary.tflops_per_gpu, 6e15 / 15 / STAGES / 1e12);
    NEAR(f.summary.tflops_causal_per_gpu, 5e15 / 15 / STAGES / 1e12);
    NEAR(f.summary.tflops_windows_per_gpu, 3e15 / 15 / STAGES / 1e12);
    NEAR(f.summary.tflops_hardware_per_gpu, 7.5e15 / 15 / STAGES / 1e12);
    NEAR(f.summary.mfu_square, 6e15 / 15 / STAGES / card->peak_fp8);
    NEAR(f.summary.mfu, 4e15 / 15 / STAGES / card->peak_fp8);
    NEAR(f.summary.mfu_bf16, 4e15 / 15 / STAGES / card->peak_bf16);
    NEAR(f.summary.hfu, 4.5e15 / 15 / STAGES / card->peak_fp8);
    NEAR(f.summary.tflops_logged_per_gpu, f.summary.tflops_per_gpu);
    CU_ASSERT_STRING_EQUAL(f.summary.logged_by, "");
    test_logged(&f);
    NEAR(f.summary.tokens_per_s_per_gpu, MICROBATCHES * 1000 / 15.0 / STAGES);
    NEAR(f.summary.usd_per_iteration, 0);
    CU_ASSERT_EQUAL(ss_platform_set(f.platform, "ss.price", "3USD/h", NULL), 0);
    build(&f);
    NEAR(f.summary.usd_per_iteration, 15.0 / 3600 * STAGES * 3);
    NEAR(f.summary.usd_per_million_tokens, 15.0 / 3600 * STAGES * 3 / (MICROBATCHES * 1000) * 1e6);
    f.job.precision = SS_FP32;
    build(&f);
    NEAR(f.summary.mfu, 4e15 / 15 / STAGES / card->peak_fp32);
    tear_down(&f);
}

TEST(a_stage_takes_its_busiest_class)
{
    struct fixture f;

    set_up(&f);
    /* both classes on stage 0: nothing stands for stage 1 */
    struct ss_error err = {0};
    f.classes[1].stage = 0;
    f.spent[1][SS_LABEL_COMPUTE] = 11;
    CU_ASSERT_EQUAL(ss_result_build(&f.plan, &f.timeline, SS_ENGINE_NATIVE, &f.result, &err), SS_ERR_ENGINE);
    CU_ASSERT_PTR_NULL(f.result);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "stage 1"));
    tear_down(&f);
}

/* The manual has a row for every figure. */
TEST(metrics_are_documented)
{
    FILE *in = fopen(SS_SOURCE_DIR "/docs/reference/formats.md", "r");
    static char text[1 << 18];

    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    for (int i = 0; i < SS_METRICS; i++) {
        const struct ss_metric *m = ss_metric_at(i);
        char row[512];
        snprintf(row, sizeof row, "\n| `%s` | %s | %s |\n", m->key, ss_metric_unit(i), m->doc);
        if (!strstr(text, row)) {
            printf("not in docs/reference/formats.md: %s", row + 1);
            CU_FAIL("a figure without its row");
        }
    }
}

/* Near the limit is what the band of memory reaches beyond, too, and not only the allocator's margin. */
TEST(verdict)
{
    struct ss_error err = {0};
    struct ss_bands *bands;
    struct fixture f;
    char path[] = "/tmp/stepsim-verdict-XXXXXX";
    int fd = mkstemp(path);
    FILE *csv = fdopen(fd, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(csv);
    fputs("card,quality,outcome,predicted_outcome,memory_kind,error_pct,memory_error_pct,source,family\n",
          csv);
    for (int i = 0; i < 40; i++) /* a quarter more than predicted, and a tenth less */
        fprintf(csv, "H800-80GB,A,ok,ok,device,5,%g,s%d,\n", i % 4 ? -20.0 : 100 / 9.0, i);
    fclose(csv);
    CU_ASSERT_EQUAL_FATAL(ss_bands_load(path, NULL, &bands, &err), 0);
    unlink(path);
    set_up(&f);
    double capacity = ss_platform_card(f.platform)->device_memory, fixed = ss_plan_overhead_bytes(&f.plan, 1);
    static const struct {
        double share; /* of the card's memory */
        int alone, with_bands;
    } jobs[] = {{0.79, SS_OUTCOME_FITS, SS_OUTCOME_FITS},
                {0.81, SS_OUTCOME_FITS, SS_OUTCOME_NEAR_LIMIT},
                {0.99, SS_OUTCOME_NEAR_LIMIT, SS_OUTCOME_NEAR_LIMIT},
                {1.01, SS_OUTCOME_TOO_LARGE, SS_OUTCOME_TOO_LARGE}};
    for (size_t i = 0; i < SS_ARRAY_LEN(jobs); i++) {
        f.classes[1].memory[SS_MEM_WEIGHTS] = jobs[i].share * capacity - fixed;
        build(&f);
        const struct ss_run run = {.plan = &f.plan, .result = f.result};
        CU_ASSERT_EQUAL(f.summary.outcome, jobs[i].alone);
        ss_summary_fill(&run, bands, &f.summary);
        CU_ASSERT_EQUAL(f.summary.outcome, jobs[i].with_bands);
        CU_ASSERT_EQUAL(f.summary.reason[0] == '\0', jobs[i].with_bands == SS_OUTCOME_FITS);
        NEAR(f.summary.memory_high_pct, 25);
        CU_ASSERT_EQUAL(strstr(f.summary.reason, "3 to 8 times") != NULL, i == 2);
    }
    tear_down(&f);
    ss_bands_free(bands);
}

/* Every figure of the list has a key and a unit of its own, and is read from its own field. */
TEST(metrics)
{
    struct ss_summary s = {0};
    const struct ss_error why = {.code = SS_ERR_UNSUPPORTED, .message = "not modelled"};

    s.iteration_s = 1.5;
    s.peak_device = 3 * SS_MIB;
    s.mfu = 0.25;
    for (int i = 0; i < SS_METRICS; i++) {
        const struct ss_metric *m = ss_metric_at(i);
        double value = i == SS_METRIC_OF_iteration_s   ? 1500
                       : i == SS_METRIC_OF_peak_device ? 3
                       : i == SS_METRIC_OF_mfu         ? 0.25
                                                       : 0;
        NEAR(ss_metric_value(i, &s), value);
        CU_ASSERT(m->doc[0] != '\0');
        CU_ASSERT_EQUAL(ss_metric_known(i, &s), m->kind != SS_METRIC_USD);
        for (int k = 0; k < i; k++)
            CU_ASSERT_STRING_NOT_EQUAL(ss_metric_at(k)->key, m->key);
    }
    CU_ASSERT_STRING_EQUAL(ss_metric_at(SS_METRIC_OF_iteration_s)->key, "iteration_ms");
    CU_ASSERT_STRING_EQUAL(ss_metric_unit(SS_METRIC_OF_iteration_s), "ms");
    CU_ASSERT_PTR_NULL(ss_metric_at(SS_METRICS));
    CU_ASSERT_STRING_EQUAL(ss_outcome_word(SS_OUTCOME_NEAR_LIMIT), "near limit");
    CU_ASSERT_STRING_EQUAL(ss_outcome_word(SS_OUTCOME_COUNT), "unknown");
    CU_ASSERT_STRING_EQUAL(ss_outcome_measured_word(SS_OUTCOME_TOO_LARGE), "oom");
    ss_summary_refuse(&why, &s);
    CU_ASSERT_EQUAL(s.outcome, SS_OUTCOME_REFUSED);
    CU_ASSERT_EQUAL(s.code, SS_ERR_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(s.reason, "not modelled");
    NEAR(s.iteration_s, 0);
}

/* Measured memory that is a twentieth or more off the peak is some stage's where it is nearer than that to it: of 100, 70 and 72 GB
 * 71.5 are the third stage's, 80 nobody's, and 97 the peak's. */
TEST(stage_like)
{
    struct ss_stage_result stages[] = {{.device = 100e9}, {.device = 70e9}, {.device = 72e9}};
    const struct ss_result r = {.nstages = 3, .stages = stages, .peak_device = 100e9};
    CU_ASSERT_EQUAL(ss_result_stage_like(&r, 71.5e9), 2);
    CU_ASSERT_EQUAL(ss_result_stage_like(&r, 68e9), 1);
    CU_ASSERT_EQUAL(ss_result_stage_like(&r, 80e9), -1);
    CU_ASSERT_EQUAL(ss_result_stage_like(&r, 97e9), -1);
}
