/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of inputs: platforms, stacks, models, loads of experts and rows of packed sequences that like
 * scenarios have read from files. */
#pragma once

#include "base/csv.h"
#include "job/asked.h"
#include "job/moe_loads.h"
#include "job/packing.h"
#include "stepsim/scenario.h"

struct ss_input_cache;
/* With one owner; NULL when out of memory. */
struct ss_input_cache *ss_input_cache_new(void);
/* One owner more. */
struct ss_input_cache *ss_input_cache_share(struct ss_input_cache *l);
/* One owner less; the last one frees it and all that it holds. */
void ss_input_cache_drop(struct ss_input_cache *l);
/* Finds platform and stack of a parsed job, with the values of --set and --scale; they live as long as *l, or
 * until they are given back. Files are read once: requests that differ only in such values get copies.
 * `files`, which may be NULL, gets what is read; all calls must have the same list, because a later call
 * reads nothing again. */
int ss_input_cache_find(struct ss_input_cache *l, const struct ss_job *job, const struct ss_request *r,
                        ss_route_asker asker, struct ss_files *files, struct ss_platform **platform,
                        struct ss_stack **stack, struct ss_error *err);
/* A platform that was found, and its stack, are not read any more. The last platform with values of --set or --scale that has no user stays
 * for who asks for the same values; others are freed. */
void ss_input_cache_give_back(struct ss_input_cache *l, const struct ss_platform *platform);
/* A stack by name or path as its file says for a card; `files` as above. */
int ss_input_cache_stack(struct ss_input_cache *l, const char *name_or_path, const char *card,
                         struct ss_files *files, struct ss_stack *out, struct ss_error *err);
/* A model by name or path, as its config.json has it. */
int ss_input_cache_model(struct ss_input_cache *l, const char *name_or_path, struct ss_model *out,
                         struct ss_error *err);
/* As ss_model_finish, which the jobs of a search would call with one model thousands of times: the last answer is kept. */
int ss_input_cache_finish_model(struct ss_input_cache *l, struct ss_model *m, struct ss_error *err);
/* The table of workloads/recipes.csv; it lives as long as *l. */
int ss_input_cache_recipes(struct ss_input_cache *l, const struct ss_csv **out, struct ss_error *err);
/* Finds the loads of a model with `experts` experts, whose tokens choose top_k; they live as long as *l. */
int ss_input_cache_loads(struct ss_input_cache *l, const char *path, int experts, int top_k,
                         const struct ss_moe_loads **out, struct ss_error *err);
/* Rows of the packed sequences of a job whose packed_ fields are complete; they live as long as *l. */
int ss_input_cache_packing(struct ss_input_cache *l, const struct ss_job *job, const struct ss_packing **out,
                           struct ss_error *err);
/* As ss_asked_finish, of a job that no scenario has; what the job reads of files lives as long as *l. After an error *job is of no
 * use. */
int ss_input_cache_finish(struct ss_input_cache *l, const struct ss_asked *asked,
                          const struct ss_stack *stack, int world_size, int gpus_per_node,
                          struct ss_files *files, struct ss_job *job, struct ss_error *err);
/* As ss_input_cache_finish, but of an error tells only its flags, in blamed[SS_BLAMED]: its texts would take longer than what finds
 * that a job is refused. */
int ss_input_cache_ask(struct ss_input_cache *l, const struct ss_asked *asked, const struct ss_stack *stack,
                       int world_size, int gpus_per_node, struct ss_job *job, char *blamed);
/* Puts --nodes, and below a whole node --gpus-per-node, in place of a request's --gpus, as ss_scenario_build understands --gpus; the
 * rest as in ss_input_cache_find. Errors: as there; SS_ERR_CONFIG: no whole nodes. */
int ss_request_count_nodes(struct ss_input_cache *inputs, struct ss_request *r, ss_route_asker asker,
                           struct ss_files *files, struct ss_error *err);
/* As ss_scenario_build, whose files are read once for all scenarios of a cache; `inputs`, `asker` and `files` may be NULL. */
int ss_scenario_build_from(struct ss_input_cache *inputs, const struct ss_request *r, ss_route_asker asker,
                           struct ss_files *files, struct ss_scenario **out, struct ss_error *err);
/* Adds the files that a finished job was read from, loads of experts and lengths of documents; `files` may be NULL. */
int ss_input_cache_note(const struct ss_job *job, struct ss_files *files, struct ss_error *err);
