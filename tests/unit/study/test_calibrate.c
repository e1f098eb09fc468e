/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration finds numbers that it was given hidden, says which it cannot know, and reads others' output. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/calibrate.h"
#include "suite.h"

/* ---- runs ---- */

static char folder[] = "/tmp/stepsim-calibrate-XXXXXX";

static const char *write_text(const char *name, const char *text)
{
    static char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    CU_ASSERT_EQUAL(fclose(f), 0);
    return path;
}

#define HEAD                                                                                                 \
    "id,platform,stack,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,sequence_parallel,"   \
    "optimizer,outcome,iteration_ms,quality\n"
static const char *const layouts[] = {"8,1,1,16", "2,2,1,64", "4,1,2,32", "1,4,1,32", "2,1,1,16"};

/* A table whose times are what h800 predicts with a GEMM efficiency of 0.5. */
static const char *hidden_table(void)
{
    static char path[256];
    char text[4096], *csv;
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_platform_options none = {0};
    struct ss_platform *p;
    struct ss_validation *v;
    const char *table;
    size_t n, len;
    FILE *out;

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", &none, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_platform_set(p, "ss.gemm.efficiency.bf16", "0.5", NULL), 0);
    out = open_memstream(&csv, &len);
    CU_ASSERT_EQUAL_FATAL(ss_platform_write(p, out, NULL), 0);
    fclose(out);
    ss_platform_free(p);
    snprintf(path, sizeof path, "%s", write_text("hidden.xml", csv));
    free(csv);
    n = (size_t)snprintf(text, sizeof text, HEAD);
    for (int i = 0; i < 5; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "r%d,%s,megatron-2407,1,llama3.1-8b,bf16,%s,4096,true,distributed,ok,,ok\n", i,
                              path, layouts[i]);
    table = write_text("hidden.csv", text);
    CU_ASSERT_EQUAL_FATAL(ss_validate(&table, 1, &opt, &v, NULL), 0);
    n = (size_t)snprintf(text, sizeof text, HEAD);
    for (int i = 0; i < 5; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "r%d,h800,megatron-2407,1,llama3.1-8b,bf16,%s,4096,true,distributed,ok,%.6f,ok\n", i, layouts[i],
            1e3 * v->rows[i].summary.iteration_s);
    snprintf(text + n, sizeof text - n,
             "other,h20,megatron-2407,1,llama3.1-8b,bf16,2,2,1,64,4096,true,distributed,ok,5,ok\n"
             "poor,h800,megatron-2407,1,llama3.1-8b,bf16,2,2,1,64,4096,true,distributed,ok,5,D\n");
    ss_validation_free(v);
    snprintf(path, sizeof path, "%s", write_text("rows.csv", text));
    return path;
}

TEST(finds_hidden)
{
    const char *table = hidden_table();
    struct ss_calibrate_options opt = {.platform = "h800", .ntables = 1, .tables = &table, .leave_out = "id"};
    struct ss_calibration *c;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_fit_prop_parse("ss.gemm.efficiency.bf16=0.3:0.9", &opt.props[0], &err), 0);
    CU_ASSERT_EQUAL_FATAL(ss_fit_prop_parse("ss.gemm.efficiency.fp8", &opt.props[1], &err), 0);
    opt.nprops = 2;
    if (ss_calibrate(&opt, &c, &err)) {
        fprintf(stderr, "%s\n", err.message);
        CU_FAIL_FATAL("no calibration");
    }
    CU_ASSERT_EQUAL(c->nrows, 5);
    CU_ASSERT_EQUAL(c->nskipped, 2);
    CU_ASSERT_DOUBLE_EQUAL(c->props[0].after, 0.5, 2e-3);
    CU_ASSERT_EQUAL(c->props[0].lo, 0.3);
    CU_ASSERT(c->props[0].determined && c->props[0].deviation < 0.01);
    CU_ASSERT(!c->props[1].determined && isnan(c->props[1].deviation));
    CU_ASSERT_EQUAL(c->props[1].after, c->props[1].before);
    CU_ASSERT(c->before.mean_abs > 5 && c->after.mean_abs < 0.5);
    CU_ASSERT_EQUAL(c->nleft_out, 5);
    CU_ASSERT_EQUAL(c->over_left_out.n, 5);
    CU_ASSERT(c->over_left_out.worst_abs < 1);
    ss_calibration_free(c);
}

TEST(writes)
{
    const char *table = hidden_table();
    struct ss_calibrate_options opt = {
        .platform = "h800", .stack = "megatron-2407", .ntables = 1, .tables = &table, .nprops = 2};
    struct ss_platform_options none = {0};
    struct ss_calibration *c;
    struct ss_platform *p;
    struct ss_stack s;
    char *text;
    size_t len;
    FILE *out;
    json_t *o;

    ss_fit_prop_parse("ss.gemm.efficiency.bf16", &opt.props[0], NULL);
    ss_fit_prop_parse("ss.attention.flash.forward=0.2:0.5", &opt.props[1], NULL);
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, NULL), 0);
    out = open_memstream(&text, &len);
    CU_ASSERT_EQUAL(ss_calibration_write_platform(c, "h800", out, NULL), 0);
    fclose(out);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load(write_text("fitted.xml", text), &none, &p, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_card(p)->gemm_eff_bf16, c->props[0].after, 1e-4);
    ss_platform_free(p);
    free(text);
    out = open_memstream(&text, &len);
    CU_ASSERT_EQUAL(ss_calibration_write_stack(c, "mine", "megatron-2407", "h800", out, NULL), 0);
    fclose(out);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load(write_text("mine.xml", text), NULL, &s, NULL), 0);
    CU_ASSERT_STRING_EQUAL(s.name, "mine");
    CU_ASSERT_DOUBLE_EQUAL(s.flash_fwd, c->props[1].after, 1e-4);
    free(text);
    out = open_memstream(&text, &len);
    CU_ASSERT_EQUAL(ss_calibration_write_json(c, out, NULL), 0);
    fclose(out);
    o = json_loads(text, 0, NULL);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "props")), 2);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "rows")), 5);
    json_decref(o);
    free(text);
    ss_calibration_free(c);
}

TEST(refused)
{
    struct ss_fit_prop f;
    struct ss_error err = {0};
    const char *table;
    struct ss_calibrate_options opt = {.platform = "v100", .ntables = 1, .tables = &table};
    struct ss_calibration *c;
    static const char *const bad[] = {"ss.gemm.eficiency.bf16", "ss.sm_count=1:200",
                                      "ss.nic.efficiency=0.5",  "ss.nic.efficiency=1:0.5",
                                      "ss.kernel_latency=1:2",  "ss.nic.efficiency=x:1"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(ss_fit_prop_parse(bad[i], &f, &err), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_fit_prop_parse("ss.kernel_latency=1us:10us", &f, &err), 0);
    CU_ASSERT_DOUBLE_EQUAL(f.hi, 1e-5, 1e-18);
    table = hidden_table();
    CU_ASSERT_EQUAL(ss_calibrate(&opt, &c, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "no measured run of platform v100"));
    opt.platform = "h800";
    opt.leave_out = "model";
    CU_ASSERT_EQUAL(ss_calibrate(&opt, &c, &err), SS_ERR_INPUT);
    opt.leave_out = "half";
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, &err), SS_OK);
    CU_ASSERT_EQUAL_FATAL(c->nleft_out, 2);
    CU_ASSERT_STRING_EQUAL(c->left_out[0].name, "even lines");
    CU_ASSERT_EQUAL(c->left_out[0].error.n, 3);
    CU_ASSERT_STRING_EQUAL(c->left_out[1].name, "odd lines");
    CU_ASSERT_EQUAL(c->left_out[1].error.n, 2);
    CU_ASSERT_EQUAL(c->left_out[1].memory.n + c->memory_left_out.n, 0); /* no number of memory is fitted */
    ss_calibration_free(c);
    static const char *runs = "runs";
    struct ss_calibrate_options memory = {
        .platform = "h800", .ntables = 1, .tables = &runs, .leave_out = "model", .nprops = 1};
    ss_fit_prop_parse("ss.memory.fragmentation", &memory.props[0], NULL);
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&memory, &c, &err), SS_OK);
    CU_ASSERT_EQUAL(c->nleft_out, 3);
    CU_ASSERT_EQUAL(c->memory_left_out.n, 21);
    CU_ASSERT_EQUAL(c->left_out[0].memory.n + c->left_out[1].memory.n + c->left_out[2].memory.n, 21);
    CU_ASSERT(c->memory_left_out.mean_abs > c->over_left_out.mean_abs); /* of the times none depends on it */
    ss_calibration_free(c);
    opt.leave_out = "colour";
    CU_ASSERT_EQUAL(ss_calibrate(&opt, &c, &err), SS_ERR_USAGE);
    opt.leave_out = NULL;
    ss_fit_prop_parse("ss.nic.efficiency=0.01:1", &opt.props[0], NULL);
    opt.nprops = 1;
    CU_ASSERT_EQUAL(ss_calibrate(&opt, &c, &err), SS_ERR_USAGE);
}

/* Without bounds a prop is fitted within a factor of three, and within its own bounds; one of 0 within the first hundredth of these:
 * ss.iteration.fixed is 0 to 10 s. A fraction is fitted within all of its bounds. */
TEST(bounds)
{
    static const struct {
        const char *value;
        double lo, hi;
    } rows[] = {{"0s", 0, 0.1}, {"0.3s", 0.1, 0.9}, {"6s", 2, 10}};
    struct ss_stack stack;
    struct ss_fit_prop f;

    CU_ASSERT_EQUAL_FATAL(ss_stack_load(SS_DEFAULT_STACK, "H800", &stack, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL(ss_stack_set(&stack, "ss.iteration.fixed", rows[i].value, NULL), 0);
        CU_ASSERT_EQUAL(ss_fit_prop_parse("ss.iteration.fixed", &f, NULL), 0);
        CU_ASSERT_EQUAL(ss_study_prop_complete(&f, NULL, &stack, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(f.lo, rows[i].lo, 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(f.hi, rows[i].hi, 1e-12);
    }
    CU_ASSERT_EQUAL(ss_fit_prop_parse("ss.iteration.fixed=1s:11s", &f, NULL), 0);
    CU_ASSERT_EQUAL(ss_study_prop_complete(&f, NULL, &stack, NULL), SS_ERR_USAGE);
    CU_ASSERT_EQUAL(ss_fit_prop_parse("ss.memory.fragmentation", &f, NULL), 0);
    CU_ASSERT_EQUAL(ss_study_prop_complete(&f, NULL, &stack, NULL), 0);
    const struct ss_prop *prop = ss_prop_at(ss_prop_find(f.id, SS_OF_ANY));
    CU_ASSERT_EQUAL(f.lo, prop->low);
    CU_ASSERT_EQUAL(f.hi, prop->high);
}

/* ---- nccl-tests ---- */

/* What nccl-tests print, as far as it is read: a run's first lines, and a line a size; the text's length. */
static int nccl_begin(char *text, size_t size, const char *operation)
{
    return snprintf(
        text, size,
        "# Collective test starting: %s_perf\n#  size count type redop root time algbw busbw #wrong\n",
        operation);
}

static int nccl_add(char *text, size_t size, int n, double bytes, double seconds, double traffic)
{
    return n + snprintf(text + n, size - (size_t)n, "%.0f %.0f float sum -1 %.4f %.2f %.2f 0\n", bytes,
                        bytes / 4, 1e6 * seconds, bytes / seconds / 1e9, traffic / seconds / 1e9);
}

/* All-gathers on one node of h800 at 140 GB/s of its 200 and 3 us a step of LL128, in the fastest of NCCL's protocols. */
TEST(fits_nccl)
{
    char text[4096];
    struct ss_calibrate_options opt = {.platform = "h800", .nccl_nodes = 1};
    struct ss_calibration *c;
    struct ss_platform_options none = {0};
    struct ss_platform *p;
    struct ss_error err = {0};
    double link, busbw;
    int n = nccl_begin(text, sizeof text, "all_gather");

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", &none, &p, NULL), 0);
    link = ss_platform_fabric_bandwidth(p);
    ss_platform_free(p);
    busbw = 0.75 * link;
    /* An H100's ring: 7 steps of 832 ns; 16.6 us and 0.698 of the link, or 5.02 us and a slow start as long as 4 MB take; of a GPU's own
     * share 0.448 is copied. */
    for (double bytes = 262144; bytes < 2e9; bytes *= 4) {
        double traffic = bytes * 7 / 8, moved = traffic + 0.448 * bytes / 8;
        double s = 7 * 832e-9 + fmin(16.6e-6 + moved / (0.698 * link), 5.02e-6 + (3.5e6 + moved) / busbw);
        n = nccl_add(text, sizeof text, n, bytes, s, traffic);
    }
    opt.nccl = write_text("nccl.txt", text);
    if (ss_calibrate(&opt, &c, &err)) {
        fprintf(stderr, "%s\n", err.message);
        CU_FAIL_FATAL("no calibration");
    }
    CU_ASSERT_EQUAL(c->nprops, 2);
    CU_ASSERT_STRING_EQUAL(c->props[0].id, "ss.fabric.efficiency");
    CU_ASSERT_DOUBLE_EQUAL(c->props[0].after, 0.75, 5e-3);
    CU_ASSERT_STRING_EQUAL(c->props[1].id, "ss.fabric.half_size");
    CU_ASSERT_DOUBLE_EQUAL(c->props[1].after, 4e6, 4e5);
    CU_ASSERT(c->notes.n == 1 && strstr(c->notes.text[0], "under 1 MiB"));
    ss_calibration_free(c);
}

/* All-reduces within a node of a card whose switch sums, as the curve of the card itself says with other numbers. */
TEST(fits_nvls)
{
    char text[4096];
    struct ss_calibrate_options opt = {.platform = "h800", .nccl_nodes = 1};
    struct ss_calibration *c;
    struct ss_platform_options none = {0};
    struct ss_platform *p;
    struct ss_error err = {0};
    struct ss_group_shape node = {.n = 8, .nodes = 1, .per_node = 8};
    struct ss_net net;
    int n = nccl_begin(text, sizeof text, "all_reduce");

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h800", &none, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_platform_set(p, "ss.nvls.efficiency", "0.8", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_platform_set(p, "ss.nvls.latency", "15us", NULL), 0);
    ss_net_init(&net, p);
    for (double bytes = 1048576; bytes < 5e9; bytes *= 2) {
        double s = ss_collective_seconds(&net, SS_COLL_ALL_REDUCE, bytes, &node);
        n = nccl_add(text, sizeof text, n, bytes, s, 1.75 * bytes);
    }
    opt.nccl = write_text("nccl.txt", text);
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, &err), 0);
    CU_ASSERT_EQUAL_FATAL(c->nprops, 4);
    CU_ASSERT_STRING_EQUAL(c->props[2].id, "ss.nvls.efficiency");
    CU_ASSERT_DOUBLE_EQUAL(c->props[2].after, 0.8, 5e-3);
    CU_ASSERT_STRING_EQUAL(c->props[3].id, "ss.nvls.latency");
    CU_ASSERT_DOUBLE_EQUAL(c->props[3].after, 15e-6, 1e-6);
    CU_ASSERT(c->after.worst_abs < 0.5);
    ss_calibration_free(c);
    /* Slower than any ring that leaves the switch's numbers as they are: these say no more than "not used". */
    n = nccl_begin(text, sizeof text, "all_reduce");
    CU_ASSERT_EQUAL_FATAL(ss_platform_set(p, "ss.nvls.efficiency", "0", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_platform_set(p, "ss.fabric.efficiency", "0.75", NULL), 0);
    ss_net_init(&net, p);
    for (double bytes = 1048576; bytes < 5e9; bytes *= 2)
        n = nccl_add(text, sizeof text, n, bytes,
                     ss_collective_seconds(&net, SS_COLL_ALL_REDUCE, bytes, &node), 1.75 * bytes);
    opt.nccl = write_text("nccl.txt", text);
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, &err), 0);
    CU_ASSERT(c->before.worst_abs > 15);
    CU_ASSERT(c->after.worst_abs < 1);
    CU_ASSERT(c->props[0].determined);
    CU_ASSERT(!c->props[2].determined && c->props[2].after < c->props[2].before);
    ss_calibration_free(c);
    ss_platform_free(p);
}

/* ---- training logs ---- */

static const char train[] = "time (ms) | model-and-optimizer-setup: 294.00 | data: 3654.81\n"
                            " iteration        1/     100 | consumed samples:  128 | elapsed time per "
                            "iteration (ms): 15630.1 | throughput per GPU "
                            "(TFLOP/s/GPU): 80.0 | global batch size:   128 |\n"
                            "[Rank 1] (after 1 iterations) memory (MB) | allocated: 54250.9 | max allocated: "
                            "54251.5 | reserved: 61480.0 | max reserved: 61490.0\n"
                            "[Rank 0] (after 1 iterations) memory (MB) | allocated: 50000.0 | max allocated: "
                            "54000.0 | reserved: 61000.0 | max reserved: 61480.0\n"
                            " [2024-04-06 02:55:45] iteration        2/     100 | elapsed time per iteration "
                            "(ms): 5630.1 | throughput per GPU "
                            "(TFLOP/s/GPU): 231.9 | global batch size:   128 | lm loss: 2.0E+00 |\n"
                            "    (min, max) time across ranks (ms):\n"
                            "    forward-backward ...............................: (5000.25, 5100.75)\n"
                            "    optimizer ......................................: (48.93, 50.00)\n"
                            " [2024-04-06 02:55:50] iteration        3/     100 | elapsed time per iteration "
                            "(ms): 5410.6 | throughput per GPU "
                            "(TFLOP/s/GPU): 241.4 | global batch size:   128 |\n"
                            " [2024-04-06 02:55:55] iteration        4/     100 | elapsed time per iteration "
                            "(ms): 5364.1/5400.0 | throughput per GPU "
                            "(TFLOP/s/GPU): 243.5 | global batch size:   128 |\n"
                            "time (ms) | forward-compute: 193.77 | backward-compute: 73.02\n";

static double timer(const struct ss_train_log *log, const char *name)
{
    for (int i = 0; i < log->ntimers; i++)
        if (!strcmp(log->timers[i].name, name))
            return log->timers[i].seconds;
    return -1;
}

/* What --timing-log-option max and all print, behind the labels of launchers; medians without the first. */
static void check_timer_forms(void)
{
    static const char text[] = " 3: iteration 1/ 9 | elapsed time per iteration (ms): 100.0 |\n"
                               " 3: max time across ranks (ms):\n"
                               " 3:     forward-compute ................................: 90.00\n"
                               "[rank0]:iteration 2/ 9 | elapsed time per iteration (ms): 100.0 |\n"
                               "[rank0]:max time across ranks (ms):\n"
                               "[rank0]:    forward-compute ................................: 40.00\n"
                               "[default7]:max time across ranks (ms):\n"
                               "[default7]:    forward-compute ................................: 50.00\n"
                               "times across ranks (ms):\n"
                               "  backward-compute:\n"
                               "     rank  0: 20.00\n"
                               "     rank  1: 30.00\n"
                               "     rank 10: 25.00\n"
                               "  optimizer:\n"
                               "iteration 3/ 9 | elapsed time per iteration (ms): 100.0 |\n"
                               "     rank 11: 99.00\n";
    struct ss_train_log *log;

    CU_ASSERT_EQUAL_FATAL(ss_train_log_parse(text, strlen(text), "t.log", &log, NULL), 0);
    CU_ASSERT_EQUAL(log->iterations, 3);
    CU_ASSERT_EQUAL(log->ntimers, 2);
    CU_ASSERT_DOUBLE_EQUAL(timer(log, "forward-compute"), 0.045, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(timer(log, "backward-compute"), 0.030, 1e-9);
    ss_train_log_free(log);
}

TEST(train_log)
{
    struct ss_train_log *log;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_train_log_parse(train, strlen(train), "t.log", &log, &err), 0);
    CU_ASSERT_EQUAL(log->iterations, 4);
    CU_ASSERT_EQUAL(log->used, 3);
    CU_ASSERT_DOUBLE_EQUAL(log->seconds, 5.4106, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(log->tflops, 241.4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(log->allocated, 54251.5 * 1048576, 1);
    CU_ASSERT_DOUBLE_EQUAL(log->reserved, 61490.0 * 1048576, 1);
    CU_ASSERT_EQUAL(log->global_batch, 128);
    CU_ASSERT_DOUBLE_EQUAL(timer(log, "forward-backward"), 5.10075, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(timer(log, "optimizer"), 0.05, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(timer(log, "backward-compute"), 0.07302, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(timer(log, "data"), 3.65481, 1e-9);
    ss_train_log_free(log);
    check_timer_forms();
    CU_ASSERT_EQUAL(ss_train_log_parse("nothing\n", 8, "t.log", &log, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.file, "t.log");
}

/* The log's timers that are predicted, and of them in the fit those of a hundredth of the iteration or more. */
static void check_timers(const struct ss_calibration *c, int fitted)
{
    static const struct {
        const char *name;
        double ms;
        int large;
    } known[] = {{"forward-backward", 5100.75, 1},
                 {"optimizer", 50, 0},
                 {"forward-compute", 193.77, 1},
                 {"backward-compute", 73.02, 1}};

    for (int i = 0; i < 4; i++) {
        const struct ss_fit_row *row = &c->rows[1 + i];
        CU_ASSERT_STRING_EQUAL(row->id, known[i].name);
        CU_ASSERT_STRING_EQUAL(row->kind, "timer");
        CU_ASSERT_DOUBLE_EQUAL(row->measured, known[i].ms / 1e3, 1e-9);
        CU_ASSERT(row->before > 0 && row->after > 0);
        CU_ASSERT_EQUAL(row->fitted, fitted && known[i].large);
    }
}

TEST(fits_log)
{
    char log[256], job[256];
    struct ss_calibrate_options opt = {.platform = "h800"};
    struct ss_calibration *c;
    struct ss_error err = {0};

    snprintf(log, sizeof log, "%s", write_text("t.log", train));
    snprintf(job, sizeof job, "%s",
             write_text("t.args", "--nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --mbs 1 --gbs 128\n"
                                  "--seq 4096 --sequence-parallel --use-distributed-optimizer\n"));
    opt.log = log;
    opt.job = job;
    if (ss_calibrate(&opt, &c, &err)) {
        fprintf(stderr, "%s\n", err.message);
        CU_FAIL_FATAL("no calibration");
    }
    CU_ASSERT_EQUAL_FATAL(c->nrows, 5);
    CU_ASSERT_DOUBLE_EQUAL(c->rows[0].measured, 5.4106, 1e-9);
    CU_ASSERT_EQUAL(c->after.n, 1);
    check_timers(c, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(c->notes.text[c->notes.n - 1], "not predicted: model-and-optimizer-setup, data"));
    CU_ASSERT_STRING_EQUAL(c->props[0].id, "ss.gemm.efficiency.bf16");
    ss_calibration_free(c);
    opt.fit_timers = 1;
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, &err), 0);
    CU_ASSERT_EQUAL_FATAL(c->nrows, 5);
    CU_ASSERT_EQUAL(c->after.n, 4);
    check_timers(c, 1);
    ss_calibration_free(c);
    snprintf(job, sizeof job, "%s",
             write_text("t.args", "--nodes 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 256 --seq 4096\n"));
    CU_ASSERT_EQUAL(ss_calibrate(&opt, &c, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "global batch size 128, but 256"));
    opt.job = NULL;
    CU_ASSERT_EQUAL(ss_calibrate(&opt, &c, &err), SS_ERR_USAGE);
}

SUITE(calibrate)
{
    static const char *const files[] = {"hidden.xml", "hidden.csv", "rows.csv", "fitted.xml",
                                        "mine.xml",   "nccl.txt",   "t.log",    "t.args"};
    if (!mkdtemp(folder))
        return 2;
    int bad = suite_file(argv[0], NULL, NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    return bad;
}
