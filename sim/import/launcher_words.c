/* SPDX-License-Identifier: Apache-2.0 */
/* The options of launchers: rows of who has which, and what each counts. */
#include "base/base.h"
#include "import/launcher.h"

/* What an option is beside a count. */
enum {
    HOSTS = SS_COUNTS,
    CHOSEN,
    HOSTFILE,
    CONFIG,
    PER_NODE_MAP,
    SPAN,
    LSF_GPUS,
    PBS_LIST,
    PJM_LIST,
    STANDALONE,
    ONE_A_NODE,
    NQSV_NODES,
    VISIBLE,
    REFUSED,
    NAME, /* its value is a name, which may be that of a program */
    PLAIN /* nothing; the row keeps it from being taken for a misspelt one of the others */
};

#define SLURM "srun sbatch salloc"
/* Programs that read "-N4" as "-N 4". */
#define ATTACHED SLURM " flux aprun jsrun qsub"
/* Programs that start a process for each GPU of the node themselves. */
#define ITSELF "llamafactory-cli deepy.py"
#define MPI "mpirun mpiexec mpiexec.hydra orterun prun"

static const struct {
    const char *names;
    enum ss_launcher_layer layer;
} launchers[] = {
    {"sbatch salloc bsub qsub pjsub", SS_LAYER_BATCH},
    {MPI " srun aprun jsrun flux horovodrun", SS_LAYER_STEP},
    {"torchrun msrun deepspeed accelerate colossalai " ITSELF, SS_LAYER_NODE},
};

/* Programs that run others and count nothing. */
static const char others[] =
    "python python2 python3 bash sh numactl nsys ncu timeout nohup sudo env stdbuf taskset nice ionice time "
    "setsid singularity "
    "apptainer docker podman enroot pyxis conda mamba micromamba poetry uv pixi ray kubectl ssh pdsh clush "
    "ds_ssh blaunch pbsdsh tmux screen";

static const struct option {
    const char *programs, *names;
    int what;
    const char *why; /* it is refused */
} options[] = {
    {SLURM " flux", "--nodes -N", SS_COUNT_NODES, NULL},
    {"bsub", "-nnodes", SS_COUNT_NODES, NULL},
    {SLURM " flux bsub", "--ntasks -n --nslots", SS_COUNT_ALL, NULL},
    {SLURM " flux", "--ntasks-per-node --tasks-per-node", SS_COUNT_NODE, NULL},
    {SLURM " flux", "--gpus-per-node --gres", SS_COUNT_GPUS, NULL},
    {SLURM, "--gpus-per-task", SS_COUNT_PER_TASK, NULL},
    {"flux", "-g --gpus-per-task --gpus-per-slot", SS_COUNT_PER_TASK, NULL},
    {SLURM, "--gpus -G", SS_COUNT_CARDS, NULL},
    {SLURM " flux", "--cpus-per-task -c", SS_COUNT_CPUS, NULL},
    {SLURM, "-J --job-name -p --partition -A --account -q --qos -w --nodelist --comment --container-name",
     NAME, NULL},
    {SLURM " flux", "--ntasks-per-core --tasks-per-core", PLAIN, NULL},
    {"bsub", "-R", SPAN, NULL},
    {"bsub", "-gpu", LSF_GPUS, NULL},
    {"qsub", "-l", PBS_LIST, NULL},
    {"pjsub", "-L --rsc-list --mpi", PJM_LIST, NULL},
    {"pjsub", "--omp --fs --llio", PLAIN, NULL},
    {"qsub", "-b", NQSV_NODES, NULL},
    {MPI " horovodrun", "-np --np -n --n -c --num-proc", SS_COUNT_ALL, NULL},
    {MPI, "-N -npernode --npernode -ppn --ppn -perhost --ntasks-per-node", SS_COUNT_NODE, NULL},
    {MPI, "-map-by --map-by", PER_NODE_MAP, NULL},
    {MPI, "-pernode --pernode", ONE_A_NODE, NULL},
    {MPI, "-nw --nw -hostos", PLAIN, NULL},
    {MPI " horovodrun colossalai", "-H -host --host -hosts --hosts", HOSTS, NULL},
    {MPI " horovodrun deepspeed colossalai", "-hostfile --hostfile -machinefile --machinefile -f", HOSTFILE,
     NULL},
    {"horovodrun", "--min-np --max-np --min-num-proc --max-num-proc --host-discovery-script", REFUSED,
     "a world that grows and shrinks is not modelled"},
    {"aprun", "-n", SS_COUNT_ALL, NULL},
    {"aprun", "-N", SS_COUNT_NODE, NULL},
    {"jsrun", "-n --nrs", SS_COUNT_SETS, NULL},
    {"jsrun", "-r --rs_per_host", SS_COUNT_SETS_OF_NODE, NULL},
    {"jsrun", "-a --tasks_per_rs", SS_COUNT_TASKS_OF_SET, NULL},
    {"jsrun", "-g --gpu_per_rs", SS_COUNT_GPUS_OF_SET, NULL},
    {"jsrun", "-p --np", SS_COUNT_ALL, NULL},
    {"torchrun", "--nnodes", SS_COUNT_NODES, NULL},
    {"torchrun colossalai", "--nproc_per_node --nproc-per-node", SS_COUNT_NODE, NULL},
    {"torchrun", "--standalone", STANDALONE, NULL},
    {"msrun", "--worker_num", SS_COUNT_ALL, NULL},
    {"msrun", "--local_worker_num", SS_COUNT_NODE, NULL},
    {"deepspeed colossalai", "--num_nodes", SS_COUNT_NODES, NULL},
    {"deepspeed", "--num_gpus --num_accelerators", SS_COUNT_NODE, NULL},
    {"deepspeed", "-H", HOSTFILE, NULL},
    {"deepspeed", "-i --include", CHOSEN, NULL},
    {"deepspeed colossalai", "-e --exclude", REFUSED,
     "which GPUs are left out of the hosts is not read: give --include"},
    {"deepspeed", "--autotuning", REFUSED, "it tries many jobs: give one of them"},
    {"deepspeed", "--elastic_training", REFUSED, "a world that grows and shrinks is not modelled"},
    {"accelerate", "--num_processes --num-processes", SS_COUNT_ALL, NULL},
    {"accelerate", "--num_machines --num-machines", SS_COUNT_NODES, NULL},
    {"accelerate", "--config_file --config-file", CONFIG, NULL},
    {"accelerate", "--cpu --use_cpu --tpu --use_xla --ipex", REFUSED,
     "training on anything but GPUs is not modelled"},
    {"docker podman", "--gpus", VISIBLE, NULL},
    {"docker podman conda mamba micromamba", "-n --name -p --prefix --hostname", NAME, NULL},
    {"uv", "--extra --with --group", NAME, NULL},
};

/* Those of any launcher that is not known; behind "=" or in the next word. */
static const struct option unknown[] = {
    {"", "--nodes --nnodes --num_nodes --num-nodes --num_machines", SS_COUNT_NODES, NULL},
    {"", "--ntasks --num_processes", SS_COUNT_ALL, NULL},
    {"", "--ntasks-per-node --tasks-per-node --nproc_per_node --nproc-per-node", SS_COUNT_NODE, NULL},
    {"", "--gpus-per-node --num_gpus --gres", SS_COUNT_GPUS, NULL},
};

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && !strcmp(text + n - m, end);
}

bool ss_is_torchrun(const char *text)
{
    return !strcmp(text, "torchrun") || ends_in(text, "/torchrun") || !strcmp(text, "dlrover-run") ||
           !strncmp(text, "torch.distributed", 17) || ends_in(text, "distributed/run.py") ||
           ends_in(text, "distributed/launch.py");
}

static bool is_one_of(const char *text, size_t n, const char *names)
{
    char word[64];

    if (n == 0 || n >= sizeof word)
        return false;
    memcpy(word, text, n);
    word[n] = '\0';
    return ss_has_word(names, word);
}

/* A launcher as it reads its options. */
struct chain {
    const struct ss_words *words;
    size_t end;
    struct ss_launchers *out;
    char name[32]; /* of the launcher whose options these are; "": none yet */
    bool other;    /* it is one of `others` */
    int layer;
    int strict;
    bool lines; /* for a scheduler, without a program among them */
    struct ss_error *err;
};

/* Whether the word is a program that has options of its own, or none that count. */
static bool is_program(struct chain *x, size_t i)
{
    const struct ss_word *w = &x->words->w[i];
    const char *slash = strrchr(w->text, '/'), *name = slash ? slash + 1 : w->text;

    if (ss_is_torchrun(w->text))
        name = "torchrun";
    else if (!strncmp(w->text, "accelerate.commands", 19))
        name = "accelerate";
    if (x->lines || w->text[0] == '-' || strlen(name) >= sizeof x->name)
        return false;
    x->other = ss_has_word(others, name) || !strncmp(name, "python3.", 8);
    for (size_t k = 0; k < SS_ARRAY_LEN(launchers) && !x->other; k++)
        if (ss_has_word(launchers[k].names, name)) {
            struct ss_launcher_layer_said *said = &x->out->layer[launchers[k].layer];
            x->layer = (int)launchers[k].layer;
            said->name = slash ? slash + 1 : w->text;
            said->line = w->line;
            if (x->layer == SS_LAYER_STEP)
                x->out->mpi = is_one_of(name, strlen(name), MPI " horovodrun");
            x->out->itself |= is_one_of(name, strlen(name), ITSELF);
            ss_copy(x->name, sizeof x->name, name);
            return true;
        }
    if (x->other)
        ss_copy(x->name, sizeof x->name, name);
    return x->other;
}

static const struct option *option_of(const struct chain *x, const char *text, size_t n)
{
    const struct option *rows = x->name[0] ? options : unknown;
    size_t count = x->name[0] ? SS_ARRAY_LEN(options) : SS_ARRAY_LEN(unknown);

    for (size_t i = 0; i < count; i++)
        if ((!x->name[0] || ss_has_word(rows[i].programs, x->name)) && is_one_of(text, n, rows[i].names))
            return &rows[i];
    return NULL;
}

/* Finds the option of this launcher that says how many processes start where, and which a word that is none of its options is like: abbreviated, as
 * argparse allows it, *far 0, or misspelt, *far 1. Its name goes to `near`. */
static const struct option *option_like(const struct chain *x, const char *text, size_t n, char near[64],
                                        int *far)
{
    const struct option *found = NULL;
    char word[64], name[64];

    *far = 1;
    if (!strcmp(text, "-1") && !strcmp(x->name, "qsub")) { /* which looks like -l */
        ss_copy(near, 64, "-l");
        return option_of(x, near, 2);
    }
    if (!x->name[0] || x->other || n < 3 || n >= sizeof word)
        return NULL;
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    for (size_t i = 0; i < SS_ARRAY_LEN(options); i++)
        for (const char *at = options[i].names; ss_has_word(options[i].programs, x->name) && *at;) {
            size_t length = strcspn(at, " ");
            snprintf(name, sizeof name, "%.*s", (int)length, at);
            at += length + (at[length] == ' ');
            *far = strncmp(name, word, n) != 0 || n < 6 || word[1] != '-';
            if (options[i].what >= VISIBLE || (*far && (found || !ss_launcher_is_misspelt(word, name))))
                continue;
            found = &options[i];
            snprintf(near, 64, "%s", name);
            if (!*far)
                return found;
        }
    *far = 1;
    return found;
}

static int bad(const struct chain *x, size_t i, const char *value, struct ss_error *err)
{
    const struct ss_word *w = &x->words->w[i];

    if (!x->strict)
        return SS_OK;
    if (value[0] == '-')
        return ss_fail(err, SS_ERR_INPUT, x->words->file, w->line, "%.60s needs a value", w->text);
    const bool behind = !ends_in(w->text, value); /* not in one word, as -N4 and --nodes=4 */
    ss_fail(err, SS_ERR_INPUT, x->words->file, w->line, "%.60s%s%.100s: a number of at least 1 is asked",
            w->text, behind ? " " : "", behind ? value : "");
    return strchr(value, '$')
               ? ss_hint(err, SS_ERR_INPUT,
                         "write what the shell makes of it, or run the script by --launch FILE")
               : SS_ERR_INPUT;
}

/* "8", "2:4", "gpu:h100:8,nvme:1", "gpu", "auto". */
static int take_count(struct chain *x, size_t i, const char *value, int what)
{
    struct ss_launcher_layer_said *said = &x->out->layer[x->layer];
    char text[32];
    const char *end = value + strcspn(value, ","), *colon;
    int64_t n, most;

    said->whole |= what == SS_COUNT_NODE && ss_has_word("gpu auto", value);
    if (ss_has_word("gpu auto", value))
        return SS_OK;
    if (what == SS_COUNT_NODE && ss_has_word("cpu xpu mps", value))
        return ss_fail(x->err, SS_ERR_UNSUPPORTED, x->words->file, x->words->w[i].line,
                       "%.60s %s: training on anything but GPUs is not modelled", x->words->w[i].text, value);
    const char *gpus = what == SS_COUNT_GPUS ? strstr(value, "gpu:") : NULL; /* "nvme:1,gpu:8" */
    end = gpus ? gpus + strcspn(gpus, ",(") : end;
    value = gpus ? gpus : value;
    while (what != SS_COUNT_NODES && (colon = memchr(value, ':', (size_t)(end - value))) != NULL)
        value = colon + 1;
    snprintf(text, sizeof text, "%.*s", end > value ? (int)(end - value) : 0, value);
    size_t mark = what == SS_COUNT_NODES ? strcspn(text, ":-") : strlen(text); /* "2:4", of Slurm "2-4" */
    if (text[mark] && ss_parse_i64(text + mark + 1, 1, 1 << 20, &most))
        return bad(x, i, value, x->err);
    bool range = text[mark] != '\0';
    text[mark] = '\0';
    if (ss_parse_i64(text, 1, 1 << 26, &n) || (range && most < n))
        return what == SS_COUNT_CPUS ? SS_OK : bad(x, i, value, x->err);
    said->count[what] = n;
    if (what == SS_COUNT_NODES)
        said->most = range ? most : n;
    said->line = x->words->w[i].line;
    return SS_OK;
}

/* The hosts of mpirun, "a:8,b:8", and those of deepspeed, "a:0,1@b:0,1": how many there are, and the GPUs of each. */
static int take_hosts(struct chain *x, size_t i, const char *text, bool chosen)
{
    struct ss_launcher_layer_said *said = &x->out->layer[x->layer];
    long hosts = 0, each = 0;

    for (const char *p = text; *p; hosts++) {
        const char *end = p + strcspn(p, chosen ? "@" : ","), *colon = memchr(p, ':', (size_t)(end - p));
        long n = colon ? atol(colon + 1) : 0;
        if (colon && chosen) {
            n = 1;
            for (const char *q = colon; q < end; q++)
                n += *q == ',';
        }
        each = hosts == 0 || n == each ? n : -1;
        p = end + (*end != '\0');
    }
    if (each < 0)
        return ss_fail(x->err, SS_ERR_UNSUPPORTED, x->words->file, x->words->w[i].line,
                       "%.60s %.100s: nodes with unlike numbers of GPUs are not modelled" SS_HINT
                       "say by --nodes and --gpus-per-node what is meant",
                       x->words->w[i].text, text);
    said->count[SS_COUNT_NODES] = hosts;
    said->count[SS_COUNT_GPUS] = each ? each : said->count[SS_COUNT_GPUS];
    return SS_OK;
}

/* "0,1,2,3" of CUDA_VISIBLE_DEVICES; "2", "all", "device=0,1" of docker. */
static void take_visible(struct chain *x, size_t i, const char *value, bool docker)
{
    int64_t n = 0;

    value += strspn(value, "\"'");
    if (docker && strncmp(value, "device=", 7)) {
        (void)ss_parse_i64(value, 1, 1024, &n);
    } else if (isalnum((unsigned char)value[docker ? 7 : 0]) &&
               !ss_has_word("all void none NoDevFiles", value)) {
        for (n = 1; *value; value++)
            n += *value == ',' && value[1] != '\0';
    }
    x->out->visible = n ? n : x->out->visible;
    x->out->visible_line = x->words->w[i].line;
}

/* Takes the number behind "ptile=" or "num=", where a value has it. */
static void take_number(int64_t *to, const char *value, const char *name)
{
    const char *at = strstr(value, name);

    *to = at && atol(at + strlen(name)) > 0 ? atol(at + strlen(name)) : *to;
}

/* "select=4:ngpus=8:mpiprocs=8" of qsub. */
static void take_list(struct ss_launcher_layer_said *said, const char *list)
{
    int64_t *n = said->count;
    struct ss_pbs asked = {(int)n[SS_COUNT_NODES], (int)n[SS_COUNT_GPUS], (int)n[SS_COUNT_NODE],
                           (int)n[SS_COUNT_LINES]};

    ss_pbs_list(list, &asked); /* what it does not tell stays */
    n[SS_COUNT_NODES] = said->most = asked.nodes;
    n[SS_COUNT_GPUS] = asked.gpus;
    n[SS_COUNT_NODE] = asked.tasks;
    n[SS_COUNT_LINES] = asked.lines;
}

static int take(struct chain *x, size_t i, const struct option *o, const char *value)
{
    struct ss_launcher_layer_said *said = &x->out->layer[x->layer];
    int64_t n;

    if (o->what == SPAN || o->what == LSF_GPUS || o->what == PBS_LIST || o->what == PJM_LIST)
        SS_TRY(ss_launcher_resources(x->name, value, x->words->file, x->words->w[i].line, x->err));
    switch (o->what) {
    case HOSTS: return take_hosts(x, i, value, false);
    case CHOSEN: return take_hosts(x, i, value, true);
    case HOSTFILE: said->hostfile = value; return SS_OK;
    case CONFIG: said->config = value; return SS_OK;
    case SPAN:
        take_number(&said->count[SS_COUNT_NODE], value, "ptile=");
        take_number(&said->count[SS_COUNT_NODES], value, "span[hosts=");
        return SS_OK;
    case LSF_GPUS: take_number(&said->count[SS_COUNT_GPUS], value, "num="); return SS_OK;
    case PBS_LIST: take_list(said, value); return SS_OK;
    case PJM_LIST: ss_pjm_list(value, said->count); return SS_OK;
    case NQSV_NODES: /* of Torque, seconds */
        if (!said->count[SS_COUNT_NODES] && !ss_parse_i64(value, 1, 1 << 20, &n))
            said->count[SS_COUNT_NODES] = said->most = n;
        return SS_OK;
    case VISIBLE: take_visible(x, i, value, true); return SS_OK;
    case PER_NODE_MAP:
        if (!strncmp(value, "ppr:", 4) && !strncmp(value + 4 + strspn(value + 4, "0123456789"), ":node", 5))
            said->count[SS_COUNT_NODE] = atol(value + 4);
        return SS_OK;
    default: return take_count(x, i, value, o->what);
    }
}

static int take_variable(struct chain *x, size_t i, const char *value)
{
    static const struct {
        const char *names;
        int what;
    } rows[] = {{"CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES", VISIBLE},
                {"PET_NNODES NNODES", SS_COUNT_NODES},
                {"PET_NPROC_PER_NODE NPROC_PER_NODE", SS_COUNT_NODE}};
    const char *text = x->words->w[i].text;

    if (is_one_of(text, (size_t)(value - 1 - text), rows[0].names))
        take_visible(x, i, value, false);
    if (!strncmp(text, "WORLD_SIZE=", 11) && ss_parse_i64(value, 1, 1 << 26, &x->out->world))
        x->out->world = 0;
    for (size_t k = 1; k < SS_ARRAY_LEN(rows); k++)
        if (is_one_of(text, (size_t)(value - 1 - text), rows[k].names) &&
            (x->out->itself || !strncmp(text, "PET_", 4))) {
            int layer = x->layer;
            x->layer = SS_LAYER_NODE;
            int rc = take_count(x, i, value, rows[k].what);
            x->layer = layer;
            return rc;
        }
    return SS_OK;
}

static int read_word(struct chain *x, size_t *i)
{
    const char *text = x->words->w[*i].text, *equal = strchr(text, '=');
    size_t n = equal ? (size_t)(equal - text) : strlen(text);
    const char *value = equal ? equal + 1 : *i + 1 < x->end ? x->words->w[*i + 1].text : NULL;

    if (equal && text[0] != '-')
        return take_variable(x, *i, equal + 1);
    if (is_program(x, *i) || text[0] != '-')
        return SS_OK;
    const struct option *o = option_of(x, text, n);
    if (!o && n > 2 && text[1] != '-' && (ss_has_word(ATTACHED, x->name) || text[1] == 'R')) {
        o = option_of(x, text, 2); /* -N4, "-Rspan[ptile=8]" */
        value = text + 2;
    }
    char near[64];
    int far = 0;
    o = o ? o : option_like(x, text, n, near, &far);
    if (o && far)
        return ss_fail(x->err, SS_ERR_INPUT, x->words->file, x->words->w[*i].line,
                       "%s has no option %.60s" SS_HINT "did you mean %s?", x->name, text, near);
    if (o && o->what == REFUSED)
        return ss_fail(x->err, SS_ERR_UNSUPPORTED, x->words->file, x->words->w[*i].line, "%.60s of %s: %s",
                       text, x->name, o->why);
    if (o && o->what == STANDALONE)
        x->out->standalone = true;
    else if (o && o->what == ONE_A_NODE)
        x->out->layer[x->layer].count[SS_COUNT_NODE] = 1;
    else if (o && o->what == NAME)
        *i += !equal && value && value != text + 2 && value[0] != '-';
    else if (o && o->what != PLAIN && value)
        return take(x, *i, o, value);
    return SS_OK;
}

int ss_launchers_read(const struct ss_words *words, const struct ss_command *c, int strict,
                      struct ss_launchers *out, struct ss_error *err)
{
    struct chain x = {.words = words, .end = c->script, .out = out, .strict = strict, .err = err};
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/');
    int rc = SS_OK;

    *out = (struct ss_launchers){.itself = ss_has_word(ITSELF, slash ? slash + 1 : script)};
    for (size_t i = c->first; i < c->script && !rc; i++)
        rc = read_word(&x, &i);
    if (!rc && out->itself)
        (void)is_program(&x, c->script);
    return rc;
}

int ss_launcher_lines(const struct ss_words *words, const char *program, const char *script,
                      struct ss_launcher_layer_said *said, struct ss_error *err)
{
    const struct ss_words own = {.w = words->w, .n = words->n, .file = (char *)script};
    struct ss_launchers out = {0};
    struct chain x = {.words = &own, .end = words->n, .out = &out, .lines = true, .err = err};

    ss_copy(x.name, sizeof x.name, program);
    for (size_t i = 0; i < x.end; i++)
        SS_TRY(read_word(&x, &i));
    *said = out.layer[SS_LAYER_BATCH];
    return SS_OK;
}
