/* SPDX-License-Identifier: Apache-2.0 */
/* Attention blocks, norms and residuals of the dense families, against numbers worked out by hand. */
#include "small_job.h"
#include "stepsim/job_kinds.h"
#include "stepsim/model.h"

/* A query at position i sees min(i, 1024) keys: 4096 x 1024 - 1024^2 / 2 of them together. */
TEST(window)
{
    struct setting t;
    struct ss_layer_cost wide, narrow;
    setting_make(&t);
    t.job.model.sliding_window = 1024;
    struct ss_ops full = layer_of(&t, DENSE), local = layer_of(&t, LOCAL_DENSE);
    const struct ss_op *op = find(&local, "core attention");
    double pairs = 2 * (4096.0 * 1024 - 1024.0 * 1024 / 2);
    CU_ASSERT_EQUAL(op->forward_flops, 4 * pairs * 1024);
    CU_ASSERT_EQUAL(op->backward_flops, 10 * pairs * 1024);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&local, 0), ss_ops_saved_bytes(&full, 0));
    CU_ASSERT_EQUAL(local.sum.params, full.sum.params);
    ss_cost_layer(&t.c, &full, SS_RECOMPUTE_NONE, &wide);
    ss_cost_layer(&t.c, &local, SS_RECOMPUTE_NONE, &narrow);
    /* 4096 queries of 4096 keys, and of 2 x 1024 - 1024^2 / 4096 = 1792 keys, at their own rates. 32 heads and sequences make 1024
     * blocks on 100 SMs: the longest are 100 / 1024 of all work times 4096 over a mean of 2048, or 1024 over 896, of which the SMs
     * wait for 2/3, or for 5/6 - 896 / 1024 / 3. */
    double rate = 0.4e15 * (8192 + 1024) / 8192;
    double full_s = 4 * 4096.0 * 4096 * 1024 / (rate * 4096 / (4096 + 1024)),
           local_s = 4 * pairs * 1024 / (rate * 1792 / (1792 + 1024));
    full_s *= 1 + 2 / 3. * 100 / 1024 * 2;
    local_s *= 1 + (5 / 6. - 0.875 / 3) * 100 / 1024 / 0.875;
    CU_ASSERT_DOUBLE_EQUAL(wide.forward[SS_LABEL_COMPUTE] - narrow.forward[SS_LABEL_COMPUTE],
                           full_s - local_s, 1e-12);
}

/* No window, and one as long as the sequence: full attention, bit for bit. */
TEST(wide_window)
{
    struct setting t;
    setting_make(&t);
    for (int window = 0; window <= 8192; window += 4096) {
        t.job.model.sliding_window = window;
        t.job.model.local_layers.period = 1;
        struct ss_ops full = layer_of(&t, DENSE), local = layer_of(&t, LOCAL_DENSE);
        CU_ASSERT_EQUAL_FATAL(full.n, local.n);
        struct ss_layer_cost wide, narrow;
        ss_cost_layer(&t.c, &full, SS_RECOMPUTE_NONE, &wide);
        ss_cost_layer(&t.c, &local, SS_RECOMPUTE_NONE, &narrow);
        CU_ASSERT_EQUAL(memcmp(&wide, &narrow, sizeof wide),
                        0); /* doubles alone, without room between them */
        CU_ASSERT_EQUAL(ss_ops_saved_bytes(&full, 0), ss_ops_saved_bytes(&local, 0));
        CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), DENSE);
    }
    /* In a shorter one the layers that the rule names are local: every other one, all where there is no rule. */
    t.job.model.sliding_window = 1024;
    t.job.model.local_layers.period = 2;
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 2), LOCAL_DENSE);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), DENSE);
    t.job.model.local_layers.period = 0;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(&t.job.model, NULL), 0);
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 3), LOCAL_DENSE);
}

/* Unfused kernels compute the whole square and mask it. */
TEST(window_unfused)
{
    struct setting t;
    setting_make(&t);
    t.job.attention = SS_ATTENTION_UNFUSED;
    t.job.model.sliding_window = 1024;
    struct ss_ops local = layer_of(&t, LOCAL_DENSE);
    CU_ASSERT_EQUAL(find(&local, "core attention")->forward_flops, 4 * 2 * 4096.0 * 4096 * 1024);
}

static double forward_with(struct setting *t, int cp, int how)
{
    struct ss_layer_cost cost;
    t->job.cp = cp;
    t->job.cp_comm_type = how;
    struct ss_ops ops = layer_of(t, DENSE);
    ss_cost_layer(&t->c, &ops, SS_RECOMPUTE_NONE, &cost);
    return cost.forward[SS_LABEL_COMPUTE];
}

/* Blocks of 128 queries on 100 SMs. A rank of two has 2048 queries of 2 x 16 heads, 512 blocks; the longest wait 2/3 of 200 / 512
 * where it is causal; gathered keys have 256, of which the SMs wait for half a block. So they do in a ring, whose steps are on two
 * streams, at the end of the last one alone. All-to-all has 4096 queries of 16 heads. */
TEST(context_parallel)
{
    struct setting t;
    setting_make(&t);
    t.stack.attention_half_tokens = 0;
    double causal = 1 + 2 / 3. * 200 / 512, half = 1 + 0.5 * 100 / 256;
    double seconds = 2 * 4096.0 * 4096 * 1024 / 0.4e15;
    double ring = forward_with(&t, 2, SS_CP_P2P), gather = forward_with(&t, 2, SS_CP_ALLGATHER),
           heads = forward_with(&t, 2, SS_CP_A2A);
    CU_ASSERT_DOUBLE_EQUAL(ring - gather, seconds * ((1 + half) / 2 - half), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(heads - gather, seconds * (causal - half), 1e-12);
}

/* Beside attention a ring of two has the output set to zero and 1.75 steps merged into it, half of Q and of K and V copied, and K and V
 * put together; backward the gradients copied once and added 0.75 times, halves of Q, the output and its gradient copied. On 1 TB/s
 * of 2-byte elements. */
TEST(ring_bytes)
{
    struct setting t;
    struct ss_layer_cost one, two;
    setting_make(&t);
    t.job.cp = 2;
    t.job.cp_comm_type = SS_CP_P2P;
    struct ss_ops ops = layer_of(&t, DENSE);
    double q = 2 * t.c.shape.tokens * 16 * 64, kv = 2 * t.c.shape.tokens * 4 * 128;
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &one);
    t.c.cp.n = 2;
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &two);
    double forward = two.forward[SS_LABEL_COMPUTE] - one.forward[SS_LABEL_COMPUTE],
           backward = two.input_grad[SS_LABEL_COMPUTE] - one.input_grad[SS_LABEL_COMPUTE];
    double rate = t.card.hbm_bandwidth * t.card.hbm_efficiency, latency = t.card.kernel_latency;
    CU_ASSERT_DOUBLE_EQUAL(forward, (q * (1 + 5.25 + 0.5) + kv * 2.5) / rate + 3 * latency, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(backward, ((q + kv) * (2 + 2.25) + q * 1.5) / rate + 6 * latency, 1e-12);
}

/* What Transformer Engine's unfused attention does beside: 37 B of a mask of 4096 x 4096 in ten kernels, the context read
 * and written, and the gradients of Q and K. */
TEST(unfused_te)
{
    struct setting t;
    setting_make(&t);
    t.job.attention = SS_ATTENTION_UNFUSED;
    struct ss_ops plain = layer_of(&t, DENSE);
    t.stack.unfused_te = 1;
    struct ss_ops more = layer_of(&t, DENSE);
    const struct ss_op *a = find(&plain, "core attention"), *b = find(&more, "core attention");
    double width = 2 * 8192.0 * 1024; /* bytes of the context, and of Q, in 16 bit */
    CU_ASSERT_EQUAL(b->forward_bytes - a->forward_bytes, 37.0 * 4096 * 4096 + 2 * width);
    CU_ASSERT_EQUAL(b->backward_bytes - a->backward_bytes, 4 * width);
    CU_ASSERT_EQUAL(b->forward_kernels + b->forward_launches, a->forward_kernels + 11);
    CU_ASSERT_EQUAL(b->backward_kernels, a->backward_kernels + 2);
}

/* Scores of 2 sequences of 4,096 and 16 heads cross HBM 4 and 6 times of 2 bytes, and in fp32, which no kernel fuses, 6 and 29 times of
 * 4; so by every stack that runs both. */
TEST(unfused_passes)
{
    static const char *const stacks[] = {"megatron-2407", "nemo-24.03", "megatron-2021"};
    const double scores = 2 * 4096.0 * 4096 * 16;

    for (size_t i = 0; i < 2 * sizeof stacks / sizeof *stacks; i++) {
        int fp32 = i % 2;
        struct setting t;
        setting_make(&t);
        t.job.attention = SS_ATTENTION_UNFUSED;
        t.job.precision = t.job.stored = fp32 ? SS_FP32 : SS_BF16;
        CU_ASSERT_EQUAL_FATAL(ss_stack_load(stacks[i / 2], NULL, &t.stack, NULL), 0);
        struct ss_ops ops = layer_of(&t, DENSE);
        const struct ss_op *op = find(&ops, "core attention");
        CU_ASSERT_EQUAL(op->forward_bytes, scores * (fp32 ? 6 * 4 : 4 * 2));
        CU_ASSERT_EQUAL(op->backward_bytes, scores * (fp32 ? 29 * 4 : 6 * 2));
    }
}

/* PyTorch's operators in Aleph Alpha's scaling: 8 and 11 squares of scores, one of them with a mask for all heads, each way, and 10 B an
 * element of the mask. At 1e11 strided elements a second a square of 2^29 scores takes 5.36870912 ms, less the traffic of 4 B
 * each, which is counted. */
TEST(unfused_torch)
{
    const double scores = 2 * 4096.0 * 4096 * 16;
    struct setting t;
    setting_make(&t);
    t.job.attention = SS_ATTENTION_UNFUSED;
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("aleph-alpha-2023-torch", NULL, &t.stack, NULL), 0);
    struct ss_ops ops = layer_of(&t, DENSE);
    const struct ss_op *op = find(&ops, "core attention");
    CU_ASSERT_EQUAL(op->forward_bytes, 8 * 2 * scores + 10.0 * 2 * 4096 * 4096);
    CU_ASSERT_EQUAL(op->backward_bytes, 11 * 2 * scores);
    CU_ASSERT_EQUAL(op->forward_strided, scores);
    CU_ASSERT_EQUAL(op->backward_strided, scores);
    CU_ASSERT_EQUAL(op->strided_bytes, 4);

    struct ss_layer_cost with, without;
    t.card.strided_rate = 1e11 / t.card.sm_count;
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &with);
    t.stack.unfused_strided = 0;
    ops = layer_of(&t, DENSE);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &without);
    double more = 5.36870912e-3 - 4 * scores / (t.card.hbm_bandwidth * t.card.hbm_efficiency);
    CU_ASSERT_DOUBLE_EQUAL(with.forward[SS_LABEL_COMPUTE] - without.forward[SS_LABEL_COMPUTE], more, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(with.input_grad[SS_LABEL_COMPUTE] - without.input_grad[SS_LABEL_COMPUTE], more,
                           1e-9);
}

static double forward_flops(const struct ss_ops *ops)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += ops->op[i].forward_flops;
    return sum;
}

static double module_bytes(const struct ss_ops *ops, int module)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++)
        sum += ops->op[i].modules & SS_MODULE_BIT(module) ? ops->op[i].redone_bytes : 0;
    return sum;
}

/* Two tensor ranks together have the layer once, but for norms and down-projections, which both have. */
static void expect_split(struct setting *t)
{
    struct ss_ops one = layer_of(t, DENSE);
    double both = 0;
    t->job.tp = 2;
    struct ss_ops two = layer_of(t, DENSE);
    t->job.tp = 1;
    for (int i = 0; i < two.n; i++)
        if (strstr(two.op[i].name, "norm") || strstr(two.op[i].name, "down"))
            both += two.op[i].params;
    CU_ASSERT(both > 0);
    CU_ASSERT_EQUAL(2 * two.sum.params - both, one.sum.params);
}

/* Multi-head attention of 12 heads of 128 in a model of 1536. */
static void multi_head(struct ss_model *m)
{
    m->hidden_size = 1536;
    m->num_attention_heads = m->num_query_groups = 12;
    m->kv_channels = 128;
    m->ffn_hidden_size = 4096;
}

static void latent(struct ss_model *m, int q, int kv, int without, int with, int value)
{
    m->q_lora_rank = q;
    m->kv_lora_rank = kv;
    m->qk_head_dim = without;
    m->qk_pos_emb_head_dim = with;
    m->v_head_dim = value;
    m->qk_norm = SS_QK_NORM_HEAD;
}

/* Latents as wide as the hidden state: up-projections, core attention and projection are those of multi-head attention, the
 * down-projections 2 T h^2 more each. Down to two thirds and up again are as many FLOP as K and V from the hidden state. */
TEST(latent_full_rank)
{
    struct setting t;
    setting_make(&t);
    multi_head(&t.job.model);
    struct ss_ops heads = layer_of(&t, DENSE);
    latent(&t.job.model, 1536, 1536, 128, 0, 128);
    struct ss_ops full = layer_of(&t, LATENT_DENSE);
    double down = find(&full, "q down")->forward_flops + find(&full, "kv down")->forward_flops;
    CU_ASSERT_EQUAL(down, 2 * 2 * 8192.0 * 1536 * 1536);
    CU_ASSERT_EQUAL(forward_flops(&full) - down, forward_flops(&heads));
    CU_ASSERT_EQUAL(find(&full, "core attention")->backward_flops,
                    find(&heads, "core attention")->backward_flops);
    latent(&t.job.model, 0, 1024, 128, 0, 128);
    struct ss_ops two_thirds = layer_of(&t, LATENT_DENSE);
    CU_ASSERT_EQUAL(forward_flops(&two_thirds), forward_flops(&heads));
}

/* A layer of DeepSeek-V3: 187,107,328 parameters of attention. */
TEST(latent_of_deepseek_v3)
{
    struct setting t;
    setting_make(&t);
    struct ss_model *m = &t.job.model;
    m->hidden_size = 7168;
    m->num_attention_heads = m->num_query_groups = 128;
    m->ffn_hidden_size = 18432;
    latent(m, 1536, 512, 128, 64, 128);
    struct ss_ops ops = layer_of(&t, LATENT_DENSE);
    double attention = 7168.0 * 1536 + 1536 + 1536 * 128.0 * 192 + 7168 * (512 + 64.0) + 512 +
                       512 * 128.0 * (128 + 128) + 128 * 128.0 * 7168;
    CU_ASSERT_EQUAL(attention, 187107328);
    CU_ASSERT_EQUAL(ops.sum.params, attention + 2 * 7168 + 3 * 7168.0 * 18432);
    /* Scores in 192, values in 128; backward: scores, dQ and dK in 192, dP and dV in 128. */
    double pairs = 2 * 4096.0 * 4096 / 2 * 128;
    CU_ASSERT_EQUAL(find(&ops, "core attention")->forward_flops, 2 * pairs * (192 + 128));
    CU_ASSERT_DOUBLE_EQUAL(find(&ops, "core attention")->backward_flops, 2 * pairs * (3 * 192 + 2 * 128), 1);
    /* Two norms and the latents' before and behind their norms, Q, K, V, output, softmax statistics, the MLP. */
    double up = (1536 + 512) * 2 + 2 * 4 + 128 * (2 * 192 + 128) * 2, mlp = 3 * 18432 * 2;
    double token = 2 * (4 * 7168 + 4) + (1536 + 512) * 2 + up + 128 * 128 * 2 + 4 * 128 + mlp;
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&ops, 0), 8192 * token);
    CU_ASSERT_EQUAL(module_bytes(&ops, SS_MODULE_MLA_UP_PROJ), 8192 * up);
    CU_ASSERT_EQUAL(module_bytes(&ops, SS_MODULE_LAYERNORM), 8192.0 * (2 * 7168 + 4));
    CU_ASSERT_EQUAL(module_bytes(&ops, SS_MODULE_MLP), 8192.0 * mlp);
}

/* Tensor parallel: down-projections whole on each rank, on its share of the tokens under sequence parallelism; what is
 * gathered before an up-projection is the latent. */
TEST(latent_tensor_parallel)
{
    struct setting t;
    setting_make(&t);
    multi_head(&t.job.model);
    latent(&t.job.model, 768, 256, 128, 64, 128);
    struct ss_ops one = layer_of(&t, LATENT_DENSE);
    expect_split(&t);
    t.job.tp = 2;
    t.job.sequence_parallel = 1;
    struct ss_ops two = layer_of(&t, LATENT_DENSE);
    CU_ASSERT_EQUAL(forward_flops(&two), forward_flops(&one) / 2);
    CU_ASSERT_EQUAL(find(&two, "q down")->params, find(&one, "q down")->params);
    CU_ASSERT_EQUAL(find(&two, "q up")->params, find(&one, "q up")->params / 2);
    CU_ASSERT_EQUAL(ss_op_whole_columns(find(&two, "q up")), 768);
    CU_ASSERT_EQUAL(ss_op_whole_columns(find(&two, "kv up")), 256);
    CU_ASSERT_EQUAL(ss_op_whole_columns(find(&two, "projection")), 1536);
    /* Time: the all-gather before q up is 768 columns, a half of them over the link. */
    struct ss_layer_cost wide, narrow;
    t.c.tp = (struct ss_group_shape){.n = 2, .nodes = 1, .per_node = 2};
    t.c.net.fabric_busbw = 1e11;
    ss_cost_layer(&t.c, &two, SS_RECOMPUTE_NONE, &wide);
    latent(&t.job.model, 384, 256, 128, 64, 128);
    two = layer_of(&t, LATENT_DENSE);
    ss_cost_layer(&t.c, &two, SS_RECOMPUTE_NONE, &narrow);
    /* Beside the layers' own: keys' shared part of 64 numbers, gathered and its gradient scattered, half over the link. */
    struct ss_layer_cost none;
    two.nborders = 0;
    ss_cost_layer(&t.c, &two, SS_RECOMPUTE_NONE, &none);
    double gathered = 8192 * 64.0 * 2 / 2 / 1e11;
    CU_ASSERT_DOUBLE_EQUAL(narrow.forward[SS_LABEL_TP] - none.forward[SS_LABEL_TP], gathered, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(narrow.input_grad[SS_LABEL_TP] - none.input_grad[SS_LABEL_TP], gathered, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(wide.forward[SS_LABEL_TP] - narrow.forward[SS_LABEL_TP],
                           8192 * 384.0 * 2 / 2 / 1e11, 1e-9);
}

static int count(const struct ss_ops *ops, const char *part)
{
    int n = 0;
    for (int i = 0; i < ops->n; i++)
        n += strstr(ops->op[i].name, part) != NULL;
    return n;
}

/* Side by side, attention and MLP have one residual add, and with one norm the other is gone with what it keeps. */
TEST(parallel_residual)
{
    struct setting t;
    setting_make(&t);
    t.job.hidden_dropout = 0.1;
    double x = 8192.0 * 1024;
    struct ss_ops serial = layer_of(&t, DENSE);
    t.job.model.parallel_residual = SS_RESIDUAL_TWO_NORMS;
    struct ss_ops two = layer_of(&t, DENSE);
    expect_split(&t);
    t.job.model.parallel_residual = SS_RESIDUAL_ONE_NORM;
    struct ss_ops one = layer_of(&t, DENSE);
    expect_split(&t);
    CU_ASSERT_EQUAL(count(&serial, "residual"), 2);
    CU_ASSERT_EQUAL(count(&two, "residual"), 1);
    CU_ASSERT_EQUAL(count(&one, "residual"), 1);
    CU_ASSERT_EQUAL(count(&two, "norm"), 2);
    CU_ASSERT_EQUAL(count(&one, "norm"), 1);
    CU_ASSERT_EQUAL(serial.sum.params, two.sum.params);
    CU_ASSERT_EQUAL(serial.sum.params - one.sum.params, 1024);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&serial, 0) - ss_ops_saved_bytes(&two, 0), 2 * x);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&serial, 0) - ss_ops_saved_bytes(&one, 0), 4 * x + 4 * 8192);
    /* Three reads, a write and two masks instead of two adds of two reads, a write and a mask. */
    CU_ASSERT_EQUAL(find(&one, "residual")->forward_bytes, x * (4 * 2 + 2));
    CU_ASSERT_EQUAL(find(&serial, "residual")->forward_bytes, x * (3 * 2 + 1));
}

/* Gemma 2: a norm behind attention and one behind the MLP, that keep their inputs. */
TEST(post_norms)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops before = layer_of(&t, DENSE);
    t.job.model.post_norms = 1;
    struct ss_ops both = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(count(&both, "norm"), 4);
    expect_split(&t);
    CU_ASSERT_EQUAL(both.sum.params - before.sum.params, 2 * 1024);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&both, 0) - ss_ops_saved_bytes(&before, 0),
                    2 * 8192.0 * (2 * 1024 + 4));
}

/* Llama 4: a query sees the keys of its chunk of 1024; the last chunk is shorter where the sequence is no multiple. */
TEST(chunks)
{
    struct setting t;
    setting_make(&t);
    t.job.model.attention_chunk = 1024;
    struct ss_ops local = layer_of(&t, LOCAL_DENSE);
    CU_ASSERT_EQUAL(find(&local, "core attention")->forward_flops, 4 * 2 * 4 * (1024.0 * 1024 / 2) * 1024);
    t.job.seq_length = 4608;
    local = layer_of(&t, LOCAL_DENSE);
    CU_ASSERT_DOUBLE_EQUAL(find(&local, "core attention")->forward_flops,
                           4 * 2 * (4 * (1024.0 * 1024 / 2) + 512.0 * 512 / 2) * 1024, 1);
    t.job.model.local_layers.period = 1;
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), LOCAL_DENSE);
    t.job.seq_length = 1024;
    CU_ASSERT_EQUAL(ss_layer_kind_of(&t.job, 0), DENSE);
}

/* Qwen3: norms of each head of queries and keys; OLMo 2: of all heads. GPT-OSS: a sink for each head. */
TEST(qk_norms_and_sinks)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops none = layer_of(&t, DENSE);
    t.job.model.qk_norm = SS_QK_NORM_HEAD;
    struct ss_ops head = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(head.sum.params - none.sum.params, 2 * 64);
    CU_ASSERT_EQUAL(head.sum.tensors - none.sum.tensors, 2);
    CU_ASSERT_EQUAL(ss_ops_saved_bytes(&head, 0) - ss_ops_saved_bytes(&none, 0), 8192.0 * 20 * (2 * 64 + 4));
    t.job.model.qk_norm = SS_QK_NORM_WIDTH;
    struct ss_ops width = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(width.sum.params - none.sum.params, 20 * 64);
    CU_ASSERT_EQUAL(find(&width, "qk norm")->forward_bytes, 8192.0 * 20 * 64 * 4);
    t.job.model.attention_sinks = 1;
    struct ss_ops sinks = layer_of(&t, DENSE);
    CU_ASSERT_EQUAL(sinks.sum.params - width.sum.params, 16);
}
