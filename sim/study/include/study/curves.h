/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of kernels in tables of micro-benchmarks: which law prices a row, and fits of its numbers (docs/design/curves.md). */
#ifndef SS_STUDY_CURVES_H
#define SS_STUDY_CURVES_H

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
    int prop[SS_BENCH_PROPS]; /* its numbers, 0 behind the last one */
};
/* Curves, family by family: the lists end with a row without a kind. */
extern const struct ss_bench_curve ss_curves_gemm[], ss_curves_linear[], ss_curves_experts[], ss_curves_exchange[];

/* Writes what tells the rows of a curve apart: kind, precision and mark. Returns buf. */
char *ss_curve_name(const struct ss_bench_curve *c, char *buf, size_t size);
/* Reads the point of a row that a curve prices. Returns 0 where none does; *why is then as it was. */
int ss_bench_curve_read(const struct ss_bench_row *row, const struct ss_card *card, struct ss_bench_point *p,
                        const char **why);
/* Fills a site for a platform. */
void ss_curve_site_of(const struct ss_platform *platform, struct ss_curve_site *out);

#endif
