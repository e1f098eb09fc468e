/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured timers: read, held against predictions by validate, fitted by calibrate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/study_internal.h"
#include "suite.h"

#define RUNS                                                                                                 \
    "id,platform,stack,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,iteration_ms,"        \
    "quality\n"                                                                                              \
    "mine,v100,megatron-2021,4,gpt2-7.5b,fp16,4,4,1,4,512,400,ok\n"                                          \
    "other,v100,megatron-2021,2,gpt2-7.5b,fp16,4,2,1,4,512,400,ok\n"

static char runs[] = "/tmp/stepsim-runs-XXXXXX", timers[] = "/tmp/stepsim-timers-XXXXXX";

static void write_to(char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

static int parse(const char *text, struct ss_timer_rows *t, struct ss_error *err)
{
    memset(err, 0, sizeof *err);
    return ss_timer_rows_parse(text, strlen(text), "t.csv", t, err);
}

TEST(reads)
{
    struct ss_timer_rows t;
    struct ss_error err;
    CU_ASSERT_EQUAL_FATAL(
        parse("note,ms,timer,run\n,38.38,forward-recv,mine\n,1e2,optimizer,other\n", &t, &err), 0);
    CU_ASSERT_EQUAL(t.n, 2);
    CU_ASSERT_STRING_EQUAL(t.rows[0].run, "mine");
    CU_ASSERT_STRING_EQUAL(t.rows[0].timer.name, "forward-recv");
    CU_ASSERT_DOUBLE_EQUAL(t.rows[0].timer.seconds, 0.03838, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(t.rows[1].timer.seconds, 0.1, 1e-12);
    CU_ASSERT_EQUAL(t.rows[1].line, 3);
    ss_timer_rows_free(&t);
}

TEST(mistakes)
{
    static const struct {
        const char *text, *message;
        int line;
    } rows[] = {{"run,timer\nmine,optimizer\n", "no column \"ms\"", 1},
                {"run,timer,ms\nmine,optimizer,fast\n", "ms cannot be \"fast\"", 2},
                {"run,timer,ms\nmine,optimizer,1\nmine,data,0\n", "ms cannot be \"0\"", 3},
                {"run,timer,ms\nmine,optimizer,1\nmine,data,2\nmine,optimizer,3\n",
                 "optimizer of mine is in line 2", 4},
                {"run,timer,ms\n", "no rows", 0},
                {"run,timer,ms\nmine,optimizer,nan\n", "ms cannot be", 2},
                {"run,timer,ms\nmine,,1\n", "needs a run and a timer", 2},
                {"run,timer,ms\n,optimizer,1\n", "needs a run and a timer", 2}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_timer_rows t;
        struct ss_error err;
        CU_ASSERT_EQUAL(parse(rows[i].text, &t, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "t.csv");
        CU_ASSERT_EQUAL(err.line, rows[i].line);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
    }
}

/* Measured beside predicted; one that is not simulated, and one of a run that the table lacks, have no error. */
TEST(validates)
{
    const char *tables[] = {runs};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE, .timer_rows = timers};
    struct ss_validation *v;
    write_to(runs, RUNS);
    write_to(timers, "run,timer,ms\nmine,forward-compute,50\nother,forward-compute,50\nmine,data,10\n"
                     "mine,optimizer,40\nmine,backward-send,0.3\nnobody,optimizer,40\n");
    CU_ASSERT_EQUAL_FATAL(ss_validate(tables, 1, &opt, &v, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(v->ntimers, 6);
    CU_ASSERT(v->timers[0].predicted_s > 0 && v->timers[3].predicted_s > 0 && v->timers[4].predicted_s > 0);
    CU_ASSERT(v->timers[1].predicted_s > v->timers[0].predicted_s); /* half as many stages */
    CU_ASSERT(isnan(v->timers[2].predicted_s) && isnan(v->timers[5].predicted_s));
    CU_ASSERT_DOUBLE_EQUAL(ss_validation_timer_error(&v->timers[0]),
                           100 * (v->timers[0].predicted_s / 0.05 - 1), 1e-9);
    CU_ASSERT_EQUAL(v->timer_error.n, 3); /* backward-send is under a hundredth */
    CU_ASSERT(v->notes.n > 0 &&
              strstr(v->notes.text[v->notes.n - 1], "timers of \"nobody\", which is no run"));
    double worst = 0;
    for (int i = 0; i < 4; i++)
        if (i != 2)
            worst = fmax(worst, fabs(ss_validation_timer_error(&v->timers[i])));
    CU_ASSERT_DOUBLE_EQUAL(v->timer_error.worst_abs, worst, 1e-9);
    ss_validation_free(v);
    opt.timer_rows = "/nowhere.csv";
    CU_ASSERT_NOT_EQUAL(ss_validate(tables, 1, &opt, &v, NULL), 0);
}

/* Timers are shown, or count beside the times; what is not simulated is named. */
TEST(fits)
{
    const char *tables[] = {runs};
    struct ss_calibrate_options opt = {.platform = "v100",
                                       .stack = "megatron-2021",
                                       .ntables = 1,
                                       .tables = tables,
                                       .timer_rows = timers,
                                       .nprops = 1};
    struct ss_calibration *c;
    int shown = 0;
    write_to(runs, RUNS);
    write_to(timers,
             "run,timer,ms\nmine,optimizer,60\nmine,data,10\nother,backward-send,0.01\nnobody,data,1\n");
    CU_ASSERT_EQUAL_FATAL(ss_fit_prop_parse("ss.optimizer.host_operators=0:8", &opt.props[0], NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, NULL), 0);
    CU_ASSERT_EQUAL(c->after.n, 2);
    for (int i = 0; i < c->nrows; i++)
        shown += !strcmp(c->rows[i].kind, "timer") && !c->rows[i].fitted;
    CU_ASSERT_EQUAL(shown, 2);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(c->notes.text[c->notes.n - 2], "mine: timers that are not predicted: data"));
    CU_ASSERT_PTR_NOT_NULL(strstr(c->notes.text[c->notes.n - 1], "timers of \"nobody\", which is no run"));
    ss_calibration_free(c);
    opt.fit_timers = 1;
    CU_ASSERT_EQUAL_FATAL(ss_calibrate(&opt, &c, NULL), 0);
    CU_ASSERT_EQUAL(c->after.n, 3);
    ss_calibration_free(c);
}

/* Whoever wants no message gets the status alone. */
TEST(no_message)
{
    const char *tables[] = {runs};
    struct ss_validate_options opt = {.engine = SS_ENGINE_NATIVE};
    struct ss_validation *v;
    write_to(runs, "id,platform,nodes,model,precision,micro_batch,global_batch,seq_length\n"
                   "mine,v1000,4,gpt2-7.5b,fp16,1,16,512\n");
    CU_ASSERT_EQUAL(ss_validate(tables, 1, &opt, &v, NULL), SS_ERR_IO);
}

SUITE(timer_rows)
{
    int a = mkstemp(runs), b = mkstemp(timers);
    if (a < 0 || b < 0)
        return 2;
    close(a);
    close(b);
    int bad = suite_file(argv[0], NULL, NULL);
    unlink(runs);
    unlink(timers);
    return bad;
}
