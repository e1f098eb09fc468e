/* SPDX-License-Identifier: Apache-2.0 */
/* --scale: a number of the card, the links, the cluster or the stack, times a factor. */
#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/params.h"
#include "stepsim/scenario.h"

#define PEAKS                                                                                                \
    "ss.peak. ss.strided_rate" /* rates of what SMs compute; a word that ends in a dot: all behind it */
#define LATENCIES                                                                                            \
    "ss.fabric.step_latency ss.nvls.latency ss.nic.step_latency ss.nccl.net_latency ss.fabric.latency "      \
    "ss.nic.latency ss.uplink.latency"
#define LAUNCHES "ss.kernel_latency ss.host.operator ss.host.grouped_gemm"

static const struct {
    const char *name, *props, *doc;
} groups[] = {
    {"peak", PEAKS,
     "peaks of the tensor cores in all precisions, of the CUDA cores, and the rate of strided kernels"},
    {"latency", LATENCIES, "latencies of links and of steps of collectives"},
    {"launch", LAUNCHES, "time to start a kernel, of the card and of the host"},
};

struct scale {
    char name[64];
    double factor;
    const char *props; /* of a group, else NULL */
    int prop;          /* of a single one */
};

const char *ss_scale_group(int i, const char **doc)
{
    if (i < 0 || i >= (int)SS_ARRAY_LEN(groups))
        return NULL;
    if (doc)
        *doc = groups[i].doc;
    return groups[i].name;
}

static int no_name(const char *name, const char *id, struct ss_error *err)
{
    const char *names[SS_PROP_COUNT + SS_ARRAY_LEN(groups)], *near;
    int prop = ss_prop_find(id, SS_OF_ANY);
    size_t n = 0;

    if (prop >= 0) {
        ss_fail(err, SS_ERR_USAGE, NULL, 0, "--scale %s: a %s takes no factor", name,
                ss_prop_at(prop)->is_word   ? "word"
                : ss_prop_is_settable(prop) ? "whole number"
                                            : "layout");
        return ss_prop_is_settable(prop) ? ss_hint(err, SS_ERR_USAGE, "give its value: --set %s=...", id)
                                         : SS_ERR_USAGE;
    }
    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (ss_prop_is_scalable(i))
            names[n++] = ss_prop_at(i)->id + 3;
    for (size_t i = 0; i < SS_ARRAY_LEN(groups); i++)
        names[n++] = groups[i].name;
    near = ss_nearest(id + 3, names, n);
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "--scale %s: nothing has this name", name);
    if (near)
        return ss_hint(err, SS_ERR_USAGE, "did you mean %s?", near);
    return ss_hint(err, SS_ERR_USAGE,
                   "peak, latency, launch, or a prop of \"stepsim list props\" without \"ss.\"");
}

/* The size as sold says what card it is; capacity is what nvidia-smi shows. */
int ss_set_refuses(int prop, const char *option, struct ss_error *err)
{
    if (ss_prop_is_of_bench(prop))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "%s %s: a number of kernels alone changes no prediction" SS_HINT
                       "those of training are ss.gemm.*, ss.fabric.* and the stack's",
                       option, ss_prop_at(prop)->id);
    if (prop != SS_PROP_hbm_size)
        return SS_OK;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "%s ss.hbm.size: the memory as sold changes no prediction" SS_HINT
                   "what a job must fit is ss.device_memory, the total that nvidia-smi shows",
                   option);
}

/* "nic.bandwidth=2x", also with "ss." before and without "x" behind. */
static int split(const char *text, struct scale *out, struct ss_error *err)
{
    const char *equal = strchr(text, '=');
    size_t n = equal ? (size_t)(equal - text) : 0, length = equal ? strlen(equal + 1) : 0;
    char id[sizeof out->name + 4], number[32];

    if (n == 0 || length == 0 || n >= sizeof out->name || length >= sizeof number)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--scale %.80s: not PROP=FACTOR" SS_HINT "write it as --scale nic.bandwidth=2x", text);
    snprintf(out->name, sizeof out->name, "%.*s", (int)n, text);
    snprintf(id, sizeof id, "%s%s", strncmp(out->name, "ss.", 3) ? "ss." : "", out->name);
    snprintf(number, sizeof number, "%.*s", (int)(length - (equal[length] == 'x')), equal + 1);
    out->props = NULL;
    for (size_t i = 0; i < SS_ARRAY_LEN(groups) && !out->props; i++)
        out->props = strcmp(groups[i].name, id + 3) ? NULL : groups[i].props;
    out->prop = ss_prop_find(id, SS_OF_ANY);
    SS_TRY(out->props ? SS_OK : ss_set_refuses(out->prop, "--scale", err));
    if (!out->props && (out->prop < 0 || !ss_prop_is_scalable(out->prop)))
        return no_name(out->name, id, err);
    if (ss_parse_double(number, &out->factor) || !(out->factor > 0))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--scale %.80s: the factor is no number above 0" SS_HINT "write it as --scale %s=2x",
                       text, out->name);
    return SS_OK;
}

int ss_scale_check(const char *text, struct ss_error *err)
{
    struct scale s;

    return split(text, &s, err);
}

static double value_of(int prop, const struct ss_platform *platform, const struct ss_stack *stack)
{
    return ss_prop_at(prop)->owner == SS_OF_STACK ? ss_prop_get(prop, stack)
                                                  : ss_platform_get(platform, prop);
}

static int scale_one(int prop, double factor, struct ss_platform *platform, struct ss_stack *stack,
                     struct ss_error *err)
{
    if (ss_prop_at(prop)->owner != SS_OF_STACK)
        return ss_platform_scale(platform, prop, factor, err);
    double value = ss_prop_get(prop, stack) * factor;
    int rc = ss_prop_check(prop, value, err);
    if (!rc)
        ss_prop_put(prop, stack, value);
    return rc;
}

static int is_of_group(const char *words, const char *id)
{
    for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ') {
        size_t n = strcspn(p, " ");
        if (!strncmp(id, p, n) && (p[n - 1] == '.' || !id[n]))
            return 1;
    }
    return 0;
}

int ss_scale_apply(const char *text, struct ss_platform *platform, struct ss_stack *stack,
                   struct ss_error *err)
{
    struct scale s;
    int rc = split(text, &s, err);

    if (!rc && !s.props) {
        if (!stack && ss_prop_at(s.prop)->owner == SS_OF_STACK)
            return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--scale %s: a prop of a stack", s.name);
        if (value_of(s.prop, platform, stack) != 0)
            return scale_one(s.prop, s.factor, platform, stack, err);
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "--scale %s: it is 0 here, which no factor changes" SS_HINT
                       "give it a value: --set %s=...",
                       s.name, ss_prop_at(s.prop)->id);
    }
    for (int prop = 0; prop < SS_PROP_COUNT && !rc; prop++)
        if (is_of_group(s.props, ss_prop_at(prop)->id) && (stack || ss_prop_at(prop)->owner != SS_OF_STACK))
            rc = scale_one(prop, s.factor, platform, stack, err);
    return rc;
}
