/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of runs predicted and judged: outcomes, statistics, written forms. */
#include <jansson.h>

#include "base/base.h"
#include "base/csv.h"
#include "stepsim/scenario.h"
#include "table_text.h"

/* Writes a table beside the test, validates it. */
static struct ss_validation *validate(const char *text)
{
    char path[] = "/tmp/stepsim-validate-XXXXXX";
    const char *tables[] = {path};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *v = NULL;
    struct ss_error err = {0};

    table_file(path, text);
    if (ss_validate(tables, 1, &opt, &v, &err))
        fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
    unlink(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(v);
    return v;
}

/* --set among the flags of a row holds for its platform and its stack. */
TEST(flags_set)
{
    struct ss_validation *v =
        validate(FULL_HEAD "plain," JOB "ok,1000,,ok,,,\n"
                           "card," JOB "ok,1000,,ok,,,--set ss.gemm.efficiency.bf16=0.4\n"
                           "stack," JOB "ok,1000,,ok,,,--set=ss.iteration.fixed=1s\n");

    CU_ASSERT(v->rows[1].summary.iteration_s > 1.3 * v->rows[0].summary.iteration_s);
    CU_ASSERT_DOUBLE_EQUAL(v->rows[2].summary.iteration_s, v->rows[0].summary.iteration_s + 1, 0.05);
    ss_validation_free(v);
}

static const char outcomes[] = FULL_HEAD
    "fits," JOB "ok,1000,,ok,,,\n"
    "apart," JOB "ok,1000,,suspect,,,\n"
    "not-so," JOB "oom,,,ok,,,\n"
    "large,h800,megatron-2407,1,llama3.1-405b,bf16,2,2,1,16,4096,true,distributed,oom,,,ok,,,\n"
    "refused,h800,megatron-2407,1,llama3.1-8b,bf16,2,3,1,16,4096,true,distributed,config-error,,,ok,"
    "does not divide,--tensor-model-parallel-size --pp,\n"
    "other-cause,h800,megatron-2407,1,llama3.1-8b,bf16,2,3,1,16,4096,true,distributed,config-error,,,ok,,"
    "--pp --cpu-offloading,\n"
    "any-cause,h800,megatron-2407,1,llama3.1-8b,bf16,2,3,1,16,4096,true,distributed,config-error,,,ok,"
    "ValueError: another,,\n"
    "later," JOB "ok,1000,,ok,,,--num-zero-experts 8\n"
    "broken," JOB "framework-error,,,ok,NCCL error,,\n"
    "never," JOB "not-run,,,ok,,,\n";

TEST(outcomes)
{
    static const int right[] = {1, 1, 0, 1, 1, 0, 1, -1, -1, -1};
    static const char *const predicted[] = {
        "ok", "ok", "ok", "oom", "config-error", "config-error", "config-error", "unsupported", "", "ok"};
    struct ss_validation *v = validate(outcomes);

    CU_ASSERT_EQUAL_FATAL(v->nrows, 10);
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(v->rows[i].right, right[i]);
        CU_ASSERT_STRING_EQUAL(v->rows[i].predicted_outcome, predicted[i]);
    }
    CU_ASSERT_PTR_NOT_NULL(
        strstr(v->rows[7].configuration, "tp2 pp2 cp1 mbs1 gbs16 seq4096")); /* its flags are refused */
    CU_ASSERT(v->rows[9].summary.iteration_s > 0);
    CU_ASSERT_EQUAL(v->rows[8].summary.iteration_s, 0);
    CU_ASSERT_EQUAL(v->all.outcomes, 6);
    CU_ASSERT_EQUAL(v->all.right, 4);
    CU_ASSERT_EQUAL(v->all.time.n, 1);
    CU_ASSERT_DOUBLE_EQUAL(v->all.time.bias, ss_validation_time_error(&v->rows[0]), 1e-9);
    CU_ASSERT_EQUAL(v->ngroups[SS_BY_QUALITY], 1);
    CU_ASSERT_STRING_EQUAL(v->groups[SS_BY_QUALITY][0].name, "suspect");
    ss_validation_free(v);
}

/* 1F1B holds most on its first stage: so much a stack shows that logs the largest or the first one, not the last. */
TEST(logged_stage)
{
    static const char *const logged[] = {"peak", "first", "last"};
    char path[] = "/tmp/stepsim-stack-XXXXXX", text[1024];
    double mib[3];
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    for (int i = 0; i < 3; i++) {
        struct ss_validation *v;
        int n =
            snprintf(text, sizeof text,
                     "<stack name='x' base='megatron-2407'><prop id='ss.memory.logged' value='%s'/></stack>",
                     logged[i]);
        CU_ASSERT_EQUAL_FATAL(pwrite(fd, text, (size_t)n, 0) != n || ftruncate(fd, n), 0);
        snprintf(text, sizeof text,
                 HEAD "a,h800,%s,1,llama3.1-8b,bf16,2,2,1,16,4096,true,distributed,ok,900,40000,ok,\n", path);
        v = validate(text);
        mib[i] = v->rows[0].predicted_bytes;
        CU_ASSERT_EQUAL(v->rows[0].right, 1);
        ss_validation_free(v);
    }
    close(fd);
    unlink(path);
    CU_ASSERT_EQUAL(mib[0], mib[1]);
    CU_ASSERT(mib[2] > 0 && mib[2] < mib[1]);
}

/* What a figure of memory is, the table says, else the stack: Megatron-Bridge logs what PyTorch has allocated. */
TEST(reported_memory)
{
    static const struct {
        const char *stack, *kind, *said;
    } rows[] = {{"megatron-bridge-25.09", "", "allocated"},
                {"megatron-bridge-25.09", "device", "device"},
                {"nanotron-2025", "allocated", "reserved"}, /* it resets the peak of what is allocated */
                {"nanotron-2025", "device", "device"},
                {"pytorch-2023", "allocated", "allocated"},
                {"megatron-2407", "", "device"}};
    char text[1024];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text,
                 "id,platform,stack,nodes,model,precision,tp,micro_batch,global_batch,seq_length,outcome,"
                 "memory_mib,"
                 "memory_kind\na,h100,%s,1,llama3.1-8b,bf16,2,1,16,4096,ok,40000,%s\n",
                 rows[i].stack, rows[i].kind);
        struct ss_validation *v = validate(text);
        CU_ASSERT_STRING_EQUAL(v->rows[0].memory_kind, rows[i].said);
        ss_validation_free(v);
    }
}

/* What a source does not say of recompute is shown from both ends; a dense row has no such bounds. */
TEST(bounds)
{
    struct ss_validation *v = validate("id,platform,nodes,model,precision,num_experts,ep,micro_batch,global_"
                                       "batch,seq_length,recompute,outcome\n"
                                       "moe,h800,4,olmoe-1b-7b,bf16,64,8,1,32,4096,unknown,ok\n"
                                       "known,h800,4,olmoe-1b-7b,bf16,64,8,1,32,4096,none,ok\n"
                                       "dense,h800,4,olmo-1b,bf16,,,1,32,2048,unknown,ok\n");

    CU_ASSERT(v->rows[0].none.seconds > 0 && v->rows[0].none.seconds == v->rows[0].summary.iteration_s);
    CU_ASSERT(v->rows[0].full.seconds > v->rows[0].none.seconds);
    CU_ASSERT(v->rows[0].full.bytes < v->rows[0].none.bytes);
    CU_ASSERT_EQUAL(v->rows[1].none.seconds, 0);
    CU_ASSERT_EQUAL(v->rows[2].none.seconds, 0);
    ss_validation_free(v);
}

TEST(unsupported)
{
    struct ss_validation *v = validate(
        "id,platform,nodes,model,precision,num_experts,micro_batch,global_batch,seq_length,outcome,flags\n"
        "moe,h800,1,mixtral-8x7b,bf16,8,1,8,4096,ok,--num-zero-experts 64\n");

    CU_ASSERT_EQUAL(v->unsupported, 1);
    CU_ASSERT_EQUAL(v->rows[0].right, -1);
    CU_ASSERT_STRING_EQUAL(v->rows[0].predicted_outcome, "unsupported");
    CU_ASSERT_EQUAL(v->all.outcomes, 0);
    CU_ASSERT_EQUAL(v->ngroups[SS_BY_MODEL], 0);
    ss_validation_free(v);
}

/* Errors of -50, +0, +100 % by choice of what was measured. */
TEST(statistics)
{
    struct ss_validation *v = validate(HEAD "a," JOB "ok,1000,,A,\n"), *three;
    double ms = 1e3 * v->rows[0].summary.iteration_s;
    char text[2048];

    ss_validation_free(v);
    snprintf(text, sizeof text,
             HEAD "a," JOB "ok,%.6f,,A,\nb," JOB "ok,%.6f,,B,\nc," JOB "ok,%.6f,,C,\nd," JOB "ok,%.6f,,,\n",
             2 * ms, ms, ms, 0.5 * ms);
    three = validate(text);
    CU_ASSERT_EQUAL(three->all.time.n, 3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.mean_abs, 50, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.median_abs, 50, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.worst_abs, 100, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(three->all.time.bias, 50.0 / 3, 1e-3);
    ss_validation_free(three);
}

/* The source of a row is what its id begins with, up to the first dash; one letter behind it belongs to it. */
TEST(sources)
{
    struct ss_validation *v = validate(HEAD "dgxc2411-a-70b," JOB "ok,1000,,ok,\n"
                                            "vt-m-12," JOB "ok,1000,,ok,\n"
                                            "plain," JOB "ok,1000,,ok,\n"
                                            "a-b," JOB "ok,1000,,ok,\n");

    CU_ASSERT_STRING_EQUAL(v->rows[0].source, "dgxc2411-a");
    CU_ASSERT_STRING_EQUAL(v->rows[1].source, "vt-m");
    CU_ASSERT_STRING_EQUAL(v->rows[2].source, "plain");
    CU_ASSERT_STRING_EQUAL(v->rows[3].source, "a");
    ss_validation_free(v);
}

static char *written(const struct ss_validation *v,
                     int (*write_form)(const struct ss_validation *, FILE *, struct ss_error *))
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    CU_ASSERT_EQUAL(write_form(v, out, NULL), 0);
    fclose(out);
    return text;
}

TEST(json)
{
    static const char *const keys[] = {
        "id",        "quality",      "outcome",       "predicted_outcome", "measured_ms", "predicted_ms",
        "error_pct", "measured_mib", "predicted_mib", "memory_error_pct",  "reason"};
    static const char *const stats[] = {"n", "mean_abs_pct", "median_abs_pct", "worst_abs_pct", "bias_pct"};
    struct ss_validation *v = validate(outcomes);
    char *text = written(v, ss_validation_write_json);
    json_t *o = json_loads(text, 0, NULL), *row, *summary;

    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "rows")), 10);
    row = json_array_get(json_object_get(o, "rows"), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(row, keys[i]));
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(row, "measured_ms")), 1000, 1e-9);
    CU_ASSERT(json_is_null(json_object_get(row, "measured_mib")));
    summary = json_object_get(o, "summary");
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
        CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(summary, "time"), stats[i]));
        CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(summary, "memory"), stats[i]));
    }
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(summary, "outcomes"), "right")), 4);
    json_decref(o);
    free(text);
    ss_validation_free(v);
}

/* Rows that are filled by hand: what is as predicted has an error of 0, what is not known an empty field. */
TEST(csv)
{
    struct ss_validation_row rows[] = {{.table = "t",
                                        .id = "a-b",
                                        .model = "m",
                                        .platform = "p",
                                        .stack = "s",
                                        .card = "c",
                                        .gpus = 8,
                                        .precision = "bf16",
                                        .quality = "ok",
                                        .outcome = "ok",
                                        .predicted_outcome = "ok",
                                        .right = 1,
                                        .seq_length = 4096,
                                        .summary = {.parameters = 8.03e9, .iteration_s = 2},
                                        .measured_s = 2,
                                        .memory_kind = "device",
                                        .measured_bytes = 2 * SS_MIB,
                                        .predicted_bytes = 3 * SS_MIB,
                                        .experts = 4,
                                        .source = "a",
                                        .family = "f",
                                        .weight = 0.5},
                                       {.id = "none", .right = -1, .predicted_bytes = 3 * SS_MIB}};
    const struct ss_validation v = {.nrows = 2, .rows = rows};
    char *text = written(&v, ss_validation_write_csv);

    CU_ASSERT_PTR_NOT_NULL(strstr(text,
                                  "\nt,a-b,m,p,s,c,8,4096,bf16,8.03e+09,ok,ok,ok,yes,2000,2000,0.00,device,2,"
                                  "3,50.00,4,a,f,0,0.5\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n,none,,,,,0,0,,,,,,,,,,,,3,,0,,,0,0\n"));
    free(text);
}

/* A written table compares equal with itself, and every kind of change is seen. */
TEST(compare)
{
    struct ss_validation *v = validate(outcomes);
    char path[] = "/tmp/stepsim-results-XXXXXX", *text = written(v, ss_validation_write_csv), *report = NULL;
    int moved = -1;
    size_t len;
    FILE *out;

    table_file(path, text);
    out = open_memstream(&report, &len);
    CU_ASSERT_EQUAL(ss_validation_compare(v, path, out, &moved, NULL), 0);
    CU_ASSERT_EQUAL(moved, 0);
    v->rows[0].summary.iteration_s *= 1.001;
    strcpy(v->rows[1].predicted_outcome, "oom");
    strcpy(v->rows[2].id, "renamed");
    CU_ASSERT_EQUAL(ss_validation_compare(v, path, out, &moved, NULL), 0);
    fclose(out);
    CU_ASSERT_EQUAL(moved, 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "fits: predicted_ms"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "apart: predicted_outcome ok -> oom"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "renamed: new"));
    CU_ASSERT_PTR_NOT_NULL(strstr(report, "not-so: no longer"));
    unlink(path);
    free(report);
    free(text);
    ss_validation_free(v);
}

static int narrow_svg(const struct ss_validation *v, FILE *out, struct ss_error *err)
{
    return ss_validation_write_svg(v, 600, out, err);
}

TEST(svg)
{
    struct ss_validation *v = validate(outcomes);
    char *text = written(v, narrow_svg);

    CU_ASSERT_PTR_NOT_NULL(strstr(text, " width=\"600\" "));

    CU_ASSERT_PTR_NOT_NULL(strstr(text, "<title>fits: 1000.0 ms"));
    char key[96]; /* the legend names the card, with the runs that count */
    snprintf(key, sizeof key, ">%s: ", v->rows[0].gpu);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, key));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ">0 %<"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ">1 s<"));
    CU_ASSERT_PTR_NULL(strstr(text, "nan"));
    free(text);
    v->nrows = 0; /* an empty picture is a picture */
    text = written(v, narrow_svg);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "</svg>"));
    free(text);
    ss_validation_free(v);
}

static size_t stride = 1; /* of the rows of measured tables */

/* Rows of the measured tables, in a folder under their names. */
struct copies {
    char folder[32], path[3][128];
    const char *paths[3];
};

/* Every `stride`-th row of a measured table, with these words as its note; NULL: with its own. */
static void copy_rows(const char *name, const char *note, const char *to)
{
    struct ss_csv *csv;
    char path[256];
    FILE *out;

    snprintf(path, sizeof path, SS_SOURCE_DIR "/validation/%s.csv", name);
    CU_ASSERT_EQUAL_FATAL(ss_csv_load(path, &csv, NULL), 0);
    CU_ASSERT_FATAL(ss_csv_column(csv, "note") >= 0);
    out = fopen(to, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    for (size_t c = 0; c < ss_csv_columns(csv); c++)
        fprintf(out, "%s%s", c ? "," : "", ss_csv_column_name(csv, c));
    for (size_t row = 0; row < ss_csv_rows(csv); row += stride)
        for (size_t c = 0; c < ss_csv_columns(csv); c++) {
            int is_note = note && (int)c == ss_csv_column(csv, "note");
            fputs(c ? "," : "\n", out);
            ss_csv_write(out, is_note ? note : ss_csv_field(csv, row, (int)c));
        }
    fputs("\n", out);
    fclose(out);
    ss_csv_free(csv);
}

static void copy_tables(struct copies *c, const char *note)
{
    static const char *const names[] = {"runs", "foreign", "reread"};
    char folder[] = "/tmp/stepsim-rows-XXXXXX"; /* gcc sees no overlap with c->path */

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    strcpy(c->folder, folder);
    for (int i = 0; i < 3; i++) {
        snprintf(c->path[i], sizeof c->path[i], "%s/%s.csv", folder, names[i]);
        c->paths[i] = c->path[i];
        copy_rows(names[i], note, c->path[i]);
    }
}

static void drop_tables(struct copies *c)
{
    for (int i = 0; i < 3; i++)
        unlink(c->path[i]);
    rmdir(c->folder);
}

/* Notes are for people: whatever they say, among it all that was read once, predictions and verdicts are the same. */
TEST(notes)
{
    static const char words[] = "uneven: first 1 last 1; optimizer offloaded; ValueError: no such thing";
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *before, *after;
    struct copies own, other;

    copy_tables(&own, NULL);
    copy_tables(&other, words);
    CU_ASSERT_EQUAL_FATAL(ss_validate(own.paths, 3, &opt, &before, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_validate(other.paths, 3, &opt, &after, NULL), 0);
    CU_ASSERT(before->nrows > 600 / (int)stride);
    char *one = written(before, ss_validation_write_csv), *two = written(after, ss_validation_write_csv);
    CU_ASSERT_STRING_EQUAL(one, two);
    free(one);
    free(two);
    ss_validation_free(before);
    ss_validation_free(after);
    drop_tables(&own);
    drop_tables(&other);
}

struct told {
    int n, last, total;
};

static void count(void *ctx, int done, int total, const char *id)
{
    struct told *t = ctx;

    (void)id;
    t->n++;
    t->last = done;
    t->total = total;
}

/* Any number of processes gives the same bytes: of runs, of timers, and of what is refused; each row is told once. */
TEST(workers)
{
    struct copies rows;
    char *texts[2][2];

    copy_tables(&rows, NULL);
    for (int i = 0; i < 2; i++) {
        struct told told = {0};
        struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE,
                                          .timer_rows = "gpt2-timers",
                                          .progress = count,
                                          .ctx = &told,
                                          .workers = {.n = i ? 3 : 1}};
        struct ss_validation *v;
        CU_ASSERT_EQUAL_FATAL(ss_validate(rows.paths, 2, &opt, &v, NULL), 0);
        CU_ASSERT(v->nrows > 600 / (int)stride && v->ntimers > 0);
        CU_ASSERT(told.n == v->nrows && told.last == v->nrows && told.total == v->nrows);
        texts[i][0] = written(v, ss_validation_write_csv);
        texts[i][1] = written(v, ss_validation_write_json);
        ss_validation_free(v);
    }
    for (int t = 0; t < 2; t++) {
        CU_ASSERT_STRING_EQUAL(texts[0][t], texts[1][t]);
        free(texts[0][t]);
        free(texts[1][t]);
    }
    drop_tables(&rows);
}

/* The command line's job file and the table's row are one run: one prediction. */
TEST(same_as_job_file)
{
    const char *tables[] = {SS_SOURCE_DIR "/validation/runs.csv"};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    char *const words[] = {"--job", SS_SOURCE_DIR "/workloads/jobs/8b-16.args"};
    struct ss_request r;
    struct ss_scenario *made;
    struct ss_validation *v;
    struct ss_run run;
    double seconds = 0;

    CU_ASSERT_EQUAL_FATAL(ss_validate(tables, 1, &opt, &v, NULL), 0);
    for (int i = 0; i < v->nrows; i++)
        if (!strcmp(v->rows[i].id, "8b-16"))
            seconds = v->rows[i].summary.iteration_s;
    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, 2, words, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &made, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(made, NULL, &run, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(run.result->iteration_s, seconds, 1e-9);
    ss_run_free(&run);
    ss_scenario_free(made);
    ss_request_free(&r);
    ss_validation_free(v);
}

SUITE(validate)
{
    stride = suite_stride(argc, argv, 8);
    return suite_file(argv[0], NULL, NULL);
}
