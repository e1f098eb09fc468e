/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that a launch script finds: the user's, and those that a scheduler sets for the first process. */
#include "base/base.h"
#include "import/launcher.h"
#include "import/sandbox.h"

struct room {
    const char *text; /* of the script */
    struct ss_batch *batch;
    struct ss_words *out;
};

static int add_variable(struct room *x, const char *name, const char *value)
{
    char text[256];
    size_t n = strlen(name);

    for (size_t i = 0; i < x->out->n; i++)
        if (!strncmp(x->out->w[i].text, name, n) && x->out->w[i].text[n] == '=')
            return SS_OK; /* the user's own */
    snprintf(text, sizeof text, "%s=%s", name, value);
    return ss_words_add(x->out, text, strlen(text), 0);
}

static int add_number(struct room *x, const char *names, int value)
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

/* Adds what the script asks of Slurm or LSF besides nodes. */
static int add_asked(struct room *x)
{
    const struct ss_batch *batch = x->batch;
    char list[256] = "0";
    int rc = SS_OK;

    for (int i = 1; i < batch->gpus && i < 64; i++)
        ss_append(list, sizeof list, ",%d", i);
    if (batch->asked)
        rc = add_variable(x, "CUDA_VISIBLE_DEVICES", list);
    if (!rc && batch->cpus)
        rc = add_number(x, "SLURM_CPUS_PER_TASK", batch->cpus);
    if (!rc && batch->tasks)
        rc = add_number(x, "SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE", batch->tasks);
    int all = batch->all ? batch->all : ss_batch_product(batch->nodes, batch->tasks);
    return rc || !all ? rc : add_number(x, "SLURM_NTASKS SLURM_NPROCS LSB_DJOB_NUMPROC", all);
}

/* Sets what a scheduler with a file of hosts sets for a script that asks for it. The user's own file stays. */
static int add_hosts(struct room *x)
{
    struct ss_batch *b = x->batch;
    size_t before = x->out->n;
    int rc = add_variable(x, b->hosts, SS_SANDBOX_HOSTS);

    if (x->out->n == before)
        b->host_lines = 0;
    else if (!ss_batch_product(b->nodes ? b->nodes : 1, b->host_lines))
        b->host_lines = 1;
    if (b->hosts[0] == 'S' && !rc) {
        rc = add_variable(x, "PE_HOSTFILE", SS_SANDBOX_HOSTS);
        rc = rc ? rc : add_number(x, "JOB_ID", 1);
        rc = rc || !b->resource[0] ? rc : add_variable(x, "SGE_RESOURCE_TYPE", b->resource);
        return rc || !b->nodes ? rc : add_number(x, "NHOSTS", b->nodes);
    }
    if (!strncmp(b->hosts, "PJM", 3)) {
        const int all = b->all ? b->all : ss_batch_product(b->nodes, b->tasks);
        rc = rc ? rc : add_variable(x, "PJM_O_WORKDIR", ".");
        rc = rc ? rc : add_number(x, "PJM_JOBID", 1);
        rc = rc || !all ? rc : add_number(x, "PJM_MPI_PROC", all);
        return rc || !b->nodes ? rc : add_number(x, "PJM_NODE", b->nodes);
    }
    if (b->hosts[0] != 'P')
        return rc ? rc : add_number(x, "LSB_JOBID", 1);
    rc = rc ? rc : add_variable(x, "PBS_O_WORKDIR", ".");
    rc = rc ? rc : add_variable(x, "PBS_JOBID", "1.node0");
    rc = rc || !b->nodes ? rc : add_number(x, "PBS_NUM_NODES", b->nodes);
    return rc || b->host_lines < 1 ? rc : add_number(x, "PBS_NUM_PPN", b->host_lines);
}

/* Adds the variables of "ALL,NAME=VALUE". */
static int add_list(struct room *x, const char *list)
{
    char name[64], value[200];
    int rc = SS_OK;

    for (size_t n; (n = strcspn(list, ",")) > 0 && !rc; list += n + (list[n] == ',')) {
        const char *equal = memchr(list, '=', n);
        if (!equal)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(equal - list), list);
        snprintf(value, sizeof value, "%.*s", (int)(n - (size_t)(equal + 1 - list)), equal + 1);
        rc = add_variable(x, name, value);
    }
    return rc;
}

/* Adds what lines "#SBATCH --export=ALL,NAME=VALUE" export, as Slurm does. */
static int add_exported(struct room *x)
{
    static const char mark[] = "#SBATCH", option[] = "--export=";
    int rc = SS_OK;

    for (const char *line = x->text; line && !rc; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        const char *at = line + sizeof mark - 1;
        struct ss_words words = {0};
        if (strncmp(line, mark, sizeof mark - 1) || !isblank((unsigned char)*at))
            continue;
        rc = ss_args_read(&words, at, strcspn(at, "\n"), NULL, NULL) == SS_ERR_NOMEM ? SS_ERR_NOMEM : SS_OK;
        for (size_t i = 0; i < words.n && !rc; i++)
            if (!strncmp(words.w[i].text, option, sizeof option - 1))
                rc = add_list(x, words.w[i].text + sizeof option - 1);
        ss_words_free(&words);
    }
    return rc;
}

int ss_launch_environment(const struct ss_launch *l, const char *text, struct ss_batch *b,
                          struct ss_words *out, struct ss_notes *notes)
{
    struct room room = {text, b, out}, *x = &room;
    const char *slash = strrchr(l->script, '/');
    int rc = SS_OK, nodes = b->nodes ? b->nodes : b->slurm; /* whose default is one */
    char list[48];

    for (size_t i = 0; i < l->nvariables && !rc; i++)
        rc = ss_words_add(out, l->variable[i], strlen(l->variable[i]), 0);
    rc = rc ? rc : add_exported(x);
    rc = rc ? rc : add_number(x, "RANK NODE_RANK LOCAL_RANK SLURM_PROCID SLURM_NODEID SLURM_LOCALID", 0);
    rc = rc ? rc : add_number(x, "SLURM_JOB_ID SLURM_JOBID", 1);
    rc = rc ? rc : add_variable(x, "MASTER_ADDR", "node0");
    rc = rc ? rc : add_variable(x, "MASTER_PORT", "29500");
    if (!rc && b->gpus)
        rc = add_number(x, "SLURM_GPUS_ON_NODE SLURM_GPUS_PER_NODE", b->gpus);
    rc = rc ? rc : add_asked(x);
    rc = rc || !b->hosts ? rc : add_hosts(x);
    if (rc || !nodes)
        return rc;
    if (!b->nodes && (strstr(text, "_NNODES") || strstr(text, "_NUM_NODES") || strstr(text, "_NODELIST")))
        ss_note(notes, "%s: no line asks for nodes, of which Slurm then gives 1 (--nodes)",
                slash ? slash + 1 : l->script);
    snprintf(list, sizeof list, nodes > 1 ? "node[0-%d]" : "node0", nodes - 1);
    rc = add_number(x, "SLURM_NNODES SLURM_JOB_NUM_NODES", nodes);
    rc = rc ? rc : add_variable(x, "SLURM_JOB_NODELIST", list);
    return rc ? rc : add_variable(x, "SLURM_NODELIST", list);
}
