/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of a job is missing from the inputs of its result: whichever field of struct ss_job changes, they change. */
#include <jansson.h>

#include "model/model_internal.h"
#include "report/common.h"
#include "scale_job.h"
#include "suite.h"

/* No key stands twice. */
static json_t *inputs_of(const struct ss_plan *plan)
{
    char *text = ss_json_text(ss_json_inputs(plan, NULL));
    json_t *inputs = json_loads(text ? text : "", JSON_REJECT_DUPLICATES, NULL);

    CU_ASSERT_PTR_NOT_NULL(inputs);
    free(text);
    return inputs;
}

static char *dump(const struct ss_plan *plan)
{
    json_t *inputs = inputs_of(plan);
    char *text = json_dumps(inputs, JSON_COMPACT);
    json_decref(inputs);
    return text;
}

enum { WHOLE, REAL, TEXT };
struct field {
    const char *name;
    int kind;
    size_t offset; /* in struct ss_job */
};

#define KIND(field)                                                                                          \
    _Generic((((struct ss_job *)0)->field), double : REAL, char * : TEXT, int : WHOLE, default : WHOLE)

/* Rows of a job's fields. A flag that is not modelled has a warning. What no row is of: GPUs that failed, nodes that are named and
 * stages of a layout, of which how many is told with them. */
static const struct field fields[] = {
#define SS_FIELD(type, field, unset, key) {#field, KIND(field), offsetof(struct ss_job, field)},
#define SS_MEMBER(group, type, field, unset, key) SS_FIELD(type, group.field, unset, key)
#include "stepsim/job_fields.def"
    {"nfailed", WHOLE, offsetof(struct ss_job, nfailed)},
    {"nranges", WHOLE, offsetof(struct ss_job, nranges)},
    {"layout.n", WHOLE, offsetof(struct ss_job, layout.n)}};

static void change_field(struct ss_job *job, const struct field *f)
{
    void *at = (char *)job + f->offset;
    switch (f->kind) {
    case REAL: *(double *)at = 2 * *(double *)at + 0.25; break;
    case TEXT: strcpy(at, "other"); break;
    default: *(int *)at ^= 1;
    }
}

TEST(every_field)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct scale_job s;
    struct ss_run run;
    CU_ASSERT_FATAL(
        !scale_open(&s, "h800 2;--model llama3.1-8b --bf16 --tp 4 --pp 2 --seq 4096 --mbs 1 --gbs 16"));
    CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
    struct ss_plan plan = *run.plan;
    char *before = dump(&plan);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct ss_job job = *run.plan->job;
        change_field(&job, &fields[i]);
        plan.job = &job;
        char *after = dump(&plan);
        int told = before && after && strcmp(before, after) != 0;
        CU_ASSERT_EQUAL(told, strcmp(fields[i].name, "unmodelled") != 0);
        if (!told && strcmp(fields[i].name, "unmodelled") != 0)
            printf("%s is not among the inputs\n", fields[i].name);
        free(after);
    }
    free(before);
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

TEST(model)
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
    *inputs = inputs_of(plan);
    return json_string_value(json_object_get(json_object_get(*inputs, "flags"), key));
}

TEST(layers)
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

static char *write_run(const struct ss_run *run, struct ss_cache *cache)
{
    struct ss_report_options options = {.json = 1, .wall_s = -1, .cache = cache};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(ss_report_run(run, &options, out, NULL), 0);
    fclose(out);
    return text;
}

/* Model, stack and platform are kept as text. A document with them is the same; of another job, what is as before is taken, the rest
 * is kept beside it. */
TEST(kept)
{
    static const struct {
        const char *text;
        uint64_t found, put;
    } jobs[] = {
        {"h800 2;--model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 16", 0, 3},
        {"h800 2;--model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 16", 3, 3},
        {"h800 2;--model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 2 --gbs 32", 6, 3},
        {"h800 4;--model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 2 --gbs 32", 8, 4},
        {"h800 4 ss.nic.bandwidth=20GBps;--model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 2 --gbs 32", 10,
         5},
        {"h800 4;--model llama3.1-8b --num-layers 16 --bf16 --tp 8 --seq 4096 --mbs 2 --gbs 32", 12, 6},
    };
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE};
    struct ss_cache *cache;
    CU_ASSERT_EQUAL_FATAL(ss_cache_open(&cache, NULL), 0);
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct scale_job s;
        struct ss_run run;
        CU_ASSERT_FATAL(!scale_open(&s, jobs[i].text));
        CU_ASSERT_FATAL(!scale_run(&s, &options, &run));
        char *alone = write_run(&run, NULL), *kept = write_run(&run, cache);
        CU_ASSERT_STRING_EQUAL(alone, kept);
        CU_ASSERT_EQUAL(ss_cache_counts(cache).found, jobs[i].found);
        CU_ASSERT_EQUAL(ss_cache_counts(cache).put, jobs[i].put);
        free(alone);
        free(kept);
        ss_run_free(&run);
        scale_close(&s);
    }
    ss_cache_close(cache);
}
