/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a run as fast as such a job is? What was measured beside what is predicted, and suspects where they differ.
 *
 *     struct ss_measurement m = {0};
 *     ss_measurement_add(&m, "--tokens-per-second", "7123/gpu", &err);      or ss_measurement_log
 *     ss_run_scenario(...);                                                 stepsim/result.h
 *     ss_check(&run, &options, &m, SS_CHECK_SUSPECTS, &check, &err);        large: allocate it
 *     ss_check_write(&check, &run, SS_CHECK_TEXT, stdout, &err);
 */
#pragma once

#include "stepsim/explain.h"
#include "stepsim/train_log.h"

SS_C_BEGIN

/* X(symbol, key in JSON, words on time, key of memory, words on memory, exit status of the program) */
#define SS_CHECK_LIST(X)                                                                                     \
    X(SS_CHECK_AS_PREDICTED, "as-predicted", "as fast as such a job is", "as-predicted",                     \
      "as much as such a job takes", 0)                                                                      \
    X(SS_CHECK_SLOWER, "slower", "slower", "more", "more than such a job takes", 5)                          \
    X(SS_CHECK_FASTER, "faster", "faster than predicted", "less", "less than such a job takes", 6)           \
    X(SS_CHECK_UNCLEAR, "unclear", "no verdict", "unclear", "no verdict", 7)
enum ss_check_verdict {
#define X(symbol, key, words, memory_key, memory, status) symbol,
    SS_CHECK_LIST(X)
#undef X
        SS_CHECK_VERDICTS
};
/* Returns the key of a verdict in JSON: "slower". Never NULL. */
const char *ss_check_key(int verdict);
/* Returns the words of a verdict on time. Never NULL. */
const char *ss_check_words(int verdict);
/* Returns the key of a verdict on memory: "more". Never NULL. */
const char *ss_check_memory_key(int verdict);
/* Returns the words of a verdict on memory. Never NULL. */
const char *ss_check_memory_words(int verdict);

/* What was measured; {0}: nothing. */
struct ss_measurement {
    double told[SS_TOLD_COUNT]; /* [enum ss_told] in the units of struct ss_train_log; 0: not told */
    int count;                  /* enum ss_flop_count: how the FLOP of TFLOP/s and MFU were counted */
    int logger;                 /* enum ss_logger */
    int iterations, used;       /* iterations in the log, and those that were averaged; 0: no log */
    int whole_run;              /* 1: the figures are a mean that includes the first iterations */
    double spread;              /* relative spread of the log's iterations */
    char file[256];             /* the log; "": none */
    int micro;  /* as of struct ss_train_log: micro, unread, unread_line, unread_text, doubt */
    int passes; /* microbatches by which a time of one was multiplied; 0: none */
    int unread, unread_line;
    char unread_text[96], doubt[320];
};
/* Adds the figure of an option: --tokens-per-second N[/gpu], --samples-per-second N, --tflops N[:COUNT], --mfu N%[:COUNT], --memory
 * SIZE[:device|reserved|allocated]; COUNT is causal, windows, full or hardware. Error: SS_ERR_USAGE. */
int ss_measurement_add(struct ss_measurement *m, const char *option, const char *value, struct ss_error *err);
/* Adds the time that a job is said to take, and the memory where no option says it. */
void ss_measurement_add_job(struct ss_measurement *m, const struct ss_scenario *s);
/* Adds what a log tells. */
void ss_measurement_log(struct ss_measurement *m, const struct ss_train_log *log, const char *file);
/* Returns 1 when the measurement tells how fast the run is or how much memory it takes. */
int ss_measurement_tells(const struct ss_measurement *m);

/* One figure, measured and predicted, in the unit of enum ss_told. */
struct ss_check_figure {
    int told, count; /* enum ss_told; enum ss_flop_count of a rate of FLOP, never SS_COUNT_STACK */
    double measured, predicted;
};
#define SS_SUSPECTS_MOST 16
/* A possible cause: with it the prediction would be what was measured. */
struct ss_suspect {
    char id[32];      /* "nic", "straggler" */
    char what[160];   /* "each NIC at 38 % of its rate" */
    char change[224]; /* words behind those of the job that were simulated; "": none */
    char next[224];   /* what the user should measure next */
    double seconds;   /* predicted s of an iteration with the change; NaN: not simulated */
    double share;     /* the part of the difference that the change explains, 1: all of it; NaN: not known */
    int explains; /* 1: the change explains half of the difference, and with it the measurement is inside the error band */
    double rank; /* smaller is likelier */
};
struct ss_checked {
    struct ss_measurement measured;
    int verdict;          /* enum ss_check_verdict: on time, or on memory where no time was measured */
    int timed, stored;    /* 1: time, memory was measured */
    double measured_s;    /* s of an iteration, computed from the first figure */
    double low_s, high_s; /* s: 90 % of such jobs take between these */
    double band_pct;      /* the error band, +- per cent of the measured time */
    int band_known;       /* 0: no job like it was ever measured, and band_pct is an assumption */
    int memory_verdict;   /* enum ss_check_verdict */
    double memory_low,
        memory_high; /* bytes: the limits within which the first figure of memory is as predicted */
    int nfigures;
    struct ss_check_figure figure[SS_TOLD_COUNT]; /* the first figure that tells the speed stands first */
    int nsuspects;
    struct ss_suspect suspect[SS_SUSPECTS_MOST]; /* likeliest first */
    int runs;                                    /* simulations besides that of the job */
    char doubt[320];            /* why the figures cannot be those of one run of this job; "": they can */
    int contradicts;            /* 1: for that there is no verdict */
    struct ss_explanation help; /* for a slower run: changes that make such a job faster in any case */
};
enum ss_check_depth { SS_CHECK_VERDICT, SS_CHECK_SUSPECTS };
/* Checks a run that was made with open_compute. The run's scenario must be alive, and the measurement
 * must tell something. `options` are the options of the run. Errors: SS_ERR_INPUT (the log is of another
 * global batch), SS_ERR_NOMEM, and those of ss_run_scenario. */
int ss_check(const struct ss_run *run, const struct ss_run_options *options, const struct ss_measurement *m,
             enum ss_check_depth depth, struct ss_checked *out, struct ss_error *err);
/* Returns the exit status that tells the verdict. It does not tell whether the job is predicted to fit,
 * because the job ran. */
int ss_check_status(const struct ss_checked *c);
enum ss_check_form { SS_CHECK_TEXT, SS_CHECK_BRIEF, SS_CHECK_JSON };
/* Writes a check; the view, which may be NULL, is that of the text. Error: SS_ERR_IO. */
int ss_check_write(const struct ss_checked *c, const struct ss_run *run, enum ss_check_form form,
                   const struct ss_display *view, FILE *out, struct ss_error *err);

/* Checks a job on each row of a CSV file: columns are flags of the job ("tp", "--tp") and at least one of seconds, ms,
 * tokens_per_s, tokens_per_s_per_gpu, samples_per_s, tflops, mfu, memory. Writes one line a row, or JSON; *status gets the exit
 * status of the worst row, where slower is worse than faster. `options` of native runs. Errors: SS_ERR_IO, SS_ERR_INPUT, and those
 * of ss_check; a refused row has a verdict. */
int ss_check_table(const struct ss_request *job, const char *csv, const struct ss_run_options *options,
                   const struct ss_scenario_options *how, enum ss_check_form form,
                   const struct ss_display *view, FILE *out, int *status, struct ss_error *err);

SS_C_END
