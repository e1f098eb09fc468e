/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of `calibrate` share. */
#pragma once

#include "base/csv.h"
#include "comm/collective.h"
#include "stepsim/params.h"
#include "study/study_internal.h"

/* ---- props.c ---- */
double ss_study_prop_get(const char *id, const struct ss_platform *p, const struct ss_stack *s);
int ss_study_prop_set(const char *id, double value, struct ss_platform *p, struct ss_stack *s,
                      struct ss_error *err);
/* Returns the index of the prop that is the GEMM efficiency of a precision (enum ss_precision). */
int ss_study_prop_of_gemm(int precision);
/* Writes a prop's value with its unit and four digits. Returns buf. */
const char *ss_study_prop_text(const char *id, double value, char *buf, size_t size);
/* Fills in the start value and missing bounds. Refuses bounds outside the prop's own. */
int ss_study_prop_complete(struct ss_fit_prop *f, const struct ss_platform *p, const struct ss_stack *s,
                           struct ss_error *err);

/* ---- nccl_log.c ---- */
#define SS_SMALLEST_MESSAGE                                                                                  \
    1048576.0 /* bytes of a collective; a smaller one is sent by other protocols than the model has */
/* Returns the kind (enum ss_collective_kind) of a collective by the name that nccl-tests give it, such
 * as "all_reduce"; -1: not known. */
int ss_nccl_kind(const char *operation);

/* ---- microbench.c: kernels measured alone on one card, collectives on one node ---- */
enum ss_bench_kind {
    SS_BENCH_GEMM,
    SS_BENCH_COPY,
    SS_BENCH_PCIE,
    SS_BENCH_LAUNCH,
    SS_BENCH_COLLECTIVE,
    SS_BENCH_ATTENTION,
    SS_BENCH_CURVE
};
struct ss_bench_curve;
#define SS_BENCH_SIZES 12
struct ss_bench_point {
    int kind;
    const struct ss_bench_curve *curve; /* CURVE: the law that prices it */
    double size[SS_BENCH_SIZES];        /* CURVE: its sizes, as the curve orders them */
    int precision;                      /* GEMM, ATTENTION: enum ss_precision */
    int accumulate; /* GEMM: bytes of an element of the output to which a weight gradient is added; 0: nothing is added */
    int streams;    /* GEMM: 1: each group is a kernel of its own; the host issues them to several streams */
    int blocks;     /* GEMM: 1: fp8 with a scale for each block of 128 */
    int mx;         /* GEMM: 1: mxfp8 */
    int weights;    /* GEMM: 1: a weight gradient */
    double m, n, k; /* GEMM: output rows (of all groups) and columns, reduction */
    double groups;  /* GEMM: matrices in one kernel */
    int scattered;  /* GEMM: 1: groups have different numbers of rows */
    double sms;     /* GEMM, ATTENTION, dispatch and combine: SMs that the kernel ran on */
    /* COPY: size of the buffer, which is read and written; PCIE: bytes sent; COLLECTIVE: size of the
     * full buffer */
    double bytes;
    int collective;              /* COLLECTIVE: enum ss_collective_kind */
    struct ss_group_shape group; /* COLLECTIVE: its GPUs */
    int per_thread; /* COLLECTIVE: GPUs to which one thread of the benchmark issues; 0 stands for 1 */
    double tokens,
        /* dispatch and combine of HybridEP: tokens of a rank, tokens of a chunk; tokens 0: another
         * library */
        chunk;
    /* COLLECTIVE: the algorithm that the benchmark told NCCL to take; NULL: NCCL chose */
    const struct ss_collective_algorithm *algorithm;
    int fused,
        backward; /* ATTENTION: 1: the kernel of cuDNN, 0: of FlashAttention; 1: the backward, with 2.5 times the FLOP */
    /* ATTENTION: 1: forward and backward, whose FLOP sum to 1 TFLOP; GEMM: 1: with both backward passes
     * and all casts */
    int both;
    int fit; /* 1: numbers of the card or the stack are fitted to the point; 0: it is only compared with its prediction */
    double queries, head; /* ATTENTION: tokens of a causal sequence; head dimension of queries and keys */
    double values;        /* ATTENTION: head dimension of values */
    double heads; /* ATTENTION: query heads times sequences; 0: not said, and the card is taken to be full */
    double seconds; /* s from the start of a kernel to the start of the next */
    char id[64];
};
/* Words of a row as the table has them. */
struct ss_bench_row {
    const char *kind, *gpu, *shape, *ranks, *precision, *unit, *source;
    double value; /* NaN: no number */
};
/* A table of micro-benchmarks; the words of its rows live as long as the table. */
#define SS_BENCH_COLUMNS 8
struct ss_bench_table {
    struct ss_csv *csv;
    int column[SS_BENCH_COLUMNS]; /* [column]: its place in the file; -1: the file has no such column */
};
int ss_bench_table_load(const char *path, struct ss_bench_table *out, struct ss_error *err);
void ss_bench_table_free(struct ss_bench_table *t);
size_t ss_bench_table_rows(const struct ss_bench_table *t);
/* Fills *out with row i. Returns its line in the file. */
int ss_bench_table_row(const struct ss_bench_table *t, size_t i, struct ss_bench_row *out);
struct ss_bench {
    int npoints, nskipped; /* nskipped: rows of another card, and rows that no fit uses */
    struct ss_bench_point *points;
};
/* Reads a table like validation/microbench.csv. It takes the rows whose column gpu has the card's name
 * as a word (its <prop id="ss.card"> up to the dash) and whose precision the card has. */
int ss_bench_load(const char *path, const struct ss_card *card, struct ss_bench **out, struct ss_error *err);
/* Reads such a table from memory. Messages call it `name`. */
int ss_bench_parse(const char *text, size_t len, const char *name, const struct ss_card *card,
                   struct ss_bench **out, struct ss_error *err);
void ss_bench_free(struct ss_bench *b);
/* ---- microbench_words.c, microbench_collective.c ---- */
/* Reads the point that a row measured on a GPU of this card. Returns NULL, or a constant text that says
 * why the model cannot price such a row. The nodes of a collective are 0 where the row does not tell
 * them. */
const char *ss_bench_point_read(const struct ss_bench_row *r, const struct ss_card *card,
                                struct ss_bench_point *p);
/* Reasons that ss_bench_point_read returns. */
#define SS_BENCH_NO_UNIT "a unit that says no time"
#define SS_BENCH_NO_SIZES "no sizes that a kernel has, or words that are not known"
#define SS_BENCH_NO_PEAK "a precision that the card's file has not"
/* Does the same for a row of kind collective or p2p, once the point's id and kind are set. */
const char *ss_bench_collective(const struct ss_bench_row *r, struct ss_bench_point *p);
/* Returns the seconds that a thread of nccl-tests takes to issue a collective to this number of GPUs. An
 * iteration cannot be shorter. For one GPU it returns 0, because the kernels hide the time. */
double ss_nccl_issue_seconds(int gpus);
/* ---- microbench_gemm.c ---- */
/* Sets sizes, groups and pass of a GEMM from words like "M=4096 N=8192 K=1024 wgrad", "groups=4
 * total_M=32768 N=4096 K=7168" or "scaled_grouped_mm 2D-2D wgrad (2048,131072)@(131072,7168)". For the
 * last form `source` tells the groups. Returns 0 where a word is not known or a size is missing. */
int ss_bench_gemm_shape(const char *text, const char *source, struct ss_bench_point *p);
/* Returns how many SMs a kernel had: 112 if the text says "112 of 132 SMs" and the card has 132, else
 * all SMs of the card. */
double ss_bench_sms(const char *text, const struct ss_card *card);
/* Returns the seconds that the model predicts for a point (cost/kernel.h, comm/collective.h), for
 * attention those of 1 TFLOP. `stack` is read for attention only. */
double ss_bench_seconds(const struct ss_platform *platform, const struct ss_stack *stack,
                        const struct ss_bench_point *p);
/* Sets the indices of the props of the card and of a stack that a point can tell something about.
 * Returns how many there are. */
#define SS_BENCH_PROPS 10
int ss_bench_props(const struct ss_card *card, const struct ss_bench_point *p, int props[SS_BENCH_PROPS]);

/* ---- microbench_survey.c: the platforms of the data, one of which a row was measured on ---- */
struct ss_bench_machine {
    struct ss_platform *platform;
    struct ss_stack stack; /* as its card runs it */
};
struct ss_bench_machines {
    struct ss_bench_machine *list;
    size_t n;
};
/* Loads all platforms of the data. `stack` NULL: SS_DEFAULT_STACK. The caller frees *out also after an error. */
int ss_bench_machines_load(const char *stack, struct ss_files *files, struct ss_bench_machines *out,
                           struct ss_error *err);
void ss_bench_machines_free(struct ss_bench_machines *m);
/* Returns the platform with the row's card: the one whose cluster the row names, else the one with the shortest name, because
 * variants add words. NULL: none has that card. */
const struct ss_bench_machine *ss_bench_machine_of(const struct ss_bench_machines *m,
                                                   const struct ss_bench_row *row);

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
    int fitted;      /* 0: it is only compared with its prediction */
    double measured; /* s or bytes */
    char id[96];     /* TIMER: the timer's name */
    char run[96];    /* TIMER: the run that it belongs to */
    char key[96];    /* the group that --leave-out puts it in */
};
struct ss_observations {
    struct ss_cases cases;
    struct ss_case log_case;   /* the run of --log */
    struct ss_workers workers; /* the processes that predict runs */
    struct ss_platform
        *machine; /* the platform on which collectives and kernels were measured; NULL: neither was */
    struct ss_stack stack; /* the stack whose attention was measured */
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
/* Returns 1 if a training run was observed: then of_case is its case. */
int ss_observation_is_run(const struct ss_observation *what);
/* Adds the memory of the runs as observations, for a fit of a prop of memory. */
int ss_observations_add_memory(struct ss_observations *o, struct ss_error *err);
/* Returns the case of an index `of_case`. The last index is the case of --log. */
struct ss_case *ss_observations_case(struct ss_observations *o, int index);
/* Finds one platform and one stack of the observations, which have the start values of the fit. */
void ss_observations_first(struct ss_observations *o, const struct ss_platform **p,
                           const struct ss_stack **s);
/* Fills predicted[n] for the props' values x, except where use[i] is 0. `use` may be NULL: all are
 * predicted. */
int ss_observations_predict(struct ss_observations *o, const struct ss_fit_prop *props, int nprops,
                            const double *x, const char *use, double *predicted, struct ss_error *err);

/* The options with which runs are predicted while numbers are fitted to them. */
extern const struct ss_run_options ss_calibrate_run;
