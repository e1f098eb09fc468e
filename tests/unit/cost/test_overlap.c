/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of experts beside kernels: what is hidden, by hand, and the same at every level and on both engines. */

#include "cost/layer_set.h"
#include "scale_job.h"
#include "stepsim/replay.h"
#include "suite.h"

/* Large enough that the host is never behind. */
#define COMMON                                                                                               \
    "--model llama3.1-8b --bf16 --seq 4096 --mbs 2 --num-layers 8 --use-distributed-optimizer "              \
    "--num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 2048 --moe-token-dispatcher-type alltoall "
#define SHARED "--moe-shared-expert-intermediate-size 4096 "

/* ---- lists of steps ---- */

#define COMPUTE(s)                                                                                           \
    {                                                                                                        \
        .kind = SS_STEP_COMPUTE, .label = SS_LABEL_COMPUTE, .seconds = (s)                                   \
    }
#define OTHER(s)                                                                                             \
    {                                                                                                        \
        .kind = SS_STEP_COMPUTE, .label = SS_LABEL_OTHER, .seconds = (s)                                     \
    }
#define POST(c, s, share)                                                                                    \
    {                                                                                                        \
        .kind = SS_STEP_POST, .comm = (c), .seconds = (s), .part = 1, .sms = (share), .sm_share = (share)    \
    }
#define WAIT(c)                                                                                              \
    {                                                                                                        \
        .kind = SS_STEP_WAIT, .comm = (c)                                                                    \
    }
#define FOLD(slower, out, ...)                                                                               \
    do {                                                                                                     \
        struct ss_layer_step step[] = {__VA_ARGS__};                                                         \
        const struct ss_step_list list = {.n = sizeof step / sizeof *step, .step = step};                    \
        CU_ASSERT_EQUAL(ss_steps_fold(&list, slower, out), SS_OK);                                           \
    } while (0)

TEST(fold)
{
    double t[SS_LABEL_COUNT];
    /* half of the exchange is hidden; then all of it */
    FOLD(0, t, POST(SS_COMM_EP, 4, 0), COMPUTE(2), WAIT(SS_COMM_EP), OTHER(1));
    CU_ASSERT_EQUAL(t[SS_LABEL_COMPUTE], 2);
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 2);
    CU_ASSERT_EQUAL(t[SS_LABEL_OTHER], 1);
    FOLD(0, t, POST(SS_COMM_EP, 4, 0), COMPUTE(5), WAIT(SS_COMM_EP));
    CU_ASSERT_EQUAL(t[SS_LABEL_COMPUTE], 5);
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 0);
    /* two on one stream follow each other, two on two streams do not */
    FOLD(0, t, POST(SS_COMM_EP, 4, 0), POST(SS_COMM_EP, 3, 0), COMPUTE(5), WAIT(SS_COMM_EP),
         WAIT(SS_COMM_EP));
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 2);
    FOLD(0, t, POST(SS_COMM_EP, 4, 0), POST(SS_COMM_TP, 7, 0), COMPUTE(3), WAIT(SS_COMM_EP),
         WAIT(SS_COMM_TP));
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 1);
    CU_ASSERT_EQUAL(t[SS_LABEL_TP], 3);
    /* the slowest kernels of a group hide more, and are counted as its other ones */
    FOLD(0.5, t, POST(SS_COMM_EP, 4, 0), COMPUTE(2), WAIT(SS_COMM_EP));
    CU_ASSERT_EQUAL(t[SS_LABEL_COMPUTE], 2);
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 1);
}

TEST(fold_sms)
{
    double t[SS_LABEL_COUNT];
    /* 4 s at three quarters, the rest at the full rate; what is hidden takes longer, too */
    FOLD(0, t, POST(SS_COMM_EP, 4, 0.25), COMPUTE(5), WAIT(SS_COMM_EP));
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_COMPUTE], 6, 1e-12);
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 0);
    FOLD(0, t, POST(SS_COMM_EP, 4, 0.5), COMPUTE(1), WAIT(SS_COMM_EP));
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_COMPUTE], 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_EP], 2, 1e-12);
    /* holds of 0.2 and 0.9 leave 0.4, as in the replay contract */
    FOLD(0, t, POST(SS_COMM_EP, 4, 0.2), POST(SS_COMM_TP, 4, 0.9), COMPUTE(0.8), WAIT(SS_COMM_EP),
         WAIT(SS_COMM_TP));
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_COMPUTE], 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_EP], 2, 1e-12);
    /* a reduction from the begin that ends at 0.5: 0.4 of the SMs beside both, 0.5 behind the gather at 0.25, then all */
    struct ss_layer_step steps[] = {POST(SS_COMM_FSDP, 0.25, 0.2), COMPUTE(0.5), WAIT(SS_COMM_FSDP),
                                    OTHER(1)};
    const struct ss_step_list list = {.n = sizeof steps / sizeof *steps, .step = steps};
    CU_ASSERT_EQUAL(ss_steps_fold_beside(&list, 0, 0.9, 0.5, t), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_COMPUTE], 0.5 + 0.5 - (0.25 * 0.4 + 0.25 * 0.5), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_DP], 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_OTHER], 1, 1e-12);
    /* the gather sticks out by 0.4; beside a reduction the kernels take as long as both, and it does not */
    struct ss_layer_step out[] = {POST(SS_COMM_FSDP, 1, 0), COMPUTE(0.6), WAIT(SS_COMM_FSDP)};
    const struct ss_step_list exposed = {.n = sizeof out / sizeof *out, .step = out};
    CU_ASSERT_EQUAL(ss_steps_fold_beside(&exposed, 0, 0.4, 2, t), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_COMPUTE], 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_DP], 0, 1e-12);
}

/* A ring of 100,000 messages of 4 s beside a reduction that holds half of the SMs: 1 s of kernels takes 2 behind each, 2 s of it stick
 * out. If each step looked at all messages before it, that would take minutes. */
TEST(fold_ring)
{
    static const struct ss_layer_step turn[] = {POST(SS_COMM_CP, 4, 0), COMPUTE(1), WAIT(SS_COMM_CP)};
    const size_t turns = 100000, n = sizeof turn / sizeof *turn;
    struct ss_layer_step *steps = malloc(turns * sizeof turn);
    double t[SS_LABEL_COUNT];

    CU_ASSERT_PTR_NOT_NULL_FATAL(steps);
    for (size_t i = 0; i < turns; i++)
        memcpy(&steps[i * n], turn, sizeof turn);
    const struct ss_step_list list = {.n = turns * n, .step = steps};
    CU_ASSERT_EQUAL(ss_steps_fold_beside(&list, 0, 0.5, 1e9, t), SS_OK);
    CU_ASSERT_EQUAL(t[SS_LABEL_COMPUTE], 200000);
    CU_ASSERT_EQUAL(t[SS_LABEL_CP], 200000);
    free(steps);
}

/* An exchange of s, and of `slow` with kernels beside it. */
#define EITHER(s, slow)                                                                                      \
    {                                                                                                        \
        .kind = SS_STEP_POST, .comm = SS_COMM_EP, .seconds = (s), .part = 1, .slowed = (slow)                \
    }

TEST(beside)
{
    /* nothing but a collective of another stream and the host's time; kernels; the wait that comes first is the older one's; an
     * exchange whose wait comes before the kernels; kernels without a wait */
    struct ss_layer_step step[] = {EITHER(4, 5),     POST(SS_COMM_TP, 1, 0), OTHER(1),
                                   WAIT(SS_COMM_TP), WAIT(SS_COMM_EP),       EITHER(4, 6),
                                   EITHER(4, 7),     WAIT(SS_COMM_EP),       COMPUTE(1),
                                   WAIT(SS_COMM_EP), POST(0, 4, 0),          COMPUTE(1),
                                   WAIT(0),          EITHER(4, 8),           WAIT(SS_COMM_EP),
                                   COMPUTE(1),       EITHER(4, 9),           COMPUTE(5)};
    /* They hold half of the SMs: 1 s of kernels lasts for 2 of the 7 s that one takes beside kernels, 5 s for all of the 9 of the other. */
    step[6].sms = step[16].sms = 0.5;
    const struct ss_card card = {.gemm_beside = 0};
    struct ss_step_list list = {.n = sizeof step / sizeof *step, .step = step};
    ss_steps_beside(&list, &card);
    CU_ASSERT(step[0].seconds == 4 && !step[0].beside);
    CU_ASSERT(step[5].seconds == 4 && !step[5].beside);
    CU_ASSERT(step[6].beside == 2 / 7. && step[6].seconds == 4 + 2 / 7. * (7 - 4));
    CU_ASSERT(step[10].seconds == 4 && !step[10].beside); /* of which no other time is known */
    CU_ASSERT(step[13].seconds == 4 && !step[13].beside);
    CU_ASSERT(step[16].seconds == 9 && step[16].beside == 1);
}

/* A quarter of the SMs is held beside 1 s of GEMMs, which have half of their rate then, and 1 s of other kernels: 2 + 4/3 s, of which
 * the exchange takes 0.4. */
TEST(beside_gemms)
{
    struct ss_layer_step step[] = {EITHER(4, 0), COMPUTE(1), COMPUTE(1), WAIT(SS_COMM_EP), COMPUTE(9)};
    const struct ss_card card = {.gemm_beside = 0.5};
    struct ss_step_list list = {.n = sizeof step / sizeof *step, .step = step};
    step[0].sms = 0.25;
    step[1].of_part = SS_PART_EXPERT_GEMM;
    step[1].flops = 1e12;
    step[2].of_part = SS_PART_ELEMENTWISE;
    ss_steps_beside(&list, &card);
    CU_ASSERT_DOUBLE_EQUAL(step[0].sm_share, 0.4, 1e-15);
    CU_ASSERT_EQUAL(step[0].seconds, 4);
}

/* ---- jobs ---- */

struct way {
    int level, unfold, engine;
};
static const struct way ways[] = {
    {SS_LEVEL_CHUNK, 0, SS_ENGINE_NATIVE},  {SS_LEVEL_LAYER, 0, SS_ENGINE_NATIVE},
    {SS_LEVEL_FLOW, 0, SS_ENGINE_NATIVE},   {SS_LEVEL_LAYER, 1, SS_ENGINE_NATIVE},
    {SS_LEVEL_LAYER, 0, SS_ENGINE_SIMGRID},
};
enum { NWAYS = sizeof ways / sizeof ways[0] };

/* What a test changes in a job before it is finished; the stack's channels hold no SMs unless `hold`. */
struct variant {
    int shared, paired, delay, hold, deepep, sms; /* deepep: 2 is HybridEP */
    double host;                                  /* s an operator, 0: the stack's */
    double
        sm_rate; /* bytes/s that an SM of the dispatcher moves beside kernels, 10 times that alone; 0: the stack's */
    unsigned modules; /* that selective recompute repeats */
};

static double run_variant(const char *text, struct variant v, const struct way *way,
                          double by_label[SS_LABEL_COUNT])
{
    struct scale_job s;
    struct ss_run run;
    struct ss_run_options o = {.engine = way->engine};
    o.plan.level = way->level;
    o.plan.unfold = way->unfold;
    CU_ASSERT_FATAL(scale_open(&s, text) == 0);
    s.job.moe.shared_expert_overlap = v.shared;
    s.job.moe.overlap = v.paired;
    s.job.moe.delay_wgrad = v.delay;
    s.job.moe.dispatch_sms = v.sms;
    if (v.deepep)
        s.job.moe.dispatcher = v.deepep > 1 ? SS_DISPATCH_HYBRIDEP : SS_DISPATCH_DEEPEP;
    if (v.modules) {
        s.job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
        s.job.recompute.modules = v.modules;
    }
    if (v.host > 0)
        s.stack.host_operator = v.host;
    if (v.sm_rate > 0) {
        s.stack.dispatch_sm_rate = v.sm_rate;
        s.stack.dispatch_sm_rate_alone = 10 * v.sm_rate;
    }
    if (!v.hold)
        s.stack.comm_sms_nic = s.stack.comm_sms_fabric = 0;
    CU_ASSERT_FATAL(scale_run(&s, &o, &run) == 0);
    double seconds = run.result->iteration_s;
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        by_label[l] = run.timeline->spent[run.plan->class_of[0]][l];
    ss_run_free(&run);
    scale_close(&s);
    return seconds;
}

/* Every way gives the same times, which the first one returns; contended: but for that one, all of the others do, and take
 * longer. */
static double agree(const char *text, struct variant v, int contended, double first[SS_LABEL_COUNT])
{
    double t = run_variant(text, v, &ways[0], first), chunk = t;
    double by_label[SS_LABEL_COUNT], second[SS_LABEL_COUNT];
    const double *expected = first;
    for (int i = 1; i < NWAYS; i++) {
        double other = run_variant(text, v, &ways[i], by_label);
        if (contended && i == 1) {
            t = other;
            expected = memcpy(second, by_label, sizeof second);
        }
        CU_ASSERT_DOUBLE_EQUAL(other, t, 1e-9 * t);
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            CU_ASSERT_DOUBLE_EQUAL(by_label[l], expected[l], 1e-9 * t);
        if (fabs(other - t) > 1e-9 * t)
            fprintf(stderr, "%s\n  way %d: %.12g s instead of %.12g s\n", text, i, other, t);
    }
    CU_ASSERT(t >= chunk * (1 - 1e-9));
    return chunk;
}

TEST(shared)
{
    static const char *const jobs[] = {
        "h800 1;" COMMON SHARED "--ep 8 --gbs 16",
        "h800 2;" COMMON SHARED "--ep 8 --pp 2 --gbs 64",
        "h800 2;" COMMON SHARED "--ep 8 --pp 2 --gbs 64 --schedule zb-h1",
        "h800 1;" COMMON SHARED "--ep 8 --gbs 16 --recompute-granularity full --recompute-method uniform "
        "--recompute-num-layers 1",
        /* at layer and flow level two collectives meet on NVLink */
        "h800 1;" COMMON SHARED "--tp 2 --sequence-parallel --ep 4 --gbs 8",
    };
    const size_t n = sizeof jobs / sizeof *jobs;
    for (size_t j = 0; j < n; j++) {
        double plain[SS_LABEL_COUNT], hidden[SS_LABEL_COUNT], held[SS_LABEL_COUNT];
        double t = agree(jobs[j], (struct variant){0}, j == n - 1, plain);
        double u = agree(jobs[j], (struct variant){.shared = 1}, j == n - 1, hidden);
        double h = run_variant(jobs[j], (struct variant){.shared = 1, .hold = 1}, &ways[0], held);
        CU_ASSERT(plain[SS_LABEL_EP] > 0);
        CU_ASSERT(u < t && hidden[SS_LABEL_EP] < plain[SS_LABEL_EP]);
        CU_ASSERT_DOUBLE_EQUAL(hidden[SS_LABEL_COMPUTE], plain[SS_LABEL_COMPUTE], 1e-9 * t);
        CU_ASSERT(h >= u * (1 - 1e-9) && h < t); /* SMs that the exchanges hold slow the shared experts */
    }
}

/* What is repeated before the backward does not run beside anything there. */
TEST(recompute)
{
    static const unsigned modules[] = {SS_MODULE_BIT(SS_MODULE_MOE_ACT), SS_MODULE_BIT(SS_MODULE_MOE),
                                       SS_MODULE_BIT(SS_MODULE_CORE_ATTN) |
                                           SS_MODULE_BIT(SS_MODULE_LAYERNORM)};
    const char *job = "h800 1;" COMMON SHARED "--ep 8 --gbs 16";
    double plain[SS_LABEL_COUNT], hidden[SS_LABEL_COUNT];
    for (size_t m = 0; m < sizeof modules / sizeof *modules; m++) {
        double t = agree(job, (struct variant){.modules = modules[m]}, 0, plain);
        double u = agree(job, (struct variant){.shared = 1, .modules = modules[m]}, 0, hidden);
        CU_ASSERT(modules[m] & SS_MODULE_BIT(SS_MODULE_MOE) ? u <= t * (1 + 1e-9) : u < t);
    }
}

/* Without shared experts, or in one rank, there is nothing to hide or nothing to hide it. */
TEST(nothing_to_hide)
{
    static const char *const jobs[] = {"h800 1;" COMMON "--ep 8 --gbs 16",
                                       "h800 1;" COMMON SHARED "--ep 1 --gbs 16"};
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        double plain[SS_LABEL_COUNT], hidden[SS_LABEL_COUNT];
        double t = run_variant(jobs[j], (struct variant){0}, &ways[0], plain);
        CU_ASSERT_DOUBLE_EQUAL(run_variant(jobs[j], (struct variant){.shared = 1}, &ways[0], hidden), t,
                               1e-12 * t);
    }
}

/* ---- pairs ---- */

#define IN_MLP(s)                                                                                            \
    {                                                                                                        \
        .kind = SS_STEP_COMPUTE, .label = SS_LABEL_COMPUTE, .seconds = (s), .mlp = 1                         \
    }
#define LIST(...)                                                                                            \
    {                                                                                                        \
        .step = (struct ss_layer_step[]){__VA_ARGS__},                                                       \
        .n = sizeof((struct ss_layer_step[]){__VA_ARGS__}) / sizeof(struct ss_layer_step)                    \
    }

static const struct ss_ops transformer = {.where = SS_WHERE_TRANSFORMER};
/* A layer whose forward is attention a, dispatch x, mixture m, combine x, rest 1; whose backward is the rest 1, combine
 * x, mixture 2 m, dispatch x, attention 2 a; half of the backward's attention and mixture are weight gradients. */
static struct ss_chunk_place first_done; /* place behind the first layer of the backward alone */
static double issue[2];                  /* s of the host for a forward and a backward */
static double pair_of_layers(int f, int b, double a, double m, double x, int delay, double t[SS_LABEL_COUNT])
{
#define EXCHANGED(...) POST(SS_COMM_EP, x, 0), WAIT(SS_COMM_EP), __VA_ARGS__
    struct ss_layer_steps steps = {
        .phase = {LIST(COMPUTE(a), EXCHANGED(IN_MLP(m)), EXCHANGED(IN_MLP(1))),
                  LIST(IN_MLP(1), EXCHANGED(IN_MLP(2 * m)), EXCHANGED(COMPUTE(2 * a))),
                  LIST(IN_MLP(1), EXCHANGED(IN_MLP(m)), EXCHANGED(COMPUTE(a))), LIST(IN_MLP(m), COMPUTE(a))}};
    struct ss_layer_run run[2] = {{.part = 0, .count = f}, {.part = 0, .count = b}};
    struct ss_layer_runs chunks[2] = {{.n = 1, .run = &run[0]}, {.n = 1, .run = &run[1]}};
    struct ss_layer_part part = {.ops = &transformer, .steps = steps};
    struct ss_layer_set set = {
        .nparts = 1, .part = &part, .nchunks = 2, .chunks = chunks, .delay_wgrad = delay};
    struct ss_step_list list;
    memcpy(part.cost.host, issue, sizeof issue);
    CU_ASSERT_FATAL(ss_pair_steps(&set, f > 0 ? 0 : -1, 1, &list) == SS_OK);
    CU_ASSERT_EQUAL(ss_steps_fold(&list, 0, t), SS_OK);
    free(list.step);
    CU_ASSERT_EQUAL(ss_delayed_place(&set, 1, 1, &first_done), SS_OK);
    return ss_label_sum(t);
}

TEST(pair)
{
    double t[SS_LABEL_COUNT];
    /* One layer each, a = 3, m = 4: kernels 1 F a3 B m8 F m4 B a6 1 = 23. Exchanges of 3 are hidden, all four. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 1, 3, 4, 3, 0, t), 23, 1e-12);
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 0);
    /* The combine's gradient, 5 long, is there at 1 + 5 = 6, 2 after attention; dispatch ends at 11 and its gradient, posted at
     * 14, at 19, 1 after the mixture; combine ends at 24, attention at 25. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 1, 3, 4, 5, 0, t), 26, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_EP], 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_COMPUTE], 23, 1e-12);
    /* With weight gradients apart: mixture's at 6 to 10, dispatch's gradient posted then, at 11 to 16; weights to 14,
     * mixture F to 18, attention to 21, its weights to 24, combine 18 to 23. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 1, 3, 4, 5, 1, t), 25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_EP], 2, 1e-12);
    /* Two layers each: the second one's exchanges are hidden as the first one's, and the first combine by its rest. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(2, 2, 3, 4, 3, 0, t), 46, 1e-12);
    /* Far longer than the kernels: all but what is before the first one and behind the last one is hidden by them, and between
     * two layers what is behind the forward's combine and before that of the backward, 1 each, on the stream of exchanges. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 1, 3, 4, 100, 0, t), 1 + 100 + 100 + 100 + 100 + 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(2, 2, 3, 4, 100, 0, t), 1 + 400 + 2 + 400 + 1, 1e-12);
}

/* A forward without exchanges is cut before its MLP. Kernels of the mixture's backward 1, 8 and 6, of the other's forward 3, 4 and 1:
 * a gradient of 5 posted at 1 is there at 6, 2 behind attention; the other one, posted at 14, is hidden by the MLP until 19. */
TEST(pair_dense)
{
    double t[SS_LABEL_COUNT], x = 5;
    struct ss_layer_part part[2] = {
        {.ops = &transformer, .steps = {.phase = {LIST(COMPUTE(3), IN_MLP(4), IN_MLP(1))}}},
        {.ops = &transformer,
         .steps = {
             .phase = {LIST(IN_MLP(1)), LIST(IN_MLP(1), EXCHANGED(IN_MLP(8)), EXCHANGED(COMPUTE(6)))}}}};
    struct ss_layer_run run[2] = {{.part = 0, .count = 1}, {.part = 1, .count = 1}};
    struct ss_layer_runs chunks[2] = {{.n = 1, .run = &run[0]}, {.n = 1, .run = &run[1]}};
    struct ss_layer_set set = {.nparts = 2, .part = part, .nchunks = 2, .chunks = chunks};
    struct ss_step_list list;
    CU_ASSERT_FATAL(ss_pair_steps(&set, 0, 1, &list) == SS_OK);
    CU_ASSERT_EQUAL(ss_steps_fold(&list, 0, t), SS_OK);
    free(list.step);
    CU_ASSERT_DOUBLE_EQUAL(ss_label_sum(t), 25, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_EP], 2, 1e-12);
}

/* The steps of a list: kernels and exchanges with their seconds, and waits. */
static void spell(const struct ss_step_list *list, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < list->n && n < size; i++) {
        const struct ss_layer_step *s = &list->step[i];
        if (s->kind == SS_STEP_WAIT)
            n += (size_t)snprintf(out + n, size - n, " w");
        else
            n +=
                (size_t)snprintf(out + n, size - n, " %c%g", s->kind == SS_STEP_POST ? 'x' : 'k', s->seconds);
    }
}

/* An exchange of 0.3 that holds SMs is posted behind the next kernel, the mixture forward (4), and so are its own call's kernels (0.5)
 * and what it exchanges ahead (0.05) before it; the gather of 0.1 ahead of the dispatch of 0.2 is waited for with it. Without SMs, with a kernel of another call behind
 * the mixture, and with weight gradients apart (7), which come next. */
TEST(pair_call)
{
    static const struct {
        double sms;
        int called, delay;
        const char *steps;
    } at[] = {{0.25, 1, 0, " k1 x0.4 k3 x0.1 x0.2 w k8 w w k4 k0.5 x0.05 x0.3 x0.6 w w k6 w k1"},
              {0, 1, 0, " k1 x0.4 k3 x0.1 x0.2 w k8 k0.5 x0.05 x0.3 w w k4 x0.6 w w k6 w k1"},
              {0.25, 0, 0, " k1 x0.4 k3 x0.1 x0.2 w k8 k0.5 w w k4 x0.05 x0.3 x0.6 w w k6 w k1"},
              {0.25, 1, 1, " k1 x0.4 k3 x0.1 x0.2 w k8 k7 k0.5 x0.05 x0.3 w w k4 x0.6 w w k6 w k1"}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        struct ss_layer_step gather = POST(SS_COMM_EP, 0.1, 0), first = POST(SS_COMM_EP, 0.05, 0),
                             own = IN_MLP(0.5);
        gather.ahead = first.ahead = 1;
        own.in_exchange = at[i].called;
        struct ss_step_list backward =
            LIST(IN_MLP(1), POST(SS_COMM_EP, 0.4, 0), WAIT(SS_COMM_EP), IN_MLP(8), own, first,
                 WAIT(SS_COMM_EP), POST(SS_COMM_EP, 0.3, at[i].sms), WAIT(SS_COMM_EP), COMPUTE(6));
        struct ss_layer_part part = {
            .ops = &transformer,
            .steps = {.phase = {LIST(COMPUTE(3), gather, WAIT(SS_COMM_EP), POST(SS_COMM_EP, 0.2, 0),
                                     WAIT(SS_COMM_EP), IN_MLP(4), POST(SS_COMM_EP, 0.6, 0), WAIT(SS_COMM_EP),
                                     IN_MLP(1)),
                                backward, backward, LIST(IN_MLP(7))}}};
        struct ss_layer_run run = {.part = 0, .count = 1};
        struct ss_layer_runs chunk = {.n = 1, .run = &run};
        const struct ss_card card = {.gemm_beside = 0};
        struct ss_layer_set set = {.card = &card,
                                   .nparts = 1,
                                   .part = &part,
                                   .nchunks = 1,
                                   .chunks = &chunk,
                                   .delay_wgrad = at[i].delay};
        struct ss_step_list list;
        char text[256];
        CU_ASSERT_FATAL(ss_pair_steps(&set, 0, 0, &list) == SS_OK);
        spell(&list, text, sizeof text);
        free(list.step);
        CU_ASSERT_STRING_EQUAL(text, at[i].steps);
    }
}

TEST(pair_host)
{
    double t[SS_LABEL_COUNT];
    issue[0] = 10;
    issue[1] = 12;
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 1, 3, 4, 3, 0, t), 23, 1e-12);
    issue[1] = 20;
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 1, 3, 4, 3, 0, t), 30, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t[SS_LABEL_OTHER], 7, 1e-12);
    issue[0] = issue[1] = 0;
}

TEST(pair_uneven)
{
    double t[SS_LABEL_COUNT];
    /* A second layer of one side follows alone, with nothing beside its exchanges. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(2, 1, 3, 4, 3, 0, t), 23 + 8 + 2 * 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 2, 3, 4, 3, 0, t), 23 + 15 + 2 * 3, 1e-12);
    /* its weight gradients hide its own exchanges */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(1, 2, 3, 4, 3, 1, t), 23 + 15, 1e-12);
    /* A backward alone: 1 x3 m4 W4 (x) a3 1 W3 (x) m4 W4 (x) a3 W3. The first layer is done behind its last weights. */
    CU_ASSERT_DOUBLE_EQUAL(pair_of_layers(0, 2, 3, 4, 3, 1, t), 33, 1e-12);
    CU_ASSERT_EQUAL(t[SS_LABEL_EP], 3);
    CU_ASSERT_DOUBLE_EQUAL(first_done.fraction, 19.0 / 33, 1e-12);
}

#define PIPELINED "--pp 2 --gbs 64 --ep 8 "
#define MIXED "--num-layers 8 --moe-layer-freq 2 "

TEST(pairs_of_jobs)
{
    static const char *const jobs[] = {
        "h800 2;" COMMON PIPELINED "--schedule dualpipe",
        "h800 2;" COMMON SHARED PIPELINED "--schedule dualpipe",
        "h800 2;" COMMON SHARED PIPELINED "--schedule dualpipev",
        "h800 2;" COMMON SHARED MIXED PIPELINED "--schedule dualpipe",
        "h800 2;" COMMON SHARED PIPELINED
        "--schedule dualpipe --recompute-granularity full --recompute-method block --recompute-num-layers 2",
        "h800 2;" COMMON SHARED PIPELINED "--schedule dualpipe --mtp-num-layers 1",
        /* at flow level tensor-parallel collectives of one meet exchanges of the other */
        "h800 2;" COMMON SHARED
        "--pp 2 --gbs 64 --tp 2 --sequence-parallel --ep 4 --etp 2 --schedule dualpipe",
    };
    const size_t n = sizeof jobs / sizeof *jobs;
    for (size_t j = 0; j < n; j++) {
        double plain[SS_LABEL_COUNT], paired[SS_LABEL_COUNT], delayed[SS_LABEL_COUNT], held[SS_LABEL_COUNT];
        double t = agree(jobs[j], (struct variant){0}, j == n - 1, plain);
        double u = agree(jobs[j], (struct variant){.paired = 1}, j == n - 1, paired);
        double d = agree(jobs[j], (struct variant){.paired = 1, .delay = 1}, j == n - 1, delayed);
        double h = run_variant(jobs[j], (struct variant){.paired = 1, .hold = 1}, &ways[0], held);
        CU_ASSERT(u < t && d <= u * (1 + 1e-9));
        CU_ASSERT(paired[SS_LABEL_EP] < plain[SS_LABEL_EP]);
        CU_ASSERT_DOUBLE_EQUAL(paired[SS_LABEL_COMPUTE], plain[SS_LABEL_COMPUTE], 1e-9 * t);
        CU_ASSERT(h >= u * (1 - 1e-9) && h < t);
    }
}

/* SMs that move 40 and 400 GB/s beside kernels and alone: an exchange alone is as fast as on NVLink, those of a pair, or beside
 * shared experts, are not. All levels see the same. */
TEST(slow_beside)
{
    static const struct variant kinds[] = {{.shared = 1, .deepep = 1},
                                           {.paired = 1, .delay = 1, .deepep = 1}};
    const char *job = "h800 2;" COMMON SHARED PIPELINED "--schedule dualpipe";
    double alone[SS_LABEL_COUNT], fast[SS_LABEL_COUNT], slow[SS_LABEL_COUNT];
    const struct variant bare = {.deepep = 1, .sm_rate = 2e9};
    CU_ASSERT_DOUBLE_EQUAL(run_variant(job, bare, &ways[0], alone),
                           run_variant(job, (struct variant){.deepep = 1}, &ways[0], fast), 1e-12);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct variant v = kinds[k];
        double t = agree(job, v, 0, fast);
        v.sm_rate = 2e9;
        double u = agree(job, v, 0, slow);
        CU_ASSERT(u > t && slow[SS_LABEL_EP] > fast[SS_LABEL_EP]);
        CU_ASSERT(alone[SS_LABEL_EP] > fast[SS_LABEL_EP]);
    }
}

/* Megatron's own schedules: without a pipeline, and interleaved with transfers in the background or not. */
TEST(megatron)
{
    static const char *const jobs[] = {
        "h800 1;" COMMON SHARED "--ep 8 --gbs 64",
        "h800 1;" COMMON SHARED MIXED "--ep 8 --gbs 64",
        "h800 2;" COMMON SHARED PIPELINED "--num-layers-per-virtual-pipeline-stage 2",
        "h800 4;" COMMON SHARED "--pp 4 --gbs 128 --ep 8 --num-layers-per-virtual-pipeline-stage 1 "
        "--no-overlap-p2p-communication",
    };
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        double plain[SS_LABEL_COUNT], paired[SS_LABEL_COUNT], delayed[SS_LABEL_COUNT];
        double t = run_variant(jobs[j], (struct variant){0}, &ways[0], plain);
        double u = agree(jobs[j], (struct variant){.paired = 1}, 0, paired);
        double d = agree(jobs[j], (struct variant){.paired = 1, .delay = 1}, 0, delayed);
        CU_ASSERT(u < t && d <= u * (1 + 1e-9));
        CU_ASSERT(paired[SS_LABEL_EP] < (j == 0 ? 0.6 : 1) * plain[SS_LABEL_EP]);
    }
}

/* A bucket of a backward whose weight gradients are apart is due behind those of its layers. */
TEST(delayed_buckets)
{
    static const char *const jobs[] = {
        "h800 2;" COMMON PIPELINED "--num-layers-per-virtual-pipeline-stage 2 --overlap-grad-reduce",
        "h800 2;" COMMON "--ep 8 --gbs 64 --overlap-grad-reduce --ddp-bucket-size 40000000",
    };
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        double paired[SS_LABEL_COUNT], delayed[SS_LABEL_COUNT];
        double u = agree(jobs[j], (struct variant){.paired = 1}, 1, paired);
        double d = agree(jobs[j], (struct variant){.paired = 1, .delay = 1}, 1, delayed);
        CU_ASSERT(d < u && delayed[SS_LABEL_EP] < paired[SS_LABEL_EP]);
    }
}

/* Hidden exchanges leave the host less time: where it is behind, a pair takes as long as the host. */
TEST(host)
{
    const char *job = "h800 1;" COMMON SHARED "--ep 8 --gbs 512";
    double few[SS_LABEL_COUNT], many[SS_LABEL_COUNT];
    CU_ASSERT(agree(job, (struct variant){.paired = 1}, 0, few) > 0);
    double t = agree(job, (struct variant){.paired = 1, .host = 1e-3}, 0, many);
    CU_ASSERT(few[SS_LABEL_OTHER] < 1e-3 * t);
    CU_ASSERT_DOUBLE_EQUAL(many[SS_LABEL_EP], few[SS_LABEL_EP], 1e-9 * t);
    double plain[SS_LABEL_COUNT], u = run_variant(job, (struct variant){.host = 1e-3}, &ways[0], plain);
    CU_ASSERT(t <= u && t > 0.95 * u); /* kernels of the loss let it run ahead */
}

/* DualPipe has chunks of its own, so that it needs no virtual stages; 1f1b has no pairs where there is a pipeline. */
TEST(words)
{
    struct scale_job s;
    CU_ASSERT(
        scale_open(&s, "h800 2;" COMMON PIPELINED
                       "--schedule dualpipe --overlap-moe-expert-parallel-comm --delay-wgrad-compute") == 0);
    CU_ASSERT(s.job.moe.overlap && s.job.moe.delay_wgrad);
    scale_close(&s);
    CU_ASSERT(scale_open(&s, "h800 2;" COMMON PIPELINED "--overlap-moe-expert-parallel-comm") != 0);
    scale_close(&s);
}

/* SMs that the dispatcher keeps to itself: kernels take longer, exchanges hold no others. */
TEST(reserved_sms)
{
    const char *job = "h800 2;" COMMON SHARED PIPELINED "--schedule dualpipe";
    double t[3][SS_LABEL_COUNT];
    for (int i = 0; i < 3; i++)
        run_variant(job, (struct variant){.paired = 1, .hold = 1, .deepep = 1, .sms = 10 * i}, &ways[0],
                    t[i]);
    CU_ASSERT(t[1][SS_LABEL_COMPUTE] > t[0][SS_LABEL_COMPUTE] &&
              t[2][SS_LABEL_COMPUTE] > t[1][SS_LABEL_COMPUTE]);
    /* All kernels by the SMs that they lose, those that move bytes, too; GEMMs may need a wave of tiles more, latencies stay. */
    double slower = t[2][SS_LABEL_COMPUTE] / t[0][SS_LABEL_COMPUTE];
    CU_ASSERT(slower > 1.14 && slower < 1.19);
    /* Where nobody says how many they are DeepEP's own 20, whatever NCCL's channels hold. */
    double plain[SS_LABEL_COUNT], own[SS_LABEL_COUNT];
    run_variant(job, (struct variant){.deepep = 1}, &ways[0], plain);
    run_variant(job, (struct variant){.paired = 1, .deepep = 1}, &ways[0], own);
    CU_ASSERT(own[SS_LABEL_COMPUTE] > plain[SS_LABEL_COMPUTE]);
    CU_ASSERT_DOUBLE_EQUAL(own[SS_LABEL_COMPUTE], t[0][SS_LABEL_COMPUTE], 1e-9 * t[0][SS_LABEL_COMPUTE]);
    /* HybridEP's, 16 where nobody says, are held while it runs, given or not. */
    run_variant(job, (struct variant){.paired = 1, .deepep = 2}, &ways[0], plain);
    run_variant(job, (struct variant){.paired = 1, .deepep = 2, .sms = 16}, &ways[0], own);
    CU_ASSERT_EQUAL(own[SS_LABEL_COMPUTE], plain[SS_LABEL_COMPUTE]);
    run_variant(job, (struct variant){.paired = 1, .deepep = 2, .sms = 32}, &ways[0], own);
    CU_ASSERT(own[SS_LABEL_COMPUTE] > plain[SS_LABEL_COMPUTE]);
}

SUITE(overlap)
{
    ss_simgrid_load(NULL); /* once for all replays */
    return suite_file(argv[0], NULL, NULL);
}
