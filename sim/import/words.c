/* SPDX-License-Identifier: Apache-2.0 */
/* Words of one file on their way to a request. */
#include "base/base.h"
#include "import/import.h"

int ss_words_add(struct ss_words *words, const char *text, size_t len, int line)
{
    if (ss_grow(&words->w, &words->cap, words->n + 1, sizeof(*words->w)))
        return SS_ERR_NOMEM;
    char *copy = malloc(len + 1);
    if (!copy)
        return SS_ERR_NOMEM;
    memcpy(copy, text, len);
    copy[len] = 0;
    words->w[words->n++] = (struct ss_word){copy, line};
    return SS_OK;
}

void ss_words_free(struct ss_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        free(words->w[i].text);
    for (size_t i = 0; i < words->nmade; i++) {
        SS_FREE(words->made[i].name, words->made[i].text, words->made[i].path);
    }
    ss_notes_free(&words->said);
    ss_notes_free(&words->behind);
    SS_FREE(words->made, words->w, words->file);
    memset(words, 0, sizeof(*words));
}
