/* SPDX-License-Identifier: Apache-2.0 */
/* The words that a browser may ask for: no file but those that the page was started with. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "serve/page.h"
#include "stepsim/flags.h"
#include "stepsim/report.h"

/* Flags whose value is a name or a file. */
static const struct {
    const char *flag, *list; /* of ss_list_names; NULL: no list has its names */
} named[] = {
    {"--model", "models"},       {"--platform", "platforms"}, {"--stack", "stacks"},
    {"--schedule", "schedules"}, {"--moe-load", NULL},        {"--packed-lengths", NULL},
};

struct wanted {
    const char *name;
    int found;
};

static void compare(void *ctx, const char *name, const char *description)
{
    struct wanted *w = ctx;

    (void)description;
    w->found |= !strcasecmp(w->name, name);
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
    static const char *const words[] = {"balanced", "uniform"}, *const laws[] = {"biased:", "zipf:", "fixed:",
                                                                                 "uniform:", "lognormal:"};

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        if (!strcmp(value, words[i]))
            return 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(laws); i++)
        if (!strncmp(value, laws[i], strlen(laws[i])))
            return 1;
    return value[0] == 'W' && value[1] >= '0' && value[1] <= '7' &&
           value[2] == '_'; /* W0_balanced ... W7_burst */
}

static int names_file(size_t i, const char *value, struct ss_error *err)
{
    struct wanted w = {value, 0};

    if (!strcmp(named[i].flag, "--schedule") && !strcmp(value, "auto"))
        return 0;
    if (!named[i].list)
        return !is_law(value);
    return ss_list_names(named[i].list, compare, &w, err) != SS_OK || !w.found;
}

static int refuse(struct ss_error *err, const char *value)
{
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "\"%.100s\" is no name that this page knows", value);
    return ss_hint(err, SS_ERR_USAGE, "files are read only where \"stepsim serve\" was started with them");
}

int ss_serve_check(const struct ss_serve *page, const char *flag, const char *value, struct ss_error *err)
{
    if (started_with(page, value))
        return SS_OK;
    if (strpbrk(value, "/\\"))
        return refuse(err, value);
    for (size_t i = 0; flag && i < SS_ARRAY_LEN(named); i++)
        if (ss_flag_same(flag, named[i].flag) && names_file(i, value, err))
            return refuse(err, value);
    if (flag && ss_flag_same(flag, "--job"))
        return refuse(err, value);
    return SS_OK;
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
