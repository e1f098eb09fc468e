/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about one job: each is what a command would print. */
#include "ask/ask.h"
#include "base/base.h"
#include "serve/answer.h"
#include "stepsim/assumed.h"
#include "stepsim/explain.h"
#include "stepsim/pictures.h"

int ss_answer_run(struct ss_question *q, struct ss_error *err)
{
    int fits;

    return ss_ask_write_run(q->scenario, &q->how, NULL, NULL, &fits, q->out, err);
}

int ss_answer_timeline(struct ss_question *q, struct ss_error *err)
{
    const struct ss_picture_request picture = {.gantt = q->out, .run = &q->run};

    SS_TRY(ss_run_scenario(q->scenario, &q->how, &q->run, err));
    return ss_pictures_draw(q->run.program, q->run.timeline, SS_ENGINE_NATIVE, &picture, err);
}

int ss_answer_report(struct ss_question *q, struct ss_error *err)
{
    struct ss_report_options report = ss_report_of(q->scenario);
    const struct ss_picture_request picture = {.report = q->out, .run = &q->run, .options = &report};
    struct ss_smallest smallest = {0};
    struct ss_fix fixes[3];

    q->how.open_compute = 1;
    report.fixes = fixes;
    SS_TRY(ss_run_weighed(q->scenario, &q->how, &q->run, err));
    if (!q->run.result->fits) {
        SS_TRY(ss_fixes_find(q->scenario, &q->how, fixes, &report.nfixes, err));
        ss_smallest_find(q->scenario, q->how.cache, &smallest);
        report.smallest = &smallest;
    }
    return ss_pictures_draw(q->run.program, q->run.timeline, SS_ENGINE_NATIVE, &picture, err);
}

int ss_answer_explain(struct ss_question *q, struct ss_error *err)
{
    struct ss_explanation *x = ss_calloc(1, sizeof *x);

    SS_NEED(x, err);
    q->how.open_compute = 1;
    int rc = ss_run_weighed(q->scenario, &q->how, &q->run, err);
    SS_THEN(rc, ss_explain(&q->run, &q->how, x, err));
    SS_THEN(rc, ss_explanation_write(x, &q->run, &(struct ss_display){.json = 1}, q->out, err));
    free(x);
    return rc;
}

int ss_answer_args(struct ss_question *q, struct ss_error *err)
{
    (void)err;
    for (size_t i = 0; i < q->job.n;) {
        size_t span = ss_request_span(&q->job, i);
        for (size_t k = 0; k < span; k++)
            fprintf(q->out, "%s%s", k ? " " : "", q->job.word[i + k].text);
        fputc('\n', q->out);
        i += span;
    }
    return SS_OK;
}
