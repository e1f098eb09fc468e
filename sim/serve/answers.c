/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the page: each is what a command would print. */
#include "base/base.h"
#include "serve/answer.h"
#include "stepsim/report.h"

static int write_choices(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    (void)status;
    (void)err;
    fputs(q->page->choices, out);
    return SS_OK;
}

static void write_scripts(FILE *out)
{
    ss_serve_look_js(out);
    fputs(ss_serve_words_js, out);
    fputs(ss_serve_draw_js, out);
    fputs(ss_serve_page_js, out);
}

/* The style sheet and the scripts stand where the page names them. */
static int write_page(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    static const struct {
        const char *mark;
        void (*write)(FILE *out);
    } parts[] = {{"/*style*/", ss_serve_look_css}, {"/*script*/", write_scripts}};
    const char *at = ss_serve_page_html;

    (void)q;
    (void)status;
    (void)err;
    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++) {
        const char *mark = strstr(at, parts[i].mark);
        fwrite(at, 1, (size_t)(mark - at), out);
        parts[i].write(out);
        at = mark + strlen(parts[i].mark);
    }
    fputs(at, out);
    return SS_OK;
}

static const struct {
    const char *path, *type, *save_as;
    ss_answer *write;
} addresses[] = {
    {"/", "text/html; charset=utf-8", NULL, write_page},
    {"/choices.json", "application/json", NULL, write_choices},
    {"/run.json", "application/json", NULL, ss_answer_run},
    {"/sweep.json", "application/json", NULL, ss_answer_sweep},
    {"/sweep.csv", "text/csv; charset=utf-8", "sweep.csv", ss_answer_sweep_csv},
    {"/sweep.svg", "image/svg+xml", "sweep.svg", ss_answer_sweep_svg},
    {"/nodes.json", "application/json", NULL, ss_answer_nodes},
    {"/nodes.csv", "text/csv; charset=utf-8", "nodes.csv", ss_answer_nodes_csv},
    {"/nearest.json", "application/json", NULL, ss_answer_nearest},
    {"/fastest.json", "application/json", NULL, ss_answer_fastest},
    {"/explain.json", "application/json", NULL, ss_answer_explain},
    {"/timeline.svg", "image/svg+xml", NULL, ss_answer_timeline},
    {"/import.json", "application/json", NULL, ss_answer_import},
    {"/report.html", "text/html; charset=utf-8", "report.html", ss_answer_report},
    {"/job.args", "text/plain; charset=utf-8", "job.args", ss_answer_args},
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
static int answer(const struct ss_question *q, ss_answer *write, struct ss_serve_reply *reply,
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

static int write_nothing(const struct ss_question *q, FILE *out, int *status, struct ss_error *err)
{
    (void)q;
    (void)out;
    *status = NOT_FOUND;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the page has no such address");
}

/* Answers a question with arguments from the shelf, or puts the answer there. */
static int answer_from_shelf(struct ss_question *q, const char *path, ss_answer *write,
                             struct ss_serve_reply *reply, struct ss_error *err)
{
    int rc = ss_shelf_take(q->page->shelves, &q->page->start, &q->shelf, err);

    if (rc)
        return rc;
    if (!ss_answer_recall(q->shelf, path, q->arguments, q->n, reply)) {
        rc = answer(q, write, reply, err);
        if (!rc && (reply->status == OK || reply->status == REFUSED))
            ss_answer_keep(q->shelf, path, q->arguments, q->n, reply);
    }
    ss_shelf_give_back(q->page->shelves, q->shelf);
    return rc;
}

int ss_serve_answer(const struct ss_serve *page, const char *path, const struct ss_serve_argument *arguments,
                    int n, struct ss_serve_reply *reply)
{
    struct ss_question q = {page, arguments, n, NULL};
    struct ss_error err = {0};
    ss_answer *write = write_nothing;

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
