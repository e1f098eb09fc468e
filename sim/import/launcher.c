/* SPDX-License-Identifier: Apache-2.0 */
/* Whole commands as job files: what torchrun, srun, mpirun, deepspeed or accelerate was called with. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/command.h"
#include "import/hydra.h"

/* A number in the launcher's words; "" = not told. */
struct size {
    char text[32];
    int line;
};

/* Words first .. end - 1; the script's own flags begin behind `script`. */
struct command {
    size_t first, script, end;
    struct size nodes, all;      /* all: processes on all nodes */
    struct size processes;       /* of a node, as torchrun says it */
    struct size tasks, gpus;     /* of a node, as others do */
    struct size per_task, cards; /* GPUs of a task, and on all nodes */
    int torchrun, mpirun, deepspeed, hostfile;
};

static int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && !strcmp(text + n - m, end);
}

/* Where the shell ends a command: a pipe, a redirection, the next command. */
static int is_operator(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return (text[0] && strchr("|&;>", text[0])) || (digits > 0 && text[digits] == '>');
}

/* "1024;": the operator stands against the word. */
static int is_last(const char *text)
{
    return ends_in(text, ";") || ends_in(text, "&");
}

static int is_torchrun(const char *text)
{
    return !strcmp(text, "torchrun") || ends_in(text, "/torchrun") || !strcmp(text, "dlrover-run") ||
           !strncmp(text, "torch.distributed", 17) || ends_in(text, "distributed/run.py") ||
           ends_in(text, "distributed/launch.py");
}

/* "pretrain_gpt.py", or the module behind -m; not one of the launcher itself, nor NAME=value. */
static int is_script(const struct ss_words *words, const struct command *c, size_t i)
{
    /* the first behind other words too, for it is no name of a folder */
    static const char *const programs[] = {
        "llamafactory-cli", "axolotl", "swift", "megatron", "nemo", "trl", "tune", "litgpt", "xtuner"};
    const char *text = words->w[i].text, *before = i > c->first ? words->w[i - 1].text : "";
    const char *slash = strrchr(text, '/');

    if (text[0] == '-')
        return 0;
    if (!strcmp(before, "-m") || !strcmp(before, "--module"))
        return strncmp(text, "torch.distributed", 17) != 0 && strncmp(text, "accelerate", 10) != 0;
    for (size_t k = 0; k < SS_ARRAY_LEN(programs) && (k == 0 || i == c->first); k++)
        if (!strcmp(slash ? slash + 1 : text, programs[k]))
            return 1;
    return ends_in(text, ".py") && !strchr(text, '=') && !is_torchrun(text);
}

/* The program that torchrun runs as it is, behind --no-python and what other options there are with their values; `end`: there is none. */
static size_t bare_program(const struct ss_words *words, size_t first, size_t end)
{
    size_t i = first;

    while (i < end && strcmp(words->w[i].text, "--no-python") && strcmp(words->w[i].text, "--no_python"))
        i++;
    for (i += i < end; i < end && words->w[i].text[0] == '-'; i++)
        if (!strchr(words->w[i].text, '=') && strcmp(words->w[i].text, "--standalone"))
            i++;
    return i < end ? i : end;
}

/* The command that begins at word `first`. script == end: it has none. */
static struct command command_at(const struct ss_words *words, size_t first)
{
    struct command c = {.first = first, .end = first};

    while (c.end < words->n && !is_operator(words->w[c.end].text) &&
           (c.end == first || !is_last(words->w[c.end - 1].text)))
        c.end++;
    for (c.script = first; c.script < c.end && !is_script(words, &c, c.script);)
        c.script++;
    if (c.script == c.end)
        c.script = bare_program(words, first, c.end);
    return c;
}

static int has_flags(const struct ss_words *words, const struct command *c)
{
    for (size_t i = c->script + 1; i < c->end; i++)
        if (!strncmp(words->w[i].text, "--", 2))
            return 1;
    return 0;
}

/* The first command whose script has flags, or else the first with a script; 0: there is none. */
static int find_command(const struct ss_words *words, struct command *out)
{
    int found = 0;

    for (size_t at = 0; at < words->n;) {
        struct command c = command_at(words, at);
        int scripted = c.script < c.end;
        if (scripted && (!found || (has_flags(words, &c) && !has_flags(words, out)))) {
            *out = c;
            found = 1;
        }
        if (found && has_flags(words, out))
            return 1;
        at = c.end > at ? c.end : at + 1;
    }
    return found;
}

static int is_one_of(const char *text, size_t n, const char *names)
{
    for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ')
        if (strcspn(p, " ") == n && !strncmp(p, text, n))
            return 1;
    return 0;
}

/* Where a word's value goes; NULL: it is none of these. */
static struct size *size_of(struct command *c, const char *text, size_t n)
{
    if (is_one_of(text, n, "--nproc_per_node --nproc-per-node"))
        return &c->processes;
    if (is_one_of(text, n, "--ntasks-per-node --tasks-per-node -npernode --npernode --ppn -ppn -perhost"))
        return &c->tasks;
    if (is_one_of(text, n, "--gpus-per-node --num_gpus --gres"))
        return &c->gpus;
    if (is_one_of(text, n, "--gpus-per-task"))
        return &c->per_task;
    if (is_one_of(text, n, "--gpus -G"))
        return &c->cards;
    if (is_one_of(text, n, "-N"))
        return c->mpirun ? &c->tasks : &c->nodes;
    if (is_one_of(text, n, "--nnodes --nodes --num_nodes --num_machines"))
        return &c->nodes;
    return is_one_of(text, n, "-n -np --ntasks --num_processes") ? &c->all : NULL;
}

static int64_t number(const struct size *s)
{
    int64_t n;

    return s->text[0] && !ss_parse_i64(s->text, 1, 1 << 26, &n) ? n : 0;
}

/* "gpu", "auto" and "cpu" are no numbers and say nothing here; of "gpu:h100:8,nvme:1" it is 8. */
static void set_size(struct size *s, const char *text, int line)
{
    struct size next = {.line = line};
    const char *end = text + strcspn(text, ","), *colon;

    while (isalpha((unsigned char)*text) && (colon = memchr(text, ':', (size_t)(end - text))) != NULL)
        text = colon + 1;
    snprintf(next.text, sizeof next.text, "%.*s", end > text ? (int)(end - text) : 0, text);
    if (strcmp(text, "gpu") != 0 && strcmp(text, "auto") != 0 && strcmp(text, "cpu") != 0 &&
        number(&next) >= number(s))
        *s = next;
}

static void set_number(struct size *s, long n, int line)
{
    char text[32];

    snprintf(text, sizeof text, "%ld", n);
    if (n > 0)
        set_size(s, text, line);
}

/* The hosts of mpirun, "a:8,b:8", and of deepspeed, "a:0,1@b:0,1": how many, and the GPUs of each. */
static void read_hosts(struct command *c, const char *text, char between, int line)
{
    long hosts = 0, each = 0;

    for (const char *p = text; *p; hosts++) {
        const char *end = p + strcspn(p, between == '@' ? "@" : ","),
                   *colon = memchr(p, ':', (size_t)(end - p));
        long n = colon ? atol(colon + 1) : 0;
        if (colon && between == '@') {
            n = 1;
            for (const char *q = colon; q < end; q++)
                n += *q == ',';
        }
        each = hosts == 0 || n == each ? n : -1;
        p = end + (*end != '\0');
    }
    if (each >= 0)
        set_number(&c->nodes, hosts, line);
    set_number(&c->gpus, each, line);
}

/* Reads a size that is not one number: hosts, "ppr:8:node". Returns 1 where the word is such a size. */
static int read_other(struct command *c, const char *name, size_t n, const char *value, int line)
{
    if (c->mpirun && is_one_of(name, n, "-H -host --host --hosts -hosts"))
        read_hosts(c, value, ',', line);
    else if (c->deepspeed && is_one_of(name, n, "-i --include"))
        read_hosts(c, value, '@', line);
    else if (is_one_of(name, n, "--map-by -map-by") && !strncmp(value, "ppr:", 4) &&
             !strncmp(value + 4 + strspn(value + 4, "0123456789"), ":node", 5))
        set_number(&c->tasks, atol(value + 4), line);
    else
        return 0;
    return 1;
}

static int is_program(const char *text, const char *names)
{
    const char *slash = strrchr(text, '/');

    return is_one_of(slash ? slash + 1 : text, strlen(slash ? slash + 1 : text), names);
}

static void read_sizes(const struct ss_words *words, struct command *c)
{
    for (size_t i = c->first; i < c->script; i++) {
        const char *text = words->w[i].text, *equal = strchr(text, '=');
        size_t n = equal ? (size_t)(equal - text) : strlen(text);
        const char *value = equal ? equal + 1 : i + 1 < c->script ? words->w[i + 1].text : NULL;
        struct size *s = size_of(c, text, n);
        c->torchrun |= is_torchrun(text);
        c->mpirun |= is_program(text, "mpirun mpiexec mpiexec.hydra orterun horovodrun");
        c->deepspeed |= is_program(text, "deepspeed");
        c->hostfile |= is_one_of(text, n, "-H --hostfile");
        if (value && read_other(c, text, n, value, words->w[i].line))
            continue;
        if (s && value)
            set_size(s, value, words->w[i].line);
        else if (!s && n > 2 && (s = size_of(c, text, 2)) != NULL && strspn(text + 2, "0123456789") == n - 2)
            set_size(s, text + 2, words->w[i].line); /* -N4 */
    }
    if (c->deepspeed && c->gpus.text[0] && !c->hostfile)
        set_number(&c->nodes, 1, c->gpus.line); /* this machine alone */
}

static int add_size(struct ss_words *own, const char *flag, const char *text, int line)
{
    int rc = ss_words_add(own, flag, strlen(flag), line);

    return rc ? rc : ss_words_add(own, text, strlen(text), line);
}

/* GPUs of a node. Tasks are GPUs where each is a process of the job: torchrun starts those itself. */
static struct size gpus_of(const struct command *c)
{
    struct size s = c->processes.text[0] ? c->processes : c->gpus;
    int64_t tasks = number(&c->tasks), nodes = number(&c->nodes);

    if (c->processes.text[0])
        return s;
    if (!c->torchrun && number(&c->tasks) >= number(&s) && c->tasks.text[0])
        s = c->tasks;
    if (c->per_task.text[0] && tasks * number(&c->per_task) > number(&s))
        set_number(&s, (long)(tasks * number(&c->per_task)), c->per_task.line);
    if (c->torchrun && !s.text[0] && nodes && number(&c->cards) % nodes == 0)
        set_number(&s, (long)(number(&c->cards) / nodes), c->cards.line);
    return s;
}

/* Nodes and GPUs of each, "" where not told. torchrun runs on one node unless told otherwise; of "4:4" one is enough. */
static void sizes_of(const struct command *c, struct size *nodes, struct size *per_node)
{
    *nodes = c->nodes;
    *per_node = gpus_of(c);
    nodes->text[strcspn(nodes->text, ":")] = '\0';
    int64_t all = number(&c->all), n = number(&c->nodes), g = number(per_node);
    if (all && g && !nodes->text[0] && all % g == 0)
        set_number(nodes, (long)(all / g), per_node->line);
    else if (all && n && !per_node->text[0] && all % n == 0)
        set_number(per_node, (long)(all / n), c->all.line);
    else if (c->torchrun && per_node->text[0] && !nodes->text[0])
        set_number(nodes, 1, per_node->line);
}

static int size_in(const struct size *s)
{
    int64_t n = number(s);

    return n <= 1 << 20 ? (int)n : 0;
}

/* Processes that the launcher starts, where it is not said on how many nodes; else 0. */
static int left_over(const struct command *c, const struct size *nodes, const struct size *per_node)
{
    return nodes->text[0] && per_node->text[0] ? 0 : size_in(&c->all);
}

/* The sizes in our words. */
static int add_sizes(const struct command *c, struct ss_words *own)
{
    struct size nodes, per_node;
    int rc = SS_OK;

    sizes_of(c, &nodes, &per_node);
    if (nodes.text[0])
        rc = add_size(own, "--nodes", nodes.text, nodes.line);
    if (!rc && per_node.text[0])
        rc = add_size(own, "--gpus-per-node", per_node.text, per_node.line);
    own->processes = left_over(c, &nodes, &per_node);
    return rc;
}

int ss_words_command(const struct ss_words *words, struct ss_command *out)
{
    struct size nodes, per_node;
    struct command c = {0};

    if (!find_command(words, &c))
        return 0;
    read_sizes(words, &c);
    sizes_of(&c, &nodes, &per_node);
    *out = (struct ss_command){c.first,         c.script,           c.end,
                               size_in(&nodes), size_in(&per_node), left_over(&c, &nodes, &per_node)};
    return 1;
}

/* The number of nodes of one word and the next, "--nnodes 1:4", as its ends; 0 where it says none. */
static int nodes_in(const struct ss_words *words, size_t i, const char *names, int *most)
{
    const char *text = words->w[i].text, *equal = strchr(text, '='), *value = equal ? equal + 1 : "";
    char *end;

    if (!is_one_of(text, equal ? (size_t)(equal - text) : strlen(text), names))
        return 0;
    if (!equal && i + 1 < words->n)
        value = words->w[i + 1].text;
    long least = strtol(value, &end, 10), last = *end == ':' ? atol(end + 1) : least;
    *most = last >= least && last <= 1 << 20 ? (int)last : 0;
    return *most && least > 0 ? (int)least : 0;
}

int ss_words_nodes(const struct ss_words *words, int asked, int *of_step)
{
    int torchrun = 0, srun = 0, step = 0, least = 0, most = 0, some;
    struct command c = {0};

    *of_step = 0;
    if (!asked || !find_command(words, &c))
        return 0;
    for (size_t i = c.first; i < c.script; i++) {
        if (is_program(words->w[i].text, "sbatch salloc")) /* its own words beat those of the file */
            return 0;
        srun |= is_program(words->w[i].text, "srun");
        torchrun |= is_torchrun(words->w[i].text);
        int n = nodes_in(words, i, torchrun ? "--nnodes" : "--nodes -N", &some);
        if (n && torchrun)
            least = n, most = some;
        else if (n && srun)
            step = n;
    }
    if (!least || (asked >= least && asked <= most))
        return 0;
    *of_step = most < asked && step == most;
    return most;
}

/* NeMo 1's script has a configuration where the command names none. */
static int add_default(const struct ss_words *words, const struct command *c, struct ss_words *own)
{
    static const char name[] = "--config-name=megatron_gpt_config";
    const struct ss_word *script = &words->w[c->script];
    const struct ss_words rest = {.w = words->w + c->script, .n = c->end - c->script};

    if (!ends_in(script->text, "megatron_gpt_pretraining.py") || ss_hydra_is_command(&rest))
        return SS_OK;
    return ss_words_add(own, name, sizeof name - 1, script->line);
}

/* Programs of Megatron-LM that take the flags of a GPT, but train another model. */
static const char *other_model(const char *script)
{
    static const char *const known[][2] = {
        {"pretrain_bert.py", "encoders with a loss of masked words (BERT)"},
        {"pretrain_t5.py", "encoder-decoder models (T5)"},
        {"pretrain_ict.py", "retrieval models"},
        {"pretrain_retro.py", "retrieval models"},
        {"pretrain_vlm.py", "vision models"},
        {"pretrain_vision_classify.py", "vision models"},
        {"pretrain_vision_dino.py", "vision models"},
        {"pretrain_vision_inpaint.py", "vision models"},
        {"train_rl.py", "reinforcement learning steps"}};
    const char *slash = strrchr(script, '/');

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++)
        if (!strcmp(slash ? slash + 1 : script, known[i][0]))
            return known[i][1];
    return NULL;
}

/* Whether the script has the flag, with a value behind "=" or not. */
static int has_word(const struct ss_words *words, const struct command *c, const char *flag)
{
    size_t n = strlen(flag);

    for (size_t i = c->script + 1; i < c->end; i++)
        if (!strncmp(words->w[i].text, flag, n) && (!words->w[i].text[n] || words->w[i].text[n] == '='))
            return 1;
    return 0;
}

int ss_words_strip_command(struct ss_words *words, struct ss_error *err)
{
    struct ss_words own = {.file = words->file};
    struct command c;
    int rc;

    if (words->n == 0 || words->w[0].text[0] == '-' || !find_command(words, &c))
        return SS_OK;
    const struct ss_word *script = &words->w[c.script];
    const char *other = other_model(script->text);
    if (other)
        return ss_fail(err, SS_ERR_UNSUPPORTED, words->file, script->line, "%.200s: %s are not modelled",
                       script->text, other);
    read_sizes(words, &c);
    rc = add_sizes(&c, &own);
    rc = rc ? rc : add_default(words, &c, &own);
    own.program = 1;
    own.own = own.n;
    for (size_t i = c.script + 1; i < c.end && !rc; i++) {
        size_t n = strlen(words->w[i].text);
        rc = ss_words_add(&own, words->w[i].text, n - (i + 1 == c.end && is_last(words->w[i].text)),
                          words->w[i].line);
    }
    own.ungrouped =
        has_word(words, &c, "--num-query-groups") && !has_word(words, &c, "--group-query-attention");
    if (rc) {
        own.file = NULL;
        ss_words_free(&own);
        return ss_fail(err, rc, NULL, 0, "out of memory");
    }
    words->file = NULL;
    ss_words_free(words);
    *words = own;
    return SS_OK;
}
