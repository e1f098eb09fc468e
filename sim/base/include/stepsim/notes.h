/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: texts for the user that are no errors, such as assumptions and flags that have no effect. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/* The caller owns the notes: they begin with {0} and end with ss_notes_free. Each text is there once. */
struct ss_notes {
    char **text;
    unsigned long n, cap;
    int lost; /* 1: a text found no memory; whoever shows the notes fails then */
};
/* Adds a text in the manner of printf unless the notes have it. Returns SS_OK or SS_ERR_NOMEM. */
int ss_notes_add(struct ss_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds the texts of `from`, which may be NULL. Returns SS_OK or SS_ERR_NOMEM, also where `from` has lost one. */
int ss_notes_add_all(struct ss_notes *notes, const struct ss_notes *from);
/* Empties the notes, which may then be used again. NULL is allowed. */
void ss_notes_free(struct ss_notes *notes);

SS_C_END
