/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of a job is missing from the inputs of its result: whichever part of struct ss_job changes, they change. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "job/flags.h"
#include "report/common.h"
#include "scale_job.h"
#include "suite.h"

static char *dump(const struct ss_plan *plan)
{
    json_t *inputs = ss_json_inputs(plan, NULL);
    char *text = json_dumps(inputs, JSON_COMPACT);
    json_decref(inputs);
    return text;
}

/* Whether a double begins here. */
static int double_at(size_t offset)
{
    static const size_t offsets[] = {
        offsetof(struct ss_job, model.attention_dropout), offsetof(struct ss_job, model.hidden_dropout),
        offsetof(struct ss_job, measured_ms), offsetof(struct ss_job, measured_mib)};
    int found = offset == offsetof(struct ss_job, optimizer_offload);
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        found |= offset == offsets[i];
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        found |= s->kind == SS_FLAG_DOUBLE && s->offset == offset;
    return found;
}

/* Bytes between two fields, and what was measured, which is no part of the job. */
static int is_exempt(size_t offset)
{
    size_t padding = offsetof(struct ss_job, cpu_offload_weights) + sizeof(int);
    return offset == offsetof(struct ss_job, measured_ms) ||
           offset == offsetof(struct ss_job, measured_mib) ||
           (offset == padding && padding + sizeof(int) == offsetof(struct ss_job, optimizer_offload));
}

/* Size of the text that begins here, 0 where none does. */
static size_t text_at(size_t offset)
{
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        if (s->kind == SS_FLAG_TEXT && s->offset == offset)
            return (size_t)s->high;
    if (offset == offsetof(struct ss_job, model.name))
        return sizeof(((struct ss_model *)0)->name);
    return offset == offsetof(struct ss_job, rank_order) ? sizeof(((struct ss_job *)0)->rank_order) : 0;
}

static void test_every_field(void)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    int missing = 0;
    CU_ASSERT_FATAL(
        !scale_open(&s, "h800 2;--model llama3.1-8b --bf16 --tp 4 --pp 2 --seq 4096 --mbs 1 --gbs 16"));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    struct ss_plan plan = *run.plan;
    struct ss_job *job = malloc(sizeof *job);
    char *before = dump(&plan);
    CU_ASSERT_FATAL(job && before);
    for (size_t at = 0, step; at + sizeof(int) <= sizeof *job; at += step) {
        size_t text = text_at(at);
        int real = double_at(at);
        step = text ? text : real ? sizeof(double) : sizeof(int);
        if (is_exempt(at))
            continue;
        memcpy(job, run.plan->job, sizeof *job);
        if (text)
            strcpy((char *)job + at, "other");
        else if (real)
            *(double *)((char *)job + at) += 0.25;
        else
            *(int *)((char *)job + at) ^= 1;
        plan.job = job;
        char *after = dump(&plan);
        if (after && !strcmp(before, after))
            printf("byte %zu of struct ss_job is not among the inputs\n", at), missing++;
        free(after);
    }
    CU_ASSERT_EQUAL(missing, 0);
    free(before);
    free(job);
    ss_run_free(&run);
    scale_close(&s);
}

int main(void)
{
    CU_TestInfo tests[] = {{"every field of a job", test_every_field}, CU_TEST_INFO_NULL};
    return suite_run("inputs", NULL, NULL, tests);
}
