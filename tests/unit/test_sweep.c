/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations in the order of counting, and the best of what was predicted. */
#include <string.h>

#include "stepsim/sweep.h"
#include "suite.h"

static void flag_add(struct ss_sweep *s, const char *name, int n)
{
    struct ss_sweep_flag *f = &s->flags[s->nflags++];

    snprintf(f->name, sizeof f->name, "%s", name);
    f->nvalues = n;
    for (int i = 0; i < n; i++)
        snprintf(f->value[i], sizeof f->value[i], "%d", i);
}

static void test_combinations(void)
{
    struct ss_sweep s = {0};
    struct ss_sweep_row row = {0};

    CU_ASSERT_EQUAL(ss_sweep_size(&s, 10), 1);
    flag_add(&s, "--a", 2);
    flag_add(&s, "--b", 3);
    CU_ASSERT_EQUAL(ss_sweep_size(&s, 6), 6);
    CU_ASSERT_EQUAL(ss_sweep_size(&s, 5), 0);
    for (int i = 0; i < 6; i++) {
        ss_sweep_combination(&s, i, &row);
        CU_ASSERT_EQUAL(row.at[0], i / 3);
        CU_ASSERT_EQUAL(row.at[1], i % 3);
    }
    s.flags[0].nvalues = 0;
    CU_ASSERT_EQUAL(ss_sweep_size(&s, 10), 0);
}

/* Refused, too large and those near the limit are no answer; of equal ones the first is. */
static void test_best(void)
{
    struct ss_sweep_row rows[] = {
        {.summary = {.outcome = SS_OUTCOME_REFUSED, .iteration_s = 0.1, .tokens_per_s_per_gpu = 99}},
        {.summary = {.outcome = SS_OUTCOME_TOO_LARGE, .iteration_s = 0.2, .tokens_per_s_per_gpu = 98}},
        {.summary = {.outcome = SS_OUTCOME_NEAR_LIMIT, .iteration_s = 0.3, .tokens_per_s_per_gpu = 97}},
        {.summary = {.gpus = 8, .iteration_s = 4, .tokens_per_s_per_gpu = 50}},
        {.summary = {.gpus = 16, .iteration_s = 2, .tokens_per_s_per_gpu = 40}},
        {.summary = {.gpus = 8, .iteration_s = 1, .tokens_per_s_per_gpu = 50}}, /* does less */
    };
    struct ss_sweep s = {.rows = rows, .nrows = 6};

    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_REFUSED), 1);
    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_TOO_LARGE), 1);
    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_NEAR_LIMIT), 1);
    CU_ASSERT_EQUAL(ss_sweep_count(&s, SS_OUTCOME_FITS), 3);
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), -1); /* of no GPUs, no tokens a second */
    rows[2].summary.gpus = 8;
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), 2);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 0), 4);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 1), 3);
    rows[2].summary.gpus = 6; /* as fast as some that are sure to fit */
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), -1);
    s.nrows = 3;
    CU_ASSERT_EQUAL(ss_sweep_best_near_limit(&s), 2);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 0), -1);
    CU_ASSERT_EQUAL(ss_sweep_best(&s, SS_OUTCOME_FITS, 1), -1);
}

int main(void)
{
    CU_TestInfo tests[] = {{"combinations", test_combinations}, {"best", test_best}, CU_TEST_INFO_NULL};
    return suite_run("sweep", NULL, NULL, tests);
}
