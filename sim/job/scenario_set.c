/* SPDX-License-Identifier: Apache-2.0 */
/* --set: one value of the card, a link, the cluster or the stack. */
#include <string.h>

#include "base/base.h"
#include "stepsim/scenario.h"

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
#define NCARD_IDS SS_ARRAY_LEN(card_ids)
#define NSTACK_IDS SS_ARRAY_LEN(stack_ids)

struct setting {
    char id[64], value[64];
};

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

    memcpy(all, card_ids, sizeof card_ids);
    memcpy(all + NCARD_IDS, stack_ids, sizeof stack_ids);
    near = ss_nearest(id, all, NCARD_IDS + NSTACK_IDS);
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "--set %s: no such prop", id);
    if (near)
        return ss_hint(err, SS_ERR_USAGE, "did you mean %s?", near);
    return ss_hint(err, SS_ERR_USAGE, "\"stepsim platform show h800\" lists the props of a card");
}

static int split(const char *text, struct setting *out, struct ss_error *err)
{
    const char *equal = strchr(text, '=');
    size_t n = equal ? (size_t)(equal - text) : 0;

    if (!equal || n == 0 || !equal[1] || n >= sizeof out->id || strlen(equal + 1) >= sizeof out->value) {
        ss_fail(err, SS_ERR_USAGE, NULL, 0, "--set %s: not ID=VALUE", text);
        return ss_hint(err, SS_ERR_USAGE, "write it as --set ss.nic.efficiency=0.8");
    }
    memcpy(out->id, text, n);
    out->id[n] = '\0';
    ss_copy(out->value, sizeof out->value, equal + 1);
    return SS_OK;
}

int ss_set_check(const char *text, struct ss_error *err)
{
    struct ss_stack scratch;
    struct setting s;
    int rc = split(text, &s, err);

    if (rc)
        return rc;
    memset(&scratch, 0, sizeof scratch);
    if (among(s.id, stack_ids, NSTACK_IDS))
        return ss_stack_set(&scratch, s.id, s.value, err);
    return among(s.id, card_ids, NCARD_IDS) ? SS_OK : unknown_prop(s.id, err);
}

int ss_set_apply(const char *text, struct ss_platform *platform, struct ss_stack *stack, struct ss_error *err)
{
    struct setting s;
    int rc = split(text, &s, err);

    if (rc)
        return rc;
    if (among(s.id, card_ids, NCARD_IDS))
        return ss_platform_set(platform, s.id, s.value, err);
    if (stack && among(s.id, stack_ids, NSTACK_IDS))
        return ss_stack_set(stack, s.id, s.value, err);
    return unknown_prop(s.id, err);
}
