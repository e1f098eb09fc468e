/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command: options, and those of its job. */
#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/import.h"

#define AT(field) offsetof(struct ss_options, field)
#define V(verb) SS_ASK_##verb
/* Verbs that the library has not. */
enum {
    SS_ASK_SHARE,
    SS_ASK_PROGRAM_READ = 0,
    SS_ASK_PROGRAM_WRITE = 0,
    SS_ASK_SCHEDULE_COMPARE_JOB = 0,
    SS_ASK_CALIBRATE = 0
};
#define SS_OPTION(...) {__VA_ARGS__},
#define SS_PROGRAM_OPTION(...)
static const struct ss_option options[] = {
#include "stepsim/options.def"
};
_Static_assert(SS_ARRAY_LEN(options) <= SS_ASK_MOST_OPTIONS,
               "given of struct ss_ask has a place for each row");

int ss_ask_init(struct ss_ask *a, int command, struct ss_error *err)
{
    memset(a, 0, sizeof *a);
    a->command = command;
    ss_options_init(&a->options);
    ss_request_init(&a->request);
    ss_request_init(&a->told);
    a->vary = ss_calloc(1, sizeof *a->vary);
    return a->vary ? SS_OK : ss_nomem(err);
}

void ss_ask_end(struct ss_ask *a)
{
    ss_run_free(&a->run);
    ss_scenario_free(a->scenario);
    ss_request_free(&a->request);
    ss_request_free(&a->told);
    ss_files_free(&a->files);
    if (!a->shelf)
        ss_bands_free((struct ss_bands *)a->options.how.options.bands);
    ss_options_free(&a->options, options, SS_ARRAY_LEN(options));
    if (a->vary)
        free(a->vary->rows);
    free(a->vary);
}

/* The row of "--level" or "--level=layer" of this command; NULL: none. */
static const struct ss_option *find(const struct ss_ask *a, const char *word)
{
    char name[64];

    return snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word) < (int)sizeof name
               ? ss_option_find(options, SS_ARRAY_LEN(options), (uint64_t)a->command, name)
               : NULL;
}

static int check(const struct ss_ask *a, struct ss_error *err)
{
    return ss_options_check(options, SS_ARRAY_LEN(options), (uint64_t)a->command, a->given, err);
}

/* Takes the option at index i of the request; *used: its words. Options of an earlier result count for nothing where they are given anew. */
static int take_of_job(struct ss_ask *a, const struct ss_option *o, size_t i, int *used, struct ss_error *err)
{
    const struct ss_request_word *word = &a->request.word[i];
    const struct ss_request_place *place = &a->request.place[word->place];
    char *words[2] = {word->text, NULL};
    int n = 1;

    if (i + 1 < a->request.n && word[1].place == word->place)
        words[n++] = word[1].text;
    *used = 1 + (o->value && !strchr(word->text, '=') && n > 1);
    unsigned char *given = &a->given[o - options];
    if (place->how && !o->repeats && *given)
        return SS_OK;
    int taken = ss_option_take(o, &a->options, given, word->place, n, words, err), rc = taken < 0 ? taken : 0;
    if (rc && err && !err->file[0] && place->file) {
        ss_copy(err->file, sizeof err->file, place->file);
        err->line = word->line;
    }
    for (int k = 0; k < *used && o->how && !rc; k++)
        rc = ss_request_add(&a->told, words[k], 0, err);
    return rc;
}

int ss_ask_read(struct ss_ask *a, int n, char *const *words, struct ss_error *err)
{
    int rc = ss_request_read(&a->request, n, words, err);

    /* first the options given now, then those of the earlier result */
    for (int earlier = 0; earlier < 2; earlier++)
        for (size_t i = 0; i < a->request.n && !rc;) {
            const struct ss_request_word *word = &a->request.word[i];
            const struct ss_request_place *place = &a->request.place[word->place];
            const struct ss_option *o = place->how == earlier && !place->program ? find(a, word->text) : NULL;
            int used = 0;
            if (!o) {
                i += ss_request_span(&a->request, i);
                continue;
            }
            rc = take_of_job(a, o, i, &used, err);
            ss_request_remove(&a->request, i, (size_t)used);
        }
    SS_THEN(rc, check(a, err));
    for (int i = 0; i < a->options.vary.n && !rc; i++)
        rc = ss_sweep_vary(a->vary, a->options.vary.text[i], err);
    return rc;
}

int ss_ask_operands(struct ss_ask *a, struct ss_error *err)
{
    int left = 0;

    for (int i = 0; i < a->n;) {
        const struct ss_option *o = find(a, a->words[i]);
        int used =
            o ? ss_option_take(o, &a->options, &a->given[o - options], 0, a->n - i, a->words + i, err) : 1;
        if (used < 0)
            return used;
        if (!o && a->words[i][0] == '-')
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown option %.60s", a->words[i]);
        if (!o)
            a->words[left++] = a->words[i];
        i += used;
    }
    a->n = left;
    return check(a, err);
}

int ss_ask_bands(struct ss_ask *a, struct ss_error *err)
{
    struct ss_bands *bands = NULL;

    if (a->shelf) {
        a->options.how.options.cache = a->shelf->cache;
        return ss_shelf_bands(a->shelf, &a->options.how.options.bands, err);
    }
    int rc = ss_bands_load(NULL, NULL, &bands, err);

    a->options.how.options.bands = bands;
    return rc;
}

int ss_ask_scenario(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};

    SS_TRY(a->shelf ? ss_shelf_build(a->shelf, &a->request, &a->files, &a->scenario, err)
                    : ss_scenario_build(&a->request, &how, &a->scenario, err));
    return ss_run_words_finish(&a->options.how, a->scenario, &a->files, err);
}
