/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of validation/runs.csv is accepted or refused as it was when it was run. */
#include <stdlib.h>

#include "import/table_internal.h"
#include "stepsim/stack.h"
#include "suite.h"

static struct ss_table *table;

static const char *get(int row, const char *column)
{
    return ss_table_get(table, row, column);
}

static int is(int row, const char *column, const char *value)
{
    return !strcmp(get(row, column), value);
}

static int complete(int row, struct ss_error *err)
{
    struct ss_stack stack;
    struct ss_asked asked;
    struct ss_job job;
    int rc = ss_table_asked(table, row, &asked, NULL, err), gpus = asked.job.gpus_per_node;

    CU_ASSERT_EQUAL_FATAL(rc, 0);
    CU_ASSERT_EQUAL(gpus, atoi(get(row, "gpus_per_node")));
    CU_ASSERT_EQUAL_FATAL(ss_stack_load(asked.job.stack, NULL, &stack, err), 0);
    return ss_asked_finish(&asked, NULL, &stack, asked.job.nodes * gpus, gpus, NULL, &job, err);
}

/* The launcher's own words of its refusals. */
static const char *const causes[][2] = {
    {"nemo-14", "Context parallelism is only implemented with Flash Attention and Fused Attention"},
    {"14b-04", "Currently there is no support for Pipeline parallelism with CPU offloading"},
    {"14b-10",
     "number of layers per pipeline stage must be divisible number of layers per virtual pipeline stage"},
    {"8b-15", "Currently there is no support for Pipeline parallelism with CPU offloading"},
};

static int number(int row, const char *column)
{
    return atoi(get(row, column));
}

/* Refused by the launcher, too large for the cluster, or (in rows that were never run, or are known to be
 * misreported) a layout that Megatron's own checks refuse. */
static void check_row(int row)
{
    int virtual_at_one = is(row, "pp", "1") && get(row, "layers_per_virtual_stage")[0];
    int uneven = number(row, "num_layers") % number(row, "pp") != 0;
    int large = number(row, "tp") * number(row, "pp") * number(row, "cp") >
                number(row, "nodes") * number(row, "gpus_per_node");
    int refused = is(row, "outcome", "config-error") || large || virtual_at_one || uneven;
    struct ss_error err = {0};
    int rc = complete(row, &err);

    if (rc != (refused ? SS_ERR_CONFIG : 0))
        fprintf(stderr, "%s (%s): %d %s\n", get(row, "id"), get(row, "outcome"), rc, err.message);
    CU_ASSERT_EQUAL(rc, refused ? SS_ERR_CONFIG : 0);
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (is(row, "id", causes[i][0]))
            CU_ASSERT_PTR_NOT_NULL(strstr(err.message, causes[i][1]));
}

TEST(measured_rows)
{
    CU_ASSERT_EQUAL_FATAL(ss_table_load(SS_SOURCE_DIR "/validation/runs.csv", &table, NULL, NULL), 0);
    CU_ASSERT_EQUAL(ss_table_rows(table), 107);
    for (int row = 0; row < ss_table_rows(table); row++)
        check_row(row);
    ss_table_free(table);
}
