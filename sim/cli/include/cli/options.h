/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the program beside those of a job. One table makes parsing, help, manual pages and shell
 * completion. A verb takes the options whose rows name it, and refuses all others. */
#pragma once

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stepsim/stepsim.h"

/* The verbs of the program. X(symbol, command, verb, function, what is read of its words before the function is called): a verb "" is the
 * command itself. Two forms of one verb follow each other: without and with a job, which --platform or --job gives. */
#define CLI_VERB_LIST(X)                                                                                     \
    X(CLI_RUN, "run", "", cmd_run, CLI_READS_JOB)                                                            \
    X(CLI_SEARCH, "search", "", cmd_search, CLI_READS_REQUEST)                                               \
    X(CLI_SWEEP, "sweep", "", cmd_sweep, CLI_READS_REQUEST)                                                  \
    X(CLI_COMPARE, "compare", "", cmd_compare, CLI_READS_NOTHING)                                            \
    X(CLI_EXPLAIN, "explain", "", cmd_explain, CLI_READS_JOB)                                                \
    X(CLI_CHECK, "check", "", cmd_check, CLI_READS_NOTHING)                                                  \
    X(CLI_SHARE, "share", "", cmd_share, CLI_READS_NOTHING)                                                  \
    X(CLI_CAPACITY, "capacity", "", cmd_capacity, CLI_READS_REQUEST)                                         \
    X(CLI_SERVE, "serve", "", cmd_serve, CLI_READS_REQUEST)                                                  \
    X(CLI_PLAN, "plan", "", cmd_plan, CLI_READS_JOB)                                                         \
    X(CLI_IMPORT, "import", "", cmd_import, CLI_READS_NOTHING)                                               \
    X(CLI_PROGRAM_WRITE, "program", "write", cmd_program_write, CLI_READS_JOB)                               \
    X(CLI_PROGRAM_READ, "program", "read", cmd_program_read, CLI_READS_OPTIONS)                              \
    X(CLI_PROGRAM_CHECK, "program", "check", cmd_program_check, CLI_READS_OPTIONS)                           \
    X(CLI_SCHEDULE_LIST, "schedule", "list", cmd_schedule_list, CLI_READS_OPTIONS)                           \
    X(CLI_SCHEDULE_SHOW, "schedule", "show", cmd_schedule_show, CLI_READS_OPTIONS)                           \
    X(CLI_SCHEDULE_WRITE, "schedule", "write", cmd_schedule_write, CLI_READS_OPTIONS)                        \
    X(CLI_SCHEDULE_CHECK, "schedule", "check", cmd_schedule_check, CLI_READS_OPTIONS)                        \
    X(CLI_SCHEDULE_COMPARE, "schedule", "compare", cmd_schedule_compare, CLI_READS_OPTIONS)                  \
    X(CLI_SCHEDULE_COMPARE_JOB, "schedule", "compare", cmd_schedule_compare, CLI_READS_NOTHING)              \
    X(CLI_SCHEDULE_SEARCH, "schedule", "search", cmd_schedule_search, CLI_READS_OPTIONS)                     \
    X(CLI_SCHEDULE_SEARCH_JOB, "schedule", "search", cmd_schedule_search, CLI_READS_NOTHING)                 \
    X(CLI_PLATFORM_SHOW, "platform", "show", cmd_platform_show, CLI_READS_OPTIONS)                           \
    X(CLI_PLATFORM_DRAW, "platform", "draw", cmd_platform_draw, CLI_READS_OPTIONS)                           \
    X(CLI_PLATFORM_CHECK, "platform", "check", cmd_platform_check, CLI_READS_OPTIONS)                        \
    X(CLI_PLATFORM_NEW, "platform", "new", cmd_platform_new, CLI_READS_OPTIONS)                              \
    X(CLI_PLATFORM_IMPORT, "platform", "import", cmd_platform_import, CLI_READS_OPTIONS)                     \
    X(CLI_VALIDATE, "validate", "", cmd_validate, CLI_READS_OPTIONS)                                         \
    X(CLI_CALIBRATE, "calibrate", "", cmd_calibrate, CLI_READS_OPTIONS)                                      \
    X(CLI_DOCTOR, "doctor", "", cmd_doctor, CLI_READS_OPTIONS)                                               \
    X(CLI_LIST, "list", "", cmd_list, CLI_READS_OPTIONS)                                                     \
    X(CLI_HELP, "help", "", cmd_help, CLI_READS_NOTHING)                                                     \
    X(CLI_VERSION, "version", "", cmd_version, CLI_READS_OPTIONS)
enum cli_verb_id {
#define X(symbol, command, verb, function, reads) symbol,
    CLI_VERB_LIST(X)
#undef X
        CLI_VERB_COUNT
};

struct cli_flags;

/* Returns row i of the table, NULL past the last row; all rows stand in one array. */
const struct ss_option *cli_option_at(int i);
size_t cli_option_count(void);
/* Returns the row of a verb's option by its name or alias; NULL: this verb has no such option. */
const struct ss_option *cli_option_find(int verb, const char *name);
/* Returns the first row of that name, whatever its verbs are. */
const struct ss_option *cli_option_named(const char *name);
/* Returns 1 if a word that is an option and a flag of a job, too, is the job's by its value: "--card h100" is a GPU's, "--card x.svg" a
 * picture. value may be NULL. */
int cli_option_is_jobs(const struct ss_option *o, const char *value);
/* Returns 1 if the option of a word ("--level=layer" or "--level") says how a job is simulated. */
int cli_option_is_how(int verb, const char *word);
/* Reads the option of flags->verb that stands at words[0], of n words, of a request's place, or place 0. Returns how many words it took (1 or 2), 0: no option
 * of the program (a job may have it), or an error. "--name=value" and "--name value" are the same. */
int cli_option_take(struct cli_flags *flags, int place, int n, char *const *words, struct ss_error *err);
/* Checks, once all options are read, what they demand of each other (needs, beside), and that each writes a
 * file of its own. */
int cli_options_check(const struct cli_flags *flags, struct ss_error *err);
/* Returns 1 when the option was given. */
int cli_given(const struct cli_flags *flags, const char *name);
/* Returns the words of a verb's name, "schedule search". */
const char *cli_verb_command(int verb);
const char *cli_verb_name(int verb);

/* ---- readers of rows with `call`; values: struct cli_flags ---- */
int cli_read_tolerance(void *values, const char *name, const char *value, struct ss_error *err);
int cli_read_window(void *values, const char *name, const char *value, struct ss_error *err);
