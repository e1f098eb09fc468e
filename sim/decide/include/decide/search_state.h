/* SPDX-License-Identifier: Apache-2.0 */
/* What a search knows while it predicts. */
#pragma once

#include "base/map.h"
#include "decide/search_internal.h"

/* Leaves that wait for others, so that no more are looked at. */
#define SS_FIND_WAITING 512
/* Layouts in one batch, at most; of an exhaustive search, where nothing is to be decided, as many as a thousand workers are at without
 * waiting for each other's last ones. */
#define SS_FIND_BATCH 32
#define SS_FIND_ALL_AT_ONCE 65536
/* Layouts of which workers may do the next step before its turn. */
#define SS_FIND_GUESSES 128
/* Leaves that are begun before their batch, at most: as many as two batches have. */
#define SS_FIND_BEFORE 64
/* And of those that wait, because another is likely to beat them. */
#define SS_FIND_MAYBE 32

/* Layouts that the search will probably ask for, the oldest first. */
struct ss_find_guesses {
    int n;
    struct ss_find_guess {
        int number, unsure;
        double seconds, bytes; /* lower bounds */
    } guess[SS_FIND_GUESSES];
};

/* What was predicted so far. */
struct ss_find_state {
    const struct ss_find_options *options;
    const struct ss_request *base;
    struct ss_find_space *space;
    size_t next;                                            /* the next leaf in their order */
    int nwaiting, waiting[SS_FIND_WAITING + SS_FIND_BATCH]; /* leaves before it that are not decided yet */
    int nfit, *fit; /* points that surely fit and that no earlier one beats; the smallest first */
    size_t cap_fit;
    /* [cluster]: a layout faster than this, s, may be the best on it, or not told apart from the best */
    double *within, *fastest;    /* and the time of the fastest that surely fits */
    double *near;                /* and that of the fastest so far that may fit */
    struct ss_find_round *round; /* NULL: the result is kept */
    struct ss_map roomy;         /* keys of layouts that fit without recompute: ss_find_block_key */
    size_t cap;
    struct ss_find_crew *crew;
    struct ss_find_best *best; /* NULL: nothing is told of a layout yet */
    int listed; /* leaves before `next` that are being predicted, whose answers are told one by one */
    struct ss_find_ahead {
        int on;
        size_t look; /* the next leaf to look at */
        const int *batch;
        int nbatch;
        int nbegun, begun[SS_FIND_BEFORE]; /* leaves that were begun before their batch, since the last one */
        struct ss_find_cursor {
            int wait;   /* the next of the leaves that wait to look at */
            size_t far; /* and of those that were passed over, because they will wait */
        } cursor[2];    /* [1]: of those in shards */
        int nmaybe;     /* how many were begun since the last batch */
        int nseen; /* layouts that fit, and are beaten by no other; unsure: by closed forms that are doubted */
        struct ss_find_leaf seen[SS_FIND_GUESSES];
        struct ss_find_guesses flows, predictions; /* whose flows are asked, and which are predicted */
    } ahead;
};

/* ---- search_predict.c ---- */
/* Tells the caller how far the search is, when so many of the leaves that are listed are predicted. */
void ss_find_tell(const struct ss_find_state *x, int predicted);

/* ---- search_advice.c: what is told of the best layout ---- */
/* Begins the changes of explain on the layout that is the best so far, if their result will be told and is not begun yet. */
void ss_find_best_begin(struct ss_find_state *x);
/* Returns the crew that tries them; NULL: nothing is begun. */
struct ss_crew *ss_find_best_crew(const struct ss_find_state *x);
/* Finds what is told of the job beside its layouts: of the first group that has a best one, or of any layout that was predicted. */
int ss_find_tell_best(struct ss_find_state *x, struct ss_error *err);
/* NULL is allowed. */
void ss_find_best_close(struct ss_find_best *best);

/* ---- search_win.c ---- */
/* Returns whether a point of the same work is at least as good as the bounds of `leaf`, and so better than
 * the layout. */
int ss_find_is_beaten(const struct ss_find_state *x, const struct ss_find_leaf *leaf);
/* Returns whether a leaf cannot be the fastest on its nodes, within the error of the fastest, or on the
 * front. A bound lies below the true value, so ties need no care. */
int ss_find_cannot_win(const struct ss_find_state *x, const struct ss_find_leaf *leaf);
/* Returns whether a leaf can win on the front alone, where by their bounds a leaf of the batch is likely to beat it. So the leaf waits
 * until that one is known. */
int ss_find_waits(const struct ss_find_state *x, const struct ss_find_leaf *leaf, const int *batch, int n);
/* Returns the least s that flows of a doubted point take, `bound` being that of its layout. */
double ss_find_least_as_flows(const struct ss_find_point *p, double bound);
/* Returns whether flows may make a doubted point the best, near the limit and faster, not told apart from the best,
 * or one of the front. They take no less than the bound, and just as much memory. */
int ss_find_asks_flows(const struct ss_find_state *x, const struct ss_find_point *p);

/* ---- search_ahead.c: what workers do while the last items of a list are out ---- */
/* Begins a batch. */
void ss_find_ahead_begin(struct ss_find_state *x, const int *batch, int n);
/* Returns whether a leaf shares most of its work with what a worker had before, or with nothing that any worker had. */
typedef int ss_find_is_home(void *ctx, int number);
/* Returns an item for a worker that is likely to be asked for: flows of a doubted layout, a layout that was bounded, both of its home
 * if there are such, or the bound of the next leaf; -1: none. */
int ss_find_ahead_item(struct ss_find_state *x, ss_find_is_home *is_home, void *ctx);
/* Takes the answer to an item. */
void ss_find_ahead_note(struct ss_find_state *x, int item, const struct ss_find_point *p);
