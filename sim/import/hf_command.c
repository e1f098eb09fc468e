/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: the files and commands that say a job, put together as one tree. */
#include <strings.h>

#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"

/* A command that starts processes on this machine, of which no word says how many nodes there are. */
static void add_machine(struct ss_hf *x, const struct ss_command *c)
{
    struct ss_reading *r = &x->r;

    if (r->rc || !c || !x->kind->alone || c->nodes > 1 || (r->nodes && !c->nodes) || c->script != c->first)
        return;
    if (!c->nodes)
        ss_reading_flag(r, NULL, "--nodes", "1");
    ss_reading_assume(
        r, "the command runs on one node, the machine that it is typed on; --nodes says another number");
}

static int map(struct ss_request *r, struct ss_tree *tree, struct ss_hf *x, const struct ss_command *c,
               struct ss_error *err)
{
    const char *const all = "accelerate.num_processes";
    int rc = SS_OK, sized = c && !ss_tree_find(ss_tree_root(tree), all);

    if (sized)
        rc = ss_command_add_sizes(r, x->words, c, err);
    if (!rc) {
        ss_reading_begin(&x->r, x->kind->name, tree, r, err);
        if (sized) {
            struct ss_command whole = *c;
            ss_command_resolve(x->words, &whole);
            x->r.nodes = whole.nodes;
            x->r.gpus_per_node = whole.gpus_per_node;
        }
        ss_reading_load(&x->r, x->kind->map, ss_hf_code);
        ss_reading_rows(&x->r);
        add_machine(x, c);
        rc = ss_reading_end(&x->r);
    }
    ss_tree_free(tree);
    return rc;
}

static int add_file(struct ss_request *r, const char *section, enum ss_hf_kind_index kind, const char *text,
                    size_t len, const char *file, struct ss_error *err)
{
    struct ss_hf x = {.script = "", .kind = &ss_hf_kinds[kind]};
    struct ss_tree *tree;

    SS_TRY(ss_tree_new(file, &tree, err));
    int rc = ss_hf_graft(tree, section, text, len, file, err);
    if (!rc)
        return map(r, tree, &x, NULL, err);
    ss_tree_free(tree);
    return rc;
}

/* ---- which file it is ---- */

static int has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static int has_name(const char *text, size_t len, const char *name)
{
    char key[64];

    snprintf(key, sizeof key, "%s:", name);
    return ss_has_line(text, len, key, false);
}

int ss_deepspeed_sniff(const char *text, size_t len)
{
    return ss_begins_json(text, len) &&
           (has(text, len, "\"zero_optimization\"") || has(text, len, "\"train_micro_batch_size_per_gpu\"") ||
            has(text, len, "\"train_batch_size\""));
}

int ss_deepspeed_add(struct ss_request *r, const char *text, size_t len, const char *file,
                     struct ss_error *err)
{
    return add_file(r, "deepspeed", SS_HF_DEEPSPEED, text, len, file, err);
}

int ss_accelerate_sniff(const char *text, size_t len)
{
    return ss_foreign_sniff(text, len) && has_name(text, len, "distributed_type");
}

int ss_accelerate_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    return add_file(r, "accelerate", SS_HF_ACCELERATE, text, len, file, err);
}

int ss_factory_sniff(const char *text, size_t len)
{
    return ss_foreign_sniff(text, len) && has_name(text, len, "model_name_or_path");
}

int ss_hf_json_sniff(const char *text, size_t len)
{
    return ss_begins_json(text, len) && has(text, len, "\"model_name_or_path\"") &&
           !has(text, len, "\"schema_version\"");
}

int ss_factory_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err)
{
    int factory = has_name(text, len, "stage") || has_name(text, len, "finetuning_type");

    return add_file(r, "args",
                    factory                                    ? SS_HF_FACTORY
                    : has_name(text, len, "accelerate_config") ? SS_HF_TRL
                                                               : SS_HF_TRAINER,
                    text, len, file, err);
}

int ss_axolotl_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err)
{
    return add_file(r, "", SS_HF_AXOLOTL, text, len, file, err);
}

int ss_factory_v1_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    return add_file(r, "", SS_HF_FACTORY_V1, text, len, file, err);
}

/* ---- commands ---- */

static int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

static int is_config(const char *text)
{
    return text[0] != '-' && (ends_in(text, ".yaml") || ends_in(text, ".yml") || ends_in(text, ".json"));
}

/* Whether the program is of this package: "axolotl", "/opt/bin/axolotl", "axolotl.cli.train". */
static int is_of(const struct ss_words *words, const struct ss_command *c, const char *package)
{
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/'),
               *name = slash ? slash + 1 : script;
    size_t n = strlen(package);

    return !strncmp(name, package, n) && (!name[n] || name[n] == '.') && strcmp(name + n, ".py") != 0;
}

static int is_factory(const struct ss_words *words, const struct ss_command *c)
{
    const char *script = words->w[c->script].text;

    return ends_in(script, "llamafactory-cli") || strstr(script, "llamafactory") != NULL ||
           (ends_in(script, "train.py") && c->script + 1 < c->end && is_config(words->w[c->script + 1].text));
}

/* "run_clm.py args.json", the one argument of HF's parser, and "accelerate launch run_sft.py --config recipe.yaml", as trl has it. */
static int names_file(const struct ss_words *words, const struct ss_command *c)
{
    const char *config = ss_command_value(words, c->script + 1, c->end, "--config");
    int accelerate = 0;

    for (size_t i = c->first; i < c->script; i++)
        accelerate |= ends_in(words->w[i].text, "accelerate");
    return (ends_in(words->w[c->script].text, ".py") && c->script + 1 < c->end &&
            is_config(words->w[c->script + 1].text)) ||
           (accelerate && config && is_config(config));
}

int ss_hf_command_sniff(const struct ss_words *words, const struct ss_command *c)
{
    static const char *const names[] = {"--model_name_or_path", "--model-name-or-path",
                                        "--per_device_train_batch_size", "--per-device-train-batch-size"};

    if (is_factory(words, c) || names_file(words, c) || is_of(words, c, "axolotl") || is_of(words, c, "trl"))
        return 1;
    for (size_t i = c->script + 1; i < c->end; i++)
        for (size_t k = 0; k < SS_ARRAY_LEN(names); k++)
            if (!strncmp(words->w[i].text, names[k], strlen(names[k])))
                return 1;
    return 0;
}

/* accelerate's own options go where its file has them. */
static void set_launcher(struct ss_reading *t, const struct ss_words *words, size_t end, size_t *at)
{
    static const struct {
        const char *begin, *section;
    } sections[] = {{"--fsdp_", "accelerate.fsdp_config"},
                    {"--zero_stage", "accelerate.deepspeed_config"},
                    {"--deepspeed_config_file", "accelerate.deepspeed_config"},
                    {"--offload_", "accelerate.deepspeed_config"},
                    {"--gradient_", "accelerate.deepspeed_config"},
                    {"--zero3_", "accelerate.deepspeed_config"},
                    {"--dynamo_", "accelerate.dynamo_config"},
                    {"--parallelism_config_", "accelerate.parallelism_config"},
                    {"--megatron_lm_", "accelerate.megatron_lm_config"},
                    {"--fp8_", "accelerate.fp8_config"}};
    const struct ss_word *w = &words->w[*at];
    const char *kind = !strcmp(w->text, "--use_deepspeed")     ? "DEEPSPEED"
                       : !strcmp(w->text, "--use_fsdp")        ? "FSDP"
                       : !strcmp(w->text, "--use_megatron_lm") ? "MEGATRON_LM"
                       : !strcmp(w->text, "--multi_gpu")       ? "MULTI_GPU"
                                                               : NULL;

    if (kind) {
        ss_reading_set(t, "accelerate.distributed_type", kind, words->file, w->line);
        return;
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(sections); i++)
        if (!strncmp(w->text, sections[i].begin, strlen(sections[i].begin))) {
            ss_reading_option(t, sections[i].section, words, end, at, ' ');
            return;
        }
    ss_reading_option(t, "accelerate", words, end, at, ' ');
}

/* accelerate launch --config_file FILE --options: the map `accelerate`. */
static void read_accelerate(struct ss_reading *t, const struct ss_words *words, const struct ss_command *c)
{
    size_t i = c->first;

    while (i < c->script && !ends_in(words->w[i].text, "accelerate") &&
           strncmp(words->w[i].text, "accelerate.commands", 19) != 0)
        i++;
    if (i == c->script || t->rc)
        return;
    const char *file = ss_command_value(words, i, c->script, "--config_file");
    if (file)
        t->rc = ss_hf_graft_file(t->tree, words, "accelerate", file, words->file, t->err);
    for (i++; i < c->script && !t->rc; i++) {
        const char *text = words->w[i].text;
        if (!strcmp(text, "--config_file"))
            i++;
        else if (!strcmp(text, "-m") || !strncmp(text, "--config_file=", 14))
            continue;
        else if (!strncmp(text, "--", 2))
            set_launcher(t, words, c->script, &i);
    }
}

/* "train FILE", of which the first word says what is done. */
static size_t skip_verb(const struct ss_words *words, const struct ss_command *c)
{
    size_t first = c->script + 1;

    return first < c->end && ss_has_word("train sft", words->w[first].text) ? first + 1 : first;
}

/* The file of arguments that a command names; NULL: none. */
static const char *file_of(const struct ss_words *words, const struct ss_command *c, size_t *first)
{
    const char *config = ss_command_value(words, c->script + 1, c->end, "--config");

    *first = skip_verb(words, c);
    if (!config && *first < c->end && is_config(words->w[*first].text))
        config = words->w[(*first)++].text;
    return config && is_config(config) ? config : NULL;
}

static void read_option(struct ss_reading *t, const struct ss_words *words, const char *section, size_t end,
                        size_t *at)
{
    const struct ss_word *w = &words->w[*at];

    if (!strncmp(w->text, "--", 2)) {
        ss_reading_option(t, section, words, end, at, ' ');
    } else if (strchr(w->text, '=')) { /* LLaMA-Factory: name=value */
        char path[160];
        size_t n = strcspn(w->text, "=");
        snprintf(path, sizeof path, "%s%s%.*s", section, section[0] ? "." : "", (int)n, w->text);
        ss_reading_set(t, path, w->text + n + 1, words->file, w->line);
    } else {
        t->rc = ss_fail(t->err, SS_ERR_INPUT, words->file, w->line, "\"%.100s\" is no option", w->text);
    }
}

/* The script's own words: files of arguments, then options, which beat them; behind "--" those of a launcher that it starts. */
static void read_arguments(struct ss_reading *t, const struct ss_words *words, const struct ss_command *c,
                           const char *section)
{
    size_t first;
    const char *config = file_of(words, c, &first);

    if (config)
        t->rc = ss_hf_graft_file(t->tree, words, section, config, words->file, t->err);
    if (t->rc)
        (void)ss_command_locate(words, c->script, t->err);
    for (size_t i = first, launcher = 0; i < c->end && !t->rc; i++) {
        if (!strcmp(words->w[i].text, "--"))
            launcher = 1;
        else if (launcher)
            set_launcher(t, words, c->end, &i);
        else
            read_option(t, words, section, c->end, &i);
    }
}

/* LLaMA-Factory's command reads files of its v1, too. */
static int is_v1(const struct ss_words *words, const struct ss_command *c)
{
    size_t first, len;
    const char *config = file_of(words, c, &first);
    char path[1024], *text;

    if (!config || ss_command_read(words, config, words->file, path, sizeof path, &text, &len, NULL))
        return 0;
    int v1 = ss_factory_v1_sniff(text, len);
    free(text);
    return v1;
}

static enum ss_hf_kind_index kind_of(const struct ss_words *words, const struct ss_command *c)
{
    return is_factory(words, c)         ? is_v1(words, c) ? SS_HF_FACTORY_V1 : SS_HF_FACTORY
           : is_of(words, c, "axolotl") ? SS_HF_AXOLOTL
           : is_of(words, c, "trl")     ? SS_HF_TRL
                                        : SS_HF_TRAINER;
}

/* trl has other trainers, too. */
static int check_verb(const struct ss_words *words, const struct ss_command *c, struct ss_error *err)
{
    const struct ss_word *verb = c->script + 1 < c->end ? &words->w[c->script + 1] : NULL;

    if (!is_of(words, c, "trl") || (verb && !strcmp(verb->text, "sft")))
        return SS_OK;
    return ss_fail(err, SS_ERR_UNSUPPORTED, words->file, words->w[c->script].line,
                   "trl %.40s is not modelled: sft is; others run other models, or the model more than once "
                   "a step" SS_HINT
                   "give the training step as a job: --model, --seq, --mbs, --gbs and its parallel sizes in "
                   "Megatron's flags",
                   verb ? verb->text : "");
}

int ss_hf_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                      struct ss_error *err)
{
    struct ss_hf x = {
        .script = words->w[c->script].text, .words = words, .kind = &ss_hf_kinds[kind_of(words, c)]};
    struct ss_tree *tree;
    struct ss_reading t;
    int rc = check_verb(words, c, err);

    SS_TRY(rc ? rc : ss_tree_new(words->file, &tree, err));
    ss_reading_begin(&t, "", tree, r, err);
    read_arguments(&t, words, c, x.kind->root ? "" : "args");
    read_accelerate(&t, words, c);
    rc = ss_reading_end(&t);
    if (!rc)
        return map(r, tree, &x, c, err);
    ss_tree_free(tree);
    return rc;
}
