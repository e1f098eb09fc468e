/* SPDX-License-Identifier: Apache-2.0 */
/* From a launch script to the words of the job that it starts. */
#include "base/base.h"
#include "import/hydra.h"
#include "import/launcher.h"
#include "import/sandbox.h"

#define MAX_SCRIPT_BYTES (1u << 20)

struct launch {
    const struct ss_launch *l;
    const char *text;      /* of the script */
    const char *name;      /* of the script, without folders */
    struct ss_batch batch; /* what the user, else the script, asks for */
    struct ss_words environment;
    struct ss_calls calls;
    struct ss_launch_made made;
    struct ss_notes *notes;
};

/* First words of the calls of a kind, each once, as "a, b", without those of jobs, and without what the script uses by no name. */
static void list_calls(const struct launch *x, enum ss_call_kind kind, char *out, size_t size)
{
    struct ss_notes names = {0};

    out[0] = 0;
    for (size_t i = 0; i < x->calls.n; i++) {
        const struct ss_call *c = &x->calls.call[i];
        int same = c->kind == kind ||
                   (kind == SS_CALL_NOTHING && (c->kind == SS_CALL_MISSING || c->kind == SS_CALL_USED));
        if (c->kind == SS_CALL_LAUNCHER
                ? ss_launch_is_job(c)
                : c->n > 1 && !strcmp(c->word[1], "a pipe") && ss_sandbox_answers(c->word[0]))
            continue;
        if (same && c->n > 0 && c->word[0][0])
            ss_notes_add(&names, "%.60s%s%.60s", c->word[0], kind == SS_CALL_LAUNCHER && c->n > 1 ? " " : "",
                         kind == SS_CALL_LAUNCHER && c->n > 1 ? c->word[1] : "");
    }
    for (unsigned long i = 0; i < names.n; i++)
        ss_append(out, size, "%s%s", i ? ", " : "", names.text[i]);
    ss_notes_free(&names);
}

/* ---- the call that starts the job ---- */

static int add_call(struct ss_words *out, const struct ss_calls *calls, const struct ss_call *c)
{
    int rc = c->by >= 0 ? add_call(out, calls, &calls->call[c->by]) : SS_OK;

    for (size_t i = 0; i < c->n && !rc; i++)
        rc = ss_words_add(out, c->word[i], strlen(c->word[i]), 0);
    return rc;
}

/* Whether word i says which of the nodes it is that the launcher runs on. */
static int is_rank(const struct ss_call *c, size_t i)
{
    static const char *const names[] = {"--node_rank", "--node-rank", "--machine_rank"};

    for (size_t k = 0; k < SS_ARRAY_LEN(names); k++) {
        size_t n = strlen(names[k]);
        if ((!strncmp(c->word[i], names[k], n) && c->word[i][n] == '=') ||
            (i > 0 && !strcmp(c->word[i - 1], names[k])))
            return 1;
    }
    return 0;
}

static int same_words(const struct ss_call *a, const struct ss_call *b)
{
    if (a->n != b->n)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->word[i], b->word[i]) && !(is_rank(a, i) && is_rank(b, i)))
            return 0;
    return 1;
}

/* The calls that start jobs, each once. Returns their number; *out is the one that the user chose, or the first. */
static int find_jobs(const struct launch *x, const struct ss_call **out)
{
    int n = 0;

    *out = NULL;
    for (size_t i = 0; i < x->calls.n; i++) {
        const struct ss_call *c = &x->calls.call[i];
        int again = 0;
        if (c->kind != SS_CALL_LAUNCHER || !ss_launch_is_job(c))
            continue;
        for (size_t k = 0; k < i && !again; k++)
            again = x->calls.call[k].kind == SS_CALL_LAUNCHER && same_words(&x->calls.call[k], c);
        n += !again;
        if (!again && n == (x->l->call ? x->l->call : 1))
            *out = c;
    }
    return n;
}

/* Last line that the script wrote, mostly why it stopped: *n bytes. */
static const char *last_line(const struct ss_calls *calls, int *n)
{
    const char *text = calls->output ? calls->output : "", *end = text + strlen(text), *line;

    do { /* a trace, "+ command" of set -x, tells no reason */
        while (end > text && isspace((unsigned char)end[-1]))
            end--;
        for (line = end; line > text && line[-1] != '\n';)
            line--;
    } while (*line == '+' && line > text && (end = line) != NULL);
    *n = end - line > 160 ? 160 : (int)(end - line);
    return line;
}

/* The line of the script in which a flag or a program stands, a program in no comment; 0: none. */
static int line_of(const char *text, const char *flag)
{
    size_t n = strcspn(flag, "=");
    int line = 1;

    for (const char *p = text; *p; p++) {
        int whole = p == text || flag[0] == '-' || !(isalnum((unsigned char)p[-1]) || strchr("_-", p[-1]));
        if (whole && !strncmp(p, flag, n) && !isalnum((unsigned char)p[n]) && !strchr("-_", p[n]))
            return line;
        if (flag[0] != '-' && *p == '#' && (p == text || p[-1] == '\n'))
            p += strcspn(p, "\n") - (p[strcspn(p, "\n")] == '\0');
        line += *p == '\n';
    }
    return 0;
}

static int no_job(struct launch *x, struct ss_error *err)
{
    char launchers[256];
    int n;
    const char *last = last_line(&x->calls, &n);

    list_calls(x, SS_CALL_LAUNCHER, launchers, sizeof launchers);
    if (x->calls.status < 0)
        return ss_fail(err, SS_ERR_INPUT, x->l->script, 0, "the script did not end within %g s",
                       SS_LAUNCH_SECONDS);
    if (launchers[0])
        return ss_fail(err, SS_ERR_INPUT, x->l->script, 0,
                       "no launcher was called with flags of a job, only: %s", launchers);
    return ss_fail(err, SS_ERR_INPUT, x->l->script, 0,
                   "the script called no launcher; it ended with status %d%s%.*s", x->calls.status,
                   n ? ": " : "", n, last);
}

/* A value that failed where the script stops for that; a program that is not there, and whose output the script used. */
static int check_used(const struct launch *x, struct ss_error *err)
{
    const char *name = ss_launch_used(&x->calls);
    const struct ss_call *failed = ss_launch_failed(&x->calls, x->text, 1);

    if (failed && !name) {
        const char *file = failed->word[2], *slash = strrchr(file, '/');
        size_t above = x->calls.above ? strlen(x->calls.above) : 0;
        file += above && !strncmp(file, x->calls.above, above) ? above : 0;
        return ss_fail(err, SS_ERR_INPUT, strcmp(slash ? slash + 1 : file, x->name) ? file : x->l->script,
                       atoi(failed->word[1]),
                       "%.200s failed, where the script stops (set -e)" SS_HINT
                       "put the value into the script, or show it what it reads by --let-in",
                       failed->word[0]);
    }
    if (!name)
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, x->l->script, line_of(x->text, name),
                   "the script uses what %.100s writes, which is not here and wrote nothing" SS_HINT
                   "put its output into the script",
                   name);
}

/* Lines of the script for the words of a call: each flag, and each word behind it, has that of the flag. */
static void find_lines(const struct launch *x, struct ss_words *words)
{
    int line = words->n ? line_of(x->text, words->w[0].text) : 0;

    for (size_t i = 0; i < words->n; i++) {
        const char *text = words->w[i].text;
        int found =
            !strncmp(text, "--", 2) || ss_hydra_is_override(text) || (i > 0 && ss_sandbox_answers(text))
                ? line_of(x->text, text)
                : 0;
        line = found ? found : line;
        words->w[i].line = line;
    }
}

/* Adds a number of the scheduler's. */
static int add_asked_word(struct ss_words *out, const char *name, int n)
{
    char text[48];

    snprintf(text, sizeof text, "%s%d", name, n);
    return n ? ss_words_add(out, text, strlen(text), 0) : SS_OK;
}

/* Lines of #SBATCH and #PBS stand outside of every command. */
static int add_batch(const struct launch *x, struct ss_words *out)
{
    const struct ss_batch *b = &x->batch;

    static const char *const names[][5] = {
        {"sbatch", "--nodes=", "--gpus-per-node=", "--ntasks-per-node=", "--ntasks="},
        {"bsub", "-nnodes=", "-gpu=num=", "-R=span[ptile=", "-n="}};
    const char *const *name = names[b->hosts && b->hosts[0] == 'L'];

    if (!b->nodes && !b->gpus && !b->tasks && !b->all)
        return SS_OK;
    int rc = ss_words_add(out, name[0], strlen(name[0]), 0);
    rc = rc ? rc : add_asked_word(out, name[1], b->nodes);
    rc = rc ? rc : add_asked_word(out, name[2], b->gpus);
    rc = rc ? rc : add_asked_word(out, name[3], b->tasks);
    return rc ? rc : add_asked_word(out, name[4], b->all);
}

/* A program that starts the launcher behind "--" in a way of its own: "python submit.py --num_nodes 8 -- accelerate launch ...". */
static int check_python(const struct launch *x, const struct ss_call *c, struct ss_error *err)
{
    const char *program = NULL;

    for (size_t i = 1; i + 1 < c->n && !strncmp(c->word[0], "python", 6); i++) {
        const char *word = c->word[i], *dot = strrchr(word, '.');
        program = dot && !strcmp(dot, ".py") ? word : program;
        if (program && !strcmp(word, "--") && ss_sandbox_answers(c->word[i + 1]))
            return ss_fail(err, SS_ERR_UNSUPPORTED, x->l->script, line_of(x->text, program),
                           "%.100s starts %.60s by options of its own, which are not read" SS_HINT
                           "put what stands behind -- into a script, and give --nodes",
                           program, c->word[i + 1]);
    }
    return SS_OK;
}

static int take_words(struct launch *x, const struct ss_call *c, struct ss_words *out, struct ss_error *err)
{
    out->cluster = &x->l->cluster;
    SS_TRY(check_python(x, c, err));
    SS_NEED(!add_batch(x, out) && !add_call(out, &x->calls, c), err);
    find_lines(x, out);
    SS_NEED(!ss_launch_files(out, x->text, &x->calls, c), err);
    int rc = ss_command_strip(out, err);
    ss_command_tell(x->notes, x->name, out);
    return rc;
}

/* Tells what may be the reason of a refusal: a note, and a text behind each refusal. */
static void tell_reason(struct launch *x, struct ss_words *out, const char *what, const char *list,
                        const char *do_it)
{
    if (!list[0])
        return;
    ss_note(x->notes, "%s: %s%s%s", x->name, what, list, do_it);
    ss_note(&out->behind, "%s: %s%s%s", x->name, what, list, do_it);
}

static void tell(struct launch *x, struct ss_words *out, int jobs)
{
    int arguments = ss_launch_arguments(x->text);
    char list[768];

    ss_launch_errors(&x->calls, list, sizeof list);
    tell_reason(x, out, "the shell said: ", list, "");
    ss_launch_unset(x->text, &x->environment, &x->calls, list, sizeof list);
    for (int i = (int)x->l->nwords + 1; i <= arguments; i++)
        ss_append(list, sizeof list, "%s$%d", list[0] ? ", " : "", i);
    tell_reason(x, out, "not set, hence empty: ", list,
                arguments > (int)x->l->nwords ? " (--env NAME=VALUE; arguments behind --launch FILE)"
                                              : " (--env NAME=VALUE)");
    list_calls(x, SS_CALL_NOTHING, list, sizeof list);
    if (list[0])
        ss_note(x->notes, "%s: these programs did nothing: %s", x->name, list);
    if (list[0] && jobs == 0)
        ss_note(&out->behind, "%s: these programs did nothing: %s", x->name, list);
    char recorded[256];
    list_calls(x, SS_CALL_LAUNCHER, recorded, sizeof recorded);
    if (recorded[0] && jobs > 0)
        ss_note(&out->behind, "%s: recorded, not run: %s", x->name, recorded);
    for (unsigned long i = 0; i < x->made.files.n; i++)
        ss_note(x->notes, "%s: missing, hence made empty: %s", x->name, x->made.files.text[i]);
    for (unsigned long i = 0; i < x->made.tested.n; i++)
        ss_note(x->notes, "%s", x->made.tested.text[i]);
    for (unsigned long i = 0; i < x->made.hidden.n; i++)
        ss_note(x->notes, "%s: not seen by the script: %s (--let-in)", x->name, x->made.hidden.text[i]);
    if (x->made.own.n)
        ss_note(x->notes, "%s: run in its own folder: the working folder has no %s", x->name,
                x->made.own.text[0]);
    if (x->calls.status > 0)
        ss_note(x->notes, "%s ended with status %d", x->name, x->calls.status);
}

static int choose(struct launch *x, struct ss_words *out, struct ss_error *err)
{
    const struct ss_call *c;
    int jobs = find_jobs(x, &c), rc = check_used(x, err);

    tell(x, out, jobs);
    if (rc)
        return rc;
    if (jobs == 0)
        return no_job(x, err);
    if (!c)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--call %d: %s starts %d %s", x->l->call, x->name, jobs,
                       jobs == 1 ? "job" : "jobs");
    if (jobs > 1 && !x->l->call)
        return ss_fail(err, SS_ERR_INPUT, x->l->script, 0,
                       "the script starts %d different jobs" SS_HINT "choose one by --call 1 to --call %d",
                       jobs, jobs);
    if (jobs > 1)
        ss_note(x->notes, "%s starts %d jobs; this is number %d (--call)", x->name, jobs, x->l->call);
    return take_words(x, c, out, err);
}

/* Collects what is known before the script runs. */
static int begin(struct launch *x, const struct ss_launch *l, const char *text, struct ss_notes *notes,
                 struct ss_error *err)
{
    const char *slash = strrchr(l->script, '/');

    *x = (struct launch){.l = l, .text = text, .name = slash ? slash + 1 : l->script, .notes = notes};
    SS_TRY(ss_launch_batch(text, l->script, &l->cluster, notes, &x->batch, err));
    return ss_launch_environment(l, text, &x->batch, &x->environment, notes) ? ss_nomem(err) : SS_OK;
}

int ss_launch_words(struct ss_words *out, const struct ss_launch *l, const char *text,
                    const struct ss_calls *calls, struct ss_notes *notes, struct ss_error *err)
{
    struct launch x;
    int rc = begin(&x, l, text, notes, err);

    x.calls = *calls;
    rc = rc ? rc : choose(&x, out, err);
    ss_words_free(&x.environment);
    return rc;
}

int ss_launch_read(struct ss_words *out, const struct ss_launch *l, struct ss_notes *notes,
                   struct ss_error *err)
{
    struct launch x;
    char *text;
    size_t len;

    SS_TRY(ss_file_read(l->script, MAX_SCRIPT_BYTES, &text, &len, err));
    if (ss_import_is_configuration(text, len)) {
        const char *kind = strstr(text, "\nkind:");
        int manifest = kind && (!strncmp(text, "apiVersion:", 11) || strstr(text, "\napiVersion:"));
        free(text);
        return ss_fail(
            err, SS_ERR_INPUT, l->script, 1, "a configuration, not a script" SS_HINT "%s",
            manifest ? "put the command of its container into a script, and give its replicas by --nodes"
                     : "--job reads it");
    }
    int rc = begin(&x, l, text, notes, err);
    int gpus = x.batch.gpus ? x.batch.gpus : (int)ss_cluster_gpus(&l->cluster);
    const struct ss_launch_room room = {text, x.environment.w,   x.environment.n, x.batch.nodes,
                                        gpus, x.batch.host_lines};
    rc = rc ? rc : ss_launch_run(l, &room, &x.calls, &x.made, err);
    rc = rc ? rc : choose(&x, out, err);
    ss_words_free(&x.environment);
    ss_notes_free(&x.made.files);
    ss_notes_free(&x.made.tested);
    ss_notes_free(&x.made.hidden);
    ss_notes_free(&x.made.own);
    ss_calls_free(&x.calls);
    free(text);
    return rc;
}
