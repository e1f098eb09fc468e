/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan's layers: what recompute by operator keeps and repeats, where recompute of whole layers stops, and the copies of
 * DTensor, against numbers worked out by hand. */
#include <string.h>

#include "cost/cost.h"
#include "cost/kernel.h"
#include "cost/layer_kinds.h"
#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define LLAMA "--model llama3.1-8b --seq 8192 --mbs 1 --gbs 1024 --bf16 "
#define T 8192.0
#define H 4096.0
#define F 14336.0
#define KV 1024.0
#define NEAR(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9 * (b))

struct fixture {
    struct ss_job job;
    struct ss_stack stack;
    struct ss_cost_context c;
    struct ss_ops ops;
};

static struct ss_platform *h100;

static int fixture_open(struct fixture *f, const char *stack, const char *flags)
{
    struct ss_notes notes = {0};
    struct ss_error err = {0};

    memset(f, 0, sizeof *f);
    ss_job_init(&f->job);
    int rc = ss_stack_load(stack, "H100", &f->stack, &err);
    if (!rc)
        rc = parse(&f->job, flags, &notes, &err);
    if (!rc)
        rc = ss_job_finish(&f->job, NULL, &f->stack, 8, 8, &notes, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n", flags, err.message);
    ss_notes_free(&notes);
    f->c.card = ss_platform_card(h100);
    f->c.stack = &f->stack;
    f->c.job = &f->job;
    f->c.cp = f->c.fsdp = (struct ss_group_shape){.n = 1, .nodes = 1, .per_node = 1};
    f->c.tp = (struct ss_group_shape){.n = f->job.tp, .nodes = 1, .per_node = f->job.tp};
    f->c.net.nvlink_busbw = 300e9;
    ss_shape_init(&f->c.shape, &f->job, &f->stack, 128512);
    ss_layer_operators(SS_LAYER_DENSE, &f->c.shape, &f->stack, &f->ops);
    return rc;
}

static const struct ss_op *find(const struct ss_ops *ops, const char *name)
{
    for (int i = 0; i < ops->n; i++)
        if (!strcmp(ops->op[i].name, name))
            return &ops->op[i];
    return NULL;
}

static struct ss_layer_cost cost_of(const struct fixture *f, int recompute)
{
    struct ss_layer_cost out;
    ss_cost_layer(&f->c, &f->ops, ss_layer_kind(SS_LAYER_DENSE), recompute, &out);
    return out;
}

static double gemm(const struct fixture *f, double n, double k)
{
    return ss_kernel_gemm(f->c.card, SS_BF16, T, n, k, 0, f->c.card->sm_count, 1);
}

/* Linear layers in order are q, k, v, projection, fc1, fc3, fc2: k, projection and fc3 are every second one. */
static void test_kept(void)
{
    static const struct {
        const char *name;
        int again;
    } rows[] = {{"input norm", 1},     {"q", 0},          {"k", 1},        {"v", 0},   {"rope", 1},
                {"core attention", 0}, {"projection", 1}, {"mlp norm", 1}, {"fc1", 0}, {"fc3", 1},
                {"activation", 1},     {"fc2", 0}};
    unsigned bit = SS_MODULE_BIT(SS_MODULE_OPERATORS);
    struct fixture f;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "torchtitan-2025", LLAMA "--recompute op-selective"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ss_op *op = find(&f.ops, rows[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(op);
        CU_ASSERT_EQUAL(!!(op->module & bit), rows[i].again);
    }
    /* input, q, attention's output, v and fc1 in 2 bytes, statistics of 32 heads in 4 */
    NEAR(ss_ops_saved_bytes(&f.ops, bit), T * (2 * (3 * H + KV + F) + 4 * 32));
    /* without: 4 norms' tensors and statistics, q, repeated k and v, output, both halves of the MLP and its product */
    NEAR(ss_ops_saved_bytes(&f.ops, 0), T * (2 * (4 * H + 4 * H + 3 * F) + 4 * 32 + 2 * 4));
}

/* GEMMs of k, projection and fc3, and 12 kernels: norm 4 bytes an element, rope 20 of q and k, k and v to 32 heads, residual 6, the norm
 * in its kernel 2, activation 2 of 3 F. */
static void test_repeated(void)
{
    struct fixture f;
    double kernels = 1 + 2 + 2 + 1 + 0 + 1;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "torchtitan-2025", LLAMA "--recompute op-selective"), 0);
    struct ss_layer_cost by = cost_of(&f, SS_RECOMPUTE_SELECTIVE), none = cost_of(&f, SS_RECOMPUTE_NONE);
    double bytes = T * (4 * H + 20 * (H + KV) + 4 * (KV + H) + 6 * H + 2 * H + 6 * F);
    double expected = gemm(&f, KV, H) + gemm(&f, H, H) + gemm(&f, F, H) +
                      ss_kernel_elementwise(f.c.card, bytes, (int)kernels);
    NEAR(by.input_grad[SS_LABEL_RECOMPUTE], expected);
    CU_ASSERT_EQUAL(none.input_grad[SS_LABEL_RECOMPUTE], 0);
    NEAR(by.recompute_flops, 2 * T * H * (KV + H + F));
    NEAR(by.forward[SS_LABEL_COMPUTE], none.forward[SS_LABEL_COMPUTE]);
}

/* All but fc2 and the residual behind it. */
static void test_stops_early(void)
{
    struct fixture f;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "torchtitan-2025", LLAMA "--recompute full"), 0);
    struct ss_layer_cost early = cost_of(&f, SS_RECOMPUTE_FULL);
    f.stack.stops_early = 0;
    struct ss_layer_cost whole = cost_of(&f, SS_RECOMPUTE_FULL);
    NEAR(whole.input_grad[SS_LABEL_RECOMPUTE] - early.input_grad[SS_LABEL_RECOMPUTE],
         gemm(&f, H, F) + ss_kernel_elementwise(f.c.card, 6 * T * H, 1));
    NEAR(whole.recompute_flops - early.recompute_flops, 2 * T * H * F);
}

/* Two tensor ranks: each gather and scatter of the forward has a copy, 4 bytes an element; in the backward the sum of three, or two,
 * gradients is made where it is copied. In fp8 what is gathered has 1 byte. Asynchronous ones add two shares up. */
static void test_copies(void)
{
    struct fixture f;
    const struct ss_op *first, *second;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel"), 0);
    first = find(&f.ops, "gathered");
    second = find(&f.ops, "scattered");
    CU_ASSERT_FATAL(first && second);
    NEAR(first->forward_bytes, 4 * T * H);
    NEAR(first->backward_bytes, 4 * 2 * T * H);
    NEAR(second->forward_bytes, 4 * T * H);
    NEAR(second->backward_bytes, 4 * T * H);
    CU_ASSERT(!find(&f.ops, "q")->shares_input && find(&f.ops, "k")->shares_input &&
              find(&f.ops, "fc3")->shares_input);
    CU_ASSERT_EQUAL_FATAL(
        fixture_open(&f, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --fp8-format hybrid"), 0);
    NEAR(find(&f.ops, "gathered")->forward_bytes, 2 * T * H);
    CU_ASSERT_EQUAL_FATAL(
        fixture_open(&f, "torchtitan-2025", LLAMA "--tp 2 --sequence-parallel --tp-comm-overlap"), 0);
    NEAR(find(&f.ops, "gathered")->forward_bytes + 1, 1);
    NEAR(find(&f.ops, "scattered")->forward_bytes, 3 * T * H);
    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "llm-foundry-2023", LLAMA "--tp 2 --sequence-parallel"), 0);
    CU_ASSERT(!find(&f.ops, "gathered") && !find(&f.ops, "scattered") && find(&f.ops, "qkv"));
}

static int refused(const char *stack, const char *flags)
{
    struct ss_job job;
    struct ss_stack s;
    struct ss_notes notes = {0};
    struct ss_error err = {0};

    ss_job_init(&job);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load(stack, "H100", &s, &err), 0);
    CU_ASSERT_EQUAL_FATAL(parse(&job, flags, &notes, &err), 0);
    int rc = ss_job_finish(&job, NULL, &s, 8, 8, &notes, &err);
    ss_notes_free(&notes);
    return rc;
}

/* Context parallelism is PyTorch's: it gathers unless a flag says, and asks for no Transformer Engine. */
static void test_context(void)
{
    struct fixture f;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "torchtitan-2025", LLAMA "--cp 2"), 0);
    CU_ASSERT_EQUAL(f.job.cp_comm_type, SS_CP_ALLGATHER);
    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "torchtitan-2025", LLAMA "--cp 2 --cp-comm-type p2p"), 0);
    CU_ASSERT_EQUAL(f.job.cp_comm_type, SS_CP_P2P);
    CU_ASSERT_EQUAL(refused("llm-foundry-2023", LLAMA "--cp 2"), SS_ERR_CONFIG);
}

/* Of Megatron's stacks: with gradients in bf16 the read and write of each weight's gradient move 4 bytes, not 8. */
static void test_accumulated(void)
{
    struct fixture f;
    double params = H * (H + 2 * KV) + H * H + 3 * H * F;

    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "megatron-2407", LLAMA), 0);
    struct ss_layer_cost wide = cost_of(&f, SS_RECOMPUTE_NONE);
    CU_ASSERT_EQUAL_FATAL(fixture_open(&f, "megatron-2407", LLAMA "--grad-reduce-in-bf16"), 0);
    struct ss_layer_cost narrow = cost_of(&f, SS_RECOMPUTE_NONE);
    NEAR(wide.weight_grad[SS_LABEL_COMPUTE] - narrow.weight_grad[SS_LABEL_COMPUTE],
         ss_kernel_elementwise(f.c.card, 4 * params, 0));
}

static void test_refused(void)
{
    CU_ASSERT_EQUAL(refused("megatron-2407", LLAMA "--recompute op-selective"), SS_ERR_CONFIG);
    CU_ASSERT_EQUAL(refused("torchtitan-2025", "--model qwen3-30b-a3b --seq 4096 --mbs 1 --gbs 64 --bf16 "
                                               "--recompute op-selective"),
                    SS_ERR_UNSUPPORTED);
    CU_ASSERT_EQUAL(refused("torchtitan-2025", LLAMA "--recompute op-selective --recompute none"), 0);
}

static int open_platform(void)
{
    const struct ss_platform_options options = {.nodes = 1};
    return ss_platform_load("h100", &options, &h100, NULL);
}

static int close_platform(void)
{
    ss_platform_free(h100);
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {{"kept", test_kept},
                           {"repeated", test_repeated},
                           {"stops early", test_stops_early},
                           {"copies", test_copies},
                           {"context", test_context},
                           {"accumulated", test_accumulated},
                           {"refused", test_refused},
                           CU_TEST_INFO_NULL};
    return suite_run("by operator", open_platform, close_platform, tests);
}
