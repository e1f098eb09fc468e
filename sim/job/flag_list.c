/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of flags for those who list them. */
#include "stepsim/flags.h"

#include "base/base.h"
#include "job/flags.h"

static void join_choices(const struct ss_flag_choice *c, char *out, size_t size)
{
    for (out[0] = '\0'; c->name; c++)
        ss_append(out, size, "%s%s", out[0] ? "|" : "", c->name);
}

static const char *value_of(const struct ss_flag *f, char *out, size_t size)
{
    int kind = f->setter ? f->setter->kind : SS_FLAG_CALL;

    if (f->values == '0')
        return NULL;
    if (f->setter && f->setter->choices)
        join_choices(f->setter->choices, out, size);
    else
        ss_copy(out, size,
                kind == SS_FLAG_INT || kind == SS_FLAG_DOUBLE               ? "N"
                : kind == SS_FLAG_TEXT                                      ? "NAME|FILE"
                : !strcmp(f->name, "--job") || !strcmp(f->name, "--launch") ? "FILE"
                                                                            : "VALUE");
    return out;
}

int ss_flag_list(struct ss_flag_cursor *at, struct ss_flag_info *out)
{
    struct ss_flag_walk walk = {.setter = at->setter, .group = at->group, .names = at->names};
    struct ss_flag f;

    if (!ss_flag_next(&walk, &f))
        return 0;
    at->setter = walk.setter;
    at->group = walk.group;
    at->names = walk.names;
    ss_copy(at->name, sizeof at->name, f.name);
    out->name = at->name;
    out->value = value_of(&f, at->value, sizeof at->value);
    out->doc = f.why;
    out->values = f.values;
    out->own = f.treatment == SS_FLAG_OWN;
    out->read = f.treatment == SS_FLAG_OWN || f.treatment == SS_FLAG_MODELLED;
    return 1;
}

enum ss_flag_effect ss_flag_effect(const char *name, const char **why)
{
    static const enum ss_flag_effect effects[SS_FLAG_TREATMENTS] = {
        [SS_FLAG_OWN] = SS_FLAG_IS_READ,
        [SS_FLAG_MODELLED] = SS_FLAG_IS_READ,
        [SS_FLAG_NO_EFFECT] = SS_FLAG_IS_WITHOUT_EFFECT,
        [SS_FLAG_NOT_MODELLED] = SS_FLAG_IS_NOT_MODELLED,
        [SS_FLAG_UNKNOWN_EFFECT] = SS_FLAG_IS_NOT_MODELLED,
        [SS_FLAG_REFUSED] = SS_FLAG_IS_REFUSED,
    };
    struct ss_flag f;
    int known = ss_flag_find(name, &f);

    if (why)
        *why = known ? f.why : NULL;
    return known ? effects[f.treatment] : SS_FLAG_IS_UNKNOWN;
}

int ss_flag_known(const char *name)
{
    struct ss_flag f;

    return ss_flag_find(name, &f);
}
