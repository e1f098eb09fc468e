/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch script makes of programs that could not answer: whether it starts another job where they write something. */
#include <unistd.h>

#include "base/base.h"
#include "import/launcher.h"
#include "import/sandbox.h"
#include "stepsim/flags.h"

/* Most places that are tried one by one. */
#define MOST_PLACES 8

struct used {
    const struct ss_launch *l;
    const struct ss_calls *calls;
    const char *text; /* of the script */
    const char *path; /* of the script, as its shell has it behind calls->above */
    struct ss_error *err;
};

/* Whether an unknown flag of a program names a thing: "--run-name", "--output_dir". */
static int names_a_thing(const char *flag)
{
    static const char *const parts[] = {"name", "dir",  "path", "log",  "wandb", "host", "addr",
                                        "port", "file", "_id",  "-id",  "exp",   "dump", "tag",
                                        "seed", "user", "save", "load", "data",  "token"};

    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++)
        if (strstr(flag, parts[i]))
            return 1;
    return 0;
}

/* Whether the command line has the flag, too, which beats that of the script. */
static int is_given(const struct ss_launch *l, const char *flag)
{
    const struct ss_cluster *c = &l->cluster;
    char name[96];

    for (size_t i = 0; l->flags && i < l->flags->n; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(l->flags->w[i].text, "="), l->flags->w[i].text);
        if (!strncmp(name, "--", 2) && (!strcmp(name, flag) || ss_flag_same(name, flag)))
            return 1;
    }
    return (c->nodes && (strstr(flag, "nodes") || strstr(flag, "NNODES"))) ||
           (c->gpus_per_node && (strstr(flag, "nproc") || strstr(flag, "NPROC") || strstr(flag, "gpus")));
}

/* Whether the words of a flag decide the job. behind: it stands behind the program that trains. */
static int decides(const struct used *u, const char *flag, int behind)
{
    if (is_given(u->l, flag) || ss_launch_decides(flag))
        return !is_given(u->l, flag);
    return behind && ss_flag_effect(flag, NULL) == SS_FLAG_IS_UNKNOWN && !names_a_thing(flag);
}

/* What a word is: a file that the launcher was given counts by what is in it, a program by its name without folders. */
static const char *meaning(const struct ss_calls *calls, const struct ss_call *launcher, const char *word)
{
    const char *slash = strrchr(word, '/');

    for (const struct ss_call *c = launcher + 1; c < calls->call + calls->n && c->kind == SS_CALL_FILE; c++)
        if (c->n == 3 && !strcmp(c->word[0], word))
            return c->word[1][0] ? c->word[1] : "nothing";
    return slash ? slash + 1 : word;
}

/* The flags of a call that decide a job, with what they are: an entry each. */
static int list_flags(const struct used *u, const struct ss_calls *calls, const struct ss_call *launcher,
                      const struct ss_call *c, struct ss_notes *out)
{
    char flag[96] = "";
    int behind = 0, rc = c->by >= 0 ? list_flags(u, calls, launcher, &calls->call[c->by], out) : SS_OK;

    for (size_t i = 0; i < c->n && !rc; i++) {
        const char *word = c->word[i], *equal = strchr(word, '='), *value = word;
        size_t n = strlen(word);
        int variable = equal && word[0] != '-';
        if ((word[0] == '-' && !isdigit((unsigned char)word[1])) || variable) {
            snprintf(flag, sizeof flag, "%.*s", (int)strcspn(word, "="), word);
            value = equal ? equal + 1 : "";
        } else if (!strcmp(flag, "-m") || (n > 3 && !strcmp(word + n - 3, ".py"))) {
            behind |= !ss_is_torchrun(word);
            flag[0] = '\0';
        }
        if (variable && !behind
                ? !strstr(flag, "NNODES") && !strstr(flag, "NPROC") && !strstr(flag, "VISIBLE")
                : flag[0] && !decides(u, flag, behind))
            continue;
        rc = ss_notes_add(out, "%s %s", flag, value[0] ? meaning(calls, launcher, value) : "");
    }
    return rc;
}

/* The jobs that calls start, as entries. */
static int list_jobs(const struct used *u, const struct ss_calls *calls, struct ss_notes *out)
{
    int rc = SS_OK;

    for (size_t i = 0; i < calls->n && !rc; i++)
        if (ss_launch_is_job(&calls->call[i]))
            rc = list_flags(u, calls, &calls->call[i], &calls->call[i], out);
    return rc;
}

/* The first entry of a list that the other lacks; NULL: it has all. */
static const char *lacks(const struct ss_notes *list, const struct ss_notes *other)
{
    for (unsigned long i = 0; i < list->n; i++) {
        unsigned long k = 0;
        while (k < other->n && strcmp(list->text[i], other->text[k]) != 0)
            k++;
        if (k == other->n)
            return list->text[i];
    }
    return NULL;
}

/* Runs the script with guesses at the places. Returns 1 where it starts another job, whose first flag that differs is copied to *what. */
static int differs(const struct used *u, struct ss_sandbox *box, const char *places, char what[96], int *rc)
{
    struct ss_calls other = {0};
    struct ss_notes a = {0}, b = {0};
    int found = 0;

    box->guess = places;
    *rc = ss_sandbox_run(box, &other, u->err);
    box->guess = NULL;
    if (!*rc && other.status >= 0) {
        *rc = list_jobs(u, u->calls, &a);
        *rc = *rc ? *rc : list_jobs(u, &other, &b);
        const char *text = *rc ? NULL : lacks(&b, &a);
        text = text || *rc ? text : lacks(&a, &b);
        found = text != NULL;
        snprintf(what, 96, "%.*s", text ? (int)strcspn(text, " ") + 1 : 0, text ? text : "");
        int valued = 0; /* a flag without a value has none of its own */
        for (unsigned long i = 0; i < a.n; i++)
            valued |= !strncmp(a.text[i], what, strlen(what)) && a.text[i][strlen(what)];
        if (!valued)
            what[0] = '\0';
        what[strcspn(what, " ")] = '\0';
    }
    ss_notes_free(&a);
    ss_notes_free(&b);
    ss_calls_free(&other);
    return found;
}

/* The file of a call as the user knows it. */
static const char *file_of(const struct used *u, const struct ss_call *c)
{
    const char *file = c->word[2];
    size_t above = u->calls->above ? strlen(u->calls->above) : 0;

    file += above && !strncmp(file, u->calls->above, above) ? above : 0;
    return file[0] && strcmp(file, u->path) != 0 ? file : u->l->script;
}

/* The part of the command that captures what the program writes. */
static const char *captured(const struct ss_call *c)
{
    const char *outer = c->word[1], *found = outer;
    const char *end = strstr(outer, c->word[0]);

    for (const char *p = outer; p < end; p++)
        if ((p[1] == '(' && strchr("$<", *p)) || *p == '`')
            found = p;
    return found;
}

/* what: a flag that follows from it; line: that of a branch that does, or 0. */
static int refuse(const struct used *u, const struct ss_call *c, const char *what, int line)
{
    char subject[128];

    if (line)
        snprintf(subject, sizeof subject, "the branch at line %d", line);
    else
        ss_copy(subject, sizeof subject, what[0] ? what : "the job");
    ss_fail(u->err, SS_ERR_INPUT, file_of(u, c), atoi(c->word[3]),
            "%s follows from what %.60s writes, which could not answer here: %.120s", subject, c->word[0],
            strlen(c->word[1]) < 100 ? c->word[1] : captured(c));
    const char *give = strstr(what, "nnodes") || strstr(what, "num_nodes") ? "--nodes"
                       : strstr(what, "nproc")                             ? "--gpus-per-node"
                       : what[0] == '-'                                    ? what
                                                                           : "";
    return ss_hint(u->err, SS_ERR_INPUT,
                   "%s%s%sput the value into the script, or show it what it reads by --let-in",
                   give[0] ? "give " : "", give, give[0] ? " on the command line, " : "");
}

/* Whether the call is the first that could not answer at its place. */
static int is_first(const struct ss_calls *calls, const struct ss_call *c)
{
    if (c->kind != SS_CALL_USED || c->n != 4)
        return 0;
    for (const struct ss_call *k = calls->call; k < c; k++)
        if (k->kind == SS_CALL_USED && k->n == 4 && !strcmp(k->word[2], c->word[2]) &&
            !strcmp(k->word[3], c->word[3]))
            return 0;
    return 1;
}

/* The places of all, or of one call. */
static char *places_of(const struct ss_calls *calls, const struct ss_call *one, int *n)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    *n = 0;
    for (size_t i = 0; f && i < calls->n; i++)
        if (is_first(calls, &calls->call[i]) && (!one || one == &calls->call[i]))
            fprintf(f, "%s%s:%s", (*n)++ ? "\n" : "", calls->call[i].word[2], calls->call[i].word[3]);
    if (f && fclose(f))
        free(text), text = NULL;
    return text;
}

/* Which of the places it is: by one run each. */
static int blame(const struct used *u, struct ss_sandbox *box, int n, char what[96])
{
    const struct ss_call *found = NULL, *first = NULL;
    int rc = SS_OK, tried = 0;

    for (size_t i = 0; i < u->calls->n && !found && !rc; i++) {
        const struct ss_call *c = &u->calls->call[i];
        if (!is_first(u->calls, c))
            continue;
        first = first ? first : c;
        if (n == 1 || tried++ == MOST_PLACES) {
            found = c;
            break;
        }
        int one;
        char *place = places_of(u->calls, c, &one), own[96];
        SS_NEED(place, u->err);
        if (differs(u, box, place, own, &rc)) {
            ss_copy(what, 96, own);
            found = c;
        }
        free(place);
    }
    return rc ? rc : refuse(u, found ? found : first, what, 0);
}

/* A value behind a flag, or a branch, by what was captured: where other programs read it on its way, no guess can tell. */
static int check_texts(const struct used *u)
{
    char flag[96];

    for (size_t i = 0; i < u->calls->n; i++) {
        const struct ss_call *c = &u->calls->call[i];
        if (!is_first(u->calls, c))
            continue;
        if (ss_launch_flag_of(c->word[1], captured(c), flag) && !is_given(u->l, flag))
            return refuse(u, c, flag, 0);
        int line = ss_launch_branch(u->path, u->text, u->calls, c);
        if (line)
            return refuse(u, c, "", line);
    }
    return SS_OK;
}

int ss_launch_guess(const struct ss_launch *l, const char *text, struct ss_sandbox *box,
                    const struct ss_calls *calls, struct ss_error *err)
{
    const struct used u = {l, calls, text, box->view->script, err};
    char what[96];
    int n, rc = SS_OK;
    char *places = places_of(calls, NULL, &n);

    SS_NEED(places, err);
    int other = n && differs(&u, box, places, what, &rc);
    free(places);
    return rc ? rc : other ? blame(&u, box, n, what) : n ? check_texts(&u) : SS_OK;
}

/* What was asked in vain, and decides flags. */
static int note_test(const struct used *u, const struct ss_call *c, struct ss_notes *out)
{
    const char *file = file_of(u, c), *slash = strrchr(file, '/'), *path = c->word[0];
    size_t above = u->calls->above ? strlen(u->calls->above) : 0;

    path += above && !strncmp(path, u->calls->above, above) ? above : 0;
    file = slash ? slash + 1 : file;
    if (!path[0])
        return ss_notes_add(
            out, "%s:%s: %.120s decides flags; it cannot tell here what it would on the cluster (%.20s)",
            file, c->word[3], c->word[1], c->word[4]);
    return ss_notes_add(out, "%s:%s: %.120s decides flags; %.200s is %s", file, c->word[3], c->word[1], path,
                        path[0] == '/' && !access(path, F_OK)
                            ? "here and the script does not see it (--let-in)"
                            : "not there for the script, which the answer takes so");
}

int ss_launch_tests(const struct ss_launch *l, const char *text, const struct ss_view *view,
                    const struct ss_calls *calls, struct ss_notes *tested)
{
    const struct used u = {l, calls, text, view->script, NULL};
    const struct ss_call *failed = ss_launch_failed(calls, text, 0);
    int rc = SS_OK;

    for (size_t i = 0; i < calls->n && !rc; i++) {
        const struct ss_call *c = &calls->call[i];
        if (c->kind == SS_CALL_TESTED && c->n == 5 && ss_launch_branch(u.path, text, calls, c))
            rc = note_test(&u, c, tested);
    }
    if (rc || !failed)
        return rc;
    const char *file = strrchr(failed->word[2], '/');
    return ss_notes_add(tested, "%s:%s: %.120s failed, and decides flags: it is taken as empty",
                        file ? file + 1 : failed->word[2], failed->word[1], failed->word[0]);
}
