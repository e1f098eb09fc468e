/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job is simulated, told by words: what stands behind --engine, --level, --straggler and the like.
 *
 *     struct ss_how how;                                  large, 30 KiB
 *     ss_how_init(&how, SS_ENGINE_NATIVE);
 *     ss_how_straggler(&how, "3:1.5", &err);              and how.placement, how.seed, how.options.plan.level, ...
 *     ss_how_finish(&how, scenario, &files, &err);        how.options is ready for ss_run_scenario
 *     ss_how_free(&how);
 *
 * Functions return 0 or SS_ERR_USAGE, where nothing else is said.
 */
#ifndef STEPSIM_HOW_H
#define STEPSIM_HOW_H

#include "stepsim/error.h"
#include "stepsim/files.h"
#include "stepsim/result.h"
#include "stepsim/scenario.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SS_HOW_SLOW 64 /* stragglers at most, and as many slow links */

/* Holds pointers into itself once it is finished: it is not copied. */
struct ss_how {
    struct ss_run_options options;
    char placement[4096];  /* a file; "": ranks are where Megatron-LM puts them */
    double seed, replicas; /* of the jitter; < 0: 0 and 100 */
    double spread_seed;    /* >= 0: draws the lasting spread of GPUs; < 0: what is to be expected of it */
    struct ss_straggler stragglers[SS_HOW_SLOW];
    struct ss_slow_link slow_links[SS_HOW_SLOW];
    int *gpu_of; /* owned: the placement, read */
};
/* Nothing given: an engine (enum ss_engine), level and folding as the job asks for. */
void ss_how_init(struct ss_how *how, int engine);
/* Frees what was read. {0} is allowed. */
void ss_how_free(struct ss_how *how);
/* Adds "RANK:FACTOR": a GPU that takes 1 <= FACTOR <= 1e6 times as long. */
int ss_how_straggler(struct ss_how *how, const char *value, struct ss_error *err);
/* Adds "LINK:FACTOR" or "LINK:failed": a link with 1/FACTOR of its bandwidth. Whether there is such a link is seen at the plan. */
int ss_how_slow_link(struct ss_how *how, const char *value, struct ss_error *err);
/* Completes how->options for this scenario, with the placement, which is added to `files`; of stragglers, slow links and jitter the
 * scenario loses the measurement of its job file, with a note. Errors: SS_ERR_USAGE for a placement beside
 * nodes or failed GPUs that the job names, and those of ss_placement_load and ss_files_add. */
int ss_how_finish(struct ss_how *how, struct ss_scenario *s, struct ss_files *files, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
