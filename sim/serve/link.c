/* SPDX-License-Identifier: Apache-2.0 */
/* A link that opens the page with a job: the end of an address, as page/words.js writes and reads it. */
#include "base/base.h"
#include "decide/search_internal.h"
#include "serve/page.h"

/* Writes a word as encodeURIComponent does. */
static void put_word(const char *word, FILE *out)
{
    for (const char *p = word; *p; p++)
        if ((*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ||
            strchr("-_.!~*'()", *p))
            fputc(*p, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*p);
}

/* Adds what a file means by silence. The page assumes of words what the command line does (job/assume.c). */
int ss_serve_speak(struct ss_request *r, struct ss_error *err)
{
    int rc = SS_OK;

    if (ss_find_gives(r, "--stack") && !ss_find_gives(r, "--recipe"))
        rc = ss_request_set(r, "--recipe", "none", err);
    if (!ss_find_gives(r, "--precision --bf16 --fp16"))
        SS_THEN(rc, ss_request_set(r, "--precision", "fp32", err));
    return rc;
}

/* Makes *out the words that somebody gave. */
static int said(const struct ss_request *r, struct ss_request *out, struct ss_error *err)
{
    struct ss_request copy;
    int from_file = 0;

    SS_TRY(ss_request_copy(r, &copy, err));
    for (size_t i = 0; i < copy.n;) {
        size_t span = ss_request_span(&copy, i);
        if (copy.place[copy.word[i].place].whence)
            ss_request_remove(&copy, i, span);
        else
            i += span;
    }
    for (int i = 0; i < r->nplaces; i++)
        from_file |= r->place[i].file != NULL;
    int rc = ss_request_flatten(&copy, out, err);
    ss_request_free(&copy);
    if (rc || !from_file)
        return rc;
    rc = ss_serve_speak(out, err);
    if (rc)
        ss_request_free(out);
    return rc;
}

/* Refuses what the page would read otherwise: files, blanks within a word, and what ss_serve_read refuses. */
static int check(const struct ss_request *words, struct ss_error *err)
{
    const struct ss_serve page = {.bands = NULL};
    struct ss_request read;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; out && i < words->n; i++)
        fprintf(out, "%s%s", i ? " " : "", words->word[i].text);
    if (!out || fclose(out)) {
        free(text);
        return ss_nomem(err);
    }
    ss_request_init(&read);
    int rc = ss_serve_read(&page, text, &read, err);
    if (!rc && read.n != words->n)
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "a word of the job has a blank");
    if (rc == SS_ERR_USAGE)
        ss_hint(err, rc,
                "a link carries words, no file: name a model, platform, stack or schedule of `stepsim list`");
    ss_request_free(&read);
    free(text);
    return rc;
}

int ss_serve_link(const struct ss_request *r, const char *page, FILE *out, struct ss_error *err)
{
    struct ss_request words;

    SS_TRY(said(r, &words, err));
    int rc = check(&words, err);
    if (!rc)
        fprintf(out, "%s#job=", page ? page : "");
    for (size_t i = 0; i < words.n && !rc; i++) {
        if (i)
            fputc('+', out);
        put_word(words.word[i].text, out);
    }
    ss_request_free(&words);
    return rc;
}
