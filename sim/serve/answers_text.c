/* SPDX-License-Identifier: Apache-2.0 */
/* A text that somebody pasted into the page, as the words of a job. */
#include "base/base.h"
#include "decide/search_internal.h"
#include "report/common.h"
#include "serve/answer.h"
#include "stepsim/flags.h"
#include "stepsim/paste.h"

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
    json_t *o = ss_json_document("import"), *words = json_array(), *missing = json_array(),
           *notes = json_array();

    for (size_t i = 0; i < p->request.n; i++)
        ss_json_append(words, ss_json_string(p->request.word[i].text));
    for (unsigned long i = 0; i < p->missing.n; i++)
        ss_json_append(missing, SS_OBJECT(SS_KEY("name", (const char *)p->missing.text[i])));
    for (unsigned long i = 0; i < p->notes.n; i++)
        ss_json_append(notes, ss_json_string(without_folders(p->notes.text[i])));
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
