/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job is simulated, told by words: what stands behind --engine, --level, --straggler and the like.
 *
 *     struct ss_run_words how;                                  large, 30 KiB
 *     ss_run_words_init(&how, SS_ENGINE_NATIVE);
 *     ss_run_words_read(&how, "--straggler", "3:1.5", &err);
 *     ss_run_words_finish(&how, scenario, &files, &err);        how.options is ready for ss_run_scenario
 *     ss_run_words_free(&how);
 *
 * Functions return 0 or SS_ERR_USAGE, where nothing else is said.
 */
#pragma once

#include "stepsim/result.h"

SS_C_BEGIN

#define SS_RUN_WORDS_SLOW 64 /* most stragglers, and most slow links */

/* A finished struct ss_run_words points into itself, so it must not be copied. */
struct ss_run_words {
    struct ss_run_options options;
    char placement[4096];  /* path of a placement file; "": ranks are where Megatron-LM puts them */
    double seed, replicas; /* of the jitter; < 0: seed 0 and 100 replicas */
    double spread_seed;    /* >= 0: seed to draw the lasting spread of GPUs; < 0: the expected spread */
    struct ss_straggler stragglers[SS_RUN_WORDS_SLOW];
    struct ss_slow_link slow_links[SS_RUN_WORDS_SLOW];
    int *gpu_of; /* the placement as read; owned */
};
/* Sets no options but the engine (enum ss_engine); level and folding follow the job, and so does the engine of another level. */
void ss_run_words_init(struct ss_run_words *how, int engine);
/* Frees what was read. {0} is allowed. */
void ss_run_words_free(struct ss_run_words *how);
/* Reads the value of an option: --engine, --level, --unfold, --full-replay, --placement, --straggler, --slow-link, --spread-seed, --jitter,
 * --replicas or --seed; the switches among them take no value. A straggler is "RANK:FACTOR", a GPU whose kernels take 1 <= FACTOR <= 1e6
 * times as long; a slow link "LINK:FACTOR", with 1/FACTOR of its bandwidth, or "LINK:failed", and the plan checks whether there is such a
 * link. */
int ss_run_words_read(struct ss_run_words *how, const char *name, const char *value, struct ss_error *err);
/* Completes how->options for this scenario, with the placement, whose file is added to `files`. With
 * stragglers, slow links or jitter the scenario loses the measurement of its job file, and gets a note.
 * Errors: SS_ERR_USAGE for a placement beside nodes or failed GPUs that the job names, and those of
 * ss_placement_load and ss_files_add. */
int ss_run_words_finish(struct ss_run_words *how, struct ss_scenario *s, struct ss_files *files,
                        struct ss_error *err);

SS_C_END
