/* SPDX-License-Identifier: Apache-2.0 */
/* The commands and their verbs in words; help, manual pages and completion are made from these rows and from those of the
 * options. */
#ifndef SS_CLI_VERBS_H
#define SS_CLI_VERBS_H

#include <stdio.h>

#include "cli/options.h"

/* A verb, by enum cli_verb_id. Two forms of a verb have a row each. */
struct cli_verb_row {
    int job;             /* 1: takes the flags of a job beside its options */
    const char *usage;   /* what stands behind its name */
    const char *summary; /* one line */
    /* what an operand is: a word of `stepsim list`, "tables", "commands", "file", or NULL for none */
    const char *operand;
};

/* A command, with or without verbs. A line feed ends a paragraph of its texts. */
struct cli_command {
    const char *name, *summary, *text;
    const char *exits;    /* "0 it fits\n1 ..." or NULL: 0, 2 and 3 */
    const char *examples; /* lines; one that begins with a space goes on */
};

const struct cli_verb_row *cli_verb_row(int verb);
/* Command i, NULL past the last one. */
const struct cli_command *cli_command_at(int i);
const struct cli_command *cli_command_find(const char *name);
/* The first verb of a command; with a name the verb of this name (its form without a job). -1: there is none. */
int cli_verb_find(const char *command, const char *name);
/* 1 when the verb takes the flags of a job beside its options. */
int cli_verb_has_job(int verb);
/* The other form of a verb, or -1. */
int cli_verb_sibling(int verb);

/* ---- texts made from the rows ---- */
/* Writes the help for a terminal: of all commands (command NULL), of one, or of one of its verbs (verb >=
 * 0). */
void cli_help_write(const struct cli_command *command, int verb, FILE *out);
/* A manual page: of a command, or of the program (NULL). */
void cli_man_write(const struct cli_command *command, FILE *out);
/* One line an option, with tabs between: command, verb, "job" or "-", option, alias, value ("-": none), how the value is
 * read (flag, number, choice, file, text, form), and which counts of several: last, all, or once (a second
 * one is refused). */
void cli_options_write(FILE *out);
/* Writes what can stand for the last of n words behind "stepsim", one a line, with a tab and its description
 * where there is one. */
void cli_complete(int n, char *const *words, FILE *out);
/* Shell i that has a completion script, NULL past the last one; and the script. */
const char *cli_shell(int i);
const char *cli_completion_script(int i);

/* Words of `text` from column `at` on, lines broken before column 80 and indented. */
void cli_fill(FILE *out, const char *text, int at, int indent);
/* Returns the placeholder or choices of an option, "native|simgrid"; NULL: it takes no value. */
const char *cli_option_value(const struct cli_option *o, char *buf, size_t size);
/* "--output, -o FILE", as help and manual show an option. */
const char *cli_option_left(const struct cli_option *o, char *buf, size_t size);
/* Returns the description of an option with its default: "which kernel replays (native)". */
const char *cli_option_right(const struct cli_option *o, char *buf, size_t size);
/* Row o is of this verb: of its only form or of both (CLI_ONE_FORM), or of this one alone. */
enum cli_form_of_verb { CLI_ONE_FORM, CLI_ITS_OWN };
int cli_option_of(const struct cli_option *o, int verb, enum cli_form_of_verb form);

#endif
