/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of experts: which rank holds, reduces and steps them. */
#include "cost/experts.h"
#include "cost/memory.h"
#include "scale_job.h"
#include "suite.h"

#define JOB "h800 4;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 "
#define ZERO "--use-distributed-optimizer "
#define OVERLAP ZERO "--overlap-grad-reduce --overlap-param-gather "

/* 16 experts of 1024 columns behind a first dense layer of 14336. */
enum { EXPERTS = 16, FFN = 1024, H = 4096, LAYERS = 32 };
static const double one_expert = 3.0 * FFN * H;

static void open_job(struct scale_job *s, const char *text, int ep, int etp)
{
    CU_ASSERT_EQUAL_FATAL(scale_open(s, text), 0);
    s->job.model.num_experts = EXPERTS;
    s->job.model.top_k = 2;
    s->job.model.moe_ffn_hidden_size = FFN;
    s->job.model.moe_layers = (struct ss_layer_rule){.period = 1, .first = 1};
    s->job.moe.dispatcher = SS_DISPATCH_ALLTOALL;
    s->job.moe.grouped_gemm = 1;
    s->job.ep = ep;
    s->job.etp = etp;
}

static void run_job(struct scale_job *s, const char *text, int ep, int etp, struct ss_run *run)
{
    open_job(s, text, ep, etp);
    CU_ASSERT_EQUAL_FATAL(scale_run(s, NULL, run), 0);
}

static void close_job(struct scale_job *s, struct ss_run *run)
{
    ss_run_free(run);
    scale_close(s);
}

/* Bytes of all collectives of these names that a class takes part in. */
static double bytes_of(const struct ss_plan *plan, int cls, const char *name)
{
    double bytes = 0;
    for (int i = 0; i < plan->ncollectives; i++)
        for (int m = 0; m < plan->collectives[i].nmembers; m++)
            if (plan->collectives[i].members[m] == cls &&
                !strncmp(plan->collectives[i].name, name, strlen(name)))
                bytes += plan->collectives[i].bytes;
    return bytes;
}

/* A rank's parameters: without experts, and its share of the experts of its 31 layers. */
static double dense_of(const struct ss_plan *plan, double share)
{
    return plan->classes[0].parameters - (LAYERS - 1) * EXPERTS * one_expert * share;
}

/* Experts that lie on ep x etp ranks add up to the same model however they are divided. */
TEST(shares)
{
    static const struct {
        const char *flags;
        int ep, etp;
    } rows[] = {{JOB, 1, 1}, {JOB, 4, 1}, {JOB, 16, 1}, {JOB, 2, 4}, {JOB, 1, 8}};
    double dense = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scale_job s;
        struct ss_run run;
        run_job(&s, rows[i].flags, rows[i].ep, rows[i].etp, &run);
        double rest = dense_of(run.plan, 1.0 / (rows[i].ep * rows[i].etp));
        dense = i ? dense : rest;
        CU_ASSERT_DOUBLE_EQUAL(rest, dense, 0.5);
        close_job(&s, &run);
    }
}

/* ---- public models ---- */

static const char *const mixtures[] = {"mixtral-8x7b", "qwen3-30b-a3b", "qwen3-235b-a22b", "qwen2-57b-a14b",
                                       "deepseek-v2",  "kimi-k2",       "llama4-maverick", "olmoe-1b-7b",
                                       "gpt-oss-120b", "phi-3.5-moe",   "deepseek-v3",     "glm-4.5-air",
                                       "grok1-314b"};

static double parameters_of(const char *model, int pp, int ep, double *whole)
{
    struct scale_job s;
    struct ss_run run;
    char text[256];
    double sum = 0;
    snprintf(text, sizeof text,
             "h800 8;--bf16 --seq 4096 --mbs 1 --gbs 64 --model %s --pp %d --ep %d --etp 1 ", model, pp, ep);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    for (int stage = 0; stage < pp; stage++)
        for (int c = 0, found = 0; c < run.plan->nclasses; c++)
            if (run.plan->classes[c].stage == stage && !found++)
                sum += run.plan->classes[c].parameters;
    struct ss_parameter_counts counts;
    ss_model_count(&s.job.model, run.plan->padded_vocab, &counts);
    *whole = counts.total + counts.mtp;
    close_job(&s, &run);
    return sum;
}

/* What the ranks of a pipeline hold is the model; where experts are divided by n they hold an n-th of these, and all else. */
TEST(models)
{
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++) {
        double whole, all = parameters_of(mixtures[i], 1, 1, &whole);
        CU_ASSERT_DOUBLE_EQUAL(all, whole, 0.5);
        double half = parameters_of(mixtures[i], 1, 2, &whole), experts = 2 * (all - half);
        CU_ASSERT(experts > 0.5 * all);
        CU_ASSERT_DOUBLE_EQUAL(parameters_of(mixtures[i], 1, 8, &whole), all - experts * 7 / 8, 0.5);
    }
    double whole, stages = parameters_of("mixtral-8x7b", 4, 1, &whole);
    CU_ASSERT_DOUBLE_EQUAL(stages, whole, 0.5);
}

/* Parameters of a layer over all ranks that divide it: weights of column and row parallel layers, of heads, experts. Others are
 * copies, as biases behind a sum. */
static double over_ranks(const struct ss_ops *ops, const struct ss_job *job)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        int heads = !strcmp(op->name, "core attention") ||
                    (job->model.qk_norm == SS_QK_NORM_WIDTH && !strcmp(op->name, "qk norm"));
        int row = op->gemm.role == SS_TP_ROW || !strcmp(op->name, "experts fc2");
        int divided = row || heads || op->expert || op->gemm.role == SS_TP_COLUMN;
        double matrices = !divided ? 0
                          : row    ? fmax(1, op->gemm.groups) * op->gemm.n * op->gemm.k
                                   : op->params;
        sum += matrices * (op->expert ? job->etp * job->ep : job->tp) +
               (op->params - matrices) * (op->expert ? job->ep : 1);
    }
    return sum;
}

/* A layer has as many parameters however it is divided. */
TEST(layers)
{
    static const struct {
        int tp, ep, etp;
    } sizes[] = {{1, 1, 1}, {2, 1, 2}, {4, 4, 1}, {2, 8, 2}, {1, 8, 4}};
    for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++) {
        struct scale_job s;
        char text[256];
        double one = 0;
        snprintf(text, sizeof text, "h800 8;--bf16 --seq 4096 --mbs 1 --gbs 64 --model %s ", mixtures[i]);
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            struct ss_shape shape;
            struct ss_ops ops;
            struct ss_token_spread spread;
            const struct ss_group_shape group = {.n = sizes[k].ep, .nodes = 1, .per_node = sizes[k].ep};
            s.job.tp = sizes[k].tp;
            s.job.ep = sizes[k].ep;
            s.job.etp = sizes[k].etp;
            ss_shape_init(&shape, &s.job, &s.stack, s.job.model.vocab_size);
            CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&s.job, &group, &spread, NULL, NULL), 0);
            ss_shape_experts(&shape, &s.job, &spread);
            ss_layer_operators(ss_layer_kind_of(&s.job, s.job.model.num_layers - 1), &shape, &ops);
            one = k ? one : over_ranks(&ops, &s.job);
            CU_ASSERT_DOUBLE_EQUAL(over_ranks(&ops, &s.job), one, 0.5);
        }
        scale_close(&s);
    }
}

/* Dense gradients over all ranks, experts' over those that hold the same ones: 32 ranks, 8 of them a copy of the experts. */
TEST(buffers)
{
    static const struct {
        const char *flags, *grads, *params;
    } rows[] = {{JOB, "grads", NULL}, {JOB ZERO, "grads", "params"}, {JOB OVERLAP, "grads ", "params "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scale_job s;
        struct ss_run run;
        char name[64];
        run_job(&s, rows[i].flags, 8, 1, &run);
        double experts = (LAYERS - 1) * EXPERTS / 8 * one_expert, dense = dense_of(run.plan, 1.0 / 8);
        snprintf(name, sizeof name, "expert %s", rows[i].grads);
        CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, rows[i].grads), 4 * dense, 1);
        CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, name), 4 * experts, 1);
        snprintf(name, sizeof name, "expert %s", rows[i].params ? rows[i].params : "params");
        CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, name), rows[i].params ? 2 * experts : 0, 1);
        close_job(&s, &run);
    }
}

/* One buffer where experts are reduced with all else; none of experts where each is on one rank. */
TEST(one_buffer)
{
    struct scale_job s;
    struct ss_run run;
    run_job(&s, JOB ZERO, 1, 1, &run);
    CU_ASSERT_EQUAL(bytes_of(run.plan, 0, "expert "), 0);
    CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, "grads"), 4 * run.plan->classes[0].parameters, 1);
    close_job(&s, &run);
    run_job(&s, "h800 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 " ZERO, 16, 1, &run);
    CU_ASSERT_EQUAL(bytes_of(run.plan, 0, "expert "), 0);
    CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, "grads"), 4 * dense_of(run.plan, 1.0 / 16), 1);
    close_job(&s, &run);
}

static void expect_ascending(const struct ss_bucket_mark *marks, int n)
{
    for (int i = 1; i < n; i++)
        CU_ASSERT(marks[i - 1].fraction <= marks[i].fraction);
}

/* Both kinds of buckets in the order in which a backward fills them; that of the experts of the lowest layers is full, and
 * needed, at layer 1: layer 0 has none. */
TEST(marks)
{
    struct scale_job s;
    struct ss_run run;
    int experts = 0, index = -1;
    run_job(&s, JOB OVERLAP, 8, 1, &run);
    const struct ss_plan *plan = run.plan;
    const struct ss_chunk_cost *chunk = &plan->classes[0].chunks[0];
    expect_ascending(chunk->reduce, chunk->nreduce);
    expect_ascending(chunk->gather, chunk->ngather);
    for (int i = 0; i < chunk->nreduce; i++)
        if (!strncmp(plan->collectives[chunk->reduce[i].collective].name, "expert", 6)) {
            experts++;
            index = i;
        }
    CU_ASSERT(experts > 4 && experts < chunk->nreduce);
    CU_ASSERT(index >= 0 && chunk->reduce[index].fraction < 1);
    CU_ASSERT_EQUAL(chunk->reduce[chunk->nreduce - 1].fraction, 1); /* embedding */
    index = -1;
    for (int i = 0; i < chunk->ngather && index < 0; i++)
        if (!strncmp(plan->collectives[chunk->gather[i].collective].name, "expert", 6))
            index = i;
    CU_ASSERT(index > 0 && chunk->gather[index].fraction > 0);
    close_job(&s, &run);
}

/* States of experts are divided by the ranks that hold the same ones, those of all else by all. */
TEST(states)
{
    static const struct {
        const char *flags;
        int tp, ep, etp;
    } rows[] = {{JOB ZERO, 1, 8, 1}, {JOB ZERO "--tp 2 --sequence-parallel ", 2, 4, 1}, {JOB ZERO, 1, 4, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scale_job s;
        struct ss_run run;
        int copies = rows[i].ep * rows[i].etp;
        run_job(&s, rows[i].flags, rows[i].ep, rows[i].etp, &run);
        double experts = (LAYERS - 1) * EXPERTS * one_expert / copies,
               dense = dense_of(run.plan, 1.0 / copies);
        const double *memory = run.plan->classes[0].memory;
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_WEIGHTS], 2 * (dense + experts), 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_GRADIENTS], 4 * (dense + experts), 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER],
                               12 * (dense / (32.0 / rows[i].tp) + experts / (32.0 / copies)), 100);
        close_job(&s, &run);
    }
}

/* By hand: 1e9 parameters, 0.6e9 of them experts over 2 ranks, all else over 8; FSDP shards weights and gradients too. */
TEST(static)
{
    const struct ss_param_count count = {.all = 1e9, .expert = 0.6e9, .layer = 1e8, .tensors = 9};
    const struct ss_optimizer_shards shards = {8, 2};
    static const struct ss_layer_set none;
    struct scale_job s;
    struct ss_cost_context c = {.fsdp.n = 1};
    double memory[SS_MEM_COUNT];
    open_job(&s, JOB ZERO, 16, 1);
    c.stack = &s.stack;
    c.job = &s.job;
    ss_shape_init(&c.shape, &s.job, &s.stack, 128512);
    ss_memory_static(&c, &count, shards, memory);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_WEIGHTS], 2e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_GRADIENTS], 4e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER], 12 * (0.05e9 + 0.3e9), 1);
    s.job.offload.optimizer = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_host(&c, &count, shards, &none), 16 * (0.05e9 + 0.3e9), 1);
    s.job.offload.optimizer = 0;
    s.job.dp.fsdp = 1;
    s.job.dp.sharding = SS_SHARD_OPTIM_GRADS_PARAMS;
    c.fsdp.n = 8;
    c.edp.n = 2;
    ss_memory_static(&c, &count, shards, memory);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_WEIGHTS], 2 * (0.05e9 + 0.3e9), 1);
    CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_GRADIENTS], 4 * (0.05e9 + 0.3e9), 1);
    scale_close(&s);
}

static int count_bytes(const struct ss_plan *plan, double bytes)
{
    int n = 0;
    for (int i = 0; i < plan->ncollectives; i++)
        n += fabs(plan->collectives[i].bytes - bytes) < 1;
    return n;
}

/* Full sharding gathers and scatters the experts of a layer among those that hold the same ones, what else it has among all; a
 * dense layer, embedding and output layer are gathered too. */
TEST(fsdp)
{
    const struct ss_run_options options = {.plan = {.level = SS_LEVEL_LAYER}};
    struct scale_job s;
    struct ss_run run, chunk;
    run_job(&s, JOB "--fsdp full", 8, 1, &chunk);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
    double experts = EXPERTS / 8 * one_expert, heads = 2.0 * H * (H + 1024), router = EXPERTS * H,
           norms = 2 * H;
    CU_ASSERT_EQUAL(count_bytes(run.plan, 2 * experts), 1);
    CU_ASSERT_EQUAL(count_bytes(run.plan, 4 * experts), 1);
    CU_ASSERT_EQUAL(count_bytes(run.plan, 2 * (heads + router + norms)), 1);
    CU_ASSERT_EQUAL(count_bytes(run.plan, 4 * (heads + router + norms)), 1);
    CU_ASSERT_DOUBLE_EQUAL(run.plan->classes[0].memory[SS_MEM_GRADIENTS],
                           4 * (dense_of(run.plan, 1.0 / 8) / 32 + (LAYERS - 1) * experts / 4), 1);
    CU_ASSERT_DOUBLE_EQUAL(chunk.result->iteration_s, run.result->iteration_s,
                           0.05 * run.result->iteration_s);
    ss_run_free(&chunk);
    close_job(&s, &run);
}

/* NCCL has buffers of the expert groups that have several ranks: EP and EDP, or EP, ETP, both together, EDP. So has the group of all
 * ranks that a framework asks for (ss.memory.world_group). */
TEST(overhead)
{
    struct scale_job s;
    open_job(&s, JOB ZERO, 1, 1);
    s.stack.nccl_bytes = 1e9;
    double dense = ss_memory_overhead(&s.job, &s.stack, 32, 0);
    s.job.ep = 8;
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_overhead(&s.job, &s.stack, 32, 0) - dense, 2e9, 1);
    s.job.ep = 32;
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_overhead(&s.job, &s.stack, 32, 0) - dense, 1e9, 1);
    s.job.ep = 8;
    s.job.etp = 2;
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_overhead(&s.job, &s.stack, 32, 0) - dense, 4e9, 1);
    /* a communicator of all ranks, where they are several */
    s.stack.world_group = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_overhead(&s.job, &s.stack, 32, 0) - dense, 5e9, 1);
    s.job.ep = s.job.etp = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_memory_overhead(&s.job, &s.stack, 1, 0), s.stack.context_bytes, 1);
    scale_close(&s);
}

/* Copies of shards: on a node of 8 an expert lies on 2 ranks with ep 4, whose halves 4 nodes reduce, and on one with ep 8; all else on 8.
 * Copies that share the optimizer have a quarter of a shard's states each, and gather what they have stepped. */
TEST(hybrid)
{
    static const struct {
        const char *flags;
        int ep, shards, steps;
    } rows[] = {{JOB "--fsdp hybrid ", 4, 2, 1},
                {JOB "--fsdp hybrid ", 8, 1, 1},
                {JOB "--fsdp hybrid --outer-dp-sharding-strategy optim ", 4, 2, 4},
                {JOB "--fsdp hybrid --outer-dp-sharding-strategy optim ", 8, 1, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scale_job s;
        struct ss_run run;
        run_job(&s, rows[i].flags, rows[i].ep, 1, &run);
        double experts = (LAYERS - 1) * EXPERTS / rows[i].ep * one_expert / rows[i].shards,
               dense = dense_of(run.plan, 1.0 / rows[i].ep) / 8;
        const double *memory = run.plan->classes[0].memory;
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_GRADIENTS], 4 * (dense + experts), 1);
        CU_ASSERT_DOUBLE_EQUAL(memory[SS_MEM_OPTIMIZER], 12 * (dense + experts) / rows[i].steps, 100);
        CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, "expert grads"), 4 * experts, 1);
        CU_ASSERT_DOUBLE_EQUAL(bytes_of(run.plan, 0, "expert params"), rows[i].steps > 1 ? 2 * experts : 0,
                               1);
        close_job(&s, &run);
    }
}
