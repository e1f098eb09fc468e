/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about many jobs: the values of a flag, numbers of nodes, and the layouts that a search finds. */
#include "base/base.h"
#include "serve/answer.h"
#include "stepsim/capacity.h"
#include "stepsim/nearest.h"
#include "stepsim/sweep.h"

/* ---- one flag at all its values ---- */

enum form { AS_JSON, AS_CSV, AS_SVG };

/* Checks each varied value as a word of the job is checked. */
static int check_varied(const struct ss_question *q, const struct ss_sweep *s, struct ss_error *err)
{
    for (int f = 0; f < s->nflags; f++)
        for (int i = 0; i < s->flags[f].nvalues; i++) {
            SS_TRY(ss_serve_check(q->page, s->flags[f].name, s->flags[f].value[i], err));
        }
    return SS_OK;
}

static int write_rows(struct ss_sweep *s, enum form form, FILE *out, struct ss_error *err)
{
    return form == AS_CSV   ? ss_sweep_write_csv(s, out, err)
           : form == AS_SVG ? ss_sweep_write_svg(s, 0, out, err)
                            : ss_sweep_write(s, &(struct ss_display){.json = 1}, out, err);
}

static int predict_rows(const struct ss_question *q, struct ss_sweep *s, const struct ss_request *base,
                        enum form form, FILE *out, struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const struct ss_run_options options = ss_question_options(q);
    int total = ss_sweep_size(s, SS_SERVE_ROWS), rc = SS_OK;

    if (!total)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d combinations", SS_SERVE_ROWS);
    s->rows = ss_calloc((size_t)total, sizeof *s->rows);
    SS_NEED(s->rows, err);
    for (int i = 0; i < total && !rc; i++) {
        rc = ss_sweep_predict(s, i, base, &how, &options, &s->rows[i], err);
        s->nrows += !rc;
    }
    struct ss_notes warnings = {0};
    SS_THEN(rc, ss_sweep_warnings(s, base, &how, &warnings, err));
    s->warnings = &warnings;
    SS_THEN(rc, write_rows(s, form, out, err));
    s->warnings = NULL;
    ss_notes_free(&warnings);
    return rc;
}

static int sweep(const struct ss_question *q, enum form form, FILE *out, int *status, struct ss_error *err)
{
    const char *vary = ss_question_argument(q, "vary");
    struct ss_sweep *s = ss_calloc(1, sizeof *s);
    struct ss_request base;
    int rc = ss_question_job(q, status, &base, err);

    if (!rc && !s)
        rc = ss_nomem(err);
    SS_THEN(rc, vary ? ss_sweep_vary(s, vary, err) : ss_question_lacks(status, "vary", err));
    SS_THEN(rc, check_varied(q, s, err));
    SS_THEN(rc, ss_sweep_check(s, &base, err));
    SS_THEN(rc, predict_rows(q, s, &base, form, out, err));
    if (s)
        free(s->rows);
    free(s);
    ss_request_free(&base);
    return rc;
}

int ss_answer_sweep(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return sweep(q, AS_JSON, out, status, err);
}

int ss_answer_sweep_csv(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return sweep(q, AS_CSV, out, status, err);
}

int ss_answer_sweep_svg(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return sweep(q, AS_SVG, out, status, err);
}

/* ---- 8 or 16 nodes? ---- */

/* Puts the numbers of nodes into the request, at most SS_SERVE_ROWS of them. */
static int put_nodes(struct ss_request *r, const char *nodes, struct ss_error *err)
{
    int commas = 0;

    for (const char *p = nodes; *p; p++)
        commas += *p == ',';
    if (strspn(nodes, "0123456789,") != strlen(nodes) || commas >= SS_SERVE_ROWS)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "nodes=%.60s: not a list of at most %d numbers", nodes,
                       SS_SERVE_ROWS);
    ss_request_drop(r, "--gpus");
    ss_request_drop(r, "--nodes");
    return ss_request_set(r, "--nodes", nodes, err);
}

static int nodes(const struct ss_question *q, enum ss_capacity_form form, FILE *out, int *status,
                 struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const struct ss_run_options run = ss_question_options(q);
    const char *tokens = ss_question_argument(q, "tokens"), *list = ss_question_argument(q, "nodes");
    struct ss_capacity_options options = {
        .layout = SS_CAPACITY_GIVEN, .how = &how, .run = &run, .workers = {.n = 1}};
    struct ss_capacity *plan = NULL;
    struct ss_request r;
    int rc = ss_question_job(q, status, &r, err);

    SS_THEN(rc, tokens ? ss_capacity_read_tokens(tokens, &options.tokens, err)
                       : ss_question_lacks(status, "tokens", err));
    SS_THEN(rc, list ? put_nodes(&r, list, err) : ss_question_lacks(status, "nodes", err));
    SS_THEN(rc, ss_capacity_run(&r, &options, &plan, err));
    SS_THEN(rc, ss_capacity_write(plan, form, NULL, out, err));
    ss_capacity_free(plan);
    ss_request_free(&r);
    return rc;
}

int ss_answer_nodes(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return nodes(q, SS_CAPACITY_JSON, out, status, err);
}

int ss_answer_nodes_csv(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return nodes(q, SS_CAPACITY_CSV, out, status, err);
}

/* ---- other layouts ---- */

static int layout(const struct ss_question *q,
                  int (*find)(const struct ss_request *base, const struct ss_nearest_options *options,
                              struct ss_nearest *out, struct ss_error *err),
                  FILE *out, int *status, struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const struct ss_run_options run = ss_question_options(q);
    const struct ss_nearest_options options = {.how = &how, .run = &run};
    struct ss_nearest found = {0};
    struct ss_request r;
    int rc = ss_question_job(q, status, &r, err);

    SS_THEN(rc, find(&r, &options, &found, err));
    SS_THEN(rc, ss_nearest_write(&found, out, err));
    ss_nearest_free(&found);
    ss_request_free(&r);
    return rc;
}

int ss_answer_nearest(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return layout(q, ss_nearest_find, out, status, err);
}

int ss_answer_fastest(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    return layout(q, ss_nearest_fastest, out, status, err);
}
