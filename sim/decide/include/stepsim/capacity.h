/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of capacity: how many nodes train a model on so many tokens, in how many days, for how much money and energy, when
 * parts fail and checkpoints are written. One point for each number of nodes.
 *
 *     struct ss_capacity_options o = {.tokens = 1e12, .deadline_s = 30 * 86400};
 *     ss_capacity_run(&request, &o, &plan, &err);      "--nodes 16..256" stands in the request
 *     plan->clusters[0].chosen                         a point of plan->points, or -1
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
#include "stepsim/search.h"
#include "stepsim/summary.h"
#include "stepsim/sweep.h"
#include "stepsim/text.h"
#include "stepsim/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who chooses the layout for each number of nodes. */
enum ss_capacity_layout {
    SS_CAPACITY_SEARCH, /* a search chooses the best (stepsim/search.h); what the job gives stays */
    SS_CAPACITY_GIVEN   /* the layout is the job's own; data parallelism takes the nodes */
};

struct ss_capacity_options {
    double tokens;     /* tokens to train on, >= 1, finite */
    double deadline_s; /* 0: none */
    double budget_usd; /* 0: none */
    int layout;        /* enum ss_capacity_layout */
    /* Values of the search for flags of the layout, as for ss_find_run, and platforms that are held against each other, `--platform`;
     * NULL: all legal values of the usual flags, on the job's platform */
    const struct ss_sweep *vary;
    const struct ss_scenario_options *how; /* asker and files; `like` is ignored; may be NULL */
    const struct ss_run_options *run; /* options of every prediction; NULL: native, and the installed bands */
    /* Processes that plan numbers of nodes, each a number; their number changes no answer. The journal keeps each number as soon as it
     * is planned. */
    struct ss_workers workers;
    /* Called behind each number of nodes with how many are planned, of how many that are known by now; may be NULL. */
    void (*progress)(void *ctx, int done, int all);
    void *ctx;
};

/* A predicted value, and the range that holds 90 % of such jobs by the band of the time
 * (ss_summary.band_pct); NaN: not known. */
struct ss_capacity_range {
    double value, low, high;
};

/* A point: one number of nodes of a platform. A refused point, and a point without a layout that fits, has only the
 * fields up to `summary`. */
struct ss_capacity_point {
    int cluster; /* index of its platform in ss_capacity.clusters */
    int nodes, gpus;
    /* global batch in sequences: among the batches that the GPUs can divide, the nearest to the job's */
    int batch;
    char flags[SS_FIND_FLAGS + 64]; /* words behind those of the job that make the point */
    char layout[120];               /* "tp 4 cp 1 pp 8 x 2 dp 16 mbs 1" */
    int straddles; /* 1: a tensor or expert group lies on two fabric domains; they are taken to be equal */
    struct ss_summary summary;
    double iterations; /* a whole number; the last iteration may pass the tokens */
    double busy_share; /* share of an iteration in which a GPU runs kernels, mean over the stages, 0..1 */
    double checkpoint_bytes,
        checkpoint_s;          /* bytes of weights and optimizer states, one copy; s to write them */
    double interval_s, mtbf_s; /* s between checkpoints; s between failures of the job */
    double goodput;            /* time of iterations that count, over all time, 0..1 */
    struct ss_capacity_range time_s, gpu_hours;
    struct ss_capacity_range energy_j; /* NaN where the platform does not say what its parts draw */
    struct ss_capacity_range usd;      /* NaN where there is no price */
};

/* How numbers of nodes of a platform were looked at. */
enum ss_capacity_look {
    SS_CAPACITY_LISTED, /* those that were named, each alone */
    SS_CAPACITY_EVERY,  /* every number of the range, each with all layouts */
    SS_CAPACITY_LAYOUTS, /* every number between the rows about the answer, with the layouts that are best on the rows */
};

/* A platform of a plan: what it says of money, energy and failures, and which of its points are answers. */
struct ss_capacity_cluster {
    char platform[96], card[64], fabric[24];
    int gpus_a_node;
    int rack; /* nodes that are bought together, >= 1 */
    double gpu_w, idle, node_w,
        /* sources of energy: ss.power (W), ss.power.idle (share of it, 0..1), ss.power.node (W), ss.power.pue
         * (factor) */
        pue;
    double price;         /* USD an hour and GPU, 0: none */
    int price_is_example; /* 1: ss.price.example, no price is stated */
    char basis
        [160]; /* whose prices it is of: "stated", or ss.price.basis; prices of unlike bases are not held against each other */
    double mtbf_h, restart_s,
        /* h between failures of a GPU; s until it trains again; bytes/s that storage takes from each node */
        storage;
    /* GPU-seconds that the tokens take at least: 6 FLOP a token and parameter that multiplies it, at the card's highest peak; 0: not
     * known */
    double least_gpu_s;
    int look;       /* enum ss_capacity_look */
    int numbers;    /* of nodes that were asked for */
    int most_nodes; /* the largest of them */
    int hopeless;   /* of them, those that take longer than the deadline by least_gpu_s and are not planned */
    int planned;    /* of them, those that were planned */
    int near; /* of them, those that were searched with the tensor and context sizes of the layouts that are best on the rows */
    /* Indices of points, or -1. chosen: with a deadline the cheapest point that keeps it (and the budget), with a budget alone the
     * fastest point within it, else the knee. sure: the same choice by the far end of the range, among points that surely fit.
     * These and the next two are points with a batch more than a sixteenth off the asked one only where no other can be. */
    int chosen, sure;
    /* what the chosen point stands on, or without one the first that was predicted, but for its nodes and batch; "": all are refused */
    char premises[512];
    int cheapest; /* the point with the fewest GPU-hours */
    int knee; /* the point with the most nodes among those that take at most a tenth more GPU-hours than the cheapest */
};

struct ss_capacity {
    double tokens, deadline_s, budget_usd;
    int asked_batch; /* global batch of the job */
    int layout;      /* enum ss_capacity_layout */
    char model[96];
    int nclusters;
    struct ss_capacity_cluster *clusters; /* in the order of the values of --platform */
    int npoints;
    /* by platform, then by nodes: of a range the numbers that double, answers, and the numbers near them that no other beats */
    struct ss_capacity_point *points;
    /* what would make the job fit on platforms where no number of nodes holds it, each tried: words behind the job's, and the time that they
     * take; and the fewest GPUs that hold the model */
    struct ss_notes fixes;
    /* of the first chosen point, or without one of the first point that was predicted; made as by ss_warnings_behind */
    struct ss_notes warnings;
};

/* Makes a plan. `--nodes` of the request may be a number, a list or a range; without the flag the range is 2..4096. The rows of the
 * range 16..256 are 16, 32, 64, 128 and 256; of a platform in racks (ss.fabric.nodes) numbers beyond a rack are whole racks. With a
 * deadline or a budget numbers between the rows are planned, too (enum ss_capacity_look), but for those that the peak of the card
 * rules out. The request has the model, its sequence length and global batch. Where GPUs do not divide the batch, the nearest one
 * within a sixteenth of it is taken that loses fewest layouts. A number of nodes that is refused is a point of that outcome. The
 * caller frees *out with ss_capacity_free. Errors: SS_ERR_USAGE (no tokens, batch or sequence length, a negative deadline or budget,
 * amounts that are absurd, no such way to choose a layout, a budget without a price); where every number of nodes is refused, the
 * error of the first, such as SS_ERR_CONFIG; SS_ERR_INPUT and SS_ERR_IO of the journal; those of ss_find_run, ss_scenario_build and
 * ss_run_scenario. */
int ss_capacity_run(const struct ss_request *base, const struct ss_capacity_options *options,
                    struct ss_capacity **out, struct ss_error *err);
/* Frees a plan. NULL is allowed. */
void ss_capacity_free(struct ss_capacity *plan);
/* Returns 1 where a platform has a number of nodes that is the answer. */
int ss_capacity_is_answered(const struct ss_capacity *plan);
/* Returns 1 where a point has figures: it was predicted and fits the memory. */
int ss_capacity_holds(const struct ss_capacity_point *p);

enum ss_capacity_form { SS_CAPACITY_TEXT, SS_CAPACITY_JSON, SS_CAPACITY_CSV };
/* Writes a plan; the view, which may be NULL, is that of the text. Error: SS_ERR_IO. */
int ss_capacity_write(const struct ss_capacity *plan, enum ss_capacity_form form,
                      const struct ss_display *view, FILE *out, struct ss_error *err);
/* Draws days and cost over nodes as an SVG of `width` px, 0: its own. Error: SS_ERR_IO. */
int ss_capacity_write_svg(const struct ss_capacity *plan, double width, FILE *out, struct ss_error *err);
/* Writes a plan as an HTML page that needs nothing else; width: of its picture. Errors: SS_ERR_IO, SS_ERR_NOMEM. */
int ss_capacity_write_page(const struct ss_capacity *plan, double width, FILE *out, struct ss_error *err);

/* Reads a number of tokens, "15.6T", with k, M, B, G or T behind it or nothing. Error: SS_ERR_USAGE. */
int ss_capacity_read_tokens(const char *text, double *out, struct ss_error *err);
/* Reads a time, "54d", with s, min, h, d or w behind it; *out is in s. Error: SS_ERR_USAGE. */
int ss_capacity_read_time(const char *text, double *out, struct ss_error *err);
/* Reads an amount of USD, "5e6" or "5MUSD". Error: SS_ERR_USAGE. */
int ss_capacity_read_money(const char *text, double *out, struct ss_error *err);

/* Returns the interval between two checkpoints that loses least time, where writing one takes `write_s` and
 * failures come every `mtbf_s` in the mean: Daly (2006), equation 37, whose first term is Young's (1974). All
 * in s; mtbf_s > 0. */
double ss_checkpoint_interval(double write_s, double mtbf_s);
/* Returns the share of all time that is useful work, with exponential failures, also while the job restarts
 * (`restart_s`) or writes: Daly (2006), equation 20. 0 < result <= 1. */
double ss_checkpoint_goodput(double interval_s, double write_s, double restart_s, double mtbf_s);

#ifdef __cplusplus
}
#endif
#endif
