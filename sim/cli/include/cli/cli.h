/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands share. Only public headers: the program is one user of the library among others. */
#ifndef SS_CLI_H
#define SS_CLI_H

#include "cli/options.h"
#include "stepsim/stepsim.h"

/* "" = not wanted */
enum cli_picture { CLI_GANTT, CLI_TRACE, CLI_MEMORY, CLI_REPORT, CLI_KINETO, CLI_NPICTURES };
struct cli_pictures {
    char path[CLI_NPICTURES][CLI_PATH_SIZE];
    double window[2]; /* s; 0, 0 = all */
    int color;        /* enum ss_picture_color */
};

/* Pictures that have been drawn and wait for the answer: there is none without it. */
struct cli_drawn {
    struct ss_output *output[CLI_NPICTURES]; /* NULL: not wanted */
};

/* The values of an option that may be repeated. */
struct cli_texts {
    int n;
    char **text;
};

/* Options of check that have a figure, in the order of its messages. */
#define CLI_FIGURES 5

enum cli_form { CLI_FORM_BY_NAME, CLI_FORM_CSV, CLI_FORM_TEXT };

/* The values of the options of a command line: the targets of the rows of options_table.c. */
struct cli_flags {
    int verb;                 /* enum cli_verb_id */
    unsigned char given[160]; /* by row of the table */
    int help, json, brief, timing, expanded, xml, update, coverage;
    int man, list_options, shell; /* shell: of cli_shell */
    char *line;                   /* only named: --complete takes all words behind it */
    int nodes, gpus_per_node;     /* 0 = not given */
    int stage;                    /* of --steps */
    int port;                     /* of serve */
    int starts;                   /* of share */
    double tolerance;             /* per cent, < 0 = not given */
    double spread;                /* of all rows, < 0 = not given */
    char output[CLI_PATH_SIZE];   /* "" = stdout */
    char goal[CLI_PATH_SIZE], chakra[CLI_PATH_SIZE], ranks_csv[CLI_PATH_SIZE]; /* "" = not wanted */
    char kineto[CLI_PATH_SIZE], nsys[CLI_PATH_SIZE];
    char csv[CLI_PATH_SIZE], svg[CLI_PATH_SIZE], against[CLI_PATH_SIZE], timer_rows[CLI_PATH_SIZE];
    struct cli_pictures pictures;
    struct ss_run_words how;
    struct cli_texts sets; /* --set for a platform; --set for a job is a word of its request */
    struct cli_texts vary;
    struct cli_texts with;
    struct ss_workers workers;   /* all but the journal, which cli_workers adds */
    char journal[CLI_PATH_SIZE]; /* "" = none */
    struct {
        int top, exhaustive, unconfirmed;
    } search;
    struct {
        char *tokens, *deadline, *budget; /* NULL = not given */
        double price;
        int layout; /* enum ss_capacity_layout */
    } capacity;
    struct {
        /* NULL = not given */
        char *figure[CLI_FIGURES], *log, *table;
    } check;
    struct {
        char *sort; /* NULL = not given */
        int top, fits;
        char report[CLI_PATH_SIZE];
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
        struct cli_texts rows, props;
        int timers;
    } calibrate;
};

/* All that a prediction needs, checked and complete. */
struct cli_inputs {
    struct ss_scenario *scenario;
    struct ss_request how; /* options that say how it is simulated */
    size_t nfiles;         /* number of first cli_files from which the job was read */
};

/* Sets the values of a verb without options (enum cli_verb_id); cli_flags_free frees what was read. */
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
/* Marks that all inputs of the job are read: a file that is read later is no input of it. */
void cli_inputs_end(struct cli_inputs *in);
/* Loads a platform for commands without a job: --nodes, --gpus-per-node, and the --set of its props. */
int cli_platform_load(const char *name, const struct cli_flags *flags, struct ss_platform **out,
                      struct ss_error *err);

/* Adds a --vary, for a flag of the job, not for an option of the program. */
int cli_vary_read(struct ss_sweep *vary, const char *text, struct ss_error *err);

int cli_usage(struct ss_error *err, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The usage error of a word that is none of `names`: the nearest one as hint, else `hint`. */
int cli_unknown(struct ss_error *err, const char *what, const char *word, const char *const *names, size_t n,
                const char *hint);
/* The value of an option as a number from lo to hi. */
int cli_number(const char *name, const char *value, double lo, double hi, double *out, struct ss_error *err);
/* The usage errors of a command and of a verb (NULL: none was given) that are not there. */
int cli_unknown_command(const char *name, struct ss_error *err);
int cli_unknown_verb(const char *command, const char *name, struct ss_error *err);
/* Reports an error (on stdout as JSON if the words ask for it, else on stderr); returns the exit status. */
int cli_fail(const struct ss_error *err, int json);
int cli_has_word(int argc, char *const *argv, const char *word);
/* The command begins; seconds since then. */
void cli_wall_start(void);
double cli_wall_s(void);
/* 1 when the descriptor is a terminal that knows colours and lines written anew: not one of TERM=dumb. */
int cli_terminal(int fd);
/* 1 when text on stdout may be coloured. */
int cli_color(const struct cli_flags *flags);

/* Draws what the flags ask for; run and report may be NULL. A failure leaves no file. */
int cli_pictures_draw(struct cli_drawn *drawn, const struct cli_flags *flags,
                      const struct ss_program *program, const struct ss_timeline *timeline,
                      const struct ss_run *run, const struct ss_report_options *report, struct ss_error *err);
/* Puts the drawn files in their places where rc, the status of the answer, is 0, else throws them away. Returns the status of
 * both. */
int cli_pictures_end(struct cli_drawn *drawn, int rc, struct ss_error *err);
/* The files that this command has read. Every loader gets it, or its caller adds the path. */
struct ss_files *cli_files(void);
/* Checks the outputs of a command: no two are one file, none is the file that stdout goes to (by device and
 * inode), each can be written, and none destroys a file of another kind or one of cli_files. */
int cli_outputs_check(const struct cli_flags *flags, struct ss_error *err);
/* Does ss_output_begin for a program that a signal may end: the unfinished file is then removed. None of
 * cli_files is overwritten. */
int cli_output_begin(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err);
/* Does so for a file that the program reads and is asked to bring up to date. */
int cli_output_renew(const char *path, struct ss_output **out, FILE **stream, struct ss_error *err);
/* As ss_output_end. */
int cli_output_end(struct ss_output *o, int rc, struct ss_error *err);
/* Writes --ranks-csv; plan NULL: for a program. */
int cli_ranks_write(const struct cli_flags *flags, const struct ss_plan *plan,
                    const struct ss_program *program, const struct ss_timeline *timeline,
                    struct ss_error *err);

/* Joins the processes that mpirun started, for a verb that shares its work. All processes but the first say
 * and write nothing from here on. */
int cli_team_join(int verb, struct ss_error *err);
/* Those; NULL: none. */
struct ss_team *cli_team(void);
/* Leaves them, behind all output. Returns the exit status of this process, or ends it. */
int cli_team_leave(int status, const struct ss_error *err);
/* Who does the work, as the flags say; the path of the journal is that of the flags. */
struct ss_workers cli_workers(const struct cli_flags *flags);

/* For a terminal on stderr: "replaying:  37 %", rewritten in place; ctx is the word. */
void cli_progress(void *ctx, double share);
/* The state of a line of progress; it begins with {.what = "searching"}. */
struct cli_meter {
    const char *what;
    double start, shown; /* s */
    double first;        /* done when it began: by an earlier run */
};
/* "searching:  37 %, 812 a second, 12 s left", not more often than ten times a second. */
void cli_meter_show(struct cli_meter *m, double done, double all);
void cli_progress_end(void);

/* Runs the command of these words (argv[0] is the program's name) on the present stdin, stdout and stderr.
 * Returns the exit status. It restores all that it changes in the process except handlers of signals, so a
 * process may run many commands, one after another. */
int cli_main(int argc, char **argv);
/* One function for each verb, for the words behind its name. Each returns the exit status (>= 0) or an
 * error. */
int cmd_run(int argc, char **argv, struct ss_error *err);
int cmd_search(int argc, char **argv, struct ss_error *err);
int cmd_sweep(int argc, char **argv, struct ss_error *err);
int cmd_compare(int argc, char **argv, struct ss_error *err);
int cmd_explain(int argc, char **argv, struct ss_error *err);
int cmd_check(int argc, char **argv, struct ss_error *err);
int cmd_share(int argc, char **argv, struct ss_error *err);
int cmd_capacity(int argc, char **argv, struct ss_error *err);
int cmd_serve(int argc, char **argv, struct ss_error *err);
int cmd_plan(int argc, char **argv, struct ss_error *err);
int cmd_import(int argc, char **argv, struct ss_error *err);
int cmd_program_write(int argc, char **argv, struct ss_error *err);
int cmd_program_read(int argc, char **argv, struct ss_error *err);
int cmd_program_check(int argc, char **argv, struct ss_error *err);
int cmd_schedule_list(int argc, char **argv, struct ss_error *err);
int cmd_schedule_show(int argc, char **argv, struct ss_error *err);
int cmd_schedule_write(int argc, char **argv, struct ss_error *err);
int cmd_schedule_check(int argc, char **argv, struct ss_error *err);
int cmd_schedule_compare(int argc, char **argv, struct ss_error *err);
int cmd_schedule_search(int argc, char **argv, struct ss_error *err);
int cmd_platform_show(int argc, char **argv, struct ss_error *err);
int cmd_platform_draw(int argc, char **argv, struct ss_error *err);
int cmd_platform_check(int argc, char **argv, struct ss_error *err);
int cmd_platform_new(int argc, char **argv, struct ss_error *err);
int cmd_platform_import(int argc, char **argv, struct ss_error *err);
int cmd_validate(int argc, char **argv, struct ss_error *err);
int cmd_calibrate(int argc, char **argv, struct ss_error *err);
int cmd_doctor(int argc, char **argv, struct ss_error *err);
int cmd_list(int argc, char **argv, struct ss_error *err);
int cmd_help(int argc, char **argv, struct ss_error *err);
int cmd_version(int argc, char **argv, struct ss_error *err);

#endif
