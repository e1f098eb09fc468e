/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the page share. */
#pragma once

#include "ask/shelf.h"
#include "stepsim/serve.h"

struct ss_serve {
    struct ss_request start;
    struct ss_bands *bands;
    char *choices; /* JSON: what may stand in the controls */
    struct ss_shelves *shelves;
};

/* Texts that the build makes of sim/serve/page (cmake/embed.cmake). */
extern const char ss_serve_page_html[], ss_serve_style_css[], ss_serve_words_js[], ss_serve_draw_js[],
    ss_serve_page_js[];

/* ---- choices.c ---- */
/* Writes the style sheet: grounds, tones ("--tone-tp") and the page's own rules. */
void ss_serve_look_css(FILE *out);
/* Writes the words and tones of keys as constants of a script: TIMES, MEMORY, TERMS. */
void ss_serve_look_js(FILE *out);

/* Makes *r, which was initialised, of the words of a job, separated by blanks. Errors: SS_ERR_USAGE: a word that names a file
 * which the page was not started with, a byte that is no printable ASCII, too long; SS_ERR_NOMEM. */
int ss_serve_read(const struct ss_serve *page, const char *text, struct ss_request *r, struct ss_error *err);
/* SS_ERR_USAGE where the value of a flag, or a word (`flag` NULL), names a file that the page was not started with. */
int ss_serve_check(const struct ss_serve *page, const char *flag, const char *value, struct ss_error *err);
/* Adds what a file among the places of the words means by silence. Error: SS_ERR_NOMEM. */
int ss_serve_speak(struct ss_request *r, struct ss_error *err);
/* Writes what the controls of the page may be set to. The caller frees *out. */
int ss_serve_choices(const struct ss_request *start, char **out, struct ss_error *err);
