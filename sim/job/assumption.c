/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a request that nobody gave, and the request without them. */
#include "base/base.h"
#include "job/recipe.h"

int ss_request_assumed(struct ss_request *r, const char *whence, struct ss_error *err)
{
    struct ss_request_place *p = &r->place[r->nplaces - 1];

    free(p->whence);
    p->whence = strdup(whence);
    return p->whence ? SS_OK : ss_nomem(err);
}

static int has_whence(const struct ss_request *r, size_t i)
{
    return r->place[r->word[i].place].whence != NULL;
}

int ss_request_assumption(const struct ss_request *r, size_t *at, struct ss_assumption *out)
{
    while (*at < r->n) {
        size_t i = *at, n = ss_request_span(r, i);
        *at += n;
        if (!has_whence(r, i) || ss_request_find(r, r->word[i].text) != i)
            continue;
        out->flag = r->word[i].text;
        out->whence = r->place[r->word[i].place].whence;
        out->value = ss_request_words(r, i + 1, n - 1, out->text, sizeof out->text);
        return 1;
    }
    return 0;
}

void ss_request_list_assumed(const struct ss_request *r, const char *before, struct ss_notes *lines)
{
    struct ss_assumption a;
    const char *whence = NULL;
    char line[4096] = "";

    for (size_t at = 0; r && ss_request_assumption(r, &at, &a);) {
        if (!strcmp(a.flag, "--recipe")) /* of search, and nothing of the job */
            continue;
        if (whence && whence != a.whence) {
            ss_note(lines, "%s", line);
            line[0] = 0;
        }
        if (!line[0])
            snprintf(line, sizeof line, "%s%.1000s:", before, a.whence);
        whence = a.whence;
        ss_append(line, sizeof line, " %s%s%s", a.flag, a.value[0] ? " " : "", a.value);
    }
    if (line[0])
        ss_note(lines, "%s", line);
}

int ss_request_leave_out(const struct ss_request *r, const char *flag, struct ss_request *out, char *flags,
                         size_t size, struct ss_error *err)
{
    char text[1024];
    int rc = ss_request_copy(r, out, err);

    flags[0] = '\0';
    for (size_t i = 0, n; !rc && i < out->n; i += n) {
        n = ss_request_span(out, i);
        if (!has_whence(out, i) || !ss_recipe_same_thing(flag, out->word[i].text))
            continue;
        size_t last = ss_request_find(out, out->word[i].text);
        if (!has_whence(out, last)) /* somebody gave it */
            continue;
        if (last == i)
            ss_append(flags, size, "%s%s", flags[0] ? " " : "",
                      ss_request_words(out, i, n, text, sizeof text));
        ss_request_remove(out, i, n);
        n = 0;
    }
    return rc;
}

int ss_request_given(const struct ss_request *r, struct ss_request *out, struct ss_error *err)
{
    int rc = SS_OK;

    ss_request_init(out);
    for (size_t i = 0, place = (size_t)-1; i < r->n && !rc; i++) {
        const struct ss_request_place *p = &r->place[r->word[i].place];
        if (p->whence)
            continue;
        if (place != (size_t)r->word[i].place)
            rc = ss_request_add_place(out, p->file, err);
        place = (size_t)r->word[i].place;
        if (rc)
            break;
        out->place[out->nplaces - 1].how = p->how;
        out->place[out->nplaces - 1].program = p->program;
        rc = ss_request_add(out, r->word[i].text, r->word[i].line, err);
    }
    if (rc)
        ss_request_free(out);
    return rc;
}
