/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the page: each is what a command would print. */
#include "base/base.h"
#include "base/cache.h"
#include "serve/answer.h"
#include "stepsim/report.h"

struct kept {
    struct ss_serve_reply reply;
    char body[];
};

static struct ss_cache_key key_of(const char *path, const struct ss_serve_argument *arguments, int n)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_ANSWER);

    ss_cache_mix_bytes(&key, path, strlen(path));
    for (int i = 0; i < n; i++) {
        ss_cache_mix_bytes(&key, arguments[i].name, strlen(arguments[i].name));
        ss_cache_mix_bytes(&key, arguments[i].value, strlen(arguments[i].value));
    }
    return key;
}

/* Fills *reply with a copy of an earlier answer to the same question; returns 0 where there is none. */
static int answer_recall(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                         int n, struct ss_serve_reply *reply)
{
    const struct ss_cache_key key = key_of(path, arguments, n);
    struct kept *kept = ss_cache_take(shelf->cache, key);

    if (!kept)
        return 0;
    *reply = kept->reply;
    reply->body = malloc(reply->size + 1);
    if (reply->body)
        memcpy(reply->body, kept->body, reply->size + 1);
    ss_cache_give_back(shelf->cache, key);
    return reply->body != NULL;
}

static void answer_keep(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                        int n, const struct ss_serve_reply *reply)
{
    const struct ss_cache_key key = key_of(path, arguments, n);
    struct kept *kept = malloc(sizeof *kept + reply->size + 1);

    if (!kept)
        return; /* the next one asks again */
    kept->reply = *reply;
    memcpy(kept->body, reply->body, reply->size + 1); /* with the zero of the stream */
    if (ss_cache_put(shelf->cache, key, kept, sizeof *kept + reply->size, free))
        free(kept);
    else
        ss_cache_give_back(shelf->cache, key);
}

/* ---- addresses ---- */

static int write_choices(struct ss_question *q, struct ss_error *err)
{
    (void)err;
    fputs(q->page->choices, q->out);
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
static int write_page(struct ss_question *q, struct ss_error *err)
{
    static const struct {
        const char *mark;
        void (*write)(FILE *out);
    } parts[] = {{"/*style*/", ss_serve_look_css}, {"/*script*/", write_scripts}};
    const char *at = ss_serve_page_html;

    (void)err;
    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++) {
        const char *mark = strstr(at, parts[i].mark);
        fwrite(at, 1, (size_t)(mark - at), q->out);
        parts[i].write(q->out);
        at = mark + strlen(parts[i].mark);
    }
    fputs(at, q->out);
    return SS_OK;
}

static int write_nothing(struct ss_question *q, struct ss_error *err)
{
    q->status = NOT_FOUND;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the page has no such address");
}

#define JSON "application/json"
#define TEXT "; charset=utf-8"

static const struct address {
    const char *path, *type, *save_as;
    ss_answer *write;
    enum { NOTHING, WORDS, SCENARIO } reads; /* of the job, before the answer is written */
    enum ss_answer_form form;
} addresses[] = {
    {"/", "text/html" TEXT, NULL, write_page, NOTHING, 0},
    {"/choices.json", JSON, NULL, write_choices, NOTHING, 0},
    {"/run.json", JSON, NULL, ss_answer_run, SCENARIO, 0},
    {"/sweep.json", JSON, NULL, ss_answer_sweep, WORDS, SS_ANSWER_JSON},
    {"/sweep.csv", "text/csv" TEXT, "sweep.csv", ss_answer_sweep, WORDS, SS_ANSWER_CSV},
    {"/sweep.svg", "image/svg+xml", "sweep.svg", ss_answer_sweep, WORDS, SS_ANSWER_SVG},
    {"/nodes.json", JSON, NULL, ss_answer_nodes, WORDS, SS_ANSWER_JSON},
    {"/nodes.csv", "text/csv" TEXT, "nodes.csv", ss_answer_nodes, WORDS, SS_ANSWER_CSV},
    {"/nearest.json", JSON, NULL, ss_answer_nearest, WORDS, 0},
    {"/fastest.json", JSON, NULL, ss_answer_fastest, WORDS, 0},
    {"/explain.json", JSON, NULL, ss_answer_explain, SCENARIO, 0},
    {"/timeline.svg", "image/svg+xml", NULL, ss_answer_timeline, SCENARIO, 0},
    {"/import.json", JSON, NULL, ss_answer_import, WORDS, 0},
    {"/report.html", "text/html" TEXT, "report.html", ss_answer_report, SCENARIO, 0},
    {"/job.args", "text/plain" TEXT, "job.args", ss_answer_args, WORDS, 0},
};
static const struct address nowhere = {"", JSON, NULL, write_nothing, NOTHING, 0};

/* Writes only the name of a file, without its path. */
static int write_error(const struct ss_error *e, FILE *out)
{
    struct ss_error shown = *e;
    const char *name = strrchr(e->file, '/');

    if (name)
        ss_copy(shown.file, sizeof shown.file, name + 1);
    return ss_report_error(&shown, out);
}

/* Writes what stands at the address, or tells the error in its place. */
static int answer(struct ss_question *q, const struct address *at, struct ss_serve_reply *reply,
                  struct ss_error *err)
{
    q->out = open_memstream(&reply->body, &reply->size);
    q->how = (struct ss_run_options){
        .any_engine = 1, .bands = q->page->bands, .cache = q->shelf ? q->shelf->cache : NULL};
    int rc = !q->out ? SS_ERR_NOMEM : at->reads == NOTHING ? SS_OK : ss_question_job(q, err);
    if (at->reads == SCENARIO)
        SS_THEN(rc, ss_shelf_build(q->shelf, &q->job, NULL, &q->scenario, err));
    SS_THEN(rc, at->write(q, err));
    ss_run_free(&q->run);
    ss_scenario_free(q->scenario);
    ss_request_free(&q->job);
    if (q->out && fclose(q->out))
        rc = SS_ERR_NOMEM;
    reply->status = q->status;
    if (!rc)
        return SS_OK;
    free(reply->body);
    reply->body = NULL;
    reply->type = JSON;
    reply->save_as = NULL;
    if (reply->status == OK)
        reply->status = rc == SS_ERR_NOMEM || rc == SS_ERR_ENGINE ? FAILED : REFUSED;
    FILE *out = open_memstream(&reply->body, &reply->size);
    rc = out ? write_error(err, out) : SS_ERR_NOMEM;
    if (out && fclose(out))
        rc = SS_ERR_NOMEM;
    return rc;
}

/* Answers a question with arguments from the shelf, or puts the answer there. */
static int answer_from_shelf(struct ss_question *q, const struct address *at, const char *path,
                             struct ss_serve_reply *reply, struct ss_error *err)
{
    int rc = ss_shelf_take(q->page->shelves, &q->page->start, &q->shelf, err);

    if (rc)
        return rc;
    if (!answer_recall(q->shelf, path, q->arguments, q->n, reply)) {
        rc = answer(q, at, reply, err);
        if (!rc && (reply->status == OK || reply->status == REFUSED))
            answer_keep(q->shelf, path, q->arguments, q->n, reply);
    }
    ss_shelf_give_back(q->page->shelves, q->shelf);
    return rc;
}

int ss_serve_answer(const struct ss_serve *page, const char *path, const struct ss_serve_argument *arguments,
                    int n, struct ss_serve_reply *reply)
{
    struct ss_question q = {.page = page, .arguments = arguments, .n = n, .status = OK};
    const struct address *at = &nowhere;
    struct ss_error err = {0};

    for (size_t i = 0; i < SS_ARRAY_LEN(addresses); i++)
        if (!strcmp(path, addresses[i].path))
            at = &addresses[i];
    q.form = at->form;
    *reply = (struct ss_serve_reply){.status = OK, .type = at->type, .save_as = at->save_as};
    int rc = n ? answer_from_shelf(&q, at, path, reply, &err) : answer(&q, at, reply, &err);
    if (rc) {
        free(reply->body);
        reply->body = NULL;
    }
    return rc;
}
