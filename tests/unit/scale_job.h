/* SPDX-License-Identifier: Apache-2.0 */
/* Whole jobs from one text, for tests that compare ways to simulate them. */
#ifndef SCALE_JOB_H
#define SCALE_JOB_H

#include <math.h>

#include "job_helper.h"
#include "stepsim/stepsim.h"

/* Under sanitizers SimGrid runs a thread a rank, which takes minutes for what else takes seconds: there only
 * the first few cases ask it. */
#ifdef SS_SANITIZED
enum { SCALE_SIMGRID_CASES = 2 };
#else
enum { SCALE_SIMGRID_CASES = 1 << 20 };
#endif

/* "platform nodes prop=value ...;flags": a job on a platform. */
struct scale_job {
    struct ss_job job;
    struct ss_stack stack;
    struct ss_platform *platform;
    struct ss_notes notes;
};

static inline int scale_fail(const struct ss_error *err)
{
    char text[1600];
    fprintf(stderr, "%s\n", ss_error_format(err, text, sizeof text));
    return -1;
}

static inline int scale_platform(struct scale_job *s, char *words, struct ss_error *err)
{
    char *rest, *name = strtok_r(words, " ", &rest), *nodes = strtok_r(NULL, " ", &rest);
    const struct ss_platform_options options = {.nodes = atoi(nodes), .asker = ss_simgrid_ask_routes};
    int rc = ss_platform_load(name, &options, &s->platform, err);
    for (char *w = strtok_r(NULL, " ", &rest); w && !rc; w = strtok_r(NULL, " ", &rest)) {
        char *equal = strchr(w, '=');
        *equal = '\0';
        rc = ss_platform_set(s->platform, w, equal + 1, err);
    }
    return rc;
}

static inline int scale_open(struct scale_job *s, const char *text)
{
    struct ss_asked asked;
    struct ss_error err = {0};
    char *words = strdup(text), *flags = strchr(words, ';');
    int gpus, rc;
    *flags++ = '\0';
    memset(s, 0, sizeof *s);
    ss_asked_init(&asked);
    rc = scale_platform(s, words, &err);
    if (!rc)
        rc = parse(&asked, flags, &s->notes, &err);
    if (!rc)
        rc = ss_stack_load(asked.job.stack, ss_platform_card(s->platform)->name, &s->stack, &err);
    if (!rc) {
        gpus = ss_platform_gpus_per_node(s->platform);
        rc = ss_asked_finish(&asked, NULL, &s->stack, ss_platform_nodes(s->platform) * gpus, gpus, &s->notes,
                             &s->job, &err);
    }
    free(words);
    return rc ? scale_fail(&err) : 0;
}

static inline void scale_close(struct scale_job *s)
{
    ss_platform_free(s->platform);
    ss_notes_free(&s->notes);
}

/* With the platform and the stack as the test has changed them. */
static inline struct ss_scenario scale_scenario(const struct scale_job *s)
{
    int gpus = ss_platform_gpus_per_node(s->platform);
    return (struct ss_scenario){.job = &s->job,
                                .stack = &s->stack,
                                .platform = s->platform,
                                .world_size = ss_platform_nodes(s->platform) * gpus,
                                .gpus_per_node = gpus};
}

/* The run points to the job, stack and platform of *s, to no scenario. */
static inline int scale_try(struct scale_job *s, const struct ss_run_options *options, struct ss_run *run,
                            struct ss_error *err)
{
    const struct ss_scenario scenario = scale_scenario(s);
    int rc = ss_run_scenario(&scenario, options, run, err);
    run->scenario = NULL;
    return rc;
}

static inline int scale_run(struct scale_job *s, const struct ss_run_options *options, struct ss_run *run)
{
    struct ss_error err = {0};
    int rc = scale_try(s, options, run, &err);
    return rc ? scale_fail(&err) : 0;
}

#endif
