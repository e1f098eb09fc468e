/* SPDX-License-Identifier: Apache-2.0 */
/* Launch commands of frameworks whose options are not Megatron's. */
#ifndef SS_IMPORT_COMMAND_H
#define SS_IMPORT_COMMAND_H

#include <stdbool.h>

#include "import/import.h"

/* Words of a launch command, "torchrun --nnodes 4 train.py --flags": launchers from `first`, the script at
 * `script`, the script's own words up to `end`. The sizes are those that the launchers name; 0: none.
 * `processes` counts those of all nodes where nothing says a number of nodes: a GPU each. */
struct ss_command {
    size_t first, script, end;
    int nodes, gpus_per_node, processes;
    int line; /* of the launcher that says so */
};

/* A framework whose commands are read by themselves. */
struct ss_command_importer {
    const char *name;
    /* Whether the command is one; the first that says so reads it. */
    int (*sniff)(const struct ss_words *words, const struct ss_command *c);
    int (*add)(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
               struct ss_error *err);
};

/* launcher.c: the first command whose script has flags, or else the first with a script. Returns 0 where there is none. */
int ss_words_command(const struct ss_words *words, struct ss_command *out);

/* launcher_sizes.c: the sizes of such a command. What was taken on trust goes to `notes`. Errors: SS_ERR_CONFIG, launchers contradict each
 * other; SS_ERR_UNSUPPORTED, SS_ERR_INPUT, SS_ERR_IO (a file of hosts). */
int ss_command_sizes(const struct ss_words *words, struct ss_command *c, struct ss_notes *notes,
                     struct ss_error *err);

/* launcher_sizes.c: makes nodes and GPUs of each of `processes`, for readers, where the command line tells the cluster. */
void ss_command_resolve(const struct ss_words *words, struct ss_command *c);

/* ---- command.c ---- */

/* Finds the command of a framework among the words; *out is its importer. Returns 0 where there is none. */
int ss_command_find(const struct ss_words *words, struct ss_command *c,
                    const struct ss_command_importer **out);
/* ss_words_strip_command, which leaves commands of a framework whole: their launcher's words are asked for later. */
int ss_command_strip(struct ss_words *words, struct ss_error *err);
/* ss_command_find in a call that a launch script made. */
int ss_command_is_call(char *const *word, size_t n);
/* ---- command_files.c ---- */

/* Adds --nodes and --gpus-per-node, or --gpus, as the launcher said them, in a place of the words' file. */
int ss_command_add_sizes(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                         struct ss_error *err);
/* Notes what a Megatron-LM command says that is read otherwise than its author may expect; file: the name of
 * its place. */
void ss_command_tell(struct ss_notes *notes, const char *file, const struct ss_words *words);
/* Makes the line of word i the place of an error that has none; returns its code. */
int ss_command_locate(const struct ss_words *words, size_t i, struct ss_error *err);

/* A file that a job names: beside the file `from` (NULL: the command line), as it stands, or a name in workloads/jobs. Error:
 * SS_ERR_IO. */
int ss_import_find(const char *name, const char *from, char *path, size_t size, struct ss_error *err);

/* Reads such a file, or one that the launch script wrote (whose lines are the script's): *text is the caller's, path the place for
 * messages. `words` may be NULL. Errors: SS_ERR_IO, SS_ERR_NOMEM. */
int ss_command_read(const struct ss_words *words, const char *name, const char *from, char *path, size_t size,
                    char **text, size_t *len, struct ss_error *err);

/* The value of an option among words first .. end - 1, "--name value" or "--name=value"; NULL: it is not there. */
const char *ss_command_value(const struct ss_words *words, size_t first, size_t end, const char *name);
/* Whether a text begins as JSON does. */
bool ss_begins_json(const char *text, size_t len);
/* Whether one of its lines begins so, behind blanks where it may be indented. */
bool ss_has_line(const char *text, size_t len, const char *begin, bool indented);

#endif
