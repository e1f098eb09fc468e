/* SPDX-License-Identifier: Apache-2.0 */
/* One job under all combinations of some flags' values, side by side. */
#ifndef STEPSIM_SWEEP_H
#define STEPSIM_SWEEP_H

#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/request.h"
#include "stepsim/result.h"
#include "stepsim/scenario.h"
#include "stepsim/summary.h"
#include "stepsim/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SS_SWEEP_FLAGS 8
#define SS_SWEEP_VALUES 64

/* A flag, "--nodes", and the values that it takes in turn. */
struct ss_sweep_flag {
    char name[64];
    int nvalues;
    char value[SS_SWEEP_VALUES][64];
};

/* What a combination came to. */
struct ss_sweep_row {
    int at[SS_SWEEP_FLAGS]; /* value of each flag */
    struct ss_summary summary;
};

/* The caller's, who begins with {0}. Rows in the order of counting: the last flag's values change fastest; or as ss_sweep_arrange left them. */
struct ss_sweep {
    int nflags, nrows;
    struct ss_sweep_flag flags[SS_SWEEP_FLAGS];
    struct ss_sweep_row *rows;      /* the caller's, or of ss_sweep_run */
    int top;                        /* rows that text, picture and page show, the first ones; 0: all */
    int left_out[SS_OUTCOME_COUNT]; /* rows that ss_sweep_arrange took out, by outcome */
    const struct ss_notes
        *warnings; /* that text and JSON have, as of ss_sweep_warnings; the caller's, NULL: none */
};

/* Adds a flag and its values, "nodes=8,16", "nodes=4..64" (each twice the one before, up to the last) or "set=ss.nic.bandwidth=12.5GBps,25GBps"; "on" and "off" give and leave out a flag
 * without value. SS_ERR_USAGE where it is no such text, the flag was added before or cannot be varied. */
int ss_sweep_vary(struct ss_sweep *s, const char *text, struct ss_error *err);
/* SS_ERR_USAGE where "off" stands beside a value, or is of a flag that the job gives, which it cannot take away. */
int ss_sweep_check(const struct ss_sweep *s, const struct ss_request *base, struct ss_error *err);
/* Returns the number of combinations of the flags' values; 0 where there are more than `most`. */
int ss_sweep_size(const struct ss_sweep *s, int most);
/* Sets row->at to combination i, 0 <= i < ss_sweep_size. */
void ss_sweep_combination(const struct ss_sweep *s, int i, struct ss_sweep_row *row);
/* Predicts combination i of the job whose words are `base`. A configuration that is refused is an outcome; errors are those of
 * ss_scenario_build and ss_predict. Combinations may be predicted in any order, by several threads at once. */
int ss_sweep_predict(const struct ss_sweep *s, int i, const struct ss_request *base,
                     const struct ss_scenario_options *how, const struct ss_run_options *options,
                     struct ss_sweep_row *out, struct ss_error *err);
/* How a sweep is made. */
struct ss_sweep_options {
    const struct ss_scenario_options
        *how;                         /* of every combination: asker, and files, which get all that is read */
    const struct ss_run_options *run; /* engine and bands; NULL: native, and bands that are read */
    struct ss_workers workers;        /* that predict combinations */
    /* Called whenever a combination is predicted, with how many are; may be NULL. */
    void (*progress)(void *ctx, int done, int all);
    void *ctx;
};
#define SS_SWEEP_MOST 16384 /* combinations of a sweep, of the program and of pages and bindings alike */
/* Predicts all combinations of the job whose words are `base`: fills s->rows[nrows], which the caller frees with free(). `options` may be NULL:
 * all zero. Errors:
 * SS_ERR_USAGE (more than `most` combinations), SS_ERR_INPUT and SS_ERR_IO (the journal), those of ss_sweep_predict. */
int ss_sweep_run(struct ss_sweep *s, const struct ss_request *base, const struct ss_sweep_options *options,
                 int most, struct ss_error *err);
/* By which figure rows stand, and whether the largest comes first. */
struct ss_sweep_order {
    int metric; /* SS_METRIC_OF_... */
    int down;
};
/* Reads "iteration_ms", the best first (the most of tokens/s, TFLOP/s and MFU, the least of all else), "iteration_ms:up" or
 * "iteration_ms:down". SS_ERR_USAGE: no such figure, or way. */
int ss_sweep_order_read(const char *text, struct ss_sweep_order *out, struct ss_error *err);
/* Puts the rows in order (NULL: as they are), those without the figure last and equal ones as they were; `fits` 1: takes those out that
 * are refused or too large. Error: SS_ERR_NOMEM. */
int ss_sweep_arrange(struct ss_sweep *s, const struct ss_sweep_order *order, int fits, struct ss_error *err);
/* Returns how many rows text, picture and page show. */
int ss_sweep_shown(const struct ss_sweep *s);
/* Returns the number of rows with an outcome (enum ss_outcome), those that were taken out too. */
int ss_sweep_count(const struct ss_sweep *s, int outcome);
/* Returns the row with the most tokens a second, or, by_gpu, a second and GPU, among those with an outcome; the first of equal
 * ones; -1: there is none. */
int ss_sweep_best(const struct ss_sweep *s, int outcome, int by_gpu);
/* Returns the fastest row near the limit where it is faster than all that fit, else -1. */
int ss_sweep_best_near_limit(const struct ss_sweep *s);
/* Adds to *out what is told of the job, in the first row that is not refused and the last one alike: notes of their scenarios, as of
 * flags that do nothing, or whose effect is not modelled. `base` is that of the sweep; of `how`, which may be NULL, asker and like count.
 * Errors: SS_ERR_NOMEM, and those of ss_scenario_build that are no refusal. */
int ss_sweep_warnings(const struct ss_sweep *s, const struct ss_request *base,
                      const struct ss_scenario_options *how, struct ss_notes *out, struct ss_error *err);
/* The same of the job of the words `base` with those of the text `words` behind them. */
int ss_warnings_behind(const struct ss_request *base, const char *words,
                       const struct ss_scenario_options *how, struct ss_notes *out, struct ss_error *err);
/* The rows, with all figures, as a CSV table: a column for each flag, the verdict, and the keys of SS_METRIC_LIST. */
int ss_sweep_write_csv(const struct ss_sweep *s, FILE *out, struct ss_error *err);
/* Writes the rows that are shown as a picture: the iteration of each with its error band, at most 400 rows. Error: SS_ERR_IO. */
int ss_sweep_write_svg(const struct ss_sweep *s, FILE *out, struct ss_error *err);
/* Writes them as an HTML page of its own: the answer, the picture, the table, and the words of the job. Errors: SS_ERR_IO, SS_ERR_NOMEM. */
int ss_sweep_write_page(const struct ss_sweep *s, const struct ss_request *base, FILE *out,
                        struct ss_error *err);
/* Writes the rows as a table, or, all of them, as JSON. Error: SS_ERR_IO. */
int ss_sweep_write(const struct ss_sweep *s, int json, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
