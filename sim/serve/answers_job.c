/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about one job: each is what a command would print. */
#include "ask/ask.h"
#include "decide/search_internal.h"
#include "report/common.h"
#include "serve/answer.h"
#include "stepsim/assumed.h"
#include "stepsim/flags.h"
#include "stepsim/nearest.h"
#include "stepsim/paste.h"

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

/* ---- many jobs ---- */

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
    SS_FREE(s->rows, s);
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

/* ---- a text that was pasted ---- */

/* Flags of the page's job that a text without them keeps: what is trained where, on what. */
static const char *const kept[] = {"--platform", "--nodes", "--model", "--seq", "--mbs", "--gbs", "--stack"};

/* Adds what the text does not say from the job of the page, of a model its words without another model's. */
static int complete(struct ss_request *r, const struct ss_request *job, struct ss_error *err)
{
    const int alone = r->n == 2 && !strcmp(r->word[0].text, "--model-config");
    int rc = SS_OK;

    for (size_t i = 0; i < job->n && !rc;) {
        size_t n = ss_request_span(job, i);
        const char *flag = job->word[i].text;
        int wanted = alone && strncmp(flag, "--model", 7) != 0;
        for (size_t k = 0; k < SS_ARRAY_LEN(kept); k++)
            wanted |=
                ss_flag_same(flag, kept[k]) &&
                (strcmp(kept[k], "--model") != 0 || !ss_find_gives(r, "--model --model-config --num-layers"));
        if (wanted && flag[0] == '-' && ss_request_find(r, flag) == r->n)
            for (size_t k = 0; k < n && !rc; k++)
                rc = ss_request_set(r, job->word[i + k].text, NULL, err);
        i += n;
    }
    return rc;
}

/* Returns a note without the folders before the file's name that it begins with. */
static const char *without_folders(const char *note)
{
    const char *colon = strchr(note, ':'), *name = note;

    for (const char *p = note; colon && note[0] == '/' && p < colon; p++)
        name = *p == '/' ? p + 1 : name;
    return name;
}

static int write_words(const struct ss_pasted *p, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("import"), *words = ss_json_begin_list(),
                   *missing = ss_json_begin_list(), *notes = ss_json_begin_list();

    for (size_t i = 0; i < p->request.n; i++)
        SS_ITEM(words, p->request.word[i].text);
    for (unsigned long i = 0; i < p->missing.n; i++)
        SS_ITEM(missing, SS_OBJECT(SS_KEY("name", p->missing.text[i])));
    for (unsigned long i = 0; i < p->notes.n; i++)
        SS_ITEM(notes, without_folders(p->notes.text[i]));
    SS_PUT(o, SS_KEY("words", words), SS_KEY("missing", missing), SS_KEY("notes", notes));
    return ss_json_write(o, out, err);
}

int ss_answer_import(struct ss_question *q, struct ss_error *err)
{
    const char *text = ss_question_argument(q, "text");
    struct ss_pasted pasted = {0};
    int rc = text ? ss_paste_read(text, strlen(text), ss_question_argument(q, "values"), &pasted, err)
                  : ss_question_lacks(q, "text", err);

    if (!rc && pasted.request.nplaces && pasted.request.place[pasted.request.nplaces - 1].program)
        rc = ss_serve_speak(&pasted.request, err); /* a launch command says all; flags may be a part */
    if (!rc && !pasted.missing.n)
        rc = complete(&pasted.request, &q->job, err);
    SS_THEN(rc, write_words(&pasted, q->out, err));
    ss_pasted_free(&pasted);
    return rc;
}
