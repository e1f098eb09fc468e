/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about one job: each is what a command would print. */
#include "ask/ask.h"
#include "base/base.h"
#include "serve/answer.h"
#include "stepsim/assumed.h"
#include "stepsim/explain.h"
#include "stepsim/pictures.h"

static int build(const struct ss_question *q, int *status, struct ss_scenario **out, struct ss_error *err)
{
    struct ss_request r;
    int rc = ss_question_job(q, status, &r, err);

    SS_THEN(rc, ss_shelf_build(q->shelf, &r, NULL, out, err));
    ss_request_free(&r);
    return rc;
}

int ss_answer_run(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    const struct ss_run_options options = ss_question_options(q);
    struct ss_scenario *s = NULL;
    int fits, rc = build(q, status, &s, err);

    SS_THEN(rc, ss_ask_write_run(s, &options, NULL, NULL, &fits, out, err));
    ss_scenario_free(s);
    return rc;
}

/* Draws the Gantt chart, or the whole report. */
static int draw(const struct ss_question *q, int whole, FILE *out, int *status, struct ss_error *err)
{
    struct ss_run_options options = ss_question_options(q);
    struct ss_picture_request picture = {.gantt = whole ? NULL : out, .report = whole ? out : NULL};
    struct ss_report_options report;
    struct ss_smallest smallest = {0};
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    struct ss_fix fixes[3];
    int rc = build(q, status, &s, err);

    options.open_compute = whole;
    SS_THEN(rc, whole ? ss_run_weighed(s, &options, &run, err) : ss_run_scenario(s, &options, &run, err));
    if (!rc && whole) {
        report = ss_report_of(s);
        report.fixes = fixes;
        picture.options = &report;
        if (!run.result->fits) {
            rc = ss_fixes_find(s, &options, fixes, &report.nfixes, err);
            ss_smallest_find(s, options.cache, &smallest);
            report.smallest = &smallest;
        }
    }
    picture.run = &run;
    SS_THEN(rc, ss_pictures_draw(run.program, run.timeline, SS_ENGINE_NATIVE, &picture, err));
    ss_run_free(&run);
    ss_scenario_free(s);
    return rc;
}

int ss_answer_timeline(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return draw(q, 0, out, status, err);
}

int ss_answer_report(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return draw(q, 1, out, status, err);
}

int ss_answer_explain(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    struct ss_explanation *x = ss_calloc(1, sizeof *x);
    struct ss_run_options options = ss_question_options(q);
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    int rc = x ? build(q, status, &s, err) : ss_nomem(err);

    options.open_compute = 1;
    SS_THEN(rc, ss_run_weighed(s, &options, &run, err));
    SS_THEN(rc, ss_explain(&run, &options, x, err));
    SS_THEN(rc, ss_explanation_write(x, &run, &(struct ss_display){.json = 1}, out, err));
    ss_run_free(&run);
    ss_scenario_free(s);
    free(x);
    return rc;
}

int ss_answer_args(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    struct ss_request r;
    int rc = ss_question_job(q, status, &r, err);

    for (size_t i = 0; i < r.n && !rc;) {
        size_t span = ss_request_span(&r, i);
        for (size_t k = 0; k < span; k++)
            fprintf(out, "%s%s", k ? " " : "", r.word[i + k].text);
        fputc('\n', out);
        i += span;
    }
    ss_request_free(&r);
    return rc;
}
