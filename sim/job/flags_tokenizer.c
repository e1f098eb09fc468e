/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies that the names of tokenizers tell: tokenizers themselves are not read. */
#include <string.h>

#include "base/base.h"
#include "job/flags_set.h"

#define GPT2 50257
#define NOT_KNOWN (-1)

SS_FLAG_CALLED(tokenizer)
{
    static const struct {
        const char *name;
        int rows;
    } known[] = {{"GPT2BPETokenizer", GPT2}, {"LLama3Tokenizer", 128256}, {"LLama2Tokenizer", 32000},
                 {"LLamaTokenizer", 32000},  {"Llama2Tokenizer", 32000},  {"Qwen2Tokenizer", 151643},
                 {"MistralTokenizer", 32000}};

    asked->tokenizer_vocab = NOT_KNOWN;
    asked->null_tokenizer = !strcmp(values[0], "NullTokenizer");
    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++)
        if (!strcmp(values[0], known[i].name))
            asked->tokenizer_vocab = known[i].rows;
    return SS_OK;
}

SS_FLAG_CALLED(merge_file)
{
    if (asked->tokenizer_vocab == 0) /* pretrain_gpt.py's own default */
        asked->tokenizer_vocab = GPT2;
    return SS_OK;
}

/* Read when the job is complete, where it turns out that nothing else tells the vocabulary. */
SS_FLAG_CALLED(tokenizer_model)
{
    return SS_OK;
}
