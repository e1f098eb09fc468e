/* SPDX-License-Identifier: Apache-2.0 */
/* What sharded parameters and gradients move, beside a layer and between the replicas of the shards, by hand. */

#include "base/base.h"
#include "cost/cost.h"
#include "scale_job.h"
#include "small_job.h"

/* QKV of 1024 x (1024 + 2 x 256), projection, gate and up of 1024 x 2816 each, down; and two norms. */
#define MATRICES (1024. * 1536 + 1024. * 1024 + 3 * 1024. * 2816)
#define ALL (MATRICES + 2 * 1024)

/* Adds the collectives of a layer that computes nothing. */
static void alone(struct setting *t, const struct ss_ops *ops, struct ss_layer_cost *out)
{
    struct ss_recorder recorder;
    struct ss_layer_steps steps;
    t->c.record = &recorder;
    ss_record_begin(&recorder);
    ss_cost_fsdp(&t->c, ops, out);
    CU_ASSERT_EQUAL(ss_record_end(&recorder, &steps), SS_OK);
    ss_layer_steps_free(&steps);
}

/* A layer of an encoder, beside its place. */
#define ENCODER 16
/* A layer on 8 ranks of a node with NVLinks of 1 GB/s, in an iteration of four microbatches: seconds of collectives, and of the
 * traffic of flat buffers at 1 TB/s, which stand alone because nothing is computed beside them. */
static struct ss_layer_cost sharded(int sharding, int where, int pytorch, int fp8_gather)
{
    struct setting t;
    struct ss_layer_cost out = {0};
    setting_make(&t);
    t.job.dp.fsdp = 1;
    t.job.dp.sharding = sharding;
    t.job.precision = fp8_gather ? SS_FP8 : SS_BF16;
    t.job.stored = SS_BF16;
    t.job.fp8_param_gather = fp8_gather;
    t.job.dp.grad_reduce_fp32 = 1;
    t.stack.fsdp_pytorch = pytorch;
    t.c.once = 1 / 4.;
    t.c.fsdp = (struct ss_group_shape){.n = 8, .nodes = 1, .per_node = 8};
    t.c.net.fabric_busbw = 1e9;
    struct ss_ops ops = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(ops.sum.params, ALL);
    ops.where = where & ~ENCODER;
    ops.encoder = (where & ENCODER) != 0;
    alone(&t, &ops, &out);
    return out;
}

static void expect_comm(struct ss_layer_cost got, double forward_bytes, double backward_bytes)
{
    CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_DP], forward_bytes * 7 / 8 / 1e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(got.input_grad[SS_LABEL_DP], backward_bytes * 7 / 8 / 1e9, 1e-12);
}

/* All parameters in 16 bit are gathered before each pass, and fp32 gradients scattered. What PyTorch does not wrap, as
 * it wraps the layers of an encoder, is not gathered again. */
TEST(parameters)
{
    struct ss_layer_cost got = sharded(SS_SHARD_OPTIM_GRADS_PARAMS, SS_WHERE_TRANSFORMER, 0, 0);
    expect_comm(got, 2 * ALL, (4 + 2) * ALL);
    /* written and read in 16 bit; backward the same, and the gradient is cast from 16 bit, and read and written in fp32 */
    CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_COMPUTE], 4 * ALL / 1e12, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(got.input_grad[SS_LABEL_COMPUTE], (4 + 2 + 8) * ALL / 1e12, 1e-15);
    got = sharded(SS_SHARD_OPTIM_GRADS_PARAMS, SS_WHERE_BEFORE, 1, 0);
    expect_comm(got, 2 * ALL, 4 * ALL);
    CU_ASSERT_DOUBLE_EQUAL(got.input_grad[SS_LABEL_COMPUTE], (2 + 8) * ALL / 1e12, 1e-15);
    expect_comm(sharded(SS_SHARD_OPTIM_GRADS_PARAMS, SS_WHERE_BEFORE | ENCODER, 1, 0), 2 * ALL,
                (4 + 2) * ALL);
}

/* ZeRO-2: gradients are scattered in every microbatch, parameters gathered in the first of four; PyTorch's frees them after each. */
TEST(gradients)
{
    struct ss_layer_cost got = sharded(SS_SHARD_OPTIM_GRADS, SS_WHERE_TRANSFORMER, 0, 0);
    expect_comm(got, 2 * ALL / 4, 4 * ALL);
    CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_COMPUTE], 4 * ALL / 4 / 1e12, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(got.input_grad[SS_LABEL_COMPUTE], (2 + 8) * ALL / 1e12, 1e-15);
    expect_comm(sharded(SS_SHARD_OPTIM_GRADS, SS_WHERE_TRANSFORMER, 1, 0), 2 * ALL, 4 * ALL);
    expect_comm(sharded(SS_SHARD_OPTIM, SS_WHERE_TRANSFORMER, 0, 0), 0, 0);
}

/* Parameters that stay gathered between the four microbatches of a mixture, or of a pipeline: gathered in the first, gradients added up in
 * fp32 and scattered in the last. Every microbatch casts and adds. */
TEST(once)
{
    static const struct {
        int prop, pp, experts, once;
    } rows[] = {{0, 2, 8, 0}, {1, 1, 8, 0}, {1, 2, 0, 1}, {2, 1, 8, 1}, {2, 1, 0, 0}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_layer_cost got = {0};
        struct setting t;
        setting_make(&t);
        t.job.dp.fsdp = 1;
        t.job.dp.sharding = SS_SHARD_OPTIM_GRADS_PARAMS;
        t.job.precision = t.job.stored = SS_BF16;
        t.stack.fsdp_once = rows[i].prop;
        t.stack.fsdp_reduced = 4;
        t.c.once = 1 / 4.;
        t.c.fsdp = (struct ss_group_shape){.n = 8, .nodes = 1, .per_node = 8};
        t.c.net.fabric_busbw = 1e9;
        struct ss_ops ops = layer_of(&t, DENSE);
        t.job.pp = rows[i].pp;
        t.job.model.num_experts = rows[i].experts;
        CU_ASSERT_EQUAL(ss_job_fsdp_once(&t.job, &t.stack), rows[i].once);
        alone(&t, &ops, &got);
        if (rows[i].once)
            expect_comm(got, 2 * ALL / 4, 4 * ALL / 4);
        else
            expect_comm(got, 2 * ALL, (2 + 2) * ALL);
        CU_ASSERT_DOUBLE_EQUAL(got.input_grad[SS_LABEL_COMPUTE],
                               ((rows[i].once ? 0 : 4) + 2 + 8) * ALL / 1e12, 1e-15);
    }
}

/* Matrices go in a byte an element, norms in two. */
TEST(fp8)
{
    expect_comm(sharded(SS_SHARD_OPTIM_GRADS_PARAMS, SS_WHERE_TRANSFORMER, 0, 1), MATRICES + 2 * 2048,
                MATRICES + 2 * 2048 + 4 * ALL);
}

/* A gather beside 1.5 s of kernels and 0.5 s of waits for tensor ranks takes 20 % of the SMs: while it runs, kernels are 1/0.8 as long. It
 * begins with the forward, so that what is recomputed first is slowed first. Time that kernels take longer is the kernels'; only what is
 * left at the end of the pass is `dp`. */
TEST(slowed)
{
    static const struct {
        double gather, again, compute, dp;
    } rows[] = {
        {0.5, 0.5 + 0.5 * 0.2, 1, 0},                 /* 0.4 of 0.5 s are done beside it */
        {1.25, 0.5 / 0.8, 1 + 0.625 * 0.2, 0},        /* and 0.5 of the next second, in 0.625 s */
        {4, 0.5 / 0.8, 1 / 0.8, 4 - 1.5 / 0.8 - 0.5}, /* beside all of the pass, and beyond it */
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct setting t;
        struct ss_recorder recorder;
        struct ss_layer_steps steps;
        struct ss_layer_cost got = {0};
        setting_make(&t);
        t.job.dp.fsdp = 1;
        t.job.dp.sharding = SS_SHARD_OPTIM_GRADS_PARAMS;
        t.job.precision = t.job.stored = SS_BF16;
        t.stack.comm_sms_fabric = 0.2 * t.card.sm_count;
        t.c.fsdp = (struct ss_group_shape){.n = 8, .nodes = 1, .per_node = 8};
        t.c.net.fabric_busbw = 2 * ALL * 7 / 8 / rows[i].gather;
        t.c.record = &recorder;
        struct ss_ops ops = layer_of(&t, DENSE);
        ss_record_begin(&recorder);
        ss_record_kernels(&recorder, &(struct ss_step_work){0.5, 0, 0}, &(struct ss_step_work){0, 0, 0});
        recorder.out.phase[SS_PHASE_F].step[0].label = SS_LABEL_RECOMPUTE;
        ss_record_kernels(&recorder, &(struct ss_step_work){1, 0, 0}, &(struct ss_step_work){0, 0, 0});
        ss_record_border(&recorder, SS_PHASE_F, SS_COLL_ALL_GATHER, 1, 0.5);
        got.forward[SS_LABEL_COMPUTE] = 1;
        got.forward[SS_LABEL_RECOMPUTE] = 0.5;
        got.forward[SS_LABEL_TP] = 0.5;
        ss_cost_fsdp(&t.c, &ops, &got);
        CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_COMPUTE], rows[i].compute + 4 * ALL / 1e12, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_RECOMPUTE], rows[i].again, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_DP], rows[i].dp, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(got.forward[SS_LABEL_TP], 0.5, 1e-12);
        CU_ASSERT_EQUAL(ss_record_end(&recorder, &steps), SS_OK);
        ss_layer_steps_free(&steps);
    }
}

/* ---- replicas of the shards ---- */

#define HYBRID "h100 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 16 --fsdp hybrid "
#define FP8 "--fp8-format hybrid --fp8-param-gather "

/* How many collectives of two replicas of shards move so many bytes. */
static int count_bytes(const char *text, double bytes)
{
    struct scale_job s;
    struct ss_run run;
    int n = 0;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    for (int i = 0; i < run.plan->ncollectives; i++)
        n += fabs(run.plan->collectives[i].bytes - bytes) < 1;
    ss_run_free(&run);
    scale_close(&s);
    return n;
}

/* Each rank of two nodes has an eighth of a layer and reduces it with its replica; where these share the optimizer's step they gather
 * what they have stepped: whole layers between the output layer and the embedding. */
TEST(hybrid)
{
    const double matrices = 4096. * (4096 + 2 * 1024) + 4096. * 4096 + 3 * 4096. * 14336, norms = 2 * 4096;
    CU_ASSERT_EQUAL(count_bytes(HYBRID, 4 * (matrices + norms) / 8), 32);
    CU_ASSERT_EQUAL(count_bytes(HYBRID, 2 * (matrices + norms) / 8), 0);
    CU_ASSERT_EQUAL(count_bytes(HYBRID "--outer-dp-sharding-strategy optim", 2 * (matrices + norms) / 8), 32);
    CU_ASSERT_EQUAL(count_bytes(HYBRID FP8 "--outer-dp-sharding-strategy optim", (matrices + 2 * norms) / 8),
                    32);
}

/* A layer has 54.5 million parameters on each of four tensor ranks, in the backward FC2 14.7, FC1 29.4, a norm, projection and QKV 10.5, a
 * norm; the tensor that fills a bucket closes it. Megatron-LM's 40 million are an FC2 and an FC1, then from norm to FC1: 31 times a layer.
 * 128 Mi, whatever the number of ranks, are the output layer and an FC2, then in turn from FC1 to the FC1 of the second layer behind and from
 * its norm to the FC2 of the third: six times each. 300 million are the output layer and all to the FC2 of the fourth layer, from its FC1 to
 * the FC1 of the ninth, then three times six layers from norm to FC1. */
TEST(sizes)
{
#define BUCKETS(stack)                                                                                       \
    "h100 2;--stack " stack " --model llama3.1-8b --bf16 --tp 4 --sequence-parallel --mbs 1 --gbs 8 "        \
    "--seq 4096 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
    const double mlp = 3 * 4096. * 14336 / 4, gemms = (4096. * (4096 + 2 * 1024) + 4096. * 4096) / 4 + mlp;
    const double layer = gemms + 2 * 4096;
    CU_ASSERT_EQUAL(count_bytes(BUCKETS("megatron-2407"), 4 * layer), 31);
    CU_ASSERT_EQUAL(count_bytes(BUCKETS("megatron-bridge-25.09"), 2 * (layer - mlp / 3 + layer + mlp)),
                    2 * 6); /* and gathers */
    CU_ASSERT_EQUAL(
        count_bytes(BUCKETS("megatron-bridge-25.09") "--ddp-bucket-size 300000000", 2 * 6 * layer), 2 * 3);
    /* Fp8 parameters, gathered in 1 byte: to the FC1 of the third layer, then in turn to the FC2 of the third behind, 128 Mi to the digit, and
     * to the FC1 of the second behind that: five times. The last bucket has two layers but an FC2, and all norms, the output layer and the
     * embedding (128,512 rows) besides. */
    const char *fp8 = BUCKETS("megatron-bridge-25.09") FP8 "--fp8-param-gather";
    const double others = (2 * 32 + 1) * 4096. + 2 * 128512 / 4 * 4096., two = gemms - mlp / 3 + gemms;
    CU_ASSERT_EQUAL(count_bytes(fp8, 2 * (two + mlp)), 5);
    CU_ASSERT_EQUAL(count_bytes(fp8, two + mlp), 5);
    CU_ASSERT_EQUAL(count_bytes(fp8, 2 * (two + others)), 1);
    CU_ASSERT_EQUAL(count_bytes(fp8, two + 2 * others), 1);
}

/* Stages begin at once to reduce gradients where Megatron's interleaved schedule does it beside the backward, and nothing says no. */
TEST(aligned)
{
#define PIPELINE                                                                                             \
    "h100 1;--model llama3.1-8b --bf16 --mbs 1 --gbs 8 --seq 4096 --use-distributed-optimizer --pp 2 "
#define VIRTUAL "--num-layers-per-virtual-pipeline-stage 8 "
    static const struct {
        const char *flags;
        int aligned;
    } rows[] = {
        {PIPELINE VIRTUAL "--overlap-grad-reduce", 1},
        {PIPELINE VIRTUAL, 0},
        {PIPELINE "--overlap-grad-reduce", 0},
        {PIPELINE VIRTUAL "--overlap-grad-reduce --no-align-grad-reduce", 0},
        {PIPELINE VIRTUAL "--overlap-grad-reduce --disable-align-grad-reduce", 0},
        {PIPELINE VIRTUAL "--overlap-grad-reduce --no-delay-grad-reduce", 0},
        {PIPELINE VIRTUAL "--overlap-grad-reduce --stack torchtitan-2025", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scale_job s;
        struct ss_run run;
        CU_ASSERT_EQUAL_FATAL(scale_open(&s, rows[i].flags), 0);
        CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
        CU_ASSERT_EQUAL(run.plan->aligned, rows[i].aligned);
        ss_run_free(&run);
        scale_close(&s);
    }
}
