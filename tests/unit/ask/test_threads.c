/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads predict different jobs at the same time, from files to reports, and say what one alone says. */
#include <pthread.h>

#include "job_helper.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define ROUNDS 30

static const char *const jobs[] = {
    "--platform h800 --nodes 4 " L8B "--tp 2 --pp 2 --sequence-parallel --use-distributed-optimizer",
    "--platform v100 --nodes 2 --model gpt2-7.5b --stack megatron-2021 --fp16 --tp 4 --pp 2 --mbs 1 --gbs 16 "
    "--seq 1024 "
    "--schedule gpipe",
    "--platform a100 --nodes 2 " L13 "--bf16 --tp 8 --pp 2 --gbs 8",
};
#define NJOBS (sizeof jobs / sizeof jobs[0])

/* All that is said of a job, in one text to be freed; or the error. */
static char *predict(size_t i)
{
    struct ss_report_options json = {.json = 1, .wall_s = -1}, text = {.wall_s = -1};
    struct ss_scenario *scenario = NULL;
    struct ss_error err = {0};
    struct ss_run run = {0};
    char *answer = NULL, *words = strdup(jobs[i]), *argv[JOB_MAX_ARGS];
    size_t size;
    FILE *out = open_memstream(&answer, &size);
    int rc = make_scenario(split(words, argv), argv, &scenario, &err);

    if (!rc)
        rc = ss_run_scenario(scenario, NULL, &run, &err);
    if (!rc)
        json.notes = text.notes = &scenario->notes;
    if (!rc)
        rc = ss_report_run(&run, &json, out, &err);
    if (!rc)
        rc = ss_report_run(&run, &text, out, &err);
    if (!rc) {
        struct ss_picture_request pictures = {
            .gantt = out, .memory = out, .report = out, .trace = out, .run = &run, .options = &text};
        rc = ss_pictures_draw(run.program, run.timeline, SS_ENGINE_NATIVE, &pictures, &err);
    }
    if (rc)
        fputs(err.message, out);
    ss_run_free(&run);
    ss_scenario_free(scenario);
    free(words);
    fclose(out);
    return answer;
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    size_t first;
    char *answers[ROUNDS];
};

static size_t job_of(const struct worker *w, size_t round)
{
    return (w->first + round) % NJOBS;
}

static void *work(void *ctx)
{
    struct worker *w = ctx;

    for (size_t round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(w->start); /* both begin at once, each round */
        w->answers[round] = predict(job_of(w, round));
    }
    return NULL;
}

/* The threads come first: whatever is set up at the first use is set up by both of them. */
TEST(two_threads)
{
    struct worker workers[2];
    pthread_barrier_t start;
    char *alone[NJOBS];

    pthread_barrier_init(&start, NULL, 2);
    for (size_t i = 0; i < 2; i++) {
        workers[i] = (struct worker){.start = &start, .first = i};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < 2; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < NJOBS; i++) {
        alone[i] = predict(i);
        CU_ASSERT_PTR_NOT_NULL(strstr(alone[i], "\"traceEvents\"")); /* to the end, without an error */
    }
    for (size_t i = 0; i < 2; i++)
        for (size_t round = 0; round < ROUNDS; round++) {
            CU_ASSERT_STRING_EQUAL(workers[i].answers[round], alone[job_of(&workers[i], round)]);
            free(workers[i].answers[round]);
        }
    for (size_t i = 0; i < NJOBS; i++)
        free(alone[i]);
}
