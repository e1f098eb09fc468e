/* SPDX-License-Identifier: Apache-2.0 */
/* What-ifs that take words of a request away. */
#include <string.h>

#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"
#include "stepsim/flags.h"

/* Removes the words before index `end` that give a flag under any of its names; returns how many words went. */
static size_t take(struct ss_request *r, size_t end, const char *flag)
{
    size_t gone = 0;

    for (size_t i = 0, n; i + gone < end; i += n) {
        char name[128];
        n = ss_request_span(r, i);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(r->word[i].text, "="), r->word[i].text);
        if (!ss_flag_same(name, flag))
            continue;
        ss_request_remove(r, i, n);
        gone += n;
        n = 0;
    }
    return gone;
}

static int refuse(const struct ss_request *r, size_t i, const char *value, const char *flag,
                  struct ss_error *err)
{
    const char *file = r->place[r->word[i].place].file;
    int code = file ? SS_ERR_INPUT : SS_ERR_USAGE, known = ss_flag_known(flag);
    char near[96];

    ss_fail(err, code, file, r->word[i].line, "--without %.80s: %s", value,
            known ? "the job does not give it before" : "no such flag");
    if (!known && ss_flag_nearest(flag, near, sizeof near))
        return ss_hint(err, code, "did you mean %s?", near + 2);
    return ss_hint(err, code,
                   known ? "it takes away what stands before it, in job files or on the command line"
                         : "docs/reference/flags.md lists all of them");
}

/* Removes measurements before the place of the word at index i, which are of another job; returns how many
 * words it removed. */
static size_t take_measured(struct ss_request *r, size_t i, struct ss_notes *notes)
{
    size_t end = i;

    while (end > 0 && r->word[end - 1].place == r->word[i].place)
        end--;
    size_t gone = take(r, end, "--measured");
    gone += take(r, end - gone, "--measured-memory");
    if (gone)
        ss_note(notes, "the measurement of the job file is left out: a what-if makes another job of it");
    return gone;
}

/* The --without at index i: returns how many words went, or an error. */
static int64_t take_named(struct ss_request *r, size_t i, const char *value, struct ss_notes *notes,
                          struct ss_error *err)
{
    char flag[128];

    snprintf(flag, sizeof flag, "%s%.100s", strncmp(value, "--", 2) ? "--" : "", value);
    size_t gone = ss_flag_known(flag) ? take(r, i, flag) : 0;
    if (!gone)
        return refuse(r, i, value, flag, err);
    ss_note(notes, "%s of the job is left out, as --without says", flag);
    return (int64_t)gone;
}

int ss_request_has_what_if(const struct ss_request *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (ss_request_value_of(r, i, "--without") || ss_request_value_of(r, i, "--scale"))
            return 1;
    return 0;
}

int ss_request_resolve(struct ss_request *r, struct ss_notes *notes, struct ss_error *err)
{
    for (size_t i = 0; i < r->n;) {
        const char *value = ss_request_value_of(r, i, "--without");
        if (!value && !ss_request_value_of(r, i, "--scale")) {
            i++;
            continue;
        }
        int64_t gone = value ? take_named(r, i, value, notes, err) : 0;
        if (gone < 0)
            return (int)gone;
        i -= (size_t)gone;
        i -= take_measured(r, i, notes);
        if (value)
            ss_request_remove(r, i, ss_request_span(r, i));
        else
            i++;
    }
    return SS_OK;
}
