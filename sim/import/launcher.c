/* SPDX-License-Identifier: Apache-2.0 */
/* Whole commands as job files: what torchrun, srun, mpirun, deepspeed or accelerate was called with. */
#include "import/launcher.h"
#include "base/base.h"
#include "import/hydra.h"

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

/* "pretrain_gpt.py", or the module behind -m; not one of the launcher itself, nor NAME=value. */
static int is_script(const struct ss_words *words, const struct ss_command *c, size_t i)
{
    /* the first behind other words too, for it is no name of a folder */
    static const char *const programs[] = {"llamafactory-cli", "axolotl", "swift",  "megatron", "nemo", "trl",
                                           "composer",         "tune",    "litgpt", "xtuner"};
    const char *text = words->w[i].text, *before = i > c->first ? words->w[i - 1].text : "";
    const char *slash = strrchr(text, '/');

    if (text[0] == '-')
        return 0;
    if (!strcmp(before, "-m") || !strcmp(before, "--module"))
        return strncmp(text, "torch.distributed", 17) != 0 && strncmp(text, "accelerate", 10) != 0;
    size_t first = c->first; /* behind "env NAME=VALUE" */
    while (first < i && (!strcmp(words->w[first].text, "env") || strchr(words->w[first].text, '=')))
        first++;
    for (size_t k = 0; k < SS_ARRAY_LEN(programs) && (k == 0 || i == first); k++)
        if (!strcmp(slash ? slash + 1 : text, programs[k]))
            return 1;
    return ends_in(text, ".py") && !strchr(text, '=') && !ss_is_torchrun(text);
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
static struct ss_command command_at(const struct ss_words *words, size_t first)
{
    struct ss_command c = {.first = first, .end = first};

    while (c.end < words->n && !is_operator(words->w[c.end].text) &&
           (c.end == first || !is_last(words->w[c.end - 1].text)))
        c.end++;
    for (c.script = first; c.script < c.end && !is_script(words, &c, c.script);)
        c.script++;
    if (c.script == c.end)
        c.script = bare_program(words, first, c.end);
    return c;
}

static int has_flags(const struct ss_words *words, const struct ss_command *c)
{
    for (size_t i = c->script + 1; i < c->end; i++)
        if (!strncmp(words->w[i].text, "--", 2))
            return 1;
    return 0;
}

/* The first command whose script has flags, or else the first with a script; 0: there is none. */
static int find_command(const struct ss_words *words, struct ss_command *out)
{
    int found = 0;

    for (size_t at = 0; at < words->n;) {
        struct ss_command c = command_at(words, at);
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

int ss_words_command(const struct ss_words *words, struct ss_command *out)
{
    *out = (struct ss_command){0};
    return find_command(words, out);
}

/* The sizes and settings in our words. */
static int add_sizes(const struct ss_command *c, struct ss_words *own, int line)
{
    const struct {
        const char *flag;
        int value;
    } sizes[] = {{"--nodes", c->nodes}, {"--gpus-per-node", c->gpus_per_node}, {"--gpus", c->processes}};
    int rc = SS_OK;

    line = c->line ? c->line : line;
    for (size_t i = 0; i < SS_ARRAY_LEN(sizes) && !rc; i++) {
        char text[16];
        int n = snprintf(text, sizeof text, "%d", sizes[i].value);
        if (sizes[i].value)
            rc = ss_words_add(own, sizes[i].flag, strlen(sizes[i].flag), line) ||
                 ss_words_add(own, text, (size_t)n, line);
    }
    for (size_t i = 0; i < c->nset && !rc; i++)
        rc = ss_words_add(own, "--set", 5, line) || ss_words_add(own, c->set[i], strlen(c->set[i]), line);
    return rc ? SS_ERR_NOMEM : SS_OK;
}

/* NeMo 1's script has a configuration where the command names none. */
static int add_default(const struct ss_words *words, const struct ss_command *c, struct ss_words *own)
{
    static const char name[] = "--config-name=megatron_gpt_config";
    const struct ss_word *script = &words->w[c->script];
    const struct ss_words rest = {.w = words->w + c->script, .n = c->end - c->script};

    if (!ends_in(script->text, "megatron_gpt_pretraining.py") || ss_hydra_is_command(&rest))
        return SS_OK;
    return ss_words_add(own, name, sizeof name - 1, script->line);
}

/* Whether the script has the flag, with a value behind "=" or not. */
static int has_word(const struct ss_words *words, const struct ss_command *c, const char *flag)
{
    size_t n = strlen(flag);

    for (size_t i = c->script + 1; i < c->end; i++)
        if (!strncmp(words->w[i].text, flag, n) && (!words->w[i].text[n] || words->w[i].text[n] == '='))
            return 1;
    return 0;
}

/* Programs of Megatron-LM that take the flags of a GPT, but train another model. */
static const char *other_model(const struct ss_words *words, const struct ss_command *c)
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
        {"train_rl.py", "reinforcement learning steps"},
        {"tasks/main.py", "downstream tasks"},
        {"text_generation", "generation and evaluation"},
        {"generate_samples", "generation and evaluation"},
        {"eval_harness/", "generation and evaluation"},
        {"_inference", "generation and evaluation"}};
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/');

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++)
        if (ends_in(known[i][0], ".py") && !strchr(known[i][0], '/')
                ? !strcmp(slash ? slash + 1 : script, known[i][0])
                : strstr(script, known[i][0]) != NULL)
            return known[i][1];
    /* tasks/main.py, started in its own folder */
    return !strcmp(slash ? slash + 1 : script, "main.py") && has_word(words, c, "--task") ? "downstream tasks"
                                                                                          : NULL;
}

int ss_words_strip_command(struct ss_words *words, struct ss_error *err)
{
    struct ss_words own = {.file = words->file, .cluster = words->cluster};
    struct ss_command c;

    if (words->n == 0 || words->w[0].text[0] == '-' || !find_command(words, &c))
        return SS_OK;
    const struct ss_word *script = &words->w[c.script];
    const char *other = other_model(words, &c);
    if (other)
        return ss_fail(err, SS_ERR_UNSUPPORTED, words->file, script->line, "%.200s: %s are not modelled",
                       script->text, other);
    int rc = ss_command_sizes(words, &c, &own.said, err);
    if (rc) {
        ss_notes_free(&own.said);
        return rc;
    }
    rc = add_sizes(&c, &own, script->line);
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
    own.behind = words->behind;
    words->behind = (struct ss_notes){0};
    own.made = words->made;
    own.nmade = words->nmade;
    own.made_cap = words->made_cap;
    words->made = NULL;
    words->nmade = 0;
    words->file = NULL;
    ss_words_free(words);
    *words = own;
    return SS_OK;
}
