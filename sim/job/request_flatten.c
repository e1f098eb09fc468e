/* SPDX-License-Identifier: Apache-2.0 */
/* The words of several places as words of one: only there do flags contradict each other that beat each other in two. */
#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"

/* Most words of a request: each is compared with all others, and each removed word means another parse. */
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
    for (size_t i = 0, n; i < r->n && !rc; i += n) {
        struct ss_flag f; /* names without effect may be a program's alone */
        int silent = ss_request_flag(r, i, &f) && f.treatment == SS_FLAG_NO_EFFECT;
        n = ss_request_span(r, i);
        for (size_t k = 0; k < n && !silent && !rc; k++)
            rc = ss_request_add(&copy, r->word[i + k].text, 0, err);
    }
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

    SS_TRY(ss_request_copy(r, &less, err));
    ss_request_remove(&less, i, n);
    if (!makes(&less, one_place, wanted)) {
        ss_request_free(&less);
        return 0;
    }
    ss_request_free(r);
    *r = less;
    return (int64_t)n;
}

/* Removes flags of earlier places: beaten ones, or else the first one that cannot stand in one place with the
 * others. */
static int remove_from(struct ss_request *r, int beaten, const struct ss_asked *wanted, struct ss_error *err)
{
    for (size_t i = 0; i < r->n;) {
        int64_t gone = 0;
        if (beaten ? ss_request_is_beaten(r, i) : r->word[i].place + 1 < r->nplaces)
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

    if (r->n > MOST_WORDS)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "%zu words; at most %d are put into one place" SS_HINT
                       "leave out flags that are given again",
                       r->n, MOST_WORDS);
    SS_TRY(ss_request_copy(r, out, err));
    int rc = ss_request_resolve(out, &out->notes, err);
    SS_THEN(rc, parse(out, 0, &asked, err));
    if (!rc && !(asked.measured_ms > 0)) /* a later place asks for another job than was measured */
        ss_request_drop(out, "--measured");
    if (!rc && !(asked.measured_mib > 0))
        ss_request_drop(out, "--measured-memory");
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
