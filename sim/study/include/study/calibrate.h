/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `calibrate` share. */
#ifndef SS_STUDY_CALIBRATE_H
#define SS_STUDY_CALIBRATE_H

#include "base/csv.h"
#include "comm/collective.h"
#include "stepsim/params.h"
#include "stepsim/platform.h"
#include "study/study_internal.h"

/* ---- props.c ---- */
double ss_study_prop_get(const char *id, const struct ss_platform *p, const struct ss_stack *s);
int ss_study_prop_set(const char *id, double value, struct ss_platform *p, struct ss_stack *s,
                      struct ss_error *err);
/* Index of the GEMM efficiency of a precision (enum ss_precision). */
int ss_study_prop_of_gemm(int precision);
/* Value with unit and four digits. */
const char *ss_study_prop_text(const char *id, double value, char *buf, size_t size);
/* Fills start value and missing bounds; refuses bounds outside the prop's own. */
int ss_study_prop_complete(struct ss_fit_prop *f, const struct ss_platform *p, const struct ss_stack *s,
                           struct ss_error *err);

/* ---- nccl_log.c ---- */
#define SS_SMALLEST_MESSAGE                                                                                  \
    1048576.0 /* bytes of a collective; below, other protocols than the model's rule */
/* enum ss_collective_kind of "all_reduce" and the like, as nccl-tests name them; -1 = not known. */
int ss_nccl_kind(const char *operation);

/* ---- microbench.c: kernels measured alone on one card, collectives on one node ---- */
enum ss_bench_kind {
    SS_BENCH_GEMM,
    SS_BENCH_COPY,
    SS_BENCH_PCIE,
    SS_BENCH_LAUNCH,
    SS_BENCH_COLLECTIVE,
    SS_BENCH_ATTENTION
};
struct ss_bench_point {
    int kind;
    int precision;  /* GEMM, ATTENTION: enum ss_precision */
    int accumulate; /* GEMM: a weight gradient, added to its output of so many bytes an element; else 0 */
    int streams;    /* GEMM: groups are kernels of their own on several streams, which the host issues */
    int blocks;     /* GEMM: fp8 with a scale for each block of 128 */
    int mx;         /* GEMM: mxfp8 */
    int weights;    /* GEMM: a weight gradient */
    double m, n, k; /* GEMM: output rows (of all groups) and columns, reduction */
    double groups;  /* GEMM: matrices in one kernel */
    int scattered;  /* GEMM: rows differ from group to group */
    double sms;     /* GEMM, ATTENTION, dispatch and combine: that it ran on */
    /* COPY: of the buffer, which is read and written; PCIE: sent; COLLECTIVE: the full buffer */
    double bytes;
    int collective;              /* COLLECTIVE: enum ss_collective_kind */
    struct ss_group_shape group; /* COLLECTIVE */
    int per_thread;              /* COLLECTIVE: GPUs to which one thread of the benchmark issues, 0, 1: one */
    double tokens,
        /* for HybridEP's dispatch and combine: tokens of a rank and of a chunk; tokens 0: another library */
        chunk;
    /* COLLECTIVE: the one that the benchmark told NCCL to take, NULL: none */
    const struct ss_collective_algorithm *algorithm;
    int fused, backward; /* ATTENTION: cuDNN's, not flash; the backward's 2.5 times the FLOP */
    /* ATTENTION: forward and backward, of whose FLOP together it is 1 TFLOP; GEMM: with both backwards and
     * all casts */
    int both;
    int fit;              /* 1: tells of the card or of the stack; 0: only held against its prediction */
    double queries, head; /* ATTENTION: tokens of a causal sequence, head dimension of queries and keys */
    double values;        /* ATTENTION: head dimension of values */
    double heads;         /* ATTENTION: query heads times sequences, 0: not said, the card is full */
    double seconds;       /* from its start to the next one's */
    char id[64];
};
/* Words of a row, as the table has them; value 0: none. */
struct ss_bench_row {
    const char *kind, *gpu, *shape, *ranks, *precision, *unit, *source;
    double value; /* NaN: no number */
};
/* A table of micro-benchmarks; the words of its rows live as long as the table. */
#define SS_BENCH_COLUMNS 8
struct ss_bench_table {
    struct ss_csv *csv;
    int column[SS_BENCH_COLUMNS]; /* -1: not there */
};
int ss_bench_table_load(const char *path, struct ss_bench_table *out, struct ss_error *err);
void ss_bench_table_free(struct ss_bench_table *t);
size_t ss_bench_table_rows(const struct ss_bench_table *t);
/* Returns the row's line of the file. */
int ss_bench_table_row(const struct ss_bench_table *t, size_t i, struct ss_bench_row *out);
struct ss_bench {
    int npoints, nskipped; /* skipped: rows of another card, or that no fit uses */
    struct ss_bench_point *points;
};
/* Rows of a table like validation/microbench.csv whose column gpu names the card (its <prop id="ss.card"> up to the
 * dash, as a word), of the precisions that it has. */
int ss_bench_load(const char *path, const struct ss_card *card, struct ss_bench **out, struct ss_error *err);
/* From memory; `name` stands for the file in messages. */
int ss_bench_parse(const char *text, size_t len, const char *name, const struct ss_card *card,
                   struct ss_bench **out, struct ss_error *err);
void ss_bench_free(struct ss_bench *b);
/* ---- microbench_words.c, microbench_collective.c ---- */
/* Reads the measured point of a row, on a GPU that is this card. Returns NULL, or a constant text why the
 * model has no price for such a row. Nodes of a collective are 0 where the row does not say them. */
const char *ss_bench_point_read(const struct ss_bench_row *r, const struct ss_card *card,
                                struct ss_bench_point *p);
#define SS_BENCH_NO_UNIT "a unit that says no time" /* one of its reasons */
/* Does so for kinds collective and p2p, whose id and kind of row are set. */
const char *ss_bench_collective(const struct ss_bench_row *r, struct ss_bench_point *p);
/* Seconds that a thread of nccl-tests takes to issue a collective to so many GPUs of its own, below which no iteration gets; 0 of
 * one GPU, whose time the kernels hide. */
double ss_nccl_issue_seconds(int gpus);
/* ---- microbench_gemm.c ---- */
/* Sets sizes, groups and pass of a GEMM from words like "M=4096 N=8192 K=1024 wgrad" and "groups=4 total_M=32768 N=4096
 * K=7168", or of "scaled_grouped_mm 2D-2D wgrad (2048,131072)@(131072,7168)", whose groups `source` tells; returns 0 where a
 * word is not known or a size missing. */
int ss_bench_gemm_shape(const char *text, const char *source, struct ss_bench_point *p);
/* SMs that a kernel had, of a text with "112 of 132 SMs" where the card has the latter; else all. */
double ss_bench_sms(const char *text, const struct ss_card *card);
/* Returns the model's seconds for a point (cost/kernel.h, comm/collective.h); attention: for 1 TFLOP. `stack`
 * is read for attention only. */
double ss_bench_seconds(const struct ss_platform *platform, const struct ss_stack *stack,
                        const struct ss_bench_point *p);
/* The props of this card and a stack that it can tell something of, by index; returns how many. */
#define SS_BENCH_PROPS 5
int ss_bench_props(const struct ss_card *card, const struct ss_bench_point *p, int props[SS_BENCH_PROPS]);

/* ---- observations.c: what was measured, and its prediction for given props ---- */
enum ss_observation_kind {
    SS_OBSERVE_TIME,
    SS_OBSERVE_MEMORY,
    SS_OBSERVE_NCCL,
    SS_OBSERVE_TIMER,
    SS_OBSERVE_BENCH
};
struct ss_observation {
    int kind;
    int of_case;     /* TIME, MEMORY, TIMER: index into cases */
    int point;       /* NCCL, BENCH */
    int fitted;      /* 0: only held against its prediction */
    double measured; /* s or bytes */
    char id[96];     /* TIMER: the timer's name */
    char run[96];    /* TIMER: whose */
    char key[96];    /* the group that --leave-out puts it in */
};
struct ss_observations {
    struct ss_cases cases;
    struct ss_case log_case;     /* of --log */
    struct ss_workers workers;   /* that predict runs */
    struct ss_platform *machine; /* that collectives and kernels run on; NULL: neither was measured */
    struct ss_stack stack;       /* whose attention was measured */
    struct ss_nccl_log *nccl;
    int nccl_nodes, nccl_ranks;
    struct ss_bench *bench;
    int n, nskipped;
    size_t cap;
    struct ss_observation *list;
};
int ss_observations_load(const struct ss_calibrate_options *opt, struct ss_observations *out,
                         struct ss_notes *notes, struct ss_error *err);
void ss_observations_free(struct ss_observations *o);
/* Is it of a training run, whose case of_case is? */
int ss_observation_is_run(const struct ss_observation *what);
/* Adds the memory of runs where a prop of memory is fitted. */
int ss_observations_add_memory(struct ss_observations *o, struct ss_error *err);
/* Case of an index in `of_case`; the last one is the log's. */
struct ss_case *ss_observations_case(struct ss_observations *o, int index);
/* Finds any platform and stack of the observations, for the start values. */
void ss_observations_first(struct ss_observations *o, const struct ss_platform **p,
                           const struct ss_stack **s);
/* predicted[n]; those with use[i] == 0 are left alone (use may be NULL: all). */
int ss_observations_predict(struct ss_observations *o, const struct ss_fit_prop *props, int nprops,
                            const double *x, const char *use, double *predicted, struct ss_error *err);

/* How runs are predicted while numbers are fitted to them. */
extern const struct ss_run_options ss_calibrate_run;

#endif
