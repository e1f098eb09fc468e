/* SPDX-License-Identifier: Apache-2.0 */
/* What the addresses of the page share. */
#pragma once

#include "serve/page.h"
#include "stepsim/result.h"

enum { OK = 200, WRONG_ARGUMENT = 400, NOT_FOUND = 404, REFUSED = 422, FAILED = 500 };

struct ss_question {
    const struct ss_serve *page;
    const struct ss_serve_argument *arguments;
    int n;
    struct ss_shelf *shelf; /* NULL: an address without arguments */
    int form;               /* of the row of the address */
    struct ss_request job;
    struct ss_scenario *scenario; /* of the job, where the row asks for it */
    struct ss_run run;            /* freed with the question */
    struct ss_run_options how;    /* on the native engine, whatever level the answer needs */
    FILE *out;
    int status; /* of the answer, which begins as OK */
};

/* ---- question.c ---- */
/* Returns the value of an argument; NULL: the address lacks it. */
const char *ss_question_argument(const struct ss_question *q, const char *name);
/* Tells that an argument is missing. */
int ss_question_lacks(struct ss_question *q, const char *name, struct ss_error *err);
/* Reads the words of the job. */
int ss_question_job(struct ss_question *q, struct ss_error *err);

/* Writes an answer. */
typedef int ss_answer(struct ss_question *q, struct ss_error *err);
/* ---- answers_job.c ---- */
/* One job. */
ss_answer ss_answer_run, ss_answer_timeline, ss_answer_report, ss_answer_explain, ss_answer_args;
/* Many jobs. */
enum ss_answer_form { SS_ANSWER_JSON, SS_ANSWER_CSV, SS_ANSWER_SVG };
ss_answer ss_answer_sweep, ss_answer_nodes, ss_answer_nearest, ss_answer_fastest;
/* A text that was pasted. */
ss_answer ss_answer_import;
