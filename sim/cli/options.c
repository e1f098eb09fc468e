/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options by their rows. */
#include "cli/cli.h"
#include "cli/verbs.h"

static int is_named(const struct ss_option *o, const char *name)
{
    return !strcmp(o->name, name) || (o->alias && !strcmp(o->alias, name));
}

static int has(const struct ss_option *o, int verb)
{
    return o->verbs >> verb & 1;
}

const struct ss_option *cli_option_find(int verb, const char *name)
{
    return ss_option_find(cli_option_at(0), cli_option_count(), (uint64_t)1 << verb, name);
}

const struct ss_option *cli_option_named(const char *name)
{
    return ss_option_find(cli_option_at(0), cli_option_count(), UINT64_MAX, name);
}

int cli_option_is_jobs(const struct ss_option *o, const char *value)
{
    const char *name = value && strrchr(value, '/') ? strrchr(value, '/') : value,
               *dot = name ? strrchr(name, '.') : NULL;

    return value && *value && o->starts && ss_flag_known(o->name) && strcmp(value, "-") != 0 &&
           (!dot || !strcmp(dot, ".xml"));
}

/* Returns 1 if a word is a flag of a job here, whose value says that a picture of other verbs is meant. */
static int is_picture_of_others(const char *word, const char *value)
{
    const struct ss_option *o;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (value && is_named(o, word) && o->starts && ss_flag_known(word) && !cli_option_is_jobs(o, value))
            return 1;
    return 0;
}

int cli_option_is_how(int verb, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const struct ss_option *o = cli_option_find(verb, name);

    return o && o->how;
}

static int row_of(const struct ss_option *o)
{
    return (int)(o - cli_option_at(0));
}

int cli_given(const struct cli_flags *flags, const char *name)
{
    const struct ss_option *o = cli_option_find(flags->verb, name);

    return o && flags->given[row_of(o)];
}

void cli_flags_init(struct cli_flags *flags, int verb)
{
    memset(flags, 0, sizeof *flags);
    flags->verb = verb;
    ss_request_init(&flags->request);
    ss_options_init(&flags->options);
    flags->tolerance = -1;
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
    cli_inputs_free(&flags->in);
    ss_request_free(&flags->request);
    ss_bands_free(flags->bands);
    ss_options_free(&flags->options, cli_option_at(0), cli_option_count());
}

/* Names the commands that have the option, with drawn 1 as a picture: "stepsim capacity has it". */
static void who_has(const char *word, int drawn, char *hint, size_t size)
{
    const char *before = NULL;
    int found = 0;

    hint[0] = 0;
    for (int v = 0; v < CLI_VERB_COUNT; v++) {
        const char *command = cli_verb_command(v);
        const struct ss_option *o = cli_option_find(v, word);
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
    const struct ss_option *o;
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

int cli_option_take(struct cli_flags *flags, int place, int n, char *const *words, struct ss_error *err)
{
    const char *equal = strchr(words[0], '=');
    size_t length = equal ? (size_t)(equal - words[0]) : strlen(words[0]);
    char word[64];

    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), words[0]);
    const struct ss_option *o = cli_option_find(flags->verb, word);
    const char *value = equal ? equal + 1 : n > 1 ? words[1] : NULL;
    if (!o && is_picture_of_others(word, value)) {
        char hint[320];
        who_has(word, 1, hint, sizeof hint);
        return cli_usage(err, hint, "this command draws no %s %s", word, value);
    }
    if (!o || cli_option_is_jobs(o, value))
        return cli_verb_has_job(flags->verb) && ss_flag_known(word) ? 0 : refuse(flags, word, err);
    return ss_option_take(o, &flags->options, &flags->given[row_of(o)], place, n, words, err);
}

int cli_options_check(const struct cli_flags *flags, struct ss_error *err)
{
    SS_TRY(ss_options_check(cli_option_at(0), cli_option_count(), (uint64_t)1 << flags->verb, flags->given,
                            err));
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
        int taken = cli_option_take(flags, 0, argc - i, argv + i, err);
        if (taken < 0)
            return taken;
        if (taken == 0)
            return cli_usage(err, "--help lists the options", "unknown option %s", argv[i]);
        i += taken;
    }
    return cli_options_check(flags, err);
}
