/* SPDX-License-Identifier: Apache-2.0 */
/* Options that say how a job is simulated: --level, --unfold, --placement, --straggler, --slow-link. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int set_level(struct cli_sim *s, const char *value, struct ss_error *err)
{
    for (int i = 0; i < SS_LEVEL_COUNT; i++)
        if (!strcmp(value, ss_level_name(i))) {
            s->options.plan.level = i;
            return SS_OK;
        }
    return cli_usage(err, "choose chunk, layer or flow", "--level %s: no such level", value);
}

/* WHAT:FACTOR; `what` has room for `size` characters. */
static int split_factor(const char *name, const char *value, char *what, size_t size, double *factor,
                        struct ss_error *err)
{
    const char *colon = strrchr(value, ':');
    char *end;
    size_t n = colon ? (size_t)(colon - value) : 0;

    if (!colon || n == 0 || n >= size)
        return cli_usage(err, "1.2 means a fifth slower", "%s %s: not %s:FACTOR", name, value,
                         !strcmp(name, "--straggler") ? "RANK" : "LINK");
    *factor = strtod(colon + 1, &end);
    if (!strcmp(name, "--slow-link") && !strcmp(colon + 1, "failed"))
        *factor = 0;
    else if (end == colon + 1 || *end || !(*factor >= 1 && *factor <= 1e6))
        return cli_usage(err, "", "%s %s: the factor is not a number from 1 to 1000000", name, value);
    memcpy(what, value, n);
    what[n] = '\0';
    return SS_OK;
}

static int add_straggler(struct cli_sim *s, const char *value, struct ss_error *err)
{
    struct ss_straggler *to = &s->stragglers[s->options.plan.nstragglers];
    char rank[16], *end;
    int rc;

    if (s->options.plan.nstragglers == CLI_MAX_SLOW)
        return cli_usage(err, "", "more than %d --straggler", CLI_MAX_SLOW);
    rc = split_factor("--straggler", value, rank, sizeof rank, &to->factor, err);
    if (rc)
        return rc;
    long number = strtol(rank, &end, 10);
    if (*end || rank[0] < '0' || rank[0] > '9' || number > 1 << 24)
        return cli_usage(err, "", "--straggler %s: not a rank", value);
    to->rank = (int)number;
    s->options.plan.nstragglers++;
    return SS_OK;
}

static int add_slow_link(struct cli_sim *s, const char *value, struct ss_error *err)
{
    struct ss_slow_link *to = &s->slow_links[s->options.plan.nslow_links];
    int rc;

    if (s->options.plan.nslow_links == CLI_MAX_SLOW)
        return cli_usage(err, "", "more than %d --slow-link", CLI_MAX_SLOW);
    rc = split_factor("--slow-link", value, to->name, sizeof to->name, &to->factor, err);
    if (!rc)
        s->options.plan.nslow_links++;
    return rc;
}

int cli_sim_flag(struct cli_sim *s, const char *name, const char *value, struct ss_error *err)
{
    if (!strcmp(name, "--unfold"))
        s->options.plan.unfold = 1;
    else if (!strcmp(name, "--full-replay"))
        s->options.full_replay = 1;
    else if (!strcmp(name, "--jitter") && (s->jitter = 1))
        return cli_number(name, value, 0, 2, &s->options.jitter.sigma, err);
    else if (!strcmp(name, "--seed"))
        return cli_whole(name, value, 0, 1e15, &s->seed, err);
    else if (!strcmp(name, "--replicas"))
        return cli_whole(name, value, 1, 1e6, &s->replicas, err);
    else if (!strcmp(name, "--level"))
        return set_level(s, value, err);
    else if (!strcmp(name, "--straggler"))
        return add_straggler(s, value, err);
    else if (!strcmp(name, "--slow-link"))
        return add_slow_link(s, value, err);
    else if (strlen(value) >= sizeof s->placement)
        return cli_usage(err, "", "the path after %s is too long", name);
    else
        strcpy(s->placement, value);
    return SS_OK;
}

int cli_sim_finish(struct cli_flags *flags, const struct ss_platform *platform, struct ss_error *err)
{
    struct cli_sim *s = &flags->sim;
    int rc = SS_OK;

    if (s->replicas >= 1 && !s->jitter) /* --seed alone is Megatron's */
        return cli_usage(err, "add --jitter SIGMA", "--replicas without --jitter");
    s->options.engine = flags->engine;
    s->options.jitter.seed = s->seed >= 0 ? (uint64_t)s->seed : 0;
    s->options.replicas = s->replicas >= 1 ? (int)s->replicas : 100;
    s->options.plan.stragglers = s->stragglers;
    s->options.plan.slow_links = s->slow_links;
    if (s->placement[0])
        rc = ss_placement_load(s->placement, platform, &s->gpu_of, err);
    s->options.plan.placement = s->gpu_of;
    return rc;
}

void cli_sim_free(struct cli_flags *flags)
{
    free(flags->sim.gpu_of);
    flags->sim.gpu_of = NULL;
}
