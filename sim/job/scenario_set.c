/* SPDX-License-Identifier: Apache-2.0 */
/* --set: one value of the card, a link, the cluster or the stack. */
#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/params.h"
#include "stepsim/scenario.h"

struct setting {
    char id[64], value[64];
};

static int unknown_prop(const char *id, struct ss_error *err)
{
    const char *near = ss_prop_nearest(id, ss_prop_is_settable);

    if (ss_prop_find(id, SS_OF_ANY) >= 0)
        return ss_fail(
            err, SS_ERR_USAGE, NULL, 0,
            "--set %s: only a platform's file says this prop" SS_HINT
            "write it into a file that \"stepsim platform show NAME --xml\" makes, and give the file",
            id);
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "--set %s: no such prop", id);
    if (near)
        return ss_hint(err, SS_ERR_USAGE, "did you mean %s?", near);
    return ss_hint(err, SS_ERR_USAGE, "\"stepsim list props\" lists them");
}

static int split(const char *text, struct setting *out, struct ss_error *err)
{
    const char *equal = strchr(text, '=');
    size_t n = equal ? (size_t)(equal - text) : 0;

    if (!equal || n == 0 || !equal[1] || n >= sizeof out->id || strlen(equal + 1) >= sizeof out->value)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--set %s: not ID=VALUE" SS_HINT "write it as --set ss.nic.efficiency=0.8", text);
    memcpy(out->id, text, n);
    out->id[n] = '\0';
    ss_copy(out->value, sizeof out->value, equal + 1);
    return SS_OK;
}

/* Splits the text and finds its prop, which may be told without "ss.". of_stack: props of stacks are settable, too. */
static int find(const char *text, int of_stack, struct setting *out, int *prop, struct ss_error *err)
{
    int rc = split(text, out, err);
    char full[sizeof out->id + 3];

    if (rc)
        return rc;
    snprintf(full, sizeof full, "ss.%s", out->id);
    if (strlen(full) < sizeof out->id && ss_prop_find(out->id, SS_OF_ANY) < 0 &&
        ss_prop_find(full, SS_OF_ANY) >= 0)
        ss_copy(out->id, sizeof out->id, full);
    *prop = ss_prop_find(out->id, SS_OF_ANY);
    if (*prop < 0 || !ss_prop_is_settable(*prop) || (ss_prop_at(*prop)->owner == SS_OF_STACK && !of_stack))
        return unknown_prop(out->id, err);
    return ss_set_refuses(*prop, "--set", err);
}

int ss_set_check(const char *text, struct ss_error *err)
{
    struct ss_stack scratch;
    struct setting s;
    int prop;

    SS_TRY(find(text, 1, &s, &prop, err));
    memset(&scratch, 0, sizeof scratch);
    return ss_prop_at(prop)->owner == SS_OF_STACK ? ss_stack_set(&scratch, s.id, s.value, err) : SS_OK;
}

int ss_set_apply(const char *text, struct ss_platform *platform, struct ss_stack *stack, struct ss_error *err)
{
    struct setting s;
    int prop;

    SS_TRY(find(text, stack != NULL, &s, &prop, err));
    return ss_prop_at(prop)->owner == SS_OF_STACK ? ss_stack_set(stack, s.id, s.value, err)
                                                  : ss_platform_set(platform, s.id, s.value, err);
}

int ss_sets_apply(const struct ss_request *r, struct ss_platform *platform, struct ss_stack *stack,
                  struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < r->n && !rc; i += ss_request_span(r, i)) {
        const char *text = ss_request_value_of(r, i, "--set");
        if (text)
            rc = ss_set_apply(text, platform, stack, err);
    }
    for (size_t i = 0; i < r->n && !rc; i += ss_request_span(r, i)) {
        const char *text = ss_request_value_of(r, i, "--scale");
        if (text)
            rc = ss_scale_apply(text, platform, stack, err);
    }
    return rc;
}
