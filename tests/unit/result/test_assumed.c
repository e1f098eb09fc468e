/* SPDX-License-Identifier: Apache-2.0 */
/* What assumptions may cost: the job without each of them, against the same job told so, and the bands, by hand. */

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/assumed.h"
#include "suite.h"

#define QWEN                                                                                                 \
    "--model qwen3-30b-a3b --platform gb200 --stack megatron-bridge-26.04 --nodes 2 --tp 1 --pp 1 --ep 8 "   \
    "--mbs 4 --gbs 512 --seq 4096 "
#define LLAMA "--model llama3-8b --platform h100 --nodes 1 --tp 8 --seq 4096 --mbs 1 --gbs 16 "

struct weighed {
    struct ss_scenario *s;
    struct ss_run run;
};

static struct weighed make(const char *more, const char *line, int weighs)
{
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    char text[1024], *argv[JOB_MAX_ARGS];
    struct weighed w = {NULL, {0}};
    struct ss_error err = {0};
    struct ss_request r;

    ss_request_init(&r);
    snprintf(text, sizeof text, "%s%s", line, more);
    int n = split(text, argv);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, n, argv, NULL), 0);
    if (ss_scenario_build(&r, NULL, &w.s, &err))
        fprintf(stderr, "%s%s: %s\n", line, more, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w.s);
    ss_request_free(&r);
    CU_ASSERT_EQUAL_FATAL(weighs ? ss_run_weighed(w.s, &options, &w.run, NULL)
                                 : ss_run_scenario(w.s, &options, &w.run, NULL),
                          0);
    return w;
}

static void drop(struct weighed *w)
{
    ss_run_free(&w->run);
    ss_scenario_free(w->s);
}

/* The thing of this flag takes what the job takes where it is told `otherwise`. */
static void check_thing(const struct ss_assumed *a, const char *line, const char *flag, const char *flags,
                        const char *otherwise)
{
    const struct ss_without *t = ss_assumed_thing(a, flag);
    struct weighed other = make(otherwise, line, 0);

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_STRING_EQUAL(t->flags, flags);
    CU_ASSERT_DOUBLE_EQUAL(t->iteration_s, other.run.summary.iteration_s, 1e-9 * t->iteration_s);
    CU_ASSERT_DOUBLE_EQUAL(t->peak_device, other.run.summary.peak_device, 1e-9 * t->peak_device);
    CU_ASSERT_EQUAL(t->outcome, SS_OUTCOME_FITS);
    drop(&other);
}

TEST(otherwise)
{
    struct weighed w = make("--bf16 ", QWEN, 1);
    const struct ss_assumed *a = w.run.assumed;
    int refused = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT(a->shown > 2 && a->shown <= SS_ASSUMED_MOST);
    check_thing(a, QWEN, "--cuda-graph-scope",
                "--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router moe_preprocess",
                "--bf16 --cuda-graph-impl none");
    check_thing(a, QWEN, "--moe-router-fusion", "--moe-router-fusion", "--bf16 --without moe-router-fusion");
    check_thing(a, QWEN, "--moe-flex-dispatcher-backend",
                "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep "
                "--moe-hybridep-num-sms 32",
                "--bf16 --without moe-token-dispatcher-type --without moe-flex-dispatcher-backend --without "
                "moe-hybridep-num-sms");
    for (int i = 0; i < a->n; i++) {
        const struct ss_without *t = &a->things[i];
        if (i + 1 < a->shown)
            CU_ASSERT(fabs(t->iteration_s / w.run.summary.iteration_s - 1) >=
                      fabs(t[1].iteration_s / w.run.summary.iteration_s - 1) - 1e-3);
        refused += t->outcome == SS_OUTCOME_REFUSED;
        CU_ASSERT_EQUAL(t->reason[0] != 0, t->outcome == SS_OUTCOME_REFUSED);
        CU_ASSERT(i >= a->shown || t->outcome != SS_OUTCOME_REFUSED);
    }
    CU_ASSERT(refused > 0); /* moments of 16 bit want the distributed optimizer */
    CU_ASSERT_PTR_NOT_NULL(ss_assumed_thing(a, "--use-distributed-optimizer"));
    CU_ASSERT_PTR_NULL(ss_assumed_thing(a, "--cuda-graph"));
    drop(&w);
}

/* Without a precision: the one of fewest bits of the card. */
TEST(precision)
{
    struct weighed w = make("--recipe none --stack nemo-25.03", LLAMA, 1);
    const struct ss_without *t;

    CU_ASSERT_PTR_NOT_NULL_FATAL(w.run.assumed);
    CU_ASSERT_EQUAL(w.run.assumed->n, 1);
    t = &w.run.assumed->things[0];
    CU_ASSERT_STRING_EQUAL(t->instead, "--precision fp8");
    check_thing(w.run.assumed, LLAMA, "--bf16", "--bf16", "--recipe none --stack nemo-25.03 --precision fp8");
    drop(&w);
}

#define PLAIN                                                                                                \
    "--platform h100 --nodes 4 --model qwen3-30b-a3b --stack megatron-lm-2025 --bf16 --recipe none --seq "   \
    "4096 --mbs 1 "                                                                                          \
    "--gbs 256 --ep 8 --use-distributed-optimizer --moe-grouped-gemm "

/* The host's speed, which nobody tells, is a thing where the plain all-to-all of a mixture is bound by it. */
TEST(host)
{
    static const char *const others[] = {
        "--moe-token-dispatcher-type allgather", "--moe-token-dispatcher-type alltoall --mbs 8",
        "--moe-token-dispatcher-type alltoall --scale host.slowdown=1x",
        "--moe-token-dispatcher-type alltoall --cuda-graph-impl local --cuda-graph-scope full_iteration "
        "--moe-expert-capacity-factor 1 --moe-pad-expert-input-to-capacity"};
    struct weighed w = make("--moe-token-dispatcher-type alltoall", PLAIN, 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(ss_assumed_thing(w.run.assumed, SS_ASSUMED_HOST));
    CU_ASSERT_STRING_EQUAL(w.run.assumed->things[0].instead, "--scale host.slowdown=2x");
    check_thing(w.run.assumed, PLAIN, SS_ASSUMED_HOST, SS_ASSUMED_HOST,
                "--moe-token-dispatcher-type alltoall --scale host.slowdown=2x");
    CU_ASSERT(w.run.assumed->things[0].time_pct > 20);
    drop(&w);
    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++) {
        w = make(others[i], PLAIN, 1);
        CU_ASSERT_PTR_NULL(ss_assumed_thing(w.run.assumed, SS_ASSUMED_HOST));
        drop(&w);
    }
}

static double wider(double pct, double squares)
{
    double side = log1p(pct / 100);

    return 100 * expm1((side < 0 ? -1 : 1) * sqrt(side * side + squares));
}

TEST(bands)
{
    struct ss_bands *bands;
    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, NULL), 0);
    const struct ss_run_options options = {.engine = SS_ENGINE_NATIVE, .bands = bands};
    struct weighed w = make("--bf16 ", QWEN, 0);
    struct ss_run run;
    double time[2] = {0}, memory[2] = {0};

    CU_ASSERT_EQUAL_FATAL(ss_run_weighed(w.s, &options, &run, NULL), 0);
    const struct ss_summary *u = &run.summary;
    for (int i = 0; i < run.assumed->shown; i++) {
        const struct ss_without *t = &run.assumed->things[i];
        double x = log(t->iteration_s / u->iteration_s), y = log(t->peak_device / u->peak_device);
        if (t->peak_device > u->capacity)
            continue;
        time[x > 0] += x * x;
        memory[y > 0] += y * y;
    }
    CU_ASSERT(time[1] > 0);
    CU_ASSERT_DOUBLE_EQUAL(u->time_low_pct, wider(100 / (1 + u->band_pct / 100) - 100, time[0]), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(u->time_high_pct, wider(100 / (1 - u->band_pct / 100) - 100, time[1]), 1e-9);
    double before = u->time_high_pct;
    ss_run_free(&run);

    /* told more, the band is narrower; told all, it is that of the stack, and nothing is simulated */
    drop(&w);
    w = make("--bf16 --cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router moe_preprocess ",
             QWEN, 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_weighed(w.s, &options, &run, NULL), 0);
    CU_ASSERT(run.summary.time_high_pct < before);
    CU_ASSERT(run.summary.time_high_pct > wider(100 / (1 - run.summary.band_pct / 100) - 100, 0));
    ss_run_free(&run);
    drop(&w);
    w = make("--bf16 --recipe none ", QWEN, 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_weighed(w.s, &options, &run, NULL), 0);
    CU_ASSERT_PTR_NULL(run.assumed);
    CU_ASSERT_DOUBLE_EQUAL(run.summary.time_low_pct, 100 / (1 + run.summary.band_pct / 100) - 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(run.summary.time_high_pct, 100 / (1 - run.summary.band_pct / 100) - 100, 1e-9);
    CU_ASSERT_EQUAL(run.summary.weighed, 0);
    ss_run_free(&run);
    drop(&w);
    ss_bands_free(bands);
}

/* The newest of a framework: none of its stacks with a release of as many characters comes behind it. */
static void check_newest(const char *name)
{
    const char *dash = strrchr(name, '-');
    char **names;
    size_t n, known = 0;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/stacks", ".xml", &names, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        known += !strcmp(names[i], name);
        if (strlen(names[i]) == strlen(name) && !strncmp(names[i], name, (size_t)(dash - name) + 1))
            CU_ASSERT(strcmp(names[i], name) <= 0);
    }
    ss_names_free(names, n);
    CU_ASSERT_EQUAL(known, 1);
}

TEST(stacks)
{
    struct weighed w = make("--bf16 ", LLAMA, 1);
    const struct ss_assumed *a = w.run.assumed;

    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_EQUAL(a->n, 0);
    CU_ASSERT_EQUAL(a->nstacks, SS_OTHER_STACKS);
    CU_ASSERT_EQUAL(a->stacks_differ, 0); /* no band is known here */
    for (int i = 0; i < a->nstacks; i++) {
        char more[128];
        snprintf(more, sizeof more, "--bf16 --stack %s", a->stacks[i].name);
        struct weighed other = make(more, LLAMA, 0);
        double seconds = other.run.summary.iteration_s;
        CU_ASSERT_DOUBLE_EQUAL(a->stacks[i].iteration_s, seconds, 1e-9 * seconds);
        CU_ASSERT(i == 0 || a->stacks[i - 1].iteration_s <= seconds);
        check_newest(a->stacks[i].name);
        drop(&other);
    }
    drop(&w);
    w = make("--bf16 --stack megatron-2407", LLAMA, 1);
    CU_ASSERT_PTR_NULL(w.run.assumed);
    drop(&w);
}
