/* SPDX-License-Identifier: Apache-2.0 */
/* What `run --json` and `plan --json` promise (docs/reference/formats.md), on real jobs. */
#include <jansson.h>

#include "base/base.h"
#include "job_helper.h"
#include "report/text.h"
#include "stepsim/stepsim.h"
#include "suite.h"

struct made {
    struct ss_scenario *scenario;
    struct ss_run run;
    char *text; /* of its words */
};

static void make(struct made *m, const char *words)
{
    char *argv[JOB_MAX_ARGS];
    struct ss_error err = {0};

    *m = (struct made){.text = strdup(words)};
    if (make_scenario(split(m->text, argv), argv, &m->scenario, &err))
        fprintf(stderr, "%s\n", err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m->scenario);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(m->scenario, NULL, &m->run, &err), 0);
}

static void drop(struct made *m)
{
    ss_run_free(&m->run);
    ss_scenario_free(m->scenario);
    free(m->text);
}

#define SMALL                                                                                                \
    "--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16 "        \
    "--use-distributed-optimizer --num-layers-per-virtual-pipeline-stage 8 --sequence-parallel"
static const char large[] =
    "--platform h800 --nodes 1 --model llama3.1-70b --bf16 --tp 8 --seq 4096 --mbs 1 --gbs 1";
#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

static json_t *report(const struct made *m, const struct ss_report_options *opt,
                      int (*fn)(const struct ss_run *, const struct ss_report_options *, FILE *,
                                struct ss_error *))
{
    struct ss_error err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fn(&m->run, opt, f, &err), 0);
    fclose(f);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(document);
    free(text);
    return document;
}

static double number(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    if (!json_is_number(v)) {
        printf("no number %s\n", key);
        CU_FAIL("missing number");
        return NAN;
    }
    return json_number_value(v);
}

static double label_sum(const json_t *o)
{
    double sum = 0;

    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        double v = number(o, ss_label_name(l));
        CU_ASSERT(v >= 0);
        sum += v;
    }
    return sum;
}

TEST(run_has_every_key)
{
    char keys[] = "schema_version version command verdict reason gpus parameters exposed_communication_ms "
                  "iteration_ms measured_ms error_pct sensitivity_pct error_band_pct error_band_like "
                  "tflops_per_gpu tflops_causal_per_gpu tflops_windows_per_gpu tflops_hardware_per_gpu "
                  "tflops_logged_per_gpu logged_by logged_count mfu mfu_square mfu_bf16 hfu "
                  "tokens_per_s_per_gpu padding_fraction bubble_fraction imbalance_fraction spread_fraction "
                  "memory critical_stage breakdown_ms stage_breakdown timers_ms warnings limiting_link links "
                  "assumed error_band_low_pct error_band_high_pct guessed ignored dropped engine level "
                  "ranks_simulated events inputs timing",
         *key[JOB_MAX_ARGS];
    struct ss_report_options opt = {.json = 1, .measured_s = 1, .wall_s = 0.5};
    struct made m;

    make(&m, SMALL);
    opt.notes = &m.scenario->notes;
    json_t *o = report(&m, &opt, ss_report_run);
    int n = split(keys, key);
    CU_ASSERT_EQUAL(json_object_size(o), n);
    for (int i = 0; i < n; i++)
        if (!json_object_get(o, key[i])) {
            printf("no key %s\n", key[i]);
            CU_FAIL("missing key");
        }
    CU_ASSERT_EQUAL(number(o, "schema_version"), SS_SCHEMA_VERSION);
    CU_ASSERT_EQUAL(number(json_object_get(o, "timing"), "wall_ms"), 500);
    CU_ASSERT_DOUBLE_EQUAL(number(o, "error_pct"), number(o, "iteration_ms") / 10 - 100, 1e-6);
    json_t *inputs = json_object_get(o, "inputs");
    CU_ASSERT_EQUAL(number(json_object_get(inputs, "job"), "world_size"), 8);
    CU_ASSERT_EQUAL(number(json_object_get(inputs, "job"), "chunks"), 2);
    CU_ASSERT_EQUAL(number(json_object_get(inputs, "model"), "hidden_size"), 4096);
    CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(inputs, "platform"), "hash"));
    json_decref(o);
    drop(&m);
}

/* How many keys of an object, and of those in it, the manual does not name. */
static int undocumented(const json_t *object, const char *manual)
{
    int missing = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value)
    {
        char word[96];
        snprintf(word, sizeof word, "`%s`", key);
        if (strncmp(key, "ss.", 3) != 0 && !strstr(manual, word)) {
            printf("not in docs/reference/formats.md, \"inputs\": %s\n", key);
            missing++;
        }
        missing += json_is_object(value) ? undocumented(value, manual) : 0;
    }
    return missing;
}

/* The part of the manual about inputs names what a result says of them. */
TEST(inputs_are_documented)
{
    struct ss_report_options opt = {.json = 1};
    char *text;
    size_t size;
    struct made m;

    make(&m, SMALL " --fp8-format hybrid");
    json_t *o = report(&m, &opt, ss_report_run), *inputs = json_object_get(o, "inputs");
    CU_ASSERT_EQUAL_FATAL(
        ss_file_read(SS_SOURCE_DIR "/docs/reference/formats.md", 1 << 20, &text, &size, NULL), 0);
    char *from = strstr(text, "### `inputs`"), *to = from ? strstr(from, "\n## ") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    *to = '\0';
    json_object_del(inputs, "flags"); /* of flags.md */
    CU_ASSERT(json_object_size(json_object_get(inputs, "job")) > 40);
    CU_ASSERT_EQUAL(undocumented(inputs, from), 0);
    free(text);
    json_decref(o);
    drop(&m);
}

TEST(parts_sum_to_the_whole)
{
    struct ss_report_options opt = {.json = 1, .wall_s = -1};
    struct made m;

    make(&m, SMALL);
    json_t *o = report(&m, &opt, ss_report_run), *stage;
    double iteration = number(o, "iteration_ms"), peak = 0;
    size_t i;
    CU_ASSERT(iteration > 0);
    CU_ASSERT_DOUBLE_EQUAL(label_sum(json_object_get(o, "breakdown_ms")), iteration, 1e-9 * iteration);
    json_t *stages = json_object_get(o, "stage_breakdown");
    CU_ASSERT_EQUAL(json_array_size(stages), 2);
    json_array_foreach(stages, i, stage)
    {
        CU_ASSERT_EQUAL(number(stage, "stage"), i);
        CU_ASSERT_DOUBLE_EQUAL(label_sum(stage), iteration, 1e-9 * iteration);
    }
    json_t *memory = json_object_get(o, "memory");
    stages = json_object_get(memory, "stages");
    CU_ASSERT_EQUAL(json_array_size(stages), 2);
    json_array_foreach(stages, i, stage)
    {
        double sum = 0;
        for (int k = 0; k < SS_MEM_COUNT; k++) {
            char key[32];
            snprintf(key, sizeof key, "%s_mib", ss_mem_name(k));
            sum += number(stage, key);
        }
        CU_ASSERT_DOUBLE_EQUAL(sum, number(stage, "total_mib"), 1e-8 * sum);
        CU_ASSERT(number(stage, "allocated_mib") <= number(stage, "reserved_mib"));
        CU_ASSERT(number(stage, "reserved_mib") <= number(stage, "total_mib"));
        peak = fmax(peak, number(stage, "total_mib"));
    }
    CU_ASSERT_EQUAL(peak, number(memory, "peak_mib"));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "verdict")), "fits");
    CU_ASSERT_PTR_NULL(json_object_get(o, "timing"));
    CU_ASSERT_PTR_NULL(json_object_get(o, "measured_ms"));
    const json_t *spent = json_object_get(o, "breakdown_ms");
    CU_ASSERT(number(o, "bubble_fraction") > 0);
    CU_ASSERT_DOUBLE_EQUAL(number(o, "bubble_fraction"), number(spent, "bubble") / number(o, "iteration_ms"),
                           1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(o, "imbalance_fraction"),
                           number(spent, "imbalance") / number(o, "iteration_ms"), 1e-9);
    json_decref(o);
    drop(&m);
}

TEST(timers_are_of_the_iteration)
{
    struct ss_report_options opt = {.json = 1, .wall_s = -1};
    struct made m;

    make(&m, SMALL);
    json_t *o = report(&m, &opt, ss_report_run), *timers = json_object_get(o, "timers_ms");
    double iteration = number(o, "iteration_ms");
    CU_ASSERT(number(timers, "forward-compute") > 0);
    CU_ASSERT(number(timers, "backward-compute") > number(timers, "forward-compute"));
    CU_ASSERT(number(timers, "optimizer") > 0);
    CU_ASSERT(number(timers, "forward-backward") + number(timers, "optimizer") <= iteration * (1 + 1e-9));
    CU_ASSERT(number(timers, "forward-compute") + number(timers, "backward-compute") <=
              number(timers, "forward-backward") * (1 + 1e-9));
    json_decref(o);
    drop(&m);
}

/* Layers that wait for the host wait in the slots, not beside them. */
TEST(timers_of_a_small_model)
{
    struct ss_report_options opt = {.json = 1, .wall_s = -1};
    struct made m;

    make(&m, "--platform a100 --nodes 1 --model gpt2-7.5b --hidden-size 1024 --tp 2 --pp 2 --mbs 1 --gbs "
             "16 --seq 1024 --bf16 --num-attention-heads 16 --ffn-hidden-size 4096");
    json_t *o = report(&m, &opt, ss_report_run), *timers = json_object_get(o, "timers_ms");
    CU_ASSERT(number(json_object_get(o, "breakdown_ms"), "other") > 0.1 * number(o, "iteration_ms"));
    CU_ASSERT(number(timers, "forward-compute") + number(timers, "backward-compute") <=
              number(timers, "forward-backward") * (1 + 1e-9));
    json_decref(o);
    drop(&m);
}

TEST(a_job_that_does_not_fit_is_complete)
{
    struct ss_report_options opt = {.json = 1, .wall_s = -1};
    struct ss_error err = {0};
    struct ss_fix fixes[3];
    struct made m;
    int n = -1;

    make(&m, large);
    CU_ASSERT_FALSE(m.run.result->fits);
    CU_ASSERT_EQUAL(ss_fixes_find(m.scenario, NULL, fixes, &n, &err), 0);
    CU_ASSERT(n >= 0 && n <= 3);
    opt.fixes = fixes;
    opt.nfixes = n;
    json_t *o = report(&m, &opt, ss_report_run);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "verdict")), "too large");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "fixes")), n);
    CU_ASSERT(number(o, "iteration_ms") > 0);
    for (int i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(fixes[i].summary.outcome, SS_OUTCOME_FITS);
        CU_ASSERT(fixes[i].summary.peak_device <= m.run.result->capacity);
        if (i)
            CU_ASSERT(fixes[i].summary.iteration_s >= fixes[i - 1].summary.iteration_s);
    }
    json_decref(o);
    drop(&m);
}

/* The layout that it names is one that the job takes, and holds the bytes that it says. */
static void check_smallest(const char *words, const struct ss_smallest *found)
{
    char text[4096];
    struct made m;
    double most = 0;

    snprintf(text, sizeof text, "--platform h800 --bf16 --seq 8192 %s %s --mbs 1 --gbs %d", words,
             found->flags, found->gpus > 64 ? found->gpus : 64);
    make(&m, text);
    for (int i = 0; i < m.run.result->nstages; i++) {
        const double *b = m.run.result->stages[i].memory;
        most = fmax(most, b[SS_MEM_WEIGHTS] + b[SS_MEM_GRADIENTS] + b[SS_MEM_OPTIMIZER]);
    }
    CU_ASSERT_EQUAL(m.scenario->world_size, found->gpus);
    CU_ASSERT_DOUBLE_EQUAL(most, found->bytes, 1e-9 * most);
    drop(&m);
}

/* The layout that it names holds the bytes that it says, and no half of its GPUs has room for all of them: 18 bytes a parameter. */
TEST(smallest_number_of_gpus)
{
    static const struct {
        const char *words;
        int gpus;
    } jobs[] = {
        {"--model llama3.1-8b --nodes 1 --mbs 8 --gbs 128", 2},
        {"--model llama3.1-70b --nodes 2 --mbs 1 --vp 2 --pp 2 --gbs 32", 16},
        {"--model qwen3-235b-a22b --nodes 2 --mbs 1 --ep 8 --gbs 128", 64},
        {"--model kimi-k2 --nodes 2 --mbs 1 --ep 8 --gbs 128", 256}, /* 61 layers: the last stage has fewer */
    };
    for (size_t j = 0; j < COUNT(jobs); j++) {
        char text[4096];
        struct ss_report_options opt = {.json = 1, .wall_s = -1};
        struct ss_smallest found;
        struct made m;
        snprintf(text, sizeof text, "--platform h800 --bf16 --seq 8192 %s", jobs[j].words);
        make(&m, text);
        CU_ASSERT_FALSE_FATAL(m.run.result->fits);
        ss_smallest_find(m.scenario, NULL, &found);
        CU_ASSERT_EQUAL_FATAL(found.gpus, jobs[j].gpus);
        CU_ASSERT(found.bytes <= m.run.result->capacity);
        CU_ASSERT(18 * m.run.plan->parameters / (found.gpus / 2.0) > m.run.result->capacity);
        opt.smallest = &found;
        json_t *o = report(&m, &opt, ss_report_run);
        CU_ASSERT_EQUAL(number(json_object_get(o, "smallest"), "gpus"), found.gpus);
        json_decref(o);
        check_smallest(jobs[j].words, &found);
        drop(&m);
    }
}

/* Words of a layout with every flag that may be needed are not cut: 9.5 T parameters, 62 layers on 16 stages, chunks. */
TEST(smallest_of_long_words)
{
    static const char words[] =
        "--model kimi-k2 --num-layers 62 --hidden-size 16384 --moe-ffn-hidden-size 8192 "
        "--nodes 2 --pp 2 --vp 31 --ep 8 --mbs 1 --gbs 128";
    char text[4096];
    struct ss_smallest found;
    struct made m;

    snprintf(text, sizeof text, "--platform h800 --bf16 --seq 8192 %s", words);
    make(&m, text);
    ss_smallest_find(m.scenario, NULL, &found);
    CU_ASSERT_EQUAL_FATAL(found.gpus, 4096);
    CU_ASSERT_STRING_EQUAL(found.flags, "--nodes 512 --gpus-per-node 8 --tp 8 --pp 16 --cp 1 "
                                        "--decoder-last-pipeline-num-layers 2 --ep 128 --etp 1 "
                                        "--sequence-parallel --use-distributed-optimizer --vp 1");
    CU_ASSERT(found.bytes <= m.run.result->capacity);
    check_smallest(words, &found);
    drop(&m);
}

/* What a fix promises is what a run with its words gives: with a batch, with one that follows from the layout, and in
 * another order of ranks. */
TEST(fixes_are_checked_by_a_run)
{
    static const char common[] = "--platform h800 --nodes 4 --model llama3.1-8b --bf16 --seq 16384 "
                                 "--use-distributed-optimizer";
    static const char *const jobs[] = {
        "--mbs 4 --gbs 256", "--mbs 4", "--mbs 4 --gbs 256 --tp 2 --use-tp-pp-dp-mapping",
        "--mbs 4 --gbs 512 --pp 2 --vp 4 --microbatch-group-size-per-vp-stage 4"};

    for (size_t j = 0; j < COUNT(jobs); j++) {
        char text[4096];
        struct ss_error err = {0};
        struct ss_fix fixes[3];
        struct made m;
        int n = 0;
        snprintf(text, sizeof text, "%s %s", common, jobs[j]);
        make(&m, text);
        CU_ASSERT_FALSE_FATAL(m.run.result->fits);
        CU_ASSERT_EQUAL(ss_fixes_find(m.scenario, NULL, fixes, &n, &err), 0);
        CU_ASSERT_FATAL(n > 0);
        for (int i = 0; i < n; i++) {
            struct made again;
            snprintf(text, sizeof text, "%s %s %s", common, jobs[j], fixes[i].change);
            make(&again, text);
            CU_ASSERT(again.run.result->fits);
            CU_ASSERT_EQUAL(again.scenario->job->global_batch, m.scenario->job->global_batch);
            CU_ASSERT_DOUBLE_EQUAL(again.run.result->iteration_s, fixes[i].summary.iteration_s,
                                   1e-12 * fixes[i].summary.iteration_s);
            CU_ASSERT_DOUBLE_EQUAL(again.run.result->peak_device, fixes[i].summary.peak_device, 1);
            drop(&again);
        }
        drop(&m);
    }
}

/* A job with selective recompute is refused no change for it. */
TEST(fixes_of_a_selective_job)
{
    struct ss_error err = {0};
    struct ss_fix fixes[3];
    struct made m;
    int n = 0, others = 0;

    make(&m, "--platform h800 --nodes 4 --model llama3.1-8b --bf16 --recompute-activations --seq 8192 "
             "--mbs 4 --gbs 256 --use-distributed-optimizer --tp 2");
    CU_ASSERT_FALSE_FATAL(m.run.result->fits);
    CU_ASSERT_EQUAL(ss_fixes_find(m.scenario, NULL, fixes, &n, &err), 0);
    for (int i = 0; i < n; i++)
        others += !strstr(fixes[i].change, "--recompute-granularity full");
    CU_ASSERT(others > 0);
    drop(&m);
}

TEST(plan_lists_all_layers)
{
    struct ss_report_options opt = {.json = 1, .wall_s = -1};
    struct made m;

    make(&m, SMALL);
    json_t *o = report(&m, &opt, ss_report_plan), *stage, *chunk;
    int layers = 0, embeddings = 0, losses = 0;
    size_t i, k;
    json_array_foreach(json_object_get(o, "stages"), i, stage)
        json_array_foreach(json_object_get(stage, "chunks"), k, chunk)
    {
        layers += (int)number(chunk, "layers");
        embeddings += json_is_true(json_object_get(chunk, "embedding"));
        losses += json_is_true(json_object_get(chunk, "loss"));
    }
    CU_ASSERT_EQUAL(layers, 32);
    CU_ASSERT_EQUAL(embeddings, 1);
    CU_ASSERT_EQUAL(losses, 1);
    json_t *tp = json_object_get(json_object_get(o, "groups"), "tp");
    CU_ASSERT_EQUAL(number(tp, "size"), 2);
    CU_ASSERT_EQUAL(number(tp, "count"), 4);
    json_decref(o);
    drop(&m);
}

TEST(an_error_is_one_object)
{
    struct ss_error e = {
        .code = SS_ERR_CONFIG, .line = 7, .file = "a\"b.args", .message = "no \xff way", .hint = "x"};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    CU_ASSERT_EQUAL(ss_report_error(&e, f), 0);
    fclose(f);
    json_t *o = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    json_t *error = json_object_get(o, "error");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(error, "code")), "config-error");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(error, "file")), "a\"b.args");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(error, "message")), "no ? way");
    CU_ASSERT_EQUAL(number(error, "line"), 7);
    json_decref(o);
    free(text);
}

TEST(a_full_disk_is_an_error)
{
    struct ss_error err = {0};
    FILE *full = fopen("/dev/full", "w");

    if (!full)
        return;
    setvbuf(full, NULL, _IONBF, 0);
    CU_ASSERT_EQUAL(ss_report_list("schedules", NULL, full, &err), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_report_list("schedules", &(struct ss_display){.json = 1}, full, &err), SS_ERR_IO);
    fclose(full);
}

/* Labels of 1, 2, 3 ... ms, in the order of their enum, as columns: compute and optimizer 1 + 3; tensor, context and expert
 * parallelism 4 + 5 + 6; data parallelism, offload and other 7 + 8 + 13. */
TEST(text_of_labels)
{
    struct made m;
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    make(&m, SMALL);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        m.run.result->stages[1].breakdown[l] = 1e-3 * (l + 1);
    m.run.result->spread = (struct ss_spread){
        .replicas = 20, .sigma = 0.05, .without = 0.4, .mean = 0.5, .p5 = 0.25, .p50 = 0.375, .p95 = 1};
    CU_ASSERT_EQUAL(ss_report_run(&m.run, &(struct ss_report_options){0}, f, NULL), 0);
    fclose(f);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "\n1              4.0       2.0     15.0     28.0 9.0   10.0      11.0   12.0\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "\nJitter of 0.05, 20 iterations, ms: mean 500.0, p5 250.0, p50 375.0, p95 1000.0\n"));
    free(text);
    drop(&m);
}

/* A screen has the answer, four of many stages and what else there is; all of it has every stage. */
TEST(one_screen)
{
    struct made m;

    make(&m, SMALL);
    struct ss_result *r = m.run.result;
    struct ss_stage_result *few = r->stages, *many = ss_calloc(9, sizeof *many);
    const int nfew = r->nstages;
    CU_ASSERT_PTR_NOT_NULL_FATAL(many);
    for (int s = 0; s < 9; s++)
        many[s] = few[0];
    r->stages = many;
    r->nstages = 9;
    r->critical_stage = 3;
    r->peak_stage = 5;
    for (int verbose = 0; verbose < 2; verbose++) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        CU_ASSERT_EQUAL(
            ss_report_run(&m.run, &(struct ss_report_options){.verbose = verbose, .wall_s = -1}, f, NULL), 0);
        fclose(f);
        int stages = 0, lines = 0;
        for (const char *line = text; (line = strchr(line, '\n')) != NULL; lines++)
            stages += !strncmp(++line, "stage ", 6);
        CU_ASSERT_EQUAL(stages, verbose ? 9 : 4); /* 0, 3, 5 and 8 */
        CU_ASSERT_EQUAL(strstr(text, "\nTimers of the last rank") != NULL, verbose);
        CU_ASSERT_EQUAL(strstr(text, "\nnative engine, ") != NULL, verbose);
        CU_ASSERT_EQUAL(strstr(text, "\n--verbose also shows 5 more stages, ") != NULL, !verbose);
        CU_ASSERT(verbose || lines <= 40);
        free(text);
    }
    r->stages = few;
    r->nstages = nfew;
    free(many);
    drop(&m);
}

/* The page says how many nodes: one has no plural. */
TEST(page_of_a_node)
{
    struct made m;
    char *text = NULL;
    size_t size = 0;
    struct ss_picture_request request = {.report = open_memstream(&text, &size), .run = &m.run};

    make(&m, SMALL);
    CU_ASSERT_EQUAL(ss_pictures_draw(m.run.program, m.run.timeline, SS_ENGINE_NATIVE, &request, NULL), 0);
    fclose(request.report);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " on 1 node of "));
    free(text);
    drop(&m);
}

/* However large the time, its unit is there in 32 bytes. */
TEST(time_has_its_unit)
{
    static const struct {
        double seconds;
        const char *text;
    } times[] = {{0.4512, "451.2 ms"},
                 {23.57, "23.57 s"},
                 {1e12, "1000000000000 s"},
                 {7.1e30, "7e+30 s"},
                 {1e308, "1e+308 s"}};
    char text[32];

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        CU_ASSERT_STRING_EQUAL(ss_text_time(times[i].seconds, text, sizeof text), times[i].text);
}
