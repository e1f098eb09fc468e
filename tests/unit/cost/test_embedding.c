/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of tied embeddings: the first stage and the last one exchange them once an iteration. */
#include "scale_job.h"
#include "suite.h"

/* Two steps, each as long as a NIC's even where NVLinks are between the stages: 10 us a step of an H100's NIC, or 1 us where it is set so,
 * which is less than what the route takes by itself. */
static void steps(const char *platform, double least, double most)
{
    const struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    char text[256];
    int found = 0;
    snprintf(text, sizeof text,
             "%s;--model llama3.2-1b --bf16 --tp 8 --pp 2 --seq 4096 --mbs 1 --gbs 8 --sequence-parallel ",
             platform);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, &o, &run), 0);
    for (int i = 0; i < run.program->ncollectives; i++) {
        const struct ss_collective *c = &run.program->collectives[i];
        if (strcmp(c->name, "embedding grads") != 0)
            continue;
        found++;
        CU_ASSERT(c->nmembers == 2 && c->nphases == 1 && c->phases[0].nflows == 2);
        CU_ASSERT(c->phases[0].latency >= least && c->phases[0].latency <= most);
        /* 128,256 rows of 2048 over 8 tensor ranks, padded to 16,128 a rank, 4 bytes a gradient */
        CU_ASSERT_DOUBLE_EQUAL(c->phases[0].flows[0].bytes, 16128. * 2048 * 4, 1);
    }
    CU_ASSERT_EQUAL(found, 1);
    ss_run_free(&run);
    scale_close(&s);
}

TEST(steps)
{
    steps("h100 2", 20e-6 - 1e-12, 20e-6 + 1e-12);
    steps("h100 2 ss.nic.step_latency=1ns", 1e-6, 20e-6);
}
