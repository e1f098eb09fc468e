/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of this room share. */
#pragma once

#include <stdbool.h>

#include "job/asked.h"
#include "stepsim/stack.h"
#include "stepsim/study.h"

struct ss_grid;
struct ss_json;

/* ---- changes.c ---- */
/* Adds words, separated by blanks, at the end of a request. Errors: those of ss_request_set. */
int ss_study_add_words(struct ss_request *r, const char *words);

/* ---- sweep.c ---- */
struct ss_sweep;
struct ss_sweep_flag;
/* Notes and removes flags of the command line that the values of a sweep beat. What a file says is there to be varied.
 * Error: SS_ERR_NOMEM. */
int ss_sweep_note_beaten(const struct ss_sweep *s, struct ss_request *base, struct ss_error *err);
/* Returns whether values i and k of a flag are one thing: the same text, number or choice in any spelling, the same prop with the same
 * value in any unit, or the same file. */
int ss_sweep_same_value(const struct ss_sweep_flag *f, int i, int k);
/* Returns whether the values of one flag leave nothing of what another said before, whichever of its values that was. */
int ss_sweep_hides(const struct ss_sweep_flag *over, const struct ss_sweep_flag *under);
/* Hashes what the predictions of a sweep or search depend on, apart from the library: the words, the
 * varied values, the engine, and the contents of these files. Error: SS_ERR_IO. */
int ss_sweep_digest(const struct ss_sweep *vary, const struct ss_request *base, int engine,
                    const struct ss_files *files, uint64_t *out, struct ss_error *err);

/* ---- warnings.c ---- */
/* How the notes on what was assumed begin. */
#define SS_ASSUMED_HERE "assumed, for nobody said otherwise; the error bands hold what that may cost: "
/* Adds to *out the notes of the scenario that these words make, except about a measurement, which is
 * taken out of the words. It adds none where the words are refused. Of `how`, which may be NULL, only
 * the asker and `like` are used. Errors: SS_ERR_NOMEM, and those of ss_scenario_build that are no
 * refusal. */
int ss_warnings_find(struct ss_request *r, const struct ss_scenario_options *how, struct ss_notes *out,
                     struct ss_error *err);

/* Makes *out, which must not be initialised, the request `base` with the words of the text `words` in a place
 * behind its own. The caller frees *out with ss_request_free, unless the call fails. Errors: SS_ERR_NOMEM, those
 * of ss_request_read_text. */
int ss_request_behind(const struct ss_request *base, const char *words, struct ss_request *out,
                      struct ss_error *err);

/* ---- warnings.c ---- */
/* Writes the premises of a job without what `vary` (NULL: nothing) varies: the first line above a table. The
 * line is "" where the words are refused. A buffer of SS_PREMISES_SIZE holds it. Errors: SS_ERR_NOMEM, and those
 * of ss_scenario_build that are no refusal. */
int ss_premises_find(const struct ss_request *r, const struct ss_scenario_options *how,
                     const struct ss_sweep *vary, char *buf, size_t size, struct ss_error *err);
/* Does so for the job `base` with the words of the text `words` behind its own. */
int ss_premises_behind(const struct ss_request *base, const char *words,
                       const struct ss_scenario_options *how, const struct ss_sweep *vary, char *buf,
                       size_t size, struct ss_error *err);

/* ---- sweep_report.c ---- */
/* Writes an empty line, and then a line for each way in which a row is best. */
void ss_sweep_answer(const struct ss_sweep *s, FILE *out);
/* Returns whether a row shows an MFU with half of the attention square, too. */
int ss_sweep_is_causal(const struct ss_sweep *s);
/* Returns 1 if any row has a cost. */
int ss_sweep_is_priced(const struct ss_sweep *s);

/* ---- cases.c: rows made ready to predict ---- */
struct ss_input_cache;
enum ss_case_state { SS_CASE_READY, SS_CASE_REFUSED, SS_CASE_UNSUPPORTED, SS_CASE_NOTHING };
struct ss_case {
    const struct ss_table *table;
    int row;
    int state;
    char reason[320];          /* REFUSED and UNSUPPORTED: why */
    char blamed[256];          /* REFUSED: the flags that the refusal comes from */
    struct ss_request request; /* the words of the job, which may have --set */
    struct ss_asked asked;
    struct ss_job job; /* the finished job; for a refused row the job as it is asked for */
    struct ss_stack stack;
    struct ss_platform *platform;
    struct ss_input_cache *loaded;     /* what the jobs of all rows have read of files; may be NULL */
    double measured_s, measured_bytes; /* 0 = none */
};
/* Chooses the rows of a platform, and what they run with. */
struct ss_case_choice {
    const char *platform; /* name or path; NULL: each row's own */
    const char *stack;    /* NULL: each row's own */
    const double *spread; /* NULL: each row's own */
};
struct ss_cases {
    int ntables, n;
    struct ss_table **tables;
    struct ss_case *cases;
    struct ss_input_cache *loaded;
};
/* Loads the rows of tables as cases. Rows that `choice`, which may be NULL, leaves out are
 * SS_CASE_NOTHING. `files`, which may be NULL, gets the files that are read. */
int ss_cases_load(const char *const *tables, int ntables, const struct ss_case_choice *choice,
                  struct ss_files *files, struct ss_cases *out, struct ss_notes *notes, struct ss_error *err);
/* Loads platform and stack of c->asked, sets what c->request says, and makes c->job. The caller frees what a case holds with
 * ss_case_free. */
int ss_case_finish(struct ss_case *c, struct ss_files *files, struct ss_error *err);
void ss_case_free(struct ss_case *c);
void ss_cases_free(struct ss_cases *c);

#define SS_PREDICTION_TIMERS 16
struct ss_prediction {
    int state; /* enum ss_case_state: a plan may be refused too */
    struct ss_summary summary;
    double device, reserved, allocated; /* bytes */
    int stage_like; /* the stage whose device memory is nearer to the measured than the peak is; -1: none */
    double stage_device; /* device memory of that stage, bytes */
    int ntimers;         /* timers of the last rank, named as by the stack's framework */
    struct ss_timer timers[SS_PREDICTION_TIMERS];
};
/* Predicts a case. Only faults of this machine are errors: a refusal by the model is in *out. */
int ss_case_predict(const struct ss_case *c, const struct ss_run_options *options, struct ss_prediction *out,
                    struct ss_error *err);
/* Returns the memory_kind that the table has for a row, or else the kind that the row's framework
 * reports; "": the row has no figure of memory. */
const char *ss_case_memory_kind(const struct ss_case *c);
/* Returns the peak that a table's memory_kind means. */
double ss_prediction_memory(const struct ss_prediction *p, const char *memory_kind);
/* Returns a timer in s by its name; NaN: it is not predicted. */
double ss_prediction_timer(const struct ss_prediction *p, const char *name);

/* ---- timer_rows.c: a CSV file with the columns run (the id of a table's row), timer and ms ---- */
struct ss_timer_row {
    char run[96];
    struct ss_timer timer;
    int line;
};
struct ss_timer_rows {
    char file[256];
    int n;
    struct ss_timer_row *rows;
};
/* Reads such a file. It is given by its path, or by its name in validation/. */
int ss_timer_rows_load(const char *name_or_path, struct ss_timer_rows *out, struct ss_error *err);
/* Reads such a file from memory. Messages call it `name`. */
int ss_timer_rows_parse(const char *text, size_t len, const char *name, struct ss_timer_rows *out,
                        struct ss_error *err);
/* Adds a note that the tables have no such run. */
void ss_timer_rows_stranger(const char *run, struct ss_notes *notes);
void ss_timer_rows_free(struct ss_timer_rows *t);
/* Timers that take a smaller share of the iteration are in no fit and no figure, because their relative
 * errors say nothing. */
#define SS_SMALLEST_TIMER 0.01

/* ---- log_lines.c ---- */
/* Takes one line without its end, which it may change, and the line's number. Returns 0, or an error,
 * which ends the reading. */
typedef int (*ss_log_line)(void *reader, char *line, int number);
/* Calls `line` for every line that is not empty, without the prefix of a launcher. The lines are those
 * of text[len], or of the file `name` (at most 256 MiB) where text is NULL. A NUL counts as a blank. */
int ss_log_read(const char *name, const char *text, size_t len, ss_log_line line, void *reader,
                struct ss_error *err);

/* ---- validate_stats.c ---- */
/* Fills *out with the statistics of errors[n], and leaves their absolute values in order of size. */
void ss_error_stat_fill(double *errors, int n, struct ss_error_stat *out);
/* Returns {"n": 3, "mean_abs_pct": 1.2, ...}. */
struct ss_json *ss_error_stat_json(const struct ss_error_stat *s);
/* Fills in the summary and the groups from the rows. */
int ss_validation_summarise(struct ss_validation *v, struct ss_error *err);

/* ---- validate_text.c: a line or an object of a summary, as all tables of them have it ---- */
void ss_summary_begin(struct ss_grid *grid);
void ss_summary_add(const struct ss_validation_summary *s, struct ss_grid *grid);
struct ss_json *ss_summary_json(const struct ss_validation_summary *s);

/* ---- regret.c: layouts chosen by prediction among those measured ---- */
#define SS_REGRET_LEAST 4 /* layouts of a group that ran */
struct ss_regret_group {
    const struct ss_validation_row *chosen, *best; /* predicted best and measured best */
    int rows, ran, oom, false_fits, false_refusals;
    double regret,
        regret3; /* over the best, of the predicted best and of the three; NaN: none is predicted */
    int pairs, pairs_right; /* of those that differ by more than 5 % */
};
enum ss_regret_by {
    SS_REGRET_BY_NOTHING,
    SS_REGRET_BY_TP,
    SS_REGRET_BY_MBS,
    SS_REGRET_BY_MFU,
    SS_REGRET_BY_COUNT
};
struct ss_regret_slice {
    int by; /* enum ss_regret_by */
    struct ss_validation_summary of;
};
/* What holds for a table. */
struct ss_regret_table {
    const char *name;
    struct ss_regret_group *groups;
    int ngroups, nslices, worst;    /* worst: index of a group, -1: none */
    struct ss_regret_group mean;    /* sums, and means of both regrets; no rows */
    struct ss_regret_slice *slices; /* of rows that ran; the first has all of them */
    int oom, oom_right;             /* rows out of memory, and predicted too large */
};
struct ss_regret {
    int ntables;
    struct ss_regret_table *tables;
};
/* Sets the group of every row: rows of equal model, machine, software, batch, sequence and kernels. */
void ss_regret_groups(const struct ss_cases *cases, struct ss_validation_row *rows);
/* Judges the groups of all tables. The caller frees *out, which borrows from `v`, with ss_regret_free. */
int ss_regret_make(const struct ss_validation *v, struct ss_regret *out, struct ss_error *err);
void ss_regret_free(struct ss_regret *r);
