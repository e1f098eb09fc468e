/* SPDX-License-Identifier: Apache-2.0 */
/* Results for callers that want time and memory alone. */
#pragma once

#include "stepsim/result.h"

struct ss_cache;

/* As ss_result_build; brief 1: what idles is not split. cache: what idles in like schedules; it may be NULL. */
int ss_result_build_brief(const struct ss_plan *plan, const struct ss_timeline *timeline, int engine,
                          int brief, struct ss_cache *cache, struct ss_result **out, struct ss_error *err);
/* Memory of a class at the moment of its peak: memory, allocated, reserved and device of *out. */
void ss_result_class_memory(const struct ss_plan *plan, const struct ss_timeline *t, int cls,
                            struct ss_stage_result *out);

/* assumed.c: fills run->assumed of the words of the run's job, and widens its bands: all bands that anybody is told come from here. `like`, a
 * scenario of these words that has been built, lends its inputs; stacks 0: no other stack is tried. */
int ss_assumed_weigh(struct ss_run *run, const struct ss_request *words, const struct ss_scenario *like,
                     const struct ss_run_options *options, int stacks, struct ss_error *err);

/* summary.c: ss_summary_fill, with what the cache has of bands; it may be NULL. */
struct ss_bands;
struct ss_summary;
void ss_summary_fill_kept(const struct ss_run *run, const struct ss_bands *bands, struct ss_cache *cache,
                          struct ss_summary *out);
