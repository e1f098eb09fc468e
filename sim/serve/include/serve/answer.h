/* SPDX-License-Identifier: Apache-2.0 */
/* What the addresses of the page share. */
#pragma once

#include <stdio.h>

#include "serve/page.h"
#include "stepsim/result.h"

enum { OK = 200, WRONG_ARGUMENT = 400, NOT_FOUND = 404, REFUSED = 422, FAILED = 500 };

struct ss_question {
    const struct ss_serve *page;
    const struct ss_serve_argument *arguments;
    int n;
    struct ss_shelf *shelf; /* NULL: an address without arguments */
};

/* ---- question.c ---- */
/* Returns the value of an argument; NULL: the address lacks it. */
const char *ss_question_argument(const struct ss_question *q, const char *name);
/* Tells that an argument is missing. */
int ss_question_lacks(int *status, const char *name, struct ss_error *err);
/* Reads the words of the job; the caller frees *r also after an error. */
int ss_question_job(const struct ss_question *q, int *status, struct ss_request *r, struct ss_error *err);
/* Returns how a page simulates: on the native engine, whatever level the answer needs. */
struct ss_run_options ss_question_options(const struct ss_question *q);

/* ---- kept.c ---- */
/* Fills *reply with a copy of an earlier answer to the same question; returns 0 where there is none. */
int ss_answer_recall(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                     int n, struct ss_serve_reply *reply);
/* Keeps a copy of an answer. */
void ss_answer_keep(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                    int n, const struct ss_serve_reply *reply);

/* Writes an answer; *status begins as OK. */
typedef int ss_answer(const struct ss_question *q, FILE *out, int *status, struct ss_error *err);
/* ---- answers_job.c: one job ---- */
ss_answer ss_answer_run, ss_answer_timeline, ss_answer_report, ss_answer_explain, ss_answer_args;
/* ---- answers_many.c: many jobs ---- */
ss_answer ss_answer_sweep, ss_answer_sweep_csv, ss_answer_sweep_svg, ss_answer_nodes, ss_answer_nodes_csv,
    ss_answer_nearest, ss_answer_fastest;

/* ---- answers_text.c: a text that was pasted ---- */
ss_answer ss_answer_import;
