/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of a job is missing from the inputs of its result: whichever part of struct ss_job changes, they change. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "job/flags.h"
#include "model/model_internal.h"
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
        offsetof(struct ss_job, measured_ms),     offsetof(struct ss_job, measured_mib),
        offsetof(struct ss_job, capacity_factor), offsetof(struct ss_job, moe_load_exponent),
        offsetof(struct ss_job, packed_low),      offsetof(struct ss_job, packed_high)};
    int found = offset == offsetof(struct ss_job, optimizer_offload);
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        found |= offset == offsets[i];
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        found |= s->kind == SS_FLAG_DOUBLE && s->offset == offset;
    return found;
}

/* Whether nothing is at `offset` but the bytes between two fields. */
static int is_padding(size_t offset)
{
#define BETWEEN(before, after)                                                                               \
    {                                                                                                        \
        offsetof(struct ss_job, before) + sizeof(((struct ss_job *)0)->before),                              \
            offsetof(struct ss_job, after)                                                                   \
    }
    static const size_t pads[][2] = {BETWEEN(cpu_offload_weights, optimizer_offload),
                                     BETWEEN(grad_reduce_bf16, bucket_size),
                                     BETWEEN(cp_comm_type, attention_dropout),
                                     BETWEEN(dispatcher, capacity_factor),
                                     BETWEEN(moe_load, moe_load_exponent),
                                     BETWEEN(packed_law, packed_low),
                                     BETWEEN(packed_seed, packing),
                                     BETWEEN(layout, moe_loads),
                                     BETWEEN(moe_load_layers, layout_mtp)};
#undef BETWEEN
    for (size_t i = 0; i < sizeof pads / sizeof pads[0]; i++)
        if (offset >= pads[i][0] && offset < pads[i][1])
            return 1;
    return 0;
}

/* What was measured is no part of the job; a flag that is not modelled has a warning; a file of loads is among the inputs by its hash;
 * stages beyond those that a layout has, GPUs beyond those that failed and ranges of nodes beyond those that are named are no part of
 * it, and have tests of their own. */
static int is_exempt(size_t offset)
{
    static const size_t lists[][2] = {
        {offsetof(struct ss_job, packing), sizeof(struct ss_packing *)},
        {offsetof(struct ss_job, moe_loads), sizeof(double *)},
        {offsetof(struct ss_job, moe_load_layers), sizeof(int)},
        {offsetof(struct ss_job, failed), sizeof(((struct ss_job *)0)->failed)},
        {offsetof(struct ss_job, on_nodes), sizeof(((struct ss_job *)0)->on_nodes)},
        {offsetof(struct ss_job, graph_words), sizeof(unsigned)},      /* a word until the job is finished */
        {offsetof(struct ss_job, accumulation), sizeof(int)},          /* in the global batch by then */
        {offsetof(struct ss_job, optimizer_fraction), sizeof(double)}, /* in optimizer_offload by then */
        {offsetof(struct ss_job, model), sizeof(struct ss_model)},     /* test_model */
        {offsetof(struct ss_job, unmodelled), sizeof(((struct ss_job *)0)->unmodelled)},
        {offsetof(struct ss_job, layout.layers), sizeof(((struct ss_pipeline_layout *)0)->layers)}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (offset >= lists[i][0] && offset < lists[i][0] + lists[i][1])
            return 1;
    return offset == offsetof(struct ss_job, measured_ms) ||
           offset == offsetof(struct ss_job, measured_mib) || is_padding(offset);
}

/* Size of the text that begins here, 0 where none does. */
static size_t text_at(size_t offset)
{
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        if (s->kind == SS_FLAG_TEXT && s->offset == offset)
            return (size_t)s->high;
    if (offset == offsetof(struct ss_job, moe_load_source))
        return sizeof(((struct ss_job *)0)->moe_load_source);
    if (offset == offsetof(struct ss_job, packed_source))
        return sizeof(((struct ss_job *)0)->packed_source);
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

/* Changes one field. */
static void change(struct ss_model *m, const struct ss_model_field *f)
{
    void *at = (char *)m + f->offset;
    switch (f->kind) {
    case SS_MODEL_IS_SHARE:
    case SS_MODEL_IS_RATE: *(double *)at += 0.25; break;
    case SS_MODEL_IS_LAYERS: ((struct ss_layer_rule *)at)->period += 3; break;
    case SS_MODEL_IS_TEXT: strcpy(at, "other"); break;
    default: *(int *)at ^= 1;
    }
}

static void test_model(void)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(!scale_open(&s, "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 16"));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    struct ss_plan plan = *run.plan;
    char *before = dump(&plan);
    for (const struct ss_model_field *f = ss_model_fields; f < ss_model_fields + SS_MODEL_FIELDS; f++) {
        struct ss_job job = *run.plan->job;
        change(&job.model, f);
        plan.job = &job;
        char *after = dump(&plan);
        CU_ASSERT(after && strcmp(before, after) != 0);
        if (after && !strcmp(before, after))
            printf("%s is not among the inputs\n", f->name);
        free(after);
    }
    free(before);
    ss_run_free(&run);
    scale_close(&s);
}

/* Text of a key of the flags of a job. */
static const char *flag_of(struct ss_plan *plan, const struct ss_job *job, const char *key, json_t **inputs)
{
    plan->job = job;
    *inputs = ss_json_inputs(plan, NULL);
    return json_string_value(json_object_get(json_object_get(*inputs, "flags"), key));
}

static void test_layers(void)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    json_t *inputs;
    CU_ASSERT_FATAL(
        !scale_open(&s, "h800 2;--model llama3.1-8b --bf16 --tp 4 --pp 2 --seq 4096 --mbs 1 --gbs 16"));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    struct ss_plan plan = *run.plan;
    struct ss_job *job = malloc(sizeof *job);
    CU_ASSERT_FATAL(job != NULL);
    memcpy(job, run.plan->job, sizeof *job);
    CU_ASSERT_STRING_EQUAL(flag_of(&plan, job, "config_moe_layers", &inputs), "none");
    json_decref(inputs);
    job->model.moe_layers.n = 61;
    job->model.moe_layers.bits[0] = ~(uint64_t)7;
    CU_ASSERT_STRING_EQUAL(flag_of(&plan, job, "config_moe_layers", &inputs), "[0]*3+[1]*58");
    json_decref(inputs);
    job->model.local_layers = (struct ss_layer_rule){.period = 6, .phase = 5};
    CU_ASSERT_STRING_EQUAL(flag_of(&plan, job, "config_local_layers", &inputs), "every 6 from 0 phase 5");
    json_decref(inputs);
    job->layout.n = SS_LAYOUT_MAX;
    for (int i = 1; i < SS_LAYOUT_MAX; i++)
        job->layout.layers[i] = i < 31 ? 2 : 1000;
    job->layout.layers[0] = 1;
    CU_ASSERT_STRING_EQUAL(flag_of(&plan, job, "layout", &inputs), "[1]*1+[2]*30+[1000]*481");
    json_decref(inputs);
    free(job);
    ss_run_free(&run);
    scale_close(&s);
}

SUITE(inputs)
{
    CU_TestInfo tests[] = {{"every field of a job", test_every_field},
                           {"every field of a model", test_model},
                           {"layers", test_layers},
                           CU_TEST_INFO_NULL};
    return suite_run("inputs", NULL, NULL, tests);
}
