/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options by their rows. */
#include "cli/cli.h"
#include "cli/verbs.h"

static int is_named(const struct cli_option *o, const char *name)
{
    return !strcmp(o->name, name) || (o->alias && !strcmp(o->alias, name));
}

static int has(const struct cli_option *o, int verb)
{
    return o->verbs >> verb & 1;
}

const struct cli_option *cli_option_find(int verb, const char *name)
{
    const struct cli_option *o;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (has(o, verb) && is_named(o, name))
            return o;
    return NULL;
}

const struct cli_option *cli_option_named(const char *name)
{
    const struct cli_option *o;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (is_named(o, name))
            return o;
    return NULL;
}

int cli_option_is_jobs(const struct cli_option *o, const char *value)
{
    const char *name = value && strrchr(value, '/') ? strrchr(value, '/') : value,
               *dot = name ? strrchr(name, '.') : NULL;

    return value && *value && o->starts && ss_flag_known(o->name) && strcmp(value, "-") != 0 &&
           (!dot || !strcmp(dot, ".xml"));
}

/* Returns 1 if a word is a flag of a job here, whose value says that a picture of other verbs is meant. */
static int is_picture_of_others(const char *word, const char *value)
{
    const struct cli_option *o;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (value && is_named(o, word) && o->starts && ss_flag_known(word) && !cli_option_is_jobs(o, value))
            return 1;
    return 0;
}

int cli_option_is_how(int verb, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const struct cli_option *o = cli_option_find(verb, name);

    return o && o->how;
}

static int row_of(const struct cli_option *o)
{
    return (int)(o - cli_option_at(0));
}

int cli_given(const struct cli_flags *flags, const char *name)
{
    const struct cli_option *o = cli_option_find(flags->verb, name);

    return o && flags->given[row_of(o)];
}

void cli_flags_init(struct cli_flags *flags, int verb)
{
    memset(flags, 0, sizeof *flags);
    flags->verb = verb;
    ss_request_init(&flags->request);
    ss_run_words_init(&flags->how, SS_ENGINE_NATIVE);
    flags->tolerance = flags->spread = -1;
    flags->schedule.cap = INFINITY;
    flags->schedule.seed = 1;
    flags->schedule.shape.overlap_p2p = 1;
    flags->calibrate.seed = 1;
    flags->platform.made.nics_per_node = -1;
    flags->port = 8420;
}

void cli_inputs_free(struct cli_inputs *in)
{
    ss_scenario_free(in->scenario);
    ss_request_free(&in->how);
    memset(in, 0, sizeof *in);
}

void cli_flags_free(struct cli_flags *flags)
{
    const struct cli_option *o;

    cli_inputs_free(&flags->in);
    ss_request_free(&flags->request);
    ss_bands_free(flags->bands);
    ss_run_words_free(&flags->how);
    for (int i = 0; (o = cli_option_at(i)) != NULL; i++) {
        void *at = (char *)flags + o->offset;
        if (!has(o, flags->verb))
            continue;
        if (o->kind == CLI_TEXT) {
            free(*(char **)at);
            *(char **)at = NULL;
        }
        if (o->kind == CLI_EACH) {
            struct cli_texts *texts = at;
            for (int k = 0; k < texts->n; k++)
                free(texts->text[k]);
            free(texts->text);
            *texts = (struct cli_texts){0};
        }
    }
}

static int no_memory(struct ss_error *err)
{
    cli_usage(err, "", "out of memory");
    return err->code = SS_ERR_NOMEM;
}

static int read_number(const struct cli_option *o, const char *value, double *out, struct ss_error *err)
{
    const char *why = "", *whole = o->kind == CLI_NUMBER ? "" : "whole ";
    double number;

    if (o->unit != SS_UNIT_NONE && ss_unit_parse(value, o->unit, &number, &why))
        return cli_usage(err, "", "%s %.80s: %s", o->name, value, why);
    if ((o->unit == SS_UNIT_NONE && ss_parse_double(value, &number)) ||
        !(number >= o->low && number <= o->high) || (*whole && number != floor(number)))
        return cli_usage(err, "", "%s %.80s: not a %snumber from %.10g to %.10g", o->name, value, whole,
                         o->low, o->high);
    *out = number;
    return SS_OK;
}

static int read_choice(const struct cli_option *o, const char *value, int *out, struct ss_error *err)
{
    char hint[128] = "choose ";
    const char *word;

    for (int i = 0; (word = o->choice(i)) != NULL; i++) {
        if (!strcmp(word, value)) {
            *out = i;
            return SS_OK;
        }
        size_t n = strlen(hint);
        snprintf(hint + n, sizeof hint - n, "%s%s", i == 0 ? "" : o->choice(i + 1) ? ", " : " or ", word);
    }
    return cli_usage(err, hint, "%s %.80s: no such %s", o->name, value, o->value);
}

static int read_path(const struct cli_option *o, const char *value, char *out, struct ss_error *err)
{
    if (o->kind == CLI_NEW_FILE && (!value[0] || !strcmp(value, "-")))
        return cli_usage(err, "stdout has the answer", "%s needs the name of a file", o->name);
    if (!value[0])
        return cli_usage(err, "give the name of a file", "%s: the name is empty", o->name);
    if (strlen(value) >= CLI_PATH_SIZE)
        return cli_usage(err, "", "the path after %s is too long", o->name);
    strcpy(out, value);
    return SS_OK;
}

static int read_text(const struct cli_option *o, const char *value, char **out, struct ss_error *err)
{
    char *copy = value[0] ? strdup(value) : NULL;

    if (!value[0])
        return cli_usage(err, "", "%s: the value is empty", o->name);
    if (!copy)
        return no_memory(err);
    free(*out);
    *out = copy;
    return SS_OK;
}

static int add_text(const struct cli_option *o, const char *value, struct cli_texts *out,
                    struct ss_error *err)
{
    char **text = realloc(out->text, (size_t)(out->n + 1) * sizeof *text);

    if (!text)
        return no_memory(err);
    out->text = text;
    text[out->n] = NULL;
    int rc = read_text(o, value, &text[out->n], err);
    out->n += !rc;
    return rc;
}

static int read_value(struct cli_flags *f, const struct cli_option *o, const char *value,
                      struct ss_error *err)
{
    void *at = (char *)f + o->offset;
    double number;
    int rc;

    if (o->call)
        return o->call(f, o->name, value, err);
    switch ((enum cli_kind)o->kind) {
    case CLI_SET: *(int *)at = (int)o->low; return SS_OK;
    case CLI_COUNT:
        rc = read_number(o, value, &number, err);
        if (!rc)
            *(int *)at = (int)number;
        return rc;
    case CLI_WHOLE:
    case CLI_NUMBER: return read_number(o, value, at, err);
    case CLI_CHOICE: return read_choice(o, value, at, err);
    case CLI_PATH:
    case CLI_NEW_FILE: return read_path(o, value, at, err);
    case CLI_TEXT: return read_text(o, value, at, err);
    case CLI_EACH: return add_text(o, value, at, err);
    case CLI_CALL: break;
    }
    return SS_ERR_USAGE;
}

/* Names the commands that have the option, with drawn 1 as a picture: "stepsim capacity has it". */
static void who_has(const char *word, int drawn, char *hint, size_t size)
{
    const char *before = NULL;
    int found = 0;

    hint[0] = 0;
    for (int v = 0; v < CLI_VERB_COUNT; v++) {
        const char *command = cli_verb_command(v);
        const struct cli_option *o = cli_option_find(v, word);
        if (!o || (drawn && !o->starts) || (before && !strcmp(before, command)))
            continue;
        size_t n = strlen(hint);
        snprintf(hint + n, size - n, "%s`stepsim %s`", found ? ", " : "", command);
        before = command;
        found++;
    }
    size_t n = strlen(hint);
    snprintf(hint + n, size - n, found > 1 ? " have it" : " has it");
}

/* Refuses a word that is an option of another verb, or that is one or two letters off an option of this
 * verb. Such a word is no flag of a job. */
static int refuse(const struct cli_flags *f, const char *word, struct ss_error *err)
{
    const char *names[128], *near;
    const struct cli_option *o;
    int known = 0, other = cli_verb_sibling(f->verb);
    size_t n = 0;
    char hint[320];

    for (int i = 0; (o = cli_option_at(i)) != NULL && n < 128; i++) {
        known |= is_named(o, word);
        if (has(o, f->verb) && strlen(o->name) >= 6)
            names[n++] = o->name;
    }
    if (other >= 0 && (cli_option_find(other, word) || (cli_verb_has_job(other) && ss_flag_known(word))))
        return cli_usage(err, "its --help lists those it has", "%s %s has no option %s %s a job",
                         cli_verb_command(other), cli_verb_name(other), word,
                         other < f->verb ? "beside" : "without");
    if (known) {
        who_has(word, 0, hint, sizeof hint);
        return cli_usage(err, ss_flag_known(word) ? "only commands that take a job have it" : hint,
                         "this command has no option %s", word);
    }
    near = ss_nearest(word, names, n);
    if (!near || word[0] != '-' || strlen(word) < 5 || strlen(word) + 2 < strlen(near))
        return 0;
    snprintf(hint, sizeof hint, "did you mean %s?", near);
    return cli_usage(err, hint, "unknown option %s", word);
}

int cli_option_take(struct cli_flags *flags, int n, char *const *words, struct ss_error *err)
{
    const char *equal = strchr(words[0], '=');
    size_t length = equal ? (size_t)(equal - words[0]) : strlen(words[0]);
    char word[64];

    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), words[0]);
    const struct cli_option *o = cli_option_find(flags->verb, word);
    const char *value = equal ? equal + 1 : n > 1 ? words[1] : NULL;
    if (!o && is_picture_of_others(word, value)) {
        char hint[320];
        who_has(word, 1, hint, sizeof hint);
        return cli_usage(err, hint, "this command draws no %s %s", word, value);
    }
    if (!o || cli_option_is_jobs(o, value))
        return cli_verb_has_job(flags->verb) && ss_flag_known(word) ? 0 : refuse(flags, word, err);
    if (!o->value && equal)
        return cli_usage(err, "", "%s takes no value", o->name);
    if (o->value && !equal && n < 2)
        return cli_usage(err, "", "%s needs a value", o->name);
    if (o->several == CLI_ONCE && flags->given[row_of(o)])
        return cli_usage(err, "leave one out", "%s is given twice", o->name);
    int rc = read_value(flags, o, !o->value ? "" : equal ? equal + 1 : words[1], err);
    flags->given[row_of(o)] = 1;
    return rc ? rc : o->value && !equal ? 2 : 1;
}

/* Lists names of options: "--gantt, --trace or --report". */
static void list_names(const char *names, const char *word, char *out, size_t size)
{
    size_t n = 0;

    for (const char *p = names; *p && n < size; p += *p == ' ') {
        size_t len = strcspn(p, " ");
        const char *before = p == names ? "" : p[len] ? ", " : word;
        n += (size_t)snprintf(out + n, size - n, "%s%.*s", before, (int)len, p);
        p += len;
    }
}

/* Returns the first of `names` that was given; NULL: none was. */
static const char *first_given(const struct cli_flags *f, const char *names, char *buf, size_t size)
{
    for (const char *p = names; *p; p += *p == ' ') {
        size_t len = strcspn(p, " ");
        snprintf(buf, size, "%.*s", (int)len, p);
        if (cli_given(f, buf))
            return buf;
        p += len;
    }
    return NULL;
}

int cli_options_check(const struct cli_flags *flags, struct ss_error *err)
{
    const struct cli_option *o;
    char name[64], all[128], hint[160];

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++) {
        if (!flags->given[i])
            continue;
        if (o->beside && first_given(flags, o->beside, name, sizeof name))
            return cli_usage(err, "choose one", "both %s and %s given", name, o->name);
        if (!o->needs || first_given(flags, o->needs, name, sizeof name))
            continue;
        const struct cli_option *needed = cli_option_find(flags->verb, o->needs);
        list_names(o->needs, " or ", all, sizeof all);
        snprintf(hint, sizeof hint, "add %s", needed ? o->needs : "one of them");
        if (needed && needed->value)
            snprintf(hint, sizeof hint, "add %s %s", o->needs, needed->value);
        return cli_usage(err, hint, "%s without %s", o->name, all);
    }
    return cli_outputs_check(flags, err);
}

int cli_words(struct cli_flags *flags, int argc, char **argv, int *n, struct ss_error *err)
{
    *n = 0;
    for (int i = 0; i < argc;) {
        if (argv[i][0] != '-' || !strcmp(argv[i], "-")) {
            argv[(*n)++] = argv[i++];
            continue;
        }
        int taken = cli_option_take(flags, argc - i, argv + i, err);
        if (taken < 0)
            return taken;
        if (taken == 0)
            return cli_usage(err, "--help lists the options", "unknown option %s", argv[i]);
        i += taken;
    }
    return cli_options_check(flags, err);
}
