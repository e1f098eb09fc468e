/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a shell script as words: assignments, conditions and arithmetic are followed, and nothing is run. What the text gives no value
 * stands in words as a gap, SS_GAP NAME SS_GAP_END; so does what a program would have written.
 */
#pragma once

#include "import/import.h"

#define SS_GAP '\1'
#define SS_GAP_END '\2'
#define SS_SHELL_ITEM '\3' /* between the items of an array */

struct ss_shell_value {
    char *name, *text;
    int given; /* 1: the user says it, so that it beats what the text cannot say */
};
struct ss_shell {
    struct ss_shell_value *value;
    size_t n, cap;
    struct ss_words out;     /* words of all commands; between two commands the word ";" */
    struct ss_notes asked;   /* names without a value that decide a branch */
    struct ss_notes skipped; /* what was not followed: "a loop: its first pass" */
    int depth, rc;
    long steps;
};

/* ---- shell.c: values and words ---- */
/* Sets a value; `given` as in struct ss_shell_value. */
void ss_shell_set(struct ss_shell *s, const char *name, size_t n, const char *text, int given);
/* Adds the fields of a word, [n], as the text has it; split 0: as one field. */
void ss_shell_expand(struct ss_shell *s, const char *word, size_t n, int split, struct ss_words *out);
/* Makes one text of a word; the caller frees it. NULL: out of memory. */
char *ss_shell_text(struct ss_shell *s, const char *word, size_t n);
/* Returns the length of a name at p, 0: there is none. */
size_t ss_shell_name(const char *p, const char *end);
/* Returns the end of the word at p, which is not blank: behind its quotes, substitutions and, of an array, its list. */
const char *ss_shell_word_end(const char *p, const char *end);
/* Computes an expression whose variables are expanded; *gap gets the first gap in it (a pointer into it), NULL: none. */
long ss_shell_sum(struct ss_shell *s, const char *text, const char **gap);
/* ---- shell_test.c ---- */
/* Asks for the name of the first gap of a text, because a branch follows from it. Returns 0 where there is no gap. */
int ss_shell_ask(struct ss_shell *s, const char *text);
/* Returns whether the words first .. end - 1 of a condition hold. */
int ss_shell_test(struct ss_shell *s, const struct ss_words *words, size_t first, size_t end);
/* ---- shell_run.c ---- */
/* Follows a text. Returns s->rc: SS_OK or SS_ERR_NOMEM. */
int ss_shell_run(struct ss_shell *s, const char *text, size_t len);
void ss_shell_free(struct ss_shell *s);
