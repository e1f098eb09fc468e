/* SPDX-License-Identifier: Apache-2.0 */
/* Launch commands of frameworks whose options are not Megatron's. */
#include "import/command.h"

#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"
#include "import/torchtitan.h"

/* Trainers that users have scripts for and whose arguments are not read. */
struct unread {
    const char *program, *name;
    int modules;      /* its modules begin so too: "verl.trainer.main_ppo" */
    const char *more; /* what else is not modelled */
    const char *take; /* what to give */
};

#define STEP                                                                                                 \
    "give the training step as a job: --model, --seq, --mbs, --gbs and its parallel sizes in Megatron's "    \
    "flags"
#define GENERATES ", and what generates its training data is not modelled"
#define DUMP                                                                                                 \
    "recipes are Python, which is not run: write the configuration out with cfg.to_yaml(FILE) and give it "  \
    "by --job"

static const struct unread unread[] = {
    {"slime", "slime", 1, GENERATES, STEP}, /* known by its arguments */
    {"verl", "verl", 1, GENERATES, STEP},
    {"openrlhf", "OpenRLHF", 1, GENERATES, STEP},
    {"swift", "ms-swift", 1, "", STEP},
    {"megatron", "ms-swift", 0, "", STEP},
    {"MaxText", "MaxText", 1, ", and JAX is not modelled", STEP},
    {"maxtext", "MaxText", 1, ", and JAX is not modelled", STEP},
    {"levanter", "Levanter", 1, ", and JAX is not modelled", STEP},
    {"composer", "LLM Foundry", 0, "", STEP},
    {"tune", "torchtune", 0, "", STEP},
    {"litgpt", "LitGPT", 1, "", STEP},
    {"xtuner", "XTuner", 1, "", STEP},
    {"colossalai", "Colossal-AI", 1, "", STEP},
    {"run_recipe.py", "Megatron-Bridge", 0, "", DUMP},
    {"setup_experiment.py", "Megatron-Bridge", 0, "", DUMP},
    {"nemo", "NeMo-Run", 0, "",
     "recipes are Python, which is not run: write the configuration out with --to-yaml FILE and give it by "
     "--job"},
};

/* colossalai starts the user's own script, which may be Megatron-LM's all the same. */
static int starts_other(const struct ss_words *words, const struct ss_command *c)
{
    int other = !strcmp(words->w[c->first].text, "colossalai");

    for (size_t i = c->script + 1; i < c->end && other; i++)
        other = strncmp(words->w[i].text, "--num-layers", 12) != 0;
    return other;
}

static const struct unread *unread_of(const struct ss_words *words, const struct ss_command *c)
{
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/');
    const char *name = slash ? slash + 1 : script;

    for (size_t i = c->script + 1; i < c->end; i++)
        if (!strcmp(words->w[i].text, "--actor-num-nodes"))
            return &unread[0];
    if (starts_other(words, c))
        name = "colossalai";
    for (size_t i = 0; i < SS_ARRAY_LEN(unread); i++) {
        size_t n = strlen(unread[i].program);
        int module = unread[i].modules && !strncmp(name, unread[i].program, n) && name[n] == '.';
        if (!strcmp(name, unread[i].program) || (module && strcmp(name + n, ".py") != 0))
            return &unread[i];
    }
    return NULL;
}

static int unread_sniff(const struct ss_words *words, const struct ss_command *c)
{
    return unread_of(words, c) != NULL;
}

static int unread_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                      struct ss_error *err)
{
    const struct unread *it = unread_of(words, c);

    (void)r;
    return ss_fail(err, SS_ERR_UNSUPPORTED, words->file, words->w[c->script].line,
                   "arguments of %s are not read%s" SS_HINT "%s", it->name, it->more, it->take);
}

static const struct ss_command_importer importers[] = {
    {"others", unread_sniff, unread_add},
    {"GPT-NeoX", ss_neox_command_sniff, ss_neox_command_add},
    {"nanotron", ss_nanotron_command_sniff, ss_nanotron_command_add},
    {"torchtitan", ss_titan_command_sniff, ss_titan_command_add},
    {"Hugging Face", ss_hf_command_sniff, ss_hf_command_add},
    {"Megatron-DeepSpeed", ss_megatron_deepspeed_sniff, ss_megatron_deepspeed_add},
};

int ss_command_find(const struct ss_words *words, struct ss_command *c,
                    const struct ss_command_importer **out)
{
    if (words->n == 0 || words->w[0].text[0] == '-' || !ss_words_command(words, c))
        return 0;
    for (size_t i = 0; i < SS_ARRAY_LEN(importers); i++)
        if (importers[i].sniff(words, c)) {
            *out = &importers[i];
            return 1;
        }
    return 0;
}

/* Whether the command only prepares or uses a model: "axolotl preprocess FILE", "llamafactory-cli export FILE". */
static bool trains_nothing(const struct ss_words *words, const struct ss_command *c)
{
    static const char programs[] = "axolotl swift trl llamafactory-cli",
                      verbs[] = "preprocess inference evaluate merge-lora merge_lora "
                                "merge-sharded-fsdp-weights fetch quantize vllm-serve lm-eval export "
                                "infer deploy app eval sample web-ui webui webchat chat api env version help";
    const char *name = words->w[c->script].text, *slash = strrchr(name, '/');

    if (!strncmp(name, "axolotl.cli.", 12))
        return ss_has_word(verbs, name + 12);
    return ss_has_word(programs, slash ? slash + 1 : name) && c->script + 1 < c->end &&
           ss_has_word(verbs, words->w[c->script + 1].text);
}

int ss_command_is_call(char *const *word, size_t n)
{
    struct ss_words words = {.w = ss_calloc(n + 1, sizeof *words.w), .n = n};
    const struct ss_command_importer *importer;
    struct ss_command c;

    for (size_t i = 0; i < n && words.w; i++)
        words.w[i].text = word[i];
    int found = words.w && ss_command_find(&words, &c, &importer) && !trains_nothing(&words, &c);
    free(words.w);
    return found;
}

int ss_command_strip(struct ss_words *words, struct ss_error *err)
{
    const struct ss_command_importer *other;
    struct ss_command c;

    return ss_command_find(words, &c, &other) ? SS_OK : ss_words_strip_command(words, err);
}
