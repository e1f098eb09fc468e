/* SPDX-License-Identifier: Apache-2.0 */
/* --launch and what belongs to it, on a command line. */
#include "base/base.h"
#include "import/import.h"

/* What the words said, as pointers into the words. */
struct said {
    struct ss_launch l;
    char **word, **variable;
    size_t word_cap, variable_cap;
    const char *lone; /* --env, --let-in, --trust or --call */
};

static int push(char ***list, size_t *cap, size_t *n, char *text)
{
    if (ss_grow(list, cap, *n + 1, sizeof **list))
        return SS_ERR_NOMEM;
    (*list)[(*n)++] = text;
    return SS_OK;
}

/* The value of `flag` at word i, behind "=" or in the next word; NULL: it is another word. *used: words of both. */
static char *value_at(const struct ss_words *words, size_t i, const char *flag, size_t *used)
{
    char *text = words->w[i].text;
    size_t n = strlen(flag);

    if (strncmp(text, flag, n) != 0 || (text[n] && text[n] != '='))
        return NULL;
    *used = text[n] ? 1 : 2;
    return text[n] ? text + n + 1 : i + 1 < words->n ? words->w[i + 1].text : text + n;
}

/* Arguments of the script: words that are no options, and everything behind "--". */
static int take_arguments(const struct ss_words *words, size_t *i, struct said *s)
{
    int all = 0, rc = SS_OK;

    for (; *i < words->n && !rc; ++*i) {
        char *text = words->w[*i].text;
        if (!all && !strcmp(text, "--"))
            all = 1;
        else if (!all && !strncmp(text, "--", 2))
            break;
        else
            rc = push(&s->word, &s->word_cap, &s->l.nwords, text);
    }
    return rc;
}

static int bad_value(const char *flag, const char *value, const char *what, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.100s: %s", flag, value, what);
}

static int take_number(const struct ss_words *words, size_t i, const char *flag, int most, int *out)
{
    size_t used;
    int64_t n;
    const char *value = value_at(words, i, flag, &used);

    if (!value)
        return 0;
    if (ss_parse_i64(value, 1, most, &n))
        return -1;
    *out = (int)n;
    return (int)used;
}

/* Takes what begins at word i. *used: its words, 0 where it is the job's. */
static int take(const struct ss_words *words, size_t i, struct said *s, size_t *used, struct ss_error *err)
{
    char *value;

    *used = 0;
    if ((value = value_at(words, i, "--launch", used)) != NULL) {
        if (!value[0] || s->l.script)
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--launch needs %s",
                           s->l.script ? "to be given once" : "a script");
        s->l.script = value;
        size_t end = i + *used;
        int rc = take_arguments(words, &end, s);
        *used = end - i;
        return rc ? ss_fail(err, rc, NULL, 0, "out of memory") : SS_OK;
    }
    if ((value = value_at(words, i, "--env", used)) != NULL) {
        if (!strchr(value, '=') || value[0] == '=')
            return bad_value("--env", value, "NAME=VALUE is asked", err);
        s->lone = "--env";
        return push(&s->variable, &s->variable_cap, &s->l.nvariables, value) ? ss_nomem(err) : SS_OK;
    }
    if ((value = value_at(words, i, "--let-in", used)) != NULL) {
        s->lone = "--let-in";
        return !value[0] ? bad_value("--let-in", value, "a file or folder is asked", err)
               : ss_notes_add(&s->l.let_in, "%s", value) ? ss_nomem(err)
                                                         : SS_OK;
    }
    int n = take_number(words, i, "--call", 10000, &s->l.call);
    if (n < 0)
        return bad_value("--call", i + 1 < words->n ? words->w[i + 1].text : "", "a number from 1 is asked",
                         err);
    *used = (size_t)n;
    if (!strcmp(words->w[i].text, "--trust"))
        *used = (size_t)(s->l.trust = 1);
    if (*used)
        s->lone = words->w[i].text;
    (void)take_number(words, i, "--nodes", 1 << 20, &s->l.cluster.nodes); /* which stay words of the job */
    (void)take_number(words, i, "--gpus-per-node", 1024, &s->l.cluster.gpus_per_node);
    size_t both;
    const char *platform = value_at(words, i, "--platform", &both);
    s->l.cluster.platform = platform ? platform : s->l.cluster.platform;
    const char *card = value_at(words, i, "--card", &both);
    s->l.cluster.card = card ? card : s->l.cluster.card;
    return SS_OK;
}

static int run(struct said *s, struct ss_words *script, struct ss_notes *notes, struct ss_error *err)
{
    s->l.word = s->word;
    s->l.variable = s->variable;
    script->file = strdup(s->l.script);
    SS_NEED(script->file, err);
    return ss_launch_read(script, &s->l, notes, err);
}

int ss_launch_take(struct ss_words *words, struct ss_words *script, struct ss_cluster *cluster,
                   struct ss_notes *notes, struct ss_error *err)
{
    struct said s = {.l.flags = words};
    size_t used = 0;
    char *taken = ss_calloc(words->n + 1, 1);
    int rc = taken ? SS_OK : ss_nomem(err);

    for (size_t i = 0; i < words->n && !rc; i += used ? used : 1) {
        rc = take(words, i, &s, &used, err);
        used = used > words->n - i ? words->n - i : used;
        memset(taken + i, 1, rc ? 0 : used);
    }
    *cluster = s.l.cluster;
    if (!rc && s.lone && !s.l.script)
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s is of --launch SCRIPT, which is not given", s.lone);
    if (!rc && s.l.script)
        rc = run(&s, script, notes, err);
    script->cluster = cluster; /* which lives longer than s */
    size_t kept = 0;
    for (size_t i = 0; i < words->n && taken; i++) {
        if (taken[i])
            free(words->w[i].text);
        else
            words->w[kept++] = words->w[i];
    }
    words->n = taken ? kept : words->n;
    SS_FREE(taken, s.word, s.variable);
    ss_notes_free(&s.l.let_in);
    return rc;
}
