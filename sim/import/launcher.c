/* SPDX-License-Identifier: Apache-2.0 */
/* Whole commands as job files: what torchrun, srun, mpirun, deepspeed or accelerate was called with. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/command.h"
#include "import/hydra.h"

/* A number in the launcher's words; text NULL = not told. */
struct size {
    const char *text;
    int line;
};

/* Words first .. end - 1, of which the script's own flags begin behind `script`. */
struct command {
    size_t first, script, end;
    struct size nodes, processes, per_node,
        all; /* processes, per_node: of a node, as torchrun and as others say it */
    int torchrun, mpirun;
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
    return !strcmp(text, "torchrun") || ends_in(text, "/torchrun") ||
           !strncmp(text, "torch.distributed", 17) || ends_in(text, "distributed/run.py") ||
           ends_in(text, "distributed/launch.py");
}

/* "pretrain_gpt.py", or the module behind -m; not one of the launcher itself, nor NAME=value. */
static int is_script(const struct ss_words *words, const struct command *c, size_t i)
{
    const char *text = words->w[i].text, *before = i > c->first ? words->w[i - 1].text : "";

    if (text[0] == '-')
        return 0;
    if (!strcmp(before, "-m") || !strcmp(before, "--module"))
        return strncmp(text, "torch.distributed", 17) != 0 && strncmp(text, "accelerate", 10) != 0;
    if (!strcmp(text, "llamafactory-cli") || ends_in(text, "/llamafactory-cli"))
        return 1;
    return ends_in(text, ".py") && !strchr(text, '=') && !is_torchrun(text);
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
    if (is_one_of(text, n,
                  "--ntasks-per-node --tasks-per-node --gpus-per-node --num_gpus -npernode --npernode --ppn"))
        return &c->per_node;
    if (is_one_of(text, n, "-N"))
        return c->mpirun ? &c->per_node : &c->nodes;
    if (is_one_of(text, n, "--nnodes --nodes --num_nodes --num_machines"))
        return &c->nodes;
    return is_one_of(text, n, "-n -np --ntasks --num_processes") ? &c->all : NULL;
}

static int64_t number(const struct size *s)
{
    int64_t n;

    return s->text && !ss_parse_i64(s->text, 1, 1 << 26, &n) ? n : 0;
}

/* "gpu", "auto" and "cpu" are no numbers and say nothing here. */
static void set_size(struct size *s, const char *text, int line)
{
    struct size next = {text, line};

    if (strcmp(text, "gpu") != 0 && strcmp(text, "auto") != 0 && strcmp(text, "cpu") != 0 &&
        number(&next) >= number(s))
        *s = next;
}

static void read_sizes(const struct ss_words *words, struct command *c)
{
    for (size_t i = c->first; i < c->script; i++) {
        const char *text = words->w[i].text, *equal = strchr(text, '=');
        size_t n = equal ? (size_t)(equal - text) : strlen(text);
        struct size *s = size_of(c, text, n);
        c->torchrun |= is_torchrun(text);
        c->mpirun |= !strcmp(text, "mpirun") || !strcmp(text, "mpiexec");
        if (s && equal)
            set_size(s, equal + 1, words->w[i].line);
        else if (s && i + 1 < c->script)
            set_size(s, words->w[i + 1].text, words->w[i].line);
        else if (!s && n > 2 && (s = size_of(c, text, 2)) != NULL && strspn(text + 2, "0123456789") == n - 2)
            set_size(s, text + 2, words->w[i].line); /* -N4 */
    }
}

static int add_size(struct ss_words *own, const char *flag, const char *text, int line)
{
    int rc = ss_words_add(own, flag, strlen(flag), line);

    return rc ? rc : ss_words_add(own, text, strlen(text), line);
}

/* Nodes and GPUs of each as texts, "" where not told. torchrun runs on one node unless told otherwise; of "4:4" one is enough. */
static void sizes_of(const struct command *c, char nodes[32], char per_node[32])
{
    const struct size *gpus = c->processes.text ? &c->processes : &c->per_node;

    nodes[0] = per_node[0] = '\0';
    if (c->nodes.text)
        snprintf(nodes, 32, "%.*s", (int)strcspn(c->nodes.text, ":"), c->nodes.text);
    if (gpus->text)
        snprintf(per_node, 32, "%.31s", gpus->text);
    int64_t all = number(&c->all), n = number(&c->nodes), g = number(gpus);
    if (all && g && !nodes[0] && all % g == 0)
        snprintf(nodes, 32, "%lld", (long long)(all / g));
    else if (all && n && !per_node[0] && all % n == 0)
        snprintf(per_node, 32, "%lld", (long long)(all / n));
    else if (c->torchrun && per_node[0] && !nodes[0])
        snprintf(nodes, 32, "1");
}

/* The sizes in our words. */
static int add_sizes(const struct command *c, struct ss_words *own)
{
    const struct size *gpus = c->processes.text ? &c->processes : &c->per_node;
    char nodes[32], per_node[32];
    int rc = SS_OK;

    sizes_of(c, nodes, per_node);
    if (nodes[0])
        rc = add_size(own, "--nodes", nodes, c->nodes.text ? c->nodes.line : gpus->line);
    if (!rc && per_node[0])
        rc = add_size(own, "--gpus-per-node", per_node, gpus->text ? gpus->line : c->all.line);
    return rc;
}

static int size_in(const char *text)
{
    const struct size s = {text, 0};
    int64_t n = number(&s);

    return n <= 1 << 20 ? (int)n : 0;
}

int ss_words_command(const struct ss_words *words, struct ss_command *out)
{
    char nodes[32], per_node[32];
    struct command c = {0};

    if (!find_command(words, &c))
        return 0;
    read_sizes(words, &c);
    sizes_of(&c, nodes, per_node);
    *out = (struct ss_command){c.first, c.script, c.end, size_in(nodes), size_in(per_node)};
    return 1;
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

/* Programs of Megatron-LM whose flags are those of a GPT, but whose model is another one. */
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
    for (size_t i = c.script + 1; i < c.end && !rc; i++) {
        size_t n = strlen(words->w[i].text);
        rc = ss_words_add(&own, words->w[i].text, n - (i + 1 == c.end && is_last(words->w[i].text)),
                          words->w[i].line);
    }
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
