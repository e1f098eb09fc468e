/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about many jobs: the values of a flag, numbers of nodes, and the layouts that a search finds. */
#include "base/base.h"
#include "serve/answer.h"
#include "stepsim/capacity.h"
#include "stepsim/nearest.h"
#include "stepsim/sweep.h"

/* ---- one flag at all its values ---- */

/* Checks each varied value as a word of the job is checked. */
static int check_varied(const struct ss_question *q, const struct ss_sweep *s, struct ss_error *err)
{
    for (int f = 0; f < s->nflags; f++)
        for (int i = 0; i < s->flags[f].nvalues; i++) {
            SS_TRY(ss_serve_check(q->page, s->flags[f].name, s->flags[f].value[i], err));
        }
    return SS_OK;
}

static int write_rows(const struct ss_question *q, struct ss_sweep *s, struct ss_error *err)
{
    return q->form == SS_ANSWER_CSV   ? ss_sweep_write_csv(s, q->out, err)
           : q->form == SS_ANSWER_SVG ? ss_sweep_write_svg(s, 0, q->out, err)
                                      : ss_sweep_write(s, &(struct ss_display){.json = 1}, q->out, err);
}

static int predict_rows(const struct ss_question *q, struct ss_sweep *s, struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    int total = ss_sweep_size(s, SS_SERVE_ROWS), rc = SS_OK;

    if (!total)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d combinations", SS_SERVE_ROWS);
    s->rows = ss_calloc((size_t)total, sizeof *s->rows);
    SS_NEED(s->rows, err);
    for (int i = 0; i < total && !rc; i++) {
        rc = ss_sweep_predict(s, i, &q->job, &how, &q->how, &s->rows[i], err);
        s->nrows += !rc;
    }
    struct ss_notes warnings = {0};
    SS_THEN(rc, ss_sweep_warnings(s, &q->job, &how, &warnings, err));
    s->warnings = &warnings;
    SS_THEN(rc, write_rows(q, s, err));
    s->warnings = NULL;
    ss_notes_free(&warnings);
    return rc;
}

int ss_answer_sweep(struct ss_question *q, struct ss_error *err)
{
    const char *vary = ss_question_argument(q, "vary");
    struct ss_sweep *s = ss_calloc(1, sizeof *s);

    SS_NEED(s, err);
    int rc = vary ? ss_sweep_vary(s, vary, err) : ss_question_lacks(q, "vary", err);
    SS_THEN(rc, check_varied(q, s, err));
    SS_THEN(rc, ss_sweep_check(s, &q->job, err));
    SS_THEN(rc, predict_rows(q, s, err));
    free(s->rows);
    free(s);
    return rc;
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

int ss_answer_nodes(struct ss_question *q, struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const char *tokens = ss_question_argument(q, "tokens"), *list = ss_question_argument(q, "nodes");
    struct ss_capacity_options options = {
        .layout = SS_CAPACITY_GIVEN, .how = &how, .run = &q->how, .workers = {.n = 1}};
    struct ss_capacity *plan = NULL;

    SS_TRY(tokens ? ss_capacity_read_tokens(tokens, &options.tokens, err)
                  : ss_question_lacks(q, "tokens", err));
    SS_TRY(list ? put_nodes(&q->job, list, err) : ss_question_lacks(q, "nodes", err));
    SS_TRY(ss_capacity_run(&q->job, &options, &plan, err));
    int rc = ss_capacity_write(plan, q->form == SS_ANSWER_CSV ? SS_CAPACITY_CSV : SS_CAPACITY_JSON, NULL,
                               q->out, err);
    ss_capacity_free(plan);
    return rc;
}

/* ---- other layouts ---- */

static int layout(struct ss_question *q,
                  int (*find)(const struct ss_request *base, const struct ss_nearest_options *options,
                              struct ss_nearest *out, struct ss_error *err),
                  struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const struct ss_nearest_options options = {.how = &how, .run = &q->how};
    struct ss_nearest found = {0};
    int rc = find(&q->job, &options, &found, err);

    SS_THEN(rc, ss_nearest_write(&found, q->out, err));
    ss_nearest_free(&found);
    return rc;
}

int ss_answer_nearest(struct ss_question *q, struct ss_error *err)
{
    return layout(q, ss_nearest_find, err);
}

int ss_answer_fastest(struct ss_question *q, struct ss_error *err)
{
    return layout(q, ss_nearest_fastest, err);
}
