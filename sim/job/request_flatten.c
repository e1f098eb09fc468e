/* SPDX-License-Identifier: Apache-2.0 */
/* The words of several places as words of one: only there do flags contradict each other that beat each other in two. */
#include <string.h>

#include "base/base.h"
#include "job/asked.h"
#include "job/flags.h"
#include "job/job_internal.h"
#include "stepsim/flags.h"

/* Words of a request: each of them is held against all others, and each that goes asks for another job. */
#define MOST_WORDS 2048

/* Parses a request, as it is or as if all of its words stood in one place. */
static int parse(const struct ss_request *r, int one_place, struct ss_asked *asked, struct ss_error *err)
{
    struct ss_request copy;
    int rc = SS_OK;

    ss_asked_init(asked);
    if (!one_place)
        return ss_asked_parse(asked, r, NULL, NULL, err);
    ss_request_init(&copy);
    for (size_t i = 0; i < r->n && !rc; i++)
        rc = ss_request_add(&copy, r->word[i].text, 0, err);
    rc = rc ? rc : ss_asked_parse(asked, &copy, NULL, NULL, err);
    ss_request_free(&copy);
    return rc;
}

/* Is it this job? */
static int makes(const struct ss_request *r, int one_place, const struct ss_asked *wanted)
{
    struct ss_asked asked;

    return !parse(r, one_place, &asked, NULL) && !memcmp(&asked, wanted, sizeof asked);
}

/* Removes the flag at word i where it then still is this job. Returns how many words went; an error: SS_ERR_NOMEM. */
static int64_t try_without(struct ss_request *r, size_t i, int one_place, const struct ss_asked *wanted,
                           struct ss_error *err)
{
    struct ss_request less;
    size_t n = ss_request_span(r, i);
    int rc = ss_request_copy(r, &less, err);

    if (rc)
        return rc;
    ss_request_remove(&less, i, n);
    if (!makes(&less, one_place, wanted)) {
        ss_request_free(&less);
        return 0;
    }
    ss_request_free(r);
    *r = less;
    return (int64_t)n;
}

/* Whether a later place gives the flag at word i again, under any name; values of --set and --scale add up. */
static int is_beaten(const struct ss_request *r, size_t i)
{
    char name[128];
    struct ss_flag f;

    if (r->word[i].place + 1 == r->nplaces) /* the last one */
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(r->word[i].text, "="), r->word[i].text);
    if (!ss_flag_find(name, &f) || (f.setter && f.setter->kind == SS_FLAG_PROP))
        return 0;
    size_t last = ss_request_find(r, name);
    return last < r->n && r->word[last].place > r->word[i].place;
}

/* Removes flags of earlier places: those that are beaten, or else the first one that stands in the way of one place. */
static int remove_from(struct ss_request *r, int beaten, const struct ss_asked *wanted, struct ss_error *err)
{
    for (size_t i = 0; i < r->n;) {
        int64_t gone = 0;
        if (beaten ? is_beaten(r, i) : r->word[i].place + 1 < r->nplaces)
            gone = try_without(r, i, !beaten, wanted, err);
        if (gone < 0)
            return (int)gone;
        if (gone > 0 && !beaten)
            return SS_OK;
        i += gone ? 0 : ss_request_span(r, i);
    }
    return SS_OK;
}

int ss_request_flatten(const struct ss_request *r, struct ss_request *out, struct ss_error *err)
{
    struct ss_asked asked;

    if (r->n > MOST_WORDS) {
        ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "%zu words; at most %d are put into one place", r->n,
                MOST_WORDS);
        return ss_hint(err, SS_ERR_UNSUPPORTED, "leave out flags that are given again");
    }
    int rc = ss_request_copy(r, out, err);
    if (rc)
        return rc;
    rc = ss_request_resolve(out, &out->notes, err);
    SS_THEN(rc, parse(out, 0, &asked, err));
    SS_THEN(rc, remove_from(out, 1, &asked, err));
    if (!rc && !makes(out, 1, &asked))
        rc = remove_from(out, 0, &asked, err);
    if (!rc && !makes(out, 1, &asked)) {
        ss_fail(err, SS_ERR_CONFIG, NULL, 0, "words of several places do not make the same job in one file");
        rc = ss_hint(err, SS_ERR_CONFIG, "leave out what the command line, or the last job file, beats");
    }
    if (rc)
        ss_request_free(out);
    return rc;
}
