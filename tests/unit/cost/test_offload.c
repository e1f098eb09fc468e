/* SPDX-License-Identifier: Apache-2.0 */
/* Offload by module: bytes of each module, what sticks out of the compute, what stays, against numbers worked out by hand. */
#include "cost/experts.h"
#include "cost/memory.h"
#include "cost/offload.h"
#include "scale_job.h"
#include "small_job.h"

#define MODULE(name) SS_OFFLOAD_BIT(SS_OFFLOAD_##name)
#define MIB (1024.0 * 1024)
#define LEAST (1024 * 1024.0)

static void expect_bytes(const struct ss_ops *ops, unsigned modules, unsigned redone, double freed,
                         double copied)
{
    const struct ss_offloaded o = ss_ops_offloaded(ops, modules, LEAST, redone);
    CU_ASSERT_EQUAL(o.freed, freed);
    CU_ASSERT_EQUAL(o.copied, copied);
}

/* 8192 tokens of 1024: 16 MiB; 16 heads of 64 as much, 4 groups of 64 a quarter. */
TEST(dense)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    expect_bytes(&ops, MODULE(QKV_LINEAR), 0, 32 * MIB, 32 * MIB); /* input of the norm, and its output */
    /* Q, K, V and the output, which the projection keeps, too */
    expect_bytes(&ops, MODULE(CORE_ATTN), 0, 24 * MIB, 40 * MIB);
    expect_bytes(&ops, MODULE(CORE_ATTN) | MODULE(ATTN_PROJ), 0, 40 * MIB, 56 * MIB);
    expect_bytes(&ops, MODULE(ATTN_NORM) | MODULE(MLP_NORM) | MODULE(EXPERT_FC1) | MODULE(MOE_ACT), 0, 0, 0);
    expect_bytes(&ops, ~0u, 0, 72 * MIB, 88 * MIB);
    CU_ASSERT_EQUAL(ss_ops_offloaded(&ops, ~0u, LEAST, 0).group, 40 * MIB);
    /* 131,072 statistics of 4 bytes are no smaller than nothing; K and V are smaller than 3 million. */
    CU_ASSERT_EQUAL(ss_ops_offloaded(&ops, MODULE(CORE_ATTN), 0, 0).freed, 24.5 * MIB);
    CU_ASSERT_EQUAL(ss_ops_offloaded(&ops, MODULE(CORE_ATTN), 3e6, 0).freed, 16 * MIB);
    /* Recomputed attention offloads nothing; its output is the projection's alone. */
    expect_bytes(&ops, MODULE(CORE_ATTN) | MODULE(ATTN_PROJ), SS_MODULE_BIT(SS_MODULE_CORE_ATTN), 16 * MIB,
                 16 * MIB);
}

/* In fp8 the norm's output and the projection's input are kept in 1 byte, apart from what attention keeps in 2. */
TEST(dense_fp8)
{
    struct setting t;
    setting_make(&t);
    t.job.precision = SS_FP8;
    t.job.stored = SS_BF16;
    struct ss_ops ops = layer_of(&t, DENSE);
    expect_bytes(&ops, MODULE(QKV_LINEAR), 0, 24 * MIB, 24 * MIB);
    expect_bytes(&ops, MODULE(CORE_ATTN), 0, 40 * MIB, 40 * MIB);
    expect_bytes(&ops, MODULE(CORE_ATTN) | MODULE(ATTN_PROJ), 0, 48 * MIB, 48 * MIB);
}

/* Attention of DeepSeek-V3, 8 experts of 2048 of which a token has 2. */
static struct ss_ops mixture_of(struct setting *t)
{
    struct ss_token_spread spread;
    struct ss_ops ops;
    struct ss_model *m = &t->job.model;
    m->hidden_size = 7168;
    m->num_attention_heads = m->num_query_groups = 128;
    m->q_lora_rank = 1536;
    m->kv_lora_rank = 512;
    m->qk_head_dim = m->v_head_dim = 128;
    m->qk_pos_emb_head_dim = 64;
    m->qk_norm = SS_QK_NORM_HEAD;
    m->num_experts = 8;
    m->top_k = 2;
    m->moe_ffn_hidden_size = 2048;
    t->job.ep = t->job.etp = 1;
    t->c.ep = t->c.etp = t->c.etp_ep = t->c.edp = t->c.tp;
    CU_ASSERT_EQUAL_FATAL(ss_model_finish(m, NULL), 0);
    ss_shape_init(&t->c.shape, &t->job, &t->stack, 32000);
    CU_ASSERT_EQUAL_FATAL(ss_experts_spread(&t->job, &t->c.ep, &spread, NULL, NULL), 0);
    ss_shape_experts(&t->c.shape, &t->job, &spread);
    ss_layer_operators(LATENT_MOE, &t->c.shape, &ops);
    return ops;
}

TEST(latent_experts)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops ops = mixture_of(&t);
    double tokens = 8192, hidden = tokens * 7168 * 2, latents = tokens * 2 * 2 * (1536 + 512.0);
    double heads = tokens * 128 * 2, qkv = heads * (192 + 192 + 128), out = heads * 128,
           statistics = tokens * 128 * 4;
    expect_bytes(&ops, MODULE(ATTN_NORM), 0, hidden, hidden);
    expect_bytes(&ops, MODULE(QKV_LINEAR), 0, hidden + latents,
                 2 * hidden + latents); /* by both down-projections */
    expect_bytes(&ops, MODULE(CORE_ATTN), 0, qkv + statistics, qkv + out + statistics);
    expect_bytes(&ops, MODULE(CORE_ATTN) | MODULE(ATTN_PROJ), 0, qkv + out + statistics,
                 qkv + 2 * out + statistics);
    expect_bytes(&ops, MODULE(MLP_NORM), 0, hidden, hidden);
    expect_bytes(&ops, MODULE(EXPERT_FC1), 0, 2 * hidden, 2 * hidden);
    expect_bytes(&ops, MODULE(MOE_ACT), 0, 2 * tokens * 4096 * 2, 2 * tokens * 4096 * 2);
    /* 117,440,512 bytes lie in a block of 2^27 on the host. */
    CU_ASSERT_EQUAL(ss_ops_offloaded(&ops, MODULE(ATTN_NORM), LEAST, 0).host, 134217728);
    /* What recompute makes again it has freed itself. */
    expect_bytes(&ops, MODULE(QKV_LINEAR), SS_MODULE_BIT(SS_MODULE_LAYERNORM), latents, 2 * hidden + latents);
    expect_bytes(&ops, MODULE(QKV_LINEAR), SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ), hidden + latents / 2,
                 2 * hidden + latents);
    expect_bytes(&ops, MODULE(CORE_ATTN), SS_MODULE_BIT(SS_MODULE_MLA_UP_PROJ), statistics,
                 qkv + out + statistics);
    expect_bytes(&ops, MODULE(MLP_NORM), SS_MODULE_BIT(SS_MODULE_MOE), hidden, hidden);
}

TEST(experts_fp8)
{
    struct setting t;
    setting_make(&t);
    t.job.precision = SS_FP8;
    t.job.stored = SS_BF16;
    struct ss_ops ops = mixture_of(&t);
    double hidden = 8192.0 * 7168;
    expect_bytes(&ops, MODULE(EXPERT_FC1), 0, 2 * hidden,
                 4 * hidden); /* the cast is freed, 16 bit is moved */
    expect_bytes(&ops, MODULE(QKV_LINEAR), 0, 2 * hidden + 8192.0 * 3 * 2048,
                 2 * hidden + 8192.0 * 3 * 2048); /* a cast of each down-projection */
}

/* All that can be moved is a part of what the layer keeps. */
TEST(no_more_than_kept)
{
    struct setting t;
    setting_make(&t);
    struct ss_ops dense = layer_of(&t, DENSE), moe = mixture_of(&t);
    for (unsigned redone = 0; redone < 1u << SS_MODULE_COUNT; redone++) {
        CU_ASSERT(ss_ops_offloaded(&dense, ~0u, 0, redone).freed <= ss_ops_saved_bytes(&dense, redone));
        CU_ASSERT(ss_ops_offloaded(&moe, ~0u, 0, redone).freed <= ss_ops_saved_bytes(&moe, redone));
    }
}

/* 40 MiB at 1 GB/s are 41.9 ms, far more than the layer takes; at 1 TB/s they hide. */
TEST(exposed)
{
    struct setting t;
    struct ss_layer_cost bare, cost;
    setting_make(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    t.job.offload.modules = MODULE(CORE_ATTN);
    ss_cost_layer(&t.c, &ops, SS_RECOMPUTE_NONE, &bare);
    double f = ss_label_sum(bare.forward), b = ss_label_sum(bare.input_grad) + ss_label_sum(bare.weight_grad);
    CU_ASSERT(f < 0.0419 && b < 0.0419);
    cost = bare;
    t.card.pcie_bandwidth = 1e9;
    ss_cost_layer_offload(&t.c, &ops, &cost);
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OFFLOAD], 0.04194304 - f, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_OFFLOAD], 0.04194304 - b, 1e-15);
    cost = bare;
    t.card.pcie_bandwidth = 1e12;
    ss_cost_layer_offload(&t.c, &ops, &cost);
    CU_ASSERT_EQUAL(cost.forward[SS_LABEL_OFFLOAD], 0);
    CU_ASSERT_EQUAL(cost.input_grad[SS_LABEL_OFFLOAD], 0);
    t.job.offload.inflight = 0; /* waited for behind the layer */
    ss_cost_layer_offload(&t.c, &ops, &cost);
    CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OFFLOAD], 4.194304e-5, 1e-18);
    CU_ASSERT_EQUAL(cost.input_grad[SS_LABEL_OFFLOAD], 0);
}

/* A quarter of 1e9 parameters on each of four ranks of a node, half of their states on the host: gradients of 4 bytes out and parameters of 2 back at
 * 50 GB/s, 28 bytes a parameter of all four ranks at 100 GB/s. What stays takes no time on a card without bounds. */
TEST(host_step)
{
    struct setting t;
    setting_make(&t);
    t.c.net.gpus_per_node = 16; /* four hosts joined by a switch, each with its own four */
    t.c.net.host_gpus = 4;
    t.card.hbm_bandwidth = 1e30;
    t.card.kernel_latency = 0;
    t.card.pcie_bandwidth = 50e9;
    t.card.host_step = 100e9;
    t.job.dp.distributed_optimizer = t.job.dp.grad_reduce_fp32 = 1;
    t.job.offload.optimizer = 0.5;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&t.c, 1e9, 0, 4), 0.5 * 0.25e9 * (6 / 50e9 + 4 * 28 / 100e9),
                           1e-9);
    t.job.offload.optimizer = 0;
    CU_ASSERT_DOUBLE_EQUAL(ss_cost_optimizer(&t.c, 1e9, 0, 4), 0, 1e-9);
}

/* What compute waits for n of 8 copies, by hand; a layer takes 2 s. Windows: 3 copies have 3, 3 and 2 layers, 4 have 2 each, the first one layer
 * less. Deadlines: copy i is done when layer 8 - n + i begins. 4 copies of 3 s run from 2 to 14 s, when layer 7 begins; of 4 s they
 * end at 18, and it waits 4. Of 7 copies layer i + 1 waits for all of copy i; of 6 copies of 3 s the first ends at 5, the last at 20, and layer 7
 * behind it at 22 in place of 16. */
TEST(windows)
{
    static const struct {
        double windows;
        int moved;
        double copy, waits;
    } rows[] = {
        {0, 4, 3, 4 * 1},     {0, 4, 1, 0},  {1, 4, 3, 1},     {1, 4, 5, 3 + 3 * 1},
        {1, 3, 5, 1 + 0 + 1}, {1, 1, 13, 0}, {1, 1, 15, 1},    {1, 7, 3, 1 + 6},
        {2, 4, 3, 0},         {2, 4, 4, 4},  {2, 7, 3, 7 * 3}, {2, 7, 1, 7 * 1},
        {2, 6, 3, 6},         {2, 1, 12, 0}, {2, 1, 13, 1},    {2, 3, 9, 3 * 9 - 6 * 2},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct setting t;
        struct ss_layer_cost cost = {.forward = {[SS_LABEL_COMPUTE] = 2},
                                     .input_grad = {[SS_LABEL_COMPUTE] = 1},
                                     .weight_grad = {[SS_LABEL_COMPUTE] = 1}};
        setting_make(&t);
        struct ss_ops ops = layer_of(&t, DENSE);
        t.job.model.num_layers = 8;
        t.job.offload.layers = rows[i].moved;
        t.job.offload.weights = 1;
        t.job.offload.activations = 0;
        t.stack.offload_windows = rows[i].windows;
        t.card.pcie_bandwidth = ops.sum.params * 2 / rows[i].copy;
        ss_cost_layer_offload(&t.c, &ops, &cost);
        CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OFFLOAD] * rows[i].moved, rows[i].waits, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_OFFLOAD] * rows[i].moved, rows[i].waits, 1e-9);
    }
}

/* --cpu-offloading-weights: 11,274,240 parameters in 16 bit, and all that the layer keeps beside where activations go too, at 1 GB/s
 * in each direction. The host holds the activations of three such layers, and of half of the optimizer's states 12 bytes and a
 * gradient of 4, an eighth on each of as many ranks. */
TEST(whole_layers)
{
    const double params = 1024. * 1536 + 1024. * 1024 + 3 * 1024. * 2816 + 2 * 1024;
    const struct ss_param_count count = {.all = 1e9};
    struct ss_layer_set *set = calloc(1, sizeof *set);
    struct setting t;
    setting_make(&t);
    struct ss_ops ops = layer_of(&t, DENSE);
    const double kept = ss_ops_saved_bytes(&ops, 0);
    t.card.pcie_bandwidth = 1e9;
    t.job.offload.layers = 3;
    t.job.offload.optimizer = 0.5;
    struct ss_layer_list list = {.kind = DENSE, .ops = ops}, *lists[] = {&list};
    set->list = lists;
    set->nlists = 1;
    for (int both = 0; both < 2; both++) {
        struct ss_layer_cost cost = {.forward = {[SS_LABEL_COMPUTE] = 0.002},
                                     .input_grad = {[SS_LABEL_COMPUTE] = 0.003}};
        t.job.offload.weights = 1;
        t.job.offload.activations = both;
        ss_cost_layer_offload(&t.c, &ops, &cost);
        double copied = (2 * params + both * kept) / 1e9;
        CU_ASSERT_DOUBLE_EQUAL(cost.forward[SS_LABEL_OFFLOAD], copied - 0.002, 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(cost.input_grad[SS_LABEL_OFFLOAD], copied - 0.003, 1e-15);
        CU_ASSERT_DOUBLE_EQUAL(ss_memory_host(&t.c, &count, (struct ss_optimizer_shards){8, 8}, set),
                               0.5 * 1e9 * (12 + 4) / 8 + both * 3 * kept, 1);
    }
    free(set);
}

/* The layer that the backward begins with stays, where it begins at once; a fraction leaves the last layers. */
TEST(layers)
{
    struct ss_job job;
    ss_job_init(&job);
    job.offload.modules = MODULE(CORE_ATTN);
    CU_ASSERT_EQUAL(ss_offloaded_layers(&job, 8, 0), 8);
    CU_ASSERT_EQUAL(ss_offloaded_layers(&job, 8, 1), 7);
    CU_ASSERT_EQUAL(ss_offloaded_layers(&job, 1, 1), 0);
    job.offload.fraction = 0.75;
    CU_ASSERT_EQUAL(ss_offloaded_layers(&job, 8, 0), 6);
    CU_ASSERT_EQUAL(ss_offloaded_layers(&job, 8, 1), 6);
    job.offload.fraction = 0;
    CU_ASSERT_EQUAL(ss_offloaded_layers(&job, 8, 0), 0);
}

/* ---- whole jobs ---- */

#define LLAMA_8                                                                                              \
    "--model llama3.1-8b --num-layers 8 --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer --gbs 16 "
#define OFFLOAD "--fine-grained-activation-offloading --offload-modules "

static void run_job(const char *text, int level, struct scale_job *s, struct ss_run *run)
{
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    o.plan.level = level;
    CU_ASSERT_FATAL(scale_open(s, text) == 0);
    CU_ASSERT_FATAL(scale_run(s, &o, run) == 0);
}

static void end_job(struct scale_job *s, struct ss_run *run)
{
    ss_run_free(run);
    scale_close(s);
}

static struct ss_chunk_cost chunk_of(const char *text, int stage, double *host)
{
    struct scale_job s;
    struct ss_run run;
    run_job(text, SS_LEVEL_CHUNK, &s, &run);
    int rank = stage * run.plan->world_size / s.job.pp;
    const struct ss_plan_class *pc = &run.plan->classes[run.plan->class_of[rank]];
    struct ss_chunk_cost chunk = pc->chunks[0];
    *host = pc->host_bytes;
    chunk.steps[0] = NULL;
    end_job(&s, &run);
    return chunk;
}

/* Llama 3.1 8B on one rank: 4096 tokens of 4096 are 32 MiB, as are Q and the output; K and V are 8 each. Of 8 layers 7 move 80
 * MiB and free 48; at 1 GB/s each is 83.9 ms under way. */
TEST(one_stage)
{
    double host, none;
    struct ss_chunk_cost plain = chunk_of("h800 1;" LLAMA_8, 0, &none);
    struct ss_chunk_cost more = chunk_of("h800 1;" LLAMA_8 "--num-layers 9", 0, &none);
    struct ss_chunk_cost moved =
        chunk_of("h800 1 ss.pcie.bandwidth=1GBps;" LLAMA_8 OFFLOAD "core_attn", 0, &host);
    double f = ss_label_sum(more.forward) - ss_label_sum(plain.forward);
    double b = ss_label_sum(more.backward) - ss_label_sum(plain.backward);
    CU_ASSERT(f < 0.08388608 && b < 0.08388608);
    CU_ASSERT_DOUBLE_EQUAL(moved.forward[SS_LABEL_OFFLOAD], 7 * (0.08388608 - f), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(moved.backward[SS_LABEL_OFFLOAD], 7 * (0.08388608 - b), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(plain.activation_bytes - moved.activation_bytes, 7 * 48 * MIB, 1);
    /* A layer's on its way out. */
    CU_ASSERT_DOUBLE_EQUAL(moved.forward_extra_bytes - plain.forward_extra_bytes, 80 * MIB, 1);
    CU_ASSERT_EQUAL(none, 0);
    CU_ASSERT_EQUAL(host, 7 * 80 * MIB);
}

/* Four stages of two layers: the first moves both, and has four microbatches in flight; the last one layer of one. */
TEST(stages)
{
    double host[2], none;
    struct ss_chunk_cost first = chunk_of("h800 1;" LLAMA_8 "--pp 4", 0, &none);
    struct ss_chunk_cost last = chunk_of("h800 1;" LLAMA_8 "--pp 4", 3, &none);
    struct ss_chunk_cost first_moved = chunk_of("h800 1;" LLAMA_8 "--pp 4 " OFFLOAD "core_attn", 0, &host[0]);
    struct ss_chunk_cost last_moved = chunk_of("h800 1;" LLAMA_8 "--pp 4 " OFFLOAD "core_attn", 3, &host[1]);
    CU_ASSERT_DOUBLE_EQUAL(first.activation_bytes - first_moved.activation_bytes, 2 * 48 * MIB, 1);
    CU_ASSERT_DOUBLE_EQUAL(last.activation_bytes - last_moved.activation_bytes, 48 * MIB, 1);
    /* A layer's on its way out, and one's back for the next backward; in that a module's come besides. */
    CU_ASSERT_DOUBLE_EQUAL(first_moved.forward_extra_bytes - first.forward_extra_bytes, 160 * MIB, 1);
    CU_ASSERT_DOUBLE_EQUAL(first_moved.backward_extra_bytes - first.backward_extra_bytes, 160 * MIB, 1);
    CU_ASSERT_EQUAL(host[0], 4 * 2 * 80 * MIB);
    CU_ASSERT_EQUAL(host[1], 80 * MIB);
}

/* The closed form and the steps; copies that hide, and copies that do not. */
TEST(levels)
{
    static const char *const jobs[] = {
        LLAMA_8 "--tp 4 --sequence-parallel --pp 2 " OFFLOAD "core_attn attn_proj qkv_linear",
        LLAMA_8 "--pp 2 --vp 2 " OFFLOAD "core_attn --fine-grained-offloading-max-inflight-offloads 0",
        "--model qwen3-30b-a3b --num-layers 4 --bf16 --seq 4096 --mbs 1 --gbs 16 --ep 8 "
        "--use-distributed-optimizer " OFFLOAD "expert_fc1 moe_act mlp_norm",
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        for (int fast = 0; fast < 2; fast++) {
            struct scale_job s[2];
            struct ss_run run[2];
            char text[600];
            snprintf(text, sizeof text, "h800 1 ss.pcie.bandwidth=%s;%s", fast ? "55GBps" : "2GBps", jobs[i]);
            run_job(text, SS_LEVEL_CHUNK, &s[0], &run[0]);
            run_job(text, SS_LEVEL_LAYER, &s[1], &run[1]);
            double t = run[0].result->iteration_s, waits = run[0].timeline->spent[0][SS_LABEL_OFFLOAD];
            CU_ASSERT_DOUBLE_EQUAL(run[1].result->iteration_s, t, 1e-9 * t);
            CU_ASSERT_DOUBLE_EQUAL(run[1].timeline->spent[0][SS_LABEL_OFFLOAD], waits, 1e-9 * t);
            CU_ASSERT((waits > 0) == (!fast || i == 1));
            for (int k = 0; k < 2; k++)
                end_job(&s[k], &run[k]);
        }
}

/* A mixture whose activations are too large is told that its experts can move theirs, and how that runs. */
TEST(fix)
{
    const char *flags[] = {"--platform", "h800",
                           "--nodes",    "8",
                           "--model",    "qwen3-30b-a3b",
                           "--bf16",     "--seq",
                           "6144",       "--mbs",
                           "2",          "--gbs",
                           "512",        "--ep",
                           "8",          "--use-distributed-optimizer",
                           "--stack",    "megatron-bridge-26.02",
                           "--recipe",   "none"};
    struct ss_request request;
    struct ss_scenario *scenario;
    struct ss_fix fixes[3];
    int n, found = 0;
    ss_request_init(&request);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        CU_ASSERT_EQUAL_FATAL(ss_request_set(&request, flags[i], NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&request, NULL, &scenario, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_fixes_find(scenario, NULL, fixes, &n, NULL), 0);
    for (int i = 0; i < n; i++)
        found |= strstr(fixes[i].change, "--offload-modules expert_fc1 moe_act") != NULL;
    CU_ASSERT(found);
    ss_scenario_free(scenario);
    ss_request_free(&request);
}
