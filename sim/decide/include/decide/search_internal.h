/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the search share. */
#ifndef SS_DECIDE_SEARCH_INTERNAL_H
#define SS_DECIDE_SEARCH_INTERNAL_H

#include "job/asked.h"
#include "job/input_cache.h"
#include "plan/bounds.h"
#include "stepsim/job.h"
#include "stepsim/search.h"

#define SS_FIND_MOST_AXES 16
#define SS_FIND_CLUSTERS 4096
/* Numbers of a leaf: the index of each axis' value, the layers that block recompute repeats, and the switches that are
 * on, the low byte of their bits and the high one. */
#define SS_FIND_BLOCK_LAYERS SS_FIND_MOST_AXES
#define SS_FIND_SWITCHES (SS_FIND_MOST_AXES + 1)
#define SS_FIND_NUMBERS (SS_FIND_MOST_AXES + 3)
/* The most combinations of all axes and groups that a search takes. */
#define SS_FIND_MOST_LAYOUTS 2000000000

/* An axis of a layout: a flag and its values. */
struct ss_find_axis {
    char flag[64];
    int kind; /* enum ss_find_kind */
    int n;
    char value[SS_SWEEP_VALUES][64];
};
/* Axes that every job has, outermost first. The check of an axis reads only axes before it. Other flags
 * that are varied stand at SS_AXIS_EXTRA. */
enum ss_find_kind {
    SS_FIND_TP,
    SS_FIND_CP,
    SS_FIND_PP,
    SS_FIND_EP,
    SS_FIND_EXTRA,
    SS_FIND_SCHEDULE,
    SS_FIND_VP,
    SS_FIND_MBS,
    SS_FIND_RECOMPUTE,
    SS_FIND_FSDP,
    SS_FIND_KINDS
};

/* A cluster and the axes of the layouts on it. */
struct ss_find_cluster {
    int at[SS_SWEEP_FLAGS];    /* index of the value of each flag that is no axis */
    struct ss_request request; /* the words of the job, and behind them those of the values `at` */
    struct ss_asked asked;     /* what these words ask for; no axis is set */
    struct ss_model model;     /* the model that its config and the flags give, not finished */
    struct ss_platform *platform;
    struct ss_stack *stack;
    int world_size, gpus_per_node;
    int naxes;
    struct ss_find_axis axes[SS_FIND_MOST_AXES];
    int block_axis,
        block_value; /* the axis of recompute, and 1 + the number of its value SS_FIND_BLOCK; 0: none */
    struct ss_find_typed
        *typed;   /* what their values set, as far as was asked; NULL: words are read each time */
    int given;    /* 1: the layout is the job's but for what is varied */
    int shards;   /* 1: the optimizer is sharded, because the job does not say otherwise */
    int splits;   /* 1: the layers of the first and last stage are free */
    int sequence; /* 1: sequence parallelism goes with tensor parallelism */
    int experts;  /* 1: experts may be split or whole, because the job does not say */
    int recipe;   /* 1: the stack has recipes of the model, which run would take and the search leaves out */
    unsigned switches; /* a bit each: on where they apply and are legal */
    unsigned
        said; /* those that never are, for the job or --vary says what they would change, or the stack has not got them */
    unsigned later;              /* flags of those that the stack is too old for, bits of job/release.h */
    unsigned bounded;            /* those for which the space has bounds */
    double room;                 /* bytes that a layout which surely fits needs at most */
    int64_t too_slow, too_large; /* legal layouts that the walk has left out */
};

/* A layout that is not refused. */
struct ss_find_leaf {
    int cluster, walk; /* walk: its place in the order of the walk */
    unsigned char at[SS_FIND_NUMBERS];
    int place;             /* its place among the layouts of its cluster, where the best bound is first */
    double seconds, bytes; /* lower bounds of the iteration and of the memory */
    double quick;          /* s: the first bound, which a tighter one may replace */
    int loose;             /* 1: a tighter one can be found */
    int unsure;            /* 1: by that bound of the memory it does not surely fit */
};

/* Lower bounds of a leaf, which are 0 where nothing is known. */
struct ss_find_bounds {
    double seconds, bytes, least_bytes;
    double floor; /* s: with one layer, where some are recomputed */
    double work;  /* s: of the mean rank's forwards and backwards */
    unsigned set; /* the switches that are legal together */
    int unsure, loose;
    int decided; /* 1: in an earlier round, so nothing else is filled in */
    int layers;  /* the fewest that block recompute repeats; 0: none is worth a try */
};
struct ss_find_space {
    struct ss_input_cache *loaded;
    int nclusters;
    struct ss_find_cluster *clusters;
    size_t nleaves, cap_leaves;
    struct ss_find_leaf *leaves; /* those of the present search, with their switches */
    size_t nall;
    struct ss_find_leaf
        *all; /* every one, in the order of the walk, where several searches follow; else NULL */
    struct ss_find_bounds *bounds; /* of every one with the clusters' `bounded` switches; NULL: none yet */
    struct ss_find_result *found;  /* the search counts refusals in its groups and rules */
    size_t cap_rules;
    /* what the walk took: layouts asked for by this process, and by all; ranks' costs that were made; pieces of work, and
     * the most costs of one */
    struct ss_find_counts {
        int64_t here, asked, priced, most;
        int slices;
    } counts;
};

/* ---- search_space.c: clusters and their axes ---- */
struct ss_find_round;
/* Makes the clusters; ss_find_walk finds the layouts on them. */
int ss_find_space_build(const struct ss_request *base, const struct ss_find_options *o,
                        struct ss_find_space *s, struct ss_error *err);
/* Takes the layouts of a round, or of the last search (NULL), which has all, and forgets what the search before has found. */
int ss_find_space_begin(struct ss_find_space *s, const struct ss_find_round *round, struct ss_error *err);
void ss_find_space_free(struct ss_find_space *s);
/* Adds the files that jobs of the space are read from, without those of platform and stack. */
int ss_find_files(const struct ss_find_space *s, struct ss_files *files, struct ss_error *err);
/* Returns the deepest axis that a rule reads, by the flags that it blames. All layouts with the same values up to this axis are refused, too,
 * whatever the deeper axes say. A rule that is not known reads all axes. */
int ss_find_reach(const struct ss_find_cluster *c, const char *flags);
/* Counts n layouts as refused, by the rule that `why` tells. */
int ss_find_refuse(struct ss_find_space *s, int cluster, const struct ss_error *why, int64_t n,
                   struct ss_error *err);

/* ---- search_walk.c ---- */
/* Finds the layouts that the framework takes, in the order of their values, by the workers of `o`. bounded 1: with the
 * bounds of each, under the switches of its cluster; o->run is there and the clusters have their room. */
int ss_find_walk(struct ss_find_space *s, const struct ss_find_options *o, int bounded, struct ss_error *err);

/* ---- search_axes.c ---- */
/* Fills the axes of a cluster whose job, model and sizes are set. */
int ss_find_axes_build(struct ss_find_cluster *c, const struct ss_sweep *vary, struct ss_error *err);
/* Returns 1 if a varied flag is an axis of a layout, and 0 if it is one of the cluster or the model. */
int ss_find_is_axis(const char *flag);
/* Returns the index of a value of an axis; `otherwise`: it has no such value. */
int ss_find_value(const struct ss_find_axis *a, const char *value, int otherwise);
/* Returns 1 if a request gives one of these flags, which are separated by blanks. */
int ss_find_gives(const struct ss_request *r, const char *flags);
/* Returns 1 if a request fixes an axis of the layout, SS_FIND_TP to SS_FIND_FSDP. */
int ss_find_gives_axis(const struct ss_request *r, int kind);
/* Returns how many of these flags, separated by blanks, a request gives or `vary` has values of, minus those
 * that the search chooses. */
int ss_find_blames(const struct ss_request *r, const struct ss_sweep *vary, const char *flags);
/* Returns a number that grows with what the prediction of a leaf costs: the turns of its schedule's loop, which are all ranks' slots of
 * as many microbatches as there are stages. */
double ss_find_labour(const struct ss_find_cluster *c, const unsigned char *at);
/* Returns whether the parameters of a leaf are in shards. */
int ss_find_in_shards(const struct ss_find_cluster *c, const unsigned char *at);
/* Writes the words that value at[axis] stands for, given the values of the axes before it. */
void ss_find_words(const struct ss_find_cluster *c, const unsigned char *at, int axis, char *words,
                   size_t size);
/* Writes the words of all axes. */
void ss_find_flags(const struct ss_find_cluster *c, const unsigned char *at, char *words, size_t size);

/* ---- search_leaf.c ---- */
/* Sets the words of the axes from `from` to `to` - 1 in a job. After an error the job is of no use. */
int ss_find_set(const struct ss_find_cluster *c, const unsigned char *at, int from, int to,
                struct ss_asked *asked, struct ss_error *err);
/* What that keeps of a cluster; NULL without memory. */
struct ss_find_typed *ss_find_typed_new(void);
void ss_find_typed_free(struct ss_find_typed *typed);
/* Writes the words of a leaf: those of its axes, and of its switches. */
int ss_find_leaf_words(const struct ss_find_space *s, const struct ss_find_leaf *leaf, char *words,
                       size_t size, struct ss_error *err);
/* Turns on as many switches of a set as are legal in a leaf, and makes its finished job. */
int ss_find_leaf_switch(const struct ss_find_space *s, struct ss_find_leaf *leaf, unsigned set,
                        struct ss_job *job, struct ss_error *err);
/* Why a layout is refused: a status, and the flags that it comes from. */
struct ss_find_refusal {
    int code;
    char flags[SS_BLAMED];
};
/* Finishes the job of `asked`; where a layout is refused only *why tells so, whose code is 0 otherwise. Errors: all others. */
int ss_find_ask(const struct ss_find_space *s, const struct ss_find_cluster *c, const struct ss_asked *asked,
                struct ss_job *job, struct ss_find_refusal *why, struct ss_error *err);
/* Makes the finished job of a leaf without its switches, and what it asks for. */
int ss_find_plain_job(const struct ss_find_space *s, const struct ss_find_leaf *leaf, struct ss_asked *asked,
                      struct ss_job *job, struct ss_error *err);
/* Makes the finished job of a leaf. */
int ss_find_job(const struct ss_find_space *s, const struct ss_find_leaf *leaf, struct ss_job *job,
                struct ss_error *err);

/* ss.recompute.forms of a stack. */
enum { SS_RECOMPUTE_FORM_BLOCK = 1, SS_RECOMPUTE_FORM_MOE, SS_RECOMPUTE_FORM_MODULES };

/* ---- search_switches.c ---- */
/* Switches are the changes that serve SS_CHANGE_SWITCH, a bit each in their order: grouped GEMMs, a dispatcher, what
 * is exchanged beside compute, offload. */
#define SS_FIND_MOST_SWITCHES 16
/* Returns the number of switches. */
int ss_find_switches(void);
/* Returns the bits of all switches that make nothing slower by their nature: all but offload. */
unsigned ss_find_switches_usual(void);
/* Writes the words of the switches of a set that apply to a finished job with `dp` replicas, with blanks between.
 * Returns the bits of these. */
unsigned ss_find_switch_words(const struct ss_job *job, int dp, unsigned set, char *words, size_t size);
/* Returns the bits of a leaf's switches. */
unsigned ss_find_switches_of(const unsigned char *at);
/* Sets them. */
void ss_find_switches_set(unsigned char *at, unsigned set);
/* Turns on, in a legal job, as many switches of a set as are legal together: all that apply, or one after the other.
 * `asked` is what the job asks for without them. Returns their bits. */
unsigned ss_find_switches_legal(const struct ss_find_space *s, const struct ss_find_cluster *c,
                                const struct ss_asked *asked, struct ss_job *job, unsigned set);
/* Makes the job that `asked` describes with switches, of which `job` is the finished one without them. */
int ss_find_switch_job(const struct ss_find_space *s, const struct ss_find_cluster *c,
                       const struct ss_asked *asked, unsigned set, struct ss_job *job, struct ss_error *err);
/* Returns the switches that would give a flag another value than the job does, or change a flag that is varied. */
unsigned ss_find_switches_said(const struct ss_find_cluster *c);
/* Returns those that the stack of a cluster has not got, and sets c->later. */
unsigned ss_find_switches_lacking(struct ss_find_cluster *c);
/* Sets the switches that the recipe of the stack's release nearest to a cluster has on, and whether there is one. */
int ss_find_switches_of_recipe(const struct ss_find_space *s, struct ss_find_cluster *c,
                               struct ss_error *err);

/* ---- search_leave.c: which layouts a walk leaves out ---- */
struct ss_find_costs;
/* Share of the work of a sequence that another micro batch than a large one may save, by the tiles of its kernels. */
#define SS_FIND_TILES 0.2
/* What a walk knows where it is. */
struct ss_find_limit {
    double most_s; /* only layouts faster than this, s, are wanted; 0: all, and none is left out */
    int slow; /* 1: all micro batches are too slow with the values of the axes before; 0: they may do; -1: not known */
};
/* What legal layouts take at least that share the values of a leaf up to an axis, behind which there is one more at most. */
struct ss_find_least {
    double seconds, bytes, work;            /* INFINITY: none is legal */
    int legal;                              /* how many are */
    unsigned char refused[SS_FIND_NUMBERS]; /* one that is not, if any, */
    struct ss_find_refusal why;             /* and why */
    unsigned char held[SS_FIND_NUMBERS];    /* the last legal one that was bounded */
    /* Why none of them is wanted, whatever is recomputed. */
    enum { SS_FIND_STAYS, SS_FIND_TOO_SLOW, SS_FIND_TOO_LARGE } left_out;
};
/* Returns whether the replicas of `asked` cannot share its batch in micro batches of the i-th size of an axis. */
int ss_find_splits_batch(const struct ss_find_cluster *c, int axis, int i, const struct ss_asked *asked);
/* Finds whether no layout is wanted that shares the values of a leaf before `axis`, that of recompute, behind which there is one more at most:
 * they are too slow, by bounds of those without recompute, which does work twice that they do once; or too large, by bounds of those
 * that repeat all of it. `asked` is what the values ask for, *first the finished job of the first value of both axes. Errors: SS_ERR_NOMEM, and those that are no
 * refusal of a layout. */
int ss_find_leave_out(const struct ss_find_space *s, struct ss_find_limit *limit,
                      const struct ss_find_leaf *leaf, int axis, const struct ss_asked *asked,
                      const struct ss_job *first, struct ss_find_costs *costs, struct ss_find_least *out,
                      struct ss_error *err);

/* ---- search_block.c: recompute of some layers ---- */
/* The value of the recompute axis that stands for the fewest layers of each virtual stage with which a layout
 * surely fits. */
#define SS_FIND_BLOCK "block"
/* Returns the axis whose value in `at` is SS_FIND_BLOCK, or -1. */
int ss_find_block_axis(const struct ss_find_cluster *c, const unsigned char *at);
/* Makes the jobs between which that of a leaf with block recompute lies, of the leaf's job: nothing is recomputed,
 * and everything is. at[0] and at[1] are the leaf with these values, whether or not the axis has them. */
void ss_find_block_ends(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                        const struct ss_job *job, struct ss_find_leaf at[2], struct ss_job jobs[2]);
/* Returns the most layers worth a try: one less than the largest virtual stage has, because all of them are what
 * full recompute repeats; all of them where the axis has no full recompute. */
int ss_find_block_most(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf,
                       const struct ss_job *job);
/* Fills *out with bounds for `layers` recomputed layers, from those of both ends. alike: ss_layers_alike of the job. */
void ss_find_block_between(const struct ss_plan_bounds ends[2], const struct ss_job *job, int alike,
                           int layers, struct ss_plan_bounds *out);
/* Predicts a leaf whose number of layers is set. */
typedef int ss_find_predicted(void *ctx, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                              struct ss_error *err);
/* Finds the fewest layers, from those of *leaf to `most`, with which it fits as surely as with any number of them,
 * sets them in *leaf, and fills *p with the prediction. Memory falls and time grows with each layer, so the search
 * halves; exhaustive 1: every number is predicted, and the fastest is taken. Errors: those of `predict`. */
int ss_find_block_fewest(struct ss_find_leaf *leaf, int most, int exhaustive, ss_find_predicted *predict,
                         void *ctx, struct ss_find_point *p, struct ss_error *err);
/* Returns the bytes that a layout on a cluster needs at most if it surely fits: less than the card's by the error of
 * predicted memory, and by what the allocator needs to work. `bands` may be NULL. */
double ss_find_room(const struct ss_find_cluster *c, const struct ss_bands *bands);
/* Returns a key that a leaf shares with those that differ in recompute alone. */
uint64_t ss_find_block_key(const struct ss_find_cluster *c, const struct ss_find_leaf *leaf);

/* ---- search_flight.c ---- */
/* What a bound knows of a named schedule that is not one of Megatron's own. */
struct ss_find_flight {
    int plain; /* 1: virtual stage s is the (s / p)-th chunk of rank s % p, as in Megatron; 0: nothing is known */
    /* for the first, second and last rank: the most microbatches of a chunk whose forward has ended when
     * a backward begins, its own included */
    int n[3];
};
/* Fills *out for the job's schedule. Error: SS_ERR_NOMEM; a schedule of which nothing is known is no
 * error. */
int ss_find_flight(const struct ss_job *job, int microbatches, struct ss_find_flight *out);

/* ---- search_time.c ---- */
struct ss_plan_bounds;
/* Returns the least time of an iteration, s. */
double ss_find_seconds(const struct ss_plan_bounds *least, const struct ss_find_flight *flight,
                       const struct ss_job *job, const struct ss_stack *stack, int microbatches);

/* ---- search_least.c ---- */
/* Sets the bounds of a job from those of its ranks, `least`. */
void ss_find_bounds_set(const struct ss_plan_bounds *least, const struct ss_find_flight *flight,
                        const struct ss_job *job, const struct ss_stack *stack, int microbatches,
                        struct ss_find_bounds *out);

/* ---- search_bound.c ---- */
/* Costs that bounds of many leaves share, for one process. `known` may be NULL: whatever was decided before, all bounds
 * are wanted. */
struct ss_find_costs;
struct ss_find_known;
int ss_find_costs_open(const struct ss_find_space *s, const struct ss_find_options *o,
                       const struct ss_find_known *known, struct ss_find_costs **out, struct ss_error *err);
void ss_find_costs_close(struct ss_find_costs *costs);
/* Returns how many costs of ranks were made. */
int64_t ss_find_costs_made(const struct ss_find_costs *costs);
/* Sets the bounds of a leaf, whose finished job without switches is `job`, and turns on its switches in both. Error:
 * SS_ERR_NOMEM, because without memory another set of layouts would be searched. Where a quick bound of the time is above `most`, s, that
 * alone is set; INFINITY: never. fits 1: all bounds of a layout are INFINITY where one with its states is known not to hold them. */
int ss_find_bound_job(struct ss_find_costs *shared, struct ss_find_leaf *leaf, const struct ss_asked *asked,
                      struct ss_job *job, double most, int fits, struct ss_find_bounds *out);
/* Turns on the switches of all leaves and fills in their bounds. Unless the search is exhaustive, it takes out the leaves
 * that cannot fit; for a round also those that do not surely fit or are decided. */
int ss_find_bound(struct ss_find_space *s, const struct ss_find_options *o, struct ss_find_round *round,
                  struct ss_error *err);

/* ---- search_tighten.c ---- */
/* Returns whether a job of so many bytes may not fit, as far as jobs like it are off. */
struct ss_bands;
struct ss_cache;
int ss_find_is_unsure(const struct ss_find_cluster *c, const struct ss_job *job, int hybrid,
                      const struct ss_bands *bands, struct ss_cache *cache, double bytes);
/* Raises the recomputed layers of a leaf with block recompute to the fewest, up to `most`, with which it may surely fit by its
 * bounds, or to fewer that take `most_s` or longer, and tightens its time. */
int ss_find_tighten_layers(const struct ss_find_space *s, struct ss_find_leaf *leaf, int most, double most_s,
                           struct ss_cache *cache, struct ss_error *err);
/* Sets the bounds of a job from those of its own chunks; 0 where nothing is known. `cache` may be NULL. Error: SS_ERR_NOMEM. */
int ss_find_bound_scenario(const struct ss_scenario *s, struct ss_cache *cache, struct ss_find_bounds *out);
/* Tightens the bounds of a leaf by what each of its chunks has, at more cost than ss_find_bound. A leaf that surely takes `most_s` or longer
 * is not looked at further. */
int ss_find_tighten(const struct ss_find_space *s, struct ss_find_leaf *leaf, double most_s,
                    const struct ss_bands *bands, struct ss_cache *cache, struct ss_error *err);

/* ---- search_predict.c ---- */
/* The crew that predicts the leaves of the space of *x. While it lives, the leaves must keep their order, and all that *x
 * points to must stay, also the run and the files of its options. */
struct ss_find_crew;
struct ss_find_state;
int ss_find_crew_open(struct ss_find_state *x, const struct ss_request *base, struct ss_find_crew **out,
                      struct ss_error *err);
/* What is asked of a leaf. */
enum ss_find_way {
    SS_FIND_PREDICT, /* all figures, by closed forms alone: summary.doubted says where flows may differ */
    SS_FIND_FLOWS,   /* the same, by flows where closed forms are doubted */
    SS_FIND_CONFIRM, /* the summary by SimGrid at layer level, from the leaf's words */
    SS_FIND_WIDEN,   /* the bands of the summary, widened by what the words leave to be assumed */
    SS_FIND_TIGHTEN, /* least_s and least_bytes, tightened; summary.outcome says whether it may surely fit */
    SS_FIND_WAYS
};
/* Predicts n leaves: the item way * nleaves + i asks for leaf i. */
int ss_find_predict(struct ss_find_crew *w, const int *items, int n, struct ss_find_point *out,
                    struct ss_error *err);
/* Predicts a leaf in this process. */
int ss_find_predict_here(struct ss_find_crew *w, const struct ss_find_leaf *leaf, struct ss_find_point *p,
                         struct ss_error *err);
/* Ends the workers that are at what nobody has asked for. */
void ss_find_crew_rest(struct ss_find_crew *w);
void ss_find_crew_close(struct ss_find_crew *w);

/* ---- search_report.c ---- */
/* Writes a layout in words: "tp 4 cp 1 pp 8 x 5 mbs 1 recompute full overlap-grad-reduce". A buffer of
 * 200 bytes holds them. Returns buf. */
const char *ss_find_layout(const struct ss_find_point *p, char *buf, size_t size);
/* Writes the varied flags of a group except --nodes: "--precision mxfp8", or "" where there is none. A
 * buffer as large as `flags` holds them. Returns buf. */
const char *ss_find_group_words(const struct ss_find_group *g, char *buf, size_t size);

/* ---- search.c ---- */
/* A round of the search for the best set of switches of each cluster. */
struct ss_find_round {
    unsigned *sets; /* [cluster] */
    double *best;   /* [cluster]: s of the fastest layout so far that surely fits */
    struct ss_find_known *known;
    int exact;  /* 1: no layout is left out because of its times with other switches */
    int better; /* 1: the round has found a better one */
    int found;  /* 1: one was found since the caller set 0 */
    /* Tries further sets on the best layout of each group, when all are predicted. */
    int (*turn)(struct ss_find_round *r, struct ss_find_space *s, struct ss_find_crew *crew,
                struct ss_error *err);
};
/* Makes one search over the layouts of a space with the switches of its clusters; space->found has its result. Several
 * rounds may come before the last search, whose round is NULL. */
int ss_find_search(const struct ss_request *base, const struct ss_find_options *o,
                   struct ss_find_space *space, struct ss_find_round *round, struct ss_error *err);

/* ---- search_known.c ---- */
/* Returns what is known of layouts before the first round: nothing; or NULL, out of memory. */
struct ss_find_known *ss_find_known_open(size_t layouts);
void ss_find_known_close(struct ss_find_known *k);
/* Returns whether a layout with these switches was looked at in full. */
int ss_find_known_decided(const struct ss_find_known *k, int walk, unsigned set);
/* Notes a bound of a layout's time, whatever its memory, and a prediction. */
void ss_find_known_bound(struct ss_find_known *k, int walk, double seconds);
void ss_find_known_point(struct ss_find_known *k, const struct ss_find_leaf *leaf,
                         const struct ss_find_point *p);
/* Returns whether a layout is too slow for the turn of a switch to make it better than `best`, s. */
int ss_find_known_hopeless(const struct ss_find_known *k, int walk, double best);
/* Returns whether a round looks at a layout with these switches and bounds, which `stays` if it fits: it may be better than
 * the best, and was not decided before. From then on it is decided. A failure is set in *rc. */
int ss_find_known_wants(struct ss_find_round *round, const struct ss_find_cluster *c,
                        const struct ss_find_leaf *leaf, int stays, int *rc, struct ss_error *err);

/* ---- search_rank.c ---- */
/* Orders the leaves by their bounds of the time: the best of each cluster, then the second of each, and so on. So all
 * clusters soon have a layout that fits. Error: SS_ERR_NOMEM. */
int ss_find_order(struct ss_find_space *s, struct ss_error *err);
/* Puts leaves whose prediction is likely to take longest first, so that no worker is still at one of them when others have nothing left. */
int ss_find_longest_first(const struct ss_find_space *s, int *numbers, int n, struct ss_error *err);
/* Sorts the points, and fills in best, near, like_best and front. */
void ss_find_rank(struct ss_find_result *f);

#endif
