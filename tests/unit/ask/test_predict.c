/* SPDX-License-Identifier: Apache-2.0 */
/* From words to a summary in three calls: what is an outcome, what is an error, and one scenario under many threads. */
#include <math.h>
#include <pthread.h>

#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define L8 "--platform h800 --nodes 4 " L8B "--tp 2 --sequence-parallel --use-distributed-optimizer "

static int scenario_of(const char *words, struct ss_scenario **out, struct ss_error *err)
{
    char *text = strdup(words), *argv[JOB_MAX_ARGS];
    struct ss_request r;

    ss_request_init(&r);
    int rc = ss_request_read(&r, split(text, argv), argv, err);
    if (!rc)
        rc = ss_scenario_build(&r, NULL, out, err);
    ss_request_free(&r); /* the scenario has a copy */
    free(text);
    return rc;
}

static int predict(const char *words, struct ss_summary *out, struct ss_error *err)
{
    struct ss_scenario *s = NULL;
    int rc = scenario_of(words, &s, err);

    CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
    rc = ss_predict(s, NULL, out, err);
    ss_scenario_free(s);
    return rc;
}

/* The figures and the verdict of `stepsim run`, bands and all. */
TEST(same_as_run)
{
    struct ss_scenario *s = NULL;
    struct ss_bands *bands = NULL;
    struct ss_summary one = {0}, two = {0};
    struct ss_error err = {0};
    struct ss_run run;

    CU_ASSERT_EQUAL_FATAL(scenario_of(L8 "--pp 2", &s, &err), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_bands_load(NULL, NULL, &bands, &err), SS_OK);
    const struct ss_run_options options = {.bands = bands};
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(s, &options, &run, &err), SS_OK);
    CU_ASSERT_EQUAL(ss_predict(s, NULL, &one, &err), SS_OK);
    CU_ASSERT_EQUAL(ss_predict(s, &options, &two, &err), SS_OK);
    CU_ASSERT_EQUAL(memcmp(&one, &run.summary, sizeof one), 0);
    CU_ASSERT_EQUAL(memcmp(&two, &run.summary, sizeof two), 0);
    CU_ASSERT_EQUAL(one.outcome, SS_OUTCOME_FITS);
    CU_ASSERT_TRUE(one.iteration_s > 0 && !isnan(one.band_pct));
    CU_ASSERT_STRING_NOT_EQUAL(one.memory_like, "");
    ss_run_free(&run);
    ss_bands_free(bands);
    ss_scenario_free(s);
}

TEST(outcomes)
{
    struct ss_summary s = {0};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(
        predict("--platform h800 --nodes 1 --model llama3.1-70b --bf16 --tp 8 --gbs 8 --mbs 1 --seq 8192", &s,
                &err),
        SS_OK);
    CU_ASSERT_EQUAL(s.outcome, SS_OUTCOME_TOO_LARGE);
    CU_ASSERT_TRUE(s.peak_device > s.capacity && s.capacity > 0);

    /* DualPipe runs on an even number of stages. */
    CU_ASSERT_EQUAL(predict("--platform h800 --nodes 3 " L8B
                            "--gbs 96 --tp 4 --pp 3 --num-layers 30 --schedule dualpipe",
                            &s, &err),
                    SS_OK);
    CU_ASSERT_EQUAL(s.outcome, SS_OUTCOME_REFUSED);
    CU_ASSERT_EQUAL(s.code, SS_ERR_CONFIG);
    CU_ASSERT_STRING_NOT_EQUAL(s.reason, "");
    CU_ASSERT_EQUAL(s.iteration_s, 0);
    CU_ASSERT_EQUAL(err.code, 0);
}

/* A file that is not there says nothing of the job. */
TEST(errors)
{
    struct ss_summary s = {.gpus = 7};
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(predict(L8 "--pp 2 --schedule ./no-such-file.csv", &s, &err), SS_ERR_IO);
    CU_ASSERT_EQUAL(err.code, SS_ERR_IO);
    CU_ASSERT_EQUAL(s.gpus, 7); /* untouched */
    CU_ASSERT_EQUAL(predict(L8 "--pp 2 --schedule ./no-such-file.csv", &s, NULL), SS_ERR_IO);
    CU_ASSERT_TRUE(ss_status_refuses(SS_ERR_CONFIG) && ss_status_refuses(SS_ERR_UNSUPPORTED));
    CU_ASSERT_FALSE(ss_status_refuses(SS_OK) || ss_status_refuses(SS_ERR_IO) ||
                    ss_status_refuses(SS_ERR_OOM));
}

TEST(options)
{
    static const struct ss_run_options wrong[] = {{.engine = 99},
                                                  {.plan = {.level = SS_LEVEL_COUNT}},
                                                  {.plan = {.level = -1}},
                                                  {.jitter = {.sigma = NAN}, .replicas = 2},
                                                  {.jitter = {.sigma = 0.1}},
                                                  {.replicas = -1}};
    static char *const words[] = {"--job", "8b-05"};
    struct ss_scenario *s = NULL;
    struct ss_request request;
    struct ss_summary out;

    ss_request_init(&request);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&request, 2, words, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&request, NULL, &s, NULL), SS_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(ss_predict(s, &wrong[i], &out, NULL), SS_ERR_USAGE);
    ss_scenario_free(s);
    ss_request_free(&request);
}

#define THREADS 3
#define ROUNDS 10

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    const struct ss_scenario *shared;
    int wrong;
    struct ss_summary summary[ROUNDS];
};

static void *work(void *ctx)
{
    struct worker *w = ctx;

    pthread_barrier_wait(w->start);
    for (int i = 0; i < ROUNDS; i++)
        w->wrong += ss_predict(w->shared, NULL, &w->summary[i], NULL) != SS_OK;
    return NULL;
}

TEST(shared_scenario)
{
    struct worker workers[THREADS];
    struct ss_scenario *s = NULL;
    struct ss_summary alone;
    struct ss_error err = {0};
    pthread_barrier_t start;

    CU_ASSERT_EQUAL_FATAL(scenario_of(L8 "--pp 2", &s, &err), SS_OK);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.start = &start, .shared = s};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    CU_ASSERT_EQUAL_FATAL(ss_predict(s, NULL, &alone, &err), SS_OK);
    for (int i = 0; i < THREADS; i++) {
        CU_ASSERT_EQUAL(workers[i].wrong, 0);
        for (int k = 0; k < ROUNDS; k++)
            CU_ASSERT_EQUAL(memcmp(&workers[i].summary[k], &alone, sizeof alone), 0);
    }
    ss_scenario_free(s);
}
