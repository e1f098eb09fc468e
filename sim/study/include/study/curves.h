/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of kernels in tables of micro-benchmarks: which law prices a row, and fits of its numbers (docs/design/curves.md). */
#pragma once

#include "study/calibrate.h"

/* What a curve is priced on. */
struct ss_curve_site {
    const struct ss_card *card;
    double fabric; /* bytes/s of a GPU's links inside a node, one direction */
    int gpus;      /* of a host */
};
/* The rows that a law prices, and its numbers. */
struct ss_bench_curve {
    const char *family;    /* curves that share numbers */
    const char *kind;      /* column kind */
    const char *precision; /* column precision; NULL: any */
    const char *mark;      /* what the shape has, too; NULL: nothing more */
    /* words of the shape whose numbers are size[0], size[1], ... */
    const char *words;
    /* Sets further sizes from the row. Returns NULL, or why the row has no price. NULL: there are none. */
    const char *(*more)(const struct ss_bench_row *row, const struct ss_card *card, double *size);
    double (*seconds)(const struct ss_curve_site *site, const double *size);
    double (*work)(const double *size); /* FLOP of 1 s at 1 TFLOP/s; NULL: rows have times */
    /* Returns the least seconds that the data sheet lets the row's sizes take; NULL: not counted. */
    double (*least)(const struct ss_curve_site *site, const double *size);
    int grows; /* 1: no size of `words` may grow without that the kernel takes as long or longer */
    int prop[SS_BENCH_PROPS]; /* its numbers, 0 behind the last one */
};
/* Curves, family by family: the lists end with a row without a kind. */
extern const struct ss_bench_curve ss_curves_gemm[], ss_curves_linear[], ss_curves_experts[],
    ss_curves_exchange[], ss_curves_sparse[];

/* Writes what tells the rows of a curve apart: kind, precision and mark. Returns buf. */
char *ss_curve_name(const struct ss_bench_curve *c, char *buf, size_t size);
/* Reads the point of a row that a curve prices. Returns 0 where none does; *why is then as it was. */
int ss_bench_curve_read(const struct ss_bench_row *row, const struct ss_card *card, struct ss_bench_point *p,
                        const char **why);
/* Fills a site for a platform. */
void ss_curve_site_of(const struct ss_platform *platform, struct ss_curve_site *out);

/* ---- curves_rows.c: the rows of a table that curves are fitted to ---- */
struct ss_curve_row {
    struct ss_bench_point point;
    int machine; /* index among the machines */
    int line, half;
    const char *shape, *precision, *ranks;
    int out;      /* 1: left out, see notes */
    double error; /* per cent, of the prediction without it; NaN: not scored */
};
struct ss_curve_rows {
    struct ss_bench_table table; /* whose words the rows have */
    struct ss_bench_machines machines;
    struct ss_curve_site *sites; /* [machines.n] */
    struct ss_curve_row *rows;   /* kind by kind */
    size_t n;
    int unread; /* rows that no curve prices */
};
/* Reads a table, draws halves of its shapes, and leaves out what slowed machines and stalls of the host measured. The caller frees
 * *out also after an error. */
int ss_curve_rows_load(const char *path, const char *stack, uint64_t seed, struct ss_files *files,
                       struct ss_curve_rows *out, struct ss_notes *notes, struct ss_error *err);
void ss_curve_rows_free(struct ss_curve_rows *r);
/* Returns 1 if the SMs of two cards do as much a cycle by their data sheets: cards of one generation. */
int ss_curve_same_generation(const struct ss_card *a, const struct ss_card *b);
