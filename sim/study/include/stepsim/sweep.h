/* SPDX-License-Identifier: Apache-2.0 */
/* One job under all combinations of some flags' values, side by side. */
#pragma once

#include "stepsim/result.h"
#include "stepsim/text.h"

SS_C_BEGIN

#define SS_SWEEP_FLAGS 8
#define SS_SWEEP_VALUES 64

/* A flag, "--nodes", and the values that it takes in turn. */
struct ss_sweep_flag {
    char name[64];
    int nvalues;
    char value[SS_SWEEP_VALUES][64];
    int cut; /* what a range was to end at where none of its values does; 0: each range ends as it was written */
};

/* The result of one combination. */
struct ss_sweep_row {
    int at[SS_SWEEP_FLAGS]; /* index of each flag's value */
    struct ss_summary summary;
};

/* A sweep, which the caller owns and begins with {0}. Rows stand in the order of counting, where the last
 * flag's values change fastest, or as ss_sweep_arrange left them. */
struct ss_sweep {
    int nflags, nrows;
    struct ss_sweep_flag flags[SS_SWEEP_FLAGS];
    struct ss_sweep_row *rows;      /* the caller's, or made by ss_sweep_run */
    int top;                        /* number of first rows that text, picture and page show; 0: all */
    int left_out[SS_OUTCOME_COUNT]; /* rows that ss_sweep_arrange took out, by outcome */
    /* warnings for text and JSON, as of ss_sweep_warnings; the caller's, NULL: none */
    const struct ss_notes *warnings;
    char premises[512]; /* what all rows stand on, told above the table; ss_sweep_warnings fills it */
};

/* Adds a flag and its values: "nodes=8,16", "nodes=4..64" (each twice the one before, up to the last) or
 * "set=ss.nic.bandwidth=12.5GBps,25GBps". "on" and "off" give and leave out a flag without value. Error:
 * SS_ERR_USAGE where the text is wrong, or the flag was added before or cannot be varied. */
int ss_sweep_vary(struct ss_sweep *s, const char *text, struct ss_error *err);
/* Makes the words of a job ready to be varied: a list or range of --nodes becomes values that vary, and a flag of the
 * command line that is varied too is noted and removed. Errors: those of ss_sweep_vary, SS_ERR_NOMEM. */
int ss_sweep_open(struct ss_sweep *s, struct ss_request *base, struct ss_error *err);
/* Checks "off": SS_ERR_USAGE where it stands beside a value, or is for a flag that the job gives and a sweep
 * cannot take away. */
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
    /* for every combination: asker, and files, which gets all that is read */
    const struct ss_scenario_options *how;
    const struct ss_run_options *run; /* engine and bands; NULL: native, and the installed bands */
    struct ss_workers workers;        /* processes that predict combinations */
    /* Called after each combination with the number done; may be NULL. */
    void (*progress)(void *ctx, int done, int all);
    void *ctx;
};
#define SS_SWEEP_MOST 16384 /* most combinations of a sweep, for the program, pages and bindings */
/* Predicts all combinations of the job whose words are `base`: fills s->rows[nrows], which the caller frees with free(). `options` may be NULL:
 * all zero. Errors:
 * SS_ERR_USAGE (more than `most` combinations), SS_ERR_INPUT and SS_ERR_IO (the journal), those of ss_sweep_predict. */
int ss_sweep_run(struct ss_sweep *s, const struct ss_request *base, const struct ss_sweep_options *options,
                 int most, struct ss_error *err);
/* The figure by which rows are ordered, and whether the largest comes first. */
struct ss_sweep_order {
    int metric; /* SS_METRIC_OF_... */
    int down;
};
/* Reads "iteration_ms" for the best first (the largest of tokens/s, TFLOP/s and MFU, the smallest of all
 * else), "iteration_ms:up" or "iteration_ms:down". Error: SS_ERR_USAGE, no such figure or direction. */
int ss_sweep_order_read(const char *text, struct ss_sweep_order *out, struct ss_error *err);
/* Orders the rows (NULL: as they are); rows without the figure come last, and equal rows keep their order.
 * fits 1: takes out refused and too large rows. Error: SS_ERR_NOMEM. */
int ss_sweep_arrange(struct ss_sweep *s, const struct ss_sweep_order *order, int fits, struct ss_error *err);
/* Returns how many rows text, picture and page show. */
int ss_sweep_shown(const struct ss_sweep *s);
/* Returns the number of rows with an outcome (enum ss_outcome), rows taken out included. */
int ss_sweep_count(const struct ss_sweep *s, int outcome);
/* Returns the exit status of the program: 0 if a row fits, or is near the memory limit. */
int ss_sweep_status(const struct ss_sweep *s);
/* Returns the row with the most tokens a second (by_gpu: a second and GPU) among those with an outcome, the
 * first of equal rows; -1: there is none. */
int ss_sweep_best(const struct ss_sweep *s, int outcome, int by_gpu);
/* Returns the fastest row near the limit where it is faster than all that fit, else -1. */
int ss_sweep_best_near_limit(const struct ss_sweep *s);
/* Adds to *out the notes that the scenarios of the first and the last row that is not refused share, such as
 * flags without effect, or with an effect that is not modelled; and fills s->premises. `base` is that of the sweep; of `how`, which
 * may be NULL, asker and like count. Errors: SS_ERR_NOMEM, and those of ss_scenario_build that are no
 * refusal. */
int ss_sweep_warnings(struct ss_sweep *s, const struct ss_request *base,
                      const struct ss_scenario_options *how, struct ss_notes *out, struct ss_error *err);
/* Adds to *out the notes of the job `base` with the words of the text `words` behind its own. */
int ss_warnings_behind(const struct ss_request *base, const char *words,
                       const struct ss_scenario_options *how, struct ss_notes *out, struct ss_error *err);
/* Writes all rows with all figures as a CSV table: a column for each flag, the verdict, and the keys of
 * SS_METRIC_LIST. */
int ss_sweep_write_csv(const struct ss_sweep *s, FILE *out, struct ss_error *err);
/* Writes the rows that are shown as a picture: the iteration of each with its error band, at most 400 rows, `width` px wide, 0: as its texts
 * need. Error: SS_ERR_IO. */
int ss_sweep_write_svg(const struct ss_sweep *s, double width, FILE *out, struct ss_error *err);
/* Writes them as an HTML page of its own: the answer, the picture, the table, and the words of the job; width: of the
 * picture. Errors: SS_ERR_IO, SS_ERR_NOMEM. */
int ss_sweep_write_page(const struct ss_sweep *s, const struct ss_request *base, double width, FILE *out,
                        struct ss_error *err);
/* Writes the rows as a table, or, all of them, as JSON. Error: SS_ERR_IO. */
int ss_sweep_write(const struct ss_sweep *s, const struct ss_display *view, FILE *out, struct ss_error *err);

SS_C_END
