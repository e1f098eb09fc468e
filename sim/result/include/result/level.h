/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the level of a run has all that its links do. */
#pragma once

#include "stepsim/result.h"

/* What the level of a finished run prices without seeing it. */
struct ss_level_doubt {
    char what
        [200]; /* "tensor-parallel groups have different shares of nic-0-0.up"; "": nothing that matters */
    /* 1: all that is in doubt is what collectives lose beside data-parallel transfers of their own ranks, and no more than the share `sends`
     * of the iteration beside messages between stages */
    int beside;
    double sends;
};
struct ss_level_doubt ss_level_doubt(const struct ss_run *run);
/* Whether exchanges of a run, were they uneven, would be too many flows for a check. */
int ss_level_is_wide(const struct ss_run *run);
/* Whether exchanges at flow level have few enough flows for a check. */
int ss_level_affordable(const struct ss_run *run);

/* Events that a run at flow level may have that nobody asked for. The native engine runs 29 million a second there
 * (tests/bench/results.md), so these are 0.7 s. */
#define SS_LEVEL_MOST_EVENTS 2e7

/* Share of the iteration that a level may be off before the default goes to flows. */
#define SS_LEVEL_TOLERANCE 0.03
