/* SPDX-License-Identifier: Apache-2.0 */
/* Launch commands of frameworks whose options are not Megatron's. */
#pragma once

#include <stdbool.h>

#include "import/import.h"

/* The words of a launch command, "torchrun --nnodes 4 train.py --flags". The launchers begin at word
 * `first`, the script is word `script`, and its own words end before `end`. The launchers name the
 * sizes; 0: no launcher does. `processes` counts the processes of all nodes, a GPU for each, where
 * nothing tells the number of nodes. */
struct ss_command {
    size_t first, script, end;
    int nodes, gpus_per_node, processes;
    int line;        /* the line of the launcher that names the sizes */
    char set[4][64]; /* values that variables of the launcher set, "ss.PROP=VALUE" */
    size_t nset;
};

/* A framework whose launch commands have a reader of their own. */
struct ss_command_importer {
    const char *name;
    /* Returns 1 if the command is one of this framework's. The first importer that returns 1 reads it. */
    int (*sniff)(const struct ss_words *words, const struct ss_command *c);
    int (*add)(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
               struct ss_error *err);
};

/* launcher.c: finds the first command whose script has flags, or else the first command with a script.
 * Returns 0 where there is none. */
int ss_words_command(const struct ss_words *words, struct ss_command *out);

/* launcher_sizes.c: fills in the sizes of a command. `notes` gets what was taken on trust. Errors:
 * SS_ERR_CONFIG (launchers contradict each other); SS_ERR_UNSUPPORTED, SS_ERR_INPUT, SS_ERR_IO (a file
 * of hosts). */
int ss_command_sizes(const struct ss_words *words, struct ss_command *c, struct ss_notes *notes,
                     struct ss_error *err);

/* launcher_sizes.c: computes nodes and GPUs of a node from `processes`, for readers that need both,
 * where the command line tells the cluster. */
void ss_command_resolve(const struct ss_words *words, struct ss_command *c);

/* ---- command.c ---- */

/* Finds the command of a framework among the words; *out is its importer. Returns 0 where there is none. */
int ss_command_find(const struct ss_words *words, struct ss_command *c,
                    const struct ss_command_importer **out);
/* Does ss_words_strip_command, but leaves the command of a framework whole, because its reader needs the
 * launcher's words. */
int ss_command_strip(struct ss_words *words, struct ss_error *err);
/* Does ss_command_find for a call that a launch script made. */
int ss_command_is_call(char *const *word, size_t n);
/* ---- command_files.c ---- */

/* Adds the launcher's sizes as --nodes and --gpus-per-node, or --gpus. They get a place in the file of
 * the words. */
int ss_command_add_sizes(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                         struct ss_error *err);
/* Notes which flags of a Megatron-LM command are read otherwise than its author may expect. `file` names
 * the command's place. */
void ss_command_tell(struct ss_notes *notes, const char *file, const struct ss_words *words);
/* Gives an error that has no place the line of word i. Returns the error's code. */
int ss_command_locate(const struct ss_words *words, size_t i, struct ss_error *err);

/* Finds a file that a job names: beside the file `from` (NULL: the command line), then at the path as it
 * stands, then by its name in workloads/jobs. Error: SS_ERR_IO. */
int ss_import_find(const char *name, const char *from, char *path, size_t size, struct ss_error *err);

/* Reads such a file, or a file that the launch script wrote, whose lines count as the script's. The
 * caller frees *text; `path` gets the place for messages. `words` may be NULL. Errors: SS_ERR_IO,
 * SS_ERR_NOMEM. */
int ss_command_read(const struct ss_words *words, const char *name, const char *from, char *path, size_t size,
                    char **text, size_t *len, struct ss_error *err);

/* Returns the value of an option among the words first .. end - 1: "--name value" or "--name=value";
 * NULL: the option is not there. */
const char *ss_command_value(const struct ss_words *words, size_t first, size_t end, const char *name);
/* Returns true if a text begins as JSON does. */
bool ss_begins_json(const char *text, size_t len);
/* Returns true if a line of a text begins with `begin`; `indented` true: blanks may stand before it. */
bool ss_has_line(const char *text, size_t len, const char *begin, bool indented);
