/* SPDX-License-Identifier: Apache-2.0 */
/* What an address asks: its arguments, its job, and how the page simulates. */
#include "base/base.h"
#include "serve/answer.h"

const char *ss_question_argument(const struct ss_question *q, const char *name)
{
    for (int i = 0; i < q->n; i++)
        if (!strcmp(q->arguments[i].name, name))
            return q->arguments[i].value;
    return NULL;
}

int ss_question_lacks(int *status, const char *name, struct ss_error *err)
{
    *status = WRONG_ARGUMENT;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the address lacks %s=", name);
}

int ss_question_job(const struct ss_question *q, int *status, struct ss_request *r, struct ss_error *err)
{
    const char *text = ss_question_argument(q, "job");

    ss_request_init(r);
    return text ? ss_serve_read(q->page, text, r, err) : ss_question_lacks(status, "job", err);
}

struct ss_run_options ss_question_options(const struct ss_question *q)
{
    return (struct ss_run_options){
        .any_engine = 1, .bands = q->page->bands, .cache = q->shelf ? q->shelf->cache : NULL};
}
