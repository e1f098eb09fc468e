/* SPDX-License-Identifier: Apache-2.0 */
/* `plan --steps`: its rows are the times that the plan has, each of an operator and of a side of a pair. */

#include "scale_job.h"
#include "suite.h"

enum { COLUMNS = 11, SLOT = 0, CHUNK, BACKWARD, STEP, STREAM, PHASE, OPERATOR, KIND, LABEL, MS, BYTES };

struct sums {
    double ms[SS_PHASE_COUNT][SS_LABEL_COUNT]; /* of compute, by the phase of the row */
    int posts[SS_PHASE_COUNT], waits, attention[SS_PHASE_COUNT], unnamed, again;
};

static int index_of(const char *word, const char *(*name)(int), int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name(i), word) == 0)
            return i;
    return -1;
}

static void add_row(struct sums *sums, char *const *cell)
{
    int phase = index_of(cell[PHASE], ss_phase_name, SS_PHASE_COUNT);
    if (strcmp(cell[STEP], "wait") == 0) {
        sums->waits++;
        return;
    }
    CU_ASSERT_FATAL(phase >= 0);
    if (strcmp(cell[STEP], "post") == 0) {
        sums->posts[phase]++;
        CU_ASSERT(atof(cell[BYTES]) > 0 && *cell[STREAM]);
        return;
    }
    int label = index_of(cell[LABEL], ss_label_name, SS_LABEL_COUNT);
    CU_ASSERT_FATAL(label >= 0);
    sums->ms[phase][label] += atof(cell[MS]);
    sums->attention[phase] += strcmp(cell[KIND], "attention") == 0 && label == SS_LABEL_COMPUTE;
    sums->again += label == SS_LABEL_RECOMPUTE;
    sums->unnamed += label != SS_LABEL_OTHER && !*cell[OPERATOR];
}

/* Sums of the rows whose slot begins with these words, "F,0,". */
static void sum_rows(const char *csv, const char *slot, struct sums *sums)
{
    char *text = strdup(csv), *lines = text;
    memset(sums, 0, sizeof *sums);
    for (char *line = strsep(&lines, "\n"); line && *line; line = strsep(&lines, "\n")) {
        char *cell[COLUMNS];
        int n = 0;
        if (strncmp(line, slot, strlen(slot)) != 0)
            continue;
        for (char *c = strsep(&line, ","); c && n < COLUMNS; c = strsep(&line, ","))
            cell[n++] = c;
        CU_ASSERT_FATAL(n == COLUMNS && !line);
        add_row(sums, cell);
    }
    free(text);
}

static char *steps_of(const struct ss_plan *plan, int stage)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(ss_report_steps(plan, stage, f, NULL), SS_OK);
    fclose(f);
    return text;
}

static void open_run(struct scale_job *s, struct ss_run *run, const char *text)
{
    struct ss_run_options o = {.engine = SS_ENGINE_NATIVE};
    o.plan.level = SS_LEVEL_LAYER;
    CU_ASSERT_FATAL(scale_open(s, text) == 0);
    CU_ASSERT_FATAL(scale_run(s, &o, run) == 0);
}

/* The job is dense and interleaved, and recomputes attention. */
TEST(chunks)
{
    struct scale_job s;
    struct ss_run run;
    struct sums sums;
    struct ss_error err = {0};
    open_run(
        &s, &run,
        "h800 1;--model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 16 --tp 2 --pp 2 --sequence-parallel "
        "--num-layers-per-virtual-pipeline-stage 4 --recompute-activations");
    const struct ss_plan *plan = run.plan;
    char *csv = steps_of(plan, 1);
    for (int k = 0; k < plan->schedule->chunks; k++) {
        const struct ss_chunk_cost *c = &plan->classes[plan->class_of[plan->world_size - 1]].chunks[k];
        char slot[16];
        snprintf(slot, sizeof slot, "F,%d,", k);
        sum_rows(csv, slot, &sums);
        CU_ASSERT_DOUBLE_EQUAL(sums.ms[SS_PHASE_F][SS_LABEL_COMPUTE], 1e3 * c->forward[SS_LABEL_COMPUTE],
                               1e-6);
        CU_ASSERT(sums.attention[SS_PHASE_F] == 4 && sums.again == 0 && sums.unnamed == 0);
        snprintf(slot, sizeof slot, "B,%d,", k);
        sum_rows(csv, slot, &sums);
        double weights = sums.ms[SS_PHASE_W][SS_LABEL_COMPUTE];
        CU_ASSERT_DOUBLE_EQUAL(weights, 1e3 * c->weight_grad[SS_LABEL_COMPUTE], 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(sums.ms[SS_PHASE_B][SS_LABEL_COMPUTE] + weights,
                               1e3 * c->backward[SS_LABEL_COMPUTE], 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(sums.ms[SS_PHASE_B][SS_LABEL_RECOMPUTE], 1e3 * c->backward[SS_LABEL_RECOMPUTE],
                               1e-6);
        CU_ASSERT(sums.attention[SS_PHASE_B] == 4 && sums.again == 4 && sums.unnamed == 0);
        CU_ASSERT(sums.posts[SS_PHASE_B] > 0 && sums.waits == sums.posts[SS_PHASE_B]);
    }
    free(csv);
    CU_ASSERT_EQUAL(ss_report_steps(plan, 2, stderr, &err), SS_ERR_USAGE);
    CU_ASSERT_STRING_EQUAL(err.message, "--steps 2: stages are 0 to 1");
    ss_run_free(&run);
    scale_close(&s);
}

/* A forward's rows beside a backward's: what either does alone, with four exchanges of two layers each way. */
TEST(pair)
{
    struct scale_job s;
    struct ss_run run;
    struct sums pair, forward, input, weight;
    open_run(&s, &run,
             "h800 2;--model llama3.1-8b --bf16 --seq 4096 --mbs 2 --gbs 64 --num-layers 4 --pp 2 --ep 8 "
             "--num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 2048 --moe-token-dispatcher-type "
             "alltoall "
             "--schedule dualpipe --overlap-moe-expert-parallel-comm --delay-wgrad-compute");
    char *csv = steps_of(run.plan, 0);
    sum_rows(csv, "FB,1,0,", &pair);
    sum_rows(csv, "F,1,", &forward);
    sum_rows(csv, "I,0,", &input);
    sum_rows(csv, "W,0,", &weight);
    CU_ASSERT(forward.ms[SS_PHASE_F][SS_LABEL_COMPUTE] > 0);
    CU_ASSERT_DOUBLE_EQUAL(pair.ms[SS_PHASE_F][SS_LABEL_COMPUTE], forward.ms[SS_PHASE_F][SS_LABEL_COMPUTE],
                           1e-6);
    CU_ASSERT_DOUBLE_EQUAL(pair.ms[SS_PHASE_W][SS_LABEL_COMPUTE], weight.ms[SS_PHASE_W][SS_LABEL_COMPUTE],
                           1e-6);
    CU_ASSERT(pair.attention[SS_PHASE_F] == 2 && pair.attention[SS_PHASE_I] == 2);
    CU_ASSERT(pair.posts[SS_PHASE_F] == 4 && pair.posts[SS_PHASE_I] + pair.posts[SS_PHASE_B] == 4);
    CU_ASSERT(pair.waits == 8 && pair.unnamed == 0 && input.posts[SS_PHASE_I] == 4);
    free(csv);
    ss_run_free(&run);
    scale_close(&s);
}

/* Who begins reductions on all stages at once, and passes backwards of the first chunk: core 0.14 to 0.17 that overlaps experts. */
TEST(aligned)
{
    static const struct {
        const char *flags;
        int aligned;
    } rows[] = {
        {"--stack megatron-bridge-26.04 --overlap-moe-expert-parallel-comm", 2},
        {"--stack megatron-bridge-26.04", 1},
        {"--stack megatron-bridge-26.06 --overlap-moe-expert-parallel-comm", 1},
        {"--stack megatron-bridge-26.04 --overlap-moe-expert-parallel-comm --no-align-grad-reduce", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scale_job s;
        struct ss_run run;
        char text[512];
        snprintf(text, sizeof text,
                 "h100 2;--model qwen3-30b-a3b --num-layers 8 --seq 4096 --mbs 1 --gbs 32 --bf16 --pp 2 --vp "
                 "2 --ep 8 "
                 "--use-distributed-optimizer --overlap-grad-reduce %s",
                 rows[i].flags);
        open_run(&s, &run, text);
        CU_ASSERT_EQUAL(run.plan->aligned, rows[i].aligned);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* Whose hooks begin gathers: those of Megatron core 0.9 and later, but where an interleaved schedule does; none begins the next one where that
 * is left to a schedule which does not. In mxfp8 a weight
 * travels in 16 bit, in fp8 by tensor in 8; behind a gather in 16 bit both orientations are cast (2 B read, 2 x 33/32 written) and the
 * buffer is set to zero (2 B), at 0.73 of GB200's 8 TB/s. */
TEST(gathers)
{
    static const struct {
        const char *flags;
        int hooked;
        double bytes; /* of the last chunk's gather over those of a gather in 16 bit */
    } rows[] = {
        {"--stack nemo-25.03 --pp 2 --bf16", 1, 1},
        {"--stack nemo-24.12 --pp 2 --bf16", 0, 1},
        {"--stack nemo-25.03 --bf16", 1, 1},
        {"--stack nemo-25.03 --bf16 --align-param-gather", 2, 1},
        {"--stack nemo-24.12 --bf16 --align-param-gather", 0, 1},
        {"--stack nemo-25.03 --pp 2 --bf16 --align-param-gather", 2, 1},
        {"--stack mlperf-v6.0 --pp 2 --vp 2 --bf16 --align-param-gather", 0, 1},
        {"--stack nemo-25.03 --pp 2 --vp 2 --bf16", 0, 1},
        {"--stack nemo-25.03 --pp 2 --vp 2 --bf16 --no-align-param-gather", 1, 1},
        {"--stack mlperf-v6.0 --pp 2 --vp 2 --bf16", 1, 1},
        {"--stack nemo-25.03 --pp 2 --bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather", 1, 1},
        {"--stack nemo-25.03 --pp 2 --bf16 --fp8-format hybrid --fp8-recipe delayed --fp8-param-gather", 1,
         0.5}};
    double whole = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scale_job s;
        struct ss_run run;
        char text[512];
        snprintf(text, sizeof text,
                 "gb200 2;--model llama3.1-8b --num-layers 8 --seq 4096 --mbs 1 --gbs 16 "
                 "--use-distributed-optimizer "
                 "--overlap-grad-reduce --overlap-param-gather %s",
                 rows[i].flags);
        open_run(&s, &run, text);
        CU_ASSERT_EQUAL(run.plan->hooked, rows[i].hooked);
        const struct ss_chunk_cost *c = &run.plan->classes[0].chunks[0];
        double bytes = 0, cast = 0, layer = 4096. * (4096 + 2 * 1024 + 4096 + 3 * 14336);
        for (int k = 0; k < c->ngather; k++) {
            bytes += run.plan->collectives[c->gather[k].collective].bytes;
            cast += c->gather[k].cast;
        }
        CU_ASSERT_DOUBLE_EQUAL(
            cast, strstr(rows[i].flags, "mxfp8") ? 4 * layer * (4 + 66. / 32) / 5.84e12 : 0, 1e-9);
        if (i == 0)
            whole = bytes;
        if (strstr(rows[i].flags, "--fp8")) /* all but the embedding, norms and what is left in 16 bit */
            CU_ASSERT(rows[i].bytes == 1 ? bytes == whole : bytes < 0.8 * whole && bytes > 0.5 * whole);
        ss_run_free(&run);
        scale_close(&s);
    }
}

/* Bytes that the backward gathers before FC2: the gradient of 4,096 tokens of 4,096, of which scales of blocks need both orientations, but
 * beside its GEMM one. */
TEST(both_orientations)
{
    static const struct {
        const char *flags;
        double bytes; /* of an element */
    } rows[] = {{"--bf16", 2},
                {"--bf16 --fp8-format e4m3 --fp8-recipe mxfp8", 2 * 33. / 32},
                {"--bf16 --fp4-format e2m1", 2 * 9. / 16},
                {"--bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --tp-comm-overlap", 33. / 32},
                {"--bf16 --fp8-format hybrid --fp8-recipe delayed", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scale_job s;
        struct ss_run run;
        char text[256];
        snprintf(text, sizeof text,
                 "gb200 1;--model llama3.1-8b --num-layers 2 --seq 4096 --mbs 1 --gbs 4 --tp 2 "
                 "--sequence-parallel "
                 "--stack megatron-bridge-26.04 %s",
                 rows[i].flags);
        open_run(&s, &run, text);
        char *csv = steps_of(run.plan, 0), *at = strstr(csv, "B,0,,post,2,B,fc2,gemm,tp all-gather");
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        *strchr(at, '\n') = '\0';
        CU_ASSERT_DOUBLE_EQUAL(atof(strrchr(at, ',') + 1), 4096. * 4096 * rows[i].bytes, 1);
        free(csv);
        ss_run_free(&run);
        scale_close(&s);
    }
}
