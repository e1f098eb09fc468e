/* SPDX-License-Identifier: Apache-2.0 */
/* From the words of a command line to a job, stack and platform that a prediction can be built of. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* The release that the H800 measurements were made with. */
#define DEFAULT_STACK "megatron-2407"

static const char *const card_ids[] = {
#define X(field, id, unit, required, def, lo, hi, doc) id,
    SS_CARD_PROPS(X)
#undef X
        "ss.nic.bandwidth",
    "ss.nic.latency",
    "ss.nvlink.bandwidth",
    "ss.nvlink.latency",
    "ss.uplink.latency",
    "ss.oversubscription",
    "ss.nodes_per_leaf",
};
static const char *const stack_ids[] = {
#define X(field, id, unit, def, lo, hi, doc) id,
    SS_STACK_PROPS(X)
#undef X
#define X(field, id, size, words, def, doc) id,
        SS_STACK_WORDS(X)
#undef X
};
#define NCARD_IDS (sizeof card_ids / sizeof card_ids[0])
#define NSTACK_IDS (sizeof stack_ids / sizeof stack_ids[0])

static int among(const char *id, const char *const *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(id, ids[i]))
            return 1;
    return 0;
}

static int unknown_prop(const char *id, struct ss_error *err)
{
    const char *all[NCARD_IDS + NSTACK_IDS], *near;
    char hint[128];

    memcpy(all, card_ids, sizeof card_ids);
    memcpy(all + NCARD_IDS, stack_ids, sizeof stack_ids);
    near = ss_nearest(id, all, NCARD_IDS + NSTACK_IDS);
    if (near)
        snprintf(hint, sizeof hint, "did you mean %s?", near);
    else
        snprintf(hint, sizeof hint, "\"stepsim platform show h800\" lists the props of a card");
    return cli_usage(err, hint, "--set %s: no such prop", id);
}

int cli_set_check(const char *id, const char *value, struct ss_error *err)
{
    struct ss_stack scratch;

    memset(&scratch, 0, sizeof scratch);
    if (among(id, stack_ids, NSTACK_IDS))
        return ss_stack_set(&scratch, id, value, err);
    return among(id, card_ids, NCARD_IDS) ? SS_OK : unknown_prop(id, err);
}

/* stack may be NULL: platform only */
static int apply_sets(const struct cli_flags *flags, struct ss_platform *platform, struct ss_stack *stack,
                      struct ss_error *err)
{
    int rc = SS_OK;

    for (int i = 0; !rc && i < flags->nsets; i++) {
        const char *id = flags->sets[i].id, *value = flags->sets[i].value;
        if (among(id, card_ids, NCARD_IDS))
            rc = ss_platform_set(platform, id, value, err);
        else if (stack && among(id, stack_ids, NSTACK_IDS))
            rc = ss_stack_set(stack, id, value, err);
        else
            rc = unknown_prop(id, err);
    }
    return rc;
}

static int load_platform(const char *name, int nodes, int gpus_per_node, struct ss_platform **out,
                         struct ss_error *err)
{
    const struct ss_platform_options options = {
        .nodes = nodes, .gpus_per_node = gpus_per_node, .asker = ss_simgrid_ask_routes};

    return ss_platform_load(name, &options, out, err);
}

int cli_platform_load(const char *name, const struct cli_flags *flags, struct ss_platform **out,
                      struct ss_error *err)
{
    int rc = load_platform(name, flags->nodes, flags->gpus_per_node, out, err);

    if (rc)
        return rc;
    rc = apply_sets(flags, *out, NULL, err);
    if (rc) {
        ss_platform_free(*out);
        *out = NULL;
    }
    return rc;
}

static int parse_words(struct cli_inputs *in, struct cli_flags *flags, int argc, char **argv,
                       struct ss_error *err)
{
    int rc = ss_job_parse(&in->job, argc, argv, cli_other_option, flags, &in->notes, err);

    if (!rc)
        rc = cli_options_check(flags, err);
    if (rc)
        return rc;
    if (!in->job.platform[0])
        return cli_usage(err, "add --platform NAME; \"stepsim list platforms\" shows the names",
                         "no --platform given");
    return SS_OK;
}

/* A name that is not found is found in the job file. */
static int located(const struct ss_job *job, const char *flag, int rc, struct ss_error *err)
{
    if (rc)
        ss_job_locate(job, flag, err);
    return rc;
}

int cli_inputs_load(struct cli_inputs *in, struct cli_flags *flags, int argc, char **argv,
                    struct ss_error *err)
{
    int rc;

    memset(in, 0, sizeof *in);
    ss_job_init(&in->job);
    rc = parse_words(in, flags, argc, argv, err);
    if (!rc)
        rc = located(&in->job, "--platform",
                     load_platform(in->job.platform, in->job.nodes, in->job.gpus_per_node, &in->platform, err),
                     err);
    if (!rc)
        rc = located(&in->job, "--stack",
                     ss_stack_load(in->job.stack[0] ? in->job.stack : DEFAULT_STACK,
                                   ss_platform_card(in->platform)->name, &in->stack, err),
                     err);
    if (!rc)
        rc = apply_sets(flags, in->platform, &in->stack, err);
    if (!rc) {
        int gpus = ss_platform_gpus_per_node(in->platform);
        rc = ss_job_finish(&in->job, &in->stack, ss_platform_nodes(in->platform) * gpus, gpus, &in->notes,
                           err);
    }
    if (rc)
        cli_inputs_free(in);
    return rc;
}

void cli_inputs_free(struct cli_inputs *in)
{
    ss_platform_free(in->platform);
    ss_notes_free(&in->notes);
    memset(in, 0, sizeof *in);
}
