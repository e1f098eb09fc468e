/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the host is ahead of the GPU in a slot (docs/design/host.md). The host issues the layers of a slot one
 * after the other and never waits for the GPU; the GPU leaves a layer no sooner than the host has issued it. So
 * times follow from others by sums and maxima, and a run of equal layers has a closed form.
 */
#pragma once

#include "cost/layer_set.h"

/* A walk through the layers of a phase of a chunk, s. The slot begins at 0, with the host in step. */
struct ss_issue_walk {
    double gpu;    /* the GPU is here: its work and its waits for the host */
    double work;   /* work of the GPU so far */
    double host;   /* the host has issued all layers so far */
    double issued; /* the part of `host` up to the GPU's last wait for it */
    double bound;  /* the earliest at which the GPU can be here by what the host issues */
    int in_step;   /* 1: the host waited for the GPU on the way */
};
/* Returns the walk at the beginning of a phase. */
struct ss_issue_walk ss_issue_begin(const struct ss_layer_set *set, int phase);
/* Walks on through n equal layers of a run. */
void ss_issue_walk_on(struct ss_issue_walk *w, const struct ss_layer_set *set, const struct ss_layer_run *run,
                      int phase, int n);
/* Returns how often the GPU waits for the host in the first n layers of a run that the walk stands before. */
int ss_issue_waits(const struct ss_issue_walk *w, const struct ss_layer_set *set,
                   const struct ss_layer_run *run, int phase, int n);

/* Returns the tail of struct ss_issue_slot where the walk stands, of a phase of `work` seconds. */
double ss_issue_tail(const struct ss_issue_walk *w, double work);

/* What a phase of a chunk takes of the host. */
struct ss_issue_slot {
    double work;  /* s of the GPU's work */
    double host;  /* s to issue all of it */
    double waits; /* s that the GPU waits for the host where both begin in step */
    /* share of the work that is left, at least, when the last launch comes: more than 0 where the GPU waits
     * longest for an earlier launch, 0..1 */
    double tail;
    int in_step; /* 1: the host waits for the GPU on the way, and both end in step */
};
struct ss_issue_slot ss_issue_slot_of(const struct ss_layer_set *set, int k, int phase);
/* Sets set->issues, which is 0 before: 1 where slots are apart and the host makes one longer by more than a
 * hundredth. */
void ss_issue_find(struct ss_layer_set *set);
/* Returns 1 when programs have the host as a stream of its own in this phase of the chunk. */
int ss_issue_is_stream(const struct ss_layer_set *set, int k, int phase);
