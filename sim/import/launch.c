/* SPDX-License-Identifier: Apache-2.0 */
/* From a launch script to the words of the job that it starts. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/command.h"
#include "import/hydra.h"
#include "import/sandbox.h"
#include "stepsim/flags.h"

#define MAX_SCRIPT_BYTES (1u << 20)

struct launch {
    const struct ss_launch *l;
    const char *text; /* of the script */
    const char *name; /* of the script, without folders */
    int nodes, gpus;  /* 0: not known */
    int tasks;        /* of a node, as the script asks Slurm for them; 0: it does not */
    int asked;        /* 1: the script asks Slurm or PBS for the GPUs */
    int host_lines;   /* as in ss_launch_room */
    struct ss_words environment;
    struct ss_calls calls;
    struct ss_launch_made made;
    struct ss_notes *notes;
};

/* ---- variables that the scheduler would set ---- */

/* The number behind one of the names, "--nodes=4", "--nodes 4", "-N4", in a line; 0: none. */
static int number_behind(const char *line, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = line; p + n < end; p++)
        if (!strncmp(p, name, n) && (p == line || isspace((unsigned char)p[-1]))) {
            const char *value = p + n;
            value += *value == '=' || *value == ' ';
            value += !strncmp(value, "gpu:", 4) ? 4 : 0;
            while (value < end && isalpha((unsigned char)*value)) /* gpu:h100:8 */
                value += strcspn(value, ":\n") + 1;
            int found = value < end ? atoi(value) : 0;
            if (found > 0 && found <= 1 << 20)
                return found;
        }
    return 0;
}

/* The number of the first of the names that lines "#SBATCH --nodes=4" have; 0: none has. */
static int directive(const char *text, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (const char *line = text, *next; line; line = next ? next + 1 : NULL) {
            next = strchr(line, '\n');
            int found =
                strncmp(line, "#SBATCH", 7) ? 0 : number_behind(line, line + strcspn(line, "\n"), names[i]);
            if (found)
                return found;
        }
    return 0;
}

/* Multiplies numbers >= 0; returns 0 where the product is more than there are GPUs. */
static int product(int a, int b)
{
    int64_t n = (int64_t)a * b;

    return n <= 1 << 20 ? (int)n : 0;
}

/* Nodes and GPUs as the script asks Slurm or PBS for them, where the user gave none. A single task of a node may start as many processes as
 * there are GPUs. */
static void read_directives(struct launch *x)
{
    static const char *const nodes[] = {"--nodes", "-N"}, *const gpus[] = {"--gpus-per-node", "--gres"},
                             *const tasks[] = {"--ntasks-per-node", "--tasks-per-node"},
                             *const each[] = {"--gpus-per-task"}, *const all[] = {"--gpus", "-G"};
    struct ss_pbs pbs;
    int given = x->gpus;

    if (ss_launch_pbs(x->text, &pbs))
        x->host_lines = pbs.lines ? pbs.lines : 1;
    x->nodes = x->nodes ? x->nodes : directive(x->text, nodes, SS_ARRAY_LEN(nodes));
    x->nodes = x->nodes ? x->nodes : pbs.nodes;
    x->tasks = directive(x->text, tasks, SS_ARRAY_LEN(tasks));
    x->tasks = x->tasks ? x->tasks : pbs.tasks;
    x->gpus = x->gpus ? x->gpus : directive(x->text, gpus, SS_ARRAY_LEN(gpus));
    x->gpus = x->gpus ? x->gpus : pbs.gpus;
    x->gpus = x->gpus ? x->gpus : product(x->tasks, directive(x->text, each, SS_ARRAY_LEN(each)));
    if (!x->gpus && x->nodes && directive(x->text, all, SS_ARRAY_LEN(all)) % x->nodes == 0)
        x->gpus = directive(x->text, all, SS_ARRAY_LEN(all)) / x->nodes;
    x->asked = !given && x->gpus;
    if (!x->gpus && x->tasks > 1)
        x->gpus = x->tasks;
}

static int add_variable(struct launch *x, const char *name, const char *value)
{
    char text[256];
    size_t n = strlen(name);

    for (size_t i = 0; i < x->environment.n; i++)
        if (!strncmp(x->environment.w[i].text, name, n) && x->environment.w[i].text[n] == '=')
            return SS_OK; /* the user's own */
    snprintf(text, sizeof text, "%s=%s", name, value);
    return ss_words_add(&x->environment, text, strlen(text), 0);
}

static int add_number(struct launch *x, const char *names, int value)
{
    char name[64], text[16];
    int rc = SS_OK;

    snprintf(text, sizeof text, "%d", value);
    for (const char *p = names; *p && !rc; p += strcspn(p, " "), p += *p == ' ') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        rc = add_variable(x, name, text);
    }
    return rc;
}

/* Adds what the script asks of Slurm besides nodes. */
static int add_asked(struct launch *x)
{
    static const char *const cpus[] = {"--cpus-per-task", "-c"};
    int n = directive(x->text, cpus, SS_ARRAY_LEN(cpus)), rc = SS_OK;
    char list[256] = "0";

    for (int i = 1; i < x->gpus && i < 64; i++)
        ss_append(list, sizeof list, ",%d", i);
    if (x->asked)
        rc = add_variable(x, "CUDA_VISIBLE_DEVICES", list);
    if (!rc && n)
        rc = add_number(x, "SLURM_CPUS_PER_TASK", n);
    if (!rc && x->tasks)
        rc = add_number(x, "SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE", x->tasks);
    return rc || !x->tasks || !x->nodes
               ? rc
               : add_number(x, "SLURM_NTASKS SLURM_NPROCS", product(x->nodes, x->tasks));
}

/* Sets what PBS sets for a script that asks for it. The user's own file of hosts stays. */
static int add_pbs(struct launch *x)
{
    size_t before = x->environment.n;
    int rc = add_variable(x, "PBS_NODEFILE", SS_SANDBOX_HOSTS);

    if (x->environment.n == before)
        x->host_lines = 0;
    else if (!product(x->nodes ? x->nodes : 1, x->host_lines))
        x->host_lines = 1;
    rc = rc ? rc : add_variable(x, "PBS_O_WORKDIR", ".");
    rc = rc ? rc : add_variable(x, "PBS_JOBID", "1.node0");
    rc = rc || !x->nodes ? rc : add_number(x, "PBS_NUM_NODES", x->nodes);
    return rc || x->host_lines < 1 ? rc : add_number(x, "PBS_NUM_PPN", x->host_lines);
}

/* Makes the environment: the user's variables, then those that a scheduler sets for the first process. */
static int make_environment(struct launch *x)
{
    char list[48];
    int rc = SS_OK;

    for (size_t i = 0; i < x->l->nvariables && !rc; i++)
        rc = ss_words_add(&x->environment, x->l->variable[i], strlen(x->l->variable[i]), 0);
    rc = rc ? rc : add_number(x, "RANK NODE_RANK LOCAL_RANK SLURM_PROCID SLURM_NODEID SLURM_LOCALID", 0);
    rc = rc ? rc : add_number(x, "SLURM_JOB_ID SLURM_JOBID", 1);
    rc = rc ? rc : add_variable(x, "MASTER_ADDR", "node0");
    rc = rc ? rc : add_variable(x, "MASTER_PORT", "29500");
    if (!rc && x->gpus)
        rc = add_number(x, "SLURM_GPUS_ON_NODE SLURM_GPUS_PER_NODE", x->gpus);
    rc = rc ? rc : add_asked(x);
    rc = rc || !x->host_lines ? rc : add_pbs(x);
    if (rc || !x->nodes)
        return rc;
    snprintf(list, sizeof list, x->nodes > 1 ? "node[0-%d]" : "node0", x->nodes - 1);
    rc = add_number(x, "SLURM_NNODES SLURM_JOB_NUM_NODES", x->nodes);
    rc = rc ? rc : add_variable(x, "SLURM_JOB_NODELIST", list);
    return rc ? rc : add_variable(x, "SLURM_NODELIST", list);
}

/* First words of the calls of a kind, each once, as "a, b". */
static void list_calls(const struct launch *x, enum ss_call_kind kind, char *out, size_t size)
{
    struct ss_notes names = {0};

    out[0] = 0;
    for (size_t i = 0; i < x->calls.n; i++) {
        const struct ss_call *c = &x->calls.call[i];
        int is_kind = c->kind == kind || (kind == SS_CALL_NOTHING && c->kind == SS_CALL_MISSING);
        if (is_kind && c->n > 0 && c->word[0][0])
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

    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    for (line = end; line > text && line[-1] != '\n';)
        line--;
    *n = end - line > 160 ? 160 : (int)(end - line);
    return line;
}

static int no_job(struct launch *x, struct ss_error *err)
{
    char launchers[256], nothing[256], unset[256];
    int n;
    const char *last = last_line(&x->calls, &n);

    list_calls(x, SS_CALL_LAUNCHER, launchers, sizeof launchers);
    list_calls(x, SS_CALL_NOTHING, nothing, sizeof nothing);
    ss_launch_unset(x->text, &x->environment, unset, sizeof unset);
    if (x->calls.status < 0)
        ss_fail(err, SS_ERR_INPUT, x->l->script, 0, "the script did not end within %g s", SS_LAUNCH_SECONDS);
    else if (launchers[0])
        ss_fail(err, SS_ERR_INPUT, x->l->script, 0, "no launcher was called with flags of a job, only: %s",
                launchers);
    else
        ss_fail(err, SS_ERR_INPUT, x->l->script, 0,
                "the script called no launcher; it ended with status %d%s%.*s", x->calls.status,
                n ? ": " : "", n, last);
    if (!unset[0] && !nothing[0])
        return SS_ERR_INPUT;
    return ss_hint(err, SS_ERR_INPUT, "%s%s%s%s%s%s", unset[0] ? "not set, give --env NAME=VALUE: " : "",
                   unset, unset[0] && nothing[0] ? "; " : "", nothing[0] ? "did nothing: " : "", nothing, "");
}

/* The line of the script in which a flag stands; 0: none. */
static int line_of(const char *text, const char *flag)
{
    size_t n = strcspn(flag, "=");
    int line = 1;

    for (const char *p = text; *p; p++) {
        if (!strncmp(p, flag, n) && !isalnum((unsigned char)p[n]) && !strchr("-_", p[n]))
            return line;
        line += *p == '\n';
    }
    return 0;
}

/* Checks nodes: torchrun waits for as many nodes as its flag says, and the script or a step of srun must ask
 * for as many. */
static int check_nodes(struct launch *x, const struct ss_words *words, struct ss_error *err)
{
    int of_step, n = x->l->nodes ? 0 : ss_words_nodes(words, x->nodes, &of_step);

    if (!n)
        return SS_OK;
    if (of_step) {
        ss_note(x->notes, "%s: it asks for %d nodes, of which srun and torchrun take %d: the job is on these",
                x->name, x->nodes, n);
        x->nodes = n;
        return SS_OK;
    }
    ss_fail(err, SS_ERR_CONFIG, x->l->script, line_of(x->text, "--nnodes"),
            "torchrun has --nnodes %d, the script asks for %d nodes: they make no world of %d", n, x->nodes,
            x->nodes);
    return ss_hint(err, SS_ERR_CONFIG, "make both the same, or say by --nodes what is meant");
}

static int take_words(struct launch *x, const struct ss_call *c, struct ss_words *out, struct ss_error *err)
{
    int rc = add_call(out, &x->calls, c), line = 0, nodes = rc ? rc : check_nodes(x, out, err);

    if (!rc && nodes)
        return nodes;
    if (x->nodes && !rc) { /* lines of #SBATCH and #PBS stand outside of every command */
        struct ss_words all = {.file = out->file};
        char text[96];
        snprintf(text, sizeof text, "--nodes=%d", x->nodes);
        rc = ss_words_add(&all, "sbatch", 6, 0) || ss_words_add(&all, text, strlen(text), 0);
        snprintf(text, sizeof text, x->gpus ? "--gpus-per-node=%d" : "--ntasks-per-node=%d",
                 x->gpus ? x->gpus : x->tasks);
        if (!rc && (x->gpus || x->tasks))
            rc = ss_words_add(&all, text, strlen(text), 0);
        for (size_t i = 0; i < out->n && !rc; i++)
            rc = ss_words_add(&all, out->w[i].text, strlen(out->w[i].text), 0);
        out->file = NULL;
        ss_words_free(out);
        *out = all;
    }
    if (rc)
        return ss_nomem(err);
    rc = ss_command_strip(out, err);
    ss_command_tell(x->notes, x->name, out);
    for (size_t i = 0; i < out->n && !rc; i++) {
        if (!strncmp(out->w[i].text, "--", 2) || ss_hydra_is_override(out->w[i].text))
            line = line_of(x->text, out->w[i].text);
        out->w[i].line = line;
    }
    return rc;
}

static void tell(struct launch *x, int jobs)
{
    char list[512];

    ss_launch_unset(x->text, &x->environment, list, sizeof list);
    if (list[0])
        ss_note(x->notes, "%s: not set, hence empty: %s (--env NAME=VALUE)", x->name, list);
    list_calls(x, SS_CALL_NOTHING, list, sizeof list);
    if (list[0])
        ss_note(x->notes, "%s: these programs did nothing: %s", x->name, list);
    for (unsigned long i = 0; i < x->made.files.n; i++)
        ss_note(x->notes, "%s: missing, hence made empty: %s", x->name, x->made.files.text[i]);
    for (unsigned long i = 0; i < x->made.hidden.n; i++)
        ss_note(x->notes, "%s: not seen by the script: %s (--let-in)", x->name, x->made.hidden.text[i]);
    if (jobs > 1)
        ss_note(x->notes, "%s starts %d jobs; this is number %d (--call)", x->name, jobs, x->l->call);
}

static int choose(struct launch *x, struct ss_words *out, struct ss_error *err)
{
    const struct ss_call *c;
    int jobs = find_jobs(x, &c);

    if (jobs == 0)
        return no_job(x, err);
    if (!c)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--call %d: %s starts %d %s", x->l->call, x->name, jobs,
                       jobs == 1 ? "job" : "jobs");
    if (jobs > 1 && !x->l->call) {
        ss_fail(err, SS_ERR_INPUT, x->l->script, 0, "the script starts %d different jobs", jobs);
        return ss_hint(err, SS_ERR_INPUT, "choose one by --call 1 to --call %d", jobs);
    }
    tell(x, jobs);
    int rc = take_words(x, c, out, err);
    return !rc && ss_launch_files(out, x->text, &x->calls, c) ? ss_nomem(err) : rc;
}

/* Collects what is known before the script runs. */
static int begin(struct launch *x, const struct ss_launch *l, const char *text, struct ss_notes *notes,
                 struct ss_error *err)
{
    const char *slash = strrchr(l->script, '/');

    *x = (struct launch){.l = l,
                         .text = text,
                         .name = slash ? slash + 1 : l->script,
                         .nodes = l->nodes,
                         .gpus = l->gpus_per_node,
                         .notes = notes};
    read_directives(x);
    return make_environment(x) ? ss_nomem(err) : SS_OK;
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
    int rc = ss_file_read(l->script, MAX_SCRIPT_BYTES, &text, &len, err);

    if (rc)
        return rc;
    if (ss_import_is_configuration(text, len)) {
        free(text);
        ss_fail(err, SS_ERR_INPUT, l->script, 1, "a configuration, not a script");
        return ss_hint(err, SS_ERR_INPUT, "--job reads it");
    }
    rc = begin(&x, l, text, notes, err);
    const struct ss_launch_room room = {x.environment.w, x.environment.n, x.nodes, x.gpus, x.host_lines};
    rc = rc ? rc : ss_launch_run(l, &room, &x.calls, &x.made, err);
    rc = rc ? rc : choose(&x, out, err);
    ss_words_free(&x.environment);
    ss_notes_free(&x.made.files);
    ss_notes_free(&x.made.hidden);
    ss_calls_free(&x.calls);
    free(text);
    return rc;
}
