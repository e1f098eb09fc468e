/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of requests share. */
#ifndef SS_IMPORT_H
#define SS_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "stepsim/import.h"

/* Words of one place that is being read. */
struct ss_word {
    char *text;
    int line; /* 0 on the command line */
};
/* A file that a launch script gave its launcher, as the script saw it. */
struct ss_made_file {
    char *name; /* as the command names it */
    /* Of one that the script wrote or changed: behind empty lines, so that its lines count as in the script; NULL: the machine has it as
     * it is. */
    char *text;
    char *path; /* where the machine has it, or the place for messages */
};
/* What the command line says of the cluster, whose words beat those of launchers. */
struct ss_cluster {
    int nodes, gpus_per_node; /* 0: not said */
    const char *platform;     /* NULL: not said */
};
/* launcher_sizes.c: GPUs of a node; 0: not known. */
int64_t ss_cluster_gpus(const struct ss_cluster *cluster);
struct ss_words {
    struct ss_word *w;
    size_t n, cap;
    char *file; /* NULL on the command line */
    struct ss_made_file *made;
    size_t nmade, made_cap;
    /* 1: the words behind the first `own` ones are those of a recorded program, which its own flags alone explain */
    int program;
    size_t own;
    const struct ss_cluster *cluster; /* of the caller; NULL: not known */
    struct ss_notes said;             /* notes of what launchers said */
    struct ss_notes behind;           /* as in struct ss_request */
    int ungrouped; /* 1: of a command of Megatron-LM, which does not obey its --num-query-groups */
};
int ss_words_add(struct ss_words *words, const char *text, size_t len, int line);
void ss_words_free(struct ss_words *words);

/* A kind of file that asks for a job. */
struct ss_importer {
    const char *name;
    /* Returns 1 when text[0 .. len-1] is of this form. The first importer that says so reads it; NULL: the
     * last importer, which reads all the rest. */
    int (*sniff)(const char *text, size_t len);
    /* Text to words with their lines; `file` stands for it in messages. One of these two, the other is NULL. */
    int (*read)(struct ss_words *out, const char *text, size_t len, const char *file, struct ss_error *err);
    /* Does so for words of several places. */
    int (*add)(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err);
};
extern const struct ss_importer ss_importers[];
extern const size_t ss_importer_count;
/* The one that reads it: the last, flags, where no other does. */
const struct ss_importer *ss_importer_of(const char *text, size_t len);
/* Whether a text is a configuration, which one of these or of foreign.h reads, and not flags or a script. */
int ss_import_is_configuration(const char *text, size_t len);

/* result.c: the `inputs` of what `stepsim run --json` wrote. A file that has changed since is refused. */
int ss_result_sniff(const char *text, size_t len);
int ss_result_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err);
/* args.c: flags, one or more a line, split as a shell would: quotes, backslashes, # comments. */
int ss_args_read(struct ss_words *out, const char *text, size_t len, const char *file, struct ss_error *err);
/* launcher.c: of a whole command, as "torchrun --nnodes 4 --nproc_per_node 8 ... pretrain_gpt.py --flags ... 2>&1 | tee
 * log", leaves the script's flags and, in our words, the launcher's sizes; of several commands, the first whose script has
 * flags. Words that begin with a flag, or have no script among them, are left alone. Errors: SS_ERR_UNSUPPORTED where the script
 * trains another kind of model than a GPT, SS_ERR_NOMEM. */
int ss_words_strip_command(struct ss_words *words, struct ss_error *err);

/* launch.c: what the user said about a launch script; all of it is the caller's. */
struct ss_launch {
    const char *script;
    char *const *word; /* arguments of the script */
    size_t nwords;
    char *const *variable; /* "NAME=VALUE" */
    size_t nvariables;
    struct ss_cluster cluster;
    int trust;              /* 1: also where the kernel cannot keep the script apart */
    struct ss_notes let_in; /* files and folders that the script sees, too */
    int call;               /* which of several jobs, from 1; 0: the only one */
};
/* Runs the script in a sandbox (sandbox.h) and adds the words of the job that it starts to *out, with the lines of the script. What
 * did nothing, and what was not set, goes to `notes`. Errors: SS_ERR_IO, SS_ERR_INPUT, SS_ERR_NOMEM; SS_ERR_USAGE: no such call. */
int ss_launch_read(struct ss_words *out, const struct ss_launch *l, struct ss_notes *notes,
                   struct ss_error *err);

struct ss_calls;
struct ss_call;

/* ---- launch_unset.c ---- */
/* Names of variables that the script reads, gives no value and has no default for, each once, as "A, B", beside those of "NAME=VALUE" and
 * what its shells had set at their ends. */
void ss_launch_unset(const char *text, const struct ss_words *environment, const struct ss_calls *calls,
                     char *out, size_t size);
/* The last argument that the script reads as "$2" outside of quotes and functions, where it does not look at their number; 0: none. */
int ss_launch_arguments(const char *text);

/* ---- launch_said.c ---- */
/* The last lines of the output that are errors of the shell or of a tool, joined by " | ", at most three. Returns how many there are. */
int ss_launch_errors(const struct ss_calls *calls, char *out, size_t size);
/* The first program that wrote nothing where the script used what it writes, and whose output may decide a job; NULL: none. */
const char *ss_launch_used(const struct ss_calls *calls);

/* ---- launch_run.c ---- */
struct ss_launch_room {
    const struct ss_word *variable; /* "NAME=VALUE": all that the script gets */
    size_t nvariables;
    int nodes, gpus_per_node; /* 0: not known */
    int host_lines;           /* lines of each node in the file of hosts; 0: there is none */
};
/* launch_batch.c: what a script asks its scheduler for; 0: it does not say. */
struct ss_batch {
    int nodes, gpus, tasks; /* all, of a node, processes of a node */
    int all, cpus;          /* processes in all, processors of one */
    int asked;              /* 1: the script asks for the GPUs, and no user did */
    int host_lines;         /* as in ss_launch_room */
};
/* What the user says beats the script's lines. */
void ss_launch_batch(const char *text, const struct ss_cluster *cluster, struct ss_batch *out);
/* Multiplies numbers >= 0; 0: the product is more than there are GPUs. */
int ss_batch_product(int a, int b);
/* What a script asks of PBS; 0: it does not say. */
struct ss_pbs {
    int nodes, gpus, tasks; /* all, of a node, processes of a node */
    int lines;              /* of a node, in the file of hosts */
};
/* launch_pbs.c: reads the lines "#PBS". Returns 1 where there is one. */
int ss_launch_pbs(const char *text, struct ss_pbs *out);
#define SS_LAUNCH_SECONDS 20.0
/* What a run has found out beside calls. */
struct ss_launch_made {
    struct ss_notes files;  /* that it misses, and that were made empty */
    struct ss_notes hidden; /* files of the machine that are not for jobs: settings of a shell, of the user */
    struct ss_notes
        own; /* files that its own folder has and the working folder has not, hence it was run there */
};
/* Runs the script until it starts a job, or nothing that it misses can be made: programs that it calls by a path, then what it tests
 * for before it stops, which is added to `made`. *calls is the caller's. Errors: as of ss_sandbox_run and ss_launch_missing. */
int ss_launch_run(const struct ss_launch *l, const struct ss_launch_room *room, struct ss_calls *calls,
                  struct ss_launch_made *made, struct ss_error *err);
/* launch_missing.c: files that the script asked for in vain, by "source" or as the output tells it, and that the machine has. Returns 1 where
 * the view has them but for its limit: they are wanted now; 0. Those that set up a shell, or made the script's folder the working folder, are
 * added to *made. Errors: SS_ERR_INPUT for any other, SS_ERR_NOMEM. */
struct ss_view;
int ss_launch_missing(const struct ss_calls *calls, struct ss_view *view, struct ss_launch_made *made,
                      struct ss_error *err);
/* Whether a call is of a launcher with flags of a job. */
int ss_launch_is_job(const struct ss_call *c);

/* The same of a script that has run: `text` is the script's, `calls` what it called. */
int ss_launch_words(struct ss_words *out, const struct ss_launch *l, const char *text,
                    const struct ss_calls *calls, struct ss_notes *notes, struct ss_error *err);
/* launch_files.c: adds the files that this call of a launcher names, as the script saw them. SS_OK or SS_ERR_NOMEM. */
int ss_launch_files(struct ss_words *out, const char *script, const struct ss_calls *calls,
                    const struct ss_call *launcher);
/* launch_words.c: takes --launch SCRIPT [ARGUMENT...], --env, --let-in, --trust and --call out of the words of a command line; *script, which
 * is empty, then has the words of the job that the script starts, and the script as its file. *cluster is what the words say, as pointers
 * into them. Errors: as of ss_launch_read, SS_ERR_USAGE. */
int ss_launch_take(struct ss_words *words, struct ss_words *script, struct ss_cluster *cluster,
                   struct ss_notes *notes, struct ss_error *err);

#endif
