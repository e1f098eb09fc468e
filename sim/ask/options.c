/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command: options, and those of its job. */
#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/flags.h"
#include "stepsim/import.h"
#include "stepsim/replay.h"
#include "stepsim/search.h"

#define LOWER (SS_ASK_RUN | SS_ASK_COMPARE | SS_ASK_EXPLAIN | SS_ASK_CHECK)
#define MOST_WORKERS 1024

typedef int reader(struct ss_ask *a, const char *name, const char *value, struct ss_error *err);

static int no_value(const char *name, const char *value, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.60s: not a value of this option", name, value);
}

static int read_how(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    return ss_run_words_read(&a->how, name, value, err);
}

static int read_vary(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    (void)name;
    return ss_sweep_vary(a->vary, value, err);
}

static int read_with(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    (void)name;
    return ss_request_add(&a->with, value, 0, err);
}

static int read_workers(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    int64_t n;

    if (ss_parse_i64(value, 1, MOST_WORKERS, &n))
        return no_value(name, value, err);
    a->workers.n = (int)n;
    return SS_OK;
}

static int read_switch(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    (void)value;
    (void)err;
    a->exhaustive |= !strcmp(name, "--exhaustive");
    a->unconfirmed |= !strcmp(name, "--unconfirmed");
    a->coverage |= !strcmp(name, "--coverage");
    a->regret |= !strcmp(name, "--regret");
    return SS_OK;
}

static int read_goal(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    return !strcmp(name, "--tokens")     ? ss_capacity_read_tokens(value, &a->capacity.tokens, err)
           : !strcmp(name, "--deadline") ? ss_capacity_read_time(value, &a->capacity.deadline_s, err)
                                         : ss_capacity_read_money(value, &a->capacity.budget_usd, err);
}

static int read_layout(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    if (strcmp(value, "search") && strcmp(value, "given"))
        return no_value(name, value, err);
    a->capacity.layout = strcmp(value, "given") ? SS_CAPACITY_SEARCH : SS_CAPACITY_GIVEN;
    return SS_OK;
}

static int read_axes(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    for (int i = 0; i < SS_FIND_AXES_COUNT; i++)
        if (!strcmp(value, ss_find_axes_word(i))) {
            a->axes = i;
            return SS_OK;
        }
    return no_value(name, value, err);
}

static int read_measured(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    if (strcmp(name, "--log") != 0)
        return ss_measurement_add(&a->measured, name, value, err);
    return ss_copy(a->log, sizeof a->log, value) && value[0] ? SS_OK : no_value(name, value, err);
}

static int read_spread(struct ss_ask *a, const char *name, const char *value, struct ss_error *err)
{
    if (ss_parse_double(value, &a->spread) || !(a->spread >= 0 && a->spread <= 10))
        return no_value(name, value, err);
    return SS_OK;
}

static const struct option {
    const char *name;
    int commands; /* that have it */
    int values;   /* 0 or 1 */
    int how;      /* 1: says how a job is simulated, so a result keeps it */
    reader *read;
} options[] = {
    {"--engine", LOWER | SS_ASK_SWEEP | SS_ASK_VALIDATE, 1, 1, read_how},
    {"--level", LOWER, 1, 1, read_how},
    {"--unfold", LOWER, 0, 1, read_how},
    {"--full-replay", LOWER, 0, 1, read_how},
    {"--placement", LOWER, 1, 1, read_how},
    {"--straggler", LOWER, 1, 1, read_how},
    {"--slow-link", LOWER, 1, 1, read_how},
    {"--spread-seed", LOWER, 1, 1, read_how},
    {"--jitter", SS_ASK_RUN, 1, 1, read_how},
    {"--replicas", SS_ASK_RUN, 1, 1, read_how},
    {"--seed", SS_ASK_RUN, 1, 1, read_how},
    {"--vary", SS_ASK_SWEEP | SS_ASK_SEARCH | SS_ASK_CAPACITY, 1, 0, read_vary},
    {"--with", SS_ASK_COMPARE, 1, 0, read_with},
    {"--workers", SS_ASK_SWEEP | SS_ASK_SEARCH | SS_ASK_CAPACITY | SS_ASK_VALIDATE, 1, 0, read_workers},
    {"--axes", SS_ASK_SEARCH, 1, 0, read_axes},
    {"--exhaustive", SS_ASK_SEARCH, 0, 0, read_switch},
    {"--unconfirmed", SS_ASK_SEARCH, 0, 0, read_switch},
    {"--tokens", SS_ASK_CAPACITY, 1, 0, read_goal},
    {"--deadline", SS_ASK_CAPACITY, 1, 0, read_goal},
    {"--budget", SS_ASK_CAPACITY, 1, 0, read_goal},
    {"--layout", SS_ASK_CAPACITY, 1, 0, read_layout},
    {"--log", SS_ASK_CHECK, 1, 0, read_measured},
    {"--tokens-per-second", SS_ASK_CHECK, 1, 0, read_measured},
    {"--samples-per-second", SS_ASK_CHECK, 1, 0, read_measured},
    {"--tflops", SS_ASK_CHECK, 1, 0, read_measured},
    {"--mfu", SS_ASK_CHECK, 1, 0, read_measured},
    {"--memory", SS_ASK_CHECK, 1, 0, read_measured},
    {"--spread", SS_ASK_VALIDATE, 1, 0, read_spread},
    {"--coverage", SS_ASK_VALIDATE, 0, 0, read_switch},
    {"--regret", SS_ASK_VALIDATE, 0, 0, read_switch},
};

int ss_ask_init(struct ss_ask *a, int command, struct ss_error *err)
{
    memset(a, 0, sizeof *a);
    a->command = command;
    a->spread = -1;
    ss_run_words_init(&a->how, SS_ENGINE_NATIVE);
    ss_request_init(&a->request);
    ss_request_init(&a->told);
    ss_request_init(&a->with);
    a->vary = ss_calloc(1, sizeof *a->vary);
    return a->vary ? SS_OK : ss_nomem(err);
}

void ss_ask_end(struct ss_ask *a)
{
    ss_run_free(&a->run);
    ss_scenario_free(a->scenario);
    ss_request_free(&a->request);
    ss_request_free(&a->told);
    ss_request_free(&a->with);
    ss_files_free(&a->files);
    if (!a->shelf)
        ss_bands_free((struct ss_bands *)a->how.options.bands);
    ss_run_words_free(&a->how);
    if (a->vary)
        free(a->vary->rows);
    free(a->vary);
}

/* The row of "--level" or "--level=layer" of this command; NULL: none. */
static const struct option *find(const struct ss_ask *a, const char *word)
{
    size_t len = strcspn(word, "=");

    for (size_t i = 0; i < SS_ARRAY_LEN(options); i++)
        if ((options[i].commands & a->command) && strlen(options[i].name) == len &&
            !strncmp(word, options[i].name, len))
            return &options[i];
    return NULL;
}

static int is_given(const struct ss_ask *a, const char *name)
{
    const struct option *o = find(a, name);

    return o && (a->given >> (o - options) & 1);
}

/* Reads the option `o` at words[0] of n; *used: words that it takes. */
static int take(struct ss_ask *a, const struct option *o, int n, char *const *words, int *used,
                struct ss_error *err)
{
    const char *equal = strchr(words[0], '=');

    if (!o->values && equal)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s takes no value", o->name);
    if (o->values && !equal && n < 2)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s needs a value", o->name);
    *used = 1 + (o->values && !equal);
    a->given |= UINT64_C(1) << (o - options);
    return o->read(a, o->name, equal ? equal + 1 : words[*used - 1], err);
}

/* As take, of the words of a request at index i. Options of an earlier result count for nothing where they are given anew. */
static int take_of_job(struct ss_ask *a, const struct option *o, size_t i, int *used, struct ss_error *err)
{
    const struct ss_request_word *word = &a->request.word[i];
    const struct ss_request_place *place = &a->request.place[word->place];
    char *words[2] = {word->text, NULL};
    int n = 1, rc = SS_OK;

    if (i + 1 < a->request.n && word[1].place == word->place)
        words[n++] = word[1].text;
    *used = 1 + (o->values && !strchr(word->text, '=') && n > 1);
    if (place->how && (a->given >> (o - options) & 1))
        return SS_OK;
    rc = take(a, o, n, words, used, err);
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
            const struct option *o = place->how == earlier && !place->program ? find(a, word->text) : NULL;
            int used = 0;
            if (!o) {
                i += ss_request_span(&a->request, i);
                continue;
            }
            rc = take_of_job(a, o, i, &used, err);
            ss_request_remove(&a->request, i, (size_t)used);
        }
    return rc;
}

int ss_ask_operands(struct ss_ask *a, struct ss_error *err)
{
    int left = 0;

    for (int i = 0; i < a->n;) {
        const struct option *o = find(a, a->words[i]);
        int used = 1;
        if (o)
            SS_TRY(take(a, o, a->n - i, a->words + i, &used, err));
        else if (a->words[i][0] == '-')
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown option %.60s", a->words[i]);
        else
            a->words[left++] = a->words[i];
        i += used;
    }
    a->n = left;
    return SS_OK;
}

int ss_ask_bands(struct ss_ask *a, struct ss_error *err)
{
    struct ss_bands *bands = NULL;

    if (a->shelf) {
        a->how.options.cache = a->shelf->cache;
        return ss_shelf_bands(a->shelf, &a->how.options.bands, err);
    }
    int rc = ss_bands_load(NULL, NULL, &bands, err);

    a->how.options.bands = bands;
    return rc;
}

int ss_ask_scenario(struct ss_ask *a, struct ss_error *err)
{
    const struct ss_scenario_options how = {.asker = ss_simgrid_ask_routes, .files = &a->files};

    SS_TRY(a->shelf ? ss_shelf_build(a->shelf, &a->request, &a->files, &a->scenario, err)
                    : ss_scenario_build(&a->request, &how, &a->scenario, err));
    if (a->how.replicas >= 0 && !is_given(a, "--jitter"))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--replicas without --jitter" SS_HINT "add --jitter SIGMA");
    return ss_run_words_finish(&a->how, a->scenario, &a->files, err);
}
