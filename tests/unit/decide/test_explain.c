/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job is slow: terms that sum to its time, elasticities, and changes that were run. */

#include "base/base.h"
#include "decide/advise.h"
#include "stepsim/import.h"
#include "study/changes.h"
#include "suite.h"

#define SMALL "--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 32 --sequence-parallel "
#define H800 "--platform h800 --nodes 2 --use-distributed-optimizer "

static struct ss_scenario *make(const char *words, const char *more)
{
    struct ss_scenario *s = NULL;
    struct ss_error err = {0};
    struct ss_request r;
    char text[600];

    snprintf(text, sizeof text, "%s %s", words, more);
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "a", NULL), 0);
    if (ss_scenario_build(&r, NULL, &s, &err))
        fprintf(stderr, "%s: %s\n", text, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    ss_request_free(&r);
    return s;
}

static double seconds(const char *words, const char *more)
{
    const struct ss_run_options options = {.unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    struct ss_scenario *s = make(words, more);
    struct ss_summary u;

    CU_ASSERT_EQUAL(ss_predict(s, &options, &u, NULL), 0);
    ss_scenario_free(s);
    return u.iteration_s;
}

static const char *const jobs[] = {
    H800 SMALL "--tp 2 --pp 4 --recompute full",
    H800 SMALL "--tp 4 --cp 2 --overlap-grad-reduce",
    /* the loss makes the last of four stages longest; two chunks of four layers each */
    H800 SMALL "--tp 2 --pp 4 --num-layers-per-virtual-pipeline-stage 4",
    /* who gives no batch has one microbatch a rank: advice says the batch where the layout moves it */
    "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --tp 8 "
    "--use-distributed-optimizer",
    "--platform h800 --nodes 2 --model qwen3-30b-a3b --bf16 --ep 8 --seq 2048 --mbs 1 --gbs 64 "
    "--moe-grouped-gemm --use-distributed-optimizer --recompute full",
};

/* Each change is what a run of the job with these words gives; the words of those together too. */
static void check_advice(const char *words, const struct ss_explanation *x)
{
    int seen = 0;

    for (int i = 0; i < x->nadvice; i++) {
        CU_ASSERT_EQUAL(seconds(words, x->advice[i].change), x->advice[i].summary.iteration_s);
        CU_ASSERT(x->advice[i].summary.iteration_s < x->side.summary.iteration_s);
        CU_ASSERT_NOT_EQUAL(x->advice[i].summary.outcome, SS_OUTCOME_TOO_LARGE);
        CU_ASSERT(i == 0 || x->advice[i].summary.iteration_s >= x->advice[i - 1].summary.iteration_s);
        seen |= !strcmp(x->advice[i].change, "--recompute none");
    }
    CU_ASSERT_EQUAL(seen, strstr(words, "--recompute full") != NULL);
    if (x->together.change[0]) {
        CU_ASSERT_EQUAL(seconds(words, x->together.change), x->together.summary.iteration_s);
        CU_ASSERT_EQUAL(x->together.summary.outcome, SS_OUTCOME_FITS);
    }
    CU_ASSERT_EQUAL(x->split.change[0] != 0, strstr(words, "--pp 4") != NULL);
    if (x->split.change[0])
        CU_ASSERT_EQUAL(seconds(words, x->split.change), x->split.summary.iteration_s);
    CU_ASSERT_EQUAL(x->tried >= x->refused + x->too_large + x->slower + x->nadvice, 1);
}

TEST(jobs)
{
    const struct ss_run_options options = {.open_compute = 1, .level_choice = SS_LEVEL_BLIND};

    for (size_t j = 0; j < SS_ARRAY_LEN(jobs); j++) {
        struct ss_scenario *s = make(jobs[j], "");
        struct ss_explanation x;
        struct ss_run run;
        double sum = 0;
        CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(ss_explain(&run, &options, &x, NULL), 0);
        for (int t = 0; t < SS_TERMS; t++)
            sum += x.term[t];
        CU_ASSERT_DOUBLE_EQUAL(sum, run.result->iteration_s, 1e-9 * sum);
        CU_ASSERT(x.term[SS_TERM_IDEAL] > 0 && x.term[SS_TERM_BELOW_PEAK] > 0);
        CU_ASSERT(x.nadvice > 0);
        check_advice(jobs[j], &x);
        ss_run_free(&run);
        ss_scenario_free(s);
    }
}

/* A job that is run beside its changes has those of one that was run before, by any number of workers, also where it goes to flows by itself,
 * which nobody knows when the changes begin. */
TEST(run_beside)
{
    static const char *const of[] = {
        H800 SMALL "--tp 2 --pp 4 --recompute full",
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 32 --tp 2 --cp 4 "
        "--recompute full "
        "--fsdp full",
    };
    for (size_t j = 0; j < 2 * SS_ARRAY_LEN(of); j++) {
        const struct ss_run_options options = {.unchecked = 1, .workers.n = j % 2 ? 3 : 1};
        struct ss_scenario *s = make(of[j / 2], "");
        struct ss_explanation known = {0}, x = {.side.name = "x"};
        struct ss_run run;
        CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, NULL), 0);
        CU_ASSERT_EQUAL(run.result->level, j / 2 ? SS_LEVEL_FLOW : SS_LEVEL_CHUNK);
        ss_side_fill(&run, "x", &known.side);
        x.side.summary.iteration_s = run.summary.iteration_s;
        CU_ASSERT_EQUAL(ss_advise(s, run.result->level, &options, SS_CHANGE_FOR_TIME, &known, NULL), 0);
        CU_ASSERT_EQUAL(ss_advise(s, -1, &options, SS_CHANGE_FOR_TIME, &x, NULL), 0);
        CU_ASSERT(known.nadvice > 1 && known.together.change[0]);
        CU_ASSERT(!memcmp(&x.side, &known.side, sizeof x.side));
        CU_ASSERT(!memcmp(&x.together, &known.together, sizeof x.together));
        CU_ASSERT_EQUAL(x.runs, known.runs);
        CU_ASSERT_EQUAL(x.tried, known.tried);
        CU_ASSERT_EQUAL(x.slower, known.slower);
        CU_ASSERT_EQUAL_FATAL(x.nadvice, known.nadvice);
        for (int i = 0; i < x.nadvice; i++)
            CU_ASSERT(!memcmp(&x.advice[i], &known.advice[i], sizeof *x.advice));
        ss_run_free(&run);
        ss_scenario_free(s);
    }
}

/* Time is a sum of amounts over rates, of latencies and of fixed times: one per cent more of all rates and one less of all others is one
 * per cent less of it. And of what the job does not use it does not depend. */
TEST(elasticities)
{
    struct ss_scenario *s = make(jobs[0], "--set ss.iteration.fixed=0s --set ss.microbatch.fixed=0s");
    double e[SS_ELASTICITIES], sum = 0;

    CU_ASSERT_EQUAL_FATAL(ss_elasticities_find(s, NULL, e, NULL), 0);
    for (int i = 0; i < SS_ELASTICITIES; i++)
        sum += i == SS_ELASTICITY_LATENCY || i == SS_ELASTICITY_LAUNCH ? e[i] : -e[i];
    if (!(fabs(sum - 1) < 0.01))
        fprintf(stderr, "sum %g\n", sum);
    CU_ASSERT_DOUBLE_EQUAL(sum, 1, 0.01);
    CU_ASSERT(e[SS_ELASTICITY_PEAK] < -0.5 && e[SS_ELASTICITY_PEAK] > -1);
    CU_ASSERT(e[SS_ELASTICITY_NIC] <= 0 && e[SS_ELASTICITY_FABRIC] < 0 && e[SS_ELASTICITY_HBM] < 0);
    ss_scenario_free(s);
    /* of one node's job the NICs do not matter; the slope is that of two runs */
    s = make("--platform h800 --nodes 1 " SMALL "--tp 8", "");
    CU_ASSERT_EQUAL_FATAL(ss_elasticities_find(s, NULL, e, NULL), 0);
    CU_ASSERT_EQUAL(e[SS_ELASTICITY_NIC], 0);
    double more = seconds("--platform h800 --nodes 1 " SMALL "--tp 8", "--scale peak=1.01x"),
           less = seconds("--platform h800 --nodes 1 " SMALL "--tp 8", "--scale peak=0.99x"),
           now = seconds("--platform h800 --nodes 1 " SMALL "--tp 8", "");
    CU_ASSERT_DOUBLE_EQUAL(e[SS_ELASTICITY_PEAK], (more - less) / (0.02 * now), 1e-3);
    ss_scenario_free(s);
}

#define ONE_GPU                                                                                              \
    "--model llama3.2-1b --bf16 --seq 4096 --mbs 1 --spread 0 --gpus-per-node 1 --set "                      \
    "ss.iteration.fixed=0s "

/* The central difference of fixed + scaled / rate over one per cent of the rate, relative to the time. */
static double by_hand(double fixed, double scaled)
{
    double less = fixed + scaled / 0.99, more = fixed + scaled / 1.01;
    return (more - less) / (more + less) / 0.01;
}

TEST(by_hand)
{
    double e[SS_ELASTICITIES];
    /* one GPU with memory and launches that cost next to nothing: FLOP over FLOP/s alone */
    struct ss_scenario *s =
        make(ONE_GPU, "--platform h800 --nodes 1 --gbs 8 --scale hbm.bandwidth=290x --scale launch=0.0001x");
    CU_ASSERT_EQUAL_FATAL(ss_elasticities_find(s, NULL, e, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(e[SS_ELASTICITY_PEAK], by_hand(0, 1), 0.01);
    CU_ASSERT_EQUAL(e[SS_ELASTICITY_NIC], 0);
    CU_ASSERT_EQUAL(e[SS_ELASTICITY_LATENCY], 0);
    ss_scenario_free(s);
    /* two nodes of one GPU: 1,235,814,400 gradients of 4 bytes by a ring of two, after all compute: they cross each NIC once */
    const char *nics =
        "--platform h800 --nodes 2 --gbs 2 --set ss.nic.bandwidth=50GBps --set ss.nic.efficiency=0.8";
    double now = seconds(ONE_GPU, nics), reduce = 1235814400 * 4.0 / (50e9 * 0.8);
    s = make(ONE_GPU, nics);
    CU_ASSERT_EQUAL_FATAL(ss_elasticities_find(s, NULL, e, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(e[SS_ELASTICITY_NIC], by_hand(now - reduce, reduce), 1e-4);
    CU_ASSERT(reduce > 0.4 * now);
    ss_scenario_free(s);
}

/* Who explains a job gets what a run with the words gives, also where the job does not fit; and what makes it fit. */
TEST(too_large)
{
    static const char words[] =
        "--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --seq 8192 --mbs 1 --gbs 32 ";
    const struct ss_run_options options = {.level_choice = SS_LEVEL_BLIND, .open_compute = 1};
    struct ss_scenario *s = make(words, "");
    struct ss_explanation x;
    struct ss_run run;

    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_explain(&run, &options, &x, NULL), 0);
    CU_ASSERT_EQUAL(x.side.summary.outcome, SS_OUTCOME_TOO_LARGE);
    CU_ASSERT_EQUAL(x.nadvice, 3);
    /* 2 + 4 + 12 bytes of 8.03e9 parameters: 134.6 GiB, of cards of 79.6 */
    CU_ASSERT_EQUAL(x.smallest.gpus, 2);
    for (int i = 0; i < x.nadvice; i++) {
        CU_ASSERT_EQUAL(seconds(words, x.advice[i].change), x.advice[i].summary.iteration_s);
        CU_ASSERT_NOT_EQUAL(x.advice[i].summary.outcome, SS_OUTCOME_TOO_LARGE);
    }
    ss_run_free(&run);
    ss_scenario_free(s);
}

/* The largest terms behind the ideal, 0.3 s and 0.2 s of 2 s, are told in that order, each as a share of the iteration. */
TEST(largest)
{
    const struct ss_run_options options = {.unchecked = 1, .level_choice = SS_LEVEL_BLIND};
    struct ss_scenario *s = make(H800 SMALL "--tp 2 --pp 4", "");
    struct ss_explanation x = {.side.summary.iteration_s = 2};
    struct ss_run run;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    x.term[SS_TERM_IDEAL] = 1.4;
    x.term[SS_TERM_TP] = 0.2;
    x.term[SS_TERM_BUBBLE] = 0.3;
    x.term[SS_TERM_OTHER] = 0.1;
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, NULL), 0);
    CU_ASSERT_EQUAL(ss_explanation_write(&x, &run, 0, out, NULL), 0);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "\nMost is lost to pipeline bubble (15.0 %) and exposed TP (10.0 %).\n"));
    free(text);
    ss_run_free(&run);
    ss_scenario_free(s);
}
