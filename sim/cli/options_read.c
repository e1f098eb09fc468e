/* SPDX-License-Identifier: Apache-2.0 */
/* Options whose values are more than a number, a word or a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* "2" and "2%" */
int cli_read_tolerance(struct cli_flags *f, const char *name, const char *value, struct ss_error *err)
{
    size_t n = strlen(value);
    char number[32];

    if (n > 0 && n < sizeof number && value[n - 1] == '%')
        n--;
    snprintf(number, sizeof number, "%.*s", (int)n, value);
    return cli_number(name, n < sizeof number ? number : value, 0, 1e6, &f->tolerance, err);
}

int cli_read_jitter(struct cli_flags *f, const char *name, const char *value, struct ss_error *err)
{
    f->sim.jitter = 1;
    return cli_number(name, value, 0, 2, &f->sim.options.jitter.sigma, err);
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

int cli_read_straggler(struct cli_flags *f, const char *name, const char *value, struct ss_error *err)
{
    struct cli_sim *s = &f->sim;
    struct ss_straggler *to = &s->stragglers[s->options.plan.nstragglers];
    char rank[16];
    int64_t number;
    int rc;

    if (s->options.plan.nstragglers == CLI_MAX_SLOW)
        return cli_usage(err, "", "more than %d %s", CLI_MAX_SLOW, name);
    rc = split_factor(name, value, rank, sizeof rank, &to->factor, err);
    if (rc)
        return rc;
    if (ss_parse_i64(rank, 0, 1 << 24, &number))
        return cli_usage(err, "", "%s %s: not a rank", name, value);
    to->rank = (int)number;
    s->options.plan.nstragglers++;
    return SS_OK;
}

int cli_read_slow_link(struct cli_flags *f, const char *name, const char *value, struct ss_error *err)
{
    struct cli_sim *s = &f->sim;
    struct ss_slow_link *to = &s->slow_links[s->options.plan.nslow_links];
    int rc;

    if (s->options.plan.nslow_links == CLI_MAX_SLOW)
        return cli_usage(err, "", "more than %d %s", CLI_MAX_SLOW, name);
    rc = split_factor(name, value, to->name, sizeof to->name, &to->factor, err);
    if (!rc)
        s->options.plan.nslow_links++;
    return rc;
}

/* "1.5s", "20ms", or seconds without a unit. */
static int read_time(const char *text, double *out)
{
    return ss_unit_parse(text, SS_UNIT_TIME, out, NULL) && (ss_parse_double(text, out) || *out < 0);
}

int cli_read_window(struct cli_flags *f, const char *name, const char *value, struct ss_error *err)
{
    const char *colon = strchr(value, ':');
    char first[64];
    double from, to;

    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - value) : 0, value);
    if (!colon || read_time(first, &from) || read_time(colon + 1, &to) || to <= from)
        return cli_usage(err, "write it as --window 0s:2s or --window 150ms:200ms", "%s %s: not FROM:TO",
                         name, value);
    if (to - from < 1e-9 * to) /* too narrow for the figures of an axis */
        return cli_usage(err, "take a wider one", "%s %s is narrower than a billionth of its end", name,
                         value);
    f->pictures.window[0] = from;
    f->pictures.window[1] = to;
    return SS_OK;
}

int cli_number(const char *name, const char *value, double lo, double hi, double *out, struct ss_error *err)
{
    double number;

    if (ss_parse_double(value, &number) || !(number >= lo && number <= hi))
        return cli_usage(err, "", "%s %s: not a number from %.10g to %.10g", name, value, lo, hi);
    *out = number;
    return SS_OK;
}

int cli_sim_finish(struct cli_flags *flags, const struct ss_scenario *scenario, struct ss_error *err)
{
    struct cli_sim *s = &flags->sim;
    int rc = SS_OK;

    s->options.engine = flags->engine;
    s->options.jitter.seed = s->seed >= 0 ? (uint64_t)s->seed : 0;
    s->options.replicas = s->replicas >= 1 ? (int)s->replicas : 100;
    s->options.plan.draw_spread = s->spread_seed >= 0;
    s->options.plan.spread_seed = s->spread_seed >= 0 ? (uint64_t)s->spread_seed : 0;
    s->options.plan.stragglers = s->stragglers;
    s->options.plan.slow_links = s->slow_links;
    if (s->placement[0] && scenario->job->nfailed)
        return cli_usage(err, "a placement names the GPUs that are left; give --failed-gpu or --placement",
                         "--failed-gpu beside --placement");
    if (s->placement[0] && ss_job_is_placed(scenario->job))
        return cli_usage(err, "a placement names every GPU of the job's own cluster; give one of them",
                         "--placement beside --on-nodes or --cluster-nodes");
    if (s->placement[0])
        rc = ss_placement_load(s->placement, scenario->platform, &s->gpu_of, err);
    if (!rc && s->placement[0])
        rc = ss_files_add(cli_files(), s->placement, err);
    s->options.plan.placement = s->gpu_of;
    return rc;
}

void cli_sim_free(struct cli_flags *flags)
{
    free(flags->sim.gpu_of);
    flags->sim.gpu_of = NULL;
}
