/* SPDX-License-Identifier: Apache-2.0 */
/* Launch commands of frameworks whose options are not Megatron's. */
#include "import/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/hf.h"
#include "import/torchtitan.h"

static const struct ss_command_importer importers[] = {
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

int ss_command_is_call(char *const *word, size_t n)
{
    struct ss_words words = {.w = ss_calloc(n + 1, sizeof *words.w), .n = n};
    const struct ss_command_importer *importer;
    struct ss_command c;

    for (size_t i = 0; i < n && words.w; i++)
        words.w[i].text = word[i];
    int found = words.w && ss_command_find(&words, &c, &importer);
    free(words.w);
    return found;
}

int ss_command_strip(struct ss_words *words, struct ss_error *err)
{
    const struct ss_command_importer *other;
    struct ss_command c;

    return ss_command_find(words, &c, &other) ? SS_OK : ss_words_strip_command(words, err);
}
