/* SPDX-License-Identifier: Apache-2.0 */
/* --gradient-accumulation-steps: the global batch of any number of GPUs. */

#include "base/base.h"
#include "stepsim/import.h"
#include "stepsim/job.h"
#include "stepsim/scenario.h"
#include "suite.h"

static const char job[] = "--platform h100 --model llama3.2-1b --bf16 --seq 2048 --mbs 2 --tp 2 ";

/* Replicas are half of the GPUs: 8 on 2 nodes of 8. */
TEST(batch)
{
    static const struct {
        const char *flags;
        int batch;
    } rows[] = {
        {"--nodes 2 --gradient-accumulation-steps 4", 64},
        {"--nodes 4 --gradient-accumulation-steps 4", 128},
        {"--nodes 2", 16},
        {"--nodes 2 --gradient-accumulation-steps 4 --gbs 32", 32},
        {"--nodes 2 --gbs 32 --gradient-accumulation-steps 4", 64},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_request r;
        struct ss_scenario *s = NULL;
        struct ss_error err = {0};
        char text[512];
        int n = snprintf(text, sizeof text, "%s%s", job, rows[i].flags);
        ss_request_init(&r);
        CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, (size_t)n, "job.args", &err), SS_OK);
        CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, &err), SS_OK);
        CU_ASSERT_EQUAL(s->job->global_batch, rows[i].batch);
        ss_scenario_free(s);
        ss_request_free(&r);
    }
}
