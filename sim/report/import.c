/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `import` prints: a job's words as a file of flags, each with its origin. */
#include "job/flags.h"
#include "report/common.h"
#include "stepsim/flags.h"

#define COMMENT_AT 48 /* column of "# file:line" */

/* A flag of the request with its values: words at .. at + n - 1. */
struct told {
    size_t at, n;
    char name[128];
    enum ss_flag_effect effect;
    const char *why;
};

static struct told told_at(const struct ss_request *r, size_t i)
{
    struct told t = {.at = i, .n = ss_request_extent(r, i)};
    struct ss_flag f;

    snprintf(t.name, sizeof t.name, "%.*s", (int)strcspn(r->word[i].text, "="), r->word[i].text);
    int known = ss_request_flag(r, i, &f);
    t.effect = known && f.treatment == SS_FLAG_NO_EFFECT ? SS_FLAG_IS_WITHOUT_EFFECT
               : known                                   ? ss_flag_effect(t.name, &t.why)
                                                         : SS_FLAG_IS_UNKNOWN;
    t.why = known ? f.why : "no such flag";
    return t;
}

static int is_refused(const struct told *t)
{
    return t->effect == SS_FLAG_IS_REFUSED || t->effect == SS_FLAG_IS_UNKNOWN;
}

int ss_report_refused(const struct ss_request *r)
{
    int n = 0;

    for (size_t i = 0; i < r->n;) {
        struct told t = told_at(r, i);
        n += is_refused(&t);
        i += t.n;
    }
    return n;
}

/* Writes the origin of a word: "pai.sh:12", "command line". Returns buf. */
static char *origin(const struct ss_request *r, size_t i, char *buf, size_t size)
{
    const char *file = r->place[r->word[i].place].file, *slash = file ? strrchr(file, '/') : NULL;
    int line = r->word[i].line;

    if (!file)
        snprintf(buf, size, "command line");
    else if (line > 0)
        snprintf(buf, size, "%s:%d", slash ? slash + 1 : file, line);
    else
        snprintf(buf, size, "%s", slash ? slash + 1 : file);
    return buf;
}

/* Writes the text of a foreign file as part of a comment, in which it cannot begin a line. */
static void comment(const char *text, FILE *out)
{
    for (; *text; text++)
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
}

static int write_flag(const struct ss_request *r, const struct told *t, FILE *out)
{
    size_t size = 8, most;
    char from[512];

    for (size_t i = t->at; i < t->at + t->n; i++)
        size += 4 * strlen(r->word[i].text) + 4;
    char *text = malloc(size);
    if (!text)
        return SS_ERR_NOMEM;
    most = strlen(ss_request_words(r, t->at, t->n, text, size));
    int silent = t->effect == SS_FLAG_IS_WITHOUT_EFFECT;
    if (silent) {
        fputs("#   ", out);
        comment(text, out);
        fprintf(out, "%*s  ", most + 4 < COMMENT_AT ? (int)(COMMENT_AT - most - 4) : 0, "");
    } else {
        fprintf(out, "%s%*s# ", text, most + 1 < COMMENT_AT ? (int)(COMMENT_AT - most) : 1, "");
    }
    comment(origin(r, t->at, from, sizeof from), out);
    if (is_refused(t))
        fprintf(out, ": refused: %s", t->why);
    else if (silent)
        fprintf(out, ": %s", t->why);
    fputc('\n', out);
    free(text);
    return SS_OK;
}

/* Writes the flags with effect, or with `silent` 1 those without. */
static int write_flags(const struct ss_request *r, int silent, FILE *out)
{
    int rc = SS_OK, n = 0;

    for (size_t i = 0; i < r->n && !rc;) {
        struct told t = told_at(r, i);
        if ((t.effect == SS_FLAG_IS_WITHOUT_EFFECT) == silent) {
            if (silent && n++ == 0)
                fputs("\n# Without effect on time or memory\n", out);
            rc = write_flag(r, &t, out);
        }
        i += t.n;
    }
    return rc;
}

static void write_notes(const char *title, const struct ss_notes *notes, FILE *out)
{
    if (notes->n)
        fprintf(out, "\n# %s\n", title);
    for (unsigned long i = 0; i < notes->n; i++) {
        fputs("#   ", out);
        comment(notes->text[i], out);
        fputc('\n', out);
    }
}

static int write_text(const struct ss_request *r, const struct ss_notes *assumed, FILE *out)
{
    int refused = ss_report_refused(r);

    fputs("# A job of stepsim: stepsim run --job THIS-FILE", out);
    fputs(ss_request_find(r, "--platform") < r->n ? "\n" : " --platform NAME\n", out);
    for (int p = 0; p < r->nplaces; p++)
        if (r->place[p].file &&
            (p == 0 || !r->place[p - 1].file || strcmp(r->place[p].file, r->place[p - 1].file) != 0)) {
            fputs("# from ", out);
            comment(r->place[p].file, out);
            fputc('\n', out);
        }
    if (refused)
        fprintf(out, "# %d of its flags %s refused: see below\n", refused, refused == 1 ? "is" : "are");
    fputc('\n', out);
    int rc = write_flags(r, 0, out);
    if (!rc) {
        write_notes("Assumed, or not modelled", assumed, out);
        write_notes("Without effect in the files that it is from", &r->ignored, out);
        rc = write_flags(r, 1, out);
    }
    return rc;
}

static struct ss_json *flag_object(const struct ss_request *r, const struct told *t)
{
    struct ss_json *values = ss_json_begin_list();
    const char *file = r->place[r->word[t->at].place].file, *equal = strchr(r->word[t->at].text, '=');

    if (equal)
        SS_ITEM(values, equal + 1);
    for (size_t i = t->at + 1; i < t->at + t->n; i++)
        SS_ITEM(values, r->word[i].text);
    return SS_OBJECT(SS_KEY("flag", t->name), SS_KEY("values", values), SS_KEY_IF(file, "file", file),
                     SS_KEY_IF(file && r->word[t->at].line > 0, "line", r->word[t->at].line),
                     SS_KEY_IF(t->effect != SS_FLAG_IS_READ && t->why, "why", t->why));
}

static int write_json(const struct ss_request *r, const struct ss_notes *assumed, FILE *out,
                      struct ss_error *err)
{
    struct ss_json *o = ss_json_document("import"), *flags = ss_json_begin_list(),
                   *ignored = ss_json_begin_list(), *refused = ss_json_begin_list();

    for (size_t i = 0; i < r->n;) {
        struct told t = told_at(r, i);
        SS_ITEM(is_refused(&t)                          ? refused
                : t.effect == SS_FLAG_IS_WITHOUT_EFFECT ? ignored
                                                        : flags,
                flag_object(r, &t));
        i += t.n;
    }
    for (unsigned long i = 0; i < r->ignored.n; i++)
        SS_ITEM(ignored, SS_OBJECT(SS_KEY("text", r->ignored.text[i])));
    SS_PUT(o, SS_KEY("flags", flags), SS_KEY("assumed", ss_json_notes(assumed)), SS_KEY("ignored", ignored),
           SS_KEY("refused", refused));
    return ss_json_write(o, out, err);
}

int ss_report_request(const struct ss_request *r, const struct ss_notes *assumed, int json, FILE *out,
                      struct ss_error *err)
{
    if (json)
        return write_json(r, assumed, out, err);
    int rc = write_text(r, assumed, out);
    return rc ? ss_fail(err, rc, NULL, 0, "out of memory") : ss_report_done(out, err);
}
