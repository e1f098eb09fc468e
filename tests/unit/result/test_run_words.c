/* SPDX-License-Identifier: Apache-2.0 */
/* What words of a run become. */
#include "base/base.h"
#include "stepsim/run_words.h"
#include "suite.h"

static struct ss_plan_options finished(struct ss_run_words *how, const char *straggler, const char *link)
{
    struct ss_scenario s = {0};

    ss_run_words_init(how, SS_ENGINE_NATIVE);
    CU_ASSERT_EQUAL(straggler ? ss_run_words_read(how, "--straggler", straggler, NULL) : 0, 0);
    CU_ASSERT_EQUAL(link ? ss_run_words_read(how, "--slow-link", link, NULL) : 0, 0);
    CU_ASSERT_EQUAL(ss_run_words_finish(how, &s, NULL, NULL), 0);
    return how->options.plan;
}

/* A plan of which nothing is told is all zeros, by which a run is known as its own quick simulation, and bounds to hold. */
TEST(nothing_told)
{
    static const struct ss_plan_options usual;
    struct ss_run_words how;
    struct ss_plan_options plan = finished(&how, NULL, NULL);

    CU_ASSERT_EQUAL(memcmp(&plan, &usual, sizeof usual), 0);
    plan = finished(&how, "3:1.5", NULL);
    CU_ASSERT_EQUAL(plan.nstragglers, 1);
    CU_ASSERT_PTR_EQUAL(plan.stragglers, how.stragglers);
    CU_ASSERT_PTR_NULL(plan.slow_links);
    CU_ASSERT_EQUAL(plan.stragglers[0].rank, 3);
    plan = finished(&how, NULL, "up:failed");
    CU_ASSERT_PTR_NULL(plan.stragglers);
    CU_ASSERT_EQUAL(plan.nslow_links, 1);
    CU_ASSERT_PTR_EQUAL(plan.slow_links, how.slow_links);
}

/* What the program and the library refuse is refused by one reader. */
TEST(refused)
{
    static const char *const cases[][4] = {
        {"--engine", "fast", "--engine fast: no such engine", "choose native or simgrid"},
        {"--level", "Chunk", "--level Chunk: no such level", "choose chunk, layer or flow"},
        {"--jitter", "2.5", "--jitter 2.5: not a number from 0 to 2", ""},
        {"--replicas", "0", "--replicas 0: not a whole number from 1 to 1000000", ""},
        {"--seed", "1.5", "--seed 1.5: not a whole number from 0 to 1e+15", ""},
        {"--spread-seed", "x", "--spread-seed x: not a whole number from 0 to 1e+15", ""},
        {"--placement", "", "--placement: the name is empty", "give the name of a file"},
        {"--straggler", "3", "--straggler 3: not RANK:FACTOR", "1.2 means a fifth slower"},
        {"--slow-link", "up:0.5", "--slow-link up:0.5: the factor is not a number from 1 to 1000000", ""},
        {"--other", "1", "unknown option --other", ""}};
    struct ss_run_words how;
    struct ss_error err;

    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        ss_run_words_init(&how, SS_ENGINE_NATIVE);
        err = (struct ss_error){0};
        CU_ASSERT_EQUAL(ss_run_words_read(&how, cases[i][0], cases[i][1], &err), SS_ERR_USAGE);
        CU_ASSERT_STRING_EQUAL(err.message, cases[i][2]);
        CU_ASSERT_STRING_EQUAL(err.hint, cases[i][3]);
    }
}

/* Who names a level or an engine keeps it. */
TEST(kept)
{
    struct ss_run_words how;

    ss_run_words_init(&how, SS_ENGINE_NATIVE);
    CU_ASSERT(how.options.any_engine && how.options.level_choice == SS_LEVEL_FOLLOWS);
    CU_ASSERT_EQUAL(ss_run_words_read(&how, "--level", "flow", NULL), 0);
    CU_ASSERT_EQUAL(ss_run_words_read(&how, "--engine", "simgrid", NULL), 0);
    CU_ASSERT_EQUAL(ss_run_words_read(&how, "--unfold", "", NULL), 0);
    CU_ASSERT_EQUAL(ss_run_words_read(&how, "--full-replay", "", NULL), 0);
    CU_ASSERT_EQUAL(ss_run_words_read(&how, "--seed", "7", NULL), 0);
    CU_ASSERT(!how.options.any_engine && how.options.level_choice == SS_LEVEL_STAYS);
    CU_ASSERT_EQUAL(how.options.plan.level, SS_LEVEL_FLOW);
    CU_ASSERT_EQUAL(how.options.engine, SS_ENGINE_SIMGRID);
    CU_ASSERT(how.options.plan.unfold && how.options.full_replay && how.seed == 7);
}
