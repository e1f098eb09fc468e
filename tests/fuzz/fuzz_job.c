/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a job that can be completed or refused, or give one error with text. */

#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complete(struct ss_asked *asked)
{
    static struct ss_stack stack;
    struct ss_job job;
    struct ss_error err = {0};

    if (!stack.name[0] && ss_stack_load("megatron-2407", NULL, &stack, NULL))
        abort();
    asked->job.model_ref[0] = 0; /* no files but the bytes */
    int world = 64;
    int rc = ss_asked_finish(asked, NULL, &stack, world, 8, NULL, &job, &err);
    if (rc ? !err.message[0]
           : ss_job_dp(&job, world) < 1 || ss_job_microbatches(&job, world) < 1 || ss_job_chunks(&job) < 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_asked asked;
    struct ss_request request;
    struct ss_notes notes = {0};
    struct ss_error err = {0};

    if (memmem(data, size, "--job", 5))
        return 0;
    ss_asked_init(&asked);
    ss_request_init(&request);
    int rc = ss_request_read_text(&request, (const char *)data, size, "fuzz.args", &err);
    if (!rc)
        rc = ss_request_resolve(&request, &notes, &err);
    if (!rc)
        rc = ss_asked_parse(&asked, &request, &notes, NULL, &err);
    ss_request_free(&request);
    if (rc && (!err.message[0] || !err.code))
        abort();
    if (!rc)
        complete(&asked);
    ss_notes_free(&notes);
    return 0;
}
