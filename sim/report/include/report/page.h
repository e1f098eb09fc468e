/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that the pages of sweeps and of comparisons share. Such a page needs nothing but a browser. */
#pragma once

#include <stdio.h>

/* Writes the page up to <main>, with its style sheet. The title is not escaped, so it must not come from
 * the user. */
void ss_page_open(FILE *out, const char *title);
/* Writes </main> and the end of the page. */
void ss_page_close(FILE *out);
/* Writes `text`, escaped, between two pieces of HTML. */
void ss_page_text(FILE *out, const char *before, const char *text, const char *behind);
/* Writes each line that `write` makes of `what` as a paragraph. Returns 0 or SS_ERR_NOMEM. */
int ss_page_paragraphs(void (*write)(const void *what, FILE *out), const void *what, FILE *out);
