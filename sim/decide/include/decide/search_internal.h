/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the search share. */
#ifndef SS_DECIDE_SEARCH_INTERNAL_H
#define SS_DECIDE_SEARCH_INTERNAL_H

#include "job/asked.h"
#include "job/input_cache.h"
#include "stepsim/job.h"
#include "stepsim/search.h"

#define SS_FIND_MOST_AXES 16
#define SS_FIND_CLUSTERS 4096
/* Combinations of all axes and groups. */
#define SS_FIND_MOST_LAYOUTS 2000000000

/* An axis of a layout: a flag and its values. */
struct ss_find_axis {
    char flag[64];
    int kind; /* enum ss_find_kind */
    int n;
    char value[SS_SWEEP_VALUES][64];
};
/* Axes that every job has, outermost first; what a check of one reads is set before it. Other flags that are varied come where
 * SS_AXIS_EXTRA stands. */
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

/* Layouts on one cluster. */
struct ss_find_cluster {
    int at[SS_SWEEP_FLAGS];    /* values of the flags that are no axes */
    struct ss_request request; /* the words of the job, and these */
    struct ss_asked asked;     /* by these words: no axis is set */
    struct ss_model model;     /* as its config and the flags have it, unfinished */
    struct ss_platform *platform;
    struct ss_stack *stack;
    int world_size, gpus_per_node;
    int naxes;
    struct ss_find_axis axes[SS_FIND_MOST_AXES];
    int shards;   /* 1: the optimizer is sharded where the job does not say */
    int splits;   /* 1: the layers of the first and last stage are free */
    int sequence; /* 1: sequence parallelism goes with tensor parallelism */
    int experts;  /* 1: experts may be split or whole, because the job does not say */
};

/* A layout that is not refused. */
struct ss_find_leaf {
    int cluster;
    unsigned char at[SS_FIND_MOST_AXES];
    int place;             /* place among the layouts of its cluster, the best bound first */
    double seconds, bytes; /* bounds */
};

struct ss_find_space {
    struct ss_input_cache *loaded;
    int nclusters;
    struct ss_find_cluster *clusters;
    size_t nleaves, cap_leaves;
    struct ss_find_leaf *leaves;
    struct ss_find_result *found; /* its groups and rules count refusals */
    size_t cap_rules;
};

/* ---- search_space.c: clusters, their axes, and the layouts that the framework takes ---- */
int ss_find_space_build(const struct ss_request *base, const struct ss_find_options *o,
                        struct ss_find_space *s, struct ss_error *err);
void ss_find_space_free(struct ss_find_space *s);
/* Adds the files that jobs of the space are read from, without those of platform and stack. */
int ss_find_files(const struct ss_find_space *s, struct ss_files *files, struct ss_error *err);
/* Counts n layouts as refused, by the rule that `why` tells. */
int ss_find_refuse(struct ss_find_space *s, int cluster, const struct ss_error *why, int64_t n,
                   struct ss_error *err);

/* ---- search_axes.c ---- */
/* Fills the axes of a cluster whose job, model and sizes are set. */
int ss_find_axes_build(struct ss_find_cluster *c, const struct ss_sweep *vary, struct ss_error *err);
/* Whether a flag that is varied is an axis of a layout, not of the cluster or the model. */
int ss_find_is_axis(const char *flag);
/* Whether a request gives one of these flags, which blanks part. */
int ss_find_gives(const struct ss_request *r, const char *flags);
/* Returns how many of these flags, separated by blanks, a request gives or `vary` has values of, minus those
 * that the search chooses. */
int ss_find_blames(const struct ss_request *r, const struct ss_sweep *vary, const char *flags);
/* Writes the words that value at[axis] stands for, given the values of the axes before it. */
void ss_find_words(const struct ss_find_cluster *c, const unsigned char *at, int axis, char *words,
                   size_t size);
/* The words of all axes. */
void ss_find_flags(const struct ss_find_cluster *c, const unsigned char *at, char *words, size_t size);
/* Sets the words of an axis in a job, which is of no use if this fails. */
int ss_find_set(const struct ss_find_cluster *c, const unsigned char *at, int axis, struct ss_asked *asked,
                struct ss_error *err);
/* The job of a leaf, finished. */
int ss_find_job(const struct ss_find_space *s, const struct ss_find_leaf *leaf, struct ss_job *job,
                struct ss_error *err);

/* ---- search_flight.c ---- */
/* What a bound can use of a named schedule that is not Megatron's own. */
struct ss_find_flight {
    int plain; /* 1: virtual stages are on the ranks as Megatron has them; else nothing is known */
    /* of the first, second and last rank: most microbatches of a chunk whose forward has ended when a
     * backward begins, including its own */
    int n[3];
};
/* SS_ERR_NOMEM; a schedule that says nothing is no error. */
int ss_find_flight(const struct ss_job *job, int microbatches, struct ss_find_flight *out);

/* ---- search_bound.c ---- */
/* Fills the bounds of all leaves, and takes those out that cannot fit, but in an exhaustive search. */
int ss_find_bound(struct ss_find_space *s, const struct ss_workers *workers, int exhaustive,
                  struct ss_error *err);

/* ---- search_predict.c ---- */
/* The crew that predicts the leaves of a space. The leaves keep their order, and everything in `o` stays,
 * o->run and the files of o->how included. */
struct ss_find_crew;
int ss_find_crew_open(const struct ss_find_space *s, const struct ss_request *base,
                      const struct ss_find_options *o, struct ss_find_crew **out, struct ss_error *err);
/* Predicts n leaves by their numbers. Number nleaves + i is leaf i by SimGrid at layer level; only its
 * summary counts. */
int ss_find_predict(struct ss_find_crew *w, const int *items, int n, struct ss_find_point *out,
                    struct ss_error *err);
void ss_find_crew_close(struct ss_find_crew *w);

/* ---- search_report.c ---- */
/* "tp 4 cp 1 pp 8 x 5 mbs 1 recompute full overlap-grad-reduce": size 200 holds it. */
const char *ss_find_layout(const struct ss_find_point *p, char *buf, size_t size);
/* Writes the varied flags of a group except --nodes, "--precision mxfp8", "": none. A buffer as large as
 * `flags` holds them. Returns buf. */
const char *ss_find_group_words(const struct ss_find_group *g, char *buf, size_t size);

/* ---- search_rank.c ---- */
/* Sorts the points; fills in best, near, like_best and front. */
void ss_find_rank(struct ss_find_result *f);

#endif
