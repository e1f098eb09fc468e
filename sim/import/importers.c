/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of files that ask for a job. */
#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"
#include "import/torchtitan.h"

const struct ss_importer ss_importers[] = {
    {"the arguments in a log of Megatron-LM", ss_megatron_log_sniff, NULL, ss_megatron_log_add},
    {"a configuration of torchtitan as JSON", ss_titan_json_sniff, NULL, ss_titan_json_add},
    {"a configuration of GPT-NeoX", ss_neox_sniff, NULL, ss_neox_add},
    {"a configuration of DeepSpeed", ss_deepspeed_sniff, NULL, ss_deepspeed_add},
    {"arguments of Hugging Face's Trainer as JSON", ss_hf_json_sniff, NULL, ss_factory_add},
    {"the result of an earlier run", ss_result_sniff, NULL, ss_result_add},
    {"a job file of torchtitan", ss_titan_toml_sniff, NULL, ss_titan_toml_add},
    {"a configuration of accelerate", ss_accelerate_sniff, NULL, ss_accelerate_add},
    {"a configuration of Axolotl", ss_axolotl_sniff, NULL, ss_axolotl_add},
    {"a configuration of LLaMA-Factory v1", ss_factory_v1_sniff, NULL, ss_factory_v1_add},
    {"arguments of Hugging Face's Trainer or of LLaMA-Factory", ss_factory_sniff, NULL, ss_factory_add},
    {"flags or a launch command", NULL, ss_args_read, NULL}, /* whatever is none of the others */
};
const size_t ss_importer_count = SS_ARRAY_LEN(ss_importers);

/* A script may write any of them: what its lines look like says nothing. */
static int is_script(const char *text, size_t len)
{
    return len > 2 && !memcmp(text, "#!", 2);
}

const struct ss_importer *ss_importer_of(const char *text, size_t len)
{
    size_t i = is_script(text, len) ? ss_importer_count - 1 : 0;

    while (i + 1 < ss_importer_count && !ss_importers[i].sniff(text, len))
        i++;
    return &ss_importers[i];
}

int ss_import_is_configuration(const char *text, size_t len)
{
    return ss_importer_of(text, len)->read != ss_args_read || ss_foreign_sniff(text, len);
}
