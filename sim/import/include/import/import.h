/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the readers of requests share. */
#pragma once

#include <string.h>

#include "stepsim/import.h"

/* A word and its line. */
struct ss_word {
    char *text;
    int line; /* 0: the command line */
};
/* A file that a launch script gave its launcher, as the script saw it. */
struct ss_made_file {
    char *name; /* the name by which the command calls it */
    /* Its contents, if the script wrote or changed it. Empty lines stand before them, so that their
     * lines count as the script's. NULL: the file of the machine is unchanged. */
    char *text;
    char *path; /* its path on the machine, or the place for messages */
};
/* What the command line says about the cluster. Its words beat those of launchers. */
struct ss_cluster {
    int nodes, gpus_per_node; /* 0: not said */
    const char *platform;     /* NULL: not said */
    const char *card;         /* of a platform that names none; NULL: not said */
};
/* launcher_sizes.c: returns the GPUs of a node; 0: not known. */
int64_t ss_cluster_gpus(const struct ss_cluster *cluster);
struct ss_words {
    struct ss_word *w;
    size_t n, cap;
    char *file; /* NULL on the command line */
    struct ss_made_file *made;
    size_t nmade, made_cap;
    /* 1: the words behind the first `own` belong to a recorded program; they are read as its flags only,
     * never as options of stepsim */
    int program;
    size_t own;
    const struct ss_cluster *cluster; /* what the command line says; the caller owns it; NULL: not known */
    struct ss_notes said;             /* notes of what launchers said */
    struct ss_notes behind;           /* as in struct ss_request */
    int ungrouped; /* 1: the words are a Megatron-LM command that does not obey its own --num-query-groups */
};
int ss_words_add(struct ss_words *words, const char *text, size_t len, int line);
void ss_words_free(struct ss_words *words);

/* The name of a text that somebody pasted: it names no file that is read but those of the data. */
#define SS_PASTED "pasted text"
static inline int ss_import_is_pasted(const char *file)
{
    return file && !strcmp(file, SS_PASTED);
}

/* A kind of file that asks for a job. */
struct ss_importer {
    const char *name;
    /* Returns 1 when text[0 .. len-1] is of this form. The first importer that says so reads it; NULL: the
     * last importer, which reads all the rest. */
    int (*sniff)(const char *text, size_t len);
    /* Reads a text into words with their lines. Messages call it `file`. An importer has `read` or
     * `add`; the other is NULL. */
    int (*read)(struct ss_words *out, const char *text, size_t len, const char *file, struct ss_error *err);
    /* Reads a text whose words have several places into a request. */
    int (*add)(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err);
};
extern const struct ss_importer ss_importers[];
extern const size_t ss_importer_count;
/* Returns the importer that reads a text. The last one, which reads flags, takes what no other does. */
const struct ss_importer *ss_importer_of(const char *text, size_t len);
/* Returns 1 if a text is a configuration that an importer or a kind of foreign.h reads, and not flags or
 * a script. */
int ss_import_is_configuration(const char *text, size_t len);

/* result.c: reads the `inputs` of a document that `stepsim run --json` wrote. It is refused if one of
 * its files has changed since. */
int ss_result_sniff(const char *text, size_t len);
int ss_result_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err);
/* args.c: reads lines of flags, split as a shell splits them: quotes, backslashes, # comments. */
int ss_args_read(struct ss_words *out, const char *text, size_t len, const char *file, struct ss_error *err);
/* launcher.c: reduces a whole command, such as "torchrun --nnodes 4 --nproc_per_node 8 ...
 * pretrain_gpt.py --flags ... 2>&1 | tee log", to the script's flags and the launcher's sizes as --nodes
 * and --gpus-per-node. It takes the first of several commands whose script has flags. Words that begin
 * with a flag, or have no script among them, are left alone. Errors: SS_ERR_UNSUPPORTED where the script
 * trains another kind of model than a GPT, SS_ERR_NOMEM. */
int ss_words_strip_command(struct ss_words *words, struct ss_error *err);

/* launch.c: what the user said about a launch script. The caller owns all of it. */
struct ss_launch {
    const char *script;
    char *const *word; /* the script's arguments */
    size_t nwords;
    char *const *variable; /* "NAME=VALUE" */
    size_t nvariables;
    struct ss_cluster cluster;
    int trust;              /* 1: the script may run even where the kernel cannot isolate it */
    struct ss_notes let_in; /* files and folders that the script may see, too */
    int call;               /* which of several jobs that the script starts, from 1; 0: it starts only one */
    const struct ss_words
        *flags; /* the whole command line, whose flags beat those of the script; NULL: none */
};
/* Runs the script in a sandbox (sandbox.h) and adds the words of the job that it starts to *out, with
 * the lines of the script. `notes` gets the programs that did nothing and the variables that were not
 * set. Errors: SS_ERR_IO, SS_ERR_INPUT, SS_ERR_NOMEM; SS_ERR_USAGE: no such call. */
int ss_launch_read(struct ss_words *out, const struct ss_launch *l, struct ss_notes *notes,
                   struct ss_error *err);

struct ss_calls;
struct ss_call;

/* ---- launch_unset.c ---- */
/* Lists the variables that the script reads, but neither sets nor has a default for, each once: "A, B".
 * Left out are the variables of `environment` ("NAME=VALUE"), and those that were set when its shells
 * ended. */
void ss_launch_unset(const char *text, const struct ss_words *environment, const struct ss_calls *calls,
                     char *out, size_t size);
/* Returns the number of the last argument that the script reads, 2 for "$2", outside of quotes and
 * functions. Returns 0 where it reads none, or looks at the number of its arguments. */
int ss_launch_arguments(const char *text);

/* ---- launch_said.c ---- */
/* Joins the last lines of the output that are errors of the shell or of a tool, at most three, by " | ".
 * Returns how many there are. */
int ss_launch_errors(const struct ss_calls *calls, char *out, size_t size);
/* Returns the first program that wrote nothing although the script used its output, and whose output may
 * decide a job; NULL: none. */
const char *ss_launch_used(const struct ss_calls *calls);

/* ---- launch_branch.c ---- */
/* A command of the script that failed, where it stops for that or not, and that decides a flag with an effect, a file that is read, a count: the command,
 * its line and its file. NULL: none. */
const struct ss_call *ss_launch_failed(const struct ss_calls *calls, const char *text, int stops);

/* Returns 1 where the flag of a script or of its launcher decides something. */
int ss_launch_decides(const char *flag);
/* Returns 1 where the word at `at` of the line is the value of a flag that decides something: "--tp $TP", "--tp=$TP". *name: the flag. */
int ss_launch_flag_of(const char *line, const char *at, char name[96]);
/* Returns the line of the first branch that decides a flag by what the call, SS_CALL_USED or SS_CALL_TESTED, was asked for: in its file, which
 * is the one at the path `script` with this text or one of the machine. 0: none. */
int ss_launch_branch(const char *script, const char *text, const struct ss_calls *calls,
                     const struct ss_call *call);

/* Notes the branches by files that the script did not find, where they give flags: *tested gets a text each. */
struct ss_view;
int ss_launch_tests(const struct ss_launch *l, const char *text, const struct ss_view *view,
                    const struct ss_calls *calls, struct ss_notes *tested);

/* ---- launch_used.c ---- */
struct ss_sandbox;
/* Runs the script again with guesses for what programs would write that could not answer. Refuses it where it then starts another job, or where
 * a branch that decides a flag follows from them. Errors: SS_ERR_INPUT, those of ss_sandbox_run. */
int ss_launch_guess(const struct ss_launch *l, const char *text, struct ss_sandbox *box,
                    const struct ss_calls *calls, struct ss_error *err);

/* ---- launch_run.c ---- */
struct ss_launch_room {
    const char *text;               /* of the script */
    const struct ss_word *variable; /* "NAME=VALUE": the whole environment of the script */
    size_t nvariables;
    int nodes, gpus_per_node; /* 0: not known */
    int host_lines;           /* lines for each node in the file of hosts; 0: there is no such file */
};
/* launch_batch.c: what a script asks its scheduler for; 0: it does not tell. */
struct ss_batch {
    int nodes, gpus, tasks; /* nodes, GPUs of a node, processes of a node */
    int all, cpus;          /* processes in all, processors of a process */
    int asked;              /* 1: the script asks for the GPUs, and no user did */
    int host_lines;         /* as in ss_launch_room */
    const char *hosts;      /* the variable that names the file of hosts */
    int slurm;              /* 1: it has lines of Slurm */
    char resource[16];      /* nodes of Grid Engine by their kind, "rt_AF"; "": none */
};
/* Notes the first line of a file for a scheduler ("#SBATCH"), where flags are taken from its text and nothing runs it. */
void ss_batch_unread(const char *text, const char *file, struct ss_notes *notes);
/* Reads the lines of a script that a scheduler reads, and notes those that ask for other cards. What the user says in `cluster` beats them. Errors:
 * SS_ERR_INPUT (a misspelt option or resource), SS_ERR_NOMEM. */
int ss_launch_batch(const char *text, const char *script, const struct ss_cluster *cluster,
                    struct ss_notes *notes, struct ss_batch *out, struct ss_error *err);
/* launch_environment.c: makes "NAME=VALUE" of the user's variables, then of those that a scheduler sets for the first process. `notes` gets what was
 * taken on trust. Error: SS_ERR_NOMEM. */
int ss_launch_environment(const struct ss_launch *l, const char *text, struct ss_batch *b,
                          struct ss_words *out, struct ss_notes *notes);
/* Multiplies numbers >= 0. Returns 0 where the product is more GPUs than any cluster has. */
int ss_batch_product(int a, int b);
#define SS_LAUNCH_SECONDS 20.0
/* What a run of a script has found out beside its calls. */
struct ss_launch_made {
    struct ss_notes files; /* files that the script missed, and that were made empty for it */
    struct ss_notes
        tested; /* files that it tested for in vain, where that decides flags: "LINE: ...", or "FILE:LINE: ..." */
    struct ss_notes hidden; /* files of the machine that decide no job: settings of a shell or of the user */
    struct ss_notes
        own; /* files that the script's folder has and the working folder lacks, so that the script ran in its own folder */
};
/* Runs the script again and again until it starts a job, or until nothing that it misses can be made.
 * Made are the programs that it calls by a path, then the files that it tests for before it stops, which
 * are added to `made`. The caller frees *calls. Errors: those of ss_sandbox_run and ss_launch_missing. */
int ss_launch_run(const struct ss_launch *l, const struct ss_launch_room *room, struct ss_calls *calls,
                  struct ss_launch_made *made, struct ss_error *err);
/* launch_missing.c: looks for files of the machine that the script asked for in vain, by "source" or as
 * its output tells. Returns 1 where only the view's limit had left them out: now they are wanted; else
 * 0. Files that set up a shell, and files that made the script's folder the working folder, are added to
 * *made. Errors: SS_ERR_INPUT for any other file, SS_ERR_NOMEM. */
struct ss_view;
int ss_launch_missing(const struct ss_calls *calls, struct ss_view *view, struct ss_launch_made *made,
                      struct ss_error *err);
/* Returns 1 for a path of n bytes, quoted or not, of a file of the system, or one that sets up a shell or software, whatever it is on another machine. */
int ss_launch_sets_up(const char *path, size_t n);
/* launch_job.c: returns 1 if a call is of a launcher with flags of a job. */
int ss_launch_is_job(const struct ss_call *c);

/* Does the part of ss_launch_read that follows the run of the script. `text` is the script, `calls` are
 * the programs that it called. */
int ss_launch_words(struct ss_words *out, const struct ss_launch *l, const char *text,
                    const struct ss_calls *calls, struct ss_notes *notes, struct ss_error *err);
/* launch_files.c: adds the files that a call of a launcher names, as the script saw them. Returns SS_OK
 * or SS_ERR_NOMEM. */
int ss_launch_files(struct ss_words *out, const char *script, const struct ss_calls *calls,
                    const struct ss_call *launcher);
/* launch_words.c: takes --launch SCRIPT [ARGUMENT...], --env, --let-in, --trust and --call out of the
 * words of a command line. *script, which must be empty, gets the words of the job that the script
 * starts, and the script as their file. *cluster gets what the words say about the cluster; it points
 * into them. Errors: those of ss_launch_read, SS_ERR_USAGE. */
int ss_launch_take(struct ss_words *words, struct ss_words *script, struct ss_cluster *cluster,
                   struct ss_notes *notes, struct ss_error *err);
