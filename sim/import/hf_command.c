/* SPDX-License-Identifier: Apache-2.0 */
/* Hugging Face's Trainer: the files and commands that say a job, put together as one tree. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"

/* Takes the tree over. */
static int map(struct ss_request *r, struct ss_tree *tree, struct ss_hf *x, const struct ss_command *c,
               const struct ss_words *words, const char *name, struct ss_error *err)
{
    int rc = ss_hf_graft_deepspeed(tree, words, err);

    rc = rc ? rc : ss_hf_graft_fsdp(tree, words, err);
    if (!rc && c && !ss_tree_find(ss_tree_root(tree), "accelerate.num_processes"))
        rc = ss_command_add_sizes(r, words, c, err);
    if (!rc) {
        ss_reading_begin(&x->r, name, tree, r, err);
        if (c && !ss_tree_find(ss_tree_root(tree), "accelerate.num_processes")) {
            struct ss_command whole = *c;
            ss_command_resolve(words, &whole);
            x->r.nodes = whole.nodes;
            x->r.gpus_per_node = whole.gpus_per_node;
        }
        ss_reading_load(&x->r, "huggingface", ss_hf_code);
        ss_reading_rows(&x->r);
        rc = ss_reading_end(&x->r);
    }
    ss_tree_free(tree);
    return rc;
}

static int add_file(struct ss_request *r, const char *section, const char *name, const char *text, size_t len,
                    const char *file, struct ss_error *err)
{
    struct ss_hf x = {.script = "", .factory = !strcmp(name, "LLaMA-Factory")};
    struct ss_tree *tree;
    int rc = ss_tree_new(file, &tree, err);

    if (rc)
        return rc;
    rc = ss_hf_graft(tree, section, text, len, file, err);
    if (!rc)
        return map(r, tree, &x, NULL, NULL, name, err);
    ss_tree_free(tree);
    return rc;
}

/* ---- which file it is ---- */

static int has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

/* Whether a line begins with this name of YAML. */
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
    return add_file(r, "deepspeed", "DeepSpeed", text, len, file, err);
}

int ss_accelerate_sniff(const char *text, size_t len)
{
    return ss_foreign_sniff(text, len) && has_name(text, len, "distributed_type");
}

int ss_accelerate_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    return add_file(r, "accelerate", "accelerate", text, len, file, err);
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

    return add_file(r, "args", factory ? "LLaMA-Factory" : "Hugging Face", text, len, file, err);
}

/* ---- commands ---- */

static int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

static int is_config(const char *text)
{
    return ends_in(text, ".yaml") || ends_in(text, ".yml") || ends_in(text, ".json");
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

    if (is_factory(words, c) || names_file(words, c))
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

/* The script's own words: files of arguments, then options, which beat them. */
static void read_arguments(struct ss_reading *t, const struct ss_words *words, const struct ss_command *c)
{
    size_t first = c->script + 1;
    const char *config = ss_command_value(words, first, c->end, "--config");

    if (ends_in(words->w[c->script].text, "llamafactory-cli") && first < c->end &&
        (!strcmp(words->w[first].text, "train") || !strcmp(words->w[first].text, "sft")))
        first++;
    if (!config && first < c->end && is_config(words->w[first].text))
        config = words->w[first++].text;
    if (config && is_config(config))
        t->rc = ss_hf_graft_file(t->tree, words, "args", config, words->file, t->err);
    for (size_t i = first; i < c->end && !t->rc; i++) {
        if (!strncmp(words->w[i].text, "--", 2))
            ss_reading_option(t, "args", words, c->end, &i, ' ');
        else if (strchr(words->w[i].text, '=')) { /* LLaMA-Factory: name=value */
            char path[160];
            size_t n = strcspn(words->w[i].text, "=");
            snprintf(path, sizeof path, "args.%.*s", (int)n, words->w[i].text);
            ss_reading_set(t, path, words->w[i].text + n + 1, words->file, words->w[i].line);
        } else {
            t->rc = ss_fail(t->err, SS_ERR_INPUT, words->file, words->w[i].line, "\"%.100s\" is no option",
                            words->w[i].text);
        }
    }
}

int ss_hf_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                      struct ss_error *err)
{
    struct ss_hf x = {.script = words->w[c->script].text, .factory = is_factory(words, c)};
    struct ss_tree *tree;
    struct ss_reading t;
    int rc = ss_tree_new(words->file, &tree, err);

    if (rc)
        return rc;
    ss_reading_begin(&t, "", tree, r, err);
    read_accelerate(&t, words, c);
    if (!t.rc)
        read_arguments(&t, words, c);
    rc = ss_reading_end(&t);
    if (!rc)
        return map(r, tree, &x, c, words, x.factory ? "LLaMA-Factory" : "Hugging Face", err);
    ss_tree_free(tree);
    return rc;
}
