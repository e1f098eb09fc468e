/* SPDX-License-Identifier: Apache-2.0 */
/* Words in, a document out. */
#include "stepsim/ask.h"

#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/job.h"

#define MOST_COMMANDS 16

struct ss_asker {
    struct ss_shelves *shelves;
};

static const struct {
    const char *name;
    int command; /* enum ss_ask_command */
    ss_ask_answer *answer;
    enum { NOTHING, OPERANDS, REQUEST, JOB } reads; /* of the words, before the answer is written */
} commands[] = {
    {"run", SS_ASK_RUN, ss_ask_run, JOB},
    {"plan", SS_ASK_PLAN, ss_ask_plan, JOB},
    {"explain", SS_ASK_EXPLAIN, ss_ask_explain, JOB},
    {"check", SS_ASK_CHECK, ss_ask_check, JOB},
    {"compare", SS_ASK_COMPARE, ss_ask_compare, NOTHING},
    {"sweep", SS_ASK_SWEEP, ss_ask_sweep, REQUEST},
    {"search", SS_ASK_SEARCH, ss_ask_search, REQUEST},
    {"capacity", SS_ASK_CAPACITY, ss_ask_capacity, REQUEST},
    {"validate", SS_ASK_VALIDATE, ss_ask_validate, OPERANDS},
    {"list", SS_ASK_NONE, ss_ask_list, OPERANDS},
    {"doctor", SS_ASK_NONE, ss_ask_doctor, NOTHING},
    {"version", SS_ASK_NONE, ss_ask_version, NOTHING},
};

static int unknown(const char *name, struct ss_error *err)
{
    const char *names[MOST_COMMANDS];

    for (size_t i = 0; i < SS_ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    const char *near = ss_nearest(name, names, SS_ARRAY_LEN(commands));
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown command \"%.60s\"", name);
    return ss_hint(err, SS_ERR_USAGE, near ? "did you mean %s?" : "stepsim/ask.h lists the commands", near);
}

/* Commands of one job, which take what was read before. */
#define KEPT (SS_ASK_RUN | SS_ASK_PLAN | SS_ASK_EXPLAIN | SS_ASK_CHECK)

/* The words, the scenario and the bands of a command of one job. */
static int read_job(struct ss_ask *a, struct ss_error *err)
{
    SS_TRY(ss_ask_read(a, a->n, a->words, err));
    SS_TRY(ss_ask_scenario(a, err));
    if (ss_schedule_is_file(a->scenario->job->schedule))
        SS_TRY(ss_files_add(&a->files, a->scenario->job->schedule, err));
    return ss_ask_bands(a, err);
}

/* Runs the command with words that it may move. */
static int answer(struct ss_asker *asker, int n, const char *const *words,
                  const struct ss_ask_watcher *watcher, FILE *out, int *status, struct ss_error *err)
{
    size_t i = 0;
    struct ss_ask a;

    if (n < 1)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no command");
    for (int k = 0; k < n; k++)
        if (!words[k])
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "word %d of %d is a null pointer", k + 1, n);
    while (i < SS_ARRAY_LEN(commands) && strcmp(words[0], commands[i].name))
        i++;
    if (i == SS_ARRAY_LEN(commands))
        return unknown(words[0], err);
    char **moved = ss_calloc((size_t)n, sizeof *moved);
    SS_NEED(moved, err);
    memcpy(moved, words + 1, (size_t)(n - 1) * sizeof *moved);
    int rc = ss_ask_init(&a, commands[i].command, err);
    a.n = n - 1;
    a.words = moved;
    a.out = out;
    if (watcher->watch) {
        a.watcher = *watcher;
        a.options.workers.stop = ss_ask_stop;
        a.options.workers.stop_ctx = &a.watcher;
    }
    if (asker && (commands[i].command & KEPT))
        SS_THEN(rc, ss_shelf_take(asker->shelves, NULL, &a.shelf, err));
    SS_THEN(rc, commands[i].reads == JOB        ? read_job(&a, err)
                : commands[i].reads == REQUEST  ? ss_ask_read(&a, a.n, a.words, err)
                : commands[i].reads == OPERANDS ? ss_ask_operands(&a, err)
                                                : SS_OK);
    SS_THEN(rc, commands[i].answer(&a, err));
    *status = a.status;
    /* what the reader of a launch script noted tells why its words make no job */
    if (rc && !err->hint[0] && a.request.notes.n)
        ss_copy(err->hint, sizeof err->hint, a.request.notes.text[0]);
    struct ss_shelf *shelf = a.shelf;
    ss_ask_end(&a);
    if (shelf)
        ss_shelf_give_back(asker->shelves, shelf);
    free(moved);
    return rc;
}

static int write_error(const struct ss_error *e, char **json, size_t *size)
{
    FILE *out = open_memstream(json, size);
    int rc = out ? ss_report_error(e, out) : SS_ERR_NOMEM;

    return out && fclose(out) ? SS_ERR_NOMEM : rc;
}

int ss_ask(int n, const char *const *words, char **json, size_t *size)
{
    return ss_asker_ask(NULL, n, words, NULL, NULL, json, size);
}

int ss_ask_watched(int n, const char *const *words, int (*watch)(void *ctx, double share), void *ctx,
                   char **json, size_t *size)
{
    return ss_asker_ask(NULL, n, words, watch, ctx, json, size);
}

struct ss_asker *ss_asker_new(void)
{
    struct ss_asker *asker = ss_calloc(1, sizeof *asker);

    if (asker && ss_shelves_new(&asker->shelves, NULL)) {
        free(asker);
        return NULL;
    }
    return asker;
}

void ss_asker_free(struct ss_asker *asker)
{
    if (asker)
        ss_shelves_free(asker->shelves);
    free(asker);
}

int ss_asker_ask(struct ss_asker *asker, int n, const char *const *words,
                 int (*watch)(void *ctx, double share), void *ctx, char **json, size_t *size)
{
    const struct ss_ask_watcher watcher = {.watch = watch, .ctx = ctx};
    struct ss_error err = {0};
    size_t length;
    int status = 0;

    *json = NULL;
    size = size ? size : &length;
    *size = 0;
    FILE *out = open_memstream(json, size);
    int rc = out ? answer(asker, n, words, &watcher, out, &status, &err) : SS_ERR_NOMEM;
    if (out && fclose(out))
        rc = SS_ERR_NOMEM;
    if (!rc)
        return status;
    free(*json);
    *json = NULL;
    if (!err.code)
        ss_fail(&err, rc, NULL, 0, "out of memory");
    if (write_error(&err, json, size)) {
        free(*json);
        *json = NULL;
        *size = 0;
    }
    return ss_status_exit(rc);
}

void ss_ask_free(char *json)
{
    free(json);
}
