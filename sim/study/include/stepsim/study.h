/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictions held against measurements: tables of measured runs, their prediction, and the fit of
 * numbers that no data sheet tells.
 */
#pragma once

#include "stepsim/table.h"
#include "stepsim/text.h"
#include "stepsim/train_log.h"

SS_C_BEGIN

/* ---- validate ---- */
struct ss_bands;
/* Words of `outcome`: ok, oom, config-error, framework-error, not-run; of predicted_outcome: ok, oom, config-error,
 * unsupported, or "" where there is nothing to predict. */
struct ss_validation_bound {
    double seconds, bytes; /* of an iteration; in the row's memory_kind; 0 = none */
};
struct ss_validation_row {
    int experts; /* 0: a dense model */
    int hybrid;  /* 1: layers of another mixer than full or windowed attention */
    char id[96], table[64], source[80], model[64], gpu[48], card[48], precision[16], platform[64], stack[64];
    char family[32]; /* of the stack */
    double
        weight; /* runs that it counts as in the error bands: 1 but where the runs of a table are not independent */
    char configuration[160]; /* one line for people */
    char quality[32], outcome[24], predicted_outcome[24], memory_kind[16];
    /* of a prediction that is not ok, whose memory a measured one is like, or what the table says */
    char reason[320];
    int counted; /* its quality counts in the summary */
    int right;   /* outcome: 1 right, 0 wrong, -1 not judged */
    int gpus;
    int tp, micro_batch, seq_length;
    char layout[96],
        setting[256];          /* what a group's rows differ in and what they have in common, for people */
    int group;                 /* index of the first row of its group (--regret) */
    struct ss_summary summary; /* of the prediction; all 0 where there is none */
    double measured_s;         /* 0 = none */
    double measured_bytes, predicted_bytes; /* in the row's own memory_kind, 0 = none */
    /* of a mixture whose recompute is unknown: with nothing and with everything recomputed */
    struct ss_validation_bound none, full;
};
/* Returns the error of the time, 100 (predicted - measured) / measured; NaN where one of them is missing. */
double ss_validation_time_error(const struct ss_validation_row *row);
/* Returns the error of the memory, likewise. */
double ss_validation_memory_error(const struct ss_validation_row *row);

struct ss_error_stat {
    int n;
    double mean_abs, median_abs, worst_abs, bias; /* per cent */
};
struct ss_validation_summary {
    char name[96];
    struct ss_error_stat time, memory;
    int outcomes, right;
};
struct ss_validation_timer {
    char id[96]; /* of its run */
    char name[48];
    double measured_s, predicted_s; /* predicted: NaN = not simulated, or not of these tables */
    int counted;                    /* of a run that counts, and a hundredth of its iteration or more */
};
/* Returns the error of a timer, 100 (predicted - measured) / measured; NaN where it is not predicted. */
double ss_validation_timer_error(const struct ss_validation_timer *timer);
enum ss_validation_group {
    SS_BY_MODEL,
    SS_BY_GPU,
    SS_BY_PRECISION,
    SS_BY_SOURCE, /* source and platform */
    SS_BY_OUTCOME,
    SS_BY_QUALITY, /* of the rows that the summary leaves out */
    SS_BY_COUNT
};
struct ss_validation {
    int nrows;
    struct ss_validation_row *rows;
    int ntimers;
    struct ss_validation_timer *timers; /* in the order of their file */
    struct ss_error_stat timer_error;   /* of those that take a hundredth of the iteration or more */
    int unsupported;                    /* rows that are not modelled: neither passed nor failed */
    struct ss_validation_summary all;
    int ngroups[SS_BY_COUNT];
    struct ss_validation_summary *groups[SS_BY_COUNT];
    struct ss_notes notes;
};
struct ss_validate_options {
    int engine;             /* enum ss_engine */
    const char *timer_rows; /* NULL or measured timers of rows of the tables: run, timer, ms */
    const double *spread; /* times the lasting spread of GPUs, as --spread of a job; NULL: as each row says */
    void (*progress)(void *ctx, int done, int total, const char *id); /* may be NULL */
    void *ctx;
    struct ss_files *files;    /* gets the files that are read; may be NULL */
    struct ss_workers workers; /* that predict rows; no journal */
};
/* Predicts every row of the tables, names or paths, and holds it against what was measured; `opt` may not be NULL. The caller
 * frees *out with ss_validation_free. Errors: SS_ERR_IO, SS_ERR_INPUT (a row that cannot be read, with its line), and those of
 * the engine; a row that is refused is a result. */
int ss_validate(const char *const *tables, int ntables, const struct ss_validate_options *opt,
                struct ss_validation **out, struct ss_error *err);
/* Frees a validation. NULL is allowed. */
void ss_validation_free(struct ss_validation *v);
/* Returns the name of a way to group rows (enum ss_validation_group). Never NULL. */
const char *ss_validation_group_name(int group);

/* Writes what `stepsim validate` prints. Error: SS_ERR_IO, as of all that write. */
int ss_validation_write_text(const struct ss_validation *v, const struct ss_display *view, FILE *out,
                             struct ss_error *err);
/* Writes it as JSON. */
int ss_validation_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err);
/* Writes a row a prediction, in the form of validation/results.csv: 6 significant digits. */
int ss_validation_write_csv(const struct ss_validation *v, FILE *out, struct ss_error *err);
/* Writes a scatter picture: the error over the measured time, which is logarithmic, `width` px wide, 0: its own. */
int ss_validation_write_svg(const struct ss_validation *v, double width, FILE *out, struct ss_error *err);
/* Writes what `stepsim validate --regret` prints: what layouts chosen by prediction cost. Errors: SS_ERR_NOMEM, SS_ERR_IO. */
int ss_regret_write_text(const struct ss_validation *v, const struct ss_display *view, FILE *out,
                         struct ss_error *err);
/* Writes it as JSON; errors likewise, as of the next two. */
int ss_regret_write_json(const struct ss_validation *v, FILE *out, struct ss_error *err);
/* Writes a line each job that has layouts, and each value of tensor ranks, micro batch and MFU. */
int ss_regret_write_csv(const struct ss_validation *v, FILE *out, struct ss_error *err);
/* Writes a scatter picture: predicted over measured time, both logarithmic, a colour a number of tensor ranks. */
int ss_regret_write_svg(const struct ss_validation *v, double width, FILE *out, struct ss_error *err);
/* Compares with an earlier CSV by id and writes what moved, appeared or vanished; *moved is their number. Errors: SS_ERR_IO,
 * SS_ERR_INPUT. */
int ss_validation_compare(const struct ss_validation *v, const char *csv_path, FILE *out, int *moved,
                          struct ss_error *err);

/* Writes what `stepsim validate --coverage` prints: how often bands that are made without a source hold its runs. Errors:
 * SS_ERR_NOMEM, SS_ERR_IO. */
int ss_coverage_write(const struct ss_bands *bands, const struct ss_display *view, FILE *out,
                      struct ss_error *err);

/* ---- output of nccl-tests ---- */
struct ss_nccl_point {
    double bytes;   /* the size column: the full buffer */
    double seconds; /* the faster of out-of-place and in-place */
};
struct ss_nccl_log {
    char operation[32]; /* all_reduce, all_gather, reduce_scatter, alltoall; "" = not said */
    int ranks, nodes;   /* from the list of devices, 0 = not said */
    int per_thread; /* GPUs to which one thread issues (-g), 1 = each has a thread or a process, also if not said */
    double traffic; /* busbw over algbw of the largest size, 0 = not known */
    int npoints;
    struct ss_nccl_point *points;
    char device[64]; /* model of the first device of the list, "NVIDIA H100 80GB HBM3"; "" = not said */
    int summed;      /* 1: sums without a root of the whole buffer, 2: of a rank's share of it, 0: neither */
};
/* Reads the text that one run of nccl-tests' *_perf printed, whatever launchers and loggers wrote before each line; a run whose data were
 * wrong is refused. The caller
 * frees *out with ss_nccl_free. Errors: SS_ERR_IO, SS_ERR_INPUT. */
int ss_nccl_load(const char *path, struct ss_nccl_log **out, struct ss_error *err);
/* Reads such a text from `len` bytes of memory; messages call it `name`. */
int ss_nccl_parse(const char *text, unsigned long len, const char *name, struct ss_nccl_log **out,
                  struct ss_error *err);
/* Frees it. NULL is allowed. */
void ss_nccl_free(struct ss_nccl_log *log);

/* ---- calibrate ---- */
#define SS_FIT_MAX 25
struct ss_fit_prop {
    char id[64];
    int of_stack;         /* 0: a prop of the platform */
    double lo, hi;        /* bounds; lo == hi: those of the prop itself */
    double before, after; /* in SI */
    double deviation;     /* standard deviation, NaN where the data do not determine it */
    int determined, at_bound;
};
struct ss_fit_row {
    char id[96];
    char run[96];                   /* of a timer: the run that it is of */
    char kind[16];                  /* time, memory, nccl, timer, bench */
    int fitted;                     /* 0: only held against its prediction */
    double measured, before, after; /* s or bytes */
};
struct ss_fit_left_out {
    char name[96];
    struct ss_error_stat error;  /* of the times left out, predicted by the fit of all others */
    struct ss_error_stat memory; /* of their memory, where a number of memory is fitted (n = 0: none) */
};
struct ss_calibration {
    int nprops, nrows, nskipped; /* skipped: rows of another platform, quality or outcome */
    struct ss_fit_prop props[SS_FIT_MAX];
    double correlation[SS_FIT_MAX][SS_FIT_MAX];
    struct ss_fit_row *rows;
    struct ss_error_stat before, after;
    char leave_out[16]; /* "" or the column */
    int nleft_out;
    struct ss_fit_left_out *left_out;
    struct ss_error_stat over_left_out, memory_left_out; /* all rows, each predicted without its group */
    int evaluations;
    struct ss_notes notes;
};
struct ss_calibrate_options {
    const char *platform, *stack; /* stack NULL: each row's own */
    int ntables;
    const char *const *tables;
    const char *nccl;       /* NULL or a file of nccl-tests */
    int nccl_nodes;         /* 0: as its list of devices says, else 1 */
    const char *microbench; /* NULL or a table like validation/microbench.csv: its rows of this card */
    const char *log, *job;  /* NULL or a training log and the job that made it */
    const char *timer_rows; /* NULL or measured timers of the tables' rows: run, timer, ms */
    int fit_timers;         /* timers count in the fit; else they are only shown */
    const char *leave_out;  /* NULL, model, gpu, precision, half (odd and even lines of the table) or id */
    const double *spread;   /* as in struct ss_validate_options; of a job of --log too */
    /* 0: the props that the measurements can determine: GEMM efficiencies, links, kernels */
    int nprops;
    struct ss_fit_prop props[SS_FIT_MAX];         /* id, lo, hi */
    void (*progress)(void *ctx, int evaluations); /* may be NULL */
    void *ctx;
    struct ss_files *files;    /* gets the files that are read; may be NULL */
    struct ss_workers workers; /* that predict rows; no journal */
};
/* Reads "ID=LO:HI" or "ID" into *out, values with units; without bounds lo == hi. Error: SS_ERR_USAGE. */
int ss_fit_prop_parse(const char *text, struct ss_fit_prop *out, struct ss_error *err);
/* Fits the props by least squares of the relative errors, within their bounds. The caller frees *out with ss_calibration_free.
 * Errors: SS_ERR_USAGE (options that do not go together), SS_ERR_INPUT, SS_ERR_IO. */
int ss_calibrate(const struct ss_calibrate_options *opt, struct ss_calibration **out, struct ss_error *err);
/* Frees a calibration. NULL is allowed. */
void ss_calibration_free(struct ss_calibration *c);
/* Writes what `stepsim calibrate` prints. Error: SS_ERR_IO, as of all that write. */
int ss_calibration_write_text(const struct ss_calibration *c, FILE *out, struct ss_error *err);
/* Writes it as JSON. */
int ss_calibration_write_json(const struct ss_calibration *c, FILE *out, struct ss_error *err);
/* Writes the platform of that name with its fitted props as XML. */
int ss_calibration_write_platform(const struct ss_calibration *c, const char *platform, FILE *out,
                                  struct ss_error *err);
/* Writes, as XML, a stack of that name over `base` with the fitted props of the stack; those of which the base has a value of its own for
 * the platform's card are that card's. */
int ss_calibration_write_stack(const struct ss_calibration *c, const char *name, const char *base,
                               const char *platform, FILE *out, struct ss_error *err);

/* ---- micro-benchmarks, row by row ---- */
struct ss_survey_row {
    int line;        /* of the file */
    char gpu[64];    /* name of the platform with that card, else the GPU's own as the table has it */
    char kind[64];   /* column kind, and what tells rows of it apart: precision, pass, nodes */
    char id[80];     /* column shape_or_bytes, cut */
    const char *why; /* a constant text: why the model has no price for it; NULL: it has */
    double measured, predicted; /* s; of attention for 1 TFLOP */
};
struct ss_survey_group {
    char gpu[64], kind[64];
    const char *why; /* as of the rows */
    int rows;
    struct ss_error_stat error; /* of groups that are priced */
};
struct ss_survey {
    int nrows, npriced;
    struct ss_survey_row *rows; /* in the order of the table */
    int ngroups;
    struct ss_survey_group *groups; /* by platform and kind, those that are not priced last */
};
/* Prices every row of a table like validation/microbench.csv on the platform of the data that has its card (of several the one
 * with the shortest name), attention with the rates of `stack`, a name or a path, NULL: SS_DEFAULT_STACK.
 * Nothing is fitted. The caller frees *out with ss_survey_free. Errors: SS_ERR_IO, SS_ERR_INPUT (a column is missing). */
int ss_survey_microbench(const char *path, const char *stack, struct ss_files *files, struct ss_survey **out,
                         struct ss_error *err);
/* Frees a survey. NULL is allowed. */
void ss_survey_free(struct ss_survey *s);
/* Writes groups with their errors, and the reasons of rows that are not priced. */
int ss_survey_write_text(const struct ss_survey *s, const struct ss_display *view, FILE *out,
                         struct ss_error *err);
/* Writes groups and rows as JSON. */
int ss_survey_write_json(const struct ss_survey *s, FILE *out, struct ss_error *err);

/* ---- curves of kernels, scored on rows that they were not fitted on ---- */
enum ss_curves_by {
    SS_CURVES_BY_HALF, /* fitted on half of the shapes, card by card, and scored on the other half */
    SS_CURVES_BY_GPU,  /* fitted on all cards but one, and scored on that one by its data sheet */
};
struct ss_curve_score {
    char gpu[64], kind[64]; /* gpu: name of the platform with that card, or "all" */
    struct ss_error_stat error;
};
struct ss_curve_number {
    /* By half: of the card's rows of both halves. By GPU: of all other cards, and those of "all", as a card without rows has them. */
    char gpu[64], id[64];
    double value; /* in SI */
};
struct ss_curve_report {
    enum ss_curves_by by;
    uint64_t seed;
    int nscores, nnumbers, unread; /* unread: rows that no curve prices */
    struct ss_curve_score *scores; /* kind by kind, all cards first */
    struct ss_curve_number *numbers;
    size_t cap_scores, cap_numbers;
    struct ss_notes notes; /* what was left out */
};
/* Fits the curves (ss.curve.*) to a table of micro-benchmarks, and scores each on rows that it was not fitted on. `seed` draws the
 * half of the shapes. The caller frees *out with ss_curve_report_free. Errors: SS_ERR_IO, SS_ERR_INPUT (no row has a curve). */
int ss_curves_leave_out(const char *path, const char *stack, enum ss_curves_by by, uint64_t seed,
                        struct ss_files *files, struct ss_curve_report **out, struct ss_error *err);
/* Frees a report. NULL is allowed. */
void ss_curve_report_free(struct ss_curve_report *r);
/* Writes what `stepsim calibrate --microbench TABLE --leave-out` prints. Error: SS_ERR_IO. */
int ss_curve_report_write_text(const struct ss_curve_report *r, const struct ss_display *view, FILE *out,
                               struct ss_error *err);
/* Writes it as JSON. */
int ss_curve_report_write_json(const struct ss_curve_report *r, FILE *out, struct ss_error *err);

SS_C_END
