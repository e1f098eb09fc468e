/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the page: each is what a command would print. */
#include <stdlib.h>
#include <string.h>

#include "ask/ask.h"
#include "base/base.h"
#include "serve/page.h"
#include "stepsim/nearest.h"
#include "stepsim/pictures.h"
#include "stepsim/report.h"
#include "stepsim/scenario.h"
#include "stepsim/sweep.h"

enum { OK = 200, WRONG_ARGUMENT = 400, NOT_FOUND = 404, REFUSED = 422, FAILED = 500 };

struct question {
    const struct ss_serve *page;
    const struct ss_serve_argument *arguments;
    int n;
    struct ss_shelf *shelf; /* NULL: an address without arguments */
};

/* Writes the answer; *status begins as OK. */
typedef int (*answer_fn)(const struct question *q, FILE *out, int *status, struct ss_error *err);

static const char *argument(const struct question *q, const char *name)
{
    for (int i = 0; i < q->n; i++)
        if (!strcmp(q->arguments[i].name, name))
            return q->arguments[i].value;
    return NULL;
}

static int missing(int *status, const char *name, struct ss_error *err)
{
    *status = WRONG_ARGUMENT;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the address lacks %s=", name);
}

static int read_job(const struct question *q, int *status, struct ss_request *r, struct ss_error *err)
{
    const char *text = argument(q, "job");

    ss_request_init(r);
    return text ? ss_serve_read(q->page, text, r, err) : missing(status, "job", err);
}

static int build(const struct question *q, int *status, struct ss_scenario **out, struct ss_error *err)
{
    struct ss_request r;
    int rc = read_job(q, status, &r, err);

    SS_THEN(rc, ss_shelf_build(q->shelf, &r, out, err));
    ss_request_free(&r);
    return rc;
}

/* How a page simulates: on the native engine, whatever level the answer needs. */
static struct ss_run_options options_of(const struct question *q)
{
    return (struct ss_run_options){
        .any_engine = 1, .bands = q->page->bands, .cache = q->shelf ? q->shelf->cache : NULL};
}

static int write_run(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    const struct ss_run_options options = options_of(q);
    struct ss_scenario *s = NULL;
    int fits, rc = build(q, status, &s, err);

    SS_THEN(rc, ss_ask_write_run(s, &options, (struct ss_report_options){0}, &fits, out, err));
    ss_scenario_free(s);
    return rc;
}

static int write_nearest(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const struct ss_run_options options = options_of(q);
    const struct ss_nearest_options near = {.how = &how, .run = &options};
    struct ss_nearest found = {0};
    struct ss_request r;
    int rc = read_job(q, status, &r, err);

    SS_THEN(rc, ss_nearest_find(&r, &near, &found, err));
    SS_THEN(rc, ss_nearest_write(&found, out, err));
    ss_nearest_free(&found);
    ss_request_free(&r);
    return rc;
}

static int write_timeline(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    const struct ss_run_options options = options_of(q);
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    struct ss_picture_request picture = {.gantt = out, .run = &run};
    int rc = build(q, status, &s, err);

    SS_THEN(rc, ss_run_scenario(s, &options, &run, err));
    SS_THEN(rc, ss_pictures_draw(run.program, run.timeline, SS_ENGINE_NATIVE, &picture, err));
    ss_run_free(&run);
    ss_scenario_free(s);
    return rc;
}

/* Checks each varied value as a word of the job is checked. */
static int check_varied(const struct question *q, const struct ss_sweep *s, struct ss_error *err)
{
    for (int f = 0; f < s->nflags; f++)
        for (int i = 0; i < s->flags[f].nvalues; i++) {
            int rc = ss_serve_check(q->page, s->flags[f].name, s->flags[f].value[i], err);
            if (rc)
                return rc;
        }
    return SS_OK;
}

static int sweep(const struct question *q, struct ss_sweep *s, const struct ss_request *base, FILE *out,
                 struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(q->shelf);
    const struct ss_run_options options = options_of(q);
    int total = ss_sweep_size(s, SS_SERVE_ROWS), rc = SS_OK;

    if (!total)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d combinations", SS_SERVE_ROWS);
    s->rows = ss_calloc((size_t)total, sizeof *s->rows);
    if (!s->rows)
        return ss_nomem(err);
    for (int i = 0; i < total && !rc; i++) {
        rc = ss_sweep_predict(s, i, base, &how, &options, &s->rows[i], err);
        s->nrows += !rc;
    }
    struct ss_notes warnings = {0};
    SS_THEN(rc, ss_sweep_warnings(s, base, &how, &warnings, err));
    s->warnings = &warnings;
    SS_THEN(rc, ss_sweep_write(s, 1, out, err));
    s->warnings = NULL;
    ss_notes_free(&warnings);
    return rc;
}

static int write_sweep(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    const char *vary = argument(q, "vary");
    struct ss_sweep *s = ss_calloc(1, sizeof *s);
    struct ss_request base;
    int rc = read_job(q, status, &base, err);

    if (!rc && !s)
        rc = ss_nomem(err);
    SS_THEN(rc, vary ? ss_sweep_vary(s, vary, err) : missing(status, "vary", err));
    SS_THEN(rc, check_varied(q, s, err));
    SS_THEN(rc, ss_sweep_check(s, &base, err));
    SS_THEN(rc, sweep(q, s, &base, out, err));
    if (s)
        free(s->rows);
    free(s);
    ss_request_free(&base);
    return rc;
}

/* A job file: a flag and its values a line. */
static int write_job(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    struct ss_request r;
    int rc = read_job(q, status, &r, err);

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

static int write_choices(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    (void)status;
    (void)err;
    fputs(q->page->choices, out);
    return SS_OK;
}

/* The style sheet and the scripts stand where the page names them. */
static int write_page(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    static const struct {
        const char *mark, *const text[3];
    } parts[] = {
        {"/*style*/", {ss_serve_style_css, "", ""}},
        {"/*script*/", {ss_serve_words_js, ss_serve_draw_js, ss_serve_page_js}},
    };
    const char *at = ss_serve_page_html;

    (void)q;
    (void)status;
    (void)err;
    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++) {
        const char *mark = strstr(at, parts[i].mark);
        fwrite(at, 1, (size_t)(mark - at), out);
        for (int k = 0; k < 3; k++)
            fputs(parts[i].text[k], out);
        at = mark + strlen(parts[i].mark);
    }
    fputs(at, out);
    return SS_OK;
}

static const struct {
    const char *path, *type, *save_as;
    answer_fn write;
} addresses[] = {
    {"/", "text/html; charset=utf-8", NULL, write_page},
    {"/choices.json", "application/json", NULL, write_choices},
    {"/run.json", "application/json", NULL, write_run},
    {"/sweep.json", "application/json", NULL, write_sweep},
    {"/nearest.json", "application/json", NULL, write_nearest},
    {"/timeline.svg", "image/svg+xml", NULL, write_timeline},
    {"/job.args", "text/plain; charset=utf-8", "job.args", write_job},
};

/* Writes only the name of a file, without its path. */
static int write_error(const struct ss_error *e, FILE *out)
{
    struct ss_error shown = *e;
    const char *name = strrchr(e->file, '/');

    if (name)
        ss_copy(shown.file, sizeof shown.file, name + 1);
    return ss_report_error(&shown, out);
}

/* Runs `write`, or tells the error in its place. */
static int answer(const struct question *q, answer_fn write, struct ss_serve_reply *reply,
                  struct ss_error *err)
{
    FILE *out = open_memstream(&reply->body, &reply->size);
    int rc = out ? write(q, out, &reply->status, err) : SS_ERR_NOMEM;

    if (out && fclose(out))
        rc = SS_ERR_NOMEM;
    if (!rc)
        return SS_OK;
    free(reply->body);
    reply->body = NULL;
    reply->type = "application/json";
    reply->save_as = NULL;
    if (reply->status == OK)
        reply->status = rc == SS_ERR_NOMEM || rc == SS_ERR_ENGINE ? FAILED : REFUSED;
    out = open_memstream(&reply->body, &reply->size);
    rc = out ? write_error(err, out) : SS_ERR_NOMEM;
    if (out && fclose(out))
        rc = SS_ERR_NOMEM;
    return rc;
}

static int write_nothing(const struct question *q, FILE *out, int *status, struct ss_error *err)
{
    (void)q;
    (void)out;
    *status = NOT_FOUND;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the page has no such address");
}

/* Answers a question with arguments from the shelf, or puts the answer there. */
static int answer_from_shelf(struct question *q, const char *path, answer_fn write,
                             struct ss_serve_reply *reply, struct ss_error *err)
{
    int rc = ss_shelf_take(q->page->shelves, &q->page->start, &q->shelf, err);

    if (rc)
        return rc;
    if (!ss_shelf_recall(q->shelf, path, q->arguments, q->n, reply)) {
        rc = answer(q, write, reply, err);
        if (!rc && (reply->status == OK || reply->status == REFUSED))
            ss_shelf_keep(q->shelf, path, q->arguments, q->n, reply);
    }
    ss_shelf_give_back(q->page->shelves, q->shelf);
    return rc;
}

int ss_serve_answer(const struct ss_serve *page, const char *path, const struct ss_serve_argument *arguments,
                    int n, struct ss_serve_reply *reply)
{
    struct question q = {page, arguments, n, NULL};
    struct ss_error err = {0};
    answer_fn write = write_nothing;

    memset(reply, 0, sizeof *reply);
    reply->status = OK;
    reply->type = "application/json";
    for (size_t i = 0; i < SS_ARRAY_LEN(addresses); i++)
        if (!strcmp(path, addresses[i].path)) {
            write = addresses[i].write;
            reply->type = addresses[i].type;
            reply->save_as = addresses[i].save_as;
        }
    int rc = n ? answer_from_shelf(&q, path, write, reply, &err) : answer(&q, write, reply, &err);
    if (rc) {
        free(reply->body);
        reply->body = NULL;
    }
    return rc;
}
