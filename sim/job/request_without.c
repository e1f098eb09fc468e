/* SPDX-License-Identifier: Apache-2.0 */
/* What-ifs that take words of a request away. */
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
    const char *what = ss_request_value_of(r, i, "--without") ? "--without" : "--drop";
    const char *file = r->place[r->word[i].place].file;
    int code = file ? SS_ERR_INPUT : SS_ERR_USAGE, known = ss_flag_known(flag);
    char near[96];

    known |= !strcmp(what, "--drop");
    ss_fail(err, code, file, r->word[i].line, "%s %.80s: %s", what, value,
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

/* ---- flags that a prediction goes without, though the real job has them ---- */

static int is_drop_unknown(const struct ss_request *r, size_t i)
{
    return !r->place[r->word[i].place].program && !strcmp(r->word[i].text, "--drop-unknown");
}

/* Whether the word gives the flag, by this name or, of a known flag, by another. */
static int gives(const struct ss_request *r, size_t i, const char *flag)
{
    char name[128];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(r->word[i].text, "="), r->word[i].text);
    return ss_is_flag(name) && (!strcmp(name, flag) || ss_flag_same(name, flag));
}

static int is_unknown(const struct ss_request *r, size_t i)
{
    struct ss_flag f;

    return ss_is_flag(r->word[i].text) && !ss_request_flag(r, i, &f);
}

/* Removes `flag` before the word at index i, NULL: all flags that are unknown, also behind that word; their names go to `names`. Returns how
 * many words before it went, or an error. */
static int64_t drop(struct ss_request *r, size_t i, const char *flag, struct ss_notes *names)
{
    size_t gone = 0;

    for (size_t k = 0, n; k < (flag ? i - gone : r->n); k += n) {
        n = ss_request_extent(r, k);
        if (flag ? !gives(r, k, flag) : !is_unknown(r, k))
            continue;
        if (ss_notes_add(names, "%.*s", (int)strcspn(r->word[k].text, "="), r->word[k].text))
            return SS_ERR_NOMEM;
        ss_request_remove(r, k, n);
        gone += k < i - gone ? n : 0;
        n = 0;
    }
    return (int64_t)gone;
}

/* Puts "--dropped=NAME,NAME" in the place of the word at index i and its value, or nothing where there is no name. */
static int replace(struct ss_request *r, size_t i, const struct ss_notes *names, struct ss_error *err)
{
    size_t size = sizeof "--dropped=", span = ss_request_span(r, i);

    if (!names->n) {
        ss_request_remove(r, i, span);
        return SS_OK;
    }
    for (unsigned long k = 0; k < names->n; k++)
        size += strlen(names->text[k]);
    char *text = malloc(size);
    SS_NEED(text, err);
    ss_copy(text, size, "--dropped");
    for (unsigned long k = 0; k < names->n; k++)
        ss_append(text, size, "%c%s", k ? ',' : '=', names->text[k] + 2);
    ss_request_remove(r, i + 1, span - 1);
    struct ss_request_word *word = &r->word[i];
    word->text = ss_request_keep_text(r, text);
    free(text);
    SS_NEED(word->text, err);
    word->setter = ss_flag_setter_of(word->text);
    return SS_OK;
}

/* The --drop or --drop-unknown at index i: returns how many words before it went, or an error. */
static int64_t take_dropped(struct ss_request *r, size_t i, const char *value, struct ss_error *err)
{
    struct ss_notes names = {0};
    char flag[128] = "";

    if (value)
        snprintf(flag, sizeof flag, "%s%.100s", strncmp(value, "--", 2) ? "--" : "", value);
    int64_t gone = drop(r, i, value ? flag : NULL, &names);
    int rc = gone < 0         ? ss_nomem(err)
             : value && !gone ? refuse(r, i, value, flag, err)
                              : replace(r, i - (size_t)gone, &names, err);
    ss_notes_free(&names);
    return rc ? rc : gone;
}

int ss_request_dropped(const struct ss_request *r, struct ss_notes *names)
{
    int rc = SS_OK;

    for (size_t i = 0; i < r->n; i++) {
        const char *value = ss_request_value_of(r, i, "--dropped");
        for (size_t n; value && *value && !rc; value += n + (value[n] == ',')) {
            n = strcspn(value, ",");
            rc = ss_notes_add(names, "--%.*s", (int)n, value);
        }
    }
    return rc;
}

int ss_request_has_what_if(const struct ss_request *r)
{
    int scaled = 0;

    for (size_t i = 0; i < r->n; i++) {
        const char *text = r->word[i].text;
        if (strncmp(text, "--", 2) || !strchr("dsw", text[2])) /* which spares most of the looks */
            continue;
        if (ss_request_value_of(r, i, "--without") || ss_request_value_of(r, i, "--drop") ||
            is_drop_unknown(r, i))
            return 1;
        scaled |= ss_request_value_of(r, i, "--scale") != NULL;
    }
    return scaled &&
           (ss_request_find(r, "--measured") < r->n || ss_request_find(r, "--measured-memory") < r->n);
}

/* All --drop and --drop-unknown, before --without, which an unknown flag's values would confuse. */
static int resolve_dropped(struct ss_request *r, struct ss_error *err)
{
    for (size_t i = 0; i < r->n;) {
        const char *value = ss_request_value_of(r, i, "--drop");
        if (!value && !is_drop_unknown(r, i)) {
            i++;
            continue;
        }
        int64_t gone = take_dropped(r, i, value, err);
        if (gone < 0)
            return (int)gone;
        i -= (size_t)gone; /* where another word may be now */
    }
    return SS_OK;
}

int ss_request_resolve(struct ss_request *r, struct ss_notes *notes, struct ss_error *err)
{
    int rc = resolve_dropped(r, err);

    for (size_t i = 0; i < r->n && !rc;) {
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
    return rc;
}
