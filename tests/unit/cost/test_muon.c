/* SPDX-License-Identifier: Apache-2.0 */
/* Muon: its matrices, their FLOP and seconds, the states that it leaves out, what it does on shards. */
#include "cost/experts.h"
#include "cost/muon.h"
#include "scale_job.h"
#include "suite.h"

#define MOON "h800 1;--model moonlight-16b --bf16 --seq 4096 --mbs 1 --gbs 64 --ep 8 "
#define LLAMA "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 "

/* One rank that holds all layers of a job, as the plan would ask for it. */
struct rank {
    struct scale_job s;
    struct ss_cost_context c;
    struct ss_layer_set *set;
    struct ss_chunk_cost chunk;
    struct ss_muon muon;
};

static struct ss_group_shape on_node(int n)
{
    return (struct ss_group_shape){.n = n, .nodes = 1, .per_node = n};
}

static void rank_open(struct rank *r, const char *text)
{
    struct ss_token_spread spread;
    memset(r, 0, sizeof *r);
    CU_ASSERT_EQUAL_FATAL(scale_open(&r->s, text), 0);
    struct ss_job *job = &r->s.job;
    r->c = (struct ss_cost_context){.card = ss_platform_card(r->s.platform),
                                    .stack = &r->s.stack,
                                    .job = job,
                                    .tp = on_node(job->tp),
                                    .cp = on_node(1),
                                    .fsdp = on_node(1),
                                    .ep = on_node(job->ep),
                                    .etp = on_node(1),
                                    .etp_ep = on_node(job->ep),
                                    .edp = on_node(1),
                                    .once = 1};
    ss_net_init(&r->c.net, r->s.platform);
    r->s.stack.host_operator = 0;
    ss_shape_init(&r->c.shape, job, &r->s.stack, 163840);
    if (job->model.num_experts > 0) {
        CU_ASSERT_EQUAL_FATAL(ss_experts_spread(job, &r->c.ep, &spread, NULL, NULL), 0);
        ss_shape_experts(&r->c.shape, job, &spread);
    }
    r->set = calloc(1, sizeof *r->set);
    r->chunk = (struct ss_chunk_cost){.nlayers = job->model.num_layers, .has_embedding = 1, .has_loss = 1};
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_init(r->set, &r->c, 1, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_layer_set_chunk(r->set, 0, &r->chunk, NULL), 0);
    r->muon = ss_muon_of(&r->c, r->set);
}

static void rank_close(struct rank *r)
{
    ss_layer_set_free(r->set);
    scale_close(&r->s);
}

/* Five iterations of X X^T, A A, B X, m <= n. */
static double newton_schulz(double m, double n)
{
    return 5 * (2 * m * m * n + 2 * m * m * m + 2 * m * m * n);
}

/* Moonlight on 8 GPUs, 8 of 64 experts each. 27 layers of Q 2048 x 3072, KV down 2048 x 576, KV up 512 x 4096 and projection
 * 2048 x 2048; one dense MLP of 11264 columns, 26 routers of 64 columns and shared experts of 2816; 26 x 8 experts of 1408. */
TEST(moonlight)
{
    struct rank r;
    rank_open(&r, MOON "--optimizer dist_muon");
    CU_ASSERT_EQUAL(r.muon.dense.params, 894042112);
    CU_ASSERT_EQUAL(r.muon.dense.tensors, 27 * 4 + 2 + 26 * 3);
    CU_ASSERT_DOUBLE_EQUAL(r.muon.dense.flops, 43172634296320, 1);
    CU_ASSERT_EQUAL(r.muon.expert.params, 26 * 8 * (2048. * 2816 + 1408. * 2048));
    CU_ASSERT_EQUAL(r.muon.expert.tensors, 26 * 8 * 2);
    CU_ASSERT_DOUBLE_EQUAL(r.muon.expert.flops,
                           26 * 8 * (newton_schulz(2048, 2816) + newton_schulz(1408, 2048)), 1);
    rank_close(&r);
    rank_open(&r, MOON "--use-distributed-optimizer");
    CU_ASSERT_EQUAL(r.muon.dense.params + r.muon.expert.params, 0);
    CU_ASSERT_EQUAL(r.muon.dense.seconds + r.muon.expert.seconds, 0);
    rank_close(&r);
}

/* A step of one matrix: three GEMMs an iteration on tensor cores, 82 bytes a parameter, and its kernels; where the host is slower,
 * 11 + 15 calls. */
TEST(seconds)
{
    struct rank r;
    rank_open(&r, LLAMA "--optimizer muon --muon-no-split-qkv --clip-grad 1");
    const struct ss_card *card = r.c.card;
    const double shapes[][2] = {{4096, 6144}, {4096, 4096}, {4096, 28672}, {4096, 14336}};
    double seconds = 0, flops = 0;
    for (int i = 0; i < 4; i++) {
        double m = shapes[i][0], n = shapes[i][1], sms = card->sm_count;
        seconds += 5 * (ss_kernel_gemm(card, SS_BF16, m, m, n, 0, sms, 1) +
                        ss_kernel_gemm(card, SS_BF16, m, m, m, 0, sms, 1) +
                        ss_kernel_gemm(card, SS_BF16, m, n, m, 0, sms, 1)) +
                   82 * m * n / (card->hbm_bandwidth * card->hbm_efficiency) + 11 * card->kernel_latency;
        flops += newton_schulz(m, n);
    }
    CU_ASSERT_DOUBLE_EQUAL(r.muon.dense.seconds, 32 * seconds, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.muon.dense.flops, 32 * flops, 1);
    CU_ASSERT_EQUAL(r.muon.dense.tensors, 32 * 4);
    r.s.stack.host_operator = 2;
    r.s.stack.host_group = 1;
    const struct ss_muon slow = ss_muon_of(&r.c, r.set);
    CU_ASSERT_DOUBLE_EQUAL(slow.dense.seconds, 32 * 4 * (11 + 15), 1e-6);
    rank_close(&r);
    rank_open(&r, LLAMA "--optimizer muon --muon-num-ns-steps 10");
    CU_ASSERT_DOUBLE_EQUAL(
        r.muon.dense.flops,
        32 * 2 *
            (flops - newton_schulz(4096, 6144) + newton_schulz(4096, 4096) + 2 * newton_schulz(1024, 4096)),
        1);
    rank_close(&r);
}

/* Four tensor ranks: their parts, whole matrices on each, or parts whose products are summed. FC1 is split by columns of its output,
 * FC2 by those of its input: 28672 / 4 and 14336 / 4, beside 4096. */
TEST(tensor_parallel)
{
    static const char *const modes[] = {"blockwise", "duplicated", "distributed"};
    const double wide = 28672, mlp = 14336, h = 4096;
    const double flops[] = {newton_schulz(1024, h) * 2 + newton_schulz(256, h) * 2 +
                                newton_schulz(h, wide / 4) + newton_schulz(mlp / 4, h),
                            newton_schulz(h, h) * 2 + newton_schulz(1024, h) * 2 + newton_schulz(h, wide) +
                                newton_schulz(h, mlp),
                            newton_schulz(h, 1024) * 2 + newton_schulz(h, 256) * 2 +
                                newton_schulz(h, wide / 4) + newton_schulz(h, mlp / 4)};
    double whole = 0;
    for (int i = 0; i < 3; i++) {
        struct rank r;
        char text[256];
        snprintf(text, sizeof text, LLAMA "--tp 4 --optimizer muon --muon-tp-mode %s", modes[i]);
        rank_open(&r, text);
        CU_ASSERT_DOUBLE_EQUAL(r.muon.dense.flops, 32 * flops[i], 1);
        CU_ASSERT_EQUAL(r.muon.dense.params, 32 * (h * 6144 + h * h + 3 * h * mlp) / 4);
        r.c.net.fabric_half = r.c.net.nccl = 0; /* no protocol, no slow start */
        double seconds = ss_muon_of(&r.c, r.set).dense.seconds, busbw = r.c.net.fabric_busbw;
        r.c.net.fabric_busbw *= 1e9; /* what is left of a collective is its latency */
        whole = ss_muon_of(&r.c, r.set).dense.seconds;
        /* A ring of four moves three quarters: of the fp32 momenta, gathered once; twice of the products of 4096 rows in
         * 16 bit, summed in each of 5 steps. */
        const double bytes[] = {0, 4 * (h * 6144 + h * h + 3 * h * mlp) * 3 / 4,
                                5 * 6 * 2 * h * h * 2 * 3 / 4};
        CU_ASSERT_DOUBLE_EQUAL(seconds - whole, 32 * bytes[i] / busbw, 1e-6 * seconds);
        rank_close(&r);
    }
}

/* Whole matrices are dealt: no rank steps less than the one that takes longest. */
TEST(dealt)
{
    struct rank r;
    rank_open(&r, LLAMA "--optimizer dist_muon");
    const struct ss_param_count all = {.all = r.muon.dense.params, .tensors = (int)r.muon.dense.tensors};
    const double shards[] = {1, 8, 1e6};
    const double expected[] = {r.muon.dense.seconds, r.muon.dense.seconds / 8, r.muon.dense.longest};
    for (int i = 0; i < 3; i++)
        CU_ASSERT_DOUBLE_EQUAL(
            ss_optimizer_seconds(&r.c, &all, &r.muon,
                                 (struct ss_optimizer_shards){.dense = shards[i], .expert = 1}),
            expected[i], 1e-12);
    rank_close(&r);
}

static double states_of(const char *text)
{
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    double bytes = run.plan->classes[0].memory[SS_MEM_OPTIMIZER];
    ss_run_free(&run);
    scale_close(&s);
    return bytes;
}

/* Master copy and one momentum, 8 bytes; 12 of what Adam steps. Dense ones are divided by the 8 data-parallel ranks. */
TEST(states)
{
    const double dense = 894042112, expert = 1799356416;
    double adam = states_of(MOON "--use-distributed-optimizer"),
           muon = states_of(MOON "--optimizer dist_muon");
    CU_ASSERT_DOUBLE_EQUAL(adam - muon, 4 * (dense / 8 + expert), 1);
    CU_ASSERT_EQUAL(states_of(MOON "--optimizer muon --use-distributed-optimizer"), muon);
    CU_ASSERT_DOUBLE_EQUAL(states_of(MOON) - states_of(MOON "--optimizer muon"), 4 * (dense + expert), 1);
}

TEST(refused)
{
    static const struct {
        const char *flags, *message;
    } rows[] = {
        {"--bf16 --optimizer muon --fsdp full", "Muon with FSDP is not modelled"},
        {"--bf16 --optimizer muon --optimizer-cpu-offload", "Muon's step on the host"},
        {"--optimizer dist_muon", "bf16"},
        {"--fp16 --optimizer muon", "muon with fp16 is not supported"},
        {"--bf16 --optimizer dist_muon --use-precision-aware-optimizer", "precision-aware"},
        {"--bf16 --optimizer muon --ep 2 --etp 2 --tp 2 --sequence-parallel --muon-tp-mode duplicated",
         "blockwise"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[300];
        struct ss_error err = {0};
        struct ss_asked asked;
        struct ss_job job;
        struct ss_stack stack;
        struct ss_notes notes = {0};
        snprintf(text, sizeof text, "--model moonlight-16b --seq 4096 --mbs 1 --gbs 64 %s", rows[i].flags);
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL_FATAL(parse(&asked, text, &notes, &err), 0);
        CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H800-80GB", &stack, &err), 0);
        CU_ASSERT(ss_asked_finish(&asked, NULL, &stack, 8, 8, &notes, &job, &err) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        ss_notes_free(&notes);
    }
}
