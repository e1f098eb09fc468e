/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/notes.h"

#include "base/base.h"

static int add_note(struct ss_notes *notes, const char *fmt, va_list args)
{
    char *text;
    size_t cap = notes->cap;

    if (vasprintf(&text, fmt, args) < 0)
        return SS_ERR_NOMEM;
    for (unsigned long i = 0; i < notes->n; i++)
        if (!strcmp(notes->text[i], text)) {
            free(text);
            return SS_OK;
        }
    if (ss_grow(&notes->text, &cap, notes->n + 1, sizeof(*notes->text))) {
        free(text);
        return SS_ERR_NOMEM;
    }
    notes->cap = cap;
    notes->text[notes->n++] = text;
    return SS_OK;
}

int ss_notes_add(struct ss_notes *notes, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int rc = add_note(notes, fmt, args);
    va_end(args);
    notes->lost |= rc != SS_OK;
    return rc;
}

int ss_notes_add_all(struct ss_notes *notes, const struct ss_notes *from)
{
    int rc = from && from->lost ? SS_ERR_NOMEM : SS_OK;

    for (unsigned long i = 0; from && !rc && i < from->n; i++)
        rc = ss_notes_add(notes, "%s", from->text[i]);
    notes->lost |= rc != SS_OK;
    return rc;
}

void ss_note(struct ss_notes *notes, const char *fmt, ...)
{
    va_list args;

    if (!notes)
        return;
    va_start(args, fmt);
    notes->lost |= add_note(notes, fmt, args) != SS_OK;
    va_end(args);
}

void ss_notes_free(struct ss_notes *notes)
{
    if (!notes)
        return;
    for (unsigned long i = 0; i < notes->n; i++)
        free(notes->text[i]);
    free(notes->text);
    memset(notes, 0, sizeof(*notes));
}
