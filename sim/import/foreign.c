/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of foreign YAML. */
#include "import/foreign.h"

#include "base/base.h"

static const struct ss_foreign_kind kinds[] = {
    {"NeMo 2", "nemo2", "trainer.strategy._target_~MegatronStrategy model.config._target_?", ss_nemo2_code,
     true, false},
    {"NeMo 1", "nemo",
     "trainer? model.micro_batch_size? model.tensor_model_parallel_size|model.encoder_seq_length?",
     ss_nemo_code, true, false},
    {"Megatron-Bridge", "bridge",
     "train.micro_batch_size? model? _target_~ConfigContainer or train.micro_batch_size? model? "
     "model._target_~megatron.bridge",
     ss_core_code, true, false},
    {"nanotron", "nanotron", "parallelism.tp? tokens.micro_batch_size?", ss_nanotron_code, false, false},
    {"FlagScale", "flagscale", "system? model.num_layers? or experiment.task? experiment.runner?",
     ss_flagscale_code, true, false},
    {"Megatron-LM's --yaml-cfg", "megatron-yaml", "language_model.num_layers? model_parallel?", ss_core_code,
     false, false},
    {"Megatron-LM's MODEL_ARGS", "megatron-arguments", NULL, ss_arguments_code, true, true},
    {"Megatron-LM's arguments as a dump", "megatron-dump",
     "num_layers? hidden_size? tensor_model_parallel_size? micro_batch_size?", ss_core_code, false, false},
};

const struct ss_foreign_kind *ss_foreign_kind_of(const struct ss_tree_node *root)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(kinds); i++)
        if (kinds[i].knows ? ss_reading_holds(root, "", kinds[i].knows) : ss_arguments_of(root) != NULL)
            return &kinds[i];
    return NULL;
}

static int unknown(const struct ss_tree *tree, struct ss_error *err)
{
    char names[256] = "";

    for (size_t i = 0; i < SS_ARRAY_LEN(kinds); i++)
        ss_append(names, sizeof names, "%s%s", i ? ", " : "", kinds[i].name);
    return ss_fail(err, SS_ERR_INPUT, ss_tree_file(tree), 1,
                   "a configuration of a kind that is not known" SS_HINT
                   "give one of %s, torchtitan, GPT-NeoX, DeepSpeed, accelerate, Hugging Face's Trainer, "
                   "TRL, LLaMA-Factory, Axolotl, or the job in Megatron-LM's "
                   "flags",
                   names);
}

int ss_foreign_request(struct ss_request *request, struct ss_words *own, struct ss_tree *tree,
                       const struct ss_foreign_kind *kind, struct ss_error *err)
{
    struct ss_reading r;

    kind = kind ? kind : ss_foreign_kind_of(ss_tree_root(tree));
    if (!kind)
        return unknown(tree, err);
    ss_reading_begin(&r, kind->name, tree, request, err);
    r.told_by = ss_tree_file(tree);
    r.default_line = 0;
    r.own = own;
    ss_reading_load(&r, kind->map, kind->code);
    ss_reading_rows(&r);
    return ss_reading_end(&r);
}

/* Behind the line at p. */
static const char *next_line(const char *p, const char *end)
{
    const char *line = memchr(p, '\n', (size_t)(end - p));

    return line ? line + 1 : end;
}

bool ss_foreign_sniff(const char *text, size_t len)
{
    const char *p = text + ss_byte_order_mark(text, len), *end = text + len;

    while (p < end) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p < end && *p == '#')
            p = next_line(p, end);
        else
            break;
    }
    const char *name = p;
    while (p < end && (isalnum((unsigned char)*p) || (p > name && strchr("_-.", *p)) || *p == '_' ||
                       *p == '"' || *p == '\''))
        p++;
    if (p > name && p < end && *p == ':')
        return p + 1 == end || isspace((unsigned char)p[1]);
    return end - name > 3 && !strncmp(name, "---", 3) && isspace((unsigned char)name[3]);
}
