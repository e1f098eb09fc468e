/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for a layout: all that a job may take of tensor, context, pipeline and expert parallelism, virtual stages, micro
 * batch, recompute and sharding, on each number of nodes that is asked for; which is fastest and surely fits.
 *
 *     ss_sweep_vary(&vary, "nodes=4..64", &err);      stepsim/sweep.h: ranges, lists, "tp=auto"
 *     ss_find_run(&request, &options, &found, &err);
 *     found->groups[0].best                           a point of found->points, or -1
 *     ss_find_free(found);
 *
 * What the job gives stays as it gives it; what is varied takes the values that are named, and every legal one where that is
 * `auto`, as do the axes of SS_FIND_AXES below that the job does not give. With tensor parallelism
 * experts are split alike, and whole as well (--etp 1), where the job does not say. docs/design/design.md, section 9, tells how.
 */
#ifndef STEPSIM_SEARCH_H
#define STEPSIM_SEARCH_H

#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/request.h"
#include "stepsim/result.h"
#include "stepsim/scenario.h"
#include "stepsim/summary.h"
#include "stepsim/sweep.h"
#include "stepsim/text.h"
#include "stepsim/workers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is searched: the layout, the switches of a layout that is given, or both. X(symbol, word) */
#define SS_FIND_AXES_LIST(X)                                                                                 \
    X(LAYOUT, "layout")                                                                                      \
    X(SWITCHES, "switches")                                                                                  \
    X(ALL, "all")
enum {
#define X(symbol, word) SS_FIND_AXES_##symbol,
    SS_FIND_AXES_LIST(X)
#undef X
        SS_FIND_AXES_COUNT
};
/* Returns the word of one of them. Never NULL. */
const char *ss_find_axes_word(int axes);

struct ss_find_group;
struct ss_find_point;
/* How a search is made. */
struct ss_find_options {
    const struct ss_sweep *vary;           /* flags that are varied, and their values; NULL: none */
    const struct ss_scenario_options *how; /* asker and files; `like` is ignored; may be NULL */
    /* engine and bands of every prediction; NULL: native, and the installed bands */
    const struct ss_run_options *run;
    struct ss_workers workers; /* processes that predict layouts */
    int exhaustive; /* 1: no layout is left out because of a bound; 2: and bounds are as tight as they get */
    int best_only;  /* 1: only the fastest layout on each cluster is wanted, not the front */
    int brief;   /* 1: the shares of bubble, imbalance and spread are not computed: they are NaN in points */
    int confirm; /* 1: SimGrid runs the best layouts at layer level, too */
    int axes;    /* SS_FIND_AXES_... */
    /* [cluster]: bits of the switches that are on where they apply; NULL: those of the stack's recipe, or with `axes` the
     * best */
    const unsigned *switches;
    const double
        *below; /* [cluster]: only layouts faster than this, s, are wanted, with best_only; NULL: all */
    /* Called now and then with how much is done of how many layouts are left; may be NULL. */
    /* `all` is 0 while switches are tried: how often is not known. */
    void (*progress)(void *ctx, int64_t done, int64_t all);
    void *ctx;
    /* Called for each layout that surely fits and is faster than all before it on its cluster; may be NULL. */
    void (*better)(void *ctx, const struct ss_find_group *group, const struct ss_find_point *point);
    int also_alike; /* 1: with best_only, layouts that are not told apart from the fastest are wanted, too */
    /* With also_alike, of `points`, which surely fit on one cluster, the fastest first: returns the time, s, from which on no other layout
     * is wanted, which may only fall as points are added; may be NULL. */
    double (*wanted)(void *ctx, const struct ss_find_point *const *points, int n);
};

struct ss_explanation;
/* A layout that was predicted. */
/* Bytes of the words that make a layout. */
#define SS_FIND_FLAGS 800

struct ss_find_point {
    int group;                      /* number of its group */
    int number;                     /* number of the layout in the order of the walk */
    int tp, cp, pp, ep, chunks, dp; /* chunks: virtual stages of a pipeline rank */
    int micro_batch, microbatches;  /* micro batch size; microbatches of a pipeline */
    int recompute;                  /* enum ss_recompute */
    int recompute_layers; /* layers of each virtual stage that block recompute repeats; 0: another form */
    int fsdp;             /* 1: parameters are sharded */
    unsigned switches;    /* bits of the switches that are on */
    char schedule[32];    /* "auto", or its name */
    char flags[SS_FIND_FLAGS]; /* words that make the layout when they follow the job's */
    char more[100];            /* the part of `flags` that no field above holds: "overlap-grad-reduce" */
    struct ss_summary summary;
    double least_s, least_bytes; /* lower bounds: of the iteration, and of the memory that nvidia-smi shows */
    /* 1: no other fitting layout of the same work is at least as good in GPUs, time and memory, and better in
     * one */
    int front;
    int like_best; /* 1: its time is within the error band of the group's best, so that the two are too close to call */
};

/* The layouts on one number of nodes, or with one combination of the other flags that are no axes of a
 * layout. */
struct ss_find_group {
    int nodes, gpus;
    char flags[200]; /* words that make the group; "": none */
    /* the first group that trains the same model on the same tokens; groups of one work share a front */
    int work;
    int64_t layouts; /* combinations of the axes' values */
    int64_t refused; /* layouts that the framework refuses, or that are not modelled */
    int64_t
        too_large; /* layouts whose weights, gradients and states alone do not fit; they are not predicted */
    char held[SS_FIND_FLAGS]; /* words of the first of these; "": none */
    int64_t bounded; /* layouts that a bound rules out as the best or on the front; they are not predicted */
    int64_t predicted; /* all other layouts */
    int best;          /* index of the fastest point that surely fits; -1: none */
    int near;      /* index of the fastest point near the memory limit if it is faster than `best`; else -1 */
    int like_best; /* number of points too close to the best to call, without the best */
    double
        confirmed_s; /* s of an iteration of the best point by SimGrid at layer level; 0: not asked for, or no point is best */
};

/* A rule that refused layouts. */
struct ss_find_rule {
    int code;          /* enum ss_status */
    int64_t n;         /* layouts that it refused, each counted once */
    char flags[256];   /* flags that it blames */
    char example[320]; /* its message for the first layout that it refused */
    char hint[512];    /* what to do about that; "": nothing is known */
};

struct ss_find_result {
    int ngroups, nrules, npoints;
    struct ss_find_group *groups; /* in the order of the values */
    struct ss_find_rule *rules;   /* the rule that refused most comes first */
    /* predicted layouts: by group; then those that fit, near the limit, too large; then by time */
    struct ss_find_point *points;
    /* of the best layout in the first group that has one; made as by ss_warnings_behind */
    struct ss_notes warnings;
    char premises[512]; /* what all layouts stand on, told above the table */
    /* the fewest GPUs that hold the job; gpus 0: a layout fits, or none was found */
    struct ss_smallest smallest;
    /* what helps the best layout of that group beside its layout; NULL: nobody asked */
    struct ss_explanation *advice;
    int64_t replays; /* layouts that were predicted, also those that the bounds ruled out afterwards */
};

/* Searches. Only the request and the varied flags decide which layouts are predicted and what is found.
 * The caller frees *out with ss_find_free. Errors: SS_ERR_USAGE (the job has no global batch; values
 * that contradict each other), SS_ERR_CONFIG (every layout is refused; the message is that of the rule
 * that refused most), those of ss_scenario_build and ss_predict. */
int ss_find_run(const struct ss_request *base, const struct ss_find_options *options,
                struct ss_find_result **out, struct ss_error *err);
/* Returns how many clusters a search with these flags has: the combinations of the values of those flags
 * that are no axes of a layout. Returns 0 where there are more than `most`. */
int ss_find_clusters(const struct ss_sweep *vary, int most);
/* Returns the exit status of the program: 0 if a layout fits, or is near the memory limit, on one of the numbers of nodes. */
int ss_find_status(const struct ss_find_result *found);
/* Frees what was found. NULL is allowed. */
void ss_find_free(struct ss_find_result *found);
/* Writes what was found as text with the first `top` layouts of each number of nodes, or as JSON, as the view says, which may be NULL.
 * Error: SS_ERR_IO. */
int ss_find_write(const struct ss_find_result *found, const struct ss_display *view, int top, FILE *out,
                  struct ss_error *err);
/* Draws memory over time for each number of nodes, with the front and the band of the best, `width` px wide, 0: its own. Error: SS_ERR_IO. */
int ss_find_write_svg(const struct ss_find_result *found, double width, FILE *out, struct ss_error *err);
/* Writes what was found as an HTML page that needs nothing else; width: of its picture. Errors: SS_ERR_IO, SS_ERR_NOMEM. */
int ss_find_write_page(const struct ss_find_result *found, double width, FILE *out, struct ss_error *err);
/* Writes the points with all figures as a CSV table. Error: SS_ERR_IO. */
int ss_find_write_csv(const struct ss_find_result *found, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
