/* SPDX-License-Identifier: Apache-2.0 */
/* A small page that needs nothing but a browser: what those of sweeps and of comparisons share. */
#ifndef SS_REPORT_PAGE_H
#define SS_REPORT_PAGE_H

#include <stdio.h>

/* Up to <main>, with the style sheet; the title is no text of users. */
void ss_page_open(FILE *out, const char *title);
/* </main> and the end. */
void ss_page_close(FILE *out);
/* `text` escaped between two pieces of HTML. */
void ss_page_text(FILE *out, const char *before, const char *text, const char *behind);
/* The lines that `write` writes of `what` as paragraphs; SS_ERR_NOMEM. */
int ss_page_paragraphs(void (*write)(const void *what, FILE *out), const void *what, FILE *out);

#endif
