/* SPDX-License-Identifier: Apache-2.0 */
/* The rank grid of experts against Megatron's, and what of a plan follows from it. */
#include <string.h>

#include "plan/communicators.h"
#include "scale_job.h"
#include "suite.h"

enum { RANKS_MAX = 128 };

static const char *const orders[] = {"tp-cp-ep-dp-pp", "tp-cp-dp-ep-pp", "tp-ep-dp-cp-pp",
                                     "cp-tp-ep-dp-pp", "tp-cp-ep-pp-dp", "tp-pp-ep-dp-cp"};

static void grids_make(struct ss_ranks *dense, struct ss_ranks *experts, const char *order, int world, int tp,
                       int cp, int pp, int etp, int ep, int *status, struct ss_error *err)
{
    const int size[SS_AXIS_COUNT] = {tp, cp, 1, world / (tp * cp * pp), pp};
    CU_ASSERT_EQUAL_FATAL(ss_ranks_init(dense, order, size, NULL), 0);
    *status = ss_ranks_init_experts(experts, dense, order, etp, ep, err);
}

/* Megatron's groups in its own way: coordinates of a rank by division in the order of the axes. */
static void coordinates(const struct ss_ranks *r, const char *order, int rank, int at[SS_AXIS_COUNT])
{
    for (const char *p = order; *p; p += *p == '-') {
        size_t len = strcspn(p, "-");
        int axis = ss_axis_find(p, len);
        at[axis] = rank % r->size[axis];
        rank /= r->size[axis];
        p += len;
    }
}

static void expect_megatron(const struct ss_ranks *r, const char *order, int comm, int rank)
{
    int got[RANKS_MAX], n, k = 0, own[SS_AXIS_COUNT], other[SS_AXIS_COUNT];
    unsigned axes = ss_comm_axes(comm);
    ss_ranks_group(r, comm, rank, got, &n);
    coordinates(r, order, rank, own);
    for (int i = 0; i < r->world_size; i++) {
        int same = 1;
        coordinates(r, order, i, other);
        for (int a = 0; a < SS_AXIS_COUNT; a++)
            same &= (axes >> a & 1) || own[a] == other[a];
        if (same)
            CU_ASSERT(k < n && got[k] == i);
        k += same;
    }
    CU_ASSERT_EQUAL(n, k);
    CU_ASSERT_EQUAL(n, ss_ranks_group_size(r, comm));
}

TEST(all_groups)
{
    static const struct {
        int world, tp, cp, pp, etp, ep;
    } sizes[] = {{32, 2, 2, 2, 1, 4}, {64, 4, 1, 2, 1, 8},  {64, 4, 1, 4, 4, 4}, {128, 1, 2, 4, 1, 32},
                 {16, 2, 1, 1, 2, 8}, {128, 8, 2, 2, 2, 8}, {8, 2, 2, 2, 1, 1},  {96, 2, 2, 1, 1, 12}};
    static const int comms[] = {SS_COMM_EP, SS_COMM_ETP, SS_COMM_ETP_EP, SS_COMM_EDP, SS_COMM_PP};
    int status;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            struct ss_ranks dense, experts;
            grids_make(&dense, &experts, orders[o], sizes[i].world, sizes[i].tp, sizes[i].cp, sizes[i].pp,
                       sizes[i].etp, sizes[i].ep, &status, NULL);
            int same = sizes[i].pp == 1 || o < 4 || /* pipelines lie as in the dense grid */
                       (sizes[i].tp * sizes[i].cp == sizes[i].etp * sizes[i].ep &&
                        (o == 4 || sizes[i].tp == sizes[i].etp));
            CU_ASSERT_EQUAL(status, same ? SS_OK : SS_ERR_CONFIG);
            for (int r = 0; r < sizes[i].world && !status; r++) {
                CU_ASSERT_EQUAL(ss_ranks_coordinate(&dense, r, SS_AXIS_PP),
                                ss_ranks_coordinate(&experts, r, SS_AXIS_PP));
                for (size_t c = 0; c < sizeof comms / sizeof *comms; c++)
                    expect_megatron(&experts, orders[o], comms[c], r);
            }
        }
}

static void expect_group(const struct ss_ranks *r, int comm, int rank, const int *want, int n)
{
    int got[RANKS_MAX], count;
    ss_ranks_group(r, comm, rank, got, &count);
    CU_ASSERT_EQUAL_FATAL(count, n);
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL(got[i], want[i]);
}

/* 16 ranks, tensor 2, context 2, pipeline 2, expert 4 without expert tensor parallelism: an expert group holds ranks that
 * differ in tensor and context coordinates. */
TEST(groups_by_hand)
{
    struct ss_ranks dense, experts;
    int status;
    grids_make(&dense, &experts, "tp-cp-ep-dp-pp", 16, 2, 2, 2, 1, 4, &status, NULL);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    expect_group(&experts, SS_COMM_EP, 6, (int[]){4, 5, 6, 7}, 4);
    expect_group(&experts, SS_COMM_EDP, 6, (int[]){2, 6}, 2);
    expect_group(&experts, SS_COMM_ETP, 6, (int[]){6}, 1);
    expect_group(&experts, SS_COMM_PP, 6, (int[]){6, 14}, 2);
    grids_make(&dense, &experts, "tp-cp-ep-dp-pp", 16, 2, 1, 2, 2, 2, &status, NULL);
    CU_ASSERT_EQUAL_FATAL(status, 0);
    expect_group(&experts, SS_COMM_EP, 13, (int[]){13, 15}, 2);
    expect_group(&experts, SS_COMM_ETP, 13, (int[]){12, 13}, 2);
    expect_group(&experts, SS_COMM_ETP_EP, 13, (int[]){12, 13, 14, 15}, 4);
    expect_group(&experts, SS_COMM_EDP, 13, (int[]){9, 13}, 2);
}

TEST(refused)
{
    struct ss_ranks dense, experts;
    struct ss_error err;
    int status;
    grids_make(&dense, &experts, "tp-cp-ep-dp-pp", 16, 2, 1, 2, 1, 3, &status, &err);
    CU_ASSERT_EQUAL(status, SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "world_size (16) is not divisible by"));
    grids_make(&dense, &experts, "tp-cp-ep-pp-dp", 16, 2, 1, 2, 1, 4, &status, &err);
    CU_ASSERT_EQUAL(status, SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "must be the same (4 and 2)"));
    /* As many copies of both, but pipelines lie elsewhere. */
    grids_make(&dense, &experts, "tp-pp-cp-ep-dp", 16, 2, 2, 2, 1, 4, &status, &err);
    CU_ASSERT_EQUAL(status, SS_ERR_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "same for Non-Expert and Expert part"));
    /* In a pipeline of one nothing can differ. */
    grids_make(&dense, &experts, "tp-cp-ep-pp-dp", 16, 2, 1, 1, 1, 4, &status, &err);
    CU_ASSERT_EQUAL(status, 0);
}

/* ---- in a plan ---- */

#define JOB "h800 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --use-distributed-optimizer "

static void run_make(struct scale_job *s, const char *text, int ep, int etp,
                     const struct ss_run_options *options, struct ss_run *run)
{
    CU_ASSERT_EQUAL_FATAL(scale_open(s, text), 0);
    s->job.model.num_experts = 16;
    s->job.model.top_k = 8;
    s->job.ep = ep;
    s->job.etp = etp;
    CU_ASSERT_EQUAL_FATAL(scale_run(s, options, run), 0);
}

static void expect_members(const struct ss_plan *plan, int comm, int rank, const int *want, int n)
{
    int got[2 * RANKS_MAX], count;
    ss_comm_members(plan, comm, rank, got, &count);
    CU_ASSERT_EQUAL_FATAL(count, n);
    for (int i = 0; i < n; i++)
        CU_ASSERT_EQUAL(got[i], want[i]);
}

/* Experts of both copies of the model are reduced together. */
TEST(two_copies)
{
    struct scale_job s;
    struct ss_run run;
    run_make(&s, JOB "--tp 2 --pp 4 --gbs 32 --schedule dualpipe", 2, 1, NULL, &run);
    expect_members(run.plan, SS_COMM_EDP, 4, (int[]){4, 8, 6, 10}, 4);
    expect_members(run.plan, SS_COMM_EDP, 9, (int[]){5, 9, 7, 11}, 4);
    expect_members(run.plan, SS_COMM_EP, 9, (int[]){8, 9}, 2);
    expect_members(run.plan, SS_COMM_DP_CP, 4, (int[]){4, 8, 6, 10}, 4);
    ss_run_free(&run);
    scale_close(&s);
}

/* Expert groups reach over both nodes. */
TEST(shapes)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_groups groups;
    run_make(&s, JOB "--tp 1 --pp 1 --gbs 32", 8, 2, NULL, &run);
    CU_ASSERT_EQUAL_FATAL(ss_groups_build(run.plan, 0, &groups, NULL), 0);
    const struct ss_group_shape ep = ss_groups_shape(&groups, SS_COMM_EP, 3),
                                etp = ss_groups_shape(&groups, SS_COMM_ETP, 3),
                                edp = ss_groups_shape(&groups, SS_COMM_EDP, 3);
    CU_ASSERT(ep.n == 8 && ep.nodes == 2 && ep.per_node == 4);
    CU_ASSERT(etp.n == 2 && etp.nodes == 1 && etp.per_node == 2);
    CU_ASSERT_EQUAL(edp.n, 1);
    for (int r = 0; r < 16; r++) { /* groups of one have one number and one shape, pairs one each */
        CU_ASSERT_EQUAL(groups.number[SS_COMM_TP][r], 0);
        CU_ASSERT_EQUAL(groups.number[SS_COMM_ETP][r], r / 2);
    }
    ss_groups_free(&groups);
    ss_run_free(&run);
    scale_close(&s);
}

/* A rank waits in every layer for those of its expert group, and for no other. */
TEST(stragglers)
{
    static const struct ss_straggler slow = {5, 1.5};
    const struct ss_run_options options = {.plan = {.unfold = 1, .nstragglers = 1, .stragglers = &slow}};
    struct scale_job s;
    struct ss_run run;
    run_make(&s, JOB "--tp 1 --pp 1 --gbs 32", 4, 1, &options, &run);
    for (int r = 0; r < run.plan->world_size; r++) {
        const double *forward = run.plan->classes[run.plan->class_of[r]].chunks[0].forward;
        CU_ASSERT_EQUAL(forward[SS_LABEL_EP] > 0, r / 4 == 5 / 4 && r != 5);
    }
    ss_run_free(&run);
    scale_close(&s);
}

/* One of two expert groups spans two leaves and shares uplinks that are too few: its ranks are no class with the others, and no
 * two others cost otherwise. In either, the ranks that shard experts with those on the other leaf are a class of their own. */
TEST(uneven_leaves)
{
    struct ss_run_options options = {.plan = {.unfold = 0}};
    struct scale_job s;
    struct ss_run folded, unfolded;
    CU_ASSERT_EQUAL_FATAL(scale_open(&s,
                                     "h800 4 ss.oversubscription=8 ss.nodes_per_leaf=3;--model llama3.1-8b "
                                     "--bf16 --seq 4096 --mbs 1 --gbs 32 --num-experts 16 --ep 16 --etp 1 "
                                     "--moe-ffn-hidden-size 1024 --fsdp full"),
                          0);
    s.job.moe.dispatcher = SS_DISPATCH_ALLTOALL;
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &folded), 0);
    options.plan.unfold = 1;
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &unfolded), 0);
    CU_ASSERT_EQUAL(folded.plan->nclasses, 4);
    CU_ASSERT_DOUBLE_EQUAL(folded.result->iteration_s, unfolded.result->iteration_s,
                           1e-9 * unfolded.result->iteration_s);
    const double *near = unfolded.plan->classes[0].chunks[0].forward,
                 *far = unfolded.plan->classes[16].chunks[0].forward;
    CU_ASSERT(far[SS_LABEL_EP] > 1.5 * near[SS_LABEL_EP]);
    for (int r = 1; r < 16; r++) {
        CU_ASSERT_DOUBLE_EQUAL(unfolded.plan->classes[r].chunks[0].forward[SS_LABEL_EP], near[SS_LABEL_EP],
                               1e-15);
        CU_ASSERT_DOUBLE_EQUAL(unfolded.plan->classes[16 + r].chunks[0].forward[SS_LABEL_EP],
                               far[SS_LABEL_EP], 1e-15);
    }
    ss_run_free(&unfolded);
    ss_run_free(&folded);
    scale_close(&s);
}

/* Exchange of a forward of two layers of two experts on two GPUs, s. */
static double exchange_seconds(int hidden, const char *load)
{
    struct ss_run_options options = {.level_choice = SS_LEVEL_STAYS};
    struct scale_job s;
    struct ss_run run;
    char text[400];
    snprintf(
        text, sizeof text,
        "h800 1;--num-layers 2 --hidden-size %d --num-attention-heads 16 --vocab-size 32000 --bf16 --seq "
        "1024 "
        "--max-position-embeddings 1024 --mbs 1 --gbs 8 --num-experts 2 --moe-router-topk 1 --ep 2 --etp 1 "
        "--moe-ffn-hidden-size 1024 --moe-token-dispatcher-type alltoall --moe-load %s",
        hidden, load);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
    double seconds = run.plan->classes[0].chunks[0].forward[SS_LABEL_EP];
    ss_run_free(&run);
    scale_close(&s);
    return seconds;
}

/* Each of 2,048 tokens goes to one of two GPUs by chance: the fuller one gets sqrt(2 / (pi 2,048)) more than half of them in the mean,
 * and all wait for it. What does not grow with the bytes is the same in both. */
TEST(hottest)
{
    double even = exchange_seconds(16384, "balanced") - exchange_seconds(8192, "balanced"),
           drawn = exchange_seconds(16384, "uniform") - exchange_seconds(8192, "uniform");
    CU_ASSERT(even > 0);
    CU_ASSERT_DOUBLE_EQUAL(drawn / even, 1 + sqrt(2 / (M_PI * 2048)), 1e-4);
}

/* Tokens of an uneven load are averages, bytes are whole: the second microbatch of the last stage, which runs when all of the first
 * is done, takes what that took, to the last bit. So the peak is in the first: behind slot 0 (the step), F and then I. */
TEST(whole_bytes)
{
    const struct ss_run_options options = {.level_choice = SS_LEVEL_BLIND};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_EQUAL_FATAL(
        scale_open(&s, "h800 1;--model qwen3-30b-a3b --num-layers 2 --tp 2 --pp 2 --ep 1 --etp 1 --gbs 16 "
                       "--moe-token-dispatcher-type alltoall --moe-load W4_source_ragged --sequence-parallel "
                       "--schedule group-interleaved --seq 512 --mbs 4 --bf16 "
                       "--recompute-granularity selective"),
        0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &options, &run), 0);
    for (int c = 0; c < run.plan->nclasses; c++) {
        const struct ss_chunk_cost *k = &run.plan->classes[c].chunks[0];
        const double bytes[] = {k->activation_bytes, k->logits_bytes, k->forward_extra_bytes,
                                k->backward_extra_bytes, k->weight_grad_bytes};
        for (int i = 0; i < 5; i++)
            CU_ASSERT_EQUAL(bytes[i], floor(bytes[i]));
    }
    CU_ASSERT_EQUAL(run.timeline->peak_slot[run.plan->nclasses - 1], 2);
    ss_run_free(&run);
    scale_close(&s);
}
