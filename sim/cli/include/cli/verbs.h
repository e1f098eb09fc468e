/* SPDX-License-Identifier: Apache-2.0 */
/* The commands and their verbs in words; help, manual pages and completion are made from these rows and from those of the
 * options. */
#pragma once

#include "cli/options.h"

/* A verb, by enum cli_verb_id. Two forms of a verb have a row each. */
struct cli_verb_row {
    int job;             /* 1: the verb takes the flags of a job beside its options */
    const char *usage;   /* the words that follow its name in the help */
    const char *summary; /* one line */
    /* what its operands are: a word of `stepsim list`, "tables", "commands" or "file"; NULL: it has none */
    const char *operand;
};

/* A command, with or without verbs. A line feed ends a paragraph of its texts. */
struct cli_command {
    const char *name, *summary, *text;
    const char *takes;    /* how long it takes; NULL: no time worth a word */
    const char *exits;    /* "0 it fits\n1 ..."; NULL: the command has the statuses 0, 2 and 3 */
    const char *examples; /* lines; a line that begins with a space continues the line before */
};

const struct cli_verb_row *cli_verb_row(int verb);
/* Returns command i, NULL past the last one. */
const struct cli_command *cli_command_at(int i);
const struct cli_command *cli_command_find(const char *name);
/* Returns the verb of this name, in its form without a job, or the command's first verb where `name` is
 * NULL. -1: there is none. */
int cli_verb_find(const char *command, const char *name);
/* Returns 1 when the verb takes the flags of a job beside its options. */
int cli_verb_has_job(int verb);
/* Returns the other form of a verb, with a job or without, or -1. */
int cli_verb_sibling(int verb);

/* ---- texts made from the rows ---- */
/* Writes the help for a terminal: for all commands (command NULL), for one command, or for one of its
 * verbs (verb >= 0); all: with the rare options, and with every flag of a job. */
void cli_help_write(const struct cli_command *command, int verb, int all, FILE *out);
/* Writes the manual page of a command, or of the program (NULL). */
void cli_man_write(const struct cli_command *command, FILE *out);
/* Writes a line for each option. Its fields, separated by tabs, are: command, verb, "job" or "-",
 * option, alias, value ("-": none), how the value is read (flag, number, choice, file, text, form), and
 * which value counts where several are given: all, last, or once (the second is refused). */
void cli_options_write(FILE *out);
/* Writes the words that can complete the last of the n words behind "stepsim". Each has a line, and
 * behind a tab its description where it has one. */
void cli_complete(int n, char *const *words, FILE *out);
/* The first returns the name of the i-th shell that has a completion script, NULL past the last one; the
 * second returns the text of the script. */
const char *cli_shell(int i);
const char *cli_completion_script(int i);

/* Writes the words of `text` from column `at` on. It breaks lines before column 80 and indents the lines
 * that follow. */
void cli_fill(FILE *out, const char *text, int at, int indent);
/* Returns the placeholder of an option's value, or its choices ("native|simgrid"); NULL: the option
 * takes no value. */
const char *cli_option_value(const struct ss_option *o, char *buf, size_t size);
/* "--output, -o FILE", as help and manual show an option. */
const char *cli_option_left(const struct ss_option *o, char *buf, size_t size);
/* Returns the description of an option with its default: "which kernel replays (native)". */
const char *cli_option_right(const struct ss_option *o, char *buf, size_t size);
/* Row o is of this verb: of its only form or of both (CLI_ONE_FORM), or of this one alone. */
enum cli_form_of_verb { CLI_ONE_FORM, CLI_ITS_OWN };
int cli_option_of(const struct ss_option *o, int verb, enum cli_form_of_verb form);
