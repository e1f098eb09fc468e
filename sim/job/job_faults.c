/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that cannot be taken: a script of a fork has thirty, and who reads of one at a time gives up. */
#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"

/* What to do instead of a name that is no flag here; NULL: it is not known. */
static const char *hint_elsewhere(const char *name)
{
    for (const struct ss_flag_group *g = ss_flags_elsewhere; g->names; g++)
        if (!strncmp(name, "--", 2) && ss_has_word(g->names, name + 2))
            return g->why;
    return NULL;
}

/* The hint of an unknown flag. A program has none of stepsim's own names. */
static int hint_unknown(const char *name, int code, int program, int in_file, struct ss_error *err)
{
    const char *hint = hint_elsewhere(name);
    struct ss_flag own;
    char near[96];

    if (program && ss_flag_find(name, &own) && own.treatment == SS_FLAG_OWN) {
        if (own.why && !strncmp(own.why, "--", 2))
            return ss_hint(err, code, "the program's name is %.*s", (int)strcspn(own.why, " ,;"), own.why);
        return ss_hint(err, code,
                       "it is a name of stepsim's, for its own command line; --drop %s leaves it out",
                       name + 2);
    }
    if (hint)
        return ss_hint(err, code, "%s", hint);
    if (ss_flag_nearest(name, near, sizeof(near)))
        return ss_hint(err, code, "did you mean %s?", near);
    if (in_file)
        return ss_hint(err, code,
                       "--drop %s leaves it out; docs/reference/flags.md lists those that are known",
                       name + 2);
    return ss_hint(err, code, "docs/reference/flags.md lists all of them");
}

int ss_faults_unknown(const struct ss_request *r, size_t i, struct ss_error *err)
{
    const struct ss_request_place *place = &r->place[r->word[i].place];
    const char *text = r->word[i].text;
    int code = place->file ? SS_ERR_INPUT : SS_ERR_USAGE;
    char name[128];

    snprintf(name, sizeof name, "%.*s", ss_is_flag(text) ? (int)strcspn(text, "=") : 127, text);
    if (!ss_is_flag(text)) {
        ss_fail(err, code, place->file, r->word[i].line, "\"%.100s\" is no flag", name);
        return ss_hint(err, code,
                       place->file ? "flags begin with --; --launch FILE runs a launch script"
                                   : "flags begin with --");
    }
    if (strstr(name, "lora") || strstr(name, "peft")) /* each framework has names of its own */
        return ss_fail(err, SS_ERR_UNSUPPORTED, place->file, r->word[i].line,
                       "%.100s: LoRA is not modelled: all parameters are trained here", name);
    ss_fail(err, code, place->file, r->word[i].line, "unknown flag %.100s", name);
    return hint_unknown(name, code, place->program, place->file != NULL, err);
}

int ss_request_check_known(const struct ss_request *r, struct ss_error *err)
{
    struct ss_faults faults;
    struct ss_error why;
    struct ss_flag f;

    faults.n = 0;
    if (ss_request_has_what_if(r)) /* it may drop them */
        return SS_OK;
    for (size_t i = 0; i < r->n; i += ss_request_extent(r, i)) {
        if (!ss_is_flag(r->word[i].text) || ss_request_flag(r, i, &f))
            continue;
        ss_faults_unknown(r, i, &why);
        ss_faults_add(&faults, r, i, &why);
    }
    return faults.n ? ss_faults_end(&faults, SS_OK, &why, err) : SS_OK;
}

static const char *file_of(const struct ss_request *r, size_t i)
{
    const char *file = r->place[r->word[i].place].file;

    return file ? file : "";
}

/* "--flag: why", and "--other: likewise" behind it. */
static void add_refused(char *list, size_t size, const char *message)
{
    const char *reason = strstr(message, ": ");
    int again = reason && ss_is_told_last(list, reason + 2);

    ss_append(list, size, "%s%.*s%s", list[0] ? "; " : "", again ? (int)(reason - message) : (int)size,
              message, again ? ": likewise" : "");
}

int ss_faults_add(struct ss_faults *f, const struct ss_request *r, size_t i, const struct ss_error *why)
{
    struct ss_flag flag;
    int unknown = !ss_request_flag(r, i, &flag) && why->code != SS_ERR_UNSUPPORTED, line = r->word[i].line;
    char *list = unknown ? f->unknown : f->refused;

    if (!ss_is_flag(r->word[i].text) || !(unknown || why->code == SS_ERR_UNSUPPORTED))
        return why->code;
    if (!f->n++) {
        f->first = *why;
        f->unknown[0] = f->refused[0] = '\0';
    }
    if (unknown)
        ss_append(list, sizeof f->unknown, "%s%.*s", list[0] ? ", " : "", (int)strcspn(r->word[i].text, "="),
                  r->word[i].text);
    else
        add_refused(list, sizeof f->refused, why->message);
    if (strcmp(file_of(r, i), f->first.file) != 0)
        ss_append(list, sizeof f->unknown, " (%.100s%s", file_of(r, i)[0] ? file_of(r, i) : "command line",
                  line > 0 ? ":" : ")");
    if (line > 0)
        ss_append(list, sizeof f->unknown, strcmp(file_of(r, i), f->first.file) ? "%d)" : " (%d)", line);
    return SS_OK;
}

/* An error that ends the reading counts for nothing where flags before it cannot be taken. */
int ss_faults_end(struct ss_faults *f, int rc, const struct ss_error *why, struct ss_error *err)
{
    const struct ss_error *first = f->n ? &f->first : why;

    if (!err || rc == SS_ERR_NOMEM || f->n < 2) {
        if (err)
            *err = rc == SS_ERR_NOMEM ? *why : *first;
        return rc == SS_ERR_NOMEM ? rc : first->code;
    }
    int code = first->code, both = f->unknown[0] && f->refused[0];
    return ss_fail(err, code, f->first.file[0] ? f->first.file : NULL, f->first.line,
                   "%d flags cannot be taken (lines in brackets); %s%s%s%s%s" SS_HINT
                   "--drop FLAG leaves one out%s; the prediction then has no error band",
                   f->n, f->unknown[0] ? "unknown: " : "", f->unknown, both ? "; " : "",
                   f->refused[0] ? "refused: " : "", f->refused,
                   f->unknown[0] ? ", --drop-unknown all that are unknown" : "");
}
