/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, operators, costs and collectives against numbers worked out by hand. */
#include <math.h>
#include <string.h>

#include "cost/cost.h"
#include "layers/kinds.h"
#include "pairs.h"
#include "stepsim/job.h"
#include "stepsim/plan.h"
#include "suite.h"

static void expect_group(const struct ss_ranks *r, int kind, int rank, const int *want, int n)
{
    int got[64], count;
    ss_ranks_group(r, kind, rank, got, &count);
    CU_ASSERT_EQUAL(count, n);
    for (int i = 0; i < n && i < count; i++)
        CU_ASSERT_EQUAL(got[i], want[i]);
}

/* The example of Megatron's parallel_state: 16 GPUs, tensor 2, pipeline 4. */
TEST(groups_megatron_example)
{
    const int size[SS_AXIS_COUNT] = {2, 1, 1, 2, 4};
    struct ss_ranks r;
    CU_ASSERT_EQUAL_FATAL(ss_ranks_init(&r, "tp-cp-ep-dp-pp", size, NULL), 0);
    CU_ASSERT_EQUAL(r.world_size, 16);
    expect_group(&r, SS_COMM_TP, 5, (int[]){4, 5}, 2);
    expect_group(&r, SS_COMM_DP, 2, (int[]){0, 2}, 2);
    expect_group(&r, SS_COMM_DP, 7, (int[]){5, 7}, 2);
    expect_group(&r, SS_COMM_PP, 9, (int[]){1, 5, 9, 13}, 4);
    expect_group(&r, SS_COMM_MP, 0, (int[]){0, 1, 4, 5, 8, 9, 12, 13}, 8);
    expect_group(&r, SS_COMM_EMBEDDING, 6, (int[]){2, 14}, 2);
}

TEST(groups_with_context)
{
    const int size[SS_AXIS_COUNT] = {2, 2, 1, 2, 2};
    struct ss_ranks r;
    CU_ASSERT_EQUAL_FATAL(ss_ranks_init(&r, "tp-cp-ep-dp-pp", size, NULL), 0);
    expect_group(&r, SS_COMM_CP, 5, (int[]){5, 7}, 2);
    expect_group(&r, SS_COMM_DP_CP, 0, (int[]){0, 2, 4, 6}, 4);
    expect_group(&r, SS_COMM_TP_CP, 12, (int[]){12, 13, 14, 15}, 4);
    CU_ASSERT_EQUAL_FATAL(ss_ranks_init(&r, "tp-pp-dp-cp", size, NULL), 0);
    expect_group(&r, SS_COMM_PP, 0, (int[]){0, 2}, 2);
    expect_group(&r, SS_COMM_DP_CP, 1, (int[]){1, 5, 9, 13}, 4);
}

TEST(groups_refused)
{
    const int size[SS_AXIS_COUNT] = {2, 2, 1, 2, 2};
    struct ss_ranks r;
    struct ss_error err;
    CU_ASSERT_EQUAL(ss_ranks_init(&r, "tp-cp-tp", size, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_ranks_init(&r, "tp-xx", size, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_ranks_init(&r, "tp-dp-pp", size, &err), SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "cp"));
}

/* A card and a stack of round numbers. */
static void context_make(struct ss_cost_context *c, struct ss_card *card, struct ss_stack *stack,
                         struct ss_job *job)
{
    memset(c, 0, sizeof *c);
    memset(card, 0, sizeof *card);
    memset(stack, 0, sizeof *stack);
    ss_job_init(job);
    card->sm_count = 100;
    card->host_slowdown = 1;
    card->attention_wide = 1;
    card->attention_lone = 1;
    card->peak_bf16 = 1e15;
    card->peak_fp8 = 2e15;
    card->gemm_eff_bf16 = 0.5;
    card->gemm_eff_fp8 = 0.5;
    card->gemm_tile_m = 128;
    card->gemm_tile_n = 256;
    card->gemm_small_tile = 0.9;
    card->attention_tile = 128;
    card->hbm_bandwidth = 1e12;
    card->hbm_efficiency = 1;
    stack->fused_wgrad_accumulation = stack->fp8_forward_gain = 1;
    stack->flash_fwd = 0.4;
    stack->flash_bwd = 0.25;
    stack->te_layers = stack->norm_passes = 1;
    c->card = card;
    c->stack = stack;
    c->job = job;
    c->tp = c->cp = c->fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
}

TEST(gemm_waves)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    context_make(&c, &card, &stack, &job);
    /* 10 x 10 tiles on 100 SMs: one full wave of 2 * 128 * 256 * k / (5 TFLOP/s). */
    double one = 2.0 * 128 * 256 * 65536 / 5e12;
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1280, 2560, 65536, 0, 100, 1), one, 1e-12);
    /* One row of tiles more: 110 tiles are two waves of the largest tile, 440 quarter tiles five of theirs, at
     * 0.9 squared. */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1408, 2560, 65536, 0, 100, 1),
                           5 * 0.25 * one / 0.81, 1e-12);
    /* Fewer SMs: 100 tiles on 50 SMs are two waves. */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1280, 2560, 65536, 0, 50, 1), 2 * one, 1e-12);
    /* Accumulation reads and writes an element of the gradient, of 4 or 2 bytes. */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1280, 2560, 65536, 2, 100, 1),
                           one + 1280.0 * 2560 * 4 / 1e12, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1280, 2560, 65536, 4, 100, 1),
                           one + 1280.0 * 2560 * 8 / 1e12, 1e-12);
    /* Thin matrices are bound by HBM. */
    CU_ASSERT_DOUBLE_EQUAL(ss_kernel_gemm(&card, SS_BF16, 1, 25600, 128, 0, 100, 1),
                           (128 + 128 * 25600.0 + 25600) * 2 / 1e12, 1e-12);
}

static void llama_8b(struct ss_job *job)
{
    job->model.num_layers = 32;
    job->model.hidden_size = 4096;
    job->model.ffn_hidden_size = 14336;
    job->model.num_attention_heads = 32;
    job->model.num_query_groups = 8;
    job->model.kv_channels = 128;
    job->model.gated_mlp = 1;
    job->model.linear_bias = job->model.qkv_bias = 0;
    job->model.normalization = SS_NORM_RMSNORM;
    job->model.position = SS_POSITION_ROPE;
    job->micro_batch = 1;
    job->seq_length = 8192;
    job->tp = job->cp = job->pp = 1;
    job->precision = job->stored = SS_BF16;
    job->attention = SS_ATTENTION_FLASH;
    job->attention_dropout = job->hidden_dropout = 0;
}

TEST(ops_of_llama_8b)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(DENSE, &c.shape, &ops);
    /* 4096 x 6144 + 4096 x 4096 + 3 x 4096 x 14336 and two norms. */
    CU_ASSERT_DOUBLE_EQUAL(ops.sum.params, 25165824.0 + 16777216 + 176160768 + 8192, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(ops.sum.gemm_params, 218103808.0, 0.5);
    /* Per token: norms 2 x (2h + 2h + 4), QKV 2 x 6144, attention output 2h, FC1 4f, activation 2f,
     * softmax statistics 4 a. */
    double token = 2 * (4 * 4096 + 4) + 2 * 6144 + 2 * 4096 + 6 * 14336;
    CU_ASSERT_DOUBLE_EQUAL(ss_ops_saved_bytes(&ops, 1), 8192 * token, 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_ops_saved_bytes(&ops, 0), 8192 * (token + 4 * 32), 1);
    /* Dropout keeps two masks. */
    c.shape.hidden_dropout = 0.1;
    ss_layer_operators(DENSE, &c.shape, &ops);
    CU_ASSERT_DOUBLE_EQUAL(ss_ops_saved_bytes(&ops, 1), 8192 * (token + 2 * 4096), 1);
}

static const struct ss_op *find_op(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return &ops->op[i];
    return NULL;
}

/* Without Transformer Engine the gradients of norm weights and of biases are kernels of their own. */
TEST(plain_layers)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    job.model.linear_bias = 1;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(DENSE, &c.shape, &ops);
    CU_ASSERT_PTR_NULL(find_op(&ops, "bias gradients"));
    CU_ASSERT_DOUBLE_EQUAL(find_op(&ops, "input norm")->backward_bytes, 3 * 2 * 8192.0 * 4096, 1);
    stack.te_layers = c.shape.te = 0;
    ss_layer_operators(DENSE, &c.shape, &ops);
    CU_ASSERT_DOUBLE_EQUAL(find_op(&ops, "input norm")->backward_bytes, 5 * 2 * 8192.0 * 4096, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(find_op(&ops, "bias gradients"));
    /* QKV 6144, both halves of FC1, projection and FC2. */
    CU_ASSERT_DOUBLE_EQUAL(find_op(&ops, "bias gradients")->backward_bytes,
                           2 * 8192.0 * (6144 + 2 * 14336 + 2 * 4096), 1);
}

static double sum(const double *label)
{
    double s = 0;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        s += label[i];
    return s;
}

TEST(recompute_costs_a_forward)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    struct ss_layer_cost none, selective, full;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(DENSE, &c.shape, &ops);
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &none);
    job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_SELECTIVE, &selective);
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_FULL, &full);
    CU_ASSERT_DOUBLE_EQUAL(sum(full.input_grad) - sum(none.input_grad), sum(none.forward), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(full.input_grad[SS_LABEL_RECOMPUTE], none.forward[SS_LABEL_COMPUTE], 1e-12);
    /* Causal attention forward: 2 s^2 a d at 0.4 of the peak, and 2/3 of the longest of its 32 x 64 blocks on 100 SMs. */
    CU_ASSERT_DOUBLE_EQUAL(selective.input_grad[SS_LABEL_RECOMPUTE],
                           2.0 * 8192 * 8192 * 4096 / 4e14 * (1 + 2 / 3. * 200 / 2048), 1e-12);
    CU_ASSERT_EQUAL(none.input_grad[SS_LABEL_RECOMPUTE], 0);
}

/* The host issues operators and collectives. */
TEST(host_issues_collectives)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    struct ss_layer_cost alone, split;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    stack.host_operator = 1;
    c.net.fabric_busbw = 1e12;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(DENSE, &c.shape, &ops);
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &alone);
    c.tp = (struct ss_group_shape){.n = 2, .nodes = 1, .per_node = 2};
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &split);
    /* An all-reduce behind the projection and FC2; in the backward before QKV and FC1. */
    CU_ASSERT_DOUBLE_EQUAL(split.host[0] - alone.host[0], 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(split.host[1] - alone.host[1], 2, 1e-9);
    /* Checked, each of these waits for three further ranks of four messages each. */
    c.tp = (struct ss_group_shape){.n = 4, .nodes = 1, .per_node = 4};
    stack.host_check = 0.5;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &split);
    CU_ASSERT_DOUBLE_EQUAL(split.host[0] - alone.host[0], 2 * (1 + 3 * 4 * 0.5), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(split.host[1] - alone.host[1], 2 * (1 + 3 * 4 * 0.5), 1e-9);
}

/* Beside the sharded step all local gradients are set to zero and scaled, but FSDP's. */
TEST(gradient_passes)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    card.pcie_bandwidth = 1;
    job.dp.grad_reduce_fp32 = 1;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    stack.grad_passes = 3;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 4 * 4e9 / 1e12, 1e-12); /* once to look for NaN */
    job.optimizer.check_for_nan = 0;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 3 * 4e9 / 1e12, 1e-12);
    job.dp.grad_reduce_fp32 = 0;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 3 * 2e9 / 1e12, 1e-12);
    /* Reductions that average leave the zeroing, and of experts, which fewer ranks reduce, a pass for what is left. */
    c.replicas = 8;
    c.edp.n = 2;
    stack.grad_passes = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 2e9 / 1e12, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 4e8), (6e8 + 3 * 4e8) * 2 / 1e12, 1e-12);
    c.edp.n = 8;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 4e8), 2e9 / 1e12, 1e-12);
    job.dp.gradient_average = SS_AVERAGE_PASS;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 3 * 2e9 / 1e12, 1e-12);
    stack.grad_passes = 3;
    job.dp.gradient_average = SS_AVERAGE_REDUCED;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 2e9 / 1e12, 1e-12);
    job.dp.gradient_average = SS_AVERAGE_OF_STACK;
    /* into buckets and back, but where they are all-reduced where they lie */
    stack.ddp_copies = stack.zero_whole = 1;
    c.replicas = 2;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 4 * 2e9 / 1e12, 1e-12);
    job.dp.distributed_optimizer = 1;
    CU_ASSERT_EQUAL(ss_cost_gradients(&c, 1e9, 0), 0);
    stack.ddp_copies = 2; /* a sum of its own is set to zero */
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_gradients(&c, 1e9, 0), 2e9 / 1e12, 1e-12);
    job.dp.distributed_optimizer = stack.ddp_copies = 0;
    c.fsdp = (struct ss_group_shape){.n = 8, .nodes = 1, .per_node = 8};
    CU_ASSERT_EQUAL(ss_cost_gradients(&c, 1e9, 0), 0);
}

/* A kernel for each matrix adds 16-bit gradients to those of earlier microbatches, or, of all, to an fp32 buffer; the host launches that
 * one for each tensor. */
TEST(gradients_added)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    struct ss_layer_cost none, half, wide;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    job.precision = job.stored = SS_BF16;
    job.dp.grad_reduce_fp32 = 1;
    stack.fused_wgrad_accumulation = 0;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(DENSE, &c.shape, &ops);
    double matrices = 4096 * (6144.0 + 4096 + 3 * 14336), latency = 4 * card.kernel_latency;
    c.accumulated = 0;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &none);
    c.accumulated = 0.5;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &half);
    CU_ASSERT_DOUBLE_EQUAL(sum(half.weight_grad) - sum(none.weight_grad),
                           0.5 * (6 * matrices / 1e12 + latency), 1e-9);
    stack.ddp_copies = 2;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &wide);
    CU_ASSERT_DOUBLE_EQUAL(sum(wide.weight_grad) - sum(none.weight_grad), 10 * matrices / 1e12 + latency,
                           1e-9);
    stack.host_operator = stack.host_group = 1;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &wide);
    stack.ddp_copies = 0;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &half);
    CU_ASSERT_DOUBLE_EQUAL(wide.host[1] - half.host[1], 6, 1e-6);
}

/* The step takes the host so many operators for each tensor that a rank steps, beside the traffic of its bytes. */
TEST(step_tensors)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    card.pcie_bandwidth = 1;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    job.optimizer.clip_grad = 1;
    double bytes = ss_cost_optimizer(&c, 1e9, 0, 1);
    job.optimizer.clip_grad = 0; /* the norm reads 4 bytes of each gradient, clipping reads and writes them */
    CU_ASSERT_DOUBLE_EQUAL(bytes - ss_cost_optimizer(&c, 1e9, 0, 1), 12e9 * stack.adam_passes / 1e12, 1e-12);
    /* Norm 4, clipping 8, gradient 4, moments 16, master copy 8, parameter 2; of the model's own type 2, 4, 2, 8 and 4. */
    job.optimizer.clip_grad = 1;
    job.precision = job.stored = SS_BF16;
    CU_ASSERT_DOUBLE_EQUAL(bytes, 42e9 * stack.adam_passes / 1e12 + 12 * card.kernel_latency, 1e-12);
    stack.model_type = 1;
    CU_ASSERT_DOUBLE_EQUAL(bytes - ss_cost_optimizer(&c, 1e9, 0, 1), (42e9 - 20e9) * stack.adam_passes / 1e12,
                           1e-12);
    stack.model_type = 0;
    stack.host_operator = 1e-4;
    stack.step_operators = 2;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 1e9, 300, 1) - bytes, 300 * 2e-4, 1e-12);
    job.optimizer.graph = 1; /* the host issues none of it */
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 1e9, 300, 1), bytes, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer_calls(&c, 300), 0, 0);
    job.optimizer.graph = 0;
    /* Where each rank has a slice of each tensor it steps all of them, clips all gradients, and copies the slices of all ranks: as so
     * many calls, or as bytes that are joined, parted and copied. */
    stack.zero_whole = 1;
    stack.host_group = 1e-4;
    double clipped = 7e9 * 12 * stack.adam_passes / 1e12; /* of the other ranks */
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 8e9, 300, 8) - bytes, clipped + 300 * 2e-4 + 300 * 8 * 1e-4,
                           1e-12);
    stack.host_group = 1e-6;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 8e9, 300, 8) - bytes,
                           clipped + 300 * 2e-4 + 3 * 2 * 2 * 8e9 / 1e12, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 1e9, 300, 1) - bytes, 300 * 2e-4, 1e-12);
    stack.zero_whole = 0;
    /* Logged every step: zeros of fp32 gradients, 4 bytes read, flags of 1 written and read, or 4 launches a tensor; a norm that reads
     * fp32 parameters. */
    stack.step_operators = 0;
    job.optimizer.counts_zeros = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 1e9, 0, 1) - bytes, 6e9 / 1e12, 1e-12);
    stack.host_group = 1e-5;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 1e9, 300, 1) - bytes, 300 * 4 * 1e-5, 1e-12);
    job.optimizer.counts_zeros = 0;
    job.optimizer.params_norm = 1;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&c, 8e9, 300, 8) - bytes, 4e9 / 1e12 + card.kernel_latency,
                           1e-12);
    job.optimizer.params_norm = 0;
    /* Two norms and four matrices; with biases and LayerNorm's two vectors twice as many. */
    ss_layer_operators(DENSE, &c.shape, &ops);
    CU_ASSERT_EQUAL(ops.sum.tensors, 6);
    c.shape.qkv_bias = c.shape.out_bias = c.shape.mlp_bias = c.shape.tied = 1;
    c.shape.norm_vectors = 2;
    c.shape.positions = 1024;
    ss_layer_operators(DENSE, &c.shape, &ops);
    CU_ASSERT_EQUAL(ops.sum.tensors, 12);
    ss_layer_operators(SS_LAYER_EMBEDDING, &c.shape, &ops);
    CU_ASSERT_EQUAL(ops.sum.tensors, 2);
    ss_layer_operators(SS_LAYER_LOSS, &c.shape, &ops);
    CU_ASSERT_EQUAL(ops.sum.tensors, 2); /* the final norm's; the matrix is the embedding's */
}

/* Rows that are no multiple of 16 bytes: the GEMMs on the CUDA cores. */
TEST(unaligned_rows)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    struct ss_layer_cost aligned, unaligned, unknown;
    context_make(&c, &card, &stack, &job);
    card.peak_cuda_cores = 1e14;
    card.hbm_bandwidth = 1e30;
    llama_8b(&job);
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(SS_LAYER_LOSS, &c.shape, &ops);
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &aligned);
    c.shape.vocab += 4;
    ss_layer_operators(SS_LAYER_LOSS, &c.shape, &ops);
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &unaligned);
    card.peak_cuda_cores = 0;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &unknown);
    /* 2 T h V FLOP at half of 100 TFLOP/s, V in tiles of 128; the weight gradient h x V has whole ones. */
    double column = 2.0 * 8192 * 4096 / 5e13;
    CU_ASSERT_DOUBLE_EQUAL(sum(unaligned.forward), column * (128512 + 128), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(sum(unaligned.weight_grad), column * (128512 + 4), 1e-9);
    CU_ASSERT(sum(unknown.forward) < 0.2 * column * 128512 && sum(aligned.forward) < 0.2 * column * 128512);
}

/* The forward's fp8 GEMMs accumulate fast; 16-bit ones know no difference. */
TEST(fp8_forward_gain)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    struct ss_layer_cost plain, fast;
    for (int fp8 = 0; fp8 < 2; fp8++) {
        context_make(&c, &card, &stack, &job);
        llama_8b(&job);
        job.precision = fp8 ? SS_FP8 : SS_BF16;
        job.stored = SS_BF16;
        stack.fp8_forward_gain = 1;
        ss_shape_init(&c.shape, &job, &stack, 128512);
        ss_layer_operators(DENSE, &c.shape, &ops);
        ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &plain);
        stack.fp8_forward_gain = 1.25;
        ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &fast);
        double gemms = 0;
        for (int i = 0; i < ops.n; i++)
            if (ops.op[i].kind == SS_OP_GEMM)
                gemms += ss_kernel_gemm(&card, ops.op[i].gemm.precision, ops.op[i].gemm.m, ops.op[i].gemm.n,
                                        ops.op[i].gemm.k, 0, card.sm_count, 1);
        CU_ASSERT_DOUBLE_EQUAL(plain.forward[SS_LABEL_COMPUTE] - fast.forward[SS_LABEL_COMPUTE],
                               fp8 ? gemms / 5 : 0, 1e-12);
        CU_ASSERT_EQUAL(plain.weight_grad[SS_LABEL_COMPUTE], fast.weight_grad[SS_LABEL_COMPUTE]);
    }
}

/* Without the fusion the gradients of all microbatches but the first are added up by a kernel of its own. */
TEST(gradients_added_up)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_ops ops;
    struct ss_layer_cost first, later;
    context_make(&c, &card, &stack, &job);
    llama_8b(&job);
    stack.fused_wgrad_accumulation = 0;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    ss_layer_operators(DENSE, &c.shape, &ops);
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &first);
    c.accumulated = 0.75;
    ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &later);
    CU_ASSERT_DOUBLE_EQUAL(later.weight_grad[SS_LABEL_COMPUTE] - first.weight_grad[SS_LABEL_COMPUTE],
                           0.75 * 6 * ops.sum.gemm_params / 1e12, 1e-12);
    CU_ASSERT_EQUAL(later.forward[SS_LABEL_COMPUTE], first.forward[SS_LABEL_COMPUTE]);
    /* --no-gradient-accumulation-fusion: added to main gradients of 2 or 4 bytes in every microbatch, the first too */
    stack.fused_wgrad_accumulation = job.wgrad_apart = 1;
    c.accumulated = 0;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    for (int i = 0; i < 2; i++) {
        job.stored = job.precision = SS_BF16;
        job.dp.grad_reduce_fp32 = i;
        ss_cost_layer(&c, &ops, SS_RECOMPUTE_NONE, &later);
        CU_ASSERT_DOUBLE_EQUAL(later.weight_grad[SS_LABEL_COMPUTE] - first.weight_grad[SS_LABEL_COMPUTE],
                               (2 + 2 * (i ? 4 : 2)) * ops.sum.gemm_params / 1e12 + 4 * card.kernel_latency,
                               1e-12);
    }
}

static void border_cost(const struct ss_cost_context *c, int kind, struct ss_layer_cost *out)
{
    struct ss_ops ops;
    ss_layer_operators(kind, &c->shape, &ops);
    ss_cost_layer(c, &ops, SS_RECOMPUTE_NONE, out);
}

/* Each tensor rank sends a quarter to the next stage, which gathers it; not under sequence parallelism, whose
 * tensors are shares already, and not when the job says so. */
TEST(scatter_gather)
{
    struct ss_cost_context c;
    struct ss_card card;
    struct ss_stack stack;
    struct ss_job job;
    struct ss_layer_cost received, returned;
    context_make(&c, &card, &stack, &job);
    c.net = (struct ss_net){.fabric_busbw = 160e9, .nic_busbw = 40e9, .gpus_per_node = 8, .nics_per_node = 8};
    c.tp = (struct ss_group_shape){.n = 4, .nodes = 1, .per_node = 4};
    llama_8b(&job);
    job.tp = 4;
    stack.pp_scatter_gather = 1;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    double whole = ss_shape_border_bytes(&c.shape);
    CU_ASSERT_DOUBLE_EQUAL(ss_shape_send_bytes(&c.shape), whole / 4, 1e-6);
    border_cost(&c, SS_LAYER_RECEIVED, &received);
    border_cost(&c, SS_LAYER_RETURNED, &returned);
    CU_ASSERT_DOUBLE_EQUAL(received.forward[SS_LABEL_TP], 0.75 * whole / 160e9, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(returned.input_grad[SS_LABEL_TP], 0.75 * whole / 160e9, 1e-12);
    CU_ASSERT_EQUAL(received.input_grad[SS_LABEL_TP] + returned.forward[SS_LABEL_TP], 0);
    job.scatter_gather = 0;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    CU_ASSERT_DOUBLE_EQUAL(ss_shape_send_bytes(&c.shape), whole, 1e-6);
    border_cost(&c, SS_LAYER_RECEIVED, &received);
    CU_ASSERT_EQUAL(received.forward[SS_LABEL_TP], 0);
    job.scatter_gather = job.sequence_parallel = 1;
    ss_shape_init(&c.shape, &job, &stack, 128512);
    CU_ASSERT_DOUBLE_EQUAL(ss_shape_send_bytes(&c.shape), whole / 4, 1e-6);
    border_cost(&c, SS_LAYER_RECEIVED, &received);
    CU_ASSERT_EQUAL(received.forward[SS_LABEL_TP], 0);
}
