/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands share. Only public headers: the program is one user of the library among others. */
#pragma once

#include "cli/options.h"

/* "" = not wanted */
enum cli_picture { CLI_GANTT, CLI_TRACE, CLI_MEMORY, CLI_REPORT, CLI_KINETO, CLI_CARD, CLI_NPICTURES };
struct cli_pictures {
    char path[CLI_NPICTURES][SS_OPTION_PATH_SIZE];
    double window[2]; /* begin and end of what pictures show, s; 0, 0: the whole iteration */
    int whole;        /* 1: --window all */
    int width;        /* px of each picture; 0: its own */
    int color;        /* enum ss_picture_color */
};

/* A file that is being written, or stdout. */
struct cli_output {
    struct ss_output *output;
    FILE *stream;
};
/* Pictures that are drawn before the answer is written. Their files appear only if the answer does. */
struct cli_drawn {
    struct cli_output file[CLI_NPICTURES]; /* output NULL: not wanted */
};

/* Rows that the table of options may have. */
#define CLI_MOST_OPTIONS 256

enum cli_form { CLI_FORM_BY_NAME, CLI_FORM_CSV, CLI_FORM_TEXT };

/* All that a prediction needs, checked and complete. */
struct cli_inputs {
    struct ss_scenario *scenario;
    struct ss_request how; /* options that say how it is simulated */
    size_t nfiles;         /* the job was read from the first nfiles of cli_files */
};

/* What is read of the words of a verb before its function is called. */
enum cli_reads {
    CLI_READS_NOTHING, /* all words stay */
    CLI_READS_OPTIONS, /* the words that are left are no options */
    CLI_READS_REQUEST, /* all words are options or of `request` */
    CLI_READS_JOB      /* all words are options or of the job of `in` */
};

/* A verb, its words, and the values of its options: the targets of the rows of options_table.c. */
struct cli_flags {
    struct ss_options options; /* the first member: offsets in it are those of the library's rows */
    int verb;                  /* enum cli_verb_id */
    int n;                     /* words */
    char **words;
    struct ss_request request;
    struct cli_inputs in;
    struct ss_bands *bands;                /* of cli_bands */
    unsigned char given[CLI_MOST_OPTIONS]; /* [row of the table]: 1 when the option was given */
    int help, json, brief, verbose, link, timing, expanded, xml, update;
    int man, list_options, shell;     /* shell: of cli_shell */
    char *line;                       /* never read: --complete takes all words behind it */
    int nodes, gpus_per_node;         /* 0 = not given */
    int stage;                        /* the pipeline stage of --steps */
    int port;                         /* the TCP port of serve */
    int starts;                       /* how many starts share tries */
    double tolerance;                 /* per cent; < 0: not given */
    char output[SS_OPTION_PATH_SIZE]; /* "" = stdout */
    char goal[SS_OPTION_PATH_SIZE], chakra[SS_OPTION_PATH_SIZE],
        ranks_csv[SS_OPTION_PATH_SIZE]; /* "" = not wanted */
    char kineto[SS_OPTION_PATH_SIZE], nsys[SS_OPTION_PATH_SIZE];
    char csv[SS_OPTION_PATH_SIZE], svg[SS_OPTION_PATH_SIZE], against[SS_OPTION_PATH_SIZE],
        timer_rows[SS_OPTION_PATH_SIZE];
    struct cli_pictures pictures;
    struct ss_texts sets;              /* --set for a platform; --set for a job is a word of its request */
    char journal[SS_OPTION_PATH_SIZE]; /* of the workers; "" = none */
    int top;                           /* layouts of search */
    double price;                      /* of capacity, --price */
    char *table;                       /* of check; NULL = not given */
    struct {
        char *sort; /* NULL = not given */
        int top, fits;
        char report[SS_OPTION_PATH_SIZE];
    } sweep;
    struct {
        struct ss_schedule_params shape;
        char *names, *times, *memory; /* NULL = not given */
        double cap;                   /* infinite = not given */
        double seed;
        int v, whole, no_barrier, form, width, steps, layouts;
    } schedule;
    struct {
        char *card; /* NULL = not given */
        struct ss_new_cluster made;
    } platform;
    struct {
        /* NULL = not given */
        char *platform, *stack, *nccl, *microbench, *log, *job, *leave_out, *stack_output;
        struct ss_texts rows, props;
        double seed;
        int timers;
    } calibrate;
};

/* Sets the values that a verb (enum cli_verb_id) has where no option is given. cli_flags_free frees all that was read. */
void cli_flags_init(struct cli_flags *flags, int verb);
void cli_flags_free(struct cli_flags *flags);
/* Reads the options of a subcommand that takes files or names, not a job; other words move to argv[0..*n-1]
 * in order. */
int cli_words(struct cli_flags *flags, int argc, char **argv, int *n, struct ss_error *err);

/* Reads the words of a job into `r`, which was initialised, and the options of the subcommand into *flags.
 * `how`, which was initialised or is NULL, gets the options that say how the job is simulated. */
int cli_request_read(struct ss_request *r, struct ss_request *how, struct cli_flags *flags, int argc,
                     char *const *argv, struct ss_error *err);
int cli_inputs_load(struct cli_inputs *in, struct cli_flags *flags, int argc, char *const *argv,
                    struct ss_error *err);
void cli_inputs_free(struct cli_inputs *in);
/* Loads the error bands of the data, for a prediction that is told in full. */
int cli_bands(struct cli_flags *flags, struct ss_error *err);
/* Marks that all inputs of the job are read: a file that is read later is no input of it. */
void cli_inputs_end(struct cli_inputs *in);
/* Loads a platform for commands without a job: --nodes, --gpus-per-node, and the --set of its props. */
int cli_platform_load(const char *name, const struct cli_flags *flags, struct ss_platform **out,
                      struct ss_error *err);

/* Adds each --vary. It takes flags of a job and refuses options of the program. */
int cli_vary_read(struct ss_sweep *vary, const struct cli_flags *flags, struct ss_error *err);

int cli_usage(struct ss_error *err, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fills in the usage error for a word that is none of `names`, and returns it. The error hints at the
 * nearest name, or else says `hint`. */
int cli_unknown(struct ss_error *err, const char *what, const char *word, const char *const *names, size_t n,
                const char *hint);
/* Reads the value of an option as a number from lo to hi. */
int cli_number(const char *name, const char *value, double lo, double hi, double *out, struct ss_error *err);
/* Each returns a usage error: no command, or no verb, has this name. The verb's name may be NULL: none
 * was given. */
int cli_unknown_command(const char *name, struct ss_error *err);
int cli_unknown_verb(const char *command, const char *name, struct ss_error *err);
/* Reports an error (on stdout as JSON if the words ask for it, else on stderr); returns the exit status. */
int cli_fail(const struct ss_error *err, int json);
int cli_has_word(int argc, char *const *argv, const char *word);
/* The first notes when the command begins; the second returns the seconds since then. */
void cli_wall_start(void);
double cli_wall_s(void);
/* Returns 1 when the descriptor is a terminal that shows colours and can rewrite a line, which TERM=dumb
 * cannot. */
int cli_terminal(int fd);
/* Returns how many columns text on a descriptor has: $STEPSIM_COLUMNS; else on a terminal $COLUMNS, or as many as it says; and elsewhere SS_TEXT_WIDTH. */
int cli_columns(int fd);
/* Returns how the answer is to be written: with colours on a terminal alone, where NO_COLOR is not set. */
struct ss_display cli_view(const struct cli_flags *flags);

/* Draws what the flags ask for; run, steps and report may be NULL. A failure leaves no file. */
int cli_pictures_draw(struct cli_drawn *drawn, const struct cli_flags *flags,
                      const struct ss_program *program, const struct ss_timeline *timeline,
                      const struct ss_run *run, const struct ss_card_steps *steps,
                      const struct ss_report_options *report, struct ss_error *err);
/* Puts the drawn files in their places if rc, the status of the answer, is 0, and throws them away if
 * not. Returns rc, or the error of a file that could not be put in its place. */
int cli_pictures_end(struct cli_drawn *drawn, int rc, struct ss_error *err);
/* Returns the list of the files that this command has read. Every loader gets the list, or its caller
 * adds the path. */
struct ss_files *cli_files(void);
/* Checks the outputs of a command: no two are one file, none is the file that stdout goes to (by device and
 * inode), each can be written, and none destroys a file of another kind or one of cli_files. */
int cli_outputs_check(const struct cli_flags *flags, struct ss_error *err);
/* Does ss_output_begin for a program that a signal may end: the unfinished file is then removed. None of
 * cli_files is overwritten. */
int cli_output_begin(const char *path, struct cli_output *out, struct ss_error *err);
/* Does as cli_output_begin, for a file that the program has read and shall bring up to date. */
int cli_output_renew(const char *path, struct cli_output *out, struct ss_error *err);
/* Does as ss_output_end for an output of cli_output_begin or cli_output_renew. */
int cli_output_end(struct cli_output *out, int rc, struct ss_error *err);
/* Writes a file unless an earlier step failed, of which `rc` holds the status: `write` is a call that writes to `stream`. */
#define CLI_WRITE(rc, path, write, err)                                                                      \
    do {                                                                                                     \
        struct cli_output written;                                                                           \
        SS_THEN(rc, cli_output_begin(path, &written, err));                                                  \
        if (!(rc)) {                                                                                         \
            FILE *const stream = written.stream;                                                             \
            (rc) = cli_output_end(&written, write, err);                                                     \
        }                                                                                                    \
    } while (0)
/* Writes the file of --ranks-csv. `plan` is NULL for a program that was read from a file. */
int cli_ranks_write(const struct cli_flags *flags, const struct ss_plan *plan,
                    const struct ss_program *program, const struct ss_timeline *timeline,
                    struct ss_error *err);

/* Joins the processes that mpirun started, for a verb that shares its work. All processes but the first say
 * and write nothing from here on. */
int cli_team_join(int verb, struct ss_error *err);
/* Returns the processes that cli_team_join joined; NULL: none. */
struct ss_team *cli_team(void);
/* Leaves the joined processes, once all output is written. Returns the exit status of this process, or
 * ends this process. */
int cli_team_leave(int status, const struct ss_error *err);
/* Returns the workers that the flags ask for. They point to the flags' path of the journal. */
struct ss_workers cli_workers(const struct cli_flags *flags);

/* Shows "replaying:  37 %" if stderr is a terminal, and rewrites the line at each call. `ctx` is the
 * word, "replaying". */
void cli_progress(void *ctx, double share);
/* What a line of progress is about: {.what = "searching"}, and when it was shown, s. */
struct cli_meter {
    const char *what;
    double shown;
};
void cli_progress_end(void);
/* ---- watch.c ---- */
/* From here on the process says how far it is: each second on a terminal, a line every ten seconds elsewhere; and what is kept in the
 * journal (NULL: there is none; "": the command has none) when it is interrupted. Show tells how much is done, of how much that is known by now (0: of how much
 * is not known). STEPSIM_PROGRESS=off in the environment: it says how far it is only when it is interrupted. */
void cli_watch_begin(const char *what, const char *journal);
void cli_watch_show(void *ctx, int done, int all);
/* What an interrupt tells as the best so far. */
void cli_watch_best(const char *text);
void cli_watch_end(void);

/* Runs the command of these words (argv[0] is the program's name) on the present stdin, stdout and stderr.
 * Returns the exit status. It restores all that it changes in the process except handlers of signals, so a
 * process may run many commands, one after another. */
int cli_main(int argc, char **argv);
/* The function of a verb. Returns the exit status (>= 0) or an error. */
typedef int cli_function(struct cli_flags *f, struct ss_error *err);
#define X(symbol, command, verb, function, reads) cli_function function;
CLI_VERB_LIST(X)
#undef X
