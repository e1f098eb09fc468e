/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's count of FLOP for today's models, against sums worked out by hand: sequences of 4096, one of them. */
#include <string.h>

#include "layers/flops.h"
#include "suite.h"

#define SEQUENCE 4096.0

static struct ss_schedule *schedule;
static struct ss_stack stack;

static void job_make(struct ss_job *job, int h, int layers, int heads, int groups, int ffn)
{
    struct ss_model *m = &job->model;
    ss_job_init(job);
    m->hidden_size = h;
    m->num_layers = layers;
    m->num_attention_heads = heads;
    m->num_query_groups = groups;
    m->kv_channels = 128;
    m->ffn_hidden_size = ffn;
    m->gated_mlp = 1;
    m->vocab_size = 32000;
    job->seq_length = 4096;
    job->global_batch = 1;
    job->pp = 1;
    job->recompute.granularity = SS_RECOMPUTE_NONE;
}

/* Parameters that a token meets and products with the scores of one token, both in multiply-adds of the forward. */
static void expect(const struct ss_job *job, int vocab, double met, double scores)
{
    struct ss_model_flops got = ss_model_flops_of(job, &stack, schedule, vocab);
    double all = 6 * SEQUENCE * (met + scores);
    CU_ASSERT_DOUBLE_EQUAL(got.model / all, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(got.causal / (6 * SEQUENCE * (met + scores / 2)), 1, 1e-12);
    CU_ASSERT_EQUAL(got.hardware, got.model);
}

static void mixtral(struct ss_job *job)
{
    job_make(job, 4096, 32, 32, 8, 14336);
    job->model.num_experts = 8;
    job->model.top_k = 2;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&job->model, NULL), 0);
}

/* Attention 41,943,040 and two experts of 176,160,768 a layer, the output layer; a token multiplies 4096 keys and values of
 * 4096 numbers. */
TEST(mixtral)
{
    struct ss_job job;
    mixtral(&job);
    expect(&job, 32000, 32 * (41943040.0 + 2 * 176160768.0) + 32000 * 4096.0, 32 * 2 * 4096.0 * 4096);
}

/* Queries are twice as wide as the hidden state; 8 experts of 3 x 2048 x 768. */
TEST(qwen3_30b)
{
    struct ss_job job;
    job_make(&job, 2048, 48, 32, 4, 6144);
    job.model.num_experts = 128;
    job.model.top_k = 8;
    job.model.moe_ffn_hidden_size = 768;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&job.model, NULL), 0);
    expect(&job, 151936, 48 * (18874368.0 + 37748736.0) + 151936 * 2048.0, 48 * 2 * 4096.0 * 4096);
}

static void deepseek_v3(struct ss_job *job)
{
    struct ss_model *m = &job->model;
    job_make(job, 7168, 61, 128, 128, 18432);
    m->q_lora_rank = 1536;
    m->kv_lora_rank = 512;
    m->qk_head_dim = m->v_head_dim = 128;
    m->qk_pos_emb_head_dim = 64;
    m->num_experts = 256;
    m->top_k = 8;
    m->moe_ffn_hidden_size = m->shared_expert_ffn_hidden_size = 2048;
    m->moe_layers.period = 1;
    m->moe_layers.first = 3;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
}

/* Attention 187,107,328 and its norms of latents, an MLP of 396,361,728 or nine experts of 44,040,192: as many. A layer of
 * multi-token prediction has the same, three norms, a projection and an output layer. */
TEST(deepseek_v3)
{
    struct ss_job job;
    double layer = 187107328.0 + 396361728.0, keys = 4096.0 * 128 * (192 + 128), logits = 129280.0 * 7168;
    deepseek_v3(&job);
    expect(&job, 129280, 61 * layer + logits, 61 * keys);
    job.model.mtp_num_layers = 1;
    expect(&job, 129280, 62 * layer + 2 * logits + 3 * 7168.0 + 2 * 7168.0 * 7168, 62 * keys);
    job.model.q_lora_rank =
        0; /* DeepSeek-V2-Lite's queries: h x 128 x 192 instead of both matrices and the norm */
    double less = 1536.0 * (7168 + 128 * 192 + 1) - 7168.0 * 128 * 192;
    expect(&job, 129280, 62 * (layer - less) + 2 * logits + 3 * 7168.0 + 2 * 7168.0 * 7168, 62 * keys);
}

/* Dense and mixed layers recomputed: what runs twice is counted three times as little as forward and backward. */
TEST(recompute)
{
    struct ss_job job;
    double tokens = 2 * SEQUENCE;
    deepseek_v3(&job);
    job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
    struct ss_model_flops got = ss_model_flops_of(&job, &stack, schedule, 129280);
    CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / (tokens * 61 * 4096.0 * 128 * 320), 1, 1e-12);
    job.recompute.modules = SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ) | SS_MODULE_BIT(SS_MODULE_LAYERNORM);
    got = ss_model_flops_of(&job, &stack, schedule, 129280);
    CU_ASSERT_DOUBLE_EQUAL(
        (got.hardware - got.model) / (tokens * 61 * (1536 * 128.0 * 192 + 512 * 128.0 * 256)), 1, 1e-9);
    job.recompute.modules = SS_MODULE_BIT(SS_MODULE_MOE) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS);
    got = ss_model_flops_of(&job, &stack, schedule, 129280);
    CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / (tokens * 58 * 396361728.0), 1, 1e-9);
    job.recompute.modules = SS_MODULE_BIT(SS_MODULE_MLP) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS);
    got = ss_model_flops_of(&job, &stack, schedule, 129280);
    CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / (tokens * (3 * 396361728.0 + 58 * 44040192.0)), 1,
                           1e-9);
    /* The first four layers by block: three dense ones and one of experts, which have as many FLOP. */
    job.recompute.granularity = SS_RECOMPUTE_FULL;
    job.recompute.method = SS_RECOMPUTE_BLOCK;
    job.recompute.num_layers = 4;
    job.model.top_k = 4; /* five experts instead of nine */
    got = ss_model_flops_of(&job, &stack, schedule, 129280);
    double layer = 187107328.0 + 4096.0 * 128 * 320, dense = 396361728.0, experts = 5 * 44040192.0;
    CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / (tokens * (4 * layer + 3 * dense + experts)), 1,
                           1e-9);
    stack.stops_early = 1; /* before the last of three matrices of a dense layer */
    got = ss_model_flops_of(&job, &stack, schedule, 129280);
    stack.stops_early = 0;
    CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / (tokens * (4 * layer + 2 * dense + experts)), 1,
                           1e-9);
}

/* By operator a layer of 4096 runs again its keys, of 8 groups of 128, the projection of 32 heads of 128 unless tensor ranks keep
 * its sum, and the gate of its MLP. */
TEST(by_operator)
{
    static const struct {
        int tp, gated;
        double columns;
    } rows[] = {{1, 1, 1024 + 4096 + 14336}, {2, 1, 1024 + 14336}, {1, 0, 1024 + 4096}};
    stack.split_linear = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_job job;
        job_make(&job, 4096, 32, 32, 8, 14336);
        CU_ASSERT_EQUAL_FATAL(ss_model_finish(&job.model, NULL), 0);
        job.tp = rows[i].tp;
        job.model.gated_mlp = rows[i].gated;
        job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
        job.recompute.modules = SS_MODULE_BIT(SS_MODULE_OPERATORS);
        struct ss_model_flops got = ss_model_flops_of(&job, &stack, schedule, 32000);
        double again = 2 * SEQUENCE * 32 * 4096 * rows[i].columns;
        CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / again, 1, 1e-9);
    }
}

/* A window of 1024 of 4096 keys: a query counts 1024 keys, of which the first ones see fewer; a chunk of 3000 leaves squares of 3000 and 1096,
 * of which the mask takes half. */
TEST(windows)
{
    static const struct {
        int window, chunk;
        double seen, bounded; /* keys that a query sees in the mean, and counts at most */
    } rows[] = {
        {0, 0, 2048, 4096},
        {1024, 0, 1024 - 1024 * 1024 / 2 / 4096.0, 1024},
        {0, 1024, 512, 1024},
        {0, 3000, (3000.0 * 3000 + 1096.0 * 1096) / 4096 / 2, (3000.0 * 3000 + 1096.0 * 1096) / 4096}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ss_job job;
        job_make(&job, 4096, 32, 32, 8, 14336);
        job.model.sliding_window = rows[i].window;
        job.model.attention_chunk = rows[i].chunk;
        CU_ASSERT_EQUAL_FATAL(ss_model_finish(&job.model, NULL), 0);
        job.model.local_layers.period = 1;
        job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
        job.recompute.modules = SS_MODULE_BIT(SS_MODULE_CORE_ATTN);
        struct ss_model_flops got = ss_model_flops_of(&job, &stack, schedule, 32000);
        double key = 6 * SEQUENCE * 32 * 2 * 4096, rest = got.model - key * 4096;
        CU_ASSERT_DOUBLE_EQUAL(got.causal / (rest + key * 2048), 1, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(got.seen / (rest + key * rows[i].seen), 1, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(got.bounded / (rest + key * rows[i].bounded), 1, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL((got.bounded_hardware - got.bounded) / (key * rows[i].bounded / 3), 1, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL((got.hardware - got.model) / (key * 4096 / 3), 1, 1e-9);
    }
}

static int start(void)
{
    const struct ss_schedule_params params = {
        .stages = 1, .chunks = 1, .microbatches = 8, .microbatch_group_size = 0, .overlap_p2p = 0};
    return ss_schedule_build("1f1b", &params, &schedule, NULL);
}

static int end(void)
{
    ss_schedule_free(schedule);
    return 0;
}

SUITE(flops)
{
    return suite_file(argv[0], start, end);
}
