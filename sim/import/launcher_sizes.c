/* SPDX-License-Identifier: Apache-2.0 */
/* From the numbers of launchers to nodes and GPUs of each: every process has a GPU. */
#include "base/base.h"
#include "import/hydra.h"
#include "import/launcher.h"
#include "stepsim/platform.h"

typedef struct ss_launcher_layer_said layer;

/* What is being found out. */
struct sizes {
    const struct ss_words *words;
    const struct ss_command *c;
    struct ss_launchers l;
    int64_t nodes, gpus; /* asked of the scheduler, GPUs of a node; 0: not said */
    int64_t all, each;   /* processes that are started, and of them those of a node; 0: not said */
    int64_t told;        /* processes that the launcher starts, where the user decides */
    int64_t on;          /* nodes where they are; 0: not said */
    const char *who;     /* starts them */
    int line;
    struct ss_notes *notes;
    struct ss_error *err;
};

static const char *place(const struct sizes *s)
{
    return s->words->file ? s->words->file : "command line";
}

/* Whether the user said how many nodes there are. */
static bool user_decides(const struct sizes *s)
{
    return s->words->cluster && s->words->cluster->nodes;
}

/* A contradiction, which the user's --nodes solves. */
static int differ(struct sizes *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int differ(struct sizes *s, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (user_decides(s) || (s->words->cluster && s->words->cluster->gpus_per_node))
        return SS_OK;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return ss_fail(s->err, SS_ERR_CONFIG, s->words->file, s->line,
                   "%s" SS_HINT "make both the same, or say by --nodes and --gpus-per-node what is meant",
                   text);
}

int64_t ss_cluster_gpus(const struct ss_cluster *cluster)
{
    struct ss_platform_options options = {.card = cluster ? cluster->card : NULL};
    struct ss_platform *p;

    if (cluster && cluster->gpus_per_node)
        return cluster->gpus_per_node;
    if (!cluster || !cluster->platform || ss_platform_load(cluster->platform, &options, &p, NULL))
        return 0;
    int64_t n = ss_platform_gpus_per_node(p) / ss_platform_joined_nodes(p);
    ss_platform_free(p);
    return n;
}

int64_t ss_launcher_gpus(const layer *l, int64_t nodes)
{
    const int64_t *n = l->count;

    if (n[SS_COUNT_GPUS])
        return n[SS_COUNT_GPUS];
    if (n[SS_COUNT_NODE] && n[SS_COUNT_PER_TASK])
        return n[SS_COUNT_NODE] * n[SS_COUNT_PER_TASK];
    return nodes && n[SS_COUNT_CARDS] % nodes == 0 ? n[SS_COUNT_CARDS] / nodes : 0;
}

/* The resource sets of jsrun as tasks and GPUs. */
static void unfold_sets(layer *l)
{
    int64_t *n = l->count, tasks = n[SS_COUNT_TASKS_OF_SET] ? n[SS_COUNT_TASKS_OF_SET] : 1;

    if (!n[SS_COUNT_SETS] && !n[SS_COUNT_SETS_OF_NODE])
        return;
    n[SS_COUNT_ALL] = n[SS_COUNT_ALL] ? n[SS_COUNT_ALL] : n[SS_COUNT_SETS] * tasks;
    n[SS_COUNT_NODE] = n[SS_COUNT_SETS_OF_NODE] * tasks;
    n[SS_COUNT_GPUS] = n[SS_COUNT_SETS_OF_NODE] * n[SS_COUNT_GPUS_OF_SET];
}

/* Makes nodes, processes and processes of a node agree. */
static int agree(struct sizes *s)
{
    if (s->all && s->each && s->on && s->all != s->on * s->each) {
        if (s->all > s->on * s->each)
            return differ(s, "%s starts %lld processes, which are more than %lld on each of %lld nodes",
                          s->who, (long long)s->all, (long long)s->each, (long long)s->on);
        s->on = s->all % s->each
                    ? s->on
                    : s->all / s->each; /* of "-n 16 --ntasks-per-node 8" the latter is the most */
        s->each = 0;
    }
    if (s->all && s->each && s->all % s->each)
        return differ(s, "%s starts %lld processes, which are not %lld on each node", s->who,
                      (long long)s->all, (long long)s->each);
    if (s->all && s->each)
        s->on = s->all / s->each;
    else if (s->all && s->l.mpi && s->on && s->gpus && s->all % s->gpus == 0)
        s->each = s->gpus, s->on = s->all / s->gpus; /* which fills a node first */
    else if (s->all && s->on && s->all % s->on)
        return differ(s, "%s starts %lld processes, which are not as many on each of %lld nodes", s->who,
                      (long long)s->all, (long long)s->on);
    else if (s->all && s->on)
        s->each = s->all / s->on;
    return SS_OK;
}

/* What srun or mpirun starts, with what it was given by the scheduler. */
static int read_step(struct sizes *s)
{
    layer *batch = &s->l.layer[SS_LAYER_BATCH], *step = &s->l.layer[SS_LAYER_STEP];
    int64_t *b = batch->count;
    const int64_t *n = step->count;

    unfold_sets(step);
    if (!step->name && batch->name && !strcmp(batch->name, "bsub")) { /* processors, which start nothing */
        if (!b[SS_COUNT_NODES] && b[SS_COUNT_NODE])
            b[SS_COUNT_NODES] = b[SS_COUNT_ALL] / b[SS_COUNT_NODE];
        b[SS_COUNT_ALL] = b[SS_COUNT_NODE] = 0;
    }
    s->nodes = b[SS_COUNT_NODES];
    s->on = n[SS_COUNT_NODES] ? n[SS_COUNT_NODES] : s->nodes;
    s->gpus = ss_launcher_gpus(step, s->on);
    s->gpus = s->gpus ? s->gpus : ss_launcher_gpus(batch, s->nodes);
    s->who = step->name ? step->name : batch->name;
    s->line = step->name ? step->line : batch->line;
    s->all = n[SS_COUNT_ALL];
    s->each = n[SS_COUNT_NODE];
    if (!s->each && !(s->l.mpi && s->all))
        s->each = b[SS_COUNT_NODE];
    if (!s->all && !(n[SS_COUNT_NODE] && s->on))
        s->all = b[SS_COUNT_ALL];
    if (user_decides(s)) {
        s->told = s->all;
        s->all = 0;
    }
    if (s->nodes && s->on > s->nodes)
        return differ(s, "%s takes %lld nodes, the script asks for %lld", s->who, (long long)s->on,
                      (long long)s->nodes);
    return s->all || s->each ? agree(s) : SS_OK;
}

static bool is_hydra(const struct sizes *s)
{
    const struct ss_words rest = {.w = s->words->w + s->c->script, .n = s->c->end - s->c->script};
    const char *script = s->words->w[s->c->script].text, *slash = strrchr(script, '/');

    return ss_hydra_is_command(&rest) || !strncmp(slash ? slash + 1 : script, "megatron_gpt_pretraining", 24);
}

/* A process a GPU without a launcher of the node's. */
static int read_processes(struct sizes *s)
{
    const layer *step = &s->l.layer[SS_LAYER_STEP];
    bool counted = s->all || s->each;

    if (user_decides(s) && !counted && !s->gpus) {
        s->told = s->told ? s->told : 1;
        s->who = s->who ? s->who : "a command without a launcher";
        return SS_OK;
    }
    if (!counted && !s->on && !s->gpus) {
        if (is_hydra(s))
            return SS_OK; /* its configuration says how many it starts */
        s->all = s->l.world ? s->l.world : 1;
        s->who = s->l.world ? "the script, by WORLD_SIZE," : s->who ? s->who : "a command without a launcher";
        return SS_OK;
    }
    if (s->gpus && (s->each == 1 || !counted) && s->gpus > s->each && !step->count[SS_COUNT_ALL]) {
        ss_note(s->notes, "%s: %s starts %s; a process for each of a node's %lld GPUs is taken", place(s),
                s->who ? s->who : "the script",
                s->each ? "1 process a node" : "as many processes as it is given", (long long)s->gpus);
        s->each = s->gpus;
        s->all = 0;
    }
    if (!counted && !s->gpus && s->on > 1 && !user_decides(s))
        ss_note(s->notes,
                "%s: %s is not told how many processes to start; one for each GPU of the %lld nodes is taken",
                place(s), s->who && strcmp(s->who, "sbatch") ? s->who : "a command without srun or mpirun",
                (long long)s->on);
    if (s->each && !s->on && !s->all)
        s->on = 1;
    if (s->gpus && s->each > s->gpus)
        return differ(s, "%s starts %lld processes a node, the script asks for %lld GPUs", s->who,
                      (long long)s->each, (long long)s->gpus);
    if (s->gpus && !s->each && s->all) { /* a number of all, and the scheduler's GPUs */
        s->each = s->all < s->gpus ? s->all : s->gpus;
        if (s->all % s->each)
            return differ(s, "%s starts %lld processes, which are no whole nodes of %lld GPUs", s->who,
                          (long long)s->all, (long long)s->gpus);
        s->on = s->all / s->each;
    }
    if (s->nodes && s->on > s->nodes)
        return differ(s, "%s starts %lld processes, the script asks for %lld nodes of %lld GPUs", s->who,
                      (long long)s->all, (long long)s->nodes, (long long)s->gpus);
    return SS_OK;
}

/* A file of hosts that is not here, as the cluster's own: the number of processes may tell nodes, too. */
static int no_hosts(struct sizes *s, const layer *l, int rc)
{
    if (rc != SS_ERR_IO)
        return rc;
    if (l->count[SS_COUNT_ALL]) {
        ss_note(s->notes, "%s: the file of hosts %.200s is not here: nodes follow from the %lld processes",
                place(s), l->hostfile, (long long)l->count[SS_COUNT_ALL]);
        if (s->err)
            *s->err = (struct ss_error){0};
        return SS_OK;
    }
    return ss_fail(s->err, rc, s->words->file, l->line,
                   "the file of hosts %.200s is not here" SS_HINT
                   "say by --nodes and --gpus-per-node what it does",
                   l->hostfile);
}

static int read_files(struct sizes *s, layer *l)
{
    int64_t hosts = 0, slots = 0;
    int rc = SS_OK;

    if (l->hostfile && l->count[SS_COUNT_NODES] && !user_decides(s)) {
        bool here = !ss_launcher_hosts(s->words, l->hostfile, &hosts, &slots, NULL);
        s->line = l->line;
        if (here && hosts && l->count[SS_COUNT_NODES] > hosts)
            return differ(s, "%s is told %lld nodes, the file of hosts %.100s has %lld", l->name,
                          (long long)l->count[SS_COUNT_NODES], l->hostfile, (long long)hosts);
    } else if (l->hostfile && !user_decides(s)) {
        rc = no_hosts(s, l, ss_launcher_hosts(s->words, l->hostfile, &hosts, &slots, s->err));
        l->count[SS_COUNT_NODES] = l->most = hosts;
        l->count[SS_COUNT_GPUS] = l->count[SS_COUNT_GPUS] ? l->count[SS_COUNT_GPUS] : slots;
    }
    if (!rc && l->config && !user_decides(s))
        rc = ss_launcher_config(s->words, l, s->err);
    return rc;
}

/* accelerate counts processes of all machines, of which it has one unless it is told. */
static int read_accelerate(struct sizes *s, layer *l)
{
    int64_t *n = l->count;

    if (!n[SS_COUNT_NODES] && (n[SS_COUNT_ALL] || !s->on))
        n[SS_COUNT_NODES] = 1;
    l->most = n[SS_COUNT_NODES];
    if (!n[SS_COUNT_ALL])
        return SS_OK;
    if (n[SS_COUNT_ALL] % n[SS_COUNT_NODES])
        return differ(s, "%lld processes do not divide by %lld machines", (long long)n[SS_COUNT_ALL],
                      (long long)n[SS_COUNT_NODES]);
    n[SS_COUNT_NODE] = n[SS_COUNT_ALL] / n[SS_COUNT_NODES];
    return SS_OK;
}

/* msrun counts all processes and those of a node, both 8 unless it is told. */
static int read_msrun(struct sizes *s, layer *l)
{
    int64_t all = l->count[SS_COUNT_ALL], each = l->count[SS_COUNT_NODE];

    all = all ? all : 8;
    each = each ? each : 8;
    if (all % each)
        return differ(s, "%lld processes are not %lld on each node", (long long)all, (long long)each);
    l->count[SS_COUNT_NODE] = each;
    l->count[SS_COUNT_NODES] = l->most = all / each;
    return SS_OK;
}

/* GPUs of a node, of which torchrun starts a process each; 0: all of the platform's. */
static int64_t gpus_of_node(struct sizes *s, const layer *l)
{
    const int64_t *n = l->count;
    int64_t most = s->l.visible ? s->l.visible : n[SS_COUNT_GPUS] ? n[SS_COUNT_GPUS] : s->gpus;

    if (n[SS_COUNT_NODE])
        return n[SS_COUNT_NODE];
    if (!strcmp(s->who, "torchrun") && !l->whole)
        ss_note(s->notes,
                "%s: torchrun without --nproc-per-node starts 1 process a node; a process for each GPU of "
                "the node is taken "
                "(--gpus-per-node)",
                place(s));
    return most;
}

/* A launcher with its line, "srun (line 12)". */
static const char *with_line(const layer *l, char text[96])
{
    if (l->line)
        snprintf(text, 96, "%.60s (line %d)", l->name, l->line);
    else
        snprintf(text, 96, "%.60s", l->name);
    return text;
}

/* Whether a shell of other machines starts the launcher, or a step on a named one, as many times as the script says. */
static bool is_remote(const struct sizes *s)
{
    static const char names[] =
        "ssh pdsh clush ds_ssh blaunch pbsdsh -w --nodelist --node_rank --node-rank -H --host --relative";

    for (size_t i = s->c->first; i < s->c->script; i++) {
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(s->words->w[i].text, "="), s->words->w[i].text);
        if (ss_has_word(names, word))
            return true;
    }
    return false;
}

/* A launcher that is not told of nodes: of those that the script is given it is on the first, unless it is started on each of them. */
static void join_untold(struct sizes *s, int64_t on)
{
    const layer *step = &s->l.layer[SS_LAYER_STEP];
    char text[96];

    s->on = s->l.standalone || (!step->name && !is_remote(s)) || !on ? 1 : on;
    if (on > 1 && s->l.standalone && step->name)
        ss_note(s->notes,
                "%s: %s starts %s on %lld nodes, each a job of its own (--standalone): one of them is taken",
                place(s), with_line(step, text), s->who, (long long)on);
    else if (on > 1 && s->on == 1 && !user_decides(s))
        ss_note(s->notes,
                "%s: it asks for %lld nodes, but %s is started once, without srun or mpirun, and for one "
                "node: the "
                "job is on 1",
                place(s), (long long)on, s->who);
    else if (s->on > 1)
        ss_note(s->notes, "%s: %s is not told that there are %lld nodes; they are taken as one job", place(s),
                s->who, (long long)s->on);
}

/* The nodes that the launcher itself was told, against those where it is started. */
static int join_nodes(struct sizes *s, const layer *l, int64_t on)
{
    const layer *step = &s->l.layer[SS_LAYER_STEP];
    int64_t least = l->count[SS_COUNT_NODES], most = l->most;
    char text[96];

    if (!least || (most == 1 && !step->name && s->nodes > 1 && !s->l.standalone)) {
        join_untold(s, on);
        return SS_OK;
    }
    s->on = least;
    if (most > 1 && s->l.standalone)
        return differ(s, "%s is told %lld nodes and --standalone, which is one", s->who, (long long)most);
    bool apart = step->name && on == 1 && most > 1; /* a step for each node */
    if (apart && !is_remote(s))
        ss_note(s->notes, "%s: %s is for %lld nodes, but %s starts it on 1; it is taken as started on each",
                place(s), s->who, (long long)most, with_line(step, text));
    if (step->name && on && !apart && (!s->nodes || step->count[SS_COUNT_NODES]) && (on < least || on > most))
        return differ(s, "%s is told %lld nodes, %s starts it on %lld", s->who, (long long)most,
                      with_line(step, text), (long long)on);
    if (step->name && on && !apart && !s->nodes)
        s->on = on;
    else if (most > least && !s->nodes && !user_decides(s))
        ss_note(s->notes, "%s: %s takes %lld to %lld nodes: %lld is taken (--nodes)", place(s), s->who,
                (long long)least, (long long)most, (long long)least);
    if (!s->nodes)
        return SS_OK;
    if (s->nodes >= least && s->nodes <= most) {
        s->on = s->nodes;
        if (!step->name && most > 1 && !is_remote(s) && !user_decides(s))
            ss_note(
                s->notes,
                "%s: %s is for %lld nodes, but is started once, without srun or mpirun; they are taken as "
                "started on each",
                place(s), s->who, (long long)s->on);
        return SS_OK;
    }
    const char *plural = ss_plural(most);
    if (most > s->nodes || (step->count[SS_COUNT_NODES] != most && !l->hostfile))
        return differ(s, "%s is told %lld node%s, the script asks for %lld: they make no world of %lld",
                      s->who, (long long)most, plural, (long long)s->nodes, (long long)s->nodes);
    ss_note(s->notes, "%s: it asks for %lld nodes, of which %s%s%s take%s %lld: the job is on these",
            place(s), (long long)s->nodes, step->name ? step->name : "", step->name ? " and " : "", s->who,
            step->name ? "" : "s", (long long)most);
    s->on = most;
    return SS_OK;
}

/* What torchrun, deepspeed or accelerate starts on the nodes where srun or mpirun starts it. */
static int read_node(struct sizes *s, layer *l)
{
    int64_t tasks = s->all, on = s->on ? s->on : s->each ? 0 : tasks; /* a launcher on each node */
    const layer *step = &s->l.layer[SS_LAYER_STEP];
    char text[96];

    s->who = ss_is_torchrun(l->name) || !strncmp(l->name, "run.py", 6) || !strncmp(l->name, "launch.py", 9)
                 ? "torchrun"
                 : l->name;
    s->line = l->line;
    SS_TRY(!strncmp(l->name, "accelerate", 10) ? read_accelerate(s, l)
           : !strcmp(l->name, "msrun")         ? read_msrun(s, l)
                                               : SS_OK);
    if (step->name && s->each > 1)
        ss_note(s->notes, "%s: %s starts %s %lld times on each node; once is taken", place(s),
                with_line(step, text), s->who, (long long)s->each);
    s->each = gpus_of_node(s, l);
    s->all = 0;
    if (s->l.visible && s->each > s->l.visible)
        return differ(
            s, "%s starts %lld processes a node, of whose GPUs %lld are visible (CUDA_VISIBLE_DEVICES)",
            s->who, (long long)s->each, (long long)s->l.visible);
    if (s->gpus && s->each > s->gpus)
        return differ(s, "%s starts %lld processes a node, the script asks for %lld GPUs", s->who,
                      (long long)s->each, (long long)s->gpus);
    return join_nodes(s, l, on);
}

static void tell(const struct sizes *s)
{
    const struct ss_cluster *user = s->words->cluster;
    int64_t all = s->told ? s->told : s->all;
    const char *plural = all == 1 ? "" : "es";
    char nodes[64] = ", each with a GPU";

    if (!all || (s->on && !user_decides(s)))
        return;
    int64_t gpus = ss_cluster_gpus(user);
    if (user_decides(s)) {
        if (all != user->nodes * (s->each ? s->each : gpus))
            ss_note(s->notes, "%s: %s starts %lld process%s; --nodes %d of the command line is obeyed",
                    place(s), s->who, (long long)all, plural, user->nodes);
        return;
    }
    if (gpus && (all <= gpus || all % gpus == 0))
        snprintf(nodes, sizeof nodes, ": %lld node%s of %lld", (long long)(all > gpus ? all / gpus : 1),
                 all > gpus ? "s" : "", (long long)(all > gpus ? gpus : all));
    ss_note(s->notes, "%s: %s starts %lld process%s%s", place(s), s->who, (long long)all, plural, nodes);
}

void ss_command_resolve(const struct ss_words *words, struct ss_command *c)
{
    int gpus = c->processes || (c->nodes && !c->gpus_per_node) ? (int)ss_cluster_gpus(words->cluster) : 0;

    if (words->cluster && words->cluster->nodes)
        c->nodes = words->cluster->nodes;
    else if (c->processes && gpus)
        c->nodes = c->processes > gpus ? c->processes / gpus : 1;
    if (gpus)
        c->gpus_per_node = c->processes && c->processes < gpus ? c->processes : gpus;
}

static int fit(int64_t n)
{
    return n <= 1 << 20 ? (int)n : 0;
}

int ss_command_sizes(const struct ss_words *words, struct ss_command *c, struct ss_notes *notes,
                     struct ss_error *err)
{
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/');
    struct sizes s = {.words = words, .c = c, .notes = notes, .err = err};

    ss_launcher_variables(words, c, notes);
    ss_launcher_cards(words, c->first, c->script, words->cluster, place(&s), notes);
    if (c->script == c->first && ss_has_word("trl axolotl", slash ? slash + 1 : script))
        return SS_OK; /* their own words say it, which the reader of these knows */
    int rc = ss_launchers_read(words, c, !user_decides(&s), &s.l, err);

    for (int i = 0; i < SS_LAYERS && !rc; i++)
        rc = read_files(&s, &s.l.layer[i]);
    rc = rc ? rc : read_step(&s);
    if (!rc)
        rc = s.l.layer[SS_LAYER_NODE].name ? read_node(&s, &s.l.layer[SS_LAYER_NODE]) : read_processes(&s);
    if (rc)
        return rc;
    c->line = s.line;
    c->nodes = fit(s.on);
    c->gpus_per_node = fit(s.each);
    c->processes = s.on ? 0 : fit(s.all);
    tell(&s);
    return SS_OK;
}
