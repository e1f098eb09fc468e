/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the job, stack and platform of a prediction from the words of a command line. */
#include "cli/cli.h"

int cli_platform_load(const char *name, const struct cli_flags *flags, struct ss_platform **out,
                      struct ss_error *err)
{
    const struct ss_platform_options options = {.nodes = flags->nodes,
                                                .gpus_per_node = flags->gpus_per_node,
                                                .asker = ss_simgrid_ask_routes,
                                                .files = cli_files(),
                                                .card = flags->platform.card};
    int rc = ss_platform_load(name, &options, out, err);

    if (rc)
        return rc;
    for (int i = 0; i < flags->sets.n && !rc; i++)
        rc = ss_set_apply(flags->sets.text[i], *out, NULL, err);
    if (rc) {
        ss_platform_free(*out);
        *out = NULL;
    }
    return rc;
}

/* Returns 1 if the option at word i does not count: it comes from an earlier result, and this command
 * lacks the option or was given it by the user. *span gets its number of words. */
static int is_superfluous(const struct ss_request *r, size_t i, const struct cli_flags *flags, int *span)
{
    const struct ss_option *o = cli_option_find(flags->verb, r->word[i].text), *any;

    any = o ? o : cli_option_named(r->word[i].text);
    *span = any && any->value && i + 1 < r->n && r->word[i + 1].place == r->word[i].place ? 2 : 1;
    return any && (!o || (!o->repeats && cli_given(flags, o->name)));
}

/* Takes the option at word i. *used gets its number of words, 0 if it is a flag of the job. */
static int take_option(struct ss_request *r, size_t i, struct ss_request *how, struct cli_flags *flags,
                       int *used, struct ss_error *err)
{
    const struct ss_request_place *place = &r->place[r->word[i].place];
    char *words[2] = {r->word[i].text, NULL};
    int n = 1, rc = SS_OK;

    if (i + 1 < r->n && r->word[i + 1].place == r->word[i].place)
        words[n++] = r->word[i + 1].text;
    if (place->how && is_superfluous(r, i, flags, used))
        return SS_OK;
    const struct ss_option *o = place->file ? cli_option_find(flags->verb, words[0]) : NULL;
    *used = o && o->writes && !cli_option_is_jobs(o, n > 1 ? words[1] : NULL)
                ? cli_usage(err, "give it on the command line", "%s in a file: a job names no file to write",
                            o->name)
                : cli_option_take(flags, r->word[i].place, n, words, err);
    if (*used < 0 && !err->file[0] && place->file) {
        snprintf(err->file, sizeof err->file, "%s", place->file);
        err->line = r->word[i].line;
    }
    if (*used <= 0)
        return *used;
    for (int k = 0; k < *used && how && cli_option_is_how(flags->verb, words[0]) && !rc; k++)
        rc = ss_request_add(how, words[k], 0, err);
    return rc;
}

/* Returns how many words the option at word i is, right or wrong. */
static int words_of(const struct ss_request *r, size_t i, const struct cli_flags *flags)
{
    const struct ss_option *o = cli_option_find(flags->verb, r->word[i].text);

    return o && o->value && i + 1 < r->n && r->word[i + 1].place == r->word[i].place ? 2 : 1;
}

/* Takes the options of the subcommand out of the words of a job: first the user's, then those of an
 * earlier result. The words that are left are the job's. Unknown words are told before a wrong value. */
static int take_options(struct ss_request *r, struct ss_request *how, struct cli_flags *flags,
                        struct ss_error *err)
{
    struct ss_error first = {0};

    for (int earlier = 0; earlier < 2; earlier++)
        for (size_t i = 0; i < r->n;) {
            int used = 0, rc = SS_OK;
            if (r->place[r->word[i].place].how == earlier && !r->place[r->word[i].place].program)
                rc = take_option(r, i, how, flags, &used, err);
            if (rc == SS_ERR_NOMEM)
                return rc;
            if (rc && !first.code)
                first = *err;
            if (rc)
                used = words_of(r, i, flags);
            if (used)
                ss_request_remove(r, i, (size_t)used);
            else
                i += ss_request_span(r, i);
        }
    int rc = first.code ? ss_request_check_known(r, err) : SS_OK;
    if (rc || !first.code)
        return rc;
    *err = first;
    return first.code;
}

static int build(struct cli_inputs *in, const struct ss_request *r, struct ss_error *err)
{
    const struct ss_scenario_options options = {.asker = ss_simgrid_ask_routes, .files = cli_files()};
    int rc = ss_scenario_build(r, &options, &in->scenario, err);

    if (rc || !ss_schedule_is_file(in->scenario->job->schedule))
        return rc;
    return ss_files_add(cli_files(), in->scenario->job->schedule, err);
}

/* Adds to an error which keys of a configuration nobody read. One of them may be a misspelt name of what
 * is missing. */
static void hint_unknown(const struct ss_notes *notes, struct ss_error *err)
{
    for (unsigned long i = 0; i < notes->n; i++) {
        size_t n = strlen(err->hint);
        if (strstr(notes->text[i], "not known, hence ignored"))
            snprintf(err->hint + n, sizeof err->hint - n, "%s%s", n ? "; " : "", notes->text[i]);
    }
}

int cli_request_read(struct ss_request *r, struct ss_request *how, struct cli_flags *flags, int argc,
                     char *const *argv, struct ss_error *err)
{
    int rc = ss_request_read(r, argc, argv, err);

    if (!rc) {
        rc = take_options(r, how, flags, err);
        if (rc)
            ss_request_blame(r, err);
    }
    return rc ? rc : cli_options_check(flags, err);
}

int cli_inputs_load(struct cli_inputs *in, struct cli_flags *flags, int argc, char *const *argv,
                    struct ss_error *err)
{
    struct ss_request r;
    int rc;

    memset(in, 0, sizeof *in);
    ss_request_init(&r);
    ss_request_init(&in->how);
    rc = cli_request_read(&r, &in->how, flags, argc, argv, err);
    SS_THEN(rc, build(in, &r, err));
    if (rc)
        hint_unknown(&r.notes, err);
    ss_request_free(&r);
    if (rc)
        cli_inputs_free(in);
    else
        cli_inputs_end(in);
    return rc;
}

void cli_inputs_end(struct cli_inputs *in)
{
    in->nfiles = cli_files()->n;
}

int cli_bands(struct cli_flags *flags, struct ss_error *err)
{
    int rc = ss_bands_load(NULL, cli_files(), &flags->bands, err);

    flags->options.how.options.bands = flags->bands;
    flags->options.how.options.open_compute = 1;
    return rc;
}
