/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of a plan of capacity share. */
#ifndef SS_DECIDE_CAPACITY_INTERNAL_H
#define SS_DECIDE_CAPACITY_INTERNAL_H

#include "stepsim/capacity.h"

struct ss_asked;
struct ss_input_cache;

/* ---- capacity_terms.c: from a prediction to days and money ---- */
/* Fills in what a run tells of a point: the summary, busy_share and checkpoint_bytes. */
void ss_capacity_measure(const struct ss_run *run, struct ss_capacity_point *p);
/* Computes all other figures of a point from the inputs of its platform and from what ss_capacity_measure filled in. */
void ss_capacity_figures(const struct ss_capacity *c, struct ss_capacity_point *p,
                         double tokens_an_iteration);

/* ---- capacity_choose.c: amounts, batches, answers ---- */
/* Picks the points chosen, sure, cheapest and knee of each platform. */
void ss_capacity_choose(struct ss_capacity *c);
/* Returns 1 if a point was predicted and keeps deadline and budget. far 1: the far end of its range has to keep them, too. */
int ss_capacity_keeps(const struct ss_capacity *c, const struct ss_capacity_point *p, int far);
/* Does so; far 1: the point has to fit surely, too. */
int ss_capacity_enough(const struct ss_capacity *c, const struct ss_capacity_point *p, int far);
/* Returns 1 if a point's batch makes it no worse an answer than another point, by index (-1: none): it is near the asked one, or the other's is not. */
int ss_capacity_is_rival(const struct ss_capacity *c, const struct ss_capacity_point *p, int than);
/* Returns the fewest nodes that may keep the deadline if time goes on to fall as it does from the point with half of p's nodes to p, or in
 * proportion where no such point is known, *by_rows 0; 0: it falls too slowly. */
int ss_capacity_trend(const struct ss_capacity *c, const struct ss_capacity_point *p, int *by_rows);
/* Returns the fastest point of a platform; NULL: no point holds the job. */
const struct ss_capacity_point *ss_capacity_fastest(const struct ss_capacity *c, int cluster);
/* Returns the nodes about which an answer lies: for a deadline those that meet it on the line (of logarithms) through the last point that is late and
 * the first that is not; else those of the answer, or of the fastest point where there is none. far 1: by the far ends of times. */
double ss_capacity_middle(const struct ss_capacity *c, int cluster, int far);
/* Returns the multiple of `unit` that is nearest to a batch, and not 0. */
int ss_capacity_nearest(int batch, int unit);
/* Returns 1 if a batch is within a sixteenth of the one that was asked for. */
int ss_capacity_is_near(int batch, int asked);
/* Fills in the batches of searches on `gpus` GPUs and returns how many, 1 or 2. The first is the asked one where it has the odd part of
 * the GPUs as a factor. The last is the multiple nearest to it of the largest of gpus, gpus / 2, gpus / 4, ... that has one within a
 * sixteenth of it, and so loses fewest layouts; where none has, of the odd part. */
int ss_capacity_batches(int asked, int gpus, int batch[2]);
struct ss_capacity_numbers;
/* Takes points out of the plan that are neither rows nor answers, nor the fastest where there is no answer, but for the cheapest few that would
 * do as well. */
int ss_capacity_leave_table(struct ss_capacity *c, const struct ss_capacity_numbers *numbers,
                            struct ss_error *err);

/* ---- capacity_point.c: one number of nodes ---- */
#define SS_CAPACITY_SHAPES 16    /* layouts that rows lend to the numbers between them */
#define SS_CAPACITY_WORTH 1.05   /* A layout that was so much dearer on its row than another is not tried. */
#define SS_CAPACITY_A_BATCH 0.99 /* Another batch than the asked one has to be so much cheaper. */
struct ss_capacity_shape {
    int tp, cp, pp, micro_batch; /* of its row; tp 0: none */
    double gpu_s;                /* GPU-seconds a token on its row */
    char words[SS_FIND_FLAGS];   /* without --mbs */
};
/* What all points share, and is read once. */
struct ss_capacity_planner {
    const struct ss_capacity_options *options;
    struct ss_capacity *plan;
    struct ss_sweep *vary;    /* without --platform */
    struct ss_request *bases; /* [nclusters]: words of the job with its platform and without --nodes */
    struct ss_input_cache *loaded;
    struct ss_bands *bands;
    struct ss_run_options run;
    struct ss_input_cache
        *inputs; /* what the jobs of the number that is planned are read from; run.cache is theirs, too */
    double tokens_a_row; /* of a sequence */
    int given_gpus;      /* GPUs of a replica by the job's own layout */
    int near;    /* 1: tensor and context parallelism are searched with the values of the board's layouts */
    int limited; /* 1: layouts that cannot be the answer are not predicted */
    /* In memory that all workers share, written between lists of items: */
    struct ss_capacity_board {
        int nnear, near[SS_CAPACITY_SHAPES]
                       [2]; /* tensor and context sizes about which rows and answers are searched */
        int nshapes;
        struct ss_capacity_shape shape[SS_CAPACITY_SHAPES];
        double
            lent_gpu_s; /* GPU-seconds a token from which on no row lends a layout; INFINITY: any may be lent */
        double gpu_hours, time_s; /* a point has to take less, h and s; 0: any */
        int missed;               /* 1: no point keeps the deadline, and any faster one is wanted */
        int helpers; /* processes that one search may have, where a list has fewer numbers than workers */
    } * boards;      /* [nclusters] */
};
/* The plan of a number of nodes as a worker sends it. */
struct ss_capacity_answer {
    struct ss_capacity_point point;
    struct ss_error why; /* code 0: it was not refused */
    int64_t
        layouts; /* legal ones that the search had, and more for those that it predicted; of the board, those predicted */
    struct ss_capacity_shape shape[SS_CAPACITY_SHAPES]; /* best first */
};
/* Reads what a platform says into its cluster, and finds its least GPU-seconds. */
int ss_capacity_open_cluster(struct ss_capacity_planner *x, int cluster, int nodes, struct ss_error *err);
/* Returns 1 if a point is a better plan of the same number of nodes than another. What surely fits goes first, as in a search. */
int ss_capacity_is_better(const struct ss_capacity *c, const struct ss_capacity_point *a,
                          const struct ss_capacity_point *b);
/* How a point is predicted. */
enum ss_capacity_depth {
    SS_CAPACITY_BLIND,  /* without flows: to compare layouts */
    SS_CAPACITY_NARROW, /* its bands are those of like jobs */
    SS_CAPACITY_WIDE /* and wider by what its words leave to be assumed, as `stepsim run` has them; many times the work */
};
/* Makes the words of the job on the nodes of an answer, and what they ask for; counts its GPUs. */
int ss_capacity_open_point(const struct ss_capacity_planner *x, struct ss_capacity_answer *a,
                           struct ss_request *r, struct ss_asked *asked, struct ss_error *err);
/* Builds the job of a site with another batch and `words` added. */
int ss_capacity_build(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                      const char *words, struct ss_scenario **out, struct ss_error *err);
/* Predicts such a job. */
int ss_capacity_predict(const struct ss_capacity_planner *x, const struct ss_scenario *scenario,
                        const char *words, enum ss_capacity_depth depth, struct ss_capacity_point *p,
                        struct ss_error *err);
/* Builds and predicts such a job. */
int ss_capacity_predict_words(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                              const char *words, enum ss_capacity_depth depth, struct ss_capacity_point *p,
                              struct ss_error *err);
/* Sets a flag of a request. */
int ss_capacity_set_number(struct ss_request *r, const char *flag, int value, struct ss_error *err);
/* Writes a layout's words behind the nodes and, where it is not the asked one, the batch of a point. */
void ss_capacity_write_flags(struct ss_capacity_point *p, int asked, const char *layout);
/* Returns the time, s, from which on an iteration is told apart from one of these figures. */
double ss_capacity_not_apart(const struct ss_summary *best);
/* Returns 0 for a point that surely fits, 1 near the limit, 2 for all others. */
int ss_capacity_doubt(const struct ss_capacity_point *p);
/* Widens the bands of a point. Where points are limited, one that cannot be the answer is left without a prediction. */
int ss_capacity_widen(const struct ss_capacity_planner *x, const struct ss_request *site, const char *words,
                      struct ss_capacity_point *p, struct ss_error *err);
/* Returns the most seconds that an iteration may take for a point to be worth its prediction; INFINITY: any. */
double ss_capacity_most_s(const struct ss_capacity_planner *x, int cluster, int gpus, int batch);

/* ---- capacity_search.c: one number of nodes by a search ---- */
/* Plans a number of nodes by a search, or with the job's own layout. */
int ss_capacity_plan_full(struct ss_capacity_planner *x, struct ss_capacity_answer *a, struct ss_error *err);

/* ---- capacity_lend.c: layouts of rows ---- */
struct ss_find_result;
struct ss_find_point;
/* Notes the layouts that are best by a search, for other numbers of nodes. tokens: of its batch. */
int ss_capacity_lend(const struct ss_find_result *found, double tokens, struct ss_capacity_answer *a,
                     struct ss_error *err);
/* Keeps the layouts that a row lends on its platform's board, as far as they are among the best of all rows. Where there are as many as a row
 * may lend, another row lends faster ones alone. */
void ss_capacity_put_shapes(struct ss_capacity_board *b, const struct ss_capacity_answer *a);
/* Returns the time from which on a layout is neither the best nor one that a row lends: the slowest of as many as a row may lend, of which a
 * faster layout would take a place, or *(double *)ctx, s, from which on none is lent. For ss_find_options. */
double ss_capacity_slowest_lent(void *ctx, const struct ss_find_point *const *points, int n);

/* ---- capacity_shapes.c: with layouts of rows ---- */
/* What is known of layouts that surely fit: s of the fastest, and from which on another one is told apart from it; INFINITY: nothing. */
struct ss_capacity_known {
    double best_s, alike_s;
};
/* Takes a layout that surely fits into what is known. */
void ss_capacity_know(struct ss_capacity_known *known, const struct ss_summary *fits);
/* Predicts the layouts on the platform's board with a batch, those with the least bounds first, and returns what is known then. */
struct ss_capacity_known ss_capacity_try_shapes(const struct ss_capacity_planner *x,
                                                const struct ss_request *site,
                                                const struct ss_capacity_answer *a, int batch);
/* Plans a number of nodes with each of the layouts on the platform's board. */
int ss_capacity_plan_shapes(struct ss_capacity_planner *x, struct ss_capacity_answer *a,
                            struct ss_error *err);

/* ---- capacity_numbers.c: which numbers of nodes ---- */
struct ss_capacity_numbers {
    int n, *nodes;   /* all that may be planned */
    char *state;     /* [n]: enum ss_capacity_state */
    char *by_shapes; /* [n]: 1: planned with the layouts of the board alone */
    int is_range;    /* 1: `nodes` ascends */
    int first;       /* index of the row that is searched first; -1: none */
    int every;       /* 1: all numbers are searched */
};
enum ss_capacity_state {
    SS_CAPACITY_OPEN, /* may be planned */
    SS_CAPACITY_ROW,  /* has a row in the table */
    SS_CAPACITY_HOPELESS,
    SS_CAPACITY_DONE /* was planned beside the rows */
};
/* Reads --nodes of a request, which may be a list or a range. */
int ss_capacity_numbers_read(const struct ss_request *base, int rack, struct ss_capacity_numbers *out,
                             struct ss_error *err);
void ss_capacity_numbers_free(struct ss_capacity_numbers *n);
/* Marks numbers of a range that take longer than the deadline even at the card's peak, or cost more than the budget; where all do,
 * the last row stays. */
void ss_capacity_mark_hopeless(const struct ss_capacity *c, struct ss_capacity_cluster *k,
                               struct ss_capacity_numbers *n);
/* Returns the row of a range that is searched first: the last one that misses the deadline at half of the card's peak, else the first. */
int ss_capacity_first_row(const struct ss_capacity *c, int cluster, const struct ss_capacity_numbers *n);
struct ss_card;
/* Returns the GPU-seconds that the tokens take at least on a card; 0: not known. */
double ss_capacity_least_gpu_s(const struct ss_capacity_planner *x, const struct ss_asked *asked,
                               const struct ss_card *card);
/* Refuses amounts that are a unit away from what they must mean: fewer tokens than a batch has or more than there are, a deadline of a
 * minute, a budget of less than a hundredth of what the peak of the cheapest cards costs. */
int ss_capacity_check_amounts(const struct ss_capacity *c, double batch_tokens, struct ss_error *err);

/* ---- capacity_plan.c: in which order they are planned, and by which way ---- */
/* Plans all platforms; numbers: [nclusters]. *first gets the first refusal. */
int ss_capacity_plan_all(struct ss_capacity_planner *x, struct ss_capacity_numbers *numbers,
                         struct ss_error *first, struct ss_error *err);

/* Writes the answer of each platform, in lines. */
void ss_capacity_answers(const struct ss_capacity *c, FILE *out);
/* Writes what the plan stands on: a line for each platform, and one for tokens, batch and cards. */
void ss_capacity_premises(const struct ss_capacity *c, FILE *out);
/* Writes what becomes of a point: "fits, the answer, batch +3.1 %". */
void ss_capacity_verdict(const struct ss_capacity *c, int i, FILE *out);
/* Writes what a platform was taken to be, in lines. */
void ss_capacity_inputs(const struct ss_capacity *c, int cluster, FILE *out);
int ss_capacity_text(const struct ss_capacity *c, const struct ss_display *view, FILE *out,
                     struct ss_error *err);
int ss_capacity_json(const struct ss_capacity *c, FILE *out, struct ss_error *err);
int ss_capacity_csv(const struct ss_capacity *c, FILE *out, struct ss_error *err);

#endif
