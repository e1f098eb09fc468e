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

int ss_question_lacks(struct ss_question *q, const char *name, struct ss_error *err)
{
    q->status = WRONG_ARGUMENT;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the address lacks %s=", name);
}

int ss_question_job(struct ss_question *q, struct ss_error *err)
{
    const char *text = ss_question_argument(q, "job");

    return text ? ss_serve_read(q->page, text, &q->job, err) : ss_question_lacks(q, "job", err);
}
