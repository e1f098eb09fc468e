/* SPDX-License-Identifier: Apache-2.0 */
/* The words that a browser may ask for: no file but those that the page was started with. */
#include "base/base.h"
#include "job/flags.h"
#include "serve/page.h"
#include "stepsim/flags.h"
#include "stepsim/report.h"

/* Flags whose value is a name or a file. */
static const struct {
    const char *flag, *kind, *suffix; /* of data; NULL: they are none */
} named[] = {
    {"--model", "workloads/models", ".json"},
    {"--platform", "platforms", ".xml"},
    {"--stack", "workloads/stacks", ".xml"},
    {"--schedule", NULL, NULL},
    {"--moe-load", NULL, NULL},
    {"--packed-lengths", NULL, NULL},
};

static void compare(void *ctx, const char *name, const char *description)
{
    const char **wanted = ctx;

    (void)description;
    if (*wanted && !strcmp(*wanted, name))
        *wanted = NULL;
}

static int is_schedule(const char *value)
{
    const char *wanted = value;

    return !strcmp(value, "auto") || (!ss_list_names("schedules", compare, &wanted, NULL) && !wanted);
}

static int started_with(const struct ss_serve *page, const char *value)
{
    for (size_t i = 0; i < page->start.n; i++)
        if (!strcmp(page->start.word[i].text, value))
            return 1;
    return 0;
}

/* Whether a value of loads or lengths says a law, "zipf:1", and no file. */
static int is_law(const char *value)
{
    static const char *const laws[] = {"biased:", "zipf:", "fixed:", "uniform:", "lognormal:"};

    if (ss_has_word("balanced uniform", value))
        return 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(laws); i++)
        if (!strncmp(value, laws[i], strlen(laws[i])))
            return 1;
    return value[0] == 'W' && value[1] >= '0' && value[1] <= '7' &&
           value[2] == '_'; /* W0_balanced ... W7_burst */
}

/* Whether a value of the i-th of these flags is no name, so that a file would be looked for. */
static int names_file(size_t i, const char *value)
{
    char path[4096];
    const char *rest;
    bool found = false;

    if (!named[i].kind)
        return !strcmp(named[i].flag, "--schedule") ? !is_schedule(value) : !is_law(value);
    return ss_data_look(named[i].kind, value, named[i].suffix, path, sizeof path, &found, NULL) || !found ||
           !ss_data_relative(path, &rest); /* what the current folder has */
}

static int refuse(struct ss_error *err, const char *value)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "\"%.100s\" is no name that this page knows" SS_HINT
                   "files are read only where \"stepsim serve\" was started with them",
                   value);
}

int ss_serve_check(const struct ss_serve *page, const char *flag, const char *value, struct ss_error *err)
{
    if (started_with(page, value))
        return SS_OK;
    if (strpbrk(value, "/\\"))
        return refuse(err, value);
    if (!flag || !ss_flag_setter_of(flag)) /* as all these flags have one */
        return SS_OK;
    for (size_t i = 0; i < SS_ARRAY_LEN(named); i++)
        if (ss_flag_same(flag, named[i].flag) && names_file(i, value))
            return refuse(err, value);
    return ss_flag_same(flag, "--job") ? refuse(err, value) : SS_OK;
}

/* "--tp=4" is a flag and its value in one word. */
static int check_word(const struct ss_serve *page, const char *before, const char *word, struct ss_error *err)
{
    const char *equal = word[0] == '-' ? strchr(word, '=') : NULL;
    char flag[96];

    if (equal && (size_t)(equal - word) < sizeof flag) {
        snprintf(flag, sizeof flag, "%.*s", (int)(equal - word), word);
        return strpbrk(flag, "/\\") ? refuse(err, word) : ss_serve_check(page, flag, equal + 1, err);
    }
    return ss_serve_check(page, before, word, err);
}

int ss_serve_read(const struct ss_serve *page, const char *text, struct ss_request *r, struct ss_error *err)
{
    size_t len = strlen(text);
    char *copy, *rest = NULL, *before = NULL;
    int rc;

    if (len > SS_SERVE_JOB_BYTES)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "the words of a job are longer than %d bytes",
                       SS_SERVE_JOB_BYTES);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] > '~' || ((unsigned char)text[i] < ' ' && !strchr("\t\r\n", text[i])))
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "byte %zu of the words is no printable ASCII", i + 1);
    copy = strdup(text);
    rc = copy ? ss_request_add_place(r, NULL, err) : ss_nomem(err);
    for (char *word = rc ? NULL : strtok_r(copy, " \t\r\n", &rest); word && !rc;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        rc = check_word(page, before, word, err);
        SS_THEN(rc, ss_request_add(r, word, 0, err));
        before = word;
    }
    free(copy);
    return rc;
}
