/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a job was assumed, and what that may cost: the same job is simulated once without each thing that nobody gave, and, where nobody
 * gave a stack, once by the newest stack of each framework.
 */
#pragma once

#include "stepsim/result.h"

SS_C_BEGIN

#define SS_ASSUMED_MOST 5 /* things that are shown, and that widen the bands */
#define SS_OTHER_STACKS 5
#define SS_ASSUMED_HOST "the speed of the host" /* in place of flags: no flag of the job tells it */

/* A job without one thing that was assumed. */
struct ss_without {
    char flags
        [1024]; /* of the thing, or SS_ASSUMED_HOST, with values: "--cuda-graph-impl local --cuda-graph-scope attn" */
    char instead[64]; /* what is taken in its place, "--precision fp8"; "": what no flag means */
    int outcome;      /* enum ss_outcome. Refused: no such job, the figures are 0 */
    double iteration_s, peak_device; /* s, bytes */
    double time_pct, memory_pct;     /* of these over the job's, less 1 */
    char reason[200];                /* of a refusal */
};
struct ss_other_stack {
    char name[64];
    double iteration_s; /* s */
};
struct ss_assumed {
    int n; /* number of things */
    int shown; /* the first of them, which matter most, at most SS_ASSUMED_MOST: by the change of time, then of memory */
    int nstacks;
    int stacks_differ; /* 1: by one of these stacks the time is outside of the job's band */
    struct ss_other_stack stacks[SS_OTHER_STACKS]; /* fastest first; of a job without --stack */
    struct ss_without things[];                    /* [n] */
};

/* Does what ss_run_scenario does, and fills out->assumed, which stays NULL where all was given; the band of the time and that of memory
 * hold what the things shown may cost. One simulation of chunk level a thing, on healthy GPUs. */
int ss_run_weighed(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                   struct ss_error *err);
/* Does the same without other stacks: the bands are those of ss_run_weighed. */
int ss_run_widened(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                   struct ss_error *err);
/* Returns the thing among those shown, or refused, that this flag is a part of; NULL: none. `assumed` may be NULL. */
const struct ss_without *ss_assumed_thing(const struct ss_assumed *assumed, const char *flag);

SS_C_END
