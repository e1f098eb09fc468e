/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs: what the host still issues, and what Megatron-LM refuses. */
#include <math.h>

#include "h100_job.h"

#define CALL 10e-6
#define MIXTURE "--model mixtral-8x7b "

/* Calls of the forward and the backward of a layer of this kind. */
static void calls(const char *flags, int kind, double out[2])
{
    struct h100_layer l;

    h100_layer(&l, kind, "megatron-2407", flags);
    l.stack.host_operator = CALL;
    l.stack.host_group = 0;
    struct ss_layer_cost cost = h100_cost(&l, SS_RECOMPUTE_NONE);
    for (int i = 0; i < 2; i++)
        out[i] = round(cost.host[i] / CALL);
}

/* A graph of a layer, or of each of its parts, is a call each way; that of the iteration none, and it holds the loss too. */
TEST(calls)
{
    static const struct {
        const char *flags;
        double layer, loss; /* forward; -1: as without */
    } rows[] = {{"--cuda-graph-impl local", 1, -1},
                {"--cuda-graph-impl transformer_engine --cuda-graph-scope full", 1, -1},
                {"--cuda-graph-impl local --cuda-graph-modules attn mlp", 2, -1},
                {"--cuda-graph-impl full_iteration", 0, 0},
                {"--cuda-graph-modules full_iteration --cuda-graph-impl local", 0, 0},
                {"--enable-cuda-graph --cuda-graph-scope full_iteration", 0, 0}};
    double layer[2], loss[2], plain[2], plain_loss[2], attn[2], mlp[2];
    char flags[512];

    calls(LLAMA, DENSE, plain);
    calls(LLAMA, SS_LAYER_LOSS, plain_loss);
    CU_ASSERT(plain[0] > 10 && plain[1] > plain[0] && plain_loss[0] > 5);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i].flags);
        calls(flags, DENSE, layer);
        calls(flags, SS_LAYER_LOSS, loss);
        CU_ASSERT_EQUAL(layer[0], rows[i].layer);
        CU_ASSERT_EQUAL(layer[1], rows[i].layer);
        CU_ASSERT_EQUAL(loss[0], rows[i].loss < 0 ? plain_loss[0] : rows[i].loss);
    }
    /* each part leaves the other's calls, and both together cover all */
    calls(LLAMA "--cuda-graph-impl local --cuda-graph-modules attn", DENSE, attn);
    calls(LLAMA "--cuda-graph-impl local --cuda-graph-modules mlp", DENSE, mlp);
    CU_ASSERT_EQUAL(attn[0] - 1 + mlp[0] - 1, plain[0]);
}

/* The graph of the iteration holds experts that take any number of tokens, too; one of parts of a layer does not. */
TEST(any_tokens)
{
    static const char *const parts =
        "--cuda-graph-impl transformer_engine --cuda-graph-modules attn moe_router";
    char flags[512];
    double host[2];

    snprintf(flags, sizeof flags,
             "--seq 4096 --mbs 1 --gbs 64 --bf16 --ep 8 " MIXTURE "--cuda-graph-impl full_iteration");
    calls(flags, MOE, host);
    CU_ASSERT_EQUAL(host[0] + host[1], 0);
    snprintf(flags, sizeof flags, "--seq 4096 --mbs 1 --gbs 64 --bf16 --ep 8 " MIXTURE "%s", parts);
    calls(flags, MOE, host);
    CU_ASSERT(host[0] > 2 && host[1] > 2);
}

/* A ring of four has three steps more than one, each of 6 launches forward and 9 backward; other ways have no steps. */
TEST(ring)
{
    static const struct {
        const char *flags;
        double forward, backward; /* launches beside those of a rank that has all of a sequence */
    } rows[] = {{LLAMA "--cp 4", 3 * 6, 3 * 9},
                {LLAMA "--cp 4 --cp-comm-type all_gather", 0, 0},
                {LLAMA "--cp 4 --cuda-graph-impl local", 0, 0}};
    const double launch = 7e-6;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct h100_layer l;
        double host[2][2];
        h100_layer(&l, DENSE, "megatron-2407", rows[i].flags);
        l.stack.host_group = launch;
        for (int ring = 0; ring < 2; ring++) {
            l.c.cp.n = ring ? 4 : 1;
            struct ss_layer_cost cost = h100_cost(&l, SS_RECOMPUTE_NONE);
            memcpy(host[ring], cost.host, sizeof host[ring]);
        }
        CU_ASSERT_DOUBLE_EQUAL(host[1][0] - host[0][0], rows[i].forward * launch, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(host[1][1] - host[0][1], rows[i].backward * launch, 1e-12);
    }
}

#define BOTH "moe_router moe_preprocess"

/* A graph of Transformer Engine's has memory of its own: its input is copied there, a mask of a byte for each query and key is filled with
 * zeros and copied, and so are the gradients of what it returns: of copies on their way where it permutes. */
TEST(copies)
{
    static const char moe[] = "--seq 4096 --mbs 1 --gbs 64 --bf16 --ep 8 " MIXTURE;
    static const char te[] = "--cuda-graph-impl transformer_engine --cuda-graph-scope ";
    const double x = 8192. * 4096 * 2, y = x / 2, map = 4. * 4096 * 8, sent = 2. * 4096;
    const struct {
        const char *job, *impl, *scope;
        int kind;
        double forward, backward; /* bytes */
        int launches[2];
    } rows[] = {
        {LLAMA, te, "full", DENSE, 2 * x + 3. * 8192 * 8192, 2 * x, {3, 1}},
        {LLAMA, te, "mlp", DENSE, 2 * x, 2 * x, {1, 1}},
        {moe, te, "attn moe_router", MOE, 2 * y + 3. * 4096 * 4096, 2 * (2 * y + map), {3, 3}},
        {moe, te, "moe_router", MOE, 2 * y, 2 * (2 * y + map), {1, 3}},
        {moe,
         te,
         BOTH " --moe-token-dispatcher-type alltoall",
         MOE,
         2 * y,
         2 * (y + sent * (4096 * 2 + 4)),
         {1, 3}},
        {moe, te, BOTH " --moe-token-dispatcher-type flex", MOE, 2 * y, 2 * (2 * y + map), {1, 3}},
        {LLAMA, "--cuda-graph-impl local", "", DENSE, 0, 0, {0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct h100_layer l;
        char flags[512];
        snprintf(flags, sizeof flags, "%s %s%s", rows[i].job, rows[i].impl, rows[i].scope);
        h100_layer(&l, rows[i].kind, "megatron-2407", flags);
        const struct ss_token_spread spread = {.copies = 2, .hottest = 1, .expert_copies = sent, .source = 1};
        if (l.job.model.num_experts)
            ss_shape_experts(&l.c.shape, &l.job, &spread);
        ss_layer_operators(rows[i].kind, &l.c.shape, &l.ops);
        const struct ss_op *op = &l.ops.op[0];
        CU_ASSERT_EQUAL(strcmp(op->name, "graph copies") == 0, rows[i].forward > 0);
        if (rows[i].forward <= 0)
            continue;
        CU_ASSERT_DOUBLE_EQUAL(op->forward_bytes, rows[i].forward, 0.5);
        CU_ASSERT_DOUBLE_EQUAL(op->backward_bytes, rows[i].backward, 0.5);
        CU_ASSERT(op->forward_launches == rows[i].launches[0] &&
                  op->backward_launches == rows[i].launches[1]);
    }
}

TEST(taken)
{
    static const char *const rows[] = {
        "--cuda-graph-impl full_iteration --recompute full",
        "--recompute full --cuda-graph-scope attn",
        MIXTURE "--cuda-graph-impl local --cuda-graph-modules moe_preprocess",
        MIXTURE "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router moe_preprocess",
        MIXTURE "--cuda-graph-impl local --moe-expert-capacity-factor 1 --moe-pad-expert-input-to-capacity",
        MIXTURE
        "--cuda-graph-impl transformer_engine --cuda-graph-modules moe --moe-expert-capacity-factor 1 "
        "--moe-pad-expert-input-to-capacity"};
    struct ss_job job;
    struct ss_stack stack;
    char flags[512];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_error err = {0};
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i]);
        CU_ASSERT_EQUAL(h100_finish(&job, &stack, "megatron-2407", flags, &err), 0);
        CU_ASSERT_STRING_EQUAL(err.message, "");
    }
}

TEST(refused)
{
    static const char *const rows[][2] = {
        {"--cuda-graph-impl transformer_engine --cuda-graph-modules full_iteration",
         "cannot be combined with cuda_graph_impl='transformer_engine'"},
        {"--cuda-graph-impl full_iteration --cuda-graph-modules attn", "must be empty"},
        {"--cuda-graph-impl local --cuda-graph-modules full attn", "full scope cannot be used"},
        {"--cuda-graph-impl local --cuda-graph-modules moe_router", "only supported for MoE"},
        {"--cuda-graph-impl transformer_engine --cuda-graph-modules moe", "only supported for MoE"},
        {"--cuda-graph-impl local --cpu-offloading --cpu-offloading-num-layers 8 "
         "--cpu-offloading-activations",
         "not supported with CPU offloading"},
        {"--cuda-graph-impl local --recompute full", "full recompute is only supported with full iteration"},
        {MIXTURE "--cuda-graph-impl local", "a graph of whole layers"},
        {MIXTURE "--enable-cuda-graph", "a graph of whole layers"},
        {MIXTURE "--cuda-graph-impl transformer_engine --cuda-graph-modules moe", "drop-padding MoE"},
        {MIXTURE "--cuda-graph-impl transformer_engine --cuda-graph-modules moe moe_router",
         "both moe and moe_router"},
        {MIXTURE "--cuda-graph-impl local --cuda-graph-modules moe moe_preprocess",
         "both moe and moe_router"},
        {MIXTURE "--cuda-graph-impl transformer_engine --cuda-graph-modules moe_preprocess",
         "only supported with moe_router"},
        {MIXTURE "--cuda-graph-impl transformer_engine --cuda-graph-modules mlp",
         "only supported for dense layers"},
        {MIXTURE
         "--cuda-graph-impl transformer_engine --cuda-graph-modules moe_router --recompute-granularity "
         "selective --recompute-modules moe",
         "moe recompute is not supported"}};
    struct ss_job job;
    struct ss_stack stack;
    char flags[256];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_error err = {0};
        snprintf(flags, sizeof flags, LLAMA "%s", rows[i][0]);
        CU_ASSERT_EQUAL(h100_finish(&job, &stack, "megatron-2407", flags, &err), SS_ERR_CONFIG);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i][1]));
    }
}

SUITE(graphs)
{
    return suite_file(argv[0], h100_open, h100_close);
}
