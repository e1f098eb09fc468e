/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a program on one of two engines that share one contract (program.h) and agree to 1e-9. */
#pragma once

#include "stepsim/program.h"

SS_C_BEGIN

/* An engine calls an observer in order of time, and at equal times by (class, event index). Any pointer may
 * be NULL. slot and event are the cursor of the event. */
struct ss_observer {
    void *ctx;
    /* Called when a main-thread event ends that took time (COMPUTE and waits). `busy_from` of a wait is when
     * its transfer or collective began (latency included): until then the rank waited for a peer. For COMPUTE
     * busy_from = start. */
    void (*span)(void *ctx, int cls, int slot, int event, double start, double busy_from, double end);
    /* Called when a background transfer ends: channel >= 0 or collective >= 0. */
    void (*transfer)(void *ctx, int channel, int collective, double start, double end, double bytes);
    /* Called with the dynamic memory of a class after an ALLOC or FREE. */
    void (*memory)(void *ctx, int cls, int slot, int event, double time, int mem, double bytes);
};

enum ss_engine { SS_ENGINE_NATIVE, SS_ENGINE_SIMGRID };
/* Returns the name of an engine (enum ss_engine): "native" or "simgrid". */
const char *ss_engine_name(int engine);
/* Returns 1 where this build of stepsim has the engine; all have the native one. */
int ss_engine_is_built(int engine);

/* The longest time that a replay may take; a longer replay is refused with SS_ERR_UNSUPPORTED. */
#define SS_LONGEST_S 1e12

struct ss_replay_stats {
    double makespan; /* s: when the last class ends */
    int64_t events;  /* events run */
};

/* Replays a checked program and calls the observers in the calling thread; `stats` may be NULL. The SimGrid
 * engine runs in a process of its own. Errors: SS_ERR_DEADLOCK (two blocked events are named),
 * SS_ERR_UNSUPPORTED (longer than SS_LONGEST_S, or weights that SimGrid cannot share), SS_ERR_ENGINE (SimGrid
 * failed or is not installed), SS_ERR_NOMEM. */
int ss_replay(const struct ss_program *p, int engine, const struct ss_observer *observers, int nobservers,
              struct ss_replay_stats *stats, struct ss_error *err);

/* CPU seconds of one core for the flows of a phase: for each flow, and for each other flow that hangs
 * together with it by shared links. Connected flows share their links anew whenever one ends: once where all
 * are equally large, else at each flow's own moment. With ep 16, 32 and 64 of all-to-all and zipf 0.3 the
 * engine took 2.6, 19 and 61 us a flow, and these numbers give 2.8, 16 and 61; with DeepEP 1.9, and they give
 * 1.8. They ignore traffic that joins components: messages of a pipeline over the same NICs cost a few times
 * more. */
#define SS_LABOUR_FLOW_S 1e-6
#define SS_LABOUR_SHARE_S 15e-9
/* An estimate of the least CPU time that uneven exchanges of a program cost the native engine in one
 * iteration: flows of collectives that share links and differ in size. Jumps over a steady state are not
 * subtracted. */
struct ss_labour {
    double flows;   /* flows that are moved */
    int together;   /* most flows that hang together by shared links */
    double seconds; /* CPU time of one core */
};
/* Estimates this for a checked program. Error: SS_ERR_NOMEM. */
int ss_labour_find(const struct ss_program *p, struct ss_labour *out, struct ss_error *err);

/* Asks SimGrid, in a process of its own, for the routes of a platform file: an ss_route_asker (platform.h). Errors: SS_ERR_INPUT (SimGrid
 * refuses the file), SS_ERR_ENGINE. */
int ss_simgrid_ask_routes(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
                          struct ss_error *err);
/* Loads a platform file into SimGrid, in a process of its own. Returns SS_OK when SimGrid accepts the file;
 * otherwise the error has SimGrid's first complaint. */
int ss_simgrid_probe(const char *file, struct ss_error *err);

/* Returns SS_OK where SimGrid's program, stepsim-simgrid, is installed. The first replay of a process starts
 * that program, for all replays of all threads; it ends with the process. No library of SimGrid comes into
 * this process. Error: SS_ERR_ENGINE. */
int ss_simgrid_load(struct ss_error *err);

/* A timeline: what an observer gathers from a replay. Arrays are by class; the timeline owns all of them. */
struct ss_timeline {
    int nclasses;
    double iteration_s;
    int64_t events;
    int64_t flows; /* flows that the engine moved over links, for collectives and messages */
    /* [class]: s by label, sum iteration_s; idle time still counts as bubble */
    double (*spent)[SS_LABEL_COUNT];
    /* [class]: bytes by class of memory when their total is largest */
    double (*dynamic_peak)[SS_MEM_COUNT];
    double *peak_time; /* s */
    int *peak_slot;    /* slot of the event at the peak */
    /* [events of all templates, template by template]: s that each event took over all slots */
    double *event_s;
    double *link_busy; /* [nlinks]: s in which at least one flow used the link; may be NULL */
    /* Upper bound of how often an error of rounding may have doubled on its way to the end where flows slowed each other down
     * (docs/design/replay-contract.md, "Sensitivity"), without repetitions of a steady state. NaN: the engine
     * does not know. */
    double doublings;
};
/* Replays a checked program on an engine and gathers a timeline; the caller frees *out with ss_timeline_free. Errors: those of
 * ss_replay. */
int ss_timeline_replay(const struct ss_program *p, int engine, struct ss_timeline **out,
                       struct ss_error *err);
struct ss_replay_options {
    int engine; /* enum ss_engine */
    int full;   /* 1: every slot is run, and the native engine does not jump over a steady state */
    /* Called now and then in a long replay with the share of slots that are done, 0..1; may be NULL. */
    void (*progress)(void *ctx, double share);
    void *ctx;
    /* Keeps replays for like programs with another number of turns, in the native engine; may be NULL. */
    struct ss_cache *cache;
};
/* Replays a program as ss_timeline_replay does, with options; NULL: the native engine. */
int ss_timeline_replay_with(const struct ss_program *p, const struct ss_replay_options *options,
                            struct ss_timeline **out, struct ss_error *err);
/* Replays a program whose body does not end in a global barrier, so that ranks run into the next iteration
 * while others still end the last one. Gathers one period of that endless loop: what a third body in a row
 * adds to two. Memory is the peak of all three. Owner and errors are those of ss_timeline_replay. */
int ss_timeline_steady(const struct ss_program *p, const struct ss_replay_options *how,
                       struct ss_timeline **out, struct ss_error *err);
/* Finds the iteration_s of ss_timeline_replay_with, or with `loop` of ss_timeline_steady, without labels, memory and links: in two
 * thirds of the time. Errors are theirs. */
int ss_replay_seconds(const struct ss_program *p, const struct ss_replay_options *how, int loop,
                      double *seconds, struct ss_error *err);
/* Frees a timeline. NULL is allowed. */
void ss_timeline_free(struct ss_timeline *t);

SS_C_END
