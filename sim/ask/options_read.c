/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values of options by their rows. */
#include "base/base.h"
#include "stepsim/options.h"
#include "stepsim/search.h"

void ss_options_init(struct ss_options *o)
{
    memset(o, 0, sizeof *o);
    ss_run_words_init(&o->how, SS_ENGINE_NATIVE);
    o->spread = -1;
}

void ss_options_free(void *values, const struct ss_option *rows, size_t n)
{
    for (const struct ss_option *row = rows; row < rows + n; row++) {
        void *at = (char *)values + row->offset;
        if (row->kind == SS_OPTION_TEXT && !row->call) {
            free(*(char **)at);
            *(char **)at = NULL;
        }
        if (row->kind == SS_OPTION_EACH) {
            struct ss_texts *texts = at;
            for (int k = 0; k < texts->n; k++)
                free(texts->text[k]);
            free(texts->text);
            *texts = (struct ss_texts){0};
        }
    }
    ss_run_words_free(&((struct ss_options *)values)->how);
}

/* ---- values ---- */

static int read_number(const struct ss_option *o, const char *value, double *out, struct ss_error *err)
{
    const char *why = "", *whole = o->kind == SS_OPTION_NUMBER ? "" : "whole ";
    double number;

    if (o->unit != SS_UNIT_NONE && ss_unit_parse(value, o->unit, &number, &why))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.80s: %s", o->name, value, why);
    if ((o->unit == SS_UNIT_NONE && ss_parse_double(value, &number)) ||
        !(number >= o->low && number <= o->high) || (*whole && number != floor(number)))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.80s: not a %snumber from %.10g to %.10g", o->name,
                       value, whole, o->low, o->high);
    *out = number;
    return SS_OK;
}

static int read_choice(const struct ss_option *o, const char *value, int *out, struct ss_error *err)
{
    char all[128] = "";
    const char *word;

    for (int i = 0; (word = o->choice(i)) != NULL; i++) {
        if (!strcmp(word, value)) {
            *out = i;
            return SS_OK;
        }
        ss_append(all, sizeof all, "%s%s", i == 0 ? "" : o->choice(i + 1) ? ", " : " or ", word);
    }
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.80s: no such %s" SS_HINT "choose %s", o->name, value,
                   o->value, all);
}

static int read_path(const struct ss_option *o, const char *value, char *out, struct ss_error *err)
{
    if (o->kind == SS_OPTION_NEW_FILE && (!value[0] || !strcmp(value, "-")))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "%s needs the name of a file" SS_HINT "stdout has the answer", o->name);
    if (!value[0])
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s: the name is empty" SS_HINT "give the name of a file",
                       o->name);
    if (!ss_copy(out, SS_OPTION_PATH_SIZE, value))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the path after %s is too long", o->name);
    return SS_OK;
}

static int read_text(const struct ss_option *o, const char *value, char **out, struct ss_error *err)
{
    if (!value[0])
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s: the value is empty", o->name);
    char *copy = strdup(value);
    SS_NEED(copy, err);
    free(*out);
    *out = copy;
    return SS_OK;
}

static int add_text(const struct ss_option *o, const char *value, struct ss_texts *out, struct ss_error *err)
{
    char **text = realloc(out->text, (size_t)(out->n + 1) * sizeof *text);

    SS_NEED(text, err);
    out->text = text;
    text[out->n] = NULL;
    SS_TRY(read_text(o, value, &text[out->n], err));
    out->n++;
    return SS_OK;
}

int ss_option_read(const struct ss_option *o, void *values, const char *value, struct ss_error *err)
{
    void *at = (char *)values + o->offset;
    double number;

    if (o->call)
        return o->call(values, o->name, value, err);
    switch ((enum ss_option_kind)o->kind) {
    case SS_OPTION_SET: *(int *)at = (int)o->low; return SS_OK;
    case SS_OPTION_COUNT:
        SS_TRY(read_number(o, value, &number, err));
        *(int *)at = (int)number;
        return SS_OK;
    case SS_OPTION_WHOLE:
    case SS_OPTION_NUMBER: return read_number(o, value, at, err);
    case SS_OPTION_CHOICE: return read_choice(o, value, at, err);
    case SS_OPTION_PATH:
    case SS_OPTION_NEW_FILE: return read_path(o, value, at, err);
    case SS_OPTION_TEXT: return read_text(o, value, at, err);
    case SS_OPTION_EACH: return add_text(o, value, at, err);
    case SS_OPTION_CALL: break;
    }
    return SS_ERR_USAGE;
}

int ss_option_take(const struct ss_option *o, struct ss_options *values, unsigned char *given, int place,
                   int n, char *const *words, struct ss_error *err)
{
    const char *equal = strchr(words[0], '=');
    const unsigned char here = (unsigned char)(place < UCHAR_MAX ? place + 1 : UCHAR_MAX);

    if (!o->value && equal)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s takes no value", o->name);
    if (o->value && !equal && n < 2)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s needs a value", o->name);
    if (o->value && !o->repeats && !o->last && *given == here && !values->behind)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s is given twice" SS_HINT "leave one out", o->name);
    *given = here;
    SS_TRY(ss_option_read(o, values, !o->value ? "" : equal ? equal + 1 : words[1], err));
    return 1 + (o->value && !equal);
}

/* ---- what options demand of each other ---- */

const struct ss_option *ss_option_find(const struct ss_option *rows, size_t n, uint64_t verbs,
                                       const char *name)
{
    for (const struct ss_option *o = rows; o < rows + n; o++)
        if ((o->verbs & verbs) && (!strcmp(o->name, name) || (o->alias && !strcmp(o->alias, name))))
            return o;
    return NULL;
}

/* Lists names of options: "--gantt, --trace or --report". */
static void list_names(const char *names, char *out, size_t size)
{
    out[0] = '\0';
    for (const char *p = names; *p; p += *p == ' ') {
        size_t len = strcspn(p, " ");
        ss_append(out, size, "%s%.*s", p == names ? "" : p[len] ? ", " : " or ", (int)len, p);
        p += len;
    }
}

int ss_options_check(const struct ss_option *rows, size_t n, uint64_t verbs, const unsigned char *given,
                     struct ss_error *err)
{
    char all[128], hint[160], name[64];

    for (const struct ss_option *o = rows; o < rows + n; o++) {
        if (!given[o - rows])
            continue;
        const char *found[2] = {NULL, NULL}, *const lists[2] = {o->beside, o->needs};
        for (int k = 0; k < 2; k++)
            for (const char *p = lists[k]; p && *p && !found[k]; p += strspn(p, " ")) {
                snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
                const struct ss_option *other = ss_option_find(rows, n, verbs, name);
                found[k] = other && given[other - rows] ? other->name : NULL;
                p += strcspn(p, " ");
            }
        if (found[0])
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "both %s and %s given" SS_HINT "choose one", found[0],
                           o->name);
        if (!o->needs || found[1])
            continue;
        const struct ss_option *needed = ss_option_find(rows, n, verbs, o->needs);
        list_names(o->needs, all, sizeof all);
        snprintf(hint, sizeof hint, "add %s%s%s", needed ? o->needs : "one of them",
                 needed && needed->value ? " " : "", needed && needed->value ? needed->value : "");
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s without %s" SS_HINT "%s", o->name, all, hint);
    }
    return SS_OK;
}

/* ---- what rows name ---- */

const char *ss_option_engine(int i)
{
    return i >= SS_ENGINE_NATIVE && i <= SS_ENGINE_SIMGRID ? ss_engine_name(i) : NULL;
}

const char *ss_option_level(int i)
{
    return i < SS_LEVEL_COUNT ? ss_level_name(i) : NULL;
}

const char *ss_option_layout(int i)
{
    return i == SS_CAPACITY_SEARCH ? "search" : i == SS_CAPACITY_GIVEN ? "given" : NULL;
}

const char *ss_option_axes(int i)
{
    return i >= 0 && i < SS_FIND_AXES_COUNT ? ss_find_axes_word(i) : NULL;
}

int ss_option_how(void *values, const char *name, const char *value, struct ss_error *err)
{
    struct ss_options *o = values;

    return ss_run_words_read(&o->how, name, value, err);
}

int ss_option_goal(void *values, const char *name, const char *value, struct ss_error *err)
{
    struct ss_capacity_options *o = &((struct ss_options *)values)->capacity;

    return !strcmp(name, "--tokens")     ? ss_capacity_read_tokens(value, &o->tokens, err)
           : !strcmp(name, "--deadline") ? ss_capacity_read_time(value, &o->deadline_s, err)
                                         : ss_capacity_read_money(value, &o->budget_usd, err);
}

int ss_option_figure(void *values, const char *name, const char *value, struct ss_error *err)
{
    return ss_measurement_add(&((struct ss_options *)values)->measured, name, value, err);
}
