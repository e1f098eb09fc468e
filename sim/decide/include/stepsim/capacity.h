/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of capacity: how many nodes train a model on so many tokens, in how many days, for how much money and energy, when
 * parts fail and checkpoints are written. One point for each number of nodes.
 *
 *     struct ss_capacity_options o = {.tokens = 1e12, .deadline_s = 30 * 86400};
 *     ss_capacity_run(&request, &o, &plan, &err);      "--nodes 16..256" stands in the request
 *     plan->chosen                                     a point of plan->points, or -1
 *     ss_capacity_free(plan);
 *
 * Equations (docs/reference/model.md, section 15):
 *   time      iterations x iteration, over the goodput
 *   goodput   Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006), equations 20 and 37
 *   energy    GPUs at ss.power while kernels run, else at ss.power.idle of it; nodes' rest; times ss.power.pue
 *   money     GPU-hours x price
 * What they take of the platform are props of its card (card.h): ss.power*, ss.price*, ss.mtbf, ss.restart,
 * ss.storage.bandwidth.
 */
#ifndef STEPSIM_CAPACITY_H
#define STEPSIM_CAPACITY_H

#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/request.h"
#include "stepsim/result.h"
#include "stepsim/scenario.h"
#include "stepsim/summary.h"
#include "stepsim/sweep.h"
#include "stepsim/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whose layout each number of nodes gets. */
enum ss_capacity_layout {
    SS_CAPACITY_SEARCH, /* the best that a search finds (stepsim/search.h); what the job gives stays */
    SS_CAPACITY_GIVEN   /* the job's own; data parallelism takes the nodes */
};

struct ss_capacity_options {
    double tokens;     /* to train on, >= 1, finite */
    double deadline_s; /* 0: none */
    double budget_usd; /* 0: none; not both */
    int layout;        /* enum ss_capacity_layout */
    /* Values that a search has for flags of the layout, as those of ss_find_run; NULL: all legal ones of the usual flags */
    const struct ss_sweep *vary;
    const struct ss_scenario_options *how; /* asker and files; `like` is not looked at; may be NULL */
    const struct ss_run_options *run;      /* of every prediction; NULL: native, and bands that are read */
    struct ss_workers workers;             /* of a search, whose number changes no answer */
    /* Called now and then with the share that is done, 0..1; may be NULL. */
    void (*progress)(void *ctx, double share);
    void *ctx;
};

/* What is predicted, and the range of nine of ten such jobs, by the band of the time (ss_summary.band_pct); NaN: not known. */
struct ss_capacity_range {
    double value, low, high;
};

/* A number of nodes. Of a point that is refused, or for which no layout fits, only the first lines are filled. */
struct ss_capacity_point {
    int nodes, gpus;
    int batch;       /* global batch, in sequences: the one nearest to that of the job that the GPUs divide */
    char flags[640]; /* words behind those of the job that make it */
    char layout[120]; /* "tp 4 cp 1 pp 8 x 2 dp 16 mbs 1" */
    int straddles; /* 1: tensor or expert groups are on two domains of the fabric, which are taken to be equal */
    struct ss_summary summary;
    double iterations; /* whole ones, the last one may pass the tokens */
    double busy_share; /* of an iteration in which a GPU runs kernels, mean of the stages, 0..1 */
    double checkpoint_bytes, checkpoint_s; /* weights and optimizer states, once; time to write them */
    double interval_s, mtbf_s;             /* between checkpoints; between failures of the job */
    double goodput;                        /* time of iterations that count over all time, 0..1 */
    struct ss_capacity_range time_s, gpu_hours;
    struct ss_capacity_range energy_j; /* NaN where the platform does not say what its parts draw */
    struct ss_capacity_range usd;      /* NaN where there is no price */
};

struct ss_capacity {
    double tokens, deadline_s, budget_usd;
    int asked_batch; /* global batch of the job */
    int layout;      /* enum ss_capacity_layout */
    char model[96], platform[96], card[64], fabric[24];
    double gpu_w, idle, node_w,
        pue;      /* what energy is from: ss.power (W), .idle (share of it, 0..1), .node (W), .pue (factor) */
    double price; /* USD an hour and GPU, 0: none */
    int price_is_example; /* 1: ss.price.example, no price is stated */
    double mtbf_h, restart_s,
        storage; /* h between failures of a GPU; s; bytes/s that storage takes from each node */
    int npoints;
    struct ss_capacity_point *points; /* by nodes */
    /* Indices of points, or -1. chosen: with a deadline the fewest nodes that meet it, with a budget the fastest within it, else the
     * knee. sure: the same by the far end of the range, of those that surely fit. */
    int chosen, sure;
    int cheapest; /* that takes the fewest GPU-hours */
    int knee;     /* the most nodes whose GPU-hours are within a tenth of the fewest */
    struct ss_notes
        warnings; /* of the chosen point, else the first that was predicted, as of ss_warnings_behind */
};

/* Plans. `--nodes` of the request may be a number, a list or a range (16..256: each twice the one before, and where a deadline or a budget
 * lies between two, by the prediction or by the far end of its range, further ones down to a sixteenth); without it 2..4096. The
 * request has the model, its sequence length and global batch. A number of nodes that is refused is a point of that outcome. The caller
 * frees *out with ss_capacity_free. Errors: SS_ERR_USAGE (no tokens, batch or sequence length, both a deadline and a budget, a negative one,
 * no such way to choose a layout, a budget without a price), SS_ERR_CONFIG and the like where every number of nodes is refused (the first one's words), those of
 * ss_find_run, ss_scenario_build and ss_run_scenario. */
int ss_capacity_run(const struct ss_request *base, const struct ss_capacity_options *options,
                    struct ss_capacity **out, struct ss_error *err);
/* Frees a plan. NULL is allowed. */
void ss_capacity_free(struct ss_capacity *plan);
/* Returns 1 where a point has figures: it was predicted, and does not need more memory than there is. */
int ss_capacity_holds(const struct ss_capacity_point *p);

enum ss_capacity_form { SS_CAPACITY_TEXT, SS_CAPACITY_JSON, SS_CAPACITY_CSV, SS_CAPACITY_SVG };
/* Writes a plan. Error: SS_ERR_IO. */
int ss_capacity_write(const struct ss_capacity *plan, enum ss_capacity_form form, FILE *out,
                      struct ss_error *err);

/* Reads a number of tokens, "15.6T", with k, M, B, G or T behind it or nothing. Error: SS_ERR_USAGE. */
int ss_capacity_read_tokens(const char *text, double *out, struct ss_error *err);
/* Reads a time, "54d", with s, min, h, d or w behind it; *out is in s. Error: SS_ERR_USAGE. */
int ss_capacity_read_time(const char *text, double *out, struct ss_error *err);
/* Reads an amount of USD, "5e6" or "5MUSD". Error: SS_ERR_USAGE. */
int ss_capacity_read_money(const char *text, double *out, struct ss_error *err);

/* The interval of computing between two checkpoints that take `write_s` to write, which loses least time when failures come
 * every `mtbf_s` in the mean: Daly (2006), equation 37, whose first term is Young's (1974). All in s; mtbf_s > 0. */
double ss_checkpoint_interval(double write_s, double mtbf_s);
/* Time of work that counts over all time, with exponential failures, also while the job restarts (`restart_s`) or writes: Daly
 * (2006), equation 20. 0 < result <= 1. */
double ss_checkpoint_goodput(double interval_s, double write_s, double restart_s, double mtbf_s);

#ifdef __cplusplus
}
#endif
#endif
