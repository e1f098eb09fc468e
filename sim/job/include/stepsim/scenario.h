/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario: a job, and the software and cluster that it runs on, complete. */
#pragma once

#include "stepsim/platform.h"
#include "stepsim/request.h"

SS_C_BEGIN

struct ss_job;
struct ss_stack;

/* All that a prediction needs, checked and constant. ss_scenario_free frees all of it. */
struct ss_scenario {
    const struct ss_job *job;
    const struct ss_stack *stack;
    const struct ss_platform *platform;
    int world_size, gpus_per_node; /* number of GPUs: nodes x GPUs of a node */
    struct ss_notes notes;         /* what was assumed, or accepted without being modelled */
    struct ss_notes ignored; /* names of flags, and other words, that have no effect on time or memory */
    double measured_s, measured_bytes; /* --measured and --measured-memory, 0 = not given */
    const struct ss_request *request;  /* the scenario's own copy */
    struct ss_notes dropped;           /* names of flags that --drop and --drop-unknown left out */
};
struct ss_scenario_options {
    /* Answers for routes of a SimGrid XML that only SimGrid can find: ss_simgrid_ask_routes; NULL: such a
     * file is refused. */
    ss_route_asker asker;
    struct ss_files *files; /* gets the files that are read (words, platform, stack, model); may be NULL */
    /* NULL, or the scenario of which this one is a what-if: platforms, stacks and models that both name are
     * not read again, and its `asker` is used. Such scenarios belong to one thread; each may be freed before
     * the others. */
    const struct ss_scenario *like;
};
/*
 * The only way from words to a job that can be planned. Loads what --platform, --model and --stack name, sets what --set
 * says, completes defaults, and refuses what Megatron-LM or NeMo refuse, with their words as the cause. `o` may be NULL: all
 * zero. The caller frees *out with ss_scenario_free; `r` may go before. Errors: SS_ERR_USAGE (no such flag, or no value of it),
 * SS_ERR_CONFIG (refused), SS_ERR_UNSUPPORTED (not modelled), SS_ERR_IO (no such file), SS_ERR_INPUT (damaged file), with the file
 * and line of the word at fault.
 */
int ss_scenario_build(const struct ss_request *r, const struct ss_scenario_options *o,
                      struct ss_scenario **out, struct ss_error *err);
/* Frees a scenario and all that it points to. NULL is allowed. */
void ss_scenario_free(struct ss_scenario *s);

/* Checks a text of --set, "ss.nic.efficiency=0.8" ("ss." may be left out), as far as possible without a platform: it has the form
 * PROP=VALUE, names a prop, and has a value of the stack's prop. Errors: SS_ERR_USAGE, or that of the value. */
int ss_set_check(const char *text, struct ss_error *err);
/* Sets the prop that such a text names. Without `stack` the props of stacks are unknown. Errors: SS_ERR_USAGE
 * (no such prop), SS_ERR_INPUT (no value of the prop). */
int ss_set_apply(const char *text, struct ss_platform *platform, struct ss_stack *stack,
                 struct ss_error *err);
/* Checks a text of --scale, "nic.bandwidth=2x", as far as possible without a platform. The name is that of a
 * prop without "ss.", or of a group: "peak" (all rates of GEMMs, and attention's with them), "latency" (of
 * links and collectives) and "launch" (of kernels, on the card and the host). Errors: SS_ERR_USAGE (no such
 * name, a prop that is a word or a whole number, no factor above 0). */
int ss_scale_check(const char *text, struct ss_error *err);
/* Multiplies the props that such a text names. Without `stack` the props of stacks are unknown. Errors: those
 * of ss_scale_check; SS_ERR_INPUT (the product is outside the prop's range, or the prop is 0, that is,
 * absent). */
int ss_scale_apply(const char *text, struct ss_platform *platform, struct ss_stack *stack,
                   struct ss_error *err);
/* Returns the i-th name of a group of props, NULL past the last one; *doc, which may be NULL, gets its
 * description. */
const char *ss_scale_group(int i, const char **doc);
/* Applies each --set of a request, in order, then each --scale, which multiplies what files or --set say. */
int ss_sets_apply(const struct ss_request *r, struct ss_platform *platform, struct ss_stack *stack,
                  struct ss_error *err);

SS_C_END
